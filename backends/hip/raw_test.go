//go:build hip && linux

package hip

import (
	"testing"

	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/gpu"
	"github.com/go-halyard/halyard/internal/gpu/gputest"
)

// raw are the runtime's calls as the loader makes them.
func raw(t testing.TB, libraries ...string) gputest.Raw {
	t.Helper()
	lib, err := dl.Open("", libraries...)
	if err != nil {
		t.Skip(err)
	}
	proc := func(c gpu.Call) dl.Proc { return lib.Proc(symbols[c].Name) }
	setDevice, query, sync := proc(gpu.CallMakeCurrent), proc(gpu.CallStreamQuery), proc(gpu.CallStreamSync)
	copyIn, copyOut, fill, record := proc(gpu.CallCopyIn), proc(gpu.CallCopyOut), proc(gpu.CallFill8), proc(gpu.CallEventRecord)
	wait, alloc, free := proc(gpu.CallStreamWait), proc(gpu.CallMemAlloc), proc(gpu.CallMemFree)
	api, err := bind(lib)
	if err != nil {
		t.Fatal(err)
	}
	return gputest.Raw{
		Current: func() { setDevice.Call1(0) },
		CopyIn:  func(dst, host, n, stream uintptr) { copyIn.Call4(dst, host, n, stream) },
		CopyOut: func(host, src, n, stream uintptr) { copyOut.Call4(host, src, n, stream) },
		Fill:    func(dst uintptr, v uint8, n, stream uintptr) { fill.Call4(dst, uintptr(v), n, stream) },
		Record:  func(event, stream uintptr) { record.Call2(event, stream) },
		Wait:    func(stream, event uintptr) { wait.Call3(stream, event, 0) },
		Query:   func(stream uintptr) { query.Call1(stream) },
		Sync:    func(stream uintptr) { sync.Call1(stream) },
		Alloc: func(n uintptr) uintptr {
			w := dl.GetWords()
			defer w.Put()
			alloc.Call2(w.At(0), n)
			return uintptr(w[0])
		},
		Free:     func(addr uintptr) { free.Call1(addr) },
		Bindings: []gputest.Binding{{Name: "loaded", API: api}},
	}
}
