package pool_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

// openHost opens device 0, which is unified, or a discrete one with that many bytes of memory.
func openHost(tb testing.TB, ordinal int, limit uint64) *hal.Device {
	tb.Helper()
	d, err := hal.OpenWith(ctx, host.New(host.Options{Discrete: 2, MemoryLimit: limit}), ordinal)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, d.Close()) })
	return d
}

func newStream(tb testing.TB, d *hal.Device) *hal.Stream {
	tb.Helper()
	s, err := d.NewStream(hal.StreamOptions{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

func newPool(tb testing.TB, d *hal.Device, o pool.Options) *pool.Pool {
	tb.Helper()
	p, err := pool.New(d, o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, p.Close()) })
	return p
}
