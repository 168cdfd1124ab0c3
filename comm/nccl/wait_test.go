package nccl

import (
	"errors"
	"testing"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

// While the library aborts the communicator, which may take long, everybody learns why, and no call waits for it.
func TestNobodyWaitsForAnAbort(t *testing.T) {
	c := &Comm{gone: make(chan struct{}), handle: 1}
	why := driver.Errorf("Abort", driver.ErrRankLost, "it is gone")
	c.err.Store(why)
	c.mu.Lock() // as abort does; if a call takes it, all goroutines are asleep
	c.look("watch")
	if err := c.Err(); !errors.Is(err, driver.ErrRankLost) {
		t.Error(err)
	}
	if err := c.settle(t.Context(), "Allreduce", "ncclAllReduce", 0, 0); !errors.Is(err, driver.ErrRankLost) {
		t.Error(err)
	}
}
