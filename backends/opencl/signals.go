//go:build opencl

package opencl

import (
	"os"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/siglib"
)

// In drivers that compile with LLVM, LLVM replaces the program's signal handlers once per process:
// in PoCL when its devices are listed, in Intel's CPU runtime when a context is created. So these
// calls are made between siglib.Enter and siglib.Leave, which restore the handlers. Later builds of
// kernels do not replace the handlers again.
//
// On systems where siglib does nothing, an environment variable tells PoCL not to replace handlers
// when it lists its devices. PoCL then replaces them when the program first builds a kernel.

// askForSignalHandlers sets PoCL's environment variable before PoCL is first called. C code does not
// see the Go environment, so setenv of the C library is called.
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
