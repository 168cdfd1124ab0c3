// Package rtc compiles CUDA C++ and HIP C++ while the program runs, with the vendors' own compilers: NVRTC and
// hipRTC. Neither needs a device or a driver.
//
// The compiler is a library that is looked for at the first use, and never unloaded. It runs in the program's own process, where it may
// start threads, and may take hundreds of megabytes of memory while it compiles.
//
// Both compilers may be used from any number of goroutines. NVRTC compiles several programs at once ("Basic Usage" of NVIDIA's NVRTC
// documentation: different programs may be used from different threads). hipRTC's documentation promises nothing of the kind, so it
// compiles one program at a time. While a compiler runs, the program's signal handlers may be replaced (see package siglib).
package rtc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip/image"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/siglib"
)

//go:generate go run ../../testing/protogen calls.txt

// Vendor selects a vendor's compiler.
type Vendor uint8

const (
	NVRTC  Vendor = 1 + iota // CUDA C++, for "sm_90" and "compute_70"
	HIPRTC                   // HIP C++, for "gfx906"
)

// vendor describes a vendor's compiler.
type vendor struct {
	name    string // "NVRTC"
	backend string // for errors
	env     string // the environment variable that names the library
	prefix  string // of its calls
	one     bool   // it compiles one program at a time

	libraries func() []string // names to try, newest first
	folders   func() []string // where the libraries may be if the system's loader does not find them

	// beside are patterns of further files of the compiler in the library's folder.
	beside []string

	// bind looks up the calls that only this vendor has, and returns the names of those that are missing.
	bind func(c *Compiler) []string

	// plan returns how to compile for a target. An error is of kind ErrUnsupported.
	plan func(c *Compiler, target string) (plan, error)
}

// plan says how to compile for a target.
type plan struct {
	target string // the target that the compiler is given
	option string
	made   []product // the products to fetch, the best first; the first that is not empty is used
}

// product is one format of code that a compiler makes, and the calls that fetch it.
type product struct {
	format driver.Format
	size   func(program uintptr) (uintptr, status)
	get    func(program uintptr, code []byte) status
	name   string // of the call get, for errors
}

// status is what a call returns.
type status int32

var vendors = [...]*vendor{NVRTC: nvrtc, HIPRTC: hiprtc}

// Compiler is a loaded compiler. It is safe for concurrent use.
type Compiler struct {
	vendor  *vendor
	lib     *dl.Library
	id      string // names the compiler and all its files
	version string
	turn    sync.Mutex // held during a compilation if vendor.one is set

	calls     *calls
	archs     []int  // the numbers of NVRTC's architectures, sorted; nil if the library does not report them
	comgr     *comgr // nil if it was not found
	comgrPath string // the path of comgr's library, or ""
}

// loading is the result of looking for a compiler.
type loading struct {
	once     sync.Once
	compiler *Compiler
	err      error

	findOnce sync.Once
	found    bool
}

var loaded struct {
	sync.Mutex
	by map[string]*loading // by compiler and search; the environment can change the search
}

func (v *vendor) loading() (*loading, search) {
	s := v.search()
	key := v.name + "\x00" + s.key()
	loaded.Lock()
	defer loaded.Unlock()
	l := loaded.by[key]
	if l == nil {
		if loaded.by == nil {
			loaded.by = map[string]*loading{}
		}
		l = new(loading)
		loaded.by[key] = l
	}
	return l, s
}

// Load returns the vendor's compiler. The first call loads it. The compiler or the error is kept as long as the environment stays the same.
// The error is of kind ErrUnavailable and lists what was tried.
func Load(of Vendor) (*Compiler, error) {
	v := vendors[of]
	l, s := v.loading()
	l.once.Do(func() { l.compiler, l.err = v.load(s) })
	return l.compiler, l.err
}

// Found reports whether the compiler's library exists. If it finds the file, it does not load the library, so it costs little.
func Found(of Vendor) bool {
	v := vendors[of]
	l, s := v.loading()
	l.findOnce.Do(func() {
		if l.found = s.file(); !l.found {
			_, err := Load(of) // the system's loader may know more places
			l.found = err == nil
		}
	})
	return l.found
}

