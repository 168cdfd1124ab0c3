package host

import (
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
)

// hardware is the state that all handles on one device share.
type hardware struct {
	limit uint64        // bytes of device memory; 0 for the unified device, which has the machine's memory
	used  atomic.Uint64 // bytes of device memory in use

	registered ranges
	blocks     ranges // device memory that the host must not use
}

// take claims size bytes of device memory, and reports false if the limit forbids it.
func (h *hardware) take(size uint64) bool {
	for {
		used := h.used.Load()
		if h.limit > 0 && size > h.limit-min(used, h.limit) {
			return false
		}
		if h.used.CompareAndSwap(used, used+size) {
			return true
		}
	}
}

func (h *hardware) giveBack(size uint64) { h.used.Add(-size) }

// device is one handle on a device.
type device struct {
	backend  *backend
	info     driver.Info
	hardware *hardware
}

var (
	_ driver.Device         = (*device)(nil)
	_ driver.Peering        = (*device)(nil)
	_ driver.Registerer     = (*device)(nil)
	_ driver.Importer       = (*device)(nil)
	_ driver.StreamImporter = (*device)(nil)
	_ driver.FailureKeeper  = (*device)(nil)
	_ driver.Loader         = (*device)(nil)
)

func (d *device) Info() driver.Info { return d.info }

func (d *device) EventsKeepFailures() bool { return true }

func (d *device) ForgetsToldFailures() bool { return true }

// MemInfo implements driver.Device. A discrete device reports what is left of its own
// limit, the unified one the memory that is available on the machine.
func (d *device) MemInfo() (free, total uint64, err error) {
	if d.hardware.limit > 0 {
		total = d.hardware.limit
		return total - min(total, d.hardware.used.Load()), total, nil
	}
	free, total, ok := memoryNow()
	if !ok {
		return 0, 0, d.failure("memory info", driver.ErrUnsupported, "free memory is not reported by this system")
	}
	return min(free, total), total, nil
}

func (d *device) NewStream(driver.StreamOptions) (driver.Stream, error) { return newStream(d), nil }

func (d *device) NewEvent(o driver.EventOptions) (driver.Event, error) {
	return &event{dev: d, timing: o.Timing}, nil
}

// PeerAccess implements driver.Peering: all memory of this package is memory of one process.
func (d *device) PeerAccess(other driver.Device) driver.PeerAccess {
	if _, ok := other.(*device); ok {
		return driver.PeerWait | driver.PeerCopy
	}
	return 0
}

func (d *device) Close() error { return nil }
