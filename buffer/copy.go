package buffer

import (
	"context"
	"runtime/trace"
	"time"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/span"
)

// This file carries out the plans of package protocol, for accesses (path.go) and for evictions (evict.go), and finds out which work has
// failed, so that no plan copies its bytes.

// move enqueues the copies of a plan after the work that they depend on. stream is that of the access, or nil, and mem is the host's
// replica as memory of its device. A stream cannot be made to wait if its device cannot delay it, or reads the host's memory during the
// call that enqueues a copy. If there is such a stream, nothing is enqueued, and left is the work for which the host has to wait, with a
// reference to each. again says that some copies took a detour: the caller waits for the bytes at the host, and plans again.
func (s *storage) move(plan []protocol.Transfer, stream *hal.Stream, mem *hal.Memory, c cause) (left []*order.Work, again bool, err error) {
	list, waits := s.scratch.transfers[:0], s.scratch.waits[:0]
	for i, planned := range plan {
		var t transfer
		if i > 0 && planned.Move == plan[i-1].Move {
			t = list[i-1]
			t.Lo, t.Hi = planned.Lo, planned.Hi
		} else if t, err = s.route(planned, stream); err != nil {
			return nil, false, err
		}
		again = again || t.detour
		list = append(list, t)
		waits = t.dst.order.Waits(t.into, t.Lo, t.Hi, true, waits)
		switch {
		case t.src == nil:
		case t.ordered:
			waits = t.src.order.Waits(t.from, t.Lo, t.Hi, false, waits)
		default: // the driver may read the host's memory during the call
			waits = t.src.order.Waits(nil, t.Lo, t.Hi, false, waits)
		}
	}
	s.scratch.transfers, s.scratch.waits = list[:0], waits[:0]
	if again {
		err = s.hostReady(c)
	}
	if err == nil && len(waits) > 0 {
		left, err = order.MakeWait(waits, s.scratch.left)
	}
	for i := 0; i < len(list) && err == nil && len(left) == 0; i++ {
		err = s.copy(&list[i], mem, c)
	}
	clear(list)
	if s.guarded {
		s.tighten()
	}
	return left, again, err
}

// shareHost returns the host's replica as memory of a device that shares host memory, or nil if the device cannot work on the replica in
// place; then it has a replica of its own. The kind of the host's memory is chosen at the first access: memory of this device if this is
// the first. If the replica is on Go's heap and the device can use only memory that it allocated, the replica moves there. That
// happens at most once, when all work on the replica has ended: until then the error is an unready. A replica that an access of the host
// is using does not move.
func (s *storage) shareHost(dev *hal.Device, c cause) (*hal.Memory, error) {
	h := &s.host
	if m := h.On(dev); m != nil {
		return m, nil
	}
	if s.guarded && s.homeOn == nil && !h.adopted || s.size == 0 {
		return nil, nil
	}
	if h.Bytes == nil {
		if s.homeOn == nil || s.homeOn.Same(dev) {
			if h.AllocateOn(dev, s.hostAllocator(dev)) != nil {
				return nil, nil
			}
			s.hostAllocated(c)
			return h.Home(), nil
		}
		if s.hostReady(c) != nil {
			return nil, nil
		}
	}
	if m := h.Share(dev); m != nil {
		return m, nil
	}
	if !h.CanMove() || s.onHost() {
		return nil, nil
	}
	var left []*order.Work
	h.order.Works(func(w *order.Work, _ bool) {
		if done, _ := w.Ended(); !done {
			left = append(left, w.Retain())
		}
	})
	if len(left) > 0 {
		return nil, &unready{left}
	}
	_ = s.learn(nil, nil, 0, s.size)
	m := h.Move(dev, func(move func(lo, hi uint64)) {
		s.m.Runs(0, s.size, func(lo, hi uint64, valid protocol.Set) bool {
			if valid.Has(protocol.Host) {
				move(lo, hi)
				s.stats.BytesRelocated += hi - lo
			}
			return true
		})
	})
	if m != nil {
		h.order.Clear()
	}
	return m, nil
}

