package cprint

import (
	"fmt"
	"slices"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// clearShared prints what sets the memory that the threads of a block share to zero before any thread goes on, except elements that are written before any
// thread can read them.
func (f *function) clearShared() {
	var arrays []*ir.Local
	all := true
	for _, l := range f.f.Locals {
		if l.Space == ir.Shared {
			arrays = append(arrays, l)
		}
	}
	if len(arrays) == 0 {
		return
	}
	f.line("{")
	f.deeper(func() {
		f.line("u64 v_all = THREADS(0) * THREADS(1) * THREADS(2);")
		f.line("u64 v_me = (THREAD(2) * THREADS(1) + THREAD(1)) * THREADS(0) + THREAD(0);")
		for _, l := range arrays {
			own := filled(f.f, l)
			all = all && own != nil
			f.clear(l, own)
		}
		if !all {
			f.line("BARRIER();")
		}
	})
	f.line("}")
}

// clear prints how the threads of a block set an array to zero: all of it or, if own is not nil, only the elements that no thread has as its own.
func (f *function) clear(l *ir.Local, own []int) {
	total, elem := int64(1), l.Type
	for ; elem.Kind == ir.Array; elem = elem.Elem {
		total *= elem.Len
	}
	at, each := f.name(l, l.Name), total
	fewer, without := "", ""
	first := true
	for t := l.Type; t.Kind == ir.Array; t = t.Elem {
		each /= t.Len
		index := fmt.Sprintf("v_i / %d", each)
		if !first {
			index = fmt.Sprintf("v_i / %d %% %d", each, t.Len)
		}
		at += ".a[" + index + "]"
		if own != nil {
			fewer += fmt.Sprintf(" || THREADS(%d) < %d", own[0], t.Len)
			without += fmt.Sprintf(" || %s >= THREADS(%d)", index, own[0])
			own = own[1:]
		}
		first = false
	}
	loop := func() {
		f.line("for (u64 v_i = v_me; v_i < %d; v_i += v_all) {", total)
		f.deeper(func() {
			f.line("%s v_zero = %s;", f.typ(elem), zero(elem))
			if without != "" {
				f.line("if (%s) %s = v_zero;", without[len(" || "):], at)
			} else {
				f.line("%s = v_zero;", at)
			}
		})
		f.line("}")
	}
	if fewer == "" {
		loop()
		return
	}
	f.line("if (%s) {", fewer[len(" || "):])
	f.deeper(loop)
	f.line("}")
}

// filled reports whether every thread writes its own element of a shared array before any thread can read it. Then only elements without a thread have to be
// cleared, and no barrier is needed after that. The indexes of a thread's own element are its places in the block; filled returns their dimensions, or nil.
//
// It recognises one form. The kernel's body, or that of one of its loops, has such a store, and after it a barrier. Between the two, threads use only their
// own elements. No statement leaves the kernel or the loop before that barrier. The array is not used before the store and, in the case of a loop, not
// after the loop.
func filled(f *ir.Function, l *ir.Local) []int {
	if own := filledIn(f, l, f.Body.List, nil); own != nil {
		return own
	}
	for _, s := range f.Body.List {
		if s.Do == ir.Loop {
			if own := filledIn(f, l, s.Then.List, s); own != nil {
				return own
			}
		}
	}
	return nil
}

// filledIn is filled for the statements of the body, or of a loop.
func filledIn(f *ir.Function, l *ir.Local, list []*ir.Stmt, loop *ir.Stmt) []int {
	for i, s := range list {
		if s.Do != ir.Store || s.Place.Local != l {
			continue
		}
		own := ownElement(s.Place)
		waits := i + 1
		for waits < len(list) && !barrier(list[waits], list[waits-1]) {
			waits++
		}
		if own == nil || waits == len(list) || reads(s.Value, l) {
			return nil
		}
		stage, fine := before, true // where the walk is
		use := func(p *ir.Place) {
			if p == nil || p.Local != l {
				return
			}
			switch stage {
			case filling:
				fine = fine && slices.Equal(ownElement(p), own)
			case before, after:
				fine = false
			}
		}
		var walk func(r *ir.Region)
		walk = func(r *ir.Region) {
			for _, in := range r.List {
				switch in {
				case s:
					stage = filling
				case list[waits]:
					stage = waited
				}
				leaves := in.Do == ir.Return || in.Do == ir.Break || in.Do == ir.Continue
				fine = fine && (!leaves || stage >= waited)
				use(in.Place)
				for _, v := range in.Operands() {
					visit(v, in.Do == ir.Let, use)
				}
				for _, r := range in.Regions() {
					walk(r)
				}
				if in.Do == ir.Loop && in.Value != nil {
					visit(in.Value, false, use)
				}
				for _, c := range in.Clauses {
					for _, t := range c.Tests {
						visit(t.Cond, false, use)
					}
				}
				if in == loop {
					stage = after
				}
			}
		}
		walk(f.Body)
		if fine {
			return own
		}
		return nil
	}
	return nil
}

// The stages of a walk through a kernel that fills a shared array.
const (
	before = iota
	filling
	waited // all threads have filled it
	after  // the loop in which they do
)

// visit calls use for the places that a value is computed from.
func visit(v *ir.Value, let bool, use func(*ir.Place)) {
	if v.Bound && !let {
		return
	}
	use(v.Place)
	for _, a := range v.Operands() {
		visit(a, false, use)
	}
}

// ownElement returns the dimensions of the thread's place in its block that are the indexes of an element, which are all different; nil for other places.
func ownElement(p *ir.Place) (dims []int) {
	t := p.Local.Type
	for _, s := range p.Path {
		if t.Kind != ir.Array || s.Index.Op != ir.InBlock || slices.Contains(dims, s.Index.Which[0]) {
			return nil
		}
		dims, t = append(dims, s.Index.Which[0]), t.Elem
	}
	if t.Kind == ir.Array {
		return nil
	}
	return dims
}

// barrier reports whether a statement is a barrier, or a loop that runs at least once and whose body begins with one.
func barrier(s, before *ir.Stmt) bool {
	if s.Do != ir.Loop || len(s.Then.List) == 0 || !barrier(s.Then.List[0], nil) {
		return s.Do == ir.Barrier
	}
	switch c, v := s.Count, s.Value; {
	case c != nil:
		return holds(c.Op, c.From, c.End)
	case v == nil:
		return true
	case !v.Op.Compares() || before == nil || before.Do != ir.Store || len(before.Place.Path) > 0:
		return false
	default: // for x := from; x op end
		x := v.Args[0]
		return x.Op == ir.Load && len(x.Place.Path) == 0 && x.Place.Local == before.Place.Local && x.Place.Param == nil && holds(v.Op, before.Value, v.Args[1])
	}
}

// holds reports whether a comparison of constants is true.
func holds(op ir.Op, x, y *ir.Value) bool {
	a, ok := x.Const.(int64)
	b, ok2 := y.Const.(int64)
	return ok && ok2 && map[ir.Op]bool{ir.Lt: a < b, ir.Le: a <= b, ir.Gt: a > b, ir.Ge: a >= b, ir.Ne: a != b}[op]
}
