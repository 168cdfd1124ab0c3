package hal

import (
	"math/bits"
	"slices"
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/wait"
)

// A staged copy rotates among acrossPieces pieces of host memory: one that the source fills, one that the
// destination reads, and one that covers the time until one device learns that the other has finished. A
// piece is an eighth of the copy, within the limits below in bytes, so that the time in which only one side has
// work stays short.
const (
	acrossPieces = 3
	acrossLeast  = 256 << 10
	acrossMost   = 4 << 20
)

const (
	crossingBytes  = acrossPieces * acrossMost // the most bytes that one crossing keeps for later copies
	crossingBlocks = 16                        // the most blocks that it keeps
	blockLeast     = 64 << 10                  // bytes of the smallest block
)

// crossing is the host memory through which copies from one device to another pass. It does not count as
// an open object of either device.
type crossing struct {
	dst, src *deviceState

	mu     sync.Mutex
	blocks []*block // not held by any call, the oldest first
	bytes  uint64   // total size of blocks
}

// block is host memory for one staged copy at a time.
type block struct {
	dst, src *deviceState
	bytes    []byte
	locked   [2]*Memory             // the allocation or registrations that make bytes page-locked, nil if there are none
	keep     bool                   // worth keeping for later copies
	ordered  struct{ in, out bool } // in: the destination reads bytes in stream order; out: the source writes them in stream order

	// The last copy that used the block: its streams and the event of its end. All nil once it is known to be done.
	to, from *streamState
	read     *wait.Event
}

// crossingFrom returns the crossing from src to s. The caller has begun a call on both devices.
func (s *deviceState) crossingFrom(src *deviceState) *crossing {
	s.mu.Lock()
	for _, k := range s.kept {
		if c, ok := k.(*crossing); ok && c.dst == s && c.src == src {
			s.mu.Unlock()
			return c
		}
	}
	c := &crossing{dst: s, src: src}
	s.kept = append(s.kept, c)
	s.mu.Unlock()
	src.mu.Lock()
	src.kept = append(src.kept, c)
	src.mu.Unlock()
	if s.Calls.Closed() || src.Calls.Closed() {
		c.drop() // other goroutines may have put blocks into c before it was on both lists
	}
	return c
}

// forget removes the crossing from the lists of its devices.
func (c *crossing) forget() {
	for _, s := range [...]*deviceState{c.dst, c.src} {
		s.mu.Lock()
		s.kept = slices.DeleteFunc(s.kept, func(k keeper) bool { return k == c })
		s.mu.Unlock()
	}
}

// drop frees all memory of a crossing whose devices are not both open.
func (c *crossing) drop() {
	c.forget()
	c.mu.Lock()
	blocks := c.blocks
	c.blocks, c.bytes = nil, 0
	c.mu.Unlock()
	closeBlocks(blocks)
}

// freeIdle frees the blocks that no work uses, and reports whether there were any.
func (c *crossing) freeIdle() bool {
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
	return len(idle) > 0
}

// reserve returns a block of at least n bytes, which the caller owns until put or close. waits says that the copy itself
// makes its source stream wait for its destination stream. Then reserve, rather than exceed crossingBytes with a new block, may
// return one that the previous copy between the same two streams still uses; its field read is the event of that copy's end.
func (c *crossing) reserve(dst, src *Stream, n uint64, waits bool) *block {
	n = blockSize(n)
	if b := c.reserveKept(dst.s, src.s, n, waits); b != nil {
		b.to, b.from = dst.s, src.s
		return b
	}
	b := &block{dst: c.dst, src: c.src, to: dst.s, from: src.s}
	b.allocate(dst, src, n)
	return b
}

func (c *crossing) reserveKept(dst, src *streamState, n uint64, waits bool) *block {
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

// remove removes and returns the i-th block; c.mu is held.
func (c *crossing) remove(i int) *block {
	b := c.blocks[i]
	c.blocks = slices.Delete(c.blocks, i, i+1)
	c.bytes -= uint64(len(b.bytes))
	return b
}

// put keeps a block for later copies, or closes it if it is not worth keeping or a device is closed. If the crossing then
// exceeds a limit, put closes its smallest blocks, which may include b.
func (c *crossing) put(b *block) {
	var gone []*block
	c.mu.Lock()
	if !b.keep || c.dst.Calls.Closed() || c.src.Calls.Closed() {
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

// smallest returns the index of the smallest block, or of the newest if several are equally small; c.mu is held.
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

// after stores the event of the last copy's end. The block takes over the caller's reference.
func (b *block) after(read *wait.Event) {
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
	if done, _ := b.read.Done(); !done {
		return false
	}
	b.read.Release()
	b.read, b.to, b.from = nil, nil, nil
	return true
}

// close frees the memory once the copies that use it have finished.
func (b *block) close() { closeBlocks([]*block{b}) }

// closeBlocks closes blocks that no other call holds.
func closeBlocks(blocks []*block) {
	for _, b := range blocks {
		for i, m := range b.locked {
			if m == nil {
				continue
			}
			for _, s := range [...]*streamState{b.to, b.from} {
				if s != nil {
					m.s.Note(&s.User)
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

// allocate allocates memory, page-locked for the devices that benefit from it, if they support it.
func (b *block) allocate(dst, src *Stream, n uint64) {
	in, out := gainsByLock(b.dst), gainsByLock(b.src)
	b.ordered.in = b.dst.Info.Caps.Has(CapOrderedPageable)
	b.ordered.out = b.src.Info.Caps.Has(CapOrderedPageable)
	b.keep = true
	// If one device's streams can wait for the other's events, both belong to one driver: memory that it page-locks for
	// one of its devices is page-locked for all.
	one := b.dst.Links(&b.src.Device, driver.PeerWait)
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

// gainsByLock reports whether page-locked memory makes the device's copies faster, or keeps them in stream order.
func gainsByLock(s *deviceState) bool {
	return !s.Info.Caps.Has(CapOrderedPageable) || !s.Info.SharesHostMemory && s.Info.PCI != ""
}

// register page-locks memory of the Go heap for both devices, and reports whether it could.
func (b *block) register(dst, src *Stream, n uint64) bool {
	if !b.dst.Info.Caps.Has(CapRegister) || !b.src.Info.Caps.Has(CapRegister) {
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

// lock allocates page-locked memory of the device of s, for both streams, and reports whether it could.
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

// own makes the block the owner of m: m no longer counts as an open object of its device, and no longer
// keeps the device's handle reachable.
func (b *block) own(i int, m *Memory) {
	m.s.dev.Retire(&m.s.Child, m.lookout)
	m.lookout = nil
	m.dev = nil
	b.locked[i] = m
}

// unlock closes the page-locked memory, which no work has used.
func (b *block) unlock() {
	for i, m := range b.locked {
		if m != nil {
			_ = m.Close()
			b.locked[i] = nil
		}
	}
}
