package passes

import (
	"slices"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

const (
	mostUnrolled = 16     // rounds
	mostWritten  = 256    // statements that all rounds become
	smallArray   = 16 * 8 // bytes
)

// unroll writes out loops with few rounds that index a small array of the thread's own by their counter, if then all indexes of the array
// are constants. PoCL leaves an array in memory as long as one index is not.
func unroll(f *ir.Function, _ effects) {
	u := &unroller{ir.NewBuilder(f), map[*ir.Value]bool{}, map[any]bool{}}
	f.Body.Visit(func(s *ir.Stmt) {
		if few(s) {
			u.counters[s.Count.Index] = true
		}
	}, nil)
	arrays(f.Body, func(array any, _ *ir.Type, i *ir.Value) { u.inMemory[array] = u.inMemory[array] || !u.known(i) })
	rewrite(f.Body, func(s *ir.Stmt) []*ir.Stmt {
		if few(s) && u.pays(s) {
			return u.written(s)
		}
		return []*ir.Stmt{s}
	})
}

type unroller struct {
	*ir.Builder
	counters map[*ir.Value]bool // the counters of loops with few rounds
	inMemory map[any]bool       // arrays with an index that does not become a constant: a local, or the value that is the array
}

// few reports whether a loop has few rounds, which no statement leaves early.
func few(loop *ir.Stmt) bool {
	if loop.Do != ir.Loop || loop.Count == nil {
		return false
	}
	n, known := facts.ConstantRounds(loop)
	exit := facts.ExitOf(loop)
	return known && n > 0 && n <= mostUnrolled && !exit.Breaks && !exit.Beyond
}

// known reports whether a value is computed from constants and counters of loops with few rounds alone.
func (u *unroller) known(v *ir.Value) bool {
	if u.counters[v] || v.Op == ir.Const {
		return true
	}
	unknown := func(a *ir.Value) bool { return !u.known(a) }
	return !v.Bound && len(v.Args) > 0 && v.Place == nil && !slices.ContainsFunc(v.Args, unknown)
}

// pays reports whether a loop indexes a small array by its counter, and does not become too long.
func (u *unroller) pays(loop *ir.Stmt) (pays bool) {
	n, _ := facts.ConstantRounds(loop)
	statements := int64(0)
	loop.Then.Visit(func(s *ir.Stmt) {
		if statements++; s.Do == ir.Barrier || s.Do == ir.Continue || s.Do == ir.Loop {
			statements = mostWritten
		}
	}, nil)
	arrays(loop.Then, func(array any, t *ir.Type, i *ir.Value) {
		pays = pays || !u.inMemory[array] && t.Size() <= smallArray && counts(i, loop.Count.Index)
	})
	return pays && statements*n < mostWritten
}

// written returns the statements of all rounds of a loop. It returns the loop itself if a constant index is out of range, because a
// condition keeps the program from coming there.
func (u *unroller) written(loop *ir.Stmt) []*ir.Stmt {
	var list []*ir.Stmt
	n, _ := facts.ConstantRounds(loop)
	from, _ := facts.Constant(loop.Count.From)
	for i := range n {
		c := newCopier(u.Builder, nil)
		c.folds = true
		c.values[loop.Count.Index] = u.Int(loop.Count.Index.Type, from+i*loop.Count.By)
		list = append(list, c.region(loop.Then).List...)
		for was, is := range c.values {
			u.inMemory[is] = u.inMemory[was]
		}
	}
	fits := true
	arrays(&ir.Region{List: list}, func(_ any, t *ir.Type, i *ir.Value) {
		n, ok := facts.Constant(i)
		fits = fits && (i.Op != ir.Const || ok && n >= 0 && n < t.Len)
	})
	if !fits {
		return []*ir.Stmt{loop}
	}
	return list
}

// arrays calls f for each index of an array of the thread's own, with the local or the value that the array is in, and with the array's
// type.
func arrays(r *ir.Region, f func(array any, t *ir.Type, index *ir.Value)) {
	place := func(p *ir.Place) {
		if p == nil || p.Local == nil || p.Local.Space != ir.Private {
			return
		}
		t := p.Local.Type
		for _, s := range p.Path {
			if s.Index != nil {
				f(p.Local, t, s.Index)
			}
			t = t.Inner(s.Field)
		}
	}
	r.Visit(func(s *ir.Stmt) { place(s.Place) }, func(v *ir.Value) {
		place(v.Place)
		if v.Op != ir.Extract || len(v.Args) < 2 {
			return
		}
		root := v.Args[0]
		for root.Op == ir.Extract && !root.Bound {
			root = root.Args[0]
		}
		var of any = root
		if root.Op == ir.Argument {
			of = root.Param
		}
		f(of, v.Args[0].Type, v.Args[1])
	})
}

// counts reports whether a value is computed from the index of a loop.
func counts(v, index *ir.Value) bool {
	return v == index || slices.ContainsFunc(v.Operands(), func(a *ir.Value) bool { return counts(a, index) })
}

// largest limits the numbers that are computed here, so that no sum or product of two of them wraps around in any type of at least 32
// bits.
const largest = 1 << 15

// fold makes a constant of an operation on small constants, such as the index d+1 in a round of an unrolled loop.
func fold(v *ir.Value) {
	if len(v.Args) != 2 || v.Type == nil || !v.Type.Integer() || v.Type.Bits() < 32 {
		return
	}
	x, ok := facts.Constant(v.Args[0])
	y, ok2 := facts.Constant(v.Args[1])
	if !ok || !ok2 || max(x, -x) > largest || max(y, -y) > largest {
		return
	}
	switch {
	case v.Op == ir.Add:
		x += y
	case v.Op == ir.Sub:
		x -= y
	case v.Op == ir.Mul:
		x *= y
	case v.Op == ir.Div && y > 0:
		x /= y
	case v.Op == ir.Rem && y > 0:
		x %= y
	case v.Op == ir.And:
		x &= y
	case v.Op == ir.Xor:
		x ^= y
	default:
		return
	}
	switch {
	case v.Type.Signed():
		v.Op, v.Args, v.Const = ir.Const, nil, x
	case x >= 0:
		v.Op, v.Args, v.Const = ir.Const, nil, uint64(x)
	}
}
