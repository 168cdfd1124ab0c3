package hal

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/life"
	"github.com/go-halyard/halyard/hal/internal/wait"
)

// Device is a handle on an open device. All handles that [Open] returns for one device share it: streams of one handle work
// with memory of another. Each handle is closed on its own; closing the last one closes the device.
type Device struct {
	s       *deviceState
	h       *life.Holder
	cleanup runtime.Cleanup
}

// deviceState is the device itself, shared by its handles and referred to by their children.
type deviceState struct {
	life.Owner
	wait.Device
	key    deviceKey
	common *Device // the device's own handle, which a program cannot close

	mu          sync.Mutex
	copyStreams [2]atomic.Pointer[Stream] // in, out
	transfers   transfers
	crossings   []*crossing // for copies to and from this device
	values      sync.Map

	closeWaits atomic.Bool // closing the vendor's device, or freeing its memory, may block on a gate
}

func newDevice(b driver.Backend, drv driver.Device, key deviceKey) *Device {
	s := &deviceState{key: key}
	info := drv.Info()
	if info.Backend == "" {
		info.Backend = b.Name()
	}
	s.Owner.Init()
	s.Frees = life.FreesOf(info.Backend)
	s.Report = s.reportLeak
	s.Close = s.close
	s.Device.Init(drv, info, s.Frees)
	s.Outer = s.newEvent
	if w, ok := drv.(driver.FreeBlocker); ok && w.FreeMayBlock() {
		s.closeWaits.Store(true)
	}
	s.transfers.init(s)
	s.common = &Device{s: s, h: s.Common()}
	return s.join()
}

// join returns a new handle, or nil if the device is closed or lost.
func (s *deviceState) join() *Device {
	h := s.Join(func() bool { return s.Lost() != nil })
	if h == nil {
		return nil
	}
	d := &Device{s: s, h: h}
	d.cleanup = runtime.AddCleanup(d, (*life.Holder).Leaked, h)
	return d
}

// state returns the device behind d, nil for a nil or zero Device.
func (d *Device) state() *deviceState {
	if d == nil {
		return nil
	}
	return d.s
}

// noDevice is the error of a call on a nil or zero Device.
func noDevice(op string) error { return Errorf(op, ErrInvalidArgument, "nil or zero device") }

// common returns a handle that belongs to the device itself. It is for libraries whose objects outlive the part of a program that opened
// the device. While an object made through this handle is open, the last of the program's handles cannot be closed; the others can. A
// [Module] loaded through it never prevents that: the module closes with the device. Close refuses this handle, which closes together
// with the last of the program's handles.
func (d *Device) common() *Device {
	if s := d.state(); s != nil {
		return s.common
	}
	return nil
}

// Info describes the device.
func (d *Device) Info() Info {
	if s := d.state(); s != nil {
		return s.Info
	}
	return Info{}
}

// Name returns the name with which [Open] opens the device: "host:0". It is "" for a nil or zero Device.
func (d *Device) Name() string {
	if s := d.state(); s != nil {
		return s.Info.Name()
	}
	return ""
}

// Caps returns the device's capabilities.
func (d *Device) Caps() Caps {
	if s := d.state(); s != nil {
		return s.Info.Caps
	}
	return 0
}

// sharesHostMemory reports whether the device uses host memory in place, without copies. It does not if the host has to map the memory.
func (d *Device) sharesHostMemory() bool {
	s := d.state()
	return s != nil && s.Info.SharesHostMemory && !s.Info.Caps.Has(CapMustMap)
}

// MemInfo returns the free and total memory of the device in bytes. The error is of
// kind ErrUnsupported if the driver does not report it. Other processes change the
// figures at any time; treat them as a hint.
func (d *Device) MemInfo() (free, total uint64, err error) {
	const op = "memory information"
	if err := d.begin(op); err != nil {
		return 0, 0, err
	}
	defer d.s.end()
	if !d.s.Info.Caps.Has(CapMemInfo) {
		return 0, 0, d.s.Failure(op, ErrUnsupported, "free memory is not reported by the driver")
	}
	free, total, err = d.s.Drv.MemInfo()
	return free, total, d.s.Check(err)
}

