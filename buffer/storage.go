// How a buffer works, in one page.
//
// # What is tracked
//
// A buffer and its slices share one storage. It counts in bytes, and has for each question one type that answers it:
//
//	which accesses are open, and which wait         accesses            access.go, over trees of ranges in internal/span
//	which places have the current bytes             protocol.Map        package protocol: it plans copies and is told what was done
//	which places there are                          places              places.go
//	what memory a place has                         replica             replica.go; for the host hostReplica, in host.go
//	which access the next one may repeat            recent              recent.go
//	who may use memory that must be mapped          turns               turn.go
//	how planned copies are carried out              copier              copy.go, line.go
//	what has to end before the bytes may be used    order.Order         internal/order, one for each replica
//	which bytes were lost by failures               losses              lost.go
//	how much memory a device's replicas take        residency           residency.go, one for each device
//
// An order.Work is what one stream was given up to one point: a copy, or the program's work under a lease. A replica's Order knows for
// each byte the Work that wrote it last and those that have read it since. A Work keeps the Works that made what it reads, until it
// knows how they have ended.
//
// # One Acquire, from Acquire to Release
//
// Buffer.TryAcquire and Acquire (buffer.go) call acquirePart (acquire.go). An access that repeats an earlier one, while no other uses the
// buffer and nothing has to be copied or waited for, is begun at once (recent.go). For all others storage.acquire takes these steps, with
// the storage locked except during waits:
//
//  1. admit makes an access of the request. It is open at once if no earlier access excludes it. Otherwise TryAcquire fails, and Acquire
//     waits until the last access in its way ends, which opens it (accesses.end, examine).
//  2. access.bring makes the bytes current on the device. settle finds the device's replica, or allocates one; if there is no room,
//     pressure.relieve (residency.go) evicts others. Then come three steps:
//     decide (decide.go) asks what has failed by now (learn.go), fails if bytes are lost, and plans copies with protocol.Map;
//     copier.line (line.go) makes the streams of the copies wait for the Works that they depend on, access.line at last the access's own;
//     copier.copy (copy.go) enqueues each copy, records it as a Work (record.go) and tells protocol.Map.
//     Where something is in the way that a stream cannot wait for, bring waits for it without the lock, and begins again with settle.
//  3. commit (below) makes the other places stale for what the access is to write, and ends losses there.
//
// The program then enqueues its work. Lease.Release calls storage.release, which records the program's work as a Work, made of what the
// access has read (record.go), and ends the access. AcquireAll (group.go) does each step for all of its storages before the
// next, and its work is one Work.
//
// # One View
//
// Buffer.View calls storage.enter (enter.go): admit as above, then fetch, which is bring for the host. hostReplica.ready (host.go) takes
// memory; decide, line and copy are the same; in place of a stream the caller waits, in await, for the Works on the bytes. After each wait it
// begins again with decide, because the lock was given up and a copy may have failed. When there is nothing left to copy and nothing
// to wait for, it clears what was never written, and View runs its function without the lock. leave ends the access. It leaves no
// Work, because nothing is under way when it ends.
//
// Where host and device take turns with the host's memory, turns.handOver, toHost and toDevice (turn.go) map and unmap it in between.
//
// # How a failure is found
//
// Nothing reports failed work by itself. Work.End asks the driver how a Work, and the Works that it was made of, have ended; if one of
// them has failed, it has failed as well. losses.learn (learn.go) asks this of the Works that wrote a range. For one that failed,
// replica.spoil notes that the bytes are not current at its place. If they are current nowhere now, the range joins the losses until it is written anew,
// unless it held zeros, which are made again. The access that asked fails. If no access of these bytes asked, the next
// one fails (losses, once).
//
// # How a replica leaves
//
// Evict and relieve call replica.evict (evict.go). In an eviction, rescue copies the bytes that are current at no other place. arriving
// asks whether all bytes are known to be somewhere else. If so, finish gives the memory back. If that is not known yet, the replica is leaving: State leaves
// it out, its memory stays, and lookAgain runs when the copies have ended. Then it goes, or stays if a copy has failed. An access at
// its place makes it stay, too. The host's replica is never leaving: Evict waits until its bytes are elsewhere (hostReplica.evict).
//
// # Locks, from the outermost to the innermost
//
//	group.mu        one Release of a Leases
//	storage.mu      everything of a buffer; a group locks its storages in the order of their numbers
//	residency.mu    the account of a device; no storage is locked under it
//	Work.mu         how a Work has ended; a Work locks those that it was made of, which are older
//	                then those of packages hal and hal/pool
//
// An access waits without storage.mu: pause (access.go), await (line.go) and awaitParting (evict.go) give it up. So does unpressed
// (residency.go), because making room locks other storages. Afterwards everything is asked anew. Observers run with storage.mu held.

