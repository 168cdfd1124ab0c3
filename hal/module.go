package hal

import (
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/life"
	"github.com/go-halyard/halyard/hal/internal/wait"
)

// Module is code that is loaded on a device.
type Module struct {
	s       *moduleState
	dev     *Device
	lookout *life.Lookout
}

type moduleState struct {
	life.Object
	life.Uses
	dev    *deviceState
	drv    driver.Module
	params map[string][]Param

	finding sync.Mutex // held while a kernel is looked for
	kernels map[string]*kernelState
}

// Kernel is a function of a [Module], which streams of its device can launch. It needs no Close; it is of no use once the module is
// closed. Several goroutines may launch it at once.
type Kernel struct {
	s      *kernelState
	module *Module
}

type kernelState struct {
	of   *moduleState
	drv  driver.Kernel
	info KernelInfo

	wrong     error // Image.Params contradicts the code
	described bool  // see describe
}

// failure returns an error about the kernel, whose name precedes the text.
func (k *kernelState) failure(op string, kind error, format string, args ...any) error {
	return k.of.dev.Failure(op, kind, "kernel %s: %s", k.info.Name, fmt.Sprintf(format, args...))
}

// Load loads code on the device. It needs CapKernels. An image may be loaded several times; each module is closed on its own.
//
// The error is of kind ErrBuild if the code does not compile or link, and then errors.As finds a [*BuildError]; of kind ErrUnsupported if
// the image is of a format or architecture that the device does not take, and ErrInvalidArgument if it is empty or damaged.
func (d *Device) Load(img Image) (*Module, error) {
	const op = "load"
	s := d.state()
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer d.end()
	l, ok := s.Drv.(driver.Loader)
	if !ok || !s.Info.Caps.Has(CapKernels) {
		return nil, s.Failure(op, ErrUnsupported, "kernels are not supported")
	}
	formats := l.Formats()
	switch {
	case !slices.Contains(formats, img.Format):
		return nil, s.Failure(op, ErrUnsupported, "the device loads %s, not %v", listFormats(formats), img.Format)
	case img.Format == FormatGo && len(img.Functions) == 0:
		return nil, s.Failure(op, ErrInvalidArgument, "no function")
	case img.Format != FormatGo && len(img.Data) == 0:
		return nil, s.Failure(op, ErrInvalidArgument, "empty image")
	}
	for name, f := range img.Functions {
		if f.Run == nil {
			return nil, s.Failure(op, ErrInvalidArgument, "function %q is nil", name)
		}
	}
	drv, err := l.Load(&img)
	if err != nil {
		return nil, s.Check(err)
	}
	params := make(map[string][]Param, len(img.Params)) // a copy, since the program may change its map
	for name, list := range img.Params {
		params[name] = slices.Clone(list)
	}
	m := &moduleState{dev: s, drv: drv, params: params, kernels: map[string]*kernelState{}}
	m.Dependent = true
	if b, ok := drv.(driver.FreeBlocker); ok && b.FreeMayBlock() {
		m.MayBlock = true
		s.closeWaits.Store(true)
	}
	w, ok := d.h.Admit(&m.Object, m)
	if !ok {
		return nil, s.closedError(op)
	}
	return &Module{s: m, dev: d, lookout: w}, nil
}

func listFormats(formats []Format) string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.String()
	}
	return strings.Join(names, ", ")
}

// Formats lists the formats of code that the device loads, the best first. It is nil on a device without CapKernels.
func (d *Device) Formats() []Format {
	s := d.state()
	if s == nil || !s.Info.Caps.Has(CapKernels) {
		return nil
	}
	if l, ok := s.Drv.(driver.Loader); ok {
		return l.Formats()
	}
	return nil
}

// noModule is the error of a call on a nil or zero Module.
func noModule(op string) error { return Errorf(op, ErrInvalidArgument, "nil or zero module") }

// state returns the module behind m, nil for a nil or zero Module.
func (m *Module) state() *moduleState {
	if m == nil {
		return nil
	}
	return m.s
}

// leave ends a call, until which m is reachable, so that the collector does not close it.
func (m *Module) leave() {
	m.s.Leave()
	runtime.KeepAlive(m)
}

// Describe implements life.Thing.
func (s *moduleState) Describe() string { return "module" }

// String says which device the module is loaded on.
func (m *Module) String() string {
	if s := m.state(); s != nil {
		return s.dev.on(s)
	}
	return "no module"
}

