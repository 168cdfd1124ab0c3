package host_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal/driver"
)

func TestWaitOrdersStreams(t *testing.T) {
	d := open(t, host.Options{Discrete: 1}, 1)
	for _, size := range []uint64{4, 200 << 10} {
		for range 20 {
			writer, reader := newStream(t, d), newStream(t, d)
			m, e, back := alloc(t, d, driver.KindDevice, size), newEvent(t, d, false), make([]byte, size)
			data := counting(size, 77)
			openGate := shut(t, writer)
			check(t, writer.CopyIn(all(m), pointer(data)))
			check(t, writer.Record(e))
			check(t, reader.Wait(e))
			check(t, reader.CopyOut(pointer(back), all(m)))
			want(t, "reader done", streamDone(t, reader), false)
			openGate()
			check(t, reader.Sync())
			wantBytes(t, "read", back, data)
		}
	}
}

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

func TestRecordAgainKeepsEarlierWaits(t *testing.T) {
	d := open(t, host.Options{}, 0)
	first, second, waiting := newStream(t, d), newStream(t, d), newStream(t, d)
	e := newEvent(t, d, false)
	openFirst, openSecond := shut(t, first), shut(t, second)
	check(t, first.Record(e))
	check(t, waiting.Wait(e))
	check(t, second.Record(e))
	openSecond()
	check(t, e.Sync())
	want(t, "the earlier wait", streamDone(t, waiting), false)
	openFirst()
	check(t, waiting.Sync())
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

// An event recorded in the middle is done before what comes after it.
func TestEventMarksAPoint(t *testing.T) {
	d := open(t, host.Options{}, 0)
	s, e := newStream(t, d), newEvent(t, d, false)
	openFirst := shut(t, s)
	check(t, s.Record(e))
	openSecond := shut(t, s)
	openFirst()
	check(t, e.Sync())
	want(t, "stream", streamDone(t, s), false)
	openSecond()
	check(t, s.Sync())
}

func TestElapsed(t *testing.T) {
	d := open(t, host.Options{}, 0)
	s := newStream(t, d)
	start, end := newEvent(t, d, true), newEvent(t, d, true)
	elapsed := func(from, to driver.Event) (time.Duration, error) { return to.(driver.Timer).Elapsed(from) }

	_, err := elapsed(start, end)
	wantKind(t, err, driver.ErrInvalidArgument) // never recorded
	check(t, s.Record(start))                   // idle: stamped at once
	before := time.Now()
	openGate := shut(t, s)
	check(t, s.Record(end))
	_, err = elapsed(start, end)
	wantKind(t, err, driver.ErrNotReady)
	for time.Since(before) < time.Millisecond {
	}
	openGate()
	check(t, end.Sync())
	forth, err := elapsed(start, end)
	check(t, err)
	back, err := elapsed(end, start)
	check(t, err)
	if forth < time.Millisecond || back != -forth {
		t.Errorf("%v forth and %v back over at least 1 ms", forth, back)
	}

	plain := newEvent(t, d, false)
	check(t, s.Record(plain))
	_, err = elapsed(start, plain)
	wantKind(t, err, driver.ErrInvalidArgument)
	_, err = elapsed(plain, start)
	wantKind(t, err, driver.ErrInvalidArgument)
}

// A time stamp still under way does not answer for a later record of the same event.
func TestElapsedAfterRecordingAgain(t *testing.T) {
	d := open(t, host.Options{}, 0)
	first, second := newStream(t, d), newStream(t, d)
	e, start := newEvent(t, d, true), newEvent(t, d, true)
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
