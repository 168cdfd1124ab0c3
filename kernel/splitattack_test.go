package kernel_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// waits is how long a call may take that should not wait at all.
const waits = 10 * time.Second

// A kernel that panics, or ends its goroutine, in one part loses what that part writes, and nothing else. The error names the kernel and the block in
// the whole grid; later launches write the elements anew.
func TestKernelFailsInOnePart(t *testing.T) {
	const n, devs = 480, 3
	for _, how := range []string{"panic", "exit"} {
		for part := range devs {
			t.Run(fmt.Sprint(how, part), func(t *testing.T) {
				at := part*n/devs + 17
				p := kernel.New(kernel.Source{Name: "fails", Go: kernel.Functions{"f": kernel.Go(func(b *kernel.Block) {
					x, y, bad := kernel.Slice[float32](b, 0), kernel.Slice[float32](b, 2), int(kernel.Number[int64](b, 4))
					for i, end := kernel.Threads(b, 0, n); i < end; i++ {
						if i == bad && how == "panic" {
							panic("no")
						} else if i == bad {
							runtime.Goexit()
						}
						y[i] = x[i] + 1
					}
				})}, Source: gridgen.Source{Kernels: map[string]gridgen.Written{"f": {Params: []string{"x", "len(x)", "y", "len(y)", "bad"}, Footprint: own(true, 1, 3)}}}})
				defer func() { assert.NoError(t, p.Close()) }()
				_, streams := devices(t, devs)
				split, grid := newSplit(t, streams[1:]...), hal.Over(n).Of(16)
				x, y := made(t, ramp(n)...), made(t, ramp(n)...)
				launch := func(bad int) error {
					return p.Kernel("f").Launch(ctx, split, grid, kernel.In(x), kernel.Value(int64(n)), kernel.Out(y), kernel.Value(int64(n)), kernel.Value(int64(bad)))
				}
				require.NoError(t, launch(at))
				for other := range devs {
					values, err := sliceOf(y, other*n/devs, (other+1)*n/devs)
					if other != part {
						require.NoError(t, err)
						require.Equal(t, float32(other*n/devs+1), values[0])
						continue
					}
					require.ErrorIs(t, err, hal.ErrDeviceLost)
					require.ErrorIs(t, err, hal.ErrKernel)
					require.ErrorContains(t, err, fmt.Sprintf("kernel f, block %d,0,0", at/16))
					require.ErrorContains(t, err, streams[1+part].Device().Name())
				}
				require.Equal(t, ramp(n), contents(t, x), "what the kernel only reads")
				for i, s := range streams[1:] { // until then the stream's events report the failure
					require.Equal(t, i == part, s.Sync(ctx) != nil)
				}
				require.NoError(t, launch(-1), "Out does not need the lost elements")
				require.Equal(t, float32(n), contents(t, y)[n-1])
			})
		}
	}
}

// Several launches may find a lost device at once: one of them tells it, and the others run.
func TestManyLaunchesFindALostDevice(t *testing.T) {
	const n, at = 480, 4
	for range 200 {
		_, streams := devices(t, 2)
		split := newSplit(t, streams[1:]...)
		require.NoError(t, streams[1].Close())
		start, errs := make(chan struct{}), make(chan error, at)
		var group sync.WaitGroup
		for range at {
			x, y := made(t, ramp(n)...), made(t, ramp(n)...)
			group.Go(func() {
				<-start
				errs <- divided.SaxpyOn(ctx, split, hal.Over(n).Of(16), 1, x, y)
			})
		}
		close(start)
		group.Wait()
		close(errs)
		told := 0
		for err := range errs {
			if err != nil {
				require.ErrorIs(t, err, hal.ErrClosed)
				told++
			}
		}
		require.NotZero(t, told)
		require.Len(t, split.Streams(), 1)
	}
}

