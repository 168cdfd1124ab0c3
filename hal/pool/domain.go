package pool

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// kinds is the number of kinds of memory. The first kind is 1, so arrays of this length are indexed by kind-1.
const kinds = int(hal.KindShared)

// domain is what a pool knows of one stream: the blocks freed there, and how far its work has come.
//
// Time is counted in epochs. A block that is freed gets the number of the current epoch; recording an event
// ends the epoch. So the event that ended epoch e comes after all use of the blocks with
// numbers up to e, and freeing a block does not need an event of its own.
type domain struct {
	stream  *hal.Stream // nil for blocks that nothing uses any more
	foreign bool        // the stream belongs to another device
	shelves [kinds]atomic.Pointer[shelf]

	epoch  atomic.Uint64 // the current epoch, from 1 on
	passed atomic.Uint64 // all work up to this epoch has finished

	mu       sync.Mutex
	events   []ended // not passed yet, oldest first
	recorded uint64  // the latest epoch that has ended
	retired  bool    // no more shelves
	over     bool    // no more events
}

// ended is an epoch and the event that ended it.
type ended struct {
	epoch uint64
	event *hal.Event
}

// mostEvents is the number of events that a domain keeps. Before one more is added, every other event is dropped: the epoch
// that a dropped event ended then passes only with the next event that was kept.
const mostEvents = 8

func newDomain(stream *hal.Stream, foreign bool) *domain {
	d := &domain{stream: stream, foreign: foreign}
	d.epoch.Store(1)
	if stream == nil {
		d.passed.Store(^uint64(0))
	}
	return d
}

// record ends the current epoch with an event. If the stream is closed it returns an error of kind ErrClosed; if the
// stream's work has also finished, it marks the epoch as passed.
func (d *domain) record() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stream == nil || d.over {
		return nil
	}
	d.poll()
	// Blocks freed from here on belong to the next epoch, and the event comes after all use of the blocks freed before.
	// If the event were recorded first, a block freed just after it would still belong to this epoch.
	e := d.epoch.Add(1) - 1
	m, err := layer.RecordShared(d.stream)
	if isClosed(err) {
		if done, _ := layer.Idle(d.stream); done { // only asked of a closed stream: from an open one it would take an error away
			d.release()
			d.passed.Store(e)
		}
	}
	if err != nil {
		return err
	}
	if len(d.events) == mostEvents {
		kept := d.events[:0]
		for i, x := range d.events {
			if i%2 == 0 {
				_ = x.event.Close()
				continue
			}
			kept = append(kept, x)
		}
		d.events = kept
	}
	d.events = append(d.events, ended{e, m})
	d.recorded = e
	return nil
}

// closed reports whether the stream is closed.
func (d *domain) closed() bool {
	err := layer.Err(d.stream)
	return err != nil && isClosed(err)
}

// finish closes all events; no more are recorded.
func (d *domain) finish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.release()
	d.over = true
}

// release closes all events; d.mu is held.
func (d *domain) release() {
	for _, x := range d.events {
		_ = x.event.Close()
	}
	d.events = nil
}

// poll asks how far the work has come; d.mu is held.
func (d *domain) poll() {
	n := 0
	for _, x := range d.events {
		if done, _ := x.event.Done(); !done { // the owner of the work finds its error
			break
		}
		d.passed.Store(x.epoch)
		_ = x.event.Close()
		n++
	}
	if n > 0 {
		d.events = append(d.events[:0], d.events[n:]...)
	}
}

// settled returns the epoch up to which all work has finished, and the latest that has ended.
func (d *domain) settled() (passed, recorded uint64) {
	if d.stream == nil {
		return ^uint64(0), ^uint64(0)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.poll()
	return d.passed.Load(), d.recorded
}

// cover returns the first event that comes after all work of an epoch, with a reference for the caller. It is
// nil if there is none, because the epoch is passed or has not ended.
func (d *domain) cover(epoch uint64) *hal.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range d.events {
		if x.epoch >= epoch {
			return layer.Retain(x.event)
		}
	}
	return nil
}

// all visits the shelves that there are.
func (d *domain) all(yield func(*shelf) bool) {
	for k := range d.shelves {
		if s := d.shelves[k].Load(); s != nil && !yield(s) {
			return
		}
	}
}

// shelf returns the shelf for blocks of one kind that are freed here, and makes it if there is none. It returns nil if there is
// none and the domain is retired.
func (d *domain) shelf(kind hal.Kind) *shelf {
	at := &d.shelves[kind-1]
	if s := at.Load(); s != nil {
		return s
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.retired {
		return nil
	}
	if at.Load() == nil {
		at.Store(newShelf())
	}
	return at.Load()
}

// table is a hash table that finds the domain of a stream. Finding needs no lock; changes need the pool's lock.
// A change takes constant time on average: now and then it makes a table of another size.
type table struct {
	slots   []atomic.Pointer[domain] // their number is a power of two; no slot between a stream's hash and its domain is empty
	used    int                      // slots that are not nil
	streams atomic.Int64
}

// removed takes the place of a domain that was removed, until there is a new table.
var removed = new(domain)

const smallestTable = 4

func hash(p unsafe.Pointer, drop uint) uint64 {
	return uint64(uintptr(p)>>drop) * 0x9e3779b97f4a7c15 >> 32
}

func newTable(streams int) *table {
	size := smallestTable
	for size < 4*streams {
		size *= 2
	}
	return &table{slots: make([]atomic.Pointer[domain], size)}
}

// find returns the domain of a stream, or nil if there is none. The stream must not be nil.
func (t *table) find(stream *hal.Stream) *domain {
	mask := uint64(len(t.slots) - 1)
	for i := hash(unsafe.Pointer(stream), 4); ; i++ {
		d := t.slots[i&mask].Load()
		if d == nil || d.stream == stream {
			return d
		}
	}
}

// insert adds a domain that is not in the table, and returns the table to use from now on.
func (t *table) insert(d *domain) *table {
	if 2*(t.used+1) > len(t.slots) {
		t = t.remade()
	}
	mask := uint64(len(t.slots) - 1)
	i := hash(unsafe.Pointer(d.stream), 4)
	for t.slots[i&mask].Load() != nil {
		i++
	}
	t.slots[i&mask].Store(d)
	t.used++
	t.streams.Add(1)
	return t
}

// remove takes a domain out, and returns the table to use from now on.
func (t *table) remove(d *domain) *table {
	mask := uint64(len(t.slots) - 1)
	i := hash(unsafe.Pointer(d.stream), 4)
	for {
		switch t.slots[i&mask].Load() {
		case nil:
			return t
		case d:
			t.slots[i&mask].Store(removed)
			if left := int(t.streams.Add(-1)); len(t.slots) > smallestTable && 16*left < len(t.slots) {
				return t.remade()
			}
			return t
		}
		i++
	}
}

// remade returns a new table of the same domains, whose size suits their number.
func (t *table) remade() *table {
	other := newTable(int(t.streams.Load()) + 1)
	for d := range t.all {
		other.insert(d)
	}
	return other
}

// all visits the domains.
func (t *table) all(yield func(*domain) bool) {
	hand := 0
	t.next(&hand, len(t.slots))(yield)
}

// next visits the domains in a number of slots, from slot *hand on, and moves *hand behind the last slot visited.
func (t *table) next(hand *int, slots int) func(yield func(*domain) bool) {
	return func(yield func(*domain) bool) {
		for range min(slots, len(t.slots)) {
			d := t.slots[*hand&(len(t.slots)-1)].Load()
			*hand++
			if d != nil && d != removed && !yield(d) {
				return
			}
		}
	}
}
