package pool

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

func newTestPool(t *testing.T, streams int, opts ...Option) (*Pool, []*hal.Stream) {
	t.Helper()
	d, err := hal.OpenWith(context.Background(), host.New(host.Options{}), 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	var all []*hal.Stream
	for range streams {
		s, err := d.NewStream()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		all = append(all, s)
	}
	p, err := New(d, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p, all
}

func hold(t *testing.T, s *hal.Stream) *hal.Gate {
	t.Helper()
	g, err := s.Gate()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Signal()) })
	return g
}

// A mark stands for the blocks freed before it, and for none freed after.
func TestMarksEndEpochs(t *testing.T) {
	_, streams := newTestPool(t, 1)
	d := newDomain(streams[0], false)
	defer d.finish()
	var gates []*hal.Gate
	for i := range uint64(mostEvents) {
		require.Equal(t, i+1, d.epoch.Load())
		require.Nil(t, d.cover(i+1))
		gates = append(gates, hold(t, streams[0]))
		require.NoError(t, d.record())
	}
	seen := map[*hal.Event]bool{}
	for i := range uint64(mostEvents) {
		m := d.cover(i + 1)
		require.NotNil(t, m)
		require.False(t, seen[m], "one mark for two epochs")
		seen[m] = true
		m.Close()
	}
	require.Nil(t, d.cover(mostEvents+1))
	for i := range uint64(3) {
		require.NoError(t, gates[i].Signal())
		m := d.cover(i + 1)
		require.NoError(t, m.Sync(context.Background()))
		m.Close()
		passed, marked := d.settled()
		require.Equal(t, i+1, passed)
		require.EqualValues(t, mostEvents, marked)
	}
	// With too many some are dropped, and what they stood for waits for a later one.
	for range mostEvents {
		hold(t, streams[0])
		require.NoError(t, d.record())
		require.LessOrEqual(t, len(d.events), mostEvents)
	}
	for e := uint64(4); e <= 2*mostEvents; e++ {
		m := d.cover(e)
		require.NotNil(t, m, "epoch %d", e)
		for _, x := range d.events {
			if x.event == m {
				require.GreaterOrEqual(t, x.epoch, e)
			}
		}
		m.Close()
	}
}

// Memory merged of what several streams use waits for all of them, and so does each part of it.
func TestMergingUnitesFences(t *testing.T) {
	const size = 64 << 10
	p, streams := newTestPool(t, 3, WithLimit(4*size), WithChunk(4*size), WithLarge(4*size), WithoutWaits())
	hold(t, streams[0])
	hold(t, streams[1])
	var all []Block
	for i := range 4 {
		b, err := p.Alloc(streams[i%2], hal.KindDevice, size)
		require.NoError(t, err)
		all = append(all, b)
	}
	for i, b := range all {
		require.NoError(t, b.Free(streams[i%2]))
	}
	_, err := p.Alloc(streams[2], hal.KindDevice, size)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	h := p.heaps[hal.KindDevice-1]
	merged := slices.Clone(h.fenced)
	require.Len(t, merged, 1)
	require.EqualValues(t, 4*size, merged[0].bytes)
	waits := func(fence []*hal.Event) {
		t.Helper()
		for _, s := range streams[:2] {
			on := 0
			for _, m := range fence {
				if layer.RecordedOn(m, s) {
					on++
				}
			}
			require.Equal(t, 1, on)
		}
		require.Len(t, fence, 2)
	}
	waits(merged[0].fence)
	h.mu.Lock()
	h.lift(merged[0])
	r, fence := h.carve(merged[0], size)
	h.mu.Unlock()
	waits(fence)
	waits(h.fenced[0].fence)
	h.mu.Lock()
	h.release(r.node, fence)
	h.merge()
	h.mu.Unlock()
	require.Len(t, h.fenced, 1)
	waits(h.fenced[0].fence)
}
