package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

var errorChecks = []Check{
	{Name: "EveryVendorCodeMapped", Rule: "Every status that the vendor defines has a name and maps to one kind of error.", run: everyVendorCodeMapped},
	{Name: "IsAndAs", Rule: "An error matches exactly one kind, and errors.As finds the operation, the backend and the device.", run: isAndAs},
	{Name: "VendorCodePreserved", Rule: "A vendor's error keeps the call, the name and the code.", run: vendorCodePreserved},
	{Name: "EveryMethodTells", Rule: "Every method whose driver call fails says so, with the vendor's call, and works again afterwards.", takesPeer: true, run: everyMethodTells},
	{Name: "FailureUnderWayIsTold", Rule: "Whatever work fails when it runs, every way to ask for its end tells of the failure: those of the stream once, those of an event each time.", run: failureIsTold},
	{Name: "ErrorsNotSticky", Rule: "After a failed call the next valid call succeeds.", run: errorsNotSticky},
	{Name: "DeviceLostIsSticky", Rule: "Once a device is lost every use of the handle says so, until it is closed.", run: deviceLostIsSticky},
	{Name: "LostAtEveryCall", Rule: "Whichever driver call finds the device lost, from then on every use of it says so.", takesPeer: true, run: lostAtEveryCall},
	{Name: "DoubleCloseNil", Rule: "A second Close does nothing and returns nil.", run: doubleClose},
	{Name: "EveryMethodAfterClose", Rule: "Every method of a closed object is refused as closed.", run: everyMethodAfterClose},
	{Name: "NilEventRejected", Rule: "A nil event is an invalid argument.", run: nilEvent},
	{Name: "ParentBusyNamesChildren", Rule: "Closing a device with open objects is refused as busy, and the error names them.", run: parentBusy},
	{Name: "BaselineMemoryRestored", Rule: "When everything is closed the device has as much free memory as before.", run: baselineRestored},
	{Name: "UnclosedReported", Rule: "An object that becomes unreachable without having been closed is reported and given back.", run: unclosedReported},
}

func everyVendorCodeMapped(t *trial) {
	if t.p.VendorCodes == nil {
		t.Skipf("the backend lists no vendor codes: Harness.VendorCodes is nil")
	}
	codes := t.p.VendorCodes()
	t.want(len(codes) > 0, "the list of vendor codes is empty")
	seen := map[int64]string{}
	specific := 0
	for _, e := range codes {
		c := e.Vendor
		if c.Name == "" {
			t.Errorf("code %d has no name", c.Code)
		}
		if other, twice := seen[c.Code]; twice {
			t.Errorf("code %d is %s and %s", c.Code, other, c.Name)
		}
		seen[c.Code] = c.Name
		known := 0
		for _, k := range driver.Kinds() {
			if e.Kind == k {
				known++
			}
		}
		if known != 1 {
			t.Errorf("%s (%d) maps to %v, which is no kind of error", c.Name, c.Code, e.Kind)
		}
		if e.Kind != hal.ErrDriver {
			specific++
		}
		if memory := strings.Contains(c.Name, "MEMORY") && strings.Contains(c.Name, "OUT_OF"); memory != (e.Kind == hal.ErrOutOfMemory) && memory {
			t.Errorf("%s (%d) maps to %v", c.Name, c.Code, e.Kind)
		}
	}
	t.want(specific > 0, "every code maps to %v", hal.ErrDriver)
}

// badCall is a call that is refused.
type badCall struct {
	kind error
	what string
	call func() error
}

// badCalls returns at least one call for each kind of error that every device can give.
func (t *trial) badCalls() []badCall {
	s := t.stream(t.dev)
	m := t.filled(t.dev, t.random(64))
	gone := t.memory(t.dev, hal.KindDevice, 64)
	t.must(gone.Close(), "close")
	foreign := t.filled(t.separate(), t.random(64))
	ended, cancel := context.WithCancel(t.ctx)
	cancel()
	alloc := func(size, align uint64) error { _, err := t.dev.Alloc(hal.KindDevice, size, align); return err }
	return []badCall{
		{hal.ErrInvalidArgument, "no kind of memory", func() error { _, err := t.dev.Alloc(0, 64, 0); return err }},
		{hal.ErrInvalidArgument, "odd alignment", func() error { return alloc(64, 3) }},
		{hal.ErrOutOfMemory, "allocate too much", func() error { return alloc(math.MaxUint64, 0) }},
		{hal.ErrMisaligned, "misaligned fill", func() error { return s.Fill(m.Region(1, 8), hal.Pattern64(1)) }},
		{hal.ErrOutOfRange, "fill past the end", func() error { return s.Fill(m.Region(60, 8), hal.Zero) }},
		{hal.ErrOverlap, "overlapping copy", func() error { return s.Copy(m.Region(0, 8), m.Region(4, 8)) }},
		{hal.ErrClosed, "fill closed memory", func() error { return s.Fill(gone.All(), hal.Zero) }},
		{hal.ErrWrongDevice, "fill foreign memory", func() error { return s.Fill(foreign.All(), hal.Zero) }},
		{hal.ErrNotReady, "sync with a context that has ended", func() error { return s.Sync(ended) }},
		{hal.ErrBusy, "close with open objects", func() error { return t.dev.Close() }},
	}
}

