//go:build cuda && linux && !(linked && cgo)

package cuda

import (
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/gpu"
	"github.com/go-halyard/halyard/internal/gpu/gputest"
)

// raw are the driver's calls as the loader makes them.
func raw(t testing.TB, library string) gputest.Raw {
	t.Helper()
	lib, err := dl.Open("", library)
	if err != nil {
		t.Fatal(err)
	}
	proc := func(c gpu.Call) dl.Proc { return lib.Proc(symbols[c].Name) }
	copyIn, fill, record, query := proc(gpu.CallCopyIn), proc(gpu.CallFill8), proc(gpu.CallEventRecord), proc(gpu.CallStreamQuery)
	return gputest.Raw{
		Current: func() {
			var ctx uintptr
			proc(gpu.CallRetain).Call2(uintptr(unsafe.Pointer(&ctx)), 0)
			proc(gpu.CallMakeCurrent).Call1(ctx)
			proc(gpu.CallRelease).Call1(0)
		},
		CopyIn: func(dst, host, n, stream uintptr) { copyIn.Call4(dst, host, n, stream) },
		Fill:   func(dst uintptr, v uint8, n, stream uintptr) { fill.Call4(dst, uintptr(v), n, stream) },
		Record: func(event, stream uintptr) { record.Call2(event, stream) },
		Query:  func(stream uintptr) { query.Call1(stream) },
	}
}
