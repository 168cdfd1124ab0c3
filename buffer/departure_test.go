package buffer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// written returns a buffer whose only current replica is the device's, full of v.
func written(t *testing.T, s *hal.Stream, n int, v uint32) *buffer.Buffer[uint32] {
	t.Helper()
	b, err := buffer.New[uint32](n)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	fill(t, s, b, v)
	return b
}

func fill(t *testing.T, s *hal.Stream, b *buffer.Buffer[uint32], v uint32) {
	t.Helper()
	l, err := b.Acquire(ctx, s, coherence.Overwrite) // it may have to wait for room
	require.NoError(t, err)
	require.NoError(t, s.Fill(l.Region(), hal.Pattern32(v)))
	require.NoError(t, l.Release())
}

func nothing([]uint32) error { return nil }

func TestEvictedMemoryIsKeptUntilItsCopyHasArrived(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	g := hold(t, s)
	b := written(t, s, 4, 9)
	require.NoError(t, b.Evict(ctx, d), "without waiting")
	require.Equal(t, "HOST_ONLY", b.State().Name)
	require.Equal(t, uint64(16), d.Usage().Held)
	require.Equal(t, buffer.Residency{Used: 16}, buffer.ResidencyOf(d))
	require.NoError(t, g.Signal())
	// Nobody asks.
	require.Eventually(t, func() bool { return d.Usage().Held == 0 }, patience, tick)
	require.Zero(t, buffer.ResidencyOf(d))
	require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, b))

	// What has arrived is given back at once.
	require.NoError(t, b.SyncTo(ctx, d))
	require.NoError(t, b.Evict(ctx, d))
	require.Zero(t, buffer.ResidencyOf(d))
}

func TestFailedWriteBackRestoresTheReplica(t *testing.T) {
	for _, asked := range []bool{false, true} {
		f, devs := openFaulty(t, 1)
		d := devs[0]
		s := newStream(t, d)
		g := hold(t, s)
		b := written(t, s, 4, 9)
		f.fail("CopyOut", 1)
		require.NoError(t, b.Evict(ctx, d))
		require.Equal(t, "HOST_ONLY", b.State().Name)
		require.NoError(t, g.Signal())
		if !asked {
			require.Eventually(t, func() bool { return b.State().Name == "DEVICE_DIRTY" }, patience, tick, "restored")
		}
		err := b.View(ctx, func(x []uint32) error { require.Equal(t, uint32(9), x[0], "bytes that never arrived"); return nil })
		if asked && err != nil { // the access that finds the failure reports it
			require.ErrorIs(t, err, errLate)
			require.Equal(t, "DEVICE_DIRTY", b.State().Name)
			err = nil
		}
		require.NoError(t, err)
		require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, b), "the bytes are there")
		require.Equal(t, uint64(16), buffer.ResidencyOf(d).Used)
		require.NoError(t, b.Evict(ctx, d))
		require.Zero(t, buffer.ResidencyOf(d).Used)
		require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, b))
	}
}

// Whoever copied on from where the bytes did not arrive has garbage, and must copy again.
func TestFailedWriteBackSpoilsWhatWasCopiedFromIt(t *testing.T) {
	f, devs := openFaulty(t, 2)
	s, other := newStream(t, devs[0]), newStream(t, devs[1])
	g := hold(t, s)
	b := written(t, s, 4, 9)
	f.fail("CopyOut", 1)
	require.NoError(t, b.Evict(ctx, devs[0]))
	require.NoError(t, b.Prefetch(other), "from the host, behind the copy that fails")
	require.NoError(t, g.Signal())
	require.Eventually(t, func() bool { return b.State().Places[1].Valid }, patience, tick, "restored")
	require.NoError(t, other.Sync(ctx)) // the copy from there; State may learn of it by the next access alone
	l, err := b.TryAcquire(other, coherence.Read)
	if err != nil { // this access was the first to find that what was copied on is bad
		require.ErrorIs(t, err, errLate)
		l, err = b.TryAcquire(other, coherence.Read)
	}
	require.NoError(t, err)
	got := make([]byte, 16)
	require.NoError(t, other.CopyOut(got, l.Region()))
	require.NoError(t, l.Release())
	require.NoError(t, other.Sync(ctx))
	require.Equal(t, []byte{9, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0}, got)
}

