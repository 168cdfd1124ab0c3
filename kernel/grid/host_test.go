package grid_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// outside writes beyond the end.
func outside(t grid.Thread, x []int32) {
	x[t.Global(0)]++
}

// early leaves one thread waiting.
func early(t grid.Thread, x []int32) {
	if t.Local(0) == 1 {
		return
	}
	t.Barrier()
}

// reverse turns each block around.
func reverse(t grid.Thread, x []int32) {
	s := grid.Shared[[256]int32](t)
	i := t.Global(0)
	if i < len(x) {
		s[t.Local(0)] = x[i]
	}
	t.Barrier()
	if i < len(x) {
		x[i] = s[t.Size(0)-1-t.Local(0)]
	}
}

// racy has a race: a thread reads what another writes, without a barrier between.
func racy(t grid.Thread, x []int32) {
	s := grid.Shared[[256]int32](t)
	s[t.Local(0)] = 1
	x[t.Global(0)] = s[(t.Local(0)+1)%t.Size(0)]
	t.Barrier()
}

var program = kernel.New(kernel.Source{Go: kernel.Functions{
	"outside": kernel.Go(func(b *kernel.Block) {
		for t := range grid.Threads(b) {
			outside(t, kernel.Slice[int32](b, 0))
		}
	}),
	"early":   together(early),
	"reverse": together(reverse),
	"racy":    together(racy),
	"outside together": together(func(t grid.Thread, x []int32) {
		t.Barrier()
		outside(t, x)
	}),
}})

func together(f func(t grid.Thread, x []int32)) hal.Function {
	return kernel.Go(func(b *kernel.Block) {
		x := kernel.Slice[int32](b, 0)
		grid.RunTogether(b, func(t grid.Thread) { f(t, x) })
	})
}

// launch runs a kernel on 64 numbers from 0 up, and returns what it made of them.
func launch(t *testing.T, name string, over hal.Grid) ([]int32, error) {
	t.Helper()
	ctx := context.Background()
	dev, err := hal.OpenWith(ctx, host.New(host.Options{Name: "grid"}), 0)
	require.NoError(t, err)
	stream, err := dev.NewStream()
	require.NoError(t, err)
	numbers := make([]int32, 64)
	for i := range numbers {
		numbers[i] = int32(i)
	}
	x, err := buffer.From(numbers)
	require.NoError(t, err)
	defer func() { require.NoError(t, hal.CloseAll(dev, stream, x)) }()
	if err := program.Kernel(name).Launch(ctx, stream, over, kernel.InOut(x)); err != nil {
		return nil, err
	}
	if err := stream.Sync(ctx); err != nil {
		return nil, err
	}
	return numbers, x.CopyOut(ctx, numbers)
}

// What goes wrong in a kernel is an error of its stream that names the kernel, the block and the line.
func TestFailuresNameTheKernel(t *testing.T) {
	for name, want := range map[string]string{
		"outside":          `kernel outside, block 4,0,0: the function panicked: runtime error: index out of range \[64\] with length 64 \(host_test.go:21\) \(launched at \S*host_test.go:90\)$`,
		"outside together": `kernel outside together, block 4,0,0: the function panicked: runtime error: index out of range \[\d+\] with length 64 \(host_test.go:21\) \(launched at \S*host_test.go:90\)$`,
		"early":            `kernel early, block \d,0,0: the function let thread 1,0,0 end while thread \d+,0,0 waited at a barrier \(host_test.go:29\) \(launched at \S*host_test.go:90\)$`,
	} {
		_, err := launch(t, name, hal.Blocks(5).Of(16))
		require.Error(t, err, name)
		assert.True(t, errors.Is(err, hal.ErrKernel), "%v", err)
		assert.Equal(t, name != "early", errors.Is(err, hal.ErrOutOfRange), "as on devices: %v", err)
		assert.Regexp(t, want, err.Error())
	}
}

// A kernel with barriers runs as it should after others have failed, with whole blocks and with one that reaches beyond the end.
func TestKernelsWithBarriers(t *testing.T) {
	got, err := launch(t, "reverse", hal.Over(64).Of(32))
	require.NoError(t, err)
	for i, v := range got {
		require.EqualValues(t, i^31, v)
	}
	got, err = launch(t, "reverse", hal.Over(64).Of(48)) // 16 threads of the second block have numbers, at its end come those without
	require.NoError(t, err)
	assert.EqualValues(t, 47, got[0])
	assert.EqualValues(t, 0, got[47])
	assert.EqualValues(t, make([]int32, 16), got[48:], "shared memory is zero when a block begins")
}

// The kernel with a race, for TestRacesAreSeen.
func TestRacyKernel(t *testing.T) {
	if os.Getenv("HALYARD_TEST_RACY") == "" {
		return
	}
	_, err := launch(t, "racy", hal.Over(64).Of(32))
	require.NoError(t, err)
}
