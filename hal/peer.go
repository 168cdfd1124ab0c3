package hal

import (
	"context"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/wait"
)

// CopyPeer enqueues a copy of src to dst, which must have the same length, between any two devices of any backends. It
// reads src after all work enqueued on srcStream so far, and writes dst after all work enqueued on both streams so far. If work
// of dstStream writes to src, make srcStream wait for it first ([Stream.WaitStream]). Work enqueued on dstStream
// later sees the result; work enqueued on srcStream later runs after src has been read. It does not wait, except in two cases named below.
//
// Devices that can access each other copy directly, on dstStream. If the host can access one of the memories in
// place, the other device copies to or from it, unless staging through page-locked memory is faster. Otherwise
// the bytes pass through three pieces of host memory of at most 4 MiB each, so that both sides work at once. This memory
// is page-locked for the devices that support it. Up to 12 MiB of it are kept for later copies between the two devices in
// this direction, until [Device.Reclaim], or until one of them is closed or runs out of memory. The call waits for the
// other device, piece by piece, in two cases: if a device lacks CapOrderedPageable and no page-locked memory is
// available; and if a device lacks CapGate, for the reason given at [Stream.WaitEvent].
//
// After a driver's error the contents of dst are unspecified.
func CopyPeer(dstStream *Stream, dst Region, srcStream *Stream, src Region) error {
	const op = "copy across"
	switch {
	case dstStream.state() == nil || srcStream.state() == nil:
		return noStream(op)
	case dst.Mem == nil || src.Mem == nil:
		return Errorf(op, ErrInvalidArgument, "%s", withoutMemory)
	case dst.Mem.s == nil || src.Mem.s == nil:
		return noMemory(op)
	}
	d, s := dstStream.s, srcStream.s
	if dst.Mem.s.dev != d.dev {
		return d.foreign(op, dst.Mem)
	}
	if src.Mem.s.dev != s.dev {
		return s.foreign(op, src.Mem)
	}
	for _, t := range [...]*Stream{dstStream, srcStream} {
		if err := t.err(); err != nil {
			return err
		}
	}
	switch {
	case dst.Mem.s.Closed() || src.Mem.s.Closed():
		return Errorf(op, ErrClosed, "the memory is closed")
	case !dst.inside():
		return dst.outside(op)
	case !src.inside():
		return src.outside(op)
	case dst.Len != src.Len:
		return d.dev.Failure(op, ErrInvalidArgument, "the source has %d bytes, the destination %d", src.Len, dst.Len)
	case dst.Len == 0:
		return nil
	case dst.overlaps(&src):
		return dst.overlapping(op, &src)
	}
	if d.dev.Links(&s.dev.Device, driver.PeerCopy) {
		if err := dstStream.WaitStream(srcStream); err != nil {
			return err
		}
		if err := dstStream.Copy(dst, src); err != nil {
			return err
		}
		return srcStream.WaitStream(dstStream)
	}
	if err := d.dev.begin(op); err != nil {
		return err
	}
	defer d.dev.end()
	if err := s.dev.begin(op); err != nil {
		return err
	}
	defer s.dev.end()
	b := passage{dst: dstStream, src: srcStream, piece: acrossPiece(dst.Len)}
	if done, err := b.inPlace(dst, src); done {
		return err
	}
	return b.staged(dst, src)
}

func acrossPiece(n uint64) uint64 {
	const unit = 64 << 10
	return min(max((n/8+unit-1)/unit*unit, acrossLeast), acrossMost, n)
}

// passage is one copy between devices that cannot access each other.
type passage struct {
	dst, src *Stream
	piece    uint64 // bytes
	block    *block
	read     [acrossPieces]*wait.Event // done when the destination has read the piece
}

// loops reports whether a staged copy of n bytes fills a piece more than once, so that the source waits for the destination.
func (b *passage) loops(n uint64) bool { return n > acrossPieces*b.piece }

// inPlace makes the copy without staging if the host can access one of the memories, and reports whether it did.
//
// If the host can access both memories, and both streams are idle, the host makes a short copy itself: so no device has to wait for the other.
//
// A copy in place makes the source's stream wait for all work of the destination's stream. A short staged copy does not, which spares
// other users of the source's stream that wait; so a short copy is made in place only if the destination is idle.
func (b *passage) inPlace(dst, src Region) (taken bool, err error) {
	if !dst.Mem.s.Enter() {
		return false, nil // the staged copy returns the error
	}
	defer dst.Mem.s.Leave()
	if !src.Mem.s.Enter() {
		return false, nil
	}
	defer src.Mem.s.Leave()
	short := !b.loops(dst.Len)
	idle := short && b.dst.s.rests()
	switch in := src.hostFor(b.dst.s.dev); {
	case idle && dst.byHand() && src.byHand() && b.src.s.rests():
		copy(dst.host(), src.host())
		return true, nil
	case short && !idle:
		return false, nil
	case in:
		return true, b.copyIn(dst, src)
	case dst.hostFor(b.src.s.dev):
		return true, b.copyOut(dst, src, idle)
	}
	return false, nil
}

