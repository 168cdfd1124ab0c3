package pool

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/layer"
)

const (
	defaultChunk = 32 << 20 // bytes
	firstChunk   = 2 << 20  // bytes
	batchBytes   = 1 << 20
	fallbackUnit = 256 // bytes, the alignment if the device reports none
	everything   = ^uint64(0)
)

// Pool keeps memory of one device that a program frees, and gives it out again. See the package
// documentation for how.
type Pool struct {
	dev      *hal.Device
	source   *direct // of chunks, and of blocks of 0 bytes
	ordered  *direct // of blocks that are a memory of their own and that have a stream; nil if that is the source, too
	opts     options
	unit     uint64 // bytes, the alignment
	shift    uint   // unit is 1<<shift
	batch    uint64 // bytes
	maxAlloc uint64 // bytes, 0 if unknown

	idle  *domain
	table atomic.Pointer[table] // of the streams
	heaps [kinds]*heap

	reserved, peak atomic.Uint64 // bytes taken from the device
	grown          atomic.Uint64 // memories taken
	batches        atomic.Int64  // since maxCached was last checked
	failures       atomic.Uint64

	mu     sync.Mutex // guards changes of the table; locked before the heaps' locks
	closed bool       // also read under any heap's lock
	hand   int        // index in the table where closed streams are looked for next
}

var _ Allocator = (*Pool)(nil)

// New returns a pool of a device's memory. It takes no memory before the first Alloc. Close the pool before the
// device.
//
// The error is of kind ErrInvalidArgument if an option is invalid.
func New(dev *hal.Device, opts ...Option) (*Pool, error) {
	const op = "new pool"
	if dev == nil {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil device")
	}
	var o options
	for _, set := range opts {
		if set == nil {
			return nil, failure(dev, op, hal.ErrInvalidArgument, "nil option")
		}
		set(&o)
	}
	info := dev.Info()
	unit := info.Alignment
	if unit == 0 || unit&(unit-1) != 0 {
		unit = fallbackUnit
	}
	if o.chunk == 0 {
		o.chunk = defaultChunk
	}
	if o.large == 0 {
		o.large = o.chunk / 8
	}
	switch {
	case o.chunk < unit:
		return nil, failure(dev, op, hal.ErrInvalidArgument, "chunks of %d bytes are too small for an aligned block", o.chunk)
	case o.large > o.chunk:
		return nil, failure(dev, op, hal.ErrInvalidArgument, "blocks below %d bytes do not fit in chunks of %d", o.large, o.chunk)
	}
	p := &Pool{dev: dev, source: &direct{dev: dev}, opts: o, unit: unit, batch: batchBytes,
		maxAlloc: info.MaxAlloc, idle: newDomain(nil, false)}
	if info.Caps.Has(hal.CapStreamAlloc) && !o.noStreamAlloc {
		p.ordered = &direct{dev: dev, async: true}
	}
	for p.unit>>p.shift > 1 {
		p.shift++
	}
	for k := range p.heaps {
		p.heaps[k] = newHeap(p, hal.Kind(k+1))
	}
	p.idle.shelf(hal.KindDevice)
	if o.maxCached > 0 {
		p.batch = min(p.batch, max(o.maxCached/8, 1))
	}
	p.table.Store(newTable(0))
	return p, nil
}

// Alloc implements [Allocator]. It tries, in this order: memory that was freed on the stream; memory that nothing uses
// any more; memory that another stream has finished with; new memory from the device; new memory after giving free
// memory back to the device; and memory that another stream still uses, after making the stream wait for that use.
//
// An error of kind ErrOutOfMemory wraps an [ExhaustedError]. A stream of another device is an error of kind
// ErrWrongDevice.
func (p *Pool) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (Block, error) {
	if size-1 < maxSize && uint(kind-1) < uint(kinds) {
		if d := p.find(stream); d != nil {
			if s := d.shelves[kind-1].Load(); s != nil && !d.foreign {
				class := classOf((size-1)>>p.shift + 1)
				l := s.lock()
				if r := l.bins[class]; r != nil && r.cap >= size {
					l.bins[class] = r.next
					r.next = nil
					ordered := r.epoch > d.passed.Load()
					l.out(size, r.cap)
					state := r.give(size)
					l.mu.Unlock()
					return newBlock(r, p, state, ordered), nil
				}
				l.mu.Unlock()
				if b, ok := p.scan(s, d, class, size); ok {
					return b, nil
				}
			}
		}
	}
	return p.allocSlow(stream, kind, size)
}

