package conformance

import (
	"fmt"
	"slices"

	"github.com/go-halyard/halyard/hal"
)

var hostMemoryChecks = []Check{
	{Name: "PinnedRoundTrip", Rule: "The device sees what the host writes to page-locked memory, and the host sees what the device writes there.", run: pinnedRoundTrip},
	{Name: "RewrittenByHost", Rule: "Each copy from memory that the host can write brings what the host has written last.", run: rewrittenByHost},
	{Name: "PinnedReadInOrder", Rule: "A copy from or to page-locked bytes takes place in stream order: it sees what the work before it has written there.", Needs: hal.CapGate, run: pinnedInOrder},
	{Name: "RegisterUnregisterRegister", Rule: "Host memory can be registered, used, unregistered and registered again, and keeps its contents.", Needs: hal.CapRegister, run: registerAgain},
	{Name: "RegisteredKeepsBytes", Rule: "The device works on registered memory in place.", Needs: hal.CapRegister, run: registeredKeepsBytes},
	{Name: "DoubleRegisterRejected", Rule: "Registering memory that overlaps registered memory fails as busy and changes nothing.", Needs: hal.CapRegister, run: doubleRegister},
	{Name: "EmptyRegister", Rule: "An empty slice can be registered, and is memory of no bytes.", Needs: hal.CapRegister, run: emptyRegister},
	{Name: "SharedVisibleAfterSync", Rule: "In shared memory the host sees the device's writes after waiting for them, and the device sees the host's earlier writes.", Needs: hal.CapShared, run: sharedVisible},
	{Name: "KindQuery", Rule: "A memory reports its kind and behaves accordingly, and only a device without registered and shared memory hides page-locked memory from the host.", run: kindQuery},
	{Name: "AsyncFromPinnedDoesNotBlock", Rule: "Copies between device and page-locked memory are enqueued without waiting, and take place in stream order.", Needs: hal.CapGate | hal.CapAsyncCopy, run: asyncFromPinned},
}

func pinnedRoundTrip(t *trial) {
	for _, n := range []int{1, 4096, 100_001} {
		m, d := t.memory(t.dev, hal.KindHost, n), t.memory(t.dev, hal.KindDevice, n)
		s := t.stream(t.dev)
		b, c := t.random(n), t.random(n)
		t.onHost(m, func(v []byte) {
			t.want(len(v) == n, "the host sees %d of %d bytes", len(v), n)
			copy(v, b)
		})
		t.must(s.Copy(d.All(), m.All()), "copy to device memory")
		t.sync(s)
		t.same(t.all(d), b, "%d bytes that the host wrote", n)
		t.put(d, 0, c)
		t.must(s.Copy(m.All(), d.All()), "copy to page-locked memory")
		t.sync(s)
		t.onHost(m, func(v []byte) { t.same(v, c, "%d bytes that the device wrote", n) })
	}
}

// rewrittenByHost lets the host and the device write one memory in turn, and copies the same region each time.
func rewrittenByHost(t *trial) {
	const n = 70_000
	s := t.stream(t.dev)
	for _, k := range kinds(t.dev)[1:] {
		m, d, out := t.memory(t.dev, k, n), t.memory(t.dev, hal.KindDevice, n), make([]byte, n)
		for round := range 4 {
			b := t.random(n)
			t.onHost(m, func(v []byte) { copy(v, b) })
			t.must(s.Copy(d.All(), m.All()), "copy")
			t.must(s.CopyOut(out, m.All()), "copy out")
			t.sync(s)
			t.same(t.all(d), b, "round %d: copied from %v memory that the host has written", round, k)
			t.same(out, b, "round %d: copied out of %v memory that the host has written", round, k)
			t.onHost(m, func(v []byte) { v[n-1] ^= 0xff })
			t.must(s.Copy2D(d.Pitched(0, n/2), m.Pitched(0, n/2), n/2, 2), "copy rows")
			t.sync(s)
			b[n-1] ^= 0xff
			t.same(t.all(d), b, "round %d: rows of %v memory of which the host has written a byte", round, k)
		}
	}
}

// pinnedInOrder lets the device write page-locked bytes while a gate holds back the copies that follow.
func pinnedInOrder(t *trial) {
	s := t.stream(t.dev)
	for _, n := range []int{64, 4096, 300_000} {
		h := t.memory(t.dev, hal.KindHost, n)
		b := t.bytesOf(h)
		first, last := t.random(n), t.random(n)
		src, dst := t.filled(t.dev, first), t.filled(t.dev, last)
		clear(b)
		g := t.shut(s)
		t.must(s.Copy(h.All(), src.All()), "copy")
		t.must(s.CopyIn(dst.All(), b), "copy in")
		t.must(s.Fill(src.All(), hal.Pattern8(3)), "fill")
		t.must(s.CopyOut(b, src.All()), "copy out")
		t.busy(s, "work on page-locked memory")
		t.same(b, make([]byte, n), "%d page-locked bytes before the gate is open", n)
		t.letGo(g)
		t.sync(s)
		t.same(t.all(dst), first, "%d bytes copied in after the device had written them", n)
		t.same(b, repeated(hal.Pattern8(3), n), "%d bytes copied out at the end", n)
	}
}

