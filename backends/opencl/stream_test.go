//go:build opencl

package opencl

import (
	"bytes"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

func TestCopiesReachEveryByteAndNoOther(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s := newStream(t, p)
		for _, kind := range kinds(p) {
			for _, n := range []int{1, 3, 63, 64, 65, 4095, 4096, 4097, 1<<20 + 1} {
				size := uint64(n + 64)
				a, b := alloc(t, p, kind, size), alloc(t, p, driver.KindDevice, size)
				base, src := ramp(n+64, 1), ramp(n, 99)
				for _, off := range []uint64{0, 1, 7} {
					write(t, s, whole(a), base)
					write(t, s, whole(b), base)
					want := bytes.Clone(base)
					copy(want[off:], src)

					write(t, s, part(a, off, uint64(n)), src)
					same(t, "after copying in", read(t, s, whole(a)), want)
					same(t, "copied out", read(t, s, part(a, off, uint64(n))), src)
					ok(t, s.Copy(part(b, off+3, uint64(n)), part(a, off, uint64(n))))
					copy(want, base)
					copy(want[off+3:], src)
					same(t, "after copying", read(t, s, whole(b)), want)
				}
				closeAll(t, a, b)
			}
		}
		closeAll(t, s)
	})
}

func TestCopyInsideOneMemory(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s, m := newStream(t, p), alloc(t, p, driver.KindDevice, 300)
		want := ramp(300, 5)
		write(t, s, whole(m), want)
		ok(t, s.Copy(part(m, 100, 100), part(m, 0, 100)))
		ok(t, s.Copy(part(m, 0, 50), part(m, 250, 50)))
		copy(want[100:200], want[:100])
		copy(want[:50], want[250:])
		same(t, "memory", read(t, s, whole(m)), want)
		closeAll(t, m, s)
	})
}

func TestFillRepeatsItsPattern(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s := newStream(t, p)
		for _, kind := range kinds(p) {
			m := alloc(t, p, kind, 4096)
			for _, width := range []uint64{1, 2, 4, 8} {
				for _, off := range []uint64{0, width, 5 * width} {
					for _, n := range []uint64{width, 7 * width, 256} {
						want := ramp(4096, 3)
						write(t, s, whole(m), want)
						const bits = 0x8877665544332211
						ok(t, s.Fill(part(m, off, n), driver.Pattern{Bits: bits, Width: uint8(width)}))
						for i := range n {
							want[off+i] = byte(uint64(bits) >> (8 * (i % width)))
						}
						same(t, "memory", read(t, s, whole(m)), want)
					}
				}
			}
			closeAll(t, m)
		}
		closeAll(t, s)
	})
}

func TestWorkRunsInOrder(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s, m := newStream(t, p), alloc(t, p, driver.KindDevice, 8)
		steps := make([]byte, 2000)
		for i := range steps {
			ok(t, s.Fill(part(m, 0, 8), driver.Pattern{Bits: uint64(i), Width: 1}))
			ok(t, s.CopyOut(unsafe.Pointer(&steps[i]), part(m, 7, 1)))
		}
		ok(t, s.Sync())
		for i := range steps {
			if steps[i] != byte(i) {
				t.Fatalf("step %d saw %d", i, steps[i])
			}
		}
		closeAll(t, m, s)
	})
}

// gated shuts a gate on the stream. It skips the test where there are none.
func gated(t testing.TB, s *stream) driver.Gate {
	t.Helper()
	need(t, s.dev, driver.CapGate)
	g, err := s.Gate()
	ok(t, err)
	return g
}

func wantDone(t testing.TB, want bool, query func() (bool, error)) {
	t.Helper()
	done, err := query()
	if err != nil {
		t.Fatal(err)
	}
	if done != want {
		t.Fatalf("done is %t, want %t", done, want)
	}
}

func TestGateHoldsOneStream(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s, other, m := newStream(t, p), newStream(t, p), alloc(t, p, driver.KindDevice, 4)
		write(t, s, whole(m), []byte{1, 1, 1, 1})
		wantDone(t, true, s.Query)
		g := gated(t, s)
		ok(t, s.Fill(whole(m), driver.Pattern{Bits: 2, Width: 1}))
		e := newEvent(t, p, false)
		ok(t, s.Record(e))
		wantDone(t, false, s.Query)
		wantDone(t, false, e.Query)
		same(t, "while the gate is shut", read(t, other, whole(m)), []byte{1, 1, 1, 1})
		ok(t, g.Open())
		ok(t, s.Sync())
		wantDone(t, true, s.Query)
		wantDone(t, true, e.Query)
		same(t, "after it opened", read(t, other, whole(m)), []byte{2, 2, 2, 2})
		closeAll(t, e, m, s, other)
	})
}

