package hal

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

// What is kept for later copies from one device to another.
const (
	crossingBytes  = acrossPieces * acrossMost
	crossingBlocks = 16
	blockLeast     = 64 << 10 // bytes
)

// crossing is the host memory that copies from one device to another pass through. It does not count as
// open in either of them.
type crossing struct {
	dst, src *deviceState

	mu     sync.Mutex
	blocks []*block // that no call holds, the oldest first
	bytes  uint64   // of blocks
}

// block is host memory for one staged copy at a time.
type block struct {
	dst, src *deviceState
	bytes    []byte
	locked   [2]*Memory             // allocation or registrations that make bytes page-locked, nil if there are none
	keep     bool                   // worth to be kept
	ordered  struct{ in, out bool } // the destination, the source touches bytes in stream order

	// The copy that used it last: its streams, and the point at which it was done, all nil if that is past.
	to, from *streamState
	read     *Mark
}

// crossingFrom is the crossing from src to s, both of which the caller has begun a call on.
func (s *deviceState) crossingFrom(src *deviceState) *crossing {
	s.mu.Lock()
	for _, c := range s.crossings {
		if c.dst == s && c.src == src {
			s.mu.Unlock()
			return c
		}
	}
	c := &crossing{dst: s, src: src}
	s.crossings = append(s.crossings, c)
	s.mu.Unlock()
	src.mu.Lock()
	src.crossings = append(src.crossings, c)
	src.mu.Unlock()
	if s.closed() || src.closed() {
		c.drop() // others may have put blocks there before it was on both lists
	}
	return c
}

// forget takes the crossing off the lists of its devices.
func (c *crossing) forget() {
	for _, s := range [...]*deviceState{c.dst, c.src} {
		s.mu.Lock()
		s.crossings = slices.DeleteFunc(s.crossings, func(o *crossing) bool { return o == c })
		s.mu.Unlock()
	}
}

// closeCrossings gives back all that is kept for copies to and from the device, which is closed.
func (s *deviceState) closeCrossings() {
	for _, c := range s.allCrossings() {
		c.drop()
	}
}

// drop gives back all that is kept for a crossing of which a device is closed.
func (c *crossing) drop() {
	c.forget()
	c.mu.Lock()
	blocks := c.blocks
	c.blocks, c.bytes = nil, 0
	c.mu.Unlock()
	closeBlocks(blocks)
}

// closeIdleCrossings gives back what no work uses, and reports whether that was anything.
func (s *deviceState) closeIdleCrossings() bool {
	found := false
	for _, c := range s.allCrossings() {
		var idle []*block
		c.mu.Lock()
		c.blocks = slices.DeleteFunc(c.blocks, func(b *block) bool {
			if !b.idle() {
				return false
			}
			idle = append(idle, b)
			c.bytes -= uint64(len(b.bytes))
			return true
		})
		c.mu.Unlock()
		closeBlocks(idle)
		found = found || len(idle) > 0
	}
	return found
}

func (s *deviceState) allCrossings() []*crossing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.crossings)
}

// take returns a block of at least n bytes that is the caller's until put or close. If the copy's source waits for its
// destination anyway, that may be one which the last copy between the two streams still uses: read is its end.
func (c *crossing) take(dst, src *Stream, n uint64, waits bool) *block {
	n = blockSize(n)
	if b := c.takeKept(dst.s, src.s, n, waits); b != nil {
		b.to, b.from = dst.s, src.s
		return b
	}
	b := &block{dst: c.dst, src: c.src, to: dst.s, from: src.s}
	b.allocate(dst, src, n)
	return b
}

func (c *crossing) takeKept(dst, src *streamState, n uint64, waits bool) *block {
	c.mu.Lock()
	defer c.mu.Unlock()
	best := -1
	for i, b := range c.blocks {
		if uint64(len(b.bytes)) < n || best >= 0 && len(b.bytes) >= len(c.blocks[best].bytes) {
			continue
		}
		if b.idle() {
			best = i
		}
	}
	if best < 0 && waits && c.bytes+n > crossingBytes {
		best = slices.IndexFunc(c.blocks, func(b *block) bool {
			return uint64(len(b.bytes)) >= n && b.to == dst && b.from == src
		})
	}
	if best < 0 {
		return nil
	}
	return c.remove(best)
}

// remove takes the i-th block away; c.mu is held.
func (c *crossing) remove(i int) *block {
	b := c.blocks[i]
	c.blocks = slices.Delete(c.blocks, i, i+1)
	c.bytes -= uint64(len(b.bytes))
	return b
}

