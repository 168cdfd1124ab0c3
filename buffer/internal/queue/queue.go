// Package queue decides which uses of a buffer are open, and which have to wait.
//
// Two uses exclude each other if they share a byte and one of them writes. A use waits for every earlier one that excludes it. Earlier
// ones that still wait count as well, so a steady flow of readers does not block a writer. Finding the use to wait for takes O(log n)
// with n uses, and a use that ends wakes only those that wait for it.
package queue

import (
	"context"
	"time"

	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/span"
)

// Part is the bytes [Lo, Hi) of a buffer and the mode of the access to them.
type Part struct {
	Lo, Hi uint64
	Mode   protocol.Action
}

// Writes reports whether the access excludes all others. Every mode but Read changes the bytes or takes them away.
func (p Part) Writes() bool { return p.Mode != protocol.Read }

// Reads reports whether the access needs the bytes that were written last. Only Overwrite does without.
func (p Part) Reads() bool { return p.Mode != protocol.Overwrite }

// Entry is one use of a buffer. It is a part of the value V that a program of the queue has for the use, and is used again with it.
type Entry[V any] struct {
	Part         // the only part, or the range from the first of Parts to the last
	Parts []Part // several parts, in ascending order with gaps between them, none of them empty; nil if there is one
	Of    V

	open     bool
	enlisted bool   // it is in the trees, and in live
	seq      uint64 // in the order of arrival
	index    int    // in live
	pieces   []piece[V]
	waiters  []*Entry[V] // those that wait for this one to end
	behind   *Entry[V]   // the one that it waits for
	at       int         // index in behind's waiters
	admit    chan struct{}
}

// piece is a node of one of the trees, for a part of an entry.
type piece[V any] struct {
	span.Node[*Entry[V]]
	tree *span.Tree[*Entry[V]]
}

// Each calls fn for every part that is not empty.
func (e *Entry[V]) Each(fn func(Part)) {
	if e.Parts == nil && e.Lo < e.Hi {
		fn(e.Part)
	}
	for _, p := range e.Parts {
		fn(p)
	}
}

// IsOpen reports whether the use has begun and has not ended.
func (e *Entry[V]) IsOpen() bool { return e.open }

// Queue has the uses of one buffer, open and waiting. Its zero value is empty. It is not safe for concurrent use.
type Queue[V any] struct {
	live  []*Entry[V] // those in the trees
	seq   uint64
	solo  *Entry[V] // the only use, open and not in the trees yet
	steps int

	read, write span.Tree[*Entry[V]] // by bytes
}

// never is a sequence number after all others.
const never = ^uint64(0)

// Steps returns the number of uses and nodes examined so far. Tests measure with it how costs grow.
func (q *Queue[V]) Steps() int { return q.steps + q.read.Steps() + q.write.Steps() }

// Waiting returns the number of uses that wait.
func (q *Queue[V]) Waiting() (n int) {
	for _, e := range q.live {
		n += len(e.waiters)
	}
	return n
}

// Enter gives an entry its place in the order of arrival, and opens it unless an earlier one excludes it; it returns that one. Then, with
// wait, later entries that e excludes wait for it from now on, and the caller calls Wait; without it the entry is not in the queue. If
// other is not nil, e is a part of it: it counts as having come together with other, and opens in any case.
func (q *Queue[V]) Enter(e, other *Entry[V], wait bool) (blocker *Entry[V]) {
	if q.solo == nil && len(q.live) == 0 {
		q.Alone(e)
		return nil
	}
	q.seq++
	e.seq = q.seq
	if other != nil {
		e.seq = other.seq
		q.flush()
	} else if blocker = q.excluding(e, never); blocker != nil && !wait {
		return blocker
	}
	q.enlist(e)
	if blocker == nil {
		e.open = true
	}
	return blocker
}

// Excluding returns Of of the last entry that excludes e, or the zero V. If e has entered, entries that came later do not count.
func (q *Queue[V]) Excluding(e *Entry[V]) (of V) {
	before := never
	if e.enlisted {
		before = e.seq
	}
	if other := q.excluding(e, before); other != nil {
		of = other.Of
	}
	return of
}

func (q *Queue[V]) excluding(e *Entry[V], seq uint64) *Entry[V] {
	q.flush()
	if q.write.Len() == 0 && q.read.Len() == 0 {
		return nil
	}
	var last *Entry[V]
	later := func(n *span.Node[*Entry[V]]) {
		if n != nil && (last == nil || n.Value.seq > last.seq) {
			last = n.Value
		}
	}
	look := func(p Part) {
		later(q.write.Latest(p.Lo, p.Hi, seq))
		if p.Writes() {
			later(q.read.Latest(p.Lo, p.Hi, seq))
		}
	}
	if e.Parts == nil {
		look(e.Part)
	}
	for _, p := range e.Parts {
		look(p)
	}
	return last
}

// Wait waits until e is opened, or, if e has not entered, until the other entry has ended; unlocked runs a function while other goroutines
// may use the queue. If late is ready first, Wait calls tell and goes on. If ctx ends first, Wait returns its error, and the caller ends e.
func (q *Queue[V]) Wait(ctx context.Context, e, other *Entry[V], unlocked func(func()), late <-chan time.Time, tell func()) error {
	admit, ended := make(chan struct{}), ctx.Done()
	e.admit = admit
	e.wait(other)
	unlocked(func() {
		select {
		case <-admit:
			return
		case <-ended:
			return
		case <-late:
			tell()
		}
		select {
		case <-admit:
		case <-ended:
		}
	})
	if e.admit == nil {
		return nil // e was opened just as ctx ended
	}
	e.admit = nil
	e.leave()
	return ctx.Err()
}

