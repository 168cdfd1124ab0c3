package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// A kernel that does something only for threads below an end says how many threads it needs. The end may be a parameter, the length of one, or be computed from
// these. over finds it for each dimension that the kernel uses, in one of two forms: the last statement is "if i < n && j < m { ... }", or one before says
// "if i >= n || j >= m { return }", or several of these do. Before them there are only declarations.
type over struct {
	f    *function
	defs map[types.Object]ast.Expr // the values of variables that never change
	ends [3]string                 // of each dimension, in terms of the launcher's arguments
}

// over returns the launcher's expression of the kernel's grid, "" if the kernel does not say it.
func (f *function) over() string {
	o := &over{f: f, defs: map[types.Object]ast.Expr{}}
	list := f.decl.Body.List
	for n, s := range list {
		branch, ok := s.(*ast.IfStmt)
		if !ok {
			if !o.declares(s) {
				break
			}
			continue
		}
		if branch.Init != nil && !o.declares(branch.Init) || branch.Else != nil {
			break
		}
		if n == len(list)-1 {
			o.among(branch.Cond, token.LAND, token.LSS, token.GTR)
			break
		}
		if len(branch.Body.List) != 1 {
			break
		}
		if r, ok := branch.Body.List[0].(*ast.ReturnStmt); !ok || len(r.Results) != 0 {
			break
		}
		o.among(branch.Cond, token.LOR, token.GEQ, token.LEQ) // the conditions of other dimensions may follow
	}
	if f.dims == 0 || slices.Contains(o.ends[:f.dims], "") {
		return ""
	}
	for d, end := range o.ends[:f.dims] {
		if strings.Contains(end, "-") && o.f.p.pkg.types.Scope().Lookup("max") == nil { // len(y)-1 of an empty y: no thread is below it
			o.ends[d] = "max(0, " + end + ")"
		}
	}
	return "hal.Over(" + strings.Join(o.ends[:f.dims], ", ") + ")"
}

// declares reports whether a statement only declares variables, and remembers their values.
func (o *over) declares(s ast.Stmt) bool {
	atomic := false
	ast.Inspect(s, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		atomic = atomic || ok && strings.HasPrefix(sel.Sel.Name, "Atomic")
		return !atomic
	})
	if atomic {
		return false
	}
	switch s := s.(type) {
	case *ast.AssignStmt:
		for i, l := range s.Lhs {
			if obj := o.f.object(l); obj != nil && len(s.Rhs) == len(s.Lhs) && !o.f.changes(obj) {
				o.defs[obj] = s.Rhs[i]
			}
		}
		return s.Tok == token.DEFINE
	case *ast.DeclStmt:
		return true
	}
	return false
}

// among looks for the ends in a condition whose parts are joined by the operator join, and compare by less or, the other way round, by more.
func (o *over) among(cond ast.Expr, join, less, more token.Token) {
	b, ok := ast.Unparen(cond).(*ast.BinaryExpr)
	if !ok {
		return
	}
	x, y := b.X, b.Y
	switch b.Op {
	case join:
		o.among(x, join, less, more)
		o.among(y, join, less, more)
		return
	case more:
		x, y = y, x
	case less:
	default:
		return
	}
	if d, ok := o.dimension(x); ok && o.ends[d] == "" {
		o.ends[d] = o.end(y)
	}
}

// dimension returns the dimension d if an expression is t.Global(d).
func (o *over) dimension(e ast.Expr) (d int, ok bool) {
	e = ast.Unparen(e)
	if def := o.defs[o.f.object(e)]; def != nil {
		return o.dimension(def)
	}
	call, isCall := e.(*ast.CallExpr)
	if !isCall || len(call.Args) != 1 {
		return 0, false
	}
	sel, isSel := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !isSel {
		return 0, false
	}
	obj, v := o.f.p.pkg.info.Uses[sel.Sel], o.f.p.pkg.info.Types[call.Args[0]].Value
	if obj == nil || obj.Pkg() == nil || obj.Pkg().Path() != gridPath || obj.Name() != "Global" || v == nil {
		return 0, false
	}
	n, exact := constant.Int64Val(v)
	return int(n), exact && n >= 0 && n < 3
}

// end returns an expression as an int in terms of the launcher's arguments, "" if it has none.
func (o *over) end(e ast.Expr) string {
	e = ast.Unparen(e)
	if v := o.f.p.pkg.info.Types[e].Value; v != nil {
		if n, exact := constant.Int64Val(constant.ToInt(v)); exact {
			return fmt.Sprint(n)
		}
		return ""
	}
	switch e := e.(type) {
	case *ast.Ident:
		obj := o.f.object(e)
		if def := o.defs[obj]; def != nil {
			return o.end(def)
		}
		if arg := o.argument(obj); arg != "" && isInteger(obj.Type()) {
			return "int(" + arg + ")"
		}
	case *ast.SelectorExpr:
		if arg := o.argument(o.f.object(e.X)); arg != "" && isInteger(o.f.typeOf(e)) {
			return "int(" + arg + "." + e.Sel.Name + ")"
		}
	case *ast.CallExpr:
		if m, method := o.f.size(e); m != nil {
			if arg := o.argument(m); arg != "" {
				return "kernel." + method + "Of(" + arg + ")"
			}
		}
		if len(e.Args) != 1 {
			return ""
		}
		if b, ok := o.f.object(e.Fun).(*types.Builtin); ok {
			if arg := o.argument(o.f.object(e.Args[0])); b.Name() == "len" && arg != "" {
				return "kernel.Len(" + arg + ")"
			}
			return ""
		}
		if to := o.f.p.pkg.info.Types[e.Fun]; to.IsType() && isInteger(to.Type) && isInteger(o.f.typeOf(e.Args[0])) {
			return o.end(e.Args[0])
		}
	case *ast.BinaryExpr:
		x, y := o.end(e.X), o.end(e.Y)
		if x == "" || y == "" {
			return ""
		}
		switch e.Op {
		case token.ADD, token.SUB, token.MUL:
			return "(" + x + e.Op.String() + y + ")"
		case token.QUO:
			if v := o.f.p.pkg.info.Types[e.Y].Value; v != nil && constant.Sign(v) > 0 {
				return "(" + x + "/" + y + ")"
			}
		}
	}
	return ""
}

// argument returns the name that a parameter of the kernel has in the launcher, "" if the object is none or changes.
func (o *over) argument(obj types.Object) string {
	if obj == nil || o.f.changes(obj) {
		return ""
	}
	for i, m := range o.f.params {
		if m.kind != thread && o.f.inGo(m) == obj {
			return o.f.argNames[i]
		}
	}
	return ""
}

// size returns the matrix and the method if a call is m.Rows() or m.Cols().
func (f *function) size(e *ast.CallExpr) (m types.Object, method string) {
	sel, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Rows" && sel.Sel.Name != "Cols" {
		return nil, ""
	}
	if m = f.object(sel.X); m == nil || matrixOf(m.Type()) == nil {
		return nil, ""
	}
	return m, sel.Sel.Name
}

func isInteger(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsInteger != 0
}

// inGo returns the variable of Go that a parameter is, or nil.
func (f *function) inGo(m *param) types.Object {
	for obj, v := range f.vars {
		if v == m.v {
			return obj
		}
	}
	return nil
}
