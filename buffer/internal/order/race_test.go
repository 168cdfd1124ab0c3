package order

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer/internal/span"
	"github.com/go-halyard/halyard/hal"
)

func newStream(t *testing.T) *hal.Stream {
	d, err := hal.OpenWith(context.Background(), host.New(host.Options{Name: "order", Discrete: 1}), 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	s, err := d.NewStream(hal.StreamOptions{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// A Work of a chain may be asked by whoever adds to the chain, on another buffer.
func TestChainIsAskedFromElsewhere(t *testing.T) {
	s := newStream(t)
	for range 200 {
		w := NewWork(s)
		for range chained + 1 {
			next := NewWork(s)
			next.MadeOf(w)
			w = next
		}
		var o Order
		o.Add(w, true, Own, span.Range{Hi: 8})
		w.Release()
		var both sync.WaitGroup
		both.Add(1)
		go func() {
			defer both.Done()
			w.goesOn()
		}()
		o.Quiet(s)
		both.Wait()
		o.Clear()
	}
}

// Who has memory after others on the same stream need not wait for them.
func TestQuietAfterOthersOnTheStream(t *testing.T) {
	s, other := newStream(t), newStream(t)
	var o Order
	o.SetBarrier(Earlier(s))
	require.True(t, o.Quiet(s))
	require.NoError(t, s.Sync(context.Background()))
	require.True(t, o.Quiet(other))
	require.True(t, o.Idle())
}
