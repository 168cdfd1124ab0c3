//go:build vulkan

package vulkan

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// must ends the test at the first error.
func must(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// memoryOf allocates memory that lives as long as the test.
func memoryOf(t testing.TB, d *device, kind driver.Kind, n int) driver.Memory {
	t.Helper()
	m, err := d.Alloc(kind, uint64(n), 0)
	must(t, err)
	t.Cleanup(func() { must(t, m.Free()) })
	return m
}

func streamOf(t testing.TB, d *device) *stream {
	t.Helper()
	s, err := d.NewStream(driver.StreamOptions{})
	must(t, err)
	return s.(*stream)
}

func all(m driver.Memory) driver.Region { return driver.Region{Mem: m, Len: m.Size()} }

func start(b []byte) unsafe.Pointer { return unsafe.Pointer(&b[0]) }

func randomBytes(seed uint64, n int) []byte {
	rng := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	b := make([]byte, n)
	_, _ = rng.Read(b)
	return b
}

// More streams copy large pageable memory to and fro at once than there are stages, while other streams are shut. All bytes arrive, and
// the stages stay few.
func TestStagesAreShared(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		const streams, size = 3 * mostStages / 2, 3*stageSize + 12345
		var ss []*stream
		var in, out [][]byte
		var gates []driver.Gate
		for i := range streams {
			s := streamOf(t, d)
			m := memoryOf(t, d, driver.KindDevice, size)
			b, c := randomBytes(uint64(i), size), make([]byte, size)
			g, err := s.Gate()
			must(t, err)
			must(t, s.CopyIn(all(m), start(b)), s.CopyOut(start(c), all(m)))
			ss, in, out, gates = append(ss, s), append(in, b), append(out, c), append(gates, g)
		}
		for i := len(gates) - 1; i > 0; i-- {
			must(t, gates[i].Open())
		}
		for i, s := range ss[1:] {
			must(t, s.Sync())
			if !bytes.Equal(in[i+1], out[i+1]) {
				t.Errorf("stream %d: other bytes", i+1)
			}
		}
		if done, err := ss[0].Query(); done || err != nil {
			t.Errorf("behind a shut gate: %t, %v", done, err)
		}
		must(t, gates[0].Open(), ss[0].Sync())
		if !bytes.Equal(in[0], out[0]) {
			t.Error("stream 0: other bytes")
		}
		if d.stages[0].made > mostStages {
			t.Errorf("%d stages", d.stages[0].made)
		}
		d.Trim()
		if d.stages[0].made != 0 {
			t.Errorf("%d stages in use when all is done", d.stages[0].made)
		}
	})
}

// A large copy takes the stage that small copies share as soon as none of them uses it, if there is no other.
func TestLargeCopiesWaitForSmallOnes(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		take := func(n uint64, call func()) *stagingBlock {
			st, _, err := d.stages[0].take("test", n, call)
			must(t, err)
			return st
		}
		small := take(10, nil)
		var large []*stagingBlock
		for len(large) < mostStages-1 {
			large = append(large, take(stageSize, nil))
		}
		called := make(chan struct{})
		if st := take(stageSize, func() { close(called) }); st != nil {
			t.Fatal("a stage that is in use")
		}
		d.stages[0].put(small, 0)
		<-called
		d.stages[0].put(take(10, nil), 0)
		last := take(stageSize, nil)
		if last == nil {
			t.Fatal("the stage of small copies is kept for them")
		}
		for _, st := range append(large, last) {
			d.stages[0].put(st, 0)
		}
	})
}

// Many small copies share stages, also while others are under way, and their bytes do not mix.
func TestSmallCopiesShareStages(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		const each, streams = 2000, 4
		m := memoryOf(t, d, driver.KindDevice, streams*each*100)
		g := make([]driver.Gate, streams)
		ss := make([]*stream, streams)
		for i := range streams {
			ss[i] = streamOf(t, d)
			in := randomBytes(uint64(i), each*100)
			if i == 0 {
				g[0], _ = ss[0].Gate()
			}
			for k := range each {
				n := uint64(1 + k%100)
				at := driver.Region{Mem: m, Off: uint64(i*each+k) * 100, Len: n}
				must(t, ss[i].CopyIn(at, start(in[k*100:])))
				if k%100 == 99 {
					b := make([]byte, n)
					must(t, ss[i].CopyOut(start(b), at))
					defer func() {
						if !bytes.Equal(b, in[k*100:][:n]) {
							t.Errorf("stream %d, copy %d: other bytes", i, k)
						}
					}()
				}
			}
		}
		must(t, ss[1].Sync(), ss[2].Sync(), ss[3].Sync(), g[0].Open(), ss[0].Sync())
		if d.Trim(); d.stages[0].made != 0 {
			t.Errorf("%d stages in use when all is done", d.stages[0].made)
		}
	})
}

