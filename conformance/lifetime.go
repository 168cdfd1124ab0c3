package conformance

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/go-halyard/halyard/hal"
)

var lifetimeChecks = []Check{
	{Name: "CloseDoesNotWait", Rule: "Closing an idle object does not wait for a stream behind a shut gate.", Needs: hal.CapGate, run: closeDoesNotWait},
	{Name: "CloseMemoryInFlight", Rule: "Memory that is closed while work uses it is freed after the last use, and not reused before.", Needs: hal.CapGate, run: closeMemoryInFlight},
	{Name: "CloseBytesInFlight", Rule: "Host memory that is closed while a copy uses its bytes is not freed until the copy is done.", Needs: hal.CapGate, run: closeBytesInFlight},
	{Name: "CloseStreamInFlight", Rule: "Closing a stream neither waits for its work nor stops it.", Needs: hal.CapGate, run: closeStreamInFlight},
	{Name: "CloseEventPending", Rule: "Closing an event does not change waits that are already enqueued.", Needs: hal.CapGate, run: closeEventPending},
	{Name: "CloseEverythingInFlight", Rule: "All objects can be closed while work is under way; the device closes when it is done.", Needs: hal.CapGate, run: closeEverythingInFlight},
	{Name: "CancelledSyncLeavesUsable", Rule: "After a cancelled wait the stream, the event and the memory can still be used.", Needs: hal.CapGate, run: cancelledSync},
	{Name: "CloseGivesContextsBack", Rule: "Closing the last handle on a device releases its contexts.", run: closeGivesContextsBack},
	{Name: "GoSliceMovesOrStays", Rule: "A Go slice handed to an asynchronous copy survives garbage collection until the copy is done.", run: goSliceStays},
	{Name: "StagedCopyOutlivesItsStreams", Rule: "CopyPeer completes although streams and memories are closed right after it.", NeedsPeer: true, Needs: hal.CapGate, run: stagedCopyOutlives},
	{Name: "IdleStreamsTakeNoGoroutine", Rule: "A stream or event whose work is done takes no goroutine.", run: idleStreamsTakeNoGoroutine},
	{Name: "ClosedObjectsAreForgotten", Rule: "Nothing of a stream, an event, a memory or a device stays in the process once it is closed.", run: closedObjectsForgotten},
	{Name: "ClosedMemoryLeavesTheProcess", Rule: "The bytes of closed memory of every kind go back to the machine, or are used again.", run: closedMemoryLeaves},
}

func closeGivesContextsBack(t *trial) {
	contexts := t.contexts()
	open := contexts()
	t.want(open > 0, "a device is open, but there is no context")
	t.must(t.dev.Close(), "close the device")
	before := contexts()
	t.want(before < open, "%d contexts while the device was open, %d after it was closed", open, before)
	t.want(before <= t.p.contexts, "%d contexts before the suite opened its first device, %d when all are closed", t.p.contexts, before)
	for range 2 {
		first, second := t.Open(), t.Open()
		for _, d := range []*hal.Device{first, second} {
			t.must(t.filled(d, t.random(64)).Close(), "close memory")
		}
		t.must(first.Close(), "close one handle")
		t.want(contexts() > before, "a device was opened, but there is no new context")
		t.must(second.Close(), "close the other handle")
		t.want(contexts() == before, "%d contexts before the device was opened, %d after it was closed", before, contexts())
	}
}

// contexts counts the vendor's contexts.
func (t *trial) contexts() func() int {
	if t.p.Contexts == nil {
		t.Skipf("contexts cannot be counted: Harness.Contexts is nil")
	}
	return t.p.Contexts
}

func closeDoesNotWait(t *trial) {
	s, idle := t.stream(t.dev), t.stream(t.dev)
	held := t.memory(t.dev, hal.KindDevice, 64)
	e := t.recorded(idle)
	var mems []*hal.Memory
	for _, k := range kinds(t.dev) {
		m := t.memory(t.dev, k, 10_000)
		t.must(idle.Fill(m.All(), hal.Zero), "fill")
		mems = append(mems, m)
	}
	if t.dev.Caps().Has(hal.CapRegister) {
		m, err := t.dev.Register(make([]byte, 10_000))
		t.must(err, "register")
		mems = append(mems, m)
	}
	t.sync(idle)
	g := t.shut(s)
	t.must(s.Fill(held.All(), hal.Zero), "fill")
	for _, m := range mems {
		t.must(m.Close(), "close %v memory", m.Kind())
	}
	t.must(e.Close(), "close event")
	t.must(idle.Close(), "close stream")
	t.busy(s, "the stream that is held shut")
	t.letGo(g)
	t.sync(s)
	t.eventually(func() bool { return t.dev.Usage().Pending == 0 }, "everything is given back")
}

