package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/algo"
)

//go:embed algo.cl
var algoText string

// algoByHand are the kernels of package algo by hand.
var algoByHand = kernel.New(kernel.Source{Name: "algo by hand", OpenCL: algoText})

const (
	chunk  = 2048 // elements of a block
	digits = 16
)

func chunks(n int) int { return (n + chunk - 1) / chunk }

// algorithms returns the functions of package algo, with n elements each. Those by hand have their temporary memory beforehand: the buffers
// from b[2] on.
func algorithms(n int) []work {
	x, many, ones := numbers(n, 5), make([]float32, 16*n), float32(0)
	for i := range many {
		many[i] = float32(int(x[i%n]*1000) & 1)
		ones += many[i]
	}
	whole := make([]float32, n) // sums of whole numbers are not rounded
	sums, sum := make([]float32, n), float32(0)
	for i := range whole {
		whole[i] = float32(int(x[i]*1000) % 7)
		sum += whole[i]
		sums[i] = sum
	}
	sorted, c := slices.Sorted(slices.Values(x)), chunks(n)
	temporary := func(n int) []float32 { return make([]float32, n) }
	return []work{
		{name: "algo.Sum", size: fmt.Sprint(len(many)), in: [][]float32{many, {0}, temporary(chunks(len(many)))}, want: [][]float32{many, {ones}, nil}, long: true,
			sides: func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) (ours, hand func() error) {
				size := 4 * chunk
				parts := (len(many) + size - 1) / size
				q, first, second := halyard.On(ctx, s), of(ctx, s, "algo_total", parts*chunk), of(ctx, s, "algo_total", chunk)
				return func() error {
						algo.Sum(q, b[0], b[1])
						return q.Err()
					}, func() error {
						return errors.Join(first(number(size), kernel.In(b[0]), number(len(many)), kernel.Out(b[2])),
							second(number(parts), kernel.In(b[2]), number(parts), kernel.Out(b[1])))
					}
			}},
		{name: "algo.Scan", size: fmt.Sprint(n), in: [][]float32{whole, temporary(n), temporary(c)}, want: [][]float32{whole, sums, nil},
			sides: func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) (ours, hand func() error) {
				q, first, second, third := halyard.On(ctx, s), of(ctx, s, "algo_total", n), of(ctx, s, "algo_scan", c), of(ctx, s, "algo_scan", n)
				return func() error {
						algo.Scan(q, b[0], b[1])
						return q.Err()
					}, func() error {
						return errors.Join(first(number(chunk), kernel.In(b[0]), number(n), kernel.Out(b[2])),
							second(kernel.In(b[2]), kernel.In(b[2]), number(1), number(1), number(c), kernel.InOut(b[2])),
							third(kernel.In(b[0]), kernel.In(b[2]), number(c), number(0), number(n), kernel.Out(b[1])))
					}
			}},
		{name: "algo.Sort", size: fmt.Sprint(n), in: [][]float32{x, temporary(n), temporary(digits * c), temporary(chunks(digits * c))}, want: [][]float32{sorted, nil, nil, nil},
			sides: func(ctx context.Context, s *hal.Stream, b []*buffer.Buffer[float32]) (ours, hand func() error) {
				m := digits * c
				q, count, scatter := halyard.On(ctx, s), of(ctx, s, "algo_count", n), of(ctx, s, "algo_scatter", n)
				total, small, large := of(ctx, s, "algo_total_counts", m), of(ctx, s, "algo_scan_counts", chunks(m)), of(ctx, s, "algo_scan_counts", m)
				return func() error {
						algo.Sort(q, b[0])
						return q.Err()
					}, func() (err error) {
						from, to := b[0], b[1]
						for shift := uint32(0); shift < 32; shift += 4 {
							err = errors.Join(err, count(kernel.In(from), kernel.Value(shift), number(n), kernel.Out(b[2])),
								total(kernel.In(b[2]), number(m), kernel.Out(b[3])),
								small(kernel.In(b[3]), kernel.In(b[3]), number(1), number(1), number(chunks(m)), kernel.InOut(b[3])),
								large(kernel.In(b[2]), kernel.In(b[3]), number(chunks(m)), number(1), number(m), kernel.InOut(b[2])),
								scatter(kernel.In(from), kernel.In(b[2]), kernel.Value(shift), number(n), kernel.Out(to)))
							from, to = to, from
						}
						return err
					}
			}},
	}
}

func number(n int) kernel.Arg { return kernel.Value(int32(n)) }

// of returns a function that launches a kernel by hand with a block for each chunk of n elements.
func of(ctx context.Context, s *hal.Stream, name string, n int) func(args ...kernel.Arg) error {
	k, over := algoByHand.Kernel(name), hal.Blocks(chunks(n)).Of(together)
	return func(args ...kernel.Arg) error { return k.Launch(ctx, s, over, args...) }
}
