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

const (
	kib = uint64(1) << 10
	mib = uint64(1) << 20
)

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

// eachDevice runs a test on the unified and on a discrete device.
func eachDevice(t *testing.T, test func(t *testing.T, d *hal.Device)) {
	t.Run("unified", func(t *testing.T) { test(t, openHost(t, 0, 0)) })
	t.Run("discrete", func(t *testing.T) { test(t, openHost(t, 1, 256*mib)) })
}

// shut holds a stream until the function that it returns is called, at the latest when the test ends.
func shut(tb testing.TB, s *hal.Stream) (open func()) {
	tb.Helper()
	g, err := s.Gate()
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, g.Signal()) })
	return func() {
		tb.Helper()
		require.NoError(tb, g.Signal())
	}
}

func alloc(tb testing.TB, a pool.Allocator, s *hal.Stream, size uint64) pool.Block {
	tb.Helper()
	b, err := a.Alloc(s, hal.KindDevice, size)
	require.NoError(tb, err)
	return b
}

func free(tb testing.TB, b pool.Block, s *hal.Stream) {
	tb.Helper()
	require.NoError(tb, b.Free(s))
}

func region(tb testing.TB, b pool.Block) hal.Region {
	tb.Helper()
	r, err := b.Region()
	require.NoError(tb, err)
	return r
}

func fill(tb testing.TB, s *hal.Stream, b pool.Block, v byte) {
	tb.Helper()
	require.NoError(tb, s.Fill(region(tb, b), hal.Pattern8(v)))
}

func finish(tb testing.TB, s *hal.Stream) {
	tb.Helper()
	require.NoError(tb, s.Sync(ctx))
}

// overlap reports whether two regions share bytes.
func overlap(a, b hal.Region) bool {
	return a.Mem == b.Mem && a.Off < b.Off+b.Len && b.Off < a.Off+a.Len
}
