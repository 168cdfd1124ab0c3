package hal

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"
	"weak"

	"github.com/go-halyard/halyard/hal/driver"
)

// Device is an open device. Handles on the same hardware are independent of each other.
type Device struct {
	s       *deviceState
	cleanup runtime.Cleanup
}

// deviceState is what children refer to, so that a Device nobody holds is noticed.
type deviceState struct {
	handle
	drv  driver.Device
	info Info
	self weak.Pointer[Device] // the handle that the program was given
	lost atomic.Pointer[Error]

	mu         sync.Mutex
	held, peak uint64    // bytes
	total      uint64    // allocations made
	objects    int       // memory, streams and events that the vendor still has
	none       sync.Cond // objects is 0
	children   child     // list head
	marks      marks
	abandoned  bool // leaked while in use

	copyStreams [2]atomic.Pointer[Stream] // in, out
	transfers   transfers
	crossings   []*crossing // to and from the device
	values      sync.Map

	frees      *driverFrees
	closeWaits atomic.Bool // to close the vendor's device, or memory of it, may be to wait for gates

	reaper      reaper
	watch       watch
	asks        asking
	finishedAll latch // the vendor's device is closed
}

// child is an open object in its device's list.
type child struct {
	prev, next *child
	owner      described
}

// described says what an object is, for people.
type described interface{ describe() string }

func newDevice(b driver.Backend, drv driver.Device) *Device {
	s := &deviceState{drv: drv, info: drv.Info()}
	if s.info.Backend == "" {
		s.info.Backend = b.Name()
	}
	s.frees = frees.of(s.info.Backend)
	if w, ok := drv.(driver.FreeWaiter); ok && w.FreeWaits() {
		s.closeWaits.Store(true)
	}
	s.children.prev, s.children.next = &s.children, &s.children
	s.none.L = &s.mu
	s.watch.init()
	s.transfers.init(s)
	d := &Device{s: s}
	s.self = weak.Make(d)
	d.cleanup = runtime.AddCleanup(d, (*deviceState).leaked, s)
	return d
}

// Info describes the device.
func (d *Device) Info() Info { return d.s.info }

// Name is the name that opens the device again: "host:0".
func (d *Device) Name() string { return Name(d.s.info) }

// Caps are the device's capabilities.
func (d *Device) Caps() Caps { return d.s.info.Caps }

// Unified reports whether the device works on host memory in place.
func (d *Device) Unified() bool { return d.s.info.Unified }

// MemInfo returns the free and total memory of the device in bytes. It is of kind
// ErrUnsupported where the platform cannot tell. Other processes change the
// figure at any time; treat it as a hint.
func (d *Device) MemInfo() (free, total uint64, err error) {
	const op = "memory information"
	if err := d.s.begin(op); err != nil {
		return 0, 0, err
	}
	defer d.s.end()
	if !d.s.info.Caps.Has(CapMemInfo) {
		return 0, 0, d.s.failure(op, ErrUnsupported, "the platform does not tell")
	}
	free, total, err = d.s.drv.MemInfo()
	return free, total, d.s.check(err)
}

// Usage is what a device handle has allocated.
type Usage struct {
	Held        uint64 // bytes held now, memory waiting to be given back included
	Peak        uint64 // the most bytes held at once
	Allocations uint64 // allocations made since the device was opened
	Pending     int    // closed objects that wait for work under way
}

// Usage returns what this handle holds.
func (d *Device) Usage() Usage {
	s := d.s
	s.mu.Lock()
	u := Usage{Held: s.held, Peak: s.peak, Allocations: s.total}
	s.mu.Unlock()
	u.Pending = s.reaper.pending()
	return u
}

// Reaches reports whether a stream of d can copy to and from memory of other directly.
func (d *Device) Reaches(other *Device) bool {
	return d == other || other != nil && d.s.links(other.s, driver.LinkCopy)
}

