package host

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A cover counts as a plain list of counts does, and keeps no more pieces than the counts have steps.
func TestCoverCountsEveryAddress(t *testing.T) {
	const size = 64
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var c cover
		var counts [size]int
		var held []span
		for range 500 {
			if len(held) > 12 || len(held) > 0 && rng.IntN(2) == 0 {
				i := rng.IntN(len(held))
				s := held[i]
				held = slices.Delete(held, i, i+1)
				for a := s.from; a < s.to; a++ {
					counts[a]--
				}
				if got, want := c.remove(s), zeros(counts[:], s); !slices.Equal(got, want) {
					t.Fatalf("seed %d: removing %v gives %v, want %v", seed, s, got, want)
				}
			} else {
				from := rng.Uint64N(size)
				s := span{uintptr(from), uintptr(from + 1 + rng.Uint64N(size-from))}
				if got, want := c.free(s), zeros(counts[:], s); !slices.Equal(got, want) {
					t.Fatalf("seed %d: free in %v are %v, want %v", seed, s, got, want)
				}
				held = append(held, s)
				c.add(s)
				for a := s.from; a < s.to; a++ {
					counts[a]++
				}
			}
			want := 0
			for a := range counts {
				if counts[a] > 0 && (a == 0 || counts[a-1] != counts[a]) {
					want++
				}
			}
			if c.pieces != want {
				t.Fatalf("seed %d: %d pieces for %v", seed, c.pieces, counts)
			}
		}
	}
}

// zeros returns the ranges inside s where the counts are zero.
func zeros(counts []int, s span) (list []span) {
	for a := s.from; a < s.to; a++ {
		switch {
		case counts[a] > 0:
		case len(list) > 0 && list[len(list)-1].to == a:
			list[len(list)-1].to++
		default:
			list = append(list, span{a, a + 1})
		}
	}
	return list
}

// The cost of a lock grows with the logarithm of how many there are, and so does that of a registration.
func TestLocksDoNotSlowEachOtherDown(t *testing.T) {
	page := pages(0, 1).to
	at := func(i int) (from, to uintptr) { return uintptr(2*i+1) * page, uintptr(2*i+2) * page }
	perCall := func(n int) (locked, registered float64) {
		nothing := func(span) error { return nil }
		l, r := pageLocks{system: nothing, undo: nothing}, ranges{}
		for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(n) {
			l.lock(at(i))
			r.add(at(i))
		}
		if l.held.pieces != n || r.held.pieces != n {
			panic(fmt.Sprintf("%d and %d pieces, want %d", l.held.pieces, r.held.pieces, n))
		}
		l.held.steps, r.held.steps = 0, 0
		const calls = 1000
		for k := range calls {
			from, to := at(k * n / calls)
			l.unlock(from, to)
			l.lock(from, to)
			r.remove(from, to)
			r.add(from, to)
		}
		return float64(l.held.steps) / (2 * calls), float64(r.held.steps) / (2 * calls)
	}
	fewLocked, fewRegistered := perCall(1_000)
	manyLocked, manyRegistered := perCall(100_000)
	t.Logf("steps per call: %.0f and %.0f with 1,000, %.0f and %.0f with 100,000", fewLocked, fewRegistered, manyLocked, manyRegistered)
	// log2(100,000)/log2(1,000) is 1.7.
	if manyLocked > 3*fewLocked || manyRegistered > 3*fewRegistered {
		t.Error("a hundred times as many cost more than three times as much")
	}
}
