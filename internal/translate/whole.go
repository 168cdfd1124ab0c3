package translate

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
)

// guard is the condition with which a kernel excludes threads beyond the end. It has one of two forms: the kernel's only statement is "if i :=
// t.Global(0); i < n { ... }", or its first two are "i := t.Global(0)" and "if i >= n { return }". n is a parameter, or the length of a parameter.
type guard struct {
	index ast.Stmt   // i := t.Global(0)
	end   ast.Expr   // n
	list  []ast.Stmt // the statements for the other threads
}

// guard returns the guard of a kernel. The second result is false if there is none.
func (f *function) guard() (guard, bool) {
	var g guard
	var branch *ast.IfStmt
	list := f.list()
	switch {
	case len(list) == 1:
		branch, _ = list[0].(*ast.IfStmt)
		if branch == nil || branch.Init == nil || branch.Else != nil {
			return g, false
		}
		g.index, g.list = branch.Init, branch.Body.List
	case len(list) > 2:
		branch, _ = list[1].(*ast.IfStmt)
		if branch == nil || branch.Init != nil || branch.Else != nil || len(branch.Body.List) != 1 {
			return g, false
		}
		if r, ok := branch.Body.List[0].(*ast.ReturnStmt); !ok || len(r.Results) > 0 {
			return g, false
		}
		g.index, g.list = list[0], list[2:]
	default:
		return g, false
	}
	i := f.globalIndex(g.index)
	cond, ok := ast.Unparen(branch.Cond).(*ast.BinaryExpr)
	if i == nil || !ok || cond.Op != token.LSS && len(list) == 1 || cond.Op != token.GEQ && len(list) > 1 || f.object(cond.X) != i {
		return g, false
	}
	g.end = cond.Y
	n := f.object(cond.Y)
	if call, ok := ast.Unparen(cond.Y).(*ast.CallExpr); ok && len(call.Args) == 1 {
		if b, ok := f.object(call.Fun).(*types.Builtin); ok && b.Name() == "len" {
			n = f.object(call.Args[0])
		}
	}
	return g, f.isParam(n) && !f.changes(i) && !f.changes(n)
}

func (f *function) isParam(obj types.Object) bool {
	for _, field := range f.decl.Type.Params.List {
		for _, id := range field.Names {
			if obj != nil && f.p.pkg.info.Defs[id] == obj {
				return true
			}
		}
	}
	return false
}

// globalIndex returns the variable that a statement sets to t.Global(0), or nil.
func (f *function) globalIndex(s ast.Stmt) types.Object {
	a, ok := s.(*ast.AssignStmt)
	if !ok || a.Tok != token.DEFINE || len(a.Lhs) != 1 || len(a.Rhs) != 1 {
		return nil
	}
	call, ok := ast.Unparen(a.Rhs[0]).(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return nil
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	obj := f.p.pkg.info.Uses[sel.Sel]
	v := f.p.pkg.info.Types[call.Args[0]].Value
	if obj == nil || obj.Pkg() == nil || obj.Pkg().Path() != gridPath || obj.Name() != "Global" || v == nil || constant.Sign(v) != 0 {
		return nil
	}
	return f.object(a.Lhs[0])
}

// object returns the object that an identifier denotes, or nil.
func (f *function) object(e ast.Expr) types.Object {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	return f.p.pkg.info.ObjectOf(id)
}

// changes reports whether the function assigns to a variable after its declaration, or takes its
// address.
func (f *function) changes(obj types.Object) bool {
	found := false
	ast.Inspect(f.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				id, ok := ast.Unparen(l).(*ast.Ident)
				found = found || ok && f.p.pkg.info.Uses[id] == obj
			}
		case *ast.RangeStmt:
			found = found || n.Tok == token.ASSIGN && (n.Key != nil && f.object(n.Key) == obj || n.Value != nil && f.object(n.Value) == obj)
		case *ast.IncDecStmt:
			found = found || f.object(n.X) == obj
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && f.object(n.X) == obj
		}
		return true
	})
	return found
}

// split writes a kernel with a guard twice: without the guard, for blocks whose threads are all below the end, and with it, for other blocks. Without
// conditions, compilers for CPUs compute several threads at once. In CUDA and HIP GO_WHOLE is 0, so only the second text remains.
func (f *function) split() {
	g, ok := f.guard()
	if !ok || len(f.p.errs) > 0 || len(f.shares) > 0 { // shared memory is cleared by all threads first
		return
	}
	guarded, places := f.lines, maps.Clone(f.places) // the same places again would look like others, as its variables have other names
	f.depth++
	whole := f.capture(func() {
		f.statement(g.index, "")
		f.statements(g.list)
	})
	f.depth--
	f.lines = nil
	maps.Copy(f.places, places)
	f.line("if (GO_WHOLE(%s)) {", f.expr(g.end))
	f.write(whole)
	f.line("} else {")
	for _, l := range guarded {
		f.lines = append(f.lines, "\t"+l)
	}
	f.line("}")
}
