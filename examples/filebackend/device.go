package filebackend

import (
	"fmt"

	"github.com/go-halyard/halyard/hal/driver"
)

func (b *Backend) describe(ordinal int) driver.Info {
	return driver.Info{
		Backend:     b.opts.Name,
		Ordinal:     ordinal,
		Model:       fmt.Sprintf("simulated device in a file, %d", ordinal),
		Vendor:      "Halyard",
		Driver:      "filebackend 1",
		Simulated:   true,
		TotalMemory: b.opts.Memory,
		MaxAlloc:    b.opts.Memory,
		Alignment:   512,
		MaxAlign:    1 << 20,
		Caps: driver.CapAsyncCopy | driver.CapOrderedPageable | driver.CapMemInfo | driver.CapTiming | driver.CapGate |
			driver.CapHostCallback | driver.CapPeerCopy,
	}
}

// device is one open handle.
type device struct {
	drive *drive
	info  driver.Info
}

var (
	_ driver.Device  = (*device)(nil)
	_ driver.Peering = (*device)(nil)
)

// Info implements driver.Device.
func (d *device) Info() driver.Info { return d.info }

// MemInfo implements driver.Device.
func (d *device) MemInfo() (free, total uint64, err error) { return d.drive.free(), d.drive.total, nil }

// PeerAccess implements driver.Peering: any stream reads and writes any of the files.
func (d *device) PeerAccess(other driver.Device) driver.PeerAccess {
	if _, ok := other.(*device); ok {
		return driver.PeerWait | driver.PeerCopy
	}
	return 0
}

// Close implements driver.Device.
func (d *device) Close() error { return d.check("close device", "close", d.drive.close()) }
