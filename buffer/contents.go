package buffer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"unsafe"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/memcopy"
	"github.com/go-halyard/halyard/internal/protocol"
)

// At returns one element. It is a View of that element: no other element is copied to the host. For a loop over elements, one View
// is faster.
func (b *Buffer[T]) At(ctx context.Context, i int) (T, error) {
	var v T
	err := b.item(ctx, "At", protocol.Read, i, func(p *T) { v = *p })
	return v, err
}

// Set writes one element, on the host. Nothing is copied there first, and no other element becomes stale elsewhere.
func (b *Buffer[T]) Set(ctx context.Context, i int, v T) error {
	return b.item(ctx, "Set", protocol.Overwrite, i, func(p *T) { *p = v })
}

func (b *Buffer[T]) item(ctx context.Context, op string, mode protocol.Action, i int, fn func(*T)) error {
	if err := b.check(op); err != nil {
		return err
	}
	if n := b.Len(); i < 0 || i >= n {
		return hal.Errorf(op, hal.ErrOutOfRange, "element %d of %d%s", i, n, b.s.inName())
	}
	elem := b.elementSize()
	lo := b.lo + uint64(i)*elem
	x, err := b.s.begin(ctx, &request{op: op, own: b.own, part: part{Lo: lo, Hi: lo + elem, Mode: mode}})
	if err != nil {
		return err
	}
	fn(&b.elements(lo, lo+elem)[0])
	b.s.leave(x)
	return nil
}

// Fill sets every element to v, on the host. It waits as Overwrite does.
func (b *Buffer[T]) Fill(ctx context.Context, v T) error {
	return b.access(ctx, "Fill", protocol.Overwrite, func(s []T) error {
		for i := range s {
			s[i] = v
		}
		return nil
	})
}

// FillOn sets every element to v on the stream's device, in stream order. It waits as Acquire does, and not for the fill itself. If the
// fill cannot be enqueued, the elements are unchanged, with one exception: elements that do not repeat 1, 2, 4 or 8 bytes need several
// steps, and if a later one cannot be enqueued, the elements are lost, as after [HostLease.Fail].
func (b *Buffer[T]) FillOn(ctx context.Context, stream *hal.Stream, v T) error {
	const op = "FillOn"
	if err := b.check(op); err != nil {
		return err
	}
	s := b.s
	l, err := b.acquire(ctx, &request{op: op, stream: stream, reserve: true, brief: true}, coherence.Overwrite)
	if err != nil {
		return err
	}
	x := l.x
	enqueued, err := fillRegion(stream, l.Region(), v)
	if !enqueued {
		s.abandon(x)
		return err
	}
	s.mu.Lock()
	defer s.unlock()
	s.commit(x)
	if err != nil {
		bad := err
		s.recordWork(x, func() error { return bad })
	} else {
		s.recordWork(x, nil) // the fill itself has told hal that the stream uses the memory
	}
	s.end(x)
	return err
}

// fillRegion enqueues a fill. enqueued reports whether some of it is on the stream.
func fillRegion[T Element](stream *hal.Stream, r hal.Region, v T) (enqueued bool, err error) {
	element := unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v))
	if p := patternOf(element, r.Off); p.Width != 0 {
		err = stream.Fill(r, p)
		return err == nil, err
	}
	// No device fills with longer patterns: write one element, then copy the written part to double it until the region is full.
	have := min(uint64(len(element)), r.Len) // there may be no element
	first := hal.Region{Mem: r.Mem, Off: r.Off, Len: have}
	if err := stream.CopyIn(first, bytes.Clone(element[:have])); err != nil {
		return false, err
	}
	for have < r.Len {
		n := min(have, r.Len-have)
		if err := stream.Copy(hal.Region{Mem: r.Mem, Off: r.Off + have, Len: n}, hal.Region{Mem: r.Mem, Off: r.Off, Len: n}); err != nil {
			return true, err
		}
		have += n
	}
	return true, nil
}

