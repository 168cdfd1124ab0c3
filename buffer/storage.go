// How a buffer works, in one page.
//
// # What is tracked
//
// A buffer and its slices share one storage. It counts in bytes, and has a part for each of these questions:
//
//	which accesses are open, and which wait         queue.Queue         internal/queue
//	which places have the current bytes             protocol.Map        package protocol: it plans copies and records them
//	what has to end before the bytes may be used    order.Order         internal/order, one for each replica
//	how much memory the replicas on a device have   resident.Account    internal/resident, one for each device
//	what memory the host's replica has              hostmem.Memory      internal/hostmem
//	which bytes were lost by failures               losses              failure.go
//	which access the next one may repeat            recent              fast.go
//
// The five packages are below this one, and know nothing of buffers. A place is the host or a device; it has one replica (replica.go).
// Bytes are current at a place if its replica has what was written last, else they are stale there. An access is one use of the bytes,
// from the beginning of the call to the end of the use (access.go).
//
// An order.Work is all work that was enqueued on one stream up to one point: a copy, or the program's work under a lease. A replica's
// Order has for each byte the Work that wrote it last and the Works that have read it since. The sources of a Work are the Works that
// wrote the bytes which it reads.
//
// # One Acquire, from Acquire to Release
//
// Buffer.TryAcquire and Acquire (buffer.go) come to tryAcquirePart and acquirePart (fast.go). If the access repeats an earlier one, no
// other access uses the buffer, and nothing has to be copied or waited for, it begins at once. Otherwise storage.begin (path.go) takes
// these steps, with the storage locked except during waits:
//
//  1. admit makes an access of the request. It is open at once if no earlier access excludes it. Otherwise TryAcquire fails, and Acquire
//     waits until the last access that excludes it ends.
//  2. bring makes the bytes current on the device, in five steps. place finds the device's replica, or allocates one; if there is no
//     room, withRoom (evict.go) evicts others. decide finds out which work has failed by now, fails if bytes are lost, and plans copies
//     with protocol.Map; cost (replica.go) says from which place to copy. move carries the plan out: orderCopies makes the streams of the
//     copies wait for the Works that they depend on, and copy enqueues each copy, records it as a Work and applies it to protocol.Map. At
//     last orderWork makes the access's own stream wait, and makeReady lets the program use the bytes. If there is something that a stream
//     cannot wait for, the calling goroutine waits for it without the lock, and bring begins again.
//  3. commit makes the bytes that the access writes stale at the other places, and removes them from the losses.
//
// The program then enqueues its work. Lease.Release calls storage.release, which records the program's work as a Work and ends
// the access. AcquireAll (group.go) does each step for all of its storages before the next, and records its work as one Work.
//
// # One View
//
// Buffer.View comes to storage.begin, too. The steps are the same, but the access has no stream. So the calling goroutine waits for the
// Works on the bytes, and makeReady clears bytes that were never written. Then View runs its function without the lock, and leave ends the
// access. The access needs no Work, because all that it did has ended.
//
// # How a failure is found
//
// No callback reports failed work. Work.End asks the driver whether a Work and its sources have ended. If one of the sources has failed,
// the Work has failed too. learn (failure.go) calls End of the Works that wrote a range. What a failed Work wrote is stale at its place,
// all of it. If it is then current nowhere, it joins the losses until it is written again. The access that finds the failure fails if
// bytes that it reads were current there; so does every later access of lost bytes. failedError makes the error of both.
//
// # How a replica leaves
//
// evict (evict.go) copies the bytes that are current at no other place. currentElsewhere finds out whether all bytes are known to be
// current elsewhere. If so, the memory is freed. If that is not known yet, a device's replica is leaving: Buffer.State leaves it out, its
// memory stays, and watchLeaving looks again when the copies have ended. Then the memory is freed, or the replica stays if a copy has
// failed. An access at its place makes it stay, too. The host's replica is never leaving: Evict waits until its bytes are current
// elsewhere.
//
// # Where a rule stands
//
//	what each mode copies and makes stale           the table of internal/protocol (table.go); the modes are those of package coherence
//	which accesses exclude each other               Reads and Writes of queue.Part, and excluding (internal/queue)
//	which mode several wants of the same bytes get  same and merged (group.go)
//	from which place and on which streams to copy   cost (replica.go) and route (path.go)
//	in which order to copy                          protocol.Map.Plan: ascending by byte, within each range of the access
//	how much memory replicas on a device may have   Entry.count and Pressure.room (internal/resident)
//
// # Locks, from the outermost to the innermost
//
//	group.mu        the calls on one Leases
//	storage.mu      everything of a buffer; a group locks its storages in the order of their numbers
//	Account.mu      the account of a device; no storage is locked while it is held
//	Work.mu         the state of a Work; a Work locks its sources, which are older
//	                then the locks of packages hal and hal/pool
//
// Whatever waits releases storage.mu for that time with storage.unlocked, and so does withRoom, because making room locks other storages.
// After a wait every condition is checked again.
//
// Observers, and the functions of ReleaseChecked, run with storage.mu held (observe.go). They must not use buffers: mutex.Lock panics
// there. A panic of an observer is kept until the call of the program ends, and goes on from there.

package buffer

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/go-halyard/halyard/buffer/internal/hostmem"
	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/queue"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer/slot"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/span"
	"github.com/go-halyard/halyard/internal/watch"
)

