package build

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/load"
)

func (r *reader) info() *types.Info { return r.p.pkg.Info }

// typeOf returns the type of an expression, with the function's type arguments.
func (r *reader) typeOf(e ast.Expr) types.Type {
	t := r.info().TypeOf(e)
	if t == nil {
		refuse(e.Pos(), "this expression has no type")
	}
	return r.substitute(t)
}

// number returns the type of a number or bool, and refuses other types.
func (r *reader) number(e ast.Expr) *ir.Type {
	t := r.typeOf(e)
	n := basic(t)
	if n == nil {
		refuseAs(e.Pos(), t)
	}
	return n
}

func (r *reader) integer(e ast.Expr) *ir.Type {
	n := r.number(e)
	if !n.Integer() {
		refuse(e.Pos(), "an integer is needed here")
	}
	return n
}

// object returns the object that an identifier denotes, or nil.
func (r *reader) object(e ast.Expr) types.Object {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return nil
	}
	return r.info().ObjectOf(id)
}

// lhsType returns the type of the left side of an assignment.
func (r *reader) lhsType(e ast.Expr) types.Type {
	if id, ok := e.(*ast.Ident); ok {
		if obj := r.info().ObjectOf(id); obj != nil {
			return r.substitute(obj.Type())
		}
	}
	return r.typeOf(e)
}

func blank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// calls reports whether an expression has a call that is neither a conversion nor a constant.
func (r *reader) calls(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		found = found || ok && r.info().Types[c].Value == nil && !r.info().Types[c.Fun].IsType()
		return !found
	})
	return found
}

// isFunction reports whether an index expression instantiates a generic function.
func (r *reader) isFunction(e *ast.IndexExpr) bool {
	_, ok := r.typeOf(e).Underlying().(*types.Signature)
	return ok
}

// isMatrix reports whether an expression is a matrix.
func (r *reader) isMatrix(e ast.Expr) bool { return e != nil && load.MatrixOf(r.typeOf(e)) != nil }

func (r *reader) refuseShared(e *ast.CallExpr) {
	if r.p.pkg.Calls(e, "Shared") {
		refuse(e.Pos(), "grid.Shared can only be the value of a variable that is declared at the top level of a kernel, "+
			"in a statement of its own, and not in a loop, a condition or another function; "+
			"write x := grid.Shared[[256]float32](t) there, and pass x on")
	}
}

// variable returns the variable that an identifier names.
func (r *reader) variable(id *ast.Ident) *variable {
	obj := r.info().ObjectOf(id)
	switch o := obj.(type) {
	case *types.Var:
		if v := r.vars[o]; v != nil {
			return v
		}
		if body := r.decl.Body; len(r.p.errs) > 0 && o.Pos() > body.Pos() && o.Pos() < body.End() {
			refuse(id.Pos(), "") // the declaration of the variable was refused
		}
		if o.Parent() == r.p.pkg.Types.Scope() {
			refuse(id.Pos(), "%s", r.p.table(o).why)
		}
	case *types.Func:
		refuse(id.Pos(), "a function value has no translation; call %s", id.Name)
	case *types.Nil:
		refuse(id.Pos(), "nil has no translation; use a value")
	}
	refuse(id.Pos(), "%s has no translation", id.Name)
	return nil
}

const onlyThread = "a grid.Thread can only be a parameter; call its methods, or pass it on"

func (r *reader) onlyParameter(v *variable) string {
	switch v.kind {
	case thread:
		return onlyThread
	case matrix:
		return onlyMatrix
	}
	return why(v.typ)
}

// matrix returns the variable of an expression that must be the name of a matrix.
func (r *reader) matrix(e ast.Expr) *variable {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		if v := r.variable(id); v.kind == matrix {
			return v
		}
	}
	refuse(e.Pos(), "%s", onlyMatrix)
	return nil
}

// refOf returns the matrix m if a call is m.Ref(i, j). For another call, ok is false.
func (r *reader) refOf(e *ast.CallExpr) (v *variable, ok bool) {
	sel, isSel := ast.Unparen(e.Fun).(*ast.SelectorExpr)
	if !isSel || sel.Sel.Name != "Ref" || r.info().Selections[sel] == nil || !r.isMatrix(sel.X) {
		return nil, false
	}
	return r.matrix(sel.X), true
}

