// Heat follows how heat spreads over a plate, on as many processes as it is started on, each with rows of the plate on a device of its own.
//
//	go build -tags "cuda opencl hip" ./examples/heat
//	mpiexec -n 4 ./heat -o heat.png
//
// With -ranks 4 it needs no MPI: the ranks are goroutines of one process. The result is the same, to the bit, whatever the number of ranks.
//
// A rank keeps its rows in one buffer with a row more at each side: the neighbours' nearest rows, its ghosts. In each step
// a kernel computes the new rows on the device, and two slices of one row each are exchanged with each neighbour. The program says
// neither when the kernel has ended nor what has to be copied between host and device for that: the buffers know.
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

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/commtest"
	"github.com/go-halyard/halyard/comm/driver"
	"github.com/go-halyard/halyard/comm/mpi"
	"github.com/go-halyard/halyard/examples/internal/every"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// The kernel computes rows 1 to rows of a plate whose rows 0 and rows+1 are ghosts. The leftmost and the rightmost column stay as they are.
const text = `
KERNEL void spread(const GLOBAL f32 *now, GLOBAL f32 *next, u32 width, u32 rows) {
	u32 x = (u32)INDEX(0), y = (u32)INDEX(1) + 1;
	if (x >= width || y > rows) return;
	u64 i = (u64)y * width + x;
	if (x == 0 || x == width - 1) {
		next[i] = now[i];
		return;
	}
	next[i] = now[i] + 0.2f * (now[i - 1] + now[i + 1] + now[i - width] + now[i + width] - 4.0f * now[i]);
}`

func spreadBlock(b *kernel.Block) {
	now, next := kernel.Slice[float32](b, 0), kernel.Slice[float32](b, 1)
	width, rows := int(kernel.Number[uint32](b, 2)), int(kernel.Number[uint32](b, 3))
	left, right := kernel.Threads(b, 0, width)
	top, bottom := kernel.Threads(b, 1, rows)
	for y := top + 1; y < bottom+1; y++ {
		for x := left; x < right; x++ {
			i := y*width + x
			if x == 0 || x == width-1 {
				next[i] = now[i]
				continue
			}
			sum := now[i-1] + now[i+1] + now[i-width] + now[i+width] - float32(4*now[i])
			next[i] = now[i] + float32(0.2*sum)
		}
	}
}

var spread = kernel.New(kernel.Source{Name: "heat", Portable: text, Go: kernel.Functions{"spread": kernel.Go(spreadBlock)}}).Kernel("spread")

// plate is what to compute: height rows of width numbers, between a hot row above and a cold one below.
type plate struct{ width, height, steps int }

const hot = 100

// solve returns the whole plate after all steps at rank 0, and nil at the others.
func solve(ctx context.Context, c *comm.Comm, stream *hal.Stream, p plate) (all []float32, err error) {
	rank, size := c.Rank(), c.Size()
	if p.width < 3 || p.height < size || p.steps < 0 {
		return nil, hal.Errorf("heat", hal.ErrInvalidArgument, "%d steps of %d×%d numbers on %d ranks", p.steps, p.width, p.height, size)
	}
	lo, hi := p.height*rank/size, p.height*(rank+1)/size
	rows := hi - lo
	var now, next *buffer.Buffer[float32]
	defer func() { err = errors.Join(err, hal.CloseAll(now, next)) }()
	start := make([]float32, (rows+2)*p.width)
	if lo == 0 {
		for x := range p.width {
			start[x] = hot
		}
	}
	if now, err = buffer.From(start); err != nil {
		return nil, err
	}
	if next, err = buffer.From(start); err != nil {
		return nil, err
	}
	for range p.steps {
		// The kernel writes all rows but the ghosts, which stay: it is given the whole for reading and writing.
		err := spread.Launch(ctx, stream, kernel.Over(p.width, rows), kernel.In(now), kernel.InOut(next), kernel.Value(uint32(p.width)), kernel.Value(uint32(rows)))
		if err != nil {
			return nil, err
		}
		now, next = next, now
		if err := exchange(ctx, c, now, p.width, rows); err != nil {
			return nil, err
		}
	}
	return collect(ctx, c, now, p)
}

// exchange gives the first and the last row to the neighbours and takes theirs as ghosts.
func exchange(ctx context.Context, c *comm.Comm, b *buffer.Buffer[float32], width, rows int) error {
	const up, down = 1, 2
	row := func(y int) (*buffer.Buffer[float32], error) { return b.Slice(y*width, (y+1)*width) }
	var waiting []*comm.Request
	start := func(begin func(context.Context, *comm.Comm, *buffer.Buffer[float32], int, int) (*comm.Request, error), y, peer, tag int) error {
		part, err := row(y)
		if err != nil {
			return err
		}
		r, err := begin(ctx, c, part, peer, tag)
		if err == nil {
			waiting = append(waiting, r)
		}
		return err
	}
	var errs []error
	if above := c.Rank() - 1; above >= 0 {
		errs = append(errs, start(comm.Irecv[float32], 0, above, down), start(comm.Isend[float32], 1, above, up))
	}
	if below := c.Rank() + 1; below < c.Size() {
		errs = append(errs, start(comm.Irecv[float32], rows+1, below, up), start(comm.Isend[float32], rows, below, down))
	}
	for _, r := range waiting {
		_, err := r.Wait(ctx)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// collect brings the rows of all ranks to rank 0.
func collect(ctx context.Context, c *comm.Comm, b *buffer.Buffer[float32], p plate) ([]float32, error) {
	const tag = 3
	own, err := b.Slice(p.width, b.Len()-p.width)
	if err != nil {
		return nil, err
	}
	if c.Rank() != 0 {
		return nil, comm.Send(ctx, c, own, 0, tag)
	}
	all := make([]float32, p.width*p.height)
	if err := own.CopyOut(ctx, all[:own.Len()]); err != nil {
		return nil, err
	}
	for from := 1; from < c.Size(); from++ {
		lo, hi := p.height*from/c.Size(), p.height*(from+1)/c.Size()
		if _, err := comm.RecvSlice(ctx, c, all[lo*p.width:hi*p.width], from, tag); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// device opens the device that a rank works on: those of the machine that run the kernel in turn, else its host.
func device(ctx context.Context, rank int) (*hal.Device, error) {
	infos, err := hal.Devices(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, i := range infos {
		if i.Backend != "host" {
			names = append(names, i.Name())
		}
	}
	for i := range names {
		dev, err := hal.Open(ctx, names[(rank+i)%len(names)])
		if err != nil {
			return nil, err
		}
		_, err = spread.Of(ctx, dev)
		if err == nil {
			return dev, nil
		}
		if !every.Unusable(err) {
			return nil, errors.Join(err, dev.Close())
		}
		if err := dev.Close(); err != nil {
			return nil, err
		}
	}
	return hal.Open(ctx, "host:0")
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

func run(ctx context.Context, e driver.Engine, p plate, file string) (err error) {
	c := comm.New(e)
	dev, err := device(ctx, c.Rank())
	if err != nil {
		return err
	}
	stream, err := dev.NewStream()
	if err != nil {
		return errors.Join(err, dev.Close())
	}
	defer func() { err = errors.Join(err, hal.CloseAll(c, dev, stream)) }()
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
		err := commtest.Execute(*ranks, func(e driver.Engine) error { return run(context.Background(), e, p, *file) })
		if err != nil {
			log.Fatal(err)
		}
		return
	}
	mpi.Run(func(ctx context.Context, e driver.Engine) error { return run(ctx, e, p, *file) })
}
