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

// registered makes one more backend, the last by name.
var registered = sync.OnceFunc(func() { driver.Register(host.New(host.Options{Name: "zz", Discrete: 1})) })

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
