// Package saxpy is the smallest kernel in Go.
package saxpy

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

// saxpy computes y = a*x + y. The conversion keeps Go from fusing the two operations, so that the host gives the bits that devices give.
//
//halyard:kernel
func saxpy(t grid.Thread, a float32, x, y []float32) {
	if i := t.Global(0); i < len(y) {
		y[i] += float32(a * x[i])
	}
}
