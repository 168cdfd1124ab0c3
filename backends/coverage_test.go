package backends_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// registered makes two more backends, the last by name.
var registered = sync.OnceFunc(func() {
	driver.Register(host.New(host.Options{Name: "zz", Discrete: 1}))
	driver.Register(&told)
})

// told is a backend of the name yy that lists what it is told to. Its devices are the host's.
var told = listing{Backend: host.New(host.Options{Name: "yy", Discrete: 3})}

type listing struct {
	driver.Backend
	classes []driver.Class // of its devices
	err     error
}

func (l *listing) Devices(context.Context) ([]driver.Info, error) {
	var infos []driver.Info
	for i, c := range l.classes {
		infos = append(infos, driver.Info{Backend: "yy", Ordinal: i, Class: c})
	}
	return infos, l.err
}

// tell has the backend yy list devices of these classes, or fail.
func tell(t *testing.T, err error, classes ...driver.Class) {
	registered()
	told.classes, told.err = classes, err
	t.Cleanup(func() { told.classes, told.err = nil, nil })
}

// A backend whose driver is missing or broken is left out. One that does not answer in time, or whose settings are wrong, is no backend without devices.
func TestListOfDevicesHidesNoFailure(t *testing.T) {
	ctx := t.Context()
	t.Setenv(hal.EnvDevices, "")
	for _, kind := range []error{driver.ErrUnavailable, driver.ErrDriver} {
		tell(t, &driver.Error{Kind: kind, Detail: "no libyy"})
		_, err := hal.Devices(ctx)
		require.NoError(t, err)
	}
	for _, kind := range []error{driver.ErrNotReady, driver.ErrInvalidArgument} {
		tell(t, &driver.Error{Kind: kind, Detail: "yy: platform 1"}, driver.ClassGPU)
		_, err := hal.Devices(ctx)
		require.ErrorIs(t, err, kind)
		require.ErrorContains(t, err, "yy: platform 1")
		_, err = hal.OpenAll(ctx)
		require.ErrorIs(t, err, kind)
		_, err = hal.Default(ctx)
		require.ErrorIs(t, err, kind)
		d, err := hal.Open(ctx, "yy:gpu")
		require.NoError(t, err, "the device is among those whose numbers are known")
		require.NoError(t, d.Close())
		_, err = hal.Open(ctx, "yy:gpu:1")
		require.ErrorIs(t, err, kind)
	}

	tell(t, nil)
	t.Setenv(hal.EnvDevices, "yy")
	_, err := hal.OpenAll(ctx)
	require.ErrorIs(t, err, hal.ErrUnavailable)
	require.ErrorContains(t, err, "HALYARD_DEVICES=yy: no device found")

	t.Setenv(hal.EnvDevices, "")
	t.Setenv("HALYARD_HOST_DEVICES", "two")
	for _, call := range []func() error{
		func() error { _, err := hal.OpenAll(ctx); return err },
		func() error { _, err := hal.Default(ctx); return err },
	} {
		require.ErrorIs(t, call(), hal.ErrInvalidArgument)
		require.ErrorContains(t, call(), `HALYARD_HOST_DEVICES="two" is not a number`)
	}
}

// The second GPU of a backend is one by any name, and a GPU is the default, wherever it is in the list.
func TestDevicesByType(t *testing.T) {
	ctx := t.Context()
	tell(t, nil, driver.ClassCPU, driver.ClassGPU, driver.ClassAccelerator, driver.ClassGPU)
	for name, want := range map[string]string{"yy": "yy:0", "yy:gpu": "yy:1", "yy:gpu:1": "yy:3", "yy:accelerator:0": "yy:2", "yy:cpu": "yy:0"} {
		d, err := hal.Open(ctx, name)
		require.NoError(t, err)
		require.Equal(t, want, d.Name())
		require.NoError(t, d.Close())
	}
	for selection, want := range map[string]string{"host,yy": "yy:1", "host,yy:0,yy:gpu": "yy:1", "host,yy:cpu,yy:2": "yy:0", "host,zz:1": "zz:1"} {
		t.Setenv(hal.EnvDevices, selection)
		d, err := hal.Default(ctx)
		require.NoError(t, err)
		require.Equal(t, want, d.Name(), selection)
		require.NoError(t, d.Close())
	}
}

// Default is the first device of the selection that is not the host's, and the host's where there is no other.
func TestDefaultPrefersADevice(t *testing.T) {
	registered()
	ctx := context.Background()
	opened := func(selection string) string {
		t.Setenv(hal.EnvDevices, selection)
		d, err := hal.Default(ctx)
		require.NoError(t, err)
		defer func() { require.NoError(t, d.Close()) }()
		return d.Name()
	}
	require.Equal(t, "host:0", opened("host"))
	require.Equal(t, "zz:1", opened("host,zz:1,zz:0"))
	infos, err := hal.Devices(ctx)
	require.NoError(t, err)
	require.Equal(t, "host:0", infos[0].Name())

	t.Setenv(hal.EnvDevices, "")
	infos, err = hal.Devices(ctx)
	require.NoError(t, err)
	for _, i := range infos {
		if i.Backend != "host" {
			require.Equal(t, i.Name(), opened(""))
			break
		}
	}

	t.Setenv(hal.EnvDevices, "zz:2")
	_, err = hal.Default(ctx)
	require.ErrorIs(t, err, hal.ErrOutOfRange)
}
