package comm

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm/driver"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/awaited"
	"github.com/go-halyard/halyard/internal/dl"
)

// takes returns a function that reports whether the addresses of a device are among the kinds of memory, or nil if those of no device are.
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

// takeThere gives a side the elements of a buffer on the device that has the newest, and reports whether there is one whose addresses the
// engine takes. The engine knows no streams, so the work of all streams that it has to come after has ended by then.
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
