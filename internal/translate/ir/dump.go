package ir

import (
	"fmt"
	"strconv"
	"strings"
)

// String returns the program as text. The text reads like Go, with := for each let. A constant that is not an int, bool or float64 has its type after a colon.
func (p *Program) String() string {
	var b strings.Builder
	for i, f := range p.Functions {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(f.String())
	}
	return b.String()
}

// String returns the function as text.
func (f *Function) String() string {
	d := &dumper{f: f, names: map[any]string{}, taken: map[string]bool{}}
	word := "func"
	if f.Kernel {
		word = "kernel"
	}
	if f.Fast {
		word = "fast " + word
	}
	var params, results []string
	for _, p := range f.Params {
		out := ""
		if p.Out {
			out = "out "
		}
		params = append(params, d.name(p, p.Name)+" "+out+p.Type.String())
	}
	for _, r := range f.Results {
		results = append(results, r.String())
	}
	head := fmt.Sprintf("%s %s(%s)", word, f.Name, strings.Join(params, ", "))
	if len(results) > 0 {
		head += " (" + strings.Join(results, ", ") + ")"
	}
	d.line("%s {", head)
	for _, l := range f.Locals {
		word := "var"
		if l.Space != Private {
			word = l.Space.String()
		}
		d.line("\t%s %s %s", word, d.name(l, l.Name), l.Type)
	}
	d.region(f.Body)
	d.line("}")
	return d.b.String()
}

type dumper struct {
	f     *Function
	b     strings.Builder
	depth int
	names map[any]string // of parameters, locals, bound values and labels
	taken map[string]bool
}

func (d *dumper) line(format string, args ...any) {
	fmt.Fprintf(&d.b, strings.Repeat("\t", d.depth)+format+"\n", args...)
}

// name returns a name for a parameter, local, bound value or label. The name is unique in the function.
func (d *dumper) name(of any, like string) string {
	if n, ok := d.names[of]; ok {
		return n
	}
	numbered := like == "" || like == "_"
	if numbered {
		like = "v"
	}
	n := like
	for i := 1; d.taken[n] || numbered && i == 1; i++ {
		n = like + "_" + strconv.Itoa(i)
	}
	d.taken[n], d.names[of] = true, n
	return n
}

func (d *dumper) region(r *Region) {
	d.depth++
	for _, s := range r.List {
		d.statement(s)
	}
	d.depth--
}

func (d *dumper) statement(s *Stmt) {
	switch s.Do {
	case Let:
		text := d.computed(s.Value)
		if s.Value.Type == nil {
			d.line("%s", text)
		} else {
			d.line("%s %s := %s", d.name(s.Value, s.Value.Name), s.Value.Type, text)
		}
	case Store:
		d.line("%s = %s", d.place(s.Place), d.value(s.Value))
	case If:
		d.line("if %s {", d.value(s.Value))
		d.region(s.Then)
		if s.Else != nil {
			d.line("} else {")
			d.region(s.Else)
		}
		d.line("}")
	case Loop:
		d.loop(s)
	case Switch:
		d.line("%s: switch {", d.name(s, s.Label))
		for _, c := range s.Clauses {
			for _, t := range c.Tests {
				d.head("test", t.Head)
				d.line("case %s:", d.value(t.Cond))
			}
			if len(c.Tests) == 0 {
				d.line("default:")
			}
			d.region(c.Body)
			if c.Falls {
				d.line("\tfallthrough")
			}
		}
		d.line("}")
	case Break, Continue:
		d.line("%s %s", s.Do, d.name(s.Target, s.Target.Label))
	case Return:
		d.line("%s", strings.TrimSpace("return "+d.list(s.Values)))
	default:
		d.line("%s", s.Do)
	}
}

func (d *dumper) loop(s *Stmt) {
	label := d.name(s, s.Label)
	if c := s.Count; c != nil {
		from, end := d.value(c.From), d.value(c.End)
		i := d.name(c.Index, c.Index.Name)
		d.line("%s: for %s %s := %s; %s %s %s; %s += %d {", label, i, c.Index.Type, from, i, c.Op, end, i, c.By)
		d.region(s.Then)
		d.line("}")
		return
	}
	d.line("%s: for {", label)
	d.depth++
	d.head("head", s.Head)
	if s.Value != nil {
		d.line("while %s {", d.value(s.Value))
	} else {
		d.line("while true {")
	}
	d.region(s.Then)
	d.line("}")
	d.head("step", s.Step)
	d.depth--
	d.line("}")
}

