package buffer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Two handles on the machine's own device share the host's replica: one gave the memory, the other has registered it.
func TestSharedMemoryStaysUntilEverySharerIsDone(t *testing.T) {
	devs := openMany(t, "one", 0, 0, 0)
	home, other := devs[0], devs[1]
	hs, s := newStream(t, home), newStream(t, other)
	for name, use := range map[string]func(b *buffer.Buffer[uint32]){
		"lease": func(b *buffer.Buffer[uint32]) {
			l, err := b.TryAcquire(s, coherence.ReadWrite)
			require.NoError(t, err)
			require.NoError(t, s.Fill(l.Region(), hal.Pattern32(17)))
			require.NoError(t, l.Release())
		},
		"explicit": func(b *buffer.Buffer[uint32]) {
			require.NoError(t, b.Prefetch(s))
			r, err := b.Memory(other)
			require.NoError(t, err)
			require.NoError(t, s.Fill(r, hal.Pattern32(17)))
			require.NoError(t, b.MarkModified(s))
		},
	} {
		b, err := buffer.New[uint32](512)
		require.NoError(t, err)
		require.NoError(t, b.Prefetch(hs)) // the memory comes from home
		l, err := b.TryAcquire(s, coherence.Read)
		require.NoError(t, err)
		require.NoError(t, l.Release())
		require.NoError(t, s.Sync(ctx))
		require.Equal(t, uint64(2048), home.Usage().Held)
		g, err := s.Gate()
		require.NoError(t, err)
		use(b)
		require.NoError(t, b.Close())
		require.Equal(t, uint64(2048), home.Usage().Held, "%s: the other handle's stream has yet to write there", name)
		require.NoError(t, g.Signal())
		require.NoError(t, s.Sync(ctx))
		require.NoError(t, home.Reclaim(ctx))
		require.Zero(t, home.Usage().Held)
	}
}
