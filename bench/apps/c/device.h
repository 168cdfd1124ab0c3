#ifndef CUDA // device_cuda.h has the same functions
// A device of OpenCL with its queue and program: what a program without Halyard needs before its first kernel.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

typedef struct {
	cl_device_id id;
	cl_context context;
	cl_command_queue queue;
	cl_program program;
} device;

static void ok(cl_int code, const char *call) {
	if (code != CL_SUCCESS) fail(call, code);
}

static device open_device(const char *platform, const char *text) {
	cl_platform_id all[16];
	cl_uint count;
	device d = {0};
	cl_int code;
	char name[200], version[200];
	ok(clGetPlatformIDs(16, all, &count), "clGetPlatformIDs");
	for (cl_uint i = 0; i < count && !d.id; i++) {
		ok(clGetPlatformInfo(all[i], CL_PLATFORM_NAME, sizeof name, name, NULL), "clGetPlatformInfo");
		if (strstr(name, platform)) ok(clGetDeviceIDs(all[i], CL_DEVICE_TYPE_ALL, 1, &d.id, NULL), "clGetDeviceIDs");
	}
	if (!d.id) fail(platform, CL_DEVICE_NOT_FOUND);
	ok(clGetDeviceInfo(d.id, CL_DRIVER_VERSION, sizeof version, version, NULL), "clGetDeviceInfo");
	printf("{\"device\":\"%s, driver %s\"}\n", name, version);
	d.context = clCreateContext(NULL, 1, &d.id, NULL, NULL, &code);
	ok(code, "clCreateContext");
	d.queue = clCreateCommandQueue(d.context, d.id, 0, &code);
	ok(code, "clCreateCommandQueue");
	d.program = clCreateProgramWithSource(d.context, 1, &text, NULL, &code);
	ok(code, "clCreateProgramWithSource");
	if (clBuildProgram(d.program, 1, &d.id, "", NULL, NULL) != CL_SUCCESS) {
		static char log[65536];
		clGetProgramBuildInfo(d.program, d.id, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
		fail(log, CL_BUILD_PROGRAM_FAILURE);
	}
	return d;
}

static cl_kernel kernel(device d, const char *name) {
	cl_int code;
	cl_kernel k = clCreateKernel(d.program, name, &code);
	ok(code, name);
	return k;
}

static cl_mem buffer(device d, size_t bytes) {
	cl_int code;
	cl_mem m = clCreateBuffer(d.context, CL_MEM_READ_WRITE, bytes, NULL, &code);
	ok(code, "clCreateBuffer");
	return m;
}

static void set(cl_kernel k, int i, size_t bytes, const void *value) { ok(clSetKernelArg(k, i, bytes, value), "clSetKernelArg"); }
static void set_buffer(cl_kernel k, int i, cl_mem m) { set(k, i, sizeof m, &m); }
static void set_int(cl_kernel k, int i, cl_int v) { set(k, i, sizeof v, &v); }

// launch runs a kernel on width × height threads, in blocks of so many, or of any size if block is 0.
static void launch(device d, cl_kernel k, size_t width, size_t height, size_t block) {
	size_t global[2] = {width, height}, local[2] = {block, 1};
	ok(clEnqueueNDRangeKernel(d.queue, k, height > 1 ? 2 : 1, NULL, global, block ? local : NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
}

static void to_device(device d, cl_mem m, size_t offset, const void *p, size_t bytes) {
	ok(clEnqueueWriteBuffer(d.queue, m, CL_TRUE, offset, bytes, p, 0, NULL, NULL), "clEnqueueWriteBuffer");
}

static void to_host(device d, cl_mem m, size_t offset, void *p, size_t bytes) {
	ok(clEnqueueReadBuffer(d.queue, m, CL_TRUE, offset, bytes, p, 0, NULL, NULL), "clEnqueueReadBuffer");
}

static void finish(device d) { ok(clFinish(d.queue), "clFinish"); }
static void flush(device d) { ok(clFlush(d.queue), "clFlush"); }

// launch_from is launch with the first thread at a place.
static void launch_from(device d, cl_kernel k, const size_t *from, const size_t *size, size_t block) {
	size_t local[2] = {block, 1};
	ok(clEnqueueNDRangeKernel(d.queue, k, size[1] > 1 ? 2 : 1, from, size, block ? local : NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
}
#endif
