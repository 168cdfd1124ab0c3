package translate

import (
	"github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
)

// spirvFunction is a function that is being written.
type spirvFunction struct {
	*emitter
	c          *build.Code
	result     *cType
	scopes     []map[string]*cPlace
	constructs []*construct
	never      spirv.ID   // a condition that is never true, which no compiler knows; 0 before the first use
	inlined    []*inlined // functions that are written out in this one, the innermost last
}

// construct is a loop, or a block with a label behind it, or a function that is written out. It can be left from within.
type construct struct {
	loop        bool
	label       string // behind a block; "return" behind a function
	merge, next spirv.ID
	reached     bool // something goes to merge
	forwards    []forward
	flags       [2]spirv.ID // whether a construct further in was left to leave this one, and to go on with its next round
}

// forward says that what follows a construct must go on to another that is further out.
type forward struct {
	to   *construct
	next bool
}

// list writes the statements of a block.
func (f *spirvFunction) list(list []*cStmt) {
	for i, s := range list {
		switch {
		case f.c.Dead:
			return
		case s.op == "label":
		case i+1 < len(list) && list[i+1].op == "label":
			f.within(&construct{label: list[i+1].name}, func() { f.statement(s) })
		default:
			f.statement(s)
		}
	}
}

func (f *spirvFunction) statement(s *cStmt) {
	if f.c.Dead {
		return
	}
	switch s.op {
	case "{":
		f.enterScope()
		f.list(s.list)
		f.leaveScope()
	case "all":
		f.list(s.list)
	case "decl":
		switch {
		case s.local:
			f.scope()[s.name] = &cPlace{typ: s.typ, storage: build.Workgroup, base: f.global(build.Workgroup, f.shared(s.typ))}
		case s.y == nil:
			f.declare(s.name, s.typ, 0)
		default:
			f.declare(s.name, s.typ, f.initial(s.y, s.typ))
		}
	case "=":
		at := f.place(s.x)
		f.store(at, f.initial(s.y, at.typ))
	case "expr":
		f.value(s.x)
	case "if":
		f.branch(s)
	case "for", "do":
		f.loop(s)
	case "break", "continue":
		for i := len(f.constructs) - 1; ; i-- {
			if to := f.constructs[i]; to.loop {
				f.leave(to, s.op == "continue")
				return
			}
		}
	case "goto":
		for i := len(f.constructs) - 1; ; i-- {
			if to := f.constructs[i]; to.label == s.name {
				f.leave(to, false)
				return
			}
		}
	case "return":
		f.returns(s)
	default:
		cFail("a statement %q", s.op)
	}
}

// initial returns the value of an expression in a type.
func (f *spirvFunction) initial(x *cExpr, t *cType) spirv.ID {
	if x.op == "{0}" {
		return f.zeroOf(t)
	}
	return f.convert(f.value(x), t)
}

// returns ends the function, or what is written out of one.
func (f *spirvFunction) returns(s *cStmt) {
	if n := len(f.inlined); n > 0 {
		in := f.inlined[n-1]
		if s.x != nil {
			in.value = f.initial(s.x, in.def.result)
			if in.at != nil {
				f.store(in.at, in.value)
			}
		}
		if in.around != nil {
			f.leave(in.around, false)
		}
		return
	}
	if s.x == nil {
		f.c.Do(build.OpReturn)
		return
	}
	f.c.Do(build.OpReturnValue, f.initial(s.x, f.result))
}

