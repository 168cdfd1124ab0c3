// Halo smooths a row of numbers. Each device has a part of the row, and also needs an element of each of its neighbours' parts: the
// halo. No code of the program exchanges it. Each device reads a slice that overlaps its neighbours' parts, and the buffer brings
// the elements that are missing there.
//
//	HALYARD_HOST_DEVICES=3 go run ./examples/halo
//
// The program uses all devices of the machine except the host itself. The variable adds three devices that the host simulates, with memory
// of their own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// smooth writes the next values of the elements from src[from] on to dst. Each is the mean of an element and its two neighbours; the first
// and the last element of src keep their values.
//
//halyard:kernel
func smooth(t grid.Thread, from int, src []float32, dst grid.Out[float32]) {
	i := t.Global(0)
	if i >= len(dst) {
		return
	}
	if j := from + i; j == 0 || j == len(src)-1 {
		dst[i] = src[j]
	} else {
		dst[i] = (src[j-1] + src[j] + src[j+1]) / 3
	}
}

func main() {
	infos, err := hal.Devices(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	var names []string
	for _, i := range infos {
		if i.Name() != "host:0" {
			names = append(names, i.Name())
		}
	}
	if err := run(context.Background(), os.Stdout, names, 3000, 100); err != nil {
		log.Fatal(err)
	}
}

// part is what one device works on: the elements [lo, hi).
type part struct {
	q      *halyard.Queue
	lo, hi int
}

// run smooths n numbers on the devices, compares the result with that of the host alone, and prints what was moved.
func run(ctx context.Context, out io.Writer, devices []string, n, steps int) (err error) {
	if len(devices) == 0 || n < len(devices) || steps < 1 {
		return hal.Errorf("halo", hal.ErrInvalidArgument,
			"%d elements, %d devices, %d steps: each device needs an element, and there is at least one step", n, len(devices), steps)
	}
	host := halyard.Open(ctx, "host:0")
	defer func() { err = errors.Join(err, host.Close()) }()
	var parts []part
	for i, name := range devices {
		q := halyard.Open(ctx, name)
		defer func() { err = errors.Join(err, q.Close()) }()
		parts = append(parts, part{q, n * i / len(devices), n * (i + 1) / len(devices)})
	}
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(i * i % 1000)
	}
	now, next := halyard.From(host, data), halyard.New[float32](host, n)
	var first uint64 // bytes copied by the first step, which hands out the parts
	for i := range steps {
		for _, p := range parts {
			step(p, now, next)
		}
		now, next = next, now
		if i == 0 {
			first = copied(now, next)
		}
	}
	rest := copied(now, next) - first
	want, other := halyard.From(host, data), halyard.New[float32](host, n)
	for range steps {
		step(part{host, 0, n}, want, other)
		want, other = other, want
	}
	if !slices.Equal(now.Values(), want.Values()) {
		return errors.New("the host alone computes other numbers")
	}
	_, err = fmt.Fprintf(out, "%d elements on %d devices: first step %d bytes, %d later steps %d bytes, the same as on the host\n",
		n, len(parts), first, steps-1, rest)
	return err
}

func copied(a, b *halyard.Buffer[float32]) uint64 {
	return a.Buffer().Stats().BytesCopied + b.Buffer().Stats().BytesCopied
}

// step enqueues the next values of one part, and waits for nothing. It reads the part with one element more at each
// side that has a neighbour, and writes only the part.
func step(p part, now, next *halyard.Buffer[float32]) {
	lo := max(p.lo-1, 0)
	Smooth(p.q, p.lo-lo, now.Slice(lo, min(p.hi+1, now.Len())), next.Slice(p.lo, p.hi))
}
