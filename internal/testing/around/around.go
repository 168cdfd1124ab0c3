// Package around has a stencil of any width, for tests of launches that are divided among ranks.
package around

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

// around adds up the elements within a distance of each.
//
//halyard:kernel
func around(t grid.Thread, distance int32, x []float32, y grid.Out[float32]) {
	i, r := t.Global(0), int(distance)
	if i >= len(y) {
		return
	}
	sum := float32(0)
	for j := max(i-r, 0); j < min(i+r+1, len(x)); j++ {
		sum += x[j]
	}
	y[i] = float32(sum * 0.25)
}