// patternOf returns the pattern that an element repeats, such as one byte for zeros, or the zero Pattern if it repeats none. For an
// element of 1, 2, 4 or 8 bytes the pattern is the element: devices fill faster with long patterns. The offset of the fill must be a
// multiple of the pattern's width.
func patternOf(element []byte, offset uint64) hal.Pattern {
	n := len(element)
	for width := 8; width > 0; width /= 2 {
		if n%width != 0 || offset%uint64(width) != 0 || !bytes.Equal(element[width:], element[:n-width]) {
			continue
		}
		var b [8]byte
		copy(b[:], element[:width])
		bits := binary.NativeEndian.Uint64(b[:])
		if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 { // the high bytes come first
			bits >>= 64 - 8*width
		}
		return hal.Pattern{Bits: bits, Width: uint8(width)}
	}
	return hal.Pattern{}
}

// CopyFrom copies src, which must have the same length. The elements are copied on a device if all of src is current there and not on the
// host, and if the device has memory for the copy; otherwise on the host. CopyFrom waits until ctx ends for accesses that exclude it. A
// copy on the host also waits for enqueued work on the elements. If either buffer cannot be acquired, or the copy cannot be enqueued, b
// is unchanged. If b and src are ranges of one buffer that share elements, the error is of kind ErrOverlap.
func (b *Buffer[T]) CopyFrom(ctx context.Context, src *Buffer[T]) error {
	const op = "CopyFrom"
	if err := b.check(op); err != nil {
		return err
	}
	if err := src.check(op); err != nil {
		return err
	}
	switch {
	case b.Len() != src.Len():
		return hal.Errorf(op, hal.ErrInvalidArgument, "the buffer has %d elements, the source %d", b.Len(), src.Len())
	case b.s == src.s && b.lo < src.hi && src.lo < b.hi:
		return hal.Errorf(op, hal.ErrOverlap, "bytes [%d, %d) and their source, bytes [%d, %d)", b.lo, b.hi, src.lo, src.hi)
	}
	to, from := b.Want(coherence.Overwrite), src.Want(coherence.Read)
	if dev := src.s.deviceWith(src.lo, src.hi); dev != nil {
		if err := copyOn(ctx, op, dev, to, from); !errors.Is(err, hal.ErrOutOfMemory) {
			return err
		}
	}
	return copyOnHost(ctx, op, to, from)
}

// copyOnHost copies on the host.
func copyOnHost(ctx context.Context, op string, to, from Want) error {
	g, err := acquireAll(ctx, op, nil, false, to, from)
	if err != nil {
		return err
	}
	copy(to.s.host.Bytes[to.part.Lo:to.part.Hi], from.s.host.Bytes[from.part.Lo:from.part.Hi])
	return g.release(nil)
}

// copyOn copies within a device.
func copyOn(ctx context.Context, op string, dev *hal.Device, to, from Want) error {
	stream, err := dev.CopyStream(false)
	if err != nil {
		return err
	}
	g, err := acquireAll(ctx, op, stream, true, to.For(op), from)
	if err != nil {
		return err
	}
	if err = stream.Copy(g.lease(0).Region(), g.lease(1).Region()); err == nil {
		g.commit()
	}
	return errors.Join(err, g.release(nil))
}

// CopyIn copies src, which must have the same length, to the elements. It waits as [Buffer.Overwrite] does. The program may change src
// again when CopyIn returns.
func (b *Buffer[T]) CopyIn(ctx context.Context, src []T) error {
	return b.copyHost(ctx, "CopyIn", protocol.Overwrite, src)
}

// CopyOut copies the elements to dst, which must have the same length. It waits as [Buffer.View] does. After an error dst is unchanged.
func (b *Buffer[T]) CopyOut(ctx context.Context, dst []T) error {
	return b.copyHost(ctx, "CopyOut", protocol.Read, dst)
}

// Values returns a copy of the elements. It waits as [Buffer.View] does.
func (b *Buffer[T]) Values(ctx context.Context) ([]T, error) {
	out := make([]T, b.Len())
	if err := b.copyHost(ctx, "Values", protocol.Read, out); err != nil {
		return nil, err
	}
	return out, nil
}

// copyHost copies between a slice and the host's replica: from the replica for Read, to it for Overwrite.
func (b *Buffer[T]) copyHost(ctx context.Context, op string, mode protocol.Action, data []T) error {
	if err := b.check(op); err != nil {
		return err
	}
	if len(data) != b.Len() {
		return hal.Errorf(op, hal.ErrInvalidArgument, "the slice has %d elements, the buffer %d", len(data), b.Len())
	}
	x, err := b.s.begin(ctx, &request{op: op, own: b.own, part: part{Lo: b.lo, Hi: b.hi, Mode: mode}})
	if err != nil {
		return err
	}
	defer b.s.leave(x)
	to, from := unsafe.SliceData(b.elements(b.lo, b.hi)), unsafe.SliceData(data)
	if mode == protocol.Read {
		to, from = from, to
	}
	memcopy.Move(unsafe.Pointer(to), unsafe.Pointer(from), b.hi-b.lo)
	return nil
}

