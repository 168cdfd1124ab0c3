package cudahip

import (
	"cmp"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
)

const (
	// naturalAlign is the least alignment of every allocation, in bytes. CUDA and HIP align allocations to at least
	// that.
	naturalAlign = 256
	// maxAlign is the largest supported alignment. For an alignment larger than the vendor's, more
	// bytes are allocated.
	maxAlign = 2 << 20
)

// Device implements driver.Device, driver.Peering, driver.Registerer, driver.IPCSharer, driver.Importer,
// driver.StreamImporter, driver.PointerQuerier, driver.Loader and driver.Native. It holds a reference to the device's shared context.
type Device struct {
	lib  *library
	api  API
	ctx  Context
	dev  int32
	info driver.Info

	aligned atomic.Uint64 // the alignment that all of the vendor's allocations so far had, at most naturalAlign
	links   links
	signals signals
	calls   hostCalls
	staging blocks
	imports imports
	pool    asyncPool
	eager   sync.Mutex // held by a wait for an event while it polls without a pause

	leftovers leftovers
}

func open(lib *library, dev int32, info driver.Info) (*Device, error) {
	const op = "open"
	api := lib.api
	ctx, code := api.Retain(dev)
	if code != Success {
		return nil, lib.fail(op, info.Ordinal, CallRetain, code)
	}
	d := &Device{lib: lib, api: api, ctx: ctx, dev: dev, info: info}
	d.aligned.Store(naturalAlign)
	d.signals.wait = api.Has(CallWaitValue) && lib.attribute(dev, AttrWaitValue)
	d.info.Caps &^= d.unanswered()
	return d, nil
}

// unanswered returns the capabilities that the device lacks because the library exports their calls but does not
// support them. In chipStar hipPointerGetAttribute and hipIpcGetMemHandle return hipErrorNotSupported. A library may
// check the address first, so unanswered asks with the address of real memory.
func (d *Device) unanswered() (lacks driver.Caps) {
	const asked = driver.CapPointerInfo | driver.CapIPC
	if d.info.Caps&asked == 0 {
		return 0
	}
	addr, code := d.api.MemAlloc(d.ctx, 1)
	if allocated(addr, code) != Success {
		return 0
	}
	d.leftovers.add(fromDevice, addr) // freeing it now might wait for other work
	if d.info.Caps.Has(driver.CapPointerInfo) {
		if _, code := d.pointer(addr); code == CodeNotSupported {
			lacks |= driver.CapPointerInfo
		}
	}
	if d.info.Caps.Has(driver.CapIPC) {
		if _, code := d.api.IPCExport(d.ctx, addr); code == CodeNotSupported {
			lacks |= driver.CapIPC
		}
	}
	return lacks
}

func releaseContext(api API, _ Context, dev uintptr) Code { return api.Release(int32(dev)) }

func (d *Device) Info() driver.Info { return d.info }

// MemInfo implements driver.Device. The vendors call the result an estimate.
func (d *Device) MemInfo() (free, total uint64, err error) {
	f, t, code := d.api.MemInfo(d.ctx)
	if code != Success {
		return 0, 0, d.fail("memory information", CallMemInfo, code)
	}
	return uint64(f), uint64(t), nil
}

func (d *Device) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	priority := max(min(o.Priority, d.info.LowPriority), d.info.HighPriority)
	h, code := d.api.StreamCreate(d.ctx, int32(priority))
	if code != Success {
		return nil, d.fail("new stream", CallStreamCreate, code)
	}
	return &Stream{dev: d, api: d.api, ctx: d.ctx, handle: h}, nil
}

func (d *Device) NewEvent(o driver.EventOptions) (driver.Event, error) {
	var flags uint32
	if !d.lib.vendor.PolledEvents {
		flags = eventBlocking
	}
	if !o.Timing {
		flags |= eventNoTiming
	}
	h, code := d.api.EventCreate(d.ctx, flags)
	if code != Success {
		return nil, d.fail("new event", CallEventCreate, code)
	}
	return &Event{dev: d, handle: h}, nil
}

// EventsKeepFailures implements driver.FailureKeeper: after work has failed, "any further CUDA work will return the
// same error" (CUDA driver API, CUDA_ERROR_ILLEGAL_ADDRESS and the other errors of work that runs). HIP takes over
// these errors and their meaning.
func (d *Device) EventsKeepFailures() bool { return true }

