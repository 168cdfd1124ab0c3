package cudahip

import (
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
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
	l, settled := d.link(o)
	if settled {
		known.link.Store(uint32(l))
		known.ctx.Store(uintptr(o.ctx))
	}
	return l
}

// link enables peer access if the hardware supports it. settled is false if a call failed that may
// succeed later. Without peer access copies go through the host, which always works.
func (d *Device) link(o *Device) (l driver.PeerAccess, settled bool) {
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
