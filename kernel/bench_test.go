package kernel_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

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
	run("buffers", func() error { return k.Launch(ctx, s, hal.Blocks(1).Of(1), args[:]...) })
}

// BenchmarkHostKernel compares a Go kernel on 1 MiB with a loop over the same elements that is divided among the processors by hand. The two take
// turns; the metric is the least time of the loop divided by the least time of the launch and its wait.
func BenchmarkHostKernel(b *testing.B) {
	const n = 1 << 20 / 4
	_, streams := devices(b, 1)
	s := streams[0] // the unified device
	p := kernel.New(kernel.Source{Go: kernel.Functions{"scale": kernel.Go(func(b *kernel.Block) {
		x, y := kernel.Slice[float32](b, 0), kernel.Slice[float32](b, 1)
		from, to := kernel.Threads(b, 0, len(x))
		scaleTo(x[from:to], y[from:to])
	})}})
	defer p.Close()
	x, y := made(b, make([]float32, n)...), made(b, make([]float32, n)...)
	k, grid := p.Kernel("scale"), hal.Over(n)
	in, out := make([]float32, n), make([]float32, n)
	launch := func() {
		if err := errors.Join(k.Launch(ctx, s, grid, kernel.In(x), kernel.InOut(y)), s.Sync(ctx)); err != nil {
			b.Fatal(err)
		}
	}
	loop := func() {
		var wg sync.WaitGroup
		each := n / runtime.GOMAXPROCS(0)
		for from := 0; from < n; from += each {
			to := min(from+each, n)
			wg.Go(func() { scaleTo(in[from:to], out[from:to]) })
		}
		wg.Wait()
	}
	least := func(d *time.Duration, call func()) {
		start := time.Now()
		call()
		*d = min(*d, time.Since(start))
	}
	ours, rival := time.Hour, time.Hour
	for b.Loop() {
		least(&ours, launch)
		least(&rival, loop)
	}
	b.ReportMetric(float64(ours.Nanoseconds()), "launch-ns")
	b.ReportMetric(float64(rival.Nanoseconds()), "loop-ns")
	b.ReportMetric(float64(rival)/float64(ours), "loop/launch")
}

func scaleTo(x, y []float32) {
	for i := range x {
		y[i] = 3*x[i] + y[i]
	}
}
