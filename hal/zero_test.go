package hal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/zerotest"
)

// Handles that no call made are refused, by every method there is.
func TestNilAndZeroHandles(t *testing.T) {
	zerotest.Receivers[hal.Device](t)
	zerotest.Receivers[hal.Memory](t)
	zerotest.Receivers[hal.Stream](t)
	zerotest.Receivers[hal.Event](t)
	zerotest.Receivers[hal.Gate](t)
}

// So are arguments.
func TestNilAndZeroArguments(t *testing.T) {
	d, err := hal.OpenWith(t.Context(), host.New(host.Options{Name: "zero", Discrete: 1}), 1)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	e, err := s.Record()
	require.NoError(t, err)
	m, err := d.Alloc(hal.KindDevice, 16, 0)
	require.NoError(t, err)
	zerotest.Arguments(t, func() *hal.Device { return d })
	zerotest.Arguments(t, func() *hal.Stream { return s })
	zerotest.Arguments(t, func() *hal.Event { return e })
	for _, none := range []*hal.Event{nil, {}} {
		require.ErrorIs(t, layer.KeepUntil(m, none), hal.ErrInvalidArgument)
		require.Nil(t, layer.Retain(none))
		require.False(t, layer.CanDefer(s, none) || layer.RecordAgain(s, none) || layer.RecordedOn(none, s))
	}
	require.ErrorIs(t, layer.KeepUntil(new(hal.Memory), e), hal.ErrInvalidArgument)

	require.False(t, d.CanAccessPeer(nil) || d.CanAccessPeer(new(hal.Device)) || d.Same(new(hal.Device)))
	none := new(hal.Device)
	require.False(t, none.Same(none) || none.CanAccessPeer(none) || none.CanAccessPeer(nil), "what is no device is not the same one")
	good := m.All()
	for _, bad := range []hal.Region{{}, {Mem: new(hal.Memory)}} {
		require.ErrorIs(t, hal.CopyPeer(s, good, s, bad), hal.ErrInvalidArgument)
		require.ErrorIs(t, hal.CopyPeer(s, bad, s, good), hal.ErrInvalidArgument)
		require.ErrorIs(t, s.Copy(good, bad), hal.ErrInvalidArgument)
	}
	for _, bad := range []*hal.Stream{nil, {}} {
		require.ErrorIs(t, hal.CopyPeer(s, good, bad, good), hal.ErrInvalidArgument)
		require.ErrorIs(t, hal.CopyPeer(bad, good, s, good), hal.ErrInvalidArgument)
	}
	_, err = hal.Region{}.Sub(0, 0)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.ErrorContains(t, err, "released")
	require.ErrorContains(t, s.Fill(hal.Region{}, hal.Zero), "the Region of a released lease is zero")
	require.NoError(t, s.Close())
	require.NoError(t, e.Close())
	require.NoError(t, m.Close())
	require.NoError(t, d.Close())
}
