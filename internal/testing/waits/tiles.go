package waits

import "github.com/go-halyard/halyard/kernel/grid"

const (
	high, wide = 4, 8 // of a block's part
	halo       = 6    // larger than the part
)

// The box of a tile with halo: what is added up around an element.
func box(s *[high + 2*halo][wide + 2*halo]float32, y, x int) float32 {
	sum := float32(0)
	for i := range 2*halo + 1 {
		for j := range 2*halo + 1 {
			sum += float32(s[y+i][x+j] * float32(i-2*j))
		}
	}
	return sum
}

// boxes writes the sums of a block's part. The block may have any shape.
func boxes(t grid.Thread, s *[high + 2*halo][wide + 2*halo]float32, to *[high + 2][wide + 2]float32) {
	for y := t.Local(1) + t.Size(1)*t.Local(2); y < high; y += t.Size(1) * t.Size(2) {
		for x := t.Local(0); x < wide; x += t.Size(0) {
			to[y+1][x+1] = box(s, y, x)
		}
	}
	t.Barrier()
}

//halyard:kernel
func zeroEdge(t grid.Thread, from grid.Matrix[float32], to grid.OutMatrix[float32]) {
	s := grid.Shared[[high + 2*halo][wide + 2*halo]float32](t)
	sums := grid.Shared[[high + 2][wide + 2]float32](t)
	row, col := high*t.Block(1), wide*t.Block(0)
	grid.LoadTile(t, s[:], from, row-halo, col-halo, grid.EdgeZero)
	boxes(t, s, sums)
	grid.StoreTile(t, sums[:], to, row-1, col-1, 1)
}

//halyard:kernel
func clampEdge(t grid.Thread, from grid.Matrix[float32], to grid.OutMatrix[float32]) {
	s := grid.Shared[[high + 2*halo][wide + 2*halo]float32](t)
	sums := grid.Shared[[high + 2][wide + 2]float32](t)
	grid.LoadTile(t, s[:], from, high*t.Block(1)-halo, wide*t.Block(0)-halo, grid.EdgeClamp)
	boxes(t, s, sums)
	grid.StoreTile(t, sums[:], to, high*t.Block(1)-1, wide*t.Block(0)-1, 1)
}

//halyard:kernel
func wrapEdge(t grid.Thread, from grid.Matrix[float32], to grid.OutMatrix[float32]) {
	s := grid.Shared[[high + 2*halo][wide + 2*halo]float32](t)
	sums := grid.Shared[[high + 2][wide + 2]float32](t)
	loaded(t, s, from)
	boxes(t, s, sums)
	grid.StoreTile(t, sums[:], to, high*t.Block(1)-1, wide*t.Block(0)-1, 1)
}

// loaded loads a tile in a function that is written into the kernel.
func loaded(t grid.Thread, s *[high + 2*halo][wide + 2*halo]float32, from grid.Matrix[float32]) {
	grid.LoadTile(t, s[:], from, high*t.Block(1)-halo, wide*t.Block(0)-halo, grid.EdgeWrap)
}

// turned writes a matrix with rows and columns exchanged, a tile of as many rows as the launch says after the other.
//
//halyard:kernel uint8
func turned[T uint8](t grid.Thread, rows int, from grid.Matrix[T], to grid.Matrix[T]) {
	s := grid.SharedSlice[[wide]T](t, rows)
	for row := 0; row < from.Rows(); row += rows {
		grid.LoadTile(t, s, from, row, wide*t.Block(0), grid.EdgeZero)
		for i := range s {
			if x, y := wide*t.Block(0)+t.Local(0), row+i; t.Local(0) < wide && x < to.Rows() && y < to.Cols() {
				to.Set(x, y, s[i][t.Local(0)])
			}
		}
	}
}

// multiplied adds a product of matrices to another matrix, tile by tile.
//
//halyard:kernel
func multiplied(t grid.Thread, a, b, c grid.Matrix[float32]) {
	at := grid.Shared[[wide][wide]float32](t)
	bt := grid.Shared[[wide][wide]float32](t)
	ct := grid.Shared[[wide][wide]float32](t)
	grid.LoadTile(t, ct[:], c, wide*t.Block(1), wide*t.Block(0), grid.EdgeClamp)
	for k := 0; k < a.Cols(); k += wide {
		grid.LoadTile(t, at[:], a, wide*t.Block(1), k, grid.EdgeZero)
		grid.LoadTile(t, bt[:], b, k, wide*t.Block(0), grid.EdgeZero)
		for i := range wide {
			ct[t.Local(1)][t.Local(0)] = grid.FMA(at[t.Local(1)][i], bt[i][t.Local(0)], ct[t.Local(1)][t.Local(0)])
		}
	}
	grid.StoreTile(t, ct[:], c, wide*t.Block(1), wide*t.Block(0), 0)
}
