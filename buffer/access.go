package buffer

import (
	"context"
	"runtime/trace"
	"time"

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
	// The fields that every access uses come first.
	part          // the only part, or the range from the first of parts to the last
	open     bool // no earlier access excludes it
	inside   bool // the bytes are ready, and the program may use them
	writes   bool // some part writes
	awaited  bool // of a device, for calls of the host: no stream has work of it
	enlisted bool // it is in the trees, and in live
	place    protocol.Place
	storage  *storage
	gen      uint64 // distinguishes a lease from later ones with the same access
	seq      uint64 // in the order of arrival
	replica  *replica
	stream   *hal.Stream   // nil on the host
	mem      *hal.Memory   // the memory of the lease
	own      *owner        // keeps the owner reachable, so that a buffer in use is not reported as leaked
	group    *group        // the group with which it ends, or nil
	op       string        // the name of the call
	since    time.Duration // the time when the bytes were ready, counted from began; 0 if there is no observer
	waiters  []*access     // accesses that wait for this one to end

	parts   []part // several parts, in ascending order with gaps between them, none of them empty; nil if there is one
	unread  bool   // begin also waits for work that reads the bytes
	counted bool   // BytesAvoided includes this access
	bad     error  // why bytes that it only reads have turned out bad, nil if they have not
	index   int    // in live
	pieces  []piece
	behind  *access // the access that it waits for
	at      int     // index in behind's waiters
	admit   chan struct{}
	site    callsite.Site
}

// part is a range of bytes and the mode of the access to it.
type part struct {
	lo, hi uint64
	mode   protocol.Action
}

func (p part) valid() bool {
	return p.mode == protocol.Read || p.mode == protocol.ReadWrite || p.mode == protocol.Overwrite
}
func (p part) writes() bool { return p.mode != protocol.Read }
func (p part) reads() bool  { return p.mode != protocol.Overwrite }

// piece is a node of one of the trees, for a part of an access.
type piece struct {
	span.Node[*access]
	tree *span.Tree[*access]
}

// accesses has the accesses of one storage, open and waiting. An access waits for every earlier one that shares a byte with it, if
// either of the two writes. Earlier accesses that still wait count as well, so a steady flow of readers does not block a writer. Finding
// the access to wait for takes O(log n) with n accesses, and an access that ends wakes only those that wait for it.
type accesses struct {
	owner *storage
	free  []*access // accesses that have ended, for reuse
	spare *access   // one more of these, which is reused first
	taken int       // number of accesses that have not ended
	live  []*access // the accesses in the trees
	count int       // number of open accesses
	seq   uint64
	solo  *access // the only access, open and not in the trees yet
	steps int     // number of accesses that find has examined, for tests of how costs grow

	read, write span.Tree[*access] // by bytes
}

// never is a sequence number after all others.
const never = ^uint64(0)

// manyFree is the largest number of free accesses that is kept when none is in use.
const manyFree = 64

// each calls fn for every part that is not empty.
func (x *access) each(fn func(part)) {
	if x.parts == nil && x.lo < x.hi {
		fn(x.part)
	}
	for _, p := range x.parts {
		fn(p)
	}
}

// take returns an unused access for a new request.
func (a *accesses) take() *access {
	x := a.spare
	if x != nil {
		a.spare = nil
	} else if n := len(a.free); n > 0 {
		x = a.free[n-1]
		a.free[n-1] = nil
		a.free = a.free[:n-1]
	} else {
		x = &access{storage: a.owner}
	}
	a.taken++
	a.seq++
	x.seq, x.gen = a.seq, a.seq
	return x
}

// flush puts solo into the trees, where searches find it.
func (a *accesses) flush() {
	if x := a.solo; x != nil {
		a.solo = nil
		a.enlist(x)
	}
}

