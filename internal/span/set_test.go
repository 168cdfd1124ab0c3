package span

import (
	"math/rand/v2"
	"testing"
)

func TestSetAgreesWithASetOfBytes(t *testing.T) {
	const space = 256
	rng := rand.New(rand.NewPCG(1, 2))
	var set Set
	owner := [space]int{} // the range that holds each byte, by its start + 1
	sizes := map[int]int{}
	free := func(start, size int) bool {
		for _, o := range owner[start : start+size] {
			if o != 0 {
				return false
			}
		}
		return true
	}
	for range 20000 {
		start := rng.IntN(space)
		size := 1 + rng.IntN(min(24, space-start))
		switch rng.IntN(3) {
		case 0:
			want := free(start, size)
			if got := set.Add(Range{uint64(start), uint64(start + size)}); got != want {
				t.Fatalf("add(%d, %d) = %t, want %t", start, size, got, want)
			}
			if want {
				sizes[start] = size
				for i := start; i < start+size; i++ {
					owner[i] = start + 1
				}
			}
		case 1:
			set.Remove(uint64(start))
			for i := start; i < start+sizes[start]; i++ {
				owner[i] = 0
			}
			delete(sizes, start)
		case 2:
			want := owner[start] != 0
			for i := start; i < start+size; i++ {
				want = want && owner[i] == owner[start]
			}
			if got := set.Contains(Range{uint64(start), uint64(start + size)}); got != want {
				t.Fatalf("contains(%d, %d) = %t, want %t", start, size, got, want)
			}
		}
	}
}
