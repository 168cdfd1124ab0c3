package cudahiptest

import (
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

var kinds = []driver.Kind{driver.KindDevice, driver.KindHost, driver.KindShared}

// allocRefuses makes requests that the backend must refuse, and that package hal never makes.
func allocRefuses(h *Harness, t *testing.T) {
	h.reset(t, 1)
	d := h.open(t, 0)
	for _, k := range kindsOf(d) {
		if _, err := d.Alloc(k, 1<<63, 1<<20); err == nil {
			t.Fatal("2^63 bytes were allocated")
		}
	}
	_, err := d.Alloc(driver.KindDevice, ^uint64(0)-100, 1<<20)
	kind(t, err, driver.ErrInvalidArgument)
}

func outOfMemory(h *Harness, t *testing.T) {
	h.reset(t, 1)
	d := h.open(t, 0)
	alloc(t, d, driver.KindDevice, 1<<20)
	free, total, err := d.MemInfo()
	ok(t, err)
	if free > total || total != d.Info().TotalMemory {
		t.Errorf("%d of %d bytes free, %d in all", free, total, d.Info().TotalMemory)
	}
	_, err = d.Alloc(driver.KindDevice, total, 0)
	e := kind(t, err, driver.ErrOutOfMemory)
	if e.Vendor.Code != 2 || e.Vendor.API == "" || e.Vendor.Name == "" || e.Device != 0 {
		t.Errorf("error %+v", e)
	}
	for i := uint64(1); i <= 3; i++ {
		h.sim.FailAlloc(1)
		_, err := d.Alloc(kinds[i-1], 100, 0)
		kind(t, err, driver.ErrOutOfMemory)
	}
	// A failure loses no memory, and the device still works.
	if after, _, err := d.MemInfo(); err != nil || after != free {
		t.Errorf("%d bytes free after the failures, %d before: %v", after, free, err)
	}
	alloc(t, d, driver.KindDevice, 1<<20)
}

func registerMemory(h *Harness, t *testing.T) {
	for name, lack := range map[string]simgpu.Lack{"SameAddress": 0, "OtherAddress": simgpu.LackRegisteredPointer} {
		t.Run(name, func(t *testing.T) { register(h, t, lack) })
	}
}

func register(h *Harness, t *testing.T, lack simgpu.Lack) {
	if h.sim == nil && lack != 0 {
		t.Skip("the hardware is what it is")
	}
	if h.sim != nil {
		h.set(t, simgpu.Without, uint64(lack), 0)
	}
	h.reset(t, 1)
	d := h.open(t, 0)
	h.need(t, d, driver.CapRegister)
	s := newStream(t, d)
	data := random(3, 10000)
	r := d.(driver.Registerer)
	m, err := r.Register(at(data), uint64(len(data)))
	ok(t, err)
	if m.HostPointer() != at(data) || m.Size() != 10000 {
		t.Errorf("registered at %p with %d bytes, want %p", m.HostPointer(), m.Size(), at(data))
	}
	dev := alloc(t, d, driver.KindDevice, 5000)
	ok(t, s.Copy(whole(dev), region(m, 101, 5000)))
	same(t, "copied from registered memory", read(t, s, whole(dev)), data[101:5101])

	for _, b := range [][]byte{data, data[:1], data[9999:], data[4000:5000]} {
		_, err := r.Register(at(b), uint64(len(b)))
		kind(t, err, driver.ErrBusy)
	}
	ok(t, m.Free())
	again, err := r.Register(at(data), uint64(len(data)))
	ok(t, err)
	ok(t, again.Free())

	// Page-locked memory cannot be locked again.
	locked := alloc(t, d, driver.KindHost, 4096)
	_, err = r.Register(unsafe.Add(locked.HostPointer(), 100), 100)
	kind(t, err, driver.ErrBusy)
}

// keepsStreamMemory: the vendor's pool keeps memory while the device is open, unless the program has said how much.
func keepsStreamMemory(h *Harness, t *testing.T) {
	lib, err := dl.Open("", h.Library)
	ok(t, err)
	proc := func(names ...string) dl.Proc {
		for _, n := range names {
			if p := lib.Proc(n); p != 0 {
				return p
			}
		}
		t.Fatalf("the library lacks %q", names)
		return 0
	}
	w := dl.GetWords()
	call := func(p dl.Proc, pool uintptr) uint64 {
		if code := p.Call3(pool, 4, w.At(0)); code != 0 {
			t.Fatalf("attribute of the pool: %d", code)
		}
		return w[0]
	}
	get := proc("cuMemPoolGetAttribute", "hipMemPoolGetAttribute")
	set := proc("cuMemPoolSetAttribute", "hipMemPoolSetAttribute")
	t.Cleanup(func() { // for the tests that follow
		for dev := range uintptr(2) {
			if code := proc("cuDeviceGetMemPool", "hipDeviceGetMemPool").Call2(w.At(0), dev); code == 0 {
				pool := uintptr(w[0])
				w[0] = 0
				call(set, pool)
			}
		}
		w.Put()
	})
	for _, c := range []struct {
		own   uint64 // the program's threshold
		later bool   // it is set after the first allocation
		trims int    // by Trim and Close
	}{{0, false, 2}, {12345, false, 0}, {12345, true, 0}} {
		own, later := c.own, c.later
		h.reset(t, 1)
		d, err := h.backend.Open(t.Context(), 0)
		ok(t, err)
		if code := proc("cuDeviceGetMemPool", "hipDeviceGetMemPool").Call2(w.At(0), 0); code != 0 {
			t.Fatalf("the device's pool: %d", code)
		}
		pool := uintptr(w[0])
		if w[0] = own; later {
			w[0] = 0
		}
		call(set, pool)
		s, err := d.NewStream(driver.StreamOptions{})
		ok(t, err)
		want := own
		if own == 0 || later {
			want = d.Info().TotalMemory / 16
		}
		for range 2 {
			m, err := s.(driver.StreamAllocator).AllocAsync(1000, 0)
			ok(t, err)
			if got := call(get, pool); got != want {
				t.Errorf("the pool keeps %d bytes, want %d", got, want)
			}
			ok(t, s.Sync())
			ok(t, m.Free())
		}
		if w[0] = own; later {
			call(set, pool)
		}
		ok(t, s.Sync())
		d.(driver.Trimmer).Trim()
		ok(t, s.Close())
		ok(t, d.Close())
		if n := h.sim.Calls()["cuMemPoolTrimTo"] + h.sim.Calls()["hipMemPoolTrimTo"]; n != c.trims {
			t.Errorf("%d trims by Trim and Close, want %d", n, c.trims)
		}
		if got := call(get, pool); got != own {
			t.Errorf("after Close the pool keeps %d bytes, want %d", got, own)
		}
	}
}
