package gridgen_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// The rows of a block have its threads, in the same order.
func TestRowsHaveTheThreads(t *testing.T) {
	for _, b := range []*kernel.Block{
		{Size: [3]uint32{1, 1, 1}},
		{Size: [3]uint32{5, 3, 2}, Index: [3]uint32{4, 2, 1}},
		{Size: [3]uint32{1, 1, 4}, Index: [3]uint32{0, 7, 3}},
		{Size: [3]uint32{9000, 2, 1}, Index: [3]uint32{1, 0, 0}},
		{Size: [3]uint32{2, 1, 1}, Index: [3]uint32{1<<31 - 2, 65534, 65534}},
	} {
		var want, got [][3]int
		for th := range grid.Threads(b) {
			want = append(want, [3]int{th.Global(0), th.Global(1), th.Global(2)})
		}
		for r := range gridgen.Rows(b) {
			assert.LessOrEqual(t, r.End-r.First(), 4096, "long rows come in parts")
			for x := r.First(); x < r.End; x++ {
				got = append(got, [3]int{x, r.Y, r.Z})
			}
		}
		assert.Equal(t, want, got)
		assert.Len(t, got, int(b.Size[0]*b.Size[1]*b.Size[2]))
	}
	n := 0
	for range gridgen.Rows(&kernel.Block{Size: [3]uint32{1, 9, 1}}) {
		if n++; n == 2 {
			break
		}
	}
	assert.Equal(t, 2, n, "a loop over rows can be left")
}

func TestCovered(t *testing.T) {
	assert.Equal(t, testing.CoverMode() != "", gridgen.Covered())
}

// Places within are those whose index is one of the slice, whatever the offset; places without are the larger part beside a place.
func TestPlacesWithin(t *testing.T) {
	for from := range 6 {
		for to := range 7 {
			for n := range 8 {
				for _, offset := range []int{math.MinInt, -1 << 62, -8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 1 << 62, math.MaxInt} {
					var want, got []int
					for place := from; place < to; place++ {
						if index := big.NewInt(0).Add(big.NewInt(int64(offset)), big.NewInt(int64(place))); index.Sign() >= 0 && index.Cmp(big.NewInt(int64(n))) < 0 {
							want = append(want, place)
						}
					}
					first, last := gridgen.Within(from, to, offset, n)
					for place := first; place < last; place++ {
						got = append(got, place)
					}
					assert.Equal(t, want, got, "%d to %d, offset %d, length %d", from, to, offset, n)
				}
			}
			for place := -2; place < 9; place++ {
				first, last := gridgen.Without(from, to, place)
				if place < from || place >= to {
					assert.Equal(t, [2]int{from, to}, [2]int{first, last})
					continue
				}
				assert.False(t, first <= place && place < last)
				assert.GreaterOrEqual(t, first, from)
				assert.LessOrEqual(t, last, to)
				assert.Equal(t, max(place-from, to-place-1), last-first)
			}
		}
	}
	assert.Equal(t, 5, gridgen.At(5, 7))
}
