// Package callsite remembers where a call came from, cheaply enough to do so on every call.
//
// runtime.Callers costs about 200 ns for one frame, because it resolves inlined calls immediately. Here the
// return addresses are read from the chain of frame pointers, which Go keeps on amd64 and arm64, and
// are converted to a file and line only when they are needed. Other platforms use runtime.Callers.
package callsite

import (
	"runtime"
	"slices"
	"strconv"
)

// Depth is the number of frames of a Site: enough to reach the caller beyond the wrappers of generic methods.
const Depth = 8

// Site is a short stack of return addresses; the zero Site means no place.
type Site [Depth]uintptr

// Outside returns file:line of the innermost call in the Site that was made by a function not [Within] the package with the given import
// path, or "" if there is none.
func (s *Site) Outside(pkg string) string { return Outside(s[:], pkg) }

// Outside is [Site.Outside] for a stack of any depth, which ends at the first 0.
func Outside(stack []uintptr, pkg string) string {
	n := slices.Index(stack, 0)
	if n < 0 {
		n = len(stack)
	}
	if n == 0 {
		return ""
	}
	frames := runtime.CallersFrames(stack[:n])
	for {
		f, more := frames.Next()
		if f.Function != "" && !Within(&f, pkg) {
			return f.File + ":" + strconv.Itoa(f.Line)
		}
		if !more {
			return ""
		}
	}
}
