//go:build opencl && linked && cgo

package opencl

// go-gl/cl links with -lCL. The linker finds it in the folder lib: a script that names the system's
// OpenCL library.

// #cgo linux LDFLAGS: -L${SRCDIR}/lib
import "C"

import (
	"os"
	"unsafe"

	"github.com/go-gl/cl/v1.2/cl"

	"github.com/go-halyard/halyard/internal/dl"
)

// bindTable fills the table from go-gl/cl, which has the calls of OpenCL 1.2. Newer calls and extensions come from the
// loaded library. So do callbacks, because go-gl/cl would store Go pointers in C. If the environment names a library,
// all calls come from that library.
func bindTable() (*table, error) {
	t, err := loadTable()
	if err != nil || os.Getenv(libraryEnv) != "" {
		return t, err
	}
	link(t)
	return t, nil
}

func clDevice(h uintptr) cl.DeviceId     { return cl.DeviceId(dl.Pointer(h)) }
func clPlatform(h uintptr) cl.PlatformID { return cl.PlatformID(dl.Pointer(h)) }
func clQueue(h uintptr) cl.CommandQueue  { return cl.CommandQueue(dl.Pointer(h)) }
func clMem(h uintptr) cl.Mem             { return cl.Mem(dl.Pointer(h)) }
func clProgram(h uintptr) cl.Program     { return cl.Program(dl.Pointer(h)) }
func clKernel(h uintptr) cl.Kernel       { return cl.Kernel(dl.Pointer(h)) }

// linkedContext has the layout of the struct that cl.Context points to: the handle, a function and an
// interface.
type linkedContext struct {
	handle uintptr
	_      [3]uintptr
}

func clContext(c *linkedContext) cl.Context { return cl.Context(unsafe.Pointer(c)) }

// clEvent returns a cl.Event, which is a handle and a slice, 32 bytes in all. For C a list of events is an array of
// handles, so a pointer to a cl.Event is a valid list of one event.
func clEvent(h uintptr) cl.Event {
	words := [4]uintptr{h}
	return *(*cl.Event)(unsafe.Pointer(&words))
}

// out returns the place for the event that a call returns, in the place for the event that it waits
// for.
func out(w *dl.Words) *cl.Event { return (*cl.Event)(unsafe.Pointer(&w[0])) }
func in(w *dl.Words) *cl.Event  { return (*cl.Event)(unsafe.Pointer(&w[4])) }

// linkedEvent returns the event and the status of an enqueue, and gives the words back.
func linkedEvent(w *dl.Words, code cl.ErrorCode) (uintptr, status) {
	return enqueued(w, uintptr(code))
}

func code(w *dl.Words) *cl.ErrorCode { return (*cl.ErrorCode)(unsafe.Pointer(&w[0])) }

