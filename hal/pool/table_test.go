package pool

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

func TestTableFindsWhatIsThere(t *testing.T) {
	const many = 10000
	tab := newTable(0)
	domains := make([]*domain, many)
	made := 0
	for i := range domains {
		domains[i] = newDomain(new(hal.Stream), false)
		next := tab.insert(domains[i])
		if next != tab {
			made += next.used
		}
		tab = next
	}
	require.Less(t, made, 2*many, "domains that were moved to tables of another size")
	for i, d := range domains {
		require.Same(t, d, tab.find(d.stream))
		if i%2 == 0 {
			tab = tab.remove(d)
			require.Nil(t, tab.find(d.stream))
		}
		tab = tab.remove(newDomain(new(hal.Stream), false)) // which is not there
	}
	require.Equal(t, int64(many/2), tab.streams.Load())
	seen := 0
	for d := range tab.all {
		require.Same(t, d, tab.find(d.stream))
		seen++
	}
	require.Equal(t, many/2, seen)
	for _, d := range domains {
		tab = tab.remove(d)
	}
	require.Zero(t, tab.streams.Load())
	require.Len(t, tab.slots, smallestTable)
}

// Streams that come and go leave a table of the size that those which stay need.
func TestTableDoesNotGrow(t *testing.T) {
	tab := newTable(0)
	for range 10 {
		tab = tab.insert(newDomain(new(hal.Stream), false))
	}
	for range 10000 {
		d := newDomain(new(hal.Stream), false)
		tab = tab.insert(d).remove(d)
		require.LessOrEqual(t, len(tab.slots), 128)
	}
}

// An allocation looks at a few streams only, and in turn at all.
func TestNearbyIsFew(t *testing.T) {
	const many = 20 * few
	p := &Pool{idle: newDomain(nil, false)}
	tab := newTable(0)
	for range many {
		tab = tab.insert(newDomain(new(hal.Stream), false))
	}
	p.table.Store(tab)
	h := &heap{pool: p}
	seen := map[*domain]bool{}
	for range 16 * many / few {
		visited := slices.Collect(h.nearby)
		require.Same(t, p.idle, visited[0])
		require.LessOrEqual(t, len(visited), 1+few)
		for _, d := range visited {
			seen[d] = true
		}
	}
	require.Len(t, seen, 1+many)
}