func TestFailedWriteBackDoesNotUndoLaterWrites(t *testing.T) {
	f, devs := openFaulty(t, 1)
	d := devs[0]
	s, s2 := newStream(t, d), newStream(t, d)
	g := hold(t, s)
	b := written(t, s, 8, 9)
	f.fail("CopyOut", 1)
	require.NoError(t, b.Evict(ctx, d))
	// The replica is needed again, and part of it written.
	left, err := b.Slice(0, 3)
	require.NoError(t, err)
	fill(t, s2, left, 5)
	require.Equal(t, uint64(32), buffer.ResidencyOf(d).Used, "the memory that was to go")
	require.NoError(t, g.Signal())
	err = b.View(ctx, nothing)
	require.ErrorIs(t, err, errLate)
	require.Equal(t, []uint32{5, 5, 5, 9, 9, 9, 9, 9}, contents(t, b))
	require.Equal(t, uint64(32), buffer.ResidencyOf(d).Used)

	// Written on the host, or forgotten, it is not what comes back.
	g = hold(t, s)
	fill(t, s, b, 7)
	f.fail("CopyOut", 1)
	require.NoError(t, b.Evict(ctx, d))
	mid, err := b.Slice(3, 5)
	require.NoError(t, err)
	require.NoError(t, mid.Reset())
	require.NoError(t, g.Signal())
	if err := b.View(ctx, nothing); err != nil { // else the failure was found before
		require.ErrorIs(t, err, errLate)
	}
	require.Equal(t, []uint32{7, 7, 7, 0, 0, 7, 7, 7}, contents(t, b))
}

func TestFailedWriteBackUnderABudget(t *testing.T) {
	f, devs := openFaulty(t, 1)
	d := devs[0]
	s := newStream(t, d)
	buffer.SetBudget(d, 40)
	a, b := written(t, s, 8, 1), newBuffer(t, make([]uint32, 8))
	f.fail("CopyOut", 1)
	_, err := b.TryAcquire(s, coherence.Read)
	require.ErrorIs(t, err, hal.ErrOutOfMemory, "there is no room without losing bytes")
	require.Equal(t, "DEVICE_DIRTY", a.State().Name)
	require.Equal(t, uint64(32), buffer.ResidencyOf(d).Used)
	require.NoError(t, b.SyncTo(ctx, d), "it works the second time")
	require.Equal(t, uint32(1), contents(t, a)[7])
	require.LessOrEqual(t, buffer.ResidencyOf(d).Used, uint64(40))
}

func TestHostEvictionWaitsForItsCopy(t *testing.T) {
	f, devs := openFaulty(t, 1)
	d := devs[0]
	b := newBuffer(t, []uint32{1, 2})
	require.NoError(t, b.SyncTo(ctx, d))
	require.NoError(t, b.Update(ctx, func(x []uint32) error { x[0] = 3; return nil }))
	f.fail("CopyIn", 1)
	require.ErrorIs(t, b.Evict(ctx, nil), errLate)
	require.Equal(t, []uint32{3, 2}, contents(t, b))
	require.NoError(t, b.Evict(ctx, nil))
	require.Equal(t, []uint32{3, 2}, contents(t, b))
}

// Between devices that do not reach each other the bytes are neither here nor there for a while.
func TestFailedSecondLegRestoresTheReplica(t *testing.T) {
	f, devs := openFaulty(t, 2)
	s, other := newStream(t, devs[0]), newStream(t, devs[1])
	b := written(t, s, 4, 9)
	g := hold(t, other)
	f.fail("CopyIn", 1)
	require.NoError(t, b.Prefetch(other))
	require.NoError(t, b.Evict(ctx, devs[0]), "current elsewhere, as far as one knows")
	require.False(t, b.State().Places[1].Valid)
	require.NoError(t, g.Signal())
	require.Eventually(t, func() bool { return b.State().Places[1].Valid }, patience, tick)
	require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, b))
}

