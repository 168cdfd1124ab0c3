package buffer_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// gateless is devices of which the first cannot hold a stream up, and which count their events.
type gateless struct {
	*faulty
	events atomic.Int32
}

func (b *gateless) Open(ctx context.Context, n int) (driver.Device, error) {
	d, err := b.faulty.Open(ctx, n)
	return gatelessDevice{d.(*faultyDevice), b, n == 1}, err
}

type gatelessDevice struct {
	*faultyDevice
	b     *gateless
	first bool
}

func (d gatelessDevice) Info() driver.Info {
	info := d.faultyDevice.Info()
	if d.first {
		info.Caps &^= driver.CapGate
	}
	return info
}

func (d gatelessDevice) NewEvent(o driver.EventOptions) (driver.Event, error) {
	d.b.events.Add(1)
	return d.faultyDevice.NewEvent(o)
}

// A search for room that cannot have a replica, because its copy would have to wait, leaves nothing behind.
func TestRefusedEvictionKeepsNoEvents(t *testing.T) {
	b := &gateless{faulty: &faulty{Backend: host.New(host.Options{Name: "gateless", Discrete: 2}), next: map[string]int{}}}
	var streams []*hal.Stream
	for n := range 2 {
		d, err := hal.OpenWith(ctx, b, n+1)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, d.Close()) })
		streams = append(streams, newStream(t, d))
	}
	a := streams[0].Device()
	buffer.SetBudget(a, 16)
	t.Cleanup(func() { buffer.SetBudget(a, 0) })
	round := func() {
		x, y := newBuffer(t, []uint32{1, 2, 3, 4}), newBuffer(t, []uint32{5, 6, 7, 8})
		g := hold(t, streams[1])
		require.NoError(t, x.Prefetch(streams[1])) // reads the host's bytes, later
		l, err := x.TryAcquire(streams[0], coherence.Overwrite)
		require.NoError(t, err)
		require.NoError(t, streams[0].Fill(l.Region(), hal.Pattern32(9)))
		require.NoError(t, l.Release())
		_, err = y.TryAcquire(streams[0], coherence.Read)
		require.ErrorIs(t, err, hal.ErrOutOfMemory)
		require.NoError(t, g.Open())
		require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, x))
		require.NoError(t, x.Close())
		require.NoError(t, y.Close())
		for _, s := range streams { // what is told of the work's end gives its references back then
			told := make(chan struct{})
			m, err := s.Mark()
			require.NoError(t, err)
			m.OnDone(func(error) { close(told) })
			m.Release()
			<-told
		}
	}
	for range 5 {
		round()
	}
	before := b.events.Load()
	for range 20 {
		round()
	}
	require.LessOrEqual(t, b.events.Load()-before, int32(5))
}
