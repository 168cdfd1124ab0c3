package hal

import (
	"math/bits"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Pitched is where rows of bytes lie in a memory: each row begins Pitch bytes after the one before it.
// It is an argument, like [Region], and is checked when it is used.
type Pitched struct {
	Mem   *Memory
	Off   uint64 // bytes from the start of the memory to the first row
	Pitch uint64 // bytes from row to row
}

// Pitched is rows from off on that begin pitch bytes apart.
func (m *Memory) Pitched(off, pitch uint64) Pitched { return Pitched{Mem: m, Off: off, Pitch: pitch} }

// span is the number of bytes from the first byte of the first row to the last of the last, and whether there
// can be as many.
func span(pitch, width, rows uint64) (n uint64, ok bool) {
	if width == 0 || rows == 0 {
		return 0, true
	}
	over, n := bits.Mul64(rows-1, pitch)
	n, carry := bits.Add64(n, width, 0)
	return n, over == 0 && carry == 0
}

// Copy2D copies rows of width bytes. It is Copy for each of them, in one call where the device has CapCopy2D. The rows of
// a side do not overlap each other, so a pitch is at least the width, unless there is only one row; the
// source may share a memory with the destination if no byte belongs to both. A pitch that is too small is of kind
// ErrInvalidArgument, the other errors are those of Copy. A copy of no rows, or of no bytes in each, does
// nothing if its beginning lies within the memory.
func (s *Stream) Copy2D(dst, src Pitched, width, rows uint64) error {
	const op = "copy rows"
	st := s.state()
	if err := st.begin(op); err != nil {
		return err
	}
	err := st.copy2D(op, dst, src, width, rows)
	st.end()
	return err
}

func (st *streamState) copy2D(op string, dst, src Pitched, width, rows uint64) error {
	if err := st.use(op, dst.Mem); err != nil {
		return err
	}
	defer dst.Mem.s.leave()
	if err := st.use(op, src.Mem); err != nil {
		return err
	}
	defer src.Mem.s.leave()
	switch {
	case dst.Mem.s.dev != st.dev && !st.dev.links(dst.Mem.s.dev, driver.PeerCopy):
		return st.foreign(op, dst.Mem)
	case src.Mem.s.dev != st.dev && !st.dev.links(src.Mem.s.dev, driver.PeerCopy):
		return st.foreign(op, src.Mem)
	}
	if err := dst.check(op, width, rows); err != nil {
		return err
	}
	if err := src.check(op, width, rows); err != nil {
		return err
	}
	if width == 0 || rows == 0 {
		return nil
	}
	if dst.Mem.s == src.Mem.s && meet(dst, src, width, rows) {
		return st.dev.failure(op, ErrOverlap, "%d rows of %d bytes from %d on, %d apart, and from %d on, %d apart",
			rows, width, src.Off, src.Pitch, dst.Off, dst.Pitch)
	}
	dst.Mem.s.note(st)
	src.Mem.s.note(st)
	return st.rows(driver.Rect{
		Dst: driver.Pitched{Mem: dst.Mem.s.drv, Off: dst.Off, Pitch: dst.Pitch},
		Src: driver.Pitched{Mem: src.Mem.s.drv, Off: src.Off, Pitch: src.Pitch}, Width: width, Rows: rows,
	})
}

// CopyIn2D copies rows of width bytes from src, where they begin pitch bytes apart. It is CopyIn for
// each of them, under the rules of Copy2D; src holds at least all rows, else the error is of kind
// ErrOutOfRange.
func (s *Stream) CopyIn2D(dst Pitched, src []byte, pitch, width, rows uint64) error {
	return s.copyHost2D("copy rows in", dst, src, pitch, width, rows, true)
}

// CopyOut2D copies rows of width bytes to dst, where they begin pitch bytes apart, as CopyIn2D does the
// other way round. What lies between the rows of dst stays as it is.
func (s *Stream) CopyOut2D(dst []byte, pitch uint64, src Pitched, width, rows uint64) error {
	return s.copyHost2D("copy rows out", src, dst, pitch, width, rows, false)
}

func (s *Stream) copyHost2D(op string, m Pitched, b []byte, pitch, width, rows uint64, in bool) error {
	st := s.state()
	if err := st.begin(op); err != nil {
		return err
	}
	defer st.end()
	if err := st.use(op, m.Mem); err != nil {
		return err
	}
	defer m.Mem.s.leave()
	if m.Mem.s.dev != st.dev {
		return st.foreign(op, m.Mem)
	}
	if err := m.check(op, width, rows); err != nil {
		return err
	}
	n, ok := span(pitch, width, rows)
	switch {
	case pitch < width && rows > 1:
		return st.dev.failure(op, ErrInvalidArgument, "rows of %d bytes %d bytes apart on the host", width, pitch)
	case !ok || n > uint64(len(b)):
		return st.dev.failure(op, ErrOutOfRange, "%d rows of %d bytes, %d apart, in %d bytes of host memory", rows, width, pitch, len(b))
	case n == 0:
		return nil
	}
	m.Mem.s.note(st)
	p := unsafe.Pointer(unsafe.SliceData(b))
	st.noteBytes(p, n)
	defer st.held.add(st, p, n) // not before: others who find the stream idle forget what is held
	there, here := driver.Pitched{Mem: m.Mem.s.drv, Off: m.Off, Pitch: m.Pitch}, driver.Pitched{Host: p, Pitch: pitch}
	if in {
		return st.rows(driver.Rect{Dst: there, Src: here, Width: width, Rows: rows})
	}
	return st.rows(driver.Rect{Dst: here, Src: there, Width: width, Rows: rows})
}

// check reports what is wrong with a plane of the stream's.
func (p *Pitched) check(op string, width, rows uint64) error {
	m := p.Mem.s
	n, ok := span(p.Pitch, width, rows)
	switch {
	case p.Pitch < width && rows > 1:
		return m.dev.failure(op, ErrInvalidArgument, "rows of %d bytes %d bytes apart", width, p.Pitch)
	case !ok || p.Off > m.size || n > m.size-p.Off:
		return m.dev.failure(op, ErrOutOfRange, "%d rows of %d bytes, %d apart, from %d on, of a memory of %d bytes", rows, width, p.Pitch, p.Off, m.size)
	}
	return nil
}

// meet reports whether two planes of one memory share a byte, or may: those whose pitches differ are not
// looked at row by row.
func meet(a, b Pitched, width, rows uint64) bool {
	if a.Off > b.Off {
		a, b = b, a
	}
	first, _ := span(a.Pitch, width, rows)
	apart := b.Off - a.Off
	switch {
	case apart >= first:
		return false
	case a.Pitch != b.Pitch || rows == 1:
		return true
	}
	// Row i of b begins column bytes after row i+down of a begins.
	down, column := apart/a.Pitch, apart%a.Pitch
	return column < width && down < rows || column > a.Pitch-width && down+1 < rows
}

// rows copies in one call if the driver can, or row by row.
func (st *streamState) rows(r driver.Rect) error {
	if r.Rows == 1 || r.Dst.Pitch == r.Width && r.Src.Pitch == r.Width {
		return st.row(&r, 0, r.Width*r.Rows)
	}
	if c, ok := st.drv.(driver.Copier2D); ok && st.dev.info.Caps.Has(CapCopy2D) {
		return st.dev.check(c.Copy2D(r))
	}
	for i := range r.Rows {
		if err := st.row(&r, i, r.Width); err != nil {
			return err
		}
	}
	return nil
}

// row copies n bytes from the start of a row on.
func (st *streamState) row(r *driver.Rect, i, n uint64) error {
	dst := driver.Region{Mem: r.Dst.Mem, Off: r.Dst.Off + i*r.Dst.Pitch, Len: n}
	src := driver.Region{Mem: r.Src.Mem, Off: r.Src.Off + i*r.Src.Pitch, Len: n}
	switch {
	case r.Src.Mem == nil:
		return st.dev.check(st.drv.CopyIn(dst, unsafe.Add(r.Src.Host, i*r.Src.Pitch)))
	case r.Dst.Mem == nil:
		return st.dev.check(st.drv.CopyOut(unsafe.Add(r.Dst.Host, i*r.Dst.Pitch), src))
	}
	return st.dev.check(st.drv.Copy(dst, src))
}
