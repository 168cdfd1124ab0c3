//go:build cuda && linux && !(linked && cgo)

package cuda

import (
	"sync"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

// raw returns the driver's calls, made through package dl.
func raw(t testing.TB, libraries ...string) cudahiptest.Raw {
	t.Helper()
	return cudahiptest.Loaded(t, symbols, bind, func(proc func(cudahip.Call) dl.Proc) func() {
		setCurrent := proc(cudahip.CallMakeCurrent)
		ctx := sync.OnceValue(func() (ctx uintptr) {
			proc(cudahip.CallRetain).Call2(uintptr(unsafe.Pointer(&ctx)), 0)
			proc(cudahip.CallRelease).Call1(0) // the open device holds it
			return ctx
		})
		return func() { setCurrent.Call1(ctx()) }
	}, libraries...)
}