func closeMemoryInFlight(t *trial) {
	const n = 8192
	s, o := t.stream(t.dev), t.stream(t.dev)
	out := t.hostBytes(n) // may be page-locked memory of the device
	before := t.dev.Usage().Held
	m := t.memory(t.dev, hal.KindDevice, n)
	g := t.shut(s)
	t.must(s.Fill(m.All(), hal.Pattern8(0x77)), "fill")
	t.must(s.CopyOut(out, m.All()), "copy out")
	t.must(m.Close(), "close")
	t.wantKind(s.Fill(m.All(), hal.Zero), hal.ErrClosed, "fill closed memory")
	// If the block were reused now, the new owner's bytes would be overwritten, or would overwrite those to be read.
	var later []*hal.Memory
	for range 8 {
		x := t.memory(t.dev, hal.KindDevice, n)
		t.must(o.Fill(x.All(), hal.Pattern8(0x11)), "fill")
		later = append(later, x)
	}
	t.sync(o)
	if u := t.dev.Usage(); u.Held != before+9*n || u.Pending != 1 {
		t.Errorf("while work uses closed memory: %+v, want %d bytes held and 1 pending", u, before+9*n)
	}
	t.letGo(g)
	t.sync(s)
	t.same(out, repeated(hal.Pattern8(0x77), n), "read from memory that was closed meanwhile")
	for i, x := range later {
		t.same(t.all(x), repeated(hal.Pattern8(0x11), n), "block %d, allocated meanwhile", i)
	}
	t.eventually(func() bool { u := t.dev.Usage(); return u.Held == before+8*n && u.Pending == 0 }, "the memory is given back")
}

func closeBytesInFlight(t *trial) {
	const n = 8192
	s := t.stream(t.dev)
	m, first := t.filled(t.dev, repeated(hal.Pattern8(1), n)), t.memory(t.dev, hal.KindDevice, 64)
	for _, in := range []bool{true, false} {
		h := t.memory(t.dev, hal.KindHost, n)
		b := t.bytesOf(h)
		copy(b, repeated(hal.Pattern8(2), n))
		t.must(s.CopyIn(first.All(), b[:64]), "copy in, earlier")
		t.sync(s)
		g := t.shut(s)
		if in {
			t.must(s.CopyIn(m.All(), b), "copy in")
		} else {
			t.must(s.CopyOut(b, m.All()), "copy out")
		}
		t.must(h.Close(), "close")
		if u := t.dev.Usage(); u.Pending != 1 {
			t.Errorf("while a copy uses the bytes of closed memory: %+v, want 1 pending", u)
		}
		t.letGo(g)
		t.sync(s)
		t.same(t.all(m), repeated(hal.Pattern8(2), n), "copied from bytes whose memory was closed meanwhile")
		t.eventually(func() bool { return t.dev.Usage().Pending == 0 }, "the memory is given back")
	}
}

func closeStreamInFlight(t *trial) {
	m := t.filled(t.dev, make([]byte, 64))
	out := t.hostBytes(64)
	s, o := t.stream(t.dev), t.stream(t.dev)
	g := t.shut(s)
	t.must(s.Fill(m.All(), hal.Pattern8(0x31)), "fill")
	t.must(s.CopyOut(out, m.All()), "copy out")
	e := t.recorded(s)
	t.must(o.WaitEvent(e), "wait")
	t.must(s.Close(), "close")
	t.wantKind(s.Fill(m.All(), hal.Zero), hal.ErrClosed, "fill on the closed stream")
	t.busy(e, "an event of a closed stream that is held shut")
	t.busy(o, "a stream that waits for the closed one")
	t.letGo(g)
	t.must(e.Sync(t.ctx), "sync with an event of the closed stream")
	t.sync(o)
	t.same(out, repeated(hal.Pattern8(0x31), 64), "read by a stream that was closed meanwhile")
	t.eventually(func() bool { return t.dev.Usage().Pending == 0 }, "the stream is given back")
}

