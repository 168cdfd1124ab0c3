//go:build cuda && linux && linked && cgo

package cuda

import (
	"sync"
	"testing"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

// The package's handles are structures around one C pointer.

func stream(h uintptr) cu.Stream { return *(*cu.Stream)(unsafe.Pointer(&h)) }

func event(h uintptr) cu.Event { return *(*cu.Event)(unsafe.Pointer(&h)) }

func host(addr uintptr) unsafe.Pointer { return dl.Pointer(addr) }

// raw returns the driver's calls, made through gorgonia.org/cu.
func raw(t testing.TB, libraries ...string) cudahiptest.Raw {
	t.Helper()
	lib, err := dl.Open("", libraries...)
	if err != nil {
		t.Skip(err)
	}
	loaded, err := load(lib)
	if err != nil {
		t.Fatal(err)
	}
	launch := lib.Proc(symbols[cudahip.CallLaunch].Name)
	ctx := sync.OnceValue(func() cu.CUContext {
		ctx, _ := cu.Device(0).RetainPrimaryCtx()
		_ = cu.Device(0).ReleasePrimaryCtx() // the open device keeps the context alive
		return ctx
	})
	return cudahiptest.Raw{
		Current: func() { _ = cu.SetCurrentContext(ctx()) },
		CopyIn: func(dst, src, n, s uintptr) {
			_ = cu.MemcpyHtoDAsync(cu.DevicePtr(dst), host(src), int64(n), stream(s))
		},
		CopyOut: func(dst, src, n, s uintptr) {
			_ = cu.MemcpyDtoHAsync(host(dst), cu.DevicePtr(src), int64(n), stream(s))
		},
		Fill: func(dst uintptr, v uint8, n, s uintptr) {
			_ = cu.MemsetD8Async(cu.DevicePtr(dst), v, int64(n), stream(s))
		},
		Record: func(e, s uintptr) { _ = event(e).Record(stream(s)) },
		Wait:   func(s, e uintptr) { _ = stream(s).Wait(event(e), 0) },
		Query:  func(s uintptr) { _ = stream(s).Query() },
		Sync:   func(s uintptr) { _ = stream(s).Synchronize() },
		Alloc:  func(n uintptr) uintptr { p, _ := cu.MemAlloc(int64(n)); return uintptr(p) },
		Free:   func(addr uintptr) { _ = cu.MemFree(cu.DevicePtr(addr)) },
		Launch: func(kernel, params, s uintptr) { // the package copies arguments of its own form
			launch.Call11(kernel, 1, 1, 1, 1, 1, 1, 0, s, params, 0)
		},
		Bindings: []cudahiptest.Binding{{Name: "linked", API: linked{loaded}}, {Name: "loaded", API: loaded}},
	}
}
