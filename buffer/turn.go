package buffer

import (
	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/span"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// turn says what the host may do with memory that must be mapped.
//
// The host maps the memory for writing even if it only reads, so that a second host access, which writes, need not map the memory again
// while the first uses it. Only while a device reads does the host map for reading, because then the device may go on
// reading. A hand-over concerns the whole memory: it waits for all work on the memory, and all later work waits for it.
type turn uint8

const (
	turnDevice turn = iota
	turnHostReads
	turnHostWrites
)

// takeTurns makes the host's replica memory that host and device take turns with.
func (s *storage) takeTurns(m *hal.Memory) {
	s.host.mapper, s.host.mapped = m, turnDevice
	s.accesses.startTurns(s.sideOf)
}

// sideOf tells on which side an access is, where host and device take turns.
func (s *storage) sideOf(x *access) side {
	switch m := s.host.mapper; {
	case m == nil:
		return neither
	case x.stream == nil:
		return hostSide
	case m.Device().Same(x.stream.Device()):
		return deviceSide
	}
	return neither
}

// mapForHost makes the host's replica accessible to the host, where host and a device take
// turns, and where it is guarded. self is the host's access that needs it, or nil. busy is an access that has to end first.
func (s *storage) mapForHost(self *access, write bool) (busy *access, err error) {
	h := &s.host
	if err := h.permit(write); err != nil {
		return nil, err
	}
	want := turnHostReads
	if write {
		want = turnHostWrites
	}
	if h.mapper == nil || h.mapped >= want {
		return nil, nil
	}
	device := s.accesses.find(func(x *access) bool {
		return x.inside && x.place == protocol.Host && x.stream != nil && (write || x.writes)
	})
	if device != nil {
		return device, nil
	}
	if !write && !s.deviceReads() {
		want = turnHostWrites
	}
	stream, err := h.mapper.Device().CopyStream(false)
	if err != nil {
		return nil, err
	}
	if h.mapped == turnHostReads {
		// Mapping anew may move the memory: nobody else may be looking at it.
		looking := s.accesses.find(func(x *access) bool { return x != self && x.inside && x.place == protocol.Host && x.stream == nil })
		if looking != nil {
			return looking, nil
		}
	}
	if err := s.behindAll(stream, want == turnHostWrites); err != nil {
		return nil, err
	}
	if h.mapped == turnHostReads {
		if err := stream.Unmap(h.mapper); err != nil {
			return nil, err
		}
		h.mapped = turnDevice
	}
	err = stream.Map(h.mapper, want == turnHostWrites)
	if err == nil {
		h.mapped = want
		h.ptr = h.mapper.HostPointer()
	}
	h.order.SetBarrier(order.NewWork(stream))
	return nil, err
}

// unmapForDevice gives the host's replica back to the device that takes turns with the host, before work on the stream. busy is an access
// that has to end first.
func (s *storage) unmapForDevice(stream *hal.Stream, mem *hal.Memory, write bool) (busy *access, err error) {
	h := &s.host
	if h.mapper == nil || h.mapper != mem || h.mapped == turnDevice || h.mapped == turnHostReads && !write {
		return nil, nil
	}
	if x := s.accesses.find(func(x *access) bool { return x.inside && x.place == protocol.Host && x.stream == nil }); x != nil {
		return x, nil
	}
	if stream == nil {
		if stream, err = mem.Device().CopyStream(false); err != nil {
			return nil, err
		}
	}
	if err := s.behindAll(stream, true); err != nil {
		return nil, err
	}
	if err := stream.Unmap(h.mapper); err != nil {
		return nil, err
	}
	wrote := h.mapped == turnHostWrites
	h.mapped = turnDevice
	w := order.NewWork(stream)
	if !wrote {
		h.order.SetBarrier(w)
		return nil, nil
	}
	// It brings what the host wrote to the device, and so is a write: if it fails the bytes are bad.
	_ = h.replica.learn("", nil, 0, s.size, false)
	all := span.Range{Hi: s.size}
	h.order.MakeOf(w, all)
	h.order.Add(w, true, order.Copied, all)
	h.order.SetBarrier(nil)
	w.Release()
	return nil, nil
}

// deviceReads reports whether the device reads the memory, under a lease or in work under way.
func (s *storage) deviceReads() (reads bool) {
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

// behindAll makes the stream wait for all work on the host's replica, or for all that writes.
func (s *storage) behindAll(stream *hal.Stream, reads bool) (err error) {
	s.host.order.Works(func(w *order.Work, writes bool) {
		if err == nil && (writes || reads) {
			err = w.Before(stream)
		}
	})
	return err
}

// sideOfCopy tells on which side of the host's memory a transfer touches it.
func (s *storage) sideOfCopy(t protocol.Transfer) side {
	switch {
	case t.To == protocol.Host && (t.From == protocol.NoPlace || s.replica(t.From).former != nil):
		return deviceSide
	case t.To == protocol.Host || t.From == protocol.Host:
		return hostSide
	}
	return neither
}

// oneTurn returns the transfers of a plan that can be enqueued in one turn, and whether these are all. If not, the caller plans again
// afterwards.
func (s *storage) oneTurn(plan []protocol.Transfer) (now []protocol.Transfer, all bool) {
	if s.host.mapper == nil {
		return plan, true
	}
	now = plan[:0]
	first := neither
	for _, t := range plan {
		side := s.sideOfCopy(t)
		if first == neither {
			first = side
		}
		if side == neither || side == first {
			now = append(now, t)
		}
	}
	return now, len(now) == len(plan)
}

// handOver gives the host's replica to the side that the copies of a plan need it on. stream is that of the access, or nil. busy is an
// access that has to end first.
func (s *storage) handOver(self *access, plan []protocol.Transfer, stream *hal.Stream, mem *hal.Memory) (busy *access, err error) {
	for i, t := range plan {
		if i > 0 && t.Move == plan[i-1].Move {
			continue
		}
		switch s.sideOfCopy(t) {
		case hostSide:
			busy, err = s.mapForHost(self, t.To == protocol.Host)
		case deviceSide:
			if t.From != protocol.NoPlace {
				stream, mem = nil, s.host.home
			}
			busy, err = s.unmapForDevice(stream, mem, true)
		}
		if busy != nil || err != nil {
			return busy, err
		}
	}
	return nil, nil
}

// handedOver returns the error of a hand-over that failed; the next access of the host tries again. All work that the hand-over waited for
// has ended. Unmapping after a failed mapping for writing may overwrite the device's bytes with others, so the bytes count as bad.
func (s *storage) handedOver(op string) error {
	h := &s.host
	b := h.order.Barrier()
	if b == nil {
		return nil
	}
	_, err := b.End()
	h.order.SetBarrier(nil)
	if err == nil || h.mapper == nil {
		return nil
	}
	if h.mapped != turnDevice {
		if stream, e := h.mapper.Device().CopyStream(false); e == nil && stream.Unmap(h.mapper) == nil {
			h.order.SetBarrier(order.NewWork(stream))
		}
		if h.mapped == turnHostWrites {
			h.replica.spoil(0, s.size, order.Own, err)
		}
	}
	h.mapped = turnDevice
	return underWay(op, err)
}