// Names lists the module's kernels, sorted. It is nil if the driver cannot list them, and once the module is closed.
func (m *Module) Names() []string {
	s := m.state()
	if s == nil || !s.Enter() {
		return nil
	}
	defer m.leave()
	names := slices.Clone(s.drv.Names())
	slices.Sort(names)
	return names
}

// Kernel returns the kernel with that name. If the driver loads code only when it is needed, that happens here, and not at the first
// launch. The error is of kind ErrNotFound if the module has no such kernel; it names the kernels that the module has.
func (m *Module) Kernel(name string) (*Kernel, error) {
	const op = "kernel"
	s := m.state()
	if s == nil {
		return nil, noModule(op)
	}
	if !s.Enter() {
		return nil, s.dev.Failure(op, ErrClosed, "the module is closed")
	}
	defer m.leave()
	s.finding.Lock()
	defer s.finding.Unlock()
	k := s.kernels[name]
	if k == nil {
		drv, err := s.drv.Kernel(name)
		if err != nil {
			if isKind(err, ErrNotFound) {
				detail := "no kernel " + name
				if names := s.drv.Names(); names != nil {
					slices.Sort(names)
					detail += "; there are: " + strings.Join(names, ", ")
				}
				return nil, &Error{Op: op, Backend: s.dev.Info.Backend, Device: s.dev.Info.Ordinal, Kind: ErrNotFound, Detail: detail}
			}
			return nil, s.dev.Check(err)
		}
		k = &kernelState{of: s, drv: drv, info: *drv.Info()}
		k.info.Name = name
		if declared, ok := s.params[name]; ok {
			k.wrong = k.declare(op, declared)
		}
		s.kernels[name] = k
	}
	if k.wrong != nil {
		return nil, k.wrong
	}
	return &Kernel{s: k, module: m}, nil
}

// declare completes the parameters that the code describes with those that the program has declared.
func (k *kernelState) declare(op string, declared []Param) error {
	info := &k.info
	if !info.Known {
		info.Params, info.Known = declared, true
		return nil
	}
	if len(declared) != len(info.Params) {
		return k.failure(op, ErrInvalidArgument, "%d parameters are declared, the code has %d", len(declared), len(info.Params))
	}
	params := slices.Clone(info.Params)
	for i := range params {
		p, d := &params[i], &declared[i]
		if p.Kind != ParamUnknown && d.Kind != ParamUnknown && p.Kind != d.Kind || p.Size != 0 && d.Size != 0 && p.Size != d.Size {
			return k.failure(op, ErrInvalidArgument, "parameter %d is declared as a %v of %d bytes, in the code it is a %v of %d",
				i, d.Kind, d.Size, p.Kind, p.Size)
		}
		if p.Kind == ParamUnknown {
			p.Kind = d.Kind
		}
		if p.Size == 0 {
			p.Size = d.Size
		}
		if p.Name == "" {
			p.Name = d.Name
		}
		p.Const = p.Const || d.Const
	}
	info.Params = params
	return nil
}

// rename sets the names by which messages call the kernel and its parameters.
func (k *Kernel) describe(name string, params []string, most uint32) {
	k.s.of.finding.Lock()
	defer k.s.of.finding.Unlock()
	info := &k.s.info
	if k.s.described { // it may be in use
		return
	}
	if most != 0 {
		info.MaxThreads = uint32(least(info.MaxThreads, most))
	}
	k.s.described, info.Name, info.Params = true, name, slices.Clone(info.Params)
	for i := range info.Params[:min(len(params), len(info.Params))] {
		info.Params[i].Name = params[i]
	}
}

// least returns the lower of two limits. A limit of 0 means that there is none.
func least(a, b uint32) uint64 {
	switch {
	case a == 0 && b == 0:
		return math.MaxInt32
	case a == 0:
		return uint64(b)
	case b == 0:
		return uint64(a)
	}
	return uint64(min(a, b))
}

// String returns the kernel's name, and the device that it is loaded on.
func (k *Kernel) String() string {
	if k == nil || k.s == nil {
		return "no kernel"
	}
	return "kernel " + k.s.info.Name + " on " + k.s.of.dev.Info.Name()
}

// Info describes the kernel.
func (k *Kernel) Info() KernelInfo {
	if k == nil || k.s == nil {
		return KernelInfo{}
	}
	info := k.s.info
	info.Params = slices.Clone(info.Params)
	return info
}

// Module returns the module that the kernel belongs to.
func (k *Kernel) Module() *Module {
	if k == nil {
		return nil
	}
	return k.module
}

