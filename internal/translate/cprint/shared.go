package cprint

import (
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// clearShared prints the code that sets shared memory to zero at the start of a kernel. It leaves out elements that are written before any thread can read
// them.
func (f *values) clearShared() {
	var arrays []*ir.Local
	all := true
	for _, l := range f.f.Locals {
		if l.Space == ir.Shared && !l.Block {
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
			own, filled := facts.Filled(f.f, l)
			all = all && filled
			f.clear(l, own)
		}
		if !all {
			f.line("BARRIER();")
		}
	})
	f.line("}")
}

// clear prints the loop in which the threads of a block set an array to zero. If own is nil, they set all elements. Otherwise own has the dimensions of the
// threads' own elements, and they set only the elements that belong to no thread.
func (f *values) clear(l *ir.Local, own []int) {
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
	end := fmt.Sprint(total)
	if l.Sized != nil {
		at, elem, end = at[:strings.Index(at, ".a[")]+".a[v_i]", l.Type.Elem, "(u64)"+f.names[l.Sized]
	}
	loop := func() {
		f.line("for (u64 v_i = v_me; v_i < %s; v_i += v_all) {", end)
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