// Usage counts the allocations on a device, through all its handles.
type Usage struct {
	Held        uint64 // bytes allocated now, including closed memory that has not been freed yet
	Peak        uint64 // the largest value of Held so far
	Allocations uint64 // allocations made since the device was opened
	Pending     int    // closed objects that wait for work under way
}

// Usage returns the allocations on the device, through all its handles.
func (d *Device) Usage() Usage {
	s := d.state()
	if s == nil {
		return Usage{}
	}
	u := s.Owner.Usage()
	return Usage{Held: u.Held, Peak: u.Peak, Allocations: u.Allocations, Pending: s.Reaper.Pending()}
}

// CanAccessPeer reports whether a stream of d can copy to and from memory of other directly.
func (d *Device) CanAccessPeer(other *Device) bool {
	s, o := d.state(), other.state()
	return s != nil && o != nil && s.Links(&o.Device, driver.PeerCopy)
}

// Alloc allocates size bytes of memory of the given kind, aligned to align bytes (a power
// of two; 0 means Info.Alignment). The contents are unspecified. Memory of 0 bytes has handle 0 and takes
// nothing of the device, but has to be closed as well. When the device is out of
// memory, Alloc frees closed memory whose last use has finished and tries once more; if
// that fails too, the error is of kind ErrOutOfMemory and carries a Shortage.
func (d *Device) Alloc(kind Kind, size, align uint64) (*Memory, error) {
	const op = "alloc"
	s := d.state()
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer s.end()
	info := &s.Info
	switch {
	case kind != KindDevice && kind != KindHost && kind != KindShared:
		return nil, s.Failure(op, ErrInvalidArgument, "invalid memory kind %v", kind)
	case align&(align-1) != 0:
		return nil, s.Failure(op, ErrInvalidArgument, "alignment %d is not a power of two", align)
	case info.MaxAlign != 0 && align > info.MaxAlign:
		return nil, s.Failure(op, ErrMisaligned, "alignment %d exceeds the device's maximum of %d", align, info.MaxAlign)
	case kind == KindShared && !info.Caps.Has(CapShared):
		return nil, s.Failure(op, ErrUnsupported, "shared memory is not supported")
	case info.MaxAlloc != 0 && size > info.MaxAlloc:
		return nil, s.shortage(op, kind, size, fmt.Sprintf("a single allocation is limited to %d bytes", info.MaxAlloc), nil)
	case size == 0:
		return newMemory(d, op, &memoryState{drv: noBytes{}, kind: kind})
	}
	freed := s.Reaper.Count()
	drv, err := s.Drv.Alloc(kind, size, align)
	if err != nil && isKind(err, ErrOutOfMemory) && s.collect(freed) {
		drv, err = s.Drv.Alloc(kind, size, align)
	}
	if err != nil {
		if isKind(err, ErrOutOfMemory) {
			return nil, s.shortage(op, kind, size, "", err)
		}
		return nil, s.Check(err)
	}
	return newMemory(d, op, &memoryState{drv: drv, kind: kind, size: size})
}

// collect frees closed objects that are no longer in use. It reports whether anything has been freed since the reaper's count was since.
func (s *deviceState) collect(since uint64) bool {
	idle := s.closeIdleCrossings()
	s.Sweep()
	s.trim()
	return s.Reaper.Collect(since) || idle
}

// trim makes the driver free the memory that it caches, unless that could block on a gate.
func (s *deviceState) trim() {
	t, ok := s.Drv.(driver.Trimmer)
	if !ok {
		return
	}
	s.Reaper.AddSlow(func() bool { return true }, func() {
		if s.Frees.Begin() {
			t.Trim()
			s.Frees.End()
		}
	})
}

