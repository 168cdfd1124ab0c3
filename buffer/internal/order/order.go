package order

import (
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/span"
)

// Order has the Works that later accesses of one replica wait for. A write is ordered behind all earlier work on its bytes, and so replaces
// that work. Once there are more than a few Works, each Add asks two of them whether they have ended, and removes those that have. So an
// Order contains the Works that have not ended, about as many that have, and the failed writes whose failure has not been reported yet.
//
// Its methods do not wait. They are not safe for concurrent use.
type Order struct {
	writes span.Tree[*use] // the latest write of each byte, so no two nodes have a common byte
	reads  span.Tree[*use]

	// barrier is earlier work on memory of a pool, from before the replica got that memory. Every access waits for it.
	barrier *Work

	uses  []*use
	hand  int     // index of the use that sweep asks next
	last  [4]*use // the program's latest reads
	next  int     // index in last
	round uint64  // number of searches
	seq   uint64

	spare []*use
	found []*span.Node[*use] // scratch
	works []*Work            // scratch
	steps int
}

// use is what one Work does to the bytes of the replica.
type use struct {
	work  *Work
	write bool
	own   bool // the program's own work, no copy
	node  span.Node[*use]
	more  []*span.Node[*use] // further pieces; a piece that is no longer in the tree has a nil Value
	nodes int                // number of pieces in the tree
	at    int                // index in uses
	seq   uint64             // grows with each Work that is added or renewed
	round uint64             // the last search that found the use
	good  bool               // the work is known to have ended without an error
}

const (
	crowd = 8 // if there are more uses than that, each Add asks some of them whether they have ended
	asked = 2 // the number of uses that one Add asks; it is more than 1, so ended uses cannot become many more than the others
)

// Idle reports whether the Order has no Works.
func (o *Order) Idle() bool { return len(o.uses) == 0 && o.barrier == nil }

// Len returns the number of Works, without the barrier.
func (o *Order) Len() int { return len(o.uses) }

// Steps returns the number of nodes and uses examined so far. Tests measure with it how costs grow.
func (o *Order) Steps() int { return o.steps + o.writes.Steps() + o.reads.Steps() }

func (o *Order) tree(write bool) *span.Tree[*use] {
	if write {
		return &o.writes
	}
	return &o.reads
}

// Waits appends the Works that an access of the range has to wait for: the writes of its bytes and, if the access writes, the reads as
// well. No Work is appended twice in one round; a round begins with Round. The references stay the Order's.
func (o *Order) Waits(lo, hi uint64, write bool, dst []*Work) []*Work {
	dst = o.collect(&o.writes, lo, hi, dst)
	if write {
		dst = o.collect(&o.reads, lo, hi, dst)
	}
	return dst
}

// Round begins a round of Waits, and appends the barrier, for which every access has to wait.
func (o *Order) Round(dst []*Work) []*Work {
	o.round++
	if o.barrier != nil && !o.barrier.ended.Load() {
		dst = append(dst, o.barrier)
	}
	return dst
}

func (o *Order) collect(t *span.Tree[*use], lo, hi uint64, dst []*Work) []*Work {
	if t.Len() == 0 {
		return dst
	}
	o.found = t.Meeting(lo, hi, o.found[:0])
	for _, n := range o.found {
		if u := n.Value; u.round != o.round && !u.work.Over() {
			u.round = o.round
			dst = append(dst, u.work)
		}
	}
	clear(o.found)
	return dst
}

// Sources makes the Works that wrote bytes of the ranges, and are not known to have ended without an error, the sources of w, which reads
// the ranges. The caller must have the only reference to w.
func (o *Order) Sources(w *Work, ranges ...span.Range) {
	if o.writes.Len() == 0 {
		return
	}
	o.round++
	for _, r := range ranges {
		o.works = o.collect(&o.writes, r.Lo, r.Hi, o.works)
	}
	for i, a := range o.works {
		w.Reads(a.Retain())
		o.works[i] = nil
	}
	o.works = o.works[:0]
}

// Failed asks the Works that wrote bytes of the range whether they have failed. For a failed Work it calls fn with each piece that the
// Work wrote, also outside the range, and removes the parts of the piece that fn returns. It removes Works that have ended without an
// error. If keep is set and the Order has few Works, the program's own stay, so that Renew finds them.
func (o *Order) Failed(lo, hi uint64, keep bool, fn func(lo, hi uint64, err error) (handled []span.Range)) {
	if o.writes.Len() == 0 || lo >= hi {
		return
	}
	keep = keep && len(o.uses) <= crowd
	if n := o.writes.Only(); n != nil {
		if n.Lo < hi && lo < n.Hi {
			o.look(n.Value, keep, fn)
		}
		return
	}
	o.found = o.writes.Meeting(lo, hi, o.found[:0])
	for _, n := range o.found {
		if n.Value != nil { // nil if it was forgotten together with another piece
			o.look(n.Value, keep, fn)
		}
	}
	clear(o.found)
}

