#define HALYARD_OPENCL 1
#pragma OPENCL FP_CONTRACT OFF
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
#define SHARED_PARAM(T, name) , __local T *name
#define SHARED_VAR(T, name)
#define RESTRICT restrict
#define THREAD(d) ((u64)get_local_id(d))
#define THREADS(d) ((u64)get_local_size(d))
#define BLOCK(d) ((u64)get_group_id(d))
#define BLOCKS(d) ((u64)get_num_groups(d))
#define INDEX(d) ((u64)get_global_id(d))
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
#define FMA(a, b, c) fma(a, b, c)
#define BITS_F32(u) as_float((u32)(u))
#define F32_BITS(f) as_uint((f32)(f))
#define F32X2(a, b) ((float2)(a, b))
#define F32X4(a, b, c, d) ((float4)(a, b, c, d))
#define ALIGNED(n) __attribute__((aligned(n)))
#define GO_WHOLE(n) ((i64)((get_group_id(0) + 1) * get_local_size(0)) <= (i64)(n))
/* Intel's compiler for CPUs drops the sign of (f)(i)x where x is between -1 and 0, and takes a negation that is needed after a barrier for the same
   in all threads. So it gets a zero that it cannot know, the offset of the grid. */
#ifdef __INTEL_LLVM_COMPILER
#define GO_CUT(T, x) ((T)(x) | (T)get_global_offset(0))
#define GO_NEG_F32(x) as_float(as_uint((f32)(x)) ^ (0x80000000u | (u32)get_global_offset(0)))
#define GO_NEG_F64(x) as_double(as_ulong((f64)(x)) ^ (0x8000000000000000ul | get_global_offset(0)))
#else
#define GO_CUT(T, x) ((T)(x))
#define GO_NEG_F32(x) (-(x))
#define GO_NEG_F64(x) (-(x))
#endif
/* PoCL 7.1 reads memory again where a value that was read before a barrier is needed after it (pocl/pocl#2269). */
#ifdef POCL_DEVICE_ADDRESS_BITS
#define GO_ONCE(x) (*(volatile __typeof__(x) *)&(x))
#else
#define GO_ONCE(x) (x)
#endif