// Host memory is read and written when the stream comes to the copy, and host memory that is partly registered waits for the device too.
func TestOrderOfHostMemory(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		const n = 1 << 20
		s := streamOf(t, d)
		a, b := memoryOf(t, d, driver.KindDevice, n), memoryOf(t, d, driver.KindDevice, n)
		host := make([]byte, 3*n)
		part := host[n/2 : n/2+n] // what is copied
		if d.info.Caps.Has(driver.CapRegister) {
			r, err := d.Register(start(host[n+5:]), n) // overlaps the second half of part
			must(t, err)
			defer func() { must(t, r.Free()) }()
			must(t, s.Fill(driver.Region{Mem: r, Len: n}, driver.Pattern{Bits: 0x77, Width: 1}))
		}
		want := randomBytes(9, n)
		g, err := s.Gate()
		must(t, err)
		must(t, s.CopyIn(all(a), start(want)),
			s.CopyOut(start(part), all(a)),
			s.CopyIn(all(b), start(part)),
			s.Fill(all(a), driver.Pattern{Width: 1}),
			s.CopyOut(start(host[2*n:]), all(b)),
			g.Open(), s.Sync())
		if !bytes.Equal(part, want) || !bytes.Equal(host[2*n:], want) {
			t.Error("copies were not made in order")
		}
	})
}

// The host copies only when the device has written: from memory that it sees, and from host memory of which a part is registered.
func TestHostWaitsForDevice(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		const n, tail = 32 << 20, 64 << 10
		s := streamOf(t, d)
		m, b := memoryOf(t, d, driver.KindDevice, n), memoryOf(t, d, driver.KindDevice, 2*tail)
		host := make([]byte, n+tail)
		filled := m
		if d.info.Caps.Has(driver.CapRegister) {
			r, err := d.Register(start(host), n)
			must(t, err)
			defer func() { must(t, r.Free()) }()
			filled = r
		}
		for i := range byte(4) {
			p := driver.Pattern{Bits: uint64(i) + 1, Width: 1}
			out, two := make([]byte, tail), make([]byte, 2*tail)
			must(t, s.Fill(all(m), p), s.CopyOut(start(out), driver.Region{Mem: m, Off: n - tail, Len: tail}))
			must(t, s.Fill(all(filled), p), s.CopyIn(all(b), start(host[n-tail:])), s.CopyOut(start(two), all(b)), s.Sync())
			if out[0] != i+1 || out[tail-1] != i+1 {
				t.Errorf("round %d: copied before the device had written", i)
			}
			if filled != m && two[tail-1] != i+1 {
				t.Errorf("round %d: read before the device had written", i)
			}
		}
	})
}

// Memory is registered at any byte, also twice in one page, and only what was registered counts.
func TestRegisterAnyByte(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		if !d.info.Caps.Has(driver.CapRegister) {
			t.Skip("host memory cannot be registered")
		}
		s := streamOf(t, d)
		host := randomBytes(3, 8192)
		want := bytes.Clone(host)
		first, err := d.Register(start(host[101:]), 55)
		must(t, err)
		second, err := d.Register(start(host[156:]), 44)
		must(t, err)
		if _, err := d.Register(start(host[199:]), 10); !errors.Is(err, driver.ErrBusy) {
			t.Errorf("overlapping: %v", err)
		}
		must(t, s.Fill(all(first), driver.Pattern{Bits: 0x0102030405060708, Width: 1}),
			s.Fill(driver.Region{Mem: second, Off: 4, Len: 40}, driver.Pattern{Bits: 0x1122334455667788, Width: 8}), s.Sync())
		for i := range 55 {
			want[101+i] = 8
		}
		for i := range 40 {
			want[160+i] = byte(uint64(0x1122334455667788) >> (8 * (i % 8)))
		}
		if !bytes.Equal(host, want) {
			t.Error("other bytes")
		}
		must(t, first.Free(), second.Free())
		if m, _, touches := d.hosts.find(start(host), 8192); m != nil || touches {
			t.Error("still known after Free")
		}
	})
}

