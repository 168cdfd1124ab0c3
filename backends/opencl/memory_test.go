//go:build opencl

package opencl

import (
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

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
