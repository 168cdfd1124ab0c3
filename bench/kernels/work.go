package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/gokernels/cg"
	"github.com/go-halyard/halyard/examples/gokernels/matmul"
	"github.com/go-halyard/halyard/examples/gokernels/saxpy"
	"github.com/go-halyard/halyard/examples/gokernels/stencil"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// work is one kernel with its data, and the two ways to run it: translated, and by hand. Both read and write the same buffers.
type work struct {
	name, size string
	in         [][]float32 // contents of the buffers before a run
	want       [][]float32 // contents after it, computed by plain Go
	within     float64     // how far results may be from these, as a part of them: 0 for those that have the same bits
	long       bool        // a run takes long, and is timed a tenth as often
	sides      func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) (ours, hand func() error)
}

//go:embed hand.cl
var text string

// byHand are the kernels by hand. The option makes them round quotients as Go does.
var byHand = kernel.New(kernel.Source{Name: "by hand", OpenCL: text, Options: map[hal.Language][]string{hal.LanguageOpenCLC: {"-cl-fp32-correctly-rounded-divide-sqrt"}}})

// launch returns a function that launches a kernel by hand.
func launch(ctx context.Context, s *hal.Stream, name string, over hal.Grid, args ...kernel.Arg) func() error {
	k := byHand.Kernel(name)
	return func() error { return k.Launch(ctx, s, over, args...) }
}

const (
	tile     = 32 // the edge of a block of the examples' matmul
	block    = 64 // threads of a block of the examples' cg that adds numbers up
	edge     = 32 // of the blocks of a grid in two dimensions: edge threads by lines
	lines    = 8
	together = 256 // threads of a block in one dimension
)

// numbers returns n numbers that are neither equal nor in order, from 0.5 to 1.5.
func numbers(n int, seed uint32) []float32 {
	list := make([]float32, n)
	for i := range list {
		seed = seed*1664525 + 1013904223
		list[i] = 0.5 + float32(seed>>8)/(1<<24)
	}
	return list
}

func square(n int) string { return fmt.Sprintf("%d × %d", n, n) }

// works returns all kernels, with n×n elements each, four times that for the matrix product, and 8*n rows of n elements for softmax.
func works(n int) []work {
	count, i32 := n*n, kernel.Value(int32(n))
	all := hal.Over(count).Of(together)
	plane := hal.Over(n, n).Of(edge, lines)
	length := kernel.Value(int32(count))
	x, y := numbers(count, 1), numbers(count, 2)
	m, rows := 2*n, 8*n
	u, v, m32, r := numbers(m*m, 3), numbers(m*m, 4), kernel.Value(int32(m)), numbers(rows*n, 5)
	return []work{
		{name: "saxpy", size: fmt.Sprint(count), in: [][]float32{x, y}, want: [][]float32{x, axpy(1.7, x, y)},
			sides: func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) (ours, hand func() error) {
				return func() error { return saxpy.SaxpyOn(ctx, s, all, 1.7, b[0], b[1]) },
					launch(ctx, s, "saxpy", all, length, kernel.Value(float32(1.7)), kernel.In(b[0]), kernel.InOut(b[1]))
			}},
		{name: "5-point stencil", size: square(n), in: [][]float32{x, y}, want: [][]float32{x, smoothed(n, x)},
			sides: func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) (ours, hand func() error) {
				return func() error { return stencil.SmoothOn(ctx, s, plane, int32(n), int32(n), b[0], b[1]) },
					launch(ctx, s, "smooth", plane, i32, i32, kernel.In(b[0]), kernel.Out(b[1]))
			}},
		{name: "softmax", size: fmt.Sprintf("%d × %d", rows, n), in: [][]float32{r, make([]float32, rows*n)}, want: [][]float32{r, softmaxed(n, r)}, within: 1e-5,
			sides: func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) (ours, hand func() error) {
				all := hal.Blocks(rows).Of(together)
				return func() error { return SoftmaxOn(ctx, s, all, kernel.InRows(b[0], n), kernel.InRows(b[1], n)) },
					launch(ctx, s, "softmax", all, kernel.In(b[0]), kernel.Out(b[1]), i32)
			}},
		{name: "tiled matrix product", size: square(m), in: [][]float32{u, v, make([]float32, m*m)}, want: [][]float32{u, v, product(m, u, v)}, long: true,
			sides: func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) (ours, hand func() error) {
				tiles := hal.Over(m, m).Of(tile, tile)
				return func() error {
						return matmul.MatmulOn(ctx, s, tiles, kernel.InRows(b[0], m), kernel.InRows(b[1], m), kernel.InRows(b[2], m))
					},
					launch(ctx, s, "matmul", tiles, m32, m32, m32, kernel.In(b[0]), kernel.In(b[1]), kernel.Out(b[2]))
			}},
		{name: "CG: matrix", size: square(n), in: [][]float32{x, y}, want: [][]float32{x, laplacian(n, x)},
			sides: func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) (ours, hand func() error) {
				return func() error { return cg.LaplaceOn(ctx, s, plane, b[0], b[1], n) },
					launch(ctx, s, "laplace", plane, kernel.In(b[0]), kernel.Out(b[1]), i32)
			}},
		{name: "CG: dot product", size: square(n), in: [][]float32{x, y, make([]float32, n), {0}}, want: [][]float32{x, y, rowSums(n, x, y), {blockSum(rowSums(n, x, y))}},
			sides: func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) (ours, hand func() error) {
				rows, one := hal.Blocks(n).Of(block), hal.Blocks(1).Of(block)
				first := launch(ctx, s, "product", rows, kernel.In(b[0]), kernel.In(b[1]), kernel.Out(b[2]), i32)
				second := launch(ctx, s, "total", one, kernel.In(b[2]), i32, kernel.Out(b[3]))
				return func() error {
						return errors.Join(cg.ProductOn(ctx, s, rows, b[0], b[1], b[2], n), cg.TotalOn(ctx, s, one, b[2], b[3]))
					}, func() error {
						return errors.Join(first(), second())
					}
			}},
		{name: "CG: step", size: fmt.Sprint(count), in: [][]float32{x, y, x, y, {2}, {3}}, want: [][]float32{axpy(2.0/3, x, x), axpy(-2.0/3, y, y), x, y, {2}, {3}},
			sides: func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) (ours, hand func() error) {
				return func() error { return cg.AdvanceOn(ctx, s, all, b[0], b[1], b[2], b[3], b[4], b[5]) },
					launch(ctx, s, "advance", all, length, kernel.InOut(b[0]), kernel.InOut(b[1]), kernel.In(b[2]), kernel.In(b[3]), kernel.In(b[4]), kernel.In(b[5]))
			}},
		{name: "CG: direction", size: fmt.Sprint(count), in: [][]float32{x, y, {2}, {3}}, want: [][]float32{axpy(2.0/3, x, y), y, {2}, {3}},
			sides: func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) (ours, hand func() error) {
				return func() error { return cg.DirectOn(ctx, s, all, b[0], b[1], b[2], b[3]) },
					launch(ctx, s, "direct", all, length, kernel.InOut(b[0]), kernel.In(b[1]), kernel.In(b[2]), kernel.In(b[3]))
			}},
	}
}

