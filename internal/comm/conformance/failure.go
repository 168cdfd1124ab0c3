package conformance

import (
	"errors"

	"github.com/go-halyard/halyard/internal/comm/driver"
)

var failureChecks = []Check{
	{Name: "LostRankIsNamed", Rule: "An operation that waits for a lost rank ends with an error of kind ErrRankLost that names the rank.", Ranks: 3, Ends: true, run: func(t *trial) {
		last := t.size - 1
		if t.rank == last {
			t.await(0, 0)
			t.lose(last)
			return
		}
		recv, send := t.irecv(t.area(8), last, 1), t.isend(t.area(1<<20), 1<<20, last, 2)
		barrier := t.icollective(driver.Collective{Call: driver.Barrier})
		if t.rank == 0 {
			for r := 1; r < last; r++ {
				t.await(r, 9)
			}
			t.signal(last, 0)
		} else {
			t.signal(0, 9)
		}
		for i, s := range t.finish(recv, send, barrier) {
			what := [...]string{"Irecv", "Isend", "Barrier"}[i]
			var e *driver.Error
			if i == 1 && s.Err == nil {
				continue // the engine had copied the message
			}
			if !errors.Is(s.Err, driver.ErrRankLost) || !errors.As(s.Err, &e) {
				t.fatalf("%s ends with %v", what, s.Err)
			}
			if i < 2 {
				t.equal(e.Peer, last, "rank that the error of %s names", what)
			}
		}
	}},
}