// route finds the streams of a transfer. A copy to a device runs on the access's stream if it is a stream of that device; a copy to the
// host runs on a stream of its source.
//
// A copy between devices that cannot access each other's memory takes a detour, to the host, if a call of the driver would block, because
// the stream of one device cannot wait for the stream of the other.
func (s *storage) route(planned protocol.Transfer, stream *hal.Stream) (t transfer, err error) {
	t = transfer{Transfer: planned, dst: s.at[planned.To], ordered: true}
	if t.From != protocol.NoPlace {
		t.src = s.at[t.From]
	}
	to := t.dst.dev
	switch {
	case to == nil && t.src == nil:
		t.into = stream // of a device that shares the host's replica
	case to == nil:
		t.into, err = t.src.dev.CopyStream(true)
	case stream != nil && stream.Device().Same(to):
		t.into = stream
	default:
		t.into, err = to.CopyStream(false)
	}
	t.from = t.into
	switch {
	case err != nil || t.src == nil || to == nil:
		return t, err
	case t.src.dev == nil:
		t.ordered = s.host.PageLock(t.into, t.Hi-t.Lo)
		return t, nil
	case to.CanAccessPeer(t.src.dev):
		return t, nil
	}
	if t.from, err = t.src.dev.CopyStream(true); err == nil && (blocks(t.into, t.from) || blocks(t.from, t.into)) {
		t.To, t.dst, t.into, t.detour = protocol.Host, &s.host.replica, t.from, true
	}
	return t, err
}

// blocks reports whether the call that makes stream wait for other would itself block.
func blocks(stream, other *hal.Stream) bool {
	if stream.Device().Caps()&hal.CapGate != 0 {
		return false
	}
	e, err := layer.RecordShared(other)
	if err != nil {
		return true
	}
	defer e.Close()
	return !layer.CanDefer(stream, e)
}

// copy enqueues one transfer and applies it to the state. It adds a Work to the Orders of source and destination, also after an error:
// later accesses wait for that Work, and ask it whether the copy has failed. Each copy has an event of its own, because an event of OpenCL
// reports the failure of one command only.
func (s *storage) copy(t *transfer, mem *hal.Memory, c cause) (err error) {
	var begin time.Time
	var reached *arrival
	if observing.Load() {
		begin, reached = time.Now(), arrive(t.into)
	}
	if trace.IsEnabled() {
		err = s.enqueueTraced(t, mem, c)
	} else {
		err = s.enqueue(t, mem)
	}
	if err == nil {
		err = s.m.Apply(t.Transfer)
	}
	if err == nil {
		s.countTransfer(t.Transfer, t.into, c, begin, reached)
		if t.src != nil && t.src.dev != nil {
			t.src.updateSole()
		}
	}
	w, bytes := order.NewWork(t.into), span.Range{Lo: t.Lo, Hi: t.Hi}
	if t.src != nil {
		t.src.order.SetSources(w, bytes)
		if t.from == t.into {
			t.src.order.Add(w, false, false, bytes)
		} else {
			read := order.NewWork(t.from)
			t.src.order.Add(read, false, false, bytes)
			w.AddSource(read)
		}
	}
	t.dst.order.Add(w, true, false, bytes)
	w.Release()
	return err
}

// enqueue enqueues one copy or fill. mem is the host's replica as memory of the access's device.
func (s *storage) enqueue(t *transfer, mem *hal.Memory) error {
	switch {
	case t.src == nil:
		return t.into.Fill(t.dst.region(mem, t.Lo, t.Hi), hal.Zero)
	case t.dst.dev != nil && t.src.dev != nil && t.from == t.into:
		return t.into.Copy(t.dst.region(nil, t.Lo, t.Hi), t.src.region(nil, t.Lo, t.Hi))
	case t.dst.dev != nil && t.src.dev != nil:
		return hal.CopyPeer(t.into, t.dst.region(nil, t.Lo, t.Hi), t.from, t.src.region(nil, t.Lo, t.Hi))
	}
	out := t.dst.dev == nil
	if s.guarded {
		if err := s.host.Permit(out); err != nil {
			return err
		}
	}
	bytes := s.host.Bytes[t.Lo:t.Hi]
	if !out {
		return t.into.CopyIn(t.dst.region(nil, t.Lo, t.Hi), bytes)
	}
	s.host.Clean = false
	s.host.PageLock(t.into, t.Hi-t.Lo)
	return t.into.CopyOut(bytes, t.src.region(nil, t.Lo, t.Hi))
}

