package order

import (
	"github.com/go-halyard/halyard/buffer/internal/span"
	"github.com/go-halyard/halyard/hal"
)

// Order is the work that later accesses of one replica wait for. A write is ordered behind all earlier work on its bytes, and so takes
// the place of that work. Work that has ended well is forgotten, a little with each Add. An Order therefore holds what is under way,
// about as much again that has ended, and the failures that nobody was told of yet.
//
// Its methods do not wait, and its user locks it.
type Order struct {
	writes span.Tree[*use] // no two share a byte: the latest write of each
	reads  span.Tree[*use]

	// barrier is work on the memory as a whole that changes no byte: the hand-over between a device and the host, or work that may still
	// use memory of a pool from before the replica had it. Every access waits for it.
	barrier *Work

	uses  []*use
	hand  int // index of the next of uses that is asked whether it has ended
	last  [4]*use
	next  int    // index in last
	round uint64 // number of searches
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
	kind  Kind
	node  span.Node[*use]
	more  []*span.Node[*use] // further pieces; Value is nil in those that are no longer in the tree
	nodes int                // number of pieces in the tree
	at    int                // index in uses
	seq   uint64             // in the order in which work was added or renewed
	round uint64
	good  bool // the work is known to have ended well
}

// crowd is how many uses are kept without asking whether they have ended. Beyond that, each Add asks asked of them. Because up to two
// are forgotten for each one added, those that have ended are never many more than those that have not.
const (
	crowd = 8
	asked = 2
)

// Idle reports whether nothing is known to be under way or to have failed.
func (o *Order) Idle() bool { return len(o.uses) == 0 && o.barrier == nil }

// Len is the number of Works.
func (o *Order) Len() int { return len(o.uses) }

// Steps counts what was looked at so far, for tests of growth.
func (o *Order) Steps() int { return o.steps + o.writes.Steps() + o.reads.Steps() }

func (o *Order) tree(write bool) *span.Tree[*use] {
	if write {
		return &o.writes
	}
	return &o.reads
}

// Waits appends what an access of the range has to wait for: the writes of its bytes and, if it writes, the reads as well.
// No Work is appended twice in one round; a round begins with Begin. The references stay the Order's.
func (o *Order) Waits(lo, hi uint64, write bool, dst []*Work) []*Work {
	dst = o.collect(&o.writes, lo, hi, dst)
	if write {
		dst = o.collect(&o.reads, lo, hi, dst)
	}
	return dst
}