// Each operation that calls the driver fails with the name and the code of the call, once, and without effect.
func TestFailuresNameTheCall(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		const n = 1 << 20
		s := streamOf(t, d)
		m, h := memoryOf(t, d, driver.KindDevice, n), memoryOf(t, d, driver.KindHost, n)
		other := memoryOf(t, d, driver.KindDevice, n)
		host := unsafe.Slice((*byte)(h.HostPointer()), n)
		want := randomBytes(5, n)
		made := func(m driver.Memory, err error) error {
			if err == nil {
				must(t, m.Free())
			}
			return err
		}
		operations := map[string]func() error{
			"fill":     func() error { return s.Fill(all(m), driver.Pattern{Bits: 1, Width: 4}) },
			"copy":     func() error { return s.Copy(all(m), all(other)) },
			"copy in":  func() error { return s.CopyIn(all(m), h.HostPointer()) },
			"alloc":    func() error { return made(d.Alloc(driver.KindDevice, n, 0)) },
			"register": func() error { return made(d.Register(start(want), n)) },
		}
		if d.info.Caps.Has(driver.CapTiming) {
			e, err := d.NewEvent(driver.EventOptions{Timing: true})
			must(t, err)
			defer func() { must(t, e.Close()) }()
			operations["record"] = func() error { return s.Record(e) }
		}
		for what, operation := range operations {
			p.spy.Reset()
			must(t, operation(), s.Sync())
			for k := uint64(1); k <= p.spy.CallCount(); k++ {
				copy(host, want)
				must(t, s.CopyIn(all(m), h.HostPointer()), s.Sync())
				p.spy.Reset()
				p.spy.FailCall(k)
				err := operation()
				var e *driver.Error
				if len(p.spy.failed) == 0 || p.spy.failed[0] == "waitSemaphores" || p.spy.failed[0] == "semaphoreValue" {
					p.spy.Reset()
					must(t, s.Sync())
					continue // what is asked without need, or not by the operation
				}
				failed := p.spy.failed
				if !errors.As(err, &e) || e.Vendor.API == "" || e.Vendor.Name != "VK_ERROR_UNKNOWN" || !errors.Is(err, driver.ErrDriver) ||
					e.Op != what {
					t.Errorf("%s: call %d (%v) fails: %v", what, k, failed, err)
				}
				p.spy.Reset()
				clear(host)
				must(t, s.CopyOut(h.HostPointer(), all(m)), s.Sync())
				if !bytes.Equal(host, want) {
					t.Errorf("%s: call %d (%v) fails, with an effect", what, k, failed)
				}
			}
			if p.spy.Reset(); p.spy.CallCount() != 0 {
				t.Error("not reset")
			}
		}
	})
}

// Work that cannot be submitted when its turn has come is reported once by the stream, by each event recorded after it, and spoils
// nothing that follows.
func TestWorkThatFailsLater(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		const n = 1 << 20
		s := streamOf(t, d)
		m := memoryOf(t, d, driver.KindDevice, n)
		before, _ := d.NewEvent(driver.EventOptions{})
		after, _ := d.NewEvent(driver.EventOptions{})
		must(t, s.Fill(all(m), driver.Pattern{Bits: 1, Width: 1}))
		g, err := s.Gate()
		must(t, err)
		must(t, s.Record(before), s.Fill(all(m), driver.Pattern{Bits: 2, Width: 1}), s.Record(after))
		p.spy.fail(1, unknown, "submit")
		must(t, g.Open())
		for range 2 {
			if err := after.Sync(); !errors.Is(err, driver.ErrDriver) {
				t.Errorf("event after it: %v", err)
			}
			if done, err := after.Query(); !done || !errors.Is(err, driver.ErrDriver) {
				t.Errorf("event after it: %t, %v", done, err)
			}
			must(t, before.Sync())
		}
		if err := s.Sync(); !errors.Is(err, driver.ErrDriver) {
			t.Errorf("Sync: %v", err)
		}
		must(t, s.Sync(), s.Record(after), after.Sync())
		out := make([]byte, n)
		must(t, s.CopyOut(start(out), all(m)), s.Sync())
		if out[0] != 1 || out[n-1] != 1 {
			t.Error("the fill that failed has an effect")
		}
	})
}

