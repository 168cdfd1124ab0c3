package buffer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
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

// A host replica on Go's heap moves to memory of the first device that shares it, when the work that uses it has ended.
func TestHostMovesWhenWorkHasEnded(t *testing.T) {
	b := newFaulty(host.Options{Name: "one", Discrete: 1}) // which registers no memory
	s, other := newStream(t, fixture.Device(t, b, 0)), newStream(t, fixture.Device(t, b, 1))
	x := newBuffer(t, []uint32{1, 2, 3, 4})
	g := hold(t, other)
	require.NoError(t, x.Prefetch(other))
	require.ErrorIs(t, x.Prefetch(s), hal.ErrNotReady)
	soon, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, taken(x.Acquire(soon, s, coherence.Read)), context.DeadlineExceeded)
	moved := make(chan error, 1)
	go func() { moved <- taken(x.Acquire(ctx, s, coherence.ReadWrite)) }()
	require.NoError(t, g.Signal())
	require.NoError(t, <-moved)
	require.EqualValues(t, 16, x.Stats().BytesRelocated)
	require.NoError(t, x.Prefetch(other))
	require.NoError(t, x.Fill(ctx, 5))
	fill(t, s, cut(t, x, 0, 2), 6)
	require.Equal(t, []uint32{6, 6, 5, 5}, contents(t, x))
	require.EqualValues(t, 16, x.Stats().BytesRelocated, "it does not move again")
	require.EqualValues(t, 32, x.Stats().BytesCopied, "those of the other device")
}
