package halyard_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/internal/testing/small"
)

// A queue on the host closes, too, if the elements of another queue's buffer are only there, and they are not lost.
func TestCloseMovesElementsToTheirOwnDevice(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	a, b := halyard.Open(t.Context(), "host:0"), halyard.Open(t.Context(), "host:1")
	x := halyard.From(b, []float32{10, 20, 30})
	small.Saxpy(a, 2, halyard.From(a, []float32{1, 2, 3}), x)
	assert.NoError(t, a.Close())
	assert.Equal(t, []float32{12, 24, 36}, x.Values())
	assert.NoError(t, b.Close())
}
