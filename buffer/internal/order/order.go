package order

import (
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/span"
)

// Order has the Works that later accesses of one replica wait for. A write is ordered behind all earlier work on its bytes, and so replaces
// that work. Once there are more than a few Works, each Add asks two of them whether they have ended, and removes those that have. So at
// most about half of the Works in an Order have ended, besides the failed writes whose failure has not been reported yet.
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
	steps int
}

// use is what one Work does to the bytes of the replica.
type use struct {
	work  *Work
	write bool
	tree  *span.Tree[*use] // writes or reads
	own   bool             // the program's own work, no copy
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

// Wait says that a stream has to wait for a Work, or the host if Stream is nil.
type Wait struct {
	Work   *Work
	Stream *hal.Stream
}

// Waits appends the Works that an access of the range has to wait for on a stream, or on the host if stream is nil: the barrier, the
// writes of its bytes and, if the access writes, the reads as well. It leaves out the stream's own Works. The references stay the
// Order's.
func (o *Order) Waits(stream *hal.Stream, lo, hi uint64, write bool, dst []Wait) []Wait {
	if len(o.uses) == 0 && o.barrier == nil {
		return dst
	}
	o.round++
	if b := o.barrier; b != nil && b.Stream != stream && !b.ended.Load() {
		dst = append(dst, Wait{b, stream})
	}
	o.found = o.writes.Meeting(lo, hi, o.found[:0])
	if write {
		o.found = o.reads.Meeting(lo, hi, o.found)
	}
	for _, n := range o.found {
		if u := n.Value; u.round != o.round && u.work.Stream != stream && !u.work.ended.Load() {
			u.round = o.round
			dst = append(dst, Wait{u.work, stream})
		}
	}
	clear(o.found)
	return dst
}

// MakeWait makes streams wait. It does not block: if the host has to wait, because a Wait has no stream or because the stream cannot be
// made to wait, no stream is made to wait, and left is the work for which the host has to wait, with a reference to each, in the memory of
// list.
func MakeWait(waits []Wait, list []*Work) (left []*Work, err error) {
	left = list[:0]
	for _, w := range waits {
		if w.Stream != nil && w.Work.Deferred(w.Stream) {
			continue
		}
		if done, _ := w.Work.Ended(); !done {
			left = append(left, w.Work.Retain())
		}
	}
	if len(left) == 0 {
		for _, w := range waits {
			if w.Stream != nil && err == nil {
				err = w.Work.Before(w.Stream)
			}
		}
	}
	clear(waits)
	return left, err
}

// SetSources makes the Works that wrote bytes of the ranges, and are not known to have ended without an error, the sources of w, which
// reads the ranges. Those whose failures the event of w reports as well are left out. The caller must have the only reference to w.
func (o *Order) SetSources(w *Work, ranges ...span.Range) {
	if o.writes.Len() == 0 {
		return
	}
	o.round++
	for _, r := range ranges {
		o.found = o.writes.Meeting(r.Lo, r.Hi, o.found[:0])
		for _, n := range o.found {
			if u := n.Value; u.round != o.round && !u.work.EndedWell() && !(u.work.Stream == w.Stream && u.work.tellsLater()) {
				u.round = o.round
				w.AddSource(u.work.Retain())
			}
		}
		clear(o.found)
	}
}

// Failure is bytes that a failed Work wrote.
type Failure struct {
	span.Range
	Err error
}

// Failed asks the Works that wrote bytes of the range whether they have failed. If stream is not nil, it skips the program's own work on the
// stream, because the stream's next event reports the same failure. Copies are always asked: the bytes are current elsewhere, too, until the
// access makes those stale.
// It returns all bytes that the failed ones wrote, also those outside the range. The caller removes them with Forget. Failed itself removes
// Works that have ended without an error. If keep is set and the Order has few Works, the program's own stay, so that Renew finds them.
func (o *Order) Failed(stream *hal.Stream, lo, hi uint64, keep bool) (list []Failure) {
	if o.writes.Len() == 0 {
		return nil
	}
	keep = keep && len(o.uses) <= crowd
	o.round++
	o.found = o.writes.Meeting(lo, hi, o.found[:0])
	for _, n := range o.found {
		u := n.Value
		if u == nil || u.round == o.round { // it was removed, or asked, together with another piece
			continue
		}
		u.round = o.round
		if u.own && u.work.Stream == stream && u.work.tellsLater() {
			continue
		}
		switch done, err := u.work.Ended(); {
		case !done:
		case err != nil:
			for _, r := range u.ranges() {
				list = append(list, Failure{r, err})
			}
		case !keep || !u.own:
			o.drop(u)
		}
	}
	clear(o.found)
	return list
}

// Doomed finds the Works that write bytes of the range, have not ended, and are sure to fail because a source has failed. It returns all
// bytes that these Works write, also those outside the range. The Works stay: later accesses have to wait for them.
func (o *Order) Doomed(lo, hi uint64) (list []Failure) {
	o.found = o.writes.Meeting(lo, hi, o.found[:0])
	for _, n := range o.found {
		if done, _ := n.Value.work.Ended(); done {
			continue
		}
		if err := n.Value.work.doomed(); err != nil {
			for _, r := range n.Value.ranges() {
				list = append(list, Failure{r, err})
			}
		}
	}
	clear(o.found)
	return list
}

// Unsure returns some Work that writes bytes of the range and has not ended, or nil. bad reports whether a Work that wrote such bytes has
// failed.
func (o *Order) Unsure(lo, hi uint64) (pending *Work, bad bool) {
	if o.writes.Len() == 0 {
		return nil, false
	}
	o.found = o.writes.Meeting(lo, hi, o.found[:0])
	for _, n := range o.found {
		switch done, err := n.Value.work.Ended(); {
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
	if w.depth > shallow && !w.joined {
		waiting.join(w)
	}
	var u *use
	if last := len(o.spare) - 1; last >= 0 {
		u, o.spare[last] = o.spare[last], nil
		o.spare = o.spare[:last]
	} else {
		u = new(use)
	}
	o.seq++
	u.work, u.write, u.tree, u.own, u.at, u.seq = w, write, &o.reads, own, len(o.uses), o.seq
	w.refs.Add(1)
	o.uses = append(o.uses, u)
	if write {
		u.tree = &o.writes
		for _, r := range ranges {
			o.Forget(r.Lo, r.Hi, true, true)
		}
	}
	for _, r := range ranges {
		u.insert(r.Lo, r.Hi)
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

// insert adds a piece to a use.
func (u *use) insert(lo, hi uint64) {
	n := &u.node
	if n.Value != nil {
		n = new(span.Node[*use])
		u.more = append(u.more, n)
	}
	u.nodes++
	n.Lo, n.Hi, n.Value = lo, hi, u
	u.tree.Insert(n)
}

// Forget removes the bytes from the writes, from the reads, or from both: they were written again, or are bad.
func (o *Order) Forget(lo, hi uint64, writes, reads bool) {
	o.found = o.found[:0]
	if writes {
		o.found = o.writes.Meeting(lo, hi, o.found)
	}
	if reads {
		o.found = o.reads.Meeting(lo, hi, o.found)
	}
	for _, n := range o.found {
		u, from, to := n.Value, n.Lo, n.Hi
		u.tree.Delete(n)
		n.Value = nil
		u.nodes--
		if from < lo {
			n.Lo, n.Hi, n.Value = from, lo, u
			u.nodes++
			u.tree.Insert(n)
		}
		if hi < to {
			u.insert(hi, to)
		}
		if u.nodes == 0 {
			o.drop(u)
		}
	}
	clear(o.found)
}

// drop removes a use, with all of its pieces.
func (o *Order) drop(u *use) {
	if u.node.Value != nil {
		u.tree.Delete(&u.node)
	}
	for _, n := range u.more {
		if n.Value != nil {
			u.tree.Delete(n)
			n.Value = nil
		}
	}
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
	*u = use{}
	if len(o.spare) < crowd {
		o.spare = append(o.spare, u)
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
		if done, err := u.work.Ended(); done && (err == nil || !u.write) {
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
		if done, _ := o.barrier.Ended(); done {
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
