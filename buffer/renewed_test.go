package buffer_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// A lease after another on the same stream and elements does not hide the failure of the work before, although it reads what that wrote and the events of the
// driver tell only how the last command has ended.
func TestLaterWorkHidesNoFailure(t *testing.T) {
	for name, lease := range map[string]func(s *hal.Stream, b, other *buffer.Buffer[uint32]) (hal.Region, func() error, error){
		"of one": func(s *hal.Stream, b, _ *buffer.Buffer[uint32]) (hal.Region, func() error, error) {
			l, err := b.TryAcquire(s, coherence.ReadWrite)
			return l.Region(), l.Release, err
		},
		"of several": func(s *hal.Stream, b, other *buffer.Buffer[uint32]) (hal.Region, func() error, error) {
			l, err := buffer.AcquireAll(ctx, s, b.Want(coherence.ReadWrite), other.Want(coherence.Read))
			return l.At(0).Region(), l.Release, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, devs := openFaulty(t, 1)
			s := newStream(t, devs[0])
			b, other := newBuffer(t, []uint32{1, 2, 3, 4}), newBuffer(t, make([]uint32, 4))
			require.NoError(t, b.SyncTo(ctx, devs[0]))
			require.NoError(t, other.SyncTo(ctx, devs[0]))
			g := hold(t, s)
			step := func(off uint64, v uint32) {
				r, release, err := lease(s, b, other)
				require.NoError(t, err)
				r, err = r.Sub(off, 8)
				require.NoError(t, err)
				require.NoError(t, s.Fill(r, hal.Pattern32(v)))
				require.NoError(t, release())
			}
			f.fail("Fill", 1)
			step(0, 8) // fails when it runs
			step(8, 9)
			require.NoError(t, g.Signal())
			require.NoError(t, s.Sync(ctx))
			require.ErrorIs(t, b.View(ctx, nothing), errLate)
			require.Equal(t, make([]uint32, 4), contents(t, other))
		})
	}
}

// Who gets a block of a pool waits for the work of the block's earlier users, and not for what their stream is given later.
func TestReusedMemoryDoesNotWaitForLaterWork(t *testing.T) {
	d := openMany(t, "later", 1, 1)[0]
	pooled(t, d)
	s := newStream(t, d)
	a := written(t, s, 1<<16, 1)
	g := hold(t, s)
	fill(t, s, a, 1)
	require.NoError(t, a.Close())
	b := written(t, s, 1<<16, 2)
	require.NoError(t, g.Signal())
	require.NoError(t, s.Sync(ctx))
	later := hold(t, s)
	viewed := make(chan error, 1)
	go func() { viewed <- b.View(ctx, nothing) }()
	select {
	case err := <-viewed:
		require.NoError(t, err)
	case <-time.After(patience):
		t.Error("View waits for work that the buffer has nothing to do with")
	}
	require.NoError(t, later.Signal())
}

// ReleaseChecked of several leases is as that of one: if the check fails, what they were to write is lost, and nothing else.
func TestReleaseCheckedOfSeveral(t *testing.T) {
	s := newStream(t, openMany(t, "several", 1, 1)[0])
	in, out := newBuffer(t, []uint32{1, 2}), newBuffer(t, []uint32{3, 4})
	cause := errors.New("nobody sent it")
	l, err := buffer.ReserveAll(ctx, s, in.Want(coherence.Read), out.Want(coherence.Overwrite))
	require.NoError(t, err)
	require.ErrorIs(t, l.ReleaseChecked(nil), hal.ErrInvalidArgument)
	require.ErrorIs(t, l.ReleaseChecked(func() error { return cause }), hal.ErrInvalidArgument, "not committed")
	require.NoError(t, l.Commit())
	require.NoError(t, l.ReleaseChecked(func() error { return cause }))
	require.ErrorIs(t, l.ReleaseChecked(func() error { return cause }), hal.ErrClosed)
	require.ErrorIs(t, buffer.Leases{}.ReleaseChecked(func() error { return cause }), hal.ErrClosed)
	require.ErrorIs(t, out.View(ctx, nothing), cause)
	require.Equal(t, []uint32{1, 2}, contents(t, in))
	require.NoError(t, out.Fill(ctx, 5))
	l, err = buffer.AcquireAll(ctx, s, in.Want(coherence.Read), out.Want(coherence.ReadWrite))
	require.NoError(t, err)
	require.NoError(t, l.ReleaseChecked(func() error { return nil }))
	require.Equal(t, []uint32{5, 5}, contents(t, out))
}

// The library asks a stream whether it is idle, to free memory, and thereby takes a failure away from the events that are recorded later.
func TestNoticedWhileMemoryIsFreed(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	kernels, err := d.Load(hal.Image{Format: hal.FormatGo, Functions: map[string]hal.Function{"fail": {Run: func(*hal.Block) { panic("no") }}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, kernels.Close()) })
	k, err := kernels.Kernel("fail")
	require.NoError(t, err)
	m, err := d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	require.NoError(t, s.Fill(m.All(), hal.Pattern32(1)))
	b := newBuffer(t, []uint32{1, 2, 3, 4})
	l, err := b.Acquire(ctx, s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, s.Launch(k, hal.Blocks(1)))
	e, err := s.Record()
	require.NoError(t, err)
	require.ErrorIs(t, e.Sync(ctx), hal.ErrKernel)
	require.NoError(t, e.Close())
	require.NoError(t, m.Close())
	require.NoError(t, l.Release())
	require.ErrorIs(t, b.View(ctx, nothing), hal.ErrKernel)
	require.ErrorIs(t, b.View(ctx, nothing), hal.ErrDeviceLost)

	// Once the program knows, it may use the stream again.
	require.ErrorIs(t, s.Sync(ctx), hal.ErrKernel)
	l, err = b.Acquire(ctx, s, coherence.Overwrite)
	require.NoError(t, err)
	require.NoError(t, s.Fill(l.Region(), hal.Pattern32(3)))
	require.NoError(t, l.Release())
	require.Equal(t, []uint32{3, 3, 3, 3}, contents(t, b))
}
