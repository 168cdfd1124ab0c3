package hal_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// Of many events that are waited for, those that are due first are blocked for first: a driver's call returns when the work ends, polling finds it later.
func TestOldestEventsAreBlockedForFirst(t *testing.T) {
	const many = 100
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "watched", Discrete: 1})}
	var mu sync.Mutex
	recorded, blocked := 0, [many]bool{}
	now := 0
	b.Record = func(s *hooked.Stream, e *hooked.Event) error {
		mu.Lock()
		e.Data = recorded
		recorded++
		mu.Unlock()
		return s.Stream.Record(e.Event)
	}
	b.SyncEvent = func(e *hooked.Event) error {
		mu.Lock()
		blocked[e.Data.(int)] = true
		now++
		mu.Unlock()
		err := e.Event.Sync()
		mu.Lock()
		now--
		mu.Unlock()
		return err
	}
	d, err := hal.OpenWith(t.Context(), b, 1)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	var gates []*hal.Gate
	told := make(chan int, many)
	for i := range many {
		g, err := s.Gate()
		require.NoError(t, err)
		gates = append(gates, g)
		e, err := layer.RecordShared(s)
		require.NoError(t, err)
		require.NoError(t, e.OnDone(func(error) { told <- i }))
		require.NoError(t, e.Close())
	}
	for i, g := range gates {
		// Event i is the oldest that is left. As many as may be are blocked for, and it is one of them.
		require.Eventually(t, func() bool {
			mu.Lock()
			defer mu.Unlock()
			return blocked[i]
		}, 10*time.Second, 10*time.Microsecond, "nobody blocks for event %d", i)
		require.NoError(t, g.Signal())
		require.Equal(t, i, <-told)
		mu.Lock()
		require.LessOrEqual(t, now, 4, "more wait in the driver's call than may")
		mu.Unlock()
	}
	require.NoError(t, hal.CloseAll(d, s))
}
