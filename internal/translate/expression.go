package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"strconv"
	"strings"
)

// typeOf returns the type of an expression, with the function's type arguments.
func (f *function) typeOf(e ast.Expr) types.Type {
	t := f.p.pkg.info.TypeOf(e)
	if t == nil {
		refuse(e.Pos(), "this expression has no type")
	}
	return f.substitute(t)
}

// number returns the C type of a number or bool, and refuses other types.
func (f *function) number(e ast.Expr) number {
	t := f.typeOf(e)
	n, ok := numberOf(t)
	if !ok {
		refuse(e.Pos(), "%s", why(t))
	}
	return n
}

func (f *function) integer(e ast.Expr) number {
	n := f.number(e)
	if n.float || n.truth {
		refuse(e.Pos(), "an integer is needed here")
	}
	return n
}

// expr returns the value of an expression.
func (f *function) expr(e ast.Expr) string {
	if v := f.p.pkg.info.Types[e].Value; v != nil {
		return f.constant(v, f.typeOf(e), e.Pos())
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.expr(e.X)
	case *ast.BasicLit: // its type is a type parameter
		return f.constant(constant.MakeFromLiteral(e.Value, e.Kind, 0), f.typeOf(e), e.Pos())
	case *ast.Ident, *ast.IndexExpr, *ast.SelectorExpr, *ast.StarExpr:
		t := f.typeOf(e)
		at := f.place(e)
		f.p.cType(t, e.Pos())
		return f.valueAt(at, t, e.Pos())
	case *ast.UnaryExpr:
		return f.unary(e)
	case *ast.BinaryExpr:
		return f.binary(e)
	case *ast.CallExpr:
		results := f.call(e, true)
		if len(results) != 1 {
			refuse(e.Pos(), "a single value is needed here")
		}
		return results[0]
	case *ast.CompositeLit:
		return f.composite(e)
	case *ast.FuncLit:
		refuse(e.Pos(), "a closure has no translation; declare a function, and pass it arguments")
	case *ast.SliceExpr:
		refuse(e.Pos(), "a part of a slice has no translation; use the whole with other indexes, or launch with a slice of the buffer")
	case *ast.TypeAssertExpr:
		refuse(e.Pos(), "an interface has no translation; use a concrete type, or a generic function")
	case *ast.IndexListExpr:
		refuse(e.Pos(), "a function value has no translation; call the function")
	}
	refuse(e.Pos(), "this expression has no translation")
	return ""
}

// constant returns the C text of a constant of a type.
func (f *function) constant(v constant.Value, t types.Type, pos token.Pos) string {
	if z, ok := complexOf(t); ok {
		return f.complexConstant(v, z, pos)
	}
	n, ok := numberOf(t)
	if !ok {
		refuse(pos, "%s", why(t))
	}
	switch {
	case n.truth && v.Kind() == constant.Bool:
		if constant.BoolVal(v) {
			return "1"
		}
		return "0"
	case n.truth:
	case n.float:
		if v = constant.ToFloat(v); v.Kind() != constant.Float {
			break
		}
		x, _ := constant.Float64Val(v)
		suffix := ""
		if n.bits == 32 {
			y, _ := constant.Float32Val(v)
			x, suffix = float64(y), "f"
		}
		if math.IsInf(x, 0) {
			break
		}
		text := strconv.FormatFloat(x, 'g', -1, n.bits)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		switch {
		case x == -1 && f.p.barriers: // a product with it is a negation
			return f.negated(n, text[1:]+suffix)
		case text[0] == '-':
			return "(" + text + suffix + ")"
		}
		return text + suffix
	default:
		if v = constant.ToInt(v); v.Kind() != constant.Int {
			break
		}
		x, exact := constant.Int64Val(v)
		if !exact {
			if u, ok := constant.Uint64Val(v); ok && n.bits == 64 && !n.signed {
				return fmt.Sprintf("((u64)%#x)", u)
			}
			break
		}
		switch {
		case n.c == "i32" && x >= 0 && x <= math.MaxInt32:
			return strconv.FormatInt(x, 10)
		case x == math.MinInt64:
			return "((i64)0x8000000000000000)"
		case n.c == "i32" && x == math.MinInt32:
			return "((i32)0x80000000)"
		}
		return fmt.Sprintf("((%s)%d)", n.c, x)
	}
	refuse(pos, "constant %s does not fit type %s", v, t)
	return ""
}

