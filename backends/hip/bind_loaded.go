//go:build hip

package hip

import (
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/dl"
)

const binding = "loaded"

// api holds the runtime's calls: those generated from calls.txt, and those that do more than pass their arguments.
type api struct {
	calls
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
	a := api{calls{t}, new(atomic.Uint32)}
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
	if code := a.calls.Init(); code != cudahip.Success {
		return code
	}
	v, code := a.Version()
	if release(v) < 6 {
		a.SetIPCFlags(0)
	}
	return code
}

// Retain implements cudahip.API. HIP makes devices current, not contexts, so the Context is the device's number.
func (a api) Retain(dev int32) (cudahip.Context, cudahip.Code) {
	return cudahip.Context(dev), cudahip.Success
}

// Release implements cudahip.API.
func (a api) Release(int32) cudahip.Code { return cudahip.Success }

// Copy2D implements cudahip.API.
func (a api) Copy2D(ctx cudahip.Context, r *cudahip.Rect, stream uintptr) cudahip.Code {
	const toDevice, toHost, device, whatever = 1, 2, 3, 4 // hipMemcpyKind
	kind := int32(whatever)
	switch [2]cudahip.Place{r.DstAt, r.SrcAt} {
	case [2]cudahip.Place{cudahip.OnDevice, cudahip.OnHost}:
		kind = toDevice
	case [2]cudahip.Place{cudahip.OnHost, cudahip.OnDevice}:
		kind = toHost
	case [2]cudahip.Place{cudahip.OnDevice, cudahip.OnDevice}:
		kind = device
	}
	return a.copy2D(ctx, r.Dst, r.DstPitch, r.Src, r.SrcPitch, r.Width, r.Rows, kind, stream)
}

// ModuleLoad implements cudahip.API. The runtime writes no log.
func (a api) ModuleLoad(ctx cudahip.Context, image unsafe.Pointer, _ []byte) (uintptr, cudahip.Code) {
	return a.moduleLoad(ctx, uintptr(image))
}

// Launch implements cudahip.API.
func (a api) Launch(ctx cudahip.Context, kernel uintptr, l *driver.Launch, params unsafe.Pointer, stream uintptr) cudahip.Code {
	return a.launch(ctx, kernel, l.Grid, l.Block, uint32(l.Shared), stream, params)
}
