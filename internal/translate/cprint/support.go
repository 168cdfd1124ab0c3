package cprint

import (
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// needLocal adds the macro for pointers to shared memory. CUDA and HIP have no qualifier for such pointers, so the macro is empty there.
func (p *printer) needLocal() {
	p.supply("GO_LOCAL", "#ifdef HALYARD_OPENCL\n#define GO_LOCAL LOCAL\n#else\n#define GO_LOCAL\n#endif", 0)
}

// needBits adds the macros for the bits of f64.
func (p *printer) needBits() {
	p.supply("GO_BITS", `#ifdef HALYARD_OPENCL
#define GO_F64_BITS(x) as_ulong((f64)(x))
#define GO_BITS_F64(x) as_double((u64)(x))
#else
#define GO_F64_BITS(x) ((u64)__double_as_longlong((f64)(x)))
#define GO_BITS_F64(x) __longlong_as_double((i64)(x))
#endif`, 0)
	p.now |= float64s
}

// shift returns the function for shifts whose count may be as large as the width.
func (p *printer) shift(op ir.Op, n number) string {
	name, result := "go_shr_"+n.c, fmt.Sprintf("n < %d ? (%s)(x >> n) : (%[2]s)0", n.bits, n.c)
	switch {
	case op == ir.Shl:
		name, result = "go_shl_"+n.c, fmt.Sprintf("n < %d ? (%s)((%s)x << n) : (%[2]s)0", n.bits, n.c, n.unsigned())
	case n.signed:
		result = fmt.Sprintf("(%s)(x >> GO_COUNT(n < %d ? n : %d))", n.c, n.bits, n.bits-1)
	}
	return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%[1]s x, u64 n) { return %[3]s; }", n.c, name, result), 0)
}

// divide returns the function for divisions and remainders whose divisor may be 0 or -1. For these two divisors the function divides by 1 and corrects the
// result. It does not skip the division, because PoCL 7.1 would then lose stores of some kernels.
func (p *printer) divide(op ir.Op, n number) string {
	name, quotient := "go_div_"+n.c, "y == 0 ? 0 : q"
	if op == ir.Rem {
		name, quotient = "go_rem_"+n.c, "q"
	}
	special := "y == 0"
	if n.signed {
		special += " || y == -1"
		if op == ir.Div {
			quotient = fmt.Sprintf("y == -1 ? (%s)((%s)0 - (%[2]s)x) : %s", n.c, n.unsigned(), quotient)
		}
	}
	return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%[1]s x, %[1]s y) { %[1]s q = x %[3]s (%[4]s ? 1 : y); return %[5]s; }", n.c, name, op, special, quotient), 0)
}

// extreme returns the function for min or max. For floats, NaN wins, and -0 is less than 0: equal numbers differ in their sign alone.
func (p *printer) extreme(which string, n number) string {
	name, than, signs := fmt.Sprintf("go_%s_%s", which, n.c), "<", "|"
	if which == "max" {
		than, signs = ">", "&"
	}
	if !n.float {
		return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%[1]s x, %[1]s y) { return y %[3]s x ? y : x; }", n.c, name, than), 0)
	}
	equal := "BITS_F32(F32_BITS(x) %s F32_BITS(y))"
	if n.bits == 64 {
		p.needBits()
		equal = "GO_BITS_F64(GO_F64_BITS(x) %s GO_F64_BITS(y))"
	}
	return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%[1]s x, %[1]s y) { return x != x ? x : x == y ? %[3]s : x %[4]s y ? x : y; }",
		n.c, name, fmt.Sprintf(equal, signs), than), n.needs())
}

