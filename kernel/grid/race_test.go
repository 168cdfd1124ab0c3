//go:build race

package grid_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The race detector sees a race between two threads of a block, and names the lines of the kernel.
func TestRacesAreSeen(t *testing.T) {
	c := exec.Command(os.Args[0], "-test.run", "^TestRacyKernel$")
	c.Env = append(os.Environ(), "HALYARD_TEST_RACY=1")
	out, err := c.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "WARNING: DATA RACE")
	assert.Regexp(t, `grid_test\.racy\(\)\n\s+.*host_test\.go:4[89]`, string(out))
	c = exec.Command(os.Args[0], "-test.run", "^TestKernelsWithBarriers$")
	out, err = c.CombinedOutput()
	require.NoError(t, err, "a kernel without a race: %s", out)
}
