package cudahiptest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

func copyPageableBusy(h *Harness, t *testing.T) {
	h.seeds(t, 3, func(t *testing.T, seed uint64) {
		d := h.open(t, 0)
		s := newStream(t, d)
		for _, k := range kindsOf(d) {
			const size = 9<<20 + 5 // several pieces
			m := alloc(t, d, k, size)
			small, want := random(1, 100), random(2, size)
			out, smallOut := make([]byte, size), make([]byte, 100)
			again := alloc(t, d, k, size)

			gate, err := s.(driver.Gater).Gate()
			ok(t, err)
			// If one of these waited for the gate, the test would hang.
			ok(t, s.CopyIn(region(m, 50, 100), at(small)))
			ok(t, s.CopyOut(at(smallOut), region(m, 50, 100)))
			ok(t, s.CopyIn(whole(m), at(want)))
			ok(t, s.CopyOut(at(out), whole(m)))
			ok(t, s.CopyIn(whole(again), at(out))) // reads what the copy before it wrote
			if done, err := s.Query(); done || err != nil {
				t.Fatalf("the stream passed a shut gate: %t, %v", done, err)
			}
			for _, b := range smallOut {
				if b != 0 {
					t.Fatal("the host's memory changed behind a shut gate")
				}
			}
			ok(t, gate.Open())
			ok(t, s.Sync())
			same(t, "a small copy", smallOut, small)
			same(t, "a large copy", out, want)
			same(t, "what came out and went in", read(t, s, whole(again)), want)
		}
	})
}

// copyPageableIdle copies sizes above and below the size that an idle stream reads at once, to the device and back. It
// then copies the result to the device again, while the stream is busy.
func copyPageableIdle(h *Harness, t *testing.T) {
	h.seeds(t, 3, func(t *testing.T, seed uint64) {
		d := h.open(t, 0)
		s := newStream(t, d)
		for _, k := range kindsOf(d) {
			for _, size := range []uint64{1, 256<<10 - 1, 256 << 10, 1<<20 + 1, 4 << 20, 4<<20 + 1, 9<<20 + 5} {
				m, again := alloc(t, d, k, size+20), alloc(t, d, k, size)
				around := bytes.Repeat([]byte{7}, 20)
				ok(t, s.Fill(whole(m), driver.Pattern{Bits: 7, Width: 1}))
				ok(t, s.Sync())
				want, out := random(size, int(size)), bytes.Repeat([]byte{3}, int(size)+2)
				ok(t, s.CopyIn(region(m, 9, size), at(want)))
				ok(t, s.Sync())
				ok(t, s.CopyOut(at(out[1:]), region(m, 9, size)))
				ok(t, s.CopyIn(whole(again), at(out[1:])))
				ok(t, s.Sync())
				same(t, fmt.Sprint(size, " bytes"), out, slices.Concat([]byte{3}, want, []byte{3}))
				same(t, fmt.Sprint(size, " bytes in again"), read(t, s, whole(again)), want)
				all := read(t, s, whole(m))
				same(t, "what lies around them", append(all[:9:9], all[9+size:]...), around)
			}
		}
	})
}