// Copies neither wait for the gate nor for each other, whatever memory they touch.
func TestEnqueueDoesNotWait(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s, m, host := newStream(t, p), alloc(t, p, driver.KindDevice, 1<<20), alloc(t, p, driver.KindHost, 1<<20)
		src, dst := ramp(1<<20, 1), make([]byte, 1<<20)
		g := gated(t, s)
		ok(t, s.CopyIn(whole(m), unsafe.Pointer(&src[0])))
		ok(t, s.Copy(whole(host), whole(m)))
		ok(t, s.CopyOut(unsafe.Pointer(&dst[0]), whole(host)))
		e := newEvent(t, p, false)
		ok(t, s.Record(e))
		wantDone(t, false, e.Query)
		ok(t, g.Open())
		ok(t, e.Sync())
		same(t, "copied", dst, src)
		closeAll(t, e, m, host, s)
	})
}

// Two gates: a Sync that starts between them returns when the first one opens.
func TestSyncDoesNotWaitForLaterWork(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		for _, native := range []bool{false, true} {
			s, m := newStream(t, p), alloc(t, p, driver.KindDevice, 4)
			if native {
				s.Handle()
			}
			first := gated(t, s)
			ok(t, s.Fill(whole(m), driver.Pattern{Width: 1}))
			// The tail is what Sync waits for; taking it now leaves no race with the work below.
			cl, err := s.tail("test")
			ok(t, err)
			second := gated(t, s)
			synced := make(chan error)
			go func() { synced <- s.dev.await("test", cl) }()
			ok(t, first.Open())
			ok(t, <-synced)
			wantDone(t, false, s.Query)
			p.t.releaseEvent(cl)
			ok(t, second.Open())
			ok(t, s.Sync())
			closeAll(t, m, s)
		}
	})
}

func TestOneBlockedSyncBlocksNobodyElse(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s, other, m := newStream(t, p), newStream(t, p), alloc(t, p, driver.KindDevice, 4)
		g := gated(t, s)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if err := s.Sync(); err != nil {
					t.Error(err)
				}
			})
		}
		write(t, other, whole(m), []byte{1, 2, 3, 4})
		ok(t, s.Fill(whole(m), driver.Pattern{Width: 1}))
		wantDone(t, false, s.Query)
		ok(t, g.Open())
		wg.Wait()
		ok(t, s.Sync())
		same(t, "memory", read(t, other, whole(m)), make([]byte, 4))
		closeAll(t, m, s, other)
	})
}

// What the program enqueues on the queue itself counts as work of the stream, for each method that tells
// about it, whatever was called before.
func TestNativeWorkIsSeen(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		need(t, p.device, driver.CapGate) // what holds up the program's own work holds up the stream
		var markers atomic.Int32
		marker := p.t.marker
		p.t.marker = func(queue uintptr) (uintptr, status) {
			markers.Add(1)
			return marker(queue)
		}
		for what, observe := range map[string]func(s *stream) (done func() bool){
			"Query": func(s *stream) func() bool {
				return func() bool {
					done, err := s.Query()
					ok(t, err)
					return done
				}
			},
			"Record": func(s *stream) func() bool {
				e := newEvent(t, p, false)
				t.Cleanup(func() { _ = e.Close() })
				ok(t, s.Record(e))
				return func() bool {
					done, err := e.Query()
					ok(t, err)
					return done
				}
			},
			"Call": func(s *stream) func() bool {
				var called atomic.Bool
				ok(t, s.OnDone(func() { called.Store(true) }))
				return called.Load
			},
			"Sync": func(s *stream) func() bool {
				var synced atomic.Bool
				go func() {
					if err := s.Sync(); err != nil {
						t.Error(err)
					}
					synced.Store(true)
				}()
				return synced.Load
			},
		} {
			s, m := newStream(t, p), alloc(t, p, driver.KindDevice, 4)
			write(t, s, whole(m), []byte{1, 1, 1, 1})
			queue := s.Handle()
			wantIdle(t, s)
			markers.Store(0)
			gate, st := p.t.createUserEvent(p.ctx.cl)
			ok(t, p.check("test", "clCreateUserEvent", st))
			ev, st := p.t.barrier(queue, gate)
			ok(t, p.check("test", "clEnqueueBarrierWithWaitList", st))
			p.t.releaseEvent(ev)
			done := observe(s)
			for range 10 {
				if done() {
					t.Errorf("%s does not wait for the program's own work", what)
				}
				runtime.Gosched()
			}
			if n := markers.Load(); what == "Query" && n > 1 {
				t.Errorf("Query left %d markers in a busy queue", n)
			}
			ok(t, p.check("test", "clSetUserEventStatus", p.t.setUserEvent(gate, execComplete)))
			p.t.releaseEvent(gate)
			for !done() {
				runtime.Gosched()
			}
			wantIdle(t, s)
			closeAll(t, m, s)
		}
	})
}

