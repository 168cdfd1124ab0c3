//go:build cuda && hip

package hal_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends/cuda"
	_ "github.com/go-halyard/halyard/backends/hip"
	"github.com/go-halyard/halyard/hal"
)

// Compiling needs no device, nor a driver.
func TestCompileForArchitecturesWithoutADevice(t *testing.T) {
	t.Setenv("HALYARD_CUDA_LIBRARY", "libhalyard-absent.so.1")
	t.Setenv("HALYARD_HIP_LIBRARY", "libhalyard-absent.so.1")
	for _, c := range []struct {
		target, needs string
		format        hal.Format
	}{{"sm_90", "nvrtc", hal.FormatCubin}, {"compute_75", "nvrtc", hal.FormatPTX}, {"gfx906", "hiprtc", hal.FormatCodeObject}} {
		t.Run(c.target, func(t *testing.T) {
			within, cancel := context.WithCancel(ctx)
			defer cancel()
			img, err := hal.CompileFor(within, c.target, hal.Source{Text: `extern "C" __global__ void f(float x, int n) {}`})
			if errors.Is(err, hal.ErrUnavailable) && !strings.Contains(os.Getenv("HALYARD_REQUIRE"), c.needs) {
				t.Skip(err)
			}
			require.NoError(t, err)
			assert.Equal(t, c.format, img.Format)
			assert.Len(t, img.Params["f"], 2)

			_, err = hal.CompileFor(within, c.target, hal.Source{Name: "wrong.cu", Text: "absent"})
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
