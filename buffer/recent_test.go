package buffer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// repeat acquires and releases all of a buffer on a stream.
func repeat(t *testing.T, s *hal.Stream, b *buffer.Buffer[uint32], mode coherence.Mode) {
	t.Helper()
	l, err := b.Acquire(ctx, s, mode)
	require.NoError(t, err)
	require.NoError(t, l.Release())
}

// The short way is open on a device that shares the host's replica, too, and shut while the replica has no memory there.
func TestAccessesThatRepeatOnUnifiedDevice(t *testing.T) {
	d := fixture.Device(t, host.New(host.Options{Name: "shared", Discrete: 1}), 0)
	other := fixture.Device(t, host.New(host.Options{Name: "apart", Discrete: 1}), 1)
	s := newStream(t, d)
	b := newBuffer(t, []uint32{1, 2, 3, 4})
	require.False(t, buffer.Repeats(b, s, protocol.ReadWrite))
	for range 3 {
		repeat(t, s, b, coherence.ReadWrite)
		require.True(t, buffer.Repeats(b, s, protocol.ReadWrite))
		require.True(t, buffer.Repeats(b, s, protocol.Read))
		require.False(t, buffer.Repeats(b, newStream(t, d), protocol.Read), "another stream")
		require.NoError(t, b.SyncTo(ctx, other))
		repeat(t, s, b, coherence.Read)
		require.NoError(t, s.Sync(ctx))
		require.NoError(t, b.Evict(ctx, nil))
		require.False(t, buffer.Repeats(b, s, protocol.Overwrite), "no memory")
	}
	repeat(t, s, b, coherence.Read)
	require.NoError(t, b.View(ctx, func(v []uint32) error {
		require.Equal(t, []uint32{1, 2, 3, 4}, v)
		return nil
	}))
}

// Reads of others that are under way are in the way of accesses that write, and those that have ended of none.
func TestAccessesRepeatBesideReadsOfOthers(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s, other := newStream(t, d), newStream(t, d)
	b := newBuffer(t, []uint32{1, 2, 3, 4})
	repeat(t, s, b, coherence.ReadWrite)
	require.NoError(t, s.Sync(ctx))
	g := hold(t, other)
	repeat(t, other, b, coherence.Read)
	repeat(t, s, b, coherence.Read)
	require.True(t, buffer.Repeats(b, s, protocol.Read))
	require.False(t, buffer.Repeats(b, s, protocol.ReadWrite))
	require.NoError(t, g.Signal())
	require.NoError(t, other.Sync(ctx))
	require.True(t, buffer.Repeats(b, s, protocol.ReadWrite))
}

// What is reserved and given back without a commit was not written, however the accesses began.
func TestReservedAccessesThatRepeatChangeNothing(t *testing.T) {
	for ordinal := range 2 {
		d := fixture.Device(t, host.New(host.Options{Name: "reserved", Discrete: 1}), ordinal)
		s := newStream(t, d)
		b := newBuffer(t, []uint32{1, 2, 3, 4})
		for _, mode := range []coherence.Mode{coherence.ReadWrite, coherence.Overwrite} {
			repeat(t, s, b, coherence.ReadWrite)
			require.NoError(t, b.SyncTo(ctx, nil))
			repeat(t, s, b, coherence.Read)
			require.NoError(t, s.Sync(ctx))
			before := b.State()
			l, err := buffer.ReserveAll(ctx, s, b.Want(mode))
			require.NoError(t, err)
			require.NoError(t, l.Release())
			require.Equal(t, before, b.State())
			l, err = buffer.ReserveAll(ctx, s, b.Want(mode))
			require.NoError(t, err)
			require.NoError(t, l.Commit())
			require.NoError(t, l.Release())
			require.Equal(t, before.Version+1, b.State().Version)
		}
	}
}

// A View begins at once beside a device's reads of the host's replica, and beside writes that are known to have ended, but not beside others.
func TestViewsRepeatBesideAUnifiedDevice(t *testing.T) {
	d := fixture.Device(t, host.New(host.Options{Name: "shared", Discrete: 1}), 0)
	s, other := newStream(t, d), newStream(t, d)
	b := newBuffer(t, []uint32{1, 2, 3, 4})
	g := hold(t, s)
	repeat(t, s, b, coherence.Read)
	require.True(t, buffer.RepeatsOnHost(b, protocol.Read), "a read does not wait for a read")
	require.False(t, buffer.RepeatsOnHost(b, protocol.Overwrite), "a write waits for a read")
	require.NoError(t, g.Signal())
	require.NoError(t, s.Sync(ctx))

	g = hold(t, s)
	repeat(t, s, b, coherence.ReadWrite)
	require.False(t, buffer.RepeatsOnHost(b, protocol.Read), "a read waits for a write")
	require.NoError(t, g.Signal())
	require.Equal(t, []uint32{1, 2, 3, 4}, contents(t, b))
	require.True(t, buffer.RepeatsOnHost(b, protocol.Read))
	repeat(t, s, b, coherence.ReadWrite)
	require.NoError(t, s.Sync(ctx))
	require.False(t, buffer.RepeatsOnHost(b, protocol.Read), "nobody has asked yet how the work ended")
	require.Equal(t, []uint32{1, 2, 3, 4}, contents(t, b))
	require.True(t, buffer.RepeatsOnHost(b, protocol.Read))
	repeat(t, other, b, coherence.Read)
	require.True(t, buffer.RepeatsOnHost(b, protocol.Read))
}

// A replica got memory of a pool on a stream whose work has failed. That says nothing of the replica, so accesses that repeat begin at
// once.
func TestFailedWorkBeforeTheMemoryTakesNoShortcutAway(t *testing.T) {
	d := fixture.Device(t, host.New(host.Options{Name: "before", Discrete: 1}), 1)
	m, err := d.Load(hal.Image{Format: hal.FormatGo, Functions: map[string]hal.Function{"fail": {Run: func(*hal.Block) { panic("no") }}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	k, err := m.Kernel("fail")
	require.NoError(t, err)
	failed, s := newStream(t, d), newStream(t, d)
	buffer.SetAllocator(d, pooled(t, d))
	earlier := newBuffer(t, []uint32{1, 2})
	use(t, earlier, failed, coherence.Read)
	g := hold(t, failed)
	require.NoError(t, failed.Launch(k, hal.Over(1)))
	use(t, earlier, failed, coherence.Read)
	require.NoError(t, earlier.Close())
	b := newBuffer(t, []uint32{1, 2})
	use(t, b, failed, coherence.Read)
	require.NoError(t, g.Signal())
	for range 3 {
		use(t, b, s, coherence.Overwrite)
		require.NoError(t, s.Sync(ctx))
	}
	require.True(t, buffer.Repeats(b, s, protocol.Overwrite))
	require.ErrorIs(t, failed.Sync(ctx), hal.ErrKernel)
}