// load opens the first library that is a compiler.
func (v *vendor) load(s search) (*Compiler, error) {
	siglib.Enter()
	defer siglib.Leave()
	names, absent := s.candidates()
	if v == hiprtc {
		if why := clash(&s); why != "" {
			names, absent = nil, []dl.Attempt{{Name: names[0], Reason: why}}
		}
	}
	c, err := dl.First("", names, func(lib *dl.Library) (*Compiler, error) {
		c := &Compiler{vendor: v, lib: lib}
		if missing := c.bind(); len(missing) > 0 {
			return nil, errors.New("lacks " + strings.Join(missing, ", "))
		}
		c.identify()
		return c, nil
	})
	if err == nil {
		return c, nil
	}
	failed := err.(*dl.LoadError)
	failed.Env, failed.Tried = v.env, append(failed.Tried, absent...)
	return nil, &driver.Error{Op: "load " + v.name, Backend: v.backend, Device: -1, Kind: driver.ErrUnavailable, Err: failed}
}

// bind looks up the calls and returns those that are missing.
func (c *Compiler) bind() (missing []string) {
	prefix := c.vendor.prefix
	var err error
	if c.calls, err = loadCalls(func(name string) dl.Proc { return c.lib.Proc(prefix + name) }); err != nil {
		var lack *dl.MissingError
		if errors.As(err, &lack) {
			for _, name := range lack.Symbols {
				missing = append(missing, prefix+name)
			}
		}
		return missing
	}
	return c.vendor.bind(c)
}

// identify names the compiler by its version, and by the sizes and times of its files, because the version of hipRTC hardly ever changes.
func (c *Compiler) identify() {
	c.version = "of unknown version"
	if major, minor, st := c.calls.version(); st == 0 {
		c.version = fmt.Sprintf("%d.%d", major, minor)
	}
	files := []string{c.path()}
	if path, err := filepath.EvalSymlinks(files[0]); err == nil {
		files[0] = path
		for _, pattern := range c.vendor.beside {
			more, _ := filepath.Glob(filepath.Join(filepath.Dir(path), pattern)) // the pattern is a constant, and valid
			files = append(files, more...)
		}
	}
	if c.comgrPath != "" {
		files = append(files, c.comgrPath)
	}
	id := c.vendor.name + " " + c.version
	for _, path := range files {
		if info, err := os.Stat(path); err == nil {
			id += fmt.Sprintf("; %s %d %d", filepath.Base(path), info.Size(), info.ModTime().UnixNano())
		}
	}
	c.id = id
}

// path returns the path of the library, or "".
func (c *Compiler) path() string { return c.lib.Proc(c.vendor.prefix + "CreateProgram").Path() }

// ID names everything, apart from source and options, that determines what Compile returns for a target. It changes with every build of the
// compiler.
func (c *Compiler) ID(target string) (string, error) {
	p, err := c.vendor.plan(c, target)
	if err != nil {
		return "", err
	}
	return c.id + "; " + p.target, nil
}

