package buffer

import (
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// mapForHost makes the host's replica touchable for the host, where host and a device take
// turns, and where it is guarded. The work that this takes is a hazard of the replica, to be waited for like any other.
func (s *storage) mapForHost(write bool) error {
	h := &s.host
	if err := h.open(write); err != nil {
		return err
	}
	want := turnHostReads
	if write {
		want = turnHostWrites
	}
	if h.mapper == nil || h.mapped >= want {
		return nil
	}
	if h.mapped == turnDevice {
		// The device's turn lasts as long as its leases: what they are still to be used for would not be seen by the host.
		for i := range s.accesses.slots {
			if x := &s.accesses.slots[i]; x.open && x.stream != nil && x.place == coherence.Host && (write || x.action != coherence.Read) {
				return s.conflictError("map", coherence.ReadWrite, "host", 0, s.size, x)
			}
		}
	}
	stream, err := h.mapper.Device().CopyStream(false)
	if err != nil {
		return err
	}
	if err := h.hazards.order(stream, 0, s.size, write); err != nil {
		return err
	}
	if h.mapped == turnHostReads {
		// Mapping anew moves the memory: nobody else may be looking at it.
		for i := range s.accesses.slots {
			if x := &s.accesses.slots[i]; x.open && x.stream == nil && i+1 != s.self {
				return s.conflictError("map", coherence.ReadWrite, "host", 0, s.size, x)
			}
		}
		if err := stream.Unmap(h.mapper); err != nil {
			return err
		}
		h.mapped = turnDevice
	}
	err = stream.Map(h.mapper, write)
	if err == nil {
		h.mapped = want
		h.ptr = h.mapper.HostPointer()
	}
	s.record(&h.replica, stream, hazard{hi: s.size, write: true, turn: true})
	return err
}

// unmapForDevice gives the host's replica back to the device that takes turns with the host,
// before work on the stream. It fails with the access that is in the way.
func (s *storage) unmapForDevice(stream *hal.Stream, mem *hal.Memory, write bool) (busy *access, err error) {
	h := &s.host
	if h.mapper == nil || h.mapper != mem || h.mapped == turnDevice || h.mapped == turnHostReads && !write {
		return nil, nil
	}
	for i := range s.accesses.slots {
		if x := &s.accesses.slots[i]; x.open && x.stream == nil {
			return x, nil
		}
	}
	if err := h.hazards.order(stream, 0, s.size, true); err != nil {
		return nil, err
	}
	if err := stream.Unmap(h.mapper); err != nil {
		return nil, err
	}
	h.mapped = turnDevice
	s.record(&h.replica, stream, hazard{hi: s.size, write: true, turn: true})
	return nil, nil
}

// yield makes it the device's turn for good, where host and device take turns: the program may go on to write there
// without a lease.
func (s *storage) yield(op string, stream *hal.Stream, lo, hi uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host.mapper == nil || !s.host.mapper.Device().Same(stream.Device()) {
		return nil
	}
	busy, err := s.unmapForDevice(stream, s.host.mapper, true)
	if err == nil && busy != nil {
		err = s.conflictError(op, coherence.Modified, stream.Device().Name(), lo, hi, busy)
	}
	return err
}
