package hal_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/layer"
)

// onceTold is a backend whose streams report the failure of a fill once, by Query or by Sync, as OpenCL's and the template's do.
type onceTold struct{ driver.Backend }

type onceDevice struct{ driver.Device }

type onceStream struct {
	driver.Stream
	failed atomic.Bool
}

func (b onceTold) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, ordinal)
	return onceDevice{d}, err
}

func (d onceDevice) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	s, err := d.Device.NewStream(o)
	return &onceStream{Stream: s}, err
}

func (s *onceStream) Fill(driver.Region, driver.Pattern) error {
	s.failed.Store(true)
	return nil
}

func (s *onceStream) take(err error) error {
	if s.failed.CompareAndSwap(true, false) {
		return errWork
	}
	return err
}

func (s *onceStream) Query() (bool, error) {
	done, err := s.Stream.Query()
	return done, s.take(err)
}

func (s *onceStream) Sync() error { return s.take(s.Stream.Sync()) }

// What the library asks a stream for its own purposes does not take an error away from the program.
func TestClosingMemoryLeavesTheStreamsErrorToTheProgram(t *testing.T) {
	d, err := hal.OpenWith(t.Context(), onceTold{host.New(host.Options{})}, 0)
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
	d, err := hal.OpenWith(t.Context(), onceTold{host.New(host.Options{Name: "above"})}, 0)
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
	d, err := hal.OpenWith(t.Context(), onceTold{host.New(host.Options{Name: "told"})}, 0)
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
