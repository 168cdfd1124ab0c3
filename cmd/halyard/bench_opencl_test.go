//go:build opencl

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

// On OpenCL's devices our calls and the raw ones move the same bytes, in every tier of memory.
func TestBenchOnOpenCL(t *testing.T) {
	measured := 0
	for _, tier := range []string{"usm", "svm", "svm-coarse", "buffer"} {
		t.Setenv("HALYARD_OPENCL_MEMORY", tier)
		found := false
		for _, r := range hal.List(t.Context()) {
			found = found || r.Backend == "opencl" && len(r.Devices) > 0
		}
		if !found {
			continue
		}
		stdout, stderr, status := halyard(t, quick("--backend", "opencl", "--max-size", "4KiB", "--json")...)
		require.Equal(t, exitPassed, status, "%s: %s%s", tier, stdout, stderr)
		got := decode[benchRun](t, stdout)
		for _, d := range got.Devices {
			assert.Equal(t, tier, d.Tier)
			assert.False(t, d.Simulated)
		}
		for _, r := range got.Results {
			assert.NotNil(t, r.Ratio, r.Name)
			measured++
		}
	}
	if measured == 0 {
		if strings.Contains(os.Getenv("HALYARD_REQUIRE"), "opencl") {
			t.Fatal("HALYARD_REQUIRE asks for OpenCL, and nothing was measured")
		}
		t.Skip("there is no OpenCL device")
	}
}