// toInteger returns the function that converts a float to an integer. If the integer type cannot hold the float, the result is that of Go on amd64.
func (p *printer) toInteger(from, to number) string {
	name := fmt.Sprintf("go_%s_%s", from.c, to.c)
	if _, ok := p.needs[name]; ok {
		return p.supply(name, "", 0)
	}
	supply := func(text string, args ...any) string { return p.supply(name, fmt.Sprintf(text, args...), from.needs()) }
	switch {
	case to.c == "i32":
		low := "x > -2147483649.0"
		if from.bits == 32 {
			low = "x >= -2147483648.0f"
		}
		return supply("FUNCTION i32 %s(%s x) { return %s && x < %s ? GO_CUT(i32, x) : (i32)0x80000000; }", name, from.c, low, from.literal("2147483648.0"))
	case to.c == "i64":
		return supply("FUNCTION i64 %s(%s x) { return x >= -%s && x < %[3]s ? GO_CUT(i64, x) : (i64)0x8000000000000000; }", name, from.c, from.literal("9223372036854775808.0"))
	case to.bits < 32:
		return supply("FUNCTION %s %s(%s x) { return (%[1]s)%[4]s(x); }", to.c, name, from.c, p.toInteger(from, numbers[ir.I32]))
	}
	wide := p.toInteger(from, numbers[ir.I64])
	if to.bits == 32 {
		return supply("FUNCTION %s %s(%s x) { return (%[1]s)%[4]s(x); }", to.c, name, from.c, wide)
	}
	return supply("FUNCTION u64 %s(%s x) { return x < %s ? (u64)%s(x) : (u64)%[4]s(x - %[3]s) | 0x8000000000000000; }", name, from.c, from.literal("9223372036854775808.0"), wide)
}

// equal returns the function that compares two structures, arrays or complex numbers.
func (p *printer) equal(t *ir.Type) string {
	c := p.typ(t)
	name := "go_equal_" + c
	part := func(t *ir.Type, at string) string {
		switch {
		case t.Kind == ir.Bool:
			return fmt.Sprintf("(x%s != 0) == (y%[1]s != 0)", at)
		case numbers[t.Kind].c != "":
			return fmt.Sprintf("x%s == y%[1]s", at)
		}
		return fmt.Sprintf("%s(x%s, y%[2]s)", p.equal(t), at)
	}
	return p.declare(&p.support, name, func() string {
		p.typ(t)
		var body string
		switch {
		case t.Complex():
			body = "return x.re == y.re && x.im == y.im;"
		case t.Kind == ir.Array:
			body = fmt.Sprintf("for (i64 i = 0; i < %d; i++) if (!(%s)) return 0; return 1;", t.Len, part(t.Elem, ".a[i]"))
		default:
			var parts []string
			for i, f := range t.Fields {
				if f.Name != "_" {
					parts = append(parts, part(f.Type, "."+field(t, i)))
				}
			}
			if len(parts) == 0 {
				parts = append(parts, "1")
			}
			body = fmt.Sprintf("return %s;", strings.Join(parts, " && "))
		}
		return fmt.Sprintf("FUNCTION u8 %s(%s x, %[2]s y) { %s }", name, c, body)
	})
}

// words are the names of atomic operations in C, without a prefix.
var words = map[string]string{"Add": "ADD", "Min": "MIN", "Max": "MAX", "And": "AND", "Or": "OR", "Xor": "XOR", "Exchange": "XCHG", "CompareExchange": "CAS"}

