//go:build vulkan

package vulkan

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Copy copies between two memories of the device.
func (s *stream) Copy(dst, src driver.Region) error {
	to, from := dst.Mem.(*memory), src.Mem.(*memory)
	o := op{kind: opCopy, name: "copy", n: dst.Len, dst: to.at(dst.Off), src: from.at(src.Off)}
	if to.host != nil && from.host != nil {
		o.to, o.from = to.hostAt(dst.Off), from.hostAt(src.Off)
	}
	return s.enqueue(o)
}

func (m *memory) at(off uint64) place { return place{m.blk.buffer, m.off + off} }

// CopyIn copies from host memory. What the device sees itself it copies; other memory the host copies, to where the device sees it.
func (s *stream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	m := dst.Mem.(*memory)
	o := op{kind: opCopy, name: "copy in", n: dst.Len, dst: m.at(dst.Off), from: src}
	if m.host != nil {
		o.to = m.hostAt(dst.Off)
	}
	from, off, touches := s.dev.hosts.find(src, dst.Len)
	switch {
	case from != nil && !overlap(o.dst, place{from.blk.buffer, off}, o.n):
		o.src = place{from.blk.buffer, off}
		if o.to == nil {
			o.from = nil
		}
	case o.to != nil:
		o.kind = opHost
	default:
		o.kind, o.drain = opStageIn, touches
	}
	return s.enqueue(o)
}

// CopyOut copies to host memory, as CopyIn.
func (s *stream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	m := src.Mem.(*memory)
	o := op{kind: opCopy, name: "copy out", n: src.Len, src: m.at(src.Off), to: dst}
	if m.host != nil {
		o.from = m.hostAt(src.Off)
	}
	to, off, _ := s.dev.hosts.find(dst, src.Len)
	switch {
	case to != nil && !overlap(o.src, place{to.blk.buffer, off}, o.n):
		o.dst = place{to.blk.buffer, off}
	case o.from != nil:
		o.kind = opHost
	default:
		o.kind = opStageOut
	}
	return s.enqueue(o)
}

// overlap reports whether n bytes from two places overlap. The device cannot make such a copy.
func overlap(a, b place, n uint64) bool {
	return a.buffer == b.buffer && a.off < b.off+n && b.off < a.off+n
}

// hostDoes reports whether the host does the work of an operation in place of the device: it sees the memory, nothing before is under way,
// and there is less work than in a submission. s.mu is held.
func (s *stream) hostDoes(o *op, enqueuing bool) bool {
	if !enqueuing || o.to == nil || o.n > atOnce {
		return false
	}
	done, err := s.q.reached(s.tail)
	return done && err == nil
}

// onHost copies on the host when all work before is done; s.mu is held.
func (s *stream) onHost(enqueuing bool) (held bool, err error) {
	q := s.q
	if q.after(s.tail, s.work) {
		return true, nil
	}
	if err := s.dev.lost.Load(); err != nil {
		return false, err
	}
	o := *s.ops.first()
	if enqueuing && o.n > atOnce {
		s.work()
		return true, nil
	}
	s.copyOutside(enqueuing, o.to, o.from, o.n)
	return false, nil
}

// mostBytes is the most bytes of one command. Drivers of Mesa count them as signed numbers of 32 bits.
const mostBytes = 1 << 30

// copyCommands records a copy; the queue is locked.
func (q *queue) copyCommands(cb uintptr, dst, src place, n uint64) {
	for off := uint64(0); off < n; off += mostBytes {
		c := q.copies()
		c[0] = bufferCopy{src.off + off, dst.off + off, min(n-off, mostBytes)}
		q.dev.t.cmdCopyBuffer(q.calls, cb, src.buffer, dst.buffer, 1, unsafe.Pointer(c))
	}
}

// submitCopy submits a copy; s.mu is held.
func (s *stream) submitCopy(name string, dst, src place, n uint64) error {
	return s.submit(name, func(cb uintptr) { s.q.copyCommands(cb, dst, src, n) })
}

// Fill fills memory with a repeated pattern.
func (s *stream) Fill(dst driver.Region, p driver.Pattern) error {
	m := dst.Mem.(*memory)
	o := op{kind: opFill, name: "fill", n: dst.Len, dst: m.at(dst.Off), pattern: p}
	if m.host != nil {
		o.to = m.hostAt(dst.Off)
	}
	return s.enqueue(o)
}

// fill says how to fill a range. vkCmdFillBuffer repeats one word of 4 bytes, at offsets that are multiples of 4. Single bytes before and
// behind are copied from a table of all bytes. If two words take turns, they are written once, and copies double what is filled.
type fill struct {
	edges [6]edge
	n     int // number of edges
	off   uint64
	size  uint64 // bytes from off, a multiple of 4
	words [2]uint32
}

// edge is a single byte.
type edge struct {
	off   uint64
	value byte
}

// planFill plans a fill of n bytes at an offset of a buffer.
func planFill(off, n uint64, p driver.Pattern) (f fill) {
	at := func(x uint64) byte { return byte(p.Bits >> (8 * ((x - off) % uint64(p.Width)))) }
	end := off + n
	f.off = min((off+3)&^3, end)
	f.size = (end - f.off) &^ 3
	for x := off; x < f.off; x++ {
		f.edges[f.n] = edge{x, at(x)}
		f.n++
	}
	for x := f.off + f.size; x < end; x++ {
		f.edges[f.n] = edge{x, at(x)}
		f.n++
	}
	for i := range uint64(8) {
		f.words[i/4] |= uint32(at(f.off+i)) << (8 * (i % 4))
	}
	return f
}

// submitFill submits a fill; s.mu is held.
func (s *stream) submitFill(o *op) error {
	f := planFill(o.dst.off, o.n, o.pattern)
	var table place
	if f.n > 0 {
		m, err := s.dev.bytes.get(o.name, s.dev)
		if err != nil {
			return err
		}
		table = m.at(0)
	}
	return s.submit(o.name, func(cb uintptr) { s.q.fillCommands(cb, o.dst.buffer, table, &f) })
}

// fillCommands records a fill; the queue is locked.
func (q *queue) fillCommands(cb, buffer uintptr, table place, f *fill) {
	t := q.dev.t
	if f.n > 0 {
		c := q.copies()
		for i, e := range f.edges[:f.n] {
			c[i] = bufferCopy{table.off + uint64(e.value), e.off, 1}
		}
		t.cmdCopyBuffer(q.calls, cb, table.buffer, buffer, uint32(f.n), unsafe.Pointer(c))
	}
	if f.size == 0 {
		return
	}
	if f.words[0] == f.words[1] || f.size == 4 {
		for off := uint64(0); off < f.size; off += mostBytes {
			t.cmdFillBuffer(q.calls, cb, buffer, f.off+off, min(f.size-off, mostBytes), f.words[0])
		}
		return
	}
	t.cmdFillBuffer(q.calls, cb, buffer, f.off, 4, f.words[0])
	t.cmdFillBuffer(q.calls, cb, buffer, f.off+4, 4, f.words[1])
	for done := uint64(8); done < f.size; done *= 2 {
		q.order(cb)
		q.copyCommands(cb, place{buffer, f.off + done}, place{buffer, f.off}, min(done, f.size-done))
	}
}
