//go:build cuda && hip && linux && !linked

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

// On simulated devices our calls and the raw ones move the same bytes, keep the vendors' rules and give everything back.
func TestBenchOnSimulatedDevices(t *testing.T) {
	sims := cudahiptest.Simulate(t)
	stdout, stderr, status := program(t, quick("-device", "cuda:0,cuda:1,hip:0", "-max-size", "4KiB", "-json")...)
	require.Equal(t, 0, status, "%s%s", stdout, stderr)
	got := decode[report](t, stdout)
	assert.True(t, got.Simulated)
	calls := map[string]bool{}
	for _, r := range got.Results {
		assert.True(t, r.Simulated, r.Name)
		assert.NotNil(t, r.Ratio, r.Name)
		calls[r.Calls] = true
	}
	for _, c := range []string{"cuMemcpyHtoDAsync, cuStreamSynchronize", "hipEventRecord", "cuMemcpyPeerAsync, cuStreamSynchronize",
		"cuMemcpyDtoHAsync, then hipMemcpyHtoDAsync"} {
		assert.True(t, calls[c], "nothing stands beside %s", c)
	}
	for _, c := range sims {
		assert.Empty(t, c.Violations())
		assert.Empty(t, c.Leaks())
	}
}
