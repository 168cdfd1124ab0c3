package hal

import (
	"context"
	"runtime"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/wait"
	"github.com/go-halyard/halyard/internal/span"
)

// Region is a range of bytes of one memory. It is a plain value, cheap to copy; its bounds are checked when it is used.
type Region struct {
	Mem *Memory
	Off uint64 // bytes from the start of the memory
	Len uint64 // bytes
}

// Region returns the n bytes that begin at offset off. The bounds are checked when the region is used.
func (m *Memory) Region(off, n uint64) Region { return Region{Mem: m, Off: off, Len: n} }

// All returns the region of the whole memory.
func (m *Memory) All() Region { return Region{Mem: m, Len: m.Size()} }

// withoutMemory is the error text for a region without a memory.
const withoutMemory = "zero Region, which names no memory; the Region of a released lease is zero"

// Sub returns the n bytes of r that begin at offset off from the start of r. The error is of kind
// ErrOutOfRange if they do not lie within r, and ErrInvalidArgument if r is the zero Region.
func (r Region) Sub(off, n uint64) (Region, error) {
	if r.Mem == nil {
		return Region{}, Errorf("region", ErrInvalidArgument, "%s", withoutMemory)
	}
	if off > r.Len || n > r.Len-off {
		return Region{}, Errorf("region", ErrOutOfRange, "[%d, %d+%d) is outside a region of %d bytes", off, off, n, r.Len)
	}
	return Region{Mem: r.Mem, Off: r.Off + off, Len: n}, nil
}

// inside reports whether the region lies within its memory.
func (r *Region) inside() bool {
	size := r.Mem.s.Size
	return r.Off <= size && r.Len <= size-r.Off
}

func (r *Region) raw() driver.Region {
	return driver.Region{Mem: r.Mem.s.drv, Off: r.Off, Len: r.Len}
}

func (r *Region) outside(op string) error {
	return r.Mem.s.dev.Failure(op, ErrOutOfRange, "[%d, %d+%d) is outside a memory of %d bytes", r.Off, r.Off, r.Len, r.Mem.s.Size)
}

// overlaps reports whether the regions share bytes. Both must lie within their memories.
func (r *Region) overlaps(other *Region) bool {
	return r.Mem.s == other.Mem.s && r.Off < other.Off+other.Len && other.Off < r.Off+r.Len
}

func (r *Region) overlapping(op string, src *Region) error {
	return r.Mem.s.dev.Failure(op, ErrOverlap, "source [%d, %d) and destination [%d, %d) of one memory",
		src.Off, src.Off+src.Len, r.Off, r.Off+r.Len)
}

// Copy enqueues a copy of src to dst, which must have the same length. They may lie in the same
// memory if they do not overlap. Both must belong to devices that the stream's device can access
// ([Device.CanAccessPeer]); [CopyPeer] copies between all others.
func (s *Stream) Copy(dst, src Region) error {
	const op = "copy"
	st, err := s.enter(op, dst.Mem, src.Mem)
	if err != nil {
		return err
	}
	defer s.exit(dst.Mem, src.Mem)
	switch {
	case !st.reaches(dst.Mem):
		return st.foreign(op, dst.Mem)
	case !st.reaches(src.Mem):
		return st.foreign(op, src.Mem)
	case !dst.inside():
		return dst.outside(op)
	case !src.inside():
		return src.outside(op)
	case dst.Len != src.Len:
		return st.dev.Failure(op, ErrInvalidArgument, "the source has %d bytes, the destination %d", src.Len, dst.Len)
	case dst.Len == 0:
		return nil
	case dst.overlaps(&src):
		return dst.overlapping(op, &src)
	}
	dst.Mem.s.Note(&st.User)
	src.Mem.s.Note(&st.User)
	return st.dev.Check(st.Drv.Copy(dst.raw(), src.raw()))
}

// CopyIn enqueues a copy of host memory src to dst, which must have the same length. It does not
// wait: src must not change until the copy is done. The library keeps src reachable until then. If the stream has no work, and the host can
// access the memory of dst, a short copy is done when CopyIn returns.
func (s *Stream) CopyIn(dst Region, src []byte) error {
	return s.copyHost("copy in", dst, src, true)
}

