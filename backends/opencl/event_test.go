//go:build opencl

package opencl

import (
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

func TestWaitOrdersStreams(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		a, b, m := newStream(t, p), newStream(t, p), alloc(t, p, driver.KindDevice, 4)
		write(t, a, whole(m), []byte{1, 1, 1, 1})
		g := gated(t, a)
		ok(t, a.Fill(whole(m), driver.Pattern{Bits: 2, Width: 1}))
		e := newEvent(t, p, false)
		ok(t, a.Record(e))
		ok(t, b.Wait(e))
		dst := make([]byte, 4)
		ok(t, b.CopyOut(unsafe.Pointer(&dst[0]), whole(m)))
		wantDone(t, false, b.Query)
		ok(t, g.Open())
		// Only b is waited for: a was flushed when the event was recorded.
		ok(t, b.Sync())
		same(t, "seen by the waiting stream", dst, []byte{2, 2, 2, 2})
		closeAll(t, e, m, a, b)
	})
}

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

// b waits for the first recording; the second one is behind another gate.
func TestRecordingAgainKeepsEarlierWaits(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		a, b, m := newStream(t, p), newStream(t, p), alloc(t, p, driver.KindDevice, 4)
		first := gated(t, a)
		ok(t, a.Fill(whole(m), driver.Pattern{Bits: 1, Width: 1}))
		e := newEvent(t, p, false)
		ok(t, a.Record(e))
		ok(t, b.Wait(e))
		second := gated(t, a)
		ok(t, a.Fill(whole(m), driver.Pattern{Bits: 2, Width: 1}))
		ok(t, a.Record(e))
		dst := make([]byte, 4)
		ok(t, b.CopyOut(unsafe.Pointer(&dst[0]), whole(m)))
		ok(t, first.Open())
		ok(t, b.Sync())
		same(t, "seen after the first recording", dst, []byte{1, 1, 1, 1})
		wantDone(t, false, e.Query)
		ok(t, second.Open())
		ok(t, e.Sync())
		wantDone(t, true, e.Query)
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
		wantDone(t, true, e.Query) // lets go of the command
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

func TestFanOutFanIn(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		const n = 6
		root, m := newStream(t, p), alloc(t, p, driver.KindDevice, n)
		g := gated(t, root)
		ok(t, root.Fill(whole(m), driver.Pattern{Bits: 7, Width: 1}))
		start := newEvent(t, p, false)
		ok(t, root.Record(start))
		var branches [n]*stream
		var ends [n]*event
		for i := range n {
			branches[i], ends[i] = newStream(t, p), newEvent(t, p, i%2 == 0)
			ok(t, branches[i].Wait(start))
			ok(t, branches[i].Fill(part(m, uint64(i), 1), driver.Pattern{Bits: uint64(i), Width: 1}))
			ok(t, branches[i].Record(ends[i]))
			ok(t, root.Wait(ends[i]))
		}
		dst := make([]byte, n)
		ok(t, root.CopyOut(unsafe.Pointer(&dst[0]), whole(m)))
		ok(t, g.Open())
		ok(t, root.Sync())
		same(t, "joined", dst, []byte{0, 1, 2, 3, 4, 5})
		for i := range n {
			closeAll(t, branches[i], ends[i])
		}
		closeAll(t, start, m, root)
	})
}

func TestElapsedTime(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		need(t, p.device, driver.CapTiming)
		s, m := newStream(t, p), alloc(t, p, driver.KindDevice, 8<<20)
		start, end := newEvent(t, p, true), newEvent(t, p, true)
		_, err := end.Elapsed(start)
		wantKind(t, err, driver.ErrInvalidArgument) // not recorded
		g := gated(t, s)
		ok(t, s.Record(start))
		for range 4 {
			ok(t, s.Fill(whole(m), driver.Pattern{Bits: 1, Width: 8}))
		}
		ok(t, s.Record(end))
		_, err = end.Elapsed(start)
		wantKind(t, err, driver.ErrNotReady)
		ok(t, g.Open())
		ok(t, end.Sync())
		took, err := end.Elapsed(start)
		ok(t, err)
		// 32 MiB cannot be written in less than a microsecond, nor should it take a minute.
		if took.Microseconds() < 1 || took.Minutes() > 1 {
			t.Errorf("filling 32 MiB took %v", took)
		}
		back, err := start.Elapsed(end)
		ok(t, err)
		if back != -took {
			t.Errorf("%v forward and %v back", took, back)
		}
		zero, err := end.Elapsed(end)
		ok(t, err)
		if zero != 0 {
			t.Errorf("an event is %v away from itself", zero)
		}
		closeAll(t, start, end, m, s)
	})
}

func TestEventsMayCloseWhilePending(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		a, b, m := newStream(t, p), newStream(t, p), alloc(t, p, driver.KindDevice, 4)
		g := gated(t, a)
		e := newEvent(t, p, false)
		ok(t, a.Fill(whole(m), driver.Pattern{Bits: 1, Width: 1}))
		ok(t, a.Record(e))
		ok(t, b.Wait(e))
		ok(t, e.Close())
		wantDone(t, false, b.Query)
		ok(t, g.Open())
		ok(t, b.Sync())
		ok(t, a.Sync())
		closeAll(t, m, a, b)
	})
}
