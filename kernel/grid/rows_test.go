package grid_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// The rows of a block have its threads, in the same order.
func TestRowsHaveTheThreads(t *testing.T) {
	for _, b := range []*kernel.Block{
		{Size: [3]uint32{1, 1, 1}},
		{Size: [3]uint32{5, 3, 2}, Index: [3]uint32{4, 2, 1}},
		{Size: [3]uint32{1, 1, 4}, Index: [3]uint32{0, 7, 3}},
		{Size: [3]uint32{2, 1, 1}, Index: [3]uint32{1<<31 - 2, 65534, 65534}},
	} {
		var want, got [][3]int
		for th := range grid.Threads(b) {
			want = append(want, [3]int{th.Global(0), th.Global(1), th.Global(2)})
		}
		for r := range grid.Rows(b) {
			for x := r.First(); x < r.End; x++ {
				got = append(got, [3]int{x, r.Y, r.Z})
			}
		}
		assert.Equal(t, want, got)
		assert.Len(t, got, int(b.Size[0]*b.Size[1]*b.Size[2]))
	}
	n := 0
	for range grid.Rows(&kernel.Block{Size: [3]uint32{1, 9, 1}}) {
		if n++; n == 2 {
			break
		}
	}
	assert.Equal(t, 2, n, "a loop over rows can be left")
}

func TestCovered(t *testing.T) {
	assert.Equal(t, testing.CoverMode() != "", grid.Covered())
}