func (o *Order) look(u *use, keep bool, fn func(lo, hi uint64, err error) []span.Range) {
	done, err := u.work.End()
	switch {
	case !done:
	case err != nil:
		o.fail(u, err, fn)
	case !keep || !u.own:
		o.drop(u)
	}
}

func (o *Order) fail(u *use, err error, fn func(lo, hi uint64, err error) []span.Range) {
	for _, piece := range u.ranges() {
		for _, d := range fn(piece.Lo, piece.Hi, err) {
			for _, n := range o.writes.Meeting(d.Lo, d.Hi, nil) { // only of u, because no two writes have a common byte
				o.cut(&o.writes, n, d.Lo, d.Hi)
			}
		}
	}
}

// Pending appends the Works on the range that have not ended: the writes and, if reads is set, the reads. Each gets a reference for the
// caller. Pending asks the driver, and removes reads that have ended.
func (o *Order) Pending(lo, hi uint64, reads bool, dst []*Work) []*Work {
	for _, t := range [...]*span.Tree[*use]{&o.writes, &o.reads} {
		if t.Len() == 0 || t == &o.reads && !reads {
			continue
		}
		o.found = t.Meeting(lo, hi, o.found[:0])
		for _, n := range o.found {
			u := n.Value
			if u == nil || u.round == o.round {
				continue
			}
			u.round = o.round
			if done, _ := u.work.End(); !done {
				dst = append(dst, u.work.Retain())
			} else if !u.write {
				o.drop(u)
			}
		}
		clear(o.found)
	}
	return dst
}

// Unsure returns some Work that writes bytes of the range and has not ended, or nil. bad reports whether a Work that wrote such bytes has
// failed.
func (o *Order) Unsure(lo, hi uint64) (pending *Work, bad bool) {
	if o.writes.Len() == 0 {
		return nil, false
	}
	o.found = o.writes.Meeting(lo, hi, o.found[:0])
	for _, n := range o.found {
		switch done, err := n.Value.work.End(); {
		case !done && pending == nil:
			pending = n.Value.work
		case err != nil:
			bad = true
		}
	}
	clear(o.found)
	return pending, bad
}

// Add adds a Work, which has all its sources, and which writes or reads the ranges, which must not overlap. It takes a reference of its
// own. own says that it is the program's work, and no copy.
func (o *Order) Add(w *Work, write, own bool, ranges ...span.Range) {
	waiting.join(w)
	o.seq++
	u := o.newUse()
	u.work, u.write, u.own, u.at, u.seq = w.Retain(), write, own, len(o.uses), o.seq
	o.uses = append(o.uses, u)
	t := o.tree(write)
	for _, r := range ranges {
		if write {
			o.supersede(&o.writes, r.Lo, r.Hi)
			o.supersede(&o.reads, r.Lo, r.Hi)
		}
		o.insert(t, u, r.Lo, r.Hi)
	}
	if own && !write {
		if len(ranges) == 1 {
			o.overtake(u)
		}
		o.last[o.next] = u
		o.next = (o.next + 1) % len(o.last)
	}
	if len(o.uses) > crowd {
		o.sweep()
	}
}

// ranges returns the bytes of the use, without those that later work has written.
func (u *use) ranges() (at []span.Range) {
	if u.node.Value != nil {
		at = append(at, span.Range{Lo: u.node.Lo, Hi: u.node.Hi})
	}
	for _, n := range u.more {
		if n.Value != nil {
			at = append(at, span.Range{Lo: n.Lo, Hi: n.Hi})
		}
	}
	return at
}

// overtake removes earlier reads of exactly the same bytes on the same stream: a stream does its work in order, so they end before u.
func (o *Order) overtake(u *use) {
	for i, e := range o.last {
		if e != nil && e.reads(u.work.Stream, u.node.Lo, u.node.Hi) {
			o.last[i] = nil
			o.drop(e)
		}
	}
}

func (u *use) reads(stream *hal.Stream, lo, hi uint64) bool {
	return !u.write && u.own && u.work.Stream == stream && u.nodes == 1 && u.node.Value != nil && u.node.Lo == lo && u.node.Hi == hi
}

