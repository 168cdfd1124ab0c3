package hal_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/kernel"
)

// With HALYARD_LAUNCH_SYNC=1 a kernel has run although its launch returned an error: what it wrote is lost.
func TestBuffersOfLaunchesThatWait(t *testing.T) {
	ctx := context.Background()
	hal.SetLaunchSync(true)
	defer hal.SetLaunchSync(false)
	s := fixture.Stream(t, fixture.Device(t, host.New(host.Options{Name: "waits", Discrete: 1}), 1))
	p := kernel.New(kernel.Source{Go: kernel.Functions{
		"half": kernel.Go(func(b *kernel.Block) { kernel.Slice[uint32](b, 0)[0] = 99; panic("no") }),
		"add": kernel.Go(func(b *kernel.Block) {
			for i := range kernel.Slice[uint32](b, 0) {
				kernel.Slice[uint32](b, 0)[i]++
			}
		}),
	}})
	x, err := buffer.From([]uint32{1, 2, 3, 4})
	require.NoError(t, err)
	launch := func(name string) error { return p.Kernel(name).Launch(ctx, s, hal.Blocks(1).Of(1), kernel.InOut(x)) }
	require.NoError(t, launch("add"))
	require.NoError(t, x.View(ctx, func(got []uint32) error {
		require.Equal(t, []uint32{2, 3, 4, 5}, got)
		return nil
	}))
	require.Error(t, launch("half"))
	require.Error(t, x.View(ctx, func([]uint32) error { return nil }))
	require.NoError(t, hal.CloseAll(x, p))
}
