package callsite

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// mostMarks bounds the number of marks. A place that calls Mark counts once, however often it runs, so there are few marks. Beyond the
// bound Mark does nothing.
const mostMarks = 4096

// marks are the functions of libraries built on this module. A call inside a marked function is reported at the caller
// of that function instead.
var marks struct {
	some  atomic.Bool // there is a marked function
	calls sync.Map    // places that have called Mark, by return address
	mu    sync.Mutex
	count int
	names sync.Map // names of marked functions
}

// Mark marks the function that called Mark's caller: a call that the marked function makes is from now on reported at the place where
// the marked function was called. Further calls from the same place are cheap. Mark's caller must not be inlined, since its return address identifies
// the place.
//
//go:noinline
func Mark() {
	var at Site
	Here(&at) // at[0] is in Mark's caller, at[1] in the function to be marked
	if _, known := marks.calls.Load(at[1]); known {
		return
	}
	var pcs [1]uintptr
	if runtime.Callers(3, pcs[:]) == 0 {
		return
	}
	f, _ := runtime.CallersFrames(pcs[:]).Next()
	marks.mu.Lock()
	defer marks.mu.Unlock()
	if marks.count++; marks.count > mostMarks || f.Function == "" {
		return
	}
	marks.names.Store(f.Function, nil)
	marks.calls.Store(at[1], nil)
	marks.some.Store(true)
}

// Marked reports whether any function is marked.
func Marked() bool { return marks.some.Load() }

// IsMarked reports whether the function of that name is marked.
func IsMarked(function string) bool {
	_, ok := marks.names.Load(function)
	return ok
}

// Beyond sets s to the innermost call that was made by an unmarked function not within the package. Unlike Outside it looks beyond the depth of a Site. If there is no such call, it leaves s unchanged.
func Beyond(s *Site, pkg string) {
	var pcs [128]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if f.Function != "" && !Within(&f, pkg) && !IsMarked(f.Function) {
			*s = Site{f.PC + 1}
			return
		}
		if !more {
			return
		}
	}
}

// launchers are the packages of this module that take leases for their callers. Their calls are reported where they were called.
var launchers = [...]string{"github.com/go-halyard/halyard/kernel", "github.com/go-halyard/halyard/comm"}

// root is how the names of the functions of package halyard begin.
const root = "github.com/go-halyard/halyard."

// printers are the files of the standard library that call String for the program. Closures that are inlined there have the caller's name.
var printers = [...]string{"fmt/print.go", "log/log.go", "testing/testing.go"}

func prints(file string) bool {
	for _, p := range printers {
		if rest, ok := strings.CutSuffix(file, p); ok && (rest == "" || strings.HasSuffix(rest, "/src/")) { // it is empty with -trimpath
			return true
		}
	}
	return false
}

// Within reports whether a function is of the package, of package halyard, of a launcher, of what prints, of a package below one of these, or in a file that the command "halyard kernels"
// wrote.
func Within(f *runtime.Frame, pkg string) bool {
	if below(f.Function, pkg) || strings.HasPrefix(f.Function, root) || strings.HasSuffix(f.File, "_kernels.go") || prints(f.File) {
		return true
	}
	for _, l := range launchers {
		if below(f.Function, l) {
			return true
		}
	}
	return false
}

// below reports whether a function is of the package or of one below it. Functions of test packages do not count.
func below(function, pkg string) bool {
	rest, ok := strings.CutPrefix(function, pkg)
	if !ok || rest == "" {
		return false
	}
	name, _, _ := strings.Cut(rest[1:], ".")
	return rest[0] == '.' || rest[0] == '/' && !strings.HasSuffix(name, "_test")
}
