package staging

import (
	"context"
	"time"

	"github.com/go-halyard/halyard/hal"
)

// Worthwhile reports whether uploads and downloads through a ring can be expected to be faster than the device's own copies of
// pageable memory. They are where bytes cross a bus: the device has a PCI address, or its driver cannot take pageable memory in
// stream order. They are not on a unified device, nor on one that is a processor in disguise.
func Worthwhile(dev *hal.Device) bool {
	info := dev.Info()
	switch {
	case info.Unified || !info.Caps.Has(hal.CapAsyncCopy):
		return false
	default:
		return info.PCI.Known || !info.Caps.Has(hal.CapPageableOrder)
	}
}

// Tuning is what Tune found. Rates are of uploads, in bytes per second.
type Tuning struct {
	Options Options // of the fastest ring, or one with less memory that is nearly as fast
	Ring    float64 // its rate
	Plain   float64 // of hal.Stream.CopyIn
}

// Pays reports whether the ring is clearly faster.
func (t Tuning) Pays() bool { return t.Ring > 1.1*t.Plain }

// tuneBytes is how much memory Tune copies at a time, at most.
const tuneBytes = 32 << 20

// Tune measures uploads of pageable memory on the device, plain and through rings of several sizes. It takes as much
// memory of the device as one upload, 32 MiB or an eighth of what the device has, for the time of a few
// dozen uploads. The device should be doing nothing else.
func Tune(ctx context.Context, dev *hal.Device) (Tuning, error) {
	const op = "tune staging"
	if dev == nil {
		return Tuning{}, hal.Errorf(op, hal.ErrInvalidArgument, "nil device")
	}
	n := uint64(tuneBytes)
	if total := dev.Info().TotalMemory; total > 0 {
		n = max(min(n, total/8), LeastSlotBytes)
	}
	mem, err := dev.Alloc(hal.KindDevice, n, 0)
	if err != nil {
		return Tuning{}, err
	}
	defer mem.Close()
	stream, err := dev.NewStream(hal.StreamOptions{})
	if err != nil {
		return Tuning{}, err
	}
	defer stream.Close()
	src := make([]byte, n)
	for i := range src {
		src[i] = byte(i)
	}
	var t Tuning
	t.Plain, err = rate(ctx, stream, n, func() error { return stream.CopyIn(mem.All(), src) })
	if err != nil {
		return Tuning{}, err
	}
	for slot := uint64(256 << 10); slot <= min(n, 4<<20); slot *= 2 {
		for slots := 2; slots <= DefaultSlots; slots++ {
			o := Options{Slots: slots, SlotBytes: slot}
			r, err := New(dev, o)
			if err != nil {
				return Tuning{}, err
			}
			got, err := rate(ctx, stream, n, func() error { return r.Upload(ctx, stream, mem.All(), src) })
			_ = r.Close()
			if err != nil {
				return Tuning{}, err
			}
			// Larger rings come later, and have to earn what they take.
			if got > 1.05*t.Ring {
				t.Options, t.Ring = o, got
			}
		}
	}
	if t.Options == (Options{}) {
		t.Options = Options{Slots: DefaultSlots, SlotBytes: DefaultSlotBytes}
	}
	return t, nil
}

// rate is the best of a few times that the copy takes, after one that does not count.
func rate(ctx context.Context, stream *hal.Stream, n uint64, copy func() error) (float64, error) {
	best := 0.0
	for i := range 4 {
		start := time.Now()
		if err := copy(); err != nil {
			return 0, err
		}
		if err := stream.Sync(ctx); err != nil {
			return 0, err
		}
		if i > 0 {
			best = max(best, float64(n)/max(time.Since(start), 1).Seconds())
		}
	}
	return best, nil
}
