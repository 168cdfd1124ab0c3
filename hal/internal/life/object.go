package life

import (
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
)

// Object is the part of a memory, a stream or a module that opens and closes it.
type Object struct {
	Handle
	Child
	MayBlock  bool   // giving it back may wait for work that does not use it
	Allocated bool   // Size counts in the owner's usage
	Size      uint64 // bytes, of memory
	Then      func() // of the program, called once when it has been given back; nil if there is none
	Left      *Latch // opened when it is closed and no call is under way; nil if nothing waits for that
}

// Vendored is a Thing behind which stands an object of the vendor's.
type Vendored interface {
	Thing

	// Pending returns nil if no work uses it, else a function that reports whether the work is over. It is called once, when it is closed
	// and no call is under way.
	Pending() (over func() bool)

	// GiveBack makes the vendor's call.
	GiveBack() error
}

// Admit puts an object that was just made on the handle's list, counts it, and watches for its leak. If the handle is closed, Admit gives
// the object back and reports false; the call that makes the object is under way, and the device waits for it and for the reaper.
func (h *Holder) Admit(x *Object, self Vendored) (*Lookout, bool) {
	w, ok := h.enlist(&x.Child, self, x)
	if !ok {
		h.owner.Free(x.MayBlock, func() { _ = self.GiveBack() })
	}
	return w, ok
}

// AdmitOwn is Admit for an object that belongs to the device itself and closes with it. No program can lose it.
func (o *Owner) AdmitOwn(x *Object, self Vendored) bool {
	x.Dependent = true
	w, ok := o.common.Admit(x, self)
	if ok {
		w.forget()
		w.stop()
	}
	return ok
}

// Free calls fn, which gives something back to the vendor, or has the reaper do it. mayBlock says that fn may wait for other work.
func (o *Owner) Free(mayBlock bool, fn func()) {
	switch {
	case !mayBlock:
		fn()
	case o.Frees.Begin():
		fn()
		o.Frees.End()
	default:
		o.Reaper.AddSlow(o.Frees.Begin, func() {
			fn()
			o.Frees.End()
		})
	}
}

// Close closes the object and does not wait. It is given back before Close returns if nothing uses it; otherwise by the last call under
// way, or by the reaper. The first call takes the lookout from w.
func (x *Object) Close(w **Lookout) error {
	defer runtime.KeepAlive(w) // a field of the handle, which has not leaked
	first, finish := x.Handle.Close()
	if !first {
		return nil
	}
	return x.closed(w, finish)
}

// CloseThen is Close for a caller between Enter and Leave. The first call adds a function to Then. CloseThen leaves.
func (x *Object) CloseThen(w **Lookout, then func()) error {
	first, _ := x.Handle.Close()
	if !first {
		x.Leave()
		return nil
	}
	if earlier := x.Then; earlier == nil {
		x.Then = then
	} else {
		x.Then = func() { earlier(); then() }
	}
	return x.closed(w, x.Handle.Leave())
}

func (x *Object) closed(at **Lookout, finish bool) error {
	w := *at
	*at = nil
	if !finish {
		x.holder.owner.Retire(&x.Child, w)
		if x.Left != nil {
			x.holder.owner.Reaper.Await(x.Left)
		}
		return nil
	}
	return x.finish(true, w)
}

// Leave ends a call.
func (x *Object) Leave() {
	if x.state.Add(-1) == closedBit { // Handle.Leave
		_ = x.finish(false, nil)
	}
}

// finish gives the object back now if no work uses it, or hands it to the reaper. closing says that the caller is Close.
func (x *Object) finish(closing bool, w *Lookout) error {
	if x.Left != nil {
		defer x.Left.Open()
	}
	pending := x.thing.(Vendored).Pending()
	if pending == nil && x.mayFree() {
		w.forget()
		return x.giveBack(closing, w)
	}
	if closing {
		x.holder.owner.Retire(&x.Child, w)
	}
	x.reap(pending)
	return nil
}

// reap hands the object to the reaper, which gives it back once pending, unless it is nil, has returned true.
func (x *Object) reap(pending func() bool) {
	x.holder.owner.Reaper.put(reaped{slow: x.MayBlock, ready: func() bool {
		if pending != nil && !pending() {
			return false
		}
		pending = nil
		return x.mayFree()
	}, finish: func() { _ = x.giveBack(false, nil) }})
}

// mayFree reports whether the object may be given back now. After true the caller must call giveBack.
func (x *Object) mayFree() bool { return !x.MayBlock || x.holder.owner.Frees.Begin() }

// giveBack makes the vendor's call, and keeps w, the unused lookout of the object, unless it is nil. closing says that the caller is
// Close: then the program's function is called here, else on a new goroutine, for which closing the device waits.
func (x *Object) giveBack(closing bool, w *Lookout) error {
	err := x.thing.(Vendored).GiveBack()
	o, then := x.holder.owner, x.Then
	if x.MayBlock {
		o.Frees.End()
	}
	x.Then = nil
	apart := then != nil && !closing
	o.mu.Lock()
	o.unlink(&x.Child)
	if x.Allocated {
		o.usage.Held -= x.Size
	}
	if !apart {
		o.gave() // before then, which may close the device
	}
	w = o.keepLookout(w)
	o.mu.Unlock()
	w.stop()
	switch {
	case apart:
		o.Reaper.Apart(func() {
			defer func() {
				o.mu.Lock()
				o.gave()
				o.mu.Unlock()
			}()
			then()
		})
	case then != nil:
		then()
	}
	return err
}

