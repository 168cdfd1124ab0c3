package spirv

import (
	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// conditional prints an if: yes prints the code for a true condition, and no, which may be nil, the code for a false one.
func (f *flow) conditional(cond isa.ID, yes, no func()) {
	then, other, merge := f.m.ID(), f.m.ID(), f.m.ID()
	reached := no == nil
	if reached {
		other = merge
	}
	f.c.Do(build.OpSelectionMerge, merge, 0)
	f.c.Do(build.OpBranchConditional, cond, then, other)
	f.c.Begin(then)
	yes()
	reached = reached || !f.c.Dead
	f.c.Do(build.OpBranch, merge)
	if no != nil {
		f.c.Begin(other)
		no()
		reached = reached || !f.c.Dead
		f.c.Do(build.OpBranch, merge)
	}
	f.c.Begin(merge)
	if !reached {
		f.c.Do(build.OpUnreachable)
	}
}

// rounds prints a loop of n rounds, a number of 32 bits.
func (f *flow) rounds(n isa.ID, body func(i isa.ID)) {
	u32, first, one := f.m.Int(32), f.m.Const(32, 0), f.m.Const(32, 1)
	l := f.enter(nil)
	next := f.m.ID()
	i := f.phi(u32, first, next, l)
	f.test(l, f.c.Op(build.OpULessThan, f.m.Bool(), i, n))
	body(i)
	f.next(l)
	f.c.As(isa.OpIAdd, u32, next, i, one)
	f.again(l)
}

// enter begins a loop. The rest of the loop is printed in this order: phi, if the loop has one; test; the body; next; the step; again.
func (f *flow) enter(s *ir.Stmt) *construct {
	l := &construct{of: s, loop: true, before: f.c.Block(), header: f.m.ID(), merge: f.m.ID(), next: f.m.ID()}
	f.c.Do(build.OpBranch, l.header)
	f.c.Begin(l.header)
	return l
}

// phi returns a value of a loop. In the first round it is the value passed as first, and in all later rounds the value passed as next.
func (f *flow) phi(typ, first, next isa.ID, l *construct) isa.ID {
	return f.c.Op(build.OpPhi, typ, first, l.before, next, l.next)
}

// test prints the code that ends the loop if a condition is not true. If cond is 0, there is no condition.
func (f *flow) test(l *construct, cond isa.ID) {
	f.c.Do(build.OpLoopMerge, l.merge, l.next, 0)
	f.body(l, cond)
}

func (f *flow) body(l *construct, cond isa.ID) {
	body := f.m.ID()
	if cond == 0 {
		f.c.Do(build.OpBranch, body)
	} else {
		f.c.Do(build.OpBranchConditional, cond, body, l.merge)
		l.reached = true
	}
	f.c.Begin(body)
	f.constructs = append(f.constructs, l)
}

func (f *flow) next(l *construct) {
	f.c.Do(build.OpBranch, l.next)
	f.constructs = f.constructs[:len(f.constructs)-1]
	f.c.Begin(l.next)
}

func (f *flow) again(l *construct) {
	f.c.Do(build.OpBranch, l.header)
	f.after(l)
}

// within prints the inside of a construct that is not a loop. The construct becomes a switch with one case, because SPIR-V lets code leave a switch from
// anywhere inside.
func (f *flow) within(k *construct, inside func()) {
	k.merge = f.m.ID()
	body := f.m.ID()
	f.c.Do(build.OpSelectionMerge, k.merge, 0)
	f.c.Do(build.OpSwitch, f.m.Const(32, 0), body)
	f.c.Begin(body)
	f.constructs = append(f.constructs, k)
	inside()
	f.constructs = f.constructs[:len(f.constructs)-1]
	k.reached = k.reached || !f.c.Dead
	f.c.Do(build.OpBranch, k.merge)
	f.after(k)
}

// after begins the block that follows a construct. If control left the construct in order to leave an outer one, or to begin its next round, the block branches
// on towards that.
func (f *flow) after(k *construct) {
	f.c.Begin(k.merge)
	if !k.reached {
		f.c.Do(build.OpUnreachable)
		return
	}
	for _, to := range k.forwards {
		leaves, stays := f.m.ID(), f.m.ID()
		leaving := f.c.Op(isa.OpLoad, f.m.Bool(), *f.flag(to))
		f.c.Do(build.OpSelectionMerge, stays, 0)
		f.c.Do(build.OpBranchConditional, leaving, leaves, stays)
		f.c.Begin(leaves)
		f.leave(to.to, to.next)
		f.c.Begin(stays)
	}
}

// flag returns the variable that says whether code further in is leaving a construct, or beginning its next round.
func (f *flow) flag(to forward) *isa.ID {
	flag := &to.to.leaving
	if to.next {
		flag = &to.to.continuing
	}
	if *flag == 0 {
		*flag = f.c.Variable(f.m.Bool(), f.m.Truth(false))
	}
	return flag
}

// leave prints a jump to the end of an enclosing construct, or to the next round of a loop. SPIR-V allows a direct jump out of the innermost construct and out
// of the innermost loop. For others, the code sets a flag and jumps to the end of an inner construct, where [flow.after] tests the flag.
func (f *flow) leave(to *construct, next bool) {
	via := (*construct)(nil) // the innermost loop inside the target; if there is none, the innermost construct
	for i := len(f.constructs) - 1; f.constructs[i] != to; i-- {
		k := f.constructs[i]
		if via == nil || k.loop {
			via = k
		}
		if k.loop {
			break
		}
	}
	target := forward{to, next}
	if via == nil || to.loop && !via.loop {
		if flag := map[bool]isa.ID{false: to.leaving, true: to.continuing}[next]; flag != 0 {
			f.c.Do(build.OpStore, flag, f.m.Truth(false))
		}
		if next {
			f.c.Do(build.OpBranch, to.next)
			return
		}
		to.reached = true
		f.c.Do(build.OpBranch, to.merge)
		return
	}
	f.c.Do(build.OpStore, *f.flag(target), f.m.Truth(true))
	known := false
	for _, old := range via.forwards {
		known = known || old == target
	}
	if !known {
		via.forwards = append(via.forwards, target)
	}
	via.reached = true
	f.c.Do(build.OpBranch, via.merge)
}

// either prints two values, of which the kernel evaluates only one. It returns an ID for the value that is evaluated.
func (f *flow) either(cond, typ isa.ID, yes, no func() isa.ID) isa.ID {
	var values [4]isa.ID // each value, and the block that it comes from
	f.conditional(cond, func() { values[0], values[1] = yes(), f.c.Block() }, func() { values[2], values[3] = no(), f.c.Block() })
	return f.c.Op(build.OpPhi, typ, values[:]...)
}
