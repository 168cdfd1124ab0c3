//go:build cuda && linked && cgo

package cuda

import (
	"reflect"
	"runtime"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/gpu"
)

const binding = "linked"

// linked is the driver's calls through gorgonia.org/cu, and through the table where that package
// has none: page-locked allocation and registration, stream-ordered allocation, host
// functions, sharing between processes. What the package cannot do is make a context current and
// use it in one crossing from Go to C; the calls of which programs make many do it themselves.
//
// The package has a type for contexts with a goroutine of its own, cu.Ctx, which is not
// used: the primary context is retained and made current for each call.
type linked struct{ *gpu.Table }

func bind(lib *dl.Library) (gpu.API, error) {
	t, err := load(lib)
	if err != nil {
		return nil, err
	}
	return linked{t}, nil
}

// The package's handles are structures around one C pointer.

func context(ctx gpu.Context) cu.CUContext { return *(*cu.CUContext)(unsafe.Pointer(&ctx)) }

func stream(h uintptr) cu.Stream { return *(*cu.Stream)(unsafe.Pointer(&h)) }

func event(h uintptr) cu.Event { return *(*cu.Event)(unsafe.Pointer(&h)) }

func host(addr uintptr) unsafe.Pointer { return dl.Pointer(addr) }

// status is the driver's number of an error of the package, which is of a type that it does
// not export.
func status(err error) gpu.Code {
	if err == nil {
		return gpu.Success
	}
	if v := reflect.ValueOf(err); v.CanInt() {
		return gpu.Code(uint32(v.Int()))
	}
	return 999 // CUDA_ERROR_UNKNOWN
}

// enter keeps the goroutine on its thread and makes the context current there.
func enter(ctx gpu.Context) gpu.Code {
	runtime.LockOSThread()
	if code := status(cu.SetCurrentContext(context(ctx))); code != gpu.Success {
		runtime.UnlockOSThread()
		return gpu.Unbound(code.Value())
	}
	return gpu.Success
}

func leave(err error) gpu.Code {
	runtime.UnlockOSThread()
	return status(err)
}

// Version implements gpu.API.
func (linked) Version() (int, gpu.Code) {
	if v := cu.Version(); v >= 0 {
		return v, gpu.Success
	}
	return 0, 999
}

// DeviceCount implements gpu.API.
func (linked) DeviceCount() (int, gpu.Code) {
	n, err := cu.NumDevices()
	return n, status(err)
}

// DeviceGet implements gpu.API.
func (linked) DeviceGet(ordinal int) (int32, gpu.Code) {
	d, err := cu.GetDevice(ordinal)
	return int32(d), status(err)
}

// DeviceName implements gpu.API.
func (linked) DeviceName(dev int32) (string, gpu.Code) {
	s, err := cu.Device(dev).Name()
	return s, status(err)
}

// DeviceTotal implements gpu.API.
func (linked) DeviceTotal(dev int32) (uint64, gpu.Code) {
	n, err := cu.Device(dev).TotalMem()
	return uint64(n), status(err)
}

// DeviceAttribute implements gpu.API.
func (linked) DeviceAttribute(dev, number int32) (int32, gpu.Code) {
	v, err := cu.Device(dev).Attribute(cu.DeviceAttribute(number))
	return int32(v), status(err)
}

// CanAccessPeer implements gpu.API.
func (linked) CanAccessPeer(dev, peer int32) (bool, gpu.Code) {
	can, err := cu.Device(dev).CanAccessPeer(cu.Device(peer))
	return can != 0, status(err)
}

// Retain implements gpu.API.
func (linked) Retain(dev int32) (gpu.Context, gpu.Code) {
	ctx, err := cu.Device(dev).RetainPrimaryCtx()
	return *(*gpu.Context)(unsafe.Pointer(&ctx)), status(err)
}

// Release implements gpu.API.
func (linked) Release(dev int32) gpu.Code { return status(cu.Device(dev).ReleasePrimaryCtx()) }

// PeerEnable implements gpu.API.
func (linked) PeerEnable(ctx, peer gpu.Context) gpu.Code {
	if code := enter(ctx); code != gpu.Success {
		return code
	}
	return leave(context(peer).EnablePeerAccess(0))
}

// MemInfo implements gpu.API.
func (linked) MemInfo(ctx gpu.Context) (free, total uint64, code gpu.Code) {
	if code = enter(ctx); code != gpu.Success {
		return 0, 0, code
	}
	f, t, err := cu.MemInfo()
	return uint64(f), uint64(t), leave(err)
}

// HostFree implements gpu.API.
func (linked) HostFree(ctx gpu.Context, addr uintptr) gpu.Code {
	if code := enter(ctx); code != gpu.Success {
		return code
	}
	return leave(cu.MemFreeHost(host(addr)))
}

// ManagedAlloc implements gpu.API.
func (linked) ManagedAlloc(ctx gpu.Context, size uint64) (uintptr, gpu.Code) {
	if code := enter(ctx); code != gpu.Success {
		return 0, code
	}
	p, err := cu.MemAllocManaged(int64(size), cu.AttachGlobal)
	return uintptr(p), leave(err)
}

// Prefetch implements gpu.API.
func (linked) Prefetch(ctx gpu.Context, addr, n uintptr, dev int32, s uintptr) gpu.Code {
	if code := enter(ctx); code != gpu.Success {
		return code
	}
	return leave(cu.DevicePtr(addr).MemPrefetchAsync(int64(n), cu.Device(dev), stream(s)))
}

// StreamCreate implements gpu.API.
func (linked) StreamCreate(ctx gpu.Context, priority int32) (uintptr, gpu.Code) {
	if code := enter(ctx); code != gpu.Success {
		return 0, code
	}
	s, err := cu.MakeStreamWithPriority(int(priority), cu.NonBlocking)
	return *(*uintptr)(unsafe.Pointer(&s)), leave(err)
}

// StreamDestroy implements gpu.API.
func (linked) StreamDestroy(ctx gpu.Context, h uintptr) gpu.Code {
	if code := enter(ctx); code != gpu.Success {
		return code
	}
	s := stream(h)
	return leave(s.Destroy())
}

// EventCreate implements gpu.API.
func (linked) EventCreate(ctx gpu.Context, timing bool) (uintptr, gpu.Code) {
	if code := enter(ctx); code != gpu.Success {
		return 0, code
	}
	e, err := cu.MakeEvent(cu.EventFlags(gpu.EventFlags(timing)))
	return *(*uintptr)(unsafe.Pointer(&e)), leave(err)
}

// EventDestroy implements gpu.API.
func (linked) EventDestroy(ctx gpu.Context, h uintptr) gpu.Code {
	if code := enter(ctx); code != gpu.Success {
		return code
	}
	e := event(h)
	return leave(cu.DestroyEvent(&e))
}

// EventElapsed implements gpu.API.
func (linked) EventElapsed(ctx gpu.Context, from, to uintptr) (float32, gpu.Code) {
	if code := enter(ctx); code != gpu.Success {
		return 0, code
	}
	ms, err := event(from).Elapsed(event(to))
	return float32(ms), leave(err)
}
