package waits

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/everydevice"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// random returns numbers with few zero bits.
func random(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	list := make([]float32, n)
	for i := range list {
		list[i] = r.Float32() - 0.5
	}
	return list
}

// edged returns what an edge takes for an element.
func edged(x []float32, rows, cols, i, j int, edge grid.Edge) float32 {
	switch edge {
	case grid.EdgeClamp:
		i, j = min(max(i, 0), rows-1), min(max(j, 0), cols-1)
	case grid.EdgeWrap:
		i, j = (i+100*rows)%rows, (j+100*cols)%cols
	}
	if i < 0 || i >= rows || j < 0 || j >= cols {
		return 0
	}
	return x[i*cols+j]
}

// Tiles with a halo have what their edge says, and are stored without it, whatever the shape of the block is.
func TestTilesWithHalo(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		for _, size := range [][2]int{{1, 1}, {1, 9}, {4, 8}, {13, 5}, {30, 41}} {
			rows, cols := size[0], size[1]
			x := random(rows*cols, uint64(rows))
			for edge, launch := range []func(kernel.Queue, kernel.Matrix[float32], kernel.Matrix[float32]){ZeroEdge, ClampEdge, WrapEdge} {
				want := make([]float32, rows*cols)
				for n := range want {
					for i := range 2*halo + 1 {
						for j := range 2*halo + 1 {
							v := edged(x, rows, cols, n/cols+i-halo, n%cols+j-halo, grid.Edge(edge))
							want[n] += float32(v * float32(i-2*j))
						}
					}
				}
				for _, block := range [][3]int{{wide, high, 1}, {1, 1, 1}, {3, 2, 2}, {halo*2 + wide, halo*2 + high, 1}} {
					from, to := halyard.From(q, x), halyard.New[float32](q, rows*cols)
					on := q.Grid(hal.Blocks((cols+wide-1)/wide, (rows+high-1)/high).Of(block[0], block[1], block[2]))
					launch(on, kernel.InRows(from, cols), kernel.InRows(to, cols))
					got := to.Values()
					if q.Err() != nil {
						return
					}
					assert.Equal(t, want, got, "edge %d of %v, blocks %v", edge, size, block)
				}
			}
		}
	})
}

// The edge of a matrix without elements has none. The error names the kernel's line.
func TestTilesOfEmptyMatrix(t *testing.T) {
	for _, launch := range []func(kernel.Queue, kernel.Matrix[float32], kernel.Matrix[float32]){ClampEdge, WrapEdge} {
		q := halyard.Open(t.Context(), "host")
		launch(q.Grid(hal.Blocks(1, 1, 1).Of(wide, high, 1)), kernel.InRows(halyard.New[float32](q, 0), 8), kernel.InRows(halyard.New[float32](q, 64), 8))
		assert.Regexp(t, `out of range with 0 rows and 8 columns \(tiles\.go:\d+\)`, q.Close())
	}
}

// A tile may have as many rows as a launch says.
func TestTilesOfALaunch(t *testing.T) {
	const rows, cols = 13, 19
	x, want := make([]uint8, rows*cols), make([]uint8, rows*cols)
	for i := range x {
		x[i] = uint8(i)
		want[i%cols*rows+i/cols] = uint8(i)
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		for _, n := range []int{1, 3, 20} {
			to := halyard.New[uint8](q, rows*cols)
			Turned(q.Grid(hal.Blocks((cols+wide-1)/wide).Of(wide)), n, kernel.InRows(halyard.From(q, x), cols), kernel.InRows(to, rows))
			got := to.Values()
			if q.Err() != nil {
				return
			}
			assert.Equal(t, want, got, n)
		}
	})
}

// A product of tiles is a chain of fused products and sums.
func TestProductOfTiles(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		for _, s := range [][3]int{{1, 1, 1}, {8, 8, 8}, {9, 17, 10}} {
			rows, inner, cols := s[0], s[1], s[2]
			a, b, c := random(rows*inner, 1), random(inner*cols, 2), random(rows*cols, 3)
			sum := halyard.From(q, c)
			Multiplied(q.Grid(hal.Over(cols, rows).Of(wide, wide)), kernel.InRows(halyard.From(q, a), inner), kernel.InRows(halyard.From(q, b), cols), kernel.InRows(sum, cols))
			got := sum.Values()
			if q.Err() != nil {
				return
			}
			for i := range c {
				for k := range inner {
					c[i] = grid.FMA(a[i/cols*inner+k], b[k*cols+i%cols], c[i])
				}
			}
			assert.Equal(t, c, got, s)
		}
	})
}