// region returns the range [lo, hi) of a replica. For the host's it is in mem, which is the replica as memory of the device that uses the
// range.
func (r *replica) region(mem *hal.Memory, lo, hi uint64) hal.Region {
	if r.place == protocol.Host {
		return r.storage.host.RegionOn(mem, lo, hi)
	}
	return hal.Region{Mem: r.Mem, Off: r.Base + lo, Len: hi - lo}
}

// enqueueTraced is enqueue for the execution tracer of package runtime/trace: a task from here to the end of the
// transfer, and a region for the call that enqueues it.
func (s *storage) enqueueTraced(t *transfer, mem *hal.Memory, c cause) error {
	name, from := "halyard: copy", ""
	if t.src == nil {
		name = "halyard: fill"
	} else {
		from = s.placeName(t.From, nil) + " to "
	}
	ctx, task := trace.NewTask(context.Background(), name)
	trace.Logf(ctx, "halyard", "buffer %d [%d, %d) %s%s because of %s for %v", s.id, t.Lo, t.Hi, from, s.placeName(t.To, nil), c.op,
		c.action)
	region := trace.StartRegion(ctx, name)
	err := s.enqueue(t, mem)
	region.End()
	if err != nil || t.into.OnDone(task.End) != nil {
		task.End()
	}
	return err
}

// countTransfer counts a transfer that was applied to the state, and reports it to observers.
func (s *storage) countTransfer(t protocol.Transfer, stream *hal.Stream, c cause, begin time.Time, reached *arrival) {
	n := t.Hi - t.Lo
	if t.From == protocol.NoPlace {
		s.stats.Fills++
		s.stats.BytesFilled += n
		totals.fills.Add(1)
		totals.bytesFilled.Add(n)
	} else {
		s.stats.Copies++
		s.stats.BytesCopied += n
		totals.copies.Add(1)
		totals.bytesCopied.Add(n)
	}
	if observing.Load() {
		s.noteTransfer(t, stream, c, begin, reached)
	}
}

// A failure is found by asking. Before an access reads bytes, learn asks the Works that wrote them whether they have failed. What a
// failed Work wrote is bad at its place: all of it, also outside the range of the access. Bytes that are current at another place are
// copied again from there. The others are lost until they are written again or reset, and every access that reads them fails.

// lose records that a range is lost. An earlier reason counts no more.
func (s *storage) lose(lo, hi uint64, err error) {
	s.notLost(lo, hi)
	s.lost.Insert(&span.Node[error]{Lo: lo, Hi: hi, Value: err})
}

// notLost removes [lo, hi), which is written again, from the losses.
func (s *storage) notLost(lo, hi uint64) {
	for _, n := range s.lost.Meeting(lo, hi, nil) {
		end, err := n.Hi, n.Value
		switch {
		case n.Lo < lo:
			s.lost.Cut(n, n.Lo, lo)
			if hi < end {
				s.lost.Insert(&span.Node[error]{Lo: hi, Hi: end, Value: err})
			}
		case hi < end:
			s.lost.Cut(n, hi, end)
		default:
			s.lost.Delete(n)
		}
	}
}

// failedError is the error of an access of [lo, hi) after learn has returned err, or nil: bytes of the range are lost, or err, if it is not
// nil, says why bytes of it have to be copied again. x is the access, or nil.
func (s *storage) failedError(x *access, op string, lo, hi uint64, err error) error {
	if err != nil {
		s.learnDoomed(x, lo, hi)
	}
	if n := s.lost.Any(lo, hi); n != nil {
		return &hal.Error{Op: op, Device: -1, Kind: hal.ErrDeviceLost, Err: n.Value,
			Detail: "the last write failed and no other place has the bytes; overwrite or reset them"}
	}
	if err == nil {
		return nil
	}
	kind := hal.ErrDriver
	if e, ok := err.(*hal.Error); ok {
		kind = e.Kind
	}
	return &hal.Error{Op: op, Device: -1, Kind: kind, Err: err, Detail: "earlier work failed"}
}