// Close closes the module. It does not wait: the code is unloaded once its last launch has finished.
func (m *Module) Close() error {
	s := m.state()
	if s == nil {
		return noModule("close")
	}
	return s.Close(&m.lookout)
}

// Pending implements life.Vendored.
func (s *moduleState) Pending() func() bool { return s.Over() }

// GiveBack implements life.Vendored.
func (s *moduleState) GiveBack() error { return s.dev.Check(s.drv.Close()) }

// Compile compiles source text in the device's own language and returns an image for [Device.Load]. It needs CapCompile. Nothing
// is cached here; package kernel has a cache. The error is of kind ErrBuild if the text does not compile, and then errors.As finds a
// [*BuildError]; of kind ErrUnavailable if the vendor's compiler is not installed.
func (d *Device) Compile(src Source) (Image, error) {
	const op = "compile"
	s := d.state()
	if err := d.begin(op); err != nil {
		return Image{}, err
	}
	defer d.end()
	c, err := s.compiler(op)
	if err != nil {
		return Image{}, err
	}
	if strings.TrimSpace(src.Text) == "" {
		return Image{}, s.Failure(op, ErrInvalidArgument, "empty source")
	}
	img, err := c.Compile("", &src)
	if err != nil {
		return Image{}, s.Check(err)
	}
	return *img, nil
}

func (d *Device) compilerID() (string, error) {
	const op = "identify the compiler"
	if err := d.begin(op); err != nil {
		return "", err
	}
	defer d.end()
	c, err := d.s.compiler(op)
	if err != nil {
		return "", err
	}
	id, err := c.CompilerID("")
	return id, d.s.Check(err)
}

func (s *deviceState) compiler(op string) (driver.Compiler, error) {
	c, ok := s.Drv.(driver.Compiler)
	if !ok || !s.Info.Caps.Has(CapCompile) {
		return nil, s.Failure(op, ErrUnsupported, "the device has no compiler")
	}
	return c, nil
}

// targets maps prefixes of architecture names to the backend that compiles for these architectures.
var targets = map[string]string{"sm_": "cuda", "compute_": "cuda", "gfx": "hip"}

// CompileFor compiles source text for an architecture, without a device. CUDA C++ gives a cubin for a target like "sm_90", and PTX for one
// like "compute_70"; HIP C++ gives a code object for a target like "gfx942". The backend must be linked, and its vendor's compiler
// installed. With a device, use [Device.Compile]. CompileFor does not cache the result. If ctx ends first, CompileFor returns and the
// compiler finishes in the background.
//
// The error is of kind ErrNotBuilt if the backend is not linked, ErrUnsupported if no backend or its compiler knows the architecture,
// ErrUnavailable if the compiler is not installed, and ErrBuild if the text does not compile; then errors.As finds a [*BuildError].
func CompileFor(ctx context.Context, target string, src Source) (Image, error) {
	const op = "compile"
	if err := wait.Ended(op, ctx); err != nil {
		return Image{}, err
	}
	switch {
	case target == "":
		return Image{}, Errorf(op, ErrInvalidArgument, "no target")
	case strings.TrimSpace(src.Text) == "":
		return Image{}, Errorf(op, ErrInvalidArgument, "empty source")
	}
	c, err := compilerFor(op, target)
	if err != nil {
		return Image{}, err
	}
	return compileWith(ctx, op, c, target, src)
}

func compileWith(ctx context.Context, op string, c driver.Compiler, target string, src Source) (Image, error) {
	src.Headers, src.Options = maps.Clone(src.Headers), slices.Clone(src.Options) // the program may change its own once ctx has ended
	img, err := within(ctx, 0, op, func() (*Image, error) { return c.Compile(target, &src) }, nil)
	if err != nil {
		return Image{}, err
	}
	return *img, nil
}

// compilerFor returns the linked backend that compiles for a target.
func compilerFor(op, target string) (driver.Compiler, error) {
	linked := driver.Backends()
	for prefix, name := range targets {
		if !strings.HasPrefix(target, prefix) {
			continue
		}
		i := slices.IndexFunc(linked, func(b driver.Backend) bool { return b.Name() == name })
		if i < 0 {
			err := notBuilt(name)
			err.(*Error).Op = op
			return nil, err
		}
		if c, ok := linked[i].(driver.Compiler); ok {
			return c, nil
		}
		return nil, &Error{Op: op, Backend: name, Device: -1, Kind: ErrUnsupported, Detail: "the backend has no compiler"}
	}
	return nil, Errorf(op, ErrUnsupported, "no backend compiles for the target %q; targets are like sm_90, compute_70 and gfx942", target)
}
