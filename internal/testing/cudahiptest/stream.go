package cudahiptest

import (
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

func streamCallsBack(h *Harness, t *testing.T) {
	h.seeds(t, 4, func(t *testing.T, seed uint64) {
		d := h.open(t, 0)
		s := newStream(t, d)
		m := alloc(t, d, driver.KindHost, 100)
		gate, err := s.(driver.Gater).Gate()
		ok(t, err)
		ok(t, s.Fill(whole(m), driver.Pattern{Bits: 7, Width: 1}))
		called := make(chan byte)
		resume := make(chan struct{})
		ok(t, s.(driver.Notifier).OnDone(func() {
			// A callback may block, and may use the backend.
			called <- hostBytes(m)[99]
			<-resume
			_, err := s.Query()
			if err == nil {
				_, _, err = d.MemInfo()
			}
			if err != nil {
				t.Error(err)
			}
			close(called)
		}))
		ok(t, gate.Open())
		if got := <-called; got != 7 {
			t.Errorf("the callback saw %d, want 7", got)
		}
		// Later work does not wait for the callback.
		ok(t, s.Fill(whole(m), driver.Pattern{Bits: 8, Width: 1}))
		ok(t, s.Sync())
		if got := hostBytes(m)[99]; got != 8 {
			t.Errorf("the stream did not go on: %d", got)
		}
		close(resume)
		<-called
	})
}

func streamClosesAlone(h *Harness, t *testing.T) {
	h.reset(t, 8)
	d := h.open(t, 0)
	other := newStream(t, d)
	g, err := other.(driver.Gater).Gate()
	ok(t, err)
	m := alloc(t, d, driver.KindDevice, 100)
	want, got := random(1, 100), make([]byte, 100)
	called := make(chan struct{})
	ok(t, other.CopyIn(whole(m), at(want))) // by host functions, since the stream is busy
	ok(t, other.CopyOut(at(got), whole(m)))
	ok(t, other.(driver.Notifier).OnDone(func() { close(called) }))

	s, err := d.NewStream(driver.StreamOptions{})
	ok(t, err)
	ok(t, s.(driver.Notifier).OnDone(func() {}))
	ok(t, s.Sync())
	ok(t, s.Close())
	select {
	case <-called:
		t.Fatal("closing a stream called another's function")
	default:
	}
	ok(t, g.Open())
	ok(t, other.Sync())
	<-called
	same(t, "after another stream was closed", got, want)
}

func gatesWithoutWaitValue(h *Harness, t *testing.T) {
	h.set(t, simgpu.Without, uint64(simgpu.LackWaitValue), 0)
	h.reset(t, 5)
	d := h.open(t, 0)
	if has := d.Info().Caps.Has(driver.CapGate); has != h.HostGates {
		t.Fatalf("gates: %t, want %t", has, h.HostGates)
	}
	if !h.HostGates {
		return
	}
	s := newStream(t, d)
	m := alloc(t, d, driver.KindDevice, 1000)
	g, err := s.(driver.Gater).Gate()
	ok(t, err)
	ok(t, s.Fill(whole(m), driver.Pattern{Bits: 3, Width: 1}))
	if done, err := s.Query(); done || err != nil {
		t.Fatalf("the stream passed a shut gate: %t, %v", done, err)
	}
	ok(t, g.Open())
	ok(t, s.Sync())
}

func eventWrongDevice(h *Harness, t *testing.T) {
	h.reset(t, 7)
	a, b := h.open(t, 0), h.open(t, 1)
	ea, eb := newEvent(t, a, true), newEvent(t, b, true)
	_, err := ea.(driver.Timer).Elapsed(eb)
	kind(t, err, driver.ErrWrongDevice)
}
