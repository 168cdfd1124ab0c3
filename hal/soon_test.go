package hal_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// A stream gets no gate for work of another backend that ends a moment later.
func TestShortWorkOfAnotherBackendIsWaitedFor(t *testing.T) {
	var asked, gates atomic.Int64
	from := &hooked.Backend{Backend: host.New(host.Options{Name: "from"})}
	from.QueryEvent = func(*hooked.Event) (bool, error) { return asked.Add(1)%4 == 0, nil } // the work has ended, and this says it late
	to := &hooked.Backend{Backend: host.New(host.Options{Name: "to"})}
	to.Gate = func(s *hooked.Stream) (driver.Gate, error) {
		gates.Add(1)
		return s.PlainGate()
	}
	var streams []*hal.Stream
	for _, b := range []*hooked.Backend{from, to} {
		d, err := hal.OpenWith(ctx, b, 0)
		require.NoError(t, err)
		s, err := d.NewStream()
		require.NoError(t, err)
		defer func() { require.NoError(t, hal.CloseAll(d, s)) }()
		streams = append(streams, s)
	}
	without := 0
	for i := 0; without < 3 && i < 10_000; i++ { // this goroutine may have to wait for a processor meanwhile
		e, err := streams[0].Record()
		require.NoError(t, err)
		before := gates.Load()
		asked.Store(0)
		require.NoError(t, streams[1].WaitEvent(e))
		if gates.Load() == before {
			without++
		}
		require.NoError(t, streams[1].Sync(ctx))
		require.NoError(t, e.Close())
	}
	require.Equal(t, 3, without)
}