func isAndAs(t *trial) {
	for _, c := range t.badCalls() {
		err := c.call()
		t.wantKind(err, c.kind, "%s", c.what)
		for _, wrapped := range []error{err, fmt.Errorf("wrapped: %w", err)} {
			var kinds []error
			for _, k := range driver.Kinds() {
				if errors.Is(wrapped, k) {
					kinds = append(kinds, k)
				}
			}
			if len(kinds) != 1 {
				t.Errorf("%s: %q matches %v", c.what, wrapped, kinds)
			}
			var e *hal.Error
			if !errors.As(wrapped, &e) {
				continue
			}
			i := t.dev.Info()
			switch {
			case e.Op == "":
				t.Errorf("%s: %q names no operation", c.what, err)
			case e.Backend == "" && e.Device == -1: // the error is of no device
			case e.Backend != i.Backend || e.Device != i.Ordinal:
				t.Errorf("%s: %q is of %s:%d, not of %s", c.what, err, e.Backend, e.Device, t.dev.Name())
			case !strings.Contains(err.Error(), t.dev.Name()):
				t.Errorf("%s: %q does not name %s", c.what, err, t.dev.Name())
			}
		}
	}
}

// faults is the harness's control over driver calls, reset at the end of the check.
func (t *trial) faults() FaultControl {
	if t.p.Faults == nil {
		t.Skipf("driver calls cannot be made to fail: Harness.Faults is nil")
	}
	f := t.p.Faults()
	t.Cleanup(f.Reset)
	f.Reset()
	return f
}

// breakdown returns the harness's FailAsync, by which work fails after it was enqueued. The end of the check switches it off.
func (t *trial) breakdown() func(on bool) {
	if t.p.FailAsync == nil {
		t.Skipf("work cannot be made to fail after it was enqueued: Harness.FailAsync is nil")
	}
	t.Cleanup(func() { t.p.FailAsync(false) })
	return t.p.FailAsync
}

// made returns err. If there is none it closes x, which should not have been made.
func made(x interface{ Close() error }, err error) error {
	if err == nil {
		err = x.Close()
	}
	return err
}

// recordMany records n events that are open at the same time. If n exceeds the number of events that a device keeps for reuse, at least
// one needs a driver call.
func recordMany(s *hal.Stream, n int) (err error) {
	var open []io.Closer
	for len(open) < n && err == nil {
		var e *hal.Event
		if e, err = s.Record(); err == nil {
			open = append(open, e)
		}
	}
	return errors.Join(err, hal.CloseAll(open...))
}

