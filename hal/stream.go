package hal

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/life"
	"github.com/go-halyard/halyard/hal/internal/wait"
)

// Stream is an in-order queue of work on one device.
type Stream struct {
	s       *streamState
	dev     *Device
	lookout *life.Lookout
}

type streamState struct {
	life.Object
	life.User
	wait.Stream
	dev  *deviceState
	held holds
	seen atomic.Pointer[view] // the memory that the stream last used through its bytes

	outside bool // imported: the program's own work may keep it busy for ever

	left    life.Latch // open when the stream is closed and no call or bridge uses it
	drained life.Latch // open when it is Gone

	launched recentLaunches
}

// makeStream returns the state of a driver's stream, which is not yet admitted to a device.
func makeStream(d *deviceState, drv driver.Stream) *streamState {
	s := &streamState{dev: d}
	s.Stream.Init(&d.Device, drv, s)
	s.Left = &s.left
	s.User.Pending = s.pendingWork
	return s
}

// newStream adds a driver stream to the device, or closes it if the device was closed meanwhile. Once newStream has returned,
// other goroutines can see s.
func newStream(d *Device, op string, s *streamState) (*Stream, error) {
	w, ok := d.h.Admit(&s.Object, s)
	if !ok {
		return nil, d.s.closedError(op)
	}
	return &Stream{s: s, dev: d, lookout: w}, nil
}

// Describe implements life.Thing.
func (st *streamState) Describe() string {
	if st.outside {
		return "imported stream"
	}
	return "stream"
}

// Device returns the device that the stream belongs to.
func (s *Stream) Device() *Device {
	if s == nil {
		return nil
	}
	return s.dev
}

// state returns the stream behind s, nil for a nil or zero Stream.
func (s *Stream) state() *streamState {
	if s == nil {
		return nil
	}
	return s.s
}

// noStream is the error of a call on, or with, a nil or zero Stream.
func noStream(op string) error { return Errorf(op, ErrInvalidArgument, "nil or zero stream") }

// Handle returns the vendor's stream, for the program's own launches: a CUstream, a hipStream_t or
// a cl_command_queue. On the host it is a number that only ImportStream takes. It is 0 once the stream is closed.
func (s *Stream) Handle() uintptr {
	if s.state() == nil || s.s.Closed() {
		return 0
	}
	return s.s.Drv.Handle()
}

// Copy enqueues a copy of src to dst, which must have the same length. They may lie in the same
// memory if they do not overlap. Both must belong to devices that the stream's device can access
// ([Device.CanAccessPeer]); [CopyPeer] copies between all others.
func (s *Stream) Copy(dst, src Region) error {
	const op = "copy"
	st := s.state()
	if err := st.begin(op); err != nil {
		return err
	}
	err := st.copy(op, dst, src)
	st.Leave()
	return err
}

