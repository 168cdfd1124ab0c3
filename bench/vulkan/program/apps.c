// The programs heat and cg of bench/apps/frontdoor in C, with the same kernels. Usage:
//
//	apps PROGRAM N STEPS REPEATS IN OUT LOADER FOLDER WAY
//
// LOADER is the Vulkan loader, and FOLDER has the SPIR-V of the kernels. WAY is how many steps are recorded and submitted together, or "repeated":
// then two steps are recorded once, and submitted again and again. It prints what frontdoor prints.
#include <string.h>
#include "device.h"

enum { GROUP = 64, BLOCK = 256 };

typedef struct {
	VkDeviceAddress at;
	int64_t len; // of numbers
	float *host;
} vector;

static const char *folder;
static int n, steps, repeats;
static float *input;

static vector new_vector(int64_t len) {
	vector v = {.len = len};
	void *host;
	buffer(4 * len, &v.at, &host);
	v.host = memset(host, 0, 4 * len);
	return v;
}

static kernel named(const char *name, uint32_t pushed, uint32_t x, uint32_t y) {
	char file[4096], entry[64];
	snprintf(file, sizeof file, "%s/%s.spv", folder, name);
	snprintf(entry, sizeof entry, "k_%s", name);
	return load(file, entry, pushed, x, y);
}

// launch records a launch whose arguments are an integer, if that is not 0, and vectors.
static void launch(VkCommandBuffer cb, const kernel *k, uint32_t x, uint32_t y, int64_t number, int vectors, const vector *const *v) {
	int64_t arguments[16];
	int at = 0;
	if (number)
		arguments[at++] = number;
	for (int i = 0; i < vectors; i++)
		arguments[at++] = (int64_t)v[i]->at, arguments[at++] = v[i]->len;
	dispatch(cb, k, arguments, x, y);
	order(cb);
}
#define LAUNCH(cb, k, x, y, number, ...) \
	launch(cb, &(k), x, y, number, sizeof((const vector *[]){__VA_ARGS__}) / sizeof(vector *), (const vector *[]){__VA_ARGS__})

static kernel spread, laplace, dot, advance, direct;
static vector now_, next, x, r, p, ap, sums, ones, rr, rr_next, pq;

static void swap(vector *a, vector *b) {
	vector t = *a;
	*a = *b, *b = t;
}

static void heat_open(void) {
	uint32_t wide = n < BLOCK ? n : BLOCK;
	spread = named("spread", 40, wide, BLOCK / wide);
	now_ = new_vector((n + 2) * n), next = new_vector((n + 2) * n);
}

static void heat_step(VkCommandBuffer cb) {
	uint32_t wide = n < BLOCK ? n : BLOCK, high = BLOCK / wide;
	vector inner = {next.at + 4 * n, (int64_t)n * n, NULL};
	LAUNCH(cb, spread, (n + wide - 1) / wide, (n + high - 1) / high, n, &now_, &inner);
	swap(&now_, &next);
}

static void heat_start(void) { memcpy(now_.host + n, input, 4l * n * n); }

static void cg_open(void) {
	uint32_t wide = n < BLOCK ? n : BLOCK;
	laplace = named("laplace", 40, wide, BLOCK / wide), dot = named("dot", 48, GROUP, 1);
	advance = named("advance", 96, BLOCK, 1), direct = named("direct", 64, BLOCK, 1);
	vector *large[] = {&x, &r, &p, &ap};
	for (int i = 0; i < 4; i++)
		*large[i] = new_vector((int64_t)n * n);
	sums = new_vector(GROUP), ones = new_vector(GROUP), rr = new_vector(1), rr_next = new_vector(1), pq = new_vector(1);
	for (int i = 0; i < GROUP; i++)
		ones.host[i] = 1;
}

static void product(VkCommandBuffer cb, const vector *a, const vector *b, const vector *to) {
	LAUNCH(cb, dot, GROUP, 1, 0, a, b, &sums);
	LAUNCH(cb, dot, 1, 1, 0, &sums, &ones, to);
}

static void cg_step(VkCommandBuffer cb) {
	uint32_t wide = n < BLOCK ? n : BLOCK, high = BLOCK / wide, blocks = (n * n + BLOCK - 1) / BLOCK;
	LAUNCH(cb, laplace, (n + wide - 1) / wide, (n + high - 1) / high, n, &p, &ap);
	product(cb, &p, &ap, &pq);
	LAUNCH(cb, advance, blocks, 1, 0, &x, &r, &p, &ap, &rr, &pq);
	product(cb, &r, &r, &rr_next);
	LAUNCH(cb, direct, blocks, 1, 0, &p, &r, &rr_next, &rr);
	swap(&rr, &rr_next);
}

static void cg_start(void) {
	memset(x.host, 0, 4 * x.len);
	memcpy(r.host, input, 4 * r.len);
	memcpy(p.host, input, 4 * p.len);
	VkCommandBuffer cb = begin();
	product(cb, &r, &r, &rr);
	submit(cb);
}

int main(int argc, char **argv) {
	if (argc != 10)
		return 2;
	int heat = !strcmp(argv[1], "heat"), repeated = !strcmp(argv[9], "repeated"), together = repeated ? 2 : atoi(argv[9]);
	n = atoi(argv[2]), steps = atoi(argv[3]), repeats = atoi(argv[4]), folder = argv[8];
	input = malloc(4l * n * n);
	FILE *f = fopen(argv[5], "rb");
	if (together < 1 || !f || fread(input, 4l * n, n, f) != (size_t)n)
		return 2;
	fclose(f);
	open_device(argv[7]);
	(heat ? heat_open : cg_open)();
	VkCommandBuffer twice = NULL;
	if (repeated) {
		VkCommandBufferAllocateInfo one = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = commands, .commandBufferCount = 1};
		CHECK(vkAllocateCommandBuffers(device, &one, &twice));
		VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT};
		CHECK(vkBeginCommandBuffer(twice, &info));
		for (int i = 0; i < together; i++)
			(heat ? heat_step : cg_step)(twice);
		CHECK(vkEndCommandBuffer(twice));
	}
	for (int run = 0; run <= repeats; run++) {
		int64_t start = now();
		(heat ? heat_start : cg_start)();
		for (int step = 0; step < steps; step += together) {
			if (repeated) {
				enqueue(twice);
				continue;
			}
			VkCommandBuffer cb = begin();
			for (int i = step; i < step + together && i < steps; i++)
				(heat ? heat_step : cg_step)(cb);
			CHECK(vkEndCommandBuffer(cb));
			enqueue(cb);
		}
		wait_all();
		if (run > 0)
			printf("{\"case\":\"run\",\"ns\":%lld}\n", (long long)(now() - start));
	}
	f = fopen(argv[6], "wb");
	if (!f || fwrite(heat ? now_.host + n : x.host, 4l * n, n, f) != (size_t)n || fclose(f))
		return 1;
	return 0;
}