func link(t *table) {
	t.binding = "linked"

	t.getPlatformIDs = func() ([]uintptr, status) {
		var n uint32
		if st := status(cl.GetPlatformIDs(0, nil, &n)); st != success || n == 0 {
			return nil, st
		}
		ids := make([]uintptr, n)
		st := status(cl.GetPlatformIDs(n, (*cl.PlatformID)(unsafe.Pointer(&ids[0])), &n))
		return ids[:min(int(n), len(ids))], st
	}
	t.getPlatformInfo = func(platform uintptr, param uint32, value []byte) (uint64, status) {
		var n uint64
		st := status(cl.GetPlatformInfo(clPlatform(platform), cl.PlatformInfo(param), uint64(len(value)),
			unsafe.Pointer(unsafe.SliceData(value)), &n))
		return n, st
	}
	t.getDeviceIDs = func(platform uintptr, kinds uint64) ([]uintptr, status) {
		var n uint32
		st := status(cl.GetDeviceIDs(clPlatform(platform), cl.DeviceType(kinds), 0, nil, &n))
		if st != success || n == 0 {
			return nil, st
		}
		ids := make([]uintptr, n)
		st = status(cl.GetDeviceIDs(clPlatform(platform), cl.DeviceType(kinds), n, (*cl.DeviceId)(unsafe.Pointer(&ids[0])), &n))
		return ids[:min(int(n), len(ids))], st
	}
	t.createSubDevices = func(device uintptr, split []uintptr) ([]uintptr, status) {
		ids := make([]uintptr, len(split)-3)
		st := status(cl.CreateSubDevices(clDevice(device), (*cl.DevicePartitionProperty)(unsafe.Pointer(&split[0])), uint32(len(ids)),
			(*cl.DeviceId)(unsafe.Pointer(&ids[0])), nil))
		return ids, st
	}
	t.getDeviceInfo = func(device uintptr, param uint32, value []byte) (uint64, status) {
		var n uint64
		st := status(cl.GetDeviceInfo(clDevice(device), cl.DeviceInfo(param), uint64(len(value)),
			unsafe.Pointer(unsafe.SliceData(value)), &n))
		return n, st
	}

	t.createContext = func(platform, device uintptr) (uintptr, status) {
		properties := [3]uintptr{contextPlatform, platform, 0}
		var st cl.ErrorCode
		c := cl.CreateContext((*cl.ContextProperties)(unsafe.Pointer(&properties)), 1,
			(*cl.DeviceId)(unsafe.Pointer(&device)), nil, nil, &st)
		return (*linkedContext)(unsafe.Pointer(c)).handle, status(st)
	}
	t.releaseContext = func(context uintptr) status {
		c := linkedContext{handle: context}
		return status(cl.ReleaseContext(clContext(&c)))
	}
	t.createQueue = func(context, device uintptr, properties uint64) (uintptr, status) {
		c := linkedContext{handle: context}
		var st cl.ErrorCode
		q := cl.CreateCommandQueue(clContext(&c), clDevice(device), cl.CommandQueueProperties(properties), &st)
		return uintptr(unsafe.Pointer(q)), status(st)
	}
	t.releaseQueue = func(queue uintptr) status {
		cl.ReleaseCommandQueue(clQueue(queue))
		return success
	}
	t.flush = func(queue uintptr) status { return status(cl.Flush(clQueue(queue))) }

	t.createBuffer = func(context uintptr, flags, size uint64, host uintptr) (uintptr, status) {
		c := linkedContext{handle: context}
		w := dl.GetWords()
		m := cl.CreateBuffer(clContext(&c), cl.MemFlags(flags), size, dl.Pointer(host), code(w))
		return created(w, uintptr(unsafe.Pointer(m)))
	}
	t.releaseBuffer = func(mem uintptr) status { return status(cl.ReleaseMemObject(clMem(mem))) }

	t.createUserEvent = func(context uintptr) (uintptr, status) {
		c := linkedContext{handle: context}
		w := dl.GetWords()
		e := cl.CreateUserEvent(clContext(&c), code(w))
		return created(w, *(*uintptr)(unsafe.Pointer(&e)))
	}
	t.setUserEvent = func(event uintptr, exec int32) status {
		return status(cl.SetUserEventStatus(clEvent(event), exec))
	}
	t.retainEvent = func(event uintptr) status { return status(cl.RetainEvent(clEvent(event))) }
	t.releaseEvent = func(event uintptr) status { return status(cl.ReleaseEvent(clEvent(event))) }
	t.waitForEvent = func(event uintptr) status {
		w := dl.GetWords()
		w[4] = uint64(event)
		st := status(cl.WaitForEvents(1, in(w)))
		w.Put()
		return st
	}
	t.eventStatus = func(event uintptr) (int32, status) {
		w := dl.GetWords()
		st := status(cl.GetEventInfo(clEvent(event), eventCommandExecutionStatus, 4, unsafe.Pointer(&w[0]), nil))
		exec := int32(w[0])
		w.Put()
		return exec, st
	}
	t.eventProfile = func(event uintptr, param uint32) (uint64, status) {
		w := dl.GetWords()
		st := status(cl.GetEventProfilingInfo(clEvent(event), cl.ProfilingInfo(param), 8, unsafe.Pointer(&w[0]), nil))
		ns := w[0]
		w.Put()
		return ns, st
	}

	linkPrograms(t)

	t.marker = func(queue uintptr) (uintptr, status) {
		w := dl.GetWords()
		return linkedEvent(w, cl.EnqueueMarkerWithWaitList(clQueue(queue), 0, nil, out(w)))
	}
	t.barrier = func(queue, wait uintptr) (uintptr, status) {
		w := dl.GetWords()
		w[4] = uint64(wait)
		return linkedEvent(w, cl.EnqueueBarrierWithWaitList(clQueue(queue), 1, in(w), out(w)))
	}
	t.readBuffer = func(queue, mem uintptr, off, n uint64, dst uintptr) (uintptr, status) {
		w := dl.GetWords()
		return linkedEvent(w, cl.EnqueueReadBuffer(clQueue(queue), clMem(mem), cl.NON_BLOCKING, off, n, dl.Pointer(dst), 0, nil, out(w)))
	}
	t.writeBuffer = func(queue, mem uintptr, off, n uint64, src uintptr) (uintptr, status) {
		w := dl.GetWords()
		return linkedEvent(w, cl.EnqueueWriteBuffer(clQueue(queue), clMem(mem), cl.NON_BLOCKING, off, n, dl.Pointer(src), 0, nil, out(w)))
	}
	t.copyBuffer = func(queue, src, dst uintptr, srcOff, dstOff, n uint64) (uintptr, status) {
		w := dl.GetWords()
		return linkedEvent(w, cl.EnqueueCopyBuffer(clQueue(queue), clMem(src), clMem(dst), srcOff, dstOff, n, 0, nil, out(w)))
	}
	t.fillBuffer = func(queue, mem uintptr, bits, width, off, n uint64) (uintptr, status) {
		w := dl.GetWords()
		w[4] = bits
		return linkedEvent(w, cl.EnqueueFillBuffer(clQueue(queue), clMem(mem), unsafe.Pointer(&w[4]), width, off, n, 0, nil, out(w)))
	}
	t.mapBuffer = func(queue, mem uintptr, flags, off, n uint64) (uintptr, uintptr, status) {
		w := dl.GetWords()
		addr := cl.EnqueueMapBuffer(clQueue(queue), clMem(mem), cl.NON_BLOCKING, flags, off, n, 0, nil, out(w), (*int32)(unsafe.Pointer(&w[4])))
		st := status(w[4])
		ev, _ := linkedEvent(w, 0)
		return uintptr(addr), ev, st
	}
	t.unmapBuffer = func(queue, mem, addr uintptr) (uintptr, status) {
		w := dl.GetWords()
		return linkedEvent(w, cl.EnqueueUnmapMemObject(clQueue(queue), clMem(mem), dl.Pointer(addr), 0, nil, out(w)))
	}
}

