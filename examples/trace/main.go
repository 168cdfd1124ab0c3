// Trace is a program like any other, with one import more: package trace, which records what the program copies between places, and why.
//
//	HALYARD_HOST_DEVICES=1 HALYARD_TRACE=trace.json go run ./examples/trace
//	HALYARD_HOST_DEVICES=1 halyard trace --svg trace.svg -- go run ./examples/trace
//	HALYARD_DEBUG=log go run ./examples/trace
//
// Ten times over it smooths a row of numbers on the host, and has the last device clear the edges. That copies
// whole rows to and fro, and the trace shows it. With -slices the device gets only the edges.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/trace"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

func main() {
	slices := flag.Bool("slices", false, "give the device only the edges")
	flag.Parse()
	err := run(context.Background(), os.Stdout, *slices)
	// With HALYARD_TRACE set, the copies that are still under way get into the trace as well.
	if cerr := trace.CloseEnvironment(); err == nil {
		err = cerr
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const (
	elements = 1 << 18
	edge     = 64
)

func run(ctx context.Context, out io.Writer, slices bool) (err error) {
	devs, err := hal.OpenAll(ctx)
	if err != nil {
		return err
	}
	for _, d := range devs {
		defer func() {
			if cerr := d.Close(); err == nil {
				err = cerr
			}
		}()
	}
	dev := devs[len(devs)-1]
	stream, err := dev.NewStream()
	if err != nil {
		return err
	}
	defer stream.Close()
	row, err := buffer.New[float32](elements)
	if err != nil {
		return err
	}
	defer row.Close()
	if err := row.Overwrite(ctx, func(v []float32) error {
		for i := range v {
			v[i] = 1
		}
		return nil
	}); err != nil {
		return err
	}
	for range 10 {
		if err := clearEdges(ctx, row, stream, slices); err != nil {
			return err
		}
		if err := row.Update(ctx, smooth); err != nil {
			return err
		}
	}
	sum := float32(0)
	if err := row.View(ctx, func(v []float32) error {
		for _, x := range v[:2*edge] {
			sum += x
		}
		return nil
	}); err != nil {
		return err
	}
	kind := dev.Name()
	if dev.Info().Simulated {
		kind += " (simulated)"
	}
	_, err = fmt.Fprintf(out, "%s: %d bytes copied, the first %d elements add up to %.3f\n", kind, row.Stats().BytesCopied, 2*edge, sum)
	return err
}

// clearEdges is the device's part. A lease on the whole row is more than it needs.
func clearEdges(ctx context.Context, row *buffer.Buffer[float32], stream *hal.Stream, slices bool) error {
	type part struct {
		b   *buffer.Buffer[float32]
		off []uint64 // of the edges in it, in bytes
	}
	parts := []part{{row, []uint64{0, (elements - edge) * 4}}}
	if slices {
		parts = nil
		for _, i := range []int{0, elements - edge} {
			b, err := row.Slice(i, i+edge)
			if err != nil {
				return err
			}
			parts = append(parts, part{b, []uint64{0}})
		}
	}
	for _, p := range parts {
		l, err := p.b.Acquire(ctx, stream, coherence.ReadWrite)
		if err != nil {
			return err
		}
		r := l.Region()
		for _, off := range p.off {
			if err == nil {
				err = stream.Fill(hal.Region{Mem: r.Mem, Off: r.Off + off, Len: edge * 4}, hal.Zero)
			}
		}
		if rerr := l.Release(); err == nil {
			err = rerr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func smooth(v []float32) error {
	last := v[0]
	for i := 1; i < len(v)-1; i++ {
		last, v[i] = v[i], (last+v[i]+v[i+1])/3
	}
	return nil
}
