package host

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/go-halyard/halyard/internal/span"
)

// A cover counts as a plain list of counts does.
func TestCoverCountsEveryAddress(t *testing.T) {
	const size = 64
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var c cover
		var counts [size]int
		var held []span.Range
		for range 500 {
			if len(held) > 12 || len(held) > 0 && rng.IntN(2) == 0 {
				i := rng.IntN(len(held))
				s := held[i]
				held = slices.Delete(held, i, i+1)
				for a := s.Lo; a < s.Hi; a++ {
					counts[a]--
				}
				if got, want := c.remove(s), zeros(counts[:], s); !slices.Equal(got, want) {
					t.Fatalf("seed %d: removing %v gives %v, want %v", seed, s, got, want)
				}
			} else {
				from := rng.Uint64N(size)
				s := span.Range{Lo: from, Hi: from + 1 + rng.Uint64N(size-from)}
				if got, want := c.free(s), zeros(counts[:], s); !slices.Equal(got, want) {
					t.Fatalf("seed %d: free in %v are %v, want %v", seed, s, got, want)
				}
				held = append(held, s)
				c.add(s)
				for a := s.Lo; a < s.Hi; a++ {
					counts[a]++
				}
			}
		}
	}
}

// zeros returns the ranges inside s where the counts are zero.
func zeros(counts []int, s span.Range) (list []span.Range) {
	for a := s.Lo; a < s.Hi; a++ {
		switch {
		case counts[a] > 0:
		case len(list) > 0 && list[len(list)-1].Hi == a:
			list[len(list)-1].Hi++
		default:
			list = append(list, span.Range{Lo: a, Hi: a + 1})
		}
	}
	return list
}

// The cost of a lock grows with the logarithm of how many there are, and so does that of a registration.
func TestLocksDoNotSlowEachOtherDown(t *testing.T) {
	page := uintptr(wholePages(0, 1).Hi)
	at := func(i int) (from, to uintptr) { return uintptr(2*i+1) * page, uintptr(2*i+2) * page }
	perCall := func(n int) (locked, registered float64) {
		nothing := func(span.Range) error { return nil }
		l, r := pageLocks{system: nothing, undo: nothing}, ranges{}
		for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(n) {
			l.lock(at(i))
			r.add(at(i))
		}
		if locks, registrations := l.held.held.Len(), r.held.held.Len(); locks != n || registrations != n {
			panic(fmt.Sprintf("%d and %d ranges, want %d", locks, registrations, n))
		}
		locked, registered = float64(l.held.held.Steps()), float64(r.held.held.Steps())
		const calls = 1000
		for k := range calls {
			from, to := at(k * n / calls)
			l.unlock(from, to)
			l.lock(from, to)
			r.remove(from, to)
			r.add(from, to)
		}
		return (float64(l.held.held.Steps()) - locked) / (2 * calls), (float64(r.held.held.Steps()) - registered) / (2 * calls)
	}
	fewLocked, fewRegistered := perCall(1_000)
	manyLocked, manyRegistered := perCall(100_000)
	t.Logf("steps per call: %.0f and %.0f with 1,000, %.0f and %.0f with 100,000", fewLocked, fewRegistered, manyLocked, manyRegistered)
	// log2(100,000)/log2(1,000) is 1.7.
	if manyLocked > 3*fewLocked || manyRegistered > 3*fewRegistered {
		t.Error("a hundred times as many cost more than three times as much")
	}
}
