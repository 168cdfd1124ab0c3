package kernel_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// heatThereAndBack records two launches of heat, which exchange rows, and one that needs nothing of the other devices.
func heatThereAndBack(t *testing.T, on kernel.Target, width, height int, a, b *buffer.Buffer[float32]) *kernel.Step {
	step, err := kernel.Record(ctx, on, func(s *kernel.Step) error {
		grid := hal.Over(width, height).Of(8, 4)
		return errors.Join(divided.SpreadOn(ctx, s, grid, int32(width), int32(height), a, b),
			divided.SpreadOn(ctx, s, grid, int32(width), int32(height), b, a),
			divided.SaxpyOn(ctx, s, hal.Over(width*height).Of(8*width), 0.5, b, a))
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, step.Close()) })
	return step
}

// A step of heat on n devices has the bits of one device, and moves what its launches move. It is cut where devices exchange rows, and not divided again.
func TestStepsOnSeveralDevices(t *testing.T) {
	const width, height, runs = 40, 96, 6
	start := numbers(rand.New(rand.NewPCG(1, 2)), width*height)
	_, own := devices(t, 1)
	for _, team := range append(teams(t), own[1:]) {
		t.Run(names(team), func(t *testing.T) {
			a, b := made(t, start...), made(t, make([]float32, width*height)...)
			split := newSplit(t, team...)
			step := heatThereAndBack(t, split, width, height, a, b)
			plan := kernel.Segments(step)
			for range runs {
				require.NoError(t, step.Run(ctx))
			}
			require.Equal(t, plan, kernel.Segments(step), "it was divided once")
			if len(team) > 1 {
				// Spread reads rows of the other part, and writes rows that the other one has read.
				require.Equal(t, []int{1, 2}, kernel.LaunchesOfSegments(step))
			}
			x, y := made(t, start...), made(t, make([]float32, width*height)...)
			q := newSplit(t, team...)
			grid := hal.Over(width, height).Of(8, 4)
			for range runs {
				require.NoError(t, divided.SpreadOn(ctx, q, grid, width, height, x, y))
				require.NoError(t, divided.SpreadOn(ctx, q, grid, width, height, y, x))
				require.NoError(t, divided.SaxpyOn(ctx, q, hal.Over(width*height).Of(8*width), 0.5, y, x))
			}
			moved, copies := copied(t, x.Stats(), y.Stats()), copied(t, a.Stats(), b.Stats())
			require.Equal(t, contents(t, x), contents(t, a))
			require.Equal(t, moved, copies)
		})
	}
}

// Steps that copy between devices that cannot wait for each other wait for the devices first, from the fifth run on.
func TestStepsThatCrossWaitForTheDevices(t *testing.T) {
	const width, height, runs = 40, 96, 10
	streams, syncs := strangers(t, 2)
	a, b := made(t, numbers(rand.New(rand.NewPCG(1, 2)), width*height)...), made(t, make([]float32, width*height)...)
	step := heatThereAndBack(t, newSplit(t, streams...), width, height, a, b)
	before := syncs.Load()
	for range runs {
		require.NoError(t, step.Run(ctx))
	}
	assert.EqualValues(t, 2*len(streams)*(runs-4), syncs.Load()-before, "two segments")
}

// A device that fails in a run makes the run fail, with an error that names the device. Each element has the value of before or of after a launch, or is
// lost. If the device was lost, later runs are those of the others.
func TestDeviceFailsInAStepOnSeveralDevices(t *testing.T) {
	const width, height = 16, 48
	for _, kind := range []error{hal.ErrDeviceLost, hal.ErrInvalidArgument} {
		failed := 0
		for before := range 3 { // runs: the launches of later ones have been prepared
			for call := int64(1); call < 200; call++ {
				b := newFailing(kind)
				streams := b.streams(t)
				split := newSplit(t, streams...)
				x, y := made(t, make([]float32, width*height)...), made(t, make([]float32, width*height)...)
				step := heatThereAndBack(t, split, width, height, x, y)
				within, cancel := context.WithTimeout(ctx, waits)
				for range before {
					require.NoError(t, step.Run(within))
				}
				b.left.Store(call)
				err := step.Run(within)
				if b.left.Swap(0) > 0 {
					cancel()
					require.NoError(t, err)
					break
				}
				if err == nil { // the next run finds it, or it does not matter
					err = step.Run(within)
				}
				if err != nil {
					failed++
					require.ErrorIs(t, err, kind)
					require.ErrorContains(t, err, streams[1].Device().Name())
					if errors.Is(kind, hal.ErrDeviceLost) {
						require.Len(t, split.Streams(), 2)
					}
				}
				require.NoError(t, x.Fill(within, 1))
				require.NoError(t, y.Fill(within, 1))
				one := made(t, slices.Repeat([]float32{1}, width*height)...)
				two := made(t, slices.Repeat([]float32{1}, width*height)...)
				require.NoError(t, step.Run(within), "call %d: a run on the devices that work", call)
				require.NoError(t, heatThereAndBack(t, streams[0], width, height, one, two).Run(within))
				require.Equal(t, contents(t, one), contents(t, x))
				cancel()
			}
		}
		require.Greater(t, failed, 10)
	}
}

