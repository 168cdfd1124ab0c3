package cudahiptest

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/testing/pintest"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
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
	pageable := make([]byte, 2<<20)
	large := whole(alloc(t, d, driver.KindDevice, uint64(len(pageable))))
	for name, call := range map[string]func() error{
		"copy":     func() error { return s.Copy(dst, src) },
		"copy in":  func() error { return s.CopyIn(dst, locked.HostPointer()) },
		"copy out": func() error { return s.CopyOut(locked.HostPointer(), dst) },
		"copy in at once": func() error {
			if err := s.CopyIn(large, at(pageable)); err != nil {
				return err
			}
			return s.Sync()
		},
		"fill":   func() error { return s.Fill(dst, driver.Pattern{Bits: 5, Width: 4}) },
		"record": func() error { return s.Record(ev) },
		"wait":   func() error { return s.Wait(ev) },
		"query":  func() error { _, err := s.Query(); return err },
		"sync":   s.Sync,
	} {
		if n := testing.AllocsPerRun(100, func() { ok(t, call()) }); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	ok(t, s.Sync())
}

// Raw holds the vendor's own calls, through the binding of the backend. They do not make a context
// current: Current does that once for the thread.
type Raw struct {
	Current func() // makes the context of device 0 current

	CopyIn  func(dst, host, n, stream uintptr)
	CopyOut func(host, src, n, stream uintptr)
	Fill    func(dst uintptr, v uint8, n, stream uintptr)
	Record  func(event, stream uintptr)
	Wait    func(stream, event uintptr)
	Query   func(stream uintptr)
	Sync    func(stream uintptr)
	Alloc   func(n uintptr) uintptr
	Free    func(addr uintptr)
	Launch  func(kernel, params, stream uintptr) // one block of one thread

	// Bindings are the ways in which the same library can be bound in this program.
	Bindings []Binding
}

// Binding is one way to call a library.
type Binding struct {
	Name string // "loaded" or "linked"
	API  cudahip.API
}

// Overhead measures calls on the simulated driver. With the setting Free, the work itself costs
// nothing.
func Overhead(b *testing.B, h *Harness, raw Raw) {
	h.start(b)
	ok(b, h.sim.Set(simgpu.Free, 1))
	b.Cleanup(func() { ok(b, h.sim.Set(simgpu.Free, 0)) })
	h.calm(b, 0)
	overhead(b, h.backend, raw)
}

