//go:build opencl && linux

package fleet

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// A compiler that has warnings prints nothing to the program's standard error. PoCL's would print how many they are.
func TestCompilersAreQuiet(t *testing.T) {
	if os.Getenv("HALYARD_QUIET") != "" {
		dev, err := hal.Open(t.Context(), "opencl:0")
		require.NoError(t, err)
		s, err := dev.NewStream()
		require.NoError(t, err)
		x, err := buffer.From([]int32{5})
		require.NoError(t, err)
		p := kernel.New(kernel.Source{Portable: "KERNEL void same(GLOBAL i32 *x) { if (x[0] == x[0]) x[0] = 7; }"})
		require.NoError(t, p.Kernel("same").Launch(t.Context(), s, hal.Over(1), kernel.InOut(x)))
		v, err := x.At(t.Context(), 0)
		require.NoError(t, err)
		require.EqualValues(t, 7, v)
		require.NoError(t, x.Close())
		require.NoError(t, hal.CloseAll(dev, s))
		return
	}
	dev, err := hal.Open(t.Context(), "opencl:0")
	if err != nil {
		t.Skip(err)
	}
	require.NoError(t, dev.Close())
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^TestCompilersAreQuiet$")
	cmd.Env = append(os.Environ(), "HALYARD_QUIET=1", "HALYARD_KERNEL_CACHE=off", "POCL_CACHE_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NotContains(t, string(out), "warning")
}
