// The calls of Vulkan that Halyard's backend makes for a copy, a fill and a launch, without Halyard: one command buffer, one submission and
// one value of a timeline semaphore for each. It prints a line for each row of the table: its name and the nanoseconds of one operation, the
// least of several batches. Arguments: the Vulkan loader, the kernel's SPIR-V.
#define VK_NO_PROTOTYPES
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <vulkan/vulkan.h>

#define CHECK(call) do { VkResult r = (call); if (r < 0) { fprintf(stderr, "%s: %d\n", #call, r); exit(1); } } while (0)
#define DEVICE_CALLS(X) \
	X(GetDeviceQueue) X(CreateBuffer) X(GetBufferMemoryRequirements) X(AllocateMemory) X(BindBufferMemory) X(GetBufferDeviceAddress) \
	X(CreateCommandPool) X(AllocateCommandBuffers) X(BeginCommandBuffer) X(EndCommandBuffer) X(CmdPipelineBarrier) X(CmdCopyBuffer) \
	X(CmdFillBuffer) X(CmdBindPipeline) X(CmdPushConstants) X(CmdDispatch) X(QueueSubmit) X(CreateSemaphore) X(WaitSemaphores) \
	X(CreateShaderModule) X(CreatePipelineLayout) X(CreateComputePipelines)
#define DECLARE(name) static PFN_vk##name vk##name;
DEVICE_CALLS(DECLARE)

enum { RING = 256 };
static VkDevice device;
static VkQueue queue;
static VkSemaphore done;
static uint64_t last, known; // numbers of submissions: the last, and one that is known to be done
static VkCommandPool commands;
static VkCommandBuffer ring[RING];

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

// wait_for waits for the submissions up to a number.
static void wait_for(uint64_t number) {
	VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO, .semaphoreCount = 1, .pSemaphores = &done, .pValues = &number};
	CHECK(vkWaitSemaphores(device, &info, UINT64_MAX / 2));
	known = number;
}

// begin returns a command buffer of which no submission is under way.
static VkCommandBuffer begin(void) {
	if (last - known >= RING)
		wait_for(last - RING + 1);
	VkCommandBuffer cb = ring[last % RING];
	VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
	CHECK(vkBeginCommandBuffer(cb, &info));
	return cb;
}

// submit ends a command buffer and submits it. Later commands, and the host, see what it wrote.
static void submit(VkCommandBuffer cb) {
	VkMemoryBarrier behind = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT | VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT};
	vkCmdPipelineBarrier(cb, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &behind, 0, NULL, 0, NULL);
	CHECK(vkEndCommandBuffer(cb));
	last++;
	VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO, .signalSemaphoreValueCount = 1, .pSignalSemaphoreValues = &last};
	VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .pNext = &values, .commandBufferCount = 1, .pCommandBuffers = &cb,
		.signalSemaphoreCount = 1, .pSignalSemaphores = &done};
	CHECK(vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE));
}

static void wait_all(void) { wait_for(last); }

// buffer makes a buffer, and says where it is for kernels.
static VkBuffer buffer(uint64_t size, VkDeviceAddress *at) {
	VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
		VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
	VkBuffer b;
	CHECK(vkCreateBuffer(device, &info, NULL, &b));
	VkMemoryRequirements needs;
	vkGetBufferMemoryRequirements(device, b, &needs);
	VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO, .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
	VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &flags, .allocationSize = needs.size,
		.memoryTypeIndex = (uint32_t)__builtin_ctz(needs.memoryTypeBits)};
	VkDeviceMemory memory;
	CHECK(vkAllocateMemory(device, &allocate, NULL, &memory));
	CHECK(vkBindBufferMemory(device, b, memory, 0));
	VkBufferDeviceAddressInfo address = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = b};
	*at = vkGetBufferDeviceAddress(device, &address);
	return b;
}

