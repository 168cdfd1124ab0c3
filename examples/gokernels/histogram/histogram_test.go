package histogram

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

// Counts are those of plain Go, with a grid of a few blocks that share the data.
func TestCount(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		for _, n := range []int{1, 100, 10001} {
			bytes, want := make([]uint8, n), make([]uint32, bins)
			for i := range bytes {
				bytes[i] = uint8(uint32(i) * uint32(i) >> 3)
				want[bytes[i]]++
			}
			data, e1 := buffer.From(bytes)
			counts, e2 := buffer.New[uint32](bins)
			err := errors.Join(e1, e2)
			if err == nil {
				err = CountOn(t.Context(), stream, hal.Blocks(5).Of(64), data, counts)
			}
			got := make([]uint32, bins)
			if err := errors.Join(err, counts.CopyOut(t.Context(), got), hal.CloseAll(data, counts)); err != nil {
				return err
			}
			assert.Equal(t, want, got)
		}
		return nil
	})
}
