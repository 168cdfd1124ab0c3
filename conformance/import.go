package conformance

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
)

var importChecks = []Check{
	{Name: "MemoryWorks", Rule: "Imported memory is used like any other, and its owner sees the same bytes.", Needs: hal.CapImport, run: adoptedWorks},
	{Name: "PartOfABlock", Rule: "A part of a block can be imported, and the bytes beside it do not change.", Needs: hal.CapImport | hal.CapAddress, run: adoptedPart},
	{Name: "ReleasedOnceAfterLastUse", Rule: "Release is called once, after Close and after the last work that uses the memory.", Needs: hal.CapImport | hal.CapGate, run: adoptedReleased},
	{Name: "IdleReleasedInClose", Rule: "Closing imported memory that nothing uses releases it before Close returns, and leaves the owner's memory alone.", Needs: hal.CapImport, run: adoptedIdle},
	{Name: "NotCounted", Rule: "Imported memory is not counted as held, and keeps its device from closing.", Needs: hal.CapImport, run: adoptedNotCounted},
	{Name: "UnclosedReported", Rule: "Imported memory that becomes unreachable is reported and released.", Needs: hal.CapImport, run: adoptedLeak},
	{Name: "BadArgumentsRejected", Rule: "Importing with handle 0, an invalid kind or a size beyond the address space is refused, and Release is not called.", Needs: hal.CapImport, run: adoptRejects},
	{Name: "StreamInOrder", Rule: "Work enqueued on an imported stream and by its owner runs in one order.", Needs: hal.CapImportStream, run: adoptedStreamInOrder},
	{Name: "StreamOutlivesClose", Rule: "Closing an imported stream leaves the owner's stream working, and calls release once, after the work so far.", Needs: hal.CapImportStream | hal.CapGate, run: adoptedStreamClose},
	{Name: "QueryTellsAllocations", Rule: "PointerInfo returns kind, device and range for a pointer into an allocation, and refuses other addresses.", Needs: hal.CapPointerInfo | hal.CapAddress, run: queryTells},
	{Name: "UnsupportedWithoutBit", Rule: "On a device without the capability importing fails as unsupported.", run: adoptUnsupported},
}

// importMemory imports the owner's memory, closes it at the end of the check, and counts calls of Release.
func (t *trial) importMemory(d *hal.Device, owner *hal.Memory) (m *hal.Memory, releases *atomic.Int32) {
	releases = new(atomic.Int32)
	m, err := d.Import(hal.ExternalMemory{Kind: owner.Kind(), Handle: owner.Handle(), Size: owner.Size(),
		Release: func() { releases.Add(1) }})
	t.must(err, "import %d bytes of %v memory", owner.Size(), owner.Kind())
	t.Cleanup(func() { t.must(m.Close(), "close imported memory") })
	return m, releases
}

