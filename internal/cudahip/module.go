package cudahip

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip/image"
)

// Codes of loading and launching, which have the same numbers in CUDA and in HIP.
const (
	codeInvalidImage   = 200
	codeNoBinary       = 209
	codeInvalidText    = 218 // CUDA: PTX; HIP: a kernel file
	codeNoTranslator   = 221
	codeTextTooNew     = 222
	codeInvalidSource  = 300
	codeNoSymbol       = 302
	codeNotFound       = 500
	codeOutOfResources = 701
)

// Attributes of a kernel, which have the same numbers in CUDA and in HIP.
const (
	kernelThreads      = 0 // largest number of threads in a block
	kernelShared       = 1 // bytes of shared memory that the code declares
	kernelLocal        = 3 // bytes of local memory of each thread
	kernelRegisters    = 4
	kernelDynamic      = 8      // largest number of bytes of shared memory that a launch may add; can be set
	kernelParamsBound  = 1 << 9 // more parameters than kernels have in practice
	usualThreads       = 256    // most threads in a block whose size the launch does not give: several small blocks share a processor
	translatorLogBytes = 16 << 10
)

// Module implements driver.Module and driver.FreeBlocker.
type Module struct {
	dev    *Device
	handle uintptr
	infos  map[string]*driver.KernelInfo // the kernels that the image describes; nil if it cannot be read
}

// Kernel implements driver.Kernel.
type Kernel struct {
	module    *Module
	handle    uintptr
	info      driver.KernelInfo
	registers int32

	// dynamic is how many bytes of shared memory a launch may add at present. A launch that needs more
	// raises the limit first.
	dynamic atomic.Uint64
}

func (d *Device) Formats() []driver.Format { return slices.Clone(d.lib.vendor.Formats) }

func (d *Device) Load(img *driver.Image) (driver.Module, error) {
	const op = "load"
	if strings.TrimSpace(img.Options) != "" {
		return nil, d.refuse(op, driver.ErrInvalidArgument, "options %q: images in the format %v take no options", img.Options, img.Format)
	}
	infos, err := image.Read(img.Format, img.Data)
	data, log := img.Data, []byte(nil)
	switch {
	case img.Format != driver.FormatPTX && err != nil:
		// The driver is not told the size of the image and relies on its contents, so it must not get a damaged one.
		return nil, d.damaged(op, err)
	case img.Format == driver.FormatPTX: // the driver's own errors are better, so err is not returned
		if data[len(data)-1] != 0 {
			data = append(slices.Clone(data), 0)
		}
		log = make([]byte, translatorLogBytes)
	}
	handle, code := d.api.ModuleLoad(d.ctx, unsafe.Pointer(unsafe.SliceData(data)), log)
	runtime.KeepAlive(data)
	if code != Success {
		return nil, d.unloadable(op, img.Format, infos, log, code)
	}
	return &Module{dev: d, handle: handle, infos: infos}, nil
}

// damaged returns the error of an image that could not be read.
func (d *Device) damaged(op string, err error) error {
	e := d.refuse(op, driver.ErrInvalidArgument, "the image is damaged")
	var is *driver.Error
	if errors.As(err, &is) {
		e.Kind, e.Detail, e.Err = is.Kind, is.Detail, is.Err
	} else {
		e.Err = err
	}
	return e
}

