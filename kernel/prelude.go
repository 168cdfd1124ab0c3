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

// Prelude returns the text that is put before [Source.Portable] to compile it in a language: the macros and types with which the compilers
// of OpenCL, CUDA and HIP accept the same C text. It is "" for no language.
//
//	KERNEL void f(...)          a kernel
//	FUNCTION T f(...)           a function that kernels call
//	GLOBAL                      before the type of a buffer's elements in a pointer to them: GLOBAL float *x, const GLOBAL float *x
//	LOCAL                       the same for memory that the threads of a block share; LOCAL float tile[256]; at the start of a kernel declares some
//	SHARED_PARAM(T, name)       at the end of the parameters, without a comma before it: memory whose size the launch chooses (Shared)
//	SHARED_VAR(T, name)         the first line of such a kernel; a semicolon may follow
//	CONSTANT                    before a table at file scope
//	RESTRICT                    a pointer whose elements are used through no other pointer
//	THREAD(d) THREADS(d)        index of the thread in its block, and threads of a block, in dimension d (0 to 2), as u64
//	BLOCK(d) BLOCKS(d)          index of the block, and blocks of the grid, as u64
//	INDEX(d)                    index of the thread in the grid, as u64
//	BARRIER()                   all threads of the block arrive before any goes on
//	ATOMIC_ADD(p, v)            adds v to *p, a 32-bit integer, and returns what *p was; also SUB, MIN, MAX, AND, OR, XOR, XCHG
//	ATOMIC_CAS(p, old, new)     sets *p to new if it is old, and returns what *p was
//	FMA(a, b, c)                a*b+c, rounded once
//	BITS_F32(u) F32_BITS(f)     the float with the bits u, and the bits of the float f
//	F32X4(a, b, c, d)           a value of the type f32x4, with members x, y, z and w; also F32X2
//	ALIGNED(n)                  after the closing brace of a structure
//	HALYARD_OPENCL _CUDA _HIP   one of them is defined
//	HALYARD_FLOAT64             is defined if there is double (f64)
//	GO_AT(i, n, site)           and other names with GO_ are for translations of Go kernels: see [gridgen.Source]
//
// The types are i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, f32x2 and f32x4. Multiplications and additions are not fused. What differs
// between the languages and has no macro is not portable: vectors of three elements, operators on vectors, atomics on floats and 64 bits,
// printf, and what depends on how many threads run in step. Structures need members of fixed width, the largest first, and the same layout
// in Go ([Struct]). A name must not be a word of any of the languages: half, kernel, global, local, private and constant are words of
// OpenCL C, and this, new and template of C++. A kernel or a function must not have the name of a function of a language, such as dot,
// distance, min or step.
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

// boundsMacro makes the translation of a Go kernel check each index.
const boundsMacro = "#define HALYARD_BOUNDS 1\n"

// partsMacro makes the translation of a Go kernel run a part of a grid: see prelude/bounds.h.
const partsMacro = "#define HALYARD_PARTS 1\n"

// wideMacro makes the translation of a Go kernel compute all integers of 64 bits in 64 bits.
const wideMacro = "#define HALYARD_WIDE 1\n"

// roundsMacro makes the translation of a Go kernel report whether the device has ended its loops.
const roundsMacro = "#define HALYARD_ROUNDS 1\n"

// printMacro makes the translation of a Go kernel print.
const printMacro = "#define HALYARD_PRINT 1\n"
