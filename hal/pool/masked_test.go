package pool_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// maskedBackend is the host with other capabilities.
type maskedBackend struct {
	driver.Backend
	change   driver.Caps
	needsMap bool
}

type maskedDevice struct {
	driver.Device
	backend *maskedBackend
}

type mappedMemory struct {
	driver.Memory
	needs bool
}

func (b *maskedBackend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, ordinal)
	return &maskedDevice{d, b}, err
}

func (d *maskedDevice) Info() driver.Info {
	info := d.Device.Info()
	info.Caps ^= d.backend.change
	return info
}

func (d *maskedDevice) Alloc(kind driver.Kind, size, align uint64) (driver.Memory, error) {
	m, err := d.Device.Alloc(kind, size, align)
	if err != nil {
		return nil, err
	}
	return mappedMemory{m, d.backend.needsMap}, nil
}

func (m mappedMemory) NeedsMap() bool { return m.needs }

// masked opens a device that has lost, or won, a capability, and whose memory the host may have to map.
func masked(t *testing.T, change hal.Caps, needsMap bool) *hal.Device {
	t.Helper()
	d, err := hal.OpenWith(ctx, &maskedBackend{host.New(host.Options{Discrete: 1}), change, needsMap}, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}
