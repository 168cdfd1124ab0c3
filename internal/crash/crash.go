// Package crash says how and where a kernel that is a Go function failed.
package crash

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Crash is the failure of a function. A function may panic with one, to say what failed in words of its own.
type Crash struct {
	What  string  // what the function did, as in "panicked: index out of range"
	Place string  // file and line in the source, or ""
	Addr  uintptr // of memory that the system let it not use, or 0
}

// Error returns what the function did, and where.
func (c *Crash) Error() string {
	if c.Place == "" {
		return c.What
	}
	return c.What + " (" + c.Place + ")"
}

// Recovered returns the failure for a panic with the value p. The deferred function that recovered p must call it itself, while the stack
// of the panic is still there.
func Recovered(p any) *Crash {
	if c, ok := p.(*Crash); ok {
		return c
	}
	c := &Crash{What: fmt.Sprintf("panicked: %v", p), Place: place(func(function string) bool { return function == "runtime.gopanic" })}
	if fault, ok := p.(interface{ Addr() uintptr }); ok { // see debug.SetPanicOnFault
		c.Addr = fault.Addr()
	}
	return c
}

// Caller finds the functions on the stack whose names begin with one of the prefixes, and returns the place where another function called them.
func Caller(prefixes ...string) string {
	inside := false
	return place(func(f string) bool {
		was := inside
		inside = slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(f, p) })
		return was && !inside
	})
}

// matrix matches the functions of a matrix in package grid, and those for its tiles. They fail where a kernel calls them with an index out of range.
var matrix = []string{"Matrix[", "OutMatrix[", "LoadTile", "StoreTile", "each["}

// below reports whether a function is one that a kernel calls and that has no lines of the program.
func below(function string) bool {
	name, ok := strings.CutPrefix(function, "github.com/go-halyard/halyard/kernel/grid.")
	of := func(m string) bool { return strings.HasPrefix(name, m) }
	return strings.HasPrefix(function, "runtime.") || ok && slices.ContainsFunc(matrix, of)
}

// place walks the stack, the innermost call first. Beginning with the first function for which begins returns true, it returns the first
// place that is not below the program.
func place(begins func(function string) bool) string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for begun := false; ; {
		f, more := frames.Next()
		begun = begun || begins(f.Function)
		if begun && !below(f.Function) {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}
