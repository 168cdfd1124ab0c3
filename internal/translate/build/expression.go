package build

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// expr returns the value of an expression.
func (f *values) expr(e ast.Expr) *ir.Value { return f.exprAs(e, nil) }

func (f *values) expression(e ast.Expr) *ir.Value {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.expr(e.X)
	case *ast.BasicLit: // the type of the literal is a type parameter
		return f.constant(constant.MakeFromLiteral(e.Value, e.Kind, 0), f.typeOf(e), e.Pos())
	case *ast.Ident, *ast.IndexExpr, *ast.SelectorExpr, *ast.StarExpr:
		t := f.typeOf(e)
		r := f.ref(e)
		f.p.typ(t, e.Pos())
		return f.read(r, e.Pos())
	case *ast.UnaryExpr:
		return f.unary(e)
	case *ast.BinaryExpr:
		return f.binary(e)
	case *ast.CallExpr:
		results := f.call(e)
		if len(results) != 1 {
			refuse(e.Pos(), "a single value is needed here")
		}
		return results[0]
	case *ast.CompositeLit:
		return f.composite(e)
	case *ast.SliceExpr:
		refuse(e.Pos(), "a part of a slice has no translation here; to get an array, declare one and write copy(a[:], x[i:j])")
	case *ast.FuncLit:
		refuse(e.Pos(), "a closure has no translation; declare a function, and pass it arguments")
	case *ast.TypeAssertExpr:
		refuse(e.Pos(), "an interface has no translation; use a concrete type, or a generic function")
	case *ast.IndexListExpr:
		refuse(e.Pos(), "a function value has no translation; call the function")
	}
	refuse(e.Pos(), "this expression has no translation")
	return nil
}

// exprAs returns the value of an expression. A constant gets the type t, or its own type if t is nil.
func (f *values) exprAs(e ast.Expr, t types.Type) (v *ir.Value) {
	if c := f.info().Types[e].Value; c != nil {
		if t == nil {
			t = f.typeOf(e)
		}
		v = f.constant(c, t, e.Pos())
	} else {
		v = f.expression(e)
	}
	if !v.Bound {
		v.Pos, v.Syntax = e.Pos(), e
	}
	return v
}

// constant returns a constant of a type.
func (f *operations) constant(v constant.Value, t types.Type, pos token.Pos) *ir.Value {
	n := basic(t)
	if n == nil {
		refuseAs(pos, t)
	}
	x := fitting(v, n)
	if x == nil {
		refuse(pos, "constant %s does not fit type %s", v, t)
	}
	made := f.Const(n, x)
	made.Pos = pos
	return made
}

func (f *values) unary(e *ast.UnaryExpr) *ir.Value {
	switch e.Op {
	case token.AND:
		refuseAs(e.Pos(), types.NewPointer(types.Typ[types.Int]))
	case token.ARROW:
		refuse(e.Pos(), "a channel has no translation; threads share buffers and grid.Shared memory")
	}
	n := f.number(e)
	op, ok := map[token.Token]ir.Op{token.NOT: ir.Not, token.SUB: ir.Neg, token.XOR: ir.Complement}[e.Op]
	switch {
	case e.Op == token.ADD:
		return f.expr(e.X)
	case !ok:
		refuse(e.Pos(), "operator %s has no translation", e.Op)
	}
	return f.Value(op, n, f.exprAs(e.X, f.typeOf(e)))
}

func (f *values) binary(e *ast.BinaryExpr) *ir.Value {
	op, ok := operators[e.Op]
	t := f.typeOf(e)
	switch {
	case !ok:
		refuse(e.Pos(), "operator %s has no translation", e.Op)
	case op == ir.Both || op == ir.Either:
		return f.logical(op, e)
	case op.Compares():
		return f.compared(op, e)
	case op == ir.Shl || op == ir.Shr:
		return f.shift(op, f.integer(e), f.exprAs(e.X, t), e.Y)
	}
	n := f.number(e)
	left, right := f.exprAs(e.X, t), f.exprAs(e.Y, t)
	return f.arithmetic(op, n, left, right, e.Y)
}

// logical builds && and ||. If the right side needs statements, they run only where Go evaluates the right side.
func (f *values) logical(op ir.Op, e *ast.BinaryExpr) *ir.Value {
	t := ir.Basic(ir.Bool)
	left := f.expr(e.X)
	var right *ir.Value
	head := f.In(func() { right = f.expr(e.Y) })
	if len(head.List) == 0 {
		neutral := op == ir.Both // x && true is x, and so is x || false
		switch {                 // compilers warn of constants here
		case left.Op == ir.Const && left.Const == neutral:
			return right
		case left.Op == ir.Const || right.Op == ir.Const && right.Const == neutral:
			return left
		}
		return f.Value(op, t, left, right)
	}
	l := f.Local("", t, ir.Private)
	f.Store(l.At(), left)
	cond := f.Load(l.At())
	if op == ir.Either {
		cond = f.Value(ir.Not, t, cond)
	}
	s := f.Stmt(ir.If)
	s.Value = cond
	s.Then = f.In(func() {
		f.Append(head)
		f.Store(l.At(), right)
	})
	return f.Load(l.At())
}

