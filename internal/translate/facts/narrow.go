package facts

import (
	"maps"
	"math"
	"slices"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Narrow says which integers of 64 bits a translation may compute in 32 bits. The results stay those of Go, as long as a launch keeps the limits of
// [Narrow.Limit]. There are two reasons for an integer to be narrow:
//
//   - It is exact: the integer itself fits in an int32. Then every operation on it and on other exact integers can be one of 32 bits.
//   - Only its low 32 bits are used. An index is determined by these, since it is at least 0 and below a length, and the low bits of a sum or a product depend
//     only on the low bits of the operands. So the integers that only such indexes are computed from need no range.
//
// A nil Narrow says that nothing is narrow.
type Narrow struct {
	program *ir.Program
	most    map[*ir.Function]int64 // of each kernel: the limit
	sizes   map[*ir.Param]bool     // parameters of kernels that count as sizes
	counts  map[*ir.Value]*ir.Count
	holds   map[*ir.Value]*ir.Value // the conditions of loops, by the loads of a counting local in their rounds
	apart   map[*ir.Local]bool      // locals that are used by their address, by their parts, or by several threads
	copies  map[*ir.Local]*ir.Value // the argument that a local is a copy of, since the function changes it

	f     *ir.Function // whose values are looked at
	vars  map[any]span // of locals, parameters of called functions, and results
	known map[*ir.Value]span
	plain map[*ir.Value]span // in launches without limits
	full  map[any]bool       // of values and of the keys of vars: more than the low 32 bits are used
}

const (
	// mostSize is the usual limit of lengths, of sizes, and of the threads of a grid in one dimension. Sums of such a number and a small one fit in an int32.
	mostSize = 1<<31 - 1<<16
	// mostStrided is the limit for a kernel with a loop that steps by a size: the sum of two sizes fits in an int32.
	mostStrided = 1 << 30
	// MostThreads is the limit of the threads of a block in one dimension.
	MostThreads = 1 << 15
)

// result is the key of a function's result among the variables.
type result struct {
	f *ir.Function
	i int
}

// NarrowOf returns which integers of a program are narrow.
func NarrowOf(p *ir.Program) *Narrow {
	n := &Narrow{program: p, most: map[*ir.Function]int64{}, counts: map[*ir.Value]*ir.Count{}, holds: map[*ir.Value]*ir.Value{}, apart: map[*ir.Local]bool{},
		copies: map[*ir.Local]*ir.Value{}}
	stepped := map[*ir.Local]*ir.Function{} // the locals that loops of kernels step by sizes
	for _, f := range p.Functions {
		n.most[f] = mostSize
		for _, l := range f.Locals {
			n.apart[l] = l.Space != ir.Private
		}
		f.Body.Visit(func(s *ir.Stmt) { n.prepare(f, s, stepped) }, func(v *ir.Value) {
			if v.Place != nil && v.Place.Local != nil && (v.Op != ir.Load || len(v.Place.Path) > 0) {
				n.apart[v.Place.Local] = true
			}
		})
	}
	n.solve()
	low := map[*ir.Function]bool{}
	for l, f := range stepped {
		if wide(l.Type) && !n.apart[l] && !n.Local(l) {
			n.most[f], low[f] = mostStrided, true
		}
	}
	if len(low) > 0 {
		n.solve()
		for l, f := range stepped {
			low[f] = low[f] && !n.Local(l)
		}
		for f, in := range low {
			if in { // no loop gains by the lower limit
				n.most[f] = mostSize
			}
		}
		n.solve()
	}
	n.unlimited()
	return n
}

// unlimited finds the ranges in launches without limits. No memory has more bytes than mostBytes.
func (n *Narrow) unlimited() {
	const mostBytes = 1 << 57
	free := *n
	free.most, free.sizes, free.vars = map[*ir.Function]int64{}, nil, map[any]span{}
	for f := range n.most {
		free.most[f] = mostBytes
	}
	for round := 0; free.ranges(round, false); round++ {
	}
	free.ranges(0, true)
	n.plain = free.known
}

// prepare notes the facts about a statement of a function that solve needs.
func (n *Narrow) prepare(f *ir.Function, s *ir.Stmt, stepped map[*ir.Local]*ir.Function) {
	if s.Place != nil && s.Place.Local != nil && len(s.Place.Path) > 0 {
		n.apart[s.Place.Local] = true
	}
	if l := Stored(s); l != nil && s.Value.Op == ir.Argument {
		n.copies[l] = s.Value
	}
	if s.Count != nil {
		n.counts[s.Count.Index] = s.Count
	}
	l, by := loopOf(s)
	if l == nil {
		return
	}
	for _, r := range []*ir.Region{s.Then, s.Step} {
		r.Visit(nil, func(v *ir.Value) {
			if Loaded(v) == l {
				n.holds[v] = s.Value
			}
		})
	}
	if f.Kernel && by.Args[1].Op != ir.Const {
		stepped[l] = f
	}
}

// loopOf returns what Stepped returns for a loop with a condition, and nil for other statements.
func loopOf(s *ir.Stmt) (*ir.Local, *ir.Value) {
	if s.Do != ir.Loop || s.Value == nil {
		return nil, nil
	}
	return Stepped(s)
}

// solve finds the ranges and the uses. At first every parameter counts as a size. A parameter that is also used as a number of 64 bits, or that makes nothing
// narrow, is then removed from the sizes, and everything is computed again.
func (n *Narrow) solve() {
	n.sizes = map[*ir.Param]bool{}
	for _, f := range n.program.Functions {
		for _, m := range f.Params {
			n.sizes[m] = f.Kernel && (m.Type.Kind == ir.Int || m.Type.Kind == ir.I64)
		}
	}
	for {
		n.vars = map[any]span{}
		for round := 0; n.ranges(round, false); round++ {
		}
		for range 2 {
			n.ranges(0, true)
		}
		n.full = map[any]bool{}
		for n.demand() {
		}
		if !n.fewerSizes() {
			return
		}
	}
}

// Value reports whether a value is kept in 32 bits.
func (n *Narrow) Value(v *ir.Value) bool {
	if n == nil || v.Type == nil || !wide(v.Type) {
		return false
	}
	_, visited := n.known[v]
	return visited && (n.Exact(v) || !n.full[v])
}

// Exact reports whether a value of 64 bits fits in an int32.
func (n *Narrow) Exact(v *ir.Value) bool {
	if n == nil || v.Type == nil || !wide(v.Type) {
		return false
	}
	s, visited := n.known[v]
	return visited && s.exact()
}

// Local reports whether a local is kept in 32 bits.
func (n *Narrow) Local(l *ir.Local) bool {
	return n != nil && wide(l.Type) && !n.apart[l] && n.variable(l)
}

// Param reports whether a parameter of a function that is not a kernel is passed in 32 bits.
func (n *Narrow) Param(m *ir.Param) bool {
	return n != nil && wide(m.Type) && n.variable(m)
}

// Result reports whether the only result of a function is returned in 32 bits.
func (n *Narrow) Result(f *ir.Function) bool {
	return n != nil && len(f.Results) == 1 && wide(f.Results[0]) && n.variable(result{f, 0})
}

// Counter reports whether a loop counts in 32 bits.
func (n *Narrow) Counter(c *ir.Count) bool {
	if n == nil || !wide(c.Index.Type) || !n.Exact(c.Index) || !n.Exact(c.End) || !n.Exact(c.From) {
		return false
	}
	last := n.known[c.Index] // after its last round
	return span{last.lo + min(c.By, 0), last.hi + max(c.By, 0)}.exact()
}

// variable reports whether the local, parameter or result with a key of vars is narrow.
func (n *Narrow) variable(of any) bool {
	s, ok := n.vars[of]
	return ok && (s.exact() || !n.full[of])
}

// Computed reports whether an operation on integers of 64 bits, or a comparison or conversion of such integers, is one of 32 bits.
func (n *Narrow) Computed(v *ir.Value) bool {
	if n == nil {
		return false
	}
	switch v.Op {
	case ir.Neg, ir.Complement, ir.Add, ir.Sub, ir.Mul, ir.And, ir.Or, ir.Xor, ir.AndNot:
		return n.Value(v)
	case ir.Shl:
		by, ok := Constant(v.Args[1])
		return ok && by >= 0 && by < 32 && n.Value(v)
	case ir.Shr:
		by, ok := Constant(v.Args[1])
		return ok && by >= 0 && by < 32 && n.Exact(v.Args[0])
	case ir.Div, ir.Rem, ir.Min, ir.Max:
		return n.Value(v) && n.Exact(v.Args[0]) && n.Exact(v.Args[1])
	case ir.Convert:
		return n.Exact(v.Args[0]) || v.Type.Integer() && v.Type.Bits() < 64 || n.Value(v)
	}
	return v.Op.Compares() && n.Exact(v.Args[0]) && n.Exact(v.Args[1])
}

// Plain reports whether a sum, a difference or a product is exact and has exact operands, and cannot wrap around in 64 bits either, in a launch that keeps no
// limits.
func (n *Narrow) Plain(v *ir.Value) bool {
	s, known := n.plain[v]
	return known && s != anything && len(v.Args) == 2 && n.Exact(v) && n.Exact(v.Args[0]) && n.Exact(v.Args[1])
}

// Limit returns what a launch of a kernel must keep: lengths, the numbers of rows and columns and their product, the threads of the grid in each dimension, and
// the parameters sizes are at most the limit, and the sizes at least its negative.
func (n *Narrow) Limit(kernel *ir.Function) (limit int64, sizes []*ir.Param) {
	for _, m := range kernel.Params {
		if n.sizes[m] {
			sizes = append(sizes, m)
		}
	}
	return n.most[kernel], sizes
}

// wide reports whether a type is one of integers of 64 bits.
func wide(t *ir.Type) bool { return t.Integer() && t.Bits() == 64 }

// join adds what a variable may hold, and reports whether that is new. A bound that moves again and again is given up.
func (n *Narrow) join(to map[any]span, of any, s span, round int) bool {
	was, ok := to[of]
	if !ok {
		to[of] = s
		return true
	}
	made := span{min(was.lo, s.lo), max(was.hi, s.hi)}
	if round > 3 && made.lo < was.lo {
		made.lo = math.MinInt64
	}
	if round > 3 && made.hi > was.hi {
		made.hi = math.MaxInt64
	}
	to[of] = made
	return made != was
}

// ranges finds what variables may hold, from what is known of other variables, and reports whether anything is new. If anew is set, what is known of the
// variables is replaced, which may make ranges smaller.
func (n *Narrow) ranges(round int, anew bool) (changed bool) {
	n.known = map[*ir.Value]span{}
	to := n.vars
	if anew {
		to = map[any]span{}
	}
	for _, f := range slices.Backward(n.program.Functions) { // callers first
		n.f = f
		for _, l := range f.Locals {
			if wide(l.Type) && !n.apart[l] {
				changed = n.join(to, l, span{}, round) || changed
			}
		}
		f.Body.Visit(func(s *ir.Stmt) {
			if l := Stored(s); l != nil && wide(l.Type) && !n.apart[l] {
				changed = n.join(to, l, n.span(s.Value), round) || changed
			}
			if s.Do == ir.Return {
				for i, v := range s.Values {
					changed = wide(v.Type) && n.join(to, result{f, i}, n.span(v), round) || changed
				}
			}
			if s.Count != nil {
				n.span(s.Count.Index)
			}
		}, func(v *ir.Value) {
			if v.Type != nil && v.Type.Integer() {
				n.span(v)
			}
			if v.Op == ir.Call {
				for i, a := range v.Args {
					changed = a.Type.Integer() && n.join(to, v.Call.Params[i], n.span(a), round) || changed
				}
			}
		})
	}
	n.vars = to
	return changed
}

// demand finds values and variables of which more than the low 32 bits are used, and reports whether any is new.
func (n *Narrow) demand() bool {
	before := len(n.full)
	use := func(v *ir.Value, all bool) {
		if all && wide(v.Type) {
			n.full[v] = true
		}
	}
	for _, f := range n.program.Functions {
		f.Body.Visit(func(s *ir.Stmt) {
			switch l := Stored(s); {
			case s.Do == ir.Store:
				use(s.Value, l == nil || !n.Local(l))
			case s.Count != nil:
				narrow := n.Counter(s.Count)
				use(s.Count.From, !narrow)
				use(s.Count.End, !narrow)
			case s.Do == ir.Return:
				for _, v := range s.Values {
					use(v, !n.Result(f))
				}
			}
		}, func(v *ir.Value) {
			for i, a := range v.Args {
				use(a, n.uses(v, i))
			}
			if v.Type == nil || !wide(v.Type) || n.Value(v) {
				return
			}
			switch {
			case v.Op == ir.Load && Loaded(v) != nil:
				n.full[Loaded(v)] = true
			case v.Op == ir.Argument && !f.Kernel:
				n.full[v.Param] = true
			case v.Op == ir.Call:
				n.full[result{v.Call, 0}] = true
			}
		})
	}
	return len(n.full) > before
}

// uses reports whether a value uses more than the low 32 bits of operand i.
func (n *Narrow) uses(v *ir.Value, i int) bool {
	switch v.Op {
	case ir.Within, ir.UpTo:
		return i == 0 && !n.Value(v)
	case ir.Extract:
		return i == 0
	case ir.Call:
		return !n.Param(v.Call.Params[i])
	case ir.Shl, ir.Shr:
		if i == 1 {
			return true
		}
	}
	return !n.Computed(v)
}

// fewerSizes removes parameters from those that count as sizes, and reports whether it has removed any.
func (n *Narrow) fewerSizes() bool {
	needed, seen, before := map[*ir.Param]bool{}, map[*ir.Value]bool{}, maps.Clone(n.sizes)
	var need func(v *ir.Value)
	need = func(v *ir.Value) {
		switch {
		case v == nil || seen[v]:
			return
		case v.Op == ir.Argument:
			needed[v.Param] = true
		case Loaded(v) != nil:
			need(n.copies[Loaded(v)])
		}
		seen[v] = true
		for _, a := range v.Args {
			need(a)
		}
	}
	for _, f := range n.program.Functions {
		f.Body.Visit(func(s *ir.Stmt) {
			if s.Count != nil && n.Counter(s.Count) {
				need(s.Count.From)
				need(s.Count.End)
			}
		}, func(v *ir.Value) {
			arg := v
			if l := Loaded(v); l != nil {
				arg = n.copies[l]
			}
			switch {
			case arg != nil && arg.Op == ir.Argument && n.full[v]:
				n.sizes[arg.Param] = false
			case (v.Op >= ir.Lt && v.Op <= ir.Ge || v.Op == ir.Div || v.Op == ir.Rem) && n.Computed(v):
				if v.Args[0].Op != ir.Const && v.Args[1].Op != ir.Const {
					need(v.Args[0])
					need(v.Args[1])
				}
			}
		})
	}
	for m := range n.sizes {
		n.sizes[m] = n.sizes[m] && needed[m]
	}
	return !maps.Equal(before, n.sizes)
}
