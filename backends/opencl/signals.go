//go:build opencl

package opencl

import (
	"os"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/siglib"
)

// Drivers that compile with LLVM let it replace the program's signal handlers, once in the life of the
// process: PoCL when its devices are listed, Intel's CPU runtime when a context is made. So these
// calls stand between siglib.Enter and siglib.Leave, and what the compiler does later, when the
// program builds its kernels, replaces nothing any more.
//
// Where that package does nothing, PoCL can at least be asked not to do it when it lists its
// devices. That is no help against a program's own builds, at which it does it then.

// askForSignalHandlers asks PoCL, before it is first called. The Go environment is not the one
// that C reads, so the C library is told.
var askForSignalHandlers = sync.OnceFunc(func() {
	const name = "POCL_SIGFPE_HANDLER"
	if _, set := os.LookupEnv(name); set || siglib.Works {
		return
	}
	if setenv := dl.Process().Proc("setenv"); setenv.Valid() {
		key, value := dl.CString(name), dl.CString("0")
		setenv.Call3(uintptr(unsafe.Pointer(&key[0])), uintptr(unsafe.Pointer(&value[0])), 0)
	}
})