func adoptedWorks(t *trial) {
	const n = 10_000
	d := t.Open() // the owner of everything
	s := t.stream(t.dev)
	for _, k := range kinds(t.dev) {
		owner := t.memory(d, k, n)
		b := t.random(n)
		t.put(owner, 0, b)
		m, _ := t.importMemory(t.dev, owner)
		t.want(m.Kind() == k && m.Size() == n && m.Device() == t.dev, "imported %d bytes of %v memory of %s", m.Size(), m.Kind(), m.Device().Name())
		t.want(m.Handle() == owner.Handle(), "the handle %#x became %#x", owner.Handle(), m.Handle())
		t.same(t.all(m), b, "%v memory that was imported", k)

		t.must(s.Fill(region(m, 100, 1000), hal.Pattern8(0x4d)), "fill")
		copy(b[100:], repeated(hal.Pattern8(0x4d), 1000))
		in := t.random(500)
		t.must(s.CopyIn(region(m, 7000, 500), in), "copy in")
		copy(b[7000:], in)
		mine := t.filled(t.dev, t.random(300))
		t.must(s.Copy(region(m, 9001, 300), mine.All()), "copy")
		copy(b[9001:], t.all(mine))
		t.must(s.Copy(mine.All(), region(m, 7100, 300)), "copy")
		t.sync(s)
		t.same(t.all(mine), b[7100:7400], "copied from %v memory that was imported", k)
		t.same(t.all(owner), b, "%v memory, as its owner sees it", k)
		if k != hal.KindDevice {
			t.onHost(m, func(v []byte) {
				t.same(v, b, "%v memory that was imported, as the host sees it", k)
				copy(v[50:], "the host was here")
			})
			copy(b[50:], "the host was here")
			t.same(t.all(owner), b, "%v memory that the host wrote to", k)
		}
		t.refuses(hal.ErrOutOfRange, "fill past the end", func() error { return s.Fill(region(m, n-1, 2), hal.Zero) }, owner)
		t.refuses(hal.ErrOverlap, "copy onto itself", func() error { return s.Copy(region(m, 0, 10), region(m, 5, 10)) }, owner)
		t.must(m.Close(), "close")
		t.wantKind(s.Fill(m.All(), hal.Zero), hal.ErrClosed, "fill closed memory")
		t.same(t.all(owner), b, "%v memory after it was closed elsewhere", k)
	}
}

func adoptedPart(t *trial) {
	const n, off, part = 5000, 512, 3000
	d := t.Open()
	for _, k := range kinds(t.dev) {
		owner := t.memory(d, k, n)
		b := t.random(n)
		t.put(owner, 0, b)
		m, err := t.dev.Import(hal.ExternalMemory{Kind: k, Handle: owner.Handle() + off, Size: part})
		t.must(err, "import a part of %v memory", k)
		t.same(t.all(m), b[off:off+part], "a part of %v memory", k)
		fresh := t.random(part)
		t.put(m, 0, fresh)
		copy(b[off:], fresh)
		t.must(m.Close(), "close")
		t.same(t.all(owner), b, "the whole of %v memory", k)
	}
}

func adoptedReleased(t *trial) {
	const n = 4096
	d := t.Open()
	for _, k := range kinds(t.dev) {
		owner := t.memory(d, k, n)
		m, releases := t.importMemory(t.dev, owner)
		s, o := t.stream(t.dev), t.stream(t.dev)
		g, h := t.shut(s), t.shut(o)
		t.must(s.Fill(m.Region(0, n/2), hal.Pattern8(1)), "fill")
		t.must(o.Fill(m.Region(n/2, n/2), hal.Pattern8(2)), "fill")
		t.must(m.Close(), "close")
		t.must(m.Close(), "close again")
		t.remains(func() bool { return releases.Load() == 0 }, "two streams use %v memory: not released", k)
		t.letGo(g)
		t.sync(s)
		t.remains(func() bool { return releases.Load() == 0 }, "one stream uses %v memory: not released", k)
		t.letGo(h)
		t.sync(o)
		t.eventually(func() bool { return releases.Load() > 0 && t.dev.Usage().Pending == 0 }, "%v memory is released", k)
		t.remains(func() bool { return releases.Load() == 1 }, "%v memory released once", k)
		t.same(t.all(owner), append(repeated(hal.Pattern8(1), n/2), repeated(hal.Pattern8(2), n/2)...), "what the streams wrote")
	}
}

func adoptedIdle(t *trial) {
	d := t.Open()
	for _, k := range kinds(t.dev) {
		owner := t.memory(d, k, 4096)
		b := t.random(4096)
		m, releases := t.importMemory(t.dev, owner)
		t.put(m, 0, b)
		t.must(m.Close(), "close")
		t.want(releases.Load() == 1, "%d releases of idle %v memory in Close", releases.Load(), k)
		t.must(m.Close(), "close again")
		t.want(releases.Load() == 1, "%d releases after a second Close", releases.Load())
		t.same(t.all(owner), b, "the owner's %v memory", k)

		// Release may be nil, and may be the function that frees the memory.
		m, err := t.dev.Import(hal.ExternalMemory{Kind: k, Handle: owner.Handle(), Size: owner.Size()})
		t.must(err, "import without Release")
		t.must(m.Close(), "close")
		last, err := d.Alloc(k, 4096, 0)
		t.must(err, "allocate")
		m, err = t.dev.Import(hal.ExternalMemory{Kind: k, Handle: last.Handle(), Size: 4096, Release: func() { _ = last.Close() }})
		t.must(err, "import")
		t.must(m.Close(), "close")
		t.want(last.Handle() == 0, "Release did not close the owner's memory")
	}
}

