package kernel_test

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/internal/testing/hooked"
	"github.com/go-halyard/halyard/kernel"
)

// Random steps do to the last bit what their launches do, and move the same bytes, whatever happens to the buffers between the runs.
func TestStepsDoWhatTheirLaunchesDo(t *testing.T) {
	streams := everyStream(t, 2)
	_, own := devices(t, 0)
	streams = append(streams, own[0])
	for i, s := range streams {
		other := streams[(i+1)%len(streams)]
		t.Run(s.Device().Name(), func(t *testing.T) {
			same := 0
			for seed := range uint64(40) {
				want, moved := stepStory(t, s, other, seed, false)
				got, copied := stepStory(t, s, other, seed, true)
				require.Equal(t, want, got, "seed %d", seed)
				// With a budget more is evicted, because a step needs all its buffers at once, and one that fails may have brought other buffers.
				if seed%3 == 1 && !slices.Contains(got, failedRun) {
					require.Equal(t, moved, copied, "seed %d", seed)
					same++
				}
			}
			require.Greater(t, same, 5, "stories of which the bytes are compared")
		})
	}
}

// failedRun stands for a run that failed.
const failedRun = -1e30

// stepStory repeats random launches on s, as a step or one after the other, and disturbs them. It returns what can be seen of the elements,
// and the bytes that were copied.
func stepStory(t *testing.T, s, other *hal.Stream, seed uint64, record bool) (seen []float32, moved uint64) {
	rng := rand.New(rand.NewPCG(seed, 6))
	const width, height = 16, 12
	const n = width * height
	var list []*buffer.Buffer[float32]
	for range 4 {
		list = append(list, made(t, numbers(rng, n)...))
	}
	sums := made(t, make([]float32, n/16)...)
	dev := s.Device()
	if seed%3 == 0 {
		buffer.SetBudget(dev, 3*4*n+64)
		defer buffer.SetBudget(dev, math.MaxUint64)
	}
	aligned := 1 // parts begin at multiples of it
	if !dev.Caps().Has(hal.CapAddress) || !other.Device().Caps().Has(hal.CapAddress) {
		aligned = 32 // a kernel's argument begins at a multiple of 128 bytes there
	}
	whole := func() *buffer.Buffer[float32] { return list[rng.IntN(len(list))] }
	part := func() *buffer.Buffer[float32] {
		lo := rng.IntN(n) / aligned * aligned
		b, err := whole().Slice(lo, lo+rng.IntN(n-lo+1))
		require.NoError(t, err)
		return b
	}
	apart := func() (x, y *buffer.Buffer[float32]) {
		i := rng.IntN(len(list))
		return list[i], list[(i+1+rng.IntN(len(list)-1))%len(list)]
	}
	var calls []func(on kernel.Target) error
	for range 1 + rng.IntN(7) {
		switch rng.IntN(5) {
		case 0, 1:
			a, x, y := rng.Float32()-0.5, whole(), part()
			calls = append(calls, func(on kernel.Target) error {
				if kernel.Overlap(x, y) > 0 {
					x = y
				}
				return divided.SaxpyOn(ctx, on, hal.Over(y.Len()), a, x, y)
			})
		case 2:
			from, to := apart()
			calls = append(calls, func(on kernel.Target) error {
				return divided.SpreadOn(ctx, on, hal.Over(width, height), width, height, from, to)
			})
		case 3:
			from, to := apart()
			lo := rng.IntN(n/2) / aligned * aligned
			to, err := to.Slice(lo, n)
			require.NoError(t, err)
			calls = append(calls, func(on kernel.Target) error {
				return divided.LaplaceOn(ctx, on, hal.Over(n-lo), from, to)
			})
		default:
			x, y := whole(), whole()
			calls = append(calls, func(on kernel.Target) error {
				return divided.DotOn(ctx, on, hal.Over(sums.Len()), x, y, sums)
			})
		}
	}
	if rng.IntN(3) == 0 { // so that elements are lost in between
		gone := whole()
		lease, err := gone.Acquire(ctx, s, coherence.ReadWrite)
		require.NoError(t, err)
		require.NoError(t, lease.ReleaseChecked(func() error { return hal.ErrBusy }))
		require.NoError(t, s.Sync(ctx)) // else it is chance which of the calls below is the first to know
	}
	run := func(s *hal.Stream) (err error) {
		for _, call := range calls {
			if err = call(s); err != nil {
				break
			}
		}
		return err
	}
	step := func() error { return run(s) }
	if record {
		made, err := kernel.Record(ctx, s, func(step *kernel.Step) error {
			for _, call := range calls {
				if err := call(step); err != nil {
					return err
				}
			}
			return nil
		})
		require.NoError(t, err)
		defer func() { assert.NoError(t, made.Close()) }()
		step = func() error { return made.Run(ctx) }
	}
	for range 12 {
		b := whole()
		var err error
		switch v, i := rng.Float32(), rng.IntN(n); rng.IntN(12) {
		case 0:
			err = b.Set(ctx, i, v)
		case 1:
			err = b.Update(ctx, func(x []float32) error { x[i] += v; return nil })
		case 2:
			err = b.View(ctx, func(x []float32) error { seen = append(seen, x...); return nil })
		case 3:
			if !dev.Info().SharesHostMemory && seed%3 != 1 { // a replica that is used again before it is gone may stay
				err = b.Evict(ctx, dev)
			}
		case 4:
			err = b.FillOn(ctx, s, v)
		case 5:
			err = b.FillOn(ctx, other, v)
		case 6:
			err = run(other)
		case 7:
			err = b.Reset()
		case 8:
			to, from := apart()
			err = to.CopyFrom(ctx, from)
		}
		require.True(t, err == nil || errors.Is(err, hal.ErrDeviceLost), "%v", err)
		if seed%3 == 1 { // where bytes come from may depend on what has ended
			require.NoError(t, errors.Join(s.Sync(ctx), other.Sync(ctx)))
		}
		if err := step(); err != nil { // of launches one after the other some may have run
			require.ErrorIs(t, err, hal.ErrDeviceLost)
			seen = append(seen, failedRun)
			for _, b := range list {
				require.NoError(t, b.Fill(ctx, 1))
			}
			require.NoError(t, sums.Fill(ctx, 0))
		}
	}
	for _, b := range append(list, sums) {
		seen = append(seen, contents(t, b)...)
		moved += b.Stats().BytesCopied
	}
	return seen, moved
}

