//go:build hip

package hip

import (
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/dl"
)

const binding = "loaded"

const (
	copyDefault  = 4 // hipMemcpyDefault
	signalMemory = 2 // hipMallocSignalMemory
	signalSize   = 8 // bytes, the only size of signal memory
	wholeWord    = 1<<32 - 1
	atLeast      = 0 // hipStreamWaitValueGte
)

// api holds the runtime's calls: those of a table, and methods for the calls whose arguments
// differ.
type api struct {
	*cudahip.Table
	hostCalls *atomic.Uint32 // which of the two calls for host functions is supported
}

// The calls for host functions. hipLaunchHostFunc is missing before ROCm 5.3, and chipStar 1.2 exports it but does not
// support it; both have hipStreamAddCallback.
const (
	untried uint32 = iota
	byLaunch
	byCallback
)

func bind(lib *dl.Library) (cudahip.API, error) {
	t, err := cudahip.NewTable(lib, &symbols, entry())
	if err != nil {
		return nil, err
	}
	a := api{t, new(atomic.Uint32)}
	if !t.Has(cudahip.CallHostCall) {
		a.hostCalls.Store(byCallback)
	}
	return a, nil
}

// Has implements cudahip.API.
func (a api) Has(c cudahip.Call) bool {
	return a.Table.Has(c) || c == cudahip.CallHostCall && a.Table.Has(cudahip.CallStreamCallback)
}

// Name implements cudahip.API.
func (a api) Name(c cudahip.Call) string {
	if c == cudahip.CallHostCall && a.hostCalls.Load() == byCallback {
		c = cudahip.CallStreamCallback
	}
	return a.Table.Name(c)
}

// HostCall implements cudahip.API. Once hipLaunchHostFunc has succeeded, hipStreamAddCallback is never used, because
// HostCancel could not tell from an id which of the two calls it belongs to.
func (a api) HostCall(ctx cudahip.Context, stream uintptr, fn func()) (uintptr, cudahip.Code) {
	if a.hostCalls.Load() != byCallback {
		id, code := a.Table.HostCall(ctx, stream, fn)
		switch {
		case code == cudahip.Success:
			a.hostCalls.CompareAndSwap(untried, byLaunch)
			return id, code
		case code != cudahip.CodeNotSupported || !a.Has(cudahip.CallStreamCallback):
			return id, code
		}
		if !a.hostCalls.CompareAndSwap(untried, byCallback) && a.hostCalls.Load() != byCallback {
			return id, code
		}
	}
	return a.HostCallAt(cudahip.CallStreamCallback, ctx, stream, oldEntry(), fn)
}

// HostCancel implements cudahip.API.
func (a api) HostCancel(id uintptr) bool {
	if a.hostCalls.Load() == byCallback {
		return oldEntry().Remove(id)
	}
	return a.Table.HostCancel(id)
}

// Init implements cudahip.API. Memory of another process is opened with a flag that maps it on first use. The
// number of the flag changed in ROCm 6.
func (a api) Init() cudahip.Code {
	if code := a.Table.Init(); code != cudahip.Success {
		return code
	}
	v, code := a.Version()
	if release(v) < 6 {
		a.SetIPCFlags(0)
	}
	return code
}

// Retain implements cudahip.API. HIP makes devices current, not contexts, so the Context is the
// device's number.
func (a api) Retain(dev int32) (cudahip.Context, cudahip.Code) {
	return cudahip.Context(dev), cudahip.Success
}

// Release implements cudahip.API.
func (a api) Release(int32) cudahip.Code { return cudahip.Success }

// CopyAny implements cudahip.API.
func (a api) CopyAny(ctx cudahip.Context, dst, src, n, stream uintptr) cudahip.Code {
	return a.Call(cudahip.CallCopyAny, ctx, dst, src, n, copyDefault, stream, 0)
}

// Pointer implements cudahip.API. The number that stands for page-locked memory changed in ROCm 6. The size of the
// allocation comes from hipMemGetAddressRange, because the attribute for it has 32 bits in some releases and 64 in
// others.
func (a api) Pointer(ctx cudahip.Context, addr uintptr) (cudahip.Pointer, cudahip.Code) {
	v, code := a.Version()
	if code != cudahip.Success {
		return cudahip.Pointer{}, code
	}
	host := uintptr(1)
	if release(v) < 6 {
		host = 0
	}
	p, code := a.PointerOf(ctx, addr, host)
	if code == cudahip.Success {
		a.PointerRange(ctx, addr, &p)
	}
	return p, code
}

// Copy2D implements cudahip.API.
func (a api) Copy2D(ctx cudahip.Context, r *cudahip.Rect, stream uintptr) cudahip.Code {
	return a.Copy2DPlain(ctx, r, stream)
}

// SignalAlloc implements cudahip.API. Streams can wait only for words of signal memory, which the runtime
// allocates one word at a time.
func (a api) SignalAlloc(ctx cudahip.Context) (cudahip.Signals, cudahip.Call, cudahip.Code) {
	if !a.Has(cudahip.CallSignalAlloc) {
		return a.Table.SignalAlloc(ctx)
	}
	word, code := a.Make(cudahip.CallSignalAlloc, ctx, signalSize, signalMemory, 0)
	return cudahip.Signals{Host: word, Addr: word, N: 1}, cudahip.CallSignalAlloc, code
}

// SignalFree implements cudahip.API.
func (a api) SignalFree(ctx cudahip.Context, host uintptr) cudahip.Code {
	if !a.Has(cudahip.CallSignalAlloc) {
		return a.Table.SignalFree(ctx, host)
	}
	return a.MemFree(ctx, host)
}

// WaitValue implements cudahip.API.
func (a api) WaitValue(ctx cudahip.Context, stream, addr uintptr, value uint32) cudahip.Code {
	return a.Call(cudahip.CallWaitValue, ctx, stream, addr, uintptr(value), atLeast, wholeWord, 0)
}

// ModuleLoad implements cudahip.API. The runtime writes no log.
func (a api) ModuleLoad(ctx cudahip.Context, image unsafe.Pointer, _ []byte) (uintptr, cudahip.Code) {
	return a.Make(cudahip.CallModuleLoad, ctx, uintptr(image), 0, 0)
}
