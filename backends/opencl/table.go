//go:build opencl

package opencl

import (
	"reflect"
	"sync"
	"unsafe"
)

// table holds the OpenCL calls that the backend makes. Objects are the vendor's handles. Host
// memory is an address, and the caller keeps the memory alive. The parameter wait is one event or
// 0. Each enqueue
// returns the command's event, which the caller releases. A function that the library lacks is nil.
type table struct {
	binding string // "loaded" or "linked"
	library string // the name under which the library was found

	getPlatformIDs  func() ([]uintptr, status)
	getPlatformInfo func(platform uintptr, param uint32, value []byte) (n uint64, st status)
	getDeviceIDs    func(platform uintptr, kinds uint64) ([]uintptr, status)
	getDeviceInfo   func(device uintptr, param uint32, value []byte) (n uint64, st status)
	// createSubDevices returns as many devices as split has numbers of compute units, between partitionByCounts and two zeros.
	createSubDevices func(device uintptr, split []uintptr) ([]uintptr, status)
	usm              func(platform uintptr) *usmTable // returns nil if the platform lacks the extension

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

	// A sub-buffer of n bytes that begins at off.
	createSubBuffer func(mem uintptr, off, n uint64) (uintptr, status)

	createProgram       func(context uintptr, source string) (uintptr, status)
	createBinaryProgram func(context, device uintptr, code []byte) (uintptr, status)
	buildProgram        func(program, device uintptr, options string) status
	compileProgram      func(program, device uintptr, options string, headers []uintptr, names []string) status
	linkProgram         func(context, device, compiled uintptr) (uintptr, status)
	releaseProgram      func(program uintptr) status
	programInfo         func(program uintptr, param uint32, value []byte) (n uint64, st status)
	programBuildInfo    func(program, device uintptr, param uint32, value []byte) (n uint64, st status)
	programBinary       func(program uintptr, code []byte) status // of the program's only device
	createKernel        func(program uintptr, name string) (uintptr, status)
	releaseKernel       func(kernel uintptr) status
	kernelInfo          func(kernel uintptr, param uint32, value []byte) (n uint64, st status)
	kernelArgInfo       func(kernel uintptr, index, param uint32, value []byte) (n uint64, st status)
	kernelWorkGroupInfo func(kernel, device uintptr, param uint32, value []byte) (n uint64, st status)
	setKernelArg        func(kernel uintptr, index uint32, n uint64, value unsafe.Pointer) status
	ndRange             func(queue, kernel uintptr, dims uint32, global, local [3]uint64) (event uintptr, st status)
	ilPrograms          func(platform uintptr) func(context uintptr, code []byte) (uintptr, status) // of cl_khr_il_program; returns nil if the platform lacks it

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

	setKernelArgSVM func(kernel uintptr, index uint32, addr uintptr) status

	// OpenCL 2.1.
	svmMigrate      func(queue, addr uintptr, n, flags uint64) (event uintptr, st status)
	createILProgram func(context uintptr, code []byte) (uintptr, status)
}

// inTurns returns a table whose calls are made one at a time, under a lock. Only Oclgrind needs it. Oclgrind has no
// unified shared memory, so the table leaves that out.
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
		// Reflection cannot set unexported fields, so this goes through the field's address.
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

	// Each of these is nil if the platform lacks it.
	allocInfo    func(context, ptr uintptr, param uint32, value unsafe.Pointer, n uint64) status
	setKernelArg func(kernel uintptr, index uint32, addr uintptr) status
}

// Names and numbers from CL/cl.h and CL/cl_ext.h.
const (
	platformVersion = 0x0901
	platformName    = 0x0902
	platformVendor  = 0x0903

	deviceTypeCPU = 1 << 1
	deviceTypeGPU = 1 << 2
	deviceTypeAll = 0xFFFFFFFF

	deviceType            = 0x1000
	deviceVendorID        = 0x1001
	deviceMaxUnits        = 0x1002
	devicePartitions      = 0x1044
	deviceMaxGroup        = 0x1004
	deviceMaxItems        = 0x1005
	deviceAddressBits     = 0x100D
	deviceMaxAlloc        = 0x1010
	deviceBaseAddrAlign   = 0x1019 // in bits
	deviceGlobalMemSize   = 0x101F
	deviceLocalMemSize    = 0x1023
	deviceTimerResolution = 0x1025
	deviceAvailable       = 0x1027
	deviceCompiler        = 0x1028
	deviceName            = 0x102B
	deviceVendor          = 0x102C
	driverVersion         = 0x102D
	deviceVersion         = 0x102F
	deviceExtensions      = 0x1030
	deviceDoubleConfig    = 0x1032
	deviceHostUnified     = 0x1035
	deviceLinker          = 0x103E
	deviceSVMCaps         = 0x1053
	deviceIL              = 0x105B // a text; also cl_khr_il_program
	deviceUUID            = 0x106A // cl_khr_device_uuid
	deviceWarpNV          = 0x4003 // cl_nv_device_attribute_query
	deviceFreeMemoryAMD   = 0x4039 // cl_amd_device_attribute_query, in KiB
	deviceWavefrontAMD    = 0x4043 // cl_amd_device_attribute_query
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

	queueContext      = 0x1090
	partitionByCounts = 0x1087

	queueDevice     = 0x1091
	queueProperties = 0x1093
	queueOutOfOrder = 1 << 0
	queueOnDevice   = 1 << 2

	memType       = 0x1100
	memFlags      = 0x1101
	memSize       = 0x1102
	memHostPtr    = 0x1103
	memAssociated = 0x1107
	memOffset     = 0x1108
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

	bufferCreateRegion = 0x1220

	programBinarySizes = 0x1165
	programBinaries    = 0x1166
	programKernelNames = 0x1168
	programBuildLog    = 0x1183

	kernelNumArgs = 0x1191

	argAddress      = 0x1196
	argTypeName     = 0x1198
	argTypeQualify  = 0x1199
	argName         = 0x119A
	addressGlobal   = 0x119B
	addressLocal    = 0x119C
	addressConstant = 0x119D
	addressPrivate  = 0x119E
	typeConst       = 1 << 0

	groupSize         = 0x11B0
	groupRequired     = 0x11B1
	groupLocalMem     = 0x11B2
	groupMultiple     = 0x11B3
	groupPrivateBytes = 0x11B4

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
