package kernel

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/debug"
	"github.com/go-halyard/halyard/internal/kernelcache"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// Program is a [Source] and the code that was compiled from it. It can be a package-level variable: making one compiles nothing.
type Program struct {
	src     Source
	written *written
	vulkan  compiled

	mu    sync.Mutex
	loads map[*hal.Device]*load // by the device's own handle
	round atomic.Uint64         // counts the calls of Close

	divided atomic.Pointer[Program] // for parts of grids, nil if there was no launch of one
	watches atomic.Pointer[Program] // for launches whose loops a device may end, in the same way
	wide    atomic.Pointer[Program] // for launches with integers of 64 bits, in the same way
	typed   map[int]*Program        // for each list of types, the generic kernels for them, which are compiled apart; guarded by mu
}

// load is a program on one device.
type load struct {
	done   chan struct{} // closed when module and err are set
	module *loaded
	err    error
	ready  bool // done, and not closed by Close; guarded by Program.mu
}

// New returns the program of a source, whose maps and slices must not change afterwards.
func New(src Source) *Program {
	if src.Name == "" {
		src.Name = "kernel"
	}
	p := &Program{src: src, written: &written{}, loads: map[*hal.Device]*load{}}
	p.written.remember(src.Sources, src.Format)
	return p
}

// Compiled gives a program its kernels for devices of Vulkan. Files that the command "halyard kernels" writes call it when the program
// begins, in builds with the tag vulkan. of is the checksum of Source.Portable.
func (p *Program) Compiled(of string, kernels map[string]gridgen.Code) {
	p.vulkan = compiled{kernels, of}
	for _, q := range p.typed {
		q.vulkan = p.vulkan
	}
}