// copyIn has the destination's device read the source's memory as host memory.
func (b *passage) copyIn(dst, src Region) error {
	if err := b.dst.WaitStream(b.src); err != nil {
		return err
	}
	src.Mem.s.Note(&b.dst.s.User)
	if err := b.dst.CopyIn(dst, src.host()); err != nil {
		return err
	}
	return b.src.WaitStream(b.dst)
}

// copyOut has the source's device write the destination's memory as host memory. idle says that the destination's stream
// has no work to wait for.
func (b *passage) copyOut(dst, src Region, idle bool) error {
	if !idle {
		if err := b.src.WaitStream(b.dst); err != nil {
			return err
		}
	}
	dst.Mem.s.Note(&b.src.s.User)
	if err := b.src.CopyOut(dst.host(), src); err != nil {
		return err
	}
	return b.dst.WaitStream(b.src)
}

// hostFor reports whether streams of dev, which is not the region's device, may copy to and from the region as host
// memory, in stream order and as fast as through page-locked memory. For a copy of a single piece, page-locking makes no
// difference.
func (r *Region) hostFor(dev *deviceState) bool {
	m := r.Mem.s
	switch {
	case !r.visible():
		return false
	case m.kind == KindHost && dev.Links(&m.dev.Device, driver.PeerWait):
		return true // page-locked for every device of its driver
	}
	return dev.Info.Caps.Has(CapOrderedPageable) && (r.Len <= acrossLeast || !gainsByLock(dev))
}

// byHand reports whether a copy of the region is so short that the host makes it itself if no stream has work: enqueueing it
// would take longer.
func (r *Region) byHand() bool { return r.Len <= handMost && r.visible() }

// visible reports whether the host may access the region while its device works.
func (r *Region) visible() bool {
	m := r.Mem.s
	return m.drv.HostPointer() != nil && (m.kind != KindShared || m.dev.Info.Caps.Has(driver.CapConcurrentShared))
}

// host returns the region as a slice on the host.
func (r *Region) host() []byte {
	return unsafe.Slice((*byte)(unsafe.Add(r.Mem.s.drv.HostPointer(), r.Off)), r.Len)
}

// staged copies through a block of host memory.
func (b *passage) staged(dst, src Region) error {
	c := b.dst.s.dev.crossingFrom(b.src.s.dev)
	b.block = c.reserve(b.dst, b.src, min(dst.Len, acrossPieces*b.piece), b.loops(dst.Len))
	last, err := b.passAll(dst, src)
	for i, m := range b.read {
		if m != nil && i != last {
			m.Release()
		}
	}
	if err != nil {
		if m := b.read[last]; m != nil {
			m.Release()
		}
		b.block.close()
		return err
	}
	b.block.after(b.read[last])
	c.put(b.block)
	return nil
}

// passAll passes one piece after the other, and returns the index in b.read of the last one.
func (b *passage) passAll(dst, src Region) (last int, err error) {
	if m := b.block.read; m != nil {
		if err := b.reuse(m); err != nil {
			return 0, err
		}
	}
	for i, off := 0, uint64(0); off < dst.Len; i, off = (i+1)%acrossPieces, off+b.piece {
		n := min(b.piece, dst.Len-off)
		last = i
		if err := b.pass(i, dst.Mem.Region(dst.Off+off, n), src.Mem.Region(src.Off+off, n)); err != nil {
			return last, err
		}
	}
	return last, nil
}

// reuse makes the source wait until the destination has read the previous contents of the memory.
func (b *passage) reuse(read *wait.Event) error {
	err := b.src.wait(read)
	if err == nil && !b.block.ordered.out {
		_, err = read.Wait(context.Background(), "copy")
	}
	return err
}

// pass takes one piece from src to dst through the i-th part of the memory.
func (b *passage) pass(i int, dst, src Region) error {
	at := uint64(i) * b.piece
	bytes := b.block.bytes[at : at+dst.Len]
	if m := b.read[i]; m != nil {
		b.read[i] = nil
		err := b.reuse(m)
		m.Release()
		if err != nil {
			return err
		}
	}
	if err := b.src.CopyOut(bytes, src); err != nil {
		return err
	}
	filled, err := b.src.event("copy")
	if err != nil {
		return err
	}
	err = b.dst.wait(filled)
	if err == nil && !b.block.ordered.in {
		_, err = filled.Wait(context.Background(), "copy")
	}
	filled.Release()
	if err != nil {
		return err
	}
	if err := b.dst.CopyIn(dst, bytes); err != nil {
		return err
	}
	b.read[i], err = b.dst.event("copy")
	return err
}
