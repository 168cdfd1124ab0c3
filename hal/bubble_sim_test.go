//go:build cuda && hip && linux

package hal_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

// A bubble of package synctest keeps the channels and timers that are made in it. None of them may stay in what all devices of the process
// share, so a program can open a device in a bubble, close it, and open it outside. Each name is first opened in a bubble.
func TestBubblesLeaveNothingBehind(t *testing.T) {
	simulations(t, false, false)
	const size = 32 << 20
	bytes := make([]byte, size)
	for _, name := range []string{"cuda:0", "hip:0", "host:0", "host:1"} {
		t.Setenv("HALYARD_HOST_DEVICES", "2")
		work := func(t *testing.T) {
			ctx := context.Background()
			d, err := hal.Open(ctx, name)
			require.NoError(t, err)
			s, err := d.NewStream()
			require.NoError(t, err)
			m, err := d.Alloc(hal.KindDevice, size, 0)
			require.NoError(t, err)
			require.NoError(t, s.CopyIn(m.All(), bytes)) // with several goroutines
			e, err := s.Record()
			require.NoError(t, err)
			require.NoError(t, e.Sync(ctx))
			require.NoError(t, d.Read(ctx, bytes, m.All()))
			require.NoError(t, hal.CloseAll(d, s, m, e))
		}
		for range 2 {
			synctest.Test(t, work)
			work(t)
		}
	}
}
