package buffer_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// late is a faulty backend whose events, for a number of questions, do not tell yet that their work has failed.
type late struct {
	*faulty
	silent atomic.Int32
}

func (b *late) Open(ctx context.Context, n int) (driver.Device, error) {
	d, err := b.faulty.Open(ctx, n)
	return lateDevice{d.(*faultyDevice), b}, err
}

type lateDevice struct {
	*faultyDevice
	b *late
}

func (d lateDevice) NewEvent(o driver.EventOptions) (driver.Event, error) {
	e, err := d.faultyDevice.NewEvent(o)
	return lateEvent{e.(*faultyEvent), d.b}, err
}

func (d lateDevice) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	s, err := d.faultyDevice.NewStream(o)
	return lateStream{s.(*faultyStream)}, err
}

type lateStream struct{ *faultyStream }

func (s lateStream) Record(e driver.Event) error {
	return s.faultyStream.Record(e.(lateEvent).faultyEvent)
}
func (s lateStream) Wait(e driver.Event) error { return s.faultyStream.Wait(e.(lateEvent).faultyEvent) }

type lateEvent struct {
	*faultyEvent
	b *late
}

func (e lateEvent) Query() (bool, error) {
	done, err := e.faultyEvent.Query()
	if done && err != nil && e.b.silent.Add(-1) >= 0 {
		return false, nil
	}
	return done, err
}

// However late it shows that work has failed, no View shows what was copied from there.
func TestFailureThatShowsLate(t *testing.T) {
	for silent := range 24 {
		t.Run(fmt.Sprint(silent), func(t *testing.T) {
			b := &late{faulty: &faulty{Backend: host.New(host.Options{Name: "late", Discrete: 1}), next: map[string]int{}}}
			d, err := hal.OpenWith(ctx, b, 1)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, d.Close()) })
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
			b.silent.Store(int32(silent))
			require.ErrorIs(t, x.View(ctx, nothing), errLate)
			require.ErrorIs(t, x.View(ctx, nothing), hal.ErrDeviceLost)
		})
	}
}
