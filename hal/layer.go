package hal

import (
	"context"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/wait"
	"github.com/go-halyard/halyard/internal/layer/slot"
)

// These are the functions of this package that package internal/layer calls; they are documented there.
func init() {
	slot.Hal = struct {
		RecordedOn       func(*Event, *Stream) bool
		DoneAlone        func(*Event) (bool, error)
		CanDefer         func(*Stream, *Event) bool
		WithoutWait      func(Grid) Grid
		Launched         func(*Stream, *Kernel) error
		Dimensions       func(Grid) int
		Rename           func(k *Kernel, name string, params []string)
		KeepsFailures    func(*Stream) bool
		Idle             func(*Stream) (bool, error)
		Drain            func(*Stream, context.Context) error
		Err              func(*Stream) error
		Common           func(*Device) *Device
		Value            func(d *Device, key any, init func() any) any
		SharesHostMemory func(*Device) bool
		KeepUntil        func(*Memory, *Event) error
		CloseThen        func(m *Memory, given func()) error
		ReportLeak       func(Leak)
		Interrupted      func(op string, ctx context.Context) error
	}{
		(*Event).recordedOn, (*Event).doneAlone, (*Stream).canDefer, Grid.withoutWait, (*Stream).launched, Grid.dimensions,
		(*Kernel).rename, (*Stream).keepsFailures, (*Stream).idle, (*Stream).drain, (*Stream).err,
		(*Device).common, (*Device).value, (*Device).sharesHostMemory, (*Memory).keepUntil, (*Memory).closeThen,
		reportLeak, wait.Interrupted,
	}
}

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

// sharesHostMemory reports whether the device uses host memory in place, without copies. It does not if the host has to map the memory.
func (d *Device) sharesHostMemory() bool {
	s := d.state()
	return s != nil && s.Info.SharesHostMemory && !s.Info.Caps.Has(CapMustMap)
}

// keepsFailures reports whether the stream's events report the failure of any earlier work, unless the program has been told of it.
func (s *Stream) keepsFailures() bool {
	st := s.state()
	return st != nil && st.dev.KeepsFailures
}

// canDefer reports whether s.WaitEvent(e) returns at once, without blocking the caller until the event's work is done.
func (s *Stream) canDefer(e *Event) bool {
	st := s.state()
	if st == nil {
		return false
	}
	es, err := e.begin("wait")
	if err != nil {
		return false
	}
	defer e.end()
	return es.Stream() == &st.Stream || es.Known() || st.Gates() || st.dev.Links(&es.dev.Device, driver.PeerWait)
}

// recordedOn reports whether the event was recorded on s, so that later work of s need not wait for it.
func (e *Event) recordedOn(s *Stream) bool {
	es, err := e.begin("query")
	if err != nil {
		return false
	}
	st := s.state()
	on := st != nil && es.Stream() == &st.Stream
	e.end()
	return on
}

// doneAlone is Done for a shared reference that is the only one, and that no other goroutine uses meanwhile.
func (e *Event) doneAlone() (bool, error) { return e.s.DoneAlone() }

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
		err := st.Drain(ctx, op)
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
