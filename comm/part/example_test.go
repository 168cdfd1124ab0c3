package part_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/testing/around"
)

// Three ranks have four numbers each, and one ghost of each neighbour's. The second exchange sends what was written since the first.
func Example() {
	err := commtest.Execute(3, func(e driver.Engine) error {
		ctx, c := context.Background(), comm.New(e)
		defer c.Close()
		u, err := part.New[float64](ctx, c, part.Block(12), part.Width(1))
		if err != nil {
			return err
		}
		defer u.Close()
		if err := u.Owned().Fill(ctx, float64(c.Rank())); err != nil {
			return err
		}
		for range 2 {
			moved, err := u.Exchange(ctx)
			if err != nil {
				return err
			}
			if c.Rank() == 1 {
				if err := u.Local().View(ctx, func(s []float64) error { fmt.Println(s, moved.Bytes, "bytes"); return nil }); err != nil {
					return err
				}
			}
			if err := u.Owned().Set(ctx, 0, 7); err != nil { // the first of the owned elements
				return err
			}
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// [0 1 1 1 1 2] 16 bytes
	// [0 7 1 1 1 7] 8 bytes
	// <nil>
}

// A program for one device runs on three ranks. In the second step each rank receives from its neighbours the two elements beside its part.
func ExampleAmong() {
	err := commtest.Execute(3, func(e driver.Engine) error {
		ctx, c := context.Background(), comm.New(e)
		defer c.Close()
		q := part.Among(ctx, halyard.Open(ctx, "host:0"), c)
		now, next := halyard.New[float32](q.Queue, 1000), halyard.New[float32](q.Queue, 1000)
		now.Fill(1)
		for range 2 {
			around.Around(q, 2, now, next) // a quarter of the sum of five neighbours
			now, next = next, now
		}
		if c.Rank() == 1 {
			fmt.Println(q.Moved())
		}
		q.Gather(0, now)
		if c.Rank() == 0 {
			fmt.Println(now.Slice(995, 1000))
		}
		return q.Close()
	})
	fmt.Println(err)
	// Unordered output:
	// {16 2}
	// [1.5625 1.5 1.375 1.0625 0.75]
	// <nil>
}

// Ten runs of a step of two launches, among two ranks. Each launch but the first needs one element of the other rank's part.
func ExampleQueue_Record() {
	err := commtest.Execute(2, func(e driver.Engine) error {
		ctx, c := context.Background(), comm.New(e)
		defer c.Close()
		q := part.Among(ctx, halyard.Open(ctx, "host:0"), c)
		x, y := halyard.New[float32](q.Queue, 1000), halyard.New[float32](q.Queue, 1000)
		x.Fill(1)
		step := q.Record(func(q *part.Queue) {
			around.Around(q, 1, x, y)
			around.Around(q, 1, y, x)
		})
		for range 10 {
			step.Run()
		}
		if c.Rank() == 1 {
			fmt.Println(q.Moved())
		}
		return q.Close()
	})
	fmt.Println(err)
	// Output:
	// {76 19}
	// <nil>
}

// A job that is told to end saves its elements, and a later one with another number of ranks goes on from there. With mpi.Run the first loop would end when
// ctx does, which SIGTERM cancels; Save then takes a context of its own.
func ExampleBuffer_Save() {
	dir, err := os.MkdirTemp("", "checkpoint")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "state.npy")
	job := func(ranks, steps int) error {
		return commtest.Execute(ranks, func(e driver.Engine) error {
			ctx, c := context.Background(), comm.New(e)
			defer c.Close()
			u, err := part.New[int64](ctx, c, part.Block(6), part.Halo{})
			if err != nil {
				return err
			}
			defer u.Close()
			if err := u.Load(ctx, file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			for range steps {
				err := u.Owned().Update(ctx, func(s []int64) error {
					for i := range s {
						s[i] += int64(i + 1)
					}
					return nil
				})
				if err != nil {
					return err
				}
			}
			if c.Rank() == 0 {
				if err := u.Owned().View(ctx, func(s []int64) error { fmt.Println(ranks, "ranks:", s); return nil }); err != nil {
					return err
				}
			}
			return u.Save(ctx, file)
		})
	}
	fmt.Println(job(3, 2), job(2, 1))
	// Output:
	// 3 ranks: [2 4]
	// 2 ranks: [3 6 5]
	// <nil> <nil>
}
