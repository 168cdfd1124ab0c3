package buffer_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

const (
	patience = 10 * time.Second
	tick     = time.Millisecond
)

var newStream = fixture.Stream

func openMany(tb testing.TB, name string, discrete int, ordinals ...int) (devs []*hal.Device) {
	tb.Helper()
	b := host.New(host.Options{Name: name, Discrete: discrete})
	for _, o := range ordinals {
		devs = append(devs, fixture.Device(tb, b, o))
	}
	return devs
}

func newBuffer[T buffer.Element](tb testing.TB, data []T) *buffer.Buffer[T] {
	tb.Helper()
	b, err := buffer.From(data)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, b.Close()) })
	return b
}

func contents[T buffer.Element](tb testing.TB, b *buffer.Buffer[T]) (out []T) {
	tb.Helper()
	require.NoError(tb, b.View(ctx, func(s []T) error { out = append(out, s...); return nil }))
	return out
}

func TestBadInputIsRefused(t *testing.T) {
	_, err := buffer.New[float32](-1)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	_, err = buffer.New[complex128](math.MaxInt)
	require.ErrorIs(t, err, hal.ErrOutOfRange)
	_, err = buffer.New[uint16](math.MaxInt)
	require.ErrorIs(t, err, hal.ErrOutOfRange)

	for _, n := range []uint64{1 << 42, 1 << 61} {
		if n > math.MaxInt {
			continue // an int of 32 bits does not count so far
		}
		huge, err := buffer.New[int8](int(n))
		require.NoError(t, err, "nothing is allocated yet")
		require.ErrorIs(t, huge.View(ctx, func([]int8) error { panic("ran") }), hal.ErrOutOfMemory)
		require.NoError(t, huge.Close())
	}

	s := newStream(t, openMany(t, "one", 1, 1)[0])
	b := newBuffer(t, []int32{1, 2, 3})
	before := b.State()
	for _, r := range [][2]int{{-1, 2}, {0, 4}, {3, 2}, {4, 4}, {math.MaxInt, math.MaxInt}} {
		_, err := b.Slice(r[0], r[1])
		require.ErrorIs(t, err, hal.ErrOutOfRange, "%v", r)
	}
	require.ErrorIs(t, b.View(ctx, nil), hal.ErrInvalidArgument)
	_, err = b.TryAcquire(nil, coherence.Read)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	_, err = b.TryAcquire(s, coherence.Mode(3))
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.ErrorIs(t, b.Prefetch(nil), hal.ErrInvalidArgument)
	require.ErrorIs(t, b.MarkModified(nil), hal.ErrInvalidArgument)
	require.ErrorIs(t, b.MarkModified(s), coherence.ErrConflict)
	require.ErrorIs(t, b.Unfreeze(), hal.ErrInvalidArgument)
	gone, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, b.View(gone, func([]int32) error { panic("ran") }), context.Canceled)
	require.ErrorIs(t, b.Update(gone, func([]int32) error { panic("ran") }), context.Canceled)
	require.ErrorIs(t, b.Evict(gone, nil), context.Canceled)
	_, err = b.Clone(gone)
	require.ErrorIs(t, err, context.Canceled)
	part, err := b.Slice(0, 1)
	require.NoError(t, err)
	require.ErrorIs(t, part.Close(), hal.ErrInvalidArgument)
	require.ErrorIs(t, part.Evict(ctx, nil), hal.ErrInvalidArgument)
	err = b.Evict(ctx, nil)
	require.ErrorIs(t, err, coherence.ErrSoleCopy)
	var refused *hal.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "Evict", refused.Op)
	require.Equal(t, before, b.State(), "refused calls changed the state")
	require.Equal(t, []int32{1, 2, 3}, contents(t, b))

	require.NoError(t, b.Close())
	require.NoError(t, b.Close())
	for name, err := range map[string]error{
		"View":     b.View(ctx, func([]int32) error { panic("ran") }),
		"Slice":    part.View(ctx, func([]int32) error { panic("ran") }),
		"Prefetch": b.Prefetch(s), "Reset": b.Reset(), "Freeze": b.Freeze(), "SyncTo": b.SyncTo(ctx, nil),
		"MarkModified": b.MarkModified(s), "Evict": b.Evict(ctx, nil),
	} {
		require.ErrorIs(t, err, hal.ErrClosed, name)
	}
	_, err = b.TryAcquire(s, coherence.Read)
	require.ErrorIs(t, err, hal.ErrClosed)
	_, err = b.Clone(ctx)
	require.ErrorIs(t, err, hal.ErrClosed)
}