// CopyOut enqueues a copy of src to host memory dst, which must have the same length. It does not
// wait: dst must not be touched until the copy is done. The library keeps dst reachable until then.
func (s *Stream) CopyOut(dst []byte, src Region) error {
	return s.copyHost("copy out", src, dst, false)
}

func (s *Stream) copyHost(op string, r Region, b []byte, in bool) error {
	st, err := s.enter(op, r.Mem)
	if err != nil {
		return err
	}
	defer s.exit(r.Mem)
	switch {
	case r.Mem.s.dev != st.dev:
		return st.foreign(op, r.Mem)
	case !r.inside():
		return r.outside(op)
	case r.Len != uint64(len(b)):
		return st.dev.Failure(op, ErrInvalidArgument, "the host slice has %d bytes, the region %d", len(b), r.Len)
	case r.Len == 0:
		return nil
	}
	if r.byHand() && st.rests() {
		if in {
			copy(r.host(), b)
		} else {
			copy(b, r.host())
		}
		return nil
	}
	r.Mem.s.Note(&st.User)
	p := unsafe.Pointer(unsafe.SliceData(b))
	if seen.any.Load() {
		st.noteBytes(p, r.Len)
	}
	if in {
		err = st.Drv.CopyIn(r.raw(), p)
	} else {
		err = st.Drv.CopyOut(p, r.raw())
	}
	st.Keep(p, r.Len)
	return st.dev.Check(err)
}

// handMost is the most bytes of a copy that the host makes itself.
const handMost = 64 << 10

// rests reports whether the stream takes work, has none, and has not failed. A driver can say that at once only while the program does not have
// the stream's handle.
func (st *streamState) rests() bool {
	if st.imported || st.handed.Load() || st.begin("copy") != nil {
		return false
	}
	defer st.Leave()
	return st.Idle() && st.Failed() == nil // not Done: the error that it returns would not be reported to the program again
}

// Fill enqueues a fill of dst with the repeated pattern. The pattern's width is 1, 2, 4 or 8
// bytes, and the offset and length of dst must be multiples of it.
func (s *Stream) Fill(dst Region, p Pattern) error {
	const op = "fill"
	st, err := s.enter(op, dst.Mem)
	if err != nil {
		return err
	}
	defer s.exit(dst.Mem)
	w := uint64(p.Width)
	switch {
	case dst.Mem.s.dev != st.dev:
		return st.foreign(op, dst.Mem)
	case w != 1 && w != 2 && w != 4 && w != 8:
		return st.dev.Failure(op, ErrInvalidArgument, "invalid pattern width %d; it must be 1, 2, 4 or 8 bytes", p.Width)
	case dst.Off%w != 0 || dst.Len%w != 0:
		return st.dev.Failure(op, ErrMisaligned, "offset %d or length %d is not a multiple of the pattern width %d", dst.Off, dst.Len, w)
	case !dst.inside():
		return dst.outside(op)
	case dst.Len == 0:
		return nil
	}
	dst.Mem.s.Note(&st.User)
	return st.dev.Check(st.Drv.Fill(dst.raw(), p))
}

// enter begins a call of the stream that uses the memories; exit ends it.
func (s *Stream) enter(op string, mems ...*Memory) (*streamState, error) {
	if s == nil {
		return nil, noStream(op)
	}
	st := s.s
	if err := st.begin(op); err != nil {
		return nil, err
	}
	for i, m := range mems {
		if m != nil && m.s != nil && m.s.Enter() {
			continue
		}
		if err := st.use(op, m); err != nil {
			s.exit(mems[:i]...)
			return nil, err
		}
	}
	return st, nil
}

func (s *Stream) exit(mems ...*Memory) {
	for _, m := range mems {
		m.leave()
	}
	s.end()
}

// reaches reports whether the stream can copy to and from the memory.
func (st *streamState) reaches(m *Memory) bool {
	return m.s.dev == st.dev || st.dev.Links(&m.s.dev.Device, driver.PeerCopy)
}

// use begins a use of m on the stream; m.s.Leave ends it.
func (st *streamState) use(op string, m *Memory) error {
	switch {
	case m != nil && m.s != nil && m.s.Enter():
		return nil
	case m == nil:
		return st.dev.Failure(op, ErrInvalidArgument, "%s", withoutMemory)
	}
	_, err := m.enter(op) // says why it refuses
	return err
}