// stepOf records launches of saxpy: for each pair x, y, y += x.
func stepOf(t *testing.T, s *hal.Stream, pairs ...[2]*buffer.Buffer[float32]) *kernel.Step {
	step, err := kernel.Record(ctx, s, func(step *kernel.Step) error {
		for _, p := range pairs {
			if err := divided.SaxpyOn(ctx, step, hal.Over(p[1].Len()), 1, p[0], p[1]); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, step.Close()) })
	return step
}

// If a call of the driver fails in a run, elements have their values of before or of after it, or are lost; and a later run is right again.
func TestDeviceFailsInARun(t *testing.T) {
	failed := 0
	for call := int64(1); ; call++ {
		b := newFailing(hal.ErrInvalidArgument)
		s := b.streams(t)[fails-1]
		x, y, z := made(t, ramp(100)...), made(t, ramp(100)...), made(t, ramp(100)...)
		step := stepOf(t, s, [2]*buffer.Buffer[float32]{x, y}, [2]*buffer.Buffer[float32]{y, z}, [2]*buffer.Buffer[float32]{x, z})
		b.left.Store(call)
		err := step.Run(ctx)
		if b.left.Swap(0) > 0 {
			require.NoError(t, err)
			break
		}
		if err != nil {
			failed++
			require.ErrorIs(t, err, hal.ErrInvalidArgument)
		}
		after := map[bool]int{}
		for _, v := range []struct {
			b             *buffer.Buffer[float32]
			before, after float32
		}{{x, 9, 9}, {y, 9, 18}, {z, 9, 36}} {
			got, e := v.b.At(ctx, 9)
			if e != nil {
				require.ErrorIs(t, e, hal.ErrDeviceLost)
				require.Error(t, err)
				continue
			}
			require.Contains(t, []float32{v.before, v.after}, got, "call %d", call)
			if v.b != x {
				after[got == v.after]++
			}
		}
		require.Less(t, len(after), 2, "call %d: some elements are of before, others of after the run", call)
		for _, v := range []*buffer.Buffer[float32]{x, y, z} {
			require.NoError(t, v.Fill(ctx, 1))
		}
		require.NoError(t, step.Run(ctx))
		assert.Equal(t, float32(4), contents(t, z)[9])
	}
	assert.Greater(t, failed, 3)
}

