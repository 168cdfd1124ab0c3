//go:build cuda && hip

package hal_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends/cuda"
	_ "github.com/go-halyard/halyard/backends/hip"
	"github.com/go-halyard/halyard/hal"
)

// Compiling needs no device, nor a driver. It happens in a process of its own: Debian's hipRTC and its PoCL both bring clang, which must not be
// twice beside one LLVM.
func TestCompileForArchitecturesWithoutADevice(t *testing.T) {
	const inside = "HALYARD_TEST_COMPILE"
	if os.Getenv(inside) == "" {
		child := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
		child.Env = append(os.Environ(), inside+"=1", "HALYARD_CUDA_LIBRARY=libhalyard-absent.so.1", "HALYARD_HIP_LIBRARY=libhalyard-absent.so.1")
		said, err := child.CombinedOutput()
		require.NoError(t, err, "%s", said)
		if strings.Contains(string(said), "--- SKIP") {
			t.Skipf("%s", said)
		}
		require.Contains(t, string(said), "--- PASS: "+t.Name()+"/gfx906")
		return
	}
	for _, c := range []struct {
		target, needs string
		format        hal.Format
	}{{"sm_90", "nvrtc", hal.FormatCubin}, {"compute_75", "nvrtc", hal.FormatPTX}, {"gfx906", "hiprtc", hal.FormatCodeObject}} {
		t.Run(c.target, func(t *testing.T) {
			img, err := hal.CompileFor(t.Context(), c.target, hal.Source{Text: `extern "C" __global__ void f(float x, int n) {}`})
			if errors.Is(err, hal.ErrUnavailable) && !strings.Contains(os.Getenv("HALYARD_REQUIRE"), c.needs) {
				t.Skip(err)
			}
			require.NoError(t, err)
			assert.Equal(t, c.format, img.Format)
			assert.Len(t, img.Params["f"], 2)

			_, err = hal.CompileFor(t.Context(), c.target, hal.Source{Name: "wrong.cu", Text: "absent"})
			require.ErrorIs(t, err, hal.ErrBuild)
			var build *hal.BuildError
			require.ErrorAs(t, err, &build)
			assert.Contains(t, build.Log, "absent")
		})
	}
}

func TestCompileForSaysThatTheCompilerIsMissing(t *testing.T) {
	for target, env := range map[string]string{"sm_90": "HALYARD_NVRTC_LIBRARY", "gfx906": "HALYARD_HIPRTC_LIBRARY"} {
		t.Setenv(env, "libhalyard-absent.so.2")
		_, err := hal.CompileFor(ctx, target, hal.Source{Text: nothingCUDA})
		require.ErrorIs(t, err, hal.ErrUnavailable)
		require.ErrorContains(t, err, "libhalyard-absent.so.2")
		require.ErrorContains(t, err, env)
	}
}
