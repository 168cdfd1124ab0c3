package buffer_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// A search for room that cannot have a replica, because its copy would have to wait, leaves nothing behind.
func TestRefusedEvictionKeepsNoEvents(t *testing.T) {
	// The first device cannot hold a stream up.
	b := newFaulty(host.Options{Name: "gateless", Discrete: 2})
	var events atomic.Int32
	described, newEvent := b.Info, b.NewEvent
	b.Info = func(i driver.Info) driver.Info {
		if i = described(i); i.Ordinal == 1 {
			i.Caps &^= driver.CapGate
		}
		return i
	}
	b.NewEvent = func(d *hooked.Device, o driver.EventOptions) (*hooked.Event, error) {
		events.Add(1)
		return newEvent(d, o)
	}
	var streams []*hal.Stream
	for n := range 2 {
		d := fixture.Device(t, b, n+1)
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
		require.NoError(t, g.Signal())
		require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, x))
		require.NoError(t, x.Close())
		require.NoError(t, y.Close())
		for _, s := range streams { // what is told of the work's end gives its references back then
			told := make(chan struct{})
			m, err := layer.RecordShared(s)
			require.NoError(t, err)
			m.OnDone(func(error) { close(told) })
			m.Close()
			<-told
		}
	}
	for range 5 {
		round()
	}
	before := events.Load()
	for range 20 {
		round()
	}
	require.LessOrEqual(t, events.Load()-before, int32(5))
}

// stuck returns a stream of a small device that has memory for two buffers of half a MiB, of which closed memory behind a gate, which is
// returned too, takes so many.
func stuck(t *testing.T, name string, taken int) (*hal.Stream, *hal.Gate) {
	d, err := hal.OpenWith(ctx, host.New(host.Options{Name: name, Discrete: 1, MemoryLimit: 1 << 20}), 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	held := newStream(t, d)
	g, err := held.Gate()
	require.NoError(t, err)
	for range taken {
		m, err := d.Alloc(hal.KindDevice, 512<<10, 0)
		require.NoError(t, err)
		require.NoError(t, held.Fill(m.All(), hal.Zero))
		require.NoError(t, m.Close())
	}
	require.Equal(t, taken, d.Usage().Pending)
	return newStream(t, d), g
}

// What an eviction has freed is used at once, whatever else of the device is still on its way back.
func TestEvictionDoesNotWaitForOtherMemory(t *testing.T) {
	s, g := stuck(t, "evicted at once", 1)
	a, b := newBuffer(t, make([]uint8, 512<<10)), newBuffer(t, make([]uint8, 512<<10))
	require.NoError(t, a.SyncTo(ctx, s.Device()))
	short, cancel := context.WithCancel(ctx)
	defer cancel()
	l, err := b.Acquire(short, s, coherence.Read)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	require.Equal(t, 1, s.Device().Usage().Pending)
	require.NoError(t, g.Signal())
}

// A wait for memory that does not come back ends with the context, and says that there is no memory. A call that does not wait says so at once.
func TestWaitForMemoryThatStays(t *testing.T) {
	for _, try := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { // the second passes at once
			s, g := stuck(t, fmt.Sprint("stays: ", try), 1)
			d := s.Device()
			held := newStream(t, d)
			other, err := held.Gate()
			require.NoError(t, err)
			a, b := newBuffer(t, make([]uint8, 512<<10)), newBuffer(t, make([]uint8, 512<<10))
			require.NoError(t, a.SyncTo(ctx, d))
			l, err := a.TryAcquire(held, coherence.Read) // the eviction's memory is still in use
			require.NoError(t, err)
			require.NoError(t, l.Release())

			start, took := time.Now(), time.Second
			if try {
				took = 0
				_, err = b.TryAcquire(s, coherence.Read)
			} else {
				until, cancel := context.WithTimeout(ctx, took)
				defer cancel()
				_, err = b.Acquire(until, s, coherence.Read)
				require.ErrorIs(t, err, context.DeadlineExceeded)
			}
			require.Equal(t, took, time.Since(start))
			require.ErrorIs(t, err, hal.ErrOutOfMemory)
			require.ErrorIs(t, err, hal.ErrNotReady)

			require.NoError(t, other.Signal())
			require.NoError(t, g.Signal())
			require.NoError(t, d.Reclaim(ctx))
			l, err = b.TryAcquire(s, coherence.Read)
			require.NoError(t, err)
			require.NoError(t, l.Release())
		})
	}
}

