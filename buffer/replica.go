package buffer

import (
	"github.com/go-halyard/halyard/buffer/internal/resident"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// replica is the buffer's copy at one place, with the work that later accesses there wait for.
type replica struct {
	owner *storage
	place protocol.Place
	dev   *hal.Device // nil for the host
	resident.Memory
	order   order.Order
	adopted bool // the memory was adopted, and stays until the buffer is closed

	// The Entry says that the replica is leaving if its memory will be freed when the copies of its bytes to other places are known to have succeeded. An
	// access at the place makes the replica stay. The host's replica has no account.
	resident.Entry
	parting chan struct{} // closed when the replica stays or has been freed; nil if no goroutine waits for that
}

// regionAs returns the range [lo, hi) of a replica, in mem, which is the replica as memory of the device that uses the range.
func (r *replica) regionAs(mem *hal.Memory, lo, hi uint64) hal.Region {
	if r.place == protocol.Host {
		return r.owner.host.RegionOn(mem, lo, hi)
	}
	return r.Region(lo, hi)
}

// allocate allocates the memory of a device's replica. The error is a resident.Pressure if there is no room.
func (r *replica) allocate(stream *hal.Stream, c cause) (err error) {
	s := r.owner
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
		r.owner.leaving--
	}
	if !r.adopted {
		r.Give()
	}
	r.decided()
	r.owner.noteReplica(ActivityFree, r.dev, c)
	m := r.Memory
	r.Memory = resident.Memory{}
	return m.Free(&r.order)
}

// stay keeps a replica that was leaving.
func (r *replica) stay() {
	r.owner.leaving--
	r.Stay()
	r.decided()
}

// decided wakes the goroutines that wait until a leaving replica has been freed or stays.
func (r *replica) decided() {
	if r.parting != nil {
		close(r.parting)
		r.parting = nil
	}
}