// A launch of a step that fails makes all lost that the step writes, also if the driver's event of the last one does not tell it.
func TestKernelFailsInARun(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		b := newFailing(nil)
		if !keeps { // an event tells how the command before it has ended
			b.Launch = func(s *hooked.Stream, k driver.Kernel, l *driver.Launch) error {
				if s.Data = nil; k.Info().Name == "fails" {
					s.Data = &driver.Error{Op: "launch", Backend: b.Name(), Kind: driver.ErrKernel}
					return nil
				}
				return s.Stream.(driver.Launcher).Launch(k, l)
			}
			b.Record = func(s *hooked.Stream, e *hooked.Event) error {
				e.Data = s.Data
				return s.Stream.Record(e.Event)
			}
			b.QueryEvent = func(e *hooked.Event) (bool, error) {
				done, err := e.Event.Query()
				if failed, ok := e.Data.(error); ok && done && err == nil {
					err = failed
				}
				return done, err
			}
			b.SyncEvent = func(e *hooked.Event) error {
				failed, _ := e.Data.(error)
				return cmp.Or(e.Event.Sync(), failed)
			}
		}
		s := b.streams(t)[0]
		p := program(t)
		x, y := made(t, []uint32{1}...), made(t, []uint32{1}...)
		step, err := kernel.Record(ctx, s, func(step *kernel.Step) error {
			return errors.Join(p.Kernel("fails").Launch(ctx, step, hal.Over(1), kernel.InOut(x)),
				p.Kernel("add").Launch(ctx, step, hal.Over(1), kernel.In(y), kernel.InOut(y)))
		})
		require.NoError(t, err)
		require.NoError(t, step.Run(ctx))
		for _, v := range []*buffer.Buffer[uint32]{x, y} {
			_, err := v.At(ctx, 0)
			require.ErrorIs(t, err, hal.ErrKernel)
		}
		require.NoError(t, step.Close())
		_ = s.Sync(ctx)
	}
}

// If elements that a step reads turn out to be lost when it is enqueued already, what it writes is lost as well, as with its launches.
func TestStepReadsWhatIsLost(t *testing.T) {
	for _, s := range everyStream(t, 1) {
		t.Run(s.Device().Name(), func(t *testing.T) {
			if !s.Device().Caps().Has(hal.CapGate) {
				t.Skip("no gates")
			}
			for _, record := range []bool{true, false} {
				x, y := made(t, ramp(100)...), made(t, ramp(100)...)
				run := func() error { return divided.SaxpyOn(ctx, s, hal.Over(100), 1, x, y) }
				if record {
					step := stepOf(t, s, [2]*buffer.Buffer[float32]{x, y})
					run = func() error { return step.Run(ctx) }
				}
				require.NoError(t, run())
				gate, err := s.Gate()
				require.NoError(t, err)
				lease, err := x.Acquire(ctx, s, coherence.ReadWrite)
				require.NoError(t, err)
				require.NoError(t, lease.ReleaseChecked(func() error { return hal.ErrBusy }))
				require.NoError(t, run())
				require.NoError(t, gate.Signal())
				for _, lost := range []*buffer.Buffer[float32]{y, x} {
					_, err := lost.At(ctx, 9)
					require.ErrorIs(t, err, hal.ErrDeviceLost, "record %v", record)
					require.ErrorIs(t, err, hal.ErrBusy)
					require.NoError(t, lost.Fill(ctx, 1))
				}
				require.NoError(t, run())
				require.Equal(t, float32(2), contents(t, y)[9])
			}
		})
	}
}

// What a step was recorded with may change or go.
func TestWhatAStepKeeps(t *testing.T) {
	_, streams := devices(t, 1)
	s := streams[1]
	type triple struct{ A, B, C float64 }
	v := triple{1, 2, 3}
	p := kernel.New(kernel.Source{Go: kernel.Functions{"sum": kernel.Go(func(b *kernel.Block) {
		v := kernel.Number[triple](b, 0)
		kernel.Slice[float64](b, 1)[0] += v.A + v.B + v.C
	})}})
	x := made(t, []float64{0}...)
	step, err := kernel.Record(ctx, s, func(step *kernel.Step) error {
		return p.Kernel("sum").Launch(ctx, step, hal.Over(1), kernel.Struct(&v), kernel.InOut(x))
	})
	require.NoError(t, err)
	require.NoError(t, step.Run(ctx))
	v = triple{}
	require.NoError(t, p.Close()) // the next run loads it again
	require.NoError(t, step.Run(ctx))
	assert.Equal(t, []float64{12}, contents(t, x))
	require.NoError(t, p.Close())
}