// wantIdle queries until the stream is idle: with work of the program's own a marker has to pass.
func wantIdle(t testing.TB, s *stream) {
	t.Helper()
	for {
		done, err := s.Query()
		if err != nil {
			t.Fatal(err)
		}
		if done {
			return
		}
		runtime.Gosched()
	}
}

func TestCallRunsAfterTheWork(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s, m := newStream(t, p), alloc(t, p, driver.KindDevice, 4)
		done := make(chan struct{})
		entered := make(chan struct{})
		ok(t, s.OnDone(func() { // nothing to wait for
			<-entered
			close(done)
		}))
		close(entered)
		<-done

		g := gated(t, s)
		ok(t, s.Fill(whole(m), driver.Pattern{Bits: 9, Width: 1}))
		var opened atomic.Bool
		result := make(chan []byte, 1)
		ok(t, s.OnDone(func() {
			if !opened.Load() {
				t.Error("the function ran before the gate opened")
			}
			// It may use the backend, the same stream too.
			dst := make([]byte, 4)
			if err := s.CopyOut(unsafe.Pointer(&dst[0]), whole(m)); err != nil {
				t.Error(err)
			}
			if err := s.Sync(); err != nil {
				t.Error(err)
			}
			result <- dst
		}))
		opened.Store(true)
		ok(t, g.Open())
		same(t, "seen by the function", <-result, []byte{9, 9, 9, 9})

		const many = 200
		var wg sync.WaitGroup
		wg.Add(many)
		for range many {
			ok(t, s.Fill(whole(m), driver.Pattern{Width: 4}))
			ok(t, s.OnDone(wg.Done))
		}
		wg.Wait()
		ok(t, s.Sync())
		closeAll(t, m, s)
	})
}

// The work may have completed before the callback is asked for.
func TestCallRunsAfterWorkThatIsDone(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s, e := newStream(t, p), newEvent(t, p, true)
		ok(t, s.Record(e))
		ok(t, e.Sync())
		done := make(chan struct{})
		ok(t, s.OnDone(func() { close(done) }))
		<-done
		closeAll(t, e, s)
	})
}

func TestManyGoroutinesOnManyStreams(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		shared := newStream(t, p)
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				s := newStream(t, p)
				e := newEvent(t, p, g%2 == 0)
				for i := range 10 {
					runtime.Gosched()
					m := alloc(t, p, driver.KindDevice, 1000)
					src := ramp(1000, byte(g*16+i))
					dst := make([]byte, 1000)
					if err := s.CopyIn(whole(m), unsafe.Pointer(&src[0])); err != nil {
						t.Error(err)
					}
					if err := s.Record(e); err != nil {
						t.Error(err)
					}
					if err := shared.Wait(e); err != nil {
						t.Error(err)
					}
					if err := shared.CopyOut(unsafe.Pointer(&dst[0]), whole(m)); err != nil {
						t.Error(err)
					}
					if err := shared.Sync(); err != nil {
						t.Error(err)
					}
					for k := range dst {
						if dst[k] != src[k] {
							t.Errorf("goroutine %d, round %d: byte %d is wrong", g, i, k)
							break
						}
					}
					if _, err := s.Query(); err != nil {
						t.Error(err)
					}
					if err := m.Free(); err != nil {
						t.Error(err)
					}
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		closeAll(t, shared)
	})
}

func TestPrefetchKeepsContents(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s := newStream(t, p)
		defer closeAll(t, s)
		if !p.info.Caps.Has(driver.CapPrefetch) {
			wantKind(t, s.Prefetch(driver.Region{}, true), driver.ErrUnsupported)
			return
		}
		m := alloc(t, p, driver.KindShared, 10000)
		want := ramp(10000, 8)
		write(t, s, whole(m), want)
		ok(t, s.Prefetch(part(m, 100, 5000), false))
		ok(t, s.Prefetch(whole(m), true))
		same(t, "memory", read(t, s, whole(m)), want)
		closeAll(t, m)
	})
}