// When the device is lost, everything that was enqueued ends, with an error of that kind, wherever the loss is noticed; everything closes,
// and a new handle works.
func TestLostDevice(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		for _, call := range []string{"submit", "waitSemaphores", "semaphoreValue", "allocateMemory", "beginCommandBuffer"} {
			const n = 3 << 20
			opened, err := p.Open(t.Context(), p.ordinal)
			must(t, err)
			d := opened.(*device)
			s, o := streamOf(t, d), streamOf(t, d)
			m, err := d.Alloc(driver.KindDevice, n, 0)
			must(t, err)
			e, _ := d.NewEvent(driver.EventOptions{})
			host := make([]byte, n)
			must(t, s.Fill(all(m), driver.Pattern{Bits: 1, Width: 1}), s.Sync())
			g, err := s.Gate()
			must(t, err)
			called := make(chan struct{})
			must(t, s.CopyIn(all(m), start(host)), s.CopyOut(start(host), all(m)), s.Record(e),
				s.OnDone(func() { close(called) }), o.Wait(e), o.CopyOut(start(host), all(m)))
			p.spy.fail(1, deviceLost, call)
			must(t, g.Open())
			for i := 0; d.lost.Load() == nil && i < 1000; i++ {
				if more, err := d.Alloc(driver.KindDevice, 1<<20, 0); err == nil {
					_ = more.Free()
				}
				_ = s.Fill(all(m), driver.Pattern{Bits: 1, Width: 1})
				_, _ = s.Query()
				_ = s.Sync()
			}
			if d.lost.Load() == nil {
				t.Fatalf("%s: the device is not lost", call)
			}
			_, _ = s.Sync(), o.Sync()
			if err := s.Fill(all(m), driver.Pattern{Width: 1}); !errors.Is(err, driver.ErrDeviceLost) {
				t.Errorf("%s: fill: %v", call, err)
			}
			if done, _ := e.Query(); !done {
				t.Errorf("%s: the event is not done", call)
			}
			<-called
			p.spy.Reset()
			must(t, e.Close(), m.Free(), s.Close(), o.Close(), d.Close())
			again, err := p.Open(t.Context(), p.ordinal)
			must(t, err)
			must(t, again.Close())
		}
	})
}

// What many calls leave behind is bounded: command buffers, the room of a stream, small memory, waits.
func TestNothingGrows(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		s := streamOf(t, d)
		m := memoryOf(t, d, driver.KindDevice, 1<<20)
		for range 3000 {
			must(t, s.Fill(all(m), driver.Pattern{Bits: 1, Width: 1}))
		}
		g, err := s.Gate()
		must(t, err)
		for range 3000 {
			must(t, s.Fill(driver.Region{Mem: m, Len: 4}, driver.Pattern{Bits: 1, Width: 1}))
		}
		must(t, g.Open(), s.Sync())
		must(t, s.Fill(all(m), driver.Pattern{Bits: 1, Width: 1}), s.Sync())
		q := d.queues[0]
		for range 2 * keptCommands {
			must(t, s.Fill(all(m), driver.Pattern{Bits: 1, Width: 1}))
		}
		must(t, s.Sync())
		if n := len(q.idle) + q.busy.len(); n > 4*keptCommands {
			t.Errorf("%d command buffers", n)
		}
		if c := cap(s.ops.all); c > keptRoom {
			t.Errorf("room for %d operations", c)
		}
		var small []driver.Memory
		for i := range 5000 {
			x, err := d.Alloc(driver.KindDevice, uint64(1+i%300), 0)
			must(t, err)
			small = append(small, x)
		}
		blocks := p.spy.count("memory")
		if blocks > 20 {
			t.Errorf("%d allocations of the driver for %d small memories", blocks, len(small))
		}
		for range 200 {
			x, err := d.Alloc(driver.KindDevice, largestSlot, 0)
			must(t, err)
			small = append(small, x)
		}
		for _, x := range small {
			must(t, x.Free())
		}
		if left := p.spy.count("memory"); left > 7 {
			t.Errorf("%d allocations of the driver for slabs of which one of each size is kept", left)
		}
		d.Trim()
		if left := p.spy.count("memory"); left > 3 {
			t.Errorf("%d allocations of the driver when all small memory is freed", left)
		}
		q.watchers.Wait()
		if len(q.waiting) > 0 || len(q.targets) > 0 {
			t.Errorf("%d wait, for %v", len(q.waiting), q.targets)
		}
	})
}

