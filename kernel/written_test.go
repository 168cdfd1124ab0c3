package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// What halyard kernels wrote about a kernel is in the errors of its launches: its name and those of its arguments in Go. A grid without a dimension
// that the kernel uses is refused.
func TestErrorsHaveTheNamesOfGo(t *testing.T) {
	_, streams := devices(t, 1)
	p := kernel.New(kernel.Source{Go: functions, Source: gridgen.Source{Kernels: map[string]gridgen.Written{
		"saxpy": {Code: "k_saxpy", Params: []string{"a", "left", "right", "n"}},
		"add":   {Code: "k_add", Params: []string{"from", "to"}, Dims: 2, DimsAt: "add.go:7"},
	}}})
	defer func() { assert.NoError(t, p.Close()) }()
	x, y, gone := made(t, ramp(16)...), made(t, ramp(16)...), made[float32](t, 1)
	require.NoError(t, gone.Close())
	a, n := kernel.Value(float32(1)), kernel.Value(uint64(16))
	for _, c := range []struct {
		kernel string
		grid   hal.Grid
		args   []kernel.Arg
		kind   error
		says   string
	}{
		{"saxpy", hal.Over(16), []kernel.Arg{a, kernel.In((*buffer.Buffer[float32])(nil)), kernel.InOut(y), n}, hal.ErrInvalidArgument,
			"launch: invalid argument: kernel saxpy: argument left: nil or zero buffer"},
		{"saxpy", hal.Over(16), []kernel.Arg{a, kernel.In(x), kernel.InOut(gone), n}, hal.ErrClosed,
			"launch: already closed: kernel saxpy: argument right: the buffer is closed"},
		{"saxpy", hal.Over(16), []kernel.Arg{a, kernel.In(nil), kernel.InOut(y), n}, hal.ErrInvalidArgument, "kernel saxpy: argument left is a nil buffer"},
		{"saxpy", hal.Over(16), []kernel.Arg{a, kernel.InOut(x), kernel.InOut(y), n}, hal.ErrInvalidArgument, "argument left is passed for writing, but parameter 1 (left) is const"},
		{"add", hal.Over(16), []kernel.Arg{kernel.In(x), kernel.Out(y)}, hal.ErrInvalidArgument,
			"kernel add: its threads have 2 dimensions (add.go:7), and the grid has 1; give a number for each, as in Over(width, height)"},
		{"add", hal.Over(16, 1), []kernel.Arg{kernel.In(x), kernel.Out(y)}, nil, ""},
		{"add", hal.Blocks(1).Of(4, 4), []kernel.Arg{kernel.In(x), kernel.Out(y)}, nil, ""},
	} {
		err := p.Kernel(c.kernel).Launch(ctx, streams[1], c.grid, c.args...)
		if c.kind == nil {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorIs(t, err, c.kind)
		assert.ErrorContains(t, err, c.says)
	}
}
