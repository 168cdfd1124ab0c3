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

// supply adds a C function, unless the program has it, and returns its name.
func (p *program) supply(name, text string) string {
	if !p.needed[name] {
		p.needed[name] = true
		p.support = append(p.support, text+"\n")
	}
	return name
}

// needLocal adds the macro for pointers to shared memory. CUDA and HIP have no qualifier for such parameters, so
// it is empty there.
func (p *program) needLocal() {
	p.supply("GO_LOCAL", "#ifdef HALYARD_OPENCL\n#define GO_LOCAL LOCAL\n#else\n#define GO_LOCAL\n#endif")
}

// needBits adds the macros for the bits of f64.
func (p *program) needBits() {
	p.supply("GO_BITS", `#ifdef HALYARD_OPENCL
#define GO_F64_BITS(x) as_ulong((f64)(x))
#define GO_BITS_F64(x) as_double((u64)(x))
#else
#define GO_F64_BITS(x) ((u64)__double_as_longlong((f64)(x)))
#define GO_BITS_F64(x) __longlong_as_double((i64)(x))
#endif`)
}

// shift returns the function for shifts whose count may be as large as the width.
func (p *program) shift(op token.Token, n number) string {
	if op == token.SHL {
		name := "go_shl_" + n.c
		return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%s x, u64 n) { return n < %d ? (%s)((%s)x << n) : (%s)0; }", n.c, name, n.c, n.bits, n.c, n.unsigned(), n.c))
	}
	name := "go_shr_" + n.c
	if n.signed {
		return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%s x, u64 n) { return (%s)(x >> GO_COUNT(n < %d ? n : %d)); }", n.c, name, n.c, n.c, n.bits, n.bits-1))
	}
	return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%s x, u64 n) { return n < %d ? (%s)(x >> n) : (%s)0; }", n.c, name, n.c, n.bits, n.c, n.c))
}

// divide returns the function for divisions whose divisor may be 0 or -1. It divides whatever the divisor is, by another if need be: if it does not
// always divide, PoCL 7.1 leaves out stores of some kernels.
func (p *program) divide(op token.Token, n number) string {
	name, quotient := "go_div_"+n.c, "y == 0 ? 0 : q"
	if op == token.REM {
		name, quotient = "go_rem_"+n.c, "q"
	}
	special := "y == 0"
	if n.signed {
		special += " || y == -1"
		if op == token.QUO {
			quotient = fmt.Sprintf("y == -1 ? (%s)((%s)0 - (%s)x) : %s", n.c, n.unsigned(), n.unsigned(), quotient)
		}
	}
	return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%s x, %s y) { %s q = x %s (%s ? 1 : y); return %s; }", n.c, name, n.c, n.c, n.c, op, special, quotient))
}

// extreme returns the function for min or max.
func (p *program) extreme(which string, n number) string {
	name := fmt.Sprintf("go_%s_%s", which, n.c)
	less := "<"
	if which == "max" {
		less = ">"
	}
	if !n.float {
		return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%s x, %s y) { return y %s x ? y : x; }", n.c, name, n.c, n.c, less))
	}
	// NaN wins, and -0 is less than 0.
	zero := "1.0"
	if n.bits == 32 {
		zero = "1.0f"
	}
	if which == "max" {
		return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%s x, %s y) { return x != x ? x : y != y ? y : x == 0 && y == 0 ? (copysign(%s, x) < 0 ? y : x) : y > x ? y : x; }", n.c, name, n.c, n.c, zero))
	}
	return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%s x, %s y) { return x != x ? x : y != y ? y : x == 0 && y == 0 ? (copysign(%s, x) < 0 ? x : y) : y < x ? y : x; }", n.c, name, n.c, n.c, zero))
}

// toInteger returns the function that converts a float to an integer. If the integer cannot hold the value,
// the result is that of Go on amd64.
func (p *program) toInteger(from, to number) string {
	suffix := ""
	if from.bits == 32 {
		suffix = "f"
	}
	wide := func(c string) string {
		name := fmt.Sprintf("go_%s_%s", from.c, c)
		if c == "i32" {
			low := "x > -2147483649.0"
			if from.bits == 32 {
				low = "x >= -2147483648.0f"
			}
			return p.supply(name, fmt.Sprintf("FUNCTION i32 %s(%s x) { return %s && x < 2147483648.0%s ? GO_CUT(i32, x) : (i32)0x80000000; }", name, from.c, low, suffix))
		}
		return p.supply(name, fmt.Sprintf("FUNCTION i64 %s(%s x) { return x >= -9223372036854775808.0%s && x < 9223372036854775808.0%s ? GO_CUT(i64, x) : (i64)0x8000000000000000; }",
			name, from.c, suffix, suffix))
	}
	name := fmt.Sprintf("go_%s_%s", from.c, to.c)
	switch {
	case to.c == "i32", to.c == "i64":
		return wide(to.c)
	case to.bits < 32:
		return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%s x) { return (%s)%s(x); }", to.c, name, from.c, to.c, wideThen(wide, "i32")))
	case to.bits == 32:
		return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%s x) { return (%s)%s(x); }", to.c, name, from.c, to.c, wideThen(wide, "i64")))
	}
	w := wide("i64")
	return p.supply(name, fmt.Sprintf("FUNCTION u64 %s(%s x) { return x < 9223372036854775808.0%s ? (u64)%s(x) : (u64)%s(x - 9223372036854775808.0%s) | 0x8000000000000000; }",
		name, from.c, suffix, w, w, suffix))
}

