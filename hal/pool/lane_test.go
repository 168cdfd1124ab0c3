package pool

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

// A shelf gets lanes when those that it has are taken, up to a limit, and none when it is dead.
func TestShelfWidens(t *testing.T) {
	s := newShelf()
	var taken []*lane
	limit := min(mostLanes, 2*runtime.GOMAXPROCS(0)) // reached or passed by doubling
	for want := 1; want < 2*limit; want *= 2 {
		for range want {
			if len(taken) < want {
				s.misses.Store(0)
				if len(taken) == len(*s.lanes.Load()) {
					s.misses.Store(missesSpread - 1)
				}
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
	p, streams := newTestPool(t, 1)
	s := streams[0]
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

// Close sees a block that is being given out while it looks.
func TestCloseWaitsForWhoeverHasALane(t *testing.T) {
	p, streams := newTestPool(t, 1)
	s := streams[0]
	b, err := p.Alloc(s, hal.KindDevice, 300)
	require.NoError(t, err)
	require.NoError(t, b.Free(s))
	l := (*p.find(s).shelves[hal.KindDevice-1].Load().lanes.Load())[0]
	l.mu.Lock()
	closed := make(chan error, 1)
	go func() { closed <- p.Close() }()
	for range 1000 {
		runtime.Gosched() // a Close that does not wait has every chance to end
	}
	class := classOf(2)
	r := l.pop(class, 300, everything)
	require.NotNil(t, r, "taken away while the lane was locked")
	l.out(300, r.cap)
	b = newBlock(r, p, r.give(300), true)
	l.mu.Unlock()
	require.ErrorIs(t, <-closed, hal.ErrBusy)
	_, err = b.Region()
	require.NoError(t, err)
	require.NoError(t, b.Free(s))
}
