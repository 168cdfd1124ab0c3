//go:build opencl

package opencl

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

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

// A Sync whose own call fails does not make the stream idle.
func TestFailedSyncLeavesTheWork(t *testing.T) {
	everywhere(t, func(t *testing.T, p place) {
		for _, native := range []bool{false, true} {
			s, m := newStream(t, p), alloc(t, p, driver.KindDevice, 4)
			if native {
				s.Handle()
			}
			gate := gated(t, s)
			ok(t, s.Fill(whole(m), driver.Pattern{Width: 1}))
			wait := p.t.waitForEvent
			p.t.waitForEvent = func(uintptr) status { return outOfResources }
			err := s.Sync()
			p.t.waitForEvent = wait
			if err == nil {
				t.Fatal("the failed call returned no error")
			}
			wantDone(t, false, s.Query)
			ok(t, gate.Open())
			ok(t, s.Sync())
			for done := false; !done; { // where the program has the queue, Query enqueues a marker, which takes a moment
				done, err = s.Query()
				ok(t, err)
			}
			closeAll(t, m, s)
		}
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

// wantIdle queries until the stream is idle. If the program may have enqueued work itself, this
// needs more than one query.
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

// Work that others may wait for is flushed at once, because a GPU's queue keeps commands until it is
// flushed.
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
			if flushed == 0 && step.what != "Call" { // OnDone need not flush if the work is done; otherwise done would never be closed
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