func wideThen(wide func(string) string, c string) string { return wide(c) }

// equal returns the function that compares two structures or arrays.
func (p *program) equal(t types.Type, pos token.Pos) string {
	c := p.cType(t, pos)
	name := "go_equal_" + c
	if p.needed[name] {
		return name
	}
	part := func(t types.Type, at string) string {
		if n, ok := numberOf(t); ok && n.truth {
			return fmt.Sprintf("(x%s != 0) == (y%s != 0)", at, at)
		} else if ok {
			return fmt.Sprintf("x%s == y%s", at, at)
		}
		return fmt.Sprintf("%s(x%s, y%s)", p.equal(t, pos), at, at)
	}
	var body string
	switch u := t.Underlying().(type) {
	case *types.Basic:
		body = "return x.re == y.re && x.im == y.im;"
	case *types.Array:
		body = fmt.Sprintf("for (i64 i = 0; i < %d; i++) if (!(%s)) return 0; return 1;", u.Len(), part(u.Elem(), ".a[i]"))
	case *types.Struct:
		var parts []string
		for i := range u.NumFields() {
			if u.Field(i).Name() != "_" {
				parts = append(parts, part(u.Field(i).Type(), "."+fieldName(u, i)))
			}
		}
		if len(parts) == 0 {
			parts = append(parts, "1")
		}
		body = fmt.Sprintf("return %s;", strings.Join(parts, " && "))
	default:
		refuse(pos, "%s", why(t))
	}
	return p.supply(name, fmt.Sprintf("FUNCTION u8 %s(%s x, %s y) { %s }", name, c, c, body))
}

// mathNames maps functions of package math to functions that all dialects have for f32 and f64.
var mathNames = map[string]string{
	"Sqrt": "sqrt", "Floor": "floor", "Ceil": "ceil", "Trunc": "trunc", "Abs": "fabs", "Copysign": "copysign", "Round": "round", "RoundToEven": "rint", "Mod": "fmod",
	"Remainder": "remainder", "Exp": "exp", "Exp2": "exp2", "Expm1": "expm1", "Log": "log", "Log2": "log2", "Log10": "log10", "Log1p": "log1p",
	"Sin": "sin", "Cos": "cos", "Tan": "tan", "Asin": "asin", "Acos": "acos", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh", "Tanh": "tanh",
	"Asinh": "asinh", "Acosh": "acosh", "Atanh": "atanh", "Atan2": "atan2", "Pow": "pow", "Hypot": "hypot", "Cbrt": "cbrt", "Erf": "erf", "Erfc": "erfc",
	"Max": "", "Min": "",
}

// exactMath are the functions with results that are exact, or rounded once.
var exactMath = []string{"Sqrt", "Floor", "Ceil", "Trunc", "Abs", "Copysign", "Round", "RoundToEven", "Max", "Min"}

// singleMath translates math.F(float64(x)), whose result is converted to float32, to the device's
// function for float32.
func (f *function) singleMath(call *ast.CallExpr) (string, bool) {
	s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return "", false
	}
	obj, ok := f.p.pkg.info.Uses[s.Sel].(*types.Func)
	if !ok || obj.Pkg() == nil || obj.Pkg().Path() != "math" {
		return "", false
	}
	if _, ok := mathNames[obj.Name()]; !ok || !f.singles(call) {
		return "", false
	}
	if !f.inexact.IsValid() && !slices.Contains(exactMath, obj.Name()) {
		f.inexact = call.Pos()
	}
	return f.mathCall(call, obj.Name(), true), true
}

// singles reports whether all arguments are float32, converted to float64, or constants.
func (f *function) singles(call *ast.CallExpr) bool {
	for _, a := range call.Args {
		if f.single(a) == nil {
			return false
		}
	}
	return true
}

