package quirks

import (
	"math"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

const (
	mostUnrolled = 16   // rounds
	mostInRounds = 1024 // statements in all rounds
	smallArray   = 16 * 8
)

// unrolled returns the number of rounds of a short loop over a small private array, or 0 for another loop. PoCL leaves the array in memory if it does not
// unroll the loop at once.
func (q *pass) unrolled(loop *ir.Stmt) int {
	n := rounds(loop)
	if n < 2 || n > mostUnrolled || statements(loop) > mostInRounds {
		return 0
	}
	own := false
	array := func(t *ir.Type, index *ir.Value) {
		own = own || index != nil && t.Kind == ir.Array && t.Size() <= smallArray && counts(index, loop.Count.Index)
	}
	place := func(p *ir.Place) {
		if p == nil || p.Local == nil || p.Local.Space != ir.Private {
			return
		}
		t := p.Local.Type
		for _, s := range p.Path {
			array(t, s.Index)
			t = t.Inner(s.Field)
		}
	}
	loop.Then.Visit(func(s *ir.Stmt) { place(s.Place) }, func(v *ir.Value) {
		place(v.Place)
		if v.Op == ir.Extract && len(v.Args) == 2 {
			array(v.Args[0].Type, v.Args[1])
		}
	})
	if !own {
		return 0
	}
	return n
}

// counts reports whether a value is computed from the index of a loop.
func counts(v, index *ir.Value) bool {
	if v == index {
		return true
	}
	for _, a := range v.Operands() {
		if counts(a, index) {
			return true
		}
	}
	return false
}

// rounds returns how many rounds a loop takes at most, or math.MaxInt32 if this number is not a known constant.
func rounds(loop *ir.Stmt) int {
	if n, ok := facts.ConstantRounds(loop); ok && loop.Count != nil && loop.Count.Index.Type.Signed() {
		return int(n)
	}
	return math.MaxInt32
}

// statements returns how many statements a loop runs at most, capped at math.MaxInt32.
func statements(loop *ir.Stmt) int64 {
	n := int64(1)
	for _, r := range loop.Regions() {
		n += inRegion(r)
	}
	return min(n*int64(rounds(loop)), math.MaxInt32)
}

func inRegion(r *ir.Region) (n int64) {
	for _, s := range r.List {
		switch {
		case s.Do == ir.Loop:
			n += statements(s)
			continue
		case s.Do == ir.Let && s.Value.Op == ir.Call:
			n += inRegion(s.Value.Call.Body)
		}
		n++
		for _, in := range s.Regions() {
			n += inRegion(in)
		}
		n = min(n, math.MaxInt32)
	}
	return n
}

// steady reports whether the step of a loop that counts up never overflows its type. Then the step can be a signed sum, which must not overflow in C. Since it
// does not overflow, compilers can compute the number of rounds, and NVIDIA's compiler needs fewer instructions.
func (q *pass) steady(loop *ir.Stmt) bool {
	if c := loop.Count; c != nil {
		return c.By > 0 && (c.Op == ir.Lt || c.Op == ir.Le) && fits(c.Index.Type, last(c.Op, c.End), c.By)
	}
	l, sum := facts.Stepped(loop)
	if l == nil || loop.Value == nil || sum.Op != ir.Add {
		return false
	}
	by := sum.Args[1]
	most := most(by)
	if by.Op == ir.Const {
		n, ok := by.Const.(int64)
		if most = n; !ok || n <= 0 {
			return false
		}
	} else if by.Op != ir.Len && by.Op != ir.Rows && by.Op != ir.Cols {
		return false
	}
	return fits(l.Type, ends(loop.Value, l), most)
}

// fits reports whether by + n fits in a signed type for every number n that is at most last.
func fits(t *ir.Type, last, by int64) bool {
	if !t.Signed() || t.Bits() < 32 {
		return false
	}
	limit := int64(1)<<(t.Bits()-1) - 1
	return by <= limit && max(last, 1) <= limit-by
}

// ends returns an upper bound of a local at places where a condition is true.
func ends(cond *ir.Value, l *ir.Local) int64 {
	switch {
	case cond.Op == ir.Both:
		return min(ends(cond.Args[0], l), ends(cond.Args[1], l))
	case (cond.Op == ir.Lt || cond.Op == ir.Le) && facts.Loaded(cond.Args[0]) == l:
		return last(cond.Op, cond.Args[1])
	}
	return math.MaxInt64
}

// last returns an upper bound of a number x for which "x op end" holds. The operation op is < or <=.
func last(op ir.Op, end *ir.Value) int64 {
	n := most(end)
	if op == ir.Lt && n > 0 {
		n--
	}
	return n
}

// most returns an upper bound of a signed number. A length is at most 2^57, since no memory has more bytes.
func most(v *ir.Value) int64 {
	limit := int64(math.MaxInt64)
	if v.Type.Signed() {
		limit = int64(1)<<(v.Type.Bits()-1) - 1
	}
	switch v.Op {
	case ir.Const:
		if n, ok := v.Const.(int64); ok {
			return n
		}
	case ir.Len, ir.Rows, ir.Cols:
		return 1 << 57
	case ir.Min:
		return min(most(v.Args[0]), most(v.Args[1]))
	case ir.Div, ir.Sub:
		by, ok := v.Args[1].Const.(int64)
		if x := v.Args[0]; ok && by > 0 && (x.Op == ir.Len || x.Op == ir.Rows || x.Op == ir.Cols) {
			return most(x)
		}
	}
	return limit
}
