//go:build opencl

package opencl

import (
	"runtime"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
)

// libraryEnv names the OpenCL library to load instead of the usual ones.
const libraryEnv = "HALYARD_OPENCL_LIBRARY"

func libraryNames() []string {
	switch runtime.GOOS {
	case "windows":
		return []string{"OpenCL.dll"}
	case "darwin":
		return []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	return []string{"libOpenCL.so.1", "libOpenCL.so"}
}

// procs holds the library's functions, by symbol.
type procs struct {
	GetPlatformIDs   dl.Proc `sym:"clGetPlatformIDs"`
	GetPlatformInfo  dl.Proc `sym:"clGetPlatformInfo"`
	GetDeviceIDs     dl.Proc `sym:"clGetDeviceIDs"`
	CreateSubDevices dl.Proc `sym:"clCreateSubDevices"`
	GetDeviceInfo    dl.Proc `sym:"clGetDeviceInfo"`
	Extension        dl.Proc `sym:"clGetExtensionFunctionAddressForPlatform"`
	CreateContext    dl.Proc `sym:"clCreateContext"`
	ReleaseContext   dl.Proc `sym:"clReleaseContext"`
	CreateQueue      dl.Proc `sym:"clCreateCommandQueue"`
	RetainQueue      dl.Proc `sym:"clRetainCommandQueue"`
	ReleaseQueue     dl.Proc `sym:"clReleaseCommandQueue"`
	QueueInfo        dl.Proc `sym:"clGetCommandQueueInfo"`
	Flush            dl.Proc `sym:"clFlush"`
	CreateBuffer     dl.Proc `sym:"clCreateBuffer"`
	RetainMem        dl.Proc `sym:"clRetainMemObject"`
	ReleaseMem       dl.Proc `sym:"clReleaseMemObject"`
	MemInfo          dl.Proc `sym:"clGetMemObjectInfo"`
	CreateSubBuffer  dl.Proc `sym:"clCreateSubBuffer"`
	CreateUserEvent  dl.Proc `sym:"clCreateUserEvent"`
	SetUserEvent     dl.Proc `sym:"clSetUserEventStatus"`
	RetainEvent      dl.Proc `sym:"clRetainEvent"`
	ReleaseEvent     dl.Proc `sym:"clReleaseEvent"`
	WaitForEvents    dl.Proc `sym:"clWaitForEvents"`
	GetEventInfo     dl.Proc `sym:"clGetEventInfo"`
	GetProfiling     dl.Proc `sym:"clGetEventProfilingInfo"`
	SetCallback      dl.Proc `sym:"clSetEventCallback"`
	Marker           dl.Proc `sym:"clEnqueueMarkerWithWaitList"`
	Barrier          dl.Proc `sym:"clEnqueueBarrierWithWaitList"`
	ReadBuffer       dl.Proc `sym:"clEnqueueReadBuffer"`
	WriteBuffer      dl.Proc `sym:"clEnqueueWriteBuffer"`
	CopyBuffer       dl.Proc `sym:"clEnqueueCopyBuffer"`
	FillBuffer       dl.Proc `sym:"clEnqueueFillBuffer"`
	MapBuffer        dl.Proc `sym:"clEnqueueMapBuffer"`
	UnmapMemObject   dl.Proc `sym:"clEnqueueUnmapMemObject"`

	CreateProgram    dl.Proc `sym:"clCreateProgramWithSource"`
	CreateBinary     dl.Proc `sym:"clCreateProgramWithBinary"`
	CreateIL         dl.Proc `sym:"clCreateProgramWithIL,optional"` // 2.1
	BuildProgram     dl.Proc `sym:"clBuildProgram"`
	CompileProgram   dl.Proc `sym:"clCompileProgram"`
	LinkProgram      dl.Proc `sym:"clLinkProgram"`
	ReleaseProgram   dl.Proc `sym:"clReleaseProgram"`
	ProgramInfo      dl.Proc `sym:"clGetProgramInfo"`
	ProgramBuildInfo dl.Proc `sym:"clGetProgramBuildInfo"`
	CreateKernel     dl.Proc `sym:"clCreateKernel"`
	ReleaseKernel    dl.Proc `sym:"clReleaseKernel"`
	KernelInfo       dl.Proc `sym:"clGetKernelInfo"`
	KernelArgInfo    dl.Proc `sym:"clGetKernelArgInfo"`
	WorkGroupInfo    dl.Proc `sym:"clGetKernelWorkGroupInfo"`
	SetKernelArg     dl.Proc `sym:"clSetKernelArg"`
	NDRange          dl.Proc `sym:"clEnqueueNDRangeKernel"`

	SetKernelArgSVM dl.Proc `sym:"clSetKernelArgSVMPointer,optional"` // 2.0

	SVMAlloc   dl.Proc `sym:"clSVMAlloc,optional"`
	SVMFree    dl.Proc `sym:"clSVMFree,optional"`
	SVMMemcpy  dl.Proc `sym:"clEnqueueSVMMemcpy,optional"`
	SVMMemFill dl.Proc `sym:"clEnqueueSVMMemFill,optional"`
	SVMMap     dl.Proc `sym:"clEnqueueSVMMap,optional"`
	SVMUnmap   dl.Proc `sym:"clEnqueueSVMUnmap,optional"`
	SVMMigrate dl.Proc `sym:"clEnqueueSVMMigrateMem,optional"`
}

// loadTable loads the OpenCL library.
func loadTable() (*table, error) {
	lib, err := dl.Open(libraryEnv, libraryNames()...)
	if err != nil {
		return nil, err
	}
	var p procs
	if _, err := lib.Fill(&p); err != nil {
		return nil, err
	}
	return loadedTable(lib.Name(), &p), nil
}

// enqueued returns the event and the status of an enqueue, and puts the words back into their pool. The event is
// the first word.
func enqueued(w *dl.Words, r uintptr) (uintptr, status) {
	ev := uintptr(w[0])
	w.Put()
	return ev, status(r)
}

// created returns the object that a call made and the call's status, and puts the words back into their pool. The
// status is the first word.
func created(w *dl.Words, r uintptr) (uintptr, status) {
	st := status(w[0])
	w.Put()
	if st != success {
		return 0, st
	}
	return r, success
}

func loadedTable(library string, p *procs) *table {
	t := &table{binding: "loaded", library: library}

	t.getPlatformIDs = func() ([]uintptr, status) {
		var n uint32
		if st := status(p.GetPlatformIDs.Call3(0, 0, uintptr(unsafe.Pointer(&n)))); st != success || n == 0 {
			return nil, st
		}
		ids := make([]uintptr, n)
		st := status(p.GetPlatformIDs.Call3(uintptr(n), uintptr(unsafe.Pointer(&ids[0])), uintptr(unsafe.Pointer(&n))))
		return ids[:min(int(n), len(ids))], st
	}
	t.getPlatformInfo = func(platform uintptr, param uint32, value []byte) (uint64, status) {
		var n uintptr
		st := status(p.GetPlatformInfo.Call5(platform, uintptr(param), uintptr(len(value)),
			uintptr(unsafe.Pointer(unsafe.SliceData(value))), uintptr(unsafe.Pointer(&n))))
		return uint64(n), st
	}
	t.getDeviceIDs = func(platform uintptr, kinds uint64) ([]uintptr, status) {
		var n uint32
		st := status(p.GetDeviceIDs.Call5(platform, uintptr(kinds), 0, 0, uintptr(unsafe.Pointer(&n))))
		if st != success || n == 0 {
			return nil, st
		}
		ids := make([]uintptr, n)
		st = status(p.GetDeviceIDs.Call5(platform, uintptr(kinds), uintptr(n),
			uintptr(unsafe.Pointer(&ids[0])), uintptr(unsafe.Pointer(&n))))
		return ids[:min(int(n), len(ids))], st
	}
	t.createSubDevices = func(device uintptr, split []uintptr) ([]uintptr, status) {
		ids := make([]uintptr, len(split)-3)
		st := status(p.CreateSubDevices.Call5(device, uintptr(unsafe.Pointer(&split[0])), uintptr(len(ids)), uintptr(unsafe.Pointer(&ids[0])), 0))
		return ids, st
	}
	t.getDeviceInfo = func(device uintptr, param uint32, value []byte) (uint64, status) {
		var n uintptr
		st := status(p.GetDeviceInfo.Call5(device, uintptr(param), uintptr(len(value)),
			uintptr(unsafe.Pointer(unsafe.SliceData(value))), uintptr(unsafe.Pointer(&n))))
		return uint64(n), st
	}
	t.usm = func(platform uintptr) *usmTable {
		return loadUSM(func(name string) dl.Proc {
			s := dl.CString(name)
			return dl.ProcAt(p.Extension.Call2(platform, uintptr(unsafe.Pointer(&s[0]))))
		})
	}

	t.createContext = func(platform, device uintptr) (uintptr, status) {
		w := dl.GetWords()
		properties := [3]uintptr{contextPlatform, platform, 0}
		r := p.CreateContext.Call6(uintptr(unsafe.Pointer(&properties)), 1, uintptr(unsafe.Pointer(&device)), 0, 0, w.At(0))
		return created(w, r)
	}
	t.releaseContext = func(context uintptr) status { return status(p.ReleaseContext.Call1(context)) }
	t.createQueue = func(context, device uintptr, properties uint64) (uintptr, status) {
		w := dl.GetWords()
		return created(w, p.CreateQueue.Call4(context, device, uintptr(properties), w.At(0)))
	}
	t.releaseQueue = func(queue uintptr) status { return status(p.ReleaseQueue.Call1(queue)) }
	t.retainQueue = func(queue uintptr) status { return status(p.RetainQueue.Call1(queue)) }
	t.queueInfo = func(queue uintptr, param uint32, value unsafe.Pointer, n uint64) status {
		return status(p.QueueInfo.Call5(queue, uintptr(param), uintptr(n), uintptr(value), 0))
	}
	t.flush = func(queue uintptr) status { return status(p.Flush.Call1(queue)) }

	t.createBuffer = func(context uintptr, flags, size uint64, host uintptr) (uintptr, status) {
		w := dl.GetWords()
		return created(w, p.CreateBuffer.Call5(context, uintptr(flags), uintptr(size), host, w.At(0)))
	}
	t.retainBuffer = func(mem uintptr) status { return status(p.RetainMem.Call1(mem)) }
	t.memInfo = func(mem uintptr, param uint32, value unsafe.Pointer, n uint64) status {
		return status(p.MemInfo.Call5(mem, uintptr(param), uintptr(n), uintptr(value), 0))
	}
	t.releaseBuffer = func(mem uintptr) status { return status(p.ReleaseMem.Call1(mem)) }

	t.createUserEvent = func(context uintptr) (uintptr, status) {
		w := dl.GetWords()
		return created(w, p.CreateUserEvent.Call2(context, w.At(0)))
	}
	t.setUserEvent = func(event uintptr, exec int32) status {
		return status(p.SetUserEvent.Call2(event, uintptr(exec)))
	}
	t.retainEvent = func(event uintptr) status { return status(p.RetainEvent.Call1(event)) }
	t.releaseEvent = func(event uintptr) status { return status(p.ReleaseEvent.Call1(event)) }
	t.waitForEvent = func(event uintptr) status {
		w := dl.GetWords()
		w[0] = uint64(event)
		st := status(p.WaitForEvents.Call2(1, w.At(0)))
		w.Put()
		return st
	}
	t.eventStatus = func(event uintptr) (int32, status) {
		w := dl.GetWords()
		st := status(p.GetEventInfo.Call5(event, eventCommandExecutionStatus, 4, w.At(0), 0))
		exec := int32(w[0])
		w.Put()
		return exec, st
	}
	t.eventProfile = func(event uintptr, param uint32) (uint64, status) {
		w := dl.GetWords()
		st := status(p.GetProfiling.Call5(event, uintptr(param), 8, w.At(0), 0))
		ns := w[0]
		w.Put()
		return ns, st
	}
	t.setEventCallback = func(event, entry, data uintptr) status {
		return status(p.SetCallback.Call4(event, execComplete, entry, data))
	}

	t.marker = func(queue uintptr) (uintptr, status) {
		w := dl.GetWords()
		return enqueued(w, p.Marker.Call4(queue, 0, 0, w.At(0)))
	}
	t.barrier = func(queue, wait uintptr) (uintptr, status) {
		w := dl.GetWords()
		w[1] = uint64(wait)
		return enqueued(w, p.Barrier.Call4(queue, 1, w.At(1), w.At(0)))
	}
	t.readBuffer = func(queue, mem uintptr, off, n uint64, dst uintptr) (uintptr, status) {
		w := dl.GetWords()
		return enqueued(w, p.ReadBuffer.Call9(queue, mem, 0, uintptr(off), uintptr(n), dst, 0, 0, w.At(0)))
	}
	t.writeBuffer = func(queue, mem uintptr, off, n uint64, src uintptr) (uintptr, status) {
		w := dl.GetWords()
		return enqueued(w, p.WriteBuffer.Call9(queue, mem, 0, uintptr(off), uintptr(n), src, 0, 0, w.At(0)))
	}
	t.copyBuffer = func(queue, src, dst uintptr, srcOff, dstOff, n uint64) (uintptr, status) {
		w := dl.GetWords()
		return enqueued(w, p.CopyBuffer.Call9(queue, src, dst, uintptr(srcOff), uintptr(dstOff), uintptr(n), 0, 0, w.At(0)))
	}
	t.fillBuffer = func(queue, mem uintptr, bits, width, off, n uint64) (uintptr, status) {
		w := dl.GetWords()
		w[1] = bits
		return enqueued(w, p.FillBuffer.Call9(queue, mem, w.At(1), uintptr(width), uintptr(off), uintptr(n), 0, 0, w.At(0)))
	}
	t.mapBuffer = func(queue, mem uintptr, flags, off, n uint64) (uintptr, uintptr, status) {
		w := dl.GetWords()
		addr := p.MapBuffer.Call10(queue, mem, 0, uintptr(flags), uintptr(off), uintptr(n), 0, 0, w.At(0), w.At(1))
		st := status(w[1])
		ev, _ := enqueued(w, 0)
		return addr, ev, st
	}
	t.unmapBuffer = func(queue, mem, addr uintptr) (uintptr, status) {
		w := dl.GetWords()
		return enqueued(w, p.UnmapMemObject.Call6(queue, mem, addr, 0, 0, w.At(0)))
	}

	loadPrograms(t, p)
	if p.SVMAlloc.Valid() && p.SVMFree.Valid() && p.SVMMemcpy.Valid() && p.SVMMemFill.Valid() &&
		p.SVMMap.Valid() && p.SVMUnmap.Valid() {
		loadSVM(t, p)
	}
	return t
}

// address returns the address of the first byte, nil if the slice is nil. The result must be used in the argument list of a
// call, which keeps the memory alive.
func address(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

func loadPrograms(t *table, p *procs) {
	t.createSubBuffer = func(mem uintptr, off, n uint64) (uintptr, status) {
		w := dl.GetWords()
		w[1], w[2] = off, n
		return created(w, p.CreateSubBuffer.Call5(mem, 0, bufferCreateRegion, w.At(1), w.At(0)))
	}
	t.createProgram = func(context uintptr, source string) (uintptr, status) {
		w := dl.GetWords()
		w[1] = uint64(len(source)) // if it were 0, OpenCL would read the text up to a zero byte
		texts := &[1]unsafe.Pointer{address(dl.CString(source))}
		return created(w, p.CreateProgram.Call5(context, 1, uintptr(unsafe.Pointer(texts)), w.At(1), w.At(0)))
	}
	t.createBinaryProgram = func(context, device uintptr, code []byte) (uintptr, status) {
		w := dl.GetWords()
		w[1], w[2] = uint64(len(code)), uint64(device)
		codes := &[1]unsafe.Pointer{address(code)}
		program := p.CreateBinary.Call7(context, 1, w.At(2), w.At(1), uintptr(unsafe.Pointer(codes)), w.At(3), w.At(0))
		loaded := status(w[3])
		program, st := created(w, program)
		if st == success && loaded != success {
			p.ReleaseProgram.Call1(program)
			return 0, loaded
		}
		return program, st
	}
	createIL := func(create dl.Proc) func(uintptr, []byte) (uintptr, status) {
		return func(context uintptr, code []byte) (uintptr, status) {
			w := dl.GetWords()
			return created(w, create.Call4(context, uintptr(address(code)), uintptr(len(code)), w.At(0)))
		}
	}
	if p.CreateIL.Valid() {
		t.createILProgram = createIL(p.CreateIL)
	}
	t.ilPrograms = func(platform uintptr) func(uintptr, []byte) (uintptr, status) {
		name := dl.CString("clCreateProgramWithILKHR")
		create := dl.ProcAt(p.Extension.Call2(platform, uintptr(unsafe.Pointer(&name[0]))))
		if !create.Valid() {
			return nil
		}
		return createIL(create)
	}
	t.buildProgram = func(program, device uintptr, options string) status {
		w := dl.GetWords()
		w[0] = uint64(device)
		text := dl.CString(options)
		st := status(p.BuildProgram.Call6(program, 1, w.At(0), uintptr(unsafe.Pointer(&text[0])), 0, 0))
		w.Put()
		return st
	}
	t.compileProgram = func(program, device uintptr, options string, headers []uintptr, names []string) status {
		w := dl.GetWords()
		w[0] = uint64(device)
		text := dl.CString(options)
		var list []unsafe.Pointer
		for _, name := range names {
			list = append(list, unsafe.Pointer(unsafe.SliceData(dl.CString(name))))
		}
		st := status(p.CompileProgram.Call9(program, 1, w.At(0), uintptr(unsafe.Pointer(&text[0])), uintptr(len(headers)),
			uintptr(unsafe.Pointer(unsafe.SliceData(headers))), uintptr(unsafe.Pointer(unsafe.SliceData(list))), 0, 0))
		w.Put()
		return st
	}
	t.linkProgram = func(context, device, compiled uintptr) (uintptr, status) {
		w := dl.GetWords()
		w[1], w[2] = uint64(device), uint64(compiled)
		// Unlike other calls, this one may fail and return a program: the build log can be read
		// from it.
		program := p.LinkProgram.Call9(context, 1, w.At(1), 0, 1, w.At(2), 0, 0, w.At(0))
		st := status(w[0])
		w.Put()
		return program, st
	}
	t.releaseProgram = func(program uintptr) status { return status(p.ReleaseProgram.Call1(program)) }
	t.programInfo = func(program uintptr, param uint32, value []byte) (uint64, status) {
		var n uintptr
		st := status(p.ProgramInfo.Call5(program, uintptr(param), uintptr(len(value)), uintptr(address(value)), uintptr(unsafe.Pointer(&n))))
		return uint64(n), st
	}
	t.programBuildInfo = func(program, device uintptr, param uint32, value []byte) (uint64, status) {
		var n uintptr
		st := status(p.ProgramBuildInfo.Call6(program, device, uintptr(param), uintptr(len(value)), uintptr(address(value)), uintptr(unsafe.Pointer(&n))))
		return uint64(n), st
	}
	t.programBinary = func(program uintptr, code []byte) status {
		codes := &[1]unsafe.Pointer{address(code)}
		return status(p.ProgramInfo.Call5(program, programBinaries, unsafe.Sizeof(codes), uintptr(unsafe.Pointer(codes)), 0))
	}
	t.createKernel = func(program uintptr, name string) (uintptr, status) {
		w := dl.GetWords()
		text := dl.CString(name)
		return created(w, p.CreateKernel.Call3(program, uintptr(unsafe.Pointer(&text[0])), w.At(0)))
	}
	t.releaseKernel = func(kernel uintptr) status { return status(p.ReleaseKernel.Call1(kernel)) }
	t.kernelInfo = func(kernel uintptr, param uint32, value []byte) (uint64, status) {
		var n uintptr
		st := status(p.KernelInfo.Call5(kernel, uintptr(param), uintptr(len(value)), uintptr(address(value)), uintptr(unsafe.Pointer(&n))))
		return uint64(n), st
	}
	t.kernelArgInfo = func(kernel uintptr, index, param uint32, value []byte) (uint64, status) {
		var n uintptr
		st := status(p.KernelArgInfo.Call6(kernel, uintptr(index), uintptr(param), uintptr(len(value)), uintptr(address(value)), uintptr(unsafe.Pointer(&n))))
		return uint64(n), st
	}
	t.kernelWorkGroupInfo = func(kernel, device uintptr, param uint32, value []byte) (uint64, status) {
		var n uintptr
		st := status(p.WorkGroupInfo.Call6(kernel, device, uintptr(param), uintptr(len(value)), uintptr(address(value)), uintptr(unsafe.Pointer(&n))))
		return uint64(n), st
	}
	t.setKernelArg = func(kernel uintptr, index uint32, n uint64, value unsafe.Pointer) status {
		return status(p.SetKernelArg.Call4(kernel, uintptr(index), uintptr(n), uintptr(value)))
	}
	t.ndRange = func(queue, kernel uintptr, dims uint32, global, local [3]uint64) (uintptr, status) {
		w := dl.GetWords()
		copy(w[1:], global[:])
		copy(w[4:], local[:])
		return enqueued(w, p.NDRange.Call9(queue, kernel, uintptr(dims), 0, w.At(1), w.At(4), 0, 0, w.At(0)))
	}
	if p.SetKernelArgSVM.Valid() {
		t.setKernelArgSVM = func(kernel uintptr, index uint32, addr uintptr) status {
			return status(p.SetKernelArgSVM.Call3(kernel, uintptr(index), addr))
		}
	}
}

func loadSVM(t *table, p *procs) {
	t.svmAlloc = func(context uintptr, flags, size, align uint64) uintptr {
		return p.SVMAlloc.Call4(context, uintptr(flags), uintptr(size), uintptr(align))
	}
	t.svmFree = func(context, addr uintptr) { p.SVMFree.Call2(context, addr) }
	t.svmMemcpy = func(queue, dst, src uintptr, n uint64) (uintptr, status) {
		w := dl.GetWords()
		return enqueued(w, p.SVMMemcpy.Call8(queue, 0, dst, src, uintptr(n), 0, 0, w.At(0)))
	}
	t.svmFill = func(queue, dst uintptr, bits, width, n uint64) (uintptr, status) {
		w := dl.GetWords()
		w[1] = bits
		return enqueued(w, p.SVMMemFill.Call8(queue, dst, w.At(1), uintptr(width), uintptr(n), 0, 0, w.At(0)))
	}
	t.svmMap = func(queue uintptr, flags uint64, addr uintptr, n uint64) (uintptr, status) {
		w := dl.GetWords()
		return enqueued(w, p.SVMMap.Call8(queue, 0, uintptr(flags), addr, uintptr(n), 0, 0, w.At(0)))
	}
	t.svmUnmap = func(queue, addr uintptr) (uintptr, status) {
		w := dl.GetWords()
		return enqueued(w, p.SVMUnmap.Call5(queue, addr, 0, 0, w.At(0)))
	}
	if p.SVMMigrate.Valid() {
		t.svmMigrate = func(queue, addr uintptr, n, flags uint64) (uintptr, status) {
			w := dl.GetWords()
			w[1], w[2] = uint64(addr), n
			return enqueued(w, p.SVMMigrate.Call8(queue, 1, w.At(1), w.At(2), uintptr(flags), 0, 0, w.At(0)))
		}
	}
}

// loadUSM looks up the functions of cl_intel_unified_shared_memory of one platform. It returns nil
// if the platform lacks one that the backend needs.
func loadUSM(extension func(name string) dl.Proc) *usmTable {
	var (
		hostAlloc   = extension("clHostMemAllocINTEL")
		deviceAlloc = extension("clDeviceMemAllocINTEL")
		sharedAlloc = extension("clSharedMemAllocINTEL")
		free        = extension("clMemFreeINTEL")
		memcpy      = extension("clEnqueueMemcpyINTEL")
		fill        = extension("clEnqueueMemFillINTEL")
	)
	for _, p := range []dl.Proc{hostAlloc, deviceAlloc, sharedAlloc, free, memcpy, fill} {
		if !p.Valid() {
			return nil
		}
	}
	u := &usmTable{}
	u.hostAlloc = func(context uintptr, size, align uint64) (uintptr, status) {
		w := dl.GetWords()
		return created(w, hostAlloc.Call5(context, 0, uintptr(size), uintptr(align), w.At(0)))
	}
	u.deviceAlloc = func(context, device uintptr, size, align uint64) (uintptr, status) {
		w := dl.GetWords()
		return created(w, deviceAlloc.Call6(context, device, 0, uintptr(size), uintptr(align), w.At(0)))
	}
	u.sharedAlloc = func(context, device uintptr, size, align uint64) (uintptr, status) {
		w := dl.GetWords()
		return created(w, sharedAlloc.Call6(context, device, 0, uintptr(size), uintptr(align), w.At(0)))
	}
	u.free = func(context, addr uintptr) status { return status(free.Call2(context, addr)) }
	u.memcpy = func(queue, dst, src uintptr, n uint64) (uintptr, status) {
		w := dl.GetWords()
		return enqueued(w, memcpy.Call8(queue, 0, dst, src, uintptr(n), 0, 0, w.At(0)))
	}
	u.fill = func(queue, dst uintptr, bits, width, n uint64) (uintptr, status) {
		w := dl.GetWords()
		w[1] = bits
		return enqueued(w, fill.Call8(queue, dst, w.At(1), uintptr(width), uintptr(n), 0, 0, w.At(0)))
	}
	if set := extension("clSetKernelArgMemPointerINTEL"); set.Valid() {
		u.setKernelArg = func(kernel uintptr, index uint32, addr uintptr) status {
			return status(set.Call3(kernel, uintptr(index), addr))
		}
	}
	if info := extension("clGetMemAllocInfoINTEL"); info.Valid() {
		u.allocInfo = func(context, ptr uintptr, param uint32, value unsafe.Pointer, n uint64) status {
			return status(info.Call6(context, ptr, uintptr(param), uintptr(n), uintptr(value), 0))
		}
	}
	return u
}
