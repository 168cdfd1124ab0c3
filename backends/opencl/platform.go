//go:build opencl

package opencl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/siglib"
)

// library is one OpenCL library and the devices that it has listed.
type library struct {
	t *table

	mu       sync.Mutex
	listing  *dl.Once[listing]
	contexts map[contextKey]*sharedContext
}

type listing struct {
	platforms []*platform
	problems  []string
}

// platform is one vendor's implementation of OpenCL.
type platform struct {
	id    uintptr
	index int // in the library's list
	name  atomic.Pointer[string]

	devices dl.Once[[]*hardware]
}

func newLibrary(t *table) *library {
	return &library{t: t, contexts: map[contextKey]*sharedContext{}}
}

// platforms returns the library's platforms, in its order, and the reasons why others are missing. If the query fails, the next call
// makes it again. While a query is under way, other calls wait for its result.
func (l *library) platforms(ctx context.Context, op string) (listing, error) {
	l.mu.Lock()
	if l.listing == nil {
		l.listing = &dl.Once[listing]{Call: l.list}
	}
	first := l.listing
	l.mu.Unlock()
	if !first.Returned(ctx) {
		return listing{}, late(ctx, op, "the OpenCL library has not listed its platforms; it waits for the drivers in "+driverRegistry())
	}
	if first.Err != nil {
		l.mu.Lock()
		if l.listing == first {
			l.listing = nil
		}
		l.mu.Unlock()
	}
	return first.Value, first.Err
}

// late returns the error of an enumeration that gave up because ctx ended.
func late(ctx context.Context, op, detail string) error {
	return &driver.Error{Op: op, Backend: backendName, Device: -1, Kind: driver.ErrNotReady, Detail: detail, Err: context.Cause(ctx)}
}

// list queries the library's platforms.
func (l *library) list() (listing, error) {
	askForSignalHandlers()
	dl.OpenCL.Lock()
	defer dl.OpenCL.Unlock()
	siglib.Enter()
	defer siglib.Leave()
	files, problem := registered()
	if slices.ContainsFunc(files, func(file string) bool {
		library, _ := registeredLibrary(file)
		return strings.Contains(library, "pocl")
	}) {
		takePoclCache() // a loader that finds several platforms counts the devices of each to sort them
	}
	ids, st := l.t.platforms()
	if st != success && st != noPlatform {
		return listing{}, failure("list devices", -1, "clGetPlatformIDs", st)
	}
	problems := driverProblems(files, problem)
	if len(ids) == 0 {
		err := failure("list devices", -1, "clGetPlatformIDs", noPlatform)
		err.Detail = fmt.Sprintf("%s finds no OpenCL driver", l.t.library)
		if len(problems) > 0 {
			err.Detail += ": " + strings.Join(problems, "; ")
		}
		err.Detail += "; a driver is registered by a file in /etc/OpenCL/vendors, or in the folder that OCL_ICD_VENDORS names"
		return listing{}, err
	}
	li := listing{problems: problems}
	for i, id := range ids {
		p := &platform{id: id, index: i}
		p.devices.Call = func() ([]*hardware, error) { return p.query(l.t) }
		li.platforms = append(li.platforms, p)
	}
	return li, nil
}

// String names the platform in messages.
func (p *platform) String() string {
	if name := p.name.Load(); name != nil {
		return fmt.Sprintf("platform %d (%s)", p.index, *name)
	}
	return fmt.Sprintf("platform %d", p.index)
}

// hardware returns the platform's devices, or why it has none. The first call queries the platform. The error is of kind
// ErrNotReady if ctx ended before the platform answered.
func (p *platform) hardware(ctx context.Context, op string) ([]*hardware, error) {
	if !p.devices.Returned(ctx) {
		return nil, late(ctx, op, p.String()+" has not listed its devices; "+
			"the devices of this platform and of those after it have no numbers before it has")
	}
	return p.devices.Value, p.devices.Err
}