package buffer

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/span"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/watch"
)

// storage is what a buffer and all its slices share. It counts in bytes and knows no types.
type storage struct {
	id   uint64
	elem uint64 // bytes per element
	size uint64 // bytes

	alignment uint64      // of adopted memory in bytes, 0 if it suits every element
	homeOn    *hal.Device // asked for by WithPinnedHost
	guarded   bool        // the host's replica is guarded, unless homeOn is set
	allocator []allocatorOn

	mu       sync.Mutex
	closed   bool
	frozen   int
	accesses accesses
	m        protocol.Map
	version  int64 // writes so far
	host     hostReplica
	places   places
	lost     losses
	copier   copier // carries out planned copies
	turns    turns  // of host and device, on memory that must be mapped
	leaving  int    // replicas to be freed once their bytes have arrived elsewhere
	stats    Stats
	watcher  watch.Watcher // nil for most buffers; those with one never take the short way of recent.go
	recent   recent        // what the next access may repeat

	scratch struct {
		plan   []protocol.Transfer
		left   []*order.Work
		ranges []span.Range
	}
}

var created atomic.Uint64

func newStorage(elem, size uint64, opts []Option) *storage {
	s := &storage{id: created.Add(1), elem: elem, size: size, guarded: guardAll}
	s.host.owner, s.accesses.owner, s.places.owner, s.copier.owner, s.turns.owner, s.lost.owner, s.recent.owner = s, s, s, s, s, s, s
	s.m.Init(size)
	for _, o := range opts {
		o(s)
	}
	return s
}

// whole is all of the buffer as one part.
func (s *storage) whole(mode protocol.Action) part { return part{0, s.size, mode} }

func (s *storage) closedError(op string) error {
	return hal.Errorf(op, hal.ErrClosed, "the buffer is closed")
}

// usable reports why an action cannot begin at all; s.mu is held.
func (s *storage) usable(op string, writes bool) error {
	switch {
	case s.closed:
		return s.closedError(op)
	case writes && s.frozen > 0:
		return hal.Errorf(op, ErrFrozen, "%d freezes", s.frozen)
	}
	return nil
}

// wrote notes a write in the state: every other replica of the bytes is stale.
func (s *storage) wrote(a protocol.Action, p protocol.Place, lo, hi uint64) {
	_ = s.m.Commit(a, p, lo, hi)
	switch {
	case a == protocol.Reset:
	case p == protocol.Host:
		s.host.clean = false
	default:
		s.places.replica(p).dirty(true)
	}
	s.lost.forget(lo, hi)
	if s.watcher != nil {
		s.watcher.Writes(lo, hi)
	}
}

// commit notes in the state, as one write, what an access is to write.
func (x *access) commit() {
	s := x.storage
	if !x.writes {
		return
	}
	s.version++
	x.each(func(p part) {
		if !p.writes() {
			return
		}
		s.wrote(p.mode, x.place, p.lo, p.hi)
		if x.stream == nil { // it leaves no Work that would replace the earlier ones
			s.host.order.Overwritten(p.lo, p.hi)
		}
	})
}

// close frees everything. Work under way goes on.
func (s *storage) close() error {
	u, err := s.shut()
	if u != nil {
		u.over()
	}
	return err
}

// shut is close without the call of the release function, which close makes when the lock is free.
func (s *storage) shut() (u *lastUse, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil
	}
	if x := s.accesses.find(func(*access) bool { return true }); x != nil {
		return nil, s.conflictError("close", part{0, s.size, protocol.Reset}, "every place", x)
	}
	s.closed = true
	c := cause{op: "Close", action: protocol.Reset}
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	for _, r := range s.places.devs {
		if r.present() {
			keep(r.free(c))
		}
	}
	u = s.host.lastUse()
	s.host.drop(u, keep, c)
	return u, first
}

// pointer is where the host's replica has the byte at lo. An access of the host must be open.
func (h *hostReplica) pointer(lo uint64) unsafe.Pointer { return unsafe.Add(h.ptr, lo) }

// unlocked runs fn without the lock.
func (s *storage) unlocked(fn func()) {
	s.mu.Unlock()
	defer s.mu.Lock()
	fn()
}
