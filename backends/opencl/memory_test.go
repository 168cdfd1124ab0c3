//go:build opencl

package opencl

import (
	"bytes"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

func hostBytes(m *memory) []byte { return unsafe.Slice((*byte)(m.HostPointer()), m.Size()) }

// onHost lets the host touch memory. It maps the memory if that is needed.
func onHost(t testing.TB, s *stream, m *memory, touch func([]byte)) {
	t.Helper()
	ok(t, s.Map(m, true))
	ok(t, s.Sync())
	touch(hostBytes(m))
	ok(t, s.Unmap(m))
	ok(t, s.Sync())
}

// A CPU's runtime hands the same memory over however it is asked; a GPU's copies what the flags say.
func TestMapSaysWhatFor(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		var flags uint64
		mapBuffer, svmMap := p.t.mapBuffer, p.t.svmMap
		p.t.mapBuffer = func(q, m uintptr, f, off, n uint64) (uintptr, uintptr, status) {
			flags = f
			return mapBuffer(q, m, f, off, n)
		}
		p.t.svmMap = func(q uintptr, f uint64, addr uintptr, n uint64) (uintptr, status) {
			flags = f
			return svmMap(q, f, addr, n)
		}
		s, m := newStream(t, p), alloc(t, p, driver.KindHost, 64)
		for _, write := range []bool{false, true} {
			flags = 0
			ok(t, s.Map(m, write))
			ok(t, s.Unmap(m))
			want := uint64(0)
			if m.NeedsMap() {
				want = mapRead
				if write {
					want |= mapWrite
				}
			}
			if flags != want {
				t.Errorf("mapped for writing %t with flags %d, want %d", write, flags, want)
			}
		}
		ok(t, s.Sync())
		closeAll(t, m, s)
	})
}

// A map waits for earlier work of its stream, and work of another stream can wait for the unmap.
func TestMapIsOrdered(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		a, b, m := newStream(t, p), newStream(t, p), alloc(t, p, driver.KindHost, 64)
		want := ramp(64, 1)
		onHost(t, a, m, func(dst []byte) { copy(dst, want) })
		g := gated(t, a)
		ok(t, a.Map(m, false))
		e := newEvent(t, p, false)
		ok(t, a.Record(e))
		wantDone(t, false, e.Query)
		ok(t, g.Open())
		ok(t, e.Sync())
		same(t, "mapped", hostBytes(m), want)
		ok(t, a.Unmap(m))
		ok(t, a.Record(e))
		ok(t, b.Wait(e))
		ok(t, b.Fill(whole(m), driver.Pattern{Width: 1}))
		same(t, "after the other stream's fill", read(t, b, whole(m)), make([]byte, 64))
		closeAll(t, e, m, a, b)
	})
}

// A CPU's runtime makes every block fine-grained.
func TestSharedVirtualMemoryIsAsFineAsItMustBe(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		if p.tier != tierSVM && p.tier != tierSVMCoarse {
			return
		}
		var flags uint64
		inner := p.t.svmAlloc
		p.t.svmAlloc = func(x uintptr, f, n uint64, a uint32) uintptr {
			flags = f
			return inner(x, f, n, a)
		}
		for _, kind := range kinds(p) {
			m := alloc(t, p, kind, 64)
			want := uint64(memReadWrite)
			if p.tier == tierSVM && m.HostPointer() != nil {
				want |= memSVMFineGrained
			}
			if flags != want {
				t.Errorf("%s memory is allocated with flags %#x, want %#x", kind, flags, want)
			}
			closeAll(t, m)
		}
	})
}

func TestSharedMemoryWhereThereIsNone(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		if p.info.Caps.Has(driver.CapShared) {
			closeAll(t, alloc(t, p, driver.KindShared, 1))
			return
		}
		_, err := p.Alloc(driver.KindShared, 1, 0)
		wantKind(t, err, driver.ErrUnsupported)
	})
}

func TestExhaustionIsOutOfMemory(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		for _, kind := range kinds(p) {
			var all []driver.Memory
			var err error
			for range 1000 {
				var m driver.Memory
				if m, err = p.Alloc(kind, p.info.MaxAlloc, 0); err != nil {
					break
				}
				all = append(all, m)
			}
			wantKind(t, err, driver.ErrOutOfMemory)
			s := err.(*driver.Error).Shortage
			if s == nil || s.Request != p.info.MaxAlloc || s.Kind != kind || s.Held != uint64(len(all))*p.info.MaxAlloc {
				t.Errorf("%s: the error says %+v with %d allocations held", kind, s, len(all))
			}
			for _, m := range all {
				closeAll(t, m)
			}
			// And again, after everything was given back.
			closeAll(t, alloc(t, p, kind, 4096))
			if held := p.ctx.held.Load(); held != 0 {
				t.Errorf("%d bytes are still counted", held)
			}
		}
	})
}

