// Heat computes how heat spreads over a plate: on one device, on several, and on several processes with one device or more each.
//
//	go build -tags "cuda opencl hip vulkan" ./examples/heat
//	./heat -ranks 1 -device all -o heat.png       # all GPUs of this machine
//	mpiexec -n 4 ./heat -o heat.png               # four processes, each on a device of its own
//
// With -ranks it needs no MPI: the ranks are goroutines of one process. The result has the same bits for any number of devices and ranks.
//
// Three lines are there for ranks: one makes the communicator, one closes it, and one brings the result to rank 0. [part.Among] makes a
// queue that divides launches among the ranks. The kernel and its launch are those of a program for one device. In each step Halyard sends
// the rows at the boundaries to the neighbours, because the command halyard kernels has found out which rows each rank needs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"log"
	"os"
	"strings"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/mpi"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/examples/internal/every"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// spread computes a step: a thread for each number of the plate, whose border does not change.
//
//halyard:kernel
func spread(t grid.Thread, now grid.Matrix[float32], next grid.OutMatrix[float32]) {
	y, x := t.Global(1), t.Global(0)
	if y >= next.Rows() || x >= next.Cols() {
		return
	}
	if x == 0 || x == next.Cols()-1 || y == 0 || y == next.Rows()-1 {
		next.Set(y, x, now.At(y, x))
		return
	}
	sum := now.At(y, x-1) + now.At(y, x+1) + now.At(y-1, x) + now.At(y+1, x) - float32(4*now.At(y, x))
	next.Set(y, x, now.At(y, x)+float32(0.2*sum))
}

// plate is what to compute: height rows of width numbers, between a hot row above and a cold one below.
type plate struct{ width, height, steps int }

const hot = 100

// solve computes all steps, and returns the plate with its border, of which rank 0 has all numbers.
func solve(q *part.Queue, p plate) *halyard.Buffer[float32] {
	if p.width < 3 || p.height < 1 || p.steps < 0 {
		q.Fail(hal.Errorf("heat", hal.ErrInvalidArgument, "%d steps of %d×%d numbers", p.steps, p.width, p.height))
	}
	n := p.width * (p.height + 2) // the border is part of the plate
	now, next := halyard.New[float32](q.Queue, n), halyard.New[float32](q.Queue, n)
	now.Slice(0, p.width).Fill(hot)
	for range p.steps {
		Spread(q, now.InRows(p.width), next.InRows(p.width))
		now, next = next, now
	}
	q.Gather(0, now)
	return now.Slice(p.width, n-p.width)
}

func write(file string, p plate, all []float32) error {
	m := image.NewRGBA(image.Rect(0, 0, p.width, p.height))
	for i, v := range all {
		m.SetRGBA(i%p.width, i/p.width, color.RGBA{R: uint8(2.55 * v), B: uint8(60 - 0.6*v), A: 255})
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(f, m), f.Close())
}

// run computes the plate on the devices with these names, by default on one device for each rank.
func run(ctx context.Context, e comm.Engine, p plate, devices, file string) (err error) {
	c := comm.New(e)
	defer func() { err = errors.Join(err, c.Close()) }()
	names := strings.Split(devices, ",")
	if devices == "" {
		if names[0], err = every.NameForRank(ctx, c.Rank(), spreadKernel); err != nil {
			return err
		}
	}
	q := part.Among(ctx, halyard.Open(ctx, names...), c)
	result := solve(q, p)
	if c.Rank() == 0 {
		sum, all := 0.0, result.Values()
		for _, v := range all {
			sum += float64(v)
		}
		if q.Err() == nil {
			fmt.Printf("%d ranks, rank 0 on %s: %d steps on %d×%d numbers, heat %.6f\n", c.Size(), q, p.steps, p.width, p.height, sum)
			if file != "" {
				q.Fail(write(file, p, all))
			}
		}
	}
	return q.Close()
}

func main() {
	p := plate{}
	flag.IntVar(&p.width, "width", 256, "numbers in a row")
	flag.IntVar(&p.height, "height", 256, "rows")
	flag.IntVar(&p.steps, "steps", 200, "steps")
	file := flag.String("o", "", "the PNG `file` to write")
	devices := flag.String("device", "", "the `names` of each rank's devices, or \"all\"; by default each rank takes one")
	ranks := flag.Int("ranks", 0, "run `n` ranks as goroutines, without MPI")
	flag.Parse()
	job := func(ctx context.Context, e comm.Engine) error { return run(ctx, e, p, *devices, *file) }
	if *ranks == 0 {
		mpi.Run(job)
	}
	if err := commtest.Execute(*ranks, func(e comm.Engine) error { return job(context.Background(), e) }); err != nil {
		log.Fatal(err)
	}
}
