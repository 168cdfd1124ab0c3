package hal_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

func TestErrorsOfNoDevice(t *testing.T) {
	err := hal.Errorf("tune", hal.ErrOutOfRange, "%d of %d", 3, 2)
	assert.Equal(t, &hal.Error{Op: "tune", Device: -1, Kind: hal.ErrOutOfRange, Detail: "3 of 2"}, err)
	assert.ErrorIs(t, err, hal.ErrOutOfRange)

	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	err = layer.Interrupted("tune", ctx)
	assert.ErrorIs(t, err, hal.ErrNotReady)
	assert.ErrorIs(t, err, why)
}

// No call takes a nil context, whatever it would find.
func TestNilContextsAreRefused(t *testing.T) {
	var none context.Context
	b := host.New(host.Options{Name: "none", Discrete: 1})
	d := fixture.Device(t, b, 1)
	s := newStream(t, d)
	e, err := s.Record()
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	require.NoError(t, e.Sync(t.Context()))
	m, err := d.Alloc(hal.KindDevice, 4, 0)
	require.NoError(t, err)
	defer func() { require.NoError(t, m.Close()) }()
	for name, call := range map[string]func() error{
		"List": func() (err error) {
			for _, r := range hal.List(none) {
				if r.Built {
					err = errors.Join(err, r.Err)
				}
			}
			return err
		},
		"Devices":  func() error { _, err := hal.Devices(none); return err },
		"Open":     func() error { _, err := hal.Open(none, "host"); return err },
		"OpenWith": func() error { _, err := hal.OpenWith(none, b, 1); return err },
		"OpenAll":  func() error { _, err := hal.OpenAll(none); return err },
		"Default":  func() error { _, err := hal.Default(none); return err },
		"CompileFor": func() error {
			_, err := hal.CompileFor(none, "sm_90", hal.Source{Text: "int i;"})
			return err
		},
		"Write":       func() error { return d.Write(none, m.All(), make([]byte, 4)) },
		"Read":        func() error { return d.Read(none, make([]byte, 4), m.All()) },
		"Reclaim":     func() error { return d.Reclaim(none) },
		"Stream.Sync": func() error { return s.Sync(none) },
		"Event.Sync":  func() error { return e.Sync(none) },
	} {
		err := call()
		assert.ErrorIs(t, err, hal.ErrInvalidArgument, name)
		assert.ErrorContains(t, err, "nil context", name)
	}
}
