package buffer

import (
	"context"
	"runtime/trace"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/buffer/internal/resident"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/protocol"
)

// SetBudget limits the memory of all replicas on a device to a number of bytes. 0, the default, sets
// no limit except the device's own. When an access needs a new replica and the budget is used up, replicas of other buffers
// are evicted: first those whose bytes are all current elsewhere, then those that
// must be copied to the host first, in each case the least recently used first. Replicas under a lease
// stay. If that is not enough the access fails with an error of kind hal.ErrOutOfMemory, which says how much memory replicas have. The
// same happens, without a budget, when the device itself is out of memory.
//
// Memory of an allocator counts while a replica has it. If an evicted replica has to be copied first, its memory counts until the copy has
// ended. An access that needs that memory waits for the copy until its context ends. TryAcquire, and the other calls that do not wait, fail
// instead with an error of the kinds hal.ErrNotReady and hal.ErrOutOfMemory; the copy goes on, so the same call may succeed later.
//
// If the new budget is less than the memory in use, the next access that needs room evicts replicas until the budget is met.
//
// A device that works on the host's replica in place (SharesHostMemory in [hal.Info]) has no replicas of its own, so a budget has no effect there.
func SetBudget(dev *hal.Device, bytes uint64) {
	resident.Of(dev).SetLimit(bytes)
}

// Residency describes the memory of all replicas on one device.
type Residency struct {
	Budget      uint64 // bytes, 0 for no budget
	Used        uint64 // bytes, including evicted replicas whose copies have not ended yet
	Replicas    int
	Evictions   uint64 // number of replicas that were evicted to make room for others
	WrittenBack uint64 // bytes that had to be copied before these evictions
}

// ResidencyOf returns the residency of a device.
func ResidencyOf(dev *hal.Device) Residency {
	f := resident.Of(dev).Figures()
	return Residency{f.Limit, f.Used, f.Replicas, f.Evictions, f.Written}
}

// allocatorOn is the choice of an allocator for one device.
type allocatorOn struct {
	dev *hal.Device
	a   pool.Allocator
}

// WithAllocator makes the buffer allocate its replica on the device from an allocator of that
// device's memory, and not from the allocator of [SetAllocator]. If a is nil, the memory comes from the device itself.
// With [WithPinnedHost] of the same device the host's replica comes from the allocator as well. The
// option may be given once for each device.
//
// Memory is freed on the stream that used it last, and goes back to the allocator even while that stream still works.
// Before closing such a stream, call [pool.Pool.ForgetStream] if the allocator is a pool.
//
// Close the buffer before the allocator.
func WithAllocator(dev *hal.Device, a pool.Allocator) Option {
	return func(s *storage) {
		s.allocator = slices.DeleteFunc(s.allocator, func(x allocatorOn) bool { return x.dev.Same(dev) })
		if a == nil && dev != nil {
			a = pool.Direct(dev)
		}
		if dev != nil {
			s.allocator = append(s.allocator, allocatorOn{dev, a})
		}
	}
}

// SetAllocator sets the allocator for new replicas on a device handle, in buffers made without the option
// [WithAllocator]. If a is nil, which is the default, the memory comes from the device itself. Existing replicas keep their memory.
//
// There is no pool by default, because other programs, and other libraries in this program, cannot use the memory that a pool
// keeps, and the device does not close before the pool. With a pool, allocating and freeing a
// replica takes some hundred nanoseconds and calls no function of the vendor:
//
//	p, err := pool.New(dev)
//	buffer.SetAllocator(dev, p)
//
// When memory runs out, pools first free memory that they keep; only then are replicas evicted. To close the pool,
// close the buffers and set another allocator.
func SetAllocator(dev *hal.Device, a pool.Allocator) {
	if dev == nil {
		return
	}
	resident.Of(dev).SetAllocator(a)
}

func (s *storage) allocatorOn(dev *hal.Device) pool.Allocator {
	for _, x := range s.allocator {
		if x.dev.Same(dev) {
			return x.a
		}
	}
	return nil
}

