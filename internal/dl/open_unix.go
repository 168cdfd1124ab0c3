//go:build !windows

package dl

import (
	"runtime"

	"github.com/ebitengine/purego"
)

func open(name string) (uintptr, error) {
	// The loader keeps its error message per thread and purego fetches it with
	// a second call.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

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
