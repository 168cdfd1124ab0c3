package grid_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

func saxpy(t grid.Thread, a float32, x, y []float32) {
	if i := t.Global(0); i < len(y) {
		y[i] += float32(a * x[i])
	}
}

func stencil(t grid.Thread, width, height int32, from []float32, to grid.Out[float32]) {
	x, y, w := t.Global(0), t.Global(1), int(width)
	if x >= w || y >= int(height) {
		return
	}
	i := y*w + x
	if x == 0 || y == 0 || x == w-1 || y == int(height)-1 {
		to[i] = from[i]
		return
	}
	to[i] = (from[i-1] + from[i+1] + from[i-w] + from[i+w]) * 0.25
}

func mandelbrot(t grid.Thread, width, height int32, step float32, rounds grid.Out[int32]) {
	px, py := t.Global(0), t.Global(1)
	if px >= int(width) || py >= int(height) {
		return
	}
	cx, cy := float32(px)*step-2, float32(py)*step-1.25
	x, y, n := float32(0), float32(0), int32(0)
	for n < 100 && float32(x*x)+float32(y*y) <= 4 {
		x, y = float32(x*x)-float32(y*y)+cx, float32(2*x*y)+cy
		n++
	}
	rounds[py*int(width)+px] = n
}

// parallel runs a loop over the numbers below n on all processors, a piece each time.
func parallel(n, piece int, loop func(from, to int)) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	next := 0
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				mu.Lock()
				from := next
				next += piece
				mu.Unlock()
				if from >= n {
					return
				}
				loop(from, min(from+piece, n))
			}
		})
	}
	wg.Wait()
}

// fivePoint is what the kernel stencil computes.
func fivePoint(width, height int, from, to []float32) {
	parallel(height, 32, func(top, bottom int) {
		for y := top; y < bottom; y++ {
			for x := range width {
				i := y*width + x
				if x == 0 || y == 0 || x == width-1 || y == height-1 {
					to[i] = from[i]
				} else {
					to[i] = (from[i-1] + from[i+1] + from[i-width] + from[i+width]) * 0.25
				}
			}
		}
	})
}

// A kernel in Go beside a parallel loop written by hand, on data of 1 MiB. They run in turn, and the fastest run of each counts: %hand is the speed
// of the kernel in per cent of that of the loop. The compiler puts saxpy in the place of its call, but not stencil, which is too long for that.
func BenchmarkHost(b *testing.B) {
	const width, height = 512, 512
	const n = width * height
	ctx := context.Background()
	dev, err := hal.OpenWith(ctx, host.New(host.Options{Name: "grid"}), 0)
	require.NoError(b, err)
	stream, err := dev.NewStream()
	require.NoError(b, err)
	x, err := buffer.New[float32](n)
	require.NoError(b, err)
	y, err := buffer.New[float32](n)
	require.NoError(b, err)
	rounds, err := buffer.New[int32](n)
	require.NoError(b, err)
	defer func() { require.NoError(b, hal.CloseAll(dev, stream, x, y, rounds)) }()
	program := kernel.New(kernel.Source{Go: kernel.Functions{
		"saxpy": kernel.Go(func(b *kernel.Block) {
			a, x, y := kernel.Number[float32](b, 0), kernel.Slice[float32](b, 1), kernel.Slice[float32](b, 2)
			for t := range grid.Threads(b) {
				saxpy(t, a, x, y)
			}
		}),
		"stencil": kernel.Go(func(b *kernel.Block) {
			width, height := kernel.Number[int32](b, 0), kernel.Number[int32](b, 1)
			from, to := kernel.Slice[float32](b, 2), kernel.Slice[float32](b, 3)
			for t := range grid.Threads(b) {
				stencil(t, width, height, from, to)
			}
		}),
		"stencil in place": kernel.Go(func(b *kernel.Block) {
			width, height := kernel.Number[int32](b, 0), kernel.Number[int32](b, 1)
			from, to := kernel.Slice[float32](b, 2), kernel.Slice[float32](b, 3)
			for t := range grid.Threads(b) {
				x, y, w := t.Global(0), t.Global(1), int(width)
				if x >= w || y >= int(height) {
					continue
				}
				i := y*w + x
				if x == 0 || y == 0 || x == w-1 || y == int(height)-1 {
					to[i] = from[i]
					continue
				}
				to[i] = (from[i-1] + from[i+1] + from[i-w] + from[i+w]) * 0.25
			}
		}),
		"mandelbrot": kernel.Go(func(b *kernel.Block) {
			width, height, step := kernel.Number[int32](b, 0), kernel.Number[int32](b, 1), kernel.Number[float32](b, 2)
			rounds := kernel.Slice[int32](b, 3)
			for t := range grid.Threads(b) {
				mandelbrot(t, width, height, step, rounds)
			}
		}),
	}})
	hx, hy, hr := make([]float32, n), make([]float32, n), make([]int32, n)
	a := float32(1.0001)
	launchStencil := func(name string) func() error {
		return func() error {
			return program.Kernel(name).Launch(ctx, stream, hal.Over(width, height),
				kernel.Value[int32](width), kernel.Value[int32](height), kernel.In(x), kernel.Out(y))
		}
	}
	for _, c := range []struct {
		name   string
		launch func() error
		hand   func()
	}{
		{"saxpy", func() error {
			return program.Kernel("saxpy").Launch(ctx, stream, hal.Over(n), kernel.Value(a), kernel.In(x), kernel.InOut(y))
		}, func() {
			parallel(n, 1<<14, func(from, to int) {
				for i := from; i < to; i++ {
					hy[i] += float32(a * hx[i])
				}
			})
		}},
		{"stencil", launchStencil("stencil"), func() { fivePoint(width, height, hx, hy) }},
		{"stencil in place", launchStencil("stencil in place"), func() { fivePoint(width, height, hx, hy) }},
		{"mandelbrot", func() error {
			return program.Kernel("mandelbrot").Launch(ctx, stream, hal.Over(width, height), kernel.Value[int32](width), kernel.Value[int32](height), kernel.Value[float32](3.0/width), kernel.Out(rounds))
		}, func() {
			parallel(height, 8, func(top, bottom int) {
				for py := top; py < bottom; py++ {
					cy := float32(py)*(3.0/width) - 1.25
					for px := range width {
						cx := float32(px)*(3.0/width) - 2
						x, y, n := float32(0), float32(0), int32(0)
						for n < 100 && float32(x*x)+float32(y*y) <= 4 {
							x, y = float32(x*x)-float32(y*y)+cx, float32(2*x*y)+cy
							n++
						}
						hr[py*width+px] = n
					}
				}
			})
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			kernelTime, handTime := time.Hour, time.Hour
			for range b.N {
				begin := time.Now()
				if err := c.launch(); err != nil {
					b.Fatal(err)
				}
				if err := stream.Sync(ctx); err != nil {
					b.Fatal(err)
				}
				middle := time.Now()
				c.hand()
				kernelTime, handTime = min(kernelTime, middle.Sub(begin)), min(handTime, time.Since(middle))
			}
			b.ReportMetric(float64(kernelTime.Nanoseconds()), "ns/kernel")
			b.ReportMetric(float64(handTime.Nanoseconds()), "ns/hand")
			b.ReportMetric(100*float64(handTime)/float64(kernelTime), "%hand")
		})
	}
}

