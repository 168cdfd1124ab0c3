#define HALYARD_OPENCL 1
#pragma OPENCL FP_CONTRACT OFF
/* Mesa's Rusticl compiles to SPIR-V; 22.3 names its target as SPIR's, but for one macro. */
#if (defined(__SPIRV64__) || defined(__SPIR64__) && !defined(__SPIR__)) && !defined(__INTEL_LLVM_COMPILER)
#define GO_RUSTICL
#endif
#ifdef __clang__ /* PoCL prints how many warnings there are */
#pragma clang diagnostic ignored "-Wparentheses-equality"
#endif
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define HALYARD_FLOAT64 1
#define f64 double
#elif defined(__OPENCL_C_VERSION__) && defined(__opencl_c_fp64)
#define HALYARD_FLOAT64 1
#define f64 double
#endif
#define i8 char
#define i16 short
#define i32 int
#define i64 long
#define u8 uchar
#define u16 ushort
#define u32 uint
#define u64 ulong
#define f32 float
#define f32x2 float2
#define f32x4 float4
#define KERNEL __kernel
#define FUNCTION
#define GLOBAL __global
#define LOCAL __local
#define CONSTANT __constant
#define GO_TABLE __constant
#define SHARED_PARAM(T, name) , __local T *name
#define SHARED_VAR(T, name)
#define RESTRICT restrict
#define THREAD(d) ((u64)get_local_id(d))
#define THREADS(d) ((u64)get_local_size(d))
#define BLOCK(d) ((u64)get_group_id(d))
#define BLOCKS(d) ((u64)get_num_groups(d))
/* PoCL 7.1 counts the index in the grid beside the one in the block. Where a loop is unrolled and a float maximum follows, it leaves out the first thread of
   a block, unless the first index comes from the second. */
#ifdef POCL_DEVICE_ADDRESS_BITS
#define INDEX(d) ((u64)(get_group_id(d) * get_local_size(d) + get_local_id(d)))
#else
#define INDEX(d) ((u64)get_global_id(d))
#endif
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define ATOMIC_ADD(p, v) atomic_add(p, v)
#define ATOMIC_SUB(p, v) atomic_sub(p, v)
#define ATOMIC_MIN(p, v) atomic_min(p, v)
#define ATOMIC_MAX(p, v) atomic_max(p, v)
#define ATOMIC_AND(p, v) atomic_and(p, v)
#define ATOMIC_OR(p, v) atomic_or(p, v)
#define ATOMIC_XOR(p, v) atomic_xor(p, v)
#define ATOMIC_XCHG(p, v) atomic_xchg(p, v)
#define ATOMIC_CAS(p, old, new) atomic_cmpxchg(p, old, new)
#define BITS_F32(u) as_float((u32)(u))
#define F32_BITS(f) as_uint((f32)(f))
#define F32X2(a, b) ((float2)(a, b))
#define F32X4(a, b, c, d) ((float4)(a, b, c, d))
#define ALIGNED(n) __attribute__((aligned(n)))
/* PoCL 7.1 lets all threads of a block take the branch that the first takes, where a loop comes before the branch and both are in a branch that is
   the same for the block. */
#if defined(POCL_DEVICE_ADDRESS_BITS) && __clang_major__ > 14
#define GO_WHOLE(n) 0
/* It does the same where a loop that some threads leave earlier has a loop in it, unless both are in a branch that depends on the thread. */
#define GO_APART (get_local_id(0) < get_local_size(0))
#else
#define GO_APART 1
#define GO_WHOLE(n) ((i64)((BLOCK(0) + 1) * THREADS(0)) <= (i64)(n))
#endif
/* PoCL 3.1 and 7.1 keep one variable for all threads where a loop of different lengths only copies to it: the rounds of a loop, two variables that are swapped. */
#ifdef POCL_DEVICE_ADDRESS_BITS
#define GO_EACH (get_local_id(0) < get_local_size(0))
#else
#define GO_EACH 1
#endif
/* GO_ZERO is a zero that faulty compilers cannot know to be one: that of Intel for CPUs, and Mesa's Rusticl, which compiles to SPIR-V first. Where x is
   between -1 and 0, both give the float of the integer of x a sign. Intel's takes a negation that is needed after a barrier for the same in all threads,
   and gives -x >> n, where n leaves the sign alone, the wrong one for the smallest x.
   Rusticl drops the rounding of a 64-bit integer to f32 if it is converted further, divides by a known 0 without meaning, and rounds fma of f64 twice. */
