package cudahiptest

import (
	"testing"

	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/dl"
)

// Loaded returns the vendor's calls as the loader makes them. current returns the function that makes the context of device 0 current.
func Loaded(t testing.TB, symbols cudahip.Symbols, bind func(*dl.Library) (cudahip.API, error), current func(proc func(cudahip.Call) dl.Proc) func(),
	libraries ...string) Raw {
	t.Helper()
	lib, err := dl.Open("", libraries...)
	if err != nil {
		t.Skip(err)
	}
	proc := func(c cudahip.Call) dl.Proc { return lib.Proc(symbols[c].Name) }
	query, sync := proc(cudahip.CallStreamQuery), proc(cudahip.CallStreamSync)
	copyIn, copyOut, fill, record := proc(cudahip.CallCopyIn), proc(cudahip.CallCopyOut), proc(cudahip.CallFill8), proc(cudahip.CallEventRecord)
	wait, alloc, free := proc(cudahip.CallStreamWait), proc(cudahip.CallMemAlloc), proc(cudahip.CallMemFree)
	launch := proc(cudahip.CallLaunch)
	api, err := bind(lib)
	if err != nil {
		t.Fatal(err)
	}
	return Raw{
		Current: current(proc),
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
		Free: func(addr uintptr) { free.Call1(addr) },
		Launch: func(kernel, params, stream uintptr) {
			launch.Call11(kernel, 1, 1, 1, 1, 1, 1, 0, stream, params, 0)
		},
		Bindings: []Binding{{Name: "loaded", API: api}},
	}
}