// Small launches and their waits, of a kernel whose steps are known, which the caller may run itself, and of the same one whose steps are not. They take
// turns; the metrics are the mean times, and the second divided by the first.
func BenchmarkSmallLaunches(b *testing.B) {
	ctx := context.Background()
	dev, err := hal.OpenWith(ctx, host.New(host.Options{Name: "small"}), 0)
	require.NoError(b, err)
	stream, err := dev.NewStream()
	require.NoError(b, err)
	defer func() { require.NoError(b, hal.CloseAll(dev, stream)) }()
	run := func(b *kernel.Block) {
		a, x, y := kernel.Number[float32](b, 0), kernel.Slice[float32](b, 1), kernel.Slice[float32](b, 2)
		for t := range grid.Threads(b) {
			saxpy(t, a, x, y)
		}
	}
	program := kernel.New(kernel.Source{Go: kernel.Functions{"known": gridgen.Bounded([]uint32{23}, run), "not known": kernel.Go(run)}})
	known, other := program.Kernel("known"), program.Kernel("not known")
	for _, n := range []int{64, 512, 4096, 16384} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x, err := buffer.New[float32](n)
			require.NoError(b, err)
			y, err := buffer.New[float32](n)
			require.NoError(b, err)
			defer func() { require.NoError(b, hal.CloseAll(x, y)) }()
			var spent [2]time.Duration
			for b.Loop() {
				for i, k := range []*kernel.Kernel{known, other} {
					begin := time.Now()
					for range 20 {
						if err := errors.Join(k.Launch(ctx, stream, hal.Over(n), kernel.Value(float32(1.0001)), kernel.In(x), kernel.InOut(y)), stream.Sync(ctx)); err != nil {
							b.Fatal(err)
						}
					}
					spent[i] += time.Since(begin)
				}
			}
			b.ReportMetric(float64(spent[0].Nanoseconds())/float64(20*b.N), "known-ns")
			b.ReportMetric(float64(spent[1].Nanoseconds())/float64(20*b.N), "other-ns")
			b.ReportMetric(float64(spent[1])/float64(spent[0]), "other/known")
		})
	}
}
