package buffer

import (
	"github.com/go-halyard/halyard/buffer/internal/hostmem"
	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/resident"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/debug"
	"github.com/go-halyard/halyard/internal/protocol"
)

// hostReplica is the replica at the host, which devices that share host memory use in place.
type hostReplica struct {
	replica
	hostMemory
}

type hostMemory = hostmem.Memory

// guardAll says whether every buffer is guarded.
var guardAll = debug.Has("guard")

// WithGuard helps to find two mistakes: using a slice after its access has ended (a slice kept from [Buffer.View] would
// read stale bytes, and writes to it would be lost), and writing to a slice of an access for reading. The host's replica then has pages
// of memory of its own. The program can read them only while an access of the host is open or a copy uses them, and write them only while
// such an access or copy writes. A wrong use ends the program with "unexpected fault address" and its stack. The word guard in
// HALYARD_DEBUG guards every buffer of the process.
//
// A guarded buffer is for tests: devices that share the host's memory get a copy of their own, accesses of the host make
// two system calls, and the addresses of the last thousand host replicas stay reserved after Close, so that a use after Close is
// found too. WithGuard has no effect on memory from [Adopt], [AdoptSlice] or [WithPinnedHost]. It works only on
// Linux; on other systems every use of the host's replica fails with an error of kind ErrUnsupported.
func WithGuard() Option { return func(s *storage) { s.guarded = true } }

// hostReady makes sure that the host has memory.
func (s *storage) hostReady(c cause) (err error) {
	switch {
	case s.host.Exists():
		return nil
	case s.homeOn != nil && s.size > 0 && !hostmem.MustMap(s.homeOn):
		err = s.host.AllocateOn(s.homeOn, s.hostAllocator(s.homeOn))
	default:
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

// shareHost returns the host's replica as memory of a device that shares host memory, or nil if the device cannot work on the replica in place; then it
// has a replica of its own. The kind of the host's memory is chosen at the first access: memory of this device if this is the first. If the replica
// stands on Go's heap, and the device can use that memory nowhere but in its own, the replica moves. That happens at most once, when all work on the replica
// has ended: until then the error is an unready. A replica that an access of the host is using does not move.
func (s *storage) shareHost(dev *hal.Device, c cause) (*hal.Memory, error) {
	h := &s.host
	if m := h.On(dev); m != nil {
		return m, nil
	}
	if s.guarded && s.homeOn == nil && !h.adopted || s.size == 0 {
		return nil, nil
	}
	if !h.Exists() {
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
		if done, _ := w.End(); !done {
			left = append(left, w.Retain())
		}
	})
	if len(left) > 0 {
		return nil, &unready{left}
	}
	_ = s.learn(nil, 0, s.size)
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

// settleGuard makes guarded memory inaccessible that nothing uses any more.
func (s *storage) settleGuard() {
	if !s.host.Guarded() {
		return
	}
	want := hostmem.Shut
	s.find(func(x *access) bool {
		if x.stream == nil {
			want = max(want, hostmem.LevelOf(x.writes))
		}
		return false
	})
	s.host.Settle(want, &s.host.order, func(over func() bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if over() {
			s.settleGuard()
		}
	})
}

// dropHost frees the host's replica, and passes each error to keep. The caller calls Over of the result without the lock, or at the end of a call that
// frees nothing else.
func (s *storage) dropHost(keep func(error), c cause) *hostmem.LastUse {
	if s.host.Exists() {
		s.noteReplica(ActivityFree, nil, c)
	}
	s.recent.mem = nil
	return s.host.hostMemory.Free(&s.host.order, keep)
}
