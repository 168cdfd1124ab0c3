package buffer

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/callsite"
	"github.com/go-halyard/halyard/internal/protocol"
)

// ActivityKind says what an [Activity] is about.
type ActivityKind uint8

const (
	// ActivityCopy is a copy from one place to another, just enqueued.
	ActivityCopy ActivityKind = iota
	// ActivityFill is the clearing of a range that was read before it was written, just enqueued.
	ActivityFill
	// ActivityAlloc is a new replica.
	ActivityAlloc
	// ActivityFree is a replica whose memory is freed when the work that uses it has finished.
	ActivityFree
	// ActivityWait is a wait of the host that has just ended.
	ActivityWait
	// ActivityEvict is a replica that is evicted, just before its memory is freed. The copies that
	// save its bytes are already enqueued, with the same cause.
	ActivityEvict
	// ActivityAvoided is a range of an access that was already current at its place, so nothing was copied.
	ActivityAvoided
	// ActivityUse is the end of an access: of a function on the host, or of a lease. The work of a lease may still run on its stream.
	ActivityUse
)

var kindNames = [...]string{"copy", "fill", "alloc", "free", "wait", "evict", "avoided", "use"}

// String returns "copy", "fill", "alloc", "free", "wait", "evict", "avoided" or "use".
func (k ActivityKind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "event"
}

// Activity is an event of a buffer, with its cause.
type Activity struct {
	Kind   ActivityKind
	Buffer uint64 // number of the buffer, counted from 1 in the order of creation
	Name   string // of the buffer, "" without WithName
	From   string // of a copy: "host" or a device's name
	To     string // "host" or a device's name: the destination of the bytes, the place of the replica or access, or the place that waits
	Lo, Hi uint64 // bytes of the buffer

	Cause  string // the call that led to the event: "Acquire", "View", "Evict", ..., or "Launch " and the name of a kernel
	Action string // the action of that call: "Read", "ReadWrite", "Overwrite", "MarkModified", "Evict" or "Reset"
	For    uint64 // for an eviction to make room, and its copies: number of the buffer that needs the room; else 0
	// Why is, for an eviction, "budget", "out of memory", or "" if the program called Evict. For a wait it says what had to end
	// first: "work" on a stream, another "access", or the use of "memory" that was to be freed.
	Why string

	Sources    string      // of a copy: the places where the bytes were current, "host, cuda:1"
	FromDevice *hal.Device // nil for the host
	ToDevice   *hal.Device // nil for the host
	Stream     *hal.Stream // the stream of a copy, a fill or a lease; nil if the host did it itself
	At         time.Time   // the beginning of the event; for a copy or fill, the time just before it was enqueued
	// the duration of a wait, an eviction or an access of the host; for a copy or fill, the time that enqueueing took
	Took time.Duration

	reached *arrival // see Reached
	stack   [20]uintptr
}

// arrival is the time at which a stream comes to a point. The channel is closed when the time is set.
type arrival struct {
	done chan struct{}
	at   time.Time
}

// Reached returns when the stream of a copy or a fill had done all earlier work and waited for what it had to, so that the copy could
// begin; the zero time if that is not known. It waits until then, so it is for copies that have finished.
func (e *Activity) Reached() time.Time {
	if e.reached == nil {
		return time.Time{}
	}
	<-e.reached.done
	return e.reached.at
}

// arrive notes when a stream comes to this point. It returns nil if the stream does not support that.
func arrive(stream *hal.Stream) *arrival {
	a := &arrival{done: make(chan struct{})}
	if stream.OnDone(func() { a.at = time.Now(); close(a.done) }) != nil {
		return nil
	}
	return a
}

// Site returns file:line of the call that led to the activity. It skips functions of this package, of packages kernel and comm, of the
// packages below these, and of files that the command "halyard kernels" wrote. It is "" if there is no such call, as for work on another
// goroutine.
func (e *Activity) Site() string { return callsite.Outside(e.stack[:], packagePath) }

var observers struct {
	sync.Mutex
	list atomic.Pointer[[]*func(Activity)]
}

