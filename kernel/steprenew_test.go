package kernel_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// A run that cannot load a kernel again, because its context has ended, fails, and the next one loads it.
func TestStepLoadsAKernelAgainLater(t *testing.T) {
	_, streams := devices(t, 1)
	s := streams[1]
	ran := 0
	one := func() *kernel.Program {
		return kernel.New(kernel.Source{Go: kernel.Functions{"count": kernel.Go(func(*kernel.Block) { ran++ })}})
	}
	first, second := one(), one()
	step, err := kernel.Record(ctx, s, func(step *kernel.Step) error {
		grid := step.Grid(hal.Over(1))
		return errors.Join(first.Kernel("count").Launch(ctx, s, grid), second.Kernel("count").Launch(ctx, s, grid))
	})
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, step.Run(ctx))
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	for _, p := range []*kernel.Program{first, second} {
		require.NoError(t, p.Close())
		require.ErrorIs(t, step.Run(over), context.Canceled)
		require.NoError(t, step.Run(ctx))
	}
	require.NoError(t, s.Sync(ctx))
	assert.Equal(t, 8, ran)
	require.NoError(t, errors.Join(step.Close(), first.Close(), second.Close()))
}
