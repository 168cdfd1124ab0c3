package template

import (
	"fmt"

	"github.com/go-halyard/halyard/hal/driver"
)

// describe says what is known about a device. REPLACE the values with what the vendor reports; each is a promise:
//
//   - Model holds the word "simulated" if Simulated is set.
//   - TotalMemory and MaxAlloc are what can really be allocated: the suite allocates until it gets no more. Package hal
//     refuses sizes above MaxAlloc, so Alloc never gets one.
//   - Alignment is the alignment of memory that is allocated with align 0. MaxAlign is the largest align. Both are powers of
//     two.
//   - SharesHostMemory is set only if work on the device reads and writes host memory where it is. Buffers then copy
//     nothing, so results are wrong if it is set by mistake.
//   - Class says what type of device it is, if that is known. [hal.Default] prefers GPUs.
//   - UUID, if known, identifies the hardware: no two devices have the same.
//   - Caps has a bit for each optional feature that works on this device. A feature whose bit is not set is never used, so
//     start without any. With CapGate the suite can hold streams shut, and so checks order as well as results.
func describe(ordinal int, c *card) driver.Info {
	_, total := c.memory()
	return driver.Info{
		Backend:     name,
		Ordinal:     ordinal,
		Class:       driver.ClassAccelerator,
		Model:       fmt.Sprintf("simulated template device %d", ordinal),
		Vendor:      "Halyard",
		Driver:      "template 1",
		Simulated:   true,
		TotalMemory: total,
		MaxAlloc:    total,
		Alignment:   64,
		MaxAlign:    4096,
		Caps: driver.CapAsyncCopy | driver.CapOrderedPageable | // copy.go
			driver.CapMemInfo | // device.go
			driver.CapTiming | // event.go
			driver.CapGate | // gate.go
			driver.CapHostCallback, // callback.go
	}
}

// device is one open handle. What handles on the same hardware share is in card.
type device struct {
	card *card
	info driver.Info
}

var _ driver.Device = (*device)(nil)

// Info implements driver.Device. It is what Devices listed, and does not change.
func (d *device) Info() driver.Info { return d.info }

// MemInfo implements driver.Device. free is at most total. Without CapMemInfo it is never called, and returns
// an error of kind ErrUnsupported, because a guess would be worse than no number.
func (d *device) MemInfo() (free, total uint64, err error) {
	free, total = d.card.memory()
	return min(free, total), total, nil
}

// Close implements driver.Device. Everything that the handle made has been freed and closed before. Even if it
// returns an error, the handle is closed, and no method is called again.
func (d *device) Close() error { return d.check("close device", "cardClose", d.card.close()) }