// single returns the float32 that an expression converts to float64, or the expression itself if it is
// a constant that a float32 holds exactly. Otherwise it returns nil.
func (f *function) single(e ast.Expr) ast.Expr {
	e = ast.Unparen(e)
	if v := f.p.pkg.info.Types[e].Value; v != nil {
		x, _ := constant.Float64Val(constant.ToFloat(v))
		if float64(float32(x)) != x {
			return nil
		}
		return e
	}
	c, ok := e.(*ast.CallExpr)
	if !ok || !f.p.pkg.info.Types[c.Fun].IsType() || len(c.Args) != 1 {
		return nil
	}
	if to, ok := numberOf(f.typeOf(c)); !ok || to.c != "f64" {
		return nil
	}
	if from, ok := numberOf(f.typeOf(c.Args[0])); !ok || from.c != "f32" {
		return nil
	}
	return c.Args[0]
}

// mathCall translates a function of package math, on float32 if single.
func (f *function) mathCall(e *ast.CallExpr, name string, single bool) string {
	n := number{"f64", 64, true, true, false}
	t := types.Typ[types.Float64]
	switch name {
	case "IsNaN", "IsInf", "Signbit": // their results do not depend on the width
		single = f.single(e.Args[0]) != nil && f.p.pkg.info.Types[e.Args[0]].Value == nil
	}
	if single {
		n, t = number{"f32", 32, true, true, false}, types.Typ[types.Float32]
	}
	arg := func(i int) string {
		if single {
			return f.exprAs(f.single(e.Args[i]), t)
		}
		return f.exprAs(e.Args[i], t)
	}
	bits := func(x string) string {
		if single {
			return "F32_BITS(" + x + ")"
		}
		f.p.needBits()
		return "GO_F64_BITS(" + x + ")"
	}
	switch name {
	case "Max", "Min":
		f.p.extreme(strings.ToLower(name), n)
		// in package math, -Inf and Inf win over NaN
		inf, fn := "-", "go_math_min_"+n.c
		if name == "Max" {
			inf, fn = "", "go_math_max_"+n.c
		}
		one := "1.0"
		if single {
			one = "1.0f"
		}
		f.p.supply(fn, fmt.Sprintf("FUNCTION %s %s(%s x, %s y) { %s inf = %s%s / (%s)0; return x == inf || y == inf ? inf : go_%s_%s(x, y); }",
			n.c, fn, n.c, n.c, n.c, inf, one, n.c, strings.ToLower(name), n.c))
		return fmt.Sprintf("%s(%s, %s)", fn, arg(0), arg(1))
	case "FMA":
		return fmt.Sprintf("FMA(%s, %s, %s)", arg(0), arg(1), arg(2))
	case "IsNaN":
		fn := f.p.supply("go_isnan_"+n.c, fmt.Sprintf("FUNCTION u8 go_isnan_%s(%s x) { return x != x; }", n.c, n.c))
		return fmt.Sprintf("%s(%s)", fn, arg(0))
	case "IsInf":
		fn := f.p.supply("go_isinf_"+n.c, fmt.Sprintf("FUNCTION u8 go_isinf_%s(%s x, i64 sign) { return x - x != 0 && x == x && (sign == 0 || (x > 0) == (sign > 0)); }", n.c, n.c))
		return fmt.Sprintf("%s(%s, %s)", fn, arg(0), f.exprAs(e.Args[1], types.Typ[types.Int]))
	case "Signbit":
		return fmt.Sprintf("(%s >> %d != 0)", bits(arg(0)), n.bits-1)
	case "Inf":
		f.p.needBits()
		return fmt.Sprintf("GO_BITS_F64(%s >= 0 ? 0x7ff0000000000000 : 0xfff0000000000000)", f.exprAs(e.Args[0], types.Typ[types.Int]))
	case "NaN":
		f.p.needBits()
		return "GO_BITS_F64(0x7ff8000000000001)"
	case "Float32bits":
		return fmt.Sprintf("F32_BITS(%s)", f.exprAs(e.Args[0], types.Typ[types.Float32]))
	case "Float32frombits":
		return fmt.Sprintf("BITS_F32(%s)", f.exprAs(e.Args[0], types.Typ[types.Uint32]))
	case "Float64bits":
		f.p.needBits()
		return fmt.Sprintf("GO_F64_BITS(%s)", arg(0))
	case "Float64frombits":
		f.p.needBits()
		return fmt.Sprintf("GO_BITS_F64(%s)", f.exprAs(e.Args[0], types.Typ[types.Uint64]))
	}
	c := mathNames[name]
	if c == "" {
		refuse(e.Pos(), "math.%s has no translation; write a function of this package that computes it", name)
	}
	var args []string
	for i := range e.Args {
		args = append(args, arg(i))
	}
	return fmt.Sprintf("%s(%s)", c, strings.Join(args, ", "))
}

