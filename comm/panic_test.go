package comm_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
)

// If an observer of buffers panics, an operation ends its leases and itself.
func TestObserverThatPanics(t *testing.T) {
	ctx := context.Background()
	fault := errors.New("the observer's own fault")
	panics := func(kind buffer.ActivityKind, also string, fn func()) {
		defer buffer.Observe(func(e buffer.Activity) {
			if e.Kind == kind && (also == "" || e.Name == also) {
				panic(fault)
			}
		})()
		defer func() { require.ErrorIs(t, recover().(error), fault) }()
		fn()
	}
	j := commtest.New(1)
	defer j.Close()
	c := comm.New(j.Engine(0))
	made := func(name string) *buffer.Buffer[float64] {
		b, err := buffer.New[float64](2, buffer.WithName(name))
		require.NoError(t, err)
		require.NoError(t, b.Reset())
		return b
	}
	a, b := made("a"), made("b")
	panics(buffer.ActivityAlloc, "b", func() { _, _ = comm.Sendrecv(ctx, c, a, 0, 1, b, 0, 1) })
	panics(buffer.ActivityUse, "", func() { _, _ = comm.Sendrecv(ctx, c, a, 0, 1, b, 0, 1) })
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	require.NoError(t, c.Close())
}