// Register makes existing host memory page-locked and usable by the device, as memory
// of KindHost. The Memory keeps the slice reachable until it is
// closed. The error is of kind ErrBusy if the range overlaps a registered one, and of
// kind ErrUnsupported on a device without CapRegister.
func (d *Device) Register(b []byte) (*Memory, error) {
	const op = "register"
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer d.s.end()
	r, ok := d.s.Drv.(driver.Registerer)
	if !ok || !d.s.Info.Caps.Has(CapRegister) {
		return nil, d.s.Failure(op, ErrUnsupported, "registering host memory is not supported")
	}
	if len(b) == 0 {
		return newMemory(d, op, &memoryState{drv: noBytes{}, kind: KindHost, origin: registered})
	}
	drv, err := r.Register(unsafe.Pointer(unsafe.SliceData(b)), uint64(len(b)))
	if err != nil {
		return nil, d.s.Check(err)
	}
	return newMemory(d, op, &memoryState{drv: drv, kind: KindHost, size: uint64(len(b)), origin: registered, keep: unsafe.Pointer(unsafe.SliceData(b))})
}

// StreamOption is an option of [Device.NewStream].
type StreamOption func(*driver.StreamOptions)

// WithPriority gives the stream a priority: 0 is normal, and work of streams with lower numbers runs first. It is clamped to the range from
// Info.HighPriority to Info.LowPriority, and has no effect on a device without CapPriority.
func WithPriority(n int) StreamOption { return func(o *driver.StreamOptions) { o.Priority = n } }

// NewStream returns a new stream.
func (d *Device) NewStream(opts ...StreamOption) (*Stream, error) {
	const op = "new stream"
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer d.s.end()
	var o driver.StreamOptions
	for _, set := range opts {
		if set == nil {
			return nil, d.s.Failure(op, ErrInvalidArgument, "nil option")
		}
		set(&o)
	}
	info := &d.s.Info
	o.Priority = max(min(o.Priority, max(info.LowPriority, info.HighPriority)), min(info.LowPriority, info.HighPriority))
	drv, err := d.s.Drv.NewStream(o)
	if err != nil {
		return nil, d.s.Check(err)
	}
	return newStream(d, op, makeStream(d.s, drv))
}

// Close closes the handle. It fails with ErrBusy, and names the objects, while memory, streams, events, modules or gates made
// through this handle are open. Objects made through other handles do not matter.
//
// Closing the last handle closes the device. That fails with ErrBusy in two more cases:
//
//   - An object other than a [Module] is open that was made through the device's own handle. [Stream.Device] returns that handle for
//     the streams of [Device.CopyStream].
//   - On CUDA and HIP, a [Gate] holds a stream of any device of that driver. If one is made during Close, Close waits until it is opened.
//
// Closing the last handle waits for calls under way, for work on objects that are already closed, and for the work of events that a
// library has retained ([Event.Retain]); such an event keeps its result. Closing any other handle does not wait.
//
// A second Close of a handle does nothing and returns nil. It does not wait for a first one that is still closing the device: the first
// may itself be waiting for the goroutine that called the second, such as one that runs a function given to [Event.OnDone]. A Close that
// failed with ErrBusy closed nothing, so the next one tries again.
//
// The device's own handle cannot be closed: the error is of kind ErrInvalidArgument.
func (d *Device) Close() error {
	if d.state() == nil {
		return noDevice("close")
	}
	if d == d.s.common {
		return d.s.Failure("close", ErrInvalidArgument, "the device's own handle cannot be closed; it closes with the last other handle")
	}
	err := d.s.close(d.h)
	if d.h.Closed() {
		d.cleanup.Stop()
	}
	return err
}

// close closes a handle, and with the last one the device.
func (s *deviceState) close(h *life.Holder) error {
	last, err := s.CloseHolder(h, func(open string) error {
		switch {
		case open != "":
			return s.Failure("close", ErrBusy, "still open: %s", open)
		case s.closeWaits.Load() && s.Frees.Held():
			return s.Failure("close", ErrBusy, "closing could block on a gate that is still shut")
		}
		return nil
	})
	if err != nil || !last {
		return err
	}
	opened.forget(s)
	for _, m := range s.Dependents() {
		_ = m.(*moduleState).Close(new(*life.Lookout))
	}
	s.closeCrossings()
	s.closeStreams()
	s.CallsEnd()
	s.Drain()
	s.EndEvents()
	s.Free(s.closeWaits.Load(), func() { err = s.Drv.Close() })
	s.Reaper.Drain()
	return err
}

// begin begins a call on the device through the handle; s.end ends it.
func (d *Device) begin(op string) error {
	if d.state() == nil {
		return noDevice(op)
	}
	if d.h.Closed() {
		return d.s.closedError(op)
	}
	return d.s.begin(op)
}

