package build

import (
	"go/ast"
	"go/constant"
	"go/types"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// mostInTable is how many bytes a table may have, and mostElements how many elements an array in it: an instruction of SPIR-V has no room for more.
const (
	mostInTable  = 1 << 16
	mostElements = 1<<16 - 4
)

// table returns the table of a variable of the package of the function that is being built.
func (p *program) table(v *types.Var) *table {
	if p.tables[v] == nil {
		t := &table{}
		p.tables[v] = t
		lit, why := p.pkg.Table(v)
		if t.why = why; why == "" {
			t.fill(p, v, lit)
		}
	}
	return p.tables[v]
}

// fill sets the parts of a table. If the literal is not one of constants, it sets why instead.
func (t *table) fill(p *program, v *types.Var, lit *ast.CompositeLit) {
	defer func() {
		if r := recover(); r != nil {
			bad, ok := r.(refusal)
			if !ok {
				panic(r)
			}
			t.why = v.Name() + " cannot be read by a kernel: " + p.pkg.Line(bad.pos) + ": " + bad.text
		}
	}()
	b := &filler{p: p}
	if _, ok := v.Type().Underlying().(*types.Slice); ok {
		n := b.length(lit)
		if n == 0 {
			refuse(lit.Pos(), "a table without elements has no translation; remove it")
		}
		b.typ = p.typ(types.NewArray(v.Type().Underlying().(*types.Slice).Elem(), n), lit.Pos())
	} else {
		b.typ = p.typ(v.Type(), lit.Pos())
	}
	if b.typ.Size() > mostInTable {
		refuse(lit.Pos(), "it has %d bytes, and a table has at most %d; pass it as a parameter", b.typ.Size(), mostInTable)
	}
	if b.typ.Has(func(u *ir.Type) bool { return u.Len > mostElements }) {
		refuse(lit.Pos(), "it has an array of more than %d elements; pass it as a parameter", mostElements)
	}
	b.value(b.typ, lit)
	t.made = &ir.Table{Name: v.Name(), Type: b.typ, Parts: b.parts}
}

// filler collects the parts of a table.
type filler struct {
	p     *program
	typ   *ir.Type
	parts []any
}

// length returns how many elements the literal of a slice has.
func (b *filler) length(lit *ast.CompositeLit) (n int64) {
	b.each(lit, func(i int64, _ ast.Expr) { n = max(n, i+1) })
	return n
}

// each calls f for each element of the literal of an array or a slice, with its index.
func (b *filler) each(lit *ast.CompositeLit, f func(i int64, e ast.Expr)) {
	i := int64(0)
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if c := b.p.pkg.Info.Types[kv.Key].Value; c != nil {
				i, _ = constant.Int64Val(constant.ToInt(c))
			}
			e = kv.Value
		}
		f(i, e)
		i++
	}
}

// value adds the parts of a value: those of an expression, or zeros if e is nil.
func (b *filler) value(t *ir.Type, e ast.Expr) {
	var lit *ast.CompositeLit
	if e != nil && t.Kind >= ir.Array {
		var ok bool
		if lit, ok = ast.Unparen(e).(*ast.CompositeLit); !ok {
			refuse(e.Pos(), "this is no list of constants; write one, or pass the variable as a parameter")
		}
	}
	inner := map[int64]ast.Expr{}
	switch {
	case lit == nil:
	case t.Kind == ir.Array:
		b.each(lit, func(i int64, e ast.Expr) { inner[i] = e })
	default:
		for i, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				for i, f := range t.Fields {
					if f.Name == kv.Key.(*ast.Ident).Name {
						inner[int64(i)] = kv.Value
					}
				}
				continue
			}
			inner[int64(i)] = e
		}
	}
	for i := range t.Len {
		b.value(t.Elem, inner[i])
	}
	for i, f := range t.Fields {
		b.value(f.Type, inner[int64(i)])
	}
	if t.Kind < ir.Array {
		b.parts = append(b.parts, b.number(t, e))
	}
}

// number returns a constant as [ir.Value] has it.
func (b *filler) number(t *ir.Type, e ast.Expr) any {
	c := constant.MakeInt64(0)
	if t.Kind == ir.Bool {
		c = constant.MakeBool(false)
	}
	if e != nil {
		if c = b.p.pkg.Info.Types[e].Value; c == nil {
			refuse(e.Pos(), "this is no constant; write one, or pass the variable as a parameter")
		}
	}
	x := fitting(c, t)
	if x == nil {
		refuse(e.Pos(), "constant %s does not fit type %s", c, t)
	}
	return x
}

// declareTables declares the variables of the package that the function reads, if nothing changes them.
func (f *function) declareTables() {
	ast.Inspect(f.decl.Body, func(n ast.Node) bool {
		id, _ := n.(*ast.Ident)
		v, ok := f.info().Uses[id].(*types.Var)
		if !ok || v.Parent() != f.p.pkg.Types.Scope() || f.vars[v] != nil {
			return true
		}
		if t := f.p.table(v).made; t != nil {
			w := &variable{typ: v.Type()}
			if _, ok := v.Type().Underlying().(*types.Slice); ok {
				w.kind = list
			}
			f.Pos = v.Pos()
			w.local = f.Local(t.Name, t.Type, ir.Constant)
			w.local.Table = t
			f.vars[v] = w
		}
		return true
	})
}
