package conformance

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-halyard/halyard/hal"
)

var streamOrderChecks = []Check{
	{Name: "FIFO", Rule: "A stream runs its work in the order in which it was enqueued.", run: fifo},
	{Name: "FillCopyFillChain", Rule: "Fills and copies of one stream see each other's results in order.", run: fillCopyFillChain},
	{Name: "SyncDrains", Rule: "When Sync returns, all work that was enqueued before the call has finished.", run: syncDrains},
	{Name: "SyncHonoursContext", Rule: "Sync gives up when its context ends, with ErrNotReady and the context's error.", Needs: hal.CapGate, run: syncHonoursContext},
	{Name: "QueryBusyThenIdle", Rule: "Done reports false while work is held by a gate and true when it has finished.", Needs: hal.CapGate, run: queryBusyThenIdle},
	{Name: "GateHoldsWork", Rule: "Work behind a shut gate does not start; work before it does.", Needs: hal.CapGate, run: gateHoldsWork},
	{Name: "GatesInAnyOrder", Rule: "Gates can be opened before the stream reaches them, in any order, and more than once.", Needs: hal.CapGate, run: gatesInAnyOrder},
	{Name: "TwoStreamsIndependent", Rule: "A stream behind a shut gate does not delay another stream.", Needs: hal.CapGate, run: twoStreamsIndependent},
	{Name: "NoImplicitDefaultStreamSync", Rule: "A stream behind a shut gate does not delay new streams, events or blocking copies.", Needs: hal.CapGate, run: noImplicitSync},
	{Name: "AllocDoesNotWait", Rule: "A stream behind a shut gate does not delay an allocation.", Needs: hal.CapGate, run: allocDoesNotWait},
	{Name: "Burst", Rule: "Thousands of operations that are enqueued without a wait in between run in order.", run: burst},
	{Name: "EveryKindInOrder", Rule: "Copies and fills of every kind of memory, and of few bytes, begin when their turn has come, and not earlier.", Needs: hal.CapGate, run: everyKindInOrder},
	{Name: "EveryWorkOnce", Rule: "Every kind of work is over when an event after it is done, and is not done again later.", takesPeer: true, run: everyWorkOnce},
	{Name: "LongQueueDoesNotWait", Rule: "Thousands of operations can be enqueued behind a shut gate.", Needs: hal.CapGate, run: longQueue},
	{Name: "OneBlockedSyncBlocksNobodyElse", Rule: "A goroutine that waits in Sync does not block calls on its stream or on another one.", Needs: hal.CapGate, run: oneBlockedSync},
	{Name: "SyncCoversEarlierWorkOnly", Rule: "Event.Sync does not wait for work that is enqueued after the event was recorded.", Needs: hal.CapGate, run: syncCoversEarlierWork},
	{Name: "StreamSyncCoversEarlierWorkOnly", Rule: "Stream.Sync does not wait for work that is enqueued after the call.", Needs: hal.CapGate, run: streamSyncCoversEarlierWork},
	{Name: "PrioritiesClamped", Rule: "Streams of any priority can be made and work.", run: prioritiesClamped},
}

func fifo(t *trial) {
	const size = 4096
	s := t.stream(t.dev)
	model := t.random(size)
	m := t.filled(t.dev, model)
	steps := t.Size(300, 150)
	arena := t.hostBytes(steps * size / 2)
	type read struct{ got, want []byte }
	var reads []read
	for _, gated := range []bool{false, true} {
		if gated && !t.dev.Caps().Has(hal.CapGate) {
			continue
		}
		letGo := func() {}
		if gated {
			if i := t.dev.Info(); !i.Simulated && !i.SharesHostMemory {
				steps = 30 // hardware queues have a limited length, and calls wait while they are full
			}
			g := t.shut(s)
			letGo = func() { t.letGo(g) }
		}
		for i := range steps {
			n := 1 + t.rng.IntN(1<<(1+t.rng.IntN(11)))
			off, host := t.rng.IntN(size-n), arena[i*size/2:][:n]
			switch t.rng.IntN(4) {
			case 0:
				copy(host, t.random(n))
				t.must(s.CopyIn(region(m, off, n), host), "copy in")
				copy(model[off:], host)
			case 1:
				p := hal.Pattern8(uint8(t.rng.IntN(256)))
				t.must(s.Fill(region(m, off, n), p), "fill")
				copy(model[off:], repeated(p, n))
			case 2:
				from, to := t.rng.IntN(size/2-n+1), size/2+t.rng.IntN(size/2-n+1)
				t.must(s.Copy(region(m, to, n), region(m, from, n)), "copy")
				copy(model[to:], model[from:from+n])
			default:
				t.must(s.CopyOut(host, region(m, off, n)), "copy out")
				reads = append(reads, read{host, slices.Clone(model[off : off+n])})
			}
		}
		letGo()
		t.sync(s)
		for i, r := range reads {
			t.same(r.got, r.want, "read %d, gated %t", i, gated)
		}
		reads = nil
		t.same(t.all(m), model, "at the end, gated %t", gated)
	}
}

