package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/go-halyard/halyard/hal"
)

var eventChecks = []Check{
	{Name: "FollowsWork", Rule: "An event is done when the work before it is done, and not earlier.", Needs: hal.CapGate, run: eventFollowsWork},
	{Name: "WaitOrders", Rule: "Work after WaitEvent starts when the work before Record is done, and sees its results.", Needs: hal.CapGate, run: waitOrders},
	{Name: "WaitAloneIsRecorded", Rule: "An event that is recorded right after a wait, with no work in between, is done only after what the stream waits for.", Needs: hal.CapGate, run: eventAfterWaitAlone},
	{Name: "WaitDelaysOnlyTheWaiter", Rule: "A wait delays the stream that waits, not the stream of the event.", Needs: hal.CapGate, run: waitDelaysOnlyTheWaiter},
	{Name: "IdleStreamsEventIsDone", Rule: "An event of a stream without work becomes done, and work that waits for it goes on.", run: idleStreamsEvent},
	{Name: "WaitCompletedSkips", Rule: "Waiting for an event that is done delays nothing, whatever the event's stream does next.", Needs: hal.CapGate, run: waitCompleted},
	{Name: "WaitOnOwnStream", Rule: "A stream can wait for its own event.", Needs: hal.CapGate, run: waitOnOwnStream},
	{Name: "ReuseKeepsEarlierWaits", Rule: "A wait that is enqueued does not change when the event is closed and the vendor's event recorded again.", Needs: hal.CapGate, run: reuseKeepsWaits},
	{Name: "ReuseMovesTheEvent", Rule: "When a vendor's event is reused, the new event is done only when the later work is done.", Needs: hal.CapGate, run: reuseMoves},
	{Name: "FanOutFanIn", Rule: "Many streams can wait for one event, and one stream for many.", Needs: hal.CapGate, run: fanOutFanIn},
	{Name: "MultiEventWait", Rule: "A stream that waits for several events goes on after the last of them.", Needs: hal.CapGate, run: multiEventWait},
	{Name: "ManyPendingWaits", Rule: "A stream can have 70 waits pending, and goes on after the last of their events.", Needs: hal.CapGate, run: manyWaits},
	{Name: "ManyPendingEvents", Rule: "A stream can have 300 events pending, and each is done when the work before it is.", Needs: hal.CapGate, run: manyEvents},
	{Name: "PeerWait", Rule: "A stream waits for the event of another device of the backend.", Needs: hal.CapGate, NeedsPeer: true, run: peerWait},
	{Name: "CrossBackendWait", Rule: "A stream waits for the event of another backend's device without blocking the caller.", Needs: hal.CapGate, NeedsOther: true, run: crossBackendWait},
	{Name: "SyncHonoursContext", Rule: "Event.Sync gives up when its context ends, with ErrNotReady and the context's error.", Needs: hal.CapGate, run: eventSyncHonoursContext},
	{Name: "ElapsedNonNegative", Rule: "The time between two events of one stream is not negative.", Needs: hal.CapTiming, run: elapsedNonNegative},
	{Name: "ElapsedWithinWallTime", Rule: "The time between two events is at most the host's time around them, and consecutive times add up.", Needs: hal.CapTiming | hal.CapGate, run: elapsedWithinWallTime},
	{Name: "ElapsedBetweenStreams", Rule: "The time between events of two streams is that between their works.", Needs: hal.CapTiming | hal.CapGate, run: elapsedBetweenStreams},
	{Name: "ElapsedNeedsTiming", Rule: "Elapsed refuses events recorded without a time stamp.", Needs: hal.CapTiming, run: elapsedNeedsTiming},
	{Name: "ElapsedPendingNotReady", Rule: "Elapsed of an event that is not done is not ready.", Needs: hal.CapTiming | hal.CapGate, run: elapsedPending},
}

func eventFollowsWork(t *trial) {
	for _, o := range [][]hal.EventOption{nil, {hal.WithTiming()}} {
		if len(o) > 0 && !t.dev.Caps().Has(hal.CapTiming) {
			continue
		}
		s := t.stream(t.dev)
		for range 3 {
			g := t.shut(s)
			e := t.recorded(s, o...)
			t.busy(e, "an event behind a shut gate")
			t.letGo(g)
			t.must(e.Sync(t.ctx), "sync")
			t.idle(e, "after Sync")
			t.must(e.Close(), "close event")
		}
	}
}

