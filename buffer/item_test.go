package buffer_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

func TestOneElementMovesAlone(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b := written(t, s, 1000, 7)
	v, err := b.At(ctx, 500)
	require.NoError(t, err)
	require.Equal(t, uint32(7), v)
	require.Equal(t, uint64(4), b.Stats().BytesCopied)
	require.NoError(t, b.Set(ctx, 3, 9))
	require.Equal(t, uint64(4), b.Stats().BytesCopied)
	part, err := b.Slice(2, 5)
	require.NoError(t, err)
	v, err = part.At(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, uint32(9), v)
	require.Equal(t, []byte{7, 0, 0, 0, 9, 0, 0, 0, 7, 0, 0, 0}, read(t, s, part))
	require.Equal(t, uint64(8), b.Stats().BytesCopied)
	for _, i := range []int{-1, 3} {
		_, err = part.At(ctx, i)
		require.ErrorIs(t, err, hal.ErrOutOfRange)
		require.ErrorIs(t, part.Set(ctx, i, 1), hal.ErrOutOfRange)
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = b.At(ctx, 3) }))
}

func TestFill(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	fillBoth(t, s, int8(-3))
	fillBoth(t, s, uint16(0xabcd))
	fillBoth(t, s, float32(1.5))
	fillBoth(t, s, complex64(1+2i))
	fillBoth(t, s, 1.25)
	fillBoth(t, s, 3+4i)
	b := newBuffer(t, []int8{1})
	require.ErrorIs(t, b.FillOn(ctx, nil, 1), hal.ErrInvalidArgument)
	require.NoError(t, b.Freeze())
	require.ErrorIs(t, b.FillOn(ctx, s, 1), buffer.ErrFrozen)
	require.ErrorIs(t, b.Fill(ctx, 1), buffer.ErrFrozen)
}

func fillBoth[T buffer.Element](t *testing.T, s *hal.Stream, v T) {
	t.Helper()
	for _, n := range []int{1, 2, 3, 777} {
		b := newBuffer(t, make([]T, n+2))
		part, err := b.Slice(1, n+1)
		require.NoError(t, err)
		want := make([]T, n+2)
		for i := range n {
			want[i+1] = v
		}
		require.NoError(t, part.FillOn(ctx, s, v))
		require.Zero(t, b.Stats().BytesCopied)
		require.Equal(t, want, contents(t, b))
		require.NoError(t, b.Reset())
		require.NoError(t, part.Fill(ctx, v))
		require.Equal(t, want, contents(t, b))
	}
}

func TestCopyFrom(t *testing.T) {
	devs := openMany(t, "one", 2, 1, 2)
	s := newStream(t, devs[0])
	src, dst := written(t, s, 8, 3), newBuffer(t, make([]uint32, 8))
	require.NoError(t, dst.CopyFrom(ctx, src))
	require.Zero(t, src.Stats().BytesCopied, "within the device")
	require.Zero(t, dst.Stats().BytesCopied)
	require.True(t, dst.State().Places[1].Valid)
	require.Equal(t, uint32(3), contents(t, dst)[7])

	fill(t, s, src, 4)
	buffer.SetBudget(devs[0], 40)
	require.NoError(t, dst.Evict(ctx, devs[0]))
	l, err := src.TryAcquire(s, coherence.Read)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	require.NoError(t, dst.CopyFrom(ctx, src), "there is no room, so it is copied on the host")
	require.Equal(t, uint32(4), contents(t, dst)[7])
	buffer.SetBudget(devs[0], 0)

	left, err := dst.Slice(0, 4)
	require.NoError(t, err)
	right, err := dst.Slice(4, 8)
	require.NoError(t, err)
	require.NoError(t, right.Fill(ctx, 6))
	require.NoError(t, left.CopyFrom(ctx, right))
	require.Equal(t, uint32(6), contents(t, dst)[0])
	mid, err := dst.Slice(2, 6)
	require.NoError(t, err)
	require.ErrorIs(t, left.CopyFrom(ctx, mid), hal.ErrOverlap)
	require.ErrorIs(t, left.CopyFrom(ctx, dst), hal.ErrInvalidArgument)
	require.ErrorIs(t, left.CopyFrom(ctx, nil), hal.ErrInvalidArgument)
	require.ErrorIs(t, left.CopyFrom(ctx, nil), hal.ErrInvalidArgument)
	unwritten, err := buffer.New[uint32](8)
	require.NoError(t, err)
	require.NoError(t, dst.CopyFrom(ctx, unwritten))
	require.Equal(t, make([]uint32, 8), contents(t, dst))
	gone, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, dst.CopyFrom(gone, src), context.Canceled)
	require.NoError(t, unwritten.Close())
	require.ErrorIs(t, dst.CopyFrom(ctx, unwritten), hal.ErrClosed)
	require.Equal(t, make([]uint32, 8), contents(t, dst), "no access was left open")
}

