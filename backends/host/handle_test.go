package host

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
)

// A stream's handle is imported on its own device as long as the stream is open, by its owner or by others.
func TestStreamsAreImportedByTheirHandles(t *testing.T) {
	b := New(Options{Discrete: 1})
	open := func(ordinal int) driver.Device {
		d, err := b.Open(context.Background(), ordinal)
		require.NoError(t, err)
		return d
	}
	stream := func(d driver.Device) driver.Stream {
		s, err := d.NewStream(driver.StreamOptions{})
		require.NoError(t, err)
		return s
	}
	d, again, other := open(0), open(0), open(1)
	s := stream(d)
	h := s.Handle()
	require.NotZero(t, h)
	require.Equal(t, h, s.Handle())
	refused := func(d driver.Device, handle uintptr, kind error) {
		t.Helper()
		_, err := d.(driver.StreamImporter).ImportStream(handle)
		require.ErrorIs(t, err, kind)
	}
	refused(d, 0, driver.ErrInvalidArgument)
	refused(d, h+1, driver.ErrInvalidArgument)
	refused(other, h, driver.ErrWrongDevice)
	user, err := again.(driver.StreamImporter).ImportStream(h)
	require.NoError(t, err)
	require.Equal(t, h, user.Handle())
	require.NoError(t, s.Close())
	second, err := d.(driver.StreamImporter).ImportStream(h)
	require.NoError(t, err, "another has it open")
	require.NoError(t, second.Close())
	require.NoError(t, user.Close())
	refused(d, h, driver.ErrInvalidArgument)
	require.NotEqual(t, h, stream(d).Handle(), "a handle is not used again")
	require.NotContains(t, handles.open, h)

	never := stream(d)
	require.NoError(t, never.Close())
	require.Zero(t, never.Handle(), "asked for too late")
}