func fillCopyFillChain(t *trial) {
	n := t.Size(1<<20, 100_000)
	s := t.stream(t.dev)
	a, b := t.memory(t.dev, hal.KindDevice, n), t.memory(t.dev, hal.KindDevice, n)
	for i := range t.Size(20, 6) {
		p := hal.Pattern8(uint8(2*i + 1))
		out, after := make([]byte, n), make([]byte, n)
		t.must(s.Fill(a.All(), p), "fill")
		t.must(s.Copy(b.All(), a.All()), "copy")
		t.must(s.Fill(a.All(), hal.Pattern8(uint8(2*i+2))), "fill")
		t.must(s.CopyOut(out, b.All()), "copy out")
		t.must(s.CopyOut(after, a.All()), "copy out")
		t.sync(s)
		t.same(out, repeated(p, n), "round %d: what was copied between two fills", i)
		t.same(after, repeated(hal.Pattern8(uint8(2*i+2)), n), "round %d: the second fill", i)
	}
}

func syncDrains(t *trial) {
	n := t.Size(4<<20, 1<<20)
	s := t.stream(t.dev)
	m, o := t.memory(t.dev, hal.KindDevice, n), t.memory(t.dev, hal.KindDevice, n)
	out := make([]byte, n)
	for i := range t.Size(20, 10) {
		p := hal.Pattern8(uint8(i + 1))
		t.must(s.Fill(m.All(), p), "fill")
		t.must(s.Copy(o.All(), m.All()), "copy")
		t.must(s.CopyOut(out, o.All()), "copy out")
		t.sync(s)
		t.idle(s, "after Sync")
		t.same(out[n-64:], repeated(p, 64), "round %d: the last bytes", i)
		t.same(out[:64], repeated(p, 64), "round %d: the first bytes", i)
	}
	t.sync(s)
}

func syncHonoursContext(t *trial) {
	s := t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, 64)
	g := t.shut(s)
	t.must(s.Fill(m.All(), hal.Pattern8(5)), "fill")
	short, cancel := context.WithTimeout(t.ctx, time.Millisecond)
	defer cancel()
	err := s.Sync(short)
	t.wantKind(err, hal.ErrNotReady, "sync with a deadline")
	t.want(errors.Is(err, context.DeadlineExceeded), "%q does not wrap context.DeadlineExceeded", err)
	gone, cancel := context.WithCancel(t.ctx)
	cancel()
	err = s.Sync(gone)
	t.wantKind(err, hal.ErrNotReady, "sync with a context that has ended")
	t.want(errors.Is(err, context.Canceled), "%q does not wrap context.Canceled", err)
	t.busy(s, "the stream after Sync gave up")
	t.letGo(g)
	t.sync(s)
	t.same(t.all(m), repeated(hal.Pattern8(5), 64), "after the gate was opened")
}

func queryBusyThenIdle(t *trial) {
	s := t.stream(t.dev)
	t.idle(s, "a new stream")
	m := t.memory(t.dev, hal.KindDevice, 64)
	for range 3 {
		g := t.shut(s)
		t.must(s.Fill(m.All(), hal.Zero), "fill")
		t.busy(s, "a stream held shut")
		t.letGo(g)
		t.eventually(func() bool {
			done, err := s.Done()
			t.must(err, "query")
			return done
		}, "the stream is idle")
		t.sync(s)
		t.idle(s, "after Sync")
	}
}

