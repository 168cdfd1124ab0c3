/* OpenCL by hand: what the program has to know, it knows. The argument is part of the platform's name. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static cl_context ctx;
static cl_command_queue queue;
static cl_device_id dev;

static void check(cl_int status, const char *what)
{
	if (status != CL_SUCCESS) {
		fprintf(stderr, "%s: %d\n", what, status);
		exit(1);
	}
}

static cl_mem create(size_t size)
{
	cl_int status;
	cl_mem m = clCreateBuffer(ctx, CL_MEM_READ_WRITE, size, NULL, &status);
	check(status, "clCreateBuffer");
	return m;
}

static void write_to(cl_mem m, const void *from, size_t n)
{
	check(clEnqueueWriteBuffer(queue, m, CL_TRUE, 0, n, from, 0, NULL, NULL), "clEnqueueWriteBuffer");
}

static void ping_pong(size_t size, int rounds)
{
	unsigned char *host = calloc(1, size);
	cl_mem m = create(size);
	TIMED("ping-pong", size, rounds, {
		host[0]++;
		write_to(m, host, size);
		check(clEnqueueReadBuffer(queue, m, CL_TRUE, 0, size, host, 0, NULL, NULL), "clEnqueueReadBuffer");
	});
	clReleaseMemObject(m);
	free(host);
}

static void update(size_t size)
{
	unsigned char part[1024] = {0};
	cl_mem m = create(size);
	cl_uchar zero = 0;
	check(clEnqueueFillBuffer(queue, m, &zero, 1, 0, size, 0, NULL, NULL), "clEnqueueFillBuffer");
	check(clFinish(queue), "clFinish");
	TIMED("update-1KiB", size, 1000, {
		part[0] ^= 1;
		write_to(m, part, sizeof part);
	});
	clReleaseMemObject(m);
}

static void allocate(size_t size)
{
	TIMED("alloc-free", size, 2000, clReleaseMemObject(create(size)));
	TIMED("alloc-free-svm", size, 2000, clSVMFree(ctx, clSVMAlloc(ctx, CL_MEM_READ_WRITE, size, 0)));
}

int main(int argc, char **argv)
{
	const char *want = argc > 1 ? argv[1] : "";
	cl_platform_id platforms[16];
	cl_uint n = 0;
	char name[256] = "", version[256] = "";
	check(clGetPlatformIDs(16, platforms, &n), "clGetPlatformIDs");
	for (cl_uint i = 0; i < n && dev == NULL; i++) {
		clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL);
		if (strstr(name, want) != NULL)
			clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &dev, NULL);
	}
	if (dev == NULL) {
		fprintf(stderr, "no OpenCL device of a platform with %s in its name\n", want);
		return 1;
	}
	cl_int status;
	clGetDeviceInfo(dev, CL_DRIVER_VERSION, sizeof version, version, NULL);
	ctx = clCreateContext(NULL, 1, &dev, NULL, NULL, &status);
	check(status, "clCreateContext");
	queue = clCreateCommandQueueWithProperties(ctx, dev, NULL, &status);
	check(status, "clCreateCommandQueueWithProperties");
	head("OpenCL in C", version, name, "the program copies by hand", 0);
	ping_pong(1, 1000);
	ping_pong(1 << 20, 50);
	ping_pong(64 << 20, 3);
	update(1 << 30);
	allocate(4 << 10);
	allocate(1 << 20);
	return 0;
}
