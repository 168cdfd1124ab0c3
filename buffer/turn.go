package buffer

import (
	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// turn says how the host may access memory that must be mapped.
//
// The host maps the memory for writing even if it only reads, so that a second host access, which writes, need not map the memory again
// while the first uses it. While a device reads, the host maps for reading, because then the device may go on
// reading. A hand-over affects the whole memory: it waits for all work on the memory, and all later work waits for it.
type turn uint8

const (
	turnDevice turn = iota
	turnHostReads
	turnHostWrites
)

// turns says whether host or device may use the host's replica, if they cannot use it at the same time. storage.mu is held.
type turns struct {
	owner  *storage
	mapper *hal.Memory // the host's replica as memory that must be mapped; nil if the replica is used without turns
	mapped turn        // how the host may access it
}

// begin makes m the host's replica, which host and device use in turn.
func (ts *turns) begin(m *hal.Memory) {
	s := ts.owner
	ts.mapper, ts.mapped = m, turnDevice
	s.accesses.startTurns(ts.sideOf)
}

// sideOf returns the side of an access if host and device use the memory in turn, else neither.
func (ts *turns) sideOf(x *access) side {
	switch m := ts.mapper; {
	case m == nil:
		return neither
	case x.stream == nil:
		return hostSide
	case m.Device().Same(x.stream.Device()):
		return deviceSide
	}
	return neither
}

// toHost makes the host's replica accessible to the host, if it is guarded or if host and device use it in turn.
// self is the host's access that needs the replica, or nil. If there is an obstacle, toHost did nothing.
func (ts *turns) toHost(self *access, write bool) (o obstacle, err error) {
	s := ts.owner
	h := &s.host
	if err := h.permit(write); err != nil {
		return o, err
	}
	want := turnHostReads
	if write {
		want = turnHostWrites
	}
	if ts.mapper == nil {
		return o, nil
	}
	op := "Evict"
	if self != nil {
		op = self.op
	}
	if err := ts.failed(op); err != nil || ts.mapped >= want {
		return o, err
	}
	device := s.accesses.find(func(x *access) bool {
		return x.inside && x.place == protocol.Host && x.stream != nil && (write || x.writes)
	})
	if device != nil {
		return obstacle{busy: device}, nil
	}
	if !write && !ts.deviceReads() {
		want = turnHostWrites
	}
	stream, err := ts.mapper.Device().CopyStream(false)
	if err != nil {
		return o, err
	}
	if ts.mapped == turnHostReads {
		// Mapping again may move the memory, so no other access of the host may use it now.
		looking := s.accesses.find(func(x *access) bool { return x != self && x.inside && x.place == protocol.Host && x.stream == nil })
		if looking != nil {
			return obstacle{busy: looking}, nil
		}
	}
	if o.left, err = ts.behindAll(stream, want == turnHostWrites); err != nil || !o.none() {
		return o, err
	}
	if ts.mapped == turnHostReads {
		if err := stream.Unmap(ts.mapper); err != nil {
			return o, err
		}
		ts.mapped = turnDevice
	}
	err = stream.Map(ts.mapper, want == turnHostWrites)
	if err == nil {
		ts.mapped = want
		h.ptr = ts.mapper.HostPointer()
	}
	h.order.SetBarrier(order.NewWork(stream))
	return o, err
}

// toDevice gives the host's replica back to the device that uses it in turn with the host, before work on the stream. If there is an obstacle,
// toDevice did nothing.
func (ts *turns) toDevice(stream *hal.Stream, mem *hal.Memory, write bool) (o obstacle, err error) {
	s := ts.owner
	h := &s.host
	if ts.mapper == nil || ts.mapper != mem || ts.mapped == turnDevice || ts.mapped == turnHostReads && !write {
		return o, nil
	}
	if x := s.accesses.find(func(x *access) bool { return x.inside && x.place == protocol.Host && x.stream == nil }); x != nil {
		return obstacle{busy: x}, nil
	}
	if stream == nil {
		if stream, err = mem.Device().CopyStream(false); err != nil {
			return o, err
		}
	}
	if o.left, err = ts.behindAll(stream, true); err != nil || !o.none() {
		return o, err
	}
	if err := stream.Unmap(ts.mapper); err != nil {
		return o, err
	}
	wrote := ts.mapped == turnHostWrites
	ts.mapped = turnDevice
	if !wrote {
		h.order.SetBarrier(order.NewWork(stream))
		return o, nil
	}
	h.order.Moved(stream, s.size) // it keeps failures: the access that needs the device's turn may have planned already, and would not learn of them
	return o, nil
}

// giveUp gives memory that the host has mapped back to its device, before the host's replica is dropped. If the host has to wait for work first,
// giveUp only returns that work, with a reference to each.
func (ts *turns) giveUp() (left []*order.Work, err error) {
	if ts.mapper == nil || ts.mapped == turnDevice {
		return nil, nil
	}
	stream, err := ts.mapper.Device().CopyStream(false)
	if err != nil {
		return nil, nil // the device is lost, and closing the memory tells
	}
	o, err := ts.toDevice(stream, ts.mapper, true)
	return o.left, err
}

// deviceReads reports whether the device may read the memory now, under a lease or in unfinished work.
func (ts *turns) deviceReads() (reads bool) {
	s := ts.owner
	if s.accesses.find(func(x *access) bool { return x.inside && x.place == protocol.Host && x.stream != nil }) != nil {
		return true
	}
	s.host.order.Works(func(w *order.Work, writes bool) {
		if !writes && !reads {
			done, _ := w.End()
			reads = !done
		}
	})
	return reads
}

// behindAll makes the stream wait for all writes on the host's replica and, if reads is set, for all reads. If the stream's device cannot delay it, behindAll
// only returns the work for which the host has to wait, with a reference to each.
func (ts *turns) behindAll(stream *hal.Stream, reads bool) (left []*order.Work, err error) {
	s := ts.owner
	waits := s.copier.waits[:0]
	s.host.order.Works(func(w *order.Work, writes bool) {
		if writes || reads {
			waits = append(waits, wait{w, stream})
		}
	})
	return s.copier.lineUp(waits)
}

// sideOfCopy returns the side that accesses the host's memory in a transfer, or neither.
func (ts *turns) sideOfCopy(t protocol.Transfer) side {
	s := ts.owner
	switch {
	case t.To == protocol.Host && (t.From == protocol.NoPlace || s.places.replica(t.From).former != nil):
		return deviceSide
	case t.To == protocol.Host || t.From == protocol.Host:
		return hostSide
	}
	return neither
}

// one returns the transfers of a plan that can be enqueued in one turn, and whether these are all. If not, the caller plans again
// afterwards.
func (ts *turns) one(plan []protocol.Transfer) (now []protocol.Transfer, all bool) {
	if ts.mapper == nil {
		return plan, true
	}
	now = plan[:0]
	first := neither
	for _, t := range plan {
		side := ts.sideOfCopy(t)
		if first == neither {
			first = side
		}
		if side == neither || side == first {
			now = append(now, t)
		}
	}
	return now, len(now) == len(plan)
}

// handOver gives the host's replica to the side that needs it for the copies of a plan. stream is that of the access, or nil.
func (ts *turns) handOver(self *access, plan []protocol.Transfer, stream *hal.Stream, mem *hal.Memory) (o obstacle, err error) {
	s := ts.owner
	for i, t := range plan {
		if i > 0 && t.Move == plan[i-1].Move {
			continue
		}
		switch ts.sideOfCopy(t) {
		case hostSide:
			o, err = ts.toHost(self, t.To == protocol.Host)
		case deviceSide:
			if t.From != protocol.NoPlace {
				stream, mem = nil, s.host.home
			}
			o, err = ts.toDevice(stream, mem, true)
		}
		if err != nil || !o.none() {
			return o, err
		}
	}
	return o, nil
}

// makeOf makes the latest hand-over a cause of w, which uses the memory that the host has mapped. If it failed, that memory has wrong bytes.
func (ts *turns) makeOf(w *order.Work) {
	if ts.mapper == nil {
		return
	}
	if b := ts.owner.host.order.Barrier(); b != nil {
		w.MadeOf(b.Retain())
	}
}

// failed returns the error of a failed hand-over, or nil; the next access of the host tries again. All work that the hand-over waited for
// has ended. Unmapping after a failed mapping for writing may overwrite the device's bytes with wrong ones, so the bytes count as bad.
func (ts *turns) failed(op string) error {
	s := ts.owner
	h := &s.host
	b := h.order.Barrier()
	if b == nil {
		return nil
	}
	done, err := b.End()
	if !done {
		return nil
	}
	h.order.SetBarrier(nil)
	if err == nil || ts.mapper == nil {
		return nil
	}
	if ts.mapped != turnDevice {
		if stream, e := ts.mapper.Device().CopyStream(false); e == nil && stream.Unmap(ts.mapper) == nil {
			h.order.SetBarrier(order.NewWork(stream))
		}
		if ts.mapped == turnHostWrites {
			h.replica.spoil(0, s.size, order.Own, err)
		}
	}
	ts.mapped = turnDevice
	return underWay(op, err)
}
