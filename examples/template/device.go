package template

import (
	"fmt"

	"github.com/go-halyard/halyard/hal/driver"
)

// describe says what is known about a device. REPLACE the values with what the vendor reports; each is a promise:
//
//   - Model holds the word "simulated" if Simulated is set.
//   - TotalMemory and MaxAlloc are what can be had: the suite allocates until it gets no more. Package hal
//     refuses what is larger than MaxAlloc, so that Alloc never sees it.
//   - Alignment is what Alloc gives without being asked, MaxAlign the most it can be asked for; both are powers of two.
//   - SharesHostMemory is set only if work on the device reads and writes host memory where it is. Buffers then copy
//     nothing, so results are wrong if it is set by mistake.
//   - UUID, if known, tells hardware apart, and is never the same for two devices.
//   - Caps has a bit for what works on this device. A bit that is not set is never asked for, so start without
//     optional ones. With CapGate the suite can hold streams shut and so checks order, not only results.
func describe(ordinal int, c *card) driver.Info {
	_, total := c.memory()
	return driver.Info{
		Backend:     name,
		Ordinal:     ordinal,
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

// device is one open handle. What handles on the same hardware share lies in card.
type device struct {
	card *card
	info driver.Info
}

var _ driver.Device = (*device)(nil)

// Info implements driver.Device. It is what Devices listed, and does not change.
func (d *device) Info() driver.Info { return d.info }

// MemInfo implements driver.Device. free is at most total. Without CapMemInfo it is never called, and returns
// an error of kind ErrUnsupported: no number is better than a guess.
func (d *device) MemInfo() (free, total uint64, err error) {
	free, total = d.card.memory()
	return min(free, total), total, nil
}

// Close implements driver.Device. Everything that the handle made has been freed and closed before. Even if it
// reports an error, the handle is gone: nobody calls again.
func (d *device) Close() error { return d.check("close device", "cardClose", d.card.close()) }
