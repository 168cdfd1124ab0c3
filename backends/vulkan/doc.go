// Package vulkan is the backend of every device that has a Vulkan driver: GPUs of all vendors with the drivers that came with the
// system, and processors through Mesa's lavapipe or SwiftShader. Build with the tag vulkan; without it the package is empty.
//
// No header, library or C compiler is needed to build it. When the program runs, the Vulkan loader (libvulkan.so.1, vulkan-1.dll,
// libvulkan.1.dylib) is loaded, or the library that HALYARD_VULKAN_LIBRARY names; a program without one still runs, and the backend
// is unavailable and says why. Devices must offer Vulkan 1.2 with the features timelineSemaphore and bufferDeviceAddress.
//
// # Where to begin reading
//
// plan.go decides what is used of a device, as a function from data to data. logical.go opens it, block.go allocates, queue.go submits work,
// gathers launches and waits, memory.go knows where each memory is, staging.go lends memory that the host and the device see. device.go has
// it all. stream.go keeps the order of operations, which are those of event.go, copy.go, launch.go and sequence.go. spirv.go reads modules,
// shader.go and module.go load them, pipeline.go compiles kernels. calls.txt has the calls and the structures of C, from which calls_gen.go
// is generated.
//
// # Models of memory
//
// Info.MemoryModel is "unified" on processors and integrated GPUs whose memory the host sees, coherent and cached: there the host accesses
// all memory in place, and buffers copy nothing. On all others it is "discrete". With HALYARD_VULKAN_MEMORY=discrete a unified device is
// used as a discrete one with memory of its own, 1 GiB of it, and reported as simulated. So programs and tests have a discrete device on any
// machine.
//
// Memory.Handle is the device's address (vkGetBufferDeviceAddress). For host memory it need not be the host's address. Large memory
// is a VkDeviceMemory of its own, with one VkBuffer; memory of up to 64 KiB is a part of a block of 1 MiB. Host memory is
// registered by VK_EXT_external_memory_host, at any byte: the pages around it are imported.
//
// # Streams
//
// Streams take turns with the VkQueues of a device. Up to 4 of these are used, all of one family that computes. The work of one queue is
// done in the order of submission, so that only streams of different queues overlap on the device. Each submission to a queue has a number,
// which is the value of the queue's timeline semaphore when the submission is done. An event is such a number. A stream waits for an event
// of another queue by a submission without commands, which waits for that semaphore on the device. Work is submitted by the call that
// enqueues it, unless its stream is held up: by a gate, by an event of a stream that is held up itself, or by a copy that the host makes in
// stream order. Work that is held up is submitted when its turn has come, so it never holds up other streams. While a queue has four
// submissions to do, up to 16 short launches gather before they are submitted as one: queue.go says why none of them waits for ever.
//
// The device copies between its own memories, and from and to host memory that was allocated or registered with it. Other host
// memory it does not see. On a unified device the host copies it; on others it goes through page-locked blocks of 1 MiB, at most 16
// for each queue, which the host fills and empties in stream order. If nothing is under way, the host also makes copies and fills
// of up to 64 KiB itself between memories that it sees: a submission takes longer.
//
// # Kernels
//
// Drivers take SPIR-V and no source text, so a program brings its kernels as images of hal.FormatVulkan: the command "halyard
// kernels" makes a module of each kernel in Go, and the program may bring modules of its own (kernel.Source.Images).
// All entry points of the model GLCompute are kernels. Modules have no descriptor sets: the parameters of a kernel are the members of
// its block of push constants, at most 128 bytes. Memory is passed as an address of the storage class PhysicalStorageBuffer. If the
// block's only member is the address of a structure whose name begins with halyard.arguments, the parameters are the members of
// that structure, which the backend writes to memory for each launch. The constants with the SpecId 0, 1 and 2 are the threads of a
// block; where they are missing, launches need the block size of the code. The constant with the SpecId 3 is the number of bytes of
// shared memory that a launch asks for. The one with the SpecId 4 is 1 if the device is known to round quotients and square roots of
// float32 correctly, and 0 otherwise: kernels in Go then correct them with integers. conformance/vulkan/kernels.comp is an example in
// GLSL. A module that needs a feature which the device lacks is refused (ErrUnsupported), one that is damaged too
// (ErrInvalidArgument): drivers crash on some. A launch with a new size of block or of shared memory compiles a pipeline, which
// takes milliseconds; the latest 64 of each kernel are kept. Launches of other pipelines do not wait for that.
// On Mesa's driver for processors, shader.go loads some modules a second time, with storage buffers in place of addresses.
// What the driver keeps of a pipeline is in the cache of kernels, for this device and this version of its driver.
//
// Launches that are prepared to be repeated are recorded in one command buffer, with barriers between them. A run is one submission of
// this buffer. If a driver limits the time of a submission, the limit is for all these launches together.
//
// # Failures
//
// A call that enqueues and fails has no effect. If work cannot be submitted when its turn has come, Query or Sync of its stream
// reports that once, and so do the events recorded after it. A lost device (VK_ERROR_DEVICE_LOST) ends all waits with an error of
// kind ErrDeviceLost; freeing memory then first waits for what the device may still be doing, which the driver promises to end.
package vulkan

//go:generate go run ../../internal/testing/protogen calls.txt