func adoptedNotCounted(t *trial) {
	d := t.Open()
	owner := t.memory(d, hal.KindDevice, 12345)
	user := t.Open()
	before := user.Usage()
	m, _ := t.importMemory(user, owner)
	t.want(user.Usage() == before, "usage %+v became %+v", before, user.Usage())
	err := user.Close()
	t.wantKind(err, hal.ErrBusy, "close with imported memory")
	if err != nil && !strings.Contains(err.Error(), "imported device memory of 12345 bytes") {
		t.Errorf("%q does not name the imported memory", err)
	}
	t.must(m.Close(), "close")
	t.must(user.Close(), "close device")
	t.want(user.Usage() == before, "usage %+v became %+v", before, user.Usage())
}

func adoptedLeak(t *trial) {
	leaks := make(chan hal.Leak, 64)
	previous := hal.SetLeakHandler(func(l hal.Leak) {
		select {
		case leaks <- l:
		default:
		}
	})
	t.Cleanup(func() { hal.SetLeakHandler(previous) })
	d := t.Open()
	owner := t.memory(d, hal.KindDevice, 23456)
	var releases atomic.Int32
	func() {
		_, err := t.dev.Import(hal.ExternalMemory{Kind: hal.KindDevice, Handle: owner.Handle(), Size: 23456, Release: func() { releases.Add(1) }})
		t.must(err, "import")
	}()
	const want = "imported device memory of 23456 bytes"
	reported := false
	t.eventually(func() bool {
		runtime.GC()
		for {
			select {
			case l := <-leaks:
				reported = reported || l.Object == want && l.Device == t.dev.Name()
				continue
			default:
			}
			return reported && releases.Load() == 1
		}
	}, "a report of %q, and a call of its Release", want)
}

func adoptRejects(t *trial) {
	d := t.Open()
	owner := t.filled(d, t.random(64))
	released := false
	taken := func(f hal.ExternalMemory) func() error {
		f.Release = func() { released = true }
		return func() error { return made(t.dev.Import(f)) }
	}
	good := hal.ExternalMemory{Kind: hal.KindDevice, Handle: owner.Handle(), Size: 64}
	no := func(change func(*hal.ExternalMemory)) hal.ExternalMemory { f := good; change(&f); return f }
	none, err := t.dev.Import(hal.ExternalMemory{Kind: hal.KindDevice})
	t.must(err, "import no bytes")
	t.noBytes(t.stream(t.dev), none)
	t.refuses(hal.ErrInvalidArgument, "import no handle", taken(no(func(f *hal.ExternalMemory) { f.Handle = 0 })), owner)
	t.refuses(hal.ErrInvalidArgument, "import no kind", taken(no(func(f *hal.ExternalMemory) { f.Kind = 0 })), owner)
	t.refuses(hal.ErrInvalidArgument, "import an unknown kind", taken(no(func(f *hal.ExternalMemory) { f.Kind = 9 })), owner)
	for _, size := range []uint64{math.MaxUint64, math.MaxUint64 - 63, 1 << 63} {
		t.refuses(hal.ErrOutOfRange, fmt.Sprintf("import %d bytes", size), taken(no(func(f *hal.ExternalMemory) { f.Size = size })), owner)
	}
	if !t.dev.Caps().Has(hal.CapShared) {
		t.refuses(hal.ErrUnsupported, "import shared memory", taken(no(func(f *hal.ExternalMemory) { f.Kind = hal.KindShared })), owner)
	}
	if t.dev.Caps().Has(hal.CapPointerInfo) {
		if !t.dev.Info().SharesHostMemory {
			t.refuses(hal.ErrInvalidArgument, "import device memory as page-locked memory", taken(no(func(f *hal.ExternalMemory) { f.Kind = hal.KindHost })), owner)
		}
		t.refuses(hal.ErrOutOfRange, "import more than there is", taken(no(func(f *hal.ExternalMemory) { f.Size = 1 << 40 })), owner)
	}
	closed := t.Open()
	t.must(closed.Close(), "close")
	t.wantKind(made(closed.Import(good)), hal.ErrClosed, "import on a closed device")
	t.wantKind(made(closed.ImportStream(1, nil)), hal.ErrClosed, "import a stream on a closed device")
	_, err = closed.PointerInfo(good.Handle)
	t.wantKind(err, hal.ErrClosed, "query a pointer on a closed device")
	t.want(!released, "Release was called although nothing was imported")
}