func (v *vendor) refuse(kind error, format string, args ...any) *driver.Error {
	return &driver.Error{Op: "compile", Backend: v.backend, Device: -1, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// Codes that the compilers share.
const (
	codeOutOfMemory   = 1
	codeInvalidInput  = 3
	codeInvalidOption = 5
	codeCompilation   = 6
	codeBuiltins      = 7
)

// fail returns the error for the code of a call.
func (c *Compiler) fail(call string, code status) *driver.Error {
	kind := driver.ErrDriver
	switch code {
	case codeOutOfMemory:
		kind = driver.ErrOutOfMemory
	case codeInvalidInput, codeInvalidOption:
		kind = driver.ErrInvalidArgument
	case codeBuiltins:
		kind = driver.ErrUnavailable
	}
	e := c.vendor.refuse(kind, "")
	name := dl.GoString(c.calls.errorString(code))
	e.Vendor = driver.Vendor{API: c.vendor.prefix + call, Name: name, Code: int64(code)}
	return e
}

// Compile compiles source text for a target. For "sm_90" NVRTC makes a cubin, and for "compute_70" PTX. If NVRTC is older than the
// target's architecture, it makes PTX for the newest architecture that it knows, which later drivers translate.
func (c *Compiler) Compile(target string, src *driver.Source) (*driver.Image, error) {
	p, err := c.vendor.plan(c, target)
	if err != nil {
		return nil, err
	}
	options := append([]string{p.option}, src.Options...)
	if what := zeroByte(src, options); what != "" {
		return nil, c.vendor.refuse(driver.ErrInvalidArgument, "the %s contains a zero byte", what)
	}
	img, err := c.compile(src, options, &p)
	if err != nil {
		return nil, err
	}
	kernels, err := image.Read(img.Format, img.Data)
	if err != nil {
		return nil, &driver.Error{Op: "compile", Backend: c.vendor.backend, Device: -1, Kind: driver.ErrDriver,
			Detail: fmt.Sprintf("the code that %s returned cannot be read", c.vendor.name), Err: err}
	}
	for name, k := range kernels {
		if k.Known {
			if img.Params == nil {
				img.Params = make(map[string][]driver.Param, len(kernels))
			}
			img.Params[name] = k.Params
		}
	}
	return img, nil
}

// zeroByte returns which text contains a zero byte, or "". For the compiler a text ends at its first zero byte.
func zeroByte(src *driver.Source, options []string) string {
	switch {
	case strings.IndexByte(src.Text, 0) >= 0:
		return "source"
	case strings.IndexByte(src.Name, 0) >= 0:
		return "source's name"
	}
	for name, text := range src.Headers {
		if strings.IndexByte(name, 0) >= 0 || strings.IndexByte(text, 0) >= 0 {
			return fmt.Sprintf("header %q", name)
		}
	}
	for _, o := range options {
		if strings.IndexByte(o, 0) >= 0 {
			return fmt.Sprintf("option %q", o)
		}
	}
	return ""
}

// compile runs the compiler.
func (c *Compiler) compile(src *driver.Source, options []string, p *plan) (*driver.Image, error) {
	if c.vendor.one {
		c.turn.Lock()
		defer c.turn.Unlock()
	}
	siglib.Enter()
	defer siglib.Leave()

	var names, texts []unsafe.Pointer
	for name, text := range src.Headers {
		names, texts = append(names, cText(name)), append(texts, cText(text))
	}
	var name unsafe.Pointer
	if src.Name != "" {
		name = cText(src.Name)
	}
	program, code := c.calls.createProgram(src.Text, name, texts, names)
	if code != 0 {
		return nil, c.fail("CreateProgram", code)
	}
	defer c.calls.destroyProgram(program)
	var list []unsafe.Pointer
	for _, option := range options {
		list = append(list, cText(option))
	}
	if code := c.calls.compileProgram(program, list); code != 0 {
		return nil, c.refused(program, src, options, p, code)
	}
	for _, m := range p.made {
		data, err := c.fetch(program, &m)
		if err != nil {
			return nil, err
		}
		if m.format == driver.FormatPTX {
			data = []byte(strings.TrimRight(string(data), "\x00"))
		}
		if len(data) > 0 {
			return &driver.Image{Format: m.format, Data: data}, nil
		}
	}
	return nil, c.vendor.refuse(driver.ErrInvalidArgument, "with the options %q, %s makes no code that a device can load",
		src.Options, c.vendor.name)
}

// cText returns the address of a copy of a text, with a zero byte behind it.
func cText(s string) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(dl.CString(s))) }

// fetch returns the code or the log of a program.
func (c *Compiler) fetch(program uintptr, of *product) ([]byte, error) {
	n, code := of.size(program)
	if code != 0 {
		return nil, c.fail(of.name+"Size", code)
	}
	if n == 0 {
		return nil, nil
	}
	if n > 1<<31 {
		return nil, c.vendor.refuse(driver.ErrDriver, "%s%sSize says %d bytes", c.vendor.prefix, of.name, n)
	}
	data := make([]byte, n)
	if code := of.get(program, data); code != 0 {
		return nil, c.fail(of.name, code)
	}
	return data, nil
}

// folder matches the temporary path at which AMD's compiler keeps the source text.
var folder = regexp.MustCompile(`[^\s"']*/comgr-[0-9A-Za-z]+/input/CompileSource`)

// refused returns the error for a program that does not compile.
func (c *Compiler) refused(program uintptr, src *driver.Source, options []string, p *plan, code status) error {
	e := c.fail("CompileProgram", code)
	text, err := c.fetch(program, &product{size: c.calls.logSize, get: c.calls.log, name: "GetProgramLog"})
	if err != nil {
		return err
	}
	log := strings.TrimRight(string(text), "\x00 \n")
	if src.Name != "" {
		log = folder.ReplaceAllLiteralString(log, src.Name)
	}
	switch {
	// A variant of an architecture, like sm_75a, may be refused as an option or only when the source is read.
	case code == codeInvalidOption && strings.Contains(log, "gpu-architecture"),
		code == codeCompilation && strings.Contains(log, "--nv_arch flag"):
		e.Kind, e.Detail = driver.ErrUnsupported, fmt.Sprintf("%s %s does not know the target %s: %s", c.vendor.name, c.version, p.target,
			log)
		return e
	case code == codeCompilation:
		e.Kind, e.Err = driver.ErrBuild, &driver.BuildError{Source: src.Name, Options: options, Log: log}
		return e
	}
	e.Detail = log
	return e
}