func waitOrders(t *trial) {
	n := t.Size(1<<20, 100_000)
	a, b := t.stream(t.dev), t.stream(t.dev)
	m := t.filled(t.dev, make([]byte, n))
	for i := range 4 {
		p := hal.Pattern8(uint8(i + 1))
		g := t.shut(a)
		t.must(a.Fill(m.All(), p), "fill")
		e := t.recorded(a)
		t.must(b.WaitEvent(e), "wait")
		out := t.hostBytes(n)
		t.must(b.CopyOut(out, m.All()), "copy out")
		t.busy(b, "a stream that waits for one that is held shut")
		t.letGo(g)
		t.sync(b)
		t.same(out, repeated(p, n), "round %d: what the waiting stream read", i)
		t.sync(a)
	}
}

func idleStreamsEvent(t *trial) {
	s, idle := t.stream(t.dev), t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, 64)
	e := t.recorded(idle)
	t.must(s.WaitEvent(e), "wait")
	t.must(s.Fill(m.All(), hal.Pattern8(3)), "fill")
	t.sync(s)
	t.same(t.all(m), repeated(hal.Pattern8(3), 64), "after the wait")
	t.must(e.Sync(t.ctx), "sync with an event of a stream without work")
	t.idle(e, "an event of a stream without work")
}

func waitCompleted(t *trial) {
	a, b := t.stream(t.dev), t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, 64)
	t.must(a.Fill(m.All(), hal.Pattern8(1)), "fill")
	e := t.recorded(a)
	t.must(e.Sync(t.ctx), "sync")
	g := t.shut(a)
	t.must(a.Fill(m.All(), hal.Pattern8(2)), "fill")
	out := t.hostBytes(64)
	t.must(b.WaitEvent(e), "wait")
	t.must(b.CopyOut(out, m.All()), "copy out")
	t.sync(b)
	t.same(out, repeated(hal.Pattern8(1), 64), "what the other stream read")
	t.letGo(g)
	t.sync(a)
}

func waitOnOwnStream(t *trial) {
	s := t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, 64)
	g := t.shut(s)
	e := t.recorded(s)
	t.must(s.WaitEvent(e), "wait")
	t.must(s.Fill(m.All(), hal.Pattern8(1)), "fill")
	t.busy(s, "behind the gate")
	t.letGo(g)
	t.sync(s)
	t.same(t.all(m), repeated(hal.Pattern8(1), 64), "after the wait")
}

func reuseKeepsWaits(t *trial) {
	a, b, c := t.stream(t.dev), t.stream(t.dev), t.stream(t.dev)
	m := t.filled(t.dev, make([]byte, 64))
	first := t.shut(a)
	t.must(a.Fill(m.All(), hal.Pattern8(1)), "fill")
	e := t.recorded(a)
	out := t.hostBytes(64)
	t.must(b.WaitEvent(e), "wait")
	t.must(b.CopyOut(out, m.All()), "copy out")
	earlier := t.recorded(b)
	t.must(e.Close(), "close event")
	second := t.shut(a)
	later := t.recorded(a) // it reuses the vendor's event of e
	t.must(c.WaitEvent(later), "wait again")
	t.busy(b, "a wait for the first record")
	t.letGo(first)
	t.must(earlier.Sync(t.ctx), "the wait for the first record ends while the second is held back")
	t.same(out, repeated(hal.Pattern8(1), 64), "what was read after the first record")
	t.busy(later, "the event stands for the second record")
	t.busy(c, "a wait for the second record")
	t.letGo(second)
	t.sync(a, b, c)
	t.idle(later, "at the end")
}

func reuseMoves(t *trial) {
	a, b := t.stream(t.dev), t.stream(t.dev)
	e := t.recorded(a)
	t.must(e.Sync(t.ctx), "sync")
	t.must(e.Close(), "close event")
	g := t.shut(b)
	e = t.recorded(b) // it reuses the vendor's event of the first
	t.busy(e, "the event stands for the second stream")
	t.must(a.WaitEvent(e), "wait")
	t.busy(a, "the first stream waits for the second")
	t.letGo(g)
	t.sync(a)
	t.idle(e, "at the end")
}

