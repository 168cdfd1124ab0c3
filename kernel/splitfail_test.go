package kernel_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/internal/testing/hooked"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// failing is a backend with three discrete devices; the left-th call of the second one fails.
type failing struct {
	hooked.Backend
	left atomic.Int64
	kind error
}

const fails = 2 // the number of the device

func newFailing(kind error) *failing {
	b := &failing{kind: kind}
	b.Backend.Backend = host.New(host.Options{Name: fmt.Sprintf("failing%d", backends.Add(1)), Discrete: 3})
	b.Call = func(op string, device int) error {
		if device != fails || strings.HasPrefix(op, "Query") || strings.HasPrefix(op, "Close") || b.left.Load() <= 0 || b.left.Add(-1) != 0 {
			return nil // how often it is asked depends on the time
		}
		return &driver.Error{Op: op, Backend: b.Name(), Device: device, Kind: b.kind, Detail: "made to fail"}
	}
	return b
}

func (b *failing) streams(t *testing.T) (streams []*hal.Stream) {
	for i := range 3 {
		d, err := hal.OpenWith(ctx, b, i+1)
		require.NoError(t, err)
		s, err := d.NewStream()
		require.NoError(t, err)
		t.Cleanup(func() { _, _ = s.Close(), d.Close() })
		streams = append(streams, s)
	}
	return streams
}

// If a call of a device fails, the launch fails with an error that names the device. Then each element has its value of before or of after the launch, or it
// is lost. A device that was lost is left out of later launches, and the others run them.
func TestDeviceFailsInADividedLaunch(t *testing.T) {
	const n, part = 480, 160
	failed := map[error]int{}
	for i, kind := range []error{hal.ErrDeviceLost, hal.ErrInvalidArgument, hal.ErrDeviceLost, hal.ErrInvalidArgument} {
		before := i / 2 // launches
		for call := int64(1); call < 100; call++ {
			b := newFailing(kind)
			streams := b.streams(t)
			split := newSplit(t, streams...)
			grid := hal.Over(n).Of(16)
			one, y := made(t, make([]float32, n)...), made(t, make([]float32, n)...)
			require.NoError(t, one.Fill(ctx, 1))
			launch := func() error {
				return divided.SaxpyOn(ctx, split, grid, 1, one, y)
			}
			for range before {
				require.NoError(t, launch())
			}
			b.left.Store(call)
			err := launch()
			if b.left.Load() > 0 { // it makes no so many calls
				b.left.Store(0)
				require.NoError(t, err)
				break
			}
			seen := map[float32]bool{}
			for from := 0; from < n; from += part {
				values, e := sliceOf(y, from, from+part)
				if e != nil {
					require.ErrorIs(t, e, hal.ErrDeviceLost)
					require.True(t, from == part, "the elements of another device are lost")
					continue
				}
				want := float32(before + 1)
				if err != nil && values[0] != want {
					want--
				}
				seen[want] = true
				for i, v := range values {
					require.Equal(t, want, v, "call %d, element %d", call, from+i)
				}
			}
			require.Less(t, len(seen), 2, "call %d: parts have run, and others are as before", call)
			if err == nil {
				continue // the failure was found only now, or did not matter
			}
			failed[kind]++
			require.ErrorIs(t, err, kind)
			require.ErrorContains(t, err, streams[1].Device().Name())
			if errors.Is(kind, hal.ErrDeviceLost) {
				assert.Len(t, split.Streams(), 2)
			}
			require.NoError(t, y.Fill(ctx, 5))
			require.NoError(t, one.Fill(ctx, 1))
			require.NoError(t, launch(), "call %d: a launch on the devices that work", call)
			for i, v := range contents(t, y) {
				require.Equal(t, float32(6), v, "element %d", i)
			}
		}
	}
	assert.Len(t, failed, 2)
}

func sliceOf(b *buffer.Buffer[float32], lo, hi int) (values []float32, err error) {
	part, err := b.Slice(lo, hi)
	if err != nil {
		return nil, err
	}
	values = make([]float32, hi-lo)
	return values, part.CopyOut(ctx, values)
}

// When all devices are lost, every launch says why.
func TestAllDevicesOfASplitAreGone(t *testing.T) {
	_, streams := devices(t, 2)
	split := newSplit(t, streams[1:]...)
	x, y := made(t, ramp(100)...), made(t, ramp(100)...)
	for _, s := range streams[1:] {
		require.NoError(t, s.Close())
	}
	for range 3 {
		require.ErrorIs(t, divided.SaxpyOn(ctx, split, hal.Over(100), 1, x, y), hal.ErrClosed)
	}
	assert.Empty(t, split.Streams())
	assert.Equal(t, ramp(100), contents(t, y))
}

func TestSplitsRefuseBadArguments(t *testing.T) {
	_, streams := devices(t, 2)
	for _, list := range [][]*hal.Stream{nil, {nil}, {streams[1], streams[1]}} {
		_, err := kernel.NewSplit(list...)
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
	}
	split := newSplit(t, streams[1:]...)
	for _, shares := range [][]float64{{1}, {1, 0}, {1, -1}, nil} {
		require.ErrorIs(t, split.SetShares(shares...), hal.ErrInvalidArgument)
	}
	assert.Equal(t, []float64{0.5, 0.5}, split.Shares())
	require.NoError(t, split.SetShares(3, 1))
	assert.Equal(t, []float64{0.75, 0.25}, split.Shares())
}

