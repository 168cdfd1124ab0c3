package buffer_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Leases of ReserveAll that are released without Commit change nothing, wherever the bytes are current.
func TestReservedLeasesChangeNothingWithoutCommit(t *testing.T) {
	devs := openMany(t, "reserve", 2, 1, 2)
	d1, d2 := devs[0], devs[1]
	values := func(t *testing.T, b *buffer.Buffer[uint32]) (got []uint32) {
		require.NoError(t, b.View(ctx, func(v []uint32) error { got = append(got, v...); return nil }))
		return got
	}
	s1, s2 := newStream(t, d1), newStream(t, d2)
	for name, where := range map[string]func(b *buffer.Buffer[uint32]){
		"nowhere else": func(*buffer.Buffer[uint32]) {},
		"the device":   func(b *buffer.Buffer[uint32]) { require.NoError(t, b.SyncTo(ctx, d1)) },
		"this device alone": func(b *buffer.Buffer[uint32]) {
			l, err := b.TryAcquire(s1, coherence.ReadWrite)
			require.NoError(t, err)
			require.NoError(t, s1.Fill(l.Region(), hal.Pattern32(7)))
			require.NoError(t, l.Release())
		},
		"another device": func(b *buffer.Buffer[uint32]) {
			l, err := b.TryAcquire(s2, coherence.ReadWrite)
			require.NoError(t, err)
			require.NoError(t, s2.Fill(l.Region(), hal.Pattern32(7)))
			require.NoError(t, l.Release())
		},
	} {
		for _, mode := range []coherence.Mode{coherence.ReadWrite, coherence.Overwrite} {
			t.Run(name+" "+mode.String(), func(t *testing.T) {
				data := []uint32{7, 7, 7, 7}
				a, b := newBuffer(t, data), newBuffer(t, data)
				where(a)
				where(b)
				for range 3 { // a later one may take the short way
					before := a.Version(nil)
					l, err := buffer.ReserveAll(ctx, s1, a.Want(mode), b.Want(coherence.Read))
					require.NoError(t, err)
					_, err = a.TryAcquire(s2, coherence.Read)
					var conflict *buffer.ConflictError
					require.ErrorAs(t, err, &conflict, "a reserved lease excludes others")
					require.NoError(t, l.Release())
					assert.Equal(t, before, a.Version(nil))
					assert.Equal(t, data, values(t, a))
				}
				l, err := buffer.ReserveAll(ctx, s1, a.Want(mode), b.Want(coherence.Read))
				require.NoError(t, err)
				require.Len(t, l.Regions(nil), 2)
				require.NoError(t, s1.Fill(l.Regions(nil)[0], hal.Pattern32(9)))
				require.NoError(t, l.Commit())
				require.NoError(t, l.Commit(), "a second time")
				require.NoError(t, l.Release())
				assert.ErrorIs(t, l.Commit(), hal.ErrClosed)
				assert.Empty(t, l.Regions(nil))
				assert.Equal(t, []uint32{9, 9, 9, 9}, values(t, a))
				assert.Equal(t, data, values(t, b))
			})
		}
	}
	// No later access waits for what the stream was given before.
	b := newBuffer(t, []uint32{1})
	require.NoError(t, b.SyncTo(ctx, d1))
	g, err := s1.Gate()
	require.NoError(t, err)
	l, err := buffer.ReserveAll(ctx, s1, b.Want(coherence.Read))
	require.NoError(t, err)
	require.NoError(t, l.Release())
	assert.NoError(t, b.Update(ctx, func(v []uint32) error { v[0]++; return nil }))
	other := newStream(t, d1)
	w, err := b.TryAcquire(other, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, other.Fill(w.Region(), hal.Pattern32(5)))
	require.NoError(t, w.Release())
	require.NoError(t, other.Sync(ctx))
	require.NoError(t, g.Signal())

	why := errors.New("it has gaps")
	_, err = buffer.AcquireAll(ctx, s1, newBuffer(t, []uint32{1}).Want(coherence.Read), buffer.NoWant(why))
	assert.ErrorIs(t, err, why)
}

// An eviction does not copy bytes to where the work of reserved leases, which is enqueued but not committed, has overwritten them.
func TestEvictionWaitsForReservedLeases(t *testing.T) {
	_, devs, s := openLinked(t, 1)
	b := newBuffer(t, []uint32{1, 2, 3, 4})
	copies, err := devs[0].CopyStream(false)
	require.NoError(t, err)
	late := hold(t, copies)
	g, err := buffer.ReserveAll(ctx, s[0], b.Want(coherence.Overwrite))
	require.NoError(t, err)
	evicted := make(chan error, 1)
	go func() { evicted <- b.Evict(ctx, nil) }()
	require.Eventually(t, func() bool { return buffer.Waiting(b) > 0 || buffer.Works(b) > 0 }, patience, tick)
	require.NoError(t, s[0].Fill(g.At(0).Region(), hal.Pattern32(9)))
	require.NoError(t, s[0].Sync(ctx))
	require.NoError(t, g.Commit())
	require.NoError(t, g.Release())
	require.NoError(t, late.Signal())
	require.NoError(t, copies.Sync(ctx))
	require.NoError(t, <-evicted)
	require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, b))
}
