// Package callsite remembers where a call came from, cheaply enough to do so on every call.
//
// runtime.Callers costs about 200 ns for one frame, because it finds inlined calls at once. Here the
// return addresses are read off the chain of frame pointers, which Go keeps on amd64 and arm64, and
// are turned into a file and line only when somebody asks. Other platforms use runtime.Callers.
package callsite

import (
	"runtime"
	"strconv"
)

// Depth is how many frames a Site has: enough to reach a caller over the wrappers of generic methods.
const Depth = 6

// Site is a short stack of return addresses; the zero Site is no place at all.
type Site [Depth]uintptr

// Outside returns file:line of the innermost call that was made by a function outside the package with
// the given import path and the packages below it, and that is not marked. If all are marked it is the outermost of those, and "" if
// there is none in the Site.
func (s *Site) Outside(pkg string) string {
	n := 0
	for n < Depth && s[n] != 0 {
		n++
	}
	if n == 0 {
		return ""
	}
	frames := runtime.CallersFrames(s[:n])
	last := ""
	for {
		f, more := frames.Next()
		if f.Function != "" && !within(f.Function, pkg) {
			last = f.File + ":" + strconv.Itoa(f.Line)
			if !IsMarked(f.Function) {
				return last
			}
		}
		if !more {
			return last
		}
	}
}