// scan looks for a block that was freed in any lane of a shelf.
func (p *Pool) scan(s *shelf, d *domain, class int, size uint64) (b Block, ok bool) {
	if len(*s.lanes.Load()) == 1 {
		return Block{}, false
	}
	s.each(func(l *lane) bool {
		if r := l.pop(class, size, everything); r != nil {
			l.out(size, r.cap)
			b, ok = newBlock(r, p, r.give(size), r.epoch > d.passed.Load()), true
		}
		return !ok
	})
	return b, ok
}

// maxSize is the largest size in bytes that a class is computed for. No device has as much memory, and it is within
// the last class with every alignment.
const maxSize = 1 << 41

func (p *Pool) find(stream *hal.Stream) *domain {
	if stream == nil {
		return p.idle
	}
	return p.table.Load().find(stream)
}

// Free implements [Allocator]. The memory can be given out on the same stream at once, and elsewhere once the work
// enqueued on the stream before Free has finished.
func (p *Pool) Free(b Block, stream *hal.Stream) error {
	r := b.rec
	if r == nil || r.pool != p {
		return p.refuse("free", b, stream)
	}
	for {
		d := p.find(stream)
		if d == nil {
			var err error
			if d, err = p.join("free", stream); err != nil {
				return err
			}
		}
		s := d.shelves[r.kind-1].Load()
		if s == nil {
			if s = d.shelf(r.kind); s == nil {
				if p.pause() {
					return b.stale("free")
				}
				continue
			}
		}
		l := s.lock()
		if l.dead {
			l.mu.Unlock()
			if p.pause() {
				return b.stale("free")
			}
			continue
		}
		if !r.end(b.state()) {
			l.mu.Unlock()
			return b.stale("free")
		}
		l.in(r.size.Load(), r.cap)
		if r.uses.some.Load() {
			r.live = true // counts as live until it is parked, so that the pool is not closed meanwhile
			l.mu.Unlock()
			p.park(r, d)
			return nil
		}
		r.epoch = d.epoch.Load()
		l.push(r, r.class)
		l.freed += r.cap
		full := l.freed >= p.batch
		if full {
			l.freed = 0
		}
		l.mu.Unlock()
		if full {
			p.batched(d)
		}
		return nil
	}
}