func TestErrorFromTheFunctionIsReturnedAndTheWriteKept(t *testing.T) {
	b := newBuffer(t, []int32{1, 2, 3})
	boom := errors.New("boom")
	require.Equal(t, boom, b.Update(ctx, func(s []int32) error { s[0] = 9; return boom }))
	require.Panics(t, func() { _ = b.Update(ctx, func(s []int32) error { s[1] = 8; panic("x") }) })
	require.Equal(t, []int32{9, 8, 3}, contents(t, b), "the buffer is usable after a panic, and no write is dropped")
}

func TestRangeWriteMovesOnlyTheRange(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b, err := buffer.New[float32](1 << 20)
	require.NoError(t, err)
	defer b.Close()
	require.NoError(t, b.Overwrite(ctx, func([]float32) error { return nil }))
	require.NoError(t, b.SyncTo(ctx, d))
	before := b.Stats()
	part, err := b.Slice(1000, 1256)
	require.NoError(t, err)
	require.NoError(t, part.Update(ctx, func(x []float32) error { x[0] = 1; return nil }))
	l, err := b.TryAcquire(s, coherence.Read)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	after := b.Stats()
	require.Equal(t, uint64(1024), after.BytesCopied-before.BytesCopied)
	require.Equal(t, uint64(1), after.Copies-before.Copies)
}

func TestObserverSeesEveryEventWithItsCause(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	var seen []buffer.Activity
	stop := buffer.Observe(func(e buffer.Activity) { seen = append(seen, e) })
	before := buffer.Totals()
	b := newBuffer(t, []int64{1, 2, 3, 4})
	l, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	require.Equal(t, []int64{1, 2, 3, 4}, contents(t, b))
	require.NoError(t, b.Evict(ctx, d))
	moved := buffer.Totals().Sub(before)
	stop()
	stop()
	require.NoError(t, b.SyncTo(ctx, d))
	require.Equal(t, buffer.Stats{Copies: 2, BytesCopied: 64}, moved)
	var kept []string
	for _, e := range seen {
		assert.False(t, e.At.IsZero())
		assert.Regexp(t, `/buffer_test\.go:\d+$`, e.Site())
		assert.Equal(t, e.To != "host", e.ToDevice != nil)
		switch e.Kind {
		case buffer.ActivityWait: // whether the host had to wait hangs on timing
			continue
		case buffer.ActivityCopy:
			assert.NotNil(t, e.Stream)
			kept = append(kept, fmt.Sprintf("copy %s to %s [%d,%d) %s %v, of %s", e.From, e.To, e.Lo, e.Hi, e.Cause, e.Action, e.Sources))
		default:
			kept = append(kept, fmt.Sprintf("%v %s [%d,%d) %s %v%d%s", e.Kind, e.To, e.Lo, e.Hi, e.Cause, e.Action, e.For, e.Why))
		}
	}
	require.Equal(t, []string{
		"alloc host [0,32) Overwrite Overwrite0",
		"use host [0,32) Overwrite Overwrite0",
		"alloc one:1 [0,32) TryAcquire ReadWrite0",
		"copy host to one:1 [0,32) TryAcquire ReadWrite, of host",
		"use one:1 [0,32) TryAcquire ReadWrite0",
		"copy one:1 to host [0,32) View Read, of one:1",
		"use host [0,32) View Read0",
		"evict one:1 [0,32) Evict Evict0",
		"free one:1 [0,32) Evict Evict0",
	}, kept)
}