// Work that failed before its replica was evicted has spoiled the copy, too.
func TestFailedWorkIsFoundAfterEviction(t *testing.T) {
	f, devs := openFaulty(t, 1)
	d := devs[0]
	s := newStream(t, d)
	g := hold(t, s)
	f.fail("Fill", 1)
	b := written(t, s, 4, 9)
	require.NoError(t, b.Evict(ctx, d))
	require.NoError(t, g.Signal())
	require.Error(t, b.View(ctx, nothing))
	require.ErrorIs(t, b.View(ctx, nothing), hal.ErrDeviceLost, "until it is written anew")
	require.ErrorIs(t, b.View(ctx, nothing), errLate)
	fill(t, s, b, 3)
	require.Equal(t, []uint32{3, 3, 3, 3}, contents(t, b))
}

func TestClosingABufferDropsWhatIsLeaving(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	g := hold(t, s)
	b := written(t, s, 4, 9)
	require.NoError(t, b.Evict(ctx, d))
	require.NoError(t, b.Close())
	require.Zero(t, buffer.ResidencyOf(d))
	require.NoError(t, g.Signal())
	require.Eventually(t, func() bool { return d.Usage().Held == 0 }, patience, tick)
}

// Work that failed has spoiled what was copied from where it wrote, but not what was written since.
func TestFailedWorkSpoilsItsCopies(t *testing.T) {
	f, devs := openFaulty(t, 1)
	s := newStream(t, devs[0])
	g := hold(t, s)
	f.fail("Fill", 1)
	b := written(t, s, 8, 9)
	left, err := b.Slice(0, 2)
	require.NoError(t, err)
	mid, err := b.Slice(2, 4)
	require.NoError(t, err)
	require.NoError(t, left.Fill(ctx, 5))
	fill(t, s, mid, 6)
	require.NoError(t, g.Signal())
	require.ErrorIs(t, b.View(ctx, nothing), errLate)
	require.ErrorIs(t, b.View(ctx, nothing), hal.ErrDeviceLost)
	require.Equal(t, []uint32{5, 5}, contents(t, left))
	require.Equal(t, []uint32{6, 6}, contents(t, mid))
	right, err := b.Slice(4, 8)
	require.NoError(t, err)
	require.NoError(t, right.Fill(ctx, 7))
	require.Equal(t, []uint32{5, 5, 6, 6, 7, 7, 7, 7}, contents(t, b))
}

// What is written on the host counts, whatever becomes of a copy that was to bring the bytes there.
func TestOverwriteOverFailedCopy(t *testing.T) {
	f, devs := openFaulty(t, 1)
	s := newStream(t, devs[0])
	g := hold(t, s)
	x := written(t, s, 4, 7)
	f.fail("CopyOut", 1)
	c, cancel := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- x.View(c, nothing) }()
	require.Eventually(t, func() bool { return x.Stats().Copies == 1 }, patience, tick)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, g.Signal())
	require.NoError(t, x.Fill(ctx, 9))
	require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, x))
}

// Work of whoever had the memory before may fail: that is no concern of who has it now.
func TestMemoryOfWhatFailed(t *testing.T) {
	f, devs := openFaulty(t, 1)
	d := devs[0]
	s, other := newStream(t, d), newStream(t, d)
	p, err := pool.New(d)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	g := hold(t, s)
	before, err := buffer.New[uint32](4, buffer.WithAllocator(d, p))
	require.NoError(t, err)
	f.fail("Fill", 1)
	fill(t, s, before, 1)
	require.NoError(t, before.Close())
	b, err := buffer.New[uint32](4, buffer.WithAllocator(d, p))
	require.NoError(t, err)
	l, err := b.TryAcquire(s, coherence.Overwrite)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	fill(t, other, b, 7)
	require.NoError(t, g.Signal())
	c, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	got := make(chan error, 1)
	go func() { got <- b.SyncTo(c, d) }()
	select {
	case err := <-got:
		require.NoError(t, err)
	case <-time.After(3 * time.Second):
		t.Fatal("SyncTo hangs")
	}
	require.NoError(t, b.Close())
}
