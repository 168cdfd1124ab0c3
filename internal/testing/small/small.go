// Package small has kernels in Go for the tests of package halyard.
package small

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

//halyard:kernel
func saxpy(t grid.Thread, a float32, x, y []float32) {
	if i := t.Global(0); i < len(y) {
		y[i] += float32(a * x[i])
	}
}

// Frame is a size in pixels.
type Frame struct{ Width, Height int32 }

//halyard:kernel
func paint(t grid.Thread, f Frame, image grid.Out[int32]) {
	x, y, w := t.Global(0), t.Global(1), int(f.Width)
	if x >= w || y >= int(f.Height) {
		return
	}
	image[y*w+x] = int32(10*y + x)
}

//halyard:kernel
func pairs(t grid.Thread, from []int32, sums grid.Out[int32]) {
	n := len(from) / 2
	if i := t.Global(0); i < n {
		sums[i] = from[2*i] + from[2*i+1]
	}
}

// number needs a grid of the program's: its data do not say how many threads there are.
//
//halyard:kernel
func number(t grid.Thread, out []int32) {
	out[t.Global(0)] = int32(t.Global(0))
}

// Body is an element with fields.
type Body struct {
	At, Speed [2]float32
	Fixed     bool
}

func (b *Body) move(dt float32) {
	for d := range b.At {
		b.At[d] += float32(dt * b.Speed[d])
	}
}

//halyard:kernel
func step(t grid.Thread, dt float32, bodies []Body) {
	if i := t.Global(0); i < len(bodies) && !bodies[i].Fixed {
		bodies[i].move(dt)
	}
}

//halyard:kernel
func mirror(t grid.Thread, from grid.Matrix[float32], to grid.OutMatrix[float32]) {
	if i, j := t.Global(1), t.Global(0); i < to.Rows() && j < to.Cols() {
		to.Set(i, j, from.At(i, to.Cols()-1-j))
	}
}
