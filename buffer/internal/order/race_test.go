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

// A Work may be asked while another goroutine releases it, renews it, or asks it too.
func TestWaitingWorkIsAskedFromElsewhere(t *testing.T) {
	s := newStream(t)
	for range 200 {
		w := deep(t, s)
		var o Order
		o.Add(w, true, true, span.Range{Hi: 8})
		w.Release()
		var both sync.WaitGroup
		both.Go(func() { deep(t, s).Release() })
		o.Quiet(s, true, true, new(Asked))
		o.Renew(s, 0, 8, true, true)
		both.Wait()
		o.Clear()
	}
	require.Empty(t, waiting.list)
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
			o.Add(w, false, true, all)
		}
		w.Release()
	}
	for range 10 {
		add(&one)
		require.True(t, one.Renew(s, 0, 8, false, true))
		add(&one, &two)
		var both Renewal
		require.True(t, both.Add(&one, s, false, true, all))
		require.True(t, both.Add(&two, s, false, true, all))
		require.True(t, both.Do())
		require.Equal(t, 1, one.Len())
		require.Equal(t, 1, two.Len())
		require.True(t, one.Quiet(s, true, true, new(Asked)))
	}
	parts := []span.Range{{Lo: 0, Hi: 2}, {Lo: 4, Hi: 6}}
	w := NewWork(s)
	one.Clear()
	one.Add(w, false, true, parts...)
	one.Add(w, true, true, span.Range{Lo: 2, Hi: 4})
	w.Release()
	for _, wrong := range [][]span.Range{{{Lo: 0, Hi: 2}}, {{Lo: 0, Hi: 2}, {Lo: 4, Hi: 7}}, {{Lo: 0, Hi: 2}, {Lo: 4, Hi: 6}, {Lo: 6, Hi: 7}}} {
		require.False(t, new(Renewal).Add(&one, s, false, true, wrong...))
	}
	var whole Renewal
	require.True(t, whole.Add(&one, s, false, true, parts...))
	require.False(t, whole.Do(), "another part of the work is not renewed with it")
	require.True(t, whole.Add(&one, s, true, true, span.Range{Lo: 2, Hi: 4}))
	require.True(t, whole.Do())
	require.Equal(t, 2, one.Len())
	one.Clear()
	add(&one)
	w = NewWork(s)
	one.Add(w, false, true, span.Range{Hi: 4}) // of fewer bytes: what reads the rest is still there
	w.Release()
	require.Equal(t, 2, one.Len())
	one.Clear()
	two.Clear()
	require.NoError(t, hold.Signal())
}
