package part_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/testing/divided"
)

// BenchmarkExchange is one exchange on each of two ranks, which share the processors and the count of allocations.
func BenchmarkExchange(b *testing.B) {
	for _, bench := range []struct {
		name  string
		clean bool
		l     part.Layout
		h     part.Halo
	}{
		{"clean/1-D", true, part.Block(2000), part.Width(8)},
		{"dirty/1-D", false, part.Block(2000), part.Width(8)},
		{"clean/rows", true, part.Grid([]int{256, 256}, []int{2, 1}), part.Width(1, 0)},
		{"dirty/rows", false, part.Grid([]int{256, 256}, []int{2, 1}), part.Width(1, 0)},
		{"dirty/columns", false, part.Grid([]int{256, 256}, []int{1, 2}), part.Width(0, 1)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			err := commtest.Execute(2, func(e driver.Engine) error {
				ctx, c := context.Background(), comm.New(e)
				u, err := part.New[float64](ctx, c, bench.l, bench.h)
				if err != nil {
					return err
				}
				write := func(v float64) error {
					if u.Owned() != nil {
						return u.Owned().Fill(ctx, v)
					}
					return u.Local().Fill(ctx, v)
				}
				for i := range b.N {
					if !bench.clean {
						if err := write(float64(i)); err != nil {
							return err
						}
					}
					if _, err := u.Exchange(ctx); err != nil {
						return err
					}
				}
				if err := u.Close(); err != nil {
					return err
				}
				return c.Close()
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkLaunchAmong is one step of heat, alone and on each of two ranks.
func BenchmarkLaunchAmong(b *testing.B) {
	for _, ranks := range []int{1, 2} {
		b.Run(fmt.Sprint(ranks), func(b *testing.B) {
			b.ReportAllocs()
			err := commtest.Execute(ranks, func(e driver.Engine) error {
				ctx, c := context.Background(), comm.New(e)
				q := part.Among(ctx, halyard.Open(ctx, "host:0"), c)
				now, next := halyard.New[float32](q.Queue, 256*256), halyard.New[float32](q.Queue, 256*256)
				for range b.N {
					divided.Spread(q.Over(256, 256), 256, 256, now, next)
					now, next = next, now
				}
				return errors.Join(q.Close(), c.Close())
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
