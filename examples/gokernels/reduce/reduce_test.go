package reduce

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

const block = 256 // threads of a block

// The sum and the scan are those of plain Go, also where they wrap around, for up to block² elements.
func TestSumAndScan(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		for _, n := range []int{1, block, block + 1, 10001} {
			ctx, over, blocks := t.Context(), hal.Over(n).Of(block), (n+block-1)/block
			xs, want, total := make([]uint32, n), make([]uint32, n), uint32(0)
			for i := range xs {
				xs[i] = uint32(i) * 2654435761
				total += xs[i]
				want[i] = total
			}
			x, e1 := buffer.From(xs)
			upTo, e2 := buffer.New[uint32](n)
			sums, e3 := buffer.New[uint32](blocks)
			upToSums, e4 := buffer.New[uint32](blocks)
			one, e5 := buffer.New[uint32](1)
			err := errors.Join(e1, e2, e3, e4, e5)
			if err == nil {
				err = errors.Join(
					SumOn(ctx, stream, over, x, sums),
					SumOn(ctx, stream, hal.Blocks(1).Of(block), sums, one),
					ScanOn(ctx, stream, over, x, upTo, sums),
					ScanOn(ctx, stream, hal.Blocks(1).Of(block), sums, upToSums, one),
					ShiftOn(ctx, stream, over, upTo, upToSums))
			}
			got := make([]uint32, n)
			sum, e6 := one.At(ctx, 0)
			if err := errors.Join(err, e6, upTo.CopyOut(ctx, got), hal.CloseAll(x, upTo, sums, upToSums, one)); err != nil {
				return err
			}
			assert.Equal(t, total, sum)
			assert.Equal(t, want, got)
		}
		return nil
	})
}

// The sums of blocks, the last of which has one element.
func TestSum(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		xs := make([]uint32, block*2+1)
		for i := range xs {
			xs[i] = uint32(i)
		}
		x, e1 := buffer.From(xs)
		sums, e2 := buffer.New[uint32](3)
		err := errors.Join(e1, e2)
		if err == nil {
			err = SumOn(t.Context(), stream, hal.Over(len(xs)).Of(block), x, sums)
		}
		got := make([]uint32, 3)
		if err := errors.Join(err, sums.CopyOut(t.Context(), got), hal.CloseAll(x, sums)); err != nil {
			return err
		}
		assert.Equal(t, []uint32{block * (block - 1) / 2, block*block + block*(block-1)/2, 2 * block}, got)
		return nil
	})
}
