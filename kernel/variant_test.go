package kernel_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// A launch that is larger than the code with integers of 32 bits takes runs a text with integers of 64 bits, which is compiled once, and only then.
func TestLargeLaunchesRunTheWideText(t *testing.T) {
	t.Setenv("HALYARD_KERNEL_CACHE", t.TempDir())
	b := &compiling{Backend: host.New(host.Options{Name: "compiling", Discrete: 1}), id: "compiler 1", language: driver.LanguageCUDA}
	s := fixture.Stream(t, fixture.Device(t, b, 1))
	p := kernel.New(kernel.Source{Portable: "text", Source: gridgen.Source{Indexes: []string{}, Kernels: map[string]gridgen.Written{
		"add": {Code: "add", Params: []string{"x", "y", "n", "m"}, Most: 1 << 20, Sizes: [][]int{{2}, {2, 3}}}}}})
	x, y := made[uint32](t, 1), made[uint32](t, 0)
	launch := func(grid hal.Grid, n, m int64, compiled int32, what string) {
		t.Helper()
		require.NoError(t, p.Kernel("add").Launch(ctx, s, grid, kernel.In(x), kernel.Out(y), kernel.Value(n), kernel.Value(m)), what)
		require.Equal(t, []uint32{2}, contents(t, y), what)
		require.Equal(t, compiled, b.compiled.Load(), what)
	}
	const wide = "#define HALYARD_WIDE 1\n"
	k := p.Kernel("add")
	launch(hal.Over(1), 1<<20, 1, 1, "the limit")
	launch(hal.Over(1), -1<<20, 1, 1, "the negative limit")
	launch(hal.Blocks(1).Of(1), 1, 1<<20, 1, "blocks")
	assert.NotContains(t, b.last.Text, wide)
	launch(hal.Over(1), 1<<20+1, 1, 2, "a number above the limit")
	assert.Contains(t, b.last.Text, wide)
	launch(hal.Over(1), -1<<62, 1, 2, "a number below the limit")
	launch(hal.Over(1), 1<<11, 1<<10, 2, "a product")
	launch(hal.Over(1), 7, 7, 2, "a small launch again")
	nothing := made[uint32](t) // blocks that differ in their second dimension would write the same element
	for grid, most := range map[hal.Grid]int64{hal.Over(1<<20 + 1): 1 << 20, hal.Blocks(1, 1<<14+1).Of(1, 1): 1 << 14, hal.Over(1 << 16).Of(1 << 16): 1 << 20} {
		q := kernel.New(kernel.Source{Portable: "text", Source: gridgen.Source{Indexes: []string{}, Kernels: map[string]gridgen.Written{"add": {Code: "add", Most: most}}}})
		b.compiled.Store(0)
		t.Setenv("HALYARD_KERNEL_CACHE", t.TempDir())
		require.NoError(t, q.Kernel("add").Launch(ctx, s, grid, kernel.In(nothing), kernel.Out(nothing)))
		assert.Contains(t, b.last.Text, wide)
		require.NoError(t, s.Sync(ctx))
		require.NoError(t, q.Close())
	}
	args := []kernel.Arg{kernel.In(x), kernel.Out(y), kernel.Value(int64(7)), kernel.Value(int64(7))}
	for _, grid := range []hal.Grid{hal.Over(9), hal.Over(9, 9).Of(3, 3), hal.Blocks(9).Of(3)} {
		assert.Zero(t, testing.AllocsPerRun(10, func() { assert.True(t, kernel.Fits(k, s.Device(), grid, args...)) }))
	}
	require.NoError(t, p.Close())
}
