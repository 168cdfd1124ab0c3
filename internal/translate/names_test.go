package translate

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// words are names that mean something in C, C++, OpenCL C, CUDA C, HIP C or in the text before a translation.
var words = strings.Fields(`
	auto char const default do double enum extern float inline int long register restrict short signed sizeof static struct typedef union unsigned void volatile while
	_Bool _Complex _Atomic _Generic bool true false NULL size_t ptrdiff_t intptr_t uintptr_t wchar_t int8_t uint64_t
	alignas alignof and and_eq asm bitand bitor catch class compl concept consteval constexpr const_cast co_await decltype delete dynamic_cast explicit export friend mutable
	namespace new noexcept not nullptr operator or private protected public requires reinterpret_cast static_assert template this thread_local throw try typeid typename using
	virtual xor std main operator_ assert printf malloc free memcpy memset abort exit clock time signal
	kernel global local constant __kernel __global __local __constant __private __attribute__ read_only write_only read_write generic pipe half half2 uchar ushort uint ulong
	char2 uchar4 short8 int2 int3 uint4 long2 ulong4 float2 float4 float16 double2 bool2 quad event_t sampler_t queue_t ndrange_t clk_event_t reserve_id_t cl_mem_fence_flags
	image1d_t image2d_t image3d_t image2d_array_t atomic_int atomic_flag memory_order memory_scope vec_step as_float as_type convert_int get_global_id barrier mem_fence
	mul24 mad mad_sat clamp mix step smoothstep dot cross distance normalize fract sign sincos native_sin half_exp rsqrt popcount clz rotate upsample hadd bitselect select
	isnan isinf signbit abs max min fma fmin fmax sqrt exp log sin erf floor ceil round trunc pow hypot tgamma nan modf frexp ldexp atan2pi vload4 vstore4 prefetch shuffle
	async_work_group_copy wait_group_events work_group_barrier sub_group_all atomic_add atom_add CLK_LOCAL_MEM_FENCE M_PI FLT_MAX INFINITY MAXFLOAT
	__global__ __device__ __shared__ __host__ __launch_bounds__ threadIdx blockIdx blockDim gridDim warpSize dim3 uint3 cudaError cudaStream_t __syncthreads atomicAdd atomicCAS
	__shfl_sync __ballot clock64 sinf rsqrtf __fadd_rn __ldg tex1Dfetch surf1Dread texture surface __half cooperative_groups nanosleep trap brev ffs popc sinpi cospi rcbrt erfcx
	normcdf lgamma_r j0 y1 jn cyl_bessel_i0 make_float4 float1 longlong2 char1 int4 double4 hipThreadIdx_x hipBlockDim_x hipError_t __ockl_get_local_id __builtin_expect uint32_t
	i8 i16 i32 i64 u8 u16 u32 u64 f32x2 f32x4 KERNEL FUNCTION GLOBAL LOCAL CONSTANT RESTRICT THREAD THREADS BLOCK BLOCKS INDEX BARRIER ATOMIC_ADD ATOMIC_CAS FMA BITS_F32 F32_BITS
	F32X2 ALIGNED SHARED_PARAM SHARED_VAR HALYARD_OPENCL HALYARD_CUDA HALYARD_FLOAT64 HALYARD_BOUNDS GO_AT GO_FAULTS GO_PASS GO_WHOLE GO_APART GO_EACH GO_OWN GO_PASSED GO_RUSTICL GO_ORDERED GO_UNROLL GO_EIGHT GO_LOCAL go_at go_faults halyard_thread
	halyard_shared h_x f_x k_x T_x R_x v_1 b_0 v_all v_me hu_x größe é _ue9_ _e9_ hu__e9_ linux unix i n s x y`)

