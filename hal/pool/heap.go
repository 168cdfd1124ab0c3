package pool

import (
	"sync"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// heap is a pool's memory of one kind, in chunks. Blocks that a lane does not have come from here.
type heap struct {
	pool *Pool
	kind hal.Kind

	mu           sync.Mutex
	tally        // of the blocks that were given out here, and of lanes that no longer exist
	chunks       []*chunk
	idle, fenced nodes
	parked       []parked
	carved       uint64 // bytes of chunks that blocks share
	lost         uint64 // bytes

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

// parked is a block that was freed while recorded uses were under way.
type parked struct {
	rec   *record
	fence []*hal.Event
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
	q := request{domain: d, size: size, class: classOf((size-1)/p.unit + 1)}
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
	if r := h.pop(own, q, ^uint64(0)); r != nil {
		return grant{r, r.epoch > own.passed.Load()}, true
	}
	if r := h.pop(h.pool.idle, q, ^uint64(0)); r != nil {
		return grant{r, false}, true
	}
	h.settle()
	if r := h.pop(h.pool.idle, q, ^uint64(0)); r != nil {
		return grant{r, false}, true
	}
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

// cut takes a block from a chunk. Only work of the request's own stream may still use its memory.
func (h *heap) cut(q request) (grant, bool) {
	if q.whole {
		return grant{}, false
	}
	if n := h.idle.find(q.class, nil); n != nil {
		h.lift(n)
		r, _ := h.carve(n, q.bytes)
		return grant{r, false}, true
	}
	stream := q.domain.stream
	if stream == nil || h.fenced.count == 0 {
		return grant{}, false
	}
	n := h.fenced.find(q.class, func(n *node) bool {
		for _, m := range n.fence {
			if !layer.RecordedOn(m, stream) {
				return false
			}
		}
		return true
	})
	if n == nil {
		return grant{}, false
	}
	h.lift(n)
	r, fence := h.carve(n, q.bytes)
	releaseAll(fence)
	return grant{r, true}, true
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

// settle takes back parked blocks whose fences have been passed, and removes the events that have been passed from the fences
// of nodes.
func (h *heap) settle() {
	kept := h.parked[:0]
	for _, k := range h.parked {
		if k.fence = passed(k.fence); len(k.fence) > 0 {
			kept = append(kept, k)
			continue
		}
		h.rest(k.rec)
	}
	clear(h.parked[len(kept):])
	h.parked = kept
	if h.fenced.count == 0 {
		return
	}
	for _, n := range h.fenced.all() {
		h.lift(n)
		n.fence = passed(n.fence)
		h.put(n)
	}
}

// rest takes back a record that nothing uses.
func (h *heap) rest(r *record) {
	if r.node != nil {
		h.release(r.node, nil)
		return
	}
	s := h.pool.idle.shelf(h.kind)
	l := s.lock()
	l.push(r, r.class)
	l.mu.Unlock()
}

// lose gives up a record that work of the stream may still use, when the pool cannot find out whether that work has finished.
// The memory is given back once no other block needs it; its source then waits for the work.
func (h *heap) lose(r *record, stream *hal.Stream) {
	c := r.chunk
	c.used(stream)
	if c.whole != nil {
		_ = h.drop(c)
		return
	}
	n := r.node
	n.rec, n.lost = nil, true
	c.out--
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
					if r.node != nil {
						h.release(r.node, nil)
						return true
					}
					if released >= release {
						return false
					}
					released += r.cap
					_ = h.drop(r.chunk)
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
	p := h.pool
	if q.whole || !h.shares {
		if short, err := p.take(q.bytes); err != nil {
			return grant{}, short, err
		}
		c, err := h.memory(q.domain.stream, q.bytes)
		if err != nil {
			p.giveBack(q.bytes)
			return grant{}, 0, err
		}
		h.add(c)
		c.whole = h.record(c, 0, c.bytes)
		return grant{c.whole, c.block.Ordered()}, 0, nil
	}
	want := max(min(h.carved, p.opts.chunk), min(firstChunk, p.opts.chunk), 4*q.bytes)
	if p.maxAlloc > 0 {
		want = max(min(want, p.maxAlloc), q.bytes)
	}
	for {
		want = want / p.unit * p.unit
		if short, err = p.take(want); err == nil {
			var c *chunk
			if c, err = h.chunk(p.source, nil, want); err == nil {
				h.add(c)
				c.first = &node{chunk: c, bytes: c.bytes}
				h.carved += c.bytes
				h.put(c.first)
				g, _ := h.cut(q)
				return g, 0, nil
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

// memory allocates the memory of one block, in the stream's order where the device can.
func (h *heap) memory(stream *hal.Stream, bytes uint64) (*chunk, error) {
	p := h.pool
	if stream != nil && h.kind == hal.KindDevice && p.ordered != nil {
		if c, err := h.chunk(p.ordered, stream, bytes); err == nil {
			return c, nil
		}
		// The source may still succeed, because hal can first free memory that was closed.
	}
	return h.chunk(p.source, stream, bytes)
}

// chunk allocates memory from a.
func (h *heap) chunk(a *direct, stream *hal.Stream, bytes uint64) (*chunk, error) {
	block, err := a.Alloc(stream, h.kind, bytes)
	if err != nil {
		return nil, err
	}
	return &chunk{block: block, mem: block.rec.mem, bytes: bytes}, nil
}

// press takes memory that other streams' work still uses, and makes the stream wait for that work.
func (h *heap) press(q request) (grant, bool) {
	stream := q.domain.stream
	if stream == nil {
		return grant{}, false
	}
	if q.whole || !h.shares {
		return h.pressWhole(q)
	}
	for d := range h.pool.everybody {
		h.fence(d)
	}
	kept := h.parked[:0]
	for _, k := range h.parked {
		if k.rec.node == nil {
			kept = append(kept, k)
			continue
		}
		h.release(k.rec.node, k.fence)
	}
	clear(h.parked[len(kept):])
	h.parked = kept
	if g, ok := h.cut(q); ok || h.pool.opts.noWait {
		return g, ok
	}
	n := h.fenced.find(q.class, nil)
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

// fence moves the blocks of a domain that share chunks out of its lanes. The fence of each is the event
// that comes after its last use.
func (h *heap) fence(d *domain) {
	s := d.shelves[h.kind-1].Load()
	if s == nil {
		return
	}
	_ = d.record() // if this fails, blocks that no event covers stay in their lanes
	finished, _ := d.settled()
	s.each(func(l *lane) bool {
		l.sift(func(r *record) bool {
			if r.node == nil {
				return false
			}
			if r.epoch <= finished {
				h.release(r.node, nil)
				return true
			}
			m := d.cover(r.epoch)
			if m == nil {
				return false
			}
			h.release(r.node, []*hal.Event{m})
			return true
		})
		return true
	})
}

// pressWhole is press for a block that is a memory of its own.
func (h *heap) pressWhole(q request) (grant, bool) {
	stream := q.domain.stream
	if h.pool.opts.noWait {
		return grant{}, false
	}
	for i, k := range h.parked {
		if k.rec.class != q.class || k.rec.cap < q.size || !waitAll(stream, k.fence) {
			continue
		}
		releaseAll(k.fence)
		last := len(h.parked) - 1
		h.parked[i] = h.parked[last]
		h.parked[last] = parked{}
		h.parked = h.parked[:last]
		h.waits++
		return grant{k.rec, true}, true
	}
	for d := range h.pool.everybody {
		if d == q.domain {
			continue
		}
		r := h.pop(d, q, ^uint64(0))
		if r == nil {
			continue
		}
		_ = d.record()
		m := d.cover(r.epoch)
		if passed, _ := d.settled(); m == nil && r.epoch > passed || m != nil && !waitFor(stream, m) {
			h.restore(d, r)
			r = nil
		}
		if m != nil {
			_ = m.Close()
		}
		if r != nil {
			h.waits++
			return grant{r, true}, true
		}
	}
	return grant{}, false
}

// restore puts a record back where it was popped. That is safe even if the domain is being retired, because dissolve, which
// takes the domain's blocks, needs h.mu.
func (h *heap) restore(d *domain, r *record) {
	l := d.shelves[h.kind-1].Load().lock()
	l.push(r, r.class)
	l.mu.Unlock()
}

// dissolve takes everything from the lanes of a domain that has been retired.
func (h *heap) dissolve(d *domain) {
	s := d.shelves[h.kind-1].Load()
	if s == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	finished, _ := d.settled()
	s.each(func(l *lane) bool {
		h.tally.add(l.tally)
		l.tally = tally{}
		l.sift(func(r *record) bool {
			if r.epoch <= finished {
				h.rest(r)
			} else if m := d.cover(r.epoch); m != nil {
				h.parked = append(h.parked, parked{r, []*hal.Event{m}})
			} else if passed, _ := d.settled(); r.epoch <= passed {
				h.rest(r)
			} else {
				h.lose(r, d.stream)
			}
			return true
		})
		return true
	})
}

func waitAll(stream *hal.Stream, fence []*hal.Event) bool {
	for _, m := range fence {
		if !waitFor(stream, m) {
			return false
		}
	}
	return true
}

// waitFor makes the stream wait for m, and reports whether it could without blocking.
func waitFor(stream *hal.Stream, m *hal.Event) bool {
	return layer.CanDefer(stream, m) && stream.WaitEvent(m) == nil
}

func releaseAll(events []*hal.Event) {
	for _, m := range events {
		_ = m.Close()
	}
}
