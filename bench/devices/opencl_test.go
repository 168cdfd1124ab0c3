//go:build opencl

package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

// On OpenCL's devices our calls and the raw ones move the same bytes, in every tier of memory.
func TestBenchOnOpenCL(t *testing.T) {
	for _, tier := range []string{"usm", "svm", "svm-coarse", "buffer"} {
		t.Run(tier, func(t *testing.T) {
			t.Setenv("HALYARD_OPENCL_MEMORY", tier)
			var others []string
			found := false
			for _, r := range hal.List(t.Context()) {
				for _, d := range r.Devices {
					if r.Backend == "opencl" {
						found = found || d.MemoryModel == tier
						others = append(others, d.Model)
					}
				}
			}
			if !found {
				why := fmt.Sprintf("no OpenCL device has memory of the tier %s; devices are %q", tier, others)
				if strings.Contains(os.Getenv("HALYARD_REQUIRE"), "opencl") {
					t.Fatal("HALYARD_REQUIRE asks for OpenCL, but " + why)
				}
				t.Skip(why)
			}
			stdout, stderr, status := program(t, quick("-backend", "opencl", "-max-size", "4KiB", "-json")...)
			require.Equal(t, 0, status, "%s%s", stdout, stderr)
			got := decode[report](t, stdout)
			require.NotEmpty(t, got.Results)
			for _, d := range got.Devices {
				assert.Equal(t, tier, d.Tier)
				assert.False(t, d.Simulated)
			}
			for _, r := range got.Results {
				assert.NotNil(t, r.Ratio, r.Name)
			}
		})
	}
}