// Observe calls fn for every activity of every buffer until stop is called. Observers are called in the order of their registration, with
// a buffer locked: fn must not wait for other goroutines, and should be quick. It must not use buffers or leases: a call of them panics
// within fn. If fn panics, the call of the program during which it ran does its work first, ends the lease or access that it would have
// returned, and panics then; a panic on a goroutine of this package is raised by the buffer's next call that begins or ends an access. An
// fn that ends its goroutine, as FailNow of package testing does, counts as one that panics.
func Observe(fn func(Activity)) (stop func()) {
	e := &fn
	change := func(edit func([]*func(Activity)) []*func(Activity)) {
		observers.Lock()
		defer observers.Unlock()
		var list []*func(Activity)
		if p := observers.list.Load(); p != nil {
			list = slices.Clone(*p)
		}
		if list = edit(list); len(list) == 0 {
			observers.list.Store(nil)
		} else {
			observers.list.Store(&list)
		}
		observing.Store(len(list) > 0)
	}
	change(func(l []*func(Activity)) []*func(Activity) { return append(l, e) })
	return sync.OnceFunc(func() {
		change(func(l []*func(Activity)) []*func(Activity) {
			return slices.DeleteFunc(l, func(x *func(Activity)) bool { return x == e })
		})
	})
}

func (s *storage) notify(e Activity) {
	e.Buffer, e.Name = s.id, s.name
	if e.At.IsZero() {
		e.At = time.Now()
	}
	if list := observers.list.Load(); list != nil {
		runtime.Callers(2, e.stack[:])
		for _, o := range *list {
			if thrown := callback(func() { (*o)(e) }); thrown != nil {
				s.thrown = thrown
			}
		}
	}
}

// noteTransfer reports a transfer that was just enqueued.
func (s *storage) noteTransfer(t protocol.Transfer, stream *hal.Stream, c cause, begin time.Time, reached *arrival) {
	e := Activity{Kind: ActivityFill, To: s.placeName(t.To, nil), Lo: t.Lo, Hi: t.Hi, Cause: c.op, Action: c.action.String(),
		For: c.client, Why: c.why, ToDevice: s.at[t.To].dev, Stream: stream, At: begin, reached: reached}
	if !begin.IsZero() {
		e.Took = time.Since(begin)
	}
	if t.From != protocol.NoPlace {
		e.Kind, e.From, e.FromDevice = ActivityCopy, s.placeName(t.From, nil), s.at[t.From].dev
		e.Sources = s.placeNames(s.m.State(t.Lo, t.Hi).Valid.Without(t.To))
	}
	s.notify(e)
}

// noteReplica reports that a replica was allocated or freed.
func (s *storage) noteReplica(kind ActivityKind, dev *hal.Device, c cause) {
	if observing.Load() {
		s.notify(Activity{Kind: kind, To: deviceName(dev), ToDevice: dev, Hi: s.size, Cause: c.op, Action: c.action.String(),
			For: c.client, Why: c.why})
	}
}

// noteEviction reports a replica that is being evicted.
func (s *storage) noteEviction(r *replica, c cause, begin time.Time) {
	if observing.Load() && !begin.IsZero() {
		s.notify(Activity{Kind: ActivityEvict, To: deviceName(r.dev), ToDevice: r.dev, Hi: s.size, Cause: c.op, Action: c.action.String(),
			For: c.client, Why: c.why, At: begin, Took: time.Since(begin)})
	}
}

// noteAvoided reports bytes of an access that are already current at its place.
func (s *storage) noteAvoided(c cause, dev *hal.Device, lo, hi uint64) {
	s.notify(Activity{Kind: ActivityAvoided, To: deviceName(dev), ToDevice: dev, Lo: lo, Hi: hi, Cause: c.op, Action: c.action.String()})
}

// noteUse reports an access that ends, whose bytes were ready at x.since.
func (s *storage) noteUse(x *access) {
	since := began.Add(x.since)
	x.since = 0
	if !observing.Load() || x.op == "SyncTo" {
		return
	}
	e := Activity{Kind: ActivityUse, To: s.placeName(x.place, x.stream), Lo: x.Lo, Hi: x.Hi, Cause: x.op, Action: x.Mode.String(),
		Stream: x.stream, At: since}
	if x.stream == nil {
		e.Took = time.Since(since)
	} else {
		e.ToDevice = x.stream.Device()
	}
	s.notify(e)
}

// waited reports a wait of the host that has just ended. c is the call that waited; why is as in Activity.
func (s *storage) waited(c cause, why string, dev *hal.Device, lo, hi uint64, begin time.Time) {
	if observing.Load() && !begin.IsZero() {
		s.notify(Activity{Kind: ActivityWait, To: deviceName(dev), ToDevice: dev, Lo: lo, Hi: hi, Cause: c.op, Action: c.action.String(),
			For: c.client, Why: why, At: begin, Took: time.Since(begin)})
	}
}
