//go:build !windows

package dl

import (
	"runtime"

	"github.com/ebitengine/purego"
)

func open(name string, visible bool) (uintptr, error) {
	mode := purego.RTLD_NOW | purego.RTLD_LOCAL
	if visible {
		mode = purego.RTLD_NOW | purego.RTLD_GLOBAL
	}
	// The loader keeps its error message per thread and purego fetches it with a second call.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, mode)
}

// static reports whether the program is linked with -static. Such a program has a C library without the loader's functions. A library
// that it loads brings another C library, which does not know the program's threads and crashes on them.
func static() bool { return runtime.GOOS == "linux" && lookup(purego.RTLD_DEFAULT, "dlopen") == 0 }

func lookup(handle uintptr, symbol string) uintptr {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	addr, err := purego.Dlsym(handle, symbol)
	if err != nil {
		return 0
	}
	return addr
}

// Process returns the program itself as a library: its symbols are those of everything that is
// loaded with global visibility, including the C library.
func Process() *Library { return &Library{name: "this program", handle: purego.RTLD_DEFAULT} }