func (st *streamState) foreign(op string, m *Memory) error {
	return st.dev.Failure(op, ErrWrongDevice, "the memory belongs to %s", m.s.dev.Info.Name())
}

// noteBytes records that the stream is about to use n bytes of host memory. They may belong to memories whose bytes the program has seen.
func (st *streamState) noteBytes(p unsafe.Pointer, n uint64) {
	lo, hi := uint64(uintptr(p)), uint64(uintptr(p))+n
	if v := st.seen.Load(); v != nil && v.alone(lo, hi) && v.mem.Last() == &st.User && !v.mem.Closed() {
		return // recorded by the stream's last copy
	}
	var room [4]*span.Node[*view]
	seen.mu.Lock()
	found := seen.tree.Meeting(lo, hi, room[:0])
	seen.mu.Unlock()
	for _, n := range found { // without the lock, which leave may take
		v := n.Value
		if v.mem.Enter() {
			v.mem.Note(&st.User)
			v.mem.Leave()
			st.seen.Store(v)
		}
	}
}

// RecordUse tells the library that work which the program itself enqueued on the stream's handle uses the memory:
// after Close the memory is not freed before that work has finished. On a closed stream it returns ErrClosed but still
// keeps the memory until pending work ends.
func (s *Stream) RecordUse(m *Memory) error {
	const op = "record use"
	if m.state() != nil && s.state() != nil && m.s.Last() == &s.s.User && !m.s.Closed() && !s.s.Closed() && s.s.dev.Lost() == nil {
		return nil // already recorded
	}
	st, err := s.enter(op, m)
	if err != nil {
		if s.state() != nil && s.s.Closed() && !s.s.Gone.Load() && m.state() != nil && m.s.Enter() {
			m.s.Note(&s.s.User)
			m.s.Leave()
		}
		return err
	}
	m.s.Note(&st.User)
	s.exit(m)
	return nil
}

// Prefetch enqueues the migration of shared memory to the stream's device, or to the host if
// toHost is true. The contents do not change. It needs CapPrefetch and memory of KindShared.
func (s *Stream) Prefetch(r Region, toHost bool) error {
	const op = "prefetch"
	st, err := s.enter(op, r.Mem)
	if err != nil {
		return err
	}
	defer s.exit(r.Mem)
	p, ok := st.Drv.(driver.Prefetcher)
	switch {
	case r.Mem.s.dev != st.dev:
		return st.foreign(op, r.Mem)
	case !ok || !st.dev.Info.Caps.Has(CapPrefetch) || r.Mem.s.kind != KindShared:
		return st.dev.Failure(op, ErrUnsupported, "prefetching %s memory is not supported", r.Mem.s.kind)
	case !r.inside():
		return r.outside(op)
	case r.Len == 0:
		return nil
	}
	r.Mem.s.Note(&st.User)
	return st.dev.Check(p.Prefetch(r.raw(), toHost))
}

// AllocAsync allocates size bytes of device memory in stream order: work of this stream may use
// the memory at once, other work after an event recorded on this stream. align is as for
// [Device.Alloc]. The memory is closed like any other. It needs CapStreamAlloc.
//
// On CUDA and HIP the driver takes the memory from the device's pool, and keeps freed memory for later calls: at most 1 GiB and at most a
// 16th of the device's memory in each process, until [Device.Reclaim] or the last [Device.Close]. A release threshold other than 0 that the
// program has set for that pool stays.
func (s *Stream) AllocAsync(size, align uint64) (*Memory, error) {
	const op = "stream-ordered alloc"
	st := s.state()
	if err := st.begin(op); err != nil {
		return nil, err
	}
	defer s.end()
	a, ok := st.Drv.(driver.StreamAllocator)
	if !ok || !st.dev.Info.Caps.Has(CapStreamAlloc) {
		return nil, st.dev.Failure(op, ErrUnsupported, "stream-ordered allocation is not supported")
	}
	m, err := s.Device().alloc(op, KindDevice, size, align, func() (driver.Memory, error) { return a.AllocAsync(size, align) })
	if err != nil {
		return nil, err
	}
	m.s.Note(&st.User)
	return m, nil
}