// negated returns a float with the other sign. A compiler that loses negations which are needed after a barrier has a form of its own for the macro.
func (f *function) negated(n number, x string) string {
	if f.p.barriers {
		return fmt.Sprintf("GO_NEG_%s(%s)", strings.ToUpper(n.c), x)
	}
	return "(-" + x + ")"
}

func (f *function) unary(e *ast.UnaryExpr) string {
	switch e.Op {
	case token.AND:
		refuse(e.Pos(), "%s", why(types.NewPointer(types.Typ[types.Int])))
	case token.ARROW:
		refuse(e.Pos(), "a channel has no translation; threads share buffers and grid.Shared memory")
	}
	if z, ok := complexOf(f.typeOf(e)); ok {
		if e.Op == token.ADD {
			return f.expr(e.X)
		}
		return f.complexNegated(z, f.expr(e.X))
	}
	n := f.number(e)
	x := f.expr(e.X)
	switch {
	case e.Op == token.ADD:
		return x
	case e.Op == token.NOT:
		return "(!" + x + ")"
	case e.Op == token.SUB && n.float:
		return f.negated(n, x)
	case e.Op == token.SUB:
		return fmt.Sprintf("((%s)GO_MINUS(%s, %s))", n.c, n.unsigned(), x)
	case e.Op == token.XOR:
		return fmt.Sprintf("GO_NOT(%s, %s)", n.c, x)
	}
	refuse(e.Pos(), "operator %s has no translation", e.Op)
	return ""
}

func (f *function) binary(e *ast.BinaryExpr) string {
	switch e.Op {
	case token.LAND, token.LOR:
		left := f.expr(e.X)
		var right string
		lines := f.captureDeeper(func() { right = f.expr(e.Y) })
		op, unless := "&&", ""
		if e.Op == token.LOR {
			op, unless = "||", "!"
		}
		if len(lines) == 0 {
			return fmt.Sprintf("(%s %s %s)", left, op, right)
		}
		name := f.temp()
		f.line("u8 %s = %s;", name, left)
		f.line("if (%s%s) {", unless, name)
		f.write(lines)
		f.line("\t%s = %s;", name, right)
		f.line("}")
		return name
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		t := f.typeOf(e.X)
		if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
			t = f.typeOf(e.Y)
		}
		f.comparable(t, e)
		left, right := f.exprAs(e.X, t), f.exprAs(e.Y, t)
		return f.compare(e.Op, t, left, right, e.Pos())
	case token.SHL, token.SHR:
		t := f.typeOf(e)
		n := f.integer(e)
		return f.shift(e.Op, n, f.exprAs(e.X, t), e.Y)
	}
	t := f.typeOf(e)
	if z, ok := complexOf(t); ok {
		return f.complexArithmetic(e.Op, z, f.exprAs(e.X, t), f.exprAs(e.Y, t), e.Pos())
	}
	n := f.number(e)
	left, right := f.exprAs(e.X, t), f.exprAs(e.Y, t)
	return f.arithmetic(e.Op, n, left, right, e.Y)
}

// comparable refuses comparisons of pointers, slices, interfaces and nil.
func (f *function) comparable(t types.Type, e *ast.BinaryExpr) {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Interface:
		refuse(e.Pos(), "%s", why(t))
	}
	if b, ok := t.(*types.Basic); ok && b.Kind() == types.UntypedNil {
		refuse(e.Pos(), "nil has no translation; use a value")
	}
}

