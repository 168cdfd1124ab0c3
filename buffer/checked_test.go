package buffer_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// A device's lease whose work turns out to have come to nothing loses the elements that it was to write, and what was made of them.
func TestCheckedRelease(t *testing.T) {
	for _, devs := range [][]*hal.Device{openMany(t, "unified", 1, 0), openMany(t, "discrete", 1, 1)} {
		d := devs[0]
		t.Run(d.Name(), func(t *testing.T) {
			s := newStream(t, d)
			b, err := buffer.From([]uint32{1, 2, 3, 4, 5, 6})
			require.NoError(t, err)
			made, err := buffer.From([]uint32{7, 8})
			require.NoError(t, err)
			part, err := b.Slice(2, 4)
			require.NoError(t, err)
			cause := errors.New("nothing came")
			var asked atomic.Int32

			// fill writes part, and release ends the lease.
			fill := func(mode coherence.Mode, v uint32, release func(buffer.Lease) error) {
				l, err := part.Acquire(ctx, s, mode)
				require.NoError(t, err)
				require.NoError(t, s.Fill(l.Region(), hal.Pattern32(v)))
				require.NoError(t, release(l))
				require.ErrorIs(t, release(l), hal.ErrClosed)
			}
			checked := func(outcome error) func(buffer.Lease) error {
				return func(l buffer.Lease) error {
					return l.ReleaseChecked(func() error { asked.Add(1); return outcome })
				}
			}

			fill(coherence.Overwrite, 9, checked(nil))
			require.Equal(t, []uint32{1, 2, 9, 9, 5, 6}, contents(t, b))
			require.EqualValues(t, 1, asked.Load())

			for _, mode := range []coherence.Mode{coherence.Overwrite, coherence.ReadWrite} {
				fill(mode, 10, buffer.Lease.Release) // work on the same elements of the same stream, which is not renewed
				asked.Store(0)
				g, err := s.Gate()
				require.NoError(t, err)
				fill(mode, 11, checked(cause))
				fill(coherence.ReadWrite, 12, buffer.Lease.Release) // made of elements that did not come

				// Work of several buffers, which reads them before anybody knows.
				both, err := buffer.AcquireAll(ctx, s, part.Want(coherence.Read), made.Want(coherence.Overwrite))
				require.NoError(t, err)
				require.NoError(t, s.Copy(both.At(1).Region(), both.At(0).Region()))
				require.NoError(t, both.Release())
				require.Zero(t, asked.Load(), "asked before the end")
				require.NoError(t, g.Signal())

				for i := range 2 { // not only the first access is told
					for _, lost := range []*buffer.Buffer[uint32]{part, b, made} {
						err = lost.View(ctx, func([]uint32) error { panic("ran") })
						require.ErrorIs(t, err, cause)
						if i > 0 {
							require.ErrorIs(t, err, hal.ErrDeviceLost)
						}
					}
				}
				require.EqualValues(t, 1, asked.Load())
				require.NoError(t, s.Sync(ctx), "the stream did its work")
				rest, err := b.Slice(4, 6)
				require.NoError(t, err)
				require.Equal(t, []uint32{5, 6}, contents(t, rest), "other elements are as they were")

				fill(coherence.Overwrite, 13, checked(nil))
				require.Equal(t, []uint32{1, 2, 13, 13, 5, 6}, contents(t, b))
				require.NoError(t, made.Overwrite(ctx, func(s []uint32) error { s[0], s[1] = 7, 8; return nil }))
			}

			// The next access of the stream is told, too.
			fill(coherence.Overwrite, 14, checked(cause))
			require.NoError(t, s.Sync(ctx))
			_, err = part.TryAcquire(s, coherence.Read)
			require.ErrorIs(t, err, cause)

			// What is written later is not lost with what did not come.
			g, err := s.Gate()
			require.NoError(t, err)
			fill(coherence.Overwrite, 15, checked(cause))
			fill(coherence.Overwrite, 16, buffer.Lease.Release)
			require.NoError(t, g.Signal())
			require.Equal(t, []uint32{1, 2, 16, 16, 5, 6}, contents(t, b))

			l, err := part.Acquire(ctx, s, coherence.Overwrite)
			require.NoError(t, err)
			require.ErrorIs(t, l.ReleaseChecked(nil), hal.ErrInvalidArgument)
			require.NoError(t, s.Fill(l.Region(), hal.Pattern32(17)))
			require.NoError(t, l.Release(), "the lease was still open")
			l, err = part.Acquire(ctx, s, coherence.Read)
			require.NoError(t, err)
			require.ErrorIs(t, l.ReleaseChecked(func() error { return nil }), hal.ErrInvalidArgument)
			require.NoError(t, l.Release())
			require.ErrorIs(t, buffer.Lease{}.ReleaseChecked(func() error { return nil }), hal.ErrClosed)
			require.NoError(t, hal.CloseAll(b, made))
		})
	}
}

// Elements of a lease that came to nothing are refused, and not those among them that were written anew before anybody knew.
func TestWrittenAnewIsNotRefused(t *testing.T) {
	d := openMany(t, "discrete", 1, 1)[0]
	s := newStream(t, d)
	b, err := buffer.From([]uint32{1, 2, 3, 4, 5, 6})
	require.NoError(t, err)
	part, err := b.Slice(2, 4)
	require.NoError(t, err)
	cause := errors.New("nothing came")
	l, err := b.Acquire(ctx, s, coherence.Overwrite)
	require.NoError(t, err)
	require.NoError(t, s.Fill(l.Region(), hal.Pattern32(9)))
	require.NoError(t, l.ReleaseChecked(func() error { return cause }))
	require.NoError(t, s.Sync(ctx))
	require.NoError(t, part.Overwrite(ctx, func(v []uint32) error { v[0], v[1] = 7, 8; return nil }))
	require.Equal(t, []uint32{7, 8}, contents(t, part))
	again, err := part.Acquire(ctx, s, coherence.Read)
	require.NoError(t, err)
	require.NoError(t, again.Release())
	for range 2 {
		require.ErrorIs(t, b.View(ctx, func([]uint32) error { return nil }), cause)
	}
	require.Equal(t, []uint32{7, 8}, contents(t, part))
	require.NoError(t, b.Close())
}