// CopyStream returns one of two streams that belong to the device itself and close with it: the
// stream for copies from the device if out is true, else the one for copies to it. All callers
// share them; work from different callers runs in the order in which it was enqueued.
func (d *Device) CopyStream(out bool) (*Stream, error) {
	if d == nil || d.s == nil {
		return nil, noDevice("copy stream")
	}
	i := 0
	if out {
		i = 1
	}
	if s := d.s.copyStreams[i].Load(); s != nil {
		if d.h.Closed() || d.s.Calls.Closed() {
			return nil, d.s.closedError("copy stream")
		}
		return s, nil
	}
	if err := d.begin("copy stream"); err != nil {
		return nil, err
	}
	defer d.end()
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if s := d.s.copyStreams[i].Load(); s != nil {
		return s, nil
	}
	s, err := d.s.ownStream("copy stream")
	if err == nil {
		d.s.copyStreams[i].Store(s)
	}
	return s, err
}

// ownStream makes a stream that belongs to the device itself and closes with it.
func (s *deviceState) ownStream(op string) (*Stream, error) {
	drv, err := s.Drv.NewStream(driver.StreamOptions{})
	if err != nil {
		return nil, s.Check(err)
	}
	st := makeStream(s, drv)
	if !s.AdmitOwn(&st.Object, st) {
		return nil, s.closedError(op)
	}
	return &Stream{s: st, dev: s.common}, nil
}

// Write copies src to dst and waits until the copy is done.
// It is not ordered with any stream: the caller makes sure that no other work uses dst. If ctx ends first, src may still be
// read until the device is idle.
func (d *Device) Write(ctx context.Context, dst Region, src []byte) error {
	return d.transfer(ctx, "write", func(s *Stream) error { return s.CopyIn(dst, src) })
}

// Read copies src to dst and waits until the copy is done. Like Write, it is not ordered with
// any stream. If ctx ends first, dst may still be written to until the device is idle.
func (d *Device) Read(ctx context.Context, dst []byte, src Region) error {
	return d.transfer(ctx, "read", func(s *Stream) error { return s.CopyOut(dst, src) })
}

// transfersMost is the number of Read and Write calls that copy at once; other calls wait for their turn.
const transfersMost = 4

// transfers are the streams of Read and Write. A stream carries one copy at a time, so that a call waits for its own copy and
// finds its own error.
type transfers struct {
	dev  *deviceState
	idle chan *Stream // buffered for all streams
	made int          // streams, guarded by the device's lock
}

func (t *transfers) init(s *deviceState) {
	t.dev, t.idle = s, make(chan *Stream, transfersMost)
}

// transfer runs copy on a stream of its own and waits for it.
func (d *Device) transfer(ctx context.Context, op string, copy func(*Stream) error) error {
	if err := d.begin(op); err != nil {
		return err
	}
	defer d.end()
	defer runtime.KeepAlive(copy) // with the memory
	t := &d.s.transfers
	if err := wait.Ended(op, ctx); err != nil {
		return err
	}
	s, err := t.reserve(ctx, op)
	if err != nil {
		return err
	}
	if err = copy(s); err == nil {
		err = s.Sync(ctx)
	}
	if err == nil || ctx.Err() == nil {
		t.idle <- s
	} else {
		t.abandon(s)
	}
	return err
}

// reserve returns an idle stream.
func (t *transfers) reserve(ctx context.Context, op string) (*Stream, error) {
	select {
	case s := <-t.idle:
		return s, nil
	default:
	}
	if s, err := t.add(op); s != nil || err != nil {
		return s, err
	}
	select {
	case s := <-t.idle:
		return s, nil
	case <-ctx.Done():
		return nil, wait.Interrupted(op, ctx)
	}
}

// add makes one more stream, or returns nil if there are transfersMost.
func (t *transfers) add(op string) (*Stream, error) {
	t.dev.mu.Lock()
	defer t.dev.mu.Unlock()
	if t.made == transfersMost {
		return nil, nil
	}
	s, err := t.dev.ownStream(op)
	if err == nil {
		t.made++
	}
	return s, err
}

// abandon makes a stream idle again once its copy, which the call no longer waits for, has ended.
func (t *transfers) abandon(s *Stream) {
	e, err := s.event("copy")
	if err != nil {
		t.idle <- s
		return
	}
	e.OnDone(func(error) {
		_, _ = s.Done() // else the stream's next user would get this copy's error
		t.idle <- s
	})
	e.Release()
}