// Load compiles the program for a device and loads it there, unless that has been done. A program that is never loaded explicitly is loaded
// by the first launch. It stays loaded until [Program.Close] or until the device is closed. If ctx ends first, the compiler goes on, and a
// later call finds what it made.
//
// The error is of kind hal.ErrBuild if the source does not compile, and then errors.As finds a [*hal.BuildError]; of kind
// hal.ErrUnsupported if there is no body for the device, and hal.ErrUnavailable if the vendor's compiler is not installed.
func (p *Program) Load(ctx context.Context, dev *hal.Device) error {
	var errs []error
	for _, q := range p.all() {
		_, err := q.module(ctx, "load", dev)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Close unloads the program from all devices, once its launches have finished. The program can be used again, and is then loaded anew.
func (p *Program) Close() error {
	if p == nil {
		return noProgram("close")
	}
	p.mu.Lock()
	var ready []*loaded
	for _, l := range p.loads {
		if l.ready && l.module != nil {
			ready = append(ready, l.module)
		}
	}
	clear(p.loads) // a load that is under way sees this at its end
	p.round.Add(1)
	p.mu.Unlock()
	var errs []error
	for _, m := range ready {
		errs = append(errs, m.Close())
	}
	for _, q := range append(p.all(), p.divided.Load(), p.watches.Load(), p.wide.Load()) {
		if q != nil && q != p {
			errs = append(errs, q.Close())
		}
	}
	return errors.Join(errs...)
}

// Stale returns an error of kind hal.ErrInvalidArgument if another version of the command "halyard kernels" wrote the program's file, if a
// kernel, or something of its module that it uses, has changed since the command translated it, or if a name that it uses got another meaning
// by a new declaration. Comments, formatting and moves within a file are no changes. If the sources are not where they were when the program
// was compiled, only the version is compared. The test that the command writes calls Stale. So does the first launch of a program's kernels:
// it compares the version, and the sources if the program was compiled after the change.
func (p *Program) Stale() error {
	if p == nil {
		return noProgram("compare")
	}
	return p.written.compare("compare")
}

// staleAtLaunch is Stale for the first launch. A program that was compiled before its sources changed is right as it is: it has the old
// kernels, and what was made of them.
func (p *Program) staleAtLaunch() error {
	w := p.written
	w.once.Do(func() {
		if w.err = w.old("launch"); w.err == nil && len(w.sources) > 0 && filepath.IsAbs(w.file) && w.compiledFrom() {
			w.err = w.compare("launch")
		}
	})
	return w.err
}

func noProgram(op string) error {
	return hal.Errorf(op, hal.ErrInvalidArgument, "nil program; make it with New")
}

// with returns the program that has a kernel: p itself, or that for the kernel's types.
func (p *Program) with(kernel string) *Program {
	if p == nil || p.loads == nil || p.src.Kernels[kernel].Types == p.src.list {
		return p
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	types := p.src.Kernels[kernel].Types
	if p.typed[types] == nil {
		src := p.src
		src.list = types
		q := New(src)
		q.written, q.vulkan = p.written, p.vulkan
		if p.typed == nil {
			p.typed = map[int]*Program{}
		}
		p.typed[types] = q
	}
	return p.typed[types]
}

// all returns the programs that have all kernels together.
func (p *Program) all() (all []*Program) {
	if p == nil || p.loads == nil || !p.src.generic() || p.src.list > 0 {
		return []*Program{p}
	}
	for _, name := range slices.Sorted(maps.Keys(p.src.Kernels)) {
		if q := p.with(name); !slices.Contains(all, q) {
			all = append(all, q)
		}
	}
	return all
}

// module returns the program loaded on a device.
func (p *Program) module(ctx context.Context, op string, dev *hal.Device) (*loaded, error) {
	if p == nil || p.loads == nil {
		return nil, noProgram(op)
	}
	common := layer.Common(dev)
	if common == nil {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil or zero device")
	}
	if err := layer.Ended(op, ctx); err != nil {
		return nil, err
	}
	if err := p.staleAtLaunch(); err != nil {
		return nil, err
	}
	p.mu.Lock()
	l := p.loads[common]
	if l == nil {
		l = &load{done: make(chan struct{})}
		p.forget()
		p.loads[common] = l
		go p.load(common, l)
	}
	ready := l.ready
	p.mu.Unlock()
	if ready { // l.done may belong to a bubble of package synctest
		return l.module, nil
	}
	defer runtime.KeepAlive(dev) // a device that only this call reaches is not to be closed under it
	select {
	case <-l.done:
		return l.module, l.err
	case <-ctx.Done():
		err := *layer.Interrupted(op, ctx).(*hal.Error)
		err.Detail = "still compiling " + p.src.Name + " for " + dev.Name() + ", which goes on"
		return nil, &err
	}
}

// forget removes devices that have been closed; p.mu is held.
func (p *Program) forget() {
	for dev, l := range p.loads {
		if l.ready && l.module != nil && l.module.closed() {
			delete(p.loads, dev)
		}
	}
}

// load loads the program on a device. An error is not kept: the next call tries again.
func (p *Program) load(dev *hal.Device, l *load) {
	defer close(l.done)
	end := tell(debug.Listener(), "compiling the kernels of %s for %s", p.src.Name, dev.Info().Name())
	l.module, l.err = p.build(dev)
	end()
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.loads[dev] != l: // closed meanwhile
		if l.module != nil {
			_ = l.module.Close()
		}
		if l.err == nil {
			l.err = hal.Errorf("load", hal.ErrClosed, "the program was closed meanwhile")
		}
	case l.err != nil:
		delete(p.loads, dev)
	default:
		l.ready = true
	}
}

// build finds the body for a device and loads it.
func (p *Program) build(dev *hal.Device) (*loaded, error) {
	if len(p.vulkan.kernels) > 0 && slices.Contains(dev.Formats(), hal.FormatVulkan) {
		return p.loadEach(dev)
	}
	m, err := p.buildAll(dev)
	if err != nil {
		return nil, err
	}
	return &loaded{all: m}, nil
}

// buildAll finds the body for a device that has all kernels, compiles it if it is text, and loads it.
func (p *Program) buildAll(dev *hal.Device) (*hal.Module, error) {
	src, info, formats := &p.src, dev.Info(), dev.Formats()
	takes := func(f hal.Format) bool { return slices.Contains(formats, f) }
	if src.runsGo(dev) {
		return dev.Load(hal.Image{Format: hal.FormatGo, Functions: src.Go})
	}
	var refused error
	for _, img := range src.Images {
		if !takes(img.Format) || src.reports(dev) {
			continue
		}
		m, err := dev.Load(img)
		if err == nil || !errors.Is(err, hal.ErrUnsupported) {
			return m, err
		}
		refused = err
	}
	language := info.Compute.Language
	if !dev.Caps().Has(hal.CapCompile) && takes(hal.FormatOpenCLC) {
		language = hal.LanguageOpenCLC
	}
	text, options := src.text(language)
	switch {
	case text == "" && refused != nil:
		return nil, refused
	case text == "":
		lacks := src.lacks(formats, language)
		if takes(hal.FormatVulkan) {
			lacks += vulkanTakes
		}
		return nil, failure("load", dev, hal.ErrUnsupported, "%s has no body for the device: %s", src.Name, lacks)
	case dev.Caps().Has(hal.CapCompile):
		return p.compile(dev, hal.Source{Name: src.Name, Text: text, Headers: src.Headers, Options: options})
	case takes(hal.FormatOpenCLC):
		return dev.Load(hal.Image{Format: hal.FormatOpenCLC, Data: []byte(text), Options: strings.Join(options, " ")})
	}
	compiler := map[hal.Language]string{hal.LanguageCUDA: ", NVRTC,", hal.LanguageHIP: ", hipRTC,"}[language]
	return nil, failure("load", dev, hal.ErrUnavailable, "%s has to be compiled for the device, and the compiler of %v%s is not installed",
		src.Name, language, compiler)
}

// loadEach loads the kernels for devices of Vulkan. A kernel that needs what the device lacks fails when it is launched. If the
// device can run none, loadEach returns the error of the first.
func (p *Program) loadEach(dev *hal.Device) (*loaded, error) {
	if sum := sha256.Sum256([]byte(p.src.Portable)); hex.EncodeToString(sum[:8]) != p.vulkan.of {
		return nil, failure("load", dev, hal.ErrInvalidArgument,
			"the generated files of %s were not written together; run go generate, or go tool halyard kernels", p.src.Name)
	}
	if p.src.prints() {
		return nil, failure("load", dev, hal.ErrUnsupported, "grid.Println prints nothing on Vulkan; launch %s on another device, or without %s=print", p.src.Name, debug.Variable)
	}
	l := &loaded{each: map[string]*hal.Module{}, lacks: map[string]error{}}
	var first error
	var unpacker spirv.Unpacker
	for _, name := range slices.Sorted(maps.Keys(p.vulkan.kernels)) {
		code, c := p.src.Kernels[name].Code, p.vulkan.kernels[name]
		why := c.Lacks
		if why == "" {
			data, needed, err := p.words(dev, name, &c, &unpacker)
			switch {
			case err != nil:
				return nil, errors.Join(failure("load", dev, hal.ErrInvalidArgument, "kernel %s: %v", name, err), l.Close())
			case !needed:
				continue
			}
			if p.src.parts {
				if data, err = spirv.Parts(data); err != nil {
					l.lacks[code] = failure("launch", dev, hal.ErrUnsupported, "kernel %s runs no parts of grids on the device: %v", name,
						err)
					first = cmp.Or(first, l.lacks[code])
					continue
				}
			}
			m, err := dev.Load(hal.Image{Format: hal.FormatVulkan, Data: data})
			if err == nil {
				l.each[code] = m
				continue
			}
			e := (*hal.Error)(nil)
			if !errors.As(err, &e) || !errors.Is(err, hal.ErrUnsupported) {
				return nil, errors.Join(err, l.Close())
			}
			why = e.Detail
			for feature, use := range c.Needs {
				if strings.Contains(e.Detail, feature+",") {
					why = "it uses " + use + ": " + e.Detail
				}
			}
		}
		l.lacks[code] = failure("launch", dev, hal.ErrUnsupported, "kernel %s cannot run on the device: %s", name, why)
		first = cmp.Or(first, l.lacks[code])
	}
	if len(l.each) == 0 {
		return l, first
	}
	return l, nil
}

// words returns the module of a kernel that the program loads on a device, if it needs one. The modules of all kernels have to be unpacked,
// because each is packed as what differs from those before it.
func (p *Program) words(dev *hal.Device, name string, c *gridgen.Code, unpacker *spirv.Unpacker) (data []byte, needed bool, err error) {
	var modules [3][]byte
	for i, packed := range []string{c.Words, c.Checked, c.Watched} {
		var err error
		if modules[i], err = unpacker.Unpack(packed); packed != "" && err != nil {
			return nil, false, err
		}
	}
	switch {
	case p.src.Kernels[name].Types != p.src.list:
		return nil, false, nil
	case !p.src.reports(dev):
		return modules[0], true, nil
	case checkingBounds.Load():
		return modules[1], true, nil
	}
	return modules[2], c.Watched != "", nil // without it no launch needs it
}

// failure returns an error of a kind about a device.
func failure(op string, dev *hal.Device, kind error, format string, args ...any) *hal.Error {
	info := dev.Info()
	return &hal.Error{Op: op, Backend: info.Backend, Device: info.Ordinal, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// compile compiles text for a device, or finds what was compiled before, and loads the result.
func (p *Program) compile(dev *hal.Device, src hal.Source) (*hal.Module, error) {
	id, err := layer.CompilerID(dev)
	if err != nil {
		return nil, err
	}
	cache, key := kernelcache.Default(), cacheKey(id, &src)
	fresh := false
	compile := func() (*hal.Image, error) {
		fresh = true
		img, err := dev.Compile(src)
		return &img, err
	}
	img, err := cache.Do(context.Background(), key, compile)
	if err != nil {
		return nil, err
	}
	m, err := dev.Load(*img)
	if err == nil || fresh || errors.Is(err, hal.ErrClosed) || errors.Is(err, hal.ErrDeviceLost) {
		return m, err
	}
	// The image was made by an earlier process, perhaps with another driver of the same version. Compile it again.
	cache.Delete(key)
	if img, err = cache.Do(context.Background(), key, compile); err != nil {
		return nil, err
	}
	return dev.Load(*img)
}

// settings are the beginnings of the environment variables with which users change how compilers of kernels work: those of PoCL, Intel's,
// Mesa's and AMD's OpenCL, Oclgrind, and of NVIDIA's and AMD's compilers at run time. One without effect on the code costs a compilation,
// no more.
var settings = []string{"POCL_", "CL_CONFIG_", "IGC_", "NEO", "RUSTICL_", "CLOVER_", "MESA_", "GALLIUM_", "LP_", "NIR_", "AMD_", "GPU_",
	"OCLGRIND_",
	"NVRTC_", "HIPRTC_"}

// cacheKey is a hash of everything that decides what the compiler makes of the source.
func cacheKey(compiler string, src *hal.Source) kernelcache.Key {
	var env []string
	for _, v := range os.Environ() {
		if slices.ContainsFunc(settings, func(s string) bool { return strings.HasPrefix(v, s) }) {
			env = append(env, v)
		}
	}
	slices.Sort(env)
	parts := []string{compiler, strings.Join(env, "\x00"), src.Name, src.Text, fmt.Sprint(len(src.Options))}
	parts = append(parts, src.Options...)
	for _, name := range slices.Sorted(maps.Keys(src.Headers)) {
		parts = append(parts, name, src.Headers[name])
	}
	return kernelcache.NewKey(parts...)
}
