//go:build cuda && hip && linux

package hal_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

// On simulated CUDA and HIP devices prepared launches are a graph, which one call enqueues; where the driver has no graphs they are
// launched one by one. If a call fails while they are prepared, nothing is left of them.
func TestPreparedLaunchesAreAGraph(t *testing.T) {
	for _, without := range [][]string{nil, {"cuGraphLaunch", "hipGraphLaunch"}} {
		sims := cudahiptest.Simulate(t, without...)
		preparedLaunches(t, sims[0].Control, sims[1].Control, without == nil)
	}
}

func preparedLaunches(t *testing.T, cuda, hip *simgpu.Control, hasGraphs bool) {
	number := hal.Param{Kind: hal.ParamValue, Size: 4}
	pointer := hal.Param{Kind: hal.ParamPointer, Size: 8}
	for _, v := range []struct {
		sim           *simgpu.Control
		device        string
		image         hal.Image
		graph, launch string
	}{
		{cuda, "cuda:0", hal.Image{Format: hal.FormatPTX, Data: simgpu.PTX(simgpu.Kernels...)}, "cuGraphLaunch", "cuLaunchKernel"},
		{hip, "hip:0", hal.Image{Format: hal.FormatCodeObject, Data: simgpu.CodeObject(simgpu.Kernels...)}, "hipGraphLaunch",
			"hipModuleLaunchKernel"},
	} {
		v.image.Params = map[string][]hal.Param{"saxpy": {pointer, pointer, number, number}}
		d, err := hal.Open(t.Context(), v.device)
		require.NoError(t, err)
		s, err := d.NewStream()
		require.NoError(t, err)
		m, err := d.Load(v.image)
		require.NoError(t, err)
		k, err := m.Kernel("saxpy")
		require.NoError(t, err)
		const n = 600
		x, err := d.Alloc(hal.KindDevice, 4*n, 0)
		require.NoError(t, err)
		y, err := d.Alloc(hal.KindDevice, 4*n, 0)
		require.NoError(t, err)
		require.NoError(t, s.Fill(x.All(), hal.Pattern32(math.Float32bits(1))))
		args := []hal.Arg{hal.At(x.All()), hal.At(y.All()), hal.Value(float32(2)), hal.Value(uint32(n))}
		grid := hal.Blocks(3).Of(256)
		prepare := func() (run func() (int, error), end func() error, err error) {
			return layer.Prepare(s, []*hal.Kernel{k, k}, []hal.Grid{grid, grid}, layer.How{}, [][]hal.Arg{args, args})
		}
		check := func(run func() (int, error)) (graphs, launches int) {
			require.NoError(t, s.Fill(y.All(), hal.Zero))
			before := v.sim.Calls()
			for range 3 {
				n, err := run()
				require.NoError(t, err)
				require.Equal(t, 2, n)
			}
			after := v.sim.Calls()
			got := make([]byte, 4*n)
			require.NoError(t, s.CopyOut(got, y.All()))
			require.NoError(t, s.Sync(t.Context()))
			require.Equal(t, float32(12), math.Float32frombits(binary.LittleEndian.Uint32(got[4*(n-1):])))
			return after[v.graph] - before[v.graph], after[v.launch] - before[v.launch]
		}
		if !hasGraphs {
			run, end, err := prepare()
			require.NoError(t, err)
			require.Nil(t, end)
			graphs, launches := check(run)
			require.Zero(t, graphs)
			require.Equal(t, 6, launches)
			require.NoError(t, hal.CloseAll(d, s, m, x, y))
			continue
		}
		whole := false
		for call := uint64(1); !whole; call++ {
			before := v.sim.CallCount()
			v.sim.FailCall(call, 999)
			run, end, err := prepare()
			whole = v.sim.CallCount()-before < call
			v.sim.FailCall(0, 0)
			if err != nil {
				require.False(t, whole)
				require.ErrorIs(t, err, hal.ErrDriver)
				continue
			}
			graphs, launches := check(run)
			require.Equal(t, 3, graphs)
			require.Zero(t, launches)
			require.NoError(t, end())
			n, err := run()
			require.ErrorIs(t, err, hal.ErrClosed)
			require.Zero(t, n)
		}
		run, end, err := prepare()
		require.NoError(t, err)
		require.NoError(t, x.Close())
		_, err = run()
		require.ErrorIs(t, err, hal.ErrClosed)
		assert.ErrorContains(t, d.Close(), "recorded step")
		require.NoError(t, end())
		require.NoError(t, hal.CloseAll(d, s, m, y))
		assert.Empty(t, v.sim.Violations())
		assert.Empty(t, v.sim.Leaks())
	}
}