// Calls that do not wait do not wait for the copy of an evicted replica either. It goes on, so a later call succeeds.
func TestRoomThatComesLater(t *testing.T) {
	for name, call := range map[string]func(s *hal.Stream, b *buffer.Buffer[uint32]) error{
		"TryAcquire": func(s *hal.Stream, b *buffer.Buffer[uint32]) error {
			l, err := b.TryAcquire(s, coherence.Read)
			if err == nil {
				err = l.Release()
			}
			return err
		},
		"Prefetch": func(s *hal.Stream, b *buffer.Buffer[uint32]) error { return b.Prefetch(s) },
	} {
		synctest.Test(t, func(t *testing.T) {
			d := openMany(t, "later", 1, 1)[0]
			s, held := newStream(t, d), newStream(t, d)
			buffer.SetBudget(d, 16)
			g := hold(t, held)
			x, y := written(t, held, 4, 9), newBuffer(t, []uint32{7, 7, 7, 7})
			start := time.Now()
			for range 2 {
				err := call(s, y)
				require.ErrorIs(t, err, hal.ErrNotReady, name)
				require.ErrorIs(t, err, hal.ErrOutOfMemory, name)
			}
			require.Zero(t, time.Since(start), name)
			require.NoError(t, g.Signal())
			require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, x))
			require.NoError(t, y.SyncTo(ctx, d))
			require.NoError(t, call(s, y))
			require.Equal(t, []uint32{7, 7, 7, 7}, contents(t, y))
		})
	}
}

// Memory that pools give back need not be enough. Then a call that does not wait evicts, too.
func TestTrimmedPoolAndEviction(t *testing.T) {
	d, err := hal.OpenWith(ctx, host.New(host.Options{Name: "trimmed", Discrete: 1, MemoryLimit: 1 << 20}), 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	p, err := pool.New(d, pool.WithChunk(64<<10))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	pooled, err := buffer.New[uint8](1, buffer.WithAllocator(d, p))
	require.NoError(t, err)
	require.NoError(t, pooled.SyncTo(ctx, d))
	require.NoError(t, pooled.Close())
	require.NotZero(t, p.Stats().Reserved)
	a, b := newBuffer(t, make([]uint8, 512<<10)), newBuffer(t, make([]uint8, 1<<20))
	require.NoError(t, a.SyncTo(ctx, d))
	require.NoError(t, b.Prefetch(newStream(t, d)))
}

// A replica whose eviction fails, while an observer panics, can be evicted later.
func TestPanicDuringAFailedEviction(t *testing.T) {
	u := &hooked.Backend{Backend: host.New(host.Options{Name: "failing once", Discrete: 1})}
	failed := false
	u.Call = func(op string, _ int) error {
		if op != "CopyOut" || failed {
			return nil
		}
		failed = true
		return errLate
	}
	d := fixture.Device(t, u, 1)
	s := newStream(t, d)
	buffer.SetBudget(d, 4)
	t.Cleanup(func() { buffer.SetBudget(d, 0) })
	a, err := buffer.New[uint32](1)
	require.NoError(t, err)
	require.NoError(t, a.FillOn(ctx, s, 5))
	b := newBuffer(t, []uint32{1})
	stop := buffer.Observe(func(buffer.Activity) { panic(errLate) })
	require.ErrorIs(t, thrown(func() { _ = b.Prefetch(s) }), errLate)
	stop()
	require.True(t, failed)
	require.NoError(t, b.SyncTo(ctx, d))
	require.Equal(t, []uint32{5}, contents(t, a))
	require.NoError(t, a.Close())
}