// excluding returns the last access before seq that excludes x, or nil.
func (a *accesses) excluding(x *access, seq uint64) *access {
	a.flush()
	if a.write.Len() == 0 && a.read.Len() == 0 {
		return nil
	}
	var last *access
	later := func(n *span.Node[*access]) {
		if n != nil && (last == nil || n.Value.seq > last.seq) {
			last = n.Value
		}
	}
	look := func(p part) {
		later(a.write.Latest(p.lo, p.hi, seq))
		if p.writes() {
			later(a.read.Latest(p.lo, p.hi, seq))
		}
	}
	if x.parts == nil {
		look(x.part)
	} else {
		for _, p := range x.parts {
			look(p)
		}
	}
	return last
}

// enlist puts x into the trees, so that later accesses that x excludes wait for it.
func (a *accesses) enlist(x *access) {
	if !x.enlisted {
		x.enlisted, x.index = true, len(a.live)
		a.live = append(a.live, x)
	}
	n := 0
	x.each(func(part) { n++ })
	if cap(x.pieces) < n {
		x.pieces = make([]piece, n)
	}
	x.pieces = x.pieces[:n]
	insert := func(i int, t *span.Tree[*access], lo, hi uint64) {
		p := &x.pieces[i]
		p.tree, p.Lo, p.Hi, p.Seq, p.Value = t, lo, hi, x.seq, x
		t.Insert(&p.Node)
	}
	i := 0
	x.each(func(p part) {
		insert(i, a.by(p), p.lo, p.hi)
		i++
	})
}

func (a *accesses) by(p part) *span.Tree[*access] {
	if p.writes() {
		return &a.write
	}
	return &a.read
}

// admitted opens an access that no other excludes.
func (a *accesses) admitted(x *access) {
	x.open = true
	a.count++
}

// end removes an access, open or not, and opens the accesses that waited only for it.
func (a *accesses) end(x *access) {
	if a.solo == x {
		a.solo = nil
	} else if x.enlisted {
		a.strike(x)
	}
	if x.open {
		a.count--
	}
	x.open, x.inside, x.own = false, false, nil
	if x.group != nil {
		x.group = nil
	}
	if x.stream != nil {
		x.stream, x.mem = nil, nil
	}
	if x.parts != nil {
		x.parts = nil
	}
	if x.bad != nil {
		x.bad = nil
	}
	if x.awaited {
		x.awaited = false
	}
	if a.spare == nil {
		a.spare = x
	} else {
		a.free = append(a.free, x)
	}
	if a.taken--; a.taken == 0 && len(a.free) > manyFree {
		a.free = nil // many accesses were open at once: free their memory
	}
	if len(x.waiters) == 0 {
		return
	}
	waiters := x.waiters
	x.waiters = nil
	for _, w := range waiters {
		w.behind = nil
		a.examine(w)
	}
	if cap(waiters) <= 64 && x.waiters == nil {
		clear(waiters)
		x.waiters = waiters[:0]
	}
}

// strike removes an access from the trees.
func (a *accesses) strike(x *access) {
	for i := range x.pieces {
		p := &x.pieces[i]
		p.tree.Delete(&p.Node)
		p.tree, p.Value = nil, nil
	}
	if cap(x.pieces) > 64 {
		x.pieces = nil
	}
	x.pieces = x.pieces[:0]
	last := len(a.live) - 1
	a.live[x.index] = a.live[last]
	a.live[x.index].index = x.index
	a.live[last] = nil
	a.live = a.live[:last]
	x.enlisted = false
}

// examine opens a waiting access if no earlier one excludes it any more. Otherwise it finds the access to wait for next.
func (a *accesses) examine(w *access) {
	if len(w.pieces) > 0 {
		if x := a.excluding(w, w.seq); x != nil {
			w.wait(x)
			return
		}
		a.admitted(w)
	}
	close(w.admit)
	w.admit = nil
}

// wait makes w wait for the end of x.
func (w *access) wait(x *access) {
	w.behind, w.at = x, len(x.waiters)
	x.waiters = append(x.waiters, w)
}

// leave is the opposite of wait.
func (w *access) leave() {
	x := w.behind
	if x == nil {
		return
	}
	last := len(x.waiters) - 1
	x.waiters[w.at] = x.waiters[last]
	x.waiters[w.at].at = w.at
	x.waiters[last] = nil
	x.waiters = x.waiters[:last]
	w.behind = nil
}

