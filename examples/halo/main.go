// Halo smooths a row of numbers. Each device has a part of the row, and also needs a few elements of its neighbours' parts: the
// halo. No code of the program exchanges it. Each device takes a lease on a slice that overlaps its neighbours' parts, and the
// buffer brings the elements that are missing there.
//
//	go run ./examples/halo
//
// The program uses three devices of the host backend with memory of their own, so it runs anywhere. The function run takes any
// devices with CapGate and CapHostCallback, which the stand-in for a kernel needs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

func main() {
	if err := onHost(context.Background(), os.Stdout, 3, 3000, 100); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// onHost calls run with devices of a host backend that it makes.
func onHost(ctx context.Context, out io.Writer, devices, n, steps int) (err error) {
	backend := host.New(host.Options{Name: "part", Discrete: devices})
	var devs []*hal.Device
	defer func() {
		for _, d := range devs {
			err = errors.Join(err, d.Close())
		}
	}()
	for i := range devices {
		d, err := hal.OpenWith(ctx, backend, i+1) // 0 is the unified one
		if err != nil {
			return err
		}
		devs = append(devs, d)
	}
	return run(ctx, out, devs, n, steps)
}

// part is what one device works on: the elements [lo, hi).
type part struct {
	stream  *hal.Stream
	running *sync.WaitGroup // the stand-ins for kernels
	lo, hi  int
}

// run smooths n numbers on the devices, compares the result with that of one processor, and prints what was moved.
func run(ctx context.Context, out io.Writer, devs []*hal.Device, n, steps int) (err error) {
	if len(devs) == 0 || n < len(devs) || steps < 1 {
		return hal.Errorf("halo", hal.ErrInvalidArgument, "%d elements, %d devices, %d steps: each device needs an element, and there is at least one step", n, len(devs), steps)
	}
	var parts []part
	defer func() {
		for _, p := range parts {
			p.running.Wait()
			err = errors.Join(err, p.stream.Close())
		}
	}()
	for i, d := range devs {
		s, err := d.NewStream()
		if err != nil {
			return err
		}
		parts = append(parts, part{s, &sync.WaitGroup{}, n * i / len(devs), n * (i + 1) / len(devs)})
	}
	want := make([]float32, n)
	for i := range want {
		want[i] = float32(i * i % 1000)
	}
	now, err := buffer.From(want)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, now.Close()) }()
	next, err := buffer.New[float32](n)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, next.Close()) }()

	var first uint64 // bytes copied by the first step, which hands out the parts
	for i := range steps {
		for _, p := range parts {
			if err := step(ctx, p, now, next); err != nil {
				return err
			}
		}
		now, next = next, now
		if i == 0 {
			first = copied(now, next)
		}
	}
	rest := copied(now, next) - first
	for range steps {
		want = smooth(make([]float32, n), want, 0)
	}
	return now.View(ctx, func(got []float32) error {
		for i := range got {
			if got[i] != want[i] {
				return fmt.Errorf("element %d is %v, and %v on one processor", i, got[i], want[i])
			}
		}
		_, err := fmt.Fprintf(out, "%d elements on %d devices: first step %d bytes, %d later steps %d bytes, the same as on one processor\n",
			n, len(parts), first, steps-1, rest)
		return err
	})
}

func copied(a, b *buffer.Buffer[float32]) uint64 {
	return a.Stats().BytesCopied + b.Stats().BytesCopied
}

// step enqueues the next values of one part, and waits for nothing. It reads the part with one element more at each
// side that has a neighbour, and writes only the part.
func step(ctx context.Context, p part, now, next *buffer.Buffer[float32]) error {
	lo := max(p.lo-1, 0)
	wide, err := now.Slice(lo, min(p.hi+1, now.Len()))
	if err != nil {
		return err
	}
	own, err := next.Slice(p.lo, p.hi)
	if err != nil {
		return err
	}
	leases, err := buffer.AcquireAll(ctx, p.stream, wide.Want(coherence.Read), own.Want(coherence.Overwrite))
	if err != nil {
		return err
	}
	err = launch(p, leases.At(0).Region(), leases.At(1).Region(), p.lo-lo)
	return errors.Join(err, leases.Release())
}
