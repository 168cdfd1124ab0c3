package gputest

import (
	"context"
	"runtime"
	"testing"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/gpu"
	"github.com/go-halyard/halyard/internal/simgpu"
)

func callsDoNotAllocate(h *Harness, t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes pools forget")
	}
	h.reset(t, 0)
	d := h.open(t, 0)
	s := newStream(t, d)
	m, locked := alloc(t, d, driver.KindDevice, 4096), alloc(t, d, driver.KindHost, 4096)
	ev := newEvent(t, d, false)
	dst, src := whole(m), whole(locked)
	for name, call := range map[string]func() error{
		"copy":     func() error { return s.Copy(dst, src) },
		"copy in":  func() error { return s.CopyIn(dst, locked.HostPointer()) },
		"copy out": func() error { return s.CopyOut(locked.HostPointer(), dst) },
		"fill":     func() error { return s.Fill(dst, driver.Pattern{Bits: 5, Width: 4}) },
		"record":   func() error { return s.Record(ev) },
		"wait":     func() error { return s.Wait(ev) },
		"query":    func() error { _, err := s.Query(); return err },
		"sync":     s.Sync,
	} {
		if n := testing.AllocsPerRun(100, func() { ok(t, call()) }); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	ok(t, s.Sync())
}

// Raw are the vendor's own calls through the binding of the backend, on a thread whose context
// has been made current once.
type Raw struct {
	Current func() // makes the context of device 0 current

	CopyIn  func(dst, host, n, stream uintptr)
	CopyOut func(host, src, n, stream uintptr)
	Fill    func(dst uintptr, v uint8, n, stream uintptr)
	Record  func(event, stream uintptr)
	Query   func(stream uintptr)
	Sync    func(stream uintptr)
	Alloc   func(n uintptr) uintptr
	Free    func(addr uintptr)
}

// Overhead measures calls of package hal ("hal") and of the driver interface ("driver") and, beside
// them, the vendor's call that they make: on a thread whose context is current already ("raw"), and
// with the context made current each time, as a goroutine that may have changed threads must
// ("raw-bound"). The driver's work is made free.
func Overhead(b *testing.B, h *Harness, raw Raw) {
	h.start(b)
	ok(b, h.sim.Set(simgpu.Free, 1))
	b.Cleanup(func() { ok(b, h.sim.Set(simgpu.Free, 0)) })
	h.calm(b, 0)

	d := h.open(b, 0)
	s := newStream(b, d)
	m, locked := alloc(b, d, driver.KindDevice, 4096), alloc(b, d, driver.KindHost, 4096)
	ev := newEvent(b, d, false)
	dst, p, event := whole(m), locked.HostPointer(), gpu.EventHandle(ev)

	dev, err := hal.OpenWith(context.Background(), h.backend, 0)
	ok(b, err)
	b.Cleanup(func() { ok(b, dev.Close()) })
	hs, err := dev.NewStream(hal.StreamOptions{})
	ok(b, err)
	b.Cleanup(func() { ok(b, hs.Close()) })
	hm, err := dev.Alloc(hal.KindDevice, 4096, 0)
	ok(b, err)
	b.Cleanup(func() { ok(b, hm.Close()) })
	hl, err := dev.Alloc(hal.KindHost, 4096, 0)
	ok(b, err)
	b.Cleanup(func() { ok(b, hl.Close()) })
	he, err := dev.NewEvent(hal.EventOptions{})
	ok(b, err)
	b.Cleanup(func() { ok(b, he.Close()) })
	all := hm.All()
	bytes, err := hl.Bytes()
	ok(b, err)

	bench := func(name string, each, once bool, fn func()) {
		b.Run(name, func(b *testing.B) {
			if once {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				raw.Current()
			}
			b.ReportAllocs()
			for b.Loop() {
				if each {
					runtime.LockOSThread()
					raw.Current()
				}
				fn()
				if each {
					runtime.UnlockOSThread()
				}
			}
		})
		ok(b, s.Sync())
		ok(b, hs.Sync(context.Background()))
	}
	for _, c := range []struct {
		name             string
		raw, driver, hal func()
	}{
		{"copy-in",
			func() { raw.CopyIn(m.Handle(), uintptr(p), 4096, s.Handle()) },
			func() { _ = s.CopyIn(dst, p) },
			func() { _ = hs.CopyIn(all, bytes) }},
		{"fill",
			func() { raw.Fill(m.Handle(), 5, 4096, s.Handle()) },
			func() { _ = s.Fill(dst, driver.Pattern{Bits: 5, Width: 1}) },
			func() { _ = hs.Fill(all, hal.Pattern8(5)) }},
		{"record",
			func() { raw.Record(event, s.Handle()) },
			func() { _ = s.Record(ev) },
			func() { _ = hs.Record(he) }},
		{"query",
			func() { raw.Query(s.Handle()) },
			func() { _, _ = s.Query() },
			func() { _, _ = hs.Query() }},
	} {
		bench(c.name+"/raw", false, true, c.raw)
		bench(c.name+"/raw-bound", true, false, c.raw)
		bench(c.name+"/driver", false, false, c.driver)
		bench(c.name+"/hal", false, false, c.hal)
	}
}