// compare says where two lists differ by more than a part of the wanted numbers.
func compare[T float32 | int32](got, want []T, within float64) error {
	for i := range want {
		if got[i] != want[i] && !(math.Abs(float64(got[i])-float64(want[i])) <= within*math.Abs(float64(want[i]))) {
			return fmt.Errorf("element %d is %v instead of %v", i, got[i], want[i])
		}
	}
	return nil
}

// same says where buffers differ from the wanted contents.
func same[T float32 | int32](ctx context.Context, buffers []*buffer.Buffer[T], want [][]T, within float64) error {
	for i, b := range buffers {
		got := make([]T, b.Len())
		if err := b.CopyOut(ctx, got); err != nil {
			return err
		}
		if err := compare(got, want[i], within); err != nil {
			return fmt.Errorf("buffer %d: %w", i, err)
		}
	}
	return nil
}

// buffersOf returns buffers with the given contents, and a function that closes them.
func buffersOf[T float32 | int32](in [][]T) (buffers []*buffer.Buffer[T], close func() error, err error) {
	close = func() (err error) {
		for _, b := range buffers {
			err = errors.Join(err, b.Close())
		}
		return err
	}
	for _, list := range in {
		b, err := buffer.From(list)
		if err != nil {
			return nil, nil, errors.Join(err, close())
		}
		buffers = append(buffers, b)
	}
	return buffers, close, nil
}

// synced returns a function that launches and waits.
func synced(ctx context.Context, s *hal.Stream, launch func() error) func() error {
	return func() error {
		if err := launch(); err != nil {
			return err
		}
		return s.Sync(ctx)
	}
}

// ready makes the buffers of a work on a device, and runs each side once on fresh contents. The result must have the same bits as that of plain Go.
func (w *work) ready(ctx context.Context, s *hal.Stream) (ours, hand, close func() error, err error) {
	buffers, close, err := buffersOf(w.in)
	if err != nil {
		return nil, nil, nil, err
	}
	ours, hand = w.sides(ctx, s, buffers)
	ours, hand = synced(ctx, s, ours), synced(ctx, s, hand)
	for i, run := range []func() error{ours, hand} {
		for k, b := range buffers {
			err = errors.Join(err, b.CopyIn(ctx, w.in[k]))
		}
		if err == nil {
			err = run()
		}
		if err == nil {
			err = same(ctx, buffers, w.want, w.within)
		}
		if err != nil {
			return nil, nil, nil, errors.Join(fmt.Errorf("%s: %w", sideNames[i], err), close())
		}
	}
	return ours, hand, close, nil
}

var sideNames = [...]string{"translated", "by hand"}
