// Heat computes how heat spreads over a plate, on several processes. Each has some rows of the plate, on a device of its own.
//
//	go build -tags "cuda opencl hip" ./examples/heat
//	mpiexec -n 4 ./heat -o heat.png
//
// With -ranks 4 it needs no MPI: the ranks are goroutines of one process. The result has the same bits for any number of ranks.
//
// The plate is a buffer that is divided among the ranks (package part): a rank owns some rows, and has the neighbours' nearest rows as ghosts. In each step an
// exchange makes the ghosts current, and a kernel computes the new rows on the device. The program does not say which rows to send, when the kernel has
// ended, or what to copy between host and device: the buffers know.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"log"
	"os"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/mpi"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/examples/internal/every"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// spread computes the rows that a rank owns from these rows and the ghosts above and below. The first owned row is row lo of the plate, of as
// many rows as height. The plate's border does not change.
//
//halyard:kernel
func spread(t grid.Thread, now grid.Matrix[float32], next grid.OutMatrix[float32], above, lo, height int) {
	y, x := t.Global(1), t.Global(0)
	if y >= next.Rows() || x >= next.Cols() {
		return
	}
	i := y + above
	if x == 0 || x == next.Cols()-1 || lo+y == 0 || lo+y == height-1 {
		next.Set(y, x, now.At(i, x))
		return
	}
	sum := now.At(i, x-1) + now.At(i, x+1) + now.At(i-1, x) + now.At(i+1, x) - float32(4*now.At(i, x))
	next.Set(y, x, now.At(i, x)+float32(0.2*sum))
}

// plate is what to compute: height rows of width numbers, between a hot row above and a cold one below.
type plate struct{ width, height, steps int }

const hot = 100

// solve returns the whole plate after all steps at rank 0, and nil at the others.
func solve(ctx context.Context, c *comm.Comm, stream *hal.Stream, p plate) (all []float32, err error) {
	size := c.Size()
	if p.width < 3 || p.height < size || p.steps < 0 {
		return nil, hal.Errorf("heat", hal.ErrInvalidArgument, "%d steps of %d×%d numbers on %d ranks", p.steps, p.width, p.height, size)
	}
	// The border is part of the plate: two rows more.
	rows := part.Grid([]int{p.height + 2, p.width}, []int{size, 1})
	var now, next *part.Buffer[float32]
	if now, err = part.New[float32](ctx, c, rows, part.Width(1, 0)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, now.Close()) }()
	if next, err = part.New[float32](ctx, c, rows, part.Width(1, 0)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, next.Close()) }()
	lo, hi := now.Box()
	if lo[0] == 0 {
		border, err := now.Owned().Slice(0, p.width)
		if err == nil {
			err = border.Fill(ctx, hot)
		}
		if err != nil {
			return nil, err
		}
	}
	for range p.steps {
		if _, err := now.Exchange(ctx); err != nil {
			return nil, err
		}
		from, to := kernel.InRows(now.Local(), p.width), kernel.InRows(next.Owned(), p.width)
		if err := SpreadOn(ctx, stream, hal.Over(p.width, hi[0]-lo[0]), from, to, min(lo[0], 1), lo[0], p.height+2); err != nil {
			return nil, err
		}
		now, next = next, now
	}
	return collect(ctx, c, now, p)
}

// collect brings the rows of all ranks to rank 0, without the border.
func collect(ctx context.Context, c *comm.Comm, b *part.Buffer[float32], p plate) ([]float32, error) {
	const tag = 3
	if c.Rank() != 0 {
		if err := comm.Send(ctx, c, b.Owned(), 0, tag); err != nil {
			return nil, err
		}
		return nil, nil
	}
	all := make([]float32, p.width*(p.height+2))
	own := b.Owned()
	if err := own.CopyOut(ctx, all[:own.Len()]); err != nil {
		return nil, err
	}
	at := own.Len()
	for from := 1; from < c.Size(); from++ {
		status, err := comm.RecvSlice(ctx, c, all[at:], from, tag)
		if err != nil {
			return nil, err
		}
		at += status.Count
	}
	return all[p.width : len(all)-p.width], nil
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

func run(ctx context.Context, e comm.Engine, p plate, file string) (err error) {
	c := comm.New(e)
	open := []io.Closer{c}
	defer func() { err = errors.Join(err, hal.CloseAll(open...)) }()
	dev, err := every.ForRank(ctx, c.Rank(), spreadKernel)
	if err != nil {
		return err
	}
	open = append(open, dev)
	stream, err := dev.NewStream()
	if err != nil {
		return err
	}
	open = append(open, stream)
	all, err := solve(ctx, c, stream, p)
	if err != nil {
		return fmt.Errorf("rank %d on %s: %w", c.Rank(), dev.Name(), err)
	}
	if all == nil {
		return nil
	}
	sum := 0.0
	for _, v := range all {
		sum += float64(v)
	}
	fmt.Printf("%d ranks, rank 0 on %s: %d steps on %d×%d numbers, heat %.6f\n", c.Size(), dev.Name(), p.steps, p.width, p.height, sum)
	if file == "" {
		return nil
	}
	return write(file, p, all)
}

func main() {
	p := plate{}
	flag.IntVar(&p.width, "width", 256, "numbers in a row")
	flag.IntVar(&p.height, "height", 256, "rows")
	flag.IntVar(&p.steps, "steps", 200, "steps")
	file := flag.String("o", "", "the PNG `file` to write")
	ranks := flag.Int("ranks", 0, "run `n` ranks as goroutines, without MPI")
	flag.Parse()
	if *ranks > 0 {
		err := commtest.Execute(*ranks, func(e comm.Engine) error { return run(context.Background(), e, p, *file) })
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	mpi.Run(func(ctx context.Context, e comm.Engine) error { return run(ctx, e, p, *file) })
}
