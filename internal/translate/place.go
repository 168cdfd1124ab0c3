package translate

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// place is the C text of a variable, element or field. It can be assigned to if the Go expression
// can.
type place struct {
	c     string
	space space
	param *param // the parameter that it is, or through which it is reached, or nil
}

// read notes that a place is read, and returns its text.
func (f *function) read(at place, pos token.Pos) string {
	if at.param != nil {
		if at.param.out {
			refuse(pos, "%s is a grid.Out, which a kernel can write but not read; make it a []T to read it", at.param.name)
		}
		at.param.read = true
	}
	f.note(at)
	switch {
	case !f.p.barriers || at.space == private && !strings.ContainsAny(at.c, "[.*"): // it is a variable
		return at.c
	case f.kernel && at.space == global:
		begin, end := once(at.param.v.c)
		return begin + at.c + end
	}
	return "GO_ONCE(" + at.c + ")"
}

// once returns marks around an element that is read, if memory is the name of a slice, or written, if it has stored before it. The function text
// replaces them, when it is known how the function uses the memory.
func once(memory string) (begin, end string) { return "\x00" + memory + "(", ")" + memory + "\x00" }

const stored = "="

// written notes that a place is assigned to, and returns its text.
func (f *function) written(at place) string {
	if at.param != nil {
		at.param.written = true
	}
	return at.c
}

// store returns the text of a place that the statement assigns to.
func (f *function) store(at place) string {
	f.written(at)
	if at.space == private && !strings.ContainsAny(at.c, "[.*") {
		f.changed[at.c] = true
		return at.c
	}
	m := f.note(at)
	if m == "" {
		return at.c
	}
	begin, end := once(stored + m)
	return begin + at.c + end
}

var (
	identifier = regexp.MustCompile(`\w+`)
	site       = regexp.MustCompile(`(_n|_m|, \d+), \d+\)`) // the number of a source line at the end of GO_AT and GO_CELL
)

// note keeps the text of a place that is used. It returns the name of the variable that the place is in, or of the parameter through which it is reached.
// If other threads cannot delay the use of a thread's own variable, there is nothing to note, and the name is "".
func (f *function) note(at place) string {
	if at.space == private && !f.p.barriers {
		return ""
	}
	m := identifier.FindString(at.c)
	if at.space == private && f.places[m] == nil {
		f.places[m] = []string{"its first value"}
	}
	f.places[m] = append(f.places[m], site.ReplaceAllString(at.c, "$1)"))
	return m
}

// throughPointer marks the place whose address a function is passed. What it does there is not in this function's text.
const throughPointer = " (*)"

// mixed reports whether two uses of a variable may be of the same element without being so in the text. PoCL takes them for independent, and may move a
// store past the other use, unless the store is volatile.
func (f *function) mixed(memory string) bool {
	all := f.places[memory]
	if !slices.ContainsFunc(all, func(c string) bool {
		return strings.Contains(c, "GO_AT(") || strings.Contains(c, "GO_CELL(") || strings.Contains(c, "(*")
	}) {
		return false // all indexes are constant
	}
	return !f.kernel || slices.ContainsFunc(all, func(c string) bool {
		return c != all[0] || len(all) > 1 && slices.ContainsFunc(identifier.FindAllString(c, -1), func(w string) bool { return f.changed[w] })
	})
}