// An eviction for want of room names the buffer that wants it, and so does the copy that saves the bytes.
func TestEvictionNamesItsClient(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	buffer.SetBudget(d, 48)
	a, b := newBuffer(t, []int64{1, 2, 3, 4}), newBuffer(t, []int64{5, 6, 7, 8})
	l, err := a.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	var seen []buffer.Activity
	stop := buffer.Observe(func(e buffer.Activity) { seen = append(seen, e) })
	defer stop()
	for range 2 {
		l, err = b.TryAcquire(s, coherence.Read)
		require.NoError(t, err)
		require.NoError(t, l.Release())
	}
	var kept []string
	for _, e := range seen {
		if e.Kind != buffer.ActivityWait {
			kept = append(kept, fmt.Sprintf("%v: %s because of %s, %s", e.Kind, e.To, e.Cause, e.Why))
		}
		switch {
		case e.Why == "budget":
			assert.Equal(t, seen[len(seen)-1].Buffer, e.For)
			assert.Equal(t, seen[0].Buffer, e.Buffer)
			assert.NotEqual(t, e.Buffer, e.For)
		default:
			assert.Zero(t, e.For)
		}
	}
	require.Equal(t, []string{
		"copy: host because of TryAcquire, budget",
		"evict: one:1 because of TryAcquire, budget",
		"free: one:1 because of TryAcquire, budget",
		"alloc: one:1 because of TryAcquire, ",
		"copy: one:1 because of TryAcquire, ",
		"use: one:1 because of TryAcquire, ",
		"avoided: one:1 because of TryAcquire, ",
		"use: one:1 because of TryAcquire, ",
	}, kept)
}

func TestConflictNamesBothSides(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b := newBuffer(t, make([]int64, 10))
	l, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	_, err = b.TryAcquire(s, coherence.Read)
	var c *buffer.ConflictError
	require.ErrorAs(t, err, &c)
	require.ErrorIs(t, err, coherence.ErrConflict)
	require.ErrorIs(t, err, hal.ErrBusy)
	require.Regexp(t, `buffer_test\.go:\d+$`, c.Holder.Site)
	require.Regexp(t, `buffer_test\.go:\d+$`, c.Requested.Site)
	require.NotEqual(t, c.Requested.Site, c.Holder.Site)
	require.Equal(t, "one:1", c.Holder.Place)
	require.ErrorIs(t, b.Close(), coherence.ErrConflict)
	require.ErrorIs(t, b.Reset(), coherence.ErrConflict)
	require.ErrorIs(t, b.Freeze(), coherence.ErrConflict)
	until, cancel := context.WithCancel(ctx)
	go func() {
		for buffer.Waiting(b) == 0 {
			runtime.Gosched()
		}
		cancel()
	}()
	err = b.View(until, func([]int64) error { panic("ran") })
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorAs(t, err, &c, "the error says who was in the way")
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err = b.Acquire(short, s, coherence.Read)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, l.Release())
	require.ErrorIs(t, l.Release(), hal.ErrClosed)
	require.Zero(t, l.Pointer())
	require.Nil(t, l.Region().Mem)
	// The slot is used again; the old lease must not end the new one.
	l2, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.ErrorIs(t, l.Release(), hal.ErrClosed)
	require.NoError(t, l2.Release())
}

func TestDisjointRangesDoNotExcludeEachOther(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b := newBuffer(t, make([]int32, 100))
	left, _ := b.Slice(0, 50)
	right, _ := b.Slice(50, 100)
	require.NoError(t, left.Update(ctx, func(x []int32) error {
		l, err := right.TryAcquire(s, coherence.Overwrite)
		require.NoError(t, err)
		require.NoError(t, s.Fill(l.Region(), hal.Pattern32(5)))
		require.NoError(t, l.Release())
		for i := range x {
			x[i] = 4
		}
		return right.View(ctx, func(y []int32) error {
			require.Equal(t, int32(5), y[49])
			return nil
		})
	}))
	got := contents(t, b)
	require.Equal(t, int32(4), got[49])
	require.Equal(t, int32(5), got[50])
}

