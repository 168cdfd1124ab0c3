package hal_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// onceTold is a backend whose streams report the failure of a fill once, by Query or by Sync, as OpenCL's and the template's do.
func onceTold(name string) *hooked.Backend {
	take := func(s *hooked.Stream, err error) error {
		if s.Data.(*atomic.Bool).CompareAndSwap(true, false) {
			return errWork
		}
		return err
	}
	return &hooked.Backend{
		Backend: host.New(host.Options{Name: name}),
		NewStream: func(d *hooked.Device, o driver.StreamOptions) (*hooked.Stream, error) {
			s, err := d.PlainNewStream(o)
			if err == nil {
				s.Data = new(atomic.Bool) // whether a fill has failed
			}
			return s, err
		},
		Fill: func(s *hooked.Stream, _ driver.Region, _ driver.Pattern) error {
			s.Data.(*atomic.Bool).Store(true)
			return nil
		},
		Query: func(s *hooked.Stream) (bool, error) {
			done, err := s.Stream.Query()
			return done, take(s, err)
		},
		Sync: func(s *hooked.Stream) error { return take(s, s.Stream.Sync()) },
	}
}

// What the library asks a stream for its own purposes does not take an error away from the program.
func TestClosingMemoryLeavesTheStreamsErrorToTheProgram(t *testing.T) {
	d, err := hal.OpenWith(t.Context(), onceTold("once"), 0)
	require.NoError(t, err)
	for name, ask := range map[string]func(*hal.Stream) error{
		"Done":              func(s *hal.Stream) error { _, err := s.Done(); return err },
		"Sync":              func(s *hal.Stream) error { return s.Sync(context.Background()) },
		"Sync, with an end": func(s *hal.Stream) error { return s.Sync(t.Context()) },
	} {
		s := openStream(t, d)
		m, err := d.Alloc(hal.KindDevice, 8, 0)
		require.NoError(t, err)
		require.NoError(t, s.Fill(m.All(), hal.Zero))
		require.NoError(t, m.Close()) // asks whether the stream still uses it
		require.ErrorIs(t, ask(s), errWork, name)
		require.NoError(t, ask(s), "%s: once is enough", name)
		require.NoError(t, s.Close())
	}
	require.NoError(t, d.Reclaim(t.Context()))
	require.NoError(t, d.Close())
}

// What packages above ask a stream does not take the error away either, however often they ask, and they all learn of it.
func TestAskingFromAboveLeavesTheStreamsErrorToTheProgram(t *testing.T) {
	d, err := hal.OpenWith(t.Context(), onceTold("once"), 0)
	require.NoError(t, err)
	m, err := d.Alloc(hal.KindDevice, 8, 0)
	require.NoError(t, err)
	for name, ask := range map[string]func(*hal.Stream) error{
		"Idle":               func(s *hal.Stream) error { _, err := layer.Idle(s); return err },
		"Drain":              func(s *hal.Stream) error { return layer.Drain(s, context.Background()) },
		"Drain, with an end": func(s *hal.Stream) error { return layer.Drain(s, t.Context()) },
	} {
		s := openStream(t, d)
		require.NoError(t, s.Fill(m.All(), hal.Zero))
		require.ErrorIs(t, ask(s), errWork, name)
		require.ErrorIs(t, ask(s), errWork, "%s, again", name)
		require.ErrorIs(t, s.Sync(t.Context()), errWork, "%s before", name)
		require.NoError(t, ask(s), "%s, when the program has been told", name)
		require.NoError(t, s.Sync(t.Context()), name)
		require.NoError(t, s.Close())
	}
	require.NoError(t, hal.CloseAll(d, m))
}

// A short copy across devices asks whether the destination's stream is idle.
func TestCopyPeerLeavesTheStreamsErrorToTheProgram(t *testing.T) {
	d, err := hal.OpenWith(t.Context(), onceTold("once"), 0)
	require.NoError(t, err)
	other, err := hal.OpenWith(t.Context(), host.New(host.Options{Name: "other"}), 0)
	require.NoError(t, err)
	to, from := openStream(t, d), openStream(t, other)
	dst, err := d.Alloc(hal.KindDevice, 8, 0)
	require.NoError(t, err)
	src, err := other.Alloc(hal.KindHost, 8, 0)
	require.NoError(t, err)
	require.NoError(t, to.Fill(dst.All(), hal.Zero))
	require.NoError(t, hal.CopyPeer(to, dst.All(), from, src.All()))
	require.ErrorIs(t, to.Sync(t.Context()), errWork)
	require.NoError(t, hal.CloseAll(other, d, from, to, dst, src))
}

// asked is a context that calls a function when somebody looks for its end.
type asked struct {
	context.Context
	do func()
}

func (a asked) Done() <-chan struct{} {
	a.do()
	return a.Context.Done()
}

// An event that is recorded while the library waits for the stream reports what is not yet reported to the program.
func TestEventsDuringADrainReportWhatIsUnreported(t *testing.T) {
	_, s, m := goKernels(t, map[string]hal.Function{"fail": {Run: func(*hal.Block) { panic("no") }}})
	require.NoError(t, s.Launch(kernelNamed(t, m, "fail"), hal.Blocks(1)))
	var err error
	require.Eventually(t, func() bool { _, err = layer.Idle(s); return err != nil }, 10*time.Second, time.Millisecond)
	var e *hal.Event
	require.Error(t, layer.Drain(s, asked{t.Context(), func() {
		if e == nil {
			var err error
			e, err = s.Record()
			require.NoError(t, err)
		}
	}}))
	require.Error(t, e.Sync(t.Context()))
	require.NoError(t, e.Close())
	require.Error(t, s.Sync(t.Context()), "the program is told in the end")
	require.NoError(t, s.Sync(t.Context()))
}