// place returns the place of an expression. A value that has no place is stored in a new variable.
func (f *function) place(e ast.Expr) place {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.place(e.X)
	case *ast.Ident:
		v := f.variable(e)
		if v.kind != value {
			refuse(e.Pos(), "%s", f.onlyParameter(v))
		}
		return place{c: v.c, param: v.param}
	case *ast.IndexExpr:
		if f.isFunction(e) {
			refuse(e.Pos(), "a function value has no translation; call the function")
		}
		t := f.typeOf(e.X)
		switch u := t.Underlying().(type) {
		case *types.Slice:
			v := f.slice(e.X)
			return place{fmt.Sprintf("%s[%s]", v.c, f.within(e, f.index(e.Index))), v.space, v.param}
		case *types.Array:
			at := f.place(e.X)
			at.c = fmt.Sprintf("%s.a[%s]", at.c, f.within(e, f.index(e.Index)))
			return at
		case *types.Pointer:
			at := f.pointee(e.X)
			at.c = fmt.Sprintf("%s.a[%s]", at.c, f.within(e, f.index(e.Index)))
			return at
		default:
			refuse(e.Pos(), "%s", why(u))
		}
	case *ast.SelectorExpr:
		s := f.p.pkg.info.Selections[e]
		if s == nil {
			refuse(e.Pos(), "a variable of another package has no translation; pass it as a parameter")
		}
		if s.Kind() != types.FieldVal {
			refuse(e.Pos(), "a method value has no translation; call the method")
		}
		return f.fields(e.X, s.Index())
	case *ast.StarExpr:
		return f.pointee(e.X)
	}
	t := f.typeOf(e)
	c := f.p.cType(t, e.Pos())
	text := f.expr(e)
	name := f.temp()
	f.line("%s %s = %s;", c, name, text)
	return place{c: name}
}

// fields returns the place of a field of x. path are the indexes of the fields on the way to it.
func (f *function) fields(x ast.Expr, path []int) place {
	t := f.typeOf(x)
	var at place
	if p, ok := t.Underlying().(*types.Pointer); ok {
		at, t = f.pointee(x), p.Elem()
	} else {
		at = f.place(x)
	}
	return f.fieldOf(at, t, path, x.Pos())
}

// fieldOf returns the place of a field of the structure at a place. path are the indexes of the fields on the way to it.
func (f *function) fieldOf(at place, t types.Type, path []int, pos token.Pos) place {
	for _, i := range path {
		s, ok := t.Underlying().(*types.Struct)
		if !ok {
			refuse(pos, "%s", why(t))
		}
		f.p.cType(t, pos)
		at.c += "." + fieldName(s, i)
		t = s.Field(i).Type()
	}
	return at
}

// pointee returns the place that a pointer points to.
func (f *function) pointee(e ast.Expr) place {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		switch v := f.variable(e); v.kind {
		case pointer:
			return place{"(*" + v.c + ")", v.space, v.param}
		case shared:
			return place{v.c, local, nil}
		}
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			if _, ok := ast.Unparen(e.X).(*ast.CompositeLit); ok {
				refuse(e.Pos(), "a pointer to a new value has no translation; declare a variable, and pass its address")
			}
			return f.place(e.X)
		}
	case *ast.CallExpr:
		if v, ok := f.refOf(e); ok {
			return f.cell(v, e)
		}
		f.refuseShared(e)
	}
	refuse(e.Pos(), "%s", why(f.typeOf(e)))
	return place{}
}

// slice returns the variable that is a slice.
func (f *function) slice(e ast.Expr) *variable {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		if v := f.variable(id); v.kind == slice {
			return v
		}
	}
	switch ast.Unparen(e).(type) {
	case *ast.SliceExpr:
		refuse(e.Pos(), "a part of a slice has no translation; use the whole with other indexes, or launch with a slice of the buffer")
	case *ast.CompositeLit:
		refuse(e.Pos(), "a slice that a kernel makes has no translation; use an array of fixed size")
	}
	refuse(e.Pos(), "%s", why(f.typeOf(e)))
	return nil
}

// variable returns the variable that an identifier names.
func (f *function) variable(id *ast.Ident) *variable {
	obj := f.p.pkg.info.ObjectOf(id)
	switch o := obj.(type) {
	case *types.Var:
		if v := f.vars[o]; v != nil {
			return v
		}
		if body := f.decl.Body; len(f.p.errs) > 0 && o.Pos() > body.Pos() && o.Pos() < body.End() {
			refuse(id.Pos(), "") // its declaration was refused
		}
		if o.Parent() == f.p.pkg.types.Scope() {
			refuse(id.Pos(), "%s is a variable of the package; pass it as a parameter, or make it a constant", id.Name)
		}
	case *types.Func:
		refuse(id.Pos(), "a function value has no translation; call %s", id.Name)
	case *types.Nil:
		refuse(id.Pos(), "nil has no translation; use a value")
	}
	refuse(id.Pos(), "%s has no translation", id.Name)
	return nil
}

