// Package matmul multiplies matrices with tiles in shared memory.
package matmul

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

const tile = 32 // the edge of a block

// matmul computes c = a*b, where each element of c is a chain of grid.FMA: each product is added and rounded once, from the left to the
// right of a. Blocks are of tile×tile threads.
//
//halyard:kernel
func matmul(t grid.Thread, a, b grid.Matrix[float32], c grid.OutMatrix[float32]) {
	at := grid.Shared[[tile][tile]float32](t)
	bt := grid.Shared[[tile][tile]float32](t)
	x, y, col, row := t.Local(0), t.Local(1), t.Global(0), t.Global(1)
	sum := float32(0)
	for k := 0; k < a.Cols(); k += tile {
		grid.LoadTile(t, at[:], a, t.Block(1)*tile, k, grid.EdgeZero)
		grid.LoadTile(t, bt[:], b, k, t.Block(0)*tile, grid.EdgeZero)
		for i := range tile {
			sum = grid.FMA(at[y][i], bt[i][x], sum)
		}
	}
	if row < c.Rows() && col < c.Cols() {
		c.Set(row, col, sum)
	}
}
