package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// complexType is the C type of a complex number: a structure of its parts.
type complexType struct {
	c    string
	part number
}

// complexOf returns the C type of a type of complex numbers. It reports false for other types.
func complexOf(t types.Type) (complexType, bool) {
	if b, ok := t.Underlying().(*types.Basic); ok {
		switch b.Kind() {
		case types.Complex64:
			return complexType{"go_complex64", numbers[types.Float32]}, true
		case types.Complex128, types.UntypedComplex:
			return complexType{"go_complex128", numbers[types.Float64]}, true
		}
	}
	return complexType{}, false
}

// declareComplex declares the C type, unless the program has it.
func (p *program) declareComplex(z complexType) string {
	if !p.typed[z.c] {
		p.typed[z.c] = true
		p.types = append(p.types, fmt.Sprintf("typedef struct { %s re; %[1]s im; } %s;", z.part.c, z.c))
	}
	return z.c
}

// complex returns the complex number with these parts.
func (p *program) complex(z complexType, re, im string) string {
	p.declareComplex(z)
	name := z.c + "_of"
	p.supply(name, fmt.Sprintf("FUNCTION %s %s(%s re, %[3]s im) { %[1]s z; z.re = re; z.im = im; return z; }", z.c, name, z.part.c))
	return fmt.Sprintf("%s(%s, %s)", name, re, im)
}

// complexConstant returns the C text of a constant.
func (f *function) complexConstant(v constant.Value, z complexType, pos token.Pos) string {
	part := types.Typ[types.Float64]
	if z.part.bits == 32 {
		part = types.Typ[types.Float32]
	}
	v = constant.ToComplex(v)
	return f.p.complex(z, f.constant(constant.Real(v), part, pos), f.constant(constant.Imag(v), part, pos))
}

// complexArithmetic returns the result of an operator. Products and quotients of complex64 are computed in float64 and rounded at the
// end, as Go does.
func (f *function) complexArithmetic(op token.Token, z complexType, left, right string, pos token.Pos) string {
	wide := complexType{"go_complex128", numbers[types.Float64]}
	f.p.declareComplex(z)
	name := z.c
	var body string
	switch op {
	case token.ADD, token.SUB:
		name += map[token.Token]string{token.ADD: "_add", token.SUB: "_sub"}[op]
		body = fmt.Sprintf("z.re = x.re %s y.re; z.im = x.im %[1]s y.im;", op)
	case token.MUL:
		name += "_mul"
		f.p.declareComplex(wide)
		body = fmt.Sprintf("f64 a = x.re, b = x.im, c = y.re, d = y.im; z.re = (%s)(a * c - b * d); z.im = (%[1]s)(a * d + b * c);", z.part.c)
	case token.QUO:
		name += "_div"
		f.p.declareComplex(wide)
		f.p.quotient()
		body = fmt.Sprintf("go_complex128 q = go_complex_quotient(x.re, x.im, y.re, y.im); z.re = (%s)q.re; z.im = (%[1]s)q.im;", z.part.c)
	default:
		refuse(pos, "operator %s has no translation", op)
	}
	f.p.supply(name, fmt.Sprintf("FUNCTION %s %s(%[1]s x, %[1]s y) { %[1]s z; %[3]s return z; }", z.c, name, body))
	return fmt.Sprintf("%s(%s, %s)", name, left, right)
}

// quotient adds the function that divides complex numbers, in the steps of complex128div in Go's package runtime.
func (p *program) quotient() {
	p.needBits()
	p.supply("go_finite", "FUNCTION u8 go_finite(f64 x) { return x - x == 0; }")
	p.supply("go_infinite", "FUNCTION u8 go_infinite(f64 x) { return x == x && x - x != 0; }")
	p.supply("go_inf_to_one", "FUNCTION f64 go_inf_to_one(f64 x) { return copysign(go_infinite(x) ? 1.0 : 0.0, x); }")
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
}`)
}

// complexNegated returns -x.
func (f *function) complexNegated(z complexType, x string) string {
	f.p.declareComplex(z)
	name := z.c + "_neg"
	f.p.supply(name, fmt.Sprintf("FUNCTION %s %s(%[1]s x) { x.re = %[3]s; x.im = %[4]s; return x; }", z.c, name,
		f.negated(z.part, "x.re"), f.negated(z.part, "x.im")))
	return fmt.Sprintf("%s(%s)", name, x)
}

// complexConverted returns x of type from as to.
func (f *function) complexConverted(x string, from, to complexType) string {
	f.p.declareComplex(from)
	f.p.declareComplex(to)
	if from.c == to.c {
		return x
	}
	name := to.c + "_from"
	f.p.supply(name, fmt.Sprintf(
		"FUNCTION %s %s(%s x) { %[1]s z; z.re = (%[4]s)x.re; z.im = (%[4]s)x.im; return z; }", to.c, name, from.c, to.part.c))
	return fmt.Sprintf("%s(%s)", name, x)
}

// complexBuiltin translates complex, real and imag.
func (f *function) complexBuiltin(e *ast.CallExpr, name string) string {
	if name == "complex" {
		z, ok := complexOf(f.typeOf(e))
		if !ok {
			refuse(e.Pos(), "%s", why(f.typeOf(e)))
		}
		part := types.Typ[types.Float64]
		if z.part.bits == 32 {
			part = types.Typ[types.Float32]
		}
		return f.p.complex(z, f.exprAs(e.Args[0], part), f.exprAs(e.Args[1], part))
	}
	return fmt.Sprintf("(%s).%s", f.expr(e.Args[0]), map[string]string{"real": "re", "imag": "im"}[name])
}

// cmplxCall translates a function of package math/cmplx.
func (f *function) cmplxCall(e *ast.CallExpr, name string) string {
	if name != "Abs" && name != "Conj" && name != "Phase" {
		refuse(e.Pos(), "cmplx.%s has no translation; write a function that computes it", name)
	}
	z, t := complexType{"go_complex128", numbers[types.Float64]}, types.Typ[types.Complex128]
	f.p.declareComplex(z)
	x := f.keep(z.c, f.exprAs(e.Args[0], t))
	switch name {
	case "Abs":
		return fmt.Sprintf("hypot(%s.re, %[1]s.im)", x)
	case "Phase":
		return fmt.Sprintf("atan2(%s.im, %[1]s.re)", x)
	}
	return f.p.complex(z, x+".re", f.negated(z.part, x+".im"))
}