// Indexes out of range are found in each part. The error names the place, and what the part was to write is lost.
func TestBoundsOfParts(t *testing.T) {
	streams := everyStream(t, 0)
	if len(streams) < 2 {
		t.Skip("two devices with compilers are needed")
	}
	kernel.SetCheckingBounds(true)
	defer kernel.SetCheckingBounds(false)
	p := kernel.New(kernel.Source{
		Name:     "outside",
		Portable: "KERNEL void k_f(GLOBAL i32 *h_x, i64 h_x_n GO_FAULTS) { h_x[GO_AT(INDEX(0) + (INDEX(0) == 700 ? 1000 : 0), h_x_n, 0)] = 1; }",
		Source:   gridgen.Source{Indexes: []string{"outside.go:7"}, Kernels: map[string]gridgen.Written{"f": {Code: "k_f", Params: []string{"x", "len(x)"}, Footprint: own(false, 1)}}},
	})
	defer func() { assert.NoError(t, p.Close()) }()
	x := made(t, make([]int32, 800)...)
	err := p.Kernel("f").Launch(ctx, newSplit(t, streams[:2]...), hal.Over(800).Of(16), kernel.InOut(x), kernel.Value(int64(800)))
	require.ErrorIs(t, err, hal.ErrOutOfRange)
	assert.ErrorContains(t, err, "outside.go:7: index 1700 out of range with length 800")
	first, err := x.At(ctx, 399)
	require.NoError(t, err)
	assert.Equal(t, int32(1), first)
	_, err = x.At(ctx, 400)
	assert.ErrorIs(t, err, hal.ErrOutOfRange)
}

// A device that cannot compile a kernel is left out of its launches, whichever it is, and is not asked again. If none can, the launch fails.
func TestDevicesThatCannotRunAKernelAreLeftOut(t *testing.T) {
	const n = 480
	for _, kind := range []error{hal.ErrUnavailable, hal.ErrBuild, hal.ErrUnsupported} {
		for _, bad := range [][]int{{1}, {2}, {1, 3}, {1, 2, 3}} {
			b := newFailing(kind)
			asked := 0
			b.Call = func(op string, device int) error {
				if op != "Load" || !slices.Contains(bad, device) {
					return nil
				}
				asked++
				return &driver.Error{Op: op, Backend: b.Name(), Device: device, Kind: kind, Detail: "no compiler"}
			}
			split := newSplit(t, b.streams(t)...)
			var told strings.Builder
			defer kernel.SetListener(&told)()
			p := kernel.New(kernel.Source{Name: "some", Go: kernel.Functions{"f": kernel.Go(func(b *kernel.Block) {
				y := kernel.Slice[float32](b, 0)
				for t := range grid.Threads(b) {
					y[t.Global(0)] += 1
				}
			})}, Source: gridgen.Source{Kernels: map[string]gridgen.Written{"f": {Params: []string{"y", "len(y)"}, Footprint: gridgen.Footprint{Cut: [3]bool{true},
				Of: func(box gridgen.Box, _ []int64, touch []gridgen.Touch) {
					r := buffer.Range{Lo: box.Lo[0], Hi: box.Hi[0]}
					touch[0] = gridgen.Touch{Read: r, Write: r}
				}}}}}})
			y := made(t, ramp(n)...)
			for range 3 {
				err := p.Kernel("f").Launch(ctx, split, hal.Over(n).Of(16), kernel.InOut(y), kernel.Value(int64(n)))
				if len(bad) == 3 {
					require.ErrorIs(t, err, kind)
					require.ErrorContains(t, err, "no compiler")
				} else {
					require.NoError(t, err, "%v %v", kind, bad)
				}
			}
			if len(bad) < 3 {
				require.Equal(t, float32(10+3), contents(t, y)[10]-ramp(n)[10]+10)
				require.Len(t, split.Streams(), 3)
				require.LessOrEqual(t, asked, len(bad), "%v %v", kind, bad)
			}
			lines := strings.Split(strings.TrimSpace(told.String()), "\n")
			require.Len(t, lines, len(bad), "%v %v: each is told once", kind, bad)
			for i, device := range bad {
				of := ""
				if !errors.Is(kind, hal.ErrUnavailable) {
					of = " of kernel f"
				}
				require.Contains(t, lines[i], fmt.Sprintf("halyard: %s:%d takes no part in launches%s: ", b.Name(), device, of))
				require.Contains(t, lines[i], "no compiler")
			}
			if errors.Is(kind, hal.ErrUnavailable) && len(bad) < 3 { // no kernel can be compiled there, which has been told
				told.Reset()
				require.NoError(t, divided.SaxpyOn(ctx, split, hal.Over(n).Of(16), 1, y, made(t, ramp(n)...)))
				require.Empty(t, told.String())
			}
			require.NoError(t, p.Close())
		}
	}
}

// Devices that are the host's processors have one share together at first.
func TestFirstShares(t *testing.T) {
	b := newFailing(nil)
	b.Info = func(i driver.Info) driver.Info {
		i.Class, i.Simulated = driver.ClassCPU, false
		if i.Ordinal == 2 {
			i.Class = driver.ClassGPU
		}
		return i
	}
	split, err := kernel.NewSplit(b.streams(t)...)
	require.NoError(t, err)
	assert.Equal(t, []float64{0.25, 0.5, 0.25}, split.Shares())
	require.NoError(t, split.Close())
}
