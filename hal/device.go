package hal

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

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
	forget func()  // takes the device off the list of open devices, so that the next Open opens it anew
	common *Device // the device's own handle, which a program cannot close

	mu          sync.Mutex
	copyStreams [2]atomic.Pointer[Stream] // in, out
	transfers   transfers
	kept        []keeper // for copies to and from this device
	values      sync.Map

	closeWaits atomic.Bool // closing the vendor's device, or freeing its memory, may block on a gate
}

// keeper keeps memory for later work of two devices: a crossing.
type keeper interface {
	freeIdle() bool // frees what no work uses, and reports whether there was any
	drop()          // frees all memory, once work under way has finished; a device is closed
}

func newDevice(b driver.Backend, drv driver.Device, forget func(*deviceState)) *Device {
	s := &deviceState{}
	s.forget = func() { forget(s) }
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

// common is layer.Common.
func (d *Device) common() *Device {
	if d == nil || d.s == nil {
		return nil
	}
	return d.s.common
}

// lost is layer.Lost.
func (d *Device) lost() error { return d.s.Lost() }

// noDevice is the error of a call on a nil or zero Device.
func noDevice(op string) error { return Errorf(op, ErrInvalidArgument, "nil or zero device") }

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

// String returns the device's name and model: "host:0 (AMD EPYC)".
func (d *Device) String() string {
	s := d.state()
	if s == nil {
		return "no device"
	}
	return s.Info.Name() + " (" + s.Info.Model + ")"
}

func (s *deviceState) on(x life.Thing) string { return x.Describe() + " on " + s.Info.Name() }

// Caps returns the device's capabilities.
func (d *Device) Caps() Caps {
	if d == nil || d.s == nil {
		return 0
	}
	return d.s.Info.Caps
}

// MemInfo returns the free and total memory of the device in bytes. The error is of
// kind ErrUnsupported if the driver does not report it. Other processes change the
// figures at any time; treat them as a hint. Memory that the driver caches for [Stream.AllocAsync] does not count as free.
func (d *Device) MemInfo() (free, total uint64, err error) {
	const op = "memory information"
	if err := d.begin(op); err != nil {
		return 0, 0, err
	}
	defer d.end()
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

// Same reports whether d and other are handles on the same device.
func (d *Device) Same(other *Device) bool {
	return d != nil && other != nil && d.s != nil && d.s == other.s
}

// Handles returns the vendor's handles of the device, for the program's own calls of the vendor's library. They are zero on the host, and
// once the device is closed.
func (d *Device) Handles() driver.Handles {
	if d.state() == nil || d.begin("handles") != nil {
		return driver.Handles{}
	}
	defer d.end()
	if n, ok := d.s.Drv.(driver.Native); ok {
		return n.Handles()
	}
	return driver.Handles{}
}

// begin begins a call on the device through the handle; end ends it.
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

// end ends a call, until which d is reachable, so that the collector does not close it.
func (d *Device) end() {
	d.s.end()
	runtime.KeepAlive(d)
}

// end ends a call. Device.Close waits for calls under way and then cleans up. The call itself cleans up nothing, so it returns as soon as
// its context ends.
func (s *deviceState) end() { s.Calls.Leave() }

func (s *deviceState) closedError(op string) error {
	return s.Failure(op, ErrClosed, "the device is closed")
}

// Reclaim waits until all closed objects have been given back to the driver, or until ctx ends. An object is
// given back when the work that uses it has finished. Reclaim also frees idle memory that is kept for [CopyPeer], and then, unless a gate
// is shut, memory that the driver caches for [Stream.AllocAsync].
func (d *Device) Reclaim(ctx context.Context) error {
	const op = "reclaim"
	if err := d.begin(op); err != nil {
		return err
	}
	defer d.end()
	if err := wait.Ended(op, ctx); err != nil {
		return err
	}
	d.s.freeKept()
	d.s.TrimEvents()
	d.s.Sweep()
	d.s.Reaper.Sweep()
	err := d.s.Reaper.Wait(ctx)
	if err == nil {
		d.s.trim() // of what has been freed by now, too
		err = d.s.Reaper.Wait(ctx)
	}
	if err != nil {
		return wait.Interrupted(op, ctx)
	}
	return nil
}

// collect frees closed objects that are no longer in use, and idle memory that is kept. It reports whether it has freed such memory, or any
// object has been freed since Reaper.Count was equal to since.
func (s *deviceState) collect(since uint64) bool {
	idle := s.freeKept()
	s.Sweep()
	s.trim()
	return s.Reaper.Collect(since) || idle
}

// freeKept frees the memory that is kept for later copies and that no work uses, and reports whether there was any.
func (s *deviceState) freeKept() (found bool) {
	for _, k := range s.allKept() {
		found = k.freeIdle() || found
	}
	return found
}

func (s *deviceState) allKept() []keeper {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept)
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

// Close closes the handle. It fails with ErrBusy, and names the objects, while memory, streams, events, modules or gates made
// through this handle are open. Objects made through other handles do not matter.
//
// Closing the last handle closes the device. That fails with ErrBusy in two more cases:
//
//   - An object other than a [Module] is open that was made through the device's own handle. [Stream.Device] returns that handle for
//     the streams of [Device.CopyStream].
//   - On CUDA and HIP, a [Gate] holds a stream of any device of that driver. If one is made during Close, Close waits until it is opened.
//
// Closing the last handle waits for calls under way, for work on objects that are already closed, and for the work of events that other
// packages of this module hold. Closing any other handle does not wait.
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
		case s.closeWaits.Load() && s.Frees.HeldUp():
			return s.Failure("close", ErrBusy, "closing could block on a gate that is still shut")
		}
		return nil
	})
	if err != nil || !last {
		return err
	}
	s.forget()
	s.CloseDependents()
	for _, k := range s.allKept() {
		k.drop()
	}
	s.CallsEnd()
	s.Drain()
	ended := s.EndEvents()
	s.Free(s.closeWaits.Load(), func() { err = s.Drv.Close() })
	s.Reaper.Drain()
	return cmp.Or(err, ended)
}

// Leak describes an object that became unreachable without having been closed. The library gives it
// back nevertheless, once the work that uses it has finished.
type Leak struct {
	Object string // "device memory of 4096 bytes", "stream", ...
	Device string // "cuda:0"
}

var leakHandler atomic.Pointer[func(Leak)]

// SetLeakHandler sets the function that is called for each leak, and returns the previous one. The
// default, nil, logs a warning through log/slog. The handler runs on the runtime's cleanup
// goroutine and must not block.
func SetLeakHandler(fn func(Leak)) (previous func(Leak)) {
	var old *func(Leak)
	if fn == nil {
		old = leakHandler.Swap(nil)
	} else {
		old = leakHandler.Swap(&fn)
	}
	if old == nil {
		return nil
	}
	return *old
}

func (s *deviceState) reportLeak(object string) {
	reportLeak(Leak{Object: object, Device: s.Info.Name()})
}

// reportLeak reports the leak of another package's object to the leak handler. It does not give the object back.
func reportLeak(l Leak) {
	if fn := leakHandler.Load(); fn != nil {
		(*fn)(l)
		return
	}
	slog.Warn("halyard: never closed", "object", l.Object, "device", l.Device)
}
