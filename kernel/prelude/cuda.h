#define HALYARD_FLOAT64 1
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef float2 f32x2;
typedef float4 f32x4;
#define KERNEL extern "C" __global__
#define FUNCTION static __device__ inline
#define GLOBAL
#define LOCAL __shared__
#define CONSTANT __constant__
/* Threads read a table at different places, for which __constant__ is slow; of that there are 64 KiB only. */
#define GO_TABLE static __device__ const
#define SHARED_PARAM(T, name)
#define SHARED_VAR(T, name) extern __shared__ f32x4 halyard_shared[]; T *name = (T *)halyard_shared;
#define RESTRICT __restrict__
FUNCTION u64 halyard_thread(int d) { return d == 0 ? threadIdx.x : d == 1 ? threadIdx.y : threadIdx.z; }
FUNCTION u64 halyard_threads(int d) { return d == 0 ? blockDim.x : d == 1 ? blockDim.y : blockDim.z; }
FUNCTION u64 halyard_block(int d) { return d == 0 ? blockIdx.x : d == 1 ? blockIdx.y : blockIdx.z; }
FUNCTION u64 halyard_blocks(int d) { return d == 0 ? gridDim.x : d == 1 ? gridDim.y : gridDim.z; }
#define THREAD(d) halyard_thread(d)
#define THREADS(d) halyard_threads(d)
#define BLOCK(d) halyard_block(d)
#define BLOCKS(d) halyard_blocks(d)
#define INDEX(d) (BLOCK(d) * THREADS(d) + THREAD(d))
#define BARRIER() __syncthreads()
#define ATOMIC_ADD(p, v) atomicAdd(p, v)
#define ATOMIC_SUB(p, v) atomicSub(p, v)
#define ATOMIC_MIN(p, v) atomicMin(p, v)
#define ATOMIC_MAX(p, v) atomicMax(p, v)
#define ATOMIC_AND(p, v) atomicAnd(p, v)
#define ATOMIC_OR(p, v) atomicOr(p, v)
#define ATOMIC_XOR(p, v) atomicXor(p, v)
#define ATOMIC_XCHG(p, v) atomicExch(p, v)
#define ATOMIC_CAS(p, old, new) atomicCAS(p, old, new)
#define FMA(a, b, c) fma(a, b, c)
#define BITS_F32(u) __uint_as_float((u32)(u))
#define F32_BITS(f) __float_as_uint((f32)(f))
#define F32X2(a, b) make_float2(a, b)
#define F32X4(a, b, c, d) make_float4(a, b, c, d)
#define ALIGNED(n) __attribute__((aligned(n)))
#define GO_WHOLE(n) 0
#define GO_APART 1
#define GO_EACH 1
#define GO_ORDERED
#define GO_UNROLL(n)
#define GO_COUNT(n) (n)
#define GO_CUT(T, x) ((T)(x))
#define GO_F32(x) ((f32)(x))
#define GO_NOT(T, x) ((T)~(x))
#define GO_MINUS(U, x) ((U)0 - (U)(x))
#define GO_NEG_F32(x) (-(x))
#define GO_NEG_F64(x) (-(x))
#define GO_ONCE(x) (x)
#define GO_PASSED(x) x
#define GO_OWN(T, x)
