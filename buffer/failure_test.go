package buffer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// onDevice reads the elements on the stream's device.
func onDevice(t *testing.T, s *hal.Stream, b *buffer.Buffer[uint32]) ([]uint32, error) {
	t.Helper()
	l, err := b.TryAcquire(s, coherence.Read)
	if err != nil {
		return nil, err
	}
	raw := make([]byte, l.Region().Len)
	require.NoError(t, s.CopyOut(raw, l.Region()))
	require.NoError(t, l.Release())
	require.NoError(t, s.Sync(ctx))
	out := make([]uint32, len(raw)/4)
	for i := range out {
		out[i] = uint32(raw[4*i]) | uint32(raw[4*i+1])<<8 | uint32(raw[4*i+2])<<16 | uint32(raw[4*i+3])<<24
	}
	return out, nil
}

// openLinked is openFaulty with devices that reach each other.
func openLinked(t *testing.T, n int) (*faulty, []*hal.Device, []*hal.Stream) {
	f, devs := openFaulty(t, n)
	f.linked = true
	var streams []*hal.Stream
	for _, d := range devs {
		streams = append(streams, newStream(t, d))
	}
	return f, devs, streams
}

func TestNextAccessFindsFailedCopy(t *testing.T) {
	acquire := func(s *hal.Stream, b *buffer.Buffer[uint32], mode coherence.Mode) error {
		l, err := b.TryAcquire(s, mode)
		if err == nil {
			err = l.Release()
		}
		return err
	}
	for name, access := range map[string]func(s *hal.Stream, b *buffer.Buffer[uint32]) error{
		"Acquire to read":  func(s *hal.Stream, b *buffer.Buffer[uint32]) error { return acquire(s, b, coherence.Read) },
		"Acquire to write": func(s *hal.Stream, b *buffer.Buffer[uint32]) error { return acquire(s, b, coherence.ReadWrite) },
		"Prefetch":         func(s *hal.Stream, b *buffer.Buffer[uint32]) error { return b.Prefetch(s) },
		"SyncTo":           func(s *hal.Stream, b *buffer.Buffer[uint32]) error { return b.SyncTo(ctx, s.Device()) },
		"MarkModified":     func(s *hal.Stream, b *buffer.Buffer[uint32]) error { return b.MarkModified(s) },
		"AcquireRanges": func(s *hal.Stream, b *buffer.Buffer[uint32]) error {
			l, err := b.AcquireRanges(ctx, s, coherence.Read, []buffer.Range{{Lo: 0, Hi: 1}, {Lo: 2, Hi: 4}})
			if err == nil {
				err = l.Release()
			}
			return err
		},
		"Clone": func(_ *hal.Stream, b *buffer.Buffer[uint32]) error {
			c, err := b.Clone(ctx)
			if err == nil {
				err = c.Close()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, devs := openFaulty(t, 1)
			s := newStream(t, devs[0])
			b := newBuffer(t, []uint32{1, 2, 3, 4})
			f.fail("CopyIn", 1)
			require.NoError(t, acquire(s, b, coherence.Read))
			require.NoError(t, s.Sync(ctx))
			require.ErrorIs(t, access(s, b), errLate)
			require.Equal(t, []string{"host"}, validAt(b))
			got, err := onDevice(t, s, b)
			require.NoError(t, err)
			require.Equal(t, []uint32{1, 2, 3, 4}, got)
		})
	}
}

// A copy made of the destination before the failure was known is bad as well; the source is good.
func TestFailureSpreadsWithTheCopies(t *testing.T) {
	f, devs, s := openLinked(t, 2)
	b := newBuffer(t, []uint32{1, 2, 3, 4})
	g := hold(t, s[0])
	f.fail("CopyIn", 1)
	require.NoError(t, b.Prefetch(s[0]))
	copies := b.Stats().Copies
	require.NoError(t, b.Prefetch(s[1]))
	require.Equal(t, copies+1, b.Stats().Copies)
	require.NoError(t, g.Signal())
	require.NoError(t, s[1].Sync(ctx))
	require.ErrorIs(t, b.Prefetch(s[1]), errLate)
	require.Equal(t, []string{"host"}, validAt(b), "%v", devs)
	for i := range s {
		got, err := onDevice(t, s[i], b)
		require.NoError(t, err)
		require.Equal(t, []uint32{1, 2, 3, 4}, got)
	}
}