func gateHoldsWork(t *trial) {
	s, o := t.stream(t.dev), t.stream(t.dev)
	before := t.random(64)
	m := t.filled(t.dev, before)
	t.must(s.Fill(region(m, 0, 32), hal.Pattern8(1)), "fill")
	first := t.recorded(s)
	g := t.shut(s)
	t.must(s.Fill(region(m, 16, 32), hal.Pattern8(2)), "fill")
	second := t.recorded(s)
	t.must(first.Sync(t.ctx), "wait for what is before the gate")
	t.busy(second, "what is behind the gate")
	out := t.hostBytes(64)
	t.must(o.CopyOut(out, m.All()), "copy out")
	t.sync(o)
	copy(before, repeated(hal.Pattern8(1), 32))
	t.same(out, before, "while the gate is shut")
	t.letGo(g)
	t.must(second.Sync(t.ctx), "wait for what is behind the gate")
	copy(before[16:], repeated(hal.Pattern8(2), 32))
	t.same(t.all(m), before, "when the gate is open")
}

func gatesInAnyOrder(t *trial) {
	s := t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, 4)
	var gates []*hal.Gate
	var events []*hal.Event
	for i := range 4 {
		gates = append(gates, t.shut(s))
		t.must(s.Fill(region(m, i, 1), hal.Pattern8(uint8(i+1))), "fill")
		events = append(events, t.recorded(s))
	}
	t.letGo(gates[2])
	t.busy(events[0], "the first of four gates is shut")
	t.letGo(gates[0])
	t.must(events[0].Sync(t.ctx), "the first gate is open")
	t.busy(events[1], "the second gate is shut")
	t.letGo(gates[1])
	t.must(events[2].Sync(t.ctx), "three gates are open")
	t.busy(events[3], "the last gate is shut")
	t.letGo(gates[3])
	t.letGo(gates[3])
	t.sync(s)
	t.same(t.all(m), []byte{1, 2, 3, 4}, "behind four gates")
}

func twoStreamsIndependent(t *trial) {
	a, b := t.stream(t.dev), t.stream(t.dev)
	m, o := t.memory(t.dev, hal.KindDevice, 64), t.memory(t.dev, hal.KindDevice, 64)
	for _, pair := range [][2]*hal.Stream{{a, b}, {b, a}} {
		g := t.shut(pair[0])
		t.must(pair[0].Fill(m.All(), hal.Pattern8(1)), "fill")
		data := t.random(64)
		out := make([]byte, 64)
		t.must(pair[1].CopyIn(o.All(), data), "copy in")
		t.must(pair[1].CopyOut(out, o.All()), "copy out")
		t.sync(pair[1])
		t.same(out, data, "on the stream that is not held up")
		t.busy(pair[0], "the stream that is held shut")
		t.letGo(g)
		t.sync(a, b)
	}
}

func noImplicitSync(t *trial) {
	s, idle := t.stream(t.dev), t.stream(t.dev)
	held, m := t.memory(t.dev, hal.KindDevice, 64), t.memory(t.dev, hal.KindDevice, 100_000)
	g := t.shut(s)
	t.must(s.Fill(held.All(), hal.Pattern8(7)), "fill")
	for range 3 {
		b := t.random(100_000)
		t.put(m, 0, b)
		t.same(t.all(m), b, "written and read beside a stream that is held shut")
		t.must(idle.Fill(m.All(), hal.Zero), "fill on a stream made before")
		o := t.stream(t.dev)
		t.must(o.WaitEvent(t.recorded(idle)), "wait")
		t.must(t.recorded(o).Sync(t.ctx), "sync with an event")
		t.sync(o, idle)
		if t.dev.Caps().Has(hal.CapMemInfo) {
			_, _, err := t.dev.MemInfo()
			t.must(err, "memory information")
		}
	}
	t.busy(s, "the stream that is held shut")
	t.letGo(g)
	t.sync(s)
}

func allocDoesNotWait(t *trial) {
	s := t.stream(t.dev)
	held := t.memory(t.dev, hal.KindDevice, 64)
	g := t.shut(s)
	t.must(s.Fill(held.All(), hal.Pattern8(7)), "fill")
	for _, k := range kinds(t.dev) {
		b := t.random(100_000)
		m := t.memory(t.dev, k, len(b))
		t.put(m, 0, b)
		t.same(t.all(m), b, "%v memory allocated beside a stream that is held shut", k)
	}
	t.busy(s, "the stream that is held shut")
	t.letGo(g)
	t.sync(s)
}

