package buffer

import (
	"errors"

	"github.com/go-halyard/halyard/buffer/internal/hostmem"
	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/resident"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/protocol"
)

// allocate allocates the memory of a device's replica. The error is a resident.Pressure if there is no room.
func (r *replica) allocate(stream *hal.Stream, c cause) (err error) {
	s := r.storage
	if r.Memory, err = r.Allocate(s.allocatorOn(r.dev), r.dev, stream); err != nil {
		return err
	}
	if r.Block.Valid() && r.Block.Ordered() {
		r.order.SetBarrier(order.NewWork(stream)) // work of earlier users of the memory
	}
	_ = s.m.Allocate(r.place)
	s.noteReplica(ActivityAlloc, r.dev, c)
	return nil
}

// free frees the memory of a replica when the work that uses it has finished.
func (r *replica) free(c cause) error {
	if r.Leaving() {
		r.storage.leaving--
	}
	if !r.adopted {
		r.Uncount()
	}
	r.endParting()
	r.storage.forgetRecent(r)
	r.storage.noteReplica(ActivityFree, r.dev, c)
	m := r.Memory
	r.Memory = resident.Memory{}
	return m.Free(&r.order)
}

// fewPlaces is the number of devices up to which every device that has used the buffer keeps its place, so that State lists all of them.
const fewPlaces = 8

// addReplica returns a new replica of a device, without memory, at a place of its own: at a new place, or, if there are many places, at
// that of a replica without memory.
func (s *storage) addReplica(dev *hal.Device) (*replica, error) {
	if len(s.at) > fewPlaces {
		for _, r := range s.at[1:] {
			if r.Mem == nil {
				s.at[r.place] = s.newReplica(dev, r.place)
				return s.at[r.place], nil
			}
		}
	}
	if len(s.at) >= protocol.MaxPlaces {
		return nil, hal.Errorf("use a device", hal.ErrUnsupported, "a buffer can have %d places for replicas, and all are in use",
			protocol.MaxPlaces)
	}
	r := s.newReplica(dev, protocol.Place(len(s.at)))
	s.at = append(s.at, r)
	return r, nil
}

func (s *storage) newReplica(dev *hal.Device, p protocol.Place) *replica {
	r := &replica{storage: s, place: p, dev: dev}
	r.Init(dev, r, s.size)
	return r
}

// cost ranks copies by their source and destination; the lowest is best. The sources of a copy to a device are: a device whose memory the
// destination can access (1), the host (2), another device if no call has to wait for the copy (3), the host if work on its replica has to
// end first (4), any other device (5). Copies to the host all cost 1. It also ranks the places to which evicted bytes are copied.
func (s *storage) cost(from, to protocol.Place) int {
	h, dst := &s.host, s.at[to].dev
	switch {
	case dst == nil:
		return 1
	case s.at[from].dev != nil:
		src := s.at[from].dev
		if dst.CanAccessPeer(src) {
			return 1
		}
		if !dst.Caps().Has(hal.CapGate) || !src.Caps().Has(hal.CapGate) {
			return 5
		}
		return 3
	case from == protocol.Host && h.order.Len() > 0 && !h.LockedFor(dst):
		return 4
	}
	return 2
}

// hostReady makes sure that the host has memory.
func (s *storage) hostReady(c cause) (err error) {
	switch {
	case s.host.Bytes != nil:
		return nil
	case s.homeOn != nil && s.size > 0:
		err = s.host.AllocateOn(s.homeOn, s.hostAllocator(s.homeOn))
	}
	if s.host.Bytes == nil && (err == nil || errors.Is(err, hal.ErrUnsupported)) { // page-locked memory that the host cannot access is of no use
		err = s.host.hostMemory.Allocate(s.guarded)
	}
	if err == nil {
		s.hostAllocated(c)
	}
	return err
}

func (s *storage) hostAllocated(c cause) {
	_ = s.m.Allocate(protocol.Host)
	s.noteReplica(ActivityAlloc, nil, c)
}

// hostAllocator returns the allocator for page-locked memory of a device, nil for the device itself.
func (s *storage) hostAllocator(dev *hal.Device) pool.Allocator {
	if a := s.allocatorOn(dev); a != nil {
		return a
	}
	return resident.Of(dev).Allocator()
}

// tighten makes guarded memory inaccessible once nothing uses it any more.
func (s *storage) tighten() {
	if !s.host.Guarded() {
		return
	}
	want := hostmem.Shut
	s.queue.Opened(func(x *access) {
		if x.stream == nil && x.place == protocol.Host {
			want = max(want, hostmem.LevelOf(x.Writes()))
		}
	})
	s.host.Tighten(want, &s.host.order, s)
}

// TightenAgain implements hostmem.Tightener.
func (s *storage) TightenAgain(over func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if over() {
		s.tighten()
	}
}

// dropHost frees the host's replica, and passes each error to keep. The caller calls Over of the result without the lock, or at the end
// of a call that frees nothing else.
func (s *storage) dropHost(keep func(error), c cause) *hostmem.LastUse {
	if s.host.Bytes != nil {
		s.noteReplica(ActivityFree, nil, c)
	}
	s.forgetRecent(&s.host.replica)
	return s.host.hostMemory.Free(&s.host.order, keep)
}

// onHost reports whether a host access is open. While one is, the host's replica must not move.
func (s *storage) onHost() bool {
	return s.queue.Find(func(x *access) bool { return x.stream == nil && x.place == protocol.Host }) != nil
}

func (s *storage) allocatorOn(dev *hal.Device) pool.Allocator {
	for _, x := range s.allocator {
		if x.dev.Same(dev) {
			return x.a
		}
	}
	return nil
}

// unready is the error of a step before which the host has to wait for works; each has a reference. No call returns it to the program.
type unready struct{ works []*order.Work }

func (*unready) Error() string { return "earlier work on the host's replica has to end first" }
