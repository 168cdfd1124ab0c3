// Matmul multiplies two matrices with a tiled kernel, on every device of the machine, and compares the product with that of plain Go.
//
//	go run -tags "cuda opencl hip" ./examples/matmul
//
// A thread computes one element of the product: the sum over a row of a and a column of b. The threads of a block, 16×16, compute a tile. They need the
// same 16 rows and 16 columns, so they copy these to memory that they share, a tile at a time. So a block reads each element from the
// device's slow memory once; otherwise every thread would read it for itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/internal/every"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

const tile = 16 // the edge of a block; the kernel's text has it too

// Each thread reads one element of both tiles. After the first barrier the tiles are complete. The second keeps threads from overwriting
// elements that others still read. Every thread of a block must reach every barrier, even one beyond the edge of the product: it must not
// return early.
const text = `
#define TILE 16
KERNEL void matmul(const GLOBAL f32 *a, const GLOBAL f32 *b, GLOBAL f32 *c, u32 rows, u32 cols, u32 inner) {
	LOCAL f32 at[TILE][TILE];
	LOCAL f32 bt[TILE][TILE];
	u64 x = THREAD(0), y = THREAD(1);
	u64 col = INDEX(0), row = INDEX(1);
	f32 sum = 0;
	for (u32 k = 0; k < inner; k += TILE) {
		at[y][x] = row < rows && k + x < inner ? a[row * inner + k + x] : 0;
		bt[y][x] = col < cols && k + y < inner ? b[(u64)(k + y) * cols + col] : 0;
		BARRIER();
		for (u32 i = 0; i < TILE; i++) sum += at[y][i] * bt[i][x];
		BARRIER();
	}
	if (row < rows && col < cols) c[row * cols + col] = sum;
}`

// matmulBlock is the same in Go, for the host. One call is a whole block. So a barrier is where one loop over the threads ends and the next one
// begins, and a variable that a thread keeps across a barrier, such as sum, becomes an array. Shared memory of fixed size is an array, too.
func matmulBlock(b *kernel.Block) {
	a, bs, c := kernel.Slice[float32](b, 0), kernel.Slice[float32](b, 1), kernel.Slice[float32](b, 2)
	rows, cols, inner := int(kernel.Number[uint32](b, 3)), int(kernel.Number[uint32](b, 4)), int(kernel.Number[uint32](b, 5))
	left, right := kernel.Threads(b, 0, cols)
	top, bottom := kernel.Threads(b, 1, rows)
	var at, bt, sum [tile][tile]float32
	for k := 0; k < inner; k += tile {
		depth := min(tile, inner-k)
		for y := range bottom - top {
			copy(at[y][:], a[(top+y)*inner+k:][:depth])
		}
		for y := range depth {
			copy(bt[y][:], bs[(k+y)*cols+left:][:right-left])
		}
		// A barrier in the kernel's text.
		for y := range bottom - top {
			for i := range depth {
				for x := range right - left {
					// Go may fuse a multiplication with an addition. The conversion keeps it from that, so every device gives the same bits.
					sum[y][x] += float32(at[y][i] * bt[i][x])
				}
			}
		}
		// The other barrier.
	}
	for y := range bottom - top {
		copy(c[(top+y)*cols+left:], sum[y][:right-left])
	}
}

var matmul = kernel.New(kernel.Source{Name: "matmul", Portable: text, Go: kernel.Functions{"matmul": kernel.Go(matmulBlock)}}).Kernel("matmul")

// run returns the product of a, of rows×inner elements, and b, of inner×cols elements.
func run(ctx context.Context, stream *hal.Stream, a, b []float32, rows, cols, inner int) (product []float32, err error) {
	ab, e1 := buffer.From(a)
	bb, e2 := buffer.From(b)
	cb, e3 := buffer.New[float32](rows * cols)
	defer func() { err = errors.Join(err, hal.CloseAll(ab, bb, cb)) }()
	if err := errors.Join(e1, e2, e3); err != nil {
		return nil, err
	}
	// Dimension 0 is the columns, which are neighbours in memory. Out says that the kernel writes all of c, so nothing of it is copied to the device.
	err = matmul.Launch(ctx, stream, kernel.Over(cols, rows).Of(tile, tile), kernel.In(ab), kernel.In(bb), kernel.Out(cb),
		kernel.Value(uint32(rows)), kernel.Value(uint32(cols)), kernel.Value(uint32(inner)))
	if err != nil {
		return nil, err
	}
	product = make([]float32, rows*cols)
	return product, cb.CopyOut(ctx, product)
}

// plain is the same product. Its sums are in the same order, so that the bits are the same too.
func plain(a, b []float32, rows, cols, inner int) []float32 {
	c := make([]float32, rows*cols)
	for i := range rows {
		for k := range inner {
			for j := range cols {
				c[i*cols+j] += float32(a[i*inner+k] * b[k*cols+j])
			}
		}
	}
	return c
}

// matrix returns n numbers that are not round.
func matrix(n int) []float32 {
	m := make([]float32, n)
	for i := range m {
		m[i] = float32(i%97-48) / 7
	}
	return m
}

func main() {
	const rows, cols, inner = 250, 300, 200
	a, b := matrix(rows*inner), matrix(inner*cols)
	want := plain(a, b, rows, cols, inner)
	ctx := context.Background()
	_, err := every.Device(ctx, os.Stdout, func(stream *hal.Stream) (string, error) {
		got, err := run(ctx, stream, a, b, rows, cols, inner)
		if err == nil && !slices.Equal(got, want) {
			err = errors.New("the product differs from that of plain Go")
		}
		return fmt.Sprintf("%d×%d times %d×%d is the same as in plain Go", rows, inner, inner, cols), err
	})
	if err != nil {
		log.Fatal(err)
	}
}
