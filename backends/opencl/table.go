//go:build opencl

package opencl

import (
	"reflect"
	"sync"
	"unsafe"
)

// table is the OpenCL calls that the backend makes. Objects are the vendor's handles, host
// memory is an address whose memory the caller keeps alive, and wait is one event or 0. Each
// enqueue returns the command's event, which the caller releases. A nil function is one that
// the library does not have.
type table struct {
	binding string // "loaded" or "linked"
	library string // the name under which the library was found

	getPlatformIDs  func() ([]uintptr, status)
	getPlatformInfo func(platform uintptr, param uint32, value []byte) (n uint64, st status)
	getDeviceIDs    func(platform uintptr, kinds uint64) ([]uintptr, status)
	getDeviceInfo   func(device uintptr, param uint32, value []byte) (n uint64, st status)
	usm             func(platform uintptr) *usmTable // returns nil if the platform lacks the extension

	createContext  func(platform, device uintptr) (uintptr, status)
	releaseContext func(context uintptr) status
	createQueue    func(context, device uintptr, properties uint64) (uintptr, status)
	retainQueue    func(queue uintptr) status
	releaseQueue   func(queue uintptr) status
	queueInfo      func(queue uintptr, param uint32, value unsafe.Pointer, n uint64) status
	flush          func(queue uintptr) status

	createBuffer  func(context uintptr, flags, size uint64, host uintptr) (uintptr, status)
	retainBuffer  func(mem uintptr) status
	releaseBuffer func(mem uintptr) status
	memInfo       func(mem uintptr, param uint32, value unsafe.Pointer, n uint64) status

	createUserEvent  func(context uintptr) (uintptr, status)
	setUserEvent     func(event uintptr, exec int32) status
	retainEvent      func(event uintptr) status
	releaseEvent     func(event uintptr) status
	waitForEvent     func(event uintptr) status
	eventStatus      func(event uintptr) (exec int32, st status)
	eventProfile     func(event uintptr, param uint32) (ns uint64, st status)
	setEventCallback func(event, entry, data uintptr) status

	marker      func(queue uintptr) (event uintptr, st status)
	barrier     func(queue, wait uintptr) (event uintptr, st status)
	readBuffer  func(queue, mem uintptr, off, n uint64, dst uintptr) (event uintptr, st status)
	writeBuffer func(queue, mem uintptr, off, n uint64, src uintptr) (event uintptr, st status)
	copyBuffer  func(queue, src, dst uintptr, srcOff, dstOff, n uint64) (event uintptr, st status)
	fillBuffer  func(queue, mem uintptr, bits, width, off, n uint64) (event uintptr, st status)
	mapBuffer   func(queue, mem uintptr, flags, off, n uint64) (addr, event uintptr, st status)
	unmapBuffer func(queue, mem, addr uintptr) (event uintptr, st status)

	// OpenCL 2.0; only for devices of that version.
	svmAlloc  func(context uintptr, flags, size, align uint64) uintptr
	svmFree   func(context, addr uintptr)
	svmMemcpy func(queue, dst, src uintptr, n uint64) (event uintptr, st status)
	svmFill   func(queue, dst uintptr, bits, width, n uint64) (event uintptr, st status)
	svmMap    func(queue uintptr, flags uint64, addr uintptr, n uint64) (event uintptr, st status)
	svmUnmap  func(queue, addr uintptr) (event uintptr, st status)

	// OpenCL 2.1.
	svmMigrate func(queue, addr uintptr, n, flags uint64) (event uintptr, st status)
}

// inTurns returns a table that makes one call at a time. It leaves out unified shared memory, which the only platform
// that needs this, Oclgrind, does not have.
func (t *table) inTurns() *table {
	turns := *t
	turns.usm = nil
	var mu sync.Mutex
	fields := reflect.ValueOf(&turns).Elem()
	for i := range fields.NumField() {
		f := fields.Field(i)
		if f.Kind() != reflect.Func || f.IsNil() {
			continue
		}
		// The fields are not exported, so they are reached by address.
		call := reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
		inner := reflect.ValueOf(call.Interface())
		call.Set(reflect.MakeFunc(f.Type(), func(args []reflect.Value) []reflect.Value {
			mu.Lock()
			defer mu.Unlock()
			return inner.Call(args)
		}))
	}
	return &turns
}