func vendorCodePreserved(t *trial) {
	f := t.faults()
	s := t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, 64)
	calls := map[string]func() error{
		"alloc":      func() error { return made(t.dev.Alloc(hal.KindDevice, 64, 0)) },
		"new stream": func() error { return made(t.dev.NewStream()) },
		"record":     func() error { return recordMany(s, 300) },
		"copy":       func() error { return s.Copy(region(m, 0, 8), region(m, 8, 8)) },
		"copy in":    func() error { return s.CopyIn(region(m, 0, 8), make([]byte, 8)) },
		"copy out":   func() error { return s.CopyOut(make([]byte, 8), region(m, 0, 8)) },
		"fill":       func() error { return s.Fill(m.All(), hal.Zero) },
		"sync":       func() error { return s.Sync(context.Background()) },
	}
	if t.dev.Caps().Has(hal.CapHostCallback) {
		calls["call"] = func() error { return s.OnDone(func() {}) }
	}
	for what, call := range calls {
		before := t.random(64)
		t.put(m, 0, before)
		f.FailCall(1)
		err := call()
		f.Reset()
		t.vendorKept(err, what)
		t.sync(s)
		t.same(t.all(m), before, "%s: a call that fails has no effect", what)
		t.must(call(), "%s, once more", what)
		t.sync(s)
	}
	// What is closed is closed, even if the vendor reports a failure.
	for what, open := range map[string]func() func() error{
		"close memory": func() func() error {
			m, err := t.dev.Alloc(hal.KindDevice, 64, 0)
			t.must(err, "allocate")
			return m.Close
		},
		"close device": func() func() error { return t.separate().Close },
	} {
		closing := open()
		f.Reset()
		t.must(closing(), "%s", what)
		calls, told := f.CallCount(), 0
		for n := uint64(1); n <= calls; n++ {
			closing := open()
			f.FailCall(n)
			err := closing()
			f.Reset()
			if err != nil {
				t.vendorKept(err, what)
				told++
			}
			t.must(closing(), "%s, once more", what)
		}
		t.want(calls == 0 || told > 0, "%s makes %d driver calls, and whichever fails, there is no error", what, calls)
	}
}

// vendorKept fails unless err has everything that is known about a vendor's failure on the device under test.
func (t *trial) vendorKept(err error, what string) {
	i := t.dev.Info()
	var e *hal.Error
	switch {
	case err == nil:
		t.Errorf("%s: no error although a driver call failed", what)
		return
	case !errors.As(err, &e):
		t.Errorf("%s: errors.As finds no *hal.Error in %q", what, err)
	case e.Vendor.API == "" || e.Vendor.Name == "" || e.Vendor.Code == 0:
		t.Errorf("%s: %q has lost the vendor's status, %+v", what, err, e.Vendor)
	case !strings.Contains(err.Error(), e.Vendor.Name):
		t.Errorf("%s: %q does not show the vendor's %s", what, err, e.Vendor.Name)
	case e.Op == "":
		t.Errorf("%s: %q names no operation", what, err)
	case e.Backend != i.Backend || e.Device != i.Ordinal:
		t.Errorf("%s: %q is of %s:%d, not of %s", what, err, e.Backend, e.Device, t.dev.Name())
	}
	kinds := 0
	for _, k := range driver.Kinds() {
		if errors.Is(err, k) {
			kinds++
		}
	}
	t.want(kinds == 1, "%s: %q matches %d kinds", what, err, kinds)
}

