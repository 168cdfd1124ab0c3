//go:build opencl

package opencl

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

// module is a built program.
type module struct {
	dev     *device
	program uintptr
	names   []string // nil if the driver does not list them

	mu      sync.Mutex
	kernels []*kernel // one for each call of Kernel
}

// kernel is a kernel of a program.
type kernel struct {
	of    *module
	info  driver.KernelInfo
	count int // parameters

	mu   sync.Mutex
	idle []*object // at most maxIdle
}

// Handles returns the cl_platform_id, the cl_device_id and the cl_context.
func (d *device) Handles() driver.Handles {
	return driver.Handles{Platform: d.hw.platform.id, Device: d.hw.id, Context: d.ctx.cl}
}

// Formats implements driver.Loader.
func (d *device) Formats() []driver.Format {
	formats := []driver.Format{driver.FormatOpenCLBinary}
	if d.hw.createIL != nil {
		formats = append(formats, driver.FormatSPIRV)
	}
	if d.hw.compiler {
		formats = append(formats, driver.FormatOpenCLC)
	}
	return formats
}

// Load implements driver.Loader.
func (d *device) Load(image *driver.Image) (driver.Module, error) {
	const op = "load"
	b := builder{dev: d, op: op, options: strings.Fields(image.Options)}
	var program uintptr
	var err error
	switch image.Format {
	case driver.FormatOpenCLBinary:
		program, err = b.binary(image.Data)
	case driver.FormatSPIRV:
		program, err = b.spirv(image.Data)
	default:
		program, err = b.source(string(image.Data), nil)
	}
	if err != nil {
		return nil, err
	}
	return &module{dev: d, program: program, names: d.kernelNames(program)}, nil
}

// Names implements driver.Module.
func (m *module) Names() []string { return m.names }

// Kernel implements driver.Module.
func (m *module) Kernel(name string) (driver.Kernel, error) {
	const op = "kernel"
	d := m.dev
	if name == "" || strings.ContainsRune(name, 0) || m.names != nil && !slices.Contains(m.names, name) {
		return nil, d.refuse(op, driver.ErrNotFound, "no kernel %q", name)
	}
	cl, st := d.t.createKernel(m.program, name)
	if st != success {
		err := d.fail(op, "clCreateKernel", st)
		err.Detail = "kernel " + strconv.Quote(name)
		return nil, err
	}
	k := &kernel{of: m, info: driver.KernelInfo{Name: name}}
	if err := k.describe(op, cl); err != nil {
		_ = d.t.releaseKernel(cl)
		return nil, err
	}
	m.mu.Lock()
	m.kernels = append(m.kernels, k)
	m.mu.Unlock()
	return k, nil
}

// Close implements driver.Module.
func (m *module) Close() error {
	d := m.dev
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.kernels {
		for _, o := range k.idle {
			_ = d.t.releaseKernel(o.cl)
		}
		k.idle = nil
	}
	m.kernels = nil
	return d.check("unload", "clReleaseProgram", d.t.releaseProgram(m.program))
}

// Info implements driver.Kernel.
func (k *kernel) Info() *driver.KernelInfo { return &k.info }

// describe queries the kernel's parameters and limits.
func (k *kernel) describe(op string, cl uintptr) error {
	d := k.of.dev
	info := &k.info
	params, err := d.params(op, info.Name, cl)
	if err != nil {
		return err
	}
	k.count = len(params)
	k.idle = []*object{k.object(cl)}
	// PoCL crashes if a launch passes it a number for a pointer, so knowing only the number of parameters is not enough.
	if info.Known = !slices.ContainsFunc(params, unknown); info.Known {
		info.Params = params
	}

	group := facts{func(param uint32, value []byte) (uint64, status) {
		return d.t.kernelWorkGroupInfo(cl, d.hw.id, param, value)
	}}
	info.MaxThreads = uint32(min(group.number(groupSize), math.MaxUint32))
	if shape := group.sizes(groupRequired, 3); shape != nil {
		for i := range shape {
			info.RequiredBlock[i] = uint32(min(shape[i], math.MaxUint32))
		}
	}
	info.StaticShared, info.Local = group.number(groupLocalMem), group.number(groupPrivateBytes)
	if most := d.hw.compute.Shared; most > info.StaticShared {
		info.MaxShared = most - info.StaticShared
	}
	info.Suggested = d.suggested(uint32(min(group.number(groupMultiple), math.MaxUint32)), info.MaxThreads)
	return nil
}

// suggested returns how many threads a block should have to run fast. On a CPU a block is a loop on one core, and
// starting it costs time, so a block should be large. On a GPU several warps in a block hide the latency of memory.
func (d *device) suggested(multiple, most uint32) uint32 {
	if d.hw.cpu {
		return min(1024, max(most, 1))
	}
	multiple = max(multiple, 1)
	if multiple >= 256 {
		return min(multiple, max(most, 1))
	}
	return min(256/multiple*multiple, max(most, 1))
}

// object is a cl_kernel. It holds the arguments of one launch until the launch is enqueued, so only one launch at a time can use it. A
// cl_kernel keeps its arguments after the enqueue (OpenCL 1.2, section 5.7.2), so an argument that the next launch passes unchanged is
// not set again.
type object struct {
	cl    uintptr
	parts []*subBuffer // the sub-buffers that the launch uses
	args  []setting    // what was set last, by parameter
}

// setting is the value that an argument was set to. The zero setting means that the value is not known. It compares memory by
// *memory: after memory is freed, the driver may give its address and handle to other memory.
type setting struct {
	kind driver.ParamKind
	size uint32
	bits [2]uint64
	mem  *memory
	off  uint64
}

// maxIdle is how many objects of one kernel are kept. More are made when more goroutines launch the kernel at the same moment.
const maxIdle = 32

// take returns an object that no other launch is using. give returns it.
func (k *kernel) take() (*object, status) {
	k.mu.Lock()
	if n := len(k.idle); n > 0 {
		o := k.idle[n-1]
		k.idle = k.idle[:n-1]
		k.mu.Unlock()
		return o, success
	}
	k.mu.Unlock()
	cl, st := k.of.dev.t.createKernel(k.of.program, k.info.Name)
	if st != success {
		return nil, st
	}
	return k.object(cl), success
}

func (k *kernel) object(cl uintptr) *object { return &object{cl: cl, args: make([]setting, k.count)} }

// give makes the object available to other launches, or releases it if maxIdle are available.
func (k *kernel) give(o *object) {
	for _, b := range o.parts {
		b.release()
	}
	clear(o.parts)
	o.parts = o.parts[:0]
	k.mu.Lock()
	keep := len(k.idle) < maxIdle
	if keep {
		k.idle = append(k.idle, o)
	}
	k.mu.Unlock()
	if !keep {
		_ = k.of.dev.t.releaseKernel(o.cl)
	}
}