// bitsCall translates a function of package math/bits.
func (f *function) bitsCall(e *ast.CallExpr, name string) []string {
	base := strings.TrimRight(name, "0123456789")
	width := 64
	fmt.Sscanf(name[len(base):], "%d", &width)
	c, t := fmt.Sprintf("u%d", width), types.Typ[map[int]types.BasicKind{8: types.Uint8, 16: types.Uint16, 32: types.Uint32, 64: types.Uint64}[width]]
	var args []string
	for i, a := range e.Args {
		if base == "RotateLeft" && i == 1 {
			t = types.Typ[types.Int]
		}
		args = append(args, f.exprAs(a, t))
	}
	length := func() string {
		return f.p.supply("go_len", "FUNCTION i64 go_len(u64 x) { i64 n = 0; for (i64 s = 32; s > 0; s >>= 1) if (x >> s) { x >>= s; n += s; } return n + (i64)x; }")
	}
	ones := func() string {
		return f.p.supply("go_ones", "FUNCTION i64 go_ones(u64 x) { i64 n = 0; for (; x; x &= x - 1) n++; return n; }")
	}
	two := func(first, second string) []string {
		a, b := f.temp(), f.temp()
		f.line("%s %s = %s;", c, a, first)
		f.line("%s %s = %s;", c, b, strings.ReplaceAll(second, "FIRST", a))
		return []string{a, b}
	}
	switch base {
	case "Len":
		return []string{fmt.Sprintf("%s(%s)", length(), args[0])}
	case "LeadingZeros":
		return []string{fmt.Sprintf("((i64)%d - %s(%s))", width, length(), args[0])}
	case "OnesCount":
		return []string{fmt.Sprintf("%s(%s)", ones(), args[0])}
	case "TrailingZeros":
		ones()
		fn := f.p.supply("go_trailing", "FUNCTION i64 go_trailing(u64 x, i64 width) { return x == 0 ? width : go_ones((x & (0 - x)) - 1); }")
		return []string{fmt.Sprintf("%s(%s, %d)", fn, args[0], width)}
	case "RotateLeft":
		fn := f.p.supply("go_rotate_"+c, fmt.Sprintf("FUNCTION %s go_rotate_%s(%s x, i64 k) { u32 s = (u32)k & %d; return (%s)(x << s | x >> ((%d - s) & %d)); }", c, c, c, width-1, c, width, width-1))
		return []string{fmt.Sprintf("%s(%s, %s)", fn, args[0], args[1])}
	case "Reverse":
		fn := f.p.supply("go_reverse", "FUNCTION u64 go_reverse(u64 x, i32 width) { u64 y = 0; for (i32 i = 0; i < width; i++) y = y << 1 | (x >> i & 1); return y; }")
		return []string{fmt.Sprintf("((%s)%s(%s, %d))", c, fn, args[0], width)}
	case "ReverseBytes":
		fn := f.p.supply("go_reverse_bytes", "FUNCTION u64 go_reverse_bytes(u64 x, i32 width) { u64 y = 0; for (i32 i = 0; i < width; i += 8) y = y << 8 | (x >> i & 255); return y; }")
		return []string{fmt.Sprintf("((%s)%s(%s, %d))", c, fn, args[0], width)}
	case "Add":
		x, y, z := f.keep(c, args[0]), f.keep(c, args[1]), args[2]
		return two(fmt.Sprintf("%s + %s + %s", x, y, z), fmt.Sprintf("((%s & %s) | ((%s | %s) & ~FIRST)) >> %d", x, y, x, y, width-1))
	case "Sub":
		x, y, z := f.keep(c, args[0]), f.keep(c, args[1]), args[2]
		return two(fmt.Sprintf("%s - %s - %s", x, y, z), fmt.Sprintf("((~%s & %s) | (~(%s ^ %s) & FIRST)) >> %d", x, y, x, y, width-1))
	case "Mul":
		x, y := f.keep(c, args[0]), f.keep(c, args[1])
		if width == 32 {
			return two(fmt.Sprintf("(u32)((u64)%s * %s >> 32)", x, y), fmt.Sprintf("%s * %s", x, y))
		}
		fn := f.p.supply("go_high", "FUNCTION u64 go_high(u64 x, u64 y) { u64 a = x >> 32, b = x & 0xffffffff, c = y >> 32, d = y & 0xffffffff, m = a * d + (b * d >> 32), n = (m & 0xffffffff) + b * c; return a * c + (m >> 32) + (n >> 32); }")
		return two(fmt.Sprintf("%s(%s, %s)", fn, x, y), fmt.Sprintf("%s * %s", x, y))
	}
	refuse(e.Pos(), "bits.%s has no translation; write a function of this package that computes it", name)
	return nil
}

// keep stores a value in a variable, and returns the variable's name.
func (f *function) keep(c, x string) string {
	name := f.temp()
	f.line("%s %s = %s;", c, name, x)
	return name
}