static void open_device(const char *loader) {
	void *lib = dlopen(loader, RTLD_NOW);
	PFN_vkGetInstanceProcAddr get = lib ? (PFN_vkGetInstanceProcAddr)dlsym(lib, "vkGetInstanceProcAddr") : NULL;
	if (!get) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	VkApplicationInfo app = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
	VkInstanceCreateInfo in = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app};
	VkInstance instance;
	CHECK(((PFN_vkCreateInstance)get(NULL, "vkCreateInstance"))(&in, NULL, &instance));
	uint32_t one = 1;
	VkPhysicalDevice physical;
	CHECK(((PFN_vkEnumeratePhysicalDevices)get(instance, "vkEnumeratePhysicalDevices"))(instance, &one, &physical));
	VkPhysicalDeviceVulkan12Features wanted = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .timelineSemaphore = 1,
		.bufferDeviceAddress = 1, .scalarBlockLayout = 1};
	VkPhysicalDeviceFeatures core = {.shaderInt64 = 1};
	float priority = 0;
	VkDeviceQueueCreateInfo queues = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
	VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &wanted, .queueCreateInfoCount = 1, .pQueueCreateInfos = &queues,
		.pEnabledFeatures = &core};
	CHECK(((PFN_vkCreateDevice)get(instance, "vkCreateDevice"))(physical, &create, NULL, &device));
	PFN_vkGetDeviceProcAddr proc = (PFN_vkGetDeviceProcAddr)get(instance, "vkGetDeviceProcAddr");
#define LOAD(name) vk##name = (PFN_vk##name)proc(device, "vk" #name);
	DEVICE_CALLS(LOAD)
	vkGetDeviceQueue(device, 0, 0, &queue);
	VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO, .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT};
	CHECK(vkCreateCommandPool(device, &pool, NULL, &commands));
	VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = commands, .commandBufferCount = RING};
	CHECK(vkAllocateCommandBuffers(device, &buffers, ring));
	VkSemaphoreTypeCreateInfo timeline = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
	VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &timeline};
	CHECK(vkCreateSemaphore(device, &semaphore, NULL, &done));
}

typedef struct {
	VkPipeline pipeline;
	VkPipelineLayout layout;
	uint32_t pushed; // bytes of arguments
} kernel;

// load returns a kernel of a file with SPIR-V, for blocks of a size.
static kernel load(const char *file, const char *name, uint32_t pushed, uint32_t x, uint32_t y) {
	static uint32_t code[1 << 16];
	FILE *f = fopen(file, "rb");
	size_t size = f ? fread(code, 1, sizeof code, f) : 0;
	if (f)
		fclose(f);
	VkShaderModuleCreateInfo text = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = code};
	VkShaderModule module;
	CHECK(vkCreateShaderModule(device, &text, NULL, &module));
	kernel k = {.pushed = pushed};
	VkPushConstantRange range = {VK_SHADER_STAGE_COMPUTE_BIT, 0, pushed};
	VkPipelineLayoutCreateInfo lay = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .pushConstantRangeCount = 1, .pPushConstantRanges = &range};
	CHECK(vkCreatePipelineLayout(device, &lay, NULL, &k.layout));
	uint32_t threads[] = {x, y, 1};
	VkSpecializationMapEntry entries[] = {{0, 0, 4}, {1, 4, 4}, {2, 8, 4}};
	VkSpecializationInfo special = {3, entries, sizeof threads, threads};
	VkComputePipelineCreateInfo make = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = k.layout, .basePipelineIndex = -1,
		.stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_COMPUTE_BIT, .module = module, .pName = name,
			.pSpecializationInfo = &special}};
	CHECK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &make, NULL, &k.pipeline));
	return k;
}

static void dispatch(VkCommandBuffer cb, const kernel *k, const void *arguments, uint32_t x, uint32_t y) {
	vkCmdBindPipeline(cb, VK_PIPELINE_BIND_POINT_COMPUTE, k->pipeline);
	vkCmdPushConstants(cb, k->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, k->pushed, arguments);
	vkCmdDispatch(cb, x, y, 1);
}

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
	from = to = buffer(64 << 20, &at);
	fill(64 << 20); // so that its pages are there
	wait_all();
	to = buffer(64 << 20, &at);
	for (int i = 0; i < 5; i++)
		buffer(64 * 4, &pushed.at[i]);
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