func failureIsTold(t *trial) {
	fail := t.breakdown()
	const n = 300_000
	m, o, h := t.memory(t.dev, hal.KindDevice, n), t.memory(t.dev, hal.KindDevice, n), t.memory(t.dev, hal.KindHost, n)
	b := t.hostBytes(n)
	forever := context.Background()
	until := func(q query) (err error) {
		t.eventually(func() (done bool) { done, err = q.Done(); return done || err != nil }, "the work ends")
		return err
	}
	works := map[string]func(s *hal.Stream) error{
		"a fill":                   func(s *hal.Stream) error { return s.Fill(m.All(), hal.Pattern8(1)) },
		"a copy in":                func(s *hal.Stream) error { return s.CopyIn(m.All(), b) },
		"a copy out":               func(s *hal.Stream) error { return s.CopyOut(b, m.All()) },
		"a copy within the device": func(s *hal.Stream) error { return s.Copy(o.All(), m.All()) },
		"a copy to host memory":    func(s *hal.Stream) error { return s.Copy(h.All(), m.All()) },
		"a copy from host memory":  func(s *hal.Stream) error { return s.Copy(m.All(), h.All()) },
		"a copy between other works": func(s *hal.Stream) error {
			return errors.Join(s.Fill(o.All(), hal.Zero), s.Copy(o.All(), m.All()), s.Fill(m.All(), hal.Zero))
		},
	}
	asks := map[string]func(s *hal.Stream, e *hal.Event) error{
		"Stream.Sync with a context that can end":    func(s *hal.Stream, _ *hal.Event) error { return s.Sync(t.ctx) },
		"Stream.Sync with a context that never ends": func(s *hal.Stream, _ *hal.Event) error { return s.Sync(forever) },
		"Stream.Done":                               func(s *hal.Stream, _ *hal.Event) error { return until(s) },
		"Event.Sync with a context that can end":    func(_ *hal.Stream, e *hal.Event) error { return e.Sync(t.ctx) },
		"Event.Sync with a context that never ends": func(_ *hal.Stream, e *hal.Event) error { return e.Sync(forever) },
		"Event.Done":                                func(_ *hal.Stream, e *hal.Event) error { return until(e) },
		"Event.OnDone": func(_ *hal.Stream, e *hal.Event) error {
			told := make(chan error, 1)
			t.must(e.OnDone(func(err error) { told <- err }), "OnDone")
			return arrives(t, told, "the call of OnDone")
		},
	}
	if t.dev.Caps().Has(hal.CapHostCallback) {
		// A callback gets no error, but it runs.
		asks["Stream.Sync after Stream.OnDone"] = func(s *hal.Stream, _ *hal.Event) error {
			called := make(chan bool, 1)
			t.must(s.OnDone(func() { called <- true }), "OnDone")
			arrives(t, called, "the call of OnDone")
			return s.Sync(forever)
		}
	}
	for what, work := range works {
		for how, ask := range asks {
			s := t.stream(t.dev)
			fail(true)
			t.must(work(s), "enqueue %s", what)
			e := t.recorded(s)
			err := ask(s, e)
			fail(false)
			var he *hal.Error
			if !errors.As(err, &he) || he.Vendor.API == "" {
				t.Errorf("%s has failed, and %s gives %v", what, how, err)
			}
			for range 2 {
				if err := e.Sync(t.ctx); err == nil {
					t.Errorf("%s has failed, and after %s the event gives no error", what, how)
				}
			}
			if strings.HasPrefix(how, "Stream.") {
				t.must(s.Sync(t.ctx), "%s has failed, and Sync after %s", what, how)
				t.must(until(s), "%s has failed, and Done after %s", what, how)
				later := t.recorded(s)
				t.must(later.Sync(t.ctx), "%s has failed, which %s has told, and a later event", what, how)
			} else {
				_ = s.Sync(t.ctx) // it may report the failure as well
			}
			t.must(s.Fill(o.All(), hal.Pattern8(7)), "fill afterwards")
			t.must(s.Sync(t.ctx), "sync afterwards")
			t.must(s.Close(), "close stream")
		}
		t.same(t.all(o), repeated(hal.Pattern8(7), n), "filled after failures")
	}
}

func errorsNotSticky(t *trial) {
	s := t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, 64)
	for _, c := range t.badCalls() {
		t.wantKind(c.call(), c.kind, "%s", c.what)
		b := t.random(64)
		t.must(s.CopyIn(m.All(), b), "copy in after %s", c.what)
		t.sync(s)
		t.idle(s, "after %s", c.what)
		t.same(t.all(m), b, "after %s", c.what)
		t.must(t.recorded(s).Sync(t.ctx), "sync with a new event after %s", c.what)
	}
}

func deviceLostIsSticky(t *trial) {
	f := t.faults()
	d := t.Open()
	m, s := t.memory(d, hal.KindDevice, 64), t.stream(d)
	e := t.recorded(s)
	f.LoseDevice(1)
	t.wantKind(s.Fill(m.All(), hal.Zero), hal.ErrDeviceLost, "the call that loses the device")
	f.Reset()
	for what, call := range map[string]func() error{
		"fill":       func() error { return s.Fill(m.All(), hal.Zero) },
		"copy in":    func() error { return s.CopyIn(m.All(), make([]byte, 64)) },
		"sync":       func() error { return s.Sync(t.ctx) },
		"query":      func() error { _, err := s.Done(); return err },
		"record":     func() error { return made(s.Record()) },
		"alloc":      func() error { return made(d.Alloc(hal.KindDevice, 64, 0)) },
		"new stream": func() error { return made(d.NewStream()) },
	} {
		t.wantKind(call(), hal.ErrDeviceLost, "%s on a lost device", what)
	}
	_ = e.Close()
	_ = s.Close()
	_ = m.Close()
	if err := d.Close(); errors.Is(err, hal.ErrBusy) {
		t.Errorf("a lost device does not close: %v", err)
	}
	t.filled(t.Open(), t.random(64))
}

func doubleClose(t *trial) {
	d := t.Open()
	m, s := t.memory(d, hal.KindDevice, 64), t.stream(d)
	e := t.recorded(s)
	t.must(e.Sync(t.ctx), "sync")
	for range 3 {
		t.must(e.Close(), "close event")
		t.must(s.Close(), "close stream")
		t.must(m.Close(), "close memory")
		t.want(d.Usage().Held == 0, "%d bytes held", d.Usage().Held)
	}
	for range 3 {
		t.must(d.Close(), "close device")
	}
}

