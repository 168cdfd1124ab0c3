package host_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal/driver"
)

func TestWaitForNothing(t *testing.T) {
	d := open(t, host.Options{}, 0)
	s, other := newStream(t, d), newStream(t, d)
	e := newEvent(t, d, false)
	want(t, "never recorded", eventDone(t, e), true)
	check(t, e.Sync())
	check(t, s.Wait(e))
	want(t, "waits for an event never recorded", streamDone(t, s), true)

	check(t, other.Record(e))
	check(t, s.Wait(e))
	want(t, "waits for a finished event", streamDone(t, s), true)
	check(t, e.Sync())

	openGate := shut(t, s)
	check(t, s.Record(e))
	check(t, s.Wait(e)) // its own event
	openGate()
	check(t, s.Sync())
}

// Two streams that wait for each other's earlier work finish.
func TestWaitsCross(t *testing.T) {
	d := open(t, host.Options{}, 0)
	a, b := newStream(t, d), newStream(t, d)
	for range 200 {
		ea, eb := newEvent(t, d, false), newEvent(t, d, false)
		openA, openB := shut(t, a), shut(t, b)
		check(t, a.Record(ea))
		check(t, b.Record(eb))
		check(t, a.Wait(eb))
		check(t, b.Wait(ea))
		var opened sync.WaitGroup
		opened.Go(openA)
		opened.Go(openB)
		check(t, a.Sync())
		check(t, b.Sync())
		opened.Wait()
	}
}

// Streams that wait for different points of one stream go on at theirs, one by one.
func TestWaitsForSeveralPoints(t *testing.T) {
	d := open(t, host.Options{}, 0)
	s := newStream(t, d)
	var gates []func()
	var waiting []driver.Stream
	base := runtime.NumGoroutine()
	for range 5 {
		gates = append(gates, shut(t, s))
		e, w := newEvent(t, d, false), newStream(t, d)
		check(t, s.Record(e))
		check(t, w.Wait(e))
		waiting = append(waiting, w)
	}
	eventually(t, "all are waiting", func() bool { return runtime.NumGoroutine() <= base })
	for i, w := range waiting {
		want(t, "done before its point", streamDone(t, w), false)
		gates[i]()
		check(t, w.Sync())
	}
}

// A time stamp still under way does not answer for a later record of the same event.
func TestElapsedAfterRecordingAgain(t *testing.T) {
	d := open(t, host.Options{}, 0)
	first, second := newStream(t, d), newStream(t, d)
	e, start := newEvent(t, d, true), newEvent(t, d, true)
	for _, none := range []driver.Event{start, newEvent(t, d, false)} { // never recorded, and without a time
		_, err := e.(driver.Timer).Elapsed(none)
		wantKind(t, err, driver.ErrInvalidArgument)
	}
	check(t, newStream(t, d).Record(start))
	openFirst, openSecond := shut(t, first), shut(t, second)
	check(t, first.Record(e))
	check(t, second.Record(e))
	openFirst()
	check(t, first.Sync())
	_, err := e.(driver.Timer).Elapsed(start)
	wantKind(t, err, driver.ErrNotReady)
	openSecond()
	check(t, second.Sync())
	_, err = e.(driver.Timer).Elapsed(start)
	check(t, err)

	openFirst = shut(t, first)
	check(t, first.Record(e))
	_, err = e.(driver.Timer).Elapsed(start)
	wantKind(t, err, driver.ErrNotReady) // not the stamp from before
	openFirst()
	check(t, first.Sync())
}
