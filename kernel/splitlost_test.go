package kernel_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/internal/testing/hooked"
	"github.com/go-halyard/halyard/kernel"
)

// action is a launch on buffers of the same length.
type action func(on kernel.Target, list []*buffer.Buffer[float32]) error

func randomAction(rng *rand.Rand, width, height, buffers int) action {
	from := rng.IntN(buffers)
	to := (from + 1 + rng.IntN(buffers-1)) % buffers
	line, plate := hal.Over(width*height).Of(1+rng.IntN(20)), hal.Over(width, height).Of(1+rng.IntN(8), 1+rng.IntN(4))
	switch rng.IntN(4) {
	case 0:
		return func(on kernel.Target, b []*buffer.Buffer[float32]) error {
			return divided.SaxpyOn(ctx, on, line, 0.25, b[from], b[to])
		}
	case 1:
		return func(on kernel.Target, b []*buffer.Buffer[float32]) error {
			return divided.LaplaceOn(ctx, on, line, b[from], b[to])
		}
	case 2:
		return func(on kernel.Target, b []*buffer.Buffer[float32]) error {
			return divided.SpreadOn(ctx, on, plate, int32(width), int32(height), b[from], b[to])
		}
	}
	return func(on kernel.Target, b []*buffer.Buffer[float32]) error {
		return divided.BlurOn(ctx, on, plate, kernel.InRows(b[from], width), kernel.InRows(b[to], width))
	}
}

// A device is lost at any call of a random program, whose launches are made one by one or recorded. The call that finds it returns an error that names
// the device. Each element then has a value of before or of after one of its launches, or is lost. The other devices run the rest.
func TestDeviceIsLostInRandomPrograms(t *testing.T) {
	programs, lost := 40, map[string]int{}
	if n, err := strconv.Atoi(os.Getenv("HALYARD_SPLIT_SEEDS")); err == nil {
		programs = n
	}
	for seed := range programs {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { lost[loseDevice(t, rand.New(rand.NewPCG(uint64(seed), 54)))]++ })
	}
	t.Logf("where the lost device was found: %v", lost)
	require.Less(t, 10*lost[""], programs+10, "programs that made too few calls")
}

// loseDevice returns which call found the device lost.
func loseDevice(t *testing.T, rng *rand.Rand) (found string) {
	const buffers = 3
	width, height := 1+rng.IntN(20), 2+rng.IntN(40)
	b := newFailing(hal.ErrDeviceLost)
	var gone atomic.Pointer[error] // what each later call returns, too, of half of the devices
	call, stays := b.Call, rng.IntN(2) == 0
	b.Call = func(op string, device int) error {
		if err := gone.Load(); err != nil && device == fails && !strings.HasPrefix(op, "Close") && op != "Free" {
			return *err
		}
		err := call(op, device)
		if err != nil && stays {
			gone.Store(&err)
		}
		return err
	}
	var running []*hooked.Stream // of the device that is lost
	b.NewStream = func(d *hooked.Device, o driver.StreamOptions) (*hooked.Stream, error) {
		s, err := d.PlainNewStream(o)
		if err == nil && d.Ordinal == fails {
			running = append(running, s)
		}
		return s, err
	}
	streams := b.streams(t)
	_, own := devices(t, 0)
	split := newSplit(t, streams...)
	var one, several []*buffer.Buffer[float32]
	for range buffers {
		x := numbers(rng, width*height)
		one, several = append(one, made(t, x...)), append(several, made(t, x...))
	}
	within, cancel := context.WithTimeout(ctx, waits)
	defer cancel()
	var states [][]float32 // of all buffers, one after the other, before and after the launches of the last run
	note := func() {
		var all []float32
		for _, x := range one {
			all = append(all, contents(t, x)...)
		}
		states = append(states, all)
	}
	run := func() (what string, err error) {
		list := make([]action, 1+rng.IntN(4))
		for i := range list {
			list[i] = randomAction(rng, width, height, buffers)
		}
		states = states[:0]
		note()
		for _, f := range list {
			require.NoError(t, f(own[0], one))
			note()
		}
		if len(list) == 1 {
			return "launch", list[0](split, several)
		}
		step, err := kernel.Record(within, split, func(s *kernel.Step) (err error) {
			for _, f := range list {
				if err == nil {
					err = f(s, several)
				}
			}
			return err
		})
		if err != nil {
			return "record", err
		}
		defer func() { require.NoError(t, step.Close()) }()
		if err := step.Run(within); err != nil || rng.IntN(2) == 0 {
			return "step", err
		}
		for _, f := range list {
			require.NoError(t, f(own[0], one))
			note()
		}
		return "step again", step.Run(within)
	}
	named := func(err error) {
		require.NoError(t, within.Err(), "a call hangs")
		require.ErrorIs(t, err, hal.ErrDeviceLost)
		require.ErrorContains(t, err, streams[1].Device().Name())
	}
	restart := func() { // with elements that are known
		for i := range buffers {
			x := numbers(rng, width*height)
			for _, w := range [][]*buffer.Buffer[float32]{one, several} {
				require.NoError(t, w[i].Overwrite(within, func(to []float32) error { copy(to, x); return nil }))
			}
		}
	}
	b.left.Store(1 + rng.Int64N(300))
	for i := range 200 {
		if i%4 == 0 { // before they grow to infinity
			restart()
		}
		what, err := run()
		if err != nil {
			named(err)
			require.Len(t, split.Streams(), 2)
			found = what
			break
		}
		if rng.IntN(4) > 0 {
			continue
		}
		i := rng.IntN(buffers)
		if err := several[i].View(within, func(got []float32) error { require.Equal(t, contents(t, one[i]), got); return nil }); err != nil {
			named(err)
			found = "read"
			break
		}
	}
	if found == "" {
		require.Nil(t, gone.Load(), "calls have failed, and no error was returned")
		b.left.Store(0)
		return ""
	}
	for _, s := range running { // this device only pretends: the work of one that is really lost has ended
		require.NoError(t, s.Stream.Sync())
	}
	for i, x := range several {
		for j := range x.Len() {
			got, err := x.At(within, j)
			if err != nil {
				named(err)
			} else {
				at := i*x.Len() + j
				require.True(t, slices.ContainsFunc(states, func(s []float32) bool { return s[at] == got }), "buffer %d, element %d: %v", i, j, got)
			}
		}
	}
	restart()
	for i := range 3 {
		if what, err := run(); err != nil {
			require.Equal(t, "read", found, "%s: the launch has found it lost already: %v", what, err)
			require.Zero(t, i, "the next launch finds it")
			named(err)
			restart()
		}
	}
	for i, x := range several {
		require.Equal(t, contents(t, one[i]), contents(t, x))
	}
	return found
}
