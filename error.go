package halyard

import (
	"runtime"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/hal"
)

// Error is the first error of a queue. errors.Is and errors.As look through it.
type Error struct {
	Site string // file:line of the program's call, "" if it is not known
	Err  error
}

func (e *Error) Error() string {
	if e.Site == "" {
		return e.Err.Error()
	}
	return e.Site + ": " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// KindName returns the name of the error's kind: see [hal.KindName].
func (e *Error) KindName() string { return hal.KindName(e.Err) }

const module = "github.com/go-halyard/halyard"

// below are the packages of this module whose calls a program does not see when it uses this one.
var below = []string{".", "/buffer.", "/buffer/", "/kernel.", "/kernel/", "/hal.", "/hal/", "/internal/"}

// site returns the place of the innermost call that the program made.
func site() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if f.Function != "" && !own(f.Function) && !prints(f.File) && !strings.HasSuffix(f.File, "_kernels.go") {
			return f.File + ":" + strconv.Itoa(f.Line)
		}
		if !more {
			return ""
		}
	}
}

// prints reports whether a file is of fmt, log or testing, which call String for the program. Closures that they inline have the caller's name.
func prints(file string) bool {
	rest := file[strings.LastIndex(file, "/src/")+1:] // with -trimpath there is no src
	rest = strings.TrimPrefix(rest, "src/")
	return strings.HasPrefix(rest, "fmt/") || strings.HasPrefix(rest, "log/") || strings.HasPrefix(rest, "testing/")
}

func own(function string) bool {
	rest, ok := strings.CutPrefix(function, module)
	if !ok {
		return false
	}
	for _, p := range below {
		if strings.HasPrefix(rest, p) {
			return true
		}
	}
	return false
}
