package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/kernel"
)

// In checking mode a launch is refused if two arguments share elements, and threads use elements there that others write.
func TestBuffersPassedTwice(t *testing.T) {
	kernel.SetChecking(true)
	defer kernel.SetChecking(false)
	const n = 256
	length := kernel.Value(int64(n))
	slice := func(x *buffer.Buffer[float32], lo int) *buffer.Buffer[float32] {
		s, err := x.Slice(lo, lo+n)
		require.NoError(t, err)
		return s
	}
	saxpy := func(x, y kernel.Operand) []kernel.Arg {
		return []kernel.Arg{kernel.Value(float32(1)), kernel.In(x), length, kernel.InOut(y), length}
	}
	laplace := func(x, y kernel.Operand) []kernel.Arg {
		return []kernel.Arg{kernel.In(x), length, kernel.Out(y), length}
	}
	_, streams := devices(t, 1)
	for _, stream := range streams {
		all := made(t, ramp(3*n)...)
		x, shifted, apart := slice(all, 0), slice(all, 1), slice(all, n)
		for name, c := range map[string]struct {
			kernel  string
			grid    hal.Grid
			args    []kernel.Arg
			refused bool
		}{
			"own elements":        {"saxpy", hal.Over(n), saxpy(x, x), false},
			"one block":           {"laplace", hal.Blocks(1).Of(n), laplace(x, x), false}, // whose threads may go together
			"neighbours":          {"laplace", hal.Over(n), laplace(x, x), true},
			"neighbours, blocks":  {"laplace", hal.Over(n).Of(64), laplace(x, x), true},
			"shifted":             {"saxpy", hal.Over(n), saxpy(x, shifted), true},
			"parts of one buffer": {"laplace", hal.Over(n), laplace(x, apart), false},
		} {
			t.Run(stream.Device().Name()+"/"+name, func(t *testing.T) {
				before := contents(t, all)
				err := divided.Kernel(c.kernel).Launch(ctx, stream, c.grid, c.args...)
				if !c.refused {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, hal.ErrInvalidArgument)
				require.ErrorContains(t, err, "kernel "+c.kernel+": argument x and argument y share elements")
				require.Equal(t, before, contents(t, all))
			})
		}
	}
}

// The error for a kernel in Go that leaves elements of a grid.Out counts them.
func TestElementsLeftOfAnOut(t *testing.T) {
	kernel.SetChecking(true)
	defer kernel.SetChecking(false)
	_, streams := devices(t, 0)
	x, y := made(t, ramp(1000)...), made(t, ramp(1000)...)
	err := divided.Kernel("laplace").Launch(ctx, streams[0], hal.Over(10).Of(10), kernel.In(x), kernel.Value(int64(1000)), kernel.Out(y), kernel.Value(int64(1000)))
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.ErrorContains(t, err, "kernel laplace: it left 990 of 1000 elements of y unwritten, the first is 10; y is a grid.Out")
}
