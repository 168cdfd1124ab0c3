//go:build cuda && linked && cgo

package cuda

import (
	"reflect"
	"runtime"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/dl"
)

const binding = "linked"

// linked makes the driver's calls through gorgonia.org/cu. Calls that the package lacks go through the
// table: page-locked allocation and registration, stream-ordered allocation, host functions, sharing
// between processes. The package also cannot make a context current and use it in one crossing from Go to
// C. For calls that programs make often, C functions in calls_linked.go do both.
//
// cu.Ctx, the package's context type with its own goroutine, is not used. Instead the primary
// context is retained, and each call makes it current.
type linked struct{ *cudahip.Table }

func bind(lib *dl.Library) (cudahip.API, error) {
	t, err := load(lib)
	if err != nil {
		return nil, err
	}
	return linked{t}, nil
}

// The package's handles are structures around one C pointer.

func context(ctx cudahip.Context) cu.CUContext { return *(*cu.CUContext)(unsafe.Pointer(&ctx)) }

func stream(h uintptr) cu.Stream { return *(*cu.Stream)(unsafe.Pointer(&h)) }

func event(h uintptr) cu.Event { return *(*cu.Event)(unsafe.Pointer(&h)) }

func host(addr uintptr) unsafe.Pointer { return dl.Pointer(addr) }

// status returns the driver's number of an error that the package returned. The error's type is not
// exported, so the number is read by reflection.
func status(err error) cudahip.Code {
	if err == nil {
		return cudahip.Success
	}
	if v := reflect.ValueOf(err); v.CanInt() {
		return cudahip.Code(uint32(v.Int()))
	}
	return 999 // CUDA_ERROR_UNKNOWN
}

// enter locks the goroutine to its thread and makes the context current there; leave ends that.
func enter(ctx cudahip.Context) cudahip.Code {
	runtime.LockOSThread()
	if code := status(cu.SetCurrentContext(context(ctx))); code != cudahip.Success {
		runtime.UnlockOSThread()
		return cudahip.Unbound(code.Value())
	}
	return cudahip.Success
}

func leave(err error) cudahip.Code {
	runtime.UnlockOSThread()
	return status(err)
}

// Version implements cudahip.API.
func (linked) Version() (int, cudahip.Code) {
	if v := cu.Version(); v >= 0 {
		return v, cudahip.Success
	}
	return 0, 999
}

// DeviceCount implements cudahip.API.
func (linked) DeviceCount() (int, cudahip.Code) {
	n, err := cu.NumDevices()
	return n, status(err)
}

// DeviceGet implements cudahip.API.
func (linked) DeviceGet(ordinal int) (int32, cudahip.Code) {
	d, err := cu.GetDevice(ordinal)
	return int32(d), status(err)
}

// DeviceName implements cudahip.API.
func (linked) DeviceName(dev int32) (string, cudahip.Code) {
	s, err := cu.Device(dev).Name()
	return s, status(err)
}

// DeviceTotal implements cudahip.API.
func (linked) DeviceTotal(dev int32) (uint64, cudahip.Code) {
	n, err := cu.Device(dev).TotalMem()
	return uint64(n), status(err)
}

// DeviceAttribute implements cudahip.API.
func (linked) DeviceAttribute(dev, number int32) (int32, cudahip.Code) {
	v, err := cu.Device(dev).Attribute(cu.DeviceAttribute(number))
	return int32(v), status(err)
}

// CanAccessPeer implements cudahip.API.
func (linked) CanAccessPeer(dev, peer int32) (bool, cudahip.Code) {
	can, err := cu.Device(dev).CanAccessPeer(cu.Device(peer))
	return can != 0, status(err)
}

// Retain implements cudahip.API.
func (linked) Retain(dev int32) (cudahip.Context, cudahip.Code) {
	ctx, err := cu.Device(dev).RetainPrimaryCtx()
	return *(*cudahip.Context)(unsafe.Pointer(&ctx)), status(err)
}

