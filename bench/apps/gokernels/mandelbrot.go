package gokernels

import "github.com/go-halyard/halyard/kernel/grid"

// mandelbrot writes how many steps points take to leave. out has some rows of an n×n picture, from row first on.
//
//halyard:kernel
func mandelbrot(t grid.Thread, n, rows, first, limit int32, out grid.Out[uint16]) {
	if t.Global(0) >= int(n) || t.Global(1) >= int(rows) {
		return
	}
	step := 2.4 / float32(n)
	a, b := -1.7+float32(step*float32(t.Global(0))), -1.2+float32(step*float32(int(first)+t.Global(1)))
	x, y, count := float32(0), float32(0), int32(0)
	for count < limit && float32(x*x)+float32(y*y) <= 4 {
		x, y = float32(x*x)-float32(y*y)+a, float32(2*x*y)+b
		count++
	}
	out[t.Global(1)*int(n)+t.Global(0)] = uint16(count)
}