func adoptedStreamInOrder(t *trial) {
	d := t.Open()
	own := t.stream(d)
	var released atomic.Int32
	s, err := t.dev.ImportStream(own.Handle(), func() { released.Add(1) })
	t.must(err, "import a stream")
	t.Cleanup(func() { t.must(s.Close(), "close imported stream") })
	t.want(s.Handle() == own.Handle() && s.Device() == t.dev, "the imported stream is %#x of %s, not %#x", s.Handle(), s.Device().Name(), own.Handle())
	owner := t.filled(d, make([]byte, 4096))
	m, _ := t.importMemory(t.dev, owner)
	out := t.hostBytes(4096)
	for i := range 8 {
		var g *hal.Gate
		if i%2 == 0 && t.dev.Caps().Has(hal.CapGate) {
			g = t.shut([]*hal.Stream{own, s}[i/2%2])
		}
		t.must(own.Fill(owner.All(), hal.Pattern8(uint8(2*i+1))), "fill by the owner")
		t.must(s.Fill(m.Region(0, 2048), hal.Pattern8(uint8(2*i+2))), "fill by the other")
		t.must(own.Fill(owner.Region(1024, 512), hal.Pattern8(0xEE)), "fill by the owner")
		t.must(s.CopyOut(out, m.All()), "copy out")
		e := t.recorded(s)
		if g != nil {
			t.busy(s, "the imported stream")
			t.busy(own, "the owner's stream")
			t.busy(e, "an event of the imported stream")
			t.letGo(g)
		}
		t.must(e.Sync(t.ctx), "sync with an event")
		want := append(repeated(hal.Pattern8(uint8(2*i+2)), 2048), repeated(hal.Pattern8(uint8(2*i+1)), 2048)...)
		copy(want[1024:], repeated(hal.Pattern8(0xEE), 512))
		t.same(out, want, "round %d", i)
	}
	t.sync(s, own)
	t.must(s.Close(), "close")
	// It may take a while until it is known that the owner's work has ended too.
	t.eventually(func() bool { return released.Load() > 0 }, "the idle stream is released")
	t.must(own.Fill(owner.All(), hal.Zero), "fill by the owner afterwards")
	t.sync(own)
	t.same(t.all(owner), make([]byte, 4096), "what the owner wrote afterwards")
	t.want(released.Load() == 1, "%d releases", released.Load())
}

