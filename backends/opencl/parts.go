//go:build opencl

package opencl

import (
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

// maxParts is how many sub-buffers of one memory are kept for later launches.
const maxParts = 16

// parts are the sub-buffers of one cl_mem. In the buffer tier the only way to pass a kernel a pointer into the middle of a memory is a
// sub-buffer, which begins there and reaches to the memory's end.
//
// Memory that the program imports may be a sub-buffer itself. A sub-buffer cannot be divided (OpenCL 1.2, section 5.2.1), so the parts of
// such memory are made from the buffer that it is a part of.
type parts struct {
	of  uintptr // the cl_mem that the memory is a part of, 0 if there is none
	off uint64  // where it begins there

	mu   sync.Mutex
	kept []*subBuffer // at most maxParts
	next int          // index in kept of the first candidate for eviction
}

// subBuffer is a cl_mem that begins inside another.
type subBuffer struct {
	of    *memory
	off   uint64
	mem   uintptr
	users int  // launches that use it and are not enqueued yet
	kept  bool // it is in the list kept of its memory
}

// from returns the sub-buffer of the memory that begins at off. The caller releases it once it has enqueued the launch that
// uses it.
func (m *memory) from(op string, off uint64) (*subBuffer, error) {
	d := m.dev
	if off%d.hw.align != 0 {
		return nil, d.refuse(op, driver.ErrMisaligned,
			"offset %d of a pointer is not a multiple of %d, as the device requires in the buffer tier", off, d.hw.align)
	}
	p := &m.parts
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.kept {
		if b.off == off {
			b.users++
			return b, nil
		}
	}
	whole := m.mem
	if p.of != 0 {
		whole = p.of
	}
	mem, st := d.t.createSubBuffer(whole, [2]uint64{p.off + off, m.size - off})
	if st != success {
		return nil, d.check(op, "clCreateSubBuffer", st)
	}
	b := &subBuffer{of: m, off: off, mem: mem, users: 1, kept: true}
	if len(p.kept) < maxParts {
		p.kept = append(p.kept, b)
		return b, nil
	}
	for range p.kept {
		at := p.next
		p.next = (p.next + 1) % maxParts
		if old := p.kept[at]; old.users == 0 {
			// Commands that use the sub-buffer keep it alive until they are done (OpenCL 1.2,
			// section 5.4.1).
			_ = d.t.releaseBuffer(old.mem)
			p.kept[at] = b
			return b, nil
		}
	}
	b.kept = false
	return b, nil
}

// release ends a launch's use of the sub-buffer.
func (b *subBuffer) release() {
	p := &b.of.parts
	p.mu.Lock()
	b.users--
	gone := b.users == 0 && !b.kept
	p.mu.Unlock()
	if gone {
		_ = b.of.dev.t.releaseBuffer(b.mem)
	}
}

// freeParts releases the sub-buffers of m. No work uses m any more.
func (m *memory) freeParts() {
	for _, b := range m.parts.kept {
		_ = m.dev.t.releaseBuffer(b.mem)
	}
	m.parts.kept = nil
}
