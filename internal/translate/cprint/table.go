package cprint

import (
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// table returns the name of a table in C, and declares the table if need be. All functions of the text use the one table.
func (f *values) table(t *ir.Table) string {
	name, ok := f.tables[t]
	if !ok {
		base := mangle("t_", t.Name)
		name = base
		for i := 1; ; i++ {
			if _, taken := f.needs[name]; !taken {
				break
			}
			name = fmt.Sprintf("%s_%d", base, i)
		}
		f.tables[t] = name
	}
	return f.declare(&f.filled, name, func() string {
		typ := f.typ(t.Type)
		text, _ := f.initial(t.Type, t.Parts)
		return fmt.Sprintf("GO_TABLE %s %s = %s;", typ, name, text)
	})
}

// initial returns the initializer of a type with parts of a table, and the parts behind them.
func (f *values) initial(t *ir.Type, parts []any) (string, []any) {
	var all []string
	add := func(t *ir.Type) {
		var text string
		text, parts = f.initial(t, parts)
		all = append(all, text)
	}
	switch t.Kind {
	case ir.Array:
		for range t.Len {
			add(t.Elem)
		}
		return "{{" + lined(all) + "}}", parts
	case ir.Struct:
		for _, field := range t.Fields {
			add(field.Type)
		}
		return "{" + strings.Join(all, ", ") + "}", parts
	}
	n := numbers[t.Kind]
	switch x := parts[0].(type) {
	case float64:
		return n.decimal(x), parts[1:]
	case complex128:
		part := numbers[t.Part().Kind]
		return fmt.Sprintf("{%s, %s}", part.decimal(real(x)), part.decimal(imag(x))), parts[1:]
	}
	return f.constant(&ir.Value{Op: ir.Const, Type: t, Const: parts[0]}).c, parts[1:]
}

// lined joins texts with commas. Every tenth begins a line.
func lined(all []string) string {
	var b strings.Builder
	for i, s := range all {
		switch {
		case i > 0 && i%10 == 0:
			b.WriteString(",\n\t")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(s)
	}
	return b.String()
}