// So is a clone, and what CopyFrom made, of bytes that then turn out never to have been written; nobody else has them.
func TestCopiesOfWhatFails(t *testing.T) {
	for name, copied := range map[string]func(src *buffer.Buffer[uint32]) (*buffer.Buffer[uint32], error){
		"Clone": func(src *buffer.Buffer[uint32]) (*buffer.Buffer[uint32], error) { return src.Clone(ctx) },
		"CopyFrom": func(src *buffer.Buffer[uint32]) (*buffer.Buffer[uint32], error) {
			dst, err := buffer.From([]uint32{1, 2, 3, 4})
			require.NoError(t, err)
			return dst, dst.CopyFrom(ctx, src)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, _, s := openLinked(t, 1)
			g := hold(t, s[0])
			f.fail("Fill", 1)
			src := written(t, s[0], 4, 7)
			dst, err := copied(src)
			require.NoError(t, err)
			defer dst.Close()
			require.NoError(t, g.Signal())
			require.ErrorIs(t, dst.View(ctx, nothing), errLate)
			require.ErrorIs(t, dst.View(ctx, nothing), hal.ErrDeviceLost)
			require.ErrorIs(t, src.View(ctx, nothing), errLate)
			require.ErrorIs(t, src.View(ctx, nothing), hal.ErrDeviceLost)
			fill(t, s[0], src, 8)
			require.NoError(t, dst.CopyFrom(ctx, src))
			require.Equal(t, []uint32{8, 8, 8, 8}, contents(t, dst))
		})
	}
	// A slice of the same buffer.
	f, _, s := openLinked(t, 1)
	g := hold(t, s[0])
	f.fail("Fill", 1)
	b := written(t, s[0], 8, 7)
	low, err := b.Slice(0, 4)
	require.NoError(t, err)
	high, err := b.Slice(4, 8)
	require.NoError(t, err)
	fill(t, s[0], high, 9)
	require.NoError(t, high.CopyFrom(ctx, low))
	require.NoError(t, g.Signal())
	require.ErrorIs(t, high.View(ctx, nothing), errLate)
	require.ErrorIs(t, high.View(ctx, nothing), hal.ErrDeviceLost)
}

// Bytes that a copy was to bring and did not are not shown while another access writes to other bytes of the same copy.
func TestFailureIsFoundBesideAnOpenWrite(t *testing.T) {
	for name, access := range map[string]func(b *buffer.Buffer[uint32]) error{
		"View":   func(b *buffer.Buffer[uint32]) error { return b.View(ctx, nothing) },
		"Update": func(b *buffer.Buffer[uint32]) error { return b.Update(ctx, nothing) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFaulty(host.Options{Name: "beside", Discrete: 1})
			shared, apart := newStream(t, fixture.Device(t, f, 0)), newStream(t, fixture.Device(t, f, 1))
			b := written(t, apart, 12, 7)
			f.fail("CopyOut", 1)
			require.NoError(t, b.Prefetch(shared))
			l, err := cut(t, b, 4, 8).TryAcquire(shared, coherence.Overwrite)
			require.NoError(t, err)
			right := cut(t, b, 8, 12)
			failed := access(right)
			again := access(right)
			require.NoError(t, shared.Fill(l.Region(), hal.Pattern32(1)))
			require.NoError(t, l.Release())
			require.ErrorIs(t, failed, errLate)
			require.NoError(t, again, "another place has the bytes")
			for range 2 { // the failure concerns the left elements, too, which have not been read yet
				_ = b.View(ctx, nothing)
			}
			require.Equal(t, []uint32{7, 7, 7, 7, 1, 1, 1, 1, 7, 7, 7, 7}, contents(t, b))
		})
	}
}