// Alloc returns size bytes of the given kind, aligned to align bytes (a power of two;
// 0 for the device's own alignment). The contents are unspecified. When the device is
// out of memory, memory whose last use has just finished is given back and the call
// tried once more; the error then is of kind ErrOutOfMemory and carries a Shortage.
func (d *Device) Alloc(kind Kind, size, align uint64) (*Memory, error) {
	const op = "alloc"
	s := d.s
	if err := s.begin(op); err != nil {
		return nil, err
	}
	defer s.end()
	info := &s.info
	switch {
	case kind != KindDevice && kind != KindHost && kind != KindShared:
		return nil, s.failure(op, ErrInvalidArgument, "%v is no kind of memory", kind)
	case size == 0:
		return nil, s.failure(op, ErrInvalidArgument, "size 0")
	case align&(align-1) != 0:
		return nil, s.failure(op, ErrInvalidArgument, "alignment %d is not a power of two", align)
	case info.MaxAlign != 0 && align > info.MaxAlign:
		return nil, s.failure(op, ErrMisaligned, "alignment %d; the device offers up to %d", align, info.MaxAlign)
	case kind == KindShared && !info.Caps.Has(CapShared):
		return nil, s.failure(op, ErrUnsupported, "the device has no shared memory")
	case info.MaxAlloc != 0 && size > info.MaxAlloc:
		return nil, s.shortage(op, kind, size, fmt.Sprintf("one allocation is at most %d bytes", info.MaxAlloc), nil)
	}
	freed := s.reaper.count()
	drv, err := s.drv.Alloc(kind, size, align)
	if err != nil && isKind(err, ErrOutOfMemory) && s.collect(freed) {
		drv, err = s.drv.Alloc(kind, size, align)
	}
	if err != nil {
		if isKind(err, ErrOutOfMemory) {
			return nil, s.shortage(op, kind, size, "", err)
		}
		return nil, s.check(err)
	}
	return newMemory(d, op, drv, kind, size, allocated, nil)
}

// collect gives back what nothing uses any more, and reports whether that was anything since the count was taken.
func (s *deviceState) collect(since uint64) bool {
	idle := s.closeIdleCrossings()
	s.watch.sweep()
	s.trim()
	return s.reaper.collect(since) || idle
}

// trim has the driver give back what it keeps for later, unless that could be to wait for a gate.
func (s *deviceState) trim() {
	t, ok := s.drv.(driver.Trimmer)
	if !ok {
		return
	}
	s.reaper.put(reaped{slow: true, ready: func() bool { return true }, finish: func() {
		if frees.begin(s.frees) {
			t.Trim()
			frees.end()
		}
	}})
}

// Register makes existing host memory page-locked and usable by the device, as memory
// of KindHost. The slice must not be empty, and must stay reachable until the Memory is
// closed. A range that overlaps one already registered is of kind ErrBusy, a device
// that cannot do it of kind ErrUnsupported.
func (d *Device) Register(b []byte) (*Memory, error) {
	const op = "register"
	if err := d.s.begin(op); err != nil {
		return nil, err
	}
	defer d.s.end()
	r, ok := d.s.drv.(driver.Registerer)
	if !ok || !d.s.info.Caps.Has(CapRegister) {
		return nil, d.s.failure(op, ErrUnsupported, "the device cannot use existing host memory")
	}
	if len(b) == 0 {
		return nil, d.s.failure(op, ErrInvalidArgument, "no bytes")
	}
	drv, err := r.Register(unsafe.Pointer(unsafe.SliceData(b)), uint64(len(b)))
	if err != nil {
		return nil, d.s.check(err)
	}
	return newMemory(d, op, drv, KindHost, uint64(len(b)), registered, &extra{keep: b})
}

// NewStream returns a new stream. Priorities beyond what the device has are clamped.
func (d *Device) NewStream(o StreamOptions) (*Stream, error) {
	const op = "new stream"
	if err := d.s.begin(op); err != nil {
		return nil, err
	}
	defer d.s.end()
	info := &d.s.info
	o.Priority = max(min(o.Priority, max(info.LowPriority, info.HighPriority)), min(info.LowPriority, info.HighPriority))
	drv, err := d.s.drv.NewStream(o)
	if err != nil {
		return nil, d.s.check(err)
	}
	return newStream(d, op, drv)
}