// linkPrograms fills in the calls for programs and kernels. Calls that take lists of texts stay
// those of the loaded library: cgo does not let Go memory that is passed to C contain Go pointers.
func linkPrograms(t *table) {
	t.createSubBuffer = func(mem uintptr, off, n uint64) (uintptr, status) {
		w := dl.GetWords()
		w[1], w[2] = off, n
		m := cl.CreateSubBuffer(clMem(mem), 0, bufferCreateRegion, unsafe.Pointer(&w[1]), code(w))
		return created(w, uintptr(unsafe.Pointer(m)))
	}
	t.buildProgram = func(program, device uintptr, options string) status {
		text := dl.CString(options)
		ids := [1]uintptr{device}
		return status(cl.BuildProgram(clProgram(program), 1, (*cl.DeviceId)(unsafe.Pointer(&ids)), &text[0], nil, nil))
	}
	t.releaseProgram = func(program uintptr) status { return status(cl.ReleaseProgram(clProgram(program))) }
	t.programInfo = func(program uintptr, param uint32, value []byte) (uint64, status) {
		var n uint64
		st := status(cl.GetProgramInfo(clProgram(program), cl.ProgramInfo(param), uint64(len(value)), address(value), &n))
		return n, st
	}
	t.programBuildInfo = func(program, device uintptr, param uint32, value []byte) (uint64, status) {
		var n uint64
		st := status(cl.GetProgramBuildInfo(clProgram(program), clDevice(device), cl.ProgramBuildInfo(param), uint64(len(value)), address(value), &n))
		return n, st
	}
	t.createKernel = func(program uintptr, name string) (uintptr, status) {
		w := dl.GetWords()
		text := dl.CString(name)
		k := cl.CreateKernel(clProgram(program), &text[0], code(w))
		return created(w, uintptr(unsafe.Pointer(k)))
	}
	t.releaseKernel = func(kernel uintptr) status { return status(cl.ReleaseKernel(clKernel(kernel))) }
	t.kernelInfo = func(kernel uintptr, param uint32, value []byte) (uint64, status) {
		var n uint64
		st := status(cl.GetKernelInfo(clKernel(kernel), cl.KernelInfo(param), uint64(len(value)), address(value), &n))
		return n, st
	}
	t.kernelArgInfo = func(kernel uintptr, index, param uint32, value []byte) (uint64, status) {
		var n uint64
		st := status(cl.GetKernelArgInfo(clKernel(kernel), index, cl.KernelArgInfo(param), uint64(len(value)), address(value), &n))
		return n, st
	}
	t.kernelWorkGroupInfo = func(kernel, device uintptr, param uint32, value []byte) (uint64, status) {
		var n uint64
		st := status(cl.GetKernelWorkGroupInfo(clKernel(kernel), clDevice(device), cl.KernelWorkGroupInfo(param), uint64(len(value)), address(value), &n))
		return n, st
	}
	loaded := t.setKernelArg
	t.setKernelArg = func(kernel uintptr, index uint32, n uint64, value unsafe.Pointer) status {
		w := dl.GetWords()
		defer w.Put()
		switch {
		case value == nil:
			return status(cl.SetKernelArg(clKernel(kernel), index, n, nil))
		case n > uint64(unsafe.Sizeof(*w)):
			return loaded(kernel, index, n, value)
		}
		// cgo checks the whole object that contains the value and would find Go pointers in it, so C gets
		// a copy of the value.
		copy(unsafe.Slice((*byte)(unsafe.Pointer(w)), n), unsafe.Slice((*byte)(value), n))
		return status(cl.SetKernelArg(clKernel(kernel), index, n, unsafe.Pointer(w)))
	}
	t.ndRange = func(queue, kernel uintptr, dims uint32, global, local [3]uint64) (uintptr, status) {
		sizes, w := dl.GetWords(), dl.GetWords()
		copy(sizes[0:], global[:])
		copy(sizes[3:], local[:])
		st := cl.EnqueueNDRangeKernel(clQueue(queue), clKernel(kernel), dims, nil, &sizes[0], &sizes[3], 0, nil, out(w))
		sizes.Put()
		return linkedEvent(w, st)
	}
}