func TestWaitsOnlyForWhatItDependsOn(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	writer, reader, other := newStream(t, d), newStream(t, d), newStream(t, d)
	b := newBuffer(t, make([]int32, 100))
	left, _ := b.Slice(0, 50)
	right, _ := b.Slice(50, 100)
	require.NoError(t, b.SyncTo(ctx, d))
	g, err := writer.Gate()
	require.NoError(t, err)
	l, err := left.TryAcquire(writer, coherence.Overwrite)
	require.NoError(t, err)
	require.NoError(t, writer.Fill(l.Region(), hal.Pattern32(1)))
	require.NoError(t, l.Release())

	l, err = right.TryAcquire(other, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	require.NoError(t, other.Sync(ctx), "the other half depends on nothing that is held shut")

	l, err = left.TryAcquire(reader, coherence.Read)
	require.NoError(t, err)
	var out [4]byte
	r, err := l.Region().Sub(0, 4)
	require.NoError(t, err)
	require.NoError(t, reader.CopyOut(out[:], r))
	require.NoError(t, l.Release())
	done, err := reader.Done()
	require.NoError(t, err)
	require.False(t, done, "a reader went ahead of the writer")
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, left.View(short, func([]int32) error { panic("ran") }), context.DeadlineExceeded)
	require.NoError(t, g.Signal())
	require.NoError(t, reader.Sync(ctx))
	require.Equal(t, byte(1), out[0])
	require.Equal(t, int32(1), contents(t, left)[49])
}

func TestWriteWaitsForReadersOfItsReplicaAlone(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	slow, writer := newStream(t, d), newStream(t, d)
	b := newBuffer(t, []int32{1})
	require.NoError(t, b.SyncTo(ctx, d))
	g, err := slow.Gate()
	require.NoError(t, err)
	l, err := b.TryAcquire(slow, coherence.Read)
	require.NoError(t, err)
	var out [4]byte
	require.NoError(t, slow.CopyOut(out[:], l.Region()))
	require.NoError(t, l.Release())

	// The host's replica is another one: writing it needs no wait for the device's reader.
	require.NoError(t, b.Update(ctx, func(s []int32) error { s[0] = 2; return nil }))
	// Bringing the new value to the device overwrites what the reader still needs.
	l, err = b.TryAcquire(writer, coherence.Read)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	done, err := writer.Done()
	require.NoError(t, err)
	require.False(t, done)
	require.NoError(t, g.Signal())
	require.NoError(t, slow.Sync(ctx))
	require.Equal(t, byte(1), out[0], "the reader saw a later version")
	require.Equal(t, []int32{2}, contents(t, b))
}

func TestFreezeIsCounted(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b := newBuffer(t, []int8{1})
	require.NoError(t, b.Freeze())
	require.NoError(t, b.Freeze())
	require.NoError(t, b.Unfreeze())
	require.ErrorIs(t, b.Update(ctx, func([]int8) error { panic("ran") }), buffer.ErrFrozen)
	require.ErrorIs(t, b.Reset(), buffer.ErrFrozen)
	_, err := b.TryAcquire(s, coherence.ReadWrite)
	require.ErrorIs(t, err, buffer.ErrFrozen)
	require.Equal(t, []int8{1}, contents(t, b))
	require.NoError(t, b.SyncTo(ctx, d))
	require.NoError(t, b.Evict(ctx, d), "eviction changes no contents")
	require.NoError(t, b.Unfreeze())
	require.NoError(t, b.Update(ctx, func([]int8) error { return nil }))
}

