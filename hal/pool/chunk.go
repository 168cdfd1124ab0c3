package pool

import (
	"math/bits"
	"slices"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// chunk is one memory of the device, which is either carved into nodes or a single block.
type chunk struct {
	block   Block
	mem     *hal.Memory
	bytes   uint64
	whole   *record // the one block, if it is not carved
	first   *node
	out     int // nodes that belong to records
	waiting int // free nodes with a fence
	place   int // in the heap's list
}

// node is a range of a chunk. It belongs to a record, or is free, or lost.
type node struct {
	chunk      *chunk
	off, bytes uint64 // from the start of the chunk
	prev, next *node  // by address
	rec        *record
	lost       bool // work may still use it, and the pool cannot find out whether that work has ended

	// A free node is on the list of its class. It can be used once the work of all events of its fence has finished: then the
	// fence is passed.
	fence    []*hal.Event
	up, down *node
}

func (n *node) free() bool { return n.rec == nil && !n.lost }

// nodes finds free nodes by size.
type nodes struct {
	words [(classes + 63) / 64]uint64 // which lists are not empty
	lists [classes]*node
	count int
}

func (s *nodes) insert(n *node, unit uint64) {
	c := floorClass(n.bytes / unit)
	n.up, n.down = nil, s.lists[c]
	if n.down != nil {
		n.down.up = n
	}
	s.lists[c] = n
	s.words[c/64] |= 1 << (c % 64)
	s.count++
}

func (s *nodes) remove(n *node, unit uint64) {
	c := floorClass(n.bytes / unit)
	if n.down != nil {
		n.down.up = n.up
	}
	if n.up != nil {
		n.up.down = n.down
	} else if s.lists[c] = n.down; n.down == nil {
		s.words[c/64] &^= 1 << (c % 64)
	}
	n.up, n.down = nil, nil
	s.count--
}

// find returns a suitable node of the given class or, if there is none, of the next higher class that has one; else nil.
func (s *nodes) find(class int, suits func(*node) bool) *node {
	for w := class / 64; w < len(s.words); w++ {
		word := s.words[w]
		if w == class/64 {
			word &= ^uint64(0) << (class % 64)
		}
		for ; word != 0; word &= word - 1 {
			for n := s.lists[w*64+bits.TrailingZeros64(word)]; n != nil; n = n.down {
				if suits == nil || suits(n) {
					return n
				}
			}
		}
	}
	return nil
}

// all lists the nodes.
func (s *nodes) all() []*node {
	list := make([]*node, 0, s.count)
	for _, n := range s.lists {
		for ; n != nil; n = n.down {
			list = append(list, n)
		}
	}
	return list
}

// index returns the set that a free node is in.
func (h *heap) index(n *node) *nodes {
	if len(n.fence) > 0 {
		return &h.fenced
	}
	return &h.idle
}

// put lists a free node.
func (h *heap) put(n *node) {
	if len(n.fence) > 0 {
		n.chunk.waiting++
	}
	h.index(n).insert(n, h.pool.unit)
}

// lift takes a free node off its list.
func (h *heap) lift(n *node) {
	h.index(n).remove(n, h.pool.unit)
	if len(n.fence) > 0 {
		n.chunk.waiting--
	}
}

// release makes a record's node free, with that fence, and merges it with free neighbours.
func (h *heap) release(n *node, fence []*hal.Event) {
	n.rec = nil
	n.chunk.out--
	n.fence = fence
	if next := n.next; next != nil && next.free() {
		h.lift(next)
		h.absorb(n, next)
	}
	if prev := n.prev; prev != nil && prev.free() {
		h.lift(prev)
		h.absorb(prev, n)
		n = prev
	}
	h.put(n)
}

// absorb joins n with the node after it. Neither is on a list.
func (h *heap) absorb(n, next *node) {
	n.bytes += next.bytes
	n.next = next.next
	if n.next != nil {
		n.next.prev = n
	}
	for _, m := range next.fence {
		if slices.Contains(n.fence, m) {
			_ = m.Close()
		} else {
			n.fence = append(n.fence, m)
		}
	}
	next.fence = nil
}

// carve makes a record of the first bytes of a free node, which has been taken off its list, and
// lists the rest of the node. It returns the fence that the user of the record must wait for.
func (h *heap) carve(n *node, bytes uint64) (*record, []*hal.Event) {
	if n.bytes > bytes {
		rest := &node{chunk: n.chunk, off: n.off + bytes, bytes: n.bytes - bytes, prev: n, next: n.next}
		if rest.next != nil {
			rest.next.prev = rest
		}
		n.next, n.bytes = rest, bytes
		for _, m := range n.fence {
			layer.Retain(m)
		}
		rest.fence = slices.Clone(n.fence)
		h.put(rest)
	}
	fence := n.fence
	n.fence = nil
	n.rec = h.record(n.chunk, n.off, n.bytes)
	n.rec.node = n
	n.chunk.out++
	return n.rec, fence
}

// add lists a chunk.
func (h *heap) add(c *chunk) {
	c.place = len(h.chunks)
	h.chunks = append(h.chunks, c)
	h.pool.took()
}

// drop gives a chunk's memory back. None of its blocks is live; hal waits for work under way.
func (h *heap) drop(c *chunk) error {
	for n := c.first; n != nil; n = n.next {
		if n.free() {
			h.lift(n)
			c.keep(n.fence)
			n.fence = nil
		}
		if n.lost {
			h.lost -= n.bytes
		}
	}
	if c.whole == nil {
		h.carved -= c.bytes
	}
	last := len(h.chunks) - 1
	h.chunks[c.place] = h.chunks[last]
	h.chunks[c.place].place = c.place
	h.chunks[last] = nil
	h.chunks = h.chunks[:last]
	h.pool.giveBack(c.bytes)
	return c.block.Free(nil)
}

// keep makes hal keep the memory until the events' work has finished, and closes the events.
func (c *chunk) keep(fence []*hal.Event) {
	for _, m := range fence {
		_ = c.block.KeepUntil(m)
	}
	releaseAll(fence)
}

// used makes hal keep the memory until the work so far on the stream has finished, also if the stream is closed.
func (c *chunk) used(stream *hal.Stream) { _ = stream.RecordUse(c.mem) }

// dispensable reports whether c is a carved chunk that nothing needs.
func (c *chunk) dispensable() bool { return c.whole == nil && c.out == 0 && c.waiting == 0 }

func (h *heap) record(c *chunk, off, bytes uint64) *record {
	p := h.pool
	return &record{mem: c.mem, off: off, cap: bytes, pool: p, chunk: c,
		kind: h.kind, class: classOf((bytes-1)/p.unit + 1)}
}
