// Npy looks at a window of a picture in a file of NumPy's, on every device of the machine: the least and the largest number and where they
// are, the median, and how often each number occurs. It writes the window to another file.
//
//	go run -tags "cuda opencl hip vulkan" ./examples/npy -i picture.npy -o window.npy
//
// The window has every second column of the lower rows, turned by 90 degrees. It is a view: nothing is copied to make it. Kernels take
// elements without gaps, so Pack copies it once; only its own elements move.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/examples/internal/every"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel/algo"
)

const values = 256 // of a pixel

// picture returns a picture to look at without a file.
func picture(ctx context.Context, height, width int) (*array.Array[int32], error) {
	p, err := array.New[int32](height, width)
	if err != nil {
		return nil, err
	}
	return p, p.Overwrite(ctx, func(g array.Accessor[int32]) error {
		for y := range height {
			row, err := g.Row(y)
			if err != nil {
				return err
			}
			for x := range row {
				row[x] = int32((x*x + 3*x*y + 5*y) % values)
			}
		}
		return nil
	})
}

// windowOf returns a view of the picture.
func windowOf(p *array.Array[int32]) (*array.Array[int32], error) {
	rows := p.Shape()[0]
	w, err := p.Slice(array.Between(rows/4, array.End), array.All().By(2))
	if err != nil {
		return nil, err
	}
	return w.Transpose()
}

// summary says what is in a window.
type summary struct {
	least, most     int32
	leastAt, mostAt [2]int // row and column
	median          int32
	counts          []uint32 // of each value
}

// look finds out what is in a window, on the device of the queue.
func look(ctx context.Context, q *halyard.Queue, window *array.Array[int32]) (s summary, err error) {
	packed, err := window.Pack(ctx)
	if err != nil {
		return s, err
	}
	least, most, where := halyard.New[int32](q, 1), halyard.New[int32](q, 1), halyard.New[int64](q, 2)
	counts, below := halyard.New[uint32](q, values), halyard.New[uint32](q, values)
	algo.Min(q, packed, least, where.Slice(0, 1))
	algo.Max(q, packed, most, where.Slice(1, 2))
	algo.Histogram(q, packed, counts)
	algo.ExclusiveScan(q, counts, below) // how many elements are less than each value
	s.least, s.most, s.counts = least.At(0), most.At(0), counts.Values()
	for v, n := range below.Values() {
		if int(n) <= packed.Len()/2 {
			s.median = int32(v)
		}
	}
	columns := packed.Shape()[1]
	for i, at := range where.Values() {
		*[]*[2]int{&s.leastAt, &s.mostAt}[i] = [2]int{int(at) / columns, int(at) % columns}
	}
	if s.least < 0 || s.most >= values {
		q.Fail(hal.Errorf("npy", hal.ErrOutOfRange, "numbers from %d to %d; those of a pixel are less than %d", s.least, s.most, values))
	}
	return s, errors.Join(q.Err(), packed.Close())
}

func open(ctx context.Context, file string) (*array.Array[int32], error) {
	if file == "" {
		return picture(ctx, 480, 640)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return array.ReadNPY[int32](f)
}

func write(ctx context.Context, file string, a *array.Array[int32]) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = a.WriteNPY(ctx, f)
	return errors.Join(err, f.Close())
}

func run(ctx context.Context, out io.Writer, in, to string) error {
	p, err := open(ctx, in)
	if err != nil {
		return err
	}
	defer p.Close()
	if len(p.Shape()) != 2 {
		return hal.Errorf("npy", hal.ErrInvalidArgument, "an array of shape %v; a picture has rows and columns", p.Shape())
	}
	window, err := windowOf(p)
	if err != nil {
		return err
	}
	_, err = every.Device(ctx, out, func(stream *hal.Stream) (string, error) {
		q := halyard.On(ctx, stream)
		s, err := look(ctx, q, window)
		return fmt.Sprintf("%v: %d at %v to %d at %v, median %d", window.Shape(), s.least, s.leastAt, s.most, s.mostAt, s.median),
			errors.Join(err, q.Close())
	})
	if err == nil && to != "" {
		err = write(ctx, to, window)
	}
	return err
}

func main() {
	in := flag.String("i", "", "the `file` with a picture of int32, by default one that the program draws")
	out := flag.String("o", "", "the `file` to write the window to")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *in, *out); err != nil {
		log.Fatal(err)
	}
}