func TestRegisteredMemoryHasAnAlignment(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		need(t, p.device, driver.CapRegister)
		host := make([]uint64, 2)
		m, err := p.Register(unsafe.Pointer(&host[0]), 8)
		ok(t, err)
		neighbour, err := p.Register(unsafe.Pointer(&host[1]), 8)
		ok(t, err)
		closeAll(t, m, neighbour)
		if p.tier != tierBuffer {
			_, err := p.Register(unsafe.Add(unsafe.Pointer(&host[0]), 1), 8)
			wantKind(t, err, driver.ErrMisaligned)
		}
	})
}

func TestHandlesOnOneDeviceShare(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		q := p.again(t)
		if got := p.PeerAccess(q.device); got != driver.PeerWait|driver.PeerCopy {
			t.Errorf("two handles on a device link as %d", got)
		}
		a, b := newStream(t, p), newStream(t, q)
		m, n := alloc(t, p, driver.KindDevice, 100), alloc(t, q, driver.KindDevice, 100)
		want := ramp(100, 4)
		g := gated(t, a)
		ok(t, a.CopyIn(whole(m), unsafe.Pointer(&want[0])))
		e := newEvent(t, p, false)
		ok(t, a.Record(e))
		ok(t, b.Wait(e))
		ok(t, b.Copy(whole(n), whole(m)))
		wantDone(t, false, b.Query)
		ok(t, g.Open())
		same(t, "copied to the other handle", read(t, b, whole(n)), want)

		// Closing one leaves the other working.
		closeAll(t, e, m, a)
		r := p.again(t)
		ok(t, r.device.Close())
		same(t, "after a handle closed", read(t, b, whole(n)), want)
		closeAll(t, n, b, q.device)
	})
}

func TestTiersDoNotLink(t *testing.T) {
	var open []*device
	for _, tr := range []tier{tierUSM, tierSVM, tierBuffer} {
		t.Setenv(memoryEnv, tr.String())
		b := newBackend(bindTable)
		infos, err := b.Devices(t.Context())
		if err != nil {
			absent(t, err.Error())
		}
		for i := range infos {
			if infos[i].MemoryModel == tr.String() {
				d, err := b.Open(t.Context(), i)
				ok(t, err)
				open = append(open, d.(*device))
			}
		}
	}
	if len(open) == 0 {
		absent(t, "no platform has a device")
	}
	for i, d := range open {
		for k, o := range open {
			if want := i == k; (d.PeerAccess(o) != 0) != want {
				t.Errorf("%s %s and %s %s link: %t", d.info.Model, d.tier, o.info.Model, o.tier, !want)
			}
		}
	}
	for _, d := range open {
		ok(t, d.Close())
	}
}

func TestErrorsNameTheirStatus(t *testing.T) {
	const want = "opencl: vendor call: source and destination overlap [clEnqueueCopyBuffer: CL_MEM_COPY_OVERLAP (-8)]"
	if err := newBackend(loadTable).VendorError("clEnqueueCopyBuffer", -8); err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Rusticl refuses to unmap what is still being mapped.
func TestUnmapWhileBeingMapped(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		if p.tier != tierBuffer || !p.hw.unified {
			t.Skip("nothing is mapped")
		}
		const n = 4096
		s, m := newStream(t, p), alloc(t, p, driver.KindDevice, n)
		write(t, s, whole(m), ramp(n, 1))
		onHost(t, s, m, func([]byte) {}) // the address is known from here on
		g := gated(t, s)
		ok(t, s.Map(m, true))
		var early atomic.Bool
		var calls atomic.Int32
		unmap := p.t.unmapBuffer
		p.t.unmapBuffer = func(queue, mem, addr uintptr) (uintptr, status) {
			if calls.Add(1); early.Load() {
				return 0, invalidValue
			}
			return unmap(queue, mem, addr)
		}
		early.Store(true)
		ok(t, s.Unmap(m))
		early.Store(false)
		ok(t, s.Fill(part(m, 0, 8), driver.Pattern{Bits: 0xAB, Width: 1}))
		wantDone(t, false, s.Query)
		if n := calls.Load(); n != 1 {
			t.Errorf("%d calls to unmap before the work before has ended", n)
		}
		ok(t, g.Open())
		ok(t, s.Sync())
		if n := calls.Load(); n != 2 {
			t.Errorf("%d calls to unmap after the work after has ended", n)
		}
		want := append(bytes.Repeat([]byte{0xAB}, 8), ramp(n, 1)[8:]...)
		same(t, "memory", read(t, s, whole(m)), want)
		closeAll(t, m, s)
	})
}
