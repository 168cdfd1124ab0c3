package queue

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/protocol"
)

// An entry is open exactly if no earlier one that is still there excludes it.
func TestFirstComeFirstServed(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var q Queue[int]
		var here []*Entry[int] // in the order of arrival
		excludes := func(a, b *Entry[int]) (yes bool) {
			a.Each(func(p Part) {
				b.Each(func(o Part) { yes = yes || p.Lo < o.Hi && o.Lo < p.Hi && (p.Writes() || o.Writes()) })
			})
			return yes
		}
		for step := range 400 {
			if len(here) > 0 && rng.IntN(2) == 0 {
				i := rng.IntN(len(here))
				q.End(here[i])
				here = append(here[:i:i], here[i+1:]...)
			} else {
				e := &Entry[int]{Of: step}
				e.Mode = []protocol.Action{protocol.Read, protocol.ReadWrite, protocol.Overwrite}[rng.IntN(3)]
				lo := rng.Uint64N(16)
				e.Lo, e.Hi = lo, lo+rng.Uint64N(4)
				if rng.IntN(4) == 0 {
					e.Parts = []Part{{lo, lo + 1, e.Mode}, {lo + 3, lo + 4, e.Mode}}
					e.Hi = lo + 4
				}
				if other := q.Enter(e, nil, true); other != nil { // as Wait does, which waits as well
					e.admit = make(chan struct{})
					e.wait(other)
				}
				here = append(here, e)
			}
			for i, e := range here {
				free := true
				for _, earlier := range here[:i] {
					free = free && !excludes(earlier, e)
				}
				require.Equal(t, free, e.IsOpen(), "seed %d, step %d, entry %d", seed, step, e.Of)
			}
		}
		for _, e := range here {
			q.End(e)
		}
		require.Nil(t, q.solo)
		require.Empty(t, q.live)
	}
}