// What a group writes is lost if bytes that it reads turn out bad, also if another access has reported that before the group ends.
func TestFailureThatAnotherReportsSpoilsWhatAGroupWrites(t *testing.T) {
	f, devs, s := openLinked(t, 1)
	other := newStream(t, devs[0])
	in, out := newBuffer(t, []uint32{1, 2, 3, 4}), newBuffer(t, make([]uint32, 4))
	work := func(meanwhile func()) {
		g, err := buffer.AcquireAll(ctx, s[0], in.Want(coherence.Read), out.Want(coherence.Overwrite))
		require.NoError(t, err)
		r := g.Regions(nil)
		require.NoError(t, s[0].Copy(r[1], r[0]))
		require.NoError(t, s[0].Sync(ctx))
		meanwhile()
		require.NoError(t, g.Release())
	}
	f.fail("CopyIn", 1)
	work(func() { require.ErrorIs(t, in.Prefetch(other), errLate) })
	require.ErrorIs(t, out.View(ctx, nothing), errLate)
	require.ErrorIs(t, out.View(ctx, nothing), hal.ErrDeviceLost)
	work(func() {})
	require.Equal(t, []uint32{1, 2, 3, 4}, contents(t, out))
}

// SyncTo copies again what a failed copy did not bring, if another access has reported the failure.
func TestSyncToCopiesAgainWhatAnotherReports(t *testing.T) {
	f, devs, s := openLinked(t, 3)
	b := newBuffer(t, make([]uint32, 8))
	left, right := cut(t, b, 0, 4), cut(t, b, 4, 8)
	one, two := hold(t, s[1]), hold(t, s[2])
	fill(t, s[1], left, 8)
	fill(t, s[2], right, 9)
	f.fail("Copy", 1)
	require.NoError(t, left.Prefetch(s[0]))
	synced := make(chan error)
	go func() { synced <- b.SyncTo(ctx, devs[0]) }()
	require.Eventually(t, func() bool { return right.Version(devs[0]) >= 0 }, patience, tick, "SyncTo waits for both copies")
	require.NoError(t, one.Signal())
	require.NoError(t, s[0].Sync(ctx))
	require.ErrorIs(t, left.Prefetch(s[0]), errLate)
	require.Equal(t, int64(-1), left.Version(devs[0]))
	require.NoError(t, two.Signal())
	require.NoError(t, <-synced)
	require.NotEqual(t, int64(-1), b.Version(devs[0]))
	got, err := onDevice(t, s[0], b)
	require.NoError(t, err)
	require.Equal(t, []uint32{8, 8, 8, 8, 9, 9, 9, 9}, got)
}

// A replica that is to go once its copy has arrived is still a source, in place of the copy.
func TestWhatIsToGoIsCopiedFrom(t *testing.T) {
	f, devs, s := openLinked(t, 2)
	b := written(t, s[0], 4, 7)
	g := hold(t, s[1])
	f.fail("Copy", 1)
	require.NoError(t, b.Prefetch(s[1]))
	require.NoError(t, b.Evict(ctx, devs[0]))
	require.False(t, b.State().Places[1].Valid)
	c, err := b.Clone(ctx)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, g.Signal())
	require.Equal(t, []uint32{7, 7, 7, 7}, contents(t, c))
	require.NoError(t, s[1].Sync(ctx))
	require.Eventually(t, func() bool { return b.State().Places[1].Valid }, patience, tick)
}

// A failure of what was there before does not concern a copy, though it is not known yet whether that will be good.
func TestCopyFromEndsWhatWasThereBefore(t *testing.T) {
	f, devs, s := openLinked(t, 3)
	src, dst := written(t, s[1], 4, 7), written(t, s[0], 4, 1)
	g := hold(t, s[1])
	fill(t, s[1], src, 8)
	f.fail("Copy", 1)
	require.NoError(t, dst.Prefetch(s[1]))
	require.NoError(t, dst.Evict(ctx, devs[0]))
	require.NoError(t, dst.Prefetch(s[2]))
	require.NoError(t, dst.CopyFrom(ctx, src))
	require.Equal(t, []string{devs[1].Name()}, validAt(dst), "%v", devs)
	require.NoError(t, g.Signal())
	require.NoError(t, s[1].Sync(ctx))
	require.Equal(t, []uint32{8, 8, 8, 8}, contents(t, dst))
	require.Equal(t, []uint32{8, 8, 8, 8}, contents(t, src))
}

