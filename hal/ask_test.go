package hal_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

var errMute = errors.New("the question failed")

// mute is a backend that fails to answer questions about work, those that are chosen, while fails is set. asked counts the failed ones.
type mute struct {
	hooked.Backend
	chosen map[string]bool
	fails  atomic.Bool
	asked  atomic.Int64
}

func newMute(chosen ...string) *mute {
	b := &mute{Backend: hooked.Backend{Backend: host.New(host.Options{Name: "mute", Discrete: 1})}, chosen: map[string]bool{}}
	for _, op := range chosen {
		b.chosen[op] = true
	}
	b.Call = func(op string, _ int) error {
		if b.chosen[op] && b.fails.Load() {
			b.asked.Add(1)
			return errMute
		}
		return nil
	}
	return b
}

// A question that the driver fails to answer says nothing about the work: what waits for the work goes on waiting, and finds it good.
func TestFailedQuestionsAreNoAnswers(t *testing.T) {
	all := []string{"Query", "Query event", "Sync", "Sync event", "Record", "NewEvent"}
	for name, c := range map[string]struct {
		fail []string
		end  func(context.Context, *hal.Stream, *hal.Event) error
	}{
		"Event.Sync":              {all, func(_ context.Context, _ *hal.Stream, e *hal.Event) error { return e.Sync(context.Background()) }},
		"Event.Sync, with an end": {all, func(ctx context.Context, _ *hal.Stream, e *hal.Event) error { return e.Sync(ctx) }},
		"Stream.Sync": {all[:4], func(_ context.Context, s *hal.Stream, _ *hal.Event) error {
			return hideMute(s.Sync(context.Background()))
		}},
		"Stream.Sync, no event": {all, func(_ context.Context, s *hal.Stream, _ *hal.Event) error {
			return hideMute(s.Sync(context.Background()))
		}},
		"Stream.Sync, with an end": {all, func(ctx context.Context, s *hal.Stream, _ *hal.Event) error { return s.Sync(ctx) }},
		"Drain": {all, func(_ context.Context, s *hal.Stream, _ *hal.Event) error {
			return layer.Drain(s, context.Background())
		}},
		"OnDone": {all, func(_ context.Context, _ *hal.Stream, e *hal.Event) error {
			told := make(chan error, 1)
			if err := e.OnDone(func(err error) { told <- err }); err != nil {
				return err
			}
			return <-told
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newMute(c.fail...)
			d := fixture.Device(t, b, 1)
			s := fixture.Stream(t, d)
			g := fixture.Gate(t, s)
			e, err := s.Record()
			require.NoError(t, err)
			defer e.Close()
			b.fails.Store(true)
			for range 3 {
				done, err := e.Done()
				require.NoError(t, err)
				require.False(t, done)
				done, err = s.Done()
				require.NoError(t, err)
				require.False(t, done)
				done, err = layer.Idle(s)
				require.NoError(t, err)
				require.False(t, done)
			}
			before := b.asked.Load()
			ended := make(chan error, 1)
			go func() { ended <- c.end(t.Context(), s, e) }()
			require.Eventually(t, func() bool { return len(ended) > 0 || b.asked.Load() >= before+10 }, 10*time.Second, time.Millisecond)
			require.Empty(t, ended, "the work is held up")
			b.fails.Store(false)
			require.NoError(t, g.Signal())
			require.NoError(t, within(t, ended))
			require.NoError(t, s.Sync(t.Context()))
		})
	}
}

// hideMute forgives a Sync that it tells the program the error of the driver's call, once the work has ended.
func hideMute(err error) error {
	if errors.Is(err, errMute) {
		return nil
	}
	return err
}

// A driver that never answers again counts as lost, so that nobody waits for ever.
func TestDriverThatNeverAnswersIsLost(t *testing.T) {
	b := newMute("Query", "Query event", "Sync", "Sync event")
	d, err := hal.OpenWith(t.Context(), b, 1)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	e, err := s.Record()
	require.NoError(t, err)
	b.fails.Store(true)
	require.ErrorIs(t, e.Sync(context.Background()), hal.ErrDeviceLost)
	require.ErrorIs(t, e.Sync(context.Background()), errMute, "with the driver's own error")
	require.ErrorIs(t, s.Sync(t.Context()), hal.ErrDeviceLost)
	require.NoError(t, hal.CloseAll(d, s, e))
}

// A stream that the driver does not know any more, such as an imported one that its owner has destroyed, fails alone: its device and the
// other streams go on.
func TestStaleStreamFailsAlone(t *testing.T) {
	u := &hooked.Backend{Backend: host.New(host.Options{Name: "stale", Discrete: 1})}
	var gone atomic.Pointer[hooked.Stream]
	u.Query = func(s *hooked.Stream) (bool, error) {
		if !gone.CompareAndSwap(nil, s) && gone.Load() != s {
			return s.Stream.Query()
		}
		return false, &driver.Error{Op: "query stream", Backend: "stale", Device: 1, Kind: driver.ErrInvalidArgument,
			Vendor: driver.Vendor{API: "cuStreamQuery", Name: "CUDA_ERROR_INVALID_HANDLE", Code: 400}}
	}
	d := fixture.Device(t, u, 1)
	stale, fine := fixture.Stream(t, d), fixture.Stream(t, d)
	var err error
	for done := false; !done; {
		done, err = stale.Done()
	}
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.NotErrorIs(t, err, hal.ErrDeviceLost)
	require.ErrorContains(t, err, "CUDA_ERROR_INVALID_HANDLE")
	require.NoError(t, fine.Fill(fixture.Memory(t, d, 64).All(), hal.Zero))
	require.NoError(t, fine.Sync(t.Context()))
}
