package life

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// Owner is a device's account of what was made on it and is not yet given back.
type Owner struct {
	Calls  Calls // the calls under way on the device
	Reaper Reaper
	Frees  *Frees

	// Report reports a leak. The text describes the object, as Thing.Describe does.
	Report func(object string)

	// Close closes a handle that the program lost. It is called on a goroutine of its own once nothing is open on the handle, and again
	// if it fails.
	Close func(h *Holder) error

	common *Holder // of the device itself: the program cannot close it

	mu        sync.Mutex
	holders   map[*Holder]struct{} // open ones, without common
	abandoned bool                 // the program has lost at least one
	usage     Usage
	objects   int        // not yet given back to the vendor
	none      sync.Cond  // signalled when objects is 0
	lookouts  []*Lookout // spare ones
}

// Usage counts allocations.
type Usage struct {
	Held, Peak  uint64 // bytes
	Allocations uint64 // since the device was opened
}

// Holder is one of the program's handles on a device: the list of the objects that were made through it and are open.
type Holder struct {
	owner     *Owner
	closed    atomic.Bool
	list      Child // the head
	abandoned bool  // the program has lost the handle without closing it
}

// Child is the part of an object that stands in the list of a Holder while the object is open.
type Child struct {
	Dependent  bool   // the device closes it when it closes itself; counts only for objects of the device's own handle
	prev, next *Child // nil when it is off the list
	holder     *Holder
	thing      Thing
}

// Thing is an object of package hal, as this package sees it.
type Thing interface {
	// Describe says what it is, for messages: "device memory of 4096 bytes".
	Describe() string

	// Leaked reports that the program has lost it, closes it, and leaves the rest to the reaper. It does not block.
	Leaked()
}

// Init prepares the account of a device that is open.
func (o *Owner) Init() {
	o.none.L = &o.mu
	o.holders = map[*Holder]struct{}{}
	o.common = newHolder(o)
}

func newHolder(o *Owner) *Holder {
	h := &Holder{owner: o}
	h.list.prev, h.list.next = &h.list, &h.list
	return h
}

// Common returns the device's own handle.
func (o *Owner) Common() *Holder { return o.common }

// Join returns a new handle, or nil if the device is closed, or if gone, which must not block, returns true.
func (o *Owner) Join(gone func() bool) *Holder {
	h := newHolder(o)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.Calls.Closed() || gone() {
		return nil
	}
	o.holders[h] = struct{}{}
	return h
}

// Closed reports whether the handle is closed.
func (h *Holder) Closed() bool { return h.closed.Load() }

// CloseHolder closes a handle. If objects are still open on it, the handle stays open, and the error is the one that refuse makes of their
// names. Before the last handle is closed, refuse is called with "", and may return an error that keeps it open. refuse must not block.
// last says that this was the last handle: the device accepts no calls any more, and the caller closes it.
func (o *Owner) CloseHolder(h *Holder, refuse func(open string) error) (last bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if h.closed.Load() {
		return false, nil
	}
	last = len(o.holders) == 1
	if o.inUse(h, last) {
		return false, refuse(o.names(h, last))
	}
	if last {
		if err := refuse(""); err != nil {
			return false, err
		}
	}
	h.closed.Store(true)
	delete(o.holders, h)
	if !last {
		o.closeAbandoned(h)
		return false, nil
	}
	o.Calls.Stay() // until the caller has closed what belongs to the device itself: CallsEnd
	o.Calls.Close()
	return true, nil
}

// CallsEnd waits for the calls under way on a device whose last handle is closed.
func (o *Owner) CallsEnd() {
	o.Calls.Leave()
	o.Calls.left.Wait()
}

// inUse reports whether an open object keeps the handle from closing; last says that it is the last handle. o.mu is held.
func (o *Owner) inUse(h *Holder, last bool) bool {
	return !h.empty() || last && !o.common.onlyDependent()
}

// empty reports whether nothing made through the handle is open; the owner's mu is held.
func (h *Holder) empty() bool { return h.list.next == &h.list }

// onlyDependent reports whether all open objects close with the device; the owner's mu is held.
func (h *Holder) onlyDependent() bool {
	for c := h.list.next; c != &h.list; c = c.next {
		if !c.Dependent {
			return false
		}
	}
	return true
}

