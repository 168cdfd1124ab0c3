package spirv

import (
	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
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
		id := f.expr(s.Value)
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
		}
	case v.Type.Kind == ir.Tuple:
		f.frame.tuples[v.ID] = f.mathematics(v)
	default:
		f.frame.values[v.ID] = f.compute(v)
	}
	if f.stays(f.frame.f).values[v] {
		at := f.variable(v.Type)
		f.store(at, f.frame.values[v.ID])
		f.frame.kept[v.ID] = at
	}
}

func (f *function) branch(s *ir.Stmt) {
	if chain := ladder(s); chain != nil {
		f.choose(chain)
		return
	}
	other := func() { f.region(s.Else) }
	if s.Else == nil || len(s.Else.List) == 0 {
		other = nil
	}
	f.conditional(f.expr(s.Value), func() { f.region(s.Then) }, other)
}

// loop prints a loop with a condition, or without.
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
	typ, from := f.emitter.value(t), f.expr(c.From)
	end := f.expr(c.End)
	l := f.enter(s)
	next := f.m.ID()
	i := f.phi(typ, from, next, l)
	f.frame.values[c.Index.ID] = i
	f.test(l, f.compare(c.Op, t, i, end))
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
