// Cg-mpi solves linear equations by conjugate gradients, on several processes. Each has some rows of the grid, on a device of its own.
//
//	go build -tags "cuda opencl hip vulkan" ./examples/cg-mpi
//	mpiexec -n 4 ./cg-mpi -n 512 -o x.npy
//
// With -ranks 4 it needs no MPI: the ranks are goroutines of one process.
//
// Kernels read only one of the vectors beyond the rank's own rows, so only this one has ghosts, copies of the neighbours' rows (package part). For a dot
// product each device adds up its rows. Allreduce adds up the ranks' sums: it reads them from the devices, and the next kernel reads the result.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/mpi"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/examples/gokernels/cg"
	"github.com/go-halyard/halyard/examples/internal/every"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// rowsLaplace writes the Laplacian of some rows of an n×n grid. p has these rows, with a neighbour's row above them if above is 1, and one below them
// if below is 1. The conversion keeps Go from fusing operations.
//
//halyard:kernel
func rowsLaplace(t grid.Thread, p []float32, q grid.Out[float32], n, above, below int) {
	j, i := t.Global(0), t.Global(1)
	if i >= len(q)/n || j >= n {
		return
	}
	at := (i+above)*n + j
	v := float32(4 * p[at])
	if i+above > 0 {
		v -= p[at-n]
	}
	if j > 0 {
		v -= p[at-1]
	}
	if j < n-1 {
		v -= p[at+1]
	}
	if i+1 < len(q)/n+below {
		v -= p[at+n]
	}
	q[i*n+j] = v
}

// right is an element of the right-hand side.
func right(i, j int) float32 { return float32((i*7+j*3)%11 - 5) }

// result is what a rank knows at the end.
type result struct {
	lo, hi   int // its rows
	x        []float32
	steps    int
	residual float32 // its length, divided by that of the right-hand side
}

const (
	block     = 64   // threads of a block that adds numbers up
	tolerance = 1e-5 // of the residual's length, divided by that of the right-hand side
	between   = 8    // steps between two looks at the residual
)

// solve solves the Laplacian of an n×n grid for the right-hand side that right gives. All ranks write the solution to one file, if it has a
// name.
func solve(ctx context.Context, c *comm.Comm, s *hal.Stream, n int, file string) (res result, err error) {
	if n < c.Size() || n < 2 {
		return res, hal.Errorf("cg-mpi", hal.ErrInvalidArgument, "a grid of %d×%d numbers on %d ranks", n, n, c.Size())
	}
	p, err := part.New[float32](ctx, c, part.Grid([]int{n, n}, []int{c.Size(), 1}), part.Width(1, 0))
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	lo, hi := p.Box()
	res.lo, res.hi = lo[0], hi[0]
	rows, above, below := res.hi-res.lo, min(res.lo, 1), min(n-res.hi, 1)
	b := make([]float32, rows*n)
	for i := range b {
		b[i] = right(res.lo+i/n, i%n)
	}

	dev := halyard.On(ctx, s)
	defer func() { err = errors.Join(err, dev.Close()) }()
	x, q, r := halyard.New[float32](dev, len(b)), halyard.New[float32](dev, len(b)), halyard.From(dev, b)
	sums, mine := halyard.New[float32](dev, rows), halyard.New[float32](dev, 1) // of each row, and of this rank's rows together
	rr, next, pq := halyard.New[float32](dev, 1), halyard.New[float32](dev, 1), halyard.New[float32](dev, 1)
	own := p.Owned()
	dev.Fail(own.CopyIn(ctx, b))
	dot := func(a, b kernel.Vector[float32], out *halyard.Buffer[float32]) {
		cg.Product(dev.Grid(hal.Blocks(rows).Of(block)), a, b, sums, n)
		cg.Total(dev.Grid(hal.Blocks(1).Of(block)), sums, mine)
		if dev.Err() == nil {
			dev.Fail(comm.Allreduce(ctx, c, mine.Buffer(), out.Buffer(), comm.Sum))
		}
	}
	dot(r, r, rr)
	first := rr.At(0)
	for now := first; now > first*tolerance*tolerance && dev.Err() == nil; {
		_, err := p.Exchange(ctx)
		dev.Fail(err)
		RowsLaplace(dev.Over(n, rows), p.Local(), q, n, above, below)
		dot(own, q, pq)
		cg.Advance(dev, x, r, own, q, rr, pq)
		dot(r, r, next)
		cg.Direct(dev, own, r, next, rr)
		rr, next = next, rr
		if res.steps++; res.steps%between == 0 {
			now = rr.At(0)
		}
		if res.steps > 10*n {
			dev.Fail(fmt.Errorf("no solution after %d steps", res.steps))
		}
		res.residual = float32(math.Sqrt(float64(now / first)))
	}
	res.x = x.Values()
	if file != "" && dev.Err() == nil {
		dev.Fail(own.CopyFrom(ctx, x.Buffer()))
		dev.Fail(p.Save(ctx, file))
	}
	return res, nil
}

func run(ctx context.Context, e comm.Engine, n int, file string) (err error) {
	c := comm.New(e)
	dev, err := every.ForRank(ctx, c.Rank(), rowsLaplaceKernel)
	if err != nil {
		return errors.Join(err, c.Close())
	}
	stream, err := dev.NewStream()
	if err != nil {
		return errors.Join(err, hal.CloseAll(c, dev))
	}
	defer func() { err = errors.Join(err, hal.CloseAll(c, dev, stream)) }()
	res, err := solve(ctx, c, stream, n, file)
	if err != nil {
		return fmt.Errorf("rank %d on %s: %w", c.Rank(), dev.Name(), err)
	}
	if c.Rank() == 0 {
		fmt.Printf("%d ranks, rank 0 on %s: %d×%d equations, %d steps, residual %.1g\n", c.Size(), dev.Name(), n, n, res.steps, res.residual)
	}
	return nil
}

func main() {
	n := flag.Int("n", 128, "rows and columns of the grid")
	file := flag.String("o", "", "the .npy `file` for the solution, on a file system that all ranks share")
	ranks := flag.Int("ranks", 0, "run this many `ranks` as goroutines, without MPI")
	flag.Parse()
	if *ranks > 0 {
		if err := commtest.Execute(*ranks, func(e comm.Engine) error { return run(context.Background(), e, *n, *file) }); err != nil {
			log.Fatal(err)
		}
		return
	}
	mpi.Run(func(ctx context.Context, e comm.Engine) error { return run(ctx, e, *n, *file) })
}