func TestCopiesInBothDirectionsDoNotWaitForEachOther(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	a, b := newBuffer(t, make([]uint32, 100)), newBuffer(t, make([]uint32, 100))
	require.NoError(t, a.SyncTo(ctx, d))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			x, y := a, b
			if i%2 == 0 {
				x, y = b, a
			}
			for range 200 {
				assert.NoError(t, x.CopyFrom(ctx, y))
			}
		}()
	}
	wg.Wait()
}

// A copy that waits for one buffer does not keep the other one from those who want it first.
func TestACopyHoldsWhatComesFirst(t *testing.T) {
	a, b := newBuffer(t, []uint32{1}), newBuffer(t, []uint32{2})
	copied := make(chan error, 1)
	require.NoError(t, a.Update(ctx, func([]uint32) error {
		go func() { copied <- b.CopyFrom(ctx, a) }()
		require.Eventually(t, func() bool { return buffer.Waiting(a) > 0 }, patience, tick)
		return b.View(ctx, nothing)
	}))
	require.NoError(t, <-copied)
	require.Equal(t, []uint32{1}, contents(t, b))
}

func TestReinterpret(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b := newBuffer(t, []uint32{1, 2, 3, 4})
	bytes, err := buffer.Reinterpret[uint8](b)
	require.NoError(t, err)
	require.Equal(t, 16, bytes.Len())
	require.Equal(t, uint8(2), contents(t, bytes)[4])
	require.NoError(t, bytes.Set(ctx, 4, 9))
	require.Equal(t, []uint32{1, 9, 3, 4}, contents(t, b))
	mid, err := bytes.Slice(4, 12)
	require.NoError(t, err)
	pair, err := buffer.Reinterpret[uint32](mid)
	require.NoError(t, err)
	require.Equal(t, []uint32{9, 3}, contents(t, pair))
	l, err := pair.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.Equal(t, uint64(8), l.Region().Len)
	require.NoError(t, s.Fill(l.Region(), hal.Pattern32(5)))
	require.NoError(t, l.Release())
	require.Equal(t, []uint32{1, 5, 5, 4}, contents(t, b))
	c, err := pair.Clone(ctx)
	require.NoError(t, err)
	require.Equal(t, 2, c.Len())
	require.NoError(t, c.Close())

	odd, err := bytes.Slice(1, 9)
	require.NoError(t, err)
	_, err = buffer.Reinterpret[uint32](odd)
	require.ErrorIs(t, err, hal.ErrMisaligned)
	three, err := bytes.Slice(0, 3)
	require.NoError(t, err)
	_, err = buffer.Reinterpret[uint16](three)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	_, err = buffer.Reinterpret[uint16, uint16](nil)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.ErrorIs(t, bytes.Close(), hal.ErrInvalidArgument)
	require.ErrorIs(t, bytes.Evict(ctx, d), hal.ErrInvalidArgument)
	l, err = bytes.TryAcquire(s, coherence.Read)
	require.NoError(t, err)
	_, err = b.TryAcquire(s, coherence.ReadWrite)
	require.ErrorIs(t, err, hal.ErrBusy, "they exclude each other")
	require.ErrorContains(t, err, "[0, 4)", "elements of the buffer")
	require.ErrorIs(t, b.Close(), hal.ErrBusy)
	require.NoError(t, l.Release())
}

