package kernel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/debug"
	"github.com/go-halyard/halyard/internal/kernelcache"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// Source is a program of one or more kernels, with a body for each kind of device. At least one field with code is set; a device takes
// the first of Go, Images, its own language and Portable that it can use. Devices of Vulkan compile no text: they take what
// [Program.Compiled] gives the program, or Images.
type Source struct {
	Name     string // for messages, like a file's name; "" means "kernel"
	Portable string // in the portable dialect: see Prelude
	OpenCL   string // OpenCL C
	CUDA     string // CUDA C++
	HIP      string // HIP C++

	// Images are compiled already. A device takes the first that it can load.
	Images []hal.Image

	// Go are the kernels as Go functions. Only the host runs them, and it runs nothing else: launches of a program without them fail there,
	// with an error of kind hal.ErrUnsupported.
	Go Functions

	// Indexes is written by the command "halyard kernels", together with Portable. Leave it nil in a source written by hand. It has the
	// places in Go code, as file:line, whose indexes, divisors and counts of shifts the text checks if the macro HALYARD_BOUNDS is
	// defined, as it is with HALYARD_CHECK=bounds. The kernels then have one more parameter. [Kernel.Launch] passes it; launches by [Kernel.Of]
	// and package hal do not, and fail.
	Indexes []string

	// Prints is written by the command "halyard kernels" as well: the calls of grid.Println in Portable, which it makes if the macro HALYARD_PRINT is defined.
	// Each has the line, as file:line, and after tabs the arguments: constants, and for others a letter for the type after a %.
	Prints []string

	// Kernels is written by the command "halyard kernels" as well: what it knows about the kernels, by their names in Go.
	Kernels map[string]gridgen.Written

	// Sources is written by the command "halyard kernels" too: what it translated, and which names it did not find declared, for
	// [Program.Stale].
	Sources []string

	// Format is written by the command "halyard kernels" too: the version of what it writes. Launches fail if it is not the one that this package takes.
	Format int

	// Headers are texts that the source can include, by name. Compilers include files too, by an absolute path or from a folder that
	// Options name. But compiled code is kept, and the source is not compiled again when such a file changes.
	Headers map[string]string

	// Options are for the device's compiler, in the order given. Unless they say otherwise, compilers do not fuse multiplications with
	// additions in portable source, so that every device rounds alike.
	Options map[hal.Language][]string

	list    int  // the program has the kernels for one list of types; 0: those that are not generic
	parts   bool // the kernels run parts of grids
	watched bool // the kernels look at their end whether the device still runs loops
	wide    bool // the kernels compute with integers of 64 bits
}

// Functions are kernels as Go functions, by name.
type Functions map[string]hal.Function

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

func noProgram(op string) error {
	return hal.Errorf(op, hal.ErrInvalidArgument, "nil program; make it with New")
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

// closed reports whether a module was closed with its device.
func closed(m *hal.Module) bool {
	_, err := m.Kernel("")
	return errors.Is(err, hal.ErrClosed)
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
		return nil, p.failure("load", dev, hal.ErrUnsupported, "%s has no body for the device: %s", src.Name, lacks)
	case dev.Caps().Has(hal.CapCompile):
		return p.compile(dev, hal.Source{Name: src.Name, Text: text, Headers: src.Headers, Options: options})
	case takes(hal.FormatOpenCLC):
		return dev.Load(hal.Image{Format: hal.FormatOpenCLC, Data: []byte(text), Options: strings.Join(options, " ")})
	}
	compiler := map[hal.Language]string{hal.LanguageCUDA: ", NVRTC,", hal.LanguageHIP: ", hipRTC,"}[language]
	return nil, p.failure("load", dev, hal.ErrUnavailable, "%s has to be compiled for the device, and the compiler of %v%s is not installed",
		src.Name, language, compiler)
}

// text returns the source in a language, and the options to compile it with; "" if there is none.
func (s *Source) text(language hal.Language) (text string, options []string) {
	options = s.Options[language]
	switch language {
	case hal.LanguageOpenCLC:
		text = s.OpenCL
	case hal.LanguageCUDA:
		text = s.CUDA
	case hal.LanguageHIP:
		text = s.HIP
	default:
		return "", nil
	}
	if text == "" && s.Portable != "" {
		text = Prelude(language) + "#line 1\n" + s.Portable
		switch {
		case s.Indexes != nil && checkingBounds.Load():
			text = boundsMacro + text
		case s.watched:
			text = roundsMacro + text
		case s.wide:
			text = wideMacro + text
		}
		if s.prints() {
			text = printMacro + text
		}
		if s.parts {
			text = partsMacro + text
		}
		if s.generic() {
			text = fmt.Sprintf("#define GO_TYPES %d\n", s.list) + text
		}
		options = append(slices.Clone(own[language]), options...)
	}
	return text, options
}

// runsGo reports whether a device runs the Go functions.
func (s *Source) runsGo(dev *hal.Device) bool {
	return len(s.Go) > 0 && slices.Contains(dev.Formats(), hal.FormatGo)
}

// narrow reports whether kernels on a device, as modules for Vulkan or as text, keep integers in 32 bits: see GO_INT in prelude/bounds.h.
func (s *Source) narrow(dev *hal.Device, vulkan bool) bool {
	if s.runsGo(dev) || s.Indexes != nil && checkingBounds.Load() || s.prints() {
		return false
	}
	return vulkan || !s.wide && !s.watched && dev.Info().Compute.Language != hal.LanguageOpenCLC
}

// reports reports whether kernels on a device check their indexes, or the rounds of their loops, and so have the parameter that
// Source.Indexes describes.
func (s *Source) reports(dev *hal.Device) bool {
	if s.Indexes == nil || !s.watched && !checkingBounds.Load() && !s.prints() || s.Portable == "" {
		return false
	}
	if s.runsGo(dev) {
		return false
	}
	switch dev.Info().Compute.Language {
	case hal.LanguageCUDA:
		return s.CUDA == ""
	case hal.LanguageHIP:
		return s.HIP == ""
	}
	return s.OpenCL == ""
}

// own are the options for text in the portable dialect. They make a compiler round after each operation; in OpenCL C a pragma in the prelude
// does that. With -w there are no warnings: of these PoCL and hipRTC would print how many there are to the program's standard error.
var own = map[hal.Language][]string{
	hal.LanguageOpenCLC: {"-w"},
	hal.LanguageCUDA:    {"--fmad=false"},
	hal.LanguageHIP:     {"-ffp-contract=off", "-w"},
}

// lacks says which bodies a device takes, and which the source has.
func (s *Source) lacks(formats []hal.Format, language hal.Language) string {
	var takes, has []string
	for _, f := range formats {
		takes = append(takes, f.String())
	}
	if language != 0 {
		takes = append(takes, language.String())
	}
	for _, b := range []struct {
		there bool
		name  string
	}{{s.Portable != "", "portable text"}, {s.OpenCL != "", "OpenCL C"}, {s.CUDA != "", "CUDA C++"}, {s.HIP != "",
		"HIP C++"}, {len(s.Go) > 0, "Go functions"}} {
		if b.there {
			has = append(has, b.name)
		}
	}
	for _, i := range s.Images {
		has = append(has, i.Format.String())
	}
	if len(takes) == 0 {
		return "it runs no kernels"
	}
	if len(has) == 0 {
		has = []string{"nothing"}
	}
	return fmt.Sprintf("it takes %s; there is %s", strings.Join(takes, ", "), strings.Join(has, ", "))
}

func (p *Program) failure(op string, dev *hal.Device, kind error, format string, args ...any) error {
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
