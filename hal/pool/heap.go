package pool

import (
	"slices"
	"sync"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// heap is a pool's memory of one kind, in chunks. Blocks that a lane does not have come from here.
type heap struct {
	pool *Pool
	kind hal.Kind

	mu     sync.Mutex
	tally  // of the blocks that were given out here, and of lanes that no longer exist
	chunks []*chunk
	idle   nodes   // free nodes without a fence, of chunks that blocks share
	fenced []*node // free nodes with a fence
	carved uint64  // bytes of chunks that blocks share
	lost   uint64  // bytes

	// shares says that several blocks may share a memory. They cannot if memory has no address, because a kernel takes no offset.
	shares bool

	misses, steals, waits uint64

	hand int // index in the pool's table where nearby goes on
}

// few is the number of streams whose finished blocks an allocation looks at before it asks the device for memory. Each
// search begins where the last one stopped, so that the cost does not grow with the number of streams. A table is at least a
// sixteenth full, so about 16*few slots have as many streams.
const few = 16

// nearby visits the idle domain and the domains of at most 16 streams, the constant few; h.mu is held.
func (h *heap) nearby(yield func(*domain) bool) {
	if !yield(h.pool.idle) {
		return
	}
	n := 0
	for d := range h.pool.table.Load().next(&h.hand, 16*few) {
		if n++; !yield(d) || n == few {
			return
		}
	}
}

func newHeap(p *Pool, kind hal.Kind) *heap {
	return &heap{pool: p, kind: kind, shares: p.dev.Caps().Has(hal.CapAddress)}
}

// request is one allocation that the lane could not serve.
type request struct {
	domain *domain
	size   uint64 // bytes
	class  int
	bytes  uint64 // bytes that a block of the class occupies
	whole  bool   // the block is to be a memory of its own
}

func (h *heap) request(d *domain, size uint64) request {
	p := h.pool
	q := request{domain: d, size: size, class: classOf((size-1)/p.unit + 1), whole: !h.shares}
	q.bytes = unitsOf(q.class) * p.unit
	if size >= p.opts.large || p.maxAlloc > 0 && q.bytes > p.maxAlloc || p.opts.limit > 0 && q.bytes > p.opts.limit {
		q.whole, q.bytes = true, size
	}
	return q
}

// grant is the memory that a request gets.
type grant struct {
	rec     *record
	ordered bool
}

// look finds memory in the pool that no other stream's work uses; h.mu is held.
func (h *heap) look(q request) (grant, bool) {
	own := q.domain
	if r := h.pop(own, q, everything); r != nil {
		return grant{r, r.epoch > own.passed.Load()}, true
	}
	if r := h.pop(h.pool.idle, q, everything); r != nil {
		return grant{r, false}, true
	}
	h.settle()
	if g, ok := h.cut(q); ok {
		return g, true
	}
	for d := range h.nearby {
		if d == own || d == h.pool.idle {
			continue
		}
		if r := h.steal(d, q); r != nil {
			h.steals++
			return grant{r, false}, true
		}
	}
	return grant{}, false
}

// cut takes a block that no lane of a stream has. Only work of the request's own stream may still use its memory.
func (h *heap) cut(q request) (grant, bool) {
	if q.whole {
		if r := h.pop(h.pool.idle, q, everything); r != nil {
			return grant{r, false}, true
		}
	} else if n := h.idle.find(q.class); n != nil {
		h.lift(n)
		r, _ := h.carve(n, q.bytes)
		return grant{r, false}, true
	}
	stream := q.domain.stream
	if stream == nil {
		return grant{}, false
	}
	n := h.behind(q, func(m *hal.Event) bool { return layer.RecordedOn(m, stream) })
	if n == nil {
		return grant{}, false
	}
	h.lift(n)
	r, fence := h.carve(n, q.bytes)
	releaseAll(fence)
	return grant{r, true}, true
}

// behind returns the smallest node for a request whose fence has only events that suit, or nil. Nodes have a fence while memory is short, and
// where uses were recorded: settle looks at all of them, too.
func (h *heap) behind(q request, suits func(*hal.Event) bool) (best *node) {
	for _, n := range h.fenced {
		switch {
		case n.chunk.sole != q.whole || n.bytes < q.bytes || best != nil && n.bytes >= best.bytes:
		case q.whole && classOf((n.bytes-1)/h.pool.unit+1) != q.class:
		case !slices.ContainsFunc(n.fence, func(m *hal.Event) bool { return !suits(m) }):
			best = n
		}
	}
	return best
}

// pop takes a block that was freed in a domain no later than the epoch.
func (h *heap) pop(d *domain, q request, epoch uint64) (r *record) {
	s := d.shelves[h.kind-1].Load()
	if s == nil {
		return nil
	}
	s.each(func(l *lane) bool {
		r = l.pop(q.class, q.size, epoch)
		return r == nil
	})
	return r
}

// steal takes a block that another stream has finished with.
func (h *heap) steal(d *domain, q request) *record {
	s := d.shelves[h.kind-1].Load()
	if s == nil {
		return nil
	}
	latest := uint64(0)
	s.each(func(l *lane) bool {
		if r := l.bins[q.class]; r != nil {
			latest = max(latest, r.epoch)
		}
		return true
	})
	if latest == 0 {
		return nil
	}
	passed, recorded := d.settled()
	if r := h.pop(d, q, passed); r != nil {
		return r
	}
	if latest <= recorded {
		return nil
	}
	_ = d.record()
	if now, _ := d.settled(); now > passed {
		return h.pop(d, q, now)
	}
	return nil
}

// settle removes the events that have been passed from the fences of nodes.
func (h *heap) settle() {
	for _, n := range slices.Clone(h.fenced) {
		h.lift(n)
		n.fence = passed(n.fence)
		h.put(n)
	}
}

// lose gives up a record that work of the stream may still use, when the pool cannot find out whether that work has finished.
// The memory is given back once no other block needs it; its source then waits for the work.
func (h *heap) lose(r *record, stream *hal.Stream) {
	n := r.node
	c := n.chunk
	c.used(stream)
	if c.sole {
		_ = h.drop(c)
		return
	}
	n.rec, n.lost = nil, true
	c.busy--
	h.lost += n.bytes
	if c.dispensable() {
		_ = h.drop(c)
	}
}

// gather takes the free blocks that nothing uses out of the lanes and merges those that share chunks. It gives the others, and
// chunks without blocks, back to the device until it has given back at least release bytes, and returns how many these are.
//
// If release is 0 it looks at a few streams only, because the allocation that calls it can still ask the device for memory.
func (h *heap) gather(release uint64) (released uint64) {
	h.settle()
	visit := h.pool.everybody
	if release == 0 {
		visit = h.nearby
	}
	for d := range visit {
		s := d.shelves[h.kind-1].Load()
		if s == nil {
			continue
		}
		finished, recorded := d.settled()
		latest := uint64(0)
		take := func(epoch uint64) {
			s.each(func(l *lane) bool {
				l.sift(func(r *record) bool {
					latest = max(latest, r.epoch)
					if r.epoch > epoch {
						return false
					}
					if !r.node.chunk.sole {
						h.release(r.node, nil)
						return true
					}
					if released >= release {
						return false
					}
					released += r.cap
					_ = h.drop(r.node.chunk)
					return true
				})
				return true
			})
		}
		take(finished)
		if latest > recorded {
			_ = d.record()
			if now, _ := d.settled(); now > finished {
				take(now)
			}
		}
	}
	for i := len(h.chunks) - 1; i >= 0 && released < release; i-- {
		if c := h.chunks[i]; c.dispensable() {
			released += c.bytes
			_ = h.drop(c)
		}
	}
	return released
}

// grow takes more memory from the device; h.mu is held. If it fails, short is the number of bytes by which the request
// exceeds the pool's own limit, or 0 if the device refused.
func (h *heap) grow(q request) (g grant, short uint64, err error) {
	p, want := h.pool, q.bytes
	if !q.whole {
		want = max(min(h.carved, p.opts.chunk), min(firstChunk, p.opts.chunk), 4*q.bytes)
		if p.maxAlloc > 0 {
			want = max(min(want, p.maxAlloc), q.bytes)
		}
	}
	for {
		if !q.whole {
			want = want / p.unit * p.unit
		}
		if short, err = p.take(want); err == nil {
			var c *chunk
			if c, err = h.chunk(q, want); err == nil {
				r, _ := h.carve(c.first, q.bytes)
				return grant{r, c.block.Ordered()}, 0, nil
			}
			p.giveBack(want)
			short = 0
		}
		if want == q.bytes || !isShort(err) {
			return grant{}, short, err
		}
		want = max(want/2, q.bytes)
	}
}

// chunk allocates memory for a request, and lists it: in the stream's order where it is one block and the device can.
func (h *heap) chunk(q request, bytes uint64) (*chunk, error) {
	p, stream := h.pool, q.domain.stream
	source := p.source
	switch {
	case !q.whole:
		stream = nil
	case stream != nil && h.kind == hal.KindDevice && p.ordered != nil:
		source = p.ordered
	}
	block, err := source.Alloc(stream, h.kind, bytes)
	if err != nil && source != p.source { // which may still succeed, because hal can first free memory that was closed
		block, err = p.source.Alloc(stream, h.kind, bytes)
	}
	if err != nil {
		return nil, err
	}
	c := &chunk{block: block, mem: block.rec.mem, bytes: bytes, sole: q.whole, place: len(h.chunks)}
	c.first = &node{chunk: c, bytes: bytes}
	if !c.sole {
		h.carved += bytes
	}
	h.chunks = append(h.chunks, c)
	p.took()
	return c, nil
}

// press takes memory that other streams' work still uses, and makes the stream wait for that work.
func (h *heap) press(q request) (grant, bool) {
	stream := q.domain.stream
	if stream == nil {
		return grant{}, false
	}
	for d := range h.pool.everybody {
		if s := d.shelves[h.kind-1].Load(); s != nil && (d != h.pool.idle || !q.whole) {
			_ = d.record() // if this fails, blocks that no event covers stay in their lanes
			h.empty(d, s, q.whole, nil)
		}
	}
	if !q.whole {
		h.merge()
	}
	if g, ok := h.cut(q); ok || h.pool.opts.noWait {
		return g, ok
	}
	n := h.behind(q, func(m *hal.Event) bool { return layer.CanDefer(stream, m) })
	if n == nil {
		return grant{}, false
	}
	h.lift(n)
	r, fence := h.carve(n, q.bytes)
	if !waitAll(stream, fence) {
		h.release(r.node, fence)
		return grant{}, false
	}
	releaseAll(fence)
	h.waits++
	return grant{r, true}, true
}

// empty moves the blocks of a domain out of its lanes, those that are memories of their own or those that share memories. The fence of each is
// the event that comes after its last use. Blocks that no event covers are passed to uncovered, which removes them from the pool, or stay if it
// is nil.
func (h *heap) empty(d *domain, s *shelf, sole bool, uncovered func(*record)) {
	_, _ = d.settled()
	s.each(func(l *lane) bool {
		l.sift(func(r *record) bool {
			if r.node.chunk.sole != sole {
				return false
			}
			var fence []*hal.Event
			if r.epoch > d.passed.Load() {
				if m := d.cover(r.epoch); m != nil {
					fence = []*hal.Event{m}
				} else if r.epoch > d.passed.Load() {
					if uncovered != nil {
						uncovered(r)
					}
					return uncovered != nil
				}
			}
			h.release(r.node, fence)
			return true
		})
		return true
	})
}

// dissolve takes everything from the lanes of a domain that has been retired.
func (h *heap) dissolve(d *domain) {
	s := d.shelves[h.kind-1].Load()
	if s == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, sole := range [...]bool{false, true} {
		h.empty(d, s, sole, func(r *record) { h.lose(r, d.stream) })
	}
	s.each(func(l *lane) bool {
		h.tally.add(l.tally)
		l.tally = tally{}
		return true
	})
}

// waitAll makes the stream wait for events that it can wait for without blocking, and reports whether it does.
func waitAll(stream *hal.Stream, fence []*hal.Event) bool {
	for _, m := range fence {
		if stream.WaitEvent(m) != nil {
			return false
		}
	}
	return true
}

func releaseAll(events []*hal.Event) {
	for _, m := range events {
		_ = m.Close()
	}
}
