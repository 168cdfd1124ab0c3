// Package matmul multiplies matrices with tiles in shared memory.
package matmul

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

const tile = 16 // the edge of a block

// matmul computes c = a*b, where a has rows×inner elements, b inner×cols and c rows×cols. Blocks are of tile×tile threads. All threads
// reach every barrier, those beyond the edge of c included.
//
//halyard:kernel
func matmul(t grid.Thread, rows, cols, inner int32, a, b []float32, c grid.Out[float32]) {
	at := grid.Shared[[tile][tile]float32](t)
	bt := grid.Shared[[tile][tile]float32](t)
	x, y, col, row := t.Local(0), t.Local(1), t.Global(0), t.Global(1)
	m, n, depth := int(rows), int(cols), int(inner)
	sum := float32(0)
	for k := 0; k < depth; k += tile {
		at[y][x] = 0
		if row < m && k+x < depth {
			at[y][x] = a[row*depth+k+x]
		}
		bt[y][x] = 0
		if col < n && k+y < depth {
			bt[y][x] = b[(k+y)*n+col]
		}
		t.Barrier() // the tiles are complete
		for i := 0; i < tile; i++ {
			sum += float32(at[y][i] * bt[i][x])
		}
		t.Barrier() // all threads have read them
	}
	if row < m && col < n {
		c[row*n+col] = sum
	}
}