func closeEventPending(t *trial) {
	s, o := t.stream(t.dev), t.stream(t.dev)
	m := t.filled(t.dev, make([]byte, 64))
	out := t.hostBytes(64)
	g := t.shut(s)
	t.must(s.Fill(m.All(), hal.Pattern8(0x21)), "fill")
	e := t.recorded(s)
	t.must(o.WaitEvent(e), "wait")
	t.must(e.Close(), "close")
	t.wantKind(o.WaitEvent(e), hal.ErrClosed, "wait for a closed event")
	t.must(o.CopyOut(out, m.All()), "copy out")
	t.busy(o, "a stream that waits for an event that was closed")
	t.letGo(g)
	t.sync(o)
	t.same(out, repeated(hal.Pattern8(0x21), 64), "what the waiting stream read")
	t.eventually(func() bool { return t.dev.Usage().Pending == 0 }, "the event is given back")
}

func closeEverythingInFlight(t *trial) {
	d := t.separate()
	m, s := t.memory(d, hal.KindDevice, 4096), t.stream(d)
	g := t.shut(s)
	out := t.hostBytes(4096)
	t.must(s.Fill(m.All(), hal.Pattern8(9)), "fill")
	t.must(s.CopyOut(out, m.All()), "copy out")
	e := t.recorded(s)
	t.must(m.Close(), "close memory")
	t.must(e.Close(), "close event")
	t.must(s.Close(), "close stream")
	t.wantKind(d.Close(), hal.ErrBusy, "close the device while its gate is shut")
	t.want(d.Usage().Held == 4096, "usage %+v while work is under way", d.Usage())
	t.letGo(g)
	closed := make(chan error, 1)
	go func() { closed <- d.Close() }()
	t.must(arrives(t, closed, "the device closes"), "close device")
	t.want(d.Usage().Held == 0 && d.Usage().Pending == 0, "usage %+v of a closed device", d.Usage())
	t.same(out, repeated(hal.Pattern8(9), 4096), "what the last copy read")
}

func cancelledSync(t *trial) {
	s := t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, 4096)
	data := t.hostBytes(4096)
	copy(data, t.random(4096))
	g := t.shut(s)
	t.must(s.CopyIn(m.All(), data), "copy in")
	e := t.recorded(s)
	for range 5 {
		short, cancel := context.WithTimeout(t.ctx, 100*time.Microsecond)
		t.wantKind(s.Sync(short), hal.ErrNotReady, "sync with a deadline")
		t.wantKind(e.Sync(short), hal.ErrNotReady, "event sync with a deadline")
		cancel()
	}
	out := t.hostBytes(4096)
	t.must(s.CopyOut(out, m.All()), "enqueue after a wait was given up")
	t.letGo(g)
	t.sync(s)
	t.same(out, data, "after waits that were given up")
	t.must(e.Sync(t.ctx), "event sync")
}

func goSliceStays(t *trial) {
	n := t.Size(1<<20, 1<<18)
	s := t.stream(t.dev)
	m, back := t.memory(t.dev, hal.KindDevice, n), t.memory(t.dev, hal.KindDevice, n)
	for range 3 {
		want := t.large(n)
		// Without CapOrderedPageable, CopyIn may read the slice during the call and wait for the gate, which nothing would open.
		letGo := func() {}
		if t.dev.Caps().Has(hal.CapGate | hal.CapOrderedPageable) {
			g := t.shut(s)
			letGo = func() { t.letGo(g) }
		}
		t.must(s.CopyIn(m.All(), slices.Clone(want)), "copy in") // no other reference to the slice is left
		t.must(s.Copy(back.All(), m.All()), "copy")
		for range 3 {
			runtime.GC()
			for range 8 {
				junk := make([]byte, n)
				for i := range junk {
					junk[i] = 0xEE
				}
				runtime.KeepAlive(junk)
			}
		}
		letGo()
		t.sync(s)
		t.same(t.all(back), want, "copied from a slice without other references")
	}
}

func stagedCopyOutlives(t *trial) {
	n := t.Size(9<<20, 300_000)
	data := t.large(n)
	src := t.memory(t.dev, hal.KindDevice, n)
	t.put(src, 0, data)
	dst := t.memory(t.peer, hal.KindDevice, n)
	a, b := t.stream(t.dev), t.stream(t.peer)
	g := t.shut(a)
	t.must(hal.CopyPeer(b, dst.All(), a, src.All()), "copy across")
	e := t.recorded(b)
	t.must(a.Close(), "close the source's stream")
	t.must(b.Close(), "close the destination's stream")
	t.must(src.Close(), "close the source")
	t.busy(e, "the copy")
	t.letGo(g)
	t.must(e.Sync(t.ctx), "sync")
	t.same(t.all(dst), data, "copied while everything was closed")
}