func adoptedStreamClose(t *trial) {
	d := t.Open()
	own := t.stream(d)
	var released atomic.Int32
	user := t.Open()
	s, err := user.ImportStream(own.Handle(), func() { released.Add(1) })
	t.must(err, "import a stream")
	m := t.memory(user, hal.KindDevice, 64)
	err = user.Close()
	t.wantKind(err, hal.ErrBusy, "close with an imported stream")
	if err != nil && !strings.Contains(err.Error(), "imported stream") {
		t.Errorf("%q does not name the imported stream", err)
	}
	g := t.shut(own)
	t.must(s.Fill(m.All(), hal.Pattern8(5)), "fill")
	out := t.hostBytes(64)
	t.must(s.CopyOut(out, m.All()), "copy out")
	t.must(s.Close(), "close the imported stream")
	t.must(s.Close(), "close it again")
	t.wantKind(s.Fill(m.All(), hal.Zero), hal.ErrClosed, "fill on the closed stream")
	t.remains(func() bool { return released.Load() == 0 }, "work is under way: not released")
	// The owner keeps its stream busy all the time.
	later := t.filled(d, make([]byte, 64))
	t.letGo(g)
	h := t.shut(own)
	t.must(own.Fill(later.All(), hal.Pattern8(6)), "fill by the owner")
	t.eventually(func() bool { return released.Load() == 1 && user.Usage().Pending == 0 }, "the stream is released although its owner keeps it busy")
	t.same(out, repeated(hal.Pattern8(5), 64), "work of the imported stream")
	t.busy(own, "the owner's stream")
	t.letGo(h)
	t.must(m.Close(), "close the memory") // a driver may wait for the owner's work, too
	t.must(user.Close(), "close the device")
	t.sync(own)
	t.same(t.all(later), repeated(hal.Pattern8(6), 64), "work of the owner")
	t.want(released.Load() == 1, "%d releases", released.Load())
}

func queryTells(t *trial) {
	const n = 10_000
	for _, k := range kinds(t.dev) {
		m := t.memory(t.dev, k, n)
		for _, off := range []uintptr{0, 1, n - 1} {
			p, err := t.dev.PointerInfo(m.Handle() + off)
			t.must(err, "query %v memory", k)
			t.want(p.Kind == k, "%v memory is reported as %v memory", k, p.Kind)
			if p.Kind == hal.KindDevice {
				t.want(p.Device == t.dev.Info().Ordinal, "%v memory is reported as of device %d, not %d", k, p.Device, t.dev.Info().Ordinal)
			}
			t.want(p.Base <= m.Handle() && p.Base+uintptr(p.Size) >= m.Handle()+n, "[%#x, %#x+%d) does not hold %d bytes at %#x", p.Base, p.Base, p.Size, n, m.Handle())
		}
	}
	_, err := t.dev.PointerInfo(0)
	t.wantKind(err, hal.ErrInvalidArgument, "query no pointer")
	_, err = t.dev.PointerInfo(8)
	t.wantKind(err, hal.ErrInvalidArgument, "query an address where nothing is")
}

func adoptUnsupported(t *trial) {
	caps := t.dev.Caps()
	m := t.filled(t.dev, t.random(64))
	if !caps.Has(hal.CapImport) {
		t.refuses(hal.ErrUnsupported, "import", func() error {
			return made(t.dev.Import(hal.ExternalMemory{Kind: hal.KindDevice, Handle: m.Handle(), Size: 64}))
		}, m)
	}
	if !caps.Has(hal.CapImportStream) {
		s := t.stream(t.dev)
		t.refuses(hal.ErrUnsupported, "import a stream", func() error { return made(t.dev.ImportStream(s.Handle(), nil)) }, m)
	}
	query := func() error { _, err := t.dev.PointerInfo(m.Handle()); return err }
	if !caps.Has(hal.CapPointerInfo) {
		t.refuses(hal.ErrUnsupported, "query a pointer", query, m)
	} else {
		t.want(!errors.Is(query(), hal.ErrUnsupported), "the device has %v, and refuses to query a pointer as unsupported", hal.CapPointerInfo)
	}
	if !caps.Has(hal.CapIPC) {
		t.refuses(hal.ErrUnsupported, "export", func() error { _, err := m.IPCHandle(); return err }, m)
		h := hal.IPCHandle{Backend: t.dev.Info().Backend, Device: t.dev.Info().UUID, Kind: hal.KindDevice, PID: 1, Size: 64, Handle: make([]byte, 64)}
		t.refuses(hal.ErrUnsupported, "open an IPC handle", func() error { return made(t.dev.OpenIPC(h)) }, m)
	}
}
