// The calls of Vulkan that Halyard's backend makes for a copy, a fill and a launch, without Halyard: one command buffer, one submission and
// one value of a timeline semaphore for each. It prints a line for each row of the table: its name and the nanoseconds of one operation, the
// least of several batches. Arguments: the Vulkan loader, the kernel's SPIR-V.
#include "device.h"

enum { BATCHES = 25, LAUNCHES = 200 };
static kernel five;
static struct { VkDeviceAddress at[5]; uint32_t n; } pushed;

static VkBuffer to, from;

static void copy(uint64_t n) {
	VkCommandBuffer cb = begin();
	VkBufferCopy region = {.size = n};
	vkCmdCopyBuffer(cb, from, to, 1, &region);
	submit(cb);
}

static void fill(uint64_t n) {
	VkCommandBuffer cb = begin();
	vkCmdFillBuffer(cb, to, 0, n, 7);
	submit(cb);
}

static void launch(uint64_t n) {
	(void)n;
	VkCommandBuffer cb = begin();
	dispatch(cb, &five, &pushed, 1, 1);
	submit(cb);
}

// measure prints the time of an operation and the wait for it. With calls > 0 it is that of a call alone: as many are made, and the wait for
// them is not counted.
static void measure(const char *name, void (*op)(uint64_t), uint64_t n, int64_t calls) {
	int64_t best = INT64_MAX, fixed = calls;
	if (!fixed)
		calls = 1;
	for (int batch = -5; batch < BATCHES;) {
		int64_t start = now();
		for (int64_t i = 0; i < calls; i++) {
			op(n);
			if (!fixed)
				wait_all();
		}
		int64_t took = now() - start;
		wait_all();
		if (!fixed && took < 4000000 && batch < 0) {
			calls *= 2;
			continue;
		}
		int64_t one = took / calls;
		if (batch++ >= 0 && one < best)
			best = one;
	}
	printf("%s\t%lld\n", name, (long long)best);
}

int main(int argc, char **argv) {
	if (argc < 3)
		return 2;
	open_device(argv[1]);
	five = load(argv[2], "main", 44, 64, 1);
	VkDeviceAddress at;
	from = to = buffer(64 << 20, &at, NULL);
	fill(64 << 20); // so that its pages are there
	wait_all();
	to = buffer(64 << 20, &at, NULL);
	for (int i = 0; i < 5; i++)
		buffer(64 * 4, &pushed.at[i], NULL);
	pushed.n = 64;
	static const struct { const char *copy, *fill; uint64_t n; } sizes[] = {{"copy 4 KiB", "fill 4 KiB", 4 << 10}, {"copy 64 KiB", "fill 64 KiB", 64 << 10},
		{"copy 1 MiB", "fill 1 MiB", 1 << 20}, {"copy 16 MiB", "fill 16 MiB", 16 << 20}};
	for (int i = 0; i < 4; i++) {
		measure(sizes[i].copy, copy, sizes[i].n, 0);
		measure(sizes[i].fill, fill, sizes[i].n, 0);
	}
	measure("launch and wait", launch, 0, 0);
	measure("launch, the call", launch, 0, LAUNCHES);
	measure("launch of 5 buffers, the call", launch, 0, LAUNCHES);
	return 0;
}
