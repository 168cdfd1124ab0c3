package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// A launch of a step may read the elements that it overwrites, whatever the order of its arguments.
func TestStepReadsWhatItsLaunchOverwrites(t *testing.T) {
	_, streams := devices(t, 1)
	p := kernel.New(kernel.Source{Go: kernel.Functions{"twice": kernel.Go(func(b *kernel.Block) {
		for i, v := range kernel.Slice[float32](b, 1) {
			kernel.Slice[float32](b, 0)[i] = 2 * v
		}
	})}})
	defer func() { assert.NoError(t, p.Close()) }()
	x := made(t, ramp(10)...)
	to, err := x.Slice(0, 8)
	require.NoError(t, err)
	from, err := x.Slice(2, 10)
	require.NoError(t, err)
	for _, record := range []bool{false, true} {
		require.NoError(t, x.CopyIn(ctx, ramp(10)))
		launch := func(on kernel.Target) error {
			return p.Kernel("twice").Launch(ctx, on, hal.Over(1), kernel.Out(to), kernel.In(from))
		}
		if !record {
			require.NoError(t, launch(streams[1]))
		} else {
			step, err := kernel.Record(ctx, streams[1], func(s *kernel.Step) error { return launch(s) })
			require.NoError(t, err)
			require.NoError(t, step.Run(ctx))
			require.NoError(t, step.Close())
		}
		assert.Equal(t, []float32{4, 6, 8, 10, 12, 14, 16, 18, 8, 9}, contents(t, x))
	}
}
