package cprint

import (
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// fast returns a fused or approximate form of an operation on floats, for fast functions. If the operation has no such form, ok is false.
func (f *values) fast(v *ir.Value, n number) (t text, ok bool) {
	if product, other := facts.Fused(f.f, v); product != nil {
		x, y, z := f.value(product.Args[0]), f.value(product.Args[1]), f.value(other)
		switch {
		case v.Op == ir.Sub && product == v.Args[0]:
			z = f.negated(n, z)
		case v.Op == ir.Sub:
			x = f.negated(n, x)
		}
		return called(f.approximate("go_mad_"+n.c), x, y, z), true
	}
	of, by, ok := facts.Approximate(f.f, v)
	if !ok {
		return text{}, false
	}
	x := f.value(v.Args[0])
	switch {
	case of != nil:
		return called(f.approximate("go_by_root"), x, f.value(of)), true
	case by != 0:
		return binary("*", product, x, f.float(n, by)), true
	}
	return called(f.approximate("go_quotient"), x, f.value(v.Args[1])), true
}

// approximate adds one of the functions below, and returns its name.
func (f *values) approximate(name string) string {
	needs := need(0)
	if name == "go_mad_f64" {
		needs = float64s
	}
	return f.supply(name, approximations[name], needs)
}

// approximations are the functions of fast kernels. The guide has the bounds of their errors. In OpenCL they use the dialect's own quotients
// and roots, whose errors OpenCL bounds; on processors these are exact. A processor without a fused operation would emulate it, which takes
// many times as long as a product and a sum, so there the two are separate.
var approximations = map[string]string{
	"go_mad_f32": `#if defined(GO_RUSTICL) || \
	defined(HALYARD_OPENCL) && !defined(FP_FAST_FMAF) && !defined(__FMA__) && !defined(__INTEL_LLVM_COMPILER)
FUNCTION f32 go_mad_f32(f32 x, f32 y, f32 z) { return x * y + z; }
#else
FUNCTION f32 go_mad_f32(f32 x, f32 y, f32 z) { return fma(x, y, z); }
#endif`,
	"go_mad_f64": `#if defined(GO_RUSTICL) || \
	defined(HALYARD_OPENCL) && !defined(FP_FAST_FMA) && !defined(__FMA__) && !defined(__INTEL_LLVM_COMPILER)
FUNCTION f64 go_mad_f64(f64 x, f64 y, f64 z) { return x * y + z; }
#else
FUNCTION f64 go_mad_f64(f64 x, f64 y, f64 z) { return fma(x, y, z); }
#endif`,
	"go_quotient": `#ifdef HALYARD_CUDA
FUNCTION f32 go_quotient(f32 x, f32 y) {
	f32 r;
	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(y));
	return x * r;
}
#elif defined(HALYARD_HIP)
FUNCTION f32 go_quotient(f32 x, f32 y) { return x * __builtin_amdgcn_rcpf(y); }
#else
FUNCTION f32 go_quotient(f32 x, f32 y) { return x / y; }
#endif`,
	"go_root": `#ifdef HALYARD_CUDA
FUNCTION f32 go_root(f32 x) {
	f32 r;
	asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
	return r;
}
#elif defined(HALYARD_HIP)
FUNCTION f32 go_root(f32 x) { return __builtin_amdgcn_sqrtf(x); }
#else
FUNCTION f32 go_root(f32 x) { return sqrt(x); }
#endif`,
	"go_by_root": `#ifdef HALYARD_CUDA
FUNCTION f32 go_by_root(f32 x, f32 y) {
	f32 r;
	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(y));
	return x * r;
}
#elif defined(HALYARD_HIP)
FUNCTION f32 go_by_root(f32 x, f32 y) { return x * __builtin_amdgcn_rsqf(y); }
#elif defined(POCL_DEVICE_ADDRESS_BITS) || defined(__INTEL_LLVM_COMPILER) || defined(GO_RUSTICL)
FUNCTION f32 go_by_root(f32 x, f32 y) { return x / sqrt(y); }
#else
FUNCTION f32 go_by_root(f32 x, f32 y) { return x * rsqrt(y); }
#endif`,
}
