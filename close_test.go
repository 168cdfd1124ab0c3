package halyard_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/small"
)

// A queue closes, too, if the elements of another queue's buffer are only at its device, and they are not lost: whatever the two devices are.
func TestCloseKeepsElementsOfOtherQueues(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	infos, _ := hal.Devices(t.Context())
	require.NotEmpty(t, infos)
	for _, used := range infos {
		for _, own := range infos {
			t.Run(used.Name()+" and "+own.Name(), func(t *testing.T) {
				a, b, c := halyard.Open(t.Context(), used.Name()), halyard.Open(t.Context(), own.Name()), halyard.Open(t.Context(), "host:0")
				x, y := halyard.From(b, []float32{10, 20, 30}), halyard.From(c, []float32{10, 20, 30})
				small.Saxpy(a, 2, halyard.From(a, []float32{1, 2, 3}), x)
				small.Saxpy(a, 2, halyard.From(a, []float32{1, 2, 3}), y)
				if err := a.Err(); used.Backend != "host" && (errors.Is(err, hal.ErrUnavailable) || errors.Is(err, hal.ErrUnsupported)) {
					_ = errors.Join(a.Close(), b.Close(), c.Close())
					t.Skip(err)
				}
				assert.NoError(t, a.Close())
				assert.Equal(t, []float32{12, 24, 36}, x.Values())
				assert.NoError(t, b.Close())
				assert.Equal(t, []float32{12, 24, 36}, y.Values())
				assert.NoError(t, c.Close())
				_, err := a.Device().NewStream()
				assert.ErrorIs(t, err, hal.ErrClosed, "the device is closed with the last queue that needs it")
			})
		}
	}
}