// unloadable returns the error of an image that the driver refused.
func (d *Device) unloadable(op string, format driver.Format, infos map[string]*driver.KernelInfo, log []byte, code Code) error {
	e := d.fail(op, CallModuleLoad, code)
	said := text(log)
	switch code.Value() {
	case codeInvalidText, codeInvalidSource, codeNoSymbol, codeInvalidImage:
		if format == driver.FormatPTX && said != "" {
			e.Kind, e.Err = driver.ErrBuild, &driver.BuildError{Log: said}
			return e
		}
		if code.Value() == codeInvalidText && format == driver.FormatPTX {
			e.Kind, e.Err = driver.ErrBuild, &driver.BuildError{Log: "the driver gives no reason"}
			return e
		}
		e.Kind = driver.ErrInvalidArgument
		e.Detail = fmt.Sprintf("the driver cannot read the %v, which is damaged or of another format", format)
	case codeNoBinary:
		e.Kind = driver.ErrUnsupported
		e.Detail = fmt.Sprintf("the %v has no code for this device", format)
		if arch := d.info.Compute.Arch; arch != "" {
			e.Detail += ", which is " + arch
		}
	case codeTextTooNew:
		e.Kind = driver.ErrUnsupported
		e.Detail = "the PTX is too new for the driver, " + d.info.Driver
	case int32(CodeNotSupported):
		if d.lib.simulated {
			e.Detail = "the simulated driver does not run the code of an image. " +
				"It has C functions for certain kernels, but not for all kernels of this image: " +
				strings.Join(slices.Sorted(maps.Keys(infos)), ", ")
		}
	case codeNoTranslator:
		e.Kind = driver.ErrUnavailable
		e.Detail = "the driver's library that translates PTX is not installed"
	}
	if said != "" {
		e.Detail += ": " + said
	}
	return e
}

// text returns the text in a buffer, up to the first zero byte.
func text(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return strings.TrimSpace(s)
}

func (m *Module) Names() []string {
	if m.infos == nil {
		return nil
	}
	names := make([]string, 0, len(m.infos))
	for name := range m.infos {
		names = append(names, name)
	}
	return names
}

// Kernel implements driver.Module. A driver may postpone loading a kernel until its first launch, which may then wait for the device
// (CUDA Programming Guide, "Lazy Loading"). So Kernel loads the kernel if the library has a call for that.
func (m *Module) Kernel(name string) (driver.Kernel, error) {
	const op = "kernel"
	d := m.dev
	if name == "" || strings.ContainsRune(name, 0) { // the vendors return other errors for such names
		return nil, d.refuse(op, driver.ErrNotFound, "no kernel %q", name)
	}
	handle, code := d.api.ModuleKernel(d.ctx, m.handle, name)
	if code != Success {
		e := d.fail(op, CallModuleKernel, code)
		if code.Value() == codeNotFound {
			e.Kind, e.Detail = driver.ErrNotFound, "no kernel "+name
		}
		return nil, e
	}
	if d.api.Has(CallKernelLoad) {
		if code := d.api.KernelLoad(d.ctx, handle); code != Success {
			return nil, d.fail(op, CallKernelLoad, code)
		}
	}
	k := &Kernel{module: m, handle: handle, info: driver.KernelInfo{Name: name}}
	if err := k.describe(op); err != nil {
		return nil, err
	}
	return k, nil
}

// FreeMayBlock implements driver.FreeBlocker: unloading code may wait for the device, because the vendors do not
// exclude it.
func (m *Module) FreeMayBlock() bool { return true }

func (m *Module) Close() error { return m.dev.release(CallModuleUnload, API.ModuleUnload, m.handle) }

func (k *Kernel) Info() *driver.KernelInfo { return &k.info }

// describe queries the driver about the kernel.
func (k *Kernel) describe(op string) error {
	d := k.module.dev
	limits := &d.info.Compute
	if read := k.module.infos[k.info.Name]; read != nil {
		k.info.Params, k.info.Known, k.info.RequiredBlock = read.Params, read.Known, read.RequiredBlock
	}
	dynamic := int32(0)
	for _, a := range []struct {
		number int32
		set    func(int32)
	}{
		{kernelThreads, func(v int32) { k.info.MaxThreads = uint32(v) }},
		{kernelShared, func(v int32) { k.info.StaticShared = uint64(v) }},
		{kernelLocal, func(v int32) { k.info.Local = uint64(v) }},
		{kernelRegisters, func(v int32) { k.registers = v }},
		{kernelDynamic, func(v int32) { dynamic = v }},
	} {
		v, ok, err := k.attribute(op, a.number)
		if err != nil {
			return err
		}
		if ok && v >= 0 {
			a.set(v)
		}
	}
	if k.info.MaxThreads == 0 { // the driver does not say
		k.info.MaxThreads = limits.MaxThreads
	}
	if limits.Shared > k.info.StaticShared {
		k.info.MaxShared = limits.Shared - k.info.StaticShared
	}
	k.dynamic.Store(uint64(dynamic))
	if err := k.askParams(op); err != nil {
		return err
	}
	return k.suggest(op)
}