// A panic of an observer comes out of the launch, and no lease stays open.
func TestObserverPanicsInADividedLaunch(t *testing.T) {
	const n = 480
	_, streams := devices(t, 3)
	split := newSplit(t, streams[1:]...)
	x, y := made(t, ramp(n)...), made(t, ramp(n)...)
	for after := 1; ; after++ {
		require.NoError(t, x.Fill(ctx, 1))
		require.NoError(t, y.Fill(ctx, 1))
		for _, s := range streams {
			require.NoError(t, s.Sync(ctx))
		}
		left := after
		stop := buffer.Observe(func(buffer.Activity) {
			if left--; left == 0 {
				panic("observer")
			}
		})
		threw := func() (threw bool) {
			defer func() { threw = recover() != nil }()
			require.NoError(t, divided.SaxpyOn(ctx, split, hal.Over(n).Of(16), 1, x, y))
			return false
		}()
		stop()
		if !threw {
			require.Greater(t, after, 3)
			break
		}
		within, cancel := context.WithTimeout(ctx, waits)
		require.NoError(t, x.Update(within, func([]float32) error { return nil }), "activity %d", after)
		require.NoError(t, y.View(within, func(y []float32) error {
			require.Contains(t, []float32{1, 2}, y[0])
			require.Equal(t, slices.Repeat(y[:1], n), y, "activity %d", after)
			return nil
		}), "activity %d", after)
		cancel()
	}
}

// A context that ends while a launch brings elements to its devices gives the launch up, and changes nothing.
func TestContextEndsInADividedLaunch(t *testing.T) {
	const n = 480
	_, streams := devices(t, 3)
	split := newSplit(t, streams[1:]...)
	grid := hal.Over(n).Of(16)
	x, y := made(t, ramp(n)...), made(t, ramp(n)...)
	given := 0
	for after := range 100 {
		require.NoError(t, x.Fill(ctx, 1))
		require.NoError(t, y.Fill(ctx, 1))
		within, cancel := context.WithCancel(ctx)
		left := after
		stop := buffer.Observe(func(buffer.Activity) {
			if left--; left <= 0 {
				cancel()
			}
		})
		if after == 0 {
			cancel()
		}
		err := divided.SaxpyOn(within, split, grid, 1, x, y)
		stop()
		cancel()
		want := float32(2)
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			want = 1
			given++
		}
		require.Equal(t, slices.Repeat([]float32{want}, n), contents(t, y), "after %d", after)
	}
	require.NotZero(t, given)
	// A launch waits for accesses that exclude it until its context ends.
	within, cancel := context.WithCancel(ctx)
	require.NoError(t, y.Update(ctx, func([]float32) error {
		go cancel()
		err := divided.SaxpyOn(within, split, grid, 1, x, y)
		require.ErrorIs(t, err, context.Canceled)
		return nil
	}))
	require.NoError(t, divided.SaxpyOn(ctx, split, grid, 1, x, y))
}

// Shares whose sum is infinite, and those that are nothing beside others, divide as well.
func TestSharesOfAnySize(t *testing.T) {
	const n = 480
	_, streams := devices(t, 3)
	split := newSplit(t, streams[1:]...)
	x, y := made(t, ramp(n)...), made(t, ramp(n)...)
	for i, shares := range [][]float64{{1e308, 1e308, 1e308}, {1e308, 1e-308, 5e-324}, {5e-324, 5e-324, 5e-324}} {
		require.NoError(t, split.SetShares(shares...))
		sum := 0.0
		for _, share := range split.Shares() {
			sum += share
		}
		require.InDelta(t, 1, sum, 1e-9)
		require.NoError(t, divided.SaxpyOn(ctx, split, hal.Over(n).Of(16), 1, x, y))
		require.Equal(t, float32((i+2)*(n-1)), contents(t, y)[n-1])
	}
	require.NoError(t, split.SetShares(1e-9, 1, 1e-9))
	require.NoError(t, divided.SaxpyOn(ctx, split, hal.Over(n).Of(16), 1, x, y))
	assert.NotEqual(t, int64(-1), y.Version(streams[2].Device()), "the launch is not that of a device with next to no share")
	require.NoError(t, split.SetShares(1e308, 1e-308, 1e-308))
	require.NoError(t, streams[1].Close())
	require.ErrorIs(t, divided.SaxpyOn(ctx, split, hal.Over(n).Of(16), 1, x, y), hal.ErrClosed)
	assert.Equal(t, []float64{0.5, 0.5}, split.Shares(), "those that are left")
}

// A queue over one device has no split: its methods say so.
func TestNilSplit(t *testing.T) {
	for _, s := range []*kernel.Split{nil, {}} {
		assert.Empty(t, s.Streams())
		assert.Empty(t, s.Shares())
		require.ErrorIs(t, s.SetShares(1), hal.ErrInvalidArgument)
		require.ErrorIs(t, s.Close(), hal.ErrInvalidArgument)
		x, y := made(t, ramp(10)...), made(t, ramp(10)...)
		require.ErrorContains(t, divided.SaxpyOn(ctx, s, hal.Over(10), 1, x, y), "make it with NewSplit")
		require.Nil(t, s.Device())
	}
}