#ifdef __INTEL_LLVM_COMPILER
#define GO_ZERO get_global_offset(0)
#define GO_COUNT(n) ((n) + (u32)GO_ZERO)
#elif defined(GO_RUSTICL)
#define GO_ZERO (get_work_dim() >> 2)
#define GO_F32(x) as_float(as_uint((f32)(x)) | (u32)GO_ZERO)
#endif
#ifndef GO_COUNT
#define GO_COUNT(n) (n)
#endif
#ifndef GO_F32
#define GO_F32(x) ((f32)(x))
#endif
#ifdef GO_ZERO
#define GO_CUT(T, x) ((T)(x) | (T)GO_ZERO)
#else
#define GO_CUT(T, x) ((T)(x))
#endif
#ifdef __INTEL_LLVM_COMPILER
/* Intel's compiler takes a complement too many where min(~x, n) or max(~x, n) goes into a sum that is the next n. It must not see that
   it is one. */
#define GO_NOT(T, x) ((T)((T)(x) ^ (T)(i32)rotate((u32)GO_ZERO - 1u, 1u)))
#define GO_MINUS(U, x) (GO_NOT(U, x) + (U)1) /* so that -x - 1 is not seen as a complement either */
#define GO_NEG_F32(x) as_float(as_uint((f32)(x)) ^ (0x80000000u | (u32)GO_ZERO))
#define GO_NEG_F64(x) as_double(as_ulong((f64)(x)) ^ (0x8000000000000000ul | GO_ZERO))
#else
#define GO_NOT(T, x) ((T)~(x))
#define GO_MINUS(U, x) ((U)0 - (U)(x))
#define GO_NEG_F32(x) (-(x))
#define GO_NEG_F64(x) (-(x))
#endif
/* GO_ORDERED comes before loops that may add or multiply floats, or store to elements. Intel's compiler runs the last threads of a block one by one, and all threads
   of a small block. In these it vectorises the loops: it keeps up to 16 sums and adds them up in the end, which rounds otherwise than one after
   the other. And it computes several rounds at once though one reads the element that an earlier one stores: x[k & 3] ^= k gives other numbers. */
#ifdef __INTEL_LLVM_COMPILER
#define GO_ORDERED _Pragma("clang loop vectorize(disable)")
#else
#define GO_ORDERED
#endif
/* GO_UNROLL comes before loops of n rounds over a small array of the thread's own. PoCL leaves the array in memory if it does not unroll the loop at once;
   Rusticl gains nothing. GO_SERIAL says that a processor runs the threads of a block one after the other: see GO_ROUNDS. */
#if defined(POCL_DEVICE_ADDRESS_BITS) || defined(__INTEL_LLVM_COMPILER)
#define GO_UNROLL(n) __attribute__((opencl_unroll_hint(n)))
#ifndef __NVPTX__
#define GO_SERIAL
#endif
#else
#define GO_UNROLL(n)
#endif
/* PoCL 7.1 reads memory again where a value that was read before a barrier is needed after it (pocl/pocl#2269). PoCL 3.1 and 7.1 move stores past other
   uses of the same element by the same thread. */