// learn finds out whether work that wrote bytes of [lo, hi) has failed, at one place or, if at is nil, at any, and applies failures to the
// state. It returns the error of such work if bytes of the range were current there. It does not wait. self is the access that asks, or
// nil. It does not ask the program's own work on its own stream: a later event of the stream reports the same failure.
//
// Bytes that another open access writes are left out: when it ends, its own Work takes the place of the failed one, and fails if it reads
// the bad bytes.
func (s *storage) learn(self *access, at *replica, lo, hi uint64) (failed error) {
	var stream *hal.Stream
	if self != nil {
		stream = self.stream
	}
	for _, r := range s.at {
		if at != nil && r != at {
			continue
		}
		for _, f := range r.order.Failed(stream, lo, hi, at != nil) {
			for _, u := range s.unwritten(self, r.place, f.Lo, f.Hi) {
				for _, bad := range r.taint(u.Lo, u.Hi, f.Err) {
					if failed == nil && bad.Lo < hi && lo < bad.Hi {
						failed = f.Err
					}
				}
				r.order.Forget(u.Lo, u.Hi, true, false)
			}
		}
		// No copy can be made from a device that is lost, although the work that wrote the bytes may have ended well.
		if at == nil && r.dev != nil {
			if err := layer.Lost(r.dev); err != nil {
				r.taint(lo, hi, err)
			}
		}
	}
	return failed
}

// learnDoomed finds copies of bad bytes that are still under way: what they write is bad as well, so it does not count as current there.
// Their Works stay in the Orders, because later accesses wait for them.
func (s *storage) learnDoomed(self *access, lo, hi uint64) {
	for _, r := range s.at {
		for _, f := range r.order.Doomed(lo, hi) {
			for _, u := range s.unwritten(self, r.place, f.Lo, f.Hi) {
				r.taint(u.Lo, u.Hi, f.Err)
			}
		}
	}
}

// unwritten returns the ranges of [lo, hi) that no open access other than x writes at a place.
func (s *storage) unwritten(x *access, p protocol.Place, lo, hi uint64) (list []span.Range) {
	s.queue.Writers(lo, hi, func(o *access, from, to uint64) bool {
		if o == x || o.replica == nil || o.place != p {
			return true
		}
		if lo < from {
			list = append(list, span.Range{Lo: lo, Hi: from})
		}
		lo = max(lo, to)
		return true
	})
	if lo < hi {
		list = append(list, span.Range{Lo: lo, Hi: hi})
	}
	return list
}

// taint makes bytes of a replica stale because they are bad, and returns the ranges that were current.
func (r *replica) taint(lo, hi uint64, err error) (bad []span.Range) {
	s := r.storage
	var valid []protocol.Set
	s.m.Runs(lo, hi, func(lo, hi uint64, at protocol.Set) bool {
		if at.Has(r.place) {
			bad, valid = append(bad, span.Range{Lo: lo, Hi: hi}), append(valid, at)
		}
		return true
	})
	for i, b := range bad {
		s.m.Invalidate(r.place, b.Lo, b.Hi)
		s.taintReaders(r.place, b.Lo, b.Hi, err)
		switch rest := valid[i].Without(r.place); {
		case rest != 0:
			s.stayIfLast(rest)
		case s.version > 0: // else nothing was ever written, and the bytes are zeros again
			s.lose(b.Lo, b.Hi, err)
		}
	}
	if len(bad) > 0 {
		s.updateSoles()
	}
	return bad
}

// taintReaders tells the open accesses that read bytes of [lo, hi) at a place that these are bad. The Work that wrote them is then no
// longer in the place's Order, so the work of these accesses would not find it among its sources.
func (s *storage) taintReaders(p protocol.Place, lo, hi uint64, err error) {
	s.queue.Readers(lo, hi, func(o *access, _, _ uint64) bool {
		if o.ready && o.place == p && o.bad == nil {
			o.bad = err
		}
		return true
	})
}

// stayIfLast makes one of the replicas at the places in valid stay if all of them are leaving: only they have current copies of some bytes.
func (s *storage) stayIfLast(valid protocol.Set) {
	if s.leaving == 0 {
		return
	}
	for p := range valid.All() {
		if !s.at[p].Leaving() {
			return
		}
	}
	s.at[valid.First()].stay()
}
