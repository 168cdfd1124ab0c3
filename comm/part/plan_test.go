package part_test

import (
	"testing"

	"github.com/go-halyard/halyard/comm/part"
)

// cube is a periodic grid of one to three dimensions with a width of 1, in which each rank has as many elements however many ranks there are.
func cube(side ...int) (part.Layout, part.Halo, int) {
	shape, ranks, h := make([]int, len(side)), 1, part.Halo{}
	for d, n := range side {
		shape[d], ranks = 6*n, ranks*n
		h.Lo, h.Hi, h.Periodic = append(h.Lo, 1), append(h.Hi, 1), append(h.Periodic, true)
	}
	return part.Grid(shape, side), h, ranks
}

// What a rank looks at and keeps does not grow with the number of ranks, once a rank has all neighbours that it can have.
func TestPlansDoNotGrowWithRanks(t *testing.T) {
	for d, grids := range [][][]int{
		{{8}, {64}, {512}, {4096}},
		{{3, 3}, {8, 8}, {16, 32}, {64, 64}},
		{{3, 3, 3}, {4, 4, 4}, {8, 8, 8}, {16, 16, 16}},
	} {
		var most [3]int
		for i, side := range grids {
			l, h, ranks := cube(side...)
			for rank := 0; rank < ranks; rank += max(1, ranks/64) {
				neighbours, kept, seen, err := part.Stretches(l, h, rank, ranks)
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 && rank == 0 {
					most = [3]int{[]int{2, 8, 26}[d], kept, seen}
				}
				if neighbours != most[0] || kept > most[1] || seen > most[2] {
					t.Fatalf("rank %d of %v has %d neighbours, keeps %d stretches and looks at %d, and of %v %v", rank, side, neighbours, kept, seen, grids[0], most)
				}
			}
		}
	}
}
