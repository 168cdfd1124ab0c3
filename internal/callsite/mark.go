package callsite

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
)

// mostMarks is how many functions, and how many calls of Mark, are remembered; later ones are not. They are places in the program's text, and
// so few.
const mostMarks = 4096

// marks are the functions that are part of a library: their callers are named in their place.
var marks struct {
	some  atomic.Bool
	calls sync.Map // of Mark, by their address
	mu    sync.Mutex
	count int
	names sync.Map // of functions
}

// Mark makes the function that called its caller one that is not named. It is cheap after the first time. Its caller must not be inlined:
// the return address into the function is what tells one call from another.
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

// Beyond makes s the innermost call by a function that is neither marked nor of the package, as Outside has it, however far that is. It
// leaves s alone if there is none.
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

func within(function, pkg string) bool {
	rest, ok := strings.CutPrefix(function, pkg)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '/')
}
