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

// Beyond sets s to the innermost call that was made by an unmarked function outside the package, the packages below it, and the
// launcher. Unlike Outside it looks beyond the depth of a Site. If there is no such call, it leaves s unchanged.
func Beyond(s *Site, pkg string) {
	var pcs [128]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if f.Function != "" && !within(f.Function, pkg) && !IsMarked(f.Function) {
			*s = Site{f.PC + 1}
			return
		}
		if !more {
			return
		}
	}
}

// launcher is the package of this module that takes leases for its callers. Its calls are reported where it was called.
const launcher = "github.com/go-halyard/halyard/kernel"

// within reports whether a function is of the package, of the launcher, or of a package below either.
func within(function, pkg string) bool { return below(function, pkg) || below(function, launcher) }

func below(function, pkg string) bool {
	rest, ok := strings.CutPrefix(function, pkg)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '/')
}