// A copy does not hang on what was written over before it was made.
func TestCopyFromHangsOnWhatIsThere(t *testing.T) {
	f, devs := openFaulty(t, 1)
	s := newStream(t, devs[0])
	g := hold(t, s)
	f.fail("Fill", 1)
	src := written(t, s, 8, 9)
	left, err := src.Slice(0, 4)
	require.NoError(t, err)
	fill(t, s, left, 5) // which succeeds
	dst := newBuffer(t, []uint32{1, 2, 3, 4})
	require.NoError(t, dst.CopyFrom(ctx, left))
	require.NoError(t, g.Signal())
	require.NoError(t, s.Sync(ctx))
	_ = dst.View(ctx, nothing) // the copy's stream hears of the failure
	require.Equal(t, []uint32{5, 5, 5, 5}, contents(t, dst))
}

// Copies to and fro, ahead of the device, do not multiply what they hang on.
func TestCopiesToAndFro(t *testing.T) {
	_, devs := openFaulty(t, 1)
	s := newStream(t, devs[0])
	g := hold(t, s)
	a, b := written(t, s, 4, 9), newBuffer(t, []uint32{1, 2, 3, 4})
	for i := range 100 {
		require.NoError(t, b.CopyFrom(ctx, a))
		require.NoError(t, a.CopyFrom(ctx, b))
		require.LessOrEqual(t, buffer.Works(a)+buffer.Works(b), 6*i+12)
	}
	require.NoError(t, g.Signal())
	require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, a))
}

// A copy does not keep a device open that its source hangs on.
func TestCopyFromLeavesDevicesAlone(t *testing.T) {
	_, devs := openFaulty(t, 1)
	other, err := hal.OpenWith(ctx, host.New(host.Options{Name: "other", Discrete: 1}), 1)
	require.NoError(t, err)
	s := newStream(t, devs[0])
	o, err := other.NewStream()
	require.NoError(t, err)
	src, err := buffer.New[uint32](4)
	require.NoError(t, err)
	fill(t, s, src, 8) // the device that the copy is made on
	require.NoError(t, s.Sync(ctx))
	g := hold(t, o)
	fill(t, o, src, 9)
	require.NoError(t, src.Prefetch(s))
	dst := newBuffer(t, []uint32{1, 2, 3, 4})
	require.NoError(t, dst.CopyFrom(ctx, src))
	require.NoError(t, src.Close())
	require.NoError(t, g.Signal())
	require.NoError(t, o.Sync(ctx))
	require.NoError(t, o.Close())
	require.NoError(t, other.Close())
	require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, dst))
}

// What was written on bad bytes is lost, and said to be; what was written in place of them is not.
func TestWriteOverFailedCopy(t *testing.T) {
	for _, mode := range []coherence.Mode{coherence.ReadWrite, coherence.Overwrite} {
		f, devs := openFaulty(t, 1)
		s, o := newStream(t, devs[0]), newStream(t, devs[0])
		b := newBuffer(t, []uint32{1, 2, 3, 4})
		g := hold(t, s)
		f.fail("CopyIn", 1)
		require.NoError(t, b.Prefetch(s))
		for range 2 {
			l, err := b.TryAcquire(o, mode)
			require.NoError(t, err)
			require.NoError(t, o.Fill(l.Region(), hal.Pattern32(5)))
			require.NoError(t, l.Release())
		}
		require.NoError(t, g.Signal())
		if mode == coherence.ReadWrite {
			for range 2 {
				require.ErrorIs(t, b.View(ctx, nothing), errLate)
			}
			require.ErrorIs(t, b.View(ctx, nothing), hal.ErrDeviceLost)
			require.NoError(t, b.Fill(ctx, 5))
		}
		require.Equal(t, []uint32{5, 5, 5, 5}, contents(t, b))
	}
}