// copyPageableAtOnce copies from several goroutines on two streams.
func copyPageableAtOnce(h *Harness, t *testing.T) {
	h.seeds(t, 10, func(t *testing.T, seed uint64) {
		d := h.open(t, 0)
		streams := []driver.Stream{newStream(t, d), newStream(t, d)}
		var wg sync.WaitGroup
		for g := range uint64(6) {
			size := 200_000 + 300_000*g
			m := alloc(t, d, driver.KindDevice, size)
			wg.Go(func() {
				back := make([]byte, size)
				for round := range uint64(3) {
					s, want := streams[(g+round)%2], random(100*seed+10*g+round, int(size))
					err := s.CopyIn(whole(m), at(want))
					if err == nil {
						err = s.CopyOut(at(back), whole(m))
					}
					if err == nil {
						err = s.Sync()
					}
					if err != nil || !bytes.Equal(back, want) {
						t.Errorf("goroutine %d, round %d: %v, or wrong bytes", g, round, err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
}

// stagingIsKept closes streams that have staged copies, beside a stream that a gate holds. Freeing their staging memory
// would wait for that stream, so later streams must use the same staging memory.
func stagingIsKept(h *Harness, t *testing.T) {
	h.reset(t, 0)
	d := h.open(t, 0)
	m := alloc(t, d, driver.KindDevice, 1<<20)
	shut, err := newStream(t, d).(driver.Gater).Gate()
	ok(t, err)
	allocated := func() (n int) {
		for name, calls := range h.sim.Calls() {
			if strings.Contains(name, "HostAlloc") || strings.Contains(name, "HostMalloc") {
				n += calls
			}
		}
		return n
	}
	first := 0
	for i := range uint64(10) {
		s, err := d.NewStream(driver.StreamOptions{})
		ok(t, err)
		gate, err := s.(driver.Gater).Gate()
		ok(t, err)
		in, out := random(i, 1<<20), make([]byte, 1<<20)
		ok(t, s.CopyIn(whole(m), at(in)))
		ok(t, s.CopyOut(at(out), whole(m)))
		ok(t, gate.Open())
		ok(t, s.Sync())
		same(t, "through staging memory", out, in)
		ok(t, s.Close())
		if i == 0 {
			first = allocated()
		}
	}
	if n := allocated(); n != first || n == 0 {
		t.Errorf("%d allocations of page-locked memory for one stream, %d for ten", first, n)
	}
	ok(t, shut.Open())
}

// copyOnHostBusy copies and fills host memory behind a shut gate, where CUDA's own call would wait.
func copyOnHostBusy(h *Harness, t *testing.T) {
	h.seeds(t, 3, func(t *testing.T, seed uint64) {
		d := h.open(t, 0)
		s := newStream(t, d)
		const size = 1 << 16
		a, b := alloc(t, d, driver.KindHost, size), alloc(t, d, driver.KindHost, size)
		in, out := random(seed, size), make([]byte, size)
		gate, err := s.(driver.Gater).Gate()
		ok(t, err)
		ok(t, s.CopyIn(whole(a), at(in)))
		ok(t, s.Copy(whole(b), whole(a)))
		ok(t, s.Fill(region(b, 8, 16), driver.Pattern{Bits: 0x0807060504030201, Width: 8}))
		if r, is := s.(driver.Copier2D); is && d.Info().Caps.Has(driver.CapCopy2D) {
			ok(t, r.Copy2D(driver.Rect{Dst: driver.Pitched{Mem: b, Off: 1024, Pitch: 64}, Src: driver.Pitched{Mem: a, Pitch: 32}, Width: 16, Rows: 4}))
		}
		ok(t, s.CopyOut(at(out), whole(b)))
		if done, err := s.Query(); done || err != nil {
			t.Fatalf("the stream passed a shut gate: %t, %v", done, err)
		}
		ok(t, gate.Open())
		ok(t, s.Sync())
		want := bytes.Clone(in)
		for i := range 16 {
			want[8+i] = byte(1 + i%8)
		}
		if d.Info().Caps.Has(driver.CapCopy2D) {
			for row := range 4 {
				copy(want[1024+64*row:][:16], in[32*row:])
			}
		}
		same(t, "what came out", out, want)
	})
}

// copyRowsBusy copies thousands of rows of pageable memory in and out behind a shut gate. A call for each would fill the queue of a device.
func copyRowsBusy(h *Harness, t *testing.T) {
	d := h.open(t, 0)
	h.need(t, d, driver.CapCopy2D|driver.CapGate)
	s := newStream(t, d)
	const width, pitch, apart, rows = 48, 64, 80, 5000
	m := alloc(t, d, driver.KindDevice, pitch*rows)
	in, out := random(1, apart*rows), random(2, apart*rows)
	want := bytes.Clone(out)
	for row := range rows {
		copy(want[apart*row:][:width], in[apart*row:])
	}
	gate, err := s.(driver.Gater).Gate()
	ok(t, err)
	before := uint64(0)
	if h.sim != nil {
		before = h.sim.CallCount()
	}
	device := driver.Pitched{Mem: m, Pitch: pitch}
	ok(t, s.(driver.Copier2D).Copy2D(driver.Rect{Dst: device, Src: driver.Pitched{Host: at(in), Pitch: apart}, Width: width, Rows: rows}))
	ok(t, s.(driver.Copier2D).Copy2D(driver.Rect{Dst: driver.Pitched{Host: at(out), Pitch: apart}, Src: device, Width: width, Rows: rows}))
	if h.sim != nil {
		if n := h.sim.CallCount() - before; n > 40 {
			t.Errorf("%d calls of the driver", n)
		}
	}
	ok(t, gate.Open())
	ok(t, s.Sync())
	same(t, "rows", out, want)
}

// copyPartlyLocked copies host memory that is partly page-locked, which CUDA's own call refuses.
func copyPartlyLocked(h *Harness, t *testing.T) {
	h.seeds(t, 3, func(t *testing.T, seed uint64) {
		d := h.open(t, 0)
		s := newStream(t, d)
		const size = 1 << 16
		m := alloc(t, d, driver.KindDevice, size)
		buf := make([]byte, size+1<<14)
		buf = buf[-uintptr(at(buf))%4096:]
		for _, cut := range [][2]int{{0, size / 2}, {size / 2, size}, {4096, 8192}} {
			in, out := buf[:size], make([]byte, size)
			copy(in, random(seed, size))
			r, err := d.(driver.Registerer).Register(at(in[cut[0]:]), uint64(cut[1]-cut[0]))
			ok(t, err)
			ok(t, s.CopyIn(whole(m), at(in)))
			ok(t, s.CopyOut(at(out), whole(m)))
			ok(t, s.Sync())
			same(t, "through the device", out, in)
			clear(in)
			ok(t, s.CopyOut(at(in), whole(m)))
			ok(t, s.Sync())
			same(t, "back", in, out)
			ok(t, r.Free())
		}
	})
}

func copyPeers(h *Harness, t *testing.T) {
	h.reset(t, 7)
	a, b := h.open(t, 0), h.open(t, 1)
	const both = driver.PeerCopy | driver.PeerWait
	if h.sim == nil && a.(driver.Peering).PeerAccess(b) == driver.PeerWait {
		t.Skip("the devices do not reach each other")
	}
	if l := a.(driver.Peering).PeerAccess(b); l != both {
		t.Fatalf("link %b, want %b", l, both)
	}
	if h.sim != nil && h.sim.Calls()[h.PeerEnable] != 1 {
		t.Errorf("peer access was not enabled: %v", h.sim.Calls())
	}
	if l := b.(driver.Peering).PeerAccess(a); l != both {
		t.Fatalf("link back %b, want %b", l, both)
	}
	// Every device can use page-locked memory.
	locked, mb := alloc(t, a, driver.KindHost, 5000), alloc(t, b, driver.KindDevice, 5000)
	sb, want := newStream(t, b), random(5, 5000)
	copy(hostBytes(locked), want)
	ok(t, sb.Copy(whole(mb), whole(locked)))
	same(t, "from a peer's page-locked memory", read(t, sb, whole(mb)), want)

	other := h.open(t, 0)
	if l := a.(driver.Peering).PeerAccess(other); l != both {
		t.Errorf("link to another handle on the same device %b, want %b", l, both)
	}
	if l := a.(driver.Peering).PeerAccess(foreign{}); l != 0 {
		t.Errorf("link to another backend %b", l)
	}
}

// foreign is a device of another backend.
type foreign struct{ driver.Device }

func noPeers(h *Harness, t *testing.T) {
	h.set(t, simgpu.Without, uint64(simgpu.LackPeer), 0)
	h.reset(t, 1)
	a, b := h.open(t, 0), h.open(t, 1)
	if l := a.(driver.Peering).PeerAccess(b); l != driver.PeerWait {
		t.Errorf("link %b without peer access, want %b", l, driver.PeerWait)
	}
}

func fillUnaligned(h *Harness, t *testing.T) {
	h.reset(t, 12)
	d := h.open(t, 0)
	h.need(t, d, driver.CapRegister)
	s := newStream(t, d)
	b := make([]byte, 4096)
	for shift := range 8 {
		m, err := d.(driver.Registerer).Register(at(b[shift:]), 2048)
		ok(t, err)
		for _, p := range []driver.Pattern{{Bits: 0x0102, Width: 2}, {Bits: 0x01020304, Width: 4}, {Bits: 0x0102030405060708, Width: 8}} {
			clear(b)
			ok(t, s.Fill(region(m, 8, 800), p))
			ok(t, s.Sync())
			for i := range uint64(800) {
				if want := byte(p.Bits >> (8 * (i % uint64(p.Width)))); b[uint64(shift)+8+i] != want {
					t.Fatalf("shift %d, width %d: byte %d is %#x, want %#x", shift, p.Width, i, b[uint64(shift)+8+i], want)
				}
			}
			if b[shift+7] != 0 || b[shift+808] != 0 {
				t.Fatal("the fill touched a neighbour")
			}
		}
		ok(t, m.Free())
	}
}