func fanOutFanIn(t *trial) {
	const n = 8
	root, last := t.stream(t.dev), t.stream(t.dev)
	src, dst := t.filled(t.dev, make([]byte, n)), t.filled(t.dev, make([]byte, n))
	for round := range 3 {
		p := hal.Pattern8(uint8(round + 1))
		g := t.shut(root)
		t.must(root.Fill(src.All(), p), "fill")
		e := t.recorded(root)
		for i := range n {
			s := t.stream(t.dev)
			t.must(s.WaitEvent(e), "wait")
			t.must(s.Copy(region(dst, i, 1), region(src, i, 1)), "copy")
			t.must(last.WaitEvent(t.recorded(s)), "wait")
		}
		out := t.hostBytes(n)
		t.must(last.CopyOut(out, dst.All()), "copy out")
		t.busy(last, "the last stream")
		t.letGo(g)
		t.sync(last)
		t.same(out, repeated(p, n), "round %d", round)
	}
}

func multiEventWait(t *trial) {
	const n = 4
	s := t.stream(t.dev)
	m := t.filled(t.dev, make([]byte, n))
	var gates []*hal.Gate
	for i := range n {
		o := t.stream(t.dev)
		gates = append(gates, t.shut(o))
		t.must(o.Fill(region(m, i, 1), hal.Pattern8(uint8(i+1))), "fill")
		t.must(s.WaitEvent(t.recorded(o)), "wait")
	}
	out := t.hostBytes(n)
	t.must(s.CopyOut(out, m.All()), "copy out")
	for _, i := range t.rng.Perm(n) {
		t.busy(s, "a stream that waits for one more event")
		t.letGo(gates[i])
	}
	t.sync(s)
	t.same(out, []byte{1, 2, 3, 4}, "after all events")
}

// pending is how many waits and callbacks of one stream are pending at once.
const pending = 70

func manyWaits(t *trial) {
	s := t.stream(t.dev)
	m := t.filled(t.dev, make([]byte, pending))
	gates := make([]*hal.Gate, pending)
	for i := range gates {
		o := t.stream(t.dev)
		gates[i] = t.shut(o)
		t.must(o.Fill(region(m, i, 1), hal.Pattern8(uint8(i+1))), "fill")
		t.must(s.WaitEvent(t.recorded(o)), "wait %d", i)
	}
	out, want := t.hostBytes(pending), make([]byte, pending)
	t.must(s.CopyOut(out, m.All()), "copy out")
	order := t.rng.Perm(pending)
	for n, i := range order {
		if n == pending/2 || n == pending-1 {
			t.busy(s, "a stream with %d waits more", pending-n)
		}
		t.letGo(gates[i])
		want[i] = uint8(i + 1)
	}
	t.sync(s)
	t.same(out, want, "after %d waits", pending)
}

func manyEvents(t *trial) {
	const n = 300
	s := t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, n)
	var events []*hal.Event
	first := t.shut(s)
	for i := range n {
		t.must(s.Fill(region(m, i, 1), hal.Pattern8(1)), "fill")
		events = append(events, t.recorded(s))
	}
	last := t.shut(s)
	events = append(events, t.recorded(s))
	for _, i := range []int{0, n / 2, n - 1, n} {
		t.busy(events[i], "event %d", i)
	}
	t.letGo(first)
	for i, e := range events[:n] {
		t.must(e.Sync(t.ctx), "event %d", i)
	}
	t.busy(events[n], "the last event")
	t.letGo(last)
	t.sync(s)
	t.idle(events[n], "the last event")
}

func elapsedBetweenStreams(t *trial) {
	a, b := t.stream(t.dev), t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, 64)
	start := time.Now()
	t.must(a.Fill(m.All(), hal.Pattern8(1)), "fill")
	from := t.recorded(a, timing)
	t.must(from.Sync(t.ctx), "sync")
	after := tick()
	g := t.shut(b)
	t.must(b.Fill(m.All(), hal.Pattern8(2)), "fill")
	to := t.recorded(b, timing)
	for time.Since(after) < 10*time.Millisecond {
		t.busy(to, "behind a shut gate")
	}
	opened := time.Now()
	t.letGo(g)
	t.sync(b)
	wall, held := tick().Sub(start), opened.Sub(after)
	d, err := to.Elapsed(from)
	t.must(err, "elapsed")
	back, err := from.Elapsed(to)
	t.must(err, "elapsed")
	if d > wall+wall/10+clockSlack || d < held-held/10-clockSlack {
		t.Errorf("%v between events of two streams, of which one was held for %v; %v for the host", d, held, wall)
	}
	if diff := d + back; diff > clockSlack || diff < -clockSlack {
		t.Errorf("%v from one stream to the other, and %v back", d, back)
	}
}

