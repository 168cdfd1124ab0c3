//go:build opencl

package opencl

import (
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
)

func TestWaitForNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		a, b := newStream(t, p), newStream(t, p)
		e := newEvent(t, p, false)
		wantDone(t, true, e.Query)
		ok(t, e.Sync())
		ok(t, b.Wait(e)) // never recorded
		ok(t, a.Record(e))
		wantDone(t, true, e.Query)
		ok(t, b.Wait(e)) // recorded on a stream without work
		wantDone(t, true, b.Query)

		m := alloc(t, p, driver.KindDevice, 4)
		ok(t, a.Fill(whole(m), driver.Pattern{Width: 4}))
		ok(t, a.Record(e))
		ok(t, e.Sync())
		ok(t, b.Wait(e)) // done
		if b.last != 0 {
			t.Error("a wait for an event that is done enqueued something")
		}
		ok(t, a.Fill(whole(m), driver.Pattern{Width: 4}))
		ok(t, a.Record(e))
		before := a.last
		ok(t, a.Wait(e)) // its own
		if a.last != before {
			t.Error("a wait for the stream's own event enqueued something")
		}
		ok(t, a.Sync())
		closeAll(t, e, m, a, b)
	})
}

// A stream may wait for work that has failed: the event tells how it ended, not the call.
func TestWaitForWorkThatFailed(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		a, b, e, m := newStream(t, p), newStream(t, p), newEvent(t, p, false), alloc(t, p, driver.KindDevice, 4)
		ok(t, a.Fill(whole(m), driver.Pattern{Width: 4}))
		ok(t, a.Record(e))
		ok(t, a.Sync())
		real := p.t.eventStatus
		p.t.eventStatus = func(uintptr) (int32, status) { return -5, success }
		ok(t, b.Wait(e))
		if _, err := e.Query(); err == nil {
			t.Error("the event does not tell that the work failed")
		}
		p.t.eventStatus = real
		closeAll(t, e, m, a, b)
	})
}

// An event that stands for a stream's work keeps its reference when it is recorded again without new work, and is that of another stream's or later work when
// there is some.
func TestRecordingTheSameWorkAgainCallsNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		calls := 0
		retain, release := p.t.retainEvent, p.t.releaseEvent
		p.t.retainEvent = func(e uintptr) status { calls++; return retain(e) }
		p.t.releaseEvent = func(e uintptr) status { calls++; return release(e) }
		a, b, m := newStream(t, p), newStream(t, p), alloc(t, p, driver.KindDevice, 4)
		first := gated(t, a)
		ok(t, a.Fill(whole(m), driver.Pattern{Bits: 1, Width: 1}))
		e := newEvent(t, p, false)
		ok(t, a.Record(e))
		calls = 0
		for range 3 {
			ok(t, a.Record(e))
		}
		if calls != 0 {
			t.Errorf("recording the same work three times retains or releases %d times", calls)
		}
		wantDone(t, false, e.Query)
		second := gated(t, b)
		ok(t, b.Record(e))
		ok(t, first.Open())
		ok(t, a.Sync())
		wantDone(t, false, e.Query) // of b, whose gate is closed
		ok(t, second.Open())
		ok(t, e.Sync())
		wantDone(t, true, e.Query) // releases the command
		ok(t, b.Record(e))
		ok(t, b.Record(e))
		wantDone(t, true, e.Query)
		third := gated(t, b)
		ok(t, b.Record(e)) // new work on the same stream
		wantDone(t, false, e.Query)
		ok(t, third.Open())
		ok(t, e.Sync())
		closeAll(t, e, m, a, b)
	})
}

// Package hal looks first; the suite does not get here.
func TestElapsedTimeOfEventsThatAreNotDone(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		need(t, p.device, driver.CapTiming)
		s, start, end := newStream(t, p), newEvent(t, p, true), newEvent(t, p, true)
		_, err := end.Elapsed(start)
		wantKind(t, err, driver.ErrInvalidArgument) // not recorded
		g := gated(t, s)
		ok(t, s.Record(start))
		ok(t, s.Record(end))
		_, err = end.Elapsed(start)
		wantKind(t, err, driver.ErrNotReady)
		ok(t, g.Open())
		closeAll(t, start, end, s)
	})
}