// head writes a region that has a name, if it has statements.
func (d *dumper) head(name string, r *Region) {
	if r != nil && len(r.List) > 0 {
		d.line("%s {", name)
		d.region(r)
		d.line("}")
	}
}

func (d *dumper) list(values []*Value) string {
	var all []string
	for _, v := range values {
		all = append(all, d.value(v))
	}
	return strings.Join(all, ", ")
}

// value returns the text of a value where it is used.
func (d *dumper) value(v *Value) string {
	if v.Bound {
		return d.name(v, v.Name)
	}
	return d.computed(v)
}

// computed returns the text of a value where it is computed.
func (d *dumper) computed(v *Value) string {
	switch {
	case v.Op == Const:
		return v.constant()
	case v.Op == Argument:
		return d.name(v.Param, v.Param.Name)
	case v.Op == Len || v.Op == Rows || v.Op == Cols:
		return fmt.Sprintf("%s(%s)", v.Op, d.name(v.Param, v.Param.Name))
	case v.Op >= InGrid && v.Op <= AllBlocks:
		return fmt.Sprintf("%s(%d)", v.Op, v.Which[0])
	case v.Op == Neg || v.Op == Not || v.Op == Complement:
		return v.Op.String() + d.value(v.Args[0])
	case v.Op == Convert || v.Op == Complex:
		return fmt.Sprintf("%s(%s)", v.Type, d.list(v.Args))
	case v.Op == Go:
		return fmt.Sprintf("%s(%s)", v.Of, d.list(v.Args))
	case v.Op == Composite:
		var parts []string
		for i, a := range v.Args {
			part := strconv.Itoa(v.Which[i])
			if v.Type.Kind == Struct {
				part = v.Type.Fields[v.Which[i]].Name
			}
			parts = append(parts, part+": "+d.value(a))
		}
		return fmt.Sprintf("%s{%s}", v.Type, strings.Join(parts, ", "))
	case v.Op == Extract && len(v.Args) == 2:
		return fmt.Sprintf("%s[%s]", d.value(v.Args[0]), d.value(v.Args[1]))
	case v.Op == Extract && v.Args[0].Type.Kind == Tuple:
		return fmt.Sprintf("%s.%d", d.value(v.Args[0]), v.Which[0])
	case v.Op == Extract:
		return fmt.Sprintf("%s.%s", d.value(v.Args[0]), v.Args[0].Type.Fields[v.Which[0]].Name)
	case v.Op == Load:
		return d.place(v.Place)
	case v.Op == Address:
		return "&" + d.place(v.Place)
	case v.Op == Atomic:
		return fmt.Sprintf("atomic%s(&%s, %s)", v.Of, d.place(v.Place), d.list(v.Args))
	case v.Op == Call:
		return fmt.Sprintf("%s(%s)", v.Call.Name, d.list(v.Args))
	case len(v.Args) == 2 && (v.Op < Min || v.Op > UpTo):
		return fmt.Sprintf("(%s %s %s)", d.value(v.Args[0]), v.Op, d.value(v.Args[1]))
	}
	return fmt.Sprintf("%s(%s)", v.Op, d.list(v.Args))
}

// constant returns the text of a constant.
func (v *Value) constant() string {
	text := fmt.Sprint(v.Const)
	if x, ok := v.Const.(float64); ok {
		text = strconv.FormatFloat(x, 'g', -1, v.Type.Bits())
		if !strings.ContainsAny(text, ".eIN") {
			text += ".0"
		}
	}
	switch v.Type.Kind {
	case Int, Bool, F64:
		return text
	}
	return text + ":" + v.Type.String()
}

func (d *dumper) place(p *Place) string {
	text := ""
	if p.Local != nil {
		text = d.name(p.Local, p.Local.Name)
	} else {
		text = d.name(p.Param, p.Param.Name)
	}
	t := p.root()
	for _, s := range p.Path {
		switch {
		case s.Col != nil:
			text += fmt.Sprintf("[%s, %s]", d.value(s.Index), d.value(s.Col))
		case s.Index != nil:
			text += fmt.Sprintf("[%s]", d.value(s.Index))
		default:
			text += "." + t.Fields[s.Field].Name
		}
		t = s.within(t)
	}
	if p.Local == nil && p.Param.Type.Kind == Pointer && len(p.Path) == 0 {
		return "*" + text
	}
	return text
}
