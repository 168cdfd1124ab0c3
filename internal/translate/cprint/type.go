package cprint

import (
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// number is the C type of a number or a bool.
type number struct {
	c             string
	bits          int
	signed, float bool
}

var numbers = map[ir.Kind]number{
	ir.Bool: {"u8", 8, false, false}, ir.I8: {"i8", 8, true, false}, ir.I16: {"i16", 16, true, false}, ir.I32: {"i32", 32, true, false},
	ir.I64: {"i64", 64, true, false}, ir.Int: {"i64", 64, true, false}, ir.U8: {"u8", 8, false, false}, ir.U16: {"u16", 16, false, false},
	ir.U32: {"u32", 32, false, false}, ir.U64: {"u64", 64, false, false}, ir.Uint: {"u64", 64, false, false},
	ir.F32: {"f32", 32, true, true}, ir.F64: {"f64", 64, true, true},
}

// unsigned returns the type of C in which arithmetic wraps. It has at least 32 bits, since C widens narrower types to a signed type.
func (n number) unsigned() string {
	switch {
	case strings.HasPrefix(n.c, "GO_"):
		return "GO_UINT"
	case n.bits == 64:
		return "u64"
	}
	return "u32"
}

// literal returns the text of a constant of a type of floats.
func (n number) literal(text string) string {
	if n.bits == 32 {
		return text + "f"
	}
	return text
}

// needs returns what a device must have for the type.
func (n number) needs() need {
	if n.c == "f64" {
		return float64s
	}
	return 0
}

// typ returns the name of a type, and declares it if need be.
func (p *printer) typ(t *ir.Type) string {
	if n, ok := numbers[t.Kind]; ok {
		p.now |= n.needs()
		return n.c
	}
	if t.Complex() {
		name := map[ir.Kind]string{ir.C64: "go_complex64", ir.C128: "go_complex128"}[t.Kind]
		return p.declare(&p.declared, name, func() string { return fmt.Sprintf("typedef struct { %s re; %[1]s im; } %s;", p.typ(t.Part()), name) })
	}
	name, ok := p.types[t]
	if !ok {
		name = p.declareType(t)
		p.types[t] = name
	}
	p.now |= p.needs[name]
	return name
}

// declareType declares an array or a structure. Structures with the same fields share a name, so that a conversion between them needs no code.
func (p *printer) declareType(t *ir.Type) string {
	if t.Kind == ir.Array {
		elem := p.typ(t.Elem)
		name := fmt.Sprintf("T_%d_%s", t.Len, elem)
		if t.Elem.Kind == ir.Array { // only the name of an array loses the prefix, as a structure may be called i32
			name = fmt.Sprintf("T_%d_%s", t.Len, strings.TrimPrefix(elem, "T_"))
		}
		return p.declare(&p.declared, name, func() string { return fmt.Sprintf("typedef struct { %s a[%d]; } %s;", p.typ(t.Elem), t.Len, name) })
	}
	fields := "typedef struct {"
	for i, f := range t.Fields {
		fields += fmt.Sprintf(" %s %s;", p.typ(f.Type), field(t, i))
	}
	if name, ok := p.bodies[fields]; ok {
		return name
	}
	base := "T_struct"
	if t.Name != "" {
		base = mangle("T_", t.Name)
	}
	name := base
	for i := 1; ; i++ {
		if _, taken := p.needs[name]; !taken {
			break
		}
		name = fmt.Sprintf("%s_%d", base, i)
	}
	p.bodies[fields] = name
	return p.declare(&p.declared, name, func() string {
		for _, f := range t.Fields {
			p.typ(f.Type)
		}
		return fields + " } " + name + ";"
	})
}

// element returns the name of the type of a buffer's elements. If the type has another size than in Go, compilers refuse the text.
func (p *printer) element(t *ir.Type) string {
	c := p.typ(t)
	if _, ok := numbers[t.Kind]; !ok {
		p.declare(&p.sizes, "go_size_"+c, func() string {
			return fmt.Sprintf("typedef u8 go_size_%s[sizeof(%s) == %d ? 1 : -1];", c, p.typ(t), t.Size())
		})
	}
	return c
}

// zero returns the initializer that sets a variable of a type to zero.
func zero(t *ir.Type) string {
	switch {
	case t.Float():
		return fmt.Sprintf("(%s)0", numbers[t.Kind].c)
	case t.Kind == ir.Bool || t.Integer():
		return "0"
	}
	return "{0}"
}

// field returns the name of a field.
func field(t *ir.Type, i int) string {
	switch name := t.Fields[i].Name; {
	case t.Kind == ir.Tuple:
		return fmt.Sprintf("r%d", i)
	case name == "_":
		return fmt.Sprintf("b_%d", i)
	default:
		return mangle("h_", name)
	}
}

// mangle returns a name that is not a word of any dialect. Two different names do not have the same result. The prefix h_ is for variables and fields, b_ for
// fields without a name, f_ for functions, k_ for kernels, T_ for types, R_ for results, t_ for tables, v_ for variables that the translation adds, and go_ for functions of
// support.go. A name with letters that C does not have gets a prefix such as hu_ instead of h_.
func mangle(prefix, name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r >= 0x80 }) {
		return prefix + name
	}
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(prefix, "_") + "u_")
	for _, r := range name {
		switch {
		case r == '_':
			b.WriteString("__")
		case r < 0x80:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "_%x_", r)
		}
	}
	return b.String()
}
