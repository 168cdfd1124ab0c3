package buffer_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// A free that waits for the device, as CUDA's and HIP's may, does not keep the device's events from being noticed: the device's work may wait for one of them.
func TestAFreeThatWaitsHoldsUpNoEvents(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	backend := &hooked.Backend{Backend: host.New(host.Options{Name: "waiting", Discrete: 1})}
	backend.FreeMayBlock = func(*hooked.Memory) bool { return true }
	first := true
	backend.Free = func(m *hooked.Memory) error {
		if first {
			first = false
			close(entered)
			<-leave
		}
		return m.Memory.Free()
	}
	d := fixture.Device(t, backend, 1)
	s, other, busy := newStream(t, d), newStream(t, d), newStream(t, d)
	goOn, end := make(chan struct{}), make(chan struct{})
	m, err := d.Load(hal.Image{Format: hal.FormatGo, Functions: map[string]hal.Function{"end": {Run: func(*hal.Block) { <-end }}, "go on": {Run: func(*hal.Block) { <-goOn }}}})
	require.NoError(t, err)
	for name, s := range map[string]*hal.Stream{"end": busy, "go on": other} { // not gates, behind which memory is not freed
		k, err := m.Kernel(name)
		require.NoError(t, err)
		require.NoError(t, s.Launch(k, hal.Blocks(1)))
	}
	var waiting sync.WaitGroup
	for range 8 { // more than may block in the driver, so that other events are polled
		e, err := busy.Record()
		require.NoError(t, err)
		waiting.Go(func() { assert.NoError(t, errors.Join(e.Sync(t.Context()), e.Close())) })
	}
	noticed := make(chan struct{})
	e, err := other.Record()
	require.NoError(t, err)

	begin, err := s.Gate()
	require.NoError(t, err)
	b := written(t, s, 4, 9)
	require.NoError(t, b.Evict(ctx, d), "without waiting")
	require.NoError(t, begin.Signal())
	<-entered
	require.NoError(t, e.OnDone(func(error) { close(noticed) }))
	close(goOn)
	select {
	case <-noticed:
	case <-time.After(patience):
		t.Error("the event was not noticed while memory was freed")
	}
	close(leave)
	close(end)
	waiting.Wait()
	require.NoError(t, e.Close())
	require.Eventually(t, func() bool { return d.Usage().Held == 0 }, patience, tick)
	require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, b))
	require.NoError(t, m.Close())
}