// countChanges counts the changes of each variable after its declaration.
func (r *reader) countChanges() {
	change := func(e ast.Expr) {
		if e == nil {
			return
		}
		if v := r.root(e); v != nil {
			r.changes[v]++
		}
	}
	ast.Inspect(r.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); !ok || r.info().Defs[id] == nil {
					change(l)
				}
			}
		case *ast.IncDecStmt:
			change(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				change(n.Key)
				change(n.Value)
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				change(n.X)
			}
		case *ast.SliceExpr:
			if _, ok := r.info().TypeOf(n.X).Underlying().(*types.Array); ok {
				change(n.X)
			}
		case *ast.SelectorExpr: // a method may take the address of its receiver
			s := r.info().Selections[n]
			if s == nil || s.Kind() != types.MethodVal {
				break
			}
			if recv := s.Obj().(*types.Func).Signature().Recv().Type(); load.MatrixOf(recv) == nil && !load.GridType(recv, "Thread") {
				switch recv.Underlying().(type) {
				case *types.Struct, *types.Slice:
				default:
					change(n.X)
				}
			}
		}
		return true
	})
}

// root returns the variable that an expression is a part of, or nil.
func (r *reader) root(e ast.Expr) types.Object {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.IndexExpr:
			if _, ok := r.info().TypeOf(x.X).Underlying().(*types.Slice); ok { // the elements are no part of the variable
				return nil
			}
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.Ident:
			return r.info().ObjectOf(x)
		default:
			return nil
		}
	}
}

// steps returns by how much a statement changes a variable, if the change is a constant.
func (r *reader) steps(s ast.Stmt, obj types.Object) (by int64, ok bool) {
	sign := int64(1)
	switch s := s.(type) {
	case *ast.IncDecStmt:
		if s.Tok == token.DEC {
			sign = -1
		}
		return sign, r.object(s.X) == obj
	case *ast.AssignStmt:
		if s.Tok != token.ADD_ASSIGN && s.Tok != token.SUB_ASSIGN || r.object(s.Lhs[0]) != obj {
			return 0, false
		}
		if s.Tok == token.SUB_ASSIGN {
			sign = -1
		}
		v := r.info().Types[s.Rhs[0]].Value
		if v == nil {
			return 0, false
		}
		by, ok = constant.Int64Val(constant.ToInt(v))
		return sign * by, ok
	}
	return 0, false
}

// steady reports whether an expression has the same value whenever it is evaluated. The expression must not panic, and must not depend on the variable that is
// passed as without.
func (r *reader) steady(e ast.Expr, without types.Object) bool {
	if r.info().Types[e].Value != nil {
		return true
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return r.steady(e.X, without)
	case *ast.Ident:
		obj := r.info().ObjectOf(e)
		v := r.vars[obj]
		return obj != without && v != nil && v.kind == value && v.local == nil
	case *ast.SelectorExpr:
		s := r.info().Selections[e]
		return s != nil && s.Kind() == types.FieldVal && r.steady(e.X, without)
	case *ast.BinaryExpr:
		op := operators[e.Op]
		return op >= ir.Add && op <= ir.AndNot && op != ir.Div && op != ir.Rem && r.steady(e.X, without) && r.steady(e.Y, without)
	case *ast.CallExpr:
		return r.steadyCall(e, without)
	}
	return false
}

func (r *reader) steadyCall(e *ast.CallExpr, without types.Object) bool {
	if tv := r.info().Types[e.Fun]; tv.IsType() {
		return len(e.Args) == 1 && r.steady(e.Args[0], without)
	} else if tv.IsBuiltin() {
		id, ok := ast.Unparen(e.Fun).(*ast.Ident)
		v := r.vars[r.object(e.Args[0])]
		return ok && id.Name == "len" && v != nil && v.kind == slice
	}
	sel, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	v := r.vars[r.object(sel.X)]
	return v != nil && (v.kind == thread && places[sel.Sel.Name] != 0 || v.kind == matrix && (sel.Sel.Name == "Rows" || sel.Sel.Name == "Cols"))
}

var operators = map[token.Token]ir.Op{
	token.ADD: ir.Add, token.SUB: ir.Sub, token.MUL: ir.Mul, token.QUO: ir.Div, token.REM: ir.Rem, token.AND: ir.And, token.OR: ir.Or, token.XOR: ir.Xor,
	token.AND_NOT: ir.AndNot, token.SHL: ir.Shl, token.SHR: ir.Shr,
	token.EQL: ir.Eq, token.NEQ: ir.Ne, token.LSS: ir.Lt, token.LEQ: ir.Le, token.GTR: ir.Gt, token.GEQ: ir.Ge, token.LAND: ir.Both, token.LOR: ir.Either,
}

// places are the methods of grid.Thread that return numbers.
var places = map[string]ir.Op{"Global": ir.InGrid, "Local": ir.InBlock, "Block": ir.BlockOf, "Size": ir.Threads, "Blocks": ir.AllBlocks}
