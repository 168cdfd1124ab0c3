package staging_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/staging"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

const kib = 1 << 10

func openHost(tb testing.TB, ordinal int) *hal.Device {
	tb.Helper()
	d, err := hal.OpenWith(ctx, host.New(host.Options{Discrete: 2}), ordinal)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, d.Close()) })
	return d
}

// eachDevice runs a test on the unified and on a discrete device.
func eachDevice(t *testing.T, test func(t *testing.T, d *hal.Device)) {
	t.Run("unified", func(t *testing.T) { test(t, openHost(t, 0)) })
	t.Run("discrete", func(t *testing.T) { test(t, openHost(t, 1)) })
}

func newRing(tb testing.TB, d *hal.Device, o staging.Options) *staging.Ring {
	tb.Helper()
	r, err := staging.New(d, o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, r.Close()) })
	return r
}

func newStream(tb testing.TB, d *hal.Device) *hal.Stream {
	tb.Helper()
	s, err := d.NewStream(hal.StreamOptions{})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

func alloc(tb testing.TB, d *hal.Device, n uint64) *hal.Memory {
	tb.Helper()
	m, err := d.Alloc(hal.KindDevice, n, 0)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, m.Close()) })
	return m
}

// shut holds a stream until the function that it returns is called, at the latest when the test ends.
func shut(tb testing.TB, s *hal.Stream) (open func()) {
	tb.Helper()
	g, err := s.Gate()
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, g.Open()) })
	return func() {
		tb.Helper()
		require.NoError(tb, g.Open())
	}
}

func random(seed uint64, n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(n)}).Read(b)
	return b
}

// read returns what the memory holds when the stream has passed.
func read(tb testing.TB, s *hal.Stream, r hal.Region) []byte {
	tb.Helper()
	b := make([]byte, r.Len)
	require.NoError(tb, s.CopyOut(b, r))
	require.NoError(tb, s.Sync(ctx))
	return b
}

func write(tb testing.TB, s *hal.Stream, r hal.Region, b []byte) {
	tb.Helper()
	require.NoError(tb, s.CopyIn(r, b))
	require.NoError(tb, s.Sync(ctx))
}