// With checks each launch is checked in each run, and a step of several devices is divided as its launches are.
func TestStepsThatRunLaunchByLaunch(t *testing.T) {
	_, streams := devices(t, 3)
	kernel.SetChecking(true)
	p := program(t)
	x := made(t, make([]uint32, 4)...)
	step, err := kernel.Record(ctx, streams[1], func(step *kernel.Step) error {
		return p.Kernel("scribble").Launch(ctx, step, hal.Over(1), kernel.In(x))
	})
	require.NoError(t, err)
	require.ErrorContains(t, step.Run(ctx), "it wrote to argument 0, which is passed with In")
	kernel.SetChecking(false)

	split := newSplit(t, streams[1:]...)
	a, b := made(t, ramp(480)...), made(t, make([]float32, 480)...)
	step, err = kernel.Record(ctx, split, func(step *kernel.Step) error {
		return divided.SaxpyOn(ctx, step, hal.Over(480).Of(16), 1, a, b)
	})
	require.NoError(t, err)
	require.NoError(t, step.Run(ctx))
	require.NoError(t, step.Run(ctx))
	assert.Equal(t, uint64(2*4*480), copied(t, a.Stats(), b.Stats())) // each element of both to one device
	for i, v := range contents(t, b) {
		require.Equal(t, float32(2*i), v)
	}
}

// A step moves only what its launches need: nothing for elements that the first of them overwrites.
func TestStepMovesWhatItReadsFirst(t *testing.T) {
	const width, height = 16, 12
	_, streams := devices(t, 1)
	a, b := made(t, numbers(rand.New(rand.NewPCG(1, 1)), width*height)...), made(t, make([]float32, width*height)...)
	require.NoError(t, b.Fill(ctx, 3))
	s := streams[1]
	step, err := kernel.Record(ctx, s, func(step *kernel.Step) error {
		grid := hal.Over(width, height)
		return errors.Join(divided.SpreadOn(ctx, step, grid, width, height, a, b), divided.SpreadOn(ctx, step, grid, width, height, b, a))
	})
	require.NoError(t, err)
	require.NoError(t, step.Run(ctx))
	require.NoError(t, step.Run(ctx))
	assert.Equal(t, uint64(4*width*height), a.Stats().BytesCopied)
	assert.Zero(t, b.Stats().BytesCopied)
}

// One of two buffers fits into the budget, but not both: the launches run one after the other.
func TestStepThatHasNoRoom(t *testing.T) {
	_, streams := devices(t, 1)
	x, y := made(t, ramp(100)...), made(t, ramp(100)...)
	buffer.SetBudget(streams[1].Device(), 500)
	step := stepOf(t, streams[1], [2]*buffer.Buffer[float32]{x, x}, [2]*buffer.Buffer[float32]{y, y})
	for range 2 {
		require.NoError(t, step.Run(ctx))
	}
	assert.Equal(t, float32(36), contents(t, x)[9])
	assert.Equal(t, float32(36), contents(t, y)[9])
}

func TestRecordRefusesBadArguments(t *testing.T) {
	_, streams := devices(t, 1)
	none := func(*kernel.Step) error { return nil }
	for _, err := range []error{
		second(kernel.Record(ctx, nil, none)), second(kernel.Record(ctx, streams[0], nil)),
		second(kernel.Record(ctx, streams[0], func(s *kernel.Step) error { // more arguments than the kernel takes
			x := made(t, float32(1))
			_ = program(t).Kernel("saxpy").Launch(ctx, s, hal.Over(1), kernel.In(x), kernel.In(x))
			return nil
		})),
	} {
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
	}
	require.ErrorIs(t, (*kernel.Step)(nil).Run(ctx), hal.ErrClosed)
	for _, on := range []kernel.Target{(*kernel.Step)(nil), (*hal.Stream)(nil), nil, (*hal.Memory)(nil)} {
		require.ErrorIs(t, program(t).Kernel("saxpy").Launch(ctx, on, hal.Over(1)), hal.ErrInvalidArgument)
	}
	require.NoError(t, (*kernel.Step)(nil).Close())
	other := errors.New("of the function")
	require.ErrorIs(t, second(kernel.Record(ctx, streams[0], func(*kernel.Step) error { return other })), other)
}

func second(_ *kernel.Step, err error) error { return err }