func burst(t *trial) {
	const n, cells = 10_000, 64
	s := t.stream(t.dev)
	m := t.filled(t.dev, make([]byte, 8*cells))
	at := func(i int) hal.Region { return region(m, 8*(i%cells), 8) }
	// A value goes from cell to cell, and every cell is overwritten again and again.
	value := binary.LittleEndian.AppendUint64(nil, t.rng.Uint64())
	t.must(s.CopyIn(at(0), value), "copy in")
	for i := range n {
		t.must(s.Copy(at(i+1), at(i)), "copy %d", i)
		if i%cells > 2 {
			t.must(s.Fill(at(i), hal.Pattern64(uint64(i))), "fill %d", i)
		}
	}
	out := make([]byte, 8)
	t.must(s.CopyOut(out, at(n)), "copy out")
	t.sync(s)
	t.same(out, value, "after %d steps", n)
}

func oneBlockedSync(t *trial) {
	s, o := t.stream(t.dev), t.stream(t.dev)
	m, free := t.memory(t.dev, hal.KindDevice, 64), t.memory(t.dev, hal.KindDevice, 64)
	g := t.shut(s)
	t.must(s.Fill(m.All(), hal.Pattern8(1)), "fill")
	e := t.recorded(s)
	errs := make(chan error, 8)
	for range 4 {
		go func() { errs <- s.Sync(t.ctx) }()
		go func() { errs <- e.Sync(t.ctx) }()
	}
	for i := range 20 {
		out := make([]byte, 64)
		t.must(o.Fill(free.All(), hal.Pattern8(uint8(i))), "fill")
		t.must(o.CopyOut(out, free.All()), "copy out")
		t.sync(o)
		t.same(out, repeated(hal.Pattern8(uint8(i)), 64), "on another stream, round %d", i)
		t.must(s.Fill(m.All(), hal.Pattern8(uint8(i))), "enqueue on the stream that is waited for")
		t.recorded(s) // on the stream that is waited for
	}
	t.busy(s, "the stream that is waited for")
	select {
	case err := <-errs:
		t.Fatalf("a wait ended while the gate was shut: %v", err)
	default:
	}
	t.letGo(g)
	for range cap(errs) {
		t.must(arrives(t, errs, "the waits end"), "wait")
	}
	t.sync(s)
	t.same(t.all(m), repeated(hal.Pattern8(19), 64), "at the end")
}

func syncCoversEarlierWork(t *trial) {
	s := t.stream(t.dev)
	m := t.memory(t.dev, hal.KindDevice, 64)
	first := t.shut(s)
	t.must(s.Fill(m.All(), hal.Pattern8(1)), "fill")
	e := t.recorded(s)
	waited := make(chan error, 1)
	go func() { waited <- e.Sync(t.ctx) }()
	second := t.shut(s)
	t.must(s.Fill(m.All(), hal.Pattern8(2)), "fill")
	t.letGo(first)
	t.must(arrives(t, waited, "the event is done"), "wait for the event")
	t.busy(s, "the second gate is shut")
	t.letGo(second)
	t.sync(s)
	t.same(t.all(m), repeated(hal.Pattern8(2), 64), "at the end")
}

func prioritiesClamped(t *trial) {
	i := t.dev.Info()
	for _, p := range []int{0, i.LowPriority, i.HighPriority, i.LowPriority + 1, i.HighPriority - 1, 1 << 30, -1 << 30} {
		s, err := t.dev.NewStream(hal.WithPriority(p))
		t.must(err, "stream of priority %d", p)
		b := t.random(64)
		m := t.memory(t.dev, hal.KindDevice, 64)
		t.must(s.CopyIn(m.All(), b), "copy in")
		t.sync(s)
		t.same(t.all(m), b, "priority %d", p)
		t.must(s.Close(), "close")
	}
}