// put keeps a block for later copies. Smaller ones make room for it; where there is none, it goes.
func (c *crossing) put(b *block) {
	var gone []*block
	c.mu.Lock()
	if !b.keep || c.dst.closed() || c.src.closed() {
		gone = append(gone, b)
	} else {
		c.blocks = append(c.blocks, b)
		c.bytes += uint64(len(b.bytes))
		for c.bytes > crossingBytes || len(c.blocks) > crossingBlocks {
			gone = append(gone, c.remove(c.smallest()))
		}
	}
	c.mu.Unlock()
	closeBlocks(gone)
}

// smallest returns the place of the smallest block, of several the newest; c.mu is held.
func (c *crossing) smallest() int {
	least := 0
	for i, b := range c.blocks {
		if len(b.bytes) <= len(c.blocks[least].bytes) {
			least = i
		}
	}
	return least
}

// blockSize rounds up, so that copies of about the same size share blocks.
func blockSize(n uint64) uint64 {
	const unit = 256 << 10
	if n <= unit {
		return max(uint64(1)<<bits.Len64(n-1), blockLeast)
	}
	return (n + unit - 1) / unit * unit
}

// after notes the end of the last copy. The reference to the mark is the block's from here on.
func (b *block) after(read *Mark) {
	if b.read != nil {
		b.read.Release()
	}
	b.read = read
}

// idle reports whether no work uses the block.
func (b *block) idle() bool {
	if b.read == nil {
		return true
	}
	if done, err := b.read.Done(); !done && err == nil {
		return false
	}
	b.read.Release()
	b.read, b.to, b.from = nil, nil, nil
	return true
}

// close gives the memory back when the copies that use it have finished.
func (b *block) close() { closeBlocks([]*block{b}) }

// closeBlocks closes blocks that no call holds.
func closeBlocks(blocks []*block) {
	for _, b := range blocks {
		for i, m := range b.locked {
			if m == nil {
				continue
			}
			for _, s := range [...]*streamState{b.to, b.from} {
				if s != nil {
					m.s.note(s)
				}
			}
			_ = m.Close()
			b.locked[i] = nil
		}
		if b.read != nil {
			b.read.Release()
			b.read = nil
		}
	}
}

// allocate takes memory that is page-locked for the devices that gain by it, where they give it.
func (b *block) allocate(dst, src *Stream, n uint64) {
	in, out := gainsByLock(b.dst), gainsByLock(b.src)
	b.ordered.in = b.dst.info.Caps.Has(CapOrderedPageable)
	b.ordered.out = b.src.info.Caps.Has(CapOrderedPageable)
	b.keep = true
	// Streams that wait for each other's events belong to one driver, which knows its page-locked memory on
	// every device.
	one := b.dst.links(b.src, driver.PeerWait)
	switch {
	case in && out && !one && b.register(dst, src, n):
		b.ordered.in, b.ordered.out = true, true
	case !b.ordered.in && b.lock(dst, n):
		b.ordered.in = true
		b.ordered.out = b.ordered.out || one
	case out && b.lock(src, n):
		b.ordered.out = true
		b.ordered.in = b.ordered.in || one
	case in && b.lock(dst, n):
		b.ordered.in = true
		b.ordered.out = b.ordered.out || one
	default:
		b.bytes = make([]byte, n)
		b.keep = !in && !out
	}
}

// gainsByLock reports whether page-locked memory makes copies faster, or keeps them in order.
func gainsByLock(s *deviceState) bool {
	return !s.info.Caps.Has(CapOrderedPageable) || !s.info.SharesHostMemory && s.info.PCI.Known
}

// register page-locks memory of the Go heap for both devices.
func (b *block) register(dst, src *Stream, n uint64) bool {
	if !b.dst.info.Caps.Has(CapRegister) || !b.src.info.Caps.Has(CapRegister) {
		return false
	}
	b.bytes = make([]byte, n)
	for i, s := range [...]*Stream{src, dst} {
		m, err := s.Device().Register(b.bytes)
		if err != nil {
			b.unlock()
			return false
		}
		b.own(i, m)
	}
	return true
}

// lock takes page-locked memory of one stream's device, which the other stream uses as well.
func (b *block) lock(s *Stream, n uint64) bool {
	m, err := s.Device().Alloc(KindHost, n, 0)
	if err != nil {
		return false
	}
	b.own(0, m)
	if b.bytes, err = m.Bytes(); err != nil {
		b.unlock()
		return false
	}
	return true
}

// own makes the block the only holder of m, which no longer counts as open in its device, nor keeps the
// device's handle from being found leaked.
func (b *block) own(i int, m *Memory) {
	m.unwatch()
	m.s.dev.strike(&m.s.child)
	m.dev = nil
	b.locked[i] = m
}

// unlock closes memory that nothing has used.
func (b *block) unlock() {
	for i, m := range b.locked {
		if m != nil {
			_ = m.Close()
			b.locked[i] = nil
		}
	}
}
