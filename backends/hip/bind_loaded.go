//go:build hip

package hip

import (
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/gpu"
)

const binding = "loaded"

const (
	copyDefault  = 4 // hipMemcpyDefault
	signalMemory = 2 // hipMallocSignalMemory
	signalSize   = 8 // bytes, the one size that signal memory has
	wholeWord    = 1<<32 - 1
	atLeast      = 0 // hipStreamWaitValueGte
)

// api is the runtime's calls: those of a table, and the ones whose arguments differ.
type api struct{ *gpu.Table }

func bind(lib *dl.Library) (gpu.API, error) {
	names := symbols
	calls := entry()
	if !lib.Proc(names[gpu.CallHostCall].Name).Valid() {
		names[gpu.CallHostCall].Name, calls = callback, oldEntry()
	}
	t, err := gpu.NewTable(lib, &names, calls)
	if err != nil {
		return nil, err
	}
	return api{t}, nil
}

// Init implements gpu.API. The flag that tells another process's memory to be mapped on first
// use changed its number in ROCm 6, and is the only one allowed.
func (a api) Init() gpu.Code {
	if code := a.Table.Init(); code != gpu.Success {
		return code
	}
	v, code := a.Version()
	if release(v) < 6 {
		a.SetIPCFlags(0)
	}
	return code
}

// Retain implements gpu.API: a device's number is what is made current.
func (a api) Retain(dev int32) (gpu.Context, gpu.Code) { return gpu.Context(dev), gpu.Success }

// Release implements gpu.API.
func (a api) Release(int32) gpu.Code { return gpu.Success }

// CopyAny implements gpu.API.
func (a api) CopyAny(ctx gpu.Context, dst, src, n, stream uintptr) gpu.Code {
	return a.Call(gpu.CallCopyAny, ctx, dst, src, n, copyDefault, stream, 0)
}

// Pointer implements gpu.API. Page-locked memory changed its number in ROCm 6. The runtime's attribute of a
// range's size has had 32 bits in some releases and 64 in others, unlike the call for the range.
func (a api) Pointer(ctx gpu.Context, addr uintptr) (gpu.Pointer, gpu.Code) {
	v, code := a.Version()
	if code != gpu.Success {
		return gpu.Pointer{}, code
	}
	host := uintptr(1)
	if release(v) < 6 {
		host = 0
	}
	p, code := a.PointerOf(ctx, addr, host)
	if code == gpu.Success {
		a.PointerRange(ctx, addr, &p)
	}
	return p, code
}

// Copy2D implements gpu.API.
func (a api) Copy2D(ctx gpu.Context, r *gpu.Rect, stream uintptr) gpu.Code {
	return a.Copy2DPlain(ctx, r, stream)
}

// SignalAlloc implements gpu.API. Streams wait only for signal memory, of which there is
// one word at a time.
func (a api) SignalAlloc(ctx gpu.Context) (gpu.Signals, gpu.Call, gpu.Code) {
	if !a.Has(gpu.CallSignalAlloc) {
		return a.Table.SignalAlloc(ctx)
	}
	word, code := a.Make(gpu.CallSignalAlloc, ctx, signalSize, signalMemory, 0)
	return gpu.Signals{Host: word, Addr: word, N: 1}, gpu.CallSignalAlloc, code
}

// SignalFree implements gpu.API.
func (a api) SignalFree(ctx gpu.Context, host uintptr) gpu.Code {
	if !a.Has(gpu.CallSignalAlloc) {
		return a.Table.SignalFree(ctx, host)
	}
	return a.MemFree(ctx, host)
}

// WaitValue implements gpu.API.
func (a api) WaitValue(ctx gpu.Context, stream, addr uintptr, value uint32) gpu.Code {
	return a.Call(gpu.CallWaitValue, ctx, stream, addr, uintptr(value), atLeast, wholeWord, 0)
}
