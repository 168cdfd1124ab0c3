package peer

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
)

// clProcs are the calls that every OpenCL library has, and the calls of shared virtual memory.
type clProcs struct {
	GetQueueInfo   dl.Proc `sym:"clGetCommandQueueInfo"`
	GetDeviceInfo  dl.Proc `sym:"clGetDeviceInfo"`
	Extension      dl.Proc `sym:"clGetExtensionFunctionAddressForPlatform"`
	CreateQueue    dl.Proc `sym:"clCreateCommandQueue"`
	ReleaseQueue   dl.Proc `sym:"clReleaseCommandQueue"`
	Flush          dl.Proc `sym:"clFlush"`
	Finish         dl.Proc `sym:"clFinish"`
	ReleaseEvent   dl.Proc `sym:"clReleaseEvent"`
	Marker         dl.Proc `sym:"clEnqueueMarkerWithWaitList"`
	Barrier        dl.Proc `sym:"clEnqueueBarrierWithWaitList"`
	CreateBuffer   dl.Proc `sym:"clCreateBuffer"`
	ReleaseMem     dl.Proc `sym:"clReleaseMemObject"`
	ReadBuffer     dl.Proc `sym:"clEnqueueReadBuffer"`
	WriteBuffer    dl.Proc `sym:"clEnqueueWriteBuffer"`
	CopyBuffer     dl.Proc `sym:"clEnqueueCopyBuffer"`
	FillBuffer     dl.Proc `sym:"clEnqueueFillBuffer"`
	SVMAlloc       dl.Proc `sym:"clSVMAlloc,optional"`
	SVMFree        dl.Proc `sym:"clSVMFree,optional"`
	EnqueueMemcpy  dl.Proc `sym:"clEnqueueSVMMemcpy,optional"`
	EnqueueMemFill dl.Proc `sym:"clEnqueueSVMMemFill,optional"`
}

const (
	queueContext   = 0x1090
	queueDevice    = 0x1091
	devicePlatform = 0x1031

	memReadWrite = 1 << 0
	memSVMFine   = 1 << 10
	allocAlign   = 128 // bytes, the size of long16
)

// cl is an OpenCL device that is used in one tier of memory.
type cl struct {
	clProcs
	kernels clKernelProcs
	names   names

	context, device uintptr
	queue, second   uintptr

	// The tier's calls. memcpy and fill are nil for cl_mem.
	memcpy, fill dl.Proc
	usmAlloc     dl.Proc // called with the context, and with the device if that is not 0
	usmFree      dl.Proc
	usmDevice    bool
	setUSM       dl.Proc
	svmFlags     uintptr

	out  [2]uint64 // where a call stores the handles that it makes
	bits uint64    // the pattern of a fill
}