func everyKindInOrder(t *trial) {
	const n = 3000
	s, o := t.stream(t.dev), t.stream(t.dev)
	fill := func(v uint8) []byte { return repeated(hal.Pattern8(v), n) }
	for _, k := range kinds(t.dev) {
		for _, l := range kinds(t.dev) {
			m, other := t.memory(t.dev, k, n), t.memory(t.dev, l, n)
			t.put(m, 0, fill(1))
			t.put(other, 0, fill(2))
			in, out, later := t.hostBytes(n), t.hostBytes(n), t.hostBytes(n)
			copy(in, fill(3))
			small, few := t.hostBytes(4), t.hostBytes(4)
			copy(small, fill(9))
			g := t.shut(s)
			t.must(s.CopyOut(out, m.All()), "copy out")
			t.must(s.CopyIn(m.All(), in), "copy in")
			t.must(s.Copy(other.All(), m.All()), "copy")
			t.must(s.CopyIn(region(m, 0, 4), small), "copy in of few bytes")
			t.must(s.CopyOut(few, region(m, 0, 4)), "copy out of few bytes")
			t.must(s.Copy(region(other, 4, 3), region(m, 0, 3)), "copy of few bytes")
			t.must(s.Fill(m.All(), hal.Pattern8(4)), "fill")
			t.must(s.CopyOut(later, m.All()), "copy out")
			t.must(s.Fill(m.All(), hal.Pattern8(5)), "fill")
			t.busy(s, "work on %v memory and %v memory", k, l)
			t.same(out, make([]byte, n), "the host's bytes before the gate is open")
			// The other stream reads beside the gate.
			now, beside := t.hostBytes(n), t.hostBytes(n)
			t.must(o.CopyOut(now, m.All()), "copy out")
			t.must(o.CopyOut(beside, other.All()), "copy out")
			t.sync(o)
			t.same(now, fill(1), "%v memory before the gate is open", k)
			t.same(beside, fill(2), "%v memory that is copied to, before the gate is open", l)
			t.letGo(g)
			t.sync(s)
			t.same(out, fill(1), "%v memory, copied out before all else", k)
			t.same(few, fill(9)[:4], "few bytes of %v memory, copied in and out", k)
			t.same(later, fill(4), "%v memory, copied out between two fills", k)
			t.same(t.all(m), fill(5), "%v memory at the end", k)
			want := fill(3)
			copy(want[4:7], fill(9))
			t.same(t.all(other), want, "copied from %v to %v memory", k, l)
		}
	}
}

// everyWorkOnce enqueues each kind of work alone and waits for an event after it, then enqueues it once more with a fill behind it.
func everyWorkOnce(t *trial) {
	const n = 512
	s := t.stream(t.dev)
	for _, k := range kinds(t.dev) {
		data := t.random(n)
		dst, src, device := t.memory(t.dev, k, n), t.memory(t.dev, k, n), t.filled(t.dev, data)
		t.put(src, 0, data)
		pageable, locked := make([]byte, n), t.hostBytes(n)
		if h, err := t.memory(t.dev, hal.KindHost, n).Bytes(); err == nil {
			locked = h
		}
		copy(pageable, data)
		copy(locked, data)
		half := make([]byte, n) // copies of rows copy every other part of it
		copyRows(half, data, n/4, n/4, n/8, 4)
		rows := func(m *hal.Memory) hal.Pitched { return m.Pitched(0, n/4) }
		type work struct {
			what string
			do   func() error
		}
		works := []work{
			{"a fill", func() error { return s.Fill(dst.All(), hal.Pattern8(data[0])) }},
			{"a copy of the same kind", func() error { return s.Copy(dst.All(), src.All()) }},
			{"a copy from the device", func() error { return s.Copy(dst.All(), device.All()) }},
			{"a copy in", func() error { return s.CopyIn(dst.All(), pageable) }},
			{"a copy in of page-locked bytes", func() error { return s.CopyIn(dst.All(), locked) }},
			{"a copy of rows", func() error { return s.Copy2D(rows(dst), rows(src), n/8, 4) }},
			{"a copy of rows in", func() error { return s.CopyIn2D(rows(dst), pageable, n/4, n/8, 4) }},
		}
		if t.peer != nil && t.dev.CanAccessPeer(t.peer) {
			far := t.filled(t.peer, data)
			works = append(works, work{"a copy from a peer", func() error { return s.Copy(dst.All(), far.All()) }})
		}
		for _, w := range works {
			want := data
			switch {
			case w.what == "a fill":
				want = repeated(hal.Pattern8(data[0]), n)
			case strings.Contains(w.what, "rows"):
				want = half
			}
			t.put(dst, 0, make([]byte, n))
			t.must(w.do(), "%s", w.what)
			t.must(t.recorded(s).Sync(t.ctx), "sync with an event")
			t.same(t.all(dst), want, "%s, %v memory", w.what, k)
			t.must(w.do(), "%s", w.what)
			t.must(s.Fill(dst.All(), hal.Pattern8(0x44)), "fill")
			t.must(s.Fill(dst.Region(0, 1), hal.Pattern8(0x44)), "fill")
			t.sync(s)
			t.same(t.all(dst), repeated(hal.Pattern8(0x44), n), "%s and a fill after it, %v memory", w.what, k)
		}
		for _, out := range [][]byte{make([]byte, n), locked} {
			for what, do := range map[string]func() ([]byte, error){
				"a copy out":         func() ([]byte, error) { return data, s.CopyOut(out, src.All()) },
				"a copy of rows out": func() ([]byte, error) { return half, s.CopyOut2D(out, n/4, rows(src), n/8, 4) },
			} {
				clear(out)
				want, err := do()
				t.must(err, "%s", what)
				t.must(t.recorded(s).Sync(t.ctx), "sync with an event")
				t.same(out, want, "%s, %v memory", what, k)
				_, err = do()
				t.must(err, "%s", what)
				t.must(s.Fill(src.All(), hal.Pattern8(0x45)), "fill")
				t.sync(s)
				t.same(out, want, "%s and a fill of its source, %v memory", what, k)
				t.put(src, 0, data)
			}
		}
	}
}