// Bytes that were written on what another device's copy brought are lost with it.
func TestWriteOverWhatFailsElsewhere(t *testing.T) {
	f, devs := openFaulty(t, 2)
	s, o := newStream(t, devs[0]), newStream(t, devs[1])
	g := hold(t, s)
	f.fail("Fill", 1)
	b := written(t, s, 4, 7)
	l, err := b.TryAcquire(o, coherence.ReadWrite)
	require.NoError(t, err)
	first := l.Region()
	first.Len = 4
	require.NoError(t, o.Fill(first, hal.Pattern32(8)))
	require.NoError(t, l.Release())
	require.NoError(t, g.Signal())
	require.ErrorIs(t, b.View(ctx, nothing), errLate)
	require.ErrorIs(t, b.View(ctx, nothing), hal.ErrDeviceLost)
}

// Zeros that could not be made are lost like other bytes.
// Zeros that could not be filled in are lost like other bytes, unless the buffer was never written.
func TestFailedZerosAreLost(t *testing.T) {
	f, devs := openFaulty(t, 1)
	s := newStream(t, devs[0])
	b, err := buffer.New[uint32](2)
	require.NoError(t, err)
	defer b.Close()
	f.fail("Fill", 1)
	require.NoError(t, b.Prefetch(s))
	require.NoError(t, s.Sync(ctx))
	require.ErrorIs(t, b.View(ctx, nothing), errLate)
	require.NoError(t, b.View(ctx, nothing))
	require.NoError(t, b.Reset())
	f.fail("Fill", 1)
	require.NoError(t, b.Prefetch(s))
	require.NoError(t, s.Sync(ctx))
	require.ErrorIs(t, b.View(ctx, nothing), errLate)
	require.ErrorIs(t, b.View(ctx, nothing), hal.ErrDeviceLost)
	require.NoError(t, b.Reset())
	got, err := onDevice(t, s, b)
	require.NoError(t, err)
	require.Equal(t, []uint32{0, 0}, got)
}

// unnoticed counts the seeds that TestNoFailureGoesUnnoticed has used, so that each pass of -count and -cpu has others.
var unnoticed atomic.Uint64

