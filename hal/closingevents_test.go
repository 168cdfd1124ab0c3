package hal_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// An event that was closed before anybody asked for its result, which is an error, is given back like any other.
func TestReclaimAfterAFailedKernel(t *testing.T) {
	dev, s, m := goKernels(t, map[string]hal.Function{"fails": {Run: func(*hal.Block) { panic("no") }}})
	require.NoError(t, s.Launch(kernelNamed(t, m, "fails"), hal.Blocks(1)))
	e, err := s.Record()
	require.NoError(t, err)
	require.NoError(t, e.Close())
	require.Error(t, s.Sync(context.Background()))
	require.NoError(t, dev.Reclaim(context.Background()))
}

// A function that runs in stream order, between OnDone and a gate, may close memory, also on a device whose frees wait for its work.
func TestAFunctionBeforeAGateMayCloseMemory(t *testing.T) {
	ctx := context.Background()
	b := &hooked.Backend{Backend: host.New(host.Options{})}
	d, err := hal.OpenWith(ctx, b, 0)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	waits(b, func() { _ = s.Sync(context.Background()) })
	m, err := d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	closed := make(chan error, 1)
	shut := make(chan *hal.Gate, 1)
	require.NoError(t, s.OnDone(func() {
		closed <- m.Close()
		_ = (<-shut).Signal()
	}))
	g, err := s.Gate()
	require.NoError(t, err)
	shut <- g
	require.NoError(t, within(t, closed))
	require.NoError(t, s.Sync(ctx))
	require.NoError(t, d.Reclaim(ctx))
	require.Zero(t, d.Usage().Held)
	require.NoError(t, hal.CloseAll(d, s))
}
