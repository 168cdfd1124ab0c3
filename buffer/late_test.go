package buffer_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// However late it shows that work has failed, no View shows what was copied from there.
func TestFailureThatShowsLate(t *testing.T) {
	for silent := range 24 {
		t.Run(fmt.Sprint(silent), func(t *testing.T) {
			b := newFaulty(host.Options{Name: "late", Discrete: 1})
			// For so many questions, events do not tell yet that their work has failed.
			var unseen atomic.Int32
			b.QueryEvent = func(e *hooked.Event) (bool, error) {
				done, err := queryFaulty(e)
				if done && err != nil && unseen.Add(-1) >= 0 {
					return false, nil
				}
				return done, err
			}
			d := fixture.Device(t, b, 1)
			s := newStream(t, d)
			g := hold(t, s)
			b.fail("Fill", 1)
			x := written(t, s, 4, 7)
			// The bytes are on their way to the host when somebody gives up.
			c, cancel := context.WithCancel(ctx)
			ended := make(chan error)
			go func() { ended <- x.View(c, nothing) }()
			require.Eventually(t, func() bool { return x.Stats().Copies == 1 }, patience, tick)
			cancel()
			require.ErrorIs(t, <-ended, context.Canceled)
			require.NoError(t, g.Signal())
			require.NoError(t, s.Sync(ctx))
			out, err := d.CopyStream(true)
			require.NoError(t, err)
			_ = out.Sync(ctx)
			unseen.Store(int32(silent))
			require.ErrorIs(t, x.View(ctx, nothing), errLate)
			require.ErrorIs(t, x.View(ctx, nothing), hal.ErrDeviceLost)
		})
	}
}