// usmTable is cl_intel_unified_shared_memory of one platform.
type usmTable struct {
	hostAlloc   func(context uintptr, size, align uint64) (uintptr, status)
	deviceAlloc func(context, device uintptr, size, align uint64) (uintptr, status)
	sharedAlloc func(context, device uintptr, size, align uint64) (uintptr, status)
	free        func(context, addr uintptr) status
	memcpy      func(queue, dst, src uintptr, n uint64) (event uintptr, st status)
	fill        func(queue, dst uintptr, bits, width, n uint64) (event uintptr, st status)

	// allocInfo is nil if the platform lacks it.
	allocInfo func(context, ptr uintptr, param uint32, value unsafe.Pointer, n uint64) status
}

// Names and numbers from CL/cl.h and CL/cl_ext.h.
const (
	platformVersion = 0x0901
	platformName    = 0x0902
	platformVendor  = 0x0903

	deviceTypeCPU = 1 << 1
	deviceTypeAll = 0xFFFFFFFF

	deviceType            = 0x1000
	deviceVendorID        = 0x1001
	deviceMaxAlloc        = 0x1010
	deviceBaseAddrAlign   = 0x1019 // in bits
	deviceGlobalMemSize   = 0x101F
	deviceTimerResolution = 0x1025
	deviceAvailable       = 0x1027
	deviceName            = 0x102B
	deviceVendor          = 0x102C
	driverVersion         = 0x102D
	deviceVersion         = 0x102F
	deviceExtensions      = 0x1030
	deviceHostUnified     = 0x1035
	deviceSVMCaps         = 0x1053
	deviceUUID            = 0x106A // cl_khr_device_uuid
	deviceFreeMemoryAMD   = 0x4039 // cl_amd_device_attribute_query, in KiB
	devicePCIBusInfo      = 0x410F // cl_khr_pci_bus_info
	deviceUSMHost         = 0x4190
	deviceUSMDevice       = 0x4191
	deviceUSMShared       = 0x4192
	deviceUSMSystem       = 0x4194
	usmAccess             = 1 << 0
	usmConcurrentAccess   = 1 << 2
	svmCoarse             = 1 << 0
	svmFine               = 1 << 1
	svmFineSystem         = 1 << 2
	contextPlatform       = 0x1084
	queueProfilingEnable  = 1 << 1

	queueContext    = 0x1090
	queueDevice     = 0x1091
	queueProperties = 0x1093
	queueOutOfOrder = 1 << 0
	queueOnDevice   = 1 << 2

	memType       = 0x1100
	memFlags      = 0x1101
	memSize       = 0x1102
	memHostPtr    = 0x1103
	memContext    = 0x1106
	memTypeBuffer = 0x10F0

	usmAllocType   = 0x419A
	usmAllocBase   = 0x419B
	usmAllocSize   = 0x419C
	usmAllocDevice = 0x419D
	usmTypeHost    = 0x4197
	usmTypeDevice  = 0x4198
	usmTypeShared  = 0x4199

	memAllocHostPtr  = 1 << 4
	memHostWriteOnly = 1 << 7
	memHostReadOnly  = 1 << 8
	memHostNoAccess  = 1 << 9

	memReadWrite      = 1 << 0
	memUseHostPtr     = 1 << 3
	memSVMFineGrained = 1 << 10
	mapRead           = 1 << 0
	mapWrite          = 1 << 1
	migrateToHost     = 1 << 0

	eventCommandExecutionStatus = 0x11D3
	execComplete                = 0
	profilingCommandEnd         = 0x1283
)
