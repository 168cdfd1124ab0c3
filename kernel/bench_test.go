package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// BenchmarkLaunch compares a launch on five buffers with the launch alone, on a discrete host device.
func BenchmarkLaunch(b *testing.B) {
	_, streams := devices(b, 1)
	s := streams[1]
	p := kernel.New(kernel.Source{Go: kernel.Functions{"f": kernel.Go(func(*kernel.Block) {})}})
	defer p.Close()
	k := p.Kernel("f")
	var args [6]kernel.Arg
	var raw [6]hal.Arg
	for i := range 5 {
		x := made(b, make([]uint32, 16)...)
		require.NoError(b, x.SyncTo(ctx, s.Device()))
		args[i] = kernel.In(x)
		if i == 0 {
			args[i] = kernel.InOut(x)
		}
		m, err := s.Device().Alloc(hal.KindDevice, 64, 0)
		require.NoError(b, err)
		defer m.Close()
		raw[i] = hal.At(m.All())
	}
	args[5], raw[5] = kernel.Value(uint64(16)), hal.Value(uint64(16))
	found, err := k.Of(ctx, s.Device())
	require.NoError(b, err)
	run := func(name string, launch func() error) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if err := launch(); err != nil {
					b.Fatal(err)
				}
				if err := s.Sync(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("stream", func() error { return s.Launch(found, hal.Blocks(1).Of(1), raw[:]...) })
	run("buffers", func() error { return k.Launch(ctx, s, kernel.Blocks(1).Of(1), args[:]...) })
}
