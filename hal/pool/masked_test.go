package pool_test

import (
	"testing"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// masked opens a device that has lost, or won, a capability.
func masked(t *testing.T, change hal.Caps) *hal.Device {
	t.Helper()
	d := fixture.Device(t, &hooked.Backend{
		Backend: host.New(host.Options{Discrete: 1}),
		Info:    func(i driver.Info) driver.Info { i.Caps ^= change; return i },
	}, 1)
	return d
}