// Whatever fails, and whenever that is found: an access fails, or has the right bytes.
func TestNoFailureGoesUnnoticed(t *testing.T) {
	const n, rounds = 12, 400
	seeds := uint64(30)
	if raceEnabled {
		seeds = 1 // hundreds of passes are run
	}
	seen := map[string]int{}
	first := unnoticed.Add(seeds) - seeds
	for seed := first; seed < first+seeds; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			f, devs, streams := openLinked(t, 3)
			f.linked = seed%3 != 0
			for i := range 3 {
				streams = append(streams, newStream(t, devs[i]))
			}
			want := make([]uint32, n)
			b := newBuffer(t, want)
			faults := func(fn func() error) error {
				f.mu.Lock()
				f.odds = func() bool { return rng.IntN(5) == 0 }
				f.mu.Unlock()
				err := fn()
				f.mu.Lock()
				f.odds = nil
				f.mu.Unlock()
				return err
			}
			for round := range rounds {
				lo := rng.IntN(n)
				hi := lo + 1 + rng.IntN(n-lo)
				if rng.IntN(3) == 0 {
					lo, hi = 0, n
				}
				part, err := b.Slice(lo, hi)
				require.NoError(t, err)
				s := streams[rng.IntN(len(streams))]
				v := uint32(round + 1)
				switch k := rng.IntN(9); {
				case k < 2: // read on a device
					err = faults(func() error { return part.Prefetch(s) })
				case k < 5: // write there
					mode := coherence.ReadWrite
					if k == 2 {
						mode = coherence.Overwrite
					}
					var l buffer.Lease
					err = faults(func() (err error) { l, err = part.TryAcquire(s, mode); return err })
					if err == nil {
						r, from := l.Region(), lo
						if mode == coherence.ReadWrite && hi-lo > 1 {
							r.Off, r.Len, from = r.Off+4, r.Len-4, lo+1
						}
						require.NoError(t, s.Fill(r, hal.Pattern32(v)))
						require.NoError(t, l.Release())
						for i := from; i < hi; i++ {
							want[i] = v
						}
					}
				case k < 7:
					err = faults(func() error {
						return part.Update(ctx, func(x []uint32) error { x[0] = v; return nil })
					})
					if err == nil {
						want[lo] = v
					}
				case k < 8:
					err = faults(func() error { return b.Evict(ctx, devs[rng.IntN(3)]) })
				default:
					require.NoError(t, s.Sync(ctx))
				}
				if rng.IntN(8) > 0 && !errors.Is(err, hal.ErrDeviceLost) {
					continue
				}
				// Everything must be there, or be said to be lost.
				for i := range n {
					one, err := b.Slice(i, i+1)
					require.NoError(t, err)
					var got []uint32
					view := func(x []uint32) error { got = slices.Clone(x); return nil }
					if rng.IntN(2) == 0 {
						got, err = onDevice(t, s, one)
						if err == nil { // the copy may have failed, which is known by now
							got, err = onDevice(t, s, one)
						}
					} else {
						err = one.View(ctx, view)
					}
					for k := 0; err != nil && !errors.Is(err, hal.ErrDeviceLost); k++ {
						require.Less(t, k, 20)
						require.ErrorIs(t, err, errLate)
						seen["told"]++
						err = one.View(ctx, view)
					}
					if err != nil {
						seen["lost"]++
						require.NoError(t, one.Fill(ctx, v))
						want[i] = v
						continue
					}
					seen["good"]++
					require.Equal(t, want[i], got[0], "round %d, element %d", round, i)
				}
			}
			stop, cancel := context.WithCancel(ctx)
			cancel()
			_ = b.View(stop, nothing)
		})
	}
	t.Log(seen)
	require.NotZero(t, seen["lost"])
	require.NotZero(t, seen["good"])
	if seeds > 1 {
		require.Greater(t, seen["told"], 30)
		require.Greater(t, seen["lost"], 100)
		require.Greater(t, seen["good"], 3*seen["lost"])
	}
}

// Elements are lost as soon as the only work that wrote them is known to have failed, though a copy of them is still under way: it copies
// what is bad. Who writes them again waits for the copy.
func TestLostWhileACopyIsUnderWay(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	copies, err := d.CopyStream(true)
	require.NoError(t, err)
	write, copied := hold(t, s), hold(t, copies)
	b := newBuffer(t, []uint32{1, 2, 3, 4})
	l, err := b.Acquire(ctx, s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, l.ReleaseChecked(func() error { return errLate }))
	require.NoError(t, b.Evict(ctx, d))
	require.NoError(t, write.Signal())
	require.NoError(t, s.Sync(ctx))
	for range 2 {
		_, err = b.TryAcquire(s, coherence.Read)
		require.ErrorIs(t, err, hal.ErrDeviceLost)
		require.ErrorIs(t, err, errLate)
	}
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, b.Fill(short, 5), hal.ErrNotReady)
	require.NoError(t, copied.Signal())
	require.NoError(t, b.Fill(ctx, 5))
	require.Equal(t, []uint32{5, 5, 5, 5}, contents(t, b))
}

// hold holds up what a stream is given from now on.
func hold(t *testing.T, s *hal.Stream) *hal.Gate {
	t.Helper()
	g, err := s.Gate()
	require.NoError(t, err)
	return g
}

// validAt names the places where all elements of a buffer are current.
func validAt[T buffer.Element](b *buffer.Buffer[T]) (names []string) {
	for _, p := range b.State().Places {
		if p.Valid {
			names = append(names, p.Place)
		}
	}
	return names
}