#ifdef POCL_DEVICE_ADDRESS_BITS
#define GO_ONCE(x) (*(volatile __typeof__(x) *)&(x))
#else
#define GO_ONCE(x) (x)
#endif
/* Mesa 22.3's Rusticl ends the process where a thread takes an element of an argument by an index of its own. It must not see that a copy is one. */
#ifdef GO_RUSTICL
#define GO_PASSED(x) x##_passed
#define GO_OWN(T, x) T x = x##_passed; *((u8 *)&x + GO_ZERO) += (u8)GO_ZERO;
#else
#define GO_PASSED(x) x
#define GO_OWN(T, x)
#endif
#ifdef GO_RUSTICL
#define FMA(a, b, c) halyard_fma(a, b, c)
f32 __attribute__((overloadable)) halyard_fma(f32 x, f32 y, f32 z) { return fma(x, y, z); }
#ifdef HALYARD_FLOAT64
/* Both terms are 128 bits wide with the highest bit at 125, and what is shifted out is kept in the lowest bit. */
f64 __attribute__((overloadable)) halyard_fma(f64 x, f64 y, f64 z) {
	if (x == 0 || y == 0 || !isfinite(x) || !isfinite(y)) return x * y + z;
	if (!isfinite(z)) return z;
	if (z == 0) return x * y;
	u64 bits[3] = {as_ulong(x), as_ulong(y), as_ulong(z)}, m[3];
	i64 e[3];
	for (i32 i = 0; i < 3; i++) {
		e[i] = bits[i] >> 52 & 0x7ff;
		m[i] = bits[i] << 12 >> 12;
		if (e[i] == 0) {
			u64 up = clz(m[i]) - 11;
			m[i] <<= up;
			e[i] = 1 - (i64)up;
		} else {
			m[i] |= 1ul << 52;
		}
	}
	u64 ph = mul_hi(m[0], m[1]), pl = m[0] * m[1], zh = m[2] << 9, zl = 0, sign = (bits[0] ^ bits[1]) >> 63, zsign = bits[2] >> 63;
	u64 up = clz(ph) - 2;
	ph = ph << up | pl >> (64 - up);
	pl <<= up;
	i64 pe = e[0] + e[1] - 2150 - (i64)up, ze = e[2] - 1148;
	if (ze > pe || ze == pe && (zh > ph || zh == ph && zl > pl)) {
		u64 h = ph, l = pl, s = sign;
		i64 t = pe;
		ph = zh, pl = zl, sign = zsign, pe = ze;
		zh = h, zl = l, zsign = s, ze = t;
	}
	u64 down = pe - ze, lost;
	if (down >= 128) {
		zh = 0, zl = 1;
	} else if (down >= 64) {
		lost = zl != 0 || down > 64 && zh << (128 - down) != 0;
		zl = zh >> (down - 64) | lost;
		zh = 0;
	} else if (down > 0) {
		lost = zl << (64 - down) != 0;
		zl = zl >> down | zh << (64 - down) | lost;
		zh >>= down;
	}
	if (sign == zsign) {
		ph += zh + (pl + zl < pl);
		pl += zl;
	} else {
		ph -= zh + (pl < zl);
		pl -= zl;
	}
	if ((ph | pl) == 0) return 0;
	if (ph == 0) {
		ph = pl, pl = 0, pe -= 64;
	}
	up = clz(ph);
	if (up > 0) ph = ph << up | pl >> (64 - up);
	pl = up > 0 ? pl << up : pl;
	pe += 1150 - (i64)up;
	ph = ph >> 1 | (ph & 1) | (pl != 0);
	if (pe < 1) {
		down = min(1 - pe, (i64)63);
		ph = ph >> down | (ph << (64 - down) != 0);
		pe = 1;
	}
	lost = ph & 0x3ff;
	ph = (ph >> 10) + (lost > 0x200 || lost == 0x200 && (ph >> 10 & 1));
	return as_double(sign << 63 | (pe >= 0x7ff ? 0x7fful << 52 : ((u64)(pe - 1) << 52) + ph));
}
#endif
#else
#define FMA(a, b, c) fma(a, b, c)
#endif
