package cudahiptest

import (
	"context"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

// The tests of this file run on libraries that do less than the vendors' own, as HIP-CPU and chipStar do.

// unansweredQuestions: the library does not answer questions about a device's identity and attributes.
func unansweredQuestions(h *Harness, t *testing.T) {
	h.set(t, simgpu.Without, uint64(simgpu.LackAnswers), 0)
	h.reset(t, 1)
	infos, err := h.New().Devices(context.Background())
	ok(t, err)
	if len(infos) != 2 {
		t.Fatalf("%d devices, want 2", len(infos))
	}
	for _, info := range infos {
		if info.UUID != (driver.UUID{}) || info.PCI != "" {
			t.Errorf("UUID %v and address %v, which the library did not report", info.UUID, info.PCI)
		}
		if info.Caps.Has(driver.CapGate) != h.HostGates {
			t.Errorf("gates: %t, want %t", !h.HostGates, h.HostGates)
		}
	}
	d := h.open(t, 1)
	s, want := newStream(t, d), random(1, 1000)
	m := alloc(t, d, driver.KindDevice, 1000)
	write(t, s, whole(m), want)
	same(t, "contents", read(t, s, whole(m)), want)
}

// unansweredCalls: the library exports calls for which it only returns "not supported".
func unansweredCalls(h *Harness, t *testing.T) {
	h.set(t, simgpu.Without, uint64(simgpu.LackPointerQuery|simgpu.LackIPC), 0)
	h.reset(t, 1)
	d := h.open(t, 1)
	const gone = driver.CapPointerInfo | driver.CapIPC
	if caps := d.Info().Caps; caps&gone != 0 {
		t.Errorf("capabilities %q", caps)
	}
	infos, err := h.backend.Devices(context.Background())
	ok(t, err)
	if infos[1] != d.Info() {
		t.Errorf("listed: %+v\nopened: %+v", infos[1], d.Info())
	}
	_, err = d.(driver.PointerQuerier).PointerInfo(16)
	kind(t, err, driver.ErrUnsupported)
	s := newStream(t, d)
	for _, k := range kinds {
		owner := alloc(t, d, k, 1000)
		m, err := d.(driver.Importer).Import(k, owner.Handle(), 1000)
		ok(t, err)
		want := random(uint64(k), 1000)
		write(t, s, whole(m), want)
		same(t, "what an adopted memory writes", read(t, s, whole(owner)), want)
		ok(t, m.Free())
	}
}

// lessAligned: the library aligns memory to 16 bytes only.
func lessAligned(h *Harness, t *testing.T) {
	h.set(t, simgpu.Without, uint64(simgpu.LackAlignment), 0)
	h.reset(t, 1)
	d := h.open(t, 0)
	s := newStream(t, d)
	most := d.Info().MaxAlign
	for _, align := range []uint64{0, 1, 16, 256, 512, 4096, most} {
		for _, k := range []driver.Kind{driver.KindDevice, driver.KindHost, driver.KindShared, 0} {
			const size = 10_000
			var m driver.Memory
			var err error
			if k == 0 {
				m, err = s.(driver.StreamAllocator).AllocAsync(size, align)
			} else {
				m, err = d.Alloc(k, size, align)
			}
			ok(t, err)
			if want := max(align, d.Info().Alignment); uint64(m.Handle())%want != 0 {
				t.Errorf("%v memory aligned to %d is at %#x", k, align, m.Handle())
			}
			// The simulated library would report a copy past the end of the allocation.
			want := random(align, size)
			write(t, s, whole(m), want)
			same(t, "contents", read(t, s, whole(m)), want)
			if p := m.HostPointer(); p != nil {
				same(t, "the host's view", unsafe.Slice((*byte)(p), size), want)
			}
			ok(t, m.Free())
		}
	}
}

// nullAddress: the library returns success and a null address, which is no memory.
func nullAddress(h *Harness, t *testing.T) {
	h.reset(t, 1)
	h.set(t, simgpu.Without, uint64(simgpu.LackAddress), 0)
	h.calm(t, 1)
	d := h.open(t, 0)
	s := newStream(t, d)
	for _, k := range kinds {
		for _, align := range []uint64{0, 4096} {
			_, err := d.Alloc(k, 1000, align)
			kind(t, err, driver.ErrOutOfMemory)
		}
	}
	_, err := s.(driver.StreamAllocator).AllocAsync(1000, 0)
	kind(t, err, driver.ErrOutOfMemory)
	if _, err = s.(driver.Gater).Gate(); !h.HostGates {
		kind(t, err, driver.ErrOutOfMemory)
	}
}

// neverRecorded: the library always reports an event that was never recorded as not ready.
func neverRecorded(h *Harness, t *testing.T) {
	h.set(t, simgpu.Without, uint64(simgpu.LackFreshEvents), 0)
	h.reset(t, 1)
	d := h.open(t, 0)
	e, s := newEvent(t, d, false), newStream(t, d)
	if done, err := e.Query(); !done || err != nil {
		t.Errorf("an event that was never recorded: %t, %v", done, err)
	}
	ok(t, e.Sync())
	ok(t, s.Wait(e))
	ok(t, s.Sync())
	ok(t, s.Record(e))
	ok(t, e.Sync())
	if done, err := e.Query(); !done || err != nil {
		t.Errorf("an event whose work is done: %t, %v", done, err)
	}
	// Closing a device waits for its recorded events.
	open, err := hal.OpenWith(context.Background(), h.New(), 1)
	ok(t, err)
	os, err := open.NewStream()
	ok(t, err)
	recorded, err := os.Record()
	ok(t, err)
	ok(t, recorded.Close())
	ok(t, os.Close())
	ok(t, open.Close())
}

// Integrated lists everything that a library for integrated devices may lack: separate device memory, and the alignments, calls and
// answers that the backends do not need.
const Integrated = simgpu.LackDiscreteMemory | simgpu.LackAlignment | simgpu.LackPointerQuery | simgpu.LackIPC | simgpu.LackFreshEvents

// HostCalls tests host functions on a library that does not support the newer call for them.
func HostCalls(t *testing.T, h *Harness) {
	h.start(t)
	h.set(t, simgpu.Without, uint64(simgpu.LackHostLaunch), 0)
	t.Run("CallsBack", func(t *testing.T) { streamCallsBack(h, t) })
	t.Run("CopiesOfABusyStream", func(t *testing.T) { copyPageableBusy(h, t) })
	t.Run("LostDevice", func(t *testing.T) { lostDevice(h, t) })
}

// ConformanceWithout runs the shared suite in short mode on a simulated library that lacks something.
func ConformanceWithout(t *testing.T, h *Harness, codes cudahip.Codes, lack simgpu.Lack) {
	h.start(t)
	h.set(t, simgpu.Without, uint64(lack), 0)
	h.reset(t, 1)
	suite := h.Suite(codes)
	suite.Short = true
	conformance.Run(t, suite)
}
