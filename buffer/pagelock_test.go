//go:build cuda && hip && linux

package buffer_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

// calls returns how many calls the simulated driver has had whose names contain one of the words.
func calls(sim cudahiptest.Simulated, words ...string) (n int) {
	for name, count := range sim.Calls() {
		for _, w := range words {
			if strings.Contains(name, w) {
				n += count
			}
		}
	}
	return n
}

// begun resets the driver and returns a device with a stream. The test closes both, because it looks at what is left.
func begun(t *testing.T, sim cudahiptest.Simulated) (*hal.Device, *hal.Stream) {
	require.NoError(t, sim.Reset(1))
	d, err := hal.Open(ctx, sim.Device)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	return d, s
}

func guarded() bool { return strings.Contains(os.Getenv("HALYARD_DEBUG"), "guard") }

// A replica that has been copied before is page-locked, once, until the buffer is closed. One that is small, or copied once, is not.
func TestCopiedReplicaIsPageLocked(t *testing.T) {
	if guarded() {
		t.Skip("guarded memory, whose pages are made inaccessible, is not page-locked to be faster")
	}
	cudahiptest.EachSimulated(t, func(t *testing.T, sim cudahiptest.Simulated) {
		d, s := begun(t, sim)
		use := func(b *buffer.Buffer[uint32], value uint32) {
			require.NoError(t, b.Overwrite(ctx, func(x []uint32) error {
				for i := range x {
					x[i] = value
				}
				return nil
			}))
			l, err := b.Acquire(ctx, s, coherence.ReadWrite)
			require.NoError(t, err)
			require.NoError(t, l.Release())
			require.NoError(t, b.View(ctx, func(x []uint32) error {
				for _, v := range x {
					if v != value {
						t.Fatalf("%d, not %d", v, value)
					}
				}
				return nil
			}))
		}
		locked := func() int { return calls(sim, "HostRegister") }
		small, large := newBuffer(t, make([]uint32, 1<<15)), newBuffer(t, make([]uint32, 1<<18))
		use(small, 1)
		use(large, 1)
		require.Zero(t, locked(), "copied there and back")
		for i := range uint32(4) {
			use(small, i)
			use(large, i)
			require.Equal(t, 1, locked(), "copied again")
		}
		part, err := large.Slice(0, 1<<17)
		require.NoError(t, err)
		use(part, 7)
		require.NoError(t, hal.CloseAll(large, small))
		require.NoError(t, s.Close())
		require.NoError(t, d.Close())
		require.Equal(t, 1, calls(sim, "HostUnregister"))
	})
}

// Work that repeats earlier work on the same stream costs the driver its own call and an event. A device after whose failures nothing works
// is not asked whether the earlier work has failed.
func TestRepeatedWorkAsksNothing(t *testing.T) {
	if guarded() {
		t.Skip("guarded memory asks about the work of copies")
	}
	cudahiptest.EachSimulated(t, func(t *testing.T, sim cudahiptest.Simulated) {
		d, s := begun(t, sim)
		a, b := newBuffer(t, make([]uint32, 64)), newBuffer(t, make([]uint32, 64))
		work := func() {
			for _, b := range []*buffer.Buffer[uint32]{a, b} {
				l, err := b.Acquire(ctx, s, coherence.ReadWrite)
				require.NoError(t, err)
				require.NoError(t, s.Fill(l.Region(), hal.Zero))
				require.NoError(t, l.Release())
			}
		}
		work()
		before := calls(sim, "EventQuery")
		for range 100 {
			work()
		}
		require.Less(t, calls(sim, "EventQuery")-before, 20, "questions about 200 works; some may be due to copies before")
		require.NoError(t, hal.CloseAll(a, b))
		require.NoError(t, s.Close())
		require.NoError(t, d.Close())
	})
}

