package buffer

import (
	"errors"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/protocol"
)

// replica is the buffer's copy at one place, with the work that later accesses there wait for.
type replica struct {
	owner *storage
	place protocol.Place
	dev   *hal.Device // nil for the host
	holding
	order   order.Order
	adopted bool // the memory was adopted, and stays until the buffer is closed

	// leaving says that the memory will be freed when the copies of its bytes to other places are known to have succeeded. An access
	// at the place makes the replica stay.
	leaving bool
	parting chan struct{} // closed when the replica stays or has been freed; nil if no goroutine waits for that

	resident
}

// holding is the memory of a replica.
type holding struct {
	mem   *hal.Memory // nil for the host
	base  uint64      // bytes from the start of mem, or of the host's home, to the replica
	block pool.Block  // the block, if the memory came from an allocator
}

// region returns the range [lo, hi) of the replica's memory.
func (h *holding) region(lo, hi uint64) hal.Region { return h.mem.Region(h.base+lo, hi-lo) }

// regionAs returns the range [lo, hi) of a replica, in mem, which is the replica as memory of the device that uses the range.
func (r *replica) regionAs(mem *hal.Memory, lo, hi uint64) hal.Region {
	s := r.owner
	if r.place != protocol.Host || mem == s.host.home {
		lo, hi = r.base+lo, r.base+hi
	}
	return mem.Region(lo, hi-lo)
}

// allocate allocates the memory of a device's replica.
func (r *replica) allocate(stream *hal.Stream, c cause) error {
	s := r.owner
	a, ok := r.res.take(r)
	if !ok {
		return &pressure{dev: r.dev}
	}
	if own := s.allocatorOn(r.dev); own != nil {
		a = own
	}
	entered := false
	defer func() {
		if !entered { // also if the allocator, which may be the program's, panics
			r.res.give(r)
		}
	}()
	got, err := obtain(a, r.dev, stream, hal.KindDevice, s.size)
	if err != nil {
		if errors.Is(err, hal.ErrOutOfMemory) {
			return &pressure{dev: r.dev, cause: err, from: a}
		}
		return err
	}
	r.holding = got
	r.res.enter(r, a)
	entered = true
	if got.block.Valid() {
		r.res.know(got.block.Pool())
		if got.block.Ordered() {
			r.order.SetBarrier(order.NewWork(stream)) // work of earlier users of the memory
		}
	}
	_ = s.m.Allocate(r.place)
	s.noteReplica(ActivityAlloc, r.dev, c)
	return nil
}

// free frees the memory of a replica when the work that uses it has finished.
func (r *replica) free(c cause) error {
	if r.leaving {
		r.owner.leaving--
	}
	if r.res != nil && !r.adopted {
		r.res.give(r)
	}
	r.leaving = false
	r.decided()
	r.owner.noteReplica(ActivityFree, r.dev, c)
	h := r.holding
	r.holding = holding{}
	return h.free(&r.order)
}

// free frees the memory when the work that uses it has finished, and clears work.
func (h *holding) free(work *order.Order) error {
	if h.block.Valid() {
		return handBack(h.block, h.mem.Device(), work)
	}
	work.Clear()
	return h.mem.Close()
}