// query queries the platform's devices.
func (p *platform) query(t *table) ([]*hardware, error) {
	dl.OpenCL.Lock()
	defer dl.OpenCL.Unlock()
	siglib.Enter()
	defer siglib.Leave()
	name := factsOf(t.getPlatformInfo, p.id).text(platformName)
	p.name.Store(&name)
	if name == pocl {
		takePoclCache()
	}
	ids, st := t.devices(p.id)
	if st == deviceNotFound || st == success && len(ids) == 0 {
		hint := ""
		if name == pocl {
			hint = "; PoCL has none if it cannot write to its cache, which is in POCL_CACHE_DIR or else in ~/.cache/pocl"
		}
		return nil, fmt.Errorf("%s has no devices%s", p, hint)
	}
	if st != success {
		return nil, fmt.Errorf("%s: %w", p, failure("list devices", -1, "clGetDeviceIDs", st))
	}
	usm := sync.OnceValue(func() *usmTable { return t.usm(p.id) })
	var devices []*hardware
	var reasons []string
	for _, id := range ids {
		h, why := describe(t, p, id, usm)
		if why != "" {
			reasons = append(reasons, why)
			continue
		}
		devices = append(devices, h)
	}
	if len(devices) == 0 {
		return nil, fmt.Errorf("%s has no usable device: %s", p, strings.Join(reasons, "; "))
	}
	devices[0].problem = strings.Join(reasons, "; ")
	return devices, nil
}

// On Linux and the BSDs the OpenCL library is a loader: each driver is registered by a file that
// holds the name of the driver's library. The loader silently skips a driver that does not load.

// driverRegistry returns the folder of those files. The environment may name another folder, a single file, or a driver's library instead.
func driverRegistry() string {
	for _, env := range []string{"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"} {
		if v := os.Getenv(env); v != "" {
			return v
		}
	}
	return "/etc/OpenCL/vendors"
}

// registered returns the files that register drivers, or why there are none.
func registered() (files []string, problem string) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return nil, ""
	}
	where := driverRegistry()
	switch info, err := os.Stat(where); {
	case err != nil:
		return nil, fmt.Sprintf("no driver is registered: %v", err)
	case !info.IsDir():
		return []string{where}, ""
	}
	files, _ = filepath.Glob(filepath.Join(where, "*.icd"))
	slices.Sort(files)
	if len(files) == 0 {
		return nil, fmt.Sprintf("no driver is registered: %s holds no .icd file", where)
	}
	return files, ""
}

// registeredLibrary returns the library that a file registers, or why it names none.
func registeredLibrary(file string) (name, problem string) {
	if !strings.HasSuffix(file, ".icd") {
		return file, ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err.Error()
	}
	first, _, _ := strings.Cut(string(text), "\n")
	if name = strings.TrimSpace(first); name == "" {
		return "", file + " names no library"
	}
	return name, ""
}

// driverProblems returns what is wrong with the registered drivers, one sentence each. It loads the
// drivers itself, so it must be called after the OpenCL library has loaded them.
func driverProblems(files []string, problem string) (problems []string) {
	if problem != "" {
		return []string{problem}
	}
	for _, file := range files {
		if why := driverProblem(file); why != "" {
			problems = append(problems, why)
		}
	}
	return problems
}

// driverProblem returns why the driver of one file does not load, or "".
func driverProblem(file string) string {
	name, problem := registeredLibrary(file)
	if problem != "" {
		return problem
	}
	_, err := dl.Open("", name)
	var load *dl.LoadError
	if errors.As(err, &load) && len(load.Tried) > 0 {
		return fmt.Sprintf("%s names %s, which does not load: %s", file, name,
			strings.TrimPrefix(load.Tried[0].Reason, name+": "))
	}
	return ""
}

// In drivers that compile with LLVM, LLVM replaces the program's signal handlers once per process: in PoCL when its devices are listed, in
// Intel's CPU runtime when a context is created. So these calls are made between siglib.Enter and siglib.Leave, which restore the handlers.
// Later builds of kernels do not replace the handlers again.
//
// On systems where siglib does nothing, an environment variable tells PoCL not to replace handlers
// when it lists its devices. PoCL then replaces them when the program first builds a kernel.

// askForSignalHandlers sets PoCL's environment variable before PoCL is first called. C code does not see the Go environment.
var askForSignalHandlers = sync.OnceFunc(func() {
	const name = "POCL_SIGFPE_HANDLER"
	if _, set := os.LookupEnv(name); !set && !siglib.Works {
		setForC(name, "0")
	}
})

// setForC sets an environment variable of the C library.
func setForC(name, value string) {
	if setenv := dl.Process().Proc("setenv"); setenv.Valid() {
		key, text := dl.CString(name), dl.CString(value)
		setenv.Call3(uintptr(unsafe.Pointer(&key[0])), uintptr(unsafe.Pointer(&text[0])), 1)
	}
}