// names lists what keeps the handle from closing; last says that it is the last handle. o.mu is held.
func (o *Owner) names(h *Holder, last bool) string {
	const most = 5
	var names []string
	n := 0
	count := func(h *Holder) {
		for c := h.list.next; c != &h.list; c = c.next {
			if c.Dependent && h == o.common {
				continue
			}
			if n++; n <= most {
				names = append(names, c.thing.Describe())
			}
		}
	}
	count(h)
	if last {
		count(o.common)
	}
	if n > most {
		names = append(names, fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(names, ", ")
}

// CloseDependents closes the objects that close with the device.
func (o *Owner) CloseDependents() {
	type closer interface{ Close(**Lookout) error }
	var list []closer
	o.mu.Lock()
	for c := o.common.list.next; c != &o.common.list; c = c.next {
		if c.Dependent {
			list = append(list, c.thing.(closer))
		}
	}
	o.mu.Unlock()
	for _, x := range list {
		_ = x.Close(new(*Lookout))
	}
}

// Leaked reports that the program has lost the handle. The handle closes once nothing is open on it. It runs on the
// runtime's cleanup goroutine, which must not block.
func (h *Holder) Leaked() {
	o := h.owner
	o.mu.Lock()
	if h.closed.Load() {
		o.mu.Unlock()
		return
	}
	h.abandoned, o.abandoned = true, true
	o.closeAbandoned(h)
	o.mu.Unlock()
	o.Report("device")
}

// closeAbandoned closes a handle that the program has lost, if it is no longer in use; o.mu is held.
func (o *Owner) closeAbandoned(h *Holder) {
	if !o.abandoned {
		return
	}
	last := len(o.holders) == 1
	if last {
		for h = range o.holders { // objects of the device's own handle, too, keep the last handle open
		}
	}
	if h.abandoned && !h.closed.Load() && !o.inUse(h, last) {
		go o.abandon(h)
	}
}

// abandon closes an abandoned handle, unless something was made on it meanwhile, once no gate forbids it.
func (o *Owner) abandon(h *Holder) {
	if err := o.Close(h); err == nil || h.closed.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.inUse(h, len(o.holders) == 1) {
		return // closeAbandoned comes here again when the last object is closed
	}
	o.Reaper.Add(func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return len(o.holders) > 1 || !o.Frees.HeldUp()
	}, func() { go o.abandon(h) })
}

// Enlist puts an object on the handle's list and watches for its leak. It reports false if the handle is closed.
func (h *Holder) Enlist(c *Child, t Thing) (*Lookout, bool) { return h.enlist(c, t, nil) }

// enlist is Enlist, and counts x, which may be nil, until it is given back.
func (h *Holder) enlist(c *Child, t Thing, x *Object) (*Lookout, bool) {
	o := h.owner
	o.mu.Lock()
	if h.closed.Load() || o.Calls.Closed() {
		o.mu.Unlock()
		return nil, false
	}
	c.thing, c.holder = t, h
	c.prev, c.next = h.list.prev, &h.list
	c.prev.next, h.list.prev = c, c
	if x != nil {
		o.objects++
		if x.Allocated {
			o.usage.Allocations++
			o.usage.Held += x.Size
			o.usage.Peak = max(o.usage.Peak, o.usage.Held)
		}
	}
	w := o.spareLookout()
	o.mu.Unlock()
	if w == nil {
		w = newLookout()
	}
	w.at.object.Store(c)
	return w, true
}

// Retire takes an object that is closed off its handle's list, if it is there, and ends the detection of its leak.
func (o *Owner) Retire(c *Child, w *Lookout) {
	w.forget()
	o.mu.Lock()
	o.unlink(c)
	w = o.keepLookout(w)
	o.mu.Unlock()
	w.stop()
}

// unlink takes an object off its handle's list, if it is there; o.mu is held.
func (o *Owner) unlink(c *Child) {
	if c.next == nil {
		return
	}
	h := c.holder
	c.prev.next, c.next.prev = c.next, c.prev
	c.prev, c.next = nil, nil
	if h.empty() {
		o.closeAbandoned(h)
	}
}

// Usage returns the allocations that were counted.
func (o *Owner) Usage() Usage {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.usage
}

// Drain waits until every object has been given back to the vendor.
func (o *Owner) Drain() {
	o.mu.Lock()
	for o.objects > 0 {
		o.none.Wait()
	}
	o.mu.Unlock()
	o.Reaper.Drain()
}

// gave counts an object as given back; o.mu is held.
func (o *Owner) gave() {
	if o.objects--; o.objects == 0 {
		o.none.Broadcast()
	}
}
