package gokernels

import "github.com/go-halyard/halyard/kernel/grid"

// laplace multiplies p by the matrix. p has one row more than q on each side.
//
//halyard:kernel
func laplace(t grid.Thread, n, rows int32, p []float32, q grid.Out[float32]) {
	w, j := int(n), t.Global(0)
	if j >= w || t.Global(1) >= int(rows) {
		return
	}
	i := t.Global(1)*w + j
	at, left, right := i+w, float32(0), float32(0)
	if j > 0 {
		left = p[at-1]
	}
	if j < w-1 {
		right = p[at+1]
	}
	q[i] = float32(4*p[at]) - p[at-w] - p[at+w] - left - right
}