// Close closes the device. While memory, streams, events or gates of it are open it
// fails with ErrBusy and names them; so it does, on CUDA and HIP, while the program holds another device of the driver
// shut by a [Gate], for which the driver might wait. It waits for work under way on objects that
// have been closed already, for calls under way, and for the work of marks, which know afterwards how that ended.
func (d *Device) Close() error {
	s := d.s
	s.mu.Lock()
	if s.closed() {
		s.mu.Unlock()
		return nil
	}
	if s.inUse() {
		err := s.failure("close", ErrBusy, "still open: %s", s.listChildren())
		s.mu.Unlock()
		return err
	}
	if s.closeWaits.Load() && frees.held(s.frees) {
		s.mu.Unlock()
		return s.failure("close", ErrBusy, "the driver may wait for a gate that is shut")
	}
	s.stay() // so that it is this call that finishes, unless others are under way
	s.handle.close()
	s.mu.Unlock()
	d.cleanup.Stop()
	s.closeCrossings()
	for i := range s.copyStreams {
		if t := s.copyStreams[i].Load(); t != nil {
			_ = t.Close()
		}
	}
	s.transfers.close()
	if s.leave() {
		s.drain()
		return s.finish()
	}
	s.finishedAll.wait()
	return nil
}

// inUse reports whether anything of the device is open; s.mu is held.
func (s *deviceState) inUse() bool { return s.children.next != &s.children }