func longQueue(t *trial) {
	if i := t.dev.Info(); !i.Simulated && !i.SharesHostMemory {
		t.Skipf("the queues of hardware may have an end: CUDA's calls wait from some 1,000 operations on")
	}
	const n, cells = 5000, 500
	s := t.stream(t.dev)
	m := t.filled(t.dev, make([]byte, cells))
	g := t.shut(s)
	enqueued := make(chan error, 1)
	go func() {
		for i := range n {
			if err := s.Fill(region(m, i%cells, 1), hal.Pattern8(uint8(i/cells+1))); err != nil {
				enqueued <- fmt.Errorf("operation %d: %w", i, err)
				return
			}
		}
		enqueued <- nil
	}()
	t.must(arrives(t, enqueued, fmt.Sprintf("%d operations are enqueued behind a shut gate", n)), "enqueue")
	t.busy(s, "the stream behind its gate")
	t.letGo(g)
	t.sync(s)
	t.same(t.all(m), repeated(hal.Pattern8(n/cells), cells), "after %d operations", n)
}

func streamSyncCoversEarlierWork(t *trial) {
	m := t.memory(t.dev, hal.KindDevice, 64)
	for _, c := range []struct {
		what string
		ctx  context.Context
	}{{"with a context that can end", t.ctx}, {"with a context that never ends", context.Background()}} {
		// Sync has to begin before later work is enqueued, and this test cannot see whether it did. So a try in which Sync does not
		// return shows nothing. There are several tries, each with more time than the one before, and Sync has to return in one of
		// them.
		ended := false
		for patience := time.Millisecond; !ended && patience < 5*time.Second; patience *= 2 {
			s, o := t.stream(t.dev), t.stream(t.dev)
			first := t.shut(s)
			t.must(s.Fill(m.All(), hal.Pattern8(1)), "fill")
			begun, waited := make(chan struct{}), make(chan error, 1)
			go func() {
				close(begun)
				waited <- s.Sync(c.ctx)
			}()
			arrives(t, begun, "a goroutine")
			for start := time.Now(); time.Since(start) < patience/4; {
				t.must(o.Fill(region(m, 0, 1), hal.Pattern8(1)), "fill")
				t.sync(o)
			}
			second := t.shut(s)
			t.must(s.Fill(m.All(), hal.Pattern8(2)), "fill")
			t.want(len(waited) == 0, "Sync %s returned before the work", c.what)
			t.letGo(first)
			timer := time.NewTimer(patience)
			select {
			case err := <-waited:
				t.must(err, "sync")
				ended = true
				t.busy(s, "later work")
			case <-timer.C:
			}
			timer.Stop()
			t.letGo(second)
			if !ended {
				t.must(arrives(t, waited, "Sync returns"), "sync")
			}
			t.sync(s)
		}
		t.want(ended, "Sync %s waited for work that was enqueued after the call", c.what)
	}
	t.same(t.all(m), repeated(hal.Pattern8(2), 64), "at the end")
}