func (f *values) compared(op ir.Op, e *ast.BinaryExpr) *ir.Value {
	t := f.typeOf(e.X)
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		t = f.typeOf(e.Y)
	}
	switch t.Underlying().(type) {
	case *types.Slice:
		refuse(e.Pos(), "a comparison of a slice with nil has no translation; compare its length with 0")
	case *types.Pointer, *types.Interface:
		refuseAs(e.Pos(), t)
	}
	if b, ok := t.(*types.Basic); ok && b.Kind() == types.UntypedNil {
		refuse(e.Pos(), "nil has no translation; use a value")
	}
	f.p.typ(t, e.Pos())
	left, right := f.exprAs(e.X, t), f.exprAs(e.Y, t)
	// Only a NaN is not equal to itself. Compilers warn of a generic function that asks this of integers.
	if itself := left == right || left.Op == ir.Argument && right.Op == ir.Argument && left.Param == right.Param; itself && left.Type.Integer() && op <= ir.Ne {
		return f.Const(ir.Basic(ir.Bool), op == ir.Eq)
	}
	return f.Value(op, ir.Basic(ir.Bool), left, right)
}

// shift returns x shifted. The count keeps its own type. A constant count is a uint.
func (f *values) shift(op ir.Op, n *ir.Type, x *ir.Value, count ast.Expr) *ir.Value {
	if v := f.info().Types[count].Value; v != nil {
		c, ok := constant.Uint64Val(constant.ToInt(v))
		if !ok {
			c = math.MaxUint64
		}
		return f.Value(op, n, x, f.Const(ir.Basic(ir.Uint), c))
	}
	f.integer(count)
	return f.Value(op, n, x, f.expr(count))
}

// arithmetic returns the result of an operator on two values of a type. An error is reported at the position of the expression that is passed as at.
func (f *operations) arithmetic(op ir.Op, n *ir.Type, left, right *ir.Value, at ast.Expr) *ir.Value {
	if n.Kind == ir.Bool || !n.Integer() && (op == ir.Rem || op >= ir.And && op <= ir.AndNot) {
		refuse(at.Pos(), "operator %s has no translation", op)
	}
	return f.Value(op, n, left, right)
}

// convert returns a value converted to another type.
func (f *operations) convert(v *ir.Value, from, to types.Type, pos token.Pos) *ir.Value {
	a, b := basic(from), basic(to)
	switch {
	case a == nil && b == nil:
		if f.p.typ(from, pos).Same(f.p.typ(to, pos)) {
			return v
		}
	case a != nil && b != nil && a == b && (a.Float() || a.Complex()):
		return f.Value(ir.Round, a, v)
	case a != nil && b != nil && a == b:
		return v
	case a != nil && b != nil && a.Kind != ir.Bool && b.Kind != ir.Bool && a.Complex() == b.Complex():
		return f.Value(ir.Convert, b, v)
	}
	if b == nil {
		refuseAs(pos, to)
	}
	refuseAs(pos, from)
	return nil
}

// composite returns the value of a composite literal.
func (f *values) composite(e *ast.CompositeLit) *ir.Value {
	t := f.typeOf(e)
	switch t.Underlying().(type) {
	case *types.Slice:
		refuse(e.Pos(), "a slice that a kernel makes has no translation; use an array of fixed size")
	case *types.Pointer:
		refuse(e.Pos(), "a pointer to a new value has no translation; declare a variable, and pass its address")
	}
	made := f.p.typ(t, e.Pos())
	var which []int
	var values []*ir.Value
	next := 0
	for i, x := range e.Elts {
		key, isKey := x.(*ast.KeyValueExpr)
		if isKey {
			x = key.Value
		}
		switch u := t.Underlying().(type) {
		case *types.Struct:
			if isKey {
				for j := range u.NumFields() {
					if u.Field(j).Name() == key.Key.(*ast.Ident).Name {
						i = j
					}
				}
			}
			which, values = append(which, i), append(values, f.exprAs(x, u.Field(i).Type()))
		case *types.Array:
			if isKey {
				n, _ := constant.Int64Val(constant.ToInt(f.info().Types[key.Key].Value))
				next = int(n)
			}
			which, values = append(which, next), append(values, f.exprAs(x, u.Elem()))
			next++
		}
	}
	v := f.Value(ir.Composite, made, values...)
	v.Which = which
	return v
}
