// Trace is a program like any other. Package trace records what it copies between places, and why.
//
//	HALYARD_HOST_DEVICES=1 HALYARD_TRACE=trace.json go run ./examples/trace
//	HALYARD_HOST_DEVICES=1 halyard trace --svg trace.svg -- go run ./examples/trace
//	HALYARD_DEBUG=log go run ./examples/trace
//
// Ten times it smooths a row of numbers on the host, and clears its edges by a kernel on the last device. That copies
// whole rows to and fro, and the trace shows it. With -slices only the edges come from the device.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer/trace"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

const (
	elements = 1 << 18
	edge     = 64
)

//halyard:kernel
func clearEdges(t grid.Thread, row []float32) {
	if i := t.Global(0); i < edge {
		row[i], row[len(row)-edge+i] = 0, 0
	}
}

func main() {
	parts := flag.Bool("slices", false, "let only the edges come from the device")
	flag.Parse()
	err := run(context.Background(), os.Stdout, *parts)
	// With HALYARD_TRACE set, the copies that are still under way get into the trace as well.
	if err := errors.Join(err, trace.CloseEnvironment()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, parts bool) error {
	devices, err := hal.Devices(ctx)
	if err != nil {
		return err
	}
	q := halyard.Open(ctx, devices[len(devices)-1].Name())
	row := halyard.From(q, slices.Repeat([]float32{1}, elements))
	left, right := row.Slice(0, edge), row.Slice(elements-edge, elements)
	for range 10 {
		if parts {
			left.Fill(0)
			right.Fill(0)
		} else {
			ClearEdges(q.Over(edge), row)
		}
		row.Update(smooth)
	}
	sum := float32(0)
	for _, x := range row.Slice(0, 2*edge).Values() {
		sum += x
	}
	if q.Err() == nil {
		kind := q.String()
		if q.Device().Info().Simulated {
			kind += " (simulated)"
		}
		_, err = fmt.Fprintf(out, "%s: %d bytes copied, the first %d elements add up to %.3f\n",
			kind, row.Buffer().Stats().BytesCopied, 2*edge, sum)
	}
	return errors.Join(err, q.Close())
}

func smooth(v []float32) {
	last := v[0]
	for i := 1; i < len(v)-1; i++ {
		last, v[i] = v[i], (last+v[i]+v[i+1])/3
	}
}
