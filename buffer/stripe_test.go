package buffer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// inTime is a context for what must not wait for ever. Nothing takes so long that does not wait for itself.
func inTime(t *testing.T) context.Context {
	c, cancel := context.WithTimeout(ctx, patience)
	t.Cleanup(cancel)
	return c
}

// stripes lets each of several goroutines use a part of its own, some of them through devices, and compares it with what it should be.
func stripes(t *testing.T, b *buffer.Buffer[uint32], streams []*hal.Stream, workers, rounds int, seed uint64, extra func(rng *rand.Rand) error) {
	n := b.Len() / workers
	c := inTime(t)
	var all sync.WaitGroup
	errs := make(chan error, workers)
	for w := range workers {
		own := cut(t, b, w*n, (w+1)*n)
		rng := rand.New(rand.NewPCG(seed, uint64(w)))
		all.Go(func() { errs <- stripe(c, own, streams, rounds, rng, extra) })
	}
	all.Wait()
	for range workers {
		require.NoError(t, <-errs, "seed %d", seed)
	}
}

func stripe(c context.Context, own *buffer.Buffer[uint32], streams []*hal.Stream, rounds int, rng *rand.Rand, extra func(rng *rand.Rand) error) error {
	want := make([]uint32, own.Len())
	if err := own.Fill(c, 0); err != nil {
		return err
	}
	for round := range rounds {
		lo := rng.IntN(len(want))
		hi := lo + 1 + rng.IntN(len(want)-lo)
		part, err := own.Slice(lo, hi)
		if err != nil {
			return err
		}
		s := streams[rng.IntN(len(streams))]
		v := rng.Uint32()
		what := rng.IntN(7)
		switch what {
		case 0:
			err = part.View(c, func(x []uint32) error { return same(x, want[lo:hi]) })
		case 1:
			err = part.Update(c, func(x []uint32) error {
				for i := range x {
					x[i] += v
				}
				return same(x[:1], []uint32{want[lo] + v})
			})
			for i := lo; i < hi; i++ {
				want[i] += v
			}
		case 2:
			err = part.Fill(c, v)
			set(want[lo:hi], v)
		case 3:
			var l buffer.Lease
			if l, err = part.Acquire(c, s, coherence.Overwrite); err == nil {
				err = errors.Join(s.Fill(l.Region(), hal.Pattern32(v)), l.Release())
				set(want[lo:hi], v)
			}
		case 4: // the device changes a part of what it reads
			var l buffer.Lease
			if l, err = part.Acquire(c, s, coherence.ReadWrite); err == nil {
				r := l.Region()
				r.Len = 4
				err = errors.Join(s.Fill(r, hal.Pattern32(v)), l.Release())
				want[lo] = v
			}
		case 5:
			err = taken(part.Acquire(c, s, coherence.Read))
		case 6:
			if half := (hi - lo) / 2; half > 0 {
				var from, to *buffer.Buffer[uint32]
				if from, err = part.Slice(0, half); err != nil {
					return err
				}
				if to, err = part.Slice(half, 2*half); err != nil {
					return err
				}
				if err = to.CopyFrom(c, from); err == nil {
					copy(want[lo+half:lo+2*half], want[lo:lo+half])
				}
			}
		}
		if errors.Is(err, hal.ErrOutOfMemory) && c.Err() == nil {
			err = nil // others lease what has the room
		}
		if err != nil {
			return fmt.Errorf("round %d, operation %d of [%d, %d): %w", round, what, lo, hi, err)
		}
		if extra != nil {
			if err := extra(rng); err != nil {
				return fmt.Errorf("round %d, beside it: %w", round, err)
			}
		}
	}
	return own.View(c, func(x []uint32) error { return same(x, want) })
}

func set(x []uint32, v uint32) {
	for i := range x {
		x[i] = v
	}
}

func same(got, want []uint32) error {
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("element %d is %d, not %d", i, got[i], want[i])
		}
	}
	return nil
}
