//go:build cuda

package kernel_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	_ "github.com/go-halyard/halyard/backends/cuda"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// SHARED_VAR is a whole statement, with a semicolon behind it and without.
func TestSharedVarIsAStatement(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"", ";"} {
		text := kernel.Prelude(hal.LanguageCUDA) + "KERNEL void f(GLOBAL f32 *x SHARED_PARAM(f32, s)) {\n\tSHARED_VAR(f32, s)" + end + "\n\ts[THREAD(0)] = x[0];\n}\n"
		_, err := hal.CompileFor(t.Context(), "compute_75", hal.Source{Text: text})
		if errors.Is(err, hal.ErrUnavailable) && !strings.Contains(os.Getenv("HALYARD_REQUIRE"), "nvrtc") {
			t.Skip(err)
		}
		assert.NoError(t, err, "%q", end)
	}
}