// Leaked implements Thing.
func (x *Object) Leaked() {
	first, finish := x.Handle.Close()
	if !first {
		return // closed with the device
	}
	o := x.holder.owner
	o.Report(x.thing.Describe())
	o.Retire(&x.Child, nil)
	if finish {
		o.Reaper.put(reaped{slow: x.MayBlock, ready: func() bool { return true }, finish: func() { _ = x.finish(false, nil) }})
	} else if x.Left != nil {
		o.Reaper.Await(x.Left)
	}
}

const closedBit = int64(1) << 62

// Handle counts the calls under way on an object and remembers that it was closed. When it is closed and the last call has left, the object
// must be finished, exactly once: an Object is then given back, or left to the Reaper.
type Handle struct{ state atomic.Int64 }

// Enter begins a call, or reports false if the handle is closed. A refused call is never counted, not even
// for a moment: otherwise the last Leave could see a count above zero, and nothing would finish the object.
func (h *Handle) Enter() bool {
	for {
		s := h.state.Load()
		if s&closedBit != 0 {
			return false
		}
		if h.state.CompareAndSwap(s, s+1) {
			return true
		}
	}
}

// Stay begins another call on behalf of a caller that is already inside, whether or not the handle
// has been closed meanwhile.
func (h *Handle) Stay() { h.state.Add(1) }

// Leave ends a call and reports whether the caller must finish the object. Once the handle
// is closed only calls inside can raise the count, so it reaches zero exactly once.
func (h *Handle) Leave() (finish bool) { return h.state.Add(-1) == closedBit }

// Close marks the handle closed. first is false if it was closed before; finish means
// the same as for Leave.
func (h *Handle) Close() (first, finish bool) {
	s := h.state.Or(closedBit)
	return s&closedBit == 0, s == 0
}

// Closed reports whether Close was called.
func (h *Handle) Closed() bool { return h.state.Load()&closedBit != 0 }

// Calls is a Handle whose last Leave after Close is waited for: its calls end before what they use goes.
type Calls struct {
	Handle
	left Latch
}

// Leave ends a call.
func (c *Calls) Leave() {
	if c.state.Add(-1) == closedBit { // Handle.Leave
		c.left.Open()
	}
}

// Shut refuses new calls and waits for those under way.
func (c *Calls) Shut() {
	if _, none := c.Close(); !none {
		c.left.Wait()
	}
}

// User is something whose work uses objects: a stream. It is a part of the stream, and its address identifies the stream.
type User struct {
	Gone atomic.Bool // closed, and its work has finished

	// Pending returns nil if no work is under way, else a function that reports whether the work enqueued so far has finished.
	Pending func() (over func() bool)
}

// Uses remembers which users have work on an object, so that the object is given back only after that work.
type Uses struct {
	last   atomic.Pointer[User] // the user that came last
	mu     sync.Mutex
	others map[*User]struct{} // those before it, except some that are gone
	many   int                // length of others at which those that are gone are removed
}

// usersFew is the least number of others at which Uses looks for users that are gone. It looks again when there are twice as many as were
// left, so there are never many more than those that are open or still have work, and a Note takes constant time on average.
const usersFew = 8

// Last returns the user that was noted last, nil if there is none.
func (u *Uses) Last() *User { return u.last.Load() }

// Note records that t has work on the object.
func (u *Uses) Note(t *User) {
	if u.last.Load() == t {
		return
	}
	u.mu.Lock()
	if before := u.last.Load(); before != nil {
		if _, known := u.others[before]; !known && !before.Gone.Load() {
			u.add(before)
		}
	}
	u.last.Store(t)
	u.mu.Unlock()
}

// add adds a user to the others; u.mu is held.
func (u *Uses) add(t *User) {
	if u.others == nil {
		u.others, u.many = map[*User]struct{}{}, usersFew
	}
	u.others[t] = struct{}{}
	if len(u.others) >= u.many {
		maps.DeleteFunc(u.others, func(x *User, _ struct{}) bool { return x.Gone.Load() })
		u.many = max(usersFew, 2*len(u.others))
	}
}

// Over forgets the users and returns a function that reports whether their work so far has finished, or nil if it has. No call
// of Note may be under way.
func (u *Uses) Over() func() bool {
	last := u.last.Load()
	if last == nil {
		return nil
	}
	var waits []func() bool
	if w := last.Pending(); w != nil {
		waits = append(waits, w)
	}
	delete(u.others, last)
	for t := range u.others {
		if w := t.Pending(); w != nil {
			waits = append(waits, w)
		}
	}
	u.others = nil
	u.last.Store(nil)
	if len(waits) == 0 {
		return nil
	}
	return func() bool {
		for len(waits) > 0 && waits[0]() {
			waits = waits[1:]
		}
		return len(waits) == 0
	}
}