func everyMethodAfterClose(t *trial) {
	d := t.Open()
	closedMemory, m := t.memory(d, hal.KindDevice, 64), t.memory(d, hal.KindDevice, 64)
	closedStream, s := t.stream(d), t.stream(d)
	closedEvent, e := t.recorded(s), t.recorded(s)
	b := make([]byte, 64)
	t.must(closedMemory.Close(), "close memory")
	t.must(closedStream.Close(), "close stream")
	t.must(closedEvent.Close(), "close event")
	closed := func(calls map[string]func() error) {
		for what, call := range calls {
			t.wantKind(call(), hal.ErrClosed, "%s", what)
		}
	}
	closed(map[string]func() error{
		"memory: host view":   func() error { _, err := closedMemory.Bytes(); return err },
		"memory: copy to":     func() error { return s.Copy(closedMemory.All(), m.All()) },
		"memory: copy from":   func() error { return s.Copy(m.All(), closedMemory.All()) },
		"memory: copy in":     func() error { return s.CopyIn(closedMemory.All(), b) },
		"memory: copy out":    func() error { return s.CopyOut(b, closedMemory.All()) },
		"memory: fill":        func() error { return s.Fill(closedMemory.All(), hal.Zero) },
		"memory: use":         func() error { return s.RecordUse(closedMemory) },
		"memory: prefetch":    func() error { return s.Prefetch(closedMemory.All(), true) },
		"memory: write":       func() error { return d.Write(t.ctx, closedMemory.All(), b) },
		"memory: read":        func() error { return d.Read(t.ctx, b, closedMemory.All()) },
		"memory: copy across": func() error { return hal.CopyPeer(s, closedMemory.All(), s, m.All()) },
	})
	t.want(closedMemory.Handle() == 0, "closed memory has a handle")
	t.want(closedMemory.HostPointer() == nil, "closed memory has a host pointer")
	closed(map[string]func() error{
		"stream: copy":        func() error { return closedStream.Copy(m.Region(0, 8), m.Region(8, 8)) },
		"stream: copy in":     func() error { return closedStream.CopyIn(m.All(), b) },
		"stream: copy out":    func() error { return closedStream.CopyOut(b, m.All()) },
		"stream: fill":        func() error { return closedStream.Fill(m.All(), hal.Zero) },
		"stream: record":      func() error { return made(closedStream.Record()) },
		"stream: wait":        func() error { return closedStream.WaitEvent(e) },
		"stream: use":         func() error { return closedStream.RecordUse(m) },
		"stream: query":       func() error { _, err := closedStream.Done(); return err },
		"stream: sync":        func() error { return closedStream.Sync(t.ctx) },
		"stream: gate":        func() error { _, err := closedStream.Gate(); return err },
		"stream: call":        func() error { return closedStream.OnDone(func() {}) },
		"stream: prefetch":    func() error { return closedStream.Prefetch(m.All(), true) },
		"stream: alloc":       func() error { _, err := closedStream.AllocAsync(64, 0); return err },
		"stream: copy across": func() error { return hal.CopyPeer(closedStream, m.All(), closedStream, m.All()) },
	})
	t.want(closedStream.Handle() == 0, "a closed stream has a handle")
	closed(map[string]func() error{
		"event: query":         func() error { _, err := closedEvent.Done(); return err },
		"event: sync":          func() error { return closedEvent.Sync(t.ctx) },
		"event: elapsed":       func() error { _, err := closedEvent.Elapsed(e); return err },
		"event: elapsed since": func() error { _, err := e.Elapsed(closedEvent); return err },
		"event: call":          func() error { return closedEvent.OnDone(func(error) {}) },
		"event: wait":          func() error { return s.WaitEvent(closedEvent) },
	})
	t.must(e.Close(), "close event")
	t.must(s.Close(), "close stream")
	t.must(m.Close(), "close memory")
	t.must(d.Close(), "close device")
	closed(map[string]func() error{
		"device: alloc":       func() error { _, err := d.Alloc(hal.KindDevice, 64, 0); return err },
		"device: register":    func() error { _, err := d.Register(b); return err },
		"device: new stream":  func() error { _, err := d.NewStream(); return err },
		"device: memory info": func() error { _, _, err := d.MemInfo(); return err },
		"device: copy stream": func() error { _, err := d.CopyStream(true); return err },
		"device: write":       func() error { return d.Write(t.ctx, m.All(), b) },
		"device: read":        func() error { return d.Read(t.ctx, b, m.All()) },
	})
	t.want(d.Info().Model == t.dev.Info().Model, "a closed device does not describe itself any more")
}