// exprAs returns the value of an expression. A constant gets the type t.
func (f *function) exprAs(e ast.Expr, t types.Type) string {
	if v := f.p.pkg.info.Types[e].Value; v != nil {
		return f.constant(v, t, e.Pos())
	}
	return f.expr(e)
}

// compare returns a comparison of two values of a type.
func (f *function) compare(op token.Token, t types.Type, left, right string, pos token.Pos) string {
	if _, ok := numberOf(t); ok {
		return fmt.Sprintf("(%s %s %s)", left, op, right)
	}
	not := ""
	if op == token.NEQ {
		not = "!"
	}
	return fmt.Sprintf("(%s%s(%s, %s))", not, f.p.equal(t, pos), left, right)
}

// shift returns x shifted by a count. A count that is negative, or at least the width, shifts
// everything out.
func (f *function) shift(op token.Token, n number, x string, count ast.Expr) string {
	if v := f.p.pkg.info.Types[count].Value; v != nil {
		c, ok := constant.Uint64Val(constant.ToInt(v))
		switch {
		case (!ok || c >= uint64(n.bits)) && (op == token.SHL || !n.signed):
			return fmt.Sprintf("((%s)0)", n.c)
		case !ok || c >= uint64(n.bits):
			c = uint64(n.bits) - 1
		}
		if op == token.SHL {
			return fmt.Sprintf("((%s)((%s)%s << %d))", n.c, n.unsigned(), x, c)
		}
		if n.signed && c == uint64(n.bits)-1 {
			return fmt.Sprintf("((%s)(%s >> GO_COUNT(%d)))", n.c, x, c)
		}
		return fmt.Sprintf("((%s)(%s >> %d))", n.c, x, c)
	}
	f.integer(count)
	c := f.expr(count)
	return fmt.Sprintf("%s(%s, (u64)%s)", f.p.shift(op, n), x, c)
}

// arithmetic returns the result of an operator on two values of a type. divisor is the right operand's expression in Go, or
// another expression for the position of an error.
func (f *function) arithmetic(op token.Token, n number, left, right string, divisor ast.Expr) string {
	if n.truth {
		refuse(divisor.Pos(), "operator %s has no translation", op)
	}
	wrap := func(op string) string {
		if n.bits >= 32 && !n.signed {
			return fmt.Sprintf("(%s %s %s)", left, op, right)
		}
		return fmt.Sprintf("((%s)((%s)%s %s (%s)%s))", n.c, n.unsigned(), left, op, n.unsigned(), right)
	}
	switch op {
	case token.ADD, token.SUB, token.MUL:
		switch {
		case op == token.SUB && n.allOnes(left): // another form of the complement
			return fmt.Sprintf("GO_NOT(%s, %s)", n.c, right)
		case op == token.SUB && n.zero(left):
			return fmt.Sprintf("((%s)GO_MINUS(%s, %s))", n.c, n.unsigned(), right)
		}
		if n.float {
			return fmt.Sprintf("(%s %s %s)", left, op, right)
		}
		return wrap(op.String())
	case token.QUO, token.REM:
		if n.float {
			if v := f.p.pkg.info.Types[divisor].Value; v != nil && constant.Sign(v) == 0 { // Rusticl divides by a zero that it knows to be one and gives anything
				right = fmt.Sprintf("((%s)GO_F32(0.0f))", n.c)
			}
			return fmt.Sprintf("(%s %s %s)", left, op, right)
		}
		if divisor != nil {
			if v := f.p.pkg.info.Types[divisor].Value; v != nil {
				if v = constant.ToInt(v); constant.Sign(v) != 0 && constant.Compare(v, token.NEQ, constant.MakeInt64(-1)) {
					return fmt.Sprintf("((%s)(%s %s %s))", n.c, left, op, right)
				}
			}
		}
		return fmt.Sprintf("%s(%s, %s)", f.p.divide(op, n), left, right)
	case token.AND, token.OR, token.XOR:
		switch {
		case op == token.XOR && n.allOnes(left):
			return fmt.Sprintf("GO_NOT(%s, %s)", n.c, right)
		case op == token.XOR && n.allOnes(right):
			return fmt.Sprintf("GO_NOT(%s, %s)", n.c, left)
		}
		return fmt.Sprintf("((%s)(%s %s %s))", n.c, left, op, right)
	case token.AND_NOT:
		return fmt.Sprintf("((%s)(%s & GO_NOT(%s, %s)))", n.c, left, n.c, right)
	}
	refuse(divisor.Pos(), "operator %s has no translation", op)
	return ""
}

