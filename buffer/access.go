package buffer

import (
	"time"

	"github.com/go-halyard/halyard/buffer/internal/queue"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/callsite"
	"github.com/go-halyard/halyard/internal/debug"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/span"
)

// packagePath distinguishes frames of this package from those of its callers.
const packagePath = "github.com/go-halyard/halyard/buffer"

// recordSites makes accesses that only read record their call site, too.
var recordSites = debug.Has("sites")

// access is one use of a buffer's bytes by the program, from the beginning of the call to the end of the use: a lease, a function on the
// host, a copy. It waits until no earlier access excludes it; then it is open.
type access struct {
	queue.Entry[*access]

	// The fields that every access uses come first.
	ready   bool // the bytes are ready, and the program may use them
	writes  bool // some part writes
	awaited bool // of a device, for a caller that uses the bytes without the stream: no work is recorded at its end
	place   protocol.Place
	storage *storage
	gen     uint64 // distinguishes a lease from later ones with the same access
	replica *replica
	stream  *hal.Stream   // nil on the host
	mem     *hal.Memory   // the memory of the lease
	own     *owner        // keeps the owner reachable, so that a buffer in use is not reported as leaked
	group   *group        // the group with which it ends, or nil
	op      string        // the name of the call
	since   time.Duration // the time when the bytes were ready, counted from began; 0 if there is no observer

	unread  bool  // begin also waits for work that reads the bytes
	counted bool  // BytesAvoided includes this access
	bad     error // why bytes that it only reads have turned out bad, nil if they have not
	site    callsite.Site
}

type part = queue.Part

func newPart(lo, hi uint64, mode protocol.Action) part { return part{Lo: lo, Hi: hi, Mode: mode} }

// manyFree is the largest number of free accesses that is kept when none is in use.
const manyFree = 64

// newAccess returns an unused access for a new request.
func (s *storage) newAccess() *access {
	a := &s.pool
	x := a.spare
	if x != nil {
		a.spare = nil
	} else if n := len(a.free); n > 0 {
		x = a.free[n-1]
		a.free[n-1] = nil
		a.free = a.free[:n-1]
	} else {
		x = &access{storage: s}
		x.Of = x
	}
	a.taken++
	x.gen = s.queue.Arrive(&x.Entry)
	return x
}

// recycle ends an access, open or not, and opens the accesses that waited only for it.
func (s *storage) recycle(x *access) {
	x.ready, x.own = false, nil
	if x.group != nil { // a store costs more here than a test
		x.group = nil
	}
	if x.stream != nil {
		x.stream, x.mem, x.awaited = nil, nil, false
	}
	if x.Parts != nil {
		x.Parts = nil
	}
	if x.bad != nil {
		x.bad = nil
	}
	if !s.queue.EndAlone(&x.Entry) {
		s.queue.End(&x.Entry)
	}
	a := &s.pool
	if a.spare == nil {
		a.spare = x
	} else {
		a.free = append(a.free, x)
	}
	if a.taken--; a.taken == 0 && len(a.free) > manyFree {
		a.free = nil // many accesses were open at once: free their memory
	}
}

// standIn returns an access for a call that begins none, such as Evict: it is compared with the accesses in the queue, and named in errors.
func (s *storage) standIn(op string, p part) *access {
	x := &access{storage: s, op: op, writes: p.Writes()}
	x.Part, x.Of = p, x
	return x
}

// excluding returns an access that excludes x, which has not joined the queue, or nil.
func (s *storage) excluding(x *access) *access { return accessOf(s.queue.Excluding(&x.Entry)) }

// find returns an open access for which fn returns true, or nil.
func (s *storage) find(fn func(*access) bool) *access { return accessOf(s.queue.Find(fn)) }

func accessOf(e *queue.Entry[*access]) *access {
	if e == nil {
		return nil
	}
	return e.Of
}

// of reports whether the access is that of a lease, which is stale otherwise.
func (x *access) of(gen uint64) bool { return x.IsOpen() && x.gen == gen }

// onHost reports whether a host access is open. While one is, the host's replica must not move.
func (s *storage) onHost() bool {
	return s.find(func(x *access) bool { return x.stream == nil && x.place == protocol.Host }) != nil
}

// unwritten returns the ranges of [lo, hi) that no open access other than x writes at a place.
func (s *storage) unwritten(x *access, p protocol.Place, lo, hi uint64) (list []span.Range) {
	s.queue.Writers(lo, hi, func(o *access, from, to uint64) bool {
		if o == x || o.replica == nil || o.place != p {
			return true
		}
		if lo < from {
			list = append(list, span.Range{Lo: lo, Hi: from})
		}
		lo = max(lo, to)
		return true
	})
	if lo < hi {
		list = append(list, span.Range{Lo: lo, Hi: hi})
	}
	return list
}

// writing returns an access that writes bytes of [lo, hi) at a place and has its bytes ready there, or nil. Its work need not be in the
// place's Order yet.
func (s *storage) writing(p protocol.Place, lo, hi uint64) (x *access) {
	s.queue.Writers(lo, hi, func(o *access, _, _ uint64) bool {
		if o.ready && o.place == p {
			x = o
		}
		return x == nil
	})
	return x
}

// taintReaders tells the open accesses that read bytes of [lo, hi) at a place that these are bad. The Work that wrote them is then no
// longer in the place's Order, so the work of these accesses would not find it among its sources.
func (s *storage) taintReaders(p protocol.Place, lo, hi uint64, err error) {
	s.queue.Readers(lo, hi, func(o *access, _, _ uint64) bool {
		if o.ready && o.place == p && o.bad == nil {
			o.bad = err
		}
		return true
	})
}

// recordSite records the call site of an access, for the ConflictErrors of other accesses: always if it writes, else only with recordSites.
func (x *access) recordSite() {
	if x.writes || recordSites {
		callsite.Here(&x.site)
		if callsite.Marked() {
			callsite.Beyond(&x.site, packagePath)
		}
	} else if x.site[0] != 0 {
		x.site[0] = 0
	}
}