// atomic returns the function for an atomic operation on numbers in a kind of memory. The prelude has the functions for integers of 32 bits. Other functions
// are made of the few operations that OpenCL devices have, unless CUDA or HIP has the operation itself.
func (p *printer) atomic(operation string, n number, space ir.Space) string {
	op := words[operation]
	if !n.float && n.bits == 32 {
		return "ATOMIC_" + op
	}
	name, memory := fmt.Sprintf("go_atomic_%s_%s", strings.ToLower(op), n.c), "GLOBAL "
	if space == ir.Shared {
		p.needLocal()
		name, memory = name+"_local", "GO_LOCAL "
	}
	add, exchange, compare, word, needs := "ATOMIC_ADD", "ATOMIC_XCHG", "ATOMIC_CAS", "u32", n.needs()
	if n.bits == 64 {
		p.needAtomic64()
		add, exchange, compare, word, needs = "GO_ADD64", "GO_XCHG64", "GO_CAS64", "u64", needs|atomic64s
	}
	bits, value := fmt.Sprintf("(%s)(%%s)", word), fmt.Sprintf("(%s)(%%s)", n.c)
	switch n.c {
	case "f32":
		bits, value = "F32_BITS(%s)", "BITS_F32(%s)"
	case "f64":
		p.needBits()
		bits, value = "GO_F64_BITS(%s)", "GO_BITS_F64(%s)"
	}
	to := func(x string) string { return fmt.Sprintf(bits, x) }
	from := func(x string) string { return fmt.Sprintf(value, x) }
	at := fmt.Sprintf("(%s%s *)p", memory, word)
	params := fmt.Sprintf("%s%s *p, %[2]s v", memory, n.c)
	body := ""
	switch {
	case op == "CAS":
		params = fmt.Sprintf("%s%s *p, %[2]s old, %[2]s v", memory, n.c)
		body = "\treturn " + from(fmt.Sprintf("%s(%s, %s, %s)", compare, at, to("old"), to("v"))) + ";\n"
	case op == "XCHG":
		body = "\treturn " + from(fmt.Sprintf("%s(%s, %s)", exchange, at, to("v"))) + ";\n"
	case op == "ADD" && !n.float:
		body = "\treturn " + from(fmt.Sprintf("%s(%s, %s)", add, at, to("v"))) + ";\n"
	default:
		// The first compare-and-exchange expects 0. If the value is another one, it returns that value, which the next round expects.
		loop := fmt.Sprintf("\t%s was, is = 0;\n\tdo {\n\t\twas = is;\n\t\t%s old = %s;\n\t\tis = %s(%s, was, %s);\n\t} while (is != was);\n\treturn %s;\n",
			word, n.c, from("was"), compare, at, to(p.combined(op, n)), from("was"))
		body = loop
		if call, where := native(op, n); call != "" {
			body = fmt.Sprintf("#if %s\n\treturn %s;\n#else\n%s#endif\n", where, call, loop)
		}
	}
	return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%s) {\n%s}", n.c, name, params, body), needs)
}

// combined returns the C expression for the result of an operation on old and v.
func (p *printer) combined(op string, n number) string {
	switch op {
	case "MIN", "MAX":
		return p.extreme(strings.ToLower(op), n) + "(old, v)"
	}
	return "old " + map[string]string{"ADD": "+", "AND": "&", "OR": "|", "XOR": "^"}[op] + " v"
}

// native returns the call of an atomic operation that is built into CUDA or HIP, and the condition of an #if that is true where the operation is built in.
func native(op string, n number) (call, where string) {
	const anywhere = "defined(HALYARD_CUDA) || defined(HALYARD_HIP)"
	name := map[string]string{"ADD": "atomicAdd", "MIN": "atomicMin", "MAX": "atomicMax", "AND": "atomicAnd", "OR": "atomicOr", "XOR": "atomicXor"}[op]
	switch {
	case n.c == "f32" && op == "ADD":
		return "atomicAdd(p, v)", anywhere
	case n.c == "f64" && op == "ADD":
		return "atomicAdd(p, v)", "defined(HALYARD_CUDA) && __CUDA_ARCH__ >= 600 || defined(HALYARD_HIP)"
	case n.c == "u64":
		return name + "(p, v)", anywhere
	case n.c == "i64" && (op == "MIN" || op == "MAX"):
		return name + "(p, v)", "defined(HALYARD_CUDA)"
	case n.c == "i64":
		return "(i64)" + name + "((u64 *)p, (u64)v)", anywhere
	}
	return "", ""
}

// needAtomic64 adds the macros for operations on u64. The macro GO_ATOMIC64 is defined if a device has these operations.
func (p *printer) needAtomic64() {
	p.supply("GO_CAS64", `#ifndef HALYARD_OPENCL
#define GO_ATOMIC64 1
#define GO_ADD64(p, v) atomicAdd(p, v)
#define GO_XCHG64(p, v) atomicExch(p, v)
#define GO_CAS64(p, old, new) atomicCAS(p, old, new)
#elif defined(cl_khr_int64_base_atomics)
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define GO_ATOMIC64 1
#define GO_ADD64(p, v) atom_add(p, v)
#define GO_XCHG64(p, v) atom_xchg(p, v)
#define GO_CAS64(p, old, new) atom_cmpxchg(p, old, new)
#endif`, 0)
}