// OpenCL returns the peer of the device that a queue belongs to. tier is the device's Info.MemoryModel. unified says whether the device
// works on host memory in place.
func OpenCL(queue uintptr, tier string, unified bool) (Peer, error) {
	libraries := []string{"libOpenCL.so.1", "libOpenCL.so"}
	switch runtime.GOOS {
	case "windows":
		libraries = []string{"OpenCL.dll"}
	case "darwin":
		libraries = []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	lib, err := dl.Open("HALYARD_OPENCL_LIBRARY", libraries...)
	if err != nil {
		return nil, err
	}
	c := &cl{}
	if _, err := lib.Fill(&c.clProcs); err != nil {
		return nil, err
	}
	if _, err := lib.Fill(&c.kernels); err != nil {
		return nil, err
	}
	if c.context, err = c.ask("clGetCommandQueueInfo", c.GetQueueInfo, queue, queueContext); err != nil {
		return nil, err
	}
	if c.device, err = c.ask("clGetCommandQueueInfo", c.GetQueueInfo, queue, queueDevice); err != nil {
		return nil, err
	}
	if err := c.reach(tier, unified); err != nil {
		return nil, err
	}
	for _, q := range []*uintptr{&c.queue, &c.second} {
		*q = c.CreateQueue.Call4(c.context, c.device, 0, c.at(0))
		if err := status("clCreateCommandQueue", uintptr(c.out[0])); err != nil {
			*q = 0
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

func (c *cl) at(i int) uintptr { return uintptr(unsafe.Pointer(&c.out[i])) }

// ask queries one word of information.
func (c *cl) ask(call string, p dl.Proc, object, what uintptr) (uintptr, error) {
	err := status(call, p.Call5(object, what, unsafe.Sizeof(uintptr(0)), c.at(0), 0))
	return uintptr(c.out[0]), err
}

// reach looks up the calls of a tier.
func (c *cl) reach(tier string, unified bool) error {
	c.names = names{
		CopyIn: "clEnqueueSVMMemcpy", CopyOut: "clEnqueueSVMMemcpy", Copy: "clEnqueueSVMMemcpy", Fill: "clEnqueueSVMMemFill",
		Sync: "clFinish", AllocFree: "clSVMAlloc, clSVMFree", Record: "clEnqueueMarker, clReleaseEvent",
		RecordWait: "clEnqueueMarker, clFlush, clEnqueueBarrier",
	}
	switch tier {
	case "buffer":
		c.names[CopyIn], c.names[CopyOut], c.names[Copy] = "clEnqueueWriteBuffer", "clEnqueueReadBuffer", "clEnqueueCopyBuffer"
		c.names[Fill], c.names[AllocFree] = "clEnqueueFillBuffer", "clCreateBuffer, clReleaseMemObject"
		return nil
	case "svm", "svm-coarse":
		c.memcpy, c.fill = c.EnqueueMemcpy, c.EnqueueMemFill
		c.svmFlags = memReadWrite
		if tier == "svm" && unified {
			c.svmFlags |= memSVMFine
		}
		if !c.memcpy.Valid() || !c.fill.Valid() || !c.SVMAlloc.Valid() || !c.SVMFree.Valid() {
			return fmt.Errorf("the OpenCL library lacks calls of the tier %s", tier)
		}
		return nil
	case "usm":
		alloc := "clHostMemAllocINTEL"
		if !unified {
			alloc, c.usmDevice = "clDeviceMemAllocINTEL", true
		}
		platform, err := c.ask("clGetDeviceInfo", c.GetDeviceInfo, c.device, devicePlatform)
		if err != nil {
			return err
		}
		for name, p := range map[string]*dl.Proc{
			"clEnqueueMemcpyINTEL": &c.memcpy, "clEnqueueMemFillINTEL": &c.fill, alloc: &c.usmAlloc, "clMemFreeINTEL": &c.usmFree,
			"clSetKernelArgMemPointerINTEL": &c.setUSM,
		} {
			symbol := dl.CString(name)
			if *p = dl.ProcAt(c.Extension.Call2(platform, uintptr(unsafe.Pointer(&symbol[0])))); !p.Valid() {
				return fmt.Errorf("the platform lacks %s", name)
			}
		}
		c.names[CopyIn], c.names[CopyOut], c.names[Copy] = "clEnqueueMemcpyINTEL", "clEnqueueMemcpyINTEL", "clEnqueueMemcpyINTEL"
		c.names[Fill], c.names[AllocFree] = "clEnqueueMemFillINTEL", alloc+", clMemFreeINTEL"
		return nil
	}
	return fmt.Errorf("unknown tier %q", tier)
}

func (c *cl) Names(op Op) string { return c.names[op] }

func (c *cl) Enter() error   { return nil }
func (c *cl) current() error { return nil }

func (c *cl) Leave() error {
	if err := c.Sync(); err != nil {
		return err
	}
	return status("clFinish", c.Finish.Call1(c.second))
}

func (c *cl) copy(dst, src uintptr, n uint64) error {
	return status("clEnqueueMemcpy", c.memcpy.Call8(c.queue, 0, dst, src, uintptr(n), 0, 0, 0))
}

func (c *cl) CopyIn(dst uintptr, src unsafe.Pointer, n uint64) error {
	if c.memcpy.Valid() {
		return c.copy(dst, dl.Address(src), n)
	}
	return status("clEnqueueWriteBuffer", c.WriteBuffer.Call9(c.queue, dst, 0, 0, uintptr(n), dl.Address(src), 0, 0, 0))
}

func (c *cl) CopyOut(dst unsafe.Pointer, src uintptr, n uint64) error {
	if c.memcpy.Valid() {
		return c.copy(dl.Address(dst), src, n)
	}
	return status("clEnqueueReadBuffer", c.ReadBuffer.Call9(c.queue, src, 0, 0, uintptr(n), dl.Address(dst), 0, 0, 0))
}

func (c *cl) Copy(dst, src uintptr, n uint64) error {
	if c.memcpy.Valid() {
		return c.copy(dst, src, n)
	}
	return status("clEnqueueCopyBuffer", c.CopyBuffer.Call9(c.queue, src, dst, 0, 0, uintptr(n), 0, 0, 0))
}

func (c *cl) Fill(dst uintptr, bits uint32, n uint64) error {
	c.bits = uint64(bits)
	pattern := uintptr(unsafe.Pointer(&c.bits))
	if c.fill.Valid() {
		return status("clEnqueueMemFill", c.fill.Call8(c.queue, dst, pattern, 4, uintptr(n), 0, 0, 0))
	}
	return status("clEnqueueFillBuffer", c.FillBuffer.Call9(c.queue, dst, pattern, 4, 0, uintptr(n), 0, 0, 0))
}

func (c *cl) Sync() error { return status("clFinish", c.Finish.Call1(c.queue)) }

func (c *cl) AllocFree(n uint64) error {
	size := uintptr(n)
	switch {
	case c.usmAlloc.Valid():
		var m uintptr
		if c.usmDevice {
			m = c.usmAlloc.Call6(c.context, c.device, 0, size, allocAlign, c.at(0))
		} else {
			m = c.usmAlloc.Call5(c.context, 0, size, allocAlign, c.at(0))
		}
		if err := status("USM alloc", uintptr(c.out[0])); err != nil {
			return err
		}
		return status("clMemFreeINTEL", c.usmFree.Call2(c.context, m))
	case c.memcpy.Valid():
		m := c.SVMAlloc.Call4(c.context, c.svmFlags, size, allocAlign)
		if m == 0 {
			return &StatusError{"clSVMAlloc", 0}
		}
		c.SVMFree.Call2(c.context, m)
		return nil
	}
	m := c.CreateBuffer.Call5(c.context, memReadWrite, size, 0, c.at(0))
	if err := status("clCreateBuffer", uintptr(c.out[0])); err != nil {
		return err
	}
	return status("clReleaseMemObject", c.ReleaseMem.Call1(m))
}

// mark enqueues a marker and returns its event.
func (c *cl) mark() (uintptr, error) {
	err := status("clEnqueueMarkerWithWaitList", c.Marker.Call4(c.queue, 0, 0, c.at(0)))
	return uintptr(c.out[0]), err
}

func (c *cl) Record() error {
	ev, err := c.mark()
	if err != nil {
		return err
	}
	return status("clReleaseEvent", c.ReleaseEvent.Call1(ev))
}

func (c *cl) RecordWait() error {
	ev, err := c.mark()
	if err != nil {
		return err
	}
	if err := status("clFlush", c.Flush.Call1(c.queue)); err != nil {
		return err
	}
	c.out[1] = uint64(ev)
	if err := status("clEnqueueBarrierWithWaitList", c.Barrier.Call4(c.second, 1, c.at(1), 0)); err != nil {
		return err
	}
	return status("clReleaseEvent", c.ReleaseEvent.Call1(ev))
}

func (c *cl) Close() error {
	var errs []error
	for _, q := range []*uintptr{&c.queue, &c.second} {
		if *q != 0 {
			errs = append(errs, status("clReleaseCommandQueue", c.ReleaseQueue.Call1(*q)))
			*q = 0
		}
	}
	return errors.Join(errs...)
}
