// Package divided has kernels in Go for tests of launches that are divided among devices.
package divided

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import (
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// Kernel returns the kernel with that name in Go.
func Kernel(name string) *kernel.Kernel { return kernels.Kernel(name) }

// place is the place of a thread in a grid of nx*ny*... threads.
func place(t grid.Thread, nx, ny int) int { return (t.Global(2)*ny+t.Global(1))*nx + t.Global(0) }

// sizes is a number that is the same for all threads of a grid.
func sizes(t grid.Thread) int32 { return int32(10000*t.Blocks(2) + 100*t.Blocks(1) + t.Blocks(0)) }

// places writes what each thread knows about its place.
//
//halyard:kernel
func places(t grid.Thread, nx, ny int32, out []int32) {
	at := 4 * place(t, int(nx), int(ny))
	out[at] = int32(1 + t.Global(0) + 100*t.Global(1) + 10000*t.Global(2))
	out[at+1] = int32(t.Block(0) + 100*t.Block(1) + 10000*t.Block(2))
	out[at+2] = int32(t.Local(0) + 100*t.Local(1) + 10000*t.Local(2))
	out[at+3] = sizes(t)
}

//halyard:kernel
func saxpy(t grid.Thread, a float32, x, y []float32) {
	if i := t.Global(0); i < len(y) {
		y[i] += float32(a * x[i])
	}
}

// spread is a step of heat on a plate whose border does not change.
//
//halyard:kernel
func spread(t grid.Thread, width, height int32, from []float32, to grid.Out[float32]) {
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

const side = 8

// product multiplies n*n matrices by tiles.
//
//halyard:kernel
func product(t grid.Thread, size int32, a, b []float32, c grid.Out[float32]) {
	at := grid.Shared[[side][side]float32](t)
	bt := grid.Shared[[side][side]float32](t)
	x, y, col, row, n := t.Local(0), t.Local(1), t.Global(0), t.Global(1), int(size)
	sum := float32(0)
	for k := 0; k < n; k += side {
		at[y][x], bt[y][x] = 0, 0
		if row < n && k+x < n {
			at[y][x] = a[row*n+k+x]
		}
		if col < n && k+y < n {
			bt[y][x] = b[(k+y)*n+col]
		}
		t.Barrier()
		for i := 0; i < side; i++ {
			sum += float32(at[y][i] * bt[i][x])
		}
		t.Barrier()
	}
	if row < n && col < n {
		c[row*n+col] = sum
	}
}

// Body is a place and a speed.
type Body struct{ At, Speed [2]float32 }

// pull moves each body towards all others.
//
//halyard:kernel
func pull(t grid.Thread, dt float32, from []Body, to grid.Out[Body]) {
	i := t.Global(0)
	if i >= len(to) {
		return
	}
	b := from[i]
	for j := 0; j < len(from); j++ {
		dx, dy := from[j].At[0]-b.At[0], from[j].At[1]-b.At[1]
		s := dt / (1 + float32(dx*dx) + float32(dy*dy))
		b.Speed[0] += float32(s * dx)
		b.Speed[1] += float32(s * dy)
	}
	b.At[0] += float32(dt * b.Speed[0])
	b.At[1] += float32(dt * b.Speed[1])
	to[i] = b
}

// mandelbrot counts steps until a point leaves.
//
//halyard:kernel
func mandelbrot(t grid.Thread, image grid.OutMatrix[int32]) {
	row, col := t.Global(1), t.Global(0)
	if row >= image.Rows() || col >= image.Cols() {
		return
	}
	cx, cy := float32(col)/float32(image.Cols())*3-2, float32(row)/float32(image.Rows())*2-1
	x, y, n := float32(0), float32(0), int32(0)
	for n < 100 && float32(x*x)+float32(y*y) < 4 {
		x, y = float32(x*x)-float32(y*y)+cx, float32(2*x*y)+cy
		n++
	}
	image.Set(row, col, n)
}

// blur writes the mean of the five rows around each element.
//
//halyard:kernel
func blur(t grid.Thread, from grid.Matrix[float32], to grid.OutMatrix[float32]) {
	i, j := t.Global(1), t.Global(0)
	if i >= to.Rows() || j >= to.Cols() {
		return
	}
	sum := float32(0)
	for d := -2; d <= 2; d++ {
		sum += from.At(min(max(i+d, 0), from.Rows()-1), j)
	}
	to.Set(i, j, sum/5)
}

// laplace is the matrix of a conjugate gradient, applied to x.
//
//halyard:kernel
func laplace(t grid.Thread, x []float32, y grid.Out[float32]) {
	i := t.Global(0)
	if i >= len(y) {
		return
	}
	sum := 2.5 * x[i]
	if i > 0 {
		sum -= x[i-1]
	}
	if i+1 < len(x) {
		sum -= x[i+1]
	}
	y[i] = sum
}

const chunk = 16

// dot writes the product of a chunk of x with one of y for each thread.
//
//halyard:kernel
func dot(t grid.Thread, x, y []float32, sums grid.Out[float32]) {
	i := t.Global(0)
	if i >= len(sums) {
		return
	}
	sum := float32(0)
	for j := i * chunk; j < min((i+1)*chunk, len(x)); j++ {
		sum += float32(x[j] * y[j])
	}
	sums[i] = sum
}

// count is a histogram: it cannot be divided.
//
//halyard:kernel
func count(t grid.Thread, x []float32, bins []int32) {
	if i := t.Global(0); i < len(x) {
		grid.AtomicAdd(&bins[int(x[i])%len(bins)], 1)
	}
}