// overhead compares the time of a call of package hal with that of the vendor's call that it makes.
// The ways to make the call take turns, so that other load of the machine slows all of them alike.
// Each metric is a median:
//
//	raw-ns          the vendor's call, on a thread whose context is current already
//	raw-bound-ns    the same, but each call first makes the context current, as a goroutine
//	                must that may have changed threads
//	loaded-ns       cudahip.API, which makes the context current and makes the call in one
//	linked-ns       crossing from Go to C; one metric for each binding that the program has
//	driver-ns       package driver
//	hal-ns, ns/op   package hal
//	hal-over-raw-ns hal minus raw
//	hal/raw         their ratio
//	hal-allocs      allocations of one call of package hal
func overhead(b *testing.B, backend driver.Backend, raw Raw) {
	ctx := context.Background()
	d, err := backend.Open(ctx, 0)
	ok(b, err)
	b.Cleanup(func() { ok(b, d.Close()) })
	s, s2 := newStream(b, d), newStream(b, d)
	m, locked := alloc(b, d, driver.KindDevice, 4096), alloc(b, d, driver.KindHost, 4096)
	ev, ev2 := newEvent(b, d, false), newEvent(b, d, false)
	ok(b, s2.Record(ev2))
	const n = 4
	dst, p := region(m, 0, n), locked.HostPointer()
	addr, host, stream := m.Handle(), uintptr(p), s.Handle()
	event, event2 := cudahip.EventHandle(ev), cudahip.EventHandle(ev2)

	dev, err := hal.OpenWith(ctx, backend, 0)
	ok(b, err)
	b.Cleanup(func() { ok(b, dev.Close()) })
	newHalStream := func() *hal.Stream {
		s, err := dev.NewStream()
		ok(b, err)
		b.Cleanup(func() { ok(b, s.Close()) })
		return s
	}
	newHalMemory := func(k hal.Kind) *hal.Memory {
		m, err := dev.Alloc(k, 4096, 0)
		ok(b, err)
		b.Cleanup(func() { ok(b, m.Close()) })
		return m
	}
	hs, hs2 := newHalStream(), newHalStream()
	he2, err := hs2.Record()
	ok(b, err)
	b.Cleanup(func() { ok(b, he2.Close()) })
	hdst := newHalMemory(hal.KindDevice).Region(0, n)
	bytes, err := newHalMemory(hal.KindHost).Bytes()
	ok(b, err)
	bytes = bytes[:n]

	calls := []overheadCall{
		{"copy-in",
			func() { raw.CopyIn(addr, host, n, stream) },
			func(a cudahip.API, c cudahip.Context) { a.CopyIn(c, addr, host, n, stream) },
			func() { _ = s.CopyIn(dst, p) },
			func() { _ = hs.CopyIn(hdst, bytes) }},
		{"copy-out",
			func() { raw.CopyOut(host, addr, n, stream) },
			func(a cudahip.API, c cudahip.Context) { a.CopyOut(c, host, addr, n, stream) },
			func() { _ = s.CopyOut(p, dst) },
			func() { _ = hs.CopyOut(bytes, hdst) }},
		{"fill",
			func() { raw.Fill(addr, 5, n, stream) },
			func(a cudahip.API, c cudahip.Context) { a.Fill8(c, addr, 5, n, stream) },
			func() { _ = s.Fill(dst, driver.Pattern{Bits: 5, Width: 1}) },
			func() { _ = hs.Fill(hdst, hal.Pattern8(5)) }},
		{"record",
			func() { raw.Record(event, stream) },
			func(a cudahip.API, c cudahip.Context) { a.EventRecord(c, event, stream) },
			func() { _ = s.Record(ev) },
			func() {
				he, _ := hs.Record()
				_ = he.Close()
			}},
		{"wait",
			func() { raw.Wait(stream, event2) },
			func(a cudahip.API, c cudahip.Context) { a.StreamWait(c, stream, event2) },
			func() { _ = s.Wait(ev2) },
			func() { _ = hs.WaitEvent(he2) }},
		{"query",
			func() { raw.Query(stream) },
			func(a cudahip.API, c cudahip.Context) { a.StreamQuery(c, stream) },
			func() { _, _ = s.Query() },
			func() { _, _ = hs.Done() }},
		{"sync",
			func() { raw.Sync(stream) },
			func(a cudahip.API, c cudahip.Context) { a.StreamSync(c, stream) },
			func() { _ = s.Sync() },
			func() { _ = hs.Sync(ctx) }},
	}
	if c, ok := launchCall(b, d, s, dev, hs, raw); ok {
		calls = append(calls, c)
	}
	for _, c := range calls {
		ways := []way{
			{name: "raw", before: raw.Current, call: c.raw},
			{name: "raw-bound", call: func() {
				runtime.LockOSThread()
				raw.Current()
				c.raw()
				runtime.UnlockOSThread()
			}},
		}
		for _, bind := range raw.Bindings {
			own, code := bind.API.Retain(0)
			if code != cudahip.Success {
				b.Fatalf("no context: %d", code)
			}
			b.Cleanup(func() { bind.API.Release(0) })
			ways = append(ways, way{name: bind.Name, call: func() { c.bound(bind.API, own) }})
		}
		ways = append(ways, way{name: "driver", call: c.driver}, way{name: "hal", call: c.hal})
		b.Run(c.name, func(b *testing.B) {
			inTurn(b, ways, func() {
				ok(b, s.Sync())
				ok(b, hs.Sync(ctx))
			})
		})
	}
}