func (f *function) onlyParameter(v *variable) string {
	if v.kind == thread {
		return "a grid.Thread can only be a parameter; call its methods, or pass it on"
	}
	if v.kind == matrix {
		return onlyMatrix
	}
	return why(v.typ)
}

// index returns the C text of an index.
func (f *function) index(e ast.Expr) string {
	if v := f.p.pkg.info.Types[e].Value; v != nil {
		return v.ExactString()
	}
	f.integer(e)
	return f.expr(e)
}

// within returns the C text of an index that is checked if the text is compiled with checks. For arrays Go has checked constant indexes already.
func (f *function) within(e *ast.IndexExpr, index string) string {
	n := ""
	switch u := f.typeOf(e.X).Underlying().(type) {
	case *types.Slice:
		n = f.slice(e.X).c + "_n"
	case *types.Array:
		n = fmt.Sprint(u.Len())
	case *types.Pointer:
		if a, ok := u.Elem().Underlying().(*types.Array); ok {
			n = fmt.Sprint(a.Len())
		}
	}
	_, isSlice := f.typeOf(e.X).Underlying().(*types.Slice)
	if n == "" || !isSlice && f.p.pkg.info.Types[e.Index].Value != nil {
		return index
	}
	f.checks = true
	return fmt.Sprintf("GO_AT(%s, %s, %d)", index, n, f.p.site(e.Index))
}

// site returns the number of the source line of a checked index.
func (p *program) site(index ast.Expr) int {
	text := p.pkg.line(index.Pos())
	if i := slices.Index(p.sites, text); i >= 0 {
		return i
	}
	p.sites = append(p.sites, text)
	return len(p.sites) - 1
}

// line returns a place as file:line.
func (p *Package) line(pos token.Pos) string {
	at := p.Fset.Position(pos)
	return fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
}

// frozen returns the place of an expression, with its indexes stored in variables, so that later
// statements do not change them.
func (f *function) frozen(e ast.Expr) place {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.frozen(e.X)
	case *ast.IndexExpr:
		if f.isFunction(e) {
			return f.place(e)
		}
		var at place
		bracket := "%s.a[%s]"
		switch f.typeOf(e.X).Underlying().(type) {
		case *types.Slice:
			v := f.slice(e.X)
			at, bracket = place{v.c, v.space, v.param}, "%s[%s]"
		case *types.Pointer:
			at = f.frozenPointee(e.X)
		case *types.Array:
			at = f.frozen(e.X)
		default:
			return f.place(e)
		}
		index := f.index(e.Index)
		if f.p.pkg.info.Types[e.Index].Value == nil {
			name := f.temp()
			f.line("%s %s = %s;", f.integer(e.Index).c, name, index)
			index = name
		}
		at.c = fmt.Sprintf(bracket, at.c, f.within(e, index))
		return at
	case *ast.SelectorExpr:
		s := f.p.pkg.info.Selections[e]
		if s == nil || s.Kind() != types.FieldVal {
			break
		}
		t := f.typeOf(e.X)
		var at place
		if p, ok := t.Underlying().(*types.Pointer); ok {
			at, t = f.frozenPointee(e.X), p.Elem()
		} else {
			at = f.frozen(e.X)
		}
		return f.fieldOf(at, t, s.Index(), e.Pos())
	case *ast.StarExpr:
		return f.frozenPointee(e.X)
	}
	return f.place(e)
}

// frozenPointee returns the place that a pointer points to, as frozen does.
func (f *function) frozenPointee(e ast.Expr) place {
	if a, ok := ast.Unparen(e).(*ast.UnaryExpr); ok && a.Op == token.AND {
		if _, isNew := ast.Unparen(a.X).(*ast.CompositeLit); !isNew {
			return f.frozen(a.X)
		}
	}
	if call, ok := ast.Unparen(e).(*ast.CallExpr); ok {
		if v, ok := f.refOf(call); ok {
			return f.frozenCell(v, call)
		}
	}
	return f.pointee(e)
}

// isFunction reports whether an index expression instantiates a generic function.
func (f *function) isFunction(e *ast.IndexExpr) bool {
	_, ok := f.typeOf(e).Underlying().(*types.Signature)
	return ok
}
