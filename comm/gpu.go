package comm

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/awaited"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// takes returns a function that reports whether memory of a device is of one of these kinds. It returns nil if that is true of no device.
func takes(kinds driver.MemoryKinds) func(d *hal.Device) bool {
	if kinds&(driver.MemoryCUDA|driver.MemoryROCm) == 0 {
		return nil
	}
	return func(d *hal.Device) bool {
		if !d.Caps().Has(hal.CapAddress) {
			return false
		}
		switch d.Info().Backend {
		case "cuda":
			return kinds.Has(driver.MemoryCUDA)
		case "hip":
			return kinds.Has(driver.MemoryROCm)
		}
		return false
	}
}

// takeThere leases the elements of a buffer on the device where they are current, if the engine takes addresses of that device, and reports
// whether it does. The engine knows no streams, so takeThere waits for the work of streams that has to come before the operation.
func takeThere[T buffer.Element](ctx context.Context, r *operation, s *side, b *buffer.Buffer[T], mode coherence.Mode) (bool, error) {
	i := 0
	if r.tag == driver.NoTag {
		i = 1
	}
	fits := r.c.engine.takes[i]
	if fits == nil || r.copies {
		return false, nil
	}
	l, there, err := awaited.Acquire(ctx, b, mode, fits)
	if !there {
		return false, err
	}
	s.device, s.there, s.leased, s.host = l, true, true, dl.Pointer(l.Pointer())
	s.kept = mode == coherence.ReadWrite
	return true, nil
}