// ForgetsToldFailures implements driver.FailureKeeper: these drivers return an error of earlier work again at each later call, so an error
// that is not returned again came from the call itself.
func (d *Device) ForgetsToldFailures() bool { return false }

// FreeMayBlock implements driver.FreeBlocker: Close frees page-locked memory.
func (d *Device) FreeMayBlock() bool { return true }

func (d *Device) Trim() {
	_ = d.leftovers.close(d)
	d.staging.close(d)
	d.pool.trim(d)
}

// Close implements driver.Device. The context is destroyed when nothing else in the program retains it.
func (d *Device) Close() error {
	d.calls.abandon(nil)
	d.signals.close(d)
	err := d.leftovers.close(d)
	d.staging.close(d)
	d.pool.close(d)
	return cmp.Or(d.release(CallRelease, releaseContext, uintptr(d.dev)), err)
}

// release releases a vendor's handle. Whatever the release returns, the handle is not used again: the error may come
// from earlier work, and a second release could hit a newer object at the same address. If the release was not
// made because the context could not be made current, it is tried once more. A library that is shutting down
// has released everything already, so its error is ignored.
func (d *Device) release(c Call, call releaser, handle uintptr) error {
	code := call(d.api, d.ctx, handle)
	if code.Unbound() {
		code = call(d.api, d.ctx, handle)
	}
	if code == Success || code.Value() == CodeDeinitialised.Value() {
		return nil
	}
	return d.fail("release", c, code)
}

type releaser func(api API, ctx Context, handle uintptr) Code

var (
	_ driver.Backend         = (*Backend)(nil)
	_ driver.Peering         = (*Device)(nil)
	_ driver.Registerer      = (*Device)(nil)
	_ driver.IPCSharer       = (*Device)(nil)
	_ driver.Importer        = (*Device)(nil)
	_ driver.StreamImporter  = (*Device)(nil)
	_ driver.PointerQuerier  = (*Device)(nil)
	_ driver.Gater           = (*Stream)(nil)
	_ driver.Notifier        = (*Stream)(nil)
	_ driver.StreamAllocator = (*Stream)(nil)
	_ driver.Prefetcher      = (*Stream)(nil)
	_ driver.Copier2D        = (*Stream)(nil)
	_ driver.Timer           = (*Event)(nil)
	_ driver.Loader          = (*Device)(nil)
	_ driver.Native          = (*Device)(nil)
	_ driver.Launcher        = (*Stream)(nil)
	_ driver.FailureKeeper   = (*Device)(nil)
	_ driver.FreeBlocker     = (*Module)(nil)
)

// links caches the results of PeerAccess, by the number of the other device. A result holds for the
// context that is stored with it.
type links [maxLinks]struct {
	ctx  atomic.Uintptr
	link atomic.Uint32
}

const maxLinks = 64

// PeerAccess implements driver.Peering. Streams can wait for events of any device of the library.
// They can copy to and from memory of the same hardware, and of another device whose memory this
// device can access directly. The first call for such a device enables peer access, and nothing
// disables it again.
func (d *Device) PeerAccess(other driver.Device) driver.PeerAccess {
	o, ok := other.(*Device)
	switch {
	case !ok || o.lib != d.lib:
		return 0
	case o.dev == d.dev:
		return driver.PeerWait | driver.PeerCopy
	}
	if o.dev < 0 || o.dev >= maxLinks {
		l, _ := d.link(o)
		return l
	}
	known := &d.links[o.dev]
	if Context(known.ctx.Load()) == o.ctx {
		if l := driver.PeerAccess(known.link.Load()); l != 0 {
			return l
		}
	}
	l, final := d.link(o)
	if final {
		known.link.Store(uint32(l))
		known.ctx.Store(uintptr(o.ctx))
	}
	return l
}

// link enables peer access if the hardware supports it. final is false if a call failed that may
// succeed later. Without peer access copies go through the host, which always works.
func (d *Device) link(o *Device) (l driver.PeerAccess, final bool) {
	if !d.info.Caps.Has(driver.CapPeerCopy) {
		return driver.PeerWait, true
	}
	if can, code := d.api.CanAccessPeer(d.dev, o.dev); code != Success || can == 0 {
		return driver.PeerWait, code == Success
	}
	if code := d.api.PeerEnable(d.ctx, o.ctx); code != Success && code != CodePeerEnabled {
		never := d.lib.vendor.Codes.Status(code.Value()).Kind == driver.ErrUnsupported
		return driver.PeerWait, never
	}
	return driver.PeerWait | driver.PeerCopy, true
}