func nilEvent(t *trial) {
	s := t.stream(t.dev)
	var none *hal.Event
	for what, call := range map[string]func() error{
		"wait":  func() error { return s.WaitEvent(nil) },
		"query": func() error { _, err := none.Done(); return err },
		"sync":  func() error { return none.Sync(t.ctx) },
		"call":  func() error { return none.OnDone(func(error) {}) },
		"close": func() error { return none.Close() },
	} {
		t.refuses(hal.ErrInvalidArgument, what, call)
	}
	t.idle(s, "the stream")
}

func parentBusy(t *trial) {
	d := t.Open()
	busy := func(name string, close func() error) {
		err := d.Close()
		t.wantKind(err, hal.ErrBusy, "close with an open %s", name)
		if err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name the open %s", err, name)
		}
		still, err := d.NewStream()
		t.must(err, "new stream on a device that did not close")
		t.must(still.Close(), "close stream")
		t.must(close(), "close the %s", name)
	}
	busy("device memory of 12345 bytes", t.memory(d, hal.KindDevice, 12345).Close)
	busy("stream", t.stream(d).Close)
	s := t.stream(d)
	e := t.recorded(s)
	t.must(s.Close(), "close stream")
	busy("event", e.Close)
	t.must(d.Close(), "close, with nothing open")
}

func baselineRestored(t *trial) {
	d := t.dev
	work := func() {
		n := t.Size(4<<20, 1<<20)
		s, err := d.NewStream()
		t.must(err, "new stream")
		for i := range 64 {
			k := hal.KindDevice
			if i%8 == 7 {
				k = hal.KindHost
			}
			m, err := d.Alloc(k, uint64(min(n, int(d.Info().TotalMemory/80))), 0)
			t.must(err, "allocate")
			t.must(s.Fill(m.Region(0, 4096), hal.Zero), "fill")
			e, err := s.Record()
			t.must(err, "record")
			t.must(m.Close(), "close memory")
			t.must(e.Close(), "close event")
		}
		t.sync(s)
		t.must(s.Close(), "close stream")
		t.eventually(func() bool { u := d.Usage(); return u.Held == 0 && u.Pending == 0 }, "everything is given back")
	}
	work()
	if !d.Caps().Has(hal.CapMemInfo) || d.Info().SharesHostMemory {
		return // the host's free memory changes all the time
	}
	// Other programs may use the device as well, so the check fails only if every one of several rounds loses memory.
	const rounds = 3
	var lost [rounds]int64
	for i := range lost {
		before, _, err := d.MemInfo()
		t.must(err, "memory information")
		work()
		after, _, err := d.MemInfo()
		t.must(err, "memory information")
		if lost[i] = int64(before) - int64(after); lost[i] <= 8<<20 {
			return
		}
	}
	t.Errorf("rounds of allocating and closing took %v bytes of the device's free memory", lost)
}

func unclosedReported(t *trial) {
	leaks := make(chan hal.Leak, 64)
	previous := hal.SetLeakHandler(func(l hal.Leak) {
		select {
		case leaks <- l:
		default:
		}
	})
	t.Cleanup(func() { hal.SetLeakHandler(previous) })
	d := t.Open()
	const size = 54321
	abandon := func() {
		m, err := d.Alloc(hal.KindDevice, size, 0)
		t.must(err, "allocate")
		s, err := d.NewStream()
		t.must(err, "new stream")
		t.must(s.Fill(m.All(), hal.Zero), "fill")
		_, err = s.Record()
		t.must(err, "record")
	}
	abandon()
	missing := map[string]bool{fmt.Sprintf("device memory of %d bytes", size): true, "stream": true, "event": true}
	t.eventually(func() bool {
		runtime.GC()
		for {
			select {
			case l := <-leaks:
				if l.Device == d.Name() {
					delete(missing, l.Object)
				}
				continue
			default:
			}
			return len(missing) == 0
		}
	}, "reports of %v", missing)
	t.eventually(func() bool { u := d.Usage(); return u.Held == 0 && u.Pending == 0 }, "what was abandoned is given back")
}
