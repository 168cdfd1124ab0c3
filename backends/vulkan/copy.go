//go:build vulkan

package vulkan

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/memcopy"
)

// Copy copies between two memories of the device.
func (s *stream) Copy(dst, src driver.Region) error {
	to, from := dst.Mem.(*memory), src.Mem.(*memory)
	return s.enqueue(operation{pass: (*stream).copyNext, name: "copy", n: dst.Len, dst: to.at(dst.Off), src: from.at(src.Off),
		to: to.hostAt(dst.Off), from: from.hostAt(src.Off)})
}

// CopyIn copies from host memory. What the device sees itself it copies; other memory the host copies, to where the device sees it.
func (s *stream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	m := dst.Mem.(*memory)
	o := operation{pass: (*stream).copyNext, name: "copy in", n: dst.Len, dst: m.at(dst.Off), to: m.hostAt(dst.Off), from: src}
	from, off, touches := s.dev.hosts.find(src, dst.Len)
	switch {
	case from != nil && !o.dst.overlaps(place{from.blk.buffer, off}, o.n):
		o.src = place{from.blk.buffer, off}
		if o.to == nil {
			o.from = nil
		}
	case o.to != nil:
		o.pass = (*stream).onHost
	default:
		o.pass, o.drain = (*stream).stageIn, touches
	}
	return s.enqueue(o)
}

// CopyOut copies to host memory, as CopyIn.
func (s *stream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	m := src.Mem.(*memory)
	o := operation{pass: (*stream).copyNext, name: "copy out", n: src.Len, src: m.at(src.Off), to: dst, from: m.hostAt(src.Off)}
	to, off, _ := s.dev.hosts.find(dst, src.Len)
	switch {
	case to != nil && !o.src.overlaps(place{to.blk.buffer, off}, o.n):
		o.dst = place{to.blk.buffer, off}
	case o.from != nil:
		o.pass = (*stream).onHost
	default:
		o.pass = (*stream).stageOut
	}
	return s.enqueue(o)
}

// hostDoes reports whether the host does the work of an operation in place of the device: it sees the memory, nothing before is under way,
// and there is less work than in a submission. s.mu is held.
func (s *stream) hostDoes(o *operation, enqueuing bool) bool {
	if !enqueuing || o.to == nil || o.n > atOnce {
		return false
	}
	done, err := s.q.reached(s.tail)
	return done && err == nil
}

// copyNext has the device copy from src to dst; s.mu is held.
func (s *stream) copyNext(enqueuing bool) (held bool, err error) {
	o := s.ops.first()
	if o.from != nil && s.hostDoes(o, enqueuing) {
		memcopy.Move(o.to, o.from, o.n)
		return false, nil
	}
	return false, s.submitCopy(o.name, o.dst, o.src, o.n)
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

// stageIn copies host memory to dst through stages. Of the operation it removes what it has submitted, so that it can go on after it was
// held up.
func (s *stream) stageIn(enqueuing bool) (held bool, err error) {
	if s.ops.first().drain && s.q.after(s.tail, s.work) {
		return true, nil
	}
	for s.ops.first().n > 0 {
		o := *s.ops.first()
		n := min(o.n, stageSize)
		if enqueuing && n > atOnce {
			s.work()
			return true, nil
		}
		st, off, err := s.stages.take(o.name, n, s.work)
		if st == nil {
			return err == nil, err
		}
		s.copyOutside(enqueuing, unsafe.Add(st.blk.host, off), o.from, n)
		err = s.submitCopy(o.name, o.dst, place{st.blk.buffer, off}, n)
		s.stages.put(st, s.tail)
		if err != nil {
			return false, err
		}
		if o.n == n {
			break // a pointer behind the memory's end would be a bad one
		}
		left := s.ops.first()
		left.from, left.dst.off, left.n = unsafe.Add(o.from, n), o.dst.off+n, o.n-n
	}
	return false, nil
}

// stageOut copies src to host memory through stages, and can go on after it was held up, as stageIn.
func (s *stream) stageOut(enqueuing bool) (held bool, err error) {
	q, out := s.q, &s.out
	for {
		for o := s.ops.first(); o.n > 0 && out.n < len(out.pieces); {
			call := s.work
			if out.n > 0 {
				call = nil // the pieces under way come first
			}
			n := min(o.n, stageSize)
			st, off, err := s.stages.take(o.name, n, call)
			if err == nil && st == nil {
				if out.n == 0 {
					return true, nil
				}
				break
			}
			if err == nil {
				if err = s.submitCopy(o.name, place{st.blk.buffer, off}, o.src, n); err != nil {
					s.stages.put(st, 0)
				}
			}
			if err != nil {
				out.giveUp(s.stages)
				return false, err
			}
			o.src.off, o.n = o.src.off+n, o.n-n
			out.pieces[out.n] = piece{st, off, n, s.tail}
			out.n++
		}
		if out.n == 0 {
			return false, nil
		}
		p := out.pieces[0]
		if q.after(p.number, s.work) {
			return true, nil
		}
		if err := q.dev.lost.Load(); err != nil {
			out.giveUp(s.stages)
			return false, err
		}
		if enqueuing && p.size > atOnce {
			s.work()
			return true, nil
		}
		to := s.ops.first().to
		s.copyOutside(enqueuing, to, unsafe.Add(p.st.blk.host, p.off), p.size)
		out.pieces[0], out.pieces[1] = out.pieces[1], piece{}
		out.n--
		s.stages.put(p.st, p.number)
		if out.n > 0 || s.ops.first().n > 0 {
			s.ops.first().to = unsafe.Add(to, p.size) // not at the end: a pointer behind the memory would be a bad one
		}
	}
}

// copyOutside copies on the host without the stream's lock, so that enqueueing does not wait for it. The call that enqueues itself keeps
// the lock: it copies little.
func (s *stream) copyOutside(enqueuing bool, dst, src unsafe.Pointer, n uint64) {
	if !enqueuing {
		s.mu.Unlock()
		defer s.mu.Lock()
	}
	memcopy.Move(dst, src, n)
}

// Fill fills memory with a repeated pattern.
func (s *stream) Fill(dst driver.Region, p driver.Pattern) error {
	m := dst.Mem.(*memory)
	return s.enqueue(operation{pass: (*stream).fillNext, name: "fill", n: dst.Len, dst: m.at(dst.Off), to: m.hostAt(dst.Off), pattern: p})
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

// fillNext has the device fill dst; s.mu is held.
func (s *stream) fillNext(enqueuing bool) (held bool, err error) {
	o := s.ops.first()
	if s.hostDoes(o, enqueuing) {
		memcopy.Fill(o.to, o.n, o.pattern.Bits, o.pattern.Width)
		return false, nil
	}
	f := planFill(o.dst.off, o.n, o.pattern)
	var table place
	if f.n > 0 {
		m, err := s.dev.byteTable(o.name)
		if err != nil {
			return false, err
		}
		table = m.at(0)
	}
	buffer := o.dst.buffer
	return false, s.submit(o.name, func(cb uintptr) { s.q.fillCommands(cb, buffer, table, &f) })
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
