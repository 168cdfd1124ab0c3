//go:build cuda && hip && linux

package hal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

// On CUDA and HIP a failure of the work is reported again by every later call. So a question that fails once, in itself, tells nothing of the
// work: nobody takes it for an answer, and later events and waits do not report it.
func TestEventsAfterAQuestionThatFails(t *testing.T) {
	cuda, hip := simulations(t, false, false)
	ends, closeAll := simEnds(t, 64, "cuda:0", "hip:0")
	for i, sim := range []*simgpu.Control{cuda, hip} {
		s := ends[i].s
		require.NoError(t, s.Fill(ends[i].m.All(), hal.Zero))
		sim.FailCall(1, 999)
		done, err := layer.Idle(s)
		require.NoError(t, err)
		require.False(t, done)
		require.NoError(t, s.Fill(ends[i].m.All(), hal.Pattern8(1)))
		e, err := s.Record()
		require.NoError(t, err)
		require.NoError(t, e.Sync(t.Context()))
		require.NoError(t, e.Close())
		require.NoError(t, s.Sync(t.Context()))
	}
	closeAll()
}
