package gpu

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Pageable memory is copied in pieces between these sizes, in bytes.
const (
	stagingLeast = 64 << 10
	stagingSize  = 4 << 20
)

// staging is page-locked memory through which a busy stream copies pageable memory. The
// stream is in order, so each piece uses the same memory after the one before it.
type staging struct {
	mu    sync.Mutex
	block *stagingBlock
	small []*stagingBlock // replaced by a larger one, and in use until the stream is closed
}

type stagingBlock struct {
	base uintptr
	size uintptr
}

// mustStage reports whether the vendor's own copy of n bytes of pageable memory would make the caller wait for
// the stream, because it is busy, or would be refused, because only some of the memory is page-locked.
func (s *Stream) mustStage(op string, host, n uintptr) (bool, error) {
	if !s.dev.info.Caps.Has(driver.CapHostCallback) {
		return false, nil
	}
	if n != 0 && s.dev.lib.hosts.touches(host, n) && !s.dev.lib.hosts.contains(host, n) {
		return true, nil
	}
	switch code := s.api.StreamQuery(s.ctx, s.handle); code {
	case Success:
		return false, nil
	case CodeNotReady:
		return true, nil
	default:
		return false, s.dev.fail(op, CallStreamQuery, code)
	}
}

// take returns page-locked memory for pieces of a copy of n bytes: as much as that and stagingSize
// allow, or what is to be had. Its caller holds g.mu until the copy has been enqueued, so that
// the pieces of two copies do not mix.
func (g *staging) take(op string, d *Device, n uintptr) (*stagingBlock, error) {
	want := uintptr(stagingLeast)
	for want < n && want < stagingSize {
		want *= 2
	}
	if g.block != nil && g.block.size >= want {
		return g.block, nil
	}
	b, code := d.staging.take(d, want)
	switch {
	case code != Success && g.block != nil:
		return g.block, nil
	case code != Success && want > stagingLeast:
		want = stagingLeast
		b, code = d.staging.take(d, want)
	}
	if code != Success {
		return nil, d.short(op, CallHostAlloc, code, driver.KindHost, uint64(want))
	}
	if g.block != nil {
		g.small = append(g.small, g.block)
	}
	g.block = b
	return g.block, nil
}

func (g *staging) close(d *Device) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.block != nil {
		g.small = append(g.small, g.block)
	}
	for _, b := range g.small {
		d.staging.put(b)
	}
	g.block, g.small = nil, nil
}

// stagingBlocks are what closed streams have left: no more than what streams had that were open together. To free them
// could mean to wait for other streams.
type stagingBlocks struct {
	mu    sync.Mutex
	spare []*stagingBlock
}

// take returns a block of so many bytes at least, the smallest spare one or a new one.
func (p *stagingBlocks) take(d *Device, want uintptr) (*stagingBlock, Code) {
	p.mu.Lock()
	best := -1
	for i, b := range p.spare {
		if b.size >= want && (best < 0 || b.size < p.spare[best].size) {
			best = i
		}
	}
	if best >= 0 {
		b := p.spare[best]
		p.spare = slices.Delete(p.spare, best, best+1)
		p.mu.Unlock()
		return b, Success
	}
	p.mu.Unlock()
	base, code := d.api.HostAlloc(d.ctx, uint64(want))
	return &stagingBlock{base, want}, code
}

func (p *stagingBlocks) put(b *stagingBlock) {
	p.mu.Lock()
	p.spare = append(p.spare, b)
	p.mu.Unlock()
}

func (p *stagingBlocks) close(d *Device) {
	p.mu.Lock()
	spare := p.spare
	p.spare = nil
	p.mu.Unlock()
	for _, b := range spare {
		_ = d.give(CallHostFree, API.HostFree, b.base)
	}
}

// stageIn copies pageable memory to the device, in pieces that the stream fetches itself.
func (s *Stream) stageIn(m *Memory, addr uintptr, src unsafe.Pointer, n uintptr) error {
	const op = "copy in"
	s.staging.mu.Lock()
	defer s.staging.mu.Unlock()
	b, err := s.staging.take(op, s.dev, n)
	if err != nil {
		return err
	}
	for off := uintptr(0); off < n; off += b.size {
		from := unsafe.Add(src, off)
		c := min(b.size, n-off)
		move := func() { moveHost(hostPointer(b.base), from, c) }
		if code := s.dev.calls.enqueue(s, move, nil); code != Success {
			return s.dev.fail(op, CallHostCall, code)
		}
		if call, code := s.copyIn(m, addr+off, b.base, c); code != Success {
			return s.dev.fail(op, call, code)
		}
	}
	return nil
}

// stageOut is stageIn the other way.
func (s *Stream) stageOut(dst unsafe.Pointer, m *Memory, addr, n uintptr) error {
	const op = "copy out"
	s.staging.mu.Lock()
	defer s.staging.mu.Unlock()
	b, err := s.staging.take(op, s.dev, n)
	if err != nil {
		return err
	}
	for off := uintptr(0); off < n; off += b.size {
		to := unsafe.Add(dst, off)
		c := min(b.size, n-off)
		if call, code := s.copyOut(b.base, m, addr+off, c); code != Success {
			return s.dev.fail(op, call, code)
		}
		move := func() { moveHost(to, hostPointer(b.base), c) }
		if code := s.dev.calls.enqueue(s, move, nil); code != Success {
			return s.dev.fail(op, CallHostCall, code)
		}
	}
	return nil
}

// moveHost copies n bytes. Pieces of this size stay clear of the slower stores that one large
// copy is made with.
func moveHost(dst, src unsafe.Pointer, n uintptr) {
	const piece = 256 << 10
	to, from := unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n)
	for len(from) > 0 {
		c := copy(to[:min(piece, len(to))], from)
		to, from = to[c:], from[c:]
	}
}
