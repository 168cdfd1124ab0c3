package callsite

import (
	"runtime"
	"strconv"
	"strings"
)

// Beyond sets s to the innermost call that was made by a function not within the package. Unlike Outside it looks beyond the depth of a
// Site. If there is no such call, it leaves s unchanged.
func Beyond(s *Site, pkg string) {
	var pcs [128]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if f.Function != "" && !Within(&f, pkg) {
			*s = Site{f.PC + 1}
			return
		}
		if !more {
			return
		}
	}
}

// Around returns file:line of a call of the package that passed it a function which is running on this goroutine, such as the function that
// its caller gave to a View. It looks beyond the call of the package under way, and returns "" if there is no such function.
func Around(pkg string) string {
	var pcs [128]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for turns, was := 0, true; ; { // the call under way, the function, the call that runs it, its caller
		f, more := frames.Next()
		if within := Within(&f, pkg); within != was {
			was = within
			turns++
		}
		if turns == 3 && f.Function != "" {
			return f.File + ":" + strconv.Itoa(f.Line)
		}
		if !more {
			return ""
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

// Within reports whether a function is of the package, of package halyard, of a launcher, of what prints, of a package below one of these,
// or in a file that the command "halyard kernels" wrote.
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
