package main

import (
	_ "embed"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

//go:embed saxpy.ptx
var saxpyText string

// saxpy is the loaded kernel.
type saxpy struct {
	cuda     *cuda
	device   uintptr
	context  uintptr
	module   uintptr
	function uintptr
}

// cuda is what the program needs of the driver, by the addresses of its calls.
type cuda struct {
	deviceGet, retain, release, setCurrent       uintptr
	moduleLoad, moduleUnload, functionGet, start uintptr
}

func openCUDA() (*cuda, error) {
	lib, err := openDriver()
	if err != nil {
		return nil, err
	}
	c := new(cuda)
	for _, f := range []struct {
		name string
		addr *uintptr
	}{
		{"cuDeviceGet", &c.deviceGet},
		{"cuDevicePrimaryCtxRetain", &c.retain},
		{"cuDevicePrimaryCtxRelease_v2", &c.release},
		{"cuCtxSetCurrent", &c.setCurrent},
		{"cuModuleLoadData", &c.moduleLoad},
		{"cuModuleUnload", &c.moduleUnload},
		{"cuModuleGetFunction", &c.functionGet},
		{"cuLaunchKernel", &c.start},
	} {
		if *f.addr, err = lookup(lib, f.name); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// call calls a function of the driver. Like every function that passes pointers on as integers it
// must say so, or a pointer to a variable of its caller goes stale when the stack moves.
//
//go:uintptrescapes
func call(name string, fn uintptr, args ...uintptr) error {
	if r, _, _ := purego.SyscallN(fn, args...); int32(r) != 0 {
		return fmt.Errorf("%s: CUDA error %d", name, int32(r))
	}
	return nil
}

// current makes the device's context current while fn runs.
func (k *saxpy) current(fn func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := call("cuCtxSetCurrent", k.cuda.setCurrent, k.context); err != nil {
		return err
	}
	return fn()
}

// loadSaxpy loads the kernel into the device's primary context, where the library's memory
// and streams are.
func loadSaxpy(ordinal int) (k *saxpy, err error) {
	c, err := openCUDA()
	if err != nil {
		return nil, err
	}
	k = &saxpy{cuda: c}
	var device int32
	if err := call("cuDeviceGet", c.deviceGet, uintptr(unsafe.Pointer(&device)), uintptr(ordinal)); err != nil {
		return nil, err
	}
	k.device = uintptr(device)
	if err := call("cuDevicePrimaryCtxRetain", c.retain, uintptr(unsafe.Pointer(&k.context)), k.device); err != nil {
		return nil, err
	}
	err = k.current(func() error {
		text := append([]byte(saxpyText), 0)
		if err := call("cuModuleLoadData", c.moduleLoad, uintptr(unsafe.Pointer(&k.module)), uintptr(unsafe.Pointer(&text[0]))); err != nil {
			return err
		}
		name := []byte("saxpy\x00")
		return call("cuModuleGetFunction", c.functionGet, uintptr(unsafe.Pointer(&k.function)), k.module, uintptr(unsafe.Pointer(&name[0])))
	})
	if err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

// launch enqueues y = a*x + y over n elements on the stream.
func (k *saxpy) launch(stream, x, y uintptr, a float32, n int) error {
	const block = 256
	// The driver reads the parameters through their addresses before it returns.
	params := &struct {
		x, y uint64
		a    float32
		n    uint32
	}{uint64(x), uint64(y), a, uint32(n)}
	addrs := &[4]unsafe.Pointer{unsafe.Pointer(&params.x), unsafe.Pointer(&params.y),
		unsafe.Pointer(&params.a), unsafe.Pointer(&params.n)}
	return k.current(func() error {
		grid := uintptr((n + block - 1) / block)
		return call("cuLaunchKernel", k.cuda.start, k.function, grid, 1, 1, block, 1, 1, 0, stream,
			uintptr(unsafe.Pointer(addrs)), 0)
	})
}

func (k *saxpy) close() error {
	var err error
	if k.module != 0 {
		err = k.current(func() error { return call("cuModuleUnload", k.cuda.moduleUnload, k.module) })
	}
	if k.context != 0 {
		if e := call("cuDevicePrimaryCtxRelease_v2", k.cuda.release, k.device); err == nil {
			err = e
		}
	}
	return err
}
