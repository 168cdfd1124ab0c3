package comm_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/conformance/commtest"
)

// What the engine may still read stays, although the operation was given up and nobody has the buffer any more.
func TestMemoryOfAGivenUpSendIsNeverUsedAgain(t *testing.T) {
	j := commtest.New(2, commtest.EagerLimit(0))
	defer j.Close()
	c := comm.New(j.Engine(0))
	func() {
		b, err := comm.NewBuffer[float64](c, 1000)
		require.NoError(t, err)
		require.NoError(t, b.CopyIn(t.Context(), numbers(1000, 7)))
		ctx, cancel := context.WithCancel(t.Context())
		r, err := comm.Isend(ctx, c, b, 1, 3)
		require.NoError(t, err)
		cancel()
		_, err = r.Wait(ctx)
		require.ErrorIs(t, err, comm.ErrTimeout)
	}()
	for range 5 {
		runtime.GC()
		other, err := comm.NewBuffer[float64](c, 1000)
		require.NoError(t, err)
		require.NoError(t, other.Fill(t.Context(), -1))
		require.NoError(t, other.Close())
	}
	got := make([]float64, 1000)
	_, err := comm.RecvSlice(t.Context(), comm.New(j.Engine(1)), got, 0, 3)
	require.NoError(t, err)
	require.NoError(t, same(got, numbers(1000, 7)))
}
