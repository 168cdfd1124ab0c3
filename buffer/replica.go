package buffer

import (
	"errors"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/span"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/protocol"
)

// replica is the buffer's copy at one place, and what later work there waits for.
type replica struct {
	owner *storage
	place protocol.Place
	dev   *hal.Device // nil for the host
	holding
	former  []byte // if the replica is the host's former memory, that memory; else nil
	order   order.Order
	adopted bool // the memory is the program's, and stays until the buffer is closed

	// leaving says that the memory is to be freed as soon as the copies of its bytes at other places are known to have arrived. An access
	// at the place makes the replica stay.
	leaving bool
	parting chan struct{} // closed when it stays, or has left; nil while nobody waits for that

	resident
}

// holding is the memory that a replica has.
type holding struct {
	mem   *hal.Memory // nil for the host
	base  uint64      // bytes from the start of mem, or of the host's home, to the replica
	block pool.Block  // the block that it is, if it came from an allocator
}

// region is the range [lo, hi) of the replica's memory.
func (h *holding) region(lo, hi uint64) hal.Region { return h.mem.Region(h.base+lo, hi-lo) }

// present reports whether a replica of a device, or of the host's former memory, has memory.
func (r *replica) present() bool { return r.mem != nil || r.former != nil }

// regionAs is the range [lo, hi) of a replica. mem is the memory of the replica, as the device that uses the range knows it.
func (r *replica) regionAs(mem *hal.Memory, lo, hi uint64) hal.Region {
	s := r.owner
	if r.place != protocol.Host || mem == s.host.home {
		lo, hi = r.base+lo, r.base+hi
	}
	return mem.Region(lo, hi-lo)
}

// allocate takes memory for a device's replica.
func (r *replica) allocate(stream *hal.Stream, c cause) error {
	s := r.owner
	a, ok := r.res.take(r)
	if !ok {
		return &pressure{dev: r.dev}
	}
	if own := s.allocatorOn(r.dev); own != nil {
		a = own
	}
	got, err := obtain(a, r.dev, stream, hal.KindDevice, s.size)
	if err != nil {
		r.res.give(r)
		if errors.Is(err, hal.ErrOutOfMemory) {
			return &pressure{dev: r.dev, cause: err, from: a}
		}
		return err
	}
	r.holding = got
	r.res.enter(r, a)
	if got.block.Valid() {
		r.res.know(got.block.Pool())
		if got.block.Ordered() {
			r.order.SetBarrier(order.Earlier(stream)) // of whoever had the memory before
		}
	}
	_ = s.m.Allocate(r.place)
	s.noteReplica(ActivityAlloc, r.dev, c)
	return nil
}

// free gives the memory of a replica back once the work that uses it has finished.
func (r *replica) free(c cause) error {
	if r.leaving {
		r.owner.leaving--
	}
	if r.res != nil && !r.adopted {
		r.res.give(r)
	}
	r.leaving = false
	r.decided()
	if r.former != nil {
		r.former = nil
		r.order.Clear()
		return nil
	}
	r.owner.noteReplica(ActivityFree, r.dev, c)
	h := r.holding
	r.holding = holding{}
	return h.free(&r.order)
}

// free gives the memory back once the work that uses it has finished, and forgets the work.
func (h *holding) free(work *order.Order) error {
	if h.block.Valid() {
		return handBack(h.block, h.mem.Device(), work)
	}
	work.Clear()
	return h.mem.Close()
}

// spans are the parts of an access that write, or those that only read, as ranges.
func (x *access) spans(writes bool) []span.Range {
	s := x.storage
	list := s.scratch.ranges[:0]
	x.each(func(p part) {
		if p.writes() == writes {
			list = append(list, span.Range{Lo: p.lo, Hi: p.hi})
		}
	})
	s.scratch.ranges = list[:0]
	return list
}