// pause waits until the pool has finished retiring a domain, and reports whether the pool is closed.
func (p *Pool) pause() (closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// refuse returns the error for a block that is not the pool's own, or frees it if it has 0 bytes.
func (p *Pool) refuse(op string, b Block, stream *hal.Stream) error {
	switch {
	case b.rec == nil:
		return p.failure(op, hal.ErrClosed, "zero block")
	case b.rec.pool == nil && b.rec.cap == 0:
		return p.source.Free(b, stream)
	}
	return p.failure(op, hal.ErrInvalidArgument, "the block belongs to another allocator")
}

// batched runs each time a batch of bytes has been freed in a domain. It records an event and checks the bound of WithMaxCached.
func (p *Pool) batched(d *domain) {
	streams := p.table.Load().streams.Load()
	if streams > 1 {
		_ = d.record() // for other streams, which can then use the blocks sooner
	}
	if p.opts.maxCached == 0 || p.batches.Add(1) <= streams/few {
		return
	}
	p.batches.Store(0)
	if p.unused() > p.opts.maxCached {
		p.Trim(p.opts.maxCached - p.opts.maxCached/4)
	}
}

// park keeps apart a block that has been freed while recorded uses of it are under way.
func (p *Pool) park(r *record, d *domain) {
	fence := r.uses.take()
	certain := true
	if d.stream != nil {
		m, err := layer.RecordShared(d.stream)
		if err != nil {
			certain = false
		} else {
			fence = append(fence, m)
		}
	}
	h := p.heaps[r.kind-1]
	h.mu.Lock()
	defer h.mu.Unlock()
	r.live = false
	if certain {
		h.release(r.node, fence)
		return
	}
	r.node.chunk.keep(fence)
	h.lose(r, d.stream)
}

func (p *Pool) allocSlow(stream *hal.Stream, kind hal.Kind, size uint64) (Block, error) {
	const op = allocOp
	switch {
	case kind < 1 || int(kind) > kinds:
		return Block{}, p.failure(op, hal.ErrInvalidArgument, "invalid memory kind %v", kind)
	case size == 0:
		return p.allocNone(op, stream, kind)
	}
	d := p.find(stream)
	if d == nil {
		var err error
		if d, err = p.join(op, stream); err != nil {
			return Block{}, err
		}
	}
	if d.foreign {
		return Block{}, p.failure(op, hal.ErrWrongDevice, "the stream belongs to %s", stream.Device().Name())
	}
	b, err := p.obtain(op, d, kind, size)
	if err != nil && isShort(err) {
		p.failures.Add(1)
		err = p.exhausted(op, kind, size, err)
	}
	return b, err
}

// exhausted is the error of an allocation that failed for want of memory.
func (p *Pool) exhausted(op string, kind hal.Kind, size uint64, cause error) error {
	info := p.dev.Info()
	s := &driver.Shortage{Request: size, Kind: kind, Held: p.reserved.Load()}
	if info.Caps.Has(hal.CapMemInfo) {
		if free, total, err := p.dev.MemInfo(); err == nil {
			s.Free, s.Total, s.FreeKnown = free, total, true
		}
	}
	return &hal.Error{Op: op, Backend: info.Backend, Device: info.Ordinal, Kind: hal.ErrOutOfMemory,
		Shortage: s, Err: &ExhaustedError{Limit: p.opts.limit, Stats: p.Stats(), err: cause}}
}

// allocNone returns a block of 0 bytes. It is one of the source's: the pool has no record of it.
func (p *Pool) allocNone(op string, stream *hal.Stream, kind hal.Kind) (Block, error) {
	if p.pause() {
		return Block{}, p.failure(op, hal.ErrClosed, "the pool is closed")
	}
	b, err := p.source.Alloc(stream, kind, 0)
	if err != nil {
		return Block{}, err
	}
	return b.From(p), nil
}

// obtain allocates a block, after giving other memory back if that is needed.
func (p *Pool) obtain(op string, d *domain, kind hal.Kind, size uint64) (Block, error) {
	h := p.heaps[kind-1]
	if size-1 >= maxSize {
		return Block{}, p.failure(op, hal.ErrOutOfMemory, "no device has %d bytes", size)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	q := h.request(d, size)
	var last error
	for round := 0; ; round++ {
		if p.closed {
			return Block{}, p.failure(op, hal.ErrClosed, "the pool is closed")
		}
		g, ok := h.look(q)
		if !ok && !q.whole {
			h.gather(0)
			g, ok = h.cut(q)
		}
		var lacking uint64
		if !ok {
			if round == 0 {
				h.misses++
			}
			var err error
			g, lacking, err = h.grow(q)
			if ok = err == nil; !ok {
				last = err
				if !isShort(err) {
					return Block{}, err
				}
			}
		}
		if !ok && round >= 2 {
			g, ok = h.press(q)
			if !ok {
				return Block{}, last
			}
		}
		if ok {
			h.out(size, g.rec.cap)
			return newBlock(g.rec, p, g.rec.give(size), g.ordered), nil
		}
		// First give back as much as is lacking, then all that can be given back.
		want := max(lacking, 1)
		if round == 1 || lacking == 0 {
			want = everything
		}
		h.mu.Unlock()
		p.relieve(kind, lacking > 0, want)
		h.mu.Lock()
	}
}

// relieve gives memory back to make room for memory of a kind: under the pool's limit if limited is set, else on the
// device.
func (p *Pool) relieve(kind hal.Kind, limited bool, want uint64) {
	p.mu.Lock()
	p.sweep()
	p.mu.Unlock()
	onHost := func(k hal.Kind) bool { return k == hal.KindHost }
	var released uint64
	for _, k := range []hal.Kind{hal.KindDevice, hal.KindShared, hal.KindHost} {
		if released < want && (limited || layer.SharesHostMemory(p.dev) || onHost(k) == onHost(kind)) {
			released += p.trimKind(k, want-released)
		}
	}
}

func (p *Pool) trimKind(k hal.Kind, want uint64) uint64 {
	h := p.heaps[k-1]
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.gather(want)
}

// Trim gives memory that nothing uses back to the device, until the pool keeps at most keep bytes of free memory, and
// returns how many bytes it gave back. Freed memory that work under way still uses stays. The driver may keep some of it
// ([hal.Stream.AllocAsync]).
func (p *Pool) Trim(keep uint64) (released uint64) {
	for _, k := range []hal.Kind{hal.KindDevice, hal.KindShared, hal.KindHost} {
		if unused := p.unused(); unused > keep {
			released += p.trimKind(k, unused-keep)
		}
	}
	return released
}

// take claims bytes of the device's memory. If they exceed the pool's limit, lacking is the number of bytes above it.
func (p *Pool) take(n uint64) (lacking uint64, err error) {
	for {
		have := p.reserved.Load()
		if limit := p.opts.limit; limit > 0 && n > limit-min(limit, have) {
			return n - (limit - min(limit, have)), p.failure(allocOp, hal.ErrOutOfMemory,
				"%d bytes more than the %d that it has exceed the pool's limit of %d", n, have, limit)
		}
		if p.reserved.CompareAndSwap(have, have+n) {
			return 0, nil
		}
	}
}

// took notes that claimed memory has been allocated.
func (p *Pool) took() {
	p.grown.Add(1)
	for {
		peak, now := p.peak.Load(), p.reserved.Load()
		if now <= peak || p.peak.CompareAndSwap(peak, now) {
			return
		}
	}
}

// giveBack ends a claim.
func (p *Pool) giveBack(n uint64) { p.reserved.Add(-n) }

// everybody visits the domains, the idle one first.
func (p *Pool) everybody(yield func(*domain) bool) {
	if yield(p.idle) {
		p.table.Load().all(yield)
	}
}

// join returns the domain of a stream, and makes it if there is none.
func (p *Pool) join(op string, stream *hal.Stream) (*domain, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, p.failure(op, hal.ErrClosed, "the pool is closed")
	}
	if stream.Device() == nil {
		return nil, p.failure(op, hal.ErrInvalidArgument, "zero stream")
	}
	if d := p.find(stream); d != nil {
		return d, nil
	}
	for d := range p.table.Load().next(&p.hand, sweepSlots) {
		if !d.closed() {
			continue // Idle would take the error of an open stream away from the program
		}
		if done, _ := layer.Idle(d.stream); done {
			_ = p.dissolve(d)
		}
	}
	d := newDomain(stream, !stream.Device().Same(p.dev))
	p.table.Store(p.table.Load().insert(d))
	return d, nil
}

// sweepSlots is how many slots of the table are searched for closed and drained streams each time a stream is added. If
// most streams of the table are closed, more of them are found than are added, so that the table does not grow with them.
const sweepSlots = 16

// sweep forgets all streams that have been closed; p.mu is held.
func (p *Pool) sweep() {
	for d := range p.table.Load().all {
		if d.closed() {
			_ = p.dissolve(d)
		}
	}
}

// ForgetStream makes the pool forget a stream. Call it before closing one: blocks that were freed on the stream are then given
// out elsewhere once its work has finished. A pool finds out by itself that a stream was closed, and forgets it when its
// last work has finished. But if memory runs out before that, blocks that were freed on such a stream are not given out again:
// their memory is lost to the pool until their whole chunk has gone back to the device. A stream that is closed already is
// forgotten too, with an error of kind ErrClosed. A stream that the pool does not know is no error.
func (p *Pool) ForgetStream(stream *hal.Stream) error {
	if stream == nil {
		return p.failure("forget a stream", hal.ErrInvalidArgument, "nil stream")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.find(stream)
	if d == nil {
		return nil
	}
	return p.dissolve(d)
}

// dissolve removes a domain; p.mu is held. If no event could be recorded for the stream's last work, it returns that error.
func (p *Pool) dissolve(d *domain) error {
	p.table.Store(p.table.Load().remove(d))
	d.mu.Lock()
	d.retired = true
	d.mu.Unlock()
	for s := range d.all {
		s.kill()
	}
	// No more blocks are freed in the domain, so this event covers all of its blocks.
	err := d.record()
	for _, h := range p.heaps {
		h.dissolve(d)
	}
	d.finish()
	return err
}

// Close gives all memory back to the device. hal keeps memory until work under way has finished; Close does not wait. While
// blocks are live Close changes nothing and fails with an error of kind ErrBusy, which says how many. A second
// Close does nothing.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	defer p.stop()()
	blocks, bytes := 0, uint64(0)
	for _, h := range p.heaps {
		h.live(func(r *record) { blocks, bytes = blocks+1, bytes+r.cap })
	}
	if blocks > 0 {
		return p.failure("close", hal.ErrBusy, "%d blocks are live, of %s together", blocks, formatSize(bytes))
	}
	p.closed = true
	var first error
	for _, h := range p.heaps {
		// hal does not know of work that the program itself enqueued, so it is told which streams used the memory.
		for d := range p.everybody {
			if s := d.shelves[h.kind-1].Load(); s != nil && d.stream != nil {
				for _, c := range h.chunks {
					c.used(d.stream)
				}
			}
		}
		for len(h.chunks) > 0 {
			if err := h.drop(h.chunks[len(h.chunks)-1]); first == nil {
				first = err
			}
		}
	}
	for d := range p.everybody {
		for s := range d.all {
			s.dead = true
			for _, l := range *s.lanes.Load() {
				l.dead = true
				clear(l.bins[:])
			}
		}
		d.finish()
	}
	p.table.Store(newTable(0))
	return first
}

// live calls fn with each record of a live block, also of one that is being freed. The caller has stopped the pool by stop.
func (h *heap) live(fn func(*record)) {
	count := func(r *record) {
		if r != nil && r.live {
			fn(r)
		}
	}
	for _, c := range h.chunks {
		for n := c.first; n != nil; n = n.next {
			count(n.rec)
		}
	}
}

// stop keeps all goroutines from allocating and freeing blocks until the function that it returns is
// called; p.mu is held.
func (p *Pool) stop() (resume func()) {
	for _, h := range p.heaps {
		h.mu.Lock()
	}
	var undo []func()
	for d := range p.everybody {
		d.mu.Lock()
		d.retired = true // no new shelves
		d.mu.Unlock()
		for s := range d.all {
			s.spread.Lock() // no new lanes
			undo = append(undo, s.spread.Unlock)
			for _, l := range *s.lanes.Load() {
				l.mu.Lock()
				undo = append(undo, l.mu.Unlock)
			}
		}
	}
	return func() {
		for d := range p.everybody {
			d.mu.Lock()
			d.retired = p.closed
			d.mu.Unlock()
		}
		for _, f := range undo {
			f()
		}
		for _, h := range p.heaps {
			h.mu.Unlock()
		}
	}
}

// String names the pool's device.
func (p *Pool) String() string { return fmt.Sprintf("pool of %s", p.dev.Name()) }
