package cprint

import (
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// mathNames maps functions of package math to functions that all dialects have for f32 and f64.
var mathNames = map[string]string{
	"Sqrt": "sqrt", "Floor": "floor", "Ceil": "ceil", "Trunc": "trunc", "Abs": "fabs", "Copysign": "copysign", "Round": "round", "RoundToEven": "rint", "Mod": "fmod",
	"Remainder": "remainder", "Exp": "exp", "Exp2": "exp2", "Expm1": "expm1", "Log": "log", "Log2": "log2", "Log10": "log10", "Log1p": "log1p",
	"Sin": "sin", "Cos": "cos", "Tan": "tan", "Asin": "asin", "Acos": "acos", "Atan": "atan", "Sinh": "sinh", "Cosh": "cosh", "Tanh": "tanh",
	"Asinh": "asinh", "Acosh": "acosh", "Atanh": "atanh", "Atan2": "atan2", "Pow": "pow", "Hypot": "hypot", "Cbrt": "cbrt", "Erf": "erf", "Erfc": "erfc",
}

// goCall returns the call of a function of packages math, math/bits and math/cmplx.
func (f *values) goCall(v *ir.Value) text {
	pkg, name, _ := strings.Cut(v.Of, ".")
	switch pkg {
	case "bits":
		return f.bitsCall(v, name)
	case "cmplx":
		return f.cmplxCall(v, name)
	}
	t, args := facts.MathOf(v)
	return f.mathCall(name, numbers[t.Kind], args)
}

// mathCall returns the call of a function of package math on floats of a type.
func (f *values) mathCall(name string, n number, args []*ir.Value) text {
	f.now |= n.needs()
	var all []text
	for _, a := range args {
		all = append(all, f.whole(a))
	}
	bits := func(x text) text {
		if n.bits == 32 {
			return called("F32_BITS", x)
		}
		f.needBits()
		return called("GO_F64_BITS", x)
	}
	function := func(name, body string) string {
		return f.supply(name, fmt.Sprintf("FUNCTION "+body, n.c, name), n.needs())
	}
	switch name {
	case "Max", "Min": // Inf wins over NaN in Max, and -Inf in Min
		inf := n.literal("1.0")
		if name == "Min" {
			inf = "-" + inf
		}
		name = strings.ToLower(name)
		return called(function("go_math_"+name+"_"+n.c, "%s %s(%[1]s x, %[1]s y) { %[1]s inf = "+inf+" / (%[1]s)0; return x == inf || y == inf ? inf : "+
			f.extreme(name, n)+"(x, y); }"), all...)
	case "FMA", "FMA32":
		return called("FMA", all...)
	case "IsNaN":
		return called(function("go_isnan_"+n.c, "u8 %[2]s(%[1]s x) { return x != x; }"), all...)
	case "IsInf":
		return called(function("go_isinf_"+n.c, "u8 %[2]s(%[1]s x, i64 sign) { return x - x != 0 && x == x && (sign == 0 || (x > 0) == (sign > 0)); }"), all...)
	case "Signbit":
		return binary("!=", equality, binary(">>", shifts, bits(all[0]), atom(fmt.Sprint(n.bits-1))).in(postfix), atom("0"))
	case "Inf":
		f.needBits()
		return called("GO_BITS_F64", text{c: all[0].in(additive).c + " >= 0 ? 0x7ff0000000000000 : 0xfff0000000000000", deep: all[0].deep})
	case "NaN":
		f.needBits()
		return called("GO_BITS_F64", atom("0x7ff8000000000001"))
	case "Float32bits":
		return called("F32_BITS", all...)
	case "Float32frombits":
		return called("BITS_F32", all...)
	case "Float64bits":
		return bits(all[0])
	case "Float64frombits":
		f.needBits()
		return called("GO_BITS_F64", all...)
	}
	return called(mathNames[name], all...)
}

// bitsCall returns the call of a function of package math/bits that has one result.
func (f *values) bitsCall(v *ir.Value, name string) text {
	base, width := bitsName(name)
	c := fmt.Sprintf("u%d", width)
	var args []text
	for _, a := range v.Args {
		args = append(args, f.whole(a))
	}
	many := atom(fmt.Sprint(width))
	length := func() text {
		f.supply("go_len", "FUNCTION i64 go_len(u64 x) { i64 n = 0; for (i64 s = 32; s > 0; s >>= 1) if (x >> s) { x >>= s; n += s; } return n + (i64)x; }", 0)
		return called("go_len", args[0])
	}
	ones := func() string {
		return f.supply("go_ones", "FUNCTION i64 go_ones(u64 x) { i64 n = 0; for (; x; x &= x - 1) n++; return n; }", 0)
	}
	switch base {
	case "Len":
		return length()
	case "LeadingZeros":
		return binary("-", additive, many, length())
	case "OnesCount":
		return called(ones(), args[0])
	case "TrailingZeros":
		ones()
		f.supply("go_trailing", "FUNCTION i64 go_trailing(u64 x, i64 width) { return x == 0 ? width : go_ones((x & (0 - x)) - 1); }", 0)
		return called("go_trailing", args[0], many)
	case "RotateLeft":
		name := "go_rotate_" + c
		f.supply(name, fmt.Sprintf("FUNCTION %s %s(%[1]s x, i64 k) { u32 s = (u32)k & %[3]d; return (%[1]s)(x << s | x >> ((%[4]d - s) & %[3]d)); }", c, name, width-1, width), 0)
		return called(name, args...)
	case "Reverse":
		f.supply("go_reverse", "FUNCTION u64 go_reverse(u64 x, i32 width) { u64 y = 0; for (i32 i = 0; i < width; i++) y = y << 1 | (x >> i & 1); return y; }", 0)
		return cast(c, called("go_reverse", args[0], many))
	}
	f.supply("go_reverse_bytes", "FUNCTION u64 go_reverse_bytes(u64 x, i32 width) { u64 y = 0; for (i32 i = 0; i < width; i += 8) y = y << 8 | (x >> i & 255); return y; }", 0)
	return cast(c, called("go_reverse_bytes", args[0], many))
}

// bitsName returns the name of a function of package math/bits without its width, and the width.
func bitsName(name string) (base string, width int) {
	base, width = strings.TrimRight(name, "0123456789"), 64
	fmt.Sscanf(name[len(base):], "%d", &width)
	return base, width
}

// twoResults prints a function of package math/bits with two results, as statements, and returns the variables that have the results.
func (f *values) twoResults(v *ir.Value) [2]string {
	_, name, _ := strings.Cut(v.Of, ".")
	base, width := bitsName(name)
	c := fmt.Sprintf("u%d", width)
	x, y := f.keep(c, f.typed(v.Args[0], f.value(v.Args[0]))).c, f.keep(c, f.typed(v.Args[1], f.value(v.Args[1]))).c
	two := func(first, second string) [2]string {
		a := f.keep(c, atom(first)).c
		return [2]string{a, f.keep(c, atom(strings.ReplaceAll(second, "FIRST", a))).c}
	}
	switch base {
	case "Add":
		return two(fmt.Sprintf("%s + %s + %s", x, y, f.whole(v.Args[2]).in(unary).c), fmt.Sprintf("((%s & %s) | ((%[1]s | %[2]s) & ~FIRST)) >> %d", x, y, width-1))
	case "Sub":
		return two(fmt.Sprintf("%s - %s - %s", x, y, f.whole(v.Args[2]).in(unary).c), fmt.Sprintf("((~%s & %s) | (~(%[1]s ^ %[2]s) & FIRST)) >> %d", x, y, width-1))
	}
	if width == 32 {
		return two(fmt.Sprintf("(u32)((u64)%s * %s >> 32)", x, y), fmt.Sprintf("%s * %s", x, y))
	}
	f.supply("go_high", "FUNCTION u64 go_high(u64 x, u64 y) { u64 a = x >> 32, b = x & 0xffffffff, c = y >> 32, d = y & 0xffffffff, m = a * d + (b * d >> 32), n = (m & 0xffffffff) + b * c; return a * c + (m >> 32) + (n >> 32); }", 0)
	return two(fmt.Sprintf("go_high(%s, %s)", x, y), fmt.Sprintf("%s * %s", x, y))
}

// complexOf returns the complex number with the parts re and im.
func (f *printer) complexOf(t *ir.Type, re, im text) text {
	c, part := f.typ(t), numbers[t.Part().Kind]
	name := c + "_of"
	return called(f.supply(name, fmt.Sprintf("FUNCTION %s %s(%s re, %[3]s im) { %[1]s z; z.re = re; z.im = im; return z; }", c, name, part.c), part.needs()), re, im)
}

// complexArithmetic returns an operation on complex numbers. Products and quotients of complex64 are computed in float64 and rounded at the end, as Go does.
func (f *values) complexArithmetic(v *ir.Value) text {
	c, part := f.typ(v.Type), numbers[v.Type.Part().Kind]
	name, body, needs := "", "", part.needs()
	switch v.Op {
	case ir.Neg:
		name = c + "_neg"
		if f.Waits { // negated uses the form that Intel's compiler needs there
			name += "_again"
		}
		text := fmt.Sprintf("FUNCTION %s %s(%[1]s x) { x.re = %[3]s; x.im = %[4]s; return x; }", c, name, f.negated(part, atom("x.re")).c, f.negated(part, atom("x.im")).c)
		return called(f.supply(name, text, needs), f.value(v.Args[0]))
	case ir.Add, ir.Sub:
		name = c + map[ir.Op]string{ir.Add: "_add", ir.Sub: "_sub"}[v.Op]
		body = fmt.Sprintf("z.re = x.re %s y.re; z.im = x.im %[1]s y.im;", v.Op)
	case ir.Mul:
		f.typ(ir.Basic(ir.C128))
		name, needs = c+"_mul", float64s
		body = fmt.Sprintf("f64 a = x.re, b = x.im, c = y.re, d = y.im; z.re = (%s)(a * c - b * d); z.im = (%[1]s)(a * d + b * c);", part.c)
	default:
		f.quotient()
		name, needs = c+"_div", float64s
		body = fmt.Sprintf("go_complex128 q = go_complex_quotient(x.re, x.im, y.re, y.im); z.re = (%s)q.re; z.im = (%[1]s)q.im;", part.c)
	}
	f.supply(name, fmt.Sprintf("FUNCTION %s %s(%[1]s x, %[1]s y) { %[1]s z; %[3]s return z; }", c, name, body), needs)
	return called(name, f.value(v.Args[0]), f.value(v.Args[1]))
}

// quotient adds the C function that divides complex numbers, in the same steps as complex128div in Go's package runtime.
func (p *printer) quotient() {
	p.typ(ir.Basic(ir.C128))
	p.needBits()
	p.supply("go_finite", "FUNCTION u8 go_finite(f64 x) { return x - x == 0; }", float64s)
	p.supply("go_infinite", "FUNCTION u8 go_infinite(f64 x) { return x == x && x - x != 0; }", float64s)
	p.supply("go_inf_to_one", "FUNCTION f64 go_inf_to_one(f64 x) { return copysign(go_infinite(x) ? 1.0 : 0.0, x); }", float64s)
	p.supply("go_complex_quotient", `FUNCTION go_complex128 go_complex_quotient(f64 a, f64 b, f64 c, f64 d) {
	go_complex128 q;
	f64 inf = GO_BITS_F64(0x7ff0000000000000);
	if (fabs(c) >= fabs(d)) {
		f64 ratio = d / c, denom = c + ratio * d;
		q.re = (a + b * ratio) / denom;
		q.im = (b - a * ratio) / denom;
	} else {
		f64 ratio = c / d, denom = d + ratio * c;
		q.re = (a * ratio + b) / denom;
		q.im = (b * ratio - a) / denom;
	}
	if (q.re != q.re && q.im != q.im) {
		if (c == 0 && d == 0 && (a == a || b == b)) {
			q.re = copysign(inf, c) * a;
			q.im = copysign(inf, c) * b;
		} else if ((go_infinite(a) || go_infinite(b)) && go_finite(c) && go_finite(d)) {
			a = go_inf_to_one(a);
			b = go_inf_to_one(b);
			q.re = inf * (a * c + b * d);
			q.im = inf * (b * c - a * d);
		} else if ((go_infinite(c) || go_infinite(d)) && go_finite(a) && go_finite(b)) {
			c = go_inf_to_one(c);
			d = go_inf_to_one(d);
			q.re = 0.0 * (a * c + b * d);
			q.im = 0.0 * (b * c - a * d);
		}
	}
	return q;
}`, float64s)
}

// complexFrom returns the function that converts a complex number to the other complex type.
func (p *printer) complexFrom(to, from *ir.Type) string {
	c, of, part := p.typ(to), p.typ(from), numbers[to.Part().Kind]
	name := c + "_from"
	return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%s x) { %[1]s z; z.re = (%[4]s)x.re; z.im = (%[4]s)x.im; return z; }", c, name, of, part.c), float64s)
}

// cmplxCall returns the call of a function of package math/cmplx.
func (f *values) cmplxCall(v *ir.Value, name string) text {
	x := f.keep(f.typ(v.Args[0].Type), f.value(v.Args[0]))
	re, im := f.part(x, "re"), f.part(x, "im")
	switch name {
	case "Abs":
		return called("hypot", re, im)
	case "Phase":
		return called("atan2", im, re)
	}
	return f.complexOf(v.Type, re, f.negated(numbers[ir.F64], im))
}