// toAndFro copies a buffer to the stream's device and back, so many times. In the end all elements are times-1.
func toAndFro(t *testing.T, b *buffer.Buffer[uint32], s *hal.Stream, times uint32) {
	for i := range times {
		require.NoError(t, b.Fill(ctx, i))
		l, err := b.Acquire(ctx, s, coherence.ReadWrite)
		require.NoError(t, err)
		require.NoError(t, l.Release())
		_, err = b.At(ctx, 0)
		require.NoError(t, err)
	}
}

// A buffer that has been page-locked for a device does not keep it from closing once its replica there is evicted, whether the device works or
// is lost.
func TestPageLockEndsWithEviction(t *testing.T) {
	cudahiptest.EachSimulated(t, func(t *testing.T, sim cudahiptest.Simulated) {
		for _, lost := range []bool{false, true} {
			d, s := begun(t, sim)
			b, err := buffer.New[uint32](1 << 18)
			require.NoError(t, err)
			toAndFro(t, b, s, 4)
			if !guarded() {
				require.Equal(t, 1, calls(sim, "HostRegister"))
			}
			require.NoError(t, b.View(ctx, nothing))
			if lost {
				sim.Sticky(700)
				_, err := s.Done()
				require.Error(t, err)
			}
			err = b.Evict(ctx, d)
			if lost {
				_ = s.Close()
				require.NotErrorIs(t, d.Close(), hal.ErrBusy)
				sim.Sticky(0)
			} else {
				require.NoError(t, err)
				require.NoError(t, s.Close())
				require.NoError(t, d.Close())
				require.Equal(t, calls(sim, "HostRegister"), calls(sim, "HostUnregister"))
			}
			v, err := b.At(ctx, 1<<18-1)
			require.NoError(t, err)
			require.Equal(t, uint32(3), v)
			require.NoError(t, b.Close())
			require.NoError(t, sim.Reset(1))
		}
	})
}

// Copies of small parts do not page-lock the whole, and memory that the program gave is not page-locked to be faster.
func TestWhatIsNotPageLocked(t *testing.T) {
	cudahiptest.EachSimulated(t, func(t *testing.T, sim cudahiptest.Simulated) {
		d, s := begun(t, sim)
		whole := newBuffer(t, make([]uint32, 1<<18))
		part, err := whole.Slice(0, 1<<15)
		require.NoError(t, err)
		given, err := buffer.AdoptSlice(make([]uint32, 1<<18), nil)
		require.NoError(t, err)
		for _, b := range []*buffer.Buffer[uint32]{part, given} {
			toAndFro(t, b, s, 40)
		}
		require.Zero(t, calls(sim, "HostRegister"))
		require.NoError(t, hal.CloseAll(d, s, given, whole))
	})
}

// A write after a copy of its own stream that has failed is refused, and what the host has stays current, also where an event of the write would
// tell of the failure.
func TestFailedCopyKeepsItsSource(t *testing.T) {
	cudahiptest.EachSimulated(t, func(t *testing.T, sim cudahiptest.Simulated) {
		d, s := begun(t, sim)
		b, err := buffer.New[uint32](1 << 10)
		require.NoError(t, err)
		require.NoError(t, b.Fill(ctx, 7))
		left, err := b.Slice(0, 512)
		require.NoError(t, err)
		right, err := b.Slice(512, 1024)
		require.NoError(t, err)
		other, err := right.Acquire(ctx, s, coherence.Read) // so that the buffer is not quiet
		require.NoError(t, err)
		require.NoError(t, left.Prefetch(s)) // the host stays current
		sim.Sticky(700)
		_, err = left.Acquire(ctx, s, coherence.ReadWrite)
		require.Error(t, err)
		v, err := b.At(ctx, 5)
		require.NoError(t, err)
		require.Equal(t, uint32(7), v)
		_ = other.Release()
		_ = hal.CloseAll(d, s, b)
		sim.Sticky(0)
		require.NoError(t, sim.Reset(1))
	})
}