// What a part of a program moves is the difference of two totals, and parts nest.
func TestTotalsOfScopes(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	b := newBuffer(t, make([]uint32, 4))
	outer := buffer.Totals()
	require.NoError(t, b.SyncTo(ctx, d))
	inner := buffer.Totals()
	require.NoError(t, b.Set(ctx, 0, 1))
	require.NoError(t, b.SyncTo(ctx, d))
	now := buffer.Totals()
	require.Equal(t, buffer.Stats{Copies: 1, BytesCopied: 4}, now.Sub(inner))
	require.Equal(t, buffer.Stats{Copies: 2, BytesCopied: 20}, now.Sub(outer))
}

// If the driver refuses the copy or the fill, nobody is shown the device's memory that it was to write.
func TestRefusedCopyAndFill(t *testing.T) {
	refused, failing := errors.New("refused"), ""
	h := &hooked.Backend{Backend: host.New(host.Options{Name: "refusing", Discrete: 1})}
	h.Call = func(op string, _ int) error {
		if op == failing {
			return refused
		}
		return nil
	}
	s := newStream(t, fixture.Device(t, h, 1))
	src, dst := written(t, s, 4, 7), newBuffer(t, []uint32{1, 2, 3, 4})
	failing = "Copy"
	require.ErrorIs(t, dst.CopyFrom(ctx, src), refused)
	failing = ""
	require.Equal(t, []uint32{1, 2, 3, 4}, contents(t, dst))
	require.NoError(t, dst.CopyFrom(ctx, src))
	require.Equal(t, []uint32{7, 7, 7, 7}, contents(t, dst))

	failing = "Fill"
	require.ErrorIs(t, dst.FillOn(ctx, s, 9), refused)
	failing = ""
	require.Equal(t, []uint32{7, 7, 7, 7}, contents(t, dst))
	require.NoError(t, dst.FillOn(ctx, s, 9))
	require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, dst))

	wide := newBuffer(t, []complex128{1, 2})
	failing = "Copy" // the second step
	require.ErrorIs(t, wide.FillOn(ctx, s, 9), refused)
	failing = ""
	require.ErrorIs(t, wide.View(ctx, func([]complex128) error { return nil }), refused)
	require.ErrorIs(t, wide.View(ctx, func([]complex128) error { return nil }), hal.ErrDeviceLost)
	require.NoError(t, wide.FillOn(ctx, s, 9))
	require.Equal(t, []complex128{9, 9}, contents(t, wide))
}

// A fill waits for those who use the elements, as long as its context allows.
func TestFillWaitsForOtherUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStream(t, openMany(t, "one", 1, 1)[0])
		b := newBuffer(t, []uint32{1, 2})
		require.NoError(t, b.View(ctx, func(v []uint32) error {
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			err := b.FillOn(short, s, 9)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, coherence.ErrConflict)
			require.Equal(t, []uint32{1, 2}, v)
			return nil
		}))
		l, err := b.AcquireHost(ctx, coherence.ReadWrite)
		require.NoError(t, err)
		filled := make(chan error)
		go func() { filled <- b.FillOn(ctx, s, 9) }()
		synctest.Wait()
		require.NoError(t, l.Release())
		require.NoError(t, <-filled)
		require.Equal(t, []uint32{9, 9}, contents(t, b))
	})
}

// A fill that is on the stream counts, even if the stream is closed before FillOn returns.
func TestFillOnStreamThatIsClosedMeanwhile(t *testing.T) {
	h := &hooked.Backend{Backend: host.New(host.Options{Name: "closing", Discrete: 1})}
	d := fixture.Device(t, h, 1)
	s, err := d.NewStream()
	require.NoError(t, err)
	closed := make(chan error, 1)
	h.Drop = func(*hooked.Stream, string) bool {
		if closed != nil {
			go func(c chan error) { c <- s.Close() }(closed)
			for layer.Err(s) == nil {
				runtime.Gosched()
			}
		}
		return false
	}
	b, err := buffer.New[uint32](4)
	require.NoError(t, err)
	require.NoError(t, b.FillOn(ctx, s, 9))
	require.NoError(t, <-closed)
	closed = nil
	require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, b))
	require.ErrorIs(t, b.FillOn(ctx, s, 8), hal.ErrClosed)
	require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, b))
	require.NoError(t, b.Close())
}
