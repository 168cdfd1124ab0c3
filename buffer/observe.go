package buffer

import (
	"context"
	"runtime/trace"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// EventKind says what an [Event] is about.
type EventKind uint8

const (
	// EventCopy is a copy from one place to another, just enqueued.
	EventCopy EventKind = iota
	// EventFill is the clearing of a range that was read before it was written, just enqueued.
	EventFill
	// EventAlloc is a new replica.
	EventAlloc
	// EventFree is a replica given back, when the work that uses it has finished.
	EventFree
	// EventWait is a wait of the host for work under way, just over.
	EventWait
)

var eventNames = [...]string{"copy", "fill", "alloc", "free", "wait"}

// String returns "copy", "fill", "alloc", "free" or "wait".
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "event"
}

// Event is something that a buffer did, and why.
type Event struct {
	Kind   EventKind
	Buffer uint64 // number of the buffer, counted from 1 in the order of creation
	From   string // of a copy: "host" or a device's name
	To     string // "host" or a device's name: where the bytes go, or the replica or the wait is
	Lo, Hi uint64 // bytes of the buffer
	Cause  string // the call that made it necessary: "Acquire", "View", "Evict", ...

	Sources coherence.Set // of a copy: the places that had the bytes
	Stream  *hal.Stream   // that a copy or fill was enqueued on, nil if the host did it at once
	At      time.Time     // when it was enqueued, or began
	Took    time.Duration // of a wait
}

type observerEntry struct{ fn func(Event) }

var observers struct {
	sync.Mutex
	list atomic.Pointer[[]*observerEntry]
}

// Observe makes fn see every event of every buffer until stop is called. Observers are called in the
// order of their registration, with a buffer locked: fn must not use buffers, and should be quick.
func Observe(fn func(Event)) (stop func()) {
	e := &observerEntry{fn}
	change := func(edit func([]*observerEntry) []*observerEntry) {
		observers.Lock()
		defer observers.Unlock()
		var list []*observerEntry
		if p := observers.list.Load(); p != nil {
			list = slices.Clone(*p)
		}
		if list = edit(list); len(list) == 0 {
			observers.list.Store(nil)
		} else {
			observers.list.Store(&list)
		}
	}
	change(func(l []*observerEntry) []*observerEntry { return append(l, e) })
	return sync.OnceFunc(func() {
		change(func(l []*observerEntry) []*observerEntry {
			return slices.DeleteFunc(l, func(x *observerEntry) bool { return x == e })
		})
	})
}

// observed reports whether anybody wants events.
func observed() bool { return observers.list.Load() != nil }

func notify(e Event) {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	if list := observers.list.Load(); list != nil {
		for _, o := range *list {
			o.fn(e)
		}
	}
}

// noteReplica reports a replica that came or went.
func (s *storage) noteReplica(kind EventKind, place string) {
	if observed() {
		notify(Event{Kind: kind, Buffer: s.id, To: place, Hi: s.size})
	}
}

// await waits for hazards on the host, and shows that it did.
func (s *storage) await(ctx context.Context, op string, lo, hi uint64, list []hazard) error {
	defer trace.StartRegion(ctx, "halyard: wait").End()
	begin := time.Now()
	err := waitAll(ctx, list)
	if observed() {
		notify(Event{Kind: EventWait, Buffer: s.id, To: "host", Lo: lo, Hi: hi, Cause: op, At: begin, Took: time.Since(begin)})
	}
	return err
}
