package kernel

import (
	_ "embed"

	"github.com/go-halyard/halyard/hal"
)

//go:embed prelude/opencl.h
var preludeOpenCL string

//go:embed prelude/cuda.h
var preludeCUDA string

//go:embed prelude/bounds.h
var preludeBounds string

// Prelude returns the text that stands before [Source.Portable] when it is compiled in a language: the macros and types that make one C text
// acceptable to the compilers of OpenCL, CUDA and HIP. It is "" for no language.
//
//	KERNEL void f(...)          a kernel
//	FUNCTION T f(...)           a function that kernels call
//	GLOBAL                      before the type a pointer to a buffer's elements points to: GLOBAL float *x, const GLOBAL float *x
//	LOCAL                       the same for memory that the threads of a block share; LOCAL float tile[256]; at the start of a kernel declares some
//	SHARED_PARAM(T, name)       at the end of the parameters, without a comma before it: memory whose size the launch chooses (Shared)
//	SHARED_VAR(T, name)         in the first line of such a kernel
//	CONSTANT                    before a table at file scope
//	RESTRICT                    a pointer through which alone its elements are used
//	THREAD(d) THREADS(d)        index of the thread in its block, and threads of a block, in dimension d (0 to 2), as u64
//	BLOCK(d) BLOCKS(d)          index of the block, and blocks of the grid, as u64
//	INDEX(d)                    index of the thread in the grid, as u64
//	BARRIER()                   all threads of the block arrive before any goes on
//	ATOMIC_ADD(p, v)            and SUB, MIN, MAX, AND, OR, XOR, XCHG: what *p was, for 32-bit integers
//	ATOMIC_CAS(p, old, new)     what *p was
//	FMA(a, b, c)                a*b+c, rounded once
//	BITS_F32(u) F32_BITS(f)     a float from its bits, and its bits
//	F32X4(a, b, c, d)           a value of the type f32x4, with members x, y, z and w; and F32X2
//	ALIGNED(n)                  after the closing brace of a structure
//	HALYARD_OPENCL _CUDA _HIP   one of them is defined
//	HALYARD_FLOAT64             is defined if there is double (f64)
//	GO_AT(i, n, site)           and other words with GO_ stand in translations of Go kernels: see [Source.Indexes]
//
// The types are i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, f32x2 and f32x4. Multiplications and additions are not fused. What differs between the
// languages and has no macro is not portable: vectors of three elements, operators on vectors, atomics on floats and 64 bits, printf, and what
// depends on how many threads run in step. Structures need members of fixed width, the largest first, and the same layout in Go ([Struct]).
// A name must be free in every language: half, kernel, global, local, private and constant are words of OpenCL C, and this, new and template of C++. Nor may
// a kernel or a function have the name of a function of the language, such as dot, distance, min or step.
func Prelude(language hal.Language) string {
	switch language {
	case hal.LanguageOpenCLC:
		return preludeOpenCL + preludeBounds
	case hal.LanguageCUDA:
		return "#define HALYARD_CUDA 1\n" + preludeCUDA + preludeBounds
	case hal.LanguageHIP:
		return "#define HALYARD_HIP 1\n" + preludeCUDA + preludeBounds
	}
	return ""
}
