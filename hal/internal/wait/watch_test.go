package wait

import (
	"testing"
	"time"
)

func TestWaitsCedeOnceInAWhile(t *testing.T) {
	var w watch
	now := time.Now().UnixNano()
	for _, row := range []struct {
		last  int64
		cedes bool
	}{{0, true}, {now - int64(time.Hour), true}, {now + int64(time.Hour), false}} {
		w.ceded.Store(row.last)
		w.cede()
		if got := w.ceded.Load(); (got != row.last) != row.cedes || row.cedes && got < now {
			t.Errorf("after %d: %d", row.last, got)
		}
	}
}