func TestExplicitStyle(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b := newBuffer(t, []uint32{1, 2})
	_, err := b.Memory(d)
	require.ErrorIs(t, err, hal.ErrNotReady)
	require.NoError(t, b.SyncTo(ctx, d))
	r, err := b.Memory(d)
	require.NoError(t, err)
	require.Equal(t, "SYNCHRONIZED", b.State().Name)
	require.NoError(t, s.Fill(r, hal.Pattern32(7)))
	require.NoError(t, b.MarkModified(s))
	require.Equal(t, "DEVICE_DIRTY", b.State().Name)
	require.Equal(t, int64(-1), b.Version(nil))
	require.Equal(t, b.State().Version, b.Version(d))
	require.Equal(t, []uint32{7, 7}, contents(t, b))
	require.NoError(t, b.Update(ctx, func([]uint32) error { return nil }))
	require.Equal(t, "HOST_DIRTY", b.State().Name)
	before := b.State()
	require.ErrorIs(t, b.MarkModified(s), coherence.ErrConflict, "the device's replica is stale")
	require.Equal(t, before, b.State())
	require.NoError(t, b.Reset())
	require.Equal(t, "UNINITIALIZED", b.State().Name)
	require.Equal(t, []uint32{0, 0}, contents(t, b))
}

func TestEvictKeepsSoleCopies(t *testing.T) {
	devs := openMany(t, "one", 2, 1, 2)
	s := newStream(t, devs[0])
	b, err := buffer.New[uint32](4)
	require.NoError(t, err)
	defer b.Close()
	l, err := b.TryAcquire(s, coherence.Overwrite)
	require.NoError(t, err)
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, s.Fill(l.Region(), hal.Pattern32(9)))
	require.NoError(t, l.Release())
	require.NoError(t, b.Evict(ctx, devs[0]), "eviction does not wait")
	require.NoError(t, g.Signal())
	require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, b))
	require.Eventually(t, func() bool { return devs[0].Usage().Held == 0 }, patience, tick)
	require.NoError(t, b.SyncTo(ctx, devs[1]))
	require.NoError(t, b.Update(ctx, func(x []uint32) error { x[0] = 1; return nil }))
	require.NoError(t, b.Evict(ctx, nil), "the host's sole copy goes to a device that has a replica")
	require.Equal(t, "DEVICE_ONLY", b.State().Name)
	require.Equal(t, []uint32{1, 9, 9, 9}, contents(t, b))
}

func TestUnifiedDeviceCopiesNothing(t *testing.T) {
	d := openMany(t, "one", 0, 0)[0]
	require.True(t, d.Info().SharesHostMemory)
	s := newStream(t, d)
	for _, opts := range [][]buffer.Option{nil, {buffer.WithPinnedHost(d)}} {
		b, err := buffer.From(make([]float64, 1000), opts...)
		require.NoError(t, err)
		for range 3 {
			l, err := b.TryAcquire(s, coherence.ReadWrite)
			require.NoError(t, err)
			require.NoError(t, s.Fill(l.Region(), hal.Pattern64(math.Float64bits(2.5))))
			require.NoError(t, l.Release())
			require.NoError(t, b.Update(ctx, func(x []float64) error {
				require.Equal(t, 2.5, x[999])
				x[0] = 1
				return nil
			}))
		}
		require.Zero(t, b.Stats().BytesCopied)
		require.NoError(t, b.Close())
	}
}

func TestManyGoroutinesShareOneBuffer(t *testing.T) {
	devs := openMany(t, "one", 2, 0, 1, 2)
	const n, each = 64, 40
	b := newBuffer(t, make([]int64, n))
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s, err := devs[w%3].NewStream()
			assert.NoError(t, err)
			defer s.Close()
			for i := range each {
				if i%4 == 3 {
					l, err := b.Acquire(ctx, s, coherence.ReadWrite)
					if assert.NoError(t, err) {
						assert.NoError(t, l.Release())
					}
				}
				assert.NoError(t, b.Update(ctx, func(x []int64) error {
					for j := range x {
						x[j]++
					}
					return nil
				}))
				if i%8 == 0 {
					runtime.Gosched()
				}
			}
		}()
	}
	wg.Wait()
	for _, v := range contents(t, b) {
		require.Equal(t, int64(8*each), v)
	}
}
