package pool_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

const (
	kib = uint64(1) << 10
	mib = uint64(1) << 20
)

// What the tests begin with.
var (
	newStream = fixture.Stream
	newPool   = fixture.Pool
	alloc     = fixture.Block
	free      = fixture.Free
	region    = fixture.Region
	fill      = fixture.Fill
	finish    = fixture.Finish
	overlap   = fixture.Overlap
)

// openHost opens device 0, which is unified, or a discrete one with that many bytes of memory.
func openHost(tb testing.TB, ordinal int, limit uint64) *hal.Device {
	tb.Helper()
	return fixture.Device(tb, host.New(host.Options{Discrete: 2, MemoryLimit: limit}), ordinal)
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