// A context that ends in a run gives it up between launches, and no lease stays open.
func TestContextEndsInAStepOnSeveralDevices(t *testing.T) {
	const width, height = 16, 48
	_, streams := devices(t, 3)
	x, y := made(t, make([]float32, width*height)...), made(t, make([]float32, width*height)...)
	step := heatThereAndBack(t, newSplit(t, streams[1:]...), width, height, x, y)
	given, whole := 0, 0
	for after := range 60 {
		require.NoError(t, x.Fill(ctx, 1))
		require.NoError(t, y.Fill(ctx, 1))
		within, cancel := context.WithCancel(ctx)
		left := after
		stop := buffer.Observe(func(buffer.Activity) {
			if left--; left <= 0 {
				cancel()
			}
		})
		err := step.Run(within)
		stop()
		cancel()
		if whole++; err != nil {
			require.ErrorIs(t, err, context.Canceled)
			given++
			whole--
		}
		limit, done := context.WithTimeout(ctx, waits)
		require.NoError(t, x.Update(limit, func([]float32) error { return nil }))
		require.NoError(t, y.Update(limit, func([]float32) error { return nil }))
		done()
	}
	assert.Greater(t, given, 3)
	assert.NotZero(t, whole)
	within, cancel := context.WithCancel(ctx)
	require.NoError(t, y.Update(ctx, func([]float32) error {
		go cancel()
		require.ErrorIs(t, step.Run(within), context.Canceled)
		return nil
	}))
	require.NoError(t, step.Run(ctx))
	require.NoError(t, x.Close())
	require.ErrorIs(t, step.Run(ctx), hal.ErrClosed)
	require.ErrorContains(t, step.Run(ctx), "argument from: the buffer is closed")
}

// A panic of an observer comes out of the run, and no lease stays open.
func TestObserverPanicsInAStepOnSeveralDevices(t *testing.T) {
	const width, height = 16, 48
	_, streams := devices(t, 2)
	x, y := made(t, make([]float32, width*height)...), made(t, make([]float32, width*height)...)
	step := heatThereAndBack(t, newSplit(t, streams[1:]...), width, height, x, y)
	threw := 0
	for after := 1; after < 60; after++ {
		require.NoError(t, x.Fill(ctx, 1))
		require.NoError(t, y.Fill(ctx, 1))
		left := after
		stop := buffer.Observe(func(buffer.Activity) {
			if left--; left == 0 {
				panic("observer")
			}
		})
		func() {
			defer func() {
				if recover() != nil {
					threw++
				}
			}()
			require.NoError(t, step.Run(ctx))
		}()
		stop()
		limit, done := context.WithTimeout(ctx, waits)
		require.NoError(t, x.Update(limit, func([]float32) error { return nil }))
		require.NoError(t, y.Update(limit, func([]float32) error { return nil }))
		done()
	}
	assert.Greater(t, threw, 3)
}

// Steps are timed as launches are, though rarely: the shares follow, the step is divided again, and the results stay the same.
func TestSharesFollowTheTimesOfSteps(t *testing.T) {
	const n = 1600
	for _, launches := range []int{1, 3, 1500} {
		split, streams := timedSplit(t, true, []float64{1, 3})
		one, y := made(t, make([]float32, n)...), made(t, make([]float32, n)...)
		require.NoError(t, one.Fill(ctx, 1))
		step, err := kernel.Record(ctx, split, func(s *kernel.Step) (err error) {
			for range launches {
				err = errors.Join(err, divided.SaxpyOn(ctx, s, hal.Over(n).Of(16), 1, one, y))
			}
			return err
		})
		require.NoError(t, err)
		plans := map[any]bool{}
		for range 60 {
			require.NoError(t, step.Run(ctx))
			for _, s := range streams {
				require.NoError(t, s.Sync(ctx))
			}
			plans[kernel.Segments(step)] = true
		}
		assert.InDelta(t, 0.75, split.Shares()[0], 0.05, "%d launches", launches)
		assert.Equal(t, slices.Repeat([]float32{float32(60 * launches)}, n), contents(t, y))
		assert.Less(t, len(plans), 5)
		require.NoError(t, step.Close())
	}
}

