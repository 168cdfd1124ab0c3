package main

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

//go:embed saxpy.cl
var saxpySource string

// opencl is what the program needs of the driver, by the addresses of its calls.
type opencl struct {
	queueInfo, deviceInfo, extension                    uintptr
	createProgram, buildProgram, buildInfo, freeProgram uintptr
	createKernel, freeKernel                            uintptr
	setArg, setSVM, setUSM, start                       uintptr
}

// Numbers from CL/cl.h.
const (
	queueContext   = 0x1090
	queueDevice    = 0x1091
	devicePlatform = 0x1031
	programLog     = 0x1183
)

func loadOpenCL() (*opencl, error) {
	lib, err := openDriver()
	if err != nil {
		return nil, err
	}
	c := new(opencl)
	for _, f := range []struct {
		name string
		addr *uintptr
	}{
		{"clGetCommandQueueInfo", &c.queueInfo},
		{"clGetDeviceInfo", &c.deviceInfo},
		{"clGetExtensionFunctionAddressForPlatform", &c.extension},
		{"clCreateProgramWithSource", &c.createProgram},
		{"clBuildProgram", &c.buildProgram},
		{"clGetProgramBuildInfo", &c.buildInfo},
		{"clReleaseProgram", &c.freeProgram},
		{"clCreateKernel", &c.createKernel},
		{"clReleaseKernel", &c.freeKernel},
		{"clSetKernelArg", &c.setArg},
		{"clEnqueueNDRangeKernel", &c.start},
	} {
		if *f.addr, err = lookup(lib, f.name); err != nil {
			return nil, err
		}
	}
	// OpenCL 2.0. A device whose tier needs it has it.
	c.setSVM, _ = lookup(lib, "clSetKernelArgSVMPointer")
	return c, nil
}

// call calls a function that returns a status. Like every function that passes pointers on as integers it
// must say so, or a pointer to a variable of its caller goes stale when the stack moves.
//
//go:uintptrescapes
func call(name string, fn uintptr, args ...uintptr) error {
	if r, _, _ := purego.SyscallN(fn, args...); int32(r) != 0 {
		return fmt.Errorf("%s: OpenCL status %d", name, int32(r))
	}
	return nil
}

// kernel is the built program, in the context of a stream.
type kernel struct {
	cl             *opencl
	tier           string
	program, saxpy uintptr
}

// build compiles the kernel for a stream's device, in the context of its queue: the library made that
// context, and the memory that leases lead to belongs to it.
func build(cl *opencl, stream *hal.Stream) (k *kernel, err error) {
	k = &kernel{cl: cl, tier: stream.Device().Info().MemoryModel}
	queue := stream.Handle()
	var context, device uintptr
	if err := call("clGetCommandQueueInfo", cl.queueInfo, queue, queueContext, 8, uintptr(unsafe.Pointer(&context)), 0); err != nil {
		return nil, err
	}
	if err := call("clGetCommandQueueInfo", cl.queueInfo, queue, queueDevice, 8, uintptr(unsafe.Pointer(&device)), 0); err != nil {
		return nil, err
	}
	if k.tier == "usm" && cl.setUSM == 0 {
		if cl.setUSM, err = cl.usmSetter(device); err != nil {
			return nil, err
		}
	}

	var status int32
	text := append([]byte(saxpySource), 0)
	lines := &[1]unsafe.Pointer{unsafe.Pointer(&text[0])}
	k.program, _, _ = purego.SyscallN(cl.createProgram, context, 1, uintptr(unsafe.Pointer(lines)), 0, uintptr(unsafe.Pointer(&status)))
	if status != 0 {
		return nil, fmt.Errorf("clCreateProgramWithSource: OpenCL status %d", status)
	}
	if err := call("clBuildProgram", cl.buildProgram, k.program, 1, uintptr(unsafe.Pointer(&device)), 0, 0, 0); err != nil {
		log, lerr := k.buildLog(device)
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, log), lerr, k.close())
	}
	name := []byte("saxpy\x00")
	k.saxpy, _, _ = purego.SyscallN(cl.createKernel, k.program, uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&status)))
	if status != 0 {
		return nil, errors.Join(fmt.Errorf("clCreateKernel: OpenCL status %d", status), k.close())
	}
	return k, nil
}

// buildLog is what the compiler said when it built the program for the device. The driver refuses to write it where it has less
// room than the log takes, so its size is asked for first; that counts a NUL at the end.
func (k *kernel) buildLog(device uintptr) (string, error) {
	var size uintptr
	err := call("clGetProgramBuildInfo", k.cl.buildInfo, k.program, device, programLog, 0, 0, uintptr(unsafe.Pointer(&size)))
	if err != nil || size == 0 {
		return "", err
	}
	log := make([]byte, size)
	err = call("clGetProgramBuildInfo", k.cl.buildInfo, k.program, device, programLog, size, uintptr(unsafe.Pointer(&log[0])), 0)
	return strings.TrimRight(string(log), "\x00"), err
}

// usmSetter finds the call that sets an argument to an address of unified shared memory, an extension of
// the device's platform.
func (cl *opencl) usmSetter(device uintptr) (uintptr, error) {
	var platform uintptr
	if err := call("clGetDeviceInfo", cl.deviceInfo, device, devicePlatform, 8, uintptr(unsafe.Pointer(&platform)), 0); err != nil {
		return 0, err
	}
	name := []byte("clSetKernelArgMemPointerINTEL\x00")
	fn, _, _ := purego.SyscallN(cl.extension, platform, uintptr(unsafe.Pointer(&name[0])))
	if fn == 0 {
		return 0, errors.New("the platform lacks clSetKernelArgMemPointerINTEL")
	}
	return fn, nil
}

// setMemory sets two arguments: where a lease leads, and how many elements further its first one is.
func (k *kernel) setMemory(index uintptr, lease buffer.Lease) error {
	where := lease.Pointer()
	var err error
	offset := uint64(0)
	switch k.tier {
	case "usm":
		err = call("clSetKernelArgMemPointerINTEL", k.cl.setUSM, k.saxpy, index, where)
	case "svm", "svm-coarse":
		err = call("clSetKernelArgSVMPointer", k.cl.setSVM, k.saxpy, index, where)
	default:
		// A cl_mem is the whole memory.
		offset = lease.Region().Off / 4
		err = call("clSetKernelArg", k.cl.setArg, k.saxpy, index, 8, uintptr(unsafe.Pointer(&where)))
	}
	if err != nil {
		return err
	}
	return call("clSetKernelArg", k.cl.setArg, k.saxpy, index+1, 8, uintptr(unsafe.Pointer(&offset)))
}

// launch enqueues y = a*x + y over n elements on the stream.
func (k *kernel) launch(stream *hal.Stream, a float32, x, y buffer.Lease, n int) error {
	if err := call("clSetKernelArg", k.cl.setArg, k.saxpy, 0, 4, uintptr(unsafe.Pointer(&a))); err != nil {
		return err
	}
	if err := k.setMemory(1, x); err != nil {
		return err
	}
	if err := k.setMemory(3, y); err != nil {
		return err
	}
	size := uintptr(n)
	return call("clEnqueueNDRangeKernel", k.cl.start, stream.Handle(), k.saxpy, 1, 0, uintptr(unsafe.Pointer(&size)), 0, 0, 0, 0)
}

func (k *kernel) close() error {
	var err error
	if k.saxpy != 0 {
		err = call("clReleaseKernel", k.cl.freeKernel, k.saxpy)
	}
	return errors.Join(err, call("clReleaseProgram", k.cl.freeProgram, k.program))
}
