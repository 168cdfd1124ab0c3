package cudahiptest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

// Harness is a backend on its simulated driver. New is called when the environment names the
// simulated library.
type Harness struct {
	Library string // the simulated library
	Env     string // the variable that names a library to the backend
	New     func() driver.Backend
	Binding string // how the library's calls are bound: "loaded" or "linked"

	// HostGates says that a device has gates even if its streams cannot wait for a word of memory.
	HostGates bool

	// Retain is the name of the call that makes a context, or "" if the vendor has no such call.
	// PeerEnable is the name of the call that lets a device use a peer's memory.
	Retain, PeerEnable string

	// Waiting returns the number of host functions that have been neither called nor cancelled.
	Waiting func() int

	sim     *simgpu.Control // nil on hardware
	backend driver.Backend
	count   int // of devices
}

// reset prepares the driver for a test. After the test it looks for broken rules and for handles
// that are still alive. With a seed other than zero the driver runs work in any order that is
// allowed.
func (h *Harness) reset(t testing.TB, seed uint64) {
	t.Helper()
	if h.sim == nil {
		return
	}
	h.calm(t, seed)
	t.Cleanup(func() {
		h.sim.FailCall(0, 0)
		h.sim.FailAlloc(0)
		for _, v := range h.sim.Violations() {
			t.Errorf("the driver's rules were broken: %s", v)
		}
		for _, l := range h.sim.Leaks() {
			t.Errorf("still alive: %s", l)
		}
		if n := h.Waiting(); n != 0 {
			t.Errorf("%d host functions are never called", n)
		}
	})
}

// seeds runs a test with the driver's work in order and in several other orders.
func (h *Harness) seeds(t *testing.T, n uint64, test func(t *testing.T, seed uint64)) {
	if h.sim == nil {
		n = 1
	}
	for seed := range n {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			h.reset(t, seed)
			test(t, seed)
		})
	}
}

func (h *Harness) calm(t testing.TB, seed uint64) {
	t.Helper()
	h.sim.FailCall(0, 0)
	h.sim.FailAlloc(0)
	ok(t, h.sim.Reset(seed))
}

// set changes a setting of the driver for this test.
func (h *Harness) set(t testing.TB, s simgpu.Setting, value, normal uint64) {
	t.Helper()
	ok(t, h.sim.Set(s, value))
	t.Cleanup(func() {
		ok(t, h.sim.Set(s, normal))
		h.calm(t, 0)
	})
}

func (h *Harness) open(t testing.TB, ordinal int) driver.Device {
	t.Helper()
	if ordinal >= h.count {
		t.Skipf("there are %d devices", h.count)
	}
	d, err := h.backend.Open(context.Background(), ordinal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ok(t, d.Close()) })
	return d
}

// need skips the test on hardware that lacks a capability. The simulated device must have all of
// them.
func (h *Harness) need(t testing.TB, d driver.Device, caps driver.Caps) {
	t.Helper()
	if missing := caps &^ d.Info().Caps; missing != 0 {
		if h.sim != nil {
			t.Fatalf("the simulated device lacks %q", missing)
		}
		t.Skipf("the device lacks %q", missing)
	}
}

// kindsOf returns the kinds of memory that the device has.
func kindsOf(d driver.Device) []driver.Kind {
	if d.Info().Caps.Has(driver.CapShared) {
		return kinds
	}
	return kinds[:2]
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newStream(t testing.TB, d driver.Device) driver.Stream {
	t.Helper()
	s, err := d.NewStream(driver.StreamOptions{})
	ok(t, err)
	t.Cleanup(func() {
		// A stream may be closed only when its work is done.
		if err := s.Sync(); err == nil {
			ok(t, s.Close())
		} else {
			_ = s.Close()
		}
	})
	return s
}

func newEvent(t testing.TB, d driver.Device, timing bool) driver.Event {
	t.Helper()
	e, err := d.NewEvent(driver.EventOptions{Timing: timing})
	ok(t, err)
	t.Cleanup(func() { ok(t, e.Close()) })
	return e
}

func alloc(t testing.TB, d driver.Device, kind driver.Kind, size uint64) driver.Memory {
	t.Helper()
	m, err := d.Alloc(kind, size, 0)
	ok(t, err)
	t.Cleanup(func() { ok(t, m.Free()) })
	return m
}

func region(m driver.Memory, off, n uint64) driver.Region {
	return driver.Region{Mem: m, Off: off, Len: n}
}

func whole(m driver.Memory) driver.Region { return region(m, 0, m.Size()) }

func random(seed uint64, n int) []byte {
	rng := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(n)})
	b := make([]byte, n)
	_, _ = rng.Read(b)
	return b
}

func at(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// hostBytes returns host-visible memory as a slice.
func hostBytes(m driver.Memory) []byte {
	return unsafe.Slice((*byte)(m.HostPointer()), m.Size())
}

// write copies b to memory and waits.
func write(t testing.TB, s driver.Stream, r driver.Region, b []byte) {
	t.Helper()
	ok(t, s.CopyIn(r, at(b)))
	ok(t, s.Sync())
}

// read returns the memory's contents.
func read(t testing.TB, s driver.Stream, r driver.Region) []byte {
	t.Helper()
	b := make([]byte, r.Len)
	ok(t, s.CopyOut(at(b), r))
	ok(t, s.Sync())
	return b
}

func same(t testing.TB, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d bytes, want %d", what, len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s: byte %d of %d is %#x, want %#x", what, i, len(got), got[i], want[i])
		}
	}
}

// kind fails the test unless err is a *driver.Error of the kind want.
func kind(t testing.TB, err, want error) *driver.Error {
	t.Helper()
	e, isError := err.(*driver.Error)
	if !isError || e.Kind != want {
		t.Fatalf("error %v, want kind %v", err, want)
	}
	return e
}
