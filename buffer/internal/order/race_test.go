package order

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/span"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

func newStream(t *testing.T) *hal.Stream {
	return fixture.Stream(t, fixture.Device(t, host.New(host.Options{Name: "order", Discrete: 1}), 1))
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
			member{w, uint32(w.refs.Load() >> 32)}.goesOn()
		}()
		o.Quiet(s, true, true, new(Asked))
		both.Wait()
		o.Clear()
	}
}

// Who has memory after others on the same stream need not wait for them.
func TestQuietAfterOthersOnTheStream(t *testing.T) {
	s, other := newStream(t), newStream(t)
	var o Order
	o.SetBarrier(NewWork(s))
	require.True(t, o.Quiet(s, true, true, new(Asked)))
	require.NoError(t, s.Sync(context.Background()))
	require.True(t, o.Quiet(other, true, true, new(Asked)))
	require.True(t, o.Idle())
}

// A stream that reads the same bytes again, once for itself and once as one of several accesses, leaves one read behind, which is renewed.
func TestReadsOvertakeThoseBefore(t *testing.T) {
	s := newStream(t)
	hold, err := s.Gate() // so that nothing ends
	require.NoError(t, err)
	var one, two Order
	all := span.Range{Hi: 8}
	add := func(orders ...*Order) {
		w := NewWork(s)
		for _, o := range orders {
			o.Add(w, false, Own, all)
		}
		w.Release()
	}
	for range 10 {
		add(&one)
		require.True(t, one.Renew(s, 0, 8, false, true))
		add(&one, &two)
		var both Renewal
		require.True(t, both.Add(&one, s, 0, 8, false, true))
		require.True(t, both.Add(&two, s, 0, 8, false, true))
		require.True(t, both.Do())
		require.Equal(t, 1, one.Len())
		require.Equal(t, 1, two.Len())
		require.True(t, one.Quiet(s, true, true, new(Asked)))
	}
	w := NewWork(s)
	one.Add(w, false, Own, span.Range{Hi: 4}) // of fewer bytes: what reads the rest is still there
	w.Release()
	require.Equal(t, 2, one.Len())
	one.Clear()
	two.Clear()
	require.NoError(t, hold.Signal())
}
