// Package stencil has a 5-point stencil in two dimensions.
package stencil

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

// smooth makes each element of a grid the mean of its four neighbours. Those at the edge stay as they are.
//
//halyard:kernel
func smooth(t grid.Thread, width, height int32, from []float32, to grid.Out[float32]) {
	x, y, w, h := t.Global(0), t.Global(1), int(width), int(height)
	if x >= w || y >= h {
		return
	}
	i := y*w + x
	if x == 0 || y == 0 || x == w-1 || y == h-1 {
		to[i] = from[i]
		return
	}
	to[i] = (from[i-1] + from[i+1] + from[i-w] + from[i+w]) * 0.25
}
