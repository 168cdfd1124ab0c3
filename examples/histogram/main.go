// Histogram counts how often each byte occurs in data, on every device of the machine.
//
//	go run -tags "cuda opencl hip" ./examples/histogram
//
// If all threads counted in one table of the device's memory, they would wait for each other at it. So each block counts in a table of its own,
// in memory that its threads share, and adds that to the result once, at its end.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"sync/atomic"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/internal/every"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// A thread goes forward by the number of threads in the grid, so that neighbours read neighbouring bytes and a grid of any size will do.
// Shared memory is not cleared: the block does that first.
const text = `
KERNEL void histogram(const GLOBAL u8 *data, GLOBAL u32 *counts, u64 n) {
	LOCAL u32 own[256];
	for (u64 i = THREAD(0); i < 256; i += THREADS(0)) own[i] = 0;
	BARRIER();
	for (u64 i = INDEX(0); i < n; i += BLOCKS(0) * THREADS(0)) ATOMIC_ADD(&own[data[i]], 1);
	BARRIER();
	for (u64 i = THREAD(0); i < 256; i += THREADS(0)) ATOMIC_ADD(&counts[i], own[i]);
}`

// histogramBlock is one block in Go. Its threads run one after the other, so its own table needs no atomics. The result does, because
// several blocks run at once.
func histogramBlock(b *kernel.Block) {
	data, counts := kernel.Slice[uint8](b, 0), kernel.Slice[uint32](b, 1)
	var own [256]uint32
	threads, all := int(b.Size[0]), int(b.Size[0])*int(b.Grid[0])
	for first := int(b.Index[0]) * threads; first < len(data); first += all {
		for _, v := range data[first:min(first+threads, len(data))] {
			own[v]++
		}
	}
	for i, n := range own {
		atomic.AddUint32(&counts[i], n)
	}
}

var histogram = kernel.New(kernel.Source{Name: "histogram", Portable: text, Go: kernel.Functions{"histogram": kernel.Go(histogramBlock)}}).Kernel("histogram")

// run counts the bytes of data, which must not be empty.
func run(ctx context.Context, stream *hal.Stream, data []byte) (counts [256]uint32, err error) {
	in, e1 := buffer.From(data)
	out, e2 := buffer.New[uint32](256) // reads as zeros
	defer func() { err = errors.Join(err, hal.CloseAll(in, out)) }()
	if err := errors.Join(e1, e2); err != nil {
		return counts, err
	}
	// The number of blocks depends on the machine, and not on the data: four for each processor. InOut, because the kernel adds to
	// what is there.
	blocks := 4 * max(stream.Device().Info().Compute.Units, 1)
	err = histogram.Launch(ctx, stream, kernel.Blocks(blocks).Of(256), kernel.In(in), kernel.InOut(out), kernel.Value(uint64(len(data))))
	if err != nil {
		return counts, err
	}
	return counts, out.CopyOut(ctx, counts[:])
}

func plain(data []byte) (counts [256]uint32) {
	for _, v := range data {
		counts[v]++
	}
	return counts
}

// bell returns n bytes that are the sum of dice, so that some occur much more often than others.
func bell(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.UintN(86) + r.UintN(86) + r.UintN(86))
	}
	return data
}

func main() {
	ctx := context.Background()
	data := bell(1 << 20)
	want := plain(data)
	_, err := every.Device(ctx, os.Stdout, func(stream *hal.Stream) (string, error) {
		got, err := run(ctx, stream, data)
		if err == nil && got != want {
			err = errors.New("the counts differ from those of plain Go")
		}
		return fmt.Sprintf("%d bytes counted, the same as in plain Go; %d of them are 127", len(data), got[127]), err
	})
	if err != nil {
		log.Fatal(err)
	}
}
