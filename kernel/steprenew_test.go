package kernel_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
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
		grid := hal.Over(1)
		return errors.Join(first.Kernel("count").Launch(ctx, step, grid), second.Kernel("count").Launch(ctx, step, grid))
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

// A run whose context ends while it waits for another one returns, also if the driver holds up the other one.
func TestRunDoesNotWaitForADriverThatBlocks(t *testing.T) {
	b := newFailing(nil)
	blocked, goOn := make(chan struct{}, 1), make(chan struct{})
	b.Launch = func(s *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
		select {
		case blocked <- struct{}{}:
			<-goOn
		default:
		}
		return s.Stream.(driver.Launcher).Launch(k, l)
	}
	s := b.streams(t)[0]
	x, y := made(t, ramp(10)...), made(t, ramp(10)...)
	step := stepOf(t, s, [2]*buffer.Buffer[float32]{x, y})
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { first <- step.Run(ctx) }()
	<-blocked
	ends, cancel := context.WithCancel(ctx)
	go func() { second <- step.Run(ends) }()
	cancel()
	select {
	case err := <-second:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(20 * time.Second):
		t.Error("it waits")
	}
	close(goOn)
	require.NoError(t, <-first)
	assert.Equal(t, float32(18), contents(t, y)[9])
}
