package buffer

import (
	"context"
	"runtime/trace"
	"sync"
	"time"

	"github.com/go-halyard/halyard/buffer/internal/span"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/callsite"
	"github.com/go-halyard/halyard/internal/debug"
	"github.com/go-halyard/halyard/internal/protocol"
)

// packagePath tells the frames of this package from its callers'.
const packagePath = "github.com/go-halyard/halyard/buffer"

// recordSites makes readers record where they stand, too.
var recordSites = debug.Has("sites")

// access is one use of a buffer's bytes by the program, from the call that asks for it to its end: a lease, a function on the host, a
// copy. It waits until nothing that came before excludes it, and then is open.
type access struct {
	// What the shortest access needs comes first.
	part          // the only one, or the first begin and the last end of parts
	open     bool // nothing excludes it any more
	inside   bool // it has what it needs: the program is at the bytes
	writes   bool // some part does
	enlisted bool // it is in the trees, and in live
	place    protocol.Place
	slot     uint32 // of accesses
	gen      uint32 // so that a lease which was released is told from the next in its slot
	seq      uint64 // in the order of arrival
	replica  *replica
	stream   *hal.Stream   // nil on the host
	mem      *hal.Memory   // that the lease gives out
	own      *owner        // so that a buffer in use is not taken for one that nobody can reach
	op       string        // the call
	since    time.Duration // when it had what it needed, from began: set while somebody observes
	waiters  []*access     // those that wait for this one to end

	parts   []part // several, ascending and apart; nil if there is one
	side    side   // of memory that host and device take turns with
	counted bool   // the bytes that need not be copied were counted
	index   int    // in live
	pieces  []piece
	behind  *access // whom it waits for
	at      int     // in behind's waiters
	admit   chan struct{}
	site    callsite.Site
}

// part is a range of bytes and what is done to it.
type part struct {
	lo, hi uint64
	mode   protocol.Action
}

func (p part) valid() bool {
	return p.mode == protocol.Read || p.mode == protocol.ReadWrite || p.mode == protocol.Overwrite
}
func (p part) writes() bool { return p.mode != protocol.Read }
func (p part) reads() bool  { return p.mode != protocol.Overwrite }

// piece is a part as the trees have it.
type piece struct {
	span.Node[*access]
	tree *span.Tree[*access]
}

// side is on which side of memory an access is that host and device take turns with.
type side uint8

const (
	neither side = iota
	hostSide
	deviceSide
)

// accesses are those of one storage, open and waiting. Whoever comes is behind everybody who came before on common bytes, if one of
// the two writes: first come, first served, so that readers who keep coming do not keep a writer waiting. To find out takes
// O(log n) with n accesses, and each that ends wakes only those who waited for it.
//
// Where host and device take turns with the memory, each side is also behind every access of the other that came before, whatever
// its bytes, if one of the two writes.
type accesses struct {
	slots []*access
	free  []uint32
	spare *access   // whose slot is free, too, and is taken first
	live  []*access // those in the trees
	count int       // open
	seq   uint64
	solo  *access // open, the only one, and not in the trees yet
	steps int     // of find

	read, write span.Tree[*access] // by bytes
	turns       bool
	turn        [3][2]span.Tree[*access] // by side and by whether they write, if there are turns
}

const never = ^uint64(0)

// manySlots is how many slots are kept when none is in use.
const manySlots = 64

// each calls fn for every part.
func (x *access) each(fn func(part)) {
	if x.parts == nil {
		fn(x.part)
	}
	for _, p := range x.parts {
		fn(p)
	}
}

// take returns a slot for an access that is about to ask.
func (a *accesses) take() *access {
	x := a.spare
	if x != nil {
		a.spare = nil
	} else if n := len(a.free); n > 0 {
		x = a.slots[a.free[n-1]]
		a.free = a.free[:n-1]
	} else {
		x = &access{slot: uint32(len(a.slots))}
		a.slots = append(a.slots, x)
	}
	a.seq++
	x.seq, x.gen = a.seq, uint32(a.seq)
	return x
}

// flush puts the only access into the trees, for others to find.
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
	if a.turns && x.side != neither {
		other := hostSide + deviceSide - x.side
		later(a.turn[other][1].Latest(0, 1, seq))
		if x.writes {
			later(a.turn[other][0].Latest(0, 1, seq))
		}
	}
	return last
}