// attribute queries an attribute of the kernel. ok is false if the library does not know the
// attribute.
func (k *Kernel) attribute(op string, number int32) (v int32, ok bool, err error) {
	d := k.module.dev
	if !d.api.Has(CallKernelAttribute) {
		return 0, false, nil
	}
	v, code := d.api.KernelAttribute(d.ctx, number, k.handle)
	if code == Success {
		return v, true, nil
	}
	e := d.fail(op, CallKernelAttribute, code)
	if e.Kind == driver.ErrUnsupported || e.Kind == driver.ErrInvalidArgument {
		return 0, false, nil
	}
	return 0, false, e
}

// askParams queries the driver for the sizes of the parameters. Only the image can say which parameters are pointers. If the
// driver and the image disagree, the parameters are unknown.
func (k *Kernel) askParams(op string) error {
	d, info := k.module.dev, &k.info
	if !d.api.Has(CallKernelParam) {
		return nil
	}
	var sizes []uint32
	for {
		size, code := d.api.KernelParam(d.ctx, k.handle, uintptr(len(sizes)))
		if code == CodeInvalidValue {
			break // there is no such parameter
		}
		if code != Success {
			if e := d.fail(op, CallKernelParam, code); e.Kind != driver.ErrUnsupported {
				return e
			}
			return nil
		}
		if sizes = append(sizes, uint32(size)); len(sizes) == kernelParamsBound {
			return nil
		}
	}
	if !info.Known {
		info.Params, info.Known = make([]driver.Param, len(sizes)), true
		for i, size := range sizes {
			info.Params[i].Size = size
			if size != uint32(unsafe.Sizeof(uintptr(0))) {
				info.Params[i].Kind = driver.ParamValue
			}
		}
		return nil
	}
	agree := len(sizes) == len(info.Params)
	params := slices.Clone(info.Params)
	for i := range params {
		if agree && params[i].Size == 0 {
			params[i].Size = sizes[i]
		}
		agree = agree && params[i].Size == sizes[i]
	}
	if info.Params = params; !agree {
		info.Params, info.Known = nil, false
	}
	return nil
}

// suggest sets the block size, in threads, at which the kernel runs fast.
func (k *Kernel) suggest(op string) error {
	d, info := k.module.dev, &k.info
	info.Suggested = usualThreads
	if d.api.Has(CallOccupancy) {
		threads, code := d.api.Occupancy(d.ctx, k.handle)
		switch {
		case code == Success && threads > 0:
			info.Suggested = min(uint32(threads), usualThreads)
		case code != Success:
			if e := d.fail(op, CallOccupancy, code); e.Kind != driver.ErrUnsupported && e.Kind != driver.ErrInvalidArgument {
				return e
			}
		}
	}
	for _, most := range []uint32{info.MaxThreads, d.info.Compute.MaxThreads} {
		if most != 0 {
			info.Suggested = min(info.Suggested, most)
		}
	}
	return nil
}

func (d *Device) Handles() driver.Handles {
	h := driver.Handles{Device: uintptr(d.dev)}
	if d.api.Has(CallRetain) { // otherwise there is no handle of a context: ctx is the number of the device
		h.Context = uintptr(d.ctx)
	}
	return h
}