// waitAcross checks that a stream of d waits for events of o.
func (t *trial) waitAcross(d, o *hal.Device) {
	if !o.Caps().Has(hal.CapGate) {
		t.Logf("%s has no gates: not checked", o.Name())
		return
	}
	near, far := t.stream(d), t.stream(o)
	m := t.filled(d, make([]byte, 64))
	for i := range 3 {
		g := t.shut(far)
		e := t.recorded(far)
		t.must(near.WaitEvent(e), "wait for an event of %s", o.Name())
		alone := t.recorded(near)
		t.must(near.Fill(m.All(), hal.Pattern8(uint8(i+1))), "fill")
		done := t.recorded(near)
		t.busy(near, "%s waits for %s", d.Name(), o.Name())
		t.busy(alone, "an event of %s right after the wait", d.Name())
		// The wait is for the first record, even after the event is closed and the vendor's event recorded again.
		t.must(e.Close(), "close the event")
		later := t.shut(far)
		t.recorded(far)
		t.busy(near, "%s waits for the first record", d.Name())
		t.letGo(g)
		t.must(done.Sync(t.ctx), "%s goes on after the first record", d.Name())
		t.same(t.all(m), repeated(hal.Pattern8(uint8(i+1)), 64), "round %d", i)
		t.letGo(later)
		t.sync(near, far)
	}
}

func peerWait(t *trial) {
	t.waitAcross(t.dev, t.peer)
	t.waitAcross(t.peer, t.dev)
}

func crossBackendWait(t *trial) {
	for _, o := range t.others {
		t.waitAcross(t.dev, o)
		if o.Caps().Has(hal.CapGate) {
			t.waitAcross(o, t.dev)
		}
	}
}

func eventSyncHonoursContext(t *trial) {
	s := t.stream(t.dev)
	g := t.shut(s)
	e := t.recorded(s)
	short, cancel := context.WithTimeout(t.ctx, time.Millisecond)
	defer cancel()
	err := e.Sync(short)
	t.wantKind(err, hal.ErrNotReady, "sync with a deadline")
	t.want(errors.Is(err, context.DeadlineExceeded), "%q does not wrap context.DeadlineExceeded", err)
	t.busy(e, "after Sync gave up")
	t.letGo(g)
	t.must(e.Sync(t.ctx), "sync")
}

// timed enqueues work between two events and waits for it.
func (t *trial) timed(s *hal.Stream, work func()) (from, to *hal.Event) {
	from = t.recorded(s, timing)
	work()
	to = t.recorded(s, timing)
	t.must(to.Sync(t.ctx), "sync")
	return from, to
}

func elapsedNonNegative(t *trial) {
	s := t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, t.Size(4<<20, 256<<10))
	for i := range 5 {
		from, to := t.timed(s, func() {
			for range i {
				t.must(s.Fill(m.All(), hal.Pattern8(uint8(i))), "fill")
			}
		})
		d, err := to.Elapsed(from)
		t.must(err, "elapsed")
		t.want(d >= 0, "%v between two events of one stream", d)
		d, err = to.Elapsed(to)
		t.must(err, "elapsed")
		t.want(d == 0, "%v between an event and itself", d)
	}
}

// clockSlack is how far a device's clock may drift from the host's during a check.
const clockSlack = 2 * time.Millisecond

// tick waits for the host's clock to advance and returns what it then shows. Between advances, which on some systems are some 16 ms
// apart, time.Now returns a time that has passed.
func tick() time.Time {
	for start := time.Now(); ; {
		if now := time.Now(); now.After(start) {
			return now
		}
	}
}