// Calls that do not fail, wait or make objects do not allocate.
func TestHotPathsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	everyModel(t, func(t *testing.T, p at) {
		b := newBackend(loadTable).with(p.opts) // without the spy, which allocates
		opened, err := b.Open(t.Context(), p.ordinal)
		must(t, err)
		d := opened.(*device)
		defer func() { must(t, d.Close()) }()
		s := streamOf(t, d)
		m, err := d.Alloc(driver.KindDevice, 1<<20, 0)
		must(t, err)
		h, err := d.Alloc(driver.KindHost, 1<<20, 0)
		must(t, err)
		defer func() { must(t, m.Free(), h.Free()) }()
		e, err := d.NewEvent(driver.EventOptions{})
		must(t, err)
		large, little := all(m), driver.Region{Mem: m, Len: 64}
		pageable := make([]byte, 64)
		for what, call := range map[string]func() error{
			"fill":            func() error { return s.Fill(large, driver.Pattern{Bits: 1, Width: 8}) },
			"copy":            func() error { return s.Copy(all(h), large) },
			"copy in":         func() error { return s.CopyIn(large, h.HostPointer()) },
			"copy out":        func() error { return s.CopyOut(h.HostPointer(), large) },
			"little pageable": func() error { return s.CopyIn(little, start(pageable)) },
			"record and wait": func() error { return errors.Join(s.Record(e), s.Wait(e)) },
			"query":           func() error { _, err := s.Query(); return err },
			"event query":     func() error { _, err := e.Query(); return err },
			"sync":            func() error { return s.Sync() },
			"event sync":      func() error { return e.Sync() },
			"fill little":     func() error { return s.Fill(little, driver.Pattern{Bits: 1, Width: 1}) },
			"a fill at odds": func() error {
				return s.Fill(driver.Region{Mem: m, Off: 3, Len: 99999}, driver.Pattern{Bits: 1, Width: 1})
			},
			"copy and wait":    func() error { return errors.Join(s.Copy(all(h), large), s.Sync()) },
			"what is done yet": func() error { _, err := d.queues[0].reached(1); return err },
		} {
			must(t, call(), s.Sync())
			if n := testing.AllocsPerRun(100, func() { must(t, call()) }); n >= 1 {
				t.Errorf("%s: %v allocations", what, n)
			}
			must(t, s.Sync())
		}
	})
}

// A wait for short work asks whether it is done, and does not sleep in the driver's wait. On processors, which do the work, it sleeps at once.
func TestShortWaitsAsk(t *testing.T) {
	everyModel(t, func(t *testing.T, p at) {
		d := p.open(t)
		s, m, slept := streamOf(t, d), memoryOf(t, d, driver.KindDevice, 1<<20), 0
		real, value := d.t.waitSemaphores, d.t.semaphoreValue
		d.t.waitSemaphores = func(device uintptr, info unsafe.Pointer, timeout uint64) status {
			slept++
			return real(device, info, timeout)
		}
		d.t.semaphoreValue = func(_, semaphore uintptr) (uint64, status) { // short work
			return s.q.last.Load(), real(d.handle, unsafe.Pointer(&semaphoreWaitInfo{head: head{typeSemaphoreWaitInfo, nil}, n: 1,
				semaphores: unsafe.Pointer(&semaphore), values: unsafe.Pointer(&s.q.args.number)}), longWait)
		}
		for _, row := range []struct {
			class driver.Class
			long  bool // the work takes longer than a wait asks
			want  int
		}{{driver.ClassGPU, false, 0}, {driver.ClassCPU, false, 1}, {driver.ClassGPU, true, 1}} {
			d.info.Class, slept = row.class, 0
			if row.long {
				d.t.semaphoreValue = func(_, _ uintptr) (uint64, status) { return 0, success }
			}
			must(t, s.Fill(all(m), driver.Pattern{Bits: 1, Width: 4}), s.Sync())
			if slept != row.want {
				t.Errorf("%v, long %t: the driver's wait is called %d times, want %d", row.class, row.long, slept, row.want)
			}
		}
		d.t.waitSemaphores, d.t.semaphoreValue = real, value
	})
}
