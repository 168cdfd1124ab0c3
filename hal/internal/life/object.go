package life

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