// Release implements cudahip.API.
func (linked) Release(dev int32) cudahip.Code { return status(cu.Device(dev).ReleasePrimaryCtx()) }

// PeerEnable implements cudahip.API.
func (linked) PeerEnable(ctx, peer cudahip.Context) cudahip.Code {
	if code := enter(ctx); code != cudahip.Success {
		return code
	}
	return leave(context(peer).EnablePeerAccess(0))
}

// MemInfo implements cudahip.API.
func (linked) MemInfo(ctx cudahip.Context) (free, total uint64, code cudahip.Code) {
	if code = enter(ctx); code != cudahip.Success {
		return 0, 0, code
	}
	f, t, err := cu.MemInfo()
	return uint64(f), uint64(t), leave(err)
}

// HostFree implements cudahip.API.
func (linked) HostFree(ctx cudahip.Context, addr uintptr) cudahip.Code {
	if code := enter(ctx); code != cudahip.Success {
		return code
	}
	return leave(cu.MemFreeHost(host(addr)))
}

// ManagedAlloc implements cudahip.API.
func (linked) ManagedAlloc(ctx cudahip.Context, size uint64) (uintptr, cudahip.Code) {
	if code := enter(ctx); code != cudahip.Success {
		return 0, code
	}
	p, err := cu.MemAllocManaged(int64(size), cu.AttachGlobal)
	return uintptr(p), leave(err)
}

// Prefetch implements cudahip.API.
func (linked) Prefetch(ctx cudahip.Context, addr, n uintptr, dev int32, s uintptr) cudahip.Code {
	if code := enter(ctx); code != cudahip.Success {
		return code
	}
	return leave(cu.DevicePtr(addr).MemPrefetchAsync(int64(n), cu.Device(dev), stream(s)))
}

// Advise implements cudahip.API.
func (linked) Advise(ctx cudahip.Context, addr, n uintptr, advice, dev int32) cudahip.Code {
	if code := enter(ctx); code != cudahip.Success {
		return code
	}
	return leave(cu.DevicePtr(addr).MemAdvise(int64(n), cu.MemAdvice(advice), cu.Device(dev)))
}

// StreamCreate implements cudahip.API.
func (linked) StreamCreate(ctx cudahip.Context, priority int32) (uintptr, cudahip.Code) {
	if code := enter(ctx); code != cudahip.Success {
		return 0, code
	}
	s, err := cu.MakeStreamWithPriority(int(priority), cu.NonBlocking)
	return *(*uintptr)(unsafe.Pointer(&s)), leave(err)
}

// StreamDestroy implements cudahip.API.
func (linked) StreamDestroy(ctx cudahip.Context, h uintptr) cudahip.Code {
	if code := enter(ctx); code != cudahip.Success {
		return code
	}
	s := stream(h)
	return leave(s.Destroy())
}

// EventCreate implements cudahip.API.
func (linked) EventCreate(ctx cudahip.Context, timing bool) (uintptr, cudahip.Code) {
	if code := enter(ctx); code != cudahip.Success {
		return 0, code
	}
	e, err := cu.MakeEvent(cu.EventFlags(cudahip.EventFlags(timing)))
	return *(*uintptr)(unsafe.Pointer(&e)), leave(err)
}

// EventDestroy implements cudahip.API.
func (linked) EventDestroy(ctx cudahip.Context, h uintptr) cudahip.Code {
	if code := enter(ctx); code != cudahip.Success {
		return code
	}
	e := event(h)
	return leave(cu.DestroyEvent(&e))
}

// EventElapsed implements cudahip.API.
func (linked) EventElapsed(ctx cudahip.Context, from, to uintptr) (float32, cudahip.Code) {
	if code := enter(ctx); code != cudahip.Success {
		return 0, code
	}
	ms, err := event(from).Elapsed(event(to))
	return float32(ms), leave(err)
}