// storage is shared by a buffer and all its slices. It counts in bytes and does not know the elements' type.
type storage struct {
	id    uint64
	name  string // see WithName
	elem  uint64 // bytes per element
	bools bool   // an element contains a bool, so its bytes are not to be anything
	size  uint64 // bytes

	alignment uint64      // alignment of adopted memory in bytes, 0 if it is enough for every element type
	homeOn    *hal.Device // the device of WithPinnedHost, or nil
	guarded   bool        // the host's replica is guarded, unless homeOn is set
	allocator []allocatorOn

	mu     mutex
	thrown error // a callback has panicked with this during the call that has locked mu
	closed bool
	frozen int // calls of Freeze that Unfreeze has not undone
	queue  queue.Queue[*access]
	pool   struct { // accesses that have ended, for reuse
		free  []*access
		spare *access // one more free access, which is reused first
		taken int     // number of accesses that have not ended
	}
	m       protocol.Map // which places have the current bytes
	version int64        // writes so far
	host    hostReplica
	devs    []*replica // replicas of devices: devs[0] is that of place 1
	lost    losses
	leaving int // number of leaving replicas
	stats   Stats
	watcher watch.Watcher // nil for most buffers; with a watcher no access begins at once (fast.go)
	recent  recent        // the access that the next one may repeat

	scratch struct {
		plan   []protocol.Transfer
		waits  []wait
		works  []*order.Work
		left   []*order.Work
		ranges []span.Range
	}
}

var created atomic.Uint64

func newStorage(elem, size uint64, opts []Option) *storage {
	s := &storage{id: created.Add(1), elem: elem, size: size, guarded: guardAll}
	s.host.storage = s
	s.m.Init(size)
	s.host.hostMemory.Init(size)
	for _, o := range opts {
		o(s)
	}
	return s
}

// whole returns a part that covers the whole buffer.
func (s *storage) whole(mode protocol.Action) part { return newPart(0, s.size, mode) }

// called returns what errors call the buffer.
func (s *storage) called() string {
	if s.name == "" {
		return "the buffer"
	}
	return fmt.Sprintf("buffer %q", s.name)
}

// inName returns how errors about elements end: with the name of the buffer if it has one.
func (s *storage) inName() string {
	if s.name == "" {
		return ""
	}
	return fmt.Sprintf(" in buffer %q", s.name)
}

func (s *storage) closedError(op string) error {
	return hal.Errorf(op, hal.ErrClosed, "%s is closed", s.called())
}

// usable returns an error if the buffer is closed, or frozen and the action writes; s.mu is held.
func (s *storage) usable(op string, writes bool) error {
	switch {
	case s.closed:
		return s.closedError(op)
	case writes && s.frozen > 0:
		return hal.Errorf(op, ErrFrozen, "%d freezes", s.frozen)
	}
	return nil
}

// close frees everything. Work under way goes on.
func (s *storage) close() error {
	s.mu.Lock()
	u, err := s.shut("Close")
	thrown := s.unlockFirst()
	u.Over()
	raise(thrown)
	return err
}

// closeAfter ends an access that has only read, and closes the buffer unless another access uses it or waits for it.
func (s *storage) closeAfter(op string, x *access) (closed bool, err error) {
	s.mu.Lock()
	x.since = 0 // no use is reported to observers
	s.end(x)
	var u *hostmem.LastUse
	if err = s.usable(op, true); err == nil {
		u, err = s.shut(op)
		closed = s.closed
	}
	thrown := s.unlockFirst()
	u.Over()
	raise(thrown)
	return closed, err
}

// shut is close for a caller that has locked the storage. The caller calls u.Over after unlocking it.
func (s *storage) shut(op string) (u *hostmem.LastUse, err error) {
	if s.closed {
		return nil, nil
	}
	if x := s.find(func(*access) bool { return true }); x != nil {
		e := s.conflictError(op, s.whole(protocol.Reset), "every place", x)
		e.Requested.Action = "Close"
		return nil, e
	}
	s.closed = true
	c := cause{op: "Close", action: protocol.Reset}
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	for _, r := range s.devs {
		if r.Mem != nil {
			keep(r.free(c))
		}
	}
	u = s.dropHost(keep, c)
	return u, first
}

// unlocked runs fn without the lock.
func (s *storage) unlocked(fn func()) {
	thrown := s.unlockFirst() // the caller's call raises it
	defer func() {
		s.mu.Lock()
		if thrown != nil {
			s.thrown = thrown
		}
	}()
	fn()
}

// These are the functions of this package that package internal/awaited calls; they are documented there.
func init() {
	slot.Buffer = struct {
		AcquireAwaited func(ctx context.Context, b any, mode coherence.Mode, fits func(*hal.Device) bool) (Lease, bool, error)
	}{
		func(ctx context.Context, b any, mode coherence.Mode, fits func(*hal.Device) bool) (Lease, bool, error) {
			return b.(interface {
				acquireAwaited(context.Context, coherence.Mode, func(*hal.Device) bool) (Lease, bool, error)
			}).acquireAwaited(ctx, mode, fits)
		},
	}
}

func (b *Buffer[T]) acquireAwaited(ctx context.Context, mode coherence.Mode, fits func(*hal.Device) bool) (Lease, bool, error) {
	const op = "Acquire"
	if err := b.check(op); err != nil {
		return Lease{}, false, err
	}
	x, err := b.s.acquireAwaited(ctx, op, b.own, newPart(b.lo, b.hi, protocol.Action(mode)), fits)
	return b.lease(x), x != nil, err
}

func init() {
	watch.Attach = func(b any, w watch.Watcher) {
		b.(interface{ watched(watch.Watcher) }).watched(w)
	}
}

func (b *Buffer[T]) watched(w watch.Watcher) {
	b.s.mu.Lock()
	b.s.watcher = w
	b.s.mu.Unlock()
}
