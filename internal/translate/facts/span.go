package facts

import (
	"math"
	"math/bits"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// span is a range of integers, with both ends. An unsigned integer that may be 1<<63 or more has the span anything.
type span struct{ lo, hi int64 }

var anything = span{math.MinInt64, math.MaxInt64}

// exact reports whether all integers of a span fit in an int32.
func (s span) exact() bool { return s.lo >= math.MinInt32 && s.hi <= math.MaxInt32 }

// natural returns the span of the integers that are at least 0. An unsigned integer always is.
func (s span) natural() span { return span{max(s.lo, 0), max(s.hi, 0)} }

// all returns the span of a type.
func all(t *ir.Type) span {
	switch n := t.Bits(); {
	case n == 64:
		return anything
	case t.Signed():
		return span{-1 << (n - 1), 1<<(n-1) - 1}
	default:
		return span{0, 1<<n - 1}
	}
}

// within returns the span s for an integer of a type, and that of the type if the integer may wrap around.
func (s span) within(t *ir.Type) span {
	if a := all(t); s.lo < a.lo || s.hi > a.hi || !t.Signed() && s.lo < 0 {
		return a
	}
	return s
}

// span returns the range of an integer.
func (n *Narrow) span(v *ir.Value) span {
	s, ok := n.known[v]
	if !ok {
		s = n.compute(v).within(v.Type)
		n.known[v] = s
	}
	return s
}

func (n *Narrow) compute(v *ir.Value) span {
	most := n.most[n.f]
	switch v.Op {
	case ir.Const:
		if c, ok := Constant(v); ok {
			return span{c, c}
		}
	case ir.Argument:
		if n.sizes[v.Param] {
			return span{-most, most}
		}
		if s, ok := n.vars[v.Param]; ok && !n.f.Kernel {
			return s
		}
	case ir.Call:
		if s, ok := n.vars[result{v.Call, 0}]; ok && len(v.Call.Results) == 1 {
			return s
		}
	case ir.Counter:
		return n.counter(n.counts[v])
	case ir.Load:
		return n.load(v)
	case ir.Len, ir.Rows, ir.Cols, ir.AllBlocks:
		return span{0, most}
	case ir.InGrid, ir.BlockOf:
		return span{0, most - 1}
	case ir.Threads:
		return span{0, MostThreads}
	case ir.InBlock:
		return span{0, MostThreads - 1}
	case ir.Go:
		if name, ok := strings.CutPrefix(v.Of, "bits."); ok && v.Type.Kind == ir.Int && !strings.HasPrefix(name, "Rotate") {
			return span{0, 64} // they count bits
		}
	case ir.Convert:
		if x := v.Args[0]; x.Type.Integer() {
			return n.span(x)
		}
	case ir.Within:
		y := n.span(v.Args[1])
		return span{0, max(y.hi, 1) - 1}
	case ir.UpTo:
		return span{0, n.span(v.Args[1]).natural().hi}
	case ir.Neg, ir.Complement:
		x := n.span(v.Args[0])
		if x.lo == math.MinInt64 {
			return anything
		}
		if v.Op == ir.Neg {
			return span{-x.hi, -x.lo}
		}
		return span{^x.hi, ^x.lo}
	case ir.Shl, ir.Shr:
		if by, ok := Constant(v.Args[1]); ok && by >= 0 {
			return n.span(v.Args[0]).shifted(v.Op, v.Type, min(by, 64))
		}
		if x := n.span(v.Args[0]); v.Op == ir.Shr && x.lo >= 0 {
			return span{0, x.hi}
		}
	default:
		if v.Op.Binary() && v.Type.Integer() {
			if s, ok := n.grid(v); ok {
				return s
			}
			return binary(v.Op, v.Type, n.span(v.Args[0]), n.span(v.Args[1]))
		}
	}
	return all(v.Type)
}

// grid returns the range of the product of blocks, or of a block's place, and the threads of a block.
func (n *Narrow) grid(v *ir.Value) (span, bool) {
	x, y := v.Args[0], v.Args[1]
	if x.Op == ir.Threads {
		x, y = y, x
	}
	if v.Op != ir.Mul || y.Op != ir.Threads || x.Op != ir.BlockOf && x.Op != ir.AllBlocks || x.Which[0] != y.Which[0] {
		return span{}, false
	}
	return span{0, n.most[n.f]}, true
}

// load returns the range of what a local holds. In the rounds of a loop that counts with it, the loop's condition holds.
func (n *Narrow) load(v *ir.Value) span {
	s, ok := n.vars[v.Place.Local]
	if Loaded(v) == nil || !ok {
		return all(v.Type)
	}
	var holds func(c *ir.Value)
	holds = func(c *ir.Value) {
		if c.Op == ir.Both {
			holds(c.Args[0])
			holds(c.Args[1])
		}
		if !c.Op.Compares() {
			return
		}
		x, op, y := c.Args[0], c.Op, c.Args[1]
		if Loaded(y) == v.Place.Local {
			x, op, y = y, Mirrored(op), x
		}
		if Loaded(x) != v.Place.Local {
			return
		}
		end := n.span(y)
		if !x.Type.Signed() && end == anything {
			return
		}
		switch {
		case op == ir.Lt && end.hi > s.lo:
			s.hi = min(s.hi, end.hi-1)
		case op == ir.Le && end.hi >= s.lo:
			s.hi = min(s.hi, end.hi)
		case op == ir.Gt && end.lo < s.hi:
			s.lo = max(s.lo, end.lo+1)
		case op == ir.Ge && end.lo <= s.hi:
			s.lo = max(s.lo, end.lo)
		}
	}
	if c := n.holds[v]; c != nil {
		holds(c)
	}
	return s
}

// counter returns the range of the index of a loop that counts, in its rounds.
func (n *Narrow) counter(c *ir.Count) span {
	from, end, by := n.span(c.From), n.span(c.End), c.By
	if !c.Index.Type.Signed() && (from == anything || end == anything) {
		return anything
	}
	s := anything
	switch {
	case by > 0 && (c.Op == ir.Lt || c.Op == ir.Ne && by == 1 && from.hi <= end.lo) && end.hi > math.MinInt64:
		s = span{from.lo, end.hi - 1}
	case by > 0 && c.Op == ir.Le:
		s = span{from.lo, end.hi}
	case by < 0 && (c.Op == ir.Gt || c.Op == ir.Ne && by == -1 && from.lo >= end.hi) && end.lo < math.MaxInt64:
		s = span{end.lo + 1, from.hi}
	case by < 0 && c.Op == ir.Ge:
		s = span{end.lo, from.hi}
	}
	if s.lo > s.hi { // the loop has no rounds
		s = span{min(s.lo, from.lo), max(s.lo, from.lo)}
	}
	a := all(c.Index.Type)
	if !c.Index.Type.Signed() {
		a.lo = 0
	}
	if by > 0 && s.hi > a.hi-by || by < 0 && s.lo < a.lo-by { // the index may wrap around
		return all(c.Index.Type)
	}
	return s
}

func (s span) shifted(op ir.Op, t *ir.Type, by int64) span {
	switch {
	case op == ir.Shl && (by > 62 || s.lo < math.MinInt64>>by || s.hi > math.MaxInt64>>by):
		return all(t)
	case op == ir.Shl:
		return span{s.lo << by, s.hi << by}
	case !t.Signed() && s == anything:
		if by == 0 {
			return s
		}
		return span{0, int64(uint64(math.MaxUint64) >> by)}
	}
	return span{s.lo >> by, s.hi >> by}
}

// binary returns the range of an operation on two integers.
func binary(op ir.Op, t *ir.Type, x, y span) span {
	if !t.Signed() && (x == anything || y == anything) {
		switch {
		case op == ir.And && x != y:
			return span{0, min(x.hi, y.hi)}
		case op == ir.Rem && y != anything, op == ir.Min && x != y:
			return span{0, min(x.hi, y.hi)}
		case op == ir.AndNot && x != anything:
			return span{0, x.hi}
		}
		return all(t)
	}
	natural := x.lo >= 0 && y.lo >= 0
	switch op {
	case ir.Add:
		return span{x.lo + y.lo, x.hi + y.hi}.unless(over(x.lo, y.lo) || over(x.hi, y.hi))
	case ir.Sub:
		return span{x.lo - y.hi, x.hi - y.lo}.unless(y.lo == math.MinInt64 || over(x.lo, -y.hi) || over(x.hi, -y.lo))
	case ir.Mul:
		s := span{math.MaxInt64, math.MinInt64}
		for _, a := range []int64{x.lo, x.hi} {
			for _, b := range []int64{y.lo, y.hi} {
				if high, low := bits.Mul64(size(a), size(b)); high != 0 || low > math.MaxInt64 {
					return anything
				}
				s = span{min(s.lo, a*b), max(s.hi, a*b)}
			}
		}
		return s
	case ir.Div:
		if natural {
			return span{0, x.hi / max(y.lo, 1)}
		}
		most := max(x.hi, -max(x.lo, -math.MaxInt64))
		return span{-most, most}.unless(x.lo == math.MinInt64)
	case ir.Rem:
		if y.lo == math.MinInt64 {
			return span{min(x.lo, 0), max(x.hi, 0)}
		}
		most := max(y.hi, -y.lo, 1) - 1
		return span{max(min(x.lo, 0), -most), min(max(x.hi, 0), most)}
	case ir.And:
		switch {
		case natural:
			return span{0, min(x.hi, y.hi)}
		case x.lo >= 0:
			return span{0, x.hi}
		case y.lo >= 0:
			return span{0, y.hi}
		}
	case ir.AndNot:
		if x.lo >= 0 {
			return span{0, x.hi}
		}
	case ir.Or, ir.Xor:
		if natural {
			return span{0, 1<<bits.Len64(uint64(x.hi|y.hi)) - 1}
		}
	case ir.Min:
		return span{min(x.lo, y.lo), min(x.hi, y.hi)}
	case ir.Max:
		return span{max(x.lo, y.lo), max(x.hi, y.hi)}
	}
	if op != ir.Div && x.exact() && y.exact() { // an operation on bits keeps the copies of the sign
		return span{math.MinInt32, math.MaxInt32}
	}
	return all(t)
}

func (s span) unless(wraps bool) span {
	if wraps {
		return anything
	}
	return s
}

// over reports whether the sum of two numbers wraps around.
func over(x, y int64) bool { return y > 0 && x > math.MaxInt64-y || y < 0 && x < math.MinInt64-y }

// size returns the absolute value of a number.
func size(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}