// of reports whether the access is that of a lease, which is stale otherwise.
func (x *access) of(gen uint64) bool { return x.open && x.gen == gen }

// find returns an open access for which fn returns true, or nil.
func (a *accesses) find(fn func(*access) bool) *access {
	if a.count == 0 {
		return nil
	}
	if x := a.solo; x != nil {
		a.steps++
		if fn(x) {
			return x
		}
		return nil
	}
	for _, x := range a.live {
		a.steps++
		if x.open && fn(x) {
			return x
		}
	}
	return nil
}

// onHost reports whether a host access is open. While one is, the host's replica must not move.
func (a *accesses) onHost() bool {
	return a.find(func(x *access) bool { return x.stream == nil && x.place == protocol.Host }) != nil
}

// unwritten returns the ranges of [lo, hi) that no open access other than x writes at a place.
func (a *accesses) unwritten(x *access, p protocol.Place, lo, hi uint64) (list []span.Range) {
	a.flush()
	for _, n := range a.write.Meeting(lo, hi, nil) {
		if o := n.Value; o == x || !o.open || o.replica == nil || o.place != p {
			continue
		}
		if lo < n.Lo {
			list = append(list, span.Range{Lo: lo, Hi: n.Lo})
		}
		lo = max(lo, n.Hi)
	}
	if lo < hi {
		list = append(list, span.Range{Lo: lo, Hi: hi})
	}
	return list
}

// writing returns an access that writes bytes of [lo, hi) at a place and has its bytes ready there, or nil. Its work need not be in the
// place's Order yet.
func (a *accesses) writing(p protocol.Place, lo, hi uint64) *access {
	a.flush()
	if a.write.Len() == 0 {
		return nil
	}
	for _, n := range a.write.Meeting(lo, hi, nil) {
		if x := n.Value; x.inside && x.place == p {
			return x
		}
	}
	return nil
}

// spoiled tells the open accesses that read bytes of [lo, hi) at a place that these are bad. The Work that wrote them is then no longer in the
// place's Order, so the work of these accesses would not find it among its causes.
func (a *accesses) spoiled(p protocol.Place, lo, hi uint64, err error) {
	a.flush()
	for _, n := range a.read.Meeting(lo, hi, nil) {
		if x := n.Value; x.inside && x.place == p && x.bad == nil {
			x.bad = err
		}
	}
}

// empty reports whether there is no access, open or waiting.
func (a *accesses) empty() bool { return a.solo == nil && len(a.live) == 0 }

// begin opens an access that no other excludes, and makes it visible to later ones.
func (a *accesses) begin(x *access) {
	if a.empty() {
		a.alone(x)
		return
	}
	a.flush()
	a.enlist(x)
	a.admitted(x)
}

// alone opens an access if there is no other.
func (a *accesses) alone(x *access) {
	a.solo = x
	a.admitted(x)
}

// queue puts x into the trees and waits until no earlier access excludes it. The storage is unlocked during the wait. After an
// error the caller has to end x.
func (a *accesses) queue(ctx context.Context, x *access) (blocked bool, err error) {
	b := a.excluding(x, never)
	a.enlist(x)
	if b == nil {
		a.admitted(x)
		return false, nil
	}
	return true, a.pause(ctx, x, b)
}

// pause makes x wait for b, with the storage unlocked until x is opened or ctx ends.
func (a *accesses) pause(ctx context.Context, x, b *access) error {
	defer trace.StartRegion(ctx, "halyard: wait").End()
	admit := make(chan struct{})
	x.admit = admit
	x.wait(b)
	a.owner.unlocked(func() {
		select {
		case <-admit:
		case <-ctx.Done():
		}
	})
	if x.admit == nil {
		return nil // x was opened just as ctx ended
	}
	x.admit = nil
	x.leave()
	return ctx.Err()
}

// here records the call site of an access, for the ConflictErrors of other accesses: always if it writes, else only with recordSites.
func (x *access) here() {
	if x.writes || recordSites {
		callsite.Here(&x.site)
		if callsite.Marked() {
			callsite.Beyond(&x.site, packagePath)
		}
	} else if x.site[0] != 0 {
		x.site[0] = 0
	}
}
