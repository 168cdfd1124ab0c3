package kernel_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
	"github.com/go-halyard/halyard/kernel"
)

// A checked launch that is given up while it waits for what the kernel is to read has changed nothing.
func TestACheckedLaunchThatIsGivenUp(t *testing.T) {
	_, streams := devices(t, 1)
	s := streams[1]
	p := program(t)
	x, y := made(t, make([]uint32, 64)...), made(t, make([]uint32, 64)...)
	want := make([]uint32, 64)
	for i := range want {
		want[i] = 7
	}
	require.NoError(t, p.Kernel("fill").Launch(ctx, s, hal.Over(64), kernel.Out(x), kernel.Value(uint32(7)), kernel.Value(uint32(0))))
	require.NoError(t, p.Kernel("fill").Launch(ctx, s, hal.Over(64), kernel.Out(y), kernel.Value(uint32(7)), kernel.Value(uint32(0))))
	require.NoError(t, s.Sync(ctx))
	kernel.SetChecking(true)
	defer kernel.SetChecking(false)
	add := kernel.New(kernel.Source{Go: kernel.Functions{"add": kernel.Go(func(b *kernel.Block) {
		copy(kernel.Slice[uint32](b, 0), kernel.Slice[uint32](b, 1))
	})}})
	defer func() { require.NoError(t, add.Close()) }()
	g := fixture.Gate(t, s)
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, add.Kernel("add").Launch(short, s, hal.Blocks(1).Of(1), kernel.Out(y), kernel.In(x)), hal.ErrNotReady)
	require.NoError(t, g.Signal())
	require.NoError(t, s.Sync(ctx))
	require.Equal(t, want, contents(t, y))
}

// If the driver refuses a checked launch when the pattern is in an Out already, the elements are lost.
func TestACheckedLaunchThatTheDriverRefuses(t *testing.T) {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "refuses", Discrete: 1})}
	no := errors.New("no launches today")
	refuse := false
	b.Launch = func(s *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
		if refuse {
			return no
		}
		return s.PlainLaunch(k, l)
	}
	s := fixture.Stream(t, fixture.Device(t, b, 1))
	p := program(t)
	y := made(t, make([]uint32, 64)...)
	launch := func() error {
		return p.Kernel("fill").Launch(ctx, s, hal.Over(64), kernel.Out(y), kernel.Value(uint32(7)), kernel.Value(uint32(0)))
	}
	require.NoError(t, launch())
	kernel.SetChecking(true)
	defer kernel.SetChecking(false)
	refuse = true
	require.ErrorIs(t, launch(), no)
	require.ErrorIs(t, y.View(ctx, func([]uint32) error { return nil }), no)
	refuse = false
	require.NoError(t, launch())
	require.EqualValues(t, 7, contents(t, y)[63])
}

// What a kernel that failed was to write is lost, although the checked launch has told the error.
func TestACheckedKernelThatFails(t *testing.T) {
	_, streams := devices(t, 1)
	kernel.SetChecking(true)
	defer kernel.SetChecking(false)
	half := kernel.New(kernel.Source{Go: kernel.Functions{"half": kernel.Go(func(b *kernel.Block) {
		kernel.Slice[uint32](b, 0)[0] = 99
		panic("no")
	})}})
	defer func() { require.NoError(t, half.Close()) }()
	y := made(t, make([]uint32, 64)...)
	require.ErrorIs(t, half.Kernel("half").Launch(ctx, streams[1], hal.Blocks(1).Of(1), kernel.InOut(y)), hal.ErrKernel)
	require.ErrorIs(t, y.View(ctx, func([]uint32) error { return nil }), hal.ErrKernel, "told")
	require.ErrorIs(t, y.View(ctx, func([]uint32) error { return nil }), hal.ErrDeviceLost)
	require.NoError(t, y.Overwrite(ctx, func(s []uint32) error { clear(s); return nil }))
}

// A kernel that is on the stream counts, even if the stream is closed before Launch returns.
func TestALaunchOnAStreamThatIsClosedMeanwhile(t *testing.T) {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "closing", Discrete: 1})}
	s, err := fixture.Device(t, b, 1).NewStream()
	require.NoError(t, err)
	closed := make(chan error, 1)
	b.Launch = func(on *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
		go func() { closed <- s.Close() }()
		for layer.Err(s) == nil {
			runtime.Gosched()
		}
		return on.PlainLaunch(k, l)
	}
	y := made(t, make([]uint32, 64)...)
	require.NoError(t, program(t).Kernel("fill").Launch(ctx, s, hal.Over(64), kernel.Out(y), kernel.Value(uint32(7)), kernel.Value(uint32(0))))
	require.NoError(t, <-closed)
	require.EqualValues(t, 7, contents(t, y)[63])
}

// No call takes a nil context, also when the program is loaded.
func TestNilContextsAreRefused(t *testing.T) {
	var none context.Context
	_, streams := devices(t, 1)
	s := streams[0]
	x, y := made(t, make([]float32, 8)...), made(t, make([]float32, 8)...)
	split, err := kernel.NewSplit(streams...)
	require.NoError(t, err)
	step, err := kernel.Record(ctx, s, func(step *kernel.Step) error {
		return divided.SaxpyOn(ctx, step, hal.Over(8), 1, x, y)
	})
	require.NoError(t, err)
	for range 2 {
		for name, call := range map[string]func() error{
			"Launch":  func() error { return divided.SaxpyOn(none, s, hal.Over(8), 1, x, y) },
			"divided": func() error { return divided.SaxpyOn(none, split, hal.Over(8).Of(4), 1, x, y) },
			"Record":  func() error { _, err := kernel.Record(none, s, func(*kernel.Step) error { return nil }); return err },
			"Run":     func() error { return step.Run(none) },
			"recorded": func() error {
				_, err := kernel.Record(ctx, s, func(step *kernel.Step) error { return divided.SaxpyOn(none, step, hal.Over(8), 1, x, y) })
				return err
			},
		} {
			err := call()
			require.ErrorIs(t, err, hal.ErrInvalidArgument, name)
			require.ErrorContains(t, err, "nil context", name)
		}
		require.NoError(t, divided.SaxpyOn(ctx, s, hal.Over(8), 1, x, y))
		require.NoError(t, step.Run(ctx))
	}
}