func (s *deviceState) listChildren() string {
	const most = 5
	var names []string
	n := 0
	for c := s.children.next; c != &s.children; c = c.next {
		if n++; n <= most {
			names = append(names, c.owner.describe())
		}
	}
	if n > most {
		names = append(names, fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(names, ", ")
}

func (s *deviceState) finish() error {
	s.endMarks()
	defer s.finishedAll.open()
	return s.drv.Close()
}

func (s *deviceState) begin(op string) error {
	if !s.enter() {
		return s.closedError(op)
	}
	if lost := s.lost.Load(); lost != nil {
		s.end()
		return lost
	}
	return nil
}

func (s *deviceState) end() {
	if s.leave() {
		s.drain()
		_ = s.finish()
	}
}

// drain waits until the vendor has everything back.
func (s *deviceState) drain() {
	s.mu.Lock()
	for s.objects > 0 {
		s.none.Wait()
	}
	s.mu.Unlock()
	s.reaper.drain()
}

// check passes an error of the driver on and remembers the loss of the device.
func (s *deviceState) check(err error) error {
	if err != nil && isKind(err, ErrDeviceLost) {
		lost := &Error{Op: "use", Backend: s.info.Backend, Device: s.info.Ordinal, Kind: ErrDeviceLost, Err: err}
		s.lost.CompareAndSwap(nil, lost)
	}
	return err
}

func (s *deviceState) shortage(op string, kind Kind, size uint64, detail string, cause error) error {
	e := &Error{Op: op, Backend: s.info.Backend, Device: s.info.Ordinal, Kind: ErrOutOfMemory, Detail: detail}
	s.mu.Lock()
	e.Shortage = &driver.Shortage{Request: size, Kind: kind, Held: s.held}
	s.mu.Unlock()
	if s.info.Caps.Has(CapMemInfo) {
		if free, total, err := s.drv.MemInfo(); err == nil {
			e.Shortage.Free, e.Shortage.Total, e.Shortage.FreeKnown = free, total, true
		}
	}
	if v, ok := cause.(*Error); ok {
		e.Vendor = v.Vendor
		if e.Detail == "" {
			e.Detail = v.Detail
		}
	} else {
		e.Err = cause
	}
	return e
}

func (s *deviceState) links(other *deviceState, want driver.Link) bool {
	if s == other {
		return true
	}
	l, ok := s.drv.(driver.Linker)
	return ok && s.info.Backend == other.info.Backend && l.Link(other.drv)&want == want
}

// enlist notes an open object of the device, which has one of the vendor's, unless the device is closed: then who closes it
// does not know of the object, and waits for its maker.
func (s *deviceState) enlist(c *child, owner described) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.admit(c, owner)
}

// admit is enlist with s.mu held.
func (s *deviceState) admit(c *child, owner described) bool {
	if s.closed() {
		return false
	}
	s.link(c, owner)
	s.objects++
	return true
}

func (s *deviceState) closedError(op string) error {
	return s.failure(op, ErrClosed, "the device is closed")
}

// strike takes an object off the list, unless it is not there.
func (s *deviceState) strike(c *child) {
	s.mu.Lock()
	last := s.unlink(c)
	s.mu.Unlock()
	if last {
		go s.abandon()
	}
}

// link puts an object on the list; s.mu is held.
func (s *deviceState) link(c *child, owner described) {
	c.owner = owner
	c.prev, c.next = s.children.prev, &s.children
	c.prev.next, s.children.prev = c, c
}

// unlink is strike with s.mu held. It reports whether a device that nobody holds has lost its last
// object, and is to be abandoned.
func (s *deviceState) unlink(c *child) (last bool) {
	if c.next != nil {
		c.prev.next, c.next.prev = c.next, c.prev
		c.prev, c.next = nil, nil
	}
	return s.abandoned && !s.inUse()
}

// took counts an object of the vendor's.
func (s *deviceState) took() {
	s.mu.Lock()
	s.objects++
	s.mu.Unlock()
}

// gave says that the vendor has an object back.
func (s *deviceState) gave() {
	s.mu.Lock()
	s.lose()
	s.mu.Unlock()
}

// lose is gave with s.mu held.
func (s *deviceState) lose() {
	if s.objects--; s.objects == 0 {
		s.none.Broadcast()
	}
}

func isKind(err, kind error) bool {
	e, ok := err.(*Error)
	return ok && e.Kind == kind
}

// CopyStream returns one of two streams that belong to the device itself and close with it: one
// for copies to the device and one for copies from it. Anyone may use them; what is enqueued
// there runs in order with what others enqueue.
func (d *Device) CopyStream(out bool) (*Stream, error) {
	i := 0
	if out {
		i = 1
	}
	if s := d.s.copyStreams[i].Load(); s != nil {
		if d.s.closed() {
			return nil, d.s.failure("copy stream", ErrClosed, "the device is closed")
		}
		return s, nil
	}
	if err := d.s.begin("copy stream"); err != nil {
		return nil, err
	}
	defer d.s.end()
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if s := d.s.copyStreams[i].Load(); s != nil {
		return s, nil
	}
	if d.s.closed() { // and who closes it has been here
		return nil, d.s.closedError("copy stream")
	}
	s, err := d.s.ownStream()
	if err == nil {
		d.s.copyStreams[i].Store(s)
	}
	return s, err
}

// ownStream makes a stream that is no object of the program's; s.mu is held.
func (s *deviceState) ownStream() (*Stream, error) {
	drv, err := s.drv.NewStream(StreamOptions{})
	if err != nil {
		return nil, s.check(err)
	}
	s.objects++
	return &Stream{s: &streamState{dev: s, drv: drv}}, nil
}

// Same reports whether both are the same handle.
func (d *Device) Same(other *Device) bool { return other != nil && d.s == other.s }

// Value returns what was stored with the device handle under key, and stores what init returns if that is
// nothing yet. Libraries above keep what they know of a device there, so that it goes when the device
// does; key is of a type of their own, as for context.Context.
func (d *Device) Value(key any, init func() any) any {
	if v, ok := d.s.values.Load(key); ok {
		return v
	}
	v, _ := d.s.values.LoadOrStore(key, init())
	return v
}

// Reclaim waits until everything that was closed has been given back, which it is when the work that
// uses it has finished, or until ctx ends. It gives back what is kept for [CopyAcross] and not in use.
func (d *Device) Reclaim(ctx context.Context) error {
	const op = "reclaim"
	if err := d.s.begin(op); err != nil {
		return err
	}
	defer d.s.end()
	if ctx.Err() != nil {
		return Interrupted(op, ctx)
	}
	d.s.closeIdleCrossings()
	d.s.trim()
	d.s.trimMarks()
	d.s.watch.sweep()
	d.s.reaper.sweep()
	if d.s.reaper.settle(ctx) != nil {
		return Interrupted(op, ctx)
	}
	return nil
}
