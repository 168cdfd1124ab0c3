package hal

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"unsafe"
)

// exposed is the set of memories whose slice (Memory.Bytes) the program may hold. A copy may name such a memory only by
// its host bytes, and must still count as a use of the memory. While the set is empty a copy pays one atomic load.
var exposed struct {
	mu   sync.Mutex // held to change the tree
	tree atomic.Pointer[exposures]
}

// exposure is the address range of one exposed memory.
type exposure struct {
	start, end uintptr
	mem        *memoryState
	rank       uint64      // random
	over       atomic.Bool // it was removed by hide
	crossed    atomic.Bool // it overlaps, or overlapped, another one: a program may import memory twice
}

// has reports whether all of [start, end) lies in this exposed memory and in no other.
func (x *exposure) has(start, end uintptr) bool {
	return x.start <= start && end <= x.end && !x.crossed.Load() && !x.over.Load()
}

// exposures is a treap: a tree ordered by start, in which no node has a higher rank than its parent. Ranks are random, so that the
// depth is logarithmic. A tree is immutable: insert and remove copy the path to the node.
type exposures struct {
	*exposure
	left, right *exposures
	reach       uintptr // the greatest end in the tree
}

func (t *exposures) with(left, right *exposures) *exposures {
	n := &exposures{exposure: t.exposure, left: left, right: right, reach: t.end}
	for _, sub := range [...]*exposures{left, right} {
		if sub != nil {
			n.reach = max(n.reach, sub.reach)
		}
	}
	return n
}

// split splits the tree into the exposures before x and those after it.
func (t *exposures) split(x *exposure) (before, after *exposures) {
	switch {
	case t == nil:
		return nil, nil
	case t.before(x):
		l, r := t.right.split(x)
		return t.with(t.left, l), r
	}
	l, r := t.left.split(x)
	return l, t.with(r, t.right)
}

// before orders exposures by start, and those with the same start by rank.
func (x *exposure) before(y *exposure) bool {
	return x.start < y.start || x.start == y.start && x.rank < y.rank
}

func (t *exposures) insert(x *exposure) *exposures {
	if t == nil || x.rank > t.rank {
		l, r := t.split(x)
		return (&exposures{exposure: x}).with(l, r)
	}
	if t.before(x) {
		return t.with(t.left, t.right.insert(x))
	}
	return t.with(t.left.insert(x), t.right)
}

// remove removes x, which must be in the tree.
func (t *exposures) remove(x *exposure) *exposures {
	switch {
	case t.exposure == x:
		return joined(t.left, t.right)
	case t.before(x):
		return t.with(t.left, t.right.remove(x))
	}
	return t.with(t.left.remove(x), t.right)
}

// joined joins two trees. Every exposure of l comes before every exposure of r.
func joined(l, r *exposures) *exposures {
	switch {
	case l == nil:
		return r
	case r == nil:
		return l
	case l.rank > r.rank:
		return l.with(l.left, joined(l.right, r))
	}
	return r.with(joined(l, r.left), r.right)
}

// cross marks x and the exposures that overlap it as crossed.
func (t *exposures) cross(x *exposure) {
	if t == nil || t.reach <= x.start {
		return
	}
	t.left.cross(x)
	if t.start < x.end {
		if t.end > x.start {
			t.crossed.Store(true)
			x.crossed.Store(true)
		}
		t.right.cross(x)
	}
}

// note records that the stream uses the memories that have bytes in [start, end).
func (t *exposures) note(st *streamState, start, end uintptr) {
	if t == nil || t.reach <= start {
		return
	}
	t.left.note(st, start, end)
	if t.start >= end {
		return
	}
	if t.end > start && t.mem.enter() {
		t.mem.note(st)
		t.mem.leave()
		st.seen.Store(t.exposure)
	}
	t.right.note(st, start, end)
}

// expose adds the memory to the set. The caller has entered the memory, so that it is not freed meanwhile.
func (s *memoryState) expose(p unsafe.Pointer) {
	if s.exposed.Load() != nil {
		return
	}
	exposed.mu.Lock()
	defer exposed.mu.Unlock()
	if s.exposed.Load() != nil {
		return
	}
	x := &exposure{start: uintptr(p), end: uintptr(p) + uintptr(s.size), mem: s, rank: rand.Uint64()}
	tree := exposed.tree.Load()
	tree.cross(x)
	exposed.tree.Store(tree.insert(x))
	s.exposed.Store(x)
}

// hide removes the memory from the set, before its addresses can be reused.
func (s *memoryState) hide() {
	if s.exposed.Load() == nil {
		return
	}
	exposed.mu.Lock()
	defer exposed.mu.Unlock()
	if x := s.exposed.Swap(nil); x != nil {
		x.over.Store(true)
		exposed.tree.Store(exposed.tree.Load().remove(x))
	}
}

// noteBytes records that the stream is about to use n bytes of host memory, which may belong to an exposed memory.
func (st *streamState) noteBytes(p unsafe.Pointer, n uint64) {
	t := exposed.tree.Load()
	if t == nil {
		return
	}
	start, end := uintptr(p), uintptr(p)+uintptr(n)
	if x := st.seen.Load(); x != nil && x.has(start, end) && x.mem.last.Load() == st && !x.mem.closed() {
		return // already recorded by the last copy
	}
	t.note(st, start, end)
}