func elapsedWithinWallTime(t *trial) {
	s := t.stream(t.dev)
	start := time.Now()
	from := t.recorded(s, timing)
	t.must(from.Sync(t.ctx), "sync")
	afterFirst := tick()
	g := t.shut(s)
	middle, to := t.recorded(s, timing), t.recorded(s, timing)
	const least = 5 * time.Millisecond
	for time.Since(afterFirst) < least {
		t.busy(to, "behind a shut gate")
	}
	opened := time.Now()
	t.letGo(g)
	t.sync(s)
	wall := tick().Sub(start)
	whole, err := to.Elapsed(from)
	t.must(err, "elapsed")
	first, err := middle.Elapsed(from)
	t.must(err, "elapsed")
	second, err := to.Elapsed(middle)
	t.must(err, "elapsed")
	if whole > wall+wall/10+clockSlack {
		t.Errorf("%v between two events, %v for the host", whole, wall)
	}
	if held := opened.Sub(afterFirst); whole < held-held/10-clockSlack {
		t.Errorf("%v between two events, although a gate was shut for %v between them", whole, held)
	}
	if diff := whole - first - second; diff > clockSlack || diff < -clockSlack {
		t.Errorf("%v and %v are not %v", first, second, whole)
	}
}

func elapsedNeedsTiming(t *trial) {
	s := t.stream(t.dev)
	from, to := t.timed(s, func() {})
	plain := t.recorded(s)
	t.sync(s)
	for what, call := range map[string]func() (time.Duration, error){
		"to an event without timing":    func() (time.Duration, error) { return plain.Elapsed(from) },
		"since an event without timing": func() (time.Duration, error) { return to.Elapsed(plain) },
		"between an event and itself":   func() (time.Duration, error) { return plain.Elapsed(plain) },
		"since a nil event":             func() (time.Duration, error) { return to.Elapsed(nil) },
		"of a nil event":                func() (time.Duration, error) { return (*hal.Event)(nil).Elapsed(from) },
	} {
		t.refuses(hal.ErrInvalidArgument, what, func() error { _, err := call(); return err })
	}
}

func elapsedPending(t *trial) {
	s := t.stream(t.dev)
	from := t.recorded(s, timing)
	t.must(from.Sync(t.ctx), "sync")
	g := t.shut(s)
	to := t.recorded(s, timing)
	for range 10 {
		t.refuses(hal.ErrNotReady, "elapsed to an event that is held back", func() error { _, err := to.Elapsed(from); return err })
		t.refuses(hal.ErrNotReady, "elapsed since an event that is held back", func() error { _, err := from.Elapsed(to); return err })
	}
	t.letGo(g)
	t.sync(s)
	_, err := to.Elapsed(from)
	t.must(err, "elapsed")
}

func eventAfterWaitAlone(t *trial) {
	a, b, c := t.stream(t.dev), t.stream(t.dev), t.stream(t.dev)
	m := t.filled(t.dev, make([]byte, 64))
	for i := range 6 {
		if i%2 == 1 { // b has had work before
			t.must(b.Fill(region(m, 63, 1), hal.Pattern8(9)), "fill")
			t.sync(b)
		}
		p := hal.Pattern8(uint8(i + 1))
		g := t.shut(a)
		t.must(a.Fill(region(m, 0, 32), p), "fill")
		t.must(b.WaitEvent(t.recorded(a)), "wait")
		e := t.recorded(b)
		t.busy(e, "an event that was recorded right after a wait")
		t.busy(b, "a stream that only waits")
		t.must(c.WaitEvent(e), "wait for the stream that waits")
		out := t.hostBytes(32)
		t.must(c.CopyOut(out, region(m, 0, 32)), "copy out")
		t.busy(c, "a stream that waits for one that waits")
		t.letGo(g)
		t.sync(c)
		t.same(out, repeated(p, 32), "round %d: read two waits later", i)
		t.must(e.Sync(t.ctx), "sync with the event")
	}
}

func waitDelaysOnlyTheWaiter(t *trial) {
	a, b := t.stream(t.dev), t.stream(t.dev)
	m := t.filled(t.dev, make([]byte, 64))
	waiter, other := t.shut(b), t.shut(a)
	t.must(b.Fill(region(m, 0, 32), hal.Pattern8(1)), "fill")
	t.must(b.WaitEvent(t.recorded(a)), "wait")
	out := t.hostBytes(32)
	t.must(a.Fill(region(m, 32, 32), hal.Pattern8(2)), "fill")
	t.must(a.CopyOut(out, region(m, 32, 32)), "copy out")
	t.letGo(other)
	t.sync(a)
	t.same(out, repeated(hal.Pattern8(2), 32), "the stream that is waited for")
	t.busy(b, "the stream that waits")
	t.letGo(waiter)
	t.sync(b)
	t.same(t.get(m, 0, 32), repeated(hal.Pattern8(1), 32), "the stream that waits")
}
