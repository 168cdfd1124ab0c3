package pool

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
)

// A shelf gets lanes when those that it has are taken, up to a limit, and none when it is dead.
func TestShelfWidens(t *testing.T) {
	s := newShelf()
	var taken []*lane
	for want := 1; want <= min(mostLanes, 2*runtime.GOMAXPROCS(0)); want *= 2 {
		for range want {
			if len(taken) < want {
				s.misses.Store(missesSpread - 1)
				taken = append(taken, s.lock())
			}
		}
		require.Len(t, *s.lanes.Load(), want)
		seen := map[*lane]bool{}
		for _, l := range taken {
			require.False(t, seen[l], "a lane was locked twice")
			seen[l] = true
		}
	}
	widest := len(*s.lanes.Load())
	s.widen(widest)
	require.Len(t, *s.lanes.Load(), widest)
	for _, l := range taken {
		l.mu.Unlock()
	}
	s = newShelf()
	s.kill()
	s.widen(1)
	require.Len(t, *s.lanes.Load(), 1)
}

// Whichever lane a block was freed in, an allocation finds it there without the heap.
func TestEveryLaneIsLookedIn(t *testing.T) {
	d, err := hal.OpenWith(context.Background(), host.New(host.Options{}), 0)
	require.NoError(t, err)
	defer d.Close()
	s, err := d.NewStream(hal.StreamOptions{})
	require.NoError(t, err)
	defer s.Close()
	p, err := New(d, Options{})
	require.NoError(t, err)
	defer p.Close()
	b, err := p.Alloc(s, hal.KindDevice, 300)
	require.NoError(t, err)
	require.NoError(t, b.Free(s))
	shelf := p.find(s).shelves[hal.KindDevice-1].Load()
	shelf.widen(1)
	lanes := *shelf.lanes.Load()
	require.Len(t, lanes, 2)
	var all []Block
	for range lanes {
		b, err := p.Alloc(s, hal.KindDevice, 300)
		require.NoError(t, err)
		all = append(all, b)
	}
	for i, b := range all {
		for k, l := range lanes {
			if k != i {
				l.mu.Lock()
			}
		}
		require.NoError(t, b.Free(s))
		for k, l := range lanes {
			if k != i {
				l.mu.Unlock()
			}
		}
	}
	before := p.Stats()
	h := p.heaps[hal.KindDevice-1]
	given := h.tally.allocs
	for i := range all {
		all[i], err = p.Alloc(s, hal.KindDevice, 300)
		require.NoError(t, err)
	}
	require.Equal(t, given, h.tally.allocs, "the heap was asked")
	require.Equal(t, before.Allocs+2, p.Stats().Allocs)
	for _, b := range all {
		require.True(t, b.Ordered())
		require.NoError(t, b.Free(s))
	}
}
