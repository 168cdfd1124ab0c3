package translate

import (
	"fmt"
	"strings"
)

// atomic returns the function for an atomic operation on numbers in a kind of memory. The prelude has those for integers of 32 bits. The
// others are made of the few that OpenCL devices have, unless CUDA or HIP has the operation itself.
func (p *program) atomic(op string, n number, memory space) string {
	if !n.float && n.bits == 32 {
		return "ATOMIC_" + op
	}
	name := fmt.Sprintf("go_atomic_%s_%s", strings.ToLower(op), n.c)
	if memory == local {
		p.needLocal()
		name += "_local"
	}
	add, exchange, compare, word := "ATOMIC_ADD", "ATOMIC_XCHG", "ATOMIC_CAS", "u32"
	if n.bits == 64 {
		p.needAtomic64()
		add, exchange, compare, word = "GO_ADD64", "GO_XCHG64", "GO_CAS64", "u64"
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
	params := fmt.Sprintf("%s%s *p, %s v", memory, n.c, n.c)
	body := ""
	switch {
	case op == "CAS":
		params = fmt.Sprintf("%s%s *p, %s old, %s v", memory, n.c, n.c, n.c)
		body = "\treturn " + from(fmt.Sprintf("%s(%s, %s, %s)", compare, at, to("old"), to("v"))) + ";\n"
	case op == "XCHG":
		body = "\treturn " + from(fmt.Sprintf("%s(%s, %s)", exchange, at, to("v"))) + ";\n"
	case op == "ADD" && !n.float:
		body = "\treturn " + from(fmt.Sprintf("%s(%s, %s)", add, at, to("v"))) + ";\n"
	default:
		// The first exchange guesses that there is 0, and reads what there is.
		loop := fmt.Sprintf("\t%s was, is = 0;\n\tdo {\n\t\twas = is;\n\t\t%s old = %s;\n\t\tis = %s(%s, was, %s);\n\t} while (is != was);\n\treturn %s;\n",
			word, n.c, from("was"), compare, at, to(p.combined(op, n)), from("was"))
		body = loop
		if call, where := native(op, n); call != "" {
			body = fmt.Sprintf("#if %s\n\treturn %s;\n#else\n%s#endif\n", where, call, loop)
		}
	}
	return p.supply(name, fmt.Sprintf("FUNCTION %s %s(%s) {\n%s}", n.c, name, params, body))
}

// combined returns the number that an operation makes of old and v.
func (p *program) combined(op string, n number) string {
	switch op {
	case "MIN", "MAX":
		return p.extreme(strings.ToLower(op), n) + "(old, v)"
	}
	return "old " + map[string]string{"ADD": "+", "AND": "&", "OR": "|", "XOR": "^"}[op] + " v"
}

// native returns the call of an operation that CUDA and HIP have, and where they have it.
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

// needAtomic64 adds the macros for operations on u64. GO_ATOMIC64 is defined if a device has them.
func (p *program) needAtomic64() {
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
#endif`)
}