// deviceWith returns a device at which all of [lo, hi) is current, or nil if all of it is current on the host, or at no single place.
func (s *storage) deviceWith(lo, hi uint64) *hal.Device {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	valid := s.m.State(lo, hi).Valid
	if valid == 0 || valid.Has(protocol.Host) {
		return nil
	}
	return s.at[valid.First()].dev
}

// Clone returns a new buffer with a copy of the elements. Each range is copied on the host if it is current there, otherwise on a
// device where it is current, or on the host if that device has no memory left for the copy. Clone waits until ctx ends for accesses that
// write to the elements. A copy on the host also waits for enqueued work on the elements.
func (b *Buffer[T]) Clone(ctx context.Context) (*Buffer[T], error) {
	if err := b.check("Clone"); err != nil {
		return nil, err
	}
	c := newHandle[T](newStorage(b.elementSize(), b.hi-b.lo, nil))
	c.s.bools = b.s.bools
	c.s.allocator = b.s.allocator
	made := false
	defer c.closeUnless(&made)
	if err := b.cloneInto(ctx, "Clone", c); err != nil {
		return nil, err
	}
	made = true
	return c, nil
}

func (b *Buffer[T]) cloneInto(ctx context.Context, op string, c *Buffer[T]) error {
	s := b.s
	x, runs, err := s.holdStill(ctx, &request{op: op, own: b.own, part: part{Lo: b.lo, Hi: b.hi, Mode: protocol.Read}})
	if err != nil {
		return err
	}
	defer s.abandon(x)
	return b.copyRuns(ctx, op, c, x, runs)
}

// copyRuns copies runs of b to the same offsets of c, which is as long as b. x is the access of holdStill, and runs are what that returned.
// A copy on a device may be under way when copyRuns returns.
func (b *Buffer[T]) copyRuns(ctx context.Context, op string, c *Buffer[T], x *access, runs []run) error {
	for _, r := range runs {
		to := Want{s: c.s, own: c.own, part: part{Lo: r.lo - b.lo, Hi: r.hi - b.lo, Mode: protocol.Overwrite}}
		from := Want{s: b.s, own: b.own, part: part{Lo: r.lo, Hi: r.hi, Mode: protocol.Read}, under: x}
		if r.dev != nil {
			if err := copyOn(ctx, op, r.dev, to, from); err == nil {
				continue
			} else if !errors.Is(err, hal.ErrOutOfMemory) {
				return err
			}
		}
		if err := copyOnHost(ctx, op, to, from); err != nil {
			return err
		}
	}
	return nil
}

// run is a range of bytes and the device that has them, nil for the host.
type run struct {
	lo, hi uint64
	dev    *hal.Device
}

// holdStill begins an access that only keeps others from writing to the range: it copies nothing and has no place. For each run of bytes
// holdStill returns where they are current. Bytes that were never written are left out. The caller ends the access with abandon.
func (s *storage) holdStill(ctx context.Context, q *request) (*access, []run, error) {
	if ctx == nil {
		return nil, nil, layer.Ended(q.op, ctx)
	}
	s.mu.Lock()
	defer s.unlock()
	x, err := s.admit(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	x.replica, x.place = nil, protocol.NoPlace
	if err = s.failedError(x, q.op, q.Lo, q.Hi, s.learn(x, nil, q.Lo, q.Hi)); err != nil || s.thrown != nil {
		s.end(x)
		return nil, nil, err
	}
	var runs []run
	s.m.Runs(q.Lo, q.Hi, func(lo, hi uint64, valid protocol.Set) bool {
		var dev *hal.Device
		if valid != 0 && !valid.Has(protocol.Host) {
			dev = s.at[valid.First()].dev
		}
		last := len(runs) - 1
		switch {
		case valid == 0:
		case last >= 0 && runs[last].dev == dev && runs[last].hi == lo:
			runs[last].hi = hi
		default:
			runs = append(runs, run{lo, hi, dev})
		}
		return true
	})
	return x, runs, nil
}