// Alone is Enter for an entry that finds the queue empty.
func (q *Queue[V]) Alone(e *Entry[V]) {
	q.seq++
	e.seq, q.solo, e.open = q.seq, e, true
}

// EndAlone is End for the only entry, if no other waits for it. It reports whether that is so, and otherwise does nothing.
func (q *Queue[V]) EndAlone(e *Entry[V]) bool {
	if q.solo != e || len(e.waiters) > 0 {
		return false
	}
	q.solo, e.open = nil, false
	return true
}

// End removes an entry, open or not, and opens those that waited only for it.
func (q *Queue[V]) End(e *Entry[V]) {
	if q.solo == e {
		q.solo = nil
	} else if e.enlisted {
		q.strike(e)
	}
	e.open = false
	if len(e.waiters) == 0 {
		return
	}
	waiters := e.waiters
	e.waiters = nil
	for _, w := range waiters {
		w.behind = nil
		q.examine(w)
	}
	if cap(waiters) <= 64 {
		clear(waiters)
		e.waiters = waiters[:0]
	}
}

// flush puts solo into the trees, where searches find it.
func (q *Queue[V]) flush() {
	if e := q.solo; e != nil {
		q.solo = nil
		q.enlist(e)
	}
}

// enlist puts e into the trees, so that later entries that it excludes wait for it.
func (q *Queue[V]) enlist(e *Entry[V]) {
	e.enlisted, e.index = true, len(q.live)
	q.live = append(q.live, e)
	n := max(1, len(e.Parts))
	if cap(e.pieces) < n {
		e.pieces = make([]piece[V], n)
	}
	e.pieces = e.pieces[:0]
	e.Each(func(p Part) {
		tree := &q.read
		if p.Writes() {
			tree = &q.write
		}
		i := len(e.pieces)
		e.pieces = e.pieces[:i+1]
		x := &e.pieces[i]
		x.tree, x.Lo, x.Hi, x.Seq, x.Value = tree, p.Lo, p.Hi, e.seq, e
		tree.Insert(&x.Node)
	})
}

// strike is the opposite of enlist.
func (q *Queue[V]) strike(e *Entry[V]) {
	for i := range e.pieces {
		p := &e.pieces[i]
		p.tree.Delete(&p.Node)
		p.tree, p.Value = nil, nil
	}
	if cap(e.pieces) > 64 {
		e.pieces = nil
	}
	e.pieces = e.pieces[:0]
	last := len(q.live) - 1
	q.live[e.index] = q.live[last]
	q.live[e.index].index = e.index
	q.live[last] = nil
	q.live = q.live[:last]
	e.enlisted = false
}

// examine opens a waiting entry if no earlier one excludes it any more. Otherwise it finds the entry to wait for next. An entry that has
// not entered waited for that one entry only.
func (q *Queue[V]) examine(e *Entry[V]) {
	if e.enlisted {
		if other := q.excluding(e, e.seq); other != nil {
			e.wait(other)
			return
		}
		e.open = true
	}
	close(e.admit)
	e.admit = nil
}

// wait makes e wait for the end of other.
func (e *Entry[V]) wait(other *Entry[V]) {
	e.behind, e.at = other, len(other.waiters)
	other.waiters = append(other.waiters, e)
}

// leave is the opposite of wait.
func (e *Entry[V]) leave() {
	other := e.behind
	if other == nil {
		return
	}
	last := len(other.waiters) - 1
	other.waiters[e.at] = other.waiters[last]
	other.waiters[e.at].at = e.at
	other.waiters[last] = nil
	other.waiters = other.waiters[:last]
	e.behind = nil
}

// Find returns Of of an open entry for which fn returns true, or the zero V.
func (q *Queue[V]) Find(fn func(V) bool) (none V) {
	if e := q.solo; e != nil {
		q.steps++
		if fn(e.Of) {
			return e.Of
		}
		return none
	}
	for _, e := range q.live {
		q.steps++
		if e.open && fn(e.Of) {
			return e.Of
		}
	}
	return none
}

// Opened calls fn with every open entry. It looks at all entries.
func (q *Queue[V]) Opened(fn func(V)) {
	q.flush()
	for _, e := range q.live {
		if e.open {
			fn(e.Of)
		}
	}
}

// Writers calls fn with every open entry that writes bytes of [lo, hi), in the order of these bytes, until fn returns false.
func (q *Queue[V]) Writers(lo, hi uint64, fn func(of V, lo, hi uint64) bool) {
	q.users(&q.write, lo, hi, fn)
}

// Readers does the same for entries that only read bytes of [lo, hi).
func (q *Queue[V]) Readers(lo, hi uint64, fn func(of V, lo, hi uint64) bool) {
	q.users(&q.read, lo, hi, fn)
}

func (q *Queue[V]) users(t *span.Tree[*Entry[V]], lo, hi uint64, fn func(V, uint64, uint64) bool) {
	q.flush()
	if t.Len() == 0 {
		return
	}
	for _, n := range t.Meeting(lo, hi, nil) {
		if n.Value.open && !fn(n.Value.Of, n.Lo, n.Hi) {
			return
		}
	}
}
