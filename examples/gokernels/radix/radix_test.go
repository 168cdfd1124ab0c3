package radix

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

// Eight steps sort, and one step leaves keys with the same digit in their order.
func TestSort(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		for _, n := range []int{1, block, 3001} {
			keys := make([]uint32, n)
			for i := range keys {
				keys[i] = uint32(i*i) * 2654435761
			}
			for _, steps := range []int{1, 8} {
				got, err := sorted(t, stream, keys, steps)
				if err != nil {
					return err
				}
				want := slices.Clone(keys)
				slices.SortStableFunc(want, func(a, b uint32) int { return int(a&(1<<(4*steps)-1)) - int(b&(1<<(4*steps)-1)) })
				assert.Equal(t, want, got, "%d keys, %d steps", n, steps)
			}
		}
		return nil
	})
}

// sorted returns the keys sorted by their lowest digits.
func sorted(t *testing.T, stream *hal.Stream, keys []uint32, steps int) ([]uint32, error) {
	ctx, n := t.Context(), len(keys)
	over, blocks := hal.Over(n).Of(block), (n+block-1)/block
	a, e1 := buffer.From(keys)
	b, e2 := buffer.New[uint32](n)
	counts, e3 := buffer.New[uint32](digits * blocks)
	err := errors.Join(e1, e2, e3)
	from, to := a, b
	for s := range uint32(steps) {
		if err == nil {
			err = errors.Join(
				CountOn(ctx, stream, over, 4*s, from, counts),
				StartsOn(ctx, stream, hal.Blocks(1).Of(block), counts),
				ScatterOn(ctx, stream, over, 4*s, from, counts, to))
		}
		from, to = to, from
	}
	got := make([]uint32, n)
	return got, errors.Join(err, from.CopyOut(ctx, got), hal.CloseAll(a, b, counts))
}