// Begin begins a round of Waits, and appends what every access has to wait for.
func (o *Order) Begin(dst []*Work) []*Work {
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

// MakeOf tells a Work, which nobody else has yet, that it reads the ranges: it is made of the Works that wrote bytes of them and are not
// known to have ended well.
func (o *Order) MakeOf(w *Work, ranges ...span.Range) {
	if o.writes.Len() == 0 {
		return
	}
	o.round++
	for _, r := range ranges {
		o.works = o.collect(&o.writes, r.Lo, r.Hi, o.works)
	}
	for i, a := range o.works {
		w.MadeOf(a.Retain())
		o.works[i] = nil
	}
	o.works = o.works[:0]
}

// Kind says what a Work did to the bytes that it wrote.
type Kind uint8

const (
	Copied Kind = iota // from another place
	Zeroed
	Own // the program's work
)

// Failed asks the Works that wrote bytes of the range how they have ended. It calls fn for each piece, in the range or not, that a failed
// one wrote, and forgets the pieces for which fn returns true. It forgets Works that have ended well, except that with keep it keeps the
// program's own as long as there are few.
func (o *Order) Failed(lo, hi uint64, keep bool, fn func(lo, hi uint64, kind Kind, err error) (digested bool)) {
	if o.writes.Len() == 0 {
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

func (o *Order) look(u *use, keep bool, fn func(lo, hi uint64, kind Kind, err error) bool) {
	done, err := u.work.End()
	switch {
	case !done:
	case err != nil:
		o.fail(u, err, fn)
	case !keep || u.kind != Own:
		o.drop(u)
	}
}

// Quiet reports whether the replica has no other work than the program's earlier work on the same stream, none of which is known to have
// failed. Then an access on the stream can begin at once. It is a quick test for the most common case: false does not mean that an access
// has to wait.
func (o *Order) Quiet(stream *hal.Stream) bool {
	if o.barrier != nil && o.barrier.Stream != stream && o.Barrier() != nil || len(o.uses) > len(o.last) {
		return false
	}
	for _, u := range o.uses {
		if u.kind != Own || u.work.Stream != stream || !u.fine() {
			return false
		}
	}
	return true
}

// fine reports whether the work is not known to have failed. It asks until the work has ended.
func (u *use) fine() bool {
	if u.good || !u.write {
		return true
	}
	var done bool
	var err error
	if u.work.alone() {
		done, err = u.work.event.Done()
	} else {
		done, err = u.work.End()
	}
	u.good = done && err == nil
	return err == nil
}

func (o *Order) fail(u *use, err error, fn func(lo, hi uint64, kind Kind, err error) bool) {
	for _, n := range append([]*span.Node[*use]{&u.node}, u.more...) {
		if n.Value != nil && fn(n.Lo, n.Hi, u.kind, err) {
			o.cut(&o.writes, n, n.Lo, n.Hi)
		}
	}
}

// Pending appends, with a reference each, the Works on the range that have not ended: those that write, and those that read as well if
// reads is set. It asks each, and forgets reads that have ended.
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

// Unsure returns some Work that wrote bytes of the range and has not ended, or nil. bad says that one is known to have failed.
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

// Add notes that the Work writes or reads the ranges, which do not overlap. It takes a reference of its own.
func (o *Order) Add(w *Work, write bool, kind Kind, ranges ...span.Range) {
	o.seq++
	u := o.newUse()
	u.work, u.write, u.kind, u.at, u.seq = w.Retain(), write, kind, len(o.uses), o.seq
	o.uses = append(o.uses, u)
	t := o.tree(write)
	for _, r := range ranges {
		if write {
			o.supersede(&o.writes, r.Lo, r.Hi)
			o.supersede(&o.reads, r.Lo, r.Hi)
		}
		o.insert(t, u, r.Lo, r.Hi)
	}
	if kind == Own && !write {
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

// Moved notes that the stream was ordered behind all earlier work, and given work that brings all bytes of the replica from one memory to
// another. It counts as a write of them all: if it fails, they are bad. If a write failed before it, the bytes of that write are bad, and no
// others.
func (o *Order) Moved(stream *hal.Stream, size uint64) {
	type earlier struct {
		work *Work
		at   []span.Range
	}
	var under []earlier // writes that are not known to have ended well
	for _, u := range o.uses {
		if u.write && !u.work.Over() {
			under = append(under, earlier{u.work.Retain(), u.ranges()})
		}
	}
	w := NewWork(stream)
	o.Add(w, true, Copied, span.Range{Hi: size})
	w.Release()
	for _, e := range under {
		w := NewWork(stream)
		w.MadeOf(e.work)
		o.Add(w, true, Copied, e.at...)
		w.Release()
	}
	o.SetBarrier(nil)
}

// ranges returns the bytes of the use, without those that others have written since.
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

// overtake forgets earlier reads by the same stream of exactly the bytes that u reads, because a stream does its work in order.
func (o *Order) overtake(u *use) {
	for i, e := range o.last {
		if e != nil && e.reads(u.work.Stream, u.node.Lo, u.node.Hi) {
			o.last[i] = nil
			o.drop(e)
		}
	}
}

func (u *use) reads(stream *hal.Stream, lo, hi uint64) bool {
	return !u.write && u.kind == Own && u.work.Stream == stream && u.nodes == 1 && u.node.Value != nil && u.node.Lo == lo && u.node.Hi == hi
}

// sweep asks a few uses whether they have ended. A write that failed stays until somebody is told.
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

// Renew makes the program's earlier work of the stream on exactly these bytes stand for all that the stream has been given since, too,
// which saves an event. The end of the later work then stands for both. Renew reports whether it could: there must be such work, nobody
// else may refer to it, and it must not be known to have failed. reads says that the bytes were read.
func (o *Order) Renew(stream *hal.Stream, lo, hi uint64, write, reads bool) bool {
	u := o.same(stream, lo, hi, write)
	if u == nil || u.failed() || !u.work.again(1, reads) {
		return false
	}
	o.renewed(u)
	return true
}

func (u *use) failed() bool {
	if !u.write || u.good {
		return false
	}
	done, err := u.work.End()
	return done && err != nil
}

func (o *Order) renewed(u *use) {
	o.seq++
	u.seq, u.good = o.seq, false
	if u.write {
		o.supersede(&o.reads, u.node.Lo, u.node.Hi)
	}
}

// Renewal is Renew for work on several replicas, whose earlier work was one Work, too.
type Renewal struct {
	work   *Work
	uses   [8]*use
	orders [8]*Order
	n      int32
}

// Add adds a replica, and reports whether its work can be renewed together with that of the replicas added before.
func (r *Renewal) Add(o *Order, stream *hal.Stream, lo, hi uint64, write bool) bool {
	u := o.same(stream, lo, hi, write)
	if u == nil || int(r.n) == len(r.uses) || r.n > 0 && u.work != r.work || u.failed() {
		return false
	}
	r.work = u.work
	r.uses[r.n], r.orders[r.n] = u, o
	r.n++
	return true
}

// Do renews the work on all the replicas, and reports whether it could.
func (r *Renewal) Do() bool {
	if r.n == 0 || !r.work.again(r.n, true) {
		return false
	}
	for i := range r.n {
		r.orders[i].renewed(r.uses[i])
	}
	return true
}

// same returns the use that Renew can renew, or nil.
func (o *Order) same(stream *hal.Stream, lo, hi uint64, write bool) *use {
	fits := func(u *use) bool {
		return u != nil && u.kind == Own && u.write == write && u.work.Stream == stream && u.nodes == 1 && u.node.Value != nil && u.node.Lo == lo && u.node.Hi == hi
	}
	if len(o.uses) == 1 {
		if u := o.uses[0]; fits(u) {
			return u
		}
		return nil
	}
	if n := o.tree(write).Any(lo, hi); n == nil {
		return nil
	} else if fits(n.Value) {
		return n.Value
	}
	if !write {
		for _, u := range o.last {
			if fits(u) {
				return u
			}
		}
	}
	return nil
}

// SetBarrier makes every later access wait for the Work, which changes no byte and was ordered behind everything. It takes over a
// reference.
func (o *Order) SetBarrier(w *Work) {
	if o.barrier != nil {
		o.barrier.Release()
	}
	o.barrier = w
}

// Barrier returns the work that SetBarrier set, or nil. Work that has ended well is forgotten.
func (o *Order) Barrier() *Work {
	if o.barrier != nil {
		if done, err := o.barrier.End(); done && err == nil {
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

// Newest returns the Work that was noted last among those for which fn returns true, or nil.
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

// Clear forgets everything.
func (o *Order) Clear() {
	o.SetBarrier(nil)
	for len(o.uses) > 0 {
		o.drop(o.uses[len(o.uses)-1])
	}
}

// Overwritten forgets the Works on the range, which have all ended: what the host has written there since depends on none of them.
func (o *Order) Overwritten(lo, hi uint64) {
	o.supersede(&o.writes, lo, hi)
	o.supersede(&o.reads, lo, hi)
}

// supersede forgets the uses of the bytes. A write that is ordered behind them takes their place.
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

// cut takes [lo, hi) from a node, and forgets the use with its last byte.
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

// insert gives a use one more piece.
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

// drop takes a use out of the tree, and forgets it.
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