func (f *spirvFunction) branch(s *cStmt) {
	if s.x.op == "num" { // the text asks whether it is for another compiler
		if s.x.text != "0" {
			f.statement(s.list[0])
		} else if s.orElse != nil {
			f.statement(s.orElse)
		}
		return
	}
	cond := f.truth(f.value(s.x))
	then, other, merge := f.m.ID(), f.m.ID(), f.m.ID()
	reached := s.orElse == nil
	if reached {
		other = merge
	}
	f.c.Do(build.OpSelectionMerge, merge, 0)
	f.c.Do(build.OpBranchConditional, cond, then, other)
	f.c.Begin(then)
	f.statement(s.list[0])
	reached = reached || !f.c.Dead
	f.c.Do(build.OpBranch, merge)
	if s.orElse != nil {
		f.c.Begin(other)
		f.statement(s.orElse)
		reached = reached || !f.c.Dead
		f.c.Do(build.OpBranch, merge)
	}
	f.c.Begin(merge)
	if !reached {
		f.c.Do(build.OpUnreachable)
	}
}

func (f *spirvFunction) loop(s *cStmt) {
	f.enterScope()
	f.list(s.init)
	header, test, body := f.m.ID(), f.m.ID(), f.m.ID()
	l := &construct{loop: true, merge: f.m.ID(), next: f.m.ID()}
	f.c.Do(build.OpBranch, header)
	f.c.Begin(header)
	f.c.Do(build.OpLoopMerge, l.merge, l.next, 0)
	if s.op == "for" && s.x != nil {
		f.c.Do(build.OpBranch, test)
		f.c.Begin(test)
		f.c.Do(build.OpBranchConditional, f.truth(f.value(s.x)), body, l.merge)
		l.reached = true
	} else {
		f.c.Do(build.OpBranch, body)
	}
	f.c.Begin(body)
	f.constructs = append(f.constructs, l)
	f.statement(s.list[0])
	f.c.Do(build.OpBranch, l.next)
	f.constructs = f.constructs[:len(f.constructs)-1]
	f.c.Begin(l.next)
	if s.op == "do" {
		f.c.Do(build.OpBranchConditional, f.truth(f.value(s.x)), header, l.merge)
		l.reached = true
	} else {
		f.list(s.step)
		f.c.Do(build.OpBranch, header)
	}
	f.after(l)
	f.leaveScope()
}

// within writes what a construct that is no loop has in it. A switch with one case can be left from anywhere within.
func (f *spirvFunction) within(k *construct, inside func()) {
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

// after begins what follows a construct. If it was left to leave others as well, that goes on.
func (f *spirvFunction) after(k *construct) {
	f.c.Begin(k.merge)
	if !k.reached {
		f.c.Do(build.OpUnreachable)
		return
	}
	for _, to := range k.forwards {
		leaves, stays := f.m.ID(), f.m.ID()
		leaving := f.c.Op(spirv.OpLoad, f.m.Bool(), f.flag(to))
		f.c.Do(build.OpSelectionMerge, stays, 0)
		f.c.Do(build.OpBranchConditional, leaving, leaves, stays)
		f.c.Begin(leaves)
		f.leave(to.to, to.next)
		f.c.Begin(stays)
	}
}

// flag returns the variable that says whether a construct is being left from further in.
func (f *spirvFunction) flag(to forward) spirv.ID {
	i := 0
	if to.next {
		i = 1
	}
	if to.to.flags[i] == 0 {
		to.to.flags[i] = f.c.Variable(f.m.Bool(), f.m.Truth(false))
	}
	return to.to.flags[i]
}

// leave goes to the end of a construct around this place, or to the next round of a loop. SPIR-V allows that for the innermost construct
// and the innermost loop. Otherwise a flag is set, and the code goes to the end of those.
func (f *spirvFunction) leave(to *construct, next bool) {
	via := (*construct)(nil) // the innermost loop further in, or else the innermost construct
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
		if i := map[bool]int{true: 1}[next]; to.flags[i] != 0 {
			f.c.Do(build.OpStore, to.flags[i], f.m.Truth(false))
		}
		if next {
			f.c.Do(build.OpBranch, to.next)
			return
		}
		to.reached = true
		f.c.Do(build.OpBranch, to.merge)
		return
	}
	f.c.Do(build.OpStore, f.flag(target), f.m.Truth(true))
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
