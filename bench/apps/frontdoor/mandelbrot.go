package main

import (
	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/kernel/grid"
)

// escape writes how many steps the points of an n×n picture take to leave.
//
//halyard:kernel
func escape(t grid.Thread, n, limit int32, out grid.Out[uint16]) {
	if t.Global(0) >= int(n) || t.Global(1) >= int(n) {
		return
	}
	step := 2.4 / float32(n)
	a, b := -1.7+float32(step*float32(t.Global(0))), -1.2+float32(step*float32(t.Global(1)))
	x, y, count := float32(0), float32(0), int32(0)
	for count < limit && float32(x*x)+float32(y*y) <= 4 {
		x, y = float32(x*x)-float32(y*y)+a, float32(2*x*y)+b
		count++
	}
	out[t.Global(1)*int(n)+t.Global(0)] = uint16(count)
}

func mandelbrot() error {
	q := halyard.Open(ctx, devices...)
	picture := halyard.New[uint16](q, n*n)
	timed(func() {
		Escape(q, int32(n), int32(steps), picture)
		picture.View(func([]uint16) {}) // the host has the picture
	})
	write(q, picture.Values())
	return q.Close()
}