// allOnes reports whether a text is the constant of the type whose bits are all ones.
func (n number) allOnes(text string) bool {
	if n.float || n.truth {
		return false
	}
	ones := "-1"
	if !n.signed {
		ones = strconv.FormatUint(1<<n.bits-1, 10)
	}
	return n.constant(text, ones)
}

// zero reports whether a text is the integer 0.
func (n number) zero(text string) bool {
	return !n.float && !n.truth && (text == "0" || n.constant(text, "0"))
}

// constant reports whether a text is the constant of the type with the given digits.
func (n number) constant(text, digits string) bool {
	return strings.HasPrefix(text, "(("+n.c+")"+digits) && !strings.ContainsAny(text[len(n.c)+len(digits)+3:], "0123456789+-*/")
}

// convert returns a value converted to another type.
func (f *function) convert(c string, from, to types.Type, pos token.Pos) string {
	a, ok1 := numberOf(from)
	b, ok2 := numberOf(to)
	y, isComplex := complexOf(from)
	z, toComplex := complexOf(to)
	switch {
	case isComplex && toComplex:
		return f.complexConverted(c, y, z)
	case !ok1 && !ok2:
		if f.p.cType(from, pos) == f.p.cType(to, pos) {
			return c
		}
	case ok1 && ok2 && a.c == b.c && a.truth == b.truth:
		return c
	case ok1 && ok2 && a.float && !b.float && !b.truth:
		return fmt.Sprintf("%s(%s)", f.p.toInteger(a, b), c)
	case ok1 && ok2 && a.bits == 64 && !a.float && b.c == "f32":
		return "GO_F32(" + c + ")"
	case ok1 && ok2 && !a.truth && !b.truth:
		return fmt.Sprintf("((%s)%s)", b.c, c)
	}
	if !ok2 {
		refuse(pos, "%s", why(to))
	}
	refuse(pos, "%s", why(from))
	return ""
}

// composite writes a composite literal into a variable, and returns the variable's name.
func (f *function) composite(e *ast.CompositeLit) string {
	t := f.typeOf(e)
	switch t.Underlying().(type) {
	case *types.Slice:
		refuse(e.Pos(), "a slice that a kernel makes has no translation; use an array of fixed size")
	case *types.Pointer:
		refuse(e.Pos(), "a pointer to a new value has no translation; declare a variable, and pass its address")
	}
	c := f.p.cType(t, e.Pos())
	var places, values []string
	next := int64(0)
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
			values = append(values, f.exprAs(x, u.Field(i).Type()))
			places = append(places, "."+fieldName(u, i))
		case *types.Array:
			if isKey {
				next, _ = constant.Int64Val(constant.ToInt(f.p.pkg.info.Types[key.Key].Value))
			}
			values = append(values, f.exprAs(x, u.Elem()))
			places = append(places, fmt.Sprintf(".a[%d]", next))
			next++
		}
	}
	name := f.temp()
	f.line("%s %s = {0};", c, name)
	for i := range values {
		f.line("%s%s = %s;", name, places[i], values[i])
	}
	return name
}

// zero returns the initial value of a variable that is declared without one.
func zero(t types.Type) string {
	if n, ok := numberOf(t); ok {
		if n.float {
			return fmt.Sprintf("(%s)0", n.c)
		}
		return "0"
	}
	return "{0}"
}

func (f *function) captureDeeper(fn func()) []string {
	f.depth++
	defer func() { f.depth-- }()
	return f.capture(fn)
}
