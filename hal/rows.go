package hal

import (
	"math/bits"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Pitched describes rows of bytes in a memory: each row begins Pitch bytes after the one before it.
// Like [Region] it is a plain value whose bounds are checked when it is used.
type Pitched struct {
	mem   *Memory
	off   uint64 // bytes from the start of the memory to the first row
	pitch uint64 // bytes from the start of one row to the start of the next
}

// Pitched returns rows: the first begins at offset off, and each further one pitch bytes after the one before it.
func (m *Memory) Pitched(off, pitch uint64) Pitched { return Pitched{mem: m, off: off, pitch: pitch} }

// extent returns the number of bytes from the first byte of the first row to the last byte of the last row; ok is
// false if it overflows.
func extent(pitch, width, rows uint64) (n uint64, ok bool) {
	if width == 0 || rows == 0 {
		return 0, true
	}
	over, n := bits.Mul64(rows-1, pitch)
	n, carry := bits.Add64(n, width, 0)
	return n, over == 0 && carry == 0
}

// Copy2D enqueues a copy of rows rows of width bytes each. It is Copy for each row, in one vendor call if the device has
// [driver.CapCopy2D]. A pitch must be at least the width, unless there is only one row, else the error is of kind
// ErrInvalidArgument. Source and destination may lie in one memory if they share no byte; if their pitches differ, their
// whole extents must not overlap. The other errors are those of Copy. If width or rows is 0, the offsets are checked
// and nothing is copied.
func (s *Stream) Copy2D(dst, src Pitched, width, rows uint64) error {
	const op = "copy rows"
	st, err := s.enter(op, dst.mem, src.mem)
	if err != nil {
		return err
	}
	defer s.exit(dst.mem, src.mem)
	switch {
	case !st.reaches(dst.mem):
		return st.foreign(op, dst.mem)
	case !st.reaches(src.mem):
		return st.foreign(op, src.mem)
	}
	if err := dst.check(op, width, rows); err != nil {
		return err
	}
	if err := src.check(op, width, rows); err != nil {
		return err
	}
	switch {
	case width == 0 || rows == 0:
		return nil
	case dst.mem.s == src.mem.s && meet(dst, src, width, rows):
		return st.dev.Failure(op, ErrOverlap, "%d rows of %d bytes: source offset %d, pitch %d; destination offset %d, pitch %d",
			rows, width, src.off, src.pitch, dst.off, dst.pitch)
	}
	dst.mem.s.Note(&st.User)
	src.mem.s.Note(&st.User)
	return st.rows(driver.Rect{
		Dst: driver.Pitched{Mem: dst.mem.s.drv, Off: dst.off, Pitch: dst.pitch},
		Src: driver.Pitched{Mem: src.mem.s.drv, Off: src.off, Pitch: src.pitch}, Width: width, Rows: rows,
	})
}

// CopyIn2D enqueues a copy of rows of width bytes from src, where the rows begin pitch bytes apart. It is
// CopyIn for each row, under the rules of Copy2D. src must hold all rows, else the error is of kind
// ErrOutOfRange.
func (s *Stream) CopyIn2D(dst Pitched, src []byte, pitch, width, rows uint64) error {
	return s.copyHost2D("copy rows in", dst, src, pitch, width, rows, true)
}

// CopyOut2D enqueues a copy of rows of width bytes to dst, where the rows begin pitch bytes apart. The
// rules are those of CopyIn2D. The bytes between the rows of dst do not change.
func (s *Stream) CopyOut2D(dst []byte, pitch uint64, src Pitched, width, rows uint64) error {
	return s.copyHost2D("copy rows out", src, dst, pitch, width, rows, false)
}

func (s *Stream) copyHost2D(op string, m Pitched, b []byte, pitch, width, rows uint64, in bool) error {
	st, err := s.enter(op, m.mem)
	if err != nil {
		return err
	}
	defer s.exit(m.mem)
	if m.mem.s.dev != st.dev {
		return st.foreign(op, m.mem)
	}
	if err := m.check(op, width, rows); err != nil {
		return err
	}
	n, ok := extent(pitch, width, rows)
	switch {
	case pitch < width && rows > 1:
		return st.dev.Failure(op, ErrInvalidArgument, "host pitch %d is less than the row width %d", pitch, width)
	case !ok || n > uint64(len(b)):
		return st.dev.Failure(op, ErrOutOfRange, "%d rows of %d bytes with pitch %d do not fit in %d bytes of host memory",
			rows, width, pitch, len(b))
	case n == 0:
		return nil
	}
	m.mem.s.Note(&st.User)
	p := unsafe.Pointer(unsafe.SliceData(b))
	if seen.any.Load() {
		st.noteBytes(p, n)
	}
	defer st.Keep(p, n) // after the copy
	there, here := driver.Pitched{Mem: m.mem.s.drv, Off: m.off, Pitch: m.pitch}, driver.Pitched{Host: p, Pitch: pitch}
	if in {
		return st.rows(driver.Rect{Dst: there, Src: here, Width: width, Rows: rows})
	}
	return st.rows(driver.Rect{Dst: here, Src: there, Width: width, Rows: rows})
}

// check returns an error if the rows do not fit in the memory.
func (p *Pitched) check(op string, width, rows uint64) error {
	m := p.mem.s
	n, ok := extent(p.pitch, width, rows)
	switch {
	case p.pitch < width && rows > 1:
		return m.dev.Failure(op, ErrInvalidArgument, "pitch %d is less than the row width %d", p.pitch, width)
	case !ok || p.off > m.Size || n > m.Size-p.off:
		return m.dev.Failure(op, ErrOutOfRange, "%d rows of %d bytes with pitch %d at offset %d do not fit in memory of %d bytes",
			rows, width, p.pitch, p.off, m.Size)
	}
	return nil
}

// meet reports whether two sets of rows of one memory share a byte. If their pitches differ it reports whether
// their extents overlap.
func meet(a, b Pitched, width, rows uint64) bool {
	if a.off > b.off {
		a, b = b, a
	}
	first, _ := extent(a.pitch, width, rows)
	apart := b.off - a.off
	switch {
	case apart >= first:
		return false
	case a.pitch != b.pitch || rows == 1:
		return true
	}
	// Row i of b begins column bytes after row i+down of a begins.
	down, column := apart/a.pitch, apart%a.pitch
	return column < width && down < rows || column > a.pitch-width && down+1 < rows
}

// rows copies in one vendor call if the driver can, else row by row.
func (st *streamState) rows(r driver.Rect) error {
	if r.Rows == 1 || r.Dst.Pitch == r.Width && r.Src.Pitch == r.Width {
		return st.row(&r, 0, r.Width*r.Rows)
	}
	if c, ok := st.Drv.(driver.Copier2D); ok && st.dev.Info.Caps.Has(driver.CapCopy2D) {
		return st.dev.Check(c.Copy2D(r))
	}
	for i := range r.Rows {
		if err := st.row(&r, i, r.Width); err != nil {
			return err
		}
	}
	return nil
}

// row copies n bytes from the start of row i.
func (st *streamState) row(r *driver.Rect, i, n uint64) error {
	dst := driver.Region{Mem: r.Dst.Mem, Off: r.Dst.Off + i*r.Dst.Pitch, Len: n}
	src := driver.Region{Mem: r.Src.Mem, Off: r.Src.Off + i*r.Src.Pitch, Len: n}
	switch {
	case r.Src.Mem == nil:
		return st.dev.Check(st.Drv.CopyIn(dst, unsafe.Add(r.Src.Host, i*r.Src.Pitch)))
	case r.Dst.Mem == nil:
		return st.dev.Check(st.Drv.CopyOut(unsafe.Add(r.Dst.Host, i*r.Dst.Pitch), src))
	}
	return st.dev.Check(st.Drv.Copy(dst, src))
}