// sweep asks a few uses whether they have ended, and removes those that have. A failed write stays until Failed has reported it.
func (o *Order) sweep() {
	for range asked {
		if o.hand >= len(o.uses) {
			o.hand = 0
		}
		if len(o.uses) == 0 {
			return
		}
		o.steps++
		u := o.uses[o.hand]
		if done, err := u.work.End(); done && (err == nil || !u.write) {
			o.drop(u)
		} else {
			o.hand++
		}
	}
}

// SetBarrier makes every later access wait for the Work, which changes no byte of the replica.
// SetBarrier takes over the caller's reference.
func (o *Order) SetBarrier(w *Work) {
	if o.barrier != nil {
		o.barrier.Release()
	}
	o.barrier = w
}

// Barrier returns the Work that SetBarrier set, or nil if there is none or it has ended, with or without an error.
func (o *Order) Barrier() *Work {
	if o.barrier != nil {
		if done, _ := o.barrier.End(); done {
			o.SetBarrier(nil)
		}
	}
	return o.barrier
}

// Works calls fn with every Work, and whether it writes.
func (o *Order) Works(fn func(w *Work, writes bool)) {
	if o.barrier != nil {
		fn(o.barrier, true)
	}
	for _, u := range o.uses {
		fn(u.work, u.write)
	}
}

// Newest returns the Work that was added or renewed last among those for which fn returns true, or nil.
func (o *Order) Newest(fn func(*Work) bool) (newest *Work) {
	seq := uint64(0)
	if o.barrier != nil && fn(o.barrier) {
		newest = o.barrier
	}
	for _, u := range o.uses {
		if u.seq > seq && fn(u.work) {
			newest, seq = u.work, u.seq
		}
	}
	return newest
}

// Clear removes all Works and the barrier.
func (o *Order) Clear() {
	o.SetBarrier(nil)
	for len(o.uses) > 0 {
		o.drop(o.uses[len(o.uses)-1])
	}
}

// Overwritten removes the Works from the range. They have all ended, and the host has overwritten the bytes, which no longer depend on
// them.
func (o *Order) Overwritten(lo, hi uint64) {
	o.supersede(&o.writes, lo, hi)
	o.supersede(&o.reads, lo, hi)
}

// supersede removes the bytes from all uses of the tree.
func (o *Order) supersede(t *span.Tree[*use], lo, hi uint64) {
	if t.Len() == 0 {
		return
	}
	o.found = t.Meeting(lo, hi, o.found[:0])
	for _, n := range o.found {
		o.cut(t, n, lo, hi)
	}
	clear(o.found)
}

// cut removes [lo, hi) from a node, and the use from the Order if it has no bytes left.
func (o *Order) cut(t *span.Tree[*use], n *span.Node[*use], lo, hi uint64) {
	u, from, to := n.Value, n.Lo, n.Hi
	t.Delete(n)
	n.Value = nil
	u.nodes--
	if from < lo {
		n.Lo, n.Hi, n.Value = from, lo, u
		u.nodes++
		t.Insert(n)
	}
	if hi < to {
		o.insert(t, u, hi, to)
	}
	if u.nodes == 0 {
		o.forget(u)
	}
}

// insert adds a piece to a use.
func (o *Order) insert(t *span.Tree[*use], u *use, lo, hi uint64) {
	n := &u.node
	if n.Value != nil {
		n = new(span.Node[*use])
		u.more = append(u.more, n)
	}
	u.nodes++
	n.Lo, n.Hi, n.Value = lo, hi, u
	t.Insert(n)
}

// drop removes a use from the tree and from the Order.
func (o *Order) drop(u *use) {
	t := o.tree(u.write)
	if u.node.Value != nil {
		t.Delete(&u.node)
		u.node.Value = nil
	}
	for _, n := range u.more {
		if n.Value != nil {
			t.Delete(n)
			n.Value = nil
		}
	}
	u.more, u.nodes = nil, 0
	o.forget(u)
}

func (o *Order) forget(u *use) {
	last := len(o.uses) - 1
	o.uses[u.at] = o.uses[last]
	o.uses[u.at].at = u.at
	o.uses[last] = nil
	o.uses = o.uses[:last]
	for i, l := range o.last {
		if l == u {
			o.last[i] = nil
		}
	}
	u.work.Release()
	if u.more == nil && len(o.spare) < crowd {
		*u = use{}
		o.spare = append(o.spare, u)
	}
}

func (o *Order) newUse() *use {
	last := len(o.spare) - 1
	if last < 0 {
		return new(use)
	}
	u := o.spare[last]
	o.spare[last] = nil
	o.spare = o.spare[:last]
	return u
}