// Work that is enqueued without end must not keep those who wait for earlier work, with the stream or
// with an event, from returning.
func TestFloodDoesNotDrownSync(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s, m, e := newStream(t, p), alloc(t, p, driver.KindDevice, 4096), newEvent(t, p, false)
		src := ramp(64, 1)
		var enqueued atomic.Int64
		var stop atomic.Bool
		var flood, waits sync.WaitGroup
		keepOn := func(call func() error) {
			for !stop.Load() {
				if err := call(); err != nil {
					t.Error(err)
					return
				}
				enqueued.Add(1)
				runtime.Gosched()
			}
		}
		flood.Go(func() { keepOn(func() error { return s.Fill(whole(m), driver.Pattern{Bits: 1, Width: 1}) }) })
		flood.Go(func() { keepOn(func() error { return s.CopyIn(part(m, 0, 64), unsafe.Pointer(&src[0])) }) })
		flood.Go(func() { keepOn(func() error { return s.Record(e) }) })
		flood.Go(func() { keepOn(func() error { _, err := s.Query(); return err }) })
		for _, wait := range []func() error{s.Sync, e.Sync, s.Sync} {
			waits.Go(func() {
				for i := range 10 {
					for enqueued.Load() < int64(i+1)*backlog && !t.Failed() {
						runtime.Gosched()
					}
					if err := wait(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		waits.Wait()
		stop.Store(true)
		flood.Wait()
		write(t, s, part(m, 0, 64), src)
		same(t, "memory", read(t, s, part(m, 0, 64)), src)
		closeAll(t, e, m, s)
	})
}

// Whatever others may come to wait for is sent to the device at once: queues of a GPU keep commands back.
func TestWorkIsFlushed(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		s, e, m := newStream(t, p), newEvent(t, p, false), alloc(t, p, driver.KindDevice, 64)
		flushed := 0
		inner := p.t.flush
		p.t.flush = func(queue uintptr) status {
			if queue == s.queue {
				flushed++
			}
			return inner(queue)
		}
		var gate driver.Gate
		done := make(chan struct{})
		for _, step := range []struct {
			what string
			call func() error
		}{
			{"Record", func() error { return s.Record(e) }},
			{"Query", func() error { _, err := s.Query(); return err }},
			{"Call", func() error { return s.OnDone(func() { close(done) }) }},
			{"Gate", func() error { gate = gated(t, s); return nil }},
		} {
			ok(t, s.Fill(whole(m), driver.Pattern{Width: 1}))
			flushed = 0
			ok(t, step.call())
			if flushed == 0 && step.what != "Call" { // which need not, if the work is done by then; if it is not, done never comes
				t.Errorf("%s did not flush the queue", step.what)
			}
		}
		<-done
		ok(t, gate.Open())
		ok(t, s.Sync())
		closeAll(t, e, m, s)
	})
}

func TestLongBacklogIsPaced(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		if !p.hw.cpu {
			t.Skip("only runtimes of CPUs need it")
		}
		s, m := newStream(t, p), alloc(t, p, driver.KindDevice, 64)
		fill := func() { ok(t, s.Fill(part(m, 0, 4), driver.Pattern{Width: 4})) }
		g := gated(t, s)
		for range backlog - 2 {
			fill()
		}
		if s.pacing.crowded.Load() {
			t.Error("a short backlog is held up")
		}
		for range backlog + 2 {
			fill()
		}
		if !s.pacing.crowded.Load() {
			t.Error("a long backlog is not held up")
		}
		ok(t, g.Open())
		ok(t, s.Sync())
		// Rusticl may call an earlier command done after a later one.
		if s.pacing.checkpoint != 0 {
			ok(t, s.dev.await("test", s.pacing.checkpoint))
		}
		fill()
		if s.pacing.crowded.Load() {
			t.Error("work is still held up although the backlog is gone")
		}
		ok(t, s.Sync())
		closeAll(t, m, s)
	})
}

// The event that a Sync waits for may be the checkpoint too, which has a reference of its own.
func TestCheckpointKeepsItsOwnReference(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		if !p.hw.cpu {
			t.Skip("only runtimes of CPUs need it")
		}
		s, m := newStream(t, p), alloc(t, p, driver.KindDevice, 64)
		for s.pacing.checkpoint == 0 {
			ok(t, s.Fill(part(m, 0, 4), driver.Pattern{Width: 4}))
		}
		ok(t, s.dev.await("test", s.last))
		s.mu.Lock()
		s.lent = s.last
		s.passCheckpoint()
		s.lent = 0
		s.mu.Unlock()
		ok(t, s.Sync())
		closeAll(t, m, s)
	})
}
