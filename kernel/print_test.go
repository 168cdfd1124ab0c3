package kernel

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// A launch that waits for another one to print ends with its context.
func TestPrintingLaunchesWaitInTurn(t *testing.T) {
	dev, err := hal.Open(t.Context(), "host:0")
	require.NoError(t, err)
	d := &onDevice{dev: layer.Common(dev)}
	l := &lines{turn: make(chan struct{}, 1), to: io.Discard}
	require.NoError(t, l.begin(t.Context(), d))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = l.begin(ctx, d)
	assert.ErrorIs(t, err, hal.ErrNotReady)
	assert.ErrorIs(t, err, context.Canceled)
	<-l.turn
	require.NoError(t, l.begin(t.Context(), d))
}