// A device that cannot compile a kernel is left out of a step with it, also if it is the first.
func TestDevicesThatCannotRunAKernelAreLeftOutOfSteps(t *testing.T) {
	const n = 480
	for _, bad := range []int{1, 2, 3} {
		b := newFailing(hal.ErrUnavailable)
		b.Call = func(op string, device int) error {
			if op != "Load" || device != bad {
				return nil
			}
			return &driver.Error{Op: op, Backend: b.Name(), Device: device, Kind: hal.ErrUnavailable, Detail: "no compiler"}
		}
		split := newSplit(t, b.streams(t)...)
		x, y := made(t, ramp(n)...), made(t, make([]float32, n)...)
		step, err := kernel.Record(ctx, split, func(s *kernel.Step) error {
			return divided.SaxpyOn(ctx, s, hal.Over(n).Of(16), 1, x, y)
		})
		require.NoError(t, err)
		require.NoError(t, step.Run(ctx))
		require.NoError(t, step.Run(ctx))
		assert.Equal(t, float32(20), contents(t, y)[10])
		require.NoError(t, step.Close())
	}
}

// Goroutines run a step of several devices at once, while others change the shares, and close it in the end.
func TestManyRunStepsOnSeveralDevices(t *testing.T) {
	const n, runs = 480, 200
	_, streams := devices(t, 2)
	split := newSplit(t, streams[1:]...)
	x, y := made(t, make([]float32, n)...), made(t, make([]float32, n)...)
	require.NoError(t, x.Fill(ctx, 1))
	step, err := kernel.Record(ctx, split, func(s *kernel.Step) error {
		return errors.Join(divided.SaxpyOn(ctx, s, hal.Over(n).Of(16), 1, x, y), divided.SaxpyOn(ctx, s, hal.Over(n).Of(16), 1, x, y))
	})
	require.NoError(t, err)
	var count atomic.Int64
	done := make(chan error, 3)
	for i := range 3 {
		go func() {
			var err error
			for j := range runs {
				if err = step.Run(ctx); errors.Is(err, hal.ErrClosed) {
					err = nil
					break
				} else if err != nil {
					break
				}
				count.Add(1)
				if i == 0 && j%20 == 0 {
					err = errors.Join(err, split.SetShares(1, float64(1+j%7)))
				}
				if i == 1 && j == runs-20 {
					err = errors.Join(err, step.Close())
				}
			}
			done <- err
		}()
	}
	for range 3 {
		select {
		case err := <-done:
			require.NoError(t, err)
		case <-time.After(waits):
			t.Fatal("a run hangs")
		}
	}
	assert.Equal(t, slices.Repeat([]float32{float32(2 * count.Load())}, n), contents(t, y))
}

// A step finds its kernels again when their program was closed, also those of parts, and it launches kernels that use no buffer.
func TestStepsOnSeveralDevicesLoadAgain(t *testing.T) {
	const n = 480
	b := newFailing(nil)
	var loads, runs atomic.Int64
	b.Call = func(op string, _ int) error {
		if op == "Load" {
			loads.Add(1)
		}
		return nil
	}
	add := func(b *kernel.Block) {
		y := kernel.Slice[float32](b, 0)
		for t := range grid.Threads(b) {
			y[t.Global(0)]++
		}
	}
	nothing := func(*kernel.Block) { runs.Add(1) }
	p := kernel.New(kernel.Source{Go: kernel.Functions{"add": kernel.Go(add), "nothing": kernel.Go(nothing)}, Source: gridgen.Source{Kernels: map[string]gridgen.Written{
		"add": {Params: []string{"y", "len(y)"}, Footprint: gridgen.Footprint{Cut: [3]bool{true},
			Of: func(box gridgen.Box, _ []int64, touch []gridgen.Touch) {
				r := buffer.Range{Lo: box.Lo[0], Hi: box.Hi[0]}
				touch[0] = gridgen.Touch{Read: r, Write: r}
			}}}, "nothing": {}}}})
	split := newSplit(t, b.streams(t)...)
	y := made(t, make([]float32, n)...)
	step, err := kernel.Record(ctx, split, func(s *kernel.Step) error {
		return errors.Join(p.Kernel("add").Launch(ctx, s, hal.Over(n).Of(16), kernel.InOut(y), kernel.Value(int64(n))),
			p.Kernel("nothing").Launch(ctx, s, hal.Blocks(1).Of(1)))
	})
	require.NoError(t, err)
	none, err := kernel.Record(ctx, split, func(s *kernel.Step) error { return p.Kernel("nothing").Launch(ctx, s, hal.Blocks(1).Of(1)) })
	require.NoError(t, err)
	require.NoError(t, none.Run(ctx))
	for range 3 {
		before := loads.Load()
		for range 3 {
			require.NoError(t, step.Run(ctx))
		}
		require.Equal(t, slices.Repeat([]float32{contents(t, y)[0]}, n), contents(t, y))
		require.LessOrEqual(t, loads.Load()-before, int64(4), "the parts of three devices, and the kernel of the first")
		require.NoError(t, p.Close())
	}
	require.Equal(t, float32(9), contents(t, y)[n-1])
	for _, s := range split.Streams() {
		require.NoError(t, s.Sync(ctx))
	}
	require.Equal(t, int64(10), runs.Load())
	require.NoError(t, step.Close())
	require.NoError(t, none.Close())
}