// enlist makes x one of those that later accesses are behind.
func (a *accesses) enlist(x *access) {
	if !x.enlisted {
		x.enlisted, x.index = true, len(a.live)
		a.live = append(a.live, x)
	}
	n := max(len(x.parts), 1)
	if a.turns && x.side != neither {
		n++
	}
	if cap(x.pieces) < n {
		x.pieces = make([]piece, n)
	}
	x.pieces = x.pieces[:n]
	insert := func(i int, t *span.Tree[*access], lo, hi uint64) {
		p := &x.pieces[i]
		p.tree, p.Lo, p.Hi, p.Seq, p.Value = t, lo, hi, x.seq, x
		t.Insert(&p.Node)
	}
	if x.parts == nil {
		insert(0, a.by(x.part), x.lo, x.hi)
	} else {
		for i, p := range x.parts {
			insert(i, a.by(p), p.lo, p.hi)
		}
	}
	if a.turns && x.side != neither {
		w := 0
		if x.writes {
			w = 1
		}
		insert(n-1, &a.turn[x.side][w], 0, 1)
	}
}

func (a *accesses) by(p part) *span.Tree[*access] {
	if p.writes() {
		return &a.write
	}
	return &a.read
}

// admitted opens an access that nothing excludes.
func (a *accesses) admitted(x *access) {
	x.open = true
	a.count++
}

// end takes an access away, open or not, and lets those go on that waited for it alone.
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
	if x.stream != nil {
		x.stream, x.mem = nil, nil
	}
	if x.parts != nil {
		x.parts = nil
	}
	if a.spare == nil {
		a.spare = x
	} else {
		a.free = append(a.free, x.slot)
	}
	if len(x.waiters) == 0 {
		if len(a.slots) > manySlots && len(a.free)+1 == len(a.slots) {
			a.slots, a.free, a.spare = nil, nil, nil // they are looked through, and were many at once
		}
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

// strike takes an access out of the trees.
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

// examine opens an access that waits, or finds out whom it waits for now.
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

// wait makes w one of those that x ends the wait of.
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

// get returns the access that a lease stands for, nil if the lease is stale.
func (a *accesses) get(slot, gen uint32) *access {
	if int(slot) >= len(a.slots) {
		return nil
	}
	if x := a.slots[slot]; x.open && x.gen == gen {
		return x
	}
	return nil
}

// find returns an open access that fn takes, or nil.
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

// onHost reports whether there is an access of the host, which must find the replica where it is.
func (a *accesses) onHost() bool {
	return a.find(func(x *access) bool { return x.stream == nil && x.place == protocol.Host }) != nil
}

// held reports whether an open access other than x writes a byte of the range at a place.
func (a *accesses) held(x *access, p protocol.Place, lo, hi uint64) bool {
	a.flush()
	if a.write.Len() == 0 {
		return false
	}
	for _, n := range a.write.Meeting(lo, hi, nil) {
		if o := n.Value; o != x && o.open && o.replica != nil && o.place == p {
			return true
		}
	}
	return false
}

// empty reports whether there is no access, open or waiting.
func (a *accesses) empty() bool { return a.solo == nil && a.write.Len() == 0 && a.read.Len() == 0 }

// begin opens an access that nothing excludes.
func (a *accesses) begin(x *access) {
	if a.empty() {
		a.alone(x)
		return
	}
	a.flush()
	a.enlist(x)
	a.admitted(x)
}

// alone opens an access where there is no other.
func (a *accesses) alone(x *access) {
	a.solo = x
	a.admitted(x)
}

// queue waits, with mu held, until nothing that came before excludes x, and makes it one of those that later accesses are behind.
// The lock is given up in between. After an error x is not there.
func (a *accesses) queue(ctx context.Context, mu *sync.Mutex, x *access) (blocked bool, err error) {
	b := a.excluding(x, never)
	a.enlist(x)
	if b == nil {
		a.admitted(x)
		return false, nil
	}
	return true, a.pause(ctx, mu, x, b)
}

// pause gives mu up until x, which waits for b, is let go, or until ctx ends.
func (a *accesses) pause(ctx context.Context, mu *sync.Mutex, x, b *access) error {
	defer trace.StartRegion(ctx, "halyard: wait").End()
	admit := make(chan struct{})
	x.admit = admit
	x.wait(b)
	mu.Unlock()
	select {
	case <-admit:
	case <-ctx.Done():
	}
	mu.Lock()
	if x.admit == nil {
		return nil // it may have ended as ctx did
	}
	x.admit = nil
	x.leave()
	return ctx.Err()
}

// startTurns begins to keep host and device apart: they take turns with the memory from now on. side tells on which side an access is.
func (a *accesses) startTurns(side func(*access) side) {
	a.flush()
	a.turns = true
	for _, x := range a.live {
		if len(x.pieces) == 0 {
			continue
		}
		for i := range x.pieces {
			x.pieces[i].tree.Delete(&x.pieces[i].Node)
		}
		x.side = side(x)
		a.enlist(x)
	}
}