func (s *deviceState) begin(op string) error {
	if !s.Calls.Enter() {
		return s.closedError(op)
	}
	if lost := s.Lost(); lost != nil {
		s.end()
		return lost
	}
	return nil
}

// end ends a call. Device.Close waits for calls under way and then cleans up. The call itself cleans up nothing, so it returns as soon as
// its context ends.
func (s *deviceState) end() { s.Calls.Leave() }

func (s *deviceState) shortage(op string, kind Kind, size uint64, detail string, cause error) error {
	e := &Error{Op: op, Backend: s.Info.Backend, Device: s.Info.Ordinal, Kind: ErrOutOfMemory, Detail: detail}
	e.Shortage = &driver.Shortage{Request: size, Kind: kind, Held: s.Owner.Usage().Held}
	if s.Info.Caps.Has(CapMemInfo) {
		if free, total, err := s.Drv.MemInfo(); err == nil {
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

func (s *deviceState) closedError(op string) error {
	return s.Failure(op, ErrClosed, "the device is closed")
}

func isKind(err, kind error) bool {
	e, ok := err.(*Error)
	return ok && e.Kind == kind
}

// CopyStream returns one of two streams that belong to the device itself and close with it: the
// stream for copies from the device if out is true, else the one for copies to it. All callers
// share them; work from different callers runs in the order in which it was enqueued.
func (d *Device) CopyStream(out bool) (*Stream, error) {
	if d.state() == nil {
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
	defer d.s.end()
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if s := d.s.copyStreams[i].Load(); s != nil {
		return s, nil
	}
	if d.s.Calls.Closed() { // Close has already collected the streams
		return nil, d.s.closedError("copy stream")
	}
	s, err := d.s.ownStream()
	if err == nil {
		d.s.copyStreams[i].Store(s)
	}
	return s, err
}

// closeStreams closes the streams that belong to the device itself. The device is closed, so that no more are made.
func (s *deviceState) closeStreams() {
	s.mu.Lock()
	list := slices.Clone(s.transfers.all)
	for i := range s.copyStreams {
		if t := s.copyStreams[i].Load(); t != nil {
			list = append(list, t)
		}
	}
	s.mu.Unlock()
	for _, t := range list {
		_ = t.Close()
	}
}

// ownStream makes a stream for the library itself, on no handle's list; s.mu is held.
func (s *deviceState) ownStream() (*Stream, error) {
	drv, err := s.Drv.NewStream(driver.StreamOptions{})
	if err != nil {
		return nil, s.Check(err)
	}
	st := makeStream(s, drv)
	s.AdmitOwn(&st.Object, st)
	return &Stream{s: st, dev: s.common}, nil
}

// Same reports whether d and other are handles on the same device.
func (d *Device) Same(other *Device) bool {
	s := d.state()
	return s != nil && s == other.state()
}

// value returns what is stored in the device under key; if there is nothing, it stores and returns the result of init. All handles of the
// device share these values. Libraries keep their state for a device there, so that it lives as long as the device. key is of the
// library's own type, as for context.Context. With a nil or zero Device nothing is stored.
func (d *Device) value(key any, init func() any) any {
	if d.state() == nil {
		return init()
	}
	if v, ok := d.s.values.Load(key); ok {
		return v
	}
	v, _ := d.s.values.LoadOrStore(key, init())
	return v
}

// Reclaim waits until all closed objects have been given back to the driver, or until ctx ends. An object is
// given back when the work that uses it has finished. Reclaim also frees idle memory that is kept for [CopyPeer].
func (d *Device) Reclaim(ctx context.Context) error {
	const op = "reclaim"
	if err := d.begin(op); err != nil {
		return err
	}
	defer d.s.end()
	if ctx.Err() != nil {
		return wait.Interrupted(op, ctx)
	}
	d.s.closeIdleCrossings()
	d.s.trim()
	d.s.TrimEvents()
	d.s.Sweep()
	d.s.Reaper.Sweep()
	if d.s.Reaper.Wait(ctx) != nil {
		return wait.Interrupted(op, ctx)
	}
	return nil
}
