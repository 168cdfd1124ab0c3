package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/gokernels/mandelbrot"
	"github.com/go-halyard/halyard/examples/gokernels/saxpy"
	"github.com/go-halyard/halyard/examples/gokernels/stencil"
	"github.com/go-halyard/halyard/hal"
)

// onHost returns the rows with kernels on the host beside loops by hand, with n×n elements each. Blocks have the size that the host suggests.
func onHost(n int) []contest {
	count := n * n
	x, y := numbers(count, 1), numbers(count, 2)
	// The loop by hand divides the view among the processors beforehand, so this is a view whose halves take the same time.
	view := mandelbrot.View{Left: -2, Top: -1.25, Step: 2.5 / float32(n), Width: int32(n), Height: int32(n), Rounds: 100}
	whole := x[:count/sorted*sorted] // of blocks
	sums, ordered := make([]float32, count/sorted), slices.Clone(whole)
	blockSums(whole, sums)
	for at := 0; at < len(ordered); at += sorted {
		slices.Sort(ordered[at : at+sorted])
	}
	parts := hal.Blocks(count / sorted).Of(sorted)
	return []contest{
		{"sums of blocks", fmt.Sprint(count), host, onHostAs, loop([][]float32{whole, make([]float32, len(sums))}, [][]float32{whole, sums},
			func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) error {
				return SumsOn(ctx, s, parts, b[0], b[1])
			},
			func(b [][]float32) { blockSums(b[0], b[1]) }), false},
		{"bitonic sorts, with barriers", fmt.Sprint(count), host, onHostAs, loop([][]float32{whole, make([]float32, len(whole))}, [][]float32{whole, ordered},
			func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) error {
				return BitonicOn(ctx, s, parts, b[0], b[1])
			},
			func(b [][]float32) { bitonicSorts(b[0], b[1]) }), false},
		{"saxpy", fmt.Sprint(count), host, onHostAs, loop([][]float32{x, y}, [][]float32{x, axpy(1.7, x, y)},
			func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) error {
				return saxpy.SaxpyOn(ctx, s, hal.Over(count), 1.7, b[0], b[1])
			},
			func(b [][]float32) { addScaled(1.7, b[0], b[1]) }), false},
		{"5-point stencil", square(n), host, onHostAs, loop([][]float32{x, y}, [][]float32{x, smoothed(n, x)},
			func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) error {
				return stencil.SmoothOn(ctx, s, hal.Over(n, n), int32(n), int32(n), b[0], b[1])
			},
			func(b [][]float32) { smooth(n, b[0], b[1]) }), false},
		{"Mandelbrot", square(n), host, onHostAs, loop([][]int32{make([]int32, count)}, [][]int32{rounds(&view)},
			func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[int32]) error {
				return mandelbrot.MandelbrotOn(ctx, s, hal.Over(n, n), view, b[0])
			},
			func(b [][]int32) { leave(&view, b[0]) }), false},
	}
}

// loop returns a readier for a kernel on buffers, and a loop by hand that does the same on slices. Each has its own data.
func loop[T float32 | int32](in, want [][]T, launch func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[T]) error, byHand func(b [][]T)) readier {
	return func(ctx context.Context, s *hal.Stream) (ours, hand, close func() error, err error) {
		buffers, close, err := buffersOf(in)
		if err != nil {
			return nil, nil, nil, err
		}
		own := make([][]T, len(in))
		for i := range in {
			own[i] = slices.Clone(in[i])
		}
		ours = synced(ctx, s, func() error { return launch(ctx, s, buffers) })
		hand = func() error { byHand(own); return nil }
		err = errors.Join(ours(), hand())
		if err == nil {
			err = same(ctx, buffers, want, 0)
		}
		for i := range own {
			if err == nil {
				err = compare(own[i], want[i], 0)
			}
		}
		if err != nil {
			return nil, nil, nil, errors.Join(err, close())
		}
		return ours, hand, close, nil
	}
}

// parallel runs a loop over the numbers below n, a part of them on each processor.
func parallel(n int, loop func(from, to int)) {
	var wg sync.WaitGroup
	parts := runtime.GOMAXPROCS(0)
	for p := range parts {
		wg.Go(func() { loop(n*p/parts, n*(p+1)/parts) })
	}
	wg.Wait()
}

func addScaled(a float32, x, y []float32) {
	parallel(len(y), func(from, to int) {
		x, y := x[from:to], y[from:to]
		for i := range y {
			y[i] += float32(a * x[i])
		}
	})
}

func smooth(n int, from, to []float32) {
	parallel(n, func(top, bottom int) {
		for y := top; y < bottom; y++ {
			row, out := from[y*n:(y+1)*n], to[y*n:(y+1)*n]
			if y == 0 || y == n-1 {
				copy(out, row)
				continue
			}
			above, below := from[(y-1)*n:y*n], from[(y+1)*n:(y+2)*n]
			out[0], out[n-1] = row[0], row[n-1]
			for x := 1; x < n-1; x++ {
				out[x] = (row[x-1] + row[x+1] + above[x] + below[x]) * 0.25
			}
		}
	})
}

func leave(v *mandelbrot.View, rounds []int32) {
	parallel(int(v.Height), func(top, bottom int) {
		for py := top; py < bottom; py++ {
			row, cy := rounds[py*int(v.Width):(py+1)*int(v.Width)], v.Top+float32(float32(py)*v.Step)
			for px := range row {
				cx := v.Left + float32(float32(px)*v.Step)
				x, y, n := float32(0), float32(0), int32(0)
				for ; n < v.Rounds; n++ {
					xx, yy := float32(x*x), float32(y*y)
					if xx+yy > 4 {
						break
					}
					x, y = xx-yy+cx, float32(2*x*y)+cy
				}
				row[px] = n
			}
		}
	})
}
