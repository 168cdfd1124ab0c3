package buffer_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// A buffer outlives the devices that it was on.
func TestPlacesAreUsedAgain(t *testing.T) {
	keep := openMany(t, "keep", 1, 1)[0]
	s := newStream(t, keep)
	b := newBuffer(t, []uint32{0, 0, 0, 0})
	require.NoError(t, b.SyncTo(ctx, keep))
	for i := range uint32(200) {
		backend := host.New(host.Options{Name: fmt.Sprintf("host%d", i), Discrete: 1})
		d, err := hal.OpenWith(ctx, backend, int(i)%2) // the unified one, too
		require.NoError(t, err)
		own, err := d.NewStream()
		require.NoError(t, err)
		fill(t, own, cut(t, b, 0, 2), i)
		require.NoError(t, taken(b.TryAcquire(own, coherence.Read)))
		require.NoError(t, b.Evict(ctx, keep))
		require.NoError(t, taken(b.TryAcquire(s, coherence.ReadWrite)))
		require.NoError(t, own.Sync(ctx))
		if i%2 == 0 { // what the host has in memory of its own
			require.NoError(t, b.Evict(ctx, nil))
		} else {
			require.NoError(t, b.Evict(ctx, d))
		}
		require.NoError(t, own.Close())
		require.NoError(t, s.Sync(ctx))
		require.NoError(t, d.Close(), "device %d", i)
		require.Equal(t, []uint32{i, i, 0, 0}, contents(t, b))
		require.Less(t, len(b.State().Places), 16)
	}
}