func (st *streamState) copy(op string, dst, src Region) error {
	if err := st.use(op, dst.Mem); err != nil {
		return err
	}
	defer dst.Mem.s.Leave()
	if err := st.use(op, src.Mem); err != nil {
		return err
	}
	defer src.Mem.s.Leave()
	switch {
	case dst.Mem.s.dev != st.dev && !st.dev.Links(&dst.Mem.s.dev.Device, driver.PeerCopy):
		return st.foreign(op, dst.Mem)
	case src.Mem.s.dev != st.dev && !st.dev.Links(&src.Mem.s.dev.Device, driver.PeerCopy):
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
	if err := st.vacant(op, dst.Mem, true); err != nil {
		return err
	}
	if err := st.vacant(op, src.Mem, false); err != nil {
		return err
	}
	dst.Mem.s.Note(&st.User)
	src.Mem.s.Note(&st.User)
	return st.dev.Check(st.Drv.Copy(dst.raw(), src.raw()))
}

// CopyIn enqueues a copy of host memory src to dst, which must have the same length. It does not
// wait: src must not change until the copy is done. The library keeps src reachable until then.
func (s *Stream) CopyIn(dst Region, src []byte) error {
	const op = "copy in"
	st := s.state()
	if err := st.begin(op); err != nil {
		return err
	}
	err := st.copyHost(op, dst, src, true)
	st.Leave()
	return err
}

// CopyOut enqueues a copy of src to host memory dst, which must have the same length. It does not
// wait: dst must not be touched until the copy is done. The library keeps dst reachable until then.
func (s *Stream) CopyOut(dst []byte, src Region) error {
	const op = "copy out"
	st := s.state()
	if err := st.begin(op); err != nil {
		return err
	}
	err := st.copyHost(op, src, dst, false)
	st.Leave()
	return err
}

func (st *streamState) copyHost(op string, r Region, b []byte, in bool) error {
	if err := st.use(op, r.Mem); err != nil {
		return err
	}
	defer r.Mem.s.Leave()
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
	if err := st.vacant(op, r.Mem, in); err != nil {
		return err
	}
	r.Mem.s.Note(&st.User)
	p := unsafe.Pointer(unsafe.SliceData(b))
	st.noteBytes(p, r.Len)
	var err error
	if in {
		err = st.Drv.CopyIn(r.raw(), p)
	} else {
		err = st.Drv.CopyOut(p, r.raw())
	}
	// Not before the copy: a goroutine that finds the stream idle drops everything held.
	st.held.add(st, p, r.Len)
	return st.dev.Check(err)
}

// Fill enqueues a fill of dst with the repeated pattern. The pattern's width is 1, 2, 4 or 8
// bytes, and the offset and length of dst must be multiples of it.
func (s *Stream) Fill(dst Region, p Pattern) error {
	const op = "fill"
	st := s.state()
	if err := st.begin(op); err != nil {
		return err
	}
	err := st.fill(op, dst, p)
	st.Leave()
	return err
}

func (st *streamState) fill(op string, dst Region, p Pattern) error {
	if err := st.use(op, dst.Mem); err != nil {
		return err
	}
	defer dst.Mem.s.Leave()
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
	if err := st.vacant(op, dst.Mem, true); err != nil {
		return err
	}
	dst.Mem.s.Note(&st.User)
	return st.dev.Check(st.Drv.Fill(dst.raw(), p))
}

// Map enqueues the mapping of the whole memory for the host. The host may touch the memory once
// the stream has passed this point and until Unmap, and may write to it if write is true. Until Unmap
// the device must not write to the memory and, if write is true, must not read it: copies, fills and launches
// return an error of kind ErrBusy. Launches do not know whether a kernel writes, so memory that is
// mapped for reading may be passed to a kernel, which must only read it. On memory that need not be
// mapped ([Memory.NeedsMap]) Map does nothing.
func (s *Stream) Map(m *Memory, write bool) error {
	how := mappedToRead
	if write {
		how = mappedToWrite
	}
	return s.mapping("map", m, func(d driver.Mapper) error { return d.Map(m.s.drv, write) }, how)
}

// Unmap enqueues the end of the mapping; later work may use the memory on the device.
func (s *Stream) Unmap(m *Memory) error {
	return s.mapping("unmap", m, func(d driver.Mapper) error { return d.Unmap(m.s.drv) }, unmapped)
}

func (s *Stream) mapping(op string, m *Memory, act func(driver.Mapper) error, to mapping) error {
	st := s.state()
	if err := st.begin(op); err != nil {
		return err
	}
	defer st.Leave()
	if err := st.use(op, m); err != nil {
		return err
	}
	defer m.s.Leave()
	if m.s.dev != st.dev {
		return st.foreign(op, m)
	}
	d, ok := st.Drv.(driver.Mapper)
	if !m.s.needs {
		return nil
	}
	if !ok {
		return st.dev.Failure(op, ErrUnsupported, "mapping memory is not supported")
	}
	was := m.s.mapped.Load()
	switch {
	case to != unmapped && was != unmapped:
		return st.dev.Failure(op, ErrBusy, "the memory is already mapped")
	case to == unmapped && was == unmapped:
		return st.dev.Failure(op, ErrBusy, "the memory is not mapped")
	case !m.s.mapped.CompareAndSwap(was, to):
		return st.dev.Failure(op, ErrBusy, "another call maps or unmaps the memory")
	}
	m.s.Note(&st.User)
	if err := act(d); err != nil {
		m.s.mapped.Store(was)
		return st.dev.Check(err)
	}
	if to == unmapped {
		m.s.hideBytes() // the next Map may return another address
	}
	return nil
}

// mapping says whether the host may touch memory that must be mapped.
type mapping = uint32

const (
	unmapped mapping = iota
	mappedToRead
	mappedToWrite
)

// vacant returns an error if the memory is mapped for the host in a way that excludes work of the device that reads it or,
// if write is set, writes to it (OpenCL 1.2, section 5.4.2).
func (st *streamState) vacant(op string, m *Memory, write bool) error {
	if how := m.s.mapped.Load(); how == mappedToWrite || how == mappedToRead && write {
		return st.dev.Failure(op, ErrBusy, "the memory is mapped for the host")
	}
	return nil
}

// RecordUse tells the library that work which the program itself enqueued on the stream's handle uses the memory:
// after Close the memory is not freed before that work has finished. On a closed stream it returns ErrClosed but still
// keeps the memory until pending work ends.
func (s *Stream) RecordUse(m *Memory) error {
	const op = "use"
	if m.state() != nil && s.state() != nil && m.s.Last() == &s.s.User && !m.s.Closed() && !s.s.Closed() && s.s.dev.Lost() == nil {
		return nil // already recorded
	}
	if err := s.state().begin(op); err != nil {
		if s.state() != nil && s.s.Closed() && !s.s.Gone.Load() && m.state() != nil && m.s.Enter() {
			m.s.Note(&s.s.User)
			m.s.Leave()
		}
		return err
	}
	defer s.s.Leave()
	if err := s.s.use(op, m); err != nil {
		return err
	}
	m.s.Note(&s.s.User)
	m.s.Leave()
	return nil
}

// Done reports whether all work enqueued so far has finished, and returns an error found in it.
func (s *Stream) Done() (bool, error) {
	if err := s.state().begin("query"); err != nil {
		return false, err
	}
	upTo := s.s.held.mark()
	done, err := s.s.Stream.Done()
	if done {
		s.s.held.drop(upTo)
	}
	s.s.Leave()
	return done, err
}

// Sync waits until all work enqueued before the call has finished, and returns an error
// found in it. If ctx ends first, the error is of kind ErrNotReady and wraps the context's
// cause; the work goes on.
func (s *Stream) Sync(ctx context.Context) error {
	const op = "sync"
	if err := s.state().begin(op); err != nil {
		return err
	}
	err, failed := s.s.sync(ctx, op)
	if err == nil {
		err = failed
	}
	s.s.Leave()
	return err
}

// sync waits as Sync does, and returns the error that Sync returns. Failed is an error of a driver's call that says nothing about the work.
func (st *streamState) sync(ctx context.Context, op string) (err, failed error) {
	upTo := st.held.mark()
	over, err, failed := st.Stream.Sync(ctx, op)
	if over {
		st.held.drop(upTo)
	}
	return err, failed
}

// err returns nil if the stream accepts work, else an error of kind ErrClosed or ErrDeviceLost.
func (s *Stream) err() error {
	const op = "use a stream"
	if s.state() == nil {
		return noStream(op)
	}
	if s.s.Closed() {
		return s.s.dev.Failure(op, ErrClosed, "the stream is closed")
	}
	if lost := s.s.dev.Lost(); lost != nil {
		return lost
	}
	return nil
}

// WaitStream makes later work of s wait for all work enqueued on t so far. It blocks in the same cases as [Stream.WaitEvent].
// t may belong to any device. If t is closed, s waits for the work of t that is still under way.
func (s *Stream) WaitStream(t *Stream) error {
	const op = "follow"
	if s.state() == nil || t.state() == nil {
		return noStream(op)
	}
	if s.s == t.s {
		return s.err()
	}
	if e, err := t.event(op); err == nil {
		defer e.Release()
		return s.wait(e)
	} else if !isKind(err, ErrClosed) {
		return err
	}
	if err := s.state().begin(op); err != nil {
		return err
	}
	defer s.s.Leave()
	if t.s.Gone.Load() {
		return nil
	}
	return s.s.WaitLatch(&t.s.drained)
}

// idle is like Done, but on a closed stream it reports whether the work that was under way has finished, and it leaves an error to the
// program.
func (s *Stream) idle() (bool, error) {
	st := s.state()
	if err := st.begin("query"); err != nil {
		if isKind(err, ErrClosed) {
			return st.Gone.Load(), nil
		}
		return true, err // the device is lost
	}
	defer st.Leave()
	return st.Peek()
}

// drain is like Sync, but on a closed stream it waits for the work that was under way, and it leaves an error to the program.
func (s *Stream) drain(ctx context.Context) error {
	const op = "drain"
	st := s.state()
	if err := st.begin(op); err == nil {
		upTo := st.held.mark()
		over, err := st.Drain(ctx, op)
		if over {
			st.held.drop(upTo)
		}
		st.Leave()
		return err // of any kind: the stream is open
	} else if !isKind(err, ErrClosed) {
		return err
	}
	if ctx.Err() != nil {
		return wait.Interrupted(op, ctx)
	}
	select {
	case <-st.drained.Opened():
		return nil
	case <-ctx.Done():
		return wait.Interrupted(op, ctx)
	}
}

// Gate enqueues a gate that is shut: work enqueued after it does not start before the gate is
// opened. It needs CapGate. On CUDA and HIP, whose frees may wait for the device, it first waits
// for the frees under way.
func (s *Stream) Gate() (*Gate, error) {
	const op = "gate"
	if err := s.state().begin(op); err != nil {
		return nil, err
	}
	defer s.s.Leave()
	drv, err := s.s.ShutGate()
	if err != nil {
		return nil, err
	}
	return newGate(s, op, drv)
}

// OnDone calls fn on a new goroutine once the work enqueued so far has finished. Later work
// of the stream does not wait for fn. fn may block and may use the library. It needs
// CapHostCallback.
func (s *Stream) OnDone(fn func()) error {
	const op = "host callback"
	if err := s.state().begin(op); err != nil {
		return err
	}
	defer s.s.Leave()
	c, ok := s.s.Drv.(driver.Notifier)
	if !ok || !s.s.dev.Info.Caps.Has(CapHostCallback) {
		return s.s.dev.Failure(op, ErrUnsupported, "host callbacks are not supported")
	}
	if fn == nil {
		return s.s.dev.Failure(op, ErrInvalidArgument, "nil function")
	}
	return s.s.dev.Check(c.OnDone(fn))
}

// Prefetch enqueues the migration of shared memory to the stream's device, or to the host if
// toHost is true. The contents do not change. It needs CapPrefetch and memory of KindShared.
func (s *Stream) Prefetch(r Region, toHost bool) error {
	const op = "prefetch"
	st := s.state()
	if err := st.begin(op); err != nil {
		return err
	}
	defer st.Leave()
	if err := st.use(op, r.Mem); err != nil {
		return err
	}
	defer r.Mem.s.Leave()
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
func (s *Stream) AllocAsync(size, align uint64) (*Memory, error) {
	const op = "stream-ordered alloc"
	st := s.state()
	if err := st.begin(op); err != nil {
		return nil, err
	}
	defer st.Leave()
	a, ok := st.Drv.(driver.StreamAllocator)
	info := &st.dev.Info
	switch {
	case !ok || !info.Caps.Has(CapStreamAlloc):
		return nil, st.dev.Failure(op, ErrUnsupported, "stream-ordered allocation is not supported")
	case align&(align-1) != 0:
		return nil, st.dev.Failure(op, ErrInvalidArgument, "alignment %d is not a power of two", align)
	case info.MaxAlign != 0 && align > info.MaxAlign:
		return nil, st.dev.Failure(op, ErrMisaligned, "alignment %d exceeds the device's maximum of %d", align, info.MaxAlign)
	case info.MaxAlloc != 0 && size > info.MaxAlloc:
		return nil, st.dev.shortage(op, KindDevice, size, "larger than the largest single allocation", nil)
	}
	var drv driver.Memory = noBytes{}
	if size > 0 {
		var err error
		if drv, err = a.AllocAsync(size, align); err != nil {
			if isKind(err, ErrOutOfMemory) {
				return nil, st.dev.shortage(op, KindDevice, size, "", err)
			}
			return nil, st.dev.Check(err)
		}
	}
	m, err := newMemory(s.Device(), op, &memoryState{drv: drv, kind: KindDevice, size: size})
	if err != nil {
		return nil, err
	}
	m.s.Note(&st.User)
	return m, nil
}

// Close closes the stream. It does not wait: work under way goes on, and the vendor's stream
// is destroyed when that work has finished.
func (s *Stream) Close() error {
	if s.state() == nil {
		return noStream("close")
	}
	return s.s.Close(&s.lookout)
}

// begin begins a call on a stream, or returns why the stream refuses it; st is nil for a nil or zero Stream.
func (st *streamState) begin(op string) error {
	if st == nil {
		return noStream(op)
	}
	if !st.Enter() {
		return st.dev.Failure(op, ErrClosed, "the stream is closed")
	}
	if lost := st.dev.Lost(); lost != nil {
		st.Leave()
		return lost
	}
	return nil
}

// Pending implements life.Vendored: a stream that the program's own work may keep busy for ever is given back after the work so far.
func (st *streamState) Pending() func() bool {
	if st.Idle() {
		return nil
	}
	if st.outside {
		if passed := st.WorkSoFar(); passed != nil {
			return passed
		}
	}
	return st.Idle
}

// GiveBack implements life.Vendored.
func (st *streamState) GiveBack() error {
	err := st.Drv.Close()
	st.Gone.Store(true)
	st.drained.Open()
	st.held.drop(st.held.mark())
	return st.dev.Check(err)
}

// pendingWork returns nil if the stream is idle, else a function that reports whether the work
// enqueued so far has finished.
func (st *streamState) pendingWork() func() bool {
	if !st.Enter() {
		if st.Gone.Load() {
			return nil
		}
		return st.Gone.Load
	}
	defer st.Leave()
	if st.Idle() {
		return nil
	}
	if passed := st.WorkSoFar(); passed != nil {
		return passed
	}
	// Without an event, wait for the stream as a whole.
	return func() bool {
		if !st.Enter() {
			return st.Gone.Load()
		}
		defer st.Leave()
		return st.Idle()
	}
}

// use begins a use of m on the stream; m.s.Leave ends it.
func (st *streamState) use(op string, m *Memory) error {
	switch {
	case m == nil:
		return st.dev.Failure(op, ErrInvalidArgument, "%s", withoutMemory)
	case m.s == nil:
		return noMemory(op)
	}
	if !m.s.Enter() {
		return m.s.dev.Failure(op, ErrClosed, "the memory is closed")
	}
	return nil
}

func (st *streamState) foreign(op string, m *Memory) error {
	return st.dev.Failure(op, ErrWrongDevice, "the memory belongs to %s", m.s.dev.Info.Name())
}

// holds keeps host memory reachable until the copies that use it have finished.
type holds struct {
	some  atomic.Bool // whether there are pointers
	mu    sync.Mutex
	seq   uint64 // number of the next pointer
	ptrs  []unsafe.Pointer
	bytes uint64 // added since the stream was last asked whether it is idle
	asked int    // pointers held at that time

	// A stream may never be idle. So, when it is asked and is busy, add records an event: once its work has finished, the pointers before
	// upTo are forgotten.
	event *wait.Event // nil if there is none
	upTo  uint64
}

const (
	holdsMany = 64      // pointers after which add asks whether the stream is idle
	holdsHeld = 1 << 20 // bytes after which add asks
)

func (h *holds) add(st *streamState, p unsafe.Pointer, n uint64) {
	h.mu.Lock()
	if len(h.ptrs)-h.asked >= holdsMany || h.bytes >= holdsHeld {
		h.bytes = 0
		if st.Idle() {
			h.forget(h.seq)
		} else {
			h.advance(st)
		}
		h.asked = len(h.ptrs)
	}
	h.ptrs = append(h.ptrs, p)
	if len(h.ptrs) == 1 {
		h.some.Store(true)
	}
	h.bytes += n
	h.seq++
	h.mu.Unlock()
}

func (h *holds) mark() uint64 {
	if !h.some.Load() {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seq
}

// drop forgets the pointers added before the mark.
func (h *holds) drop(mark uint64) {
	if mark == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.forget(mark) {
		h.asked, h.bytes = 0, 0
	}
	h.some.Store(len(h.ptrs) > 0)
}

// forget is drop with h.mu held, and leaves some to the caller. It reports whether there were such pointers.
func (h *holds) forget(mark uint64) bool {
	if h.event != nil && h.upTo <= mark {
		h.event.Release()
		h.event = nil
	}
	first := h.seq - uint64(len(h.ptrs))
	if mark <= first {
		return false
	}
	n := copy(h.ptrs, h.ptrs[mark-first:])
	clear(h.ptrs[n:])
	h.ptrs = h.ptrs[:n]
	return true
}

// advance forgets the pointers before the event if its work has finished, and records the next one; h.mu is held. The pointers in h were added after
// their copies had been enqueued, so the event comes after these copies.
func (h *holds) advance(st *streamState) {
	if h.event != nil {
		if done, _ := h.event.Done(); !done { // the stream reports the error
			return
		}
		h.forget(h.upTo)
	}
	if e, err := st.Event(false); err == nil {
		h.event, h.upTo = e, h.seq
	}
}

// event records an event and returns it with one reference.
func (s *Stream) event(op string) (*wait.Event, error) {
	st := s.state()
	if err := st.begin(op); err != nil {
		return nil, err
	}
	e, err := st.Event(false)
	st.Leave()
	return e, err
}

// wait makes later work of s wait for the event.
func (s *Stream) wait(e *wait.Event) error {
	st := s.state()
	if err := st.begin("wait"); err != nil {
		return err
	}
	defer st.Leave()
	return st.Wait(e)
}
