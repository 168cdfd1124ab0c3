package cprint

import (
	"fmt"
	"go/token"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// place returns the text of a place. The position pos is where the place is used.
func (f *values) place(p *ir.Place, pos token.Pos) text {
	var t text
	var typ *ir.Type
	switch {
	case p.Space() == ir.Constant:
		t, typ = atom(f.table(p.Local.Table)), p.Local.Type
	case p.Local != nil:
		t, typ = atom(f.name(p.Local, p.Local.Name)), p.Local.Type
	case p.Param.Type.Kind == ir.Pointer:
		t, typ = text{c: "(*" + f.names[p.Param] + ")", level: postfix, deep: bracket}, p.Param.Type.Elem
	default:
		t, typ = atom(f.names[p.Param]), p.Param.Type
	}
	n := t.c
	for _, s := range p.Path {
		var index text
		switch {
		case s.Index == nil:
			t.c, typ = t.c+"."+field(typ, s.Field), typ.Inner(s.Field)
			continue
		case typ.Kind == ir.Matrix:
			f.checks = true
			site := atom(fmt.Sprint(f.site(s.Pos, s.Index, pos)))
			index = called("GO_CELL_OF", f.low(s.Index), f.low(s.Col), atom(n+"_n"), atom(n+"_m"), site)
			t.c, typ = t.c+"["+index.c+"]", typ.Elem
		case typ.Kind == ir.Slice:
			index = f.checked(s.Index, n+"_n", s.Pos, pos)
			t.c, typ = t.c+"["+index.c+"]", typ.Elem
			if copy := f.copied[copied{p.Param, repeated(s.Index)}]; copy != "" {
				t = called("GO_COPIED", atom(copy), t)
			}
		default:
			index = f.within(s.Index, fmt.Sprint(typ.Len), s.Pos, pos)
			t.c, typ = t.c+".a["+index.c+"]", typ.Elem
		}
		t.deep = max(t.deep, index.deep+bracket)
	}
	return t
}

// within returns the index of an element of an array. Go's compiler has checked constant indexes already.
func (f *values) within(v *ir.Value, n string, at, use token.Pos) text {
	if v.Op == ir.Const {
		return f.value(v)
	}
	return f.checked(v, n, at, use)
}

// checked returns an index that is checked if the text is compiled with checks.
func (f *values) checked(v *ir.Value, n string, at, use token.Pos) text {
	f.checks = true
	return called("GO_AT", f.low(v), atom(n), atom(fmt.Sprint(f.site(at, v, use))))
}

// limited returns a number that is checked if the text is compiled with checks. It is an index of a part of a slice, or a bound of such a part.
func (f *values) limited(v *ir.Value) text {
	f.checks = true
	macro := map[ir.Op]string{ir.Within: "GO_AT", ir.UpTo: "GO_UPTO"}[v.Op]
	return called(macro, f.as(v.Args[0], f.narrow.Value(v)), f.value(v.Args[1]), atom(fmt.Sprint(f.site(v.Pos, v, v.Pos))))
}

// asked returns the second operand of v. If the text is compiled with checks, the macro reports an operand with which v panics in Go.
func (f *values) asked(macro string, v *ir.Value, operand text) text {
	if !facts.Panics(v) {
		return operand
	}
	f.checks = true
	return called(macro, operand, atom(fmt.Sprint(f.site(v.Pos, v, v.Pos))))
}

// call returns the text of a call or an atomic operation, and the type of its result.
func (f *values) call(v *ir.Value) (c, typ string) {
	var args []string
	if v.Op == ir.Atomic {
		n := numbers[v.Type.Kind]
		args = append(args, "&"+f.place(v.Place, v.Pos).c)
		for _, a := range v.Args {
			args = append(args, f.whole(a).c)
		}
		if n.bits == 64 {
			f.now |= atomic64s
		}
		return fmt.Sprintf("%s(%s)", f.atomic(v.Of, n, v.Place.Space()), strings.Join(args, ", ")), n.c
	}
	g := f.functions[variant{v.Call, f.Waits}]
	for _, a := range v.Args {
		switch {
		case a.Op == ir.Address:
			pos := v.Pos
			args = append(args, "&"+f.place(a.Place, pos).c)
		case a.Op == ir.Argument && a.Type.Memory():
			name := f.names[a.Param]
			args = append(args, name)
			if a.Type.Kind != ir.Pointer {
				args = append(args, name+"_n")
			}
			if a.Type.Kind == ir.Matrix {
				args = append(args, name+"_m")
			}
		default:
			args = append(args, f.value(a).c)
		}
	}
	passed := strings.Join(args, ", ")
	if g.checks {
		f.checks = true
		if passed += " GO_PASS"; len(args) == 0 {
			passed = "GO_PASS_ALONE"
		}
	}
	f.now |= f.needs[g.c]
	return fmt.Sprintf("%s(%s)", g.c, passed), g.results
}
