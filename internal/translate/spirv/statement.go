package spirv

import (
	"slices"

	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// region prints statements.
func (f *function) region(r *ir.Region) {
	if r == nil {
		return
	}
	for _, s := range r.List {
		if f.c.Dead {
			return
		}
		f.statement(s)
	}
}

func (f *function) statement(s *ir.Stmt) {
	switch s.Do {
	case ir.Let:
		f.let(s.Value)
	case ir.Store:
		indexes := f.indexes(s.Place)
		l := facts.Stored(s)
		id := f.as(s.Value, l != nil && f.narrow.Local(l))
		f.store(f.at(s.Place, indexes), id)
	case ir.If:
		f.branch(s)
	case ir.Loop:
		f.looped = true
		if s.Count != nil {
			f.counted(s)
		} else {
			f.loop(s)
		}
	case ir.Switch:
		f.choose(s)
	case ir.Break, ir.Continue:
		for i := len(f.constructs) - 1; i >= 0; i-- {
			if to := f.constructs[i]; to.of == s.Target {
				f.leave(to, s.Do == ir.Continue)
				return
			}
		}
	case ir.Return:
		f.returns(s)
	case ir.Barrier:
		const workgroup, acquireRelease, buffers, shared = 2, 8, 0x40, 0x100
		scope := f.m.Const(32, workgroup)
		f.c.Do(build.OpControlBarrier, scope, scope, f.m.Const(32, acquireRelease|buffers|shared))
	}
}

// let prints a bound value.
func (f *function) let(v *ir.Value) {
	switch {
	case v.Op == ir.Call:
		all := f.call(v)
		f.frame.tuples[v.ID] = all
		if len(all) > 0 {
			f.frame.values[v.ID] = all[0]
			if f.narrow.Value(v) && !f.narrow.Result(v.Call) {
				f.frame.values[v.ID] = f.cutLow(all[0])
			}
		}
	case v.Type.Kind == ir.Tuple:
		f.frame.tuples[v.ID] = f.mathematics(v)
	default:
		f.frame.values[v.ID] = f.bound(v)
	}
	if f.stays(f.frame.f).values[v] {
		at := f.variable(v.Type)
		f.store(at, f.frame.values[v.ID])
		f.frame.kept[v.ID] = at
	}
}

func (f *function) branch(s *ir.Stmt) {
	if chain := facts.Ladder(s, ownHead); chain != nil {
		f.choose(&ir.Stmt{Do: ir.Switch, Clauses: chain})
		return
	}
	other := func() { f.region(s.Else) }
	if s.Else == nil || len(s.Else.List) == 0 {
		other = nil
	}
	f.conditional(f.expr(s.Value), func() { f.region(s.Then) }, other)
}

// loop prints a loop that does not count. It may have a condition.
func (f *function) loop(s *ir.Stmt) {
	l := f.enter(s)
	test := f.m.ID()
	f.c.Do(build.OpLoopMerge, l.merge, l.next, 0)
	f.c.Do(build.OpBranch, test)
	f.c.Begin(test)
	f.region(s.Head)
	cond := isa.ID(0)
	if s.Value != nil {
		cond = f.expr(s.Value)
	}
	f.body(l, cond)
	f.region(s.Then)
	f.next(l)
	f.region(s.Step)
	f.again(l)
}

// counted prints a loop that counts.
func (f *function) counted(s *ir.Stmt) {
	c := s.Count
	t := c.Index.Type
	narrow := f.narrow.Counter(c)
	if narrow {
		t = ir.Basic(ir.I32)
	}
	typ, from := f.emitter.value(t), f.as(c.From, narrow)
	end := f.as(c.End, narrow)
	l := f.enter(s)
	next := f.m.ID()
	i := f.phi(typ, from, next, l)
	f.frame.values[c.Index.ID] = i
	f.test(l, f.compare(c.Op, t, i, end))
	if f.narrow.Value(c.Index) && !narrow {
		f.frame.values[c.Index.ID] = f.cutLow(i)
	}
	if f.stays(f.frame.f).values[c.Index] {
		panic("a counter has no elements")
	}
	f.region(s.Then)
	f.next(l)
	by := f.number(t, uint64(c.By))
	if t.Bits() >= 32 {
		f.c.As(isa.OpIAdd, typ, next, i, by)
	} else {
		f.c.As(build.OpCopyObject, typ, next, f.normal(t, f.c.Op(isa.OpIAdd, typ, i, by)))
	}
	f.again(l)
}

// choose prints a switch.
func (f *function) choose(s *ir.Stmt) {
	tests, falls := 0, false
	for _, c := range s.Clauses {
		tests += len(c.Tests)
		falls = falls || c.Falls
	}
	switch tag := facts.Tag(s.Clauses); {
	case tag != nil && tag.Type.Integer() && tests > 2 && !falls:
		f.clauses(s, f.expr(tag), width(tag.Type), func(c *ir.Clause, _ int) (all []uint64) {
			for _, t := range c.Tests {
				all = append(all, bitsOf(t.Cond.Args[1].Const))
			}
			return all
		})
	case tests > facts.MostLadder || falls:
		f.flat(s)
	case facts.ExitOf(s).Breaks:
		f.within(&construct{of: s}, func() { f.nested(s) })
	default:
		f.nested(s)
	}
}

// clauses prints the clauses of a switch as an OpSwitch. The parameter bits is the width of the selector. The function numbers returns the selector's values
// for a clause, and a clause for which it returns none is the default.
func (f *function) clauses(s *ir.Stmt, selector isa.ID, bits int, numbers func(c *ir.Clause, i int) []uint64) {
	k := &construct{of: s, merge: f.m.ID()}
	labels := make([]isa.ID, len(s.Clauses))
	other := isa.ID(0)
	var targets []uint32
	for i, c := range s.Clauses {
		labels[i] = f.m.ID()
		list := numbers(c, i)
		if len(list) == 0 {
			other = labels[i]
		}
		for _, n := range list {
			targets = append(targets, uint32(n))
			if bits == 64 {
				targets = append(targets, uint32(n>>32))
			}
			targets = append(targets, labels[i])
		}
	}
	if other == 0 {
		other, k.reached = k.merge, true
	}
	f.c.Do(build.OpSelectionMerge, k.merge, 0)
	f.c.Do(build.OpSwitch, append([]uint32{selector, other}, targets...)...)
	f.constructs = append(f.constructs, k)
	for i, c := range s.Clauses {
		f.c.Begin(labels[i])
		f.region(c.Body)
		if c.Falls {
			f.c.Do(build.OpBranch, labels[i+1])
			continue
		}
		k.reached = k.reached || !f.c.Dead
		f.c.Do(build.OpBranch, k.merge)
	}
	f.constructs = f.constructs[:len(f.constructs)-1]
	f.after(k)
}

// nested prints a switch as conditions, each in the else of the one before.
func (f *function) nested(s *ir.Stmt) {
	var other *ir.Clause
	type test struct {
		ir.Test
		clause *ir.Clause
	}
	var tests []test
	for _, c := range s.Clauses {
		if len(c.Tests) == 0 {
			other = c
		}
		for _, t := range c.Tests {
			tests = append(tests, test{t, c})
		}
	}
	var from func(i int)
	from = func(i int) {
		if i == len(tests) {
			if other != nil {
				f.region(other.Body)
			}
			return
		}
		c := tests[i].clause
		f.region(tests[i].Head)
		cond, last := f.expr(tests[i].Cond), i+1
		for ; last < len(tests) && tests[last].clause == c && f.harmlessTest(tests[last].Test); last++ {
			cond = f.c.Op(build.OpLogicalOr, f.m.Bool(), cond, f.expr(tests[last].Cond))
		}
		no := func() { from(last) }
		if last == len(tests) && other == nil {
			no = nil
		}
		f.conditional(cond, func() { f.region(c.Body) }, no)
	}
	from(0)
}

// harmlessTest reports whether a condition can be evaluated even where Go does not evaluate it.
func (f *function) harmlessTest(t ir.Test) bool {
	return (t.Head == nil || len(t.Head.List) == 0) && f.harmless(t.Cond)
}

// flat prints a switch without nesting. Conditions one after the other find the number of the clause that runs, and then an OpSwitch jumps to that clause.
func (f *function) flat(s *ir.Stmt) {
	none := len(s.Clauses) // the number of the clause without tests, or one that no clause has
	for i, c := range s.Clauses {
		if len(c.Tests) == 0 {
			none = i
		}
	}
	u32 := ir.Basic(ir.U32)
	number := func(n int) isa.ID { return f.m.Const(32, uint64(n)) }
	which := f.variable(u32)
	f.store(which, number(none))
	for i, c := range s.Clauses {
		for _, t := range c.Tests {
			found := f.compare(ir.Eq, u32, f.load(which), number(none))
			f.conditional(found, func() {
				f.region(t.Head)
				f.store(which, f.c.Op(build.OpSelect, f.m.Int(32), f.expr(t.Cond), number(i), number(none)))
			}, nil)
		}
	}
	f.clauses(s, f.load(which), 32, func(_ *ir.Clause, i int) []uint64 { return []uint64{uint64(i)} })
}

// ownHead reports whether only the condition of s uses the values that are bound in head.
func ownHead(head []*ir.Stmt, s *ir.Stmt) bool {
	bound, own := map[*ir.Value]bool{}, true
	for _, h := range head {
		if h.Do == ir.Let {
			bound[h.Value] = true
		}
	}
	if len(bound) == 0 {
		return true
	}
	check := func(list ...*ir.Value) {
		own = own && !slices.ContainsFunc(list, func(v *ir.Value) bool { return bound[v] })
	}
	for _, r := range s.Regions() {
		r.Visit(func(in *ir.Stmt) {
			check(in.Operands()...)
			check(in.Value)
			for _, c := range in.Clauses {
				for _, t := range c.Tests {
					check(t.Cond)
				}
			}
		}, func(v *ir.Value) { check(v.Operands()...) })
	}
	return own
}

// returns prints a return of the function, or of an inlined function.
func (f *function) returns(s *ir.Stmt) {
	in := f.frame
	var results []isa.ID
	for _, v := range s.Values {
		results = append(results, f.as(v, f.narrow.Result(in.f)))
	}
	switch {
	case in.around != nil:
		for i, at := range in.at {
			f.store(at, results[i])
		}
		f.leave(in.around, false)
	case in.inlined:
		in.results = results
	case len(results) == 0:
		f.end()
	case len(results) == 1:
		f.c.Do(build.OpReturnValue, results[0])
	default:
		f.c.Do(build.OpReturnValue, f.c.Op(isa.OpCompositeConstruct, f.emitter.value(in.f.Result()), results...))
	}
}

// end prints the end of a function without results.
func (f *function) end() {
	if f.frame.f.Kernel && f.Loops && f.looped && f.Reports != Nothing {
		f.askRounds()
	}
	f.c.Do(build.OpReturn)
}
