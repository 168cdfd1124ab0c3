// Package mandelbrot counts the rounds for which points of a plane stay near the origin.
package mandelbrot

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

// View is the part of the plane that a picture shows.
type View struct {
	Left, Top, Step float32
	Width, Height   int32
	Rounds          int32 // at most
}

// mandelbrot writes for each point of a view the round in which it leaves.
//
//halyard:kernel
func mandelbrot(t grid.Thread, v View, rounds grid.Out[int32]) {
	px, py := t.Global(0), t.Global(1)
	if px >= int(v.Width) || py >= int(v.Height) {
		return
	}
	rounds[py*int(v.Width)+px] = leaves(v.Left+float32(float32(px)*v.Step), v.Top+float32(float32(py)*v.Step), v.Rounds)
}

// leaves returns the round in which a point leaves the circle of radius 2, or most if it does not.
func leaves(cx, cy float32, most int32) int32 {
	x, y := float32(0), float32(0)
	for n := int32(0); n < most; n++ {
		xx, yy := float32(x*x), float32(y*y)
		if xx+yy > 4 {
			return n
		}
		x, y = xx-yy+cx, float32(2*x*y)+cy
	}
	return most
}
