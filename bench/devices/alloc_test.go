//go:build !race

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/hal"
)

// The race detector makes every sync.Pool forget at random, so that nothing can be said there of allocations.

// What is timed on our side allocates nothing, except where objects are made.
func TestOursDoesNotAllocate(t *testing.T) {
	t.Setenv("HALYARD_HOST_DEVICES", "1")
	infos, err := hal.Devices(t.Context())
	require.NoError(t, err)
	for _, info := range infos {
		if info.Backend != "host" {
			continue
		}
		s, err := openSite(t.Context(), info)
		require.NoError(t, err)
		for _, f := range familiesOf(info, nil, 4<<10) {
			if f.name == "alloc/hal" || f.name == "alloc/buffer" {
				continue
			}
			fix, err := f.open(s, nil, 4<<10)
			require.NoError(t, err)
			for _, n := range f.sizes {
				ours, raw := fix.at(n)
				for name, side := range map[string]timing.Side{"ours": ours, "raw": raw} {
					if side.Op == nil || f.name == "alloc/pool" && name == "raw" {
						continue
					}
					if name == "raw" && info.Backend == "host" && strings.HasPrefix(f.name, "launch/") {
						continue // it starts goroutines
					}
					for range 100 {
						require.NoError(t, side.Op())
					}
					allocs := testing.AllocsPerRun(200, func() {
						if err := side.Op(); err != nil {
							t.Error(err)
						}
					})
					assert.Zero(t, allocs, "%s %s, %s", info.Name(), f.fullName(n), name)
				}
			}
			require.NoError(t, fix.close())
		}
		require.NoError(t, s.close())
	}
}