// attempts is the number of times that room is made for one allocation. Each time other allocations may take the room first.
const attempts = 64

// withRoom runs fn, with s.mu held, and repeats it as long as it fails for lack of room and room can be made, which happens without the lock. If try is set
// it does not wait.
func (s *storage) withRoom(ctx context.Context, op string, try bool, fn func() error) error {
	evicted := false
	for i := 0; ; i++ {
		err := fn()
		p, ok := err.(*resident.Pressure)
		switch {
		case !ok:
			return err
		case i == attempts:
			return p.Exhausted(op)
		case evicted && try:
			return roomLater(op, p)
		}
		s.unlocked(func() {
			if evicted { // the eviction was not enough: work under way may still use the memory
				evicted, err = false, s.reclaim(ctx, op, p)
			} else {
				evicted, err = p.Relieve(ctx, op, s.id, try)
			}
		})
		switch {
		case err == nil:
		case ctx.Err() != nil:
			full := p.Exhausted(op)
			return gaveUp(op, ctx, strings.TrimPrefix(full.Error(), op+": "), full)
		case resident.IsLater(err):
			return roomLater(op, p)
		default:
			return err
		}
	}
}

// roomLater is the error of a call that does not wait, if there will be room when earlier work has ended.
func roomLater(op string, p *resident.Pressure) error {
	return &hal.Error{Op: op, Device: -1, Kind: hal.ErrNotReady, Err: p.Exhausted(op),
		Detail: "earlier work on " + p.Dev.Name() + " has to end before there is room"}
}

// reclaim waits until the device has freed all closed memory, because work under way may still use evicted memory. The storage
// is not locked.
func (s *storage) reclaim(ctx context.Context, op string, p *resident.Pressure) error {
	begin := now()
	defer trace.StartRegion(ctx, "halyard: wait").End()
	err := p.Dev.Reclaim(ctx)
	s.waited(cause{op: op, action: protocol.Evict, client: s.id, why: "out of memory"}, "memory", p.Dev, 0, s.size, begin)
	return err
}

// Evict implements resident.Replica.
func (r *replica) Evict(why resident.Cause) (freed, written uint64, leased, ok bool) {
	s := r.owner
	s.mu.Lock()
	defer s.unlock()
	switch {
	case s.closed || r.Mem == nil || r.Leaving():
		return 0, 0, false, false
	case r.Leased():
		return 0, 0, true, false
	}
	before := s.stats.BytesCopied
	if err := r.evict(cause{why.Op, protocol.Evict, why.Client, why.Why}); err != nil {
		if u, ok := err.(*unready); ok {
			for _, w := range u.works {
				w.Release()
			}
		}
		return 0, 0, false, false
	}
	if !r.Leaving() {
		freed = s.size
	}
	return freed, s.stats.BytesCopied - before, false, true
}

// AwaitLeaving implements resident.Replica.
func (r *replica) AwaitLeaving(ctx context.Context, why resident.Cause) (stays bool, err error) {
	s := r.owner
	s.mu.Lock()
	defer s.unlock()
	if !r.Leaving() {
		return r.Mem != nil, nil
	}
	if r.parting == nil {
		r.parting = make(chan struct{})
	}
	parting := r.parting
	begin := now()
	s.unlocked(func() {
		select {
		case <-parting:
		case <-ctx.Done():
		}
	})
	s.waited(cause{why.Op, protocol.Evict, why.Client, why.Why}, "work", nil, 0, s.size, begin)
	if r.Leaving() {
		return false, ctx.Err()
	}
	return r.Mem != nil, nil
}

// classify records whether bytes are current only at r. If the state has more than one interval, it changes nothing.
func (r *replica) classify() {
	if s := r.owner; s.m.Len() == 1 {
		r.SetSole(s.m.State(0, s.size).Valid == protocol.Of(r.place))
	}
}

// classify does that for every replica, after one of them has lost bytes.
func (s *storage) classify() {
	for _, r := range s.places.devs {
		r.classify()
	}
}
