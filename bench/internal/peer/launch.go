package peer

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
)

// Launcher is the part of a Peer that launches kernels.
type Launcher interface {
	// Load prepares a kernel of code, which is text for OpenCL and an image elsewhere, for launches of one thread with these arguments. On the
	// host, launches call fn instead. The kernel's Close unloads the code.
	Load(code []byte, name string, args []Argument, fn func()) (k *Kernel, err error)
}

// Argument is the handle of a memory, or a number of 4 bytes.
type Argument struct {
	Bits   uint64
	Memory bool
}

// Kernel is code that a peer has loaded. Launch enqueues one thread.
type Kernel struct {
	Launch func() error
	Calls  string // the names of the calls that Launch makes
	Close  func() error
}

// list holds arguments on the heap, where they do not move.
type list struct {
	words [16]uint64
	at    [16]uintptr
}

func listOf(args []Argument) *list {
	l := &list{}
	for i, a := range args {
		l.words[i] = a.Bits
		l.at[i] = uintptr(unsafe.Pointer(&l.words[i]))
	}
	return l
}

// moduleProcs are the calls for kernels in a GPU's library.
type moduleProcs struct {
	load, unload, function, launch dl.Proc
	name                           string // of launch
}

func (g *gpu) Load(code []byte, name string, args []Argument, _ func()) (*Kernel, error) {
	m := &g.modules
	for _, p := range []dl.Proc{m.load, m.unload, m.function, m.launch} {
		if !p.Valid() {
			return nil, errors.New("the library has no calls for kernels")
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := g.current(); err != nil {
		return nil, err
	}
	image := append(append([]byte(nil), code...), 0)
	err := status("module load", m.load.Call2(g.at(0), uintptr(unsafe.Pointer(&image[0]))))
	runtime.KeepAlive(image)
	if err != nil {
		return nil, err
	}
	module := uintptr(g.out[0])
	symbol := dl.CString(name)
	if err := status("module get function", m.function.Call3(g.at(0), module, uintptr(unsafe.Pointer(&symbol[0])))); err != nil {
		return nil, errors.Join(err, status("module unload", m.unload.Call1(module)))
	}
	l, kernel := listOf(args), uintptr(g.out[0])
	return &Kernel{
		Launch: func() error {
			return status(m.name, m.launch.Call11(kernel, 1, 1, 1, 1, 1, 1, 0, g.stream, uintptr(unsafe.Pointer(&l.at[0])), 0))
		},
		Calls: m.name,
		Close: func() error {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			return errors.Join(g.current(), status("module unload", m.unload.Call1(module)))
		},
	}, nil
}

// clKernelProcs are the calls for kernels.
type clKernelProcs struct {
	CreateProgram  dl.Proc `sym:"clCreateProgramWithSource"`
	Build          dl.Proc `sym:"clBuildProgram"`
	ReleaseProgram dl.Proc `sym:"clReleaseProgram"`
	CreateKernel   dl.Proc `sym:"clCreateKernel"`
	ReleaseKernel  dl.Proc `sym:"clReleaseKernel"`
	SetArg         dl.Proc `sym:"clSetKernelArg"`
	SetSVM         dl.Proc `sym:"clSetKernelArgSVMPointer,optional"`
	Enqueue        dl.Proc `sym:"clEnqueueNDRangeKernel"`
}

// Load returns a kernel that sets all arguments at each launch, as a program with different launches has to.
func (c *cl) Load(code []byte, name string, args []Argument, _ func()) (*Kernel, error) {
	text, symbol := dl.CString(string(code)), dl.CString(name)
	source := new(uintptr)
	*source = uintptr(unsafe.Pointer(&text[0]))
	program := c.kernels.CreateProgram.Call5(c.context, 1, uintptr(unsafe.Pointer(source)), 0, c.at(0))
	runtime.KeepAlive(text)
	if err := status("clCreateProgramWithSource", uintptr(c.out[0])); err != nil {
		return nil, err
	}
	drop := func() error { return status("clReleaseProgram", c.kernels.ReleaseProgram.Call1(program)) }
	c.out[1] = uint64(c.device)
	if err := status("clBuildProgram", c.kernels.Build.Call6(program, 1, c.at(1), 0, 0, 0)); err != nil {
		return nil, errors.Join(err, drop())
	}
	kernel := c.kernels.CreateKernel.Call3(program, uintptr(unsafe.Pointer(&symbol[0])), c.at(0))
	if err := status("clCreateKernel", uintptr(c.out[0])); err != nil {
		return nil, errors.Join(err, drop())
	}
	var set dl.Proc
	call := "clSetKernelArg"
	switch {
	case c.setUSM.Valid():
		set, call = c.setUSM, "clSetKernelArgMemPointerINTEL"
	case c.memcpy.Valid():
		set, call = c.kernels.SetSVM, "clSetKernelArgSVMPointer"
	}
	l, n, one := listOf(args), len(args), new(uint64)
	*one = 1
	memory := make([]bool, n)
	for i := range memory {
		memory[i] = args[i].Memory
	}
	return &Kernel{
		Launch: func() error {
			for i := range n {
				var r uintptr
				switch {
				case memory[i] && set.Valid():
					r = set.Call3(kernel, uintptr(i), uintptr(l.words[i]))
				case memory[i]:
					r = c.kernels.SetArg.Call4(kernel, uintptr(i), 8, l.at[i])
				default:
					r = c.kernels.SetArg.Call4(kernel, uintptr(i), 4, l.at[i])
				}
				if err := status(call, r); err != nil {
					return err
				}
			}
			size := uintptr(unsafe.Pointer(one))
			return status("clEnqueueNDRangeKernel", c.kernels.Enqueue.Call9(c.queue, kernel, 1, 0, size, size, 0, 0, 0))
		},
		Calls: call + ", clEnqueueNDRangeKernel",
		Close: func() error {
			return errors.Join(status("clReleaseKernel", c.kernels.ReleaseKernel.Call1(kernel)), drop())
		},
	}, nil
}

// Load returns a kernel whose Launch calls fn on another goroutine and waits until it returns.
func (h *host) Load(_ []byte, _ string, _ []Argument, fn func()) (*Kernel, error) {
	var wg sync.WaitGroup
	return &Kernel{
		Launch: func() error {
			wg.Go(fn)
			wg.Wait()
			return nil
		},
		Calls: "sync.WaitGroup.Go, Wait",
		Close: func() error { return nil },
	}, nil
}
