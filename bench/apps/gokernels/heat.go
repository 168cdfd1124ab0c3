package gokernels

import "github.com/go-halyard/halyard/kernel/grid"

// spread lets heat spread for a step. from has one row more than to on each side.
//
//halyard:kernel
func spread(t grid.Thread, n, rows int32, from []float32, to grid.Out[float32]) {
	w, j := int(n), t.Global(0)
	if j >= w || t.Global(1) >= int(rows) {
		return
	}
	i := t.Global(1)*w + j
	at, left, right := i+w, float32(0), float32(0)
	if j > 0 {
		left = from[at-1]
	}
	if j < w-1 {
		right = from[at+1]
	}
	to[i] = from[at] + float32(0.1*(from[at-w]+from[at+w]+left+right-float32(4*from[at])))
}
