// A device of CUDA with its stream and program, under the names that the programs have for OpenCL's. NVRTC compiles the kernels, whose words for OpenCL are
// defined as CUDA's. The threads of a launch must fill its blocks.
// Compilers include this file first: gcc -DCUDA -include device_cuda.h.
#include "program.h"
#include <cuda.h>
#include <dlfcn.h>
#include <stdint.h>

typedef int cl_int;
typedef float cl_float;
typedef CUdeviceptr cl_mem;

typedef struct {
	CUfunction function;
	uint64_t values[8];
	void *arguments[8];
} *cl_kernel;

typedef struct {
	CUstream queue;
	CUmodule program;
} device;

static void ok(int code, const char *call) {
	if (code != 0) fail(call, code);
}

static const char *words =
	"#define kernel extern \"C\" __global__\n"
	"#define local __shared__\n"
	"#define LOCAL\n"
	"#define FLOAT4 make_float4\n"
	"#define CLK_LOCAL_MEM_FENCE 0\n"
	"#define barrier(fence) __syncthreads()\n"
	"typedef unsigned short ushort;\n"
	"size_t get_local_id(int d) { return d ? threadIdx.y : threadIdx.x; }\n"
	"size_t get_local_size(int d) { return d ? blockDim.y : blockDim.x; }\n"
	"size_t get_group_id(int d) { return d ? blockIdx.y : blockIdx.x; }\n"
	"size_t get_global_id(int d) { return get_group_id(d) * get_local_size(d) + get_local_id(d); }\n"
	"size_t get_global_size(int d) { return (d ? gridDim.y : gridDim.x) * get_local_size(d); }\n";

static int (*create)(void **, const char *, const char *, int, const char **, const char **);
static int (*compile)(void *, int, const char **);
static int (*code_size)(void *, size_t *), (*code)(void *, char *), (*log_text)(void *, char *);

static void *call(void *library, const char *name) {
	void *f = dlsym(library, name);
	if (!f) fail(name, 0);
	return f;
}

static char *compiled(const char *text, int major, int minor) {
	const char *name = getenv("HALYARD_NVRTC_LIBRARY");
	void *nvrtc = dlopen(name ? name : "libnvrtc.so", RTLD_NOW);
	if (!nvrtc) fail(dlerror(), 0);
	create = call(nvrtc, "nvrtcCreateProgram"), compile = call(nvrtc, "nvrtcCompileProgram");
	code_size = call(nvrtc, "nvrtcGetPTXSize"), code = call(nvrtc, "nvrtcGetPTX"), log_text = call(nvrtc, "nvrtcGetProgramLog");
	char *all = memory(strlen(words) + strlen(text) + 1), target[32];
	strcat(strcpy(all, words), text);
	// The word cannot be defined, because CUDA's own words are attributes of that name.
	for (char *at; (at = strstr(all, "global ")); ) memmove(at, at + strlen("global "), strlen(at + strlen("global ")) + 1);
	snprintf(target, sizeof target, "-arch=compute_%d%d", major, minor);
	// OpenCL's word for exact products is a pragma, CUDA's an option.
	const char *options[] = {target, "-default-device", strstr(text, "FP_CONTRACT OFF") ? "-fmad=false" : "-fmad=true"};
	void *program;
	ok(create(&program, all, "kernels.cu", 0, NULL, NULL), "nvrtcCreateProgram");
	if (compile(program, 3, options) != 0) {
		static char said[65536];
		log_text(program, said);
		fail(said, 0);
	}
	size_t bytes;
	ok(code_size(program, &bytes), "nvrtcGetPTXSize");
	char *image = memory(bytes);
	ok(code(program, image), "nvrtcGetPTX");
	return image;
}

static device open_device(const char *name, const char *text) {
	device d;
	CUdevice first;
	CUcontext context;
	int version, major, minor;
	ok(cuInit(0), "cuInit");
	ok(cuDeviceGet(&first, 0), "cuDeviceGet");
	ok(cuDriverGetVersion(&version), "cuDriverGetVersion");
	printf("{\"device\":\"CUDA %d.%d\"}\n", version / 1000, version % 1000 / 10);
	ok(cuDevicePrimaryCtxRetain(&context, first), "cuDevicePrimaryCtxRetain");
	ok(cuCtxSetCurrent(context), "cuCtxSetCurrent");
	ok(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, first), "cuDeviceGetAttribute");
	ok(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, first), "cuDeviceGetAttribute");
	ok(cuStreamCreate(&d.queue, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
	ok(cuModuleLoadData(&d.program, compiled(text, major, minor)), "cuModuleLoadData");
	return d;
}

static cl_kernel kernel(device d, const char *name) {
	cl_kernel k = memory(sizeof *k);
	ok(cuModuleGetFunction(&k->function, d.program, name), name);
	for (int i = 0; i < 8; i++) k->arguments[i] = &k->values[i];
	return k;
}

static cl_mem buffer(device d, size_t bytes) {
	cl_mem m;
	ok(cuMemAlloc(&m, bytes), "cuMemAlloc");
	return m;
}

static void set(cl_kernel k, int i, size_t bytes, const void *value) { memcpy(&k->values[i], value, bytes); }
static void set_buffer(cl_kernel k, int i, cl_mem m) { set(k, i, sizeof m, &m); }
static void set_int(cl_kernel k, int i, cl_int v) { set(k, i, sizeof v, &v); }

// launch runs a kernel on width × height threads, in blocks of so many, or of any size if block is 0.
static void launch(device d, cl_kernel k, size_t width, size_t height, size_t block) {
	if (!block) block = 256;
	while (width % block) block /= 2;
	ok(cuLaunchKernel(k->function, width / block, height, 1, block, 1, 1, 0, d.queue, k->arguments, NULL), "cuLaunchKernel");
}

static void to_device(device d, cl_mem m, size_t offset, const void *p, size_t bytes) {
	ok(cuMemcpyHtoDAsync(m + offset, p, bytes, d.queue), "cuMemcpyHtoDAsync");
	ok(cuStreamSynchronize(d.queue), "cuStreamSynchronize");
}

static void to_host(device d, cl_mem m, size_t offset, void *p, size_t bytes) {
	ok(cuMemcpyDtoHAsync(p, m + offset, bytes, d.queue), "cuMemcpyDtoHAsync");
	ok(cuStreamSynchronize(d.queue), "cuStreamSynchronize");
}

static void flush(device d) {}
static void finish(device d) { ok(cuStreamSynchronize(d.queue), "cuStreamSynchronize"); }

// launch_from is launch with the first thread at a place. CUDA begins at 0.
static void launch_from(device d, cl_kernel k, const size_t *from, const size_t *size, size_t block) {
	if (from[0] || from[1]) fail("a launch that does not begin at 0", 0);
	launch(d, k, size[0], size[1], block);
}