// Whatever the names of kernels, variables, parameters and fields are, the generated file compiles, and so does the text in each dialect.
func TestNames(t *testing.T) {
	t.Parallel()
	require.Greater(t, len(words), 300)
	src, names := head, []string{"KOn"}
	src += "//halyard:kernel\nfunc k(t grid.Thread, a int64, x []uint32, f []float32, y []uint64, z []int32) {\n" +
		"\tr := struct{ é, _ue9_, _e9_, hu__e9_ uint64 }{1, 2, 3, 4}\n\ty[t.Global(0)] = r.é + 10*r._ue9_ + 100*r._e9_ + 1000*r.hu__e9_\n}\n\n"
	kernel := func(name, param, local string) {
		src += fmt.Sprintf("//halyard:kernel\nfunc %s(t_ grid.Thread, %s uint64, out []uint64) {\n"+
			"\tif i_ := t_.Global(0); i_ < len(out) {\n\t\t%[3]s := %[2]s + 1\n\t\tout[i_] = %[3]s\n\t}\n}\n\n", name, param, local)
	}
	used := []string{"f32", "f64", "known", "b", "k", "n", "main", "init", "kernel", "_"} // in the package already
	fields, locals, sum := "", "", ""
	for i, w := range words {
		if token.IsKeyword(w) || slices.Contains(used, w) {
			continue
		}
		used = append(used, w)
		fields += fmt.Sprintf("\t%s uint64\n", w)
		if types.Universe.Lookup(w) == nil {
			locals, sum = locals+fmt.Sprintf("\t%s := r_.%[1]s + 1\n", w), sum+fmt.Sprintf("\tout_[0] += %s\n", w)
			if i%6 == 0 || strings.HasSuffix(w, "_t") || strings.HasPrefix(w, "f32") || i < 20 { // all get the same prefix
				kernel(w, w, "v_")
			}
		}
	}
	src += fmt.Sprintf("type all_ struct {\n%s}\n\n//halyard:kernel\nfunc locals_(t_ grid.Thread, out_ []uint64) {\n\tvar r_ all_\n\tr_.char = 1\n%s%s}\n\n", fields, locals, sum)
	for i, w := range types.Universe.Names() {
		if w == "uint64" || w == "len" {
			kernel(fmt.Sprintf("row%d", i), "v_", w)
		} else {
			kernel(fmt.Sprintf("row%d", i), w, w)
		}
	}
	// A kernel with barriers refuses names that are predeclared in Go.
	for i, w := range []string{"kernel", "grid_", "blk", "b", "kept", "row", "threads", "tx", "firstX"} {
		src += fmt.Sprintf("//halyard:kernel\nfunc phases%d(t_ grid.Thread, n_ uint64, out []uint64) {\n\ts_ := grid.Shared[[8]uint64](t_)\n\ti_ := t_.Local(0)\n"+
			"\t%s := n_ + 1\n\ts_[i_] = %[2]s\n\tt_.Barrier()\n\tout[i_] = s_[7-i_] + %[2]s\n}\n\n", i, w)
	}
	compare(t, src, names)
}

// Types whose names are those of types in C differ from these.
func TestTypesDiffer(t *testing.T) {
	made, err := translated(t, "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\ntype i32 struct{ a int32 }\n\n"+
		"//halyard:kernel\nfunc k(t grid.Thread, y []int32) {\n\tv, w := [4]i32{}, [4]int32{}\n\ty[0] = v[1].a + w[1]\n}\n")
	require.NoError(t, err)
	assert.Contains(t, made.C, "T_4_T_i32;")
	assert.Contains(t, made.C, "T_4_i32;")
}

// The names of the generated file differ from each other and from those of the package.
func TestNamesOfTheGeneratedFileDiffer(t *testing.T) {
	t.Parallel()
	src := "package p\n\nimport \"github.com/go-halyard/halyard/kernel/grid\"\n\nvar kernels, aRow, kernelsPTX int\n\n"
	for _, name := range []string{"a", "aKernel", "B", "bKernel", "bKernel_"} {
		src += fmt.Sprintf("//halyard:kernel\nfunc %s(t grid.Thread, s, s_, p2 int32, _ []int32, kernels_, aKernel_, aRow_, bKernel, over, over_ []int32) { s_[t.Global(0)] = s }\n\n", name)
	}
	src = strings.ReplaceAll(src, "{ s_[t.Global(0)] = s }", "{ over_[t.Global(0)] = s + s_ + p2 + kernels_[0] + aKernel_[0] + aRow_[0] + bKernel[0] + over[0] }")
	dir := module(t, map[string]string{"a.go": src})
	generated(t, dir)
	builds(t, dir)
}