// register registers b. The memory is closed at the end of the check at the latest.
func (t *trial) register(b []byte) *hal.Memory {
	m, err := t.dev.Register(b)
	t.must(err, "register %d bytes", len(b))
	t.Cleanup(func() { t.must(m.Close(), "unregister") })
	return m
}

func registerAgain(t *trial) {
	b := t.large(256 << 10)
	want := slices.Clone(b)
	d := t.memory(t.dev, hal.KindDevice, len(b))
	s := t.stream(t.dev)
	for round := range 3 {
		m := t.register(b)
		t.want(m.Size() == uint64(len(b)) && m.Kind() == hal.KindHost, "registered memory is %d bytes of %v memory", m.Size(), m.Kind())
		t.must(s.Copy(d.All(), m.All()), "copy")
		t.sync(s)
		t.must(m.Close(), "unregister, round %d", round)
		t.same(b, want, "round %d: the host's memory", round)
		t.same(t.all(d), want, "round %d: the copy", round)
		b[round]++
		want[round]++
	}
}

func registeredKeepsBytes(t *trial) {
	b := t.large(64 << 10)
	want := slices.Clone(b)
	m := t.register(b)
	s := t.stream(t.dev)
	t.must(s.Fill(region(m, 1000, 5000), hal.Pattern8(0x5e)), "fill")
	t.sync(s)
	t.onHost(m, func([]byte) {})
	copy(want[1000:], repeated(hal.Pattern8(0x5e), 5000))
	t.same(b, want, "registered memory after a fill")
}

func doubleRegister(t *trial) {
	b := t.large(64 << 10)
	m := t.register(b[8<<10 : 40<<10])
	s := t.stream(t.dev)
	for _, x := range [][2]int{{8 << 10, 40 << 10}, {0, 64 << 10}, {16 << 10, 20 << 10}, {0, 9 << 10}, {39 << 10, 41 << 10}} {
		t.refuses(hal.ErrBusy, fmt.Sprintf("[%d, %d) over [%d, %d)", x[0], x[1], 8<<10, 40<<10), func() error {
			again, err := t.dev.Register(b[x[0]:x[1]])
			if err == nil {
				_ = again.Close()
			}
			return err
		}, m)
	}
	t.must(s.Fill(m.All(), hal.Pattern8(1)), "fill the memory that is registered")
	t.sync(s)
	t.must(m.Close(), "unregister")
	t.must(t.register(b).Close(), "unregister what overlapped")
}

func emptyRegister(t *trial) {
	for _, b := range [][]byte{nil, {}, make([]byte, 8)[:0]} {
		t.noBytes(t.stream(t.dev), t.register(b))
	}
}

func sharedVisible(t *trial) {
	n := t.Size(1<<20, 100_000)
	m := t.memory(t.dev, hal.KindShared, n)
	s := t.stream(t.dev)
	for i := range 4 {
		p := hal.Pattern8(uint8(i + 1))
		t.must(s.Fill(m.All(), p), "fill")
		t.sync(s)
		t.onHost(m, func(v []byte) {
			t.same(v, repeated(p, n), "round %d: what the device wrote", i)
			v[i], v[n-1-i] = 0xA1, 0xA2
		})
		out := make([]byte, n)
		t.must(s.CopyOut(out, m.All()), "copy out")
		t.sync(s)
		want := repeated(p, n)
		want[i], want[n-1-i] = 0xA1, 0xA2
		t.same(out, want, "round %d: what the host wrote", i)
	}
}

func kindQuery(t *trial) {
	for _, k := range kinds(t.dev) {
		m := t.memory(t.dev, k, 4096)
		t.want(m.Kind() == k && m.Device() == t.dev, "%v memory has Kind %v and Device %s", k, m.Kind(), m.Device().Name())
		// A unified device may have memory that the host cannot access, as integrated GPUs of CUDA and HIP do.
		visible := k != hal.KindDevice || t.dev.Info().SharesHostMemory && m.HostPointer() != nil
		if k == hal.KindHost && m.HostPointer() == nil {
			visible = t.dev.Info().SharesHostMemory || t.dev.Caps()&(hal.CapRegister|hal.CapShared) != 0
		}
		b, err := m.Bytes()
		if visible {
			t.must(err, "host view of %v memory", k)
			t.want(len(b) == 4096 && m.HostPointer() != nil, "the host sees %d of 4096 bytes", len(b))
		} else {
			t.wantKind(err, hal.ErrUnsupported, "host view of %v memory", k)
		}
	}
}

func asyncFromPinned(t *trial) {
	n := t.Size(4<<20, 256<<10)
	s := t.stream(t.dev)
	d := t.memory(t.dev, hal.KindDevice, n)
	in, out := t.hostBytes(n), t.hostBytes(n)
	data := t.large(n)
	for i := range 3 {
		data[i]++
		copy(in, data)
		clear(out)
		g := t.shut(s)
		t.must(s.CopyIn(d.All(), in), "copy in")
		t.must(s.CopyOut(out, d.All()), "copy out")
		t.busy(s, "copies behind a shut gate")
		t.same(out[:64], make([]byte, 64), "round %d: before the gate is open", i)
		t.letGo(g)
		t.sync(s)
		t.same(out, data, "round %d", i)
	}
}
