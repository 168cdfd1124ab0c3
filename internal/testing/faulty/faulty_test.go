package faulty

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

var ctx = context.Background()

// A layer that was told nothing passes what the backend passes.
func TestLayerIsThin(t *testing.T) {
	b := New(host.New(host.Options{Name: "layered", Discrete: 2}))
	conformance.Run(t, conformance.Harness{
		Open:    func(ctx context.Context) (*hal.Device, error) { return hal.OpenWith(ctx, b, 1) },
		Backend: b,
		Short:   true,
	})
	assert.Zero(t, b.Failed())
	assert.NotZero(t, b.Calls())
}

func TestOneCallFails(t *testing.T) {
	b := New(host.New(host.Options{Name: "layered", Discrete: 1}))
	d, err := hal.OpenWith(ctx, b, 1)
	require.NoError(t, err)
	b.Fail(2, hal.ErrOutOfMemory)
	m, err := d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	_, err = d.NewStream()
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	var e *driver.Error
	require.True(t, errors.As(err, &e))
	assert.Equal(t, Code, int(e.Vendor.Code))
	assert.EqualValues(t, 1, b.Failed())
	s, err := d.NewStream()
	require.NoError(t, err)

	b.Fail(1, hal.ErrDriver)
	assert.ErrorIs(t, m.Close(), hal.ErrDriver)
	require.NoError(t, s.Close())
	require.NoError(t, d.Close(), "what fails to be released is released")
}

func TestALieIsSilent(t *testing.T) {
	b := New(host.New(host.Options{Name: "layered", Discrete: 1}))
	d, err := hal.OpenWith(ctx, b, 1)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	m, err := d.Alloc(hal.KindDevice, 4, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	require.NoError(t, d.Write(ctx, m.All(), []byte{1, 2, 3, 4}))
	b.Lie(1)
	require.NoError(t, d.Write(ctx, m.All(), []byte{5, 6, 7, 8}))
	got := make([]byte, 4)
	require.NoError(t, d.Read(ctx, got, m.All()))
	assert.Equal(t, []byte{1, 2, 3, 4}, got)
	require.NoError(t, d.Write(ctx, m.All(), []byte{5, 6, 7, 8}))
	require.NoError(t, d.Read(ctx, got, m.All()))
	assert.Equal(t, []byte{5, 6, 7, 8}, got)
}
