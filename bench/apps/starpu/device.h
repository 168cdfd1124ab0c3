// StarPU's devices and tasks: what a program with StarPU needs before its first task. StarPU finds out from the accesses of its data what a task waits for and
// what is to be copied.
#define CL_TARGET_OPENCL_VERSION 120
#include <starpu.h>

typedef starpu_data_handle_t data;
typedef struct starpu_data_descr use;

static int workers[2]; // of the devices
static struct starpu_opencl_program program;
static cl_kernel kernels[2][8];
static cl_uint arguments_of[8];

static void ok(int code, const char *call) {
	if (code != 0) fail(call, code);
}

// number is StarPU's number of the device of a platform: it counts them through all platforms.
static int number(const char *platform) {
	cl_platform_id all[16];
	cl_uint count, some, before = 0;
	char name[200], version[200];
	ok(clGetPlatformIDs(16, all, &count), "clGetPlatformIDs");
	for (cl_uint i = 0; i < count; i++) {
		cl_device_id first;
		ok(clGetPlatformInfo(all[i], CL_PLATFORM_NAME, sizeof name, name, NULL), "clGetPlatformInfo");
		if (clGetDeviceIDs(all[i], CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR, 1, &first, &some) != CL_SUCCESS) continue;
		if (strstr(name, platform)) {
			ok(clGetDeviceInfo(first, CL_DRIVER_VERSION, sizeof version, version, NULL), "clGetDeviceInfo");
			printf("{\"device\":\"%s, driver %s\"}\n", name, version);
			return before;
		}
		before += some;
	}
	fail(platform, CL_DEVICE_NOT_FOUND);
	return -1;
}

// open_devices starts StarPU with a worker for each device and compiles the kernels, whose names end with NULL.
static void open_devices(const char *text, const char **names) {
	struct starpu_conf conf;
	int major, minor, release;
	ok(starpu_conf_init(&conf), "starpu_conf_init");
	conf.ncpus = conf.ncuda = 0, conf.nopencl = devices, conf.use_explicit_workers_opencl_gpuid = 1;
	for (int i = 0; i < devices; i++) conf.workers_opencl_gpuid[i] = number(platforms[i]);
	ok(starpu_init(&conf), "starpu_init");
	starpu_get_version(&major, &minor, &release);
	printf("{\"device\":\"StarPU %d.%d.%d\"}\n", major, minor, release);
	ok(starpu_opencl_load_opencl_from_string(text, &program, ""), "starpu_opencl_load_opencl_from_string");
	for (int i = 0; i < devices; i++) {
		cl_command_queue queue;
		workers[i] = starpu_worker_get_by_devid(STARPU_OPENCL_WORKER, conf.workers_opencl_gpuid[i]);
		if (workers[i] < 0) fail("StarPU has no worker for the device of", i);
		for (int k = 0; names[k]; k++) {
			ok(starpu_opencl_load_kernel(&kernels[i][k], &queue, &program, names[k], conf.workers_opencl_gpuid[i]), names[k]);
			ok(clGetKernelInfo(kernels[i][k], CL_KERNEL_NUM_ARGS, sizeof(cl_uint), &arguments_of[k], NULL), "clGetKernelInfo");
		}
	}
}

// work is what a task does: a kernel on width × height threads, whose last arguments are numbers, or a copy of some elements.
typedef struct {
	int device, kernel, count;
	size_t width, height, block;
	cl_int numbers[2];
	size_t from, to, bytes;
} work;

// A task waits for what it has put into the queue. Where StarPU asks for the end again and again (STARPU_OPENCL_ASYNC), it takes a processor from the device,
// whose threads run on the same ones.
static void run_kernel(void *buffers[], void *argument) {
	work *w = argument;
	cl_kernel k = kernels[w->device][w->kernel];
	cl_command_queue queue;
	size_t global[2] = {w->width, w->height}, local[2] = {w->block, 1};
	starpu_opencl_get_current_queue(&queue);
	for (cl_uint i = 0; i < arguments_of[w->kernel]; i++) {
		cl_mem m = (int)i < w->count ? (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[i]) : NULL;
		ok((int)i < w->count ? clSetKernelArg(k, i, sizeof m, &m) : clSetKernelArg(k, i, sizeof(cl_int), &w->numbers[i - w->count]), "clSetKernelArg");
	}
	ok(clEnqueueNDRangeKernel(queue, k, w->height > 1 ? 2 : 1, NULL, global, w->block ? local : NULL, 0, NULL, NULL), "clEnqueueNDRangeKernel");
	ok(clFinish(queue), "clFinish");
}

static void run_copy(void *buffers[], void *argument) {
	work *w = argument;
	cl_command_queue queue;
	starpu_opencl_get_current_queue(&queue);
	cl_mem from = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[0]), to = (cl_mem)STARPU_VECTOR_GET_DEV_HANDLE(buffers[1]);
	ok(clEnqueueCopyBuffer(queue, from, to, w->from, w->to, w->bytes, 0, NULL, NULL), "clEnqueueCopyBuffer");
	ok(clFinish(queue), "clFinish");
}

static struct starpu_codelet kernel_task = {.opencl_funcs = {run_kernel}, .nbuffers = STARPU_VARIABLE_NBUFFERS};
static struct starpu_codelet copy_task = {.opencl_funcs = {run_copy}, .nbuffers = STARPU_VARIABLE_NBUFFERS};

static void submit(struct starpu_codelet *task, work w, use *uses) {
	work *own = memory(sizeof w); // StarPU frees it after the task
	*own = w;
	ok(starpu_task_insert(task, STARPU_EXECUTE_ON_WORKER, workers[w.device], STARPU_CL_ARGS, own, sizeof w, STARPU_DATA_MODE_ARRAY, uses, w.count, 0), "starpu_task_insert");
}

// LAUNCH runs a kernel on a device with what it accesses, in the order of its arguments.
#define LAUNCH(device, kernel, width, height, block, number, other, ...) do { \
	use uses[] = {__VA_ARGS__}; \
	submit(&kernel_task, (work){device, kernel, sizeof uses / sizeof *uses, width, height, block, {number, other}}, uses); \
} while (0)

// copy copies so many bytes from one vector to another on a device. What else is in the other stays.
static void copy(int device, data from, size_t offset, data to, size_t at, size_t bytes, enum starpu_data_access_mode mode) {
	submit(&copy_task, (work){.device = device, .count = 2, .from = offset, .to = at, .bytes = bytes}, (use[]){{from, STARPU_R}, {to, mode}});
}

// vector is so many bytes with their home in the host's memory, or nowhere.
static data vector(void *home, size_t bytes) {
	data v;
	starpu_vector_data_register(&v, home ? STARPU_MAIN_RAM : -1, (uintptr_t)home, bytes, 1);
	return v;
}

// fill writes a vector on the host, and gather reads one there.
static void fill(data v, const void *from, size_t bytes) {
	ok(starpu_data_acquire(v, STARPU_W), "starpu_data_acquire");
	memcpy(starpu_data_get_local_ptr(v), from, bytes);
	starpu_data_release(v);
}

static void gather(data v, size_t offset, void *to, size_t bytes) {
	ok(starpu_data_acquire(v, STARPU_R), "starpu_data_acquire");
	memcpy(to, (char *)starpu_data_get_local_ptr(v) + offset, bytes);
	starpu_data_release(v);
}