// overheadCall is one call in the ways that overhead compares.
type overheadCall struct {
	name        string
	raw         func()
	bound       func(cudahip.API, cudahip.Context)
	driver, hal func()
}

// launchCall returns the launch of a kernel with 6 arguments. On the simulated driver it does nothing. isThere is false if the device does not
// load the kernel.
func launchCall(b *testing.B, d driver.Device, s driver.Stream, dev *hal.Device, hs *hal.Stream, raw Raw) (c overheadCall, isThere bool) {
	const name = "sum_four"
	if !d.Info().Caps.Has(driver.CapKernels) {
		return c, false
	}
	m, err := d.(driver.Loader).Load(image(d))
	if err != nil {
		return c, false
	}
	b.Cleanup(func() { ok(b, m.Close()) })
	k := kernel(b, m, name)
	p := alloc(b, d, driver.KindDevice, 4)
	one := value(uint32(1))
	l := line(1, 1, pointer(whole(p)), one, one, one, one, one)

	// The same arguments, in memory that does not move.
	words := [6]uint64{uint64(p.Handle()), 1, 1, 1, 1, 1}
	at := pintest.Address(b, &words)
	list := [6]uintptr{}
	for i := range list {
		list[i] = at + uintptr(8*i)
	}
	addresses := pintest.Address(b, &list)
	handle := cudahip.KernelHandle(k)

	hm, err := dev.Load(hal.Image{Format: image(d).Format, Data: image(d).Data, Params: params(simgpu.Kernels...)})
	ok(b, err)
	b.Cleanup(func() { ok(b, hm.Close()) })
	hk, err := hm.Kernel(name)
	ok(b, err)
	mem, err := dev.Alloc(hal.KindDevice, 4, 0)
	ok(b, err)
	b.Cleanup(func() { ok(b, mem.Close()) })
	hp, hone := hal.At(mem.Region(0, 4)), hal.Value(uint32(1))
	grid := hal.Blocks(1).Of(1)
	return overheadCall{"launch",
		func() { raw.Launch(handle, addresses, s.Handle()) },
		func(a cudahip.API, c cudahip.Context) { a.Launch(c, handle, l, unsafe.Pointer(&list), s.Handle()) },
		func() { _ = s.(driver.Launcher).Launch(k, l) },
		func() { _ = hs.Launch(hk, grid, hp, hone, hone, hone, hone, hone) },
	}, true
}

// way is one of several ways to make a call. In a list, the first is the plainest way, and the last
// is the one whose cost is measured against it.
type way struct {
	name   string
	before func() // prepares the thread; nil if that is not needed
	call   func()
}

// inTurn measures the ways to make a call in turn, and reports the medians. The wait for the work
// that the calls enqueued is not measured.
func inTurn(b *testing.B, ways []way, wait func()) {
	const calls = 200
	rounds := make([][]float64, len(ways))
	for b.Loop() {
		for i, w := range ways {
			rounds[i] = append(rounds[i], w.time(calls)/calls)
			wait()
		}
	}
	for i, w := range ways {
		b.ReportMetric(median(rounds[i]), w.name+"-ns")
	}
	first, last := ways[0], ways[len(ways)-1]
	from, to := median(rounds[0]), median(rounds[len(ways)-1])
	b.ReportMetric(to, "ns/op")
	b.ReportMetric(to-from, last.name+"-over-"+first.name+"-ns")
	b.ReportMetric(to/from, last.name+"/"+first.name)
	b.ReportMetric(testing.AllocsPerRun(calls, last.call), last.name+"-allocs")
	wait()
}

// time returns how long n calls take, in nanoseconds.
func (w way) time(n int) float64 {
	if w.before != nil {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		w.before()
	}
	start := time.Now()
	for range n {
		w.call()
	}
	return float64(time.Since(start).Nanoseconds())
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
