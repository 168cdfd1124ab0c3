//go:build opencl

package opencl

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/siglib"
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
	if !slices.Contains(d.Formats(), image.Format) {
		return nil, d.refuse(op, driver.ErrUnsupported, "the device does not load %v", image.Format)
	}
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

// kernelNames lists the kernels of a program. It returns nil if the driver does not list them.
func (d *device) kernelNames(program uintptr) []string {
	names := factsOf(d.t.programInfo, program).text(programKernelNames)
	return strings.FieldsFunc(names, func(r rune) bool { return r == ';' })
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

// params returns a kernel's parameters. If the driver reports only their number, their kinds are ParamUnknown.
func (d *device) params(op, name string, cl uintptr) ([]driver.Param, error) {
	var word [4]byte
	if _, st := d.t.kernelInfo(cl, kernelNumArgs, word[:]); st != success {
		return nil, d.check(op, "clGetKernelInfo", st)
	}
	params := make([]driver.Param, binary.NativeEndian.Uint32(word[:]))
	for i := range params {
		of := facts{func(param uint32, value []byte) (uint64, status) {
			return d.t.kernelArgInfo(cl, uint32(i), param, value)
		}}
		p, kind := &params[i], of.text(argTypeName)
		if kind == "" {
			continue
		}
		if opaque(kind) {
			return nil, d.refuse(op, driver.ErrUnsupported,
				"kernel %s: parameter %d is of type %s; a launch passes numbers, structures, memory and shared memory only", name, i, kind)
		}
		p.Name = of.text(argName)
		switch of.number(argAddress) {
		case addressLocal:
			p.Kind = driver.ParamShared
		case addressGlobal:
			p.Kind, p.Size = driver.ParamPointer, 8
			p.Const = of.number(argTypeQualify)&typeConst != 0
		case addressConstant:
			p.Kind, p.Size, p.Const = driver.ParamPointer, 8, true
		case addressPrivate:
			p.Kind, p.Size = driver.ParamValue, sizeOf(kind)
		}
	}
	return params, nil
}

func unknown(p driver.Param) bool { return p.Kind == driver.ParamUnknown }

// opaque reports whether a type is one of OpenCL's object types: image, sampler, pipe or queue.
func opaque(kind string) bool {
	image := strings.HasPrefix(kind, "image") && strings.HasSuffix(kind, "_t")
	return image || kind == "sampler_t" || kind == "queue_t" || strings.HasPrefix(kind, "pipe")
}

// scalars are the sizes of OpenCL C's numbers, in bytes (OpenCL 1.2, section 6.1.1).
var scalars = map[string]uint32{
	"char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8,
	"half": 2, "float": 4, "double": 8,
	"unsigned char": 1, "unsigned short": 2, "unsigned int": 4, "unsigned long": 8, "signed char": 1, "unsigned": 4,
}

// sizeOf returns the size of a type in bytes. It returns 0 for structures and for types that the program defines, whose names
// do not give the size.
func sizeOf(kind string) uint32 {
	if n := scalars[kind]; n != 0 {
		return n
	}
	name := strings.TrimRight(kind, "0123456789")
	n := scalars[name]
	switch kind[len(name):] {
	case "2":
		return 2 * n
	case "3", "4": // a vector of three elements has the size of one of four
		return 4 * n
	case "8":
		return 8 * n
	case "16":
		return 16 * n
	}
	return 0
}

// builder makes one program.
type builder struct {
	dev     *device
	op      string
	name    string // of the source
	options []string
}

// argInfo makes drivers keep information about the parameters of kernels.
const argInfo = "-cl-kernel-arg-info"

// line returns the options for the compiler, as one text.
func (b *builder) line() string {
	if slices.Contains(b.options, argInfo) {
		return strings.Join(b.options, " ")
	}
	return strings.Join(append([]string{argInfo}, b.options...), " ")
}

// made builds the program with the options. It returns the program, or releases it if the build fails.
func (b *builder) made(program uintptr, options string) (uintptr, error) {
	d := b.dev
	siglib.Enter()
	st := d.t.buildProgram(program, d.hw.id, options)
	siglib.Leave()
	if st == success {
		return program, nil
	}
	err := b.failed("clBuildProgram", st, program)
	_ = d.t.releaseProgram(program)
	return 0, err
}

// failed returns the error of a call that builds, with the compiler's log.
func (b *builder) failed(api string, st status, program uintptr) *driver.Error {
	d := b.dev
	err := d.fail(b.op, api, st)
	switch st {
	case invalidOptions, -66, -67: // -66 and -67: CL_INVALID_COMPILER_OPTIONS and CL_INVALID_LINKER_OPTIONS
		err.Kind = driver.ErrBuild
	}
	if err.Kind == driver.ErrBuild {
		log := ""
		if program != 0 {
			log = d.buildLog(program)
		}
		if log == "" {
			log = "the driver's compiler gives no reason"
		}
		err.Err = &driver.BuildError{Source: b.name, Options: b.options, Log: log}
	}
	return err
}

// buildLog returns the compiler's log for a program.
func (d *device) buildLog(program uintptr) string {
	build := facts{func(param uint32, value []byte) (uint64, status) {
		return d.t.programBuildInfo(program, d.hw.id, param, value)
	}}
	return strings.TrimSpace(strings.TrimRight(string(build.bytes(programBuildLog)), "\x00"))
}

// checkOptions refuses options that contain a zero byte, where C would cut them short.
func (b *builder) checkOptions() error {
	for _, o := range b.options {
		if strings.ContainsRune(o, 0) {
			return b.dev.refuse(b.op, driver.ErrInvalidArgument, "option %q contains a zero byte", o)
		}
	}
	return nil
}
