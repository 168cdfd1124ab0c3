package pool

import (
	"math/bits"
	"slices"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// chunk is one memory of the device, which is either carved into nodes or a single block.
type chunk struct {
	block Block
	mem   *hal.Memory
	bytes uint64
	sole  bool // it is one block
	first *node
	busy  int // nodes that belong to records or have a fence
	place int // in the heap's list
}

// node is a range of a chunk. It belongs to a record, or is free, or lost.
type node struct {
	chunk      *chunk
	off, bytes uint64 // from the start of the chunk
	prev, next *node  // by address
	rec        *record
	lost       bool // work may still use it, and the pool cannot find out whether that work has ended

	// A free node can be used once the work of all events of its fence has finished: then the fence is passed. Without a fence it is on
	// the list of its class.
	fence    []*hal.Event
	place    int // in the heap's list of nodes with a fence
	up, down *node
}

func (n *node) free() bool { return n.rec == nil && !n.lost }

func (n *node) idle() bool { return n.free() && len(n.fence) == 0 }

// nodes finds idle nodes by size.
type nodes struct {
	words [(classes + 63) / 64]uint64 // which lists are not empty
	lists [classes]*node
}

func (s *nodes) insert(n *node, unit uint64) {
	c := floorClass(n.bytes / unit)
	n.up, n.down = nil, s.lists[c]
	if n.down != nil {
		n.down.up = n
	}
	s.lists[c] = n
	s.words[c/64] |= 1 << (c % 64)
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
}

// find returns a node of the given class or, if there is none, of the next higher class that has one; else nil.
func (s *nodes) find(class int) *node {
	for w := class / 64; w < len(s.words); w++ {
		word := s.words[w]
		if w == class/64 {
			word &= ^uint64(0) << (class % 64)
		}
		if word != 0 {
			return s.lists[w*64+bits.TrailingZeros64(word)]
		}
	}
	return nil
}

// put lists a free node. Without a fence it is merged with idle neighbours; a block that is a memory of its own goes to the idle domain.
func (h *heap) put(n *node) {
	if len(n.fence) > 0 {
		n.chunk.busy++
		n.place = len(h.fenced)
		h.fenced = append(h.fenced, n)
		return
	}
	if n.chunk.sole {
		s := h.pool.idle.shelf(h.kind)
		l := s.lock()
		r := h.record(n)
		l.push(r, r.class)
		l.mu.Unlock()
		return
	}
	if next := n.next; next != nil && next.idle() {
		h.lift(next)
		n.absorb(next)
	}
	if prev := n.prev; prev != nil && prev.idle() {
		h.lift(prev)
		prev.absorb(n)
		n = prev
	}
	h.idle.insert(n, h.pool.unit)
}

// lift takes a free node off its list.
func (h *heap) lift(n *node) {
	if len(n.fence) == 0 {
		h.idle.remove(n, h.pool.unit)
		return
	}
	n.chunk.busy--
	last := len(h.fenced) - 1
	h.fenced[n.place] = h.fenced[last]
	h.fenced[n.place].place = n.place
	h.fenced[last] = nil
	h.fenced = h.fenced[:last]
}

// release makes a record's node free, with that fence.
func (h *heap) release(n *node, fence []*hal.Event) {
	n.rec = nil
	n.chunk.busy--
	n.fence = fence
	h.put(n)
}

// merge joins neighbours that are free, also those with a fence.
func (h *heap) merge() {
	for _, c := range h.chunks {
		for n := c.first; n != nil; n = n.next {
			for next := n.next; next != nil && n.free() && next.free(); next = n.next {
				h.lift(n)
				h.lift(next)
				n.absorb(next)
				h.put(n)
			}
		}
	}
}

// absorb joins n with the node after it. Neither is on a list.
func (n *node) absorb(next *node) {
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
	fence := n.fence
	n.fence = nil
	var rest *node
	if n.bytes > bytes && !n.chunk.sole {
		rest = &node{chunk: n.chunk, off: n.off + bytes, bytes: n.bytes - bytes, prev: n, next: n.next}
		if rest.next != nil {
			rest.next.prev = rest
		}
		n.next, n.bytes = rest, bytes
		for _, m := range fence {
			layer.Retain(m)
		}
		rest.fence = slices.Clone(fence)
	}
	r := h.record(n)
	if rest != nil {
		h.put(rest)
	}
	return r, fence
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
	if !c.sole {
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
func (c *chunk) dispensable() bool { return !c.sole && c.busy == 0 }

// record makes a record of a node.
func (h *heap) record(n *node) *record {
	c, p := n.chunk, h.pool
	c.busy++
	n.rec = &record{mem: c.mem, off: n.off, cap: n.bytes, pool: p, node: n, kind: h.kind, class: classOf((n.bytes-1)/p.unit + 1)}
	return n.rec
}
