//go:build vulkan

package vulkan

import (
	"bytes"
	"unsafe"
)

// The structures of vulkan_core.h, with the layout of C on 64-bit systems. TestLayouts knows their sizes. Pointers in them are
// unsafe.Pointers and not numbers, so that the garbage collector keeps what they point to, and the compiler puts it on the heap,
// where it does not move.

// head is how a structure says which it is, and what belongs to it.
type head struct {
	sType uint32
	next  unsafe.Pointer
}

type applicationInfo struct {
	head
	name          unsafe.Pointer
	version       uint32
	engine        unsafe.Pointer
	engineVersion uint32
	api           uint32
}

type instanceCreateInfo struct {
	head
	flags          uint32
	application    unsafe.Pointer
	layers         uint32
	layerNames     unsafe.Pointer
	extensions     uint32
	extensionNames unsafe.Pointer
}

type queueCreateInfo struct {
	head
	flags      uint32
	family     uint32
	n          uint32
	priorities unsafe.Pointer // float32
}

type deviceCreateInfo struct {
	head
	flags          uint32
	queues         uint32
	queueInfos     unsafe.Pointer
	layers         uint32
	layerNames     unsafe.Pointer
	extensions     uint32
	extensionNames unsafe.Pointer
	features       unsafe.Pointer
}

type extensionProperties struct {
	name    [256]byte
	version uint32
}

type properties2 struct {
	head
	api           uint32
	driverVersion uint32
	vendor        uint32
	device        uint32
	kind          uint32
	name          [256]byte
	cacheUUID     [16]byte
	limits        [63]uint64
	sparse        [5]uint32
}

// Where the limits that the backend reads are in VkPhysicalDeviceLimits, in bytes.
const (
	limitPushConstants   = 32  // maxPushConstantsSize
	limitShared          = 216 // maxComputeSharedMemorySize
	limitGroups          = 220 // maxComputeWorkGroupCount, three numbers
	limitThreads         = 232 // maxComputeWorkGroupInvocations
	limitGroup           = 236 // maxComputeWorkGroupSize, three numbers
	limitTimestampPeriod = 424 // timestampPeriod, a float32
)

func (p *properties2) limit(at uintptr) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(&p.limits), at)
}

type driverProperties struct {
	head
	id          uint32
	name        [256]byte
	info        [256]byte
	conformance [4]byte
}

type idProperties struct {
	head
	device   [16]byte
	driver   [16]byte
	luid     [8]byte
	nodes    uint32
	hasNodes uint32
}

// floatControls says how a device treats subnormal numbers, infinities, NaNs, signs of zero and roundings. plan.go gives the switches names.
type floatControls struct {
	head
	on [17]uint32
}

type pciBusInfo struct {
	head
	domain, bus, dev, fun uint32
}

type maintenance3Properties struct {
	head
	perSet        uint32
	maxAllocation uint64
}

type externalMemoryHost struct {
	head
	align uint64
}

// The features are in arrays, which the table of plan.go gives names.
type features2 struct {
	head
	on [55]uint32
}

type features11 struct {
	head
	on [12]uint32
}

type features12 struct {
	head
	on [47]uint32
}

type memoryType struct{ flags, heap uint32 }

type memoryHeap struct {
	size  uint64
	flags uint32
}

type memoryProperties2 struct {
	head
	types   uint32
	typeOf  [32]memoryType
	heaps   uint32
	heapsOf [16]memoryHeap
}

type memoryBudget struct {
	head
	budget [16]uint64
	usage  [16]uint64
}

type queueFamily struct {
	flags, n, timestampBits uint32
	granularity             [3]uint32
}

type bufferCreateInfo struct {
	head
	flags      uint32
	size       uint64
	usage      uint32
	sharing    uint32
	families   uint32
	familyList unsafe.Pointer
}

type externalBufferInfo struct {
	head
	kinds uint32
}

type memoryAllocateInfo struct {
	head
	size      uint64
	typeIndex uint32
}

type allocateFlagsInfo struct {
	head
	flags, mask uint32
}

type importHostPointer struct {
	head
	kind uint32
	host uintptr // of pages, which may begin before the program's memory
}

type hostPointerProperties struct {
	head
	typeBits uint32
}

type requirements struct {
	size, align uint64
	typeBits    uint32
}

type bufferAddressInfo struct {
	head
	buffer uintptr
}

type commandPoolInfo struct {
	head
	flags, family uint32
}

type commandBufferInfo struct {
	head
	pool     uintptr
	level, n uint32
}

type commandBufferBegin struct {
	head
	flags       uint32
	inheritance unsafe.Pointer
}

type memoryBarrier struct {
	head
	src, dst uint32
}

type bufferCopy struct{ src, dst, n uint64 }

type submitInfo struct {
	head
	waits      uint32
	waitOn     unsafe.Pointer
	waitStages unsafe.Pointer
	buffers    uint32
	bufferList unsafe.Pointer
	signals    uint32
	signalled  unsafe.Pointer
}

type timelineSubmitInfo struct {
	head
	waits   uint32
	waitFor unsafe.Pointer
	signals uint32
	values  unsafe.Pointer
}

type semaphoreCreateInfo struct {
	head
	flags uint32
}

type semaphoreType struct {
	head
	kind  uint32
	value uint64
}

type semaphoreWaitInfo struct {
	head
	flags, n   uint32
	semaphores unsafe.Pointer
	values     unsafe.Pointer
}

type queryPoolInfo struct {
	head
	flags, kind, n uint32
	statistics     uint32
}

type shaderCreateInfo struct {
	head
	flags uint32
	size  uintptr // bytes
	code  unsafe.Pointer
}

type pipelineCacheInfo struct {
	head
	flags uint32
	size  uintptr // bytes
	data  unsafe.Pointer
}

type layoutCreateInfo struct {
	head
	flags       uint32
	sets        uint32
	setLayouts  unsafe.Pointer
	ranges      uint32
	pushedRange unsafe.Pointer
}

type pushRange struct{ stages, off, n uint32 }

type specializationEntry struct {
	id, off uint32
	size    uintptr
}

type specialization struct {
	n       uint32
	entries unsafe.Pointer
	size    uintptr
	data    unsafe.Pointer
}

type stageCreateInfo struct {
	head
	flags          uint32
	stage          uint32
	shader         uintptr
	name           unsafe.Pointer
	specialization unsafe.Pointer
}

type pipelineCreateInfo struct {
	head
	flags     uint32
	stage     stageCreateInfo
	layout    uintptr
	base      uintptr
	baseIndex int32
}

// text returns the text of an array up to its first zero byte.
func text(b []byte) string {
	before, _, _ := bytes.Cut(b, []byte{0})
	return string(before)
}
