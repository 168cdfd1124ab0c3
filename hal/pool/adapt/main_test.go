package adapt_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
