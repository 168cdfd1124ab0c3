package adapt_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// prefetchBackend is a device whose shared memory moves.
type prefetchBackend struct {
	driver.Backend
	asked *[]uint64
}

type prefetchDevice struct {
	driver.Device
	asked *[]uint64
}

type prefetchStream struct {
	driver.Stream
	asked *[]uint64
}

func (b *prefetchBackend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, ordinal)
	return &prefetchDevice{d, b.asked}, err
}

// Info adds the capability, and takes away one that the device has no methods for.
func (d *prefetchDevice) Info() driver.Info {
	info := d.Device.Info()
	info.Caps = info.Caps&^driver.CapStreamAlloc | driver.CapPrefetch
	return info
}

func (d *prefetchDevice) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	s, err := d.Device.NewStream(o)
	return &prefetchStream{s, d.asked}, err
}

func (s *prefetchStream) Prefetch(r driver.Region, toHost bool) error {
	if !toHost {
		*s.asked = append(*s.asked, r.Len)
	}
	return nil
}

// prefetching opens such a device, and returns the lengths of what it is asked to prefetch.
func prefetching(t *testing.T) (*hal.Device, *[]uint64) {
	t.Helper()
	asked := new([]uint64)
	b := &prefetchBackend{host.New(host.Options{Discrete: 1}), asked}
	d, err := hal.OpenWith(ctx, b, 1)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d, asked
}
