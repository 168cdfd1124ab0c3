package buffer_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// The work of a group reads bytes of two buffers. While its first source is noted, another goroutine ends accesses of other buffers, whose
// work waits for the same. The failure of the second source must not be missed.
func TestFailureOfSecondSourceIsFound(t *testing.T) {
	for n := 2; n < 9; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) { secondSource(t, n) })
	}
}

func secondSource(t *testing.T, n int) {
	b := newFaulty(host.Options{Name: "second", Discrete: 1})
	var during atomic.Pointer[func()]
	b.QueryEvent = func(e *hooked.Event) (bool, error) {
		if fn := during.Swap(nil); fn != nil {
			(*fn)()
		}
		return queryFaulty(e)
	}
	d := fixture.Device(t, b, 1)
	s := []*hal.Stream{newStream(t, d), newStream(t, d)}
	v, u, w := newStream(t, d), newStream(t, d), newStream(t, d)
	base := newBuffer(t, make([]uint32, 4))
	var x, out []*buffer.Buffer[uint32]
	for range n {
		x, out = append(x, newBuffer(t, make([]uint32, 4))), append(out, newBuffer(t, make([]uint32, 4)))
	}
	bad := newBuffer(t, make([]uint32, 4))
	result := newBuffer(t, make([]uint32, 4))
	all := func(s *hal.Stream, wants ...buffer.Want) buffer.Leases {
		l, err := buffer.AcquireAll(ctx, s, wants...)
		require.NoError(t, err)
		return l
	}
	gates := []*hal.Gate{hold(t, s[0]), hold(t, s[1]), hold(t, v)}
	for i := range 6 {
		require.NoError(t, all(s[i%2], base.Want(coherence.ReadWrite)).Release())
	}
	for i := range x {
		require.NoError(t, all(s[i%2], base.Want(coherence.Read), x[i].Want(coherence.Overwrite)).Release())
	}
	b.fail("Fill", 1)
	fill(t, v, bad, 7)

	one := all(u, x[0].Want(coherence.Read), bad.Want(coherence.Read), result.Want(coherence.Overwrite))
	var others []buffer.Leases
	for i := 1; i < n; i++ {
		others = append(others, all(w, x[i].Want(coherence.Read), out[i].Want(coherence.Overwrite)))
	}
	for _, g := range gates {
		require.NoError(t, g.Signal())
	}
	for _, s := range []*hal.Stream{u, w} {
		_ = s.Sync(ctx)
	}
	ended := make(chan bool)
	meanwhile := func() {
		go func() {
			defer close(ended)
			for _, l := range others {
				_ = l.Release()
			}
		}()
		select {
		case <-ended:
		case <-time.After(50 * time.Millisecond): // they wait for what this goroutine holds
		}
	}
	during.Store(&meanwhile)
	require.NoError(t, one.Release())
	if fn := during.Swap(nil); fn != nil { // nobody asked
		(*fn)()
	}
	<-ended
	require.Error(t, result.View(ctx, nothing), "it was made of bytes that were not written")
}
