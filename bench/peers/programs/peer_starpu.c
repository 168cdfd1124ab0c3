/* StarPU's data management, with OpenCL devices as memory nodes. The environment chooses the device and,
 * for the sweep, the limit on its memory. */
#include <starpu.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static int node;

static void check(int status, const char *what)
{
	if (status != 0) {
		fprintf(stderr, "%s: %d\n", what, status);
		exit(1);
	}
}

static void use(starpu_data_handle_t h, int where, enum starpu_data_access_mode mode)
{
	check(starpu_data_acquire_on_node(h, where, mode), "starpu_data_acquire_on_node");
	starpu_data_release_on_node(h, where);
}

static void valid(size_t size)
{
	unsigned char *host = calloc(1, size);
	starpu_data_handle_t h;
	starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)host, size, 1);
	use(h, node, STARPU_R);
	TIMED("acquire-valid", size, 20000, use(h, node, STARPU_R));
	starpu_data_unregister(h);
	free(host);
}

static void ping_pong(size_t size, int rounds)
{
	unsigned char *host = calloc(1, size);
	starpu_data_handle_t h;
	starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)host, size, 1);
	TIMED("ping-pong", size, rounds, {
		check(starpu_data_acquire(h, STARPU_RW), "starpu_data_acquire");
		host[0]++;
		starpu_data_release(h);
		use(h, node, STARPU_RW);
		use(h, STARPU_MAIN_RAM, STARPU_R);
	});
	starpu_data_unregister(h);
	free(host);
}

static void update(size_t size)
{
	unsigned char *host = calloc(1, size);
	starpu_data_handle_t h;
	starpu_vector_data_register(&h, STARPU_MAIN_RAM, (uintptr_t)host, size, 1);
	use(h, node, STARPU_R);
	TIMED("update-1KiB", size, 1, {
		check(starpu_data_acquire(h, STARPU_RW), "starpu_data_acquire");
		memset(host, 1, 1024);
		starpu_data_release(h);
		use(h, node, STARPU_R);
	});
	starpu_data_unregister(h);
	free(host);
}

static void allocate(size_t size)
{
	TIMED("alloc-free", size, 2000, {
		uintptr_t p = starpu_malloc_on_node(node, size);
		if (p == 0)
			exit(1);
		starpu_free_on_node(node, p, size);
	});
}

/* Buffers eight times what the device may hold, each read and written there in turn. */
static void sweep(size_t budget)
{
	enum { blocks = 32 };
	size_t size = budget * 8 / blocks;
	unsigned char *host[blocks];
	starpu_data_handle_t h[blocks];
	for (int i = 0; i < blocks; i++) {
		host[i] = calloc(1, size);
		starpu_vector_data_register(&h[i], STARPU_MAIN_RAM, (uintptr_t)host[i], size, 1);
	}
	TIMED("sweep-8x", budget, 1, {
		for (int i = 0; i < blocks; i++)
			use(h[i], node, STARPU_RW);
	});
	for (int i = 0; i < blocks; i++) {
		starpu_data_unregister(h[i]);
		free(host[i]);
	}
}

int main(int argc, char **argv)
{
	setenv("STARPU_SILENT", "1", 0);
	check(starpu_init(NULL), "starpu_init");
	int major, minor, patch;
	char version[64], device[128] = "none";
	starpu_get_version(&major, &minor, &patch);
	snprintf(version, sizeof version, "%d.%d.%d", major, minor, patch);
	int worker = starpu_worker_get_by_type(STARPU_OPENCL_WORKER, 0);
	if (worker < 0) {
		fprintf(stderr, "StarPU sees no OpenCL device\n");
		starpu_shutdown();
		return 1;
	}
	starpu_worker_get_name(worker, device, sizeof device);
	node = starpu_worker_get_memory_node(worker);
	head("StarPU", version, device, "", 0);
	if (argc > 1 && strcmp(argv[1], "sweep") == 0) {
		sweep(32 << 20);
	} else {
		valid(1 << 20);
		ping_pong(1, 200);
		ping_pong(1 << 20, 50);
		ping_pong(64 << 20, 3);
		update(1 << 30);
		allocate(4 << 10);
		allocate(1 << 20);
	}
	starpu_shutdown();
	return 0;
}
