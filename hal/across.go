package hal

import "unsafe"

// stage is how much host memory each half of a staged copy uses.
const stage = 4 << 20 // bytes

// CopyAcross copies src to dst, which is as long, between devices that may know nothing of each
// other. It does not wait. The copy follows the work that both streams have been given so far; work
// that dstStream is given later sees the result. Work that srcStream is given later may run
// before src has been read, unless it waits for a mark of dstStream.
//
// Devices that reach each other copy directly, on dstStream. Otherwise the bytes pass through two
// pieces of host memory of 4 MiB at most, so that both legs run at once.
func CopyAcross(dstStream *Stream, dst Region, srcStream *Stream, src Region) error {
	const op = "copy across"
	if dst.Mem == nil || src.Mem == nil || dstStream == nil || srcStream == nil {
		return failure(op, ErrInvalidArgument, "nil memory or stream")
	}
	d, s := dstStream.s, srcStream.s
	if dst.Mem.s.dev != d.dev {
		return d.foreign(op, dst.Mem)
	}
	if src.Mem.s.dev != s.dev {
		return s.foreign(op, src.Mem)
	}
	if dstStream.Device().Reaches(srcStream.Device()) {
		if err := dstStream.Follow(srcStream); err != nil {
			return err
		}
		return dstStream.Copy(dst, src)
	}
	switch {
	case dst.Mem.s.closed() || src.Mem.s.closed():
		return failure(op, ErrClosed, "the memory is closed")
	case !dst.inside():
		return dst.outside(op)
	case !src.inside():
		return src.outside(op)
	case dst.Len != src.Len:
		return d.dev.failure(op, ErrInvalidArgument, "from %d bytes to %d bytes", src.Len, dst.Len)
	case dst.Len == 0:
		return nil
	}
	var halves [2]half
	defer func() {
		for i := range halves {
			halves[i].close()
		}
	}()
	piece := min(stage, dst.Len)
	for i, off := 0, uint64(0); off < dst.Len; i, off = i+1, off+piece {
		n := min(piece, dst.Len-off)
		h := &halves[i%2]
		if err := h.prepare(srcStream, dstStream, piece); err != nil {
			return err
		}
		if err := srcStream.CopyOut(h.bytes[:n], Region{src.Mem, src.Off + off, n}); err != nil {
			return err
		}
		if err := dstStream.Follow(srcStream); err != nil {
			return err
		}
		if err := dstStream.CopyIn(Region{dst.Mem, dst.Off + off, n}, h.bytes[:n]); err != nil {
			return err
		}
		m, err := dstStream.Mark()
		if err != nil {
			return err
		}
		h.passed = m
	}
	return nil
}

// half is one of the two pieces of host memory that a staged copy takes turns with.
type half struct {
	bytes  []byte
	locked *Memory // what bytes belongs to, nil if to the Go heap
	passed *Mark   // the destination's stream has read bytes
}

// prepare makes src wait until dst has read what the half held before.
func (h *half) prepare(src, dst *Stream, n uint64) error {
	if h.bytes == nil {
		h.allocate(src, dst, n)
	}
	if h.passed == nil {
		return nil
	}
	err := src.WaitMark(h.passed)
	h.passed.Release()
	h.passed = nil
	return err
}

// allocate takes page-locked memory where one of the devices gives it.
func (h *half) allocate(src, dst *Stream, n uint64) {
	const worthLocking = 64 << 10
	for _, s := range []*Stream{src, dst} {
		if n < worthLocking || s.Device().Unified() {
			continue
		}
		m, err := s.Device().Alloc(KindHost, n, 0)
		if err != nil {
			continue
		}
		if p := m.HostPointer(); p != nil && src.Use(m) == nil && dst.Use(m) == nil {
			h.bytes, h.locked = unsafe.Slice((*byte)(p), n), m
			return
		}
		_ = m.Close()
	}
	h.bytes = make([]byte, n)
}

// close gives the memory back when the copies that use it have finished.
func (h *half) close() {
	if h.passed != nil {
		h.passed.Release()
	}
	if h.locked != nil {
		_ = h.locked.Close()
	}
}
