package wait

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/life"
	"github.com/go-halyard/halyard/internal/nap"
)

// Gates reports whether the stream supports gates.
func (s *Stream) Gates() bool {
	_, ok := s.Drv.(driver.Gater)
	return ok && s.dev.Info.Caps.Has(driver.CapGate)
}

func (s *Stream) gate() (driver.Gate, error) {
	g, ok := s.Drv.(driver.Gater)
	if !ok || !s.Gates() {
		return nil, s.dev.Failure("gate", driver.ErrUnsupported, "gates are not supported")
	}
	drv, err := g.Gate()
	return drv, s.dev.Check(err)
}

// ShutGate enqueues a gate that stays shut until the program opens it. It waits for frees under way. Frees.GateGoes has to be
// called just before the gate is opened.
func (s *Stream) ShutGate() (driver.Gate, error) {
	s.dev.frees.GateComes()
	g, err := s.gate()
	if err != nil {
		s.dev.frees.GateGoes()
	}
	return g, err
}

// ownGate is a gate that this package opens by itself.
type ownGate struct {
	driver.Gate
	frees *life.Frees
}

func (s *Stream) ownGate() (driver.Gate, error) {
	s.dev.frees.BridgeComes()
	g, err := s.gate()
	if err != nil {
		s.dev.frees.BridgeGoes()
		return nil, err
	}
	return &ownGate{g, s.dev.frees}, nil
}

func (g *ownGate) Open() error {
	err := g.Gate.Open()
	g.frees.BridgeGoes()
	return err
}

// WaitLatch makes later work of the stream wait until the latch is open. Without gates the call waits.
func (s *Stream) WaitLatch(l *life.Latch) error {
	if !s.Gates() {
		l.Wait()
		return nil
	}
	g, err := s.ownGate()
	if err != nil {
		return err
	}
	s.outer.Stay()
	l.Then(func() {
		_ = g.Open()
		s.outer.Leave()
	})
	return nil
}

// Wait makes later work of the stream wait for the event's work. The call blocks only if the event is of another driver and its work has
// not finished. Without gates it blocks until the work has finished. With gates it blocks for a moment (endsSoon), and, if the program
// holds a gate shut, until the frees under way have ended.
func (s *Stream) Wait(e *Event) error {
	if e.stream == s || e.Known() && e.err == nil {
		return nil
	}
	if e.dev == s.dev {
		return s.dev.Check(s.Drv.Wait(e.drv))
	}
	if e.dev.calls.Enter() {
		linked := s.dev.Links(e.dev, driver.PeerWait)
		var err error
		if linked {
			err = s.dev.Check(s.Drv.Wait(e.drv))
		}
		e.dev.calls.Leave()
		if linked {
			return err
		}
	}
	if done, _ := e.Done(); done || s.endsSoon(e) {
		return nil
	}
	if !s.Gates() {
		_, _ = e.Wait(context.Background(), "wait")
		return nil
	}
	return s.bridge(e)
}

// A bridge costs several calls of the driver and two wake-ups. In a chain of short steps one bridge makes the step so late that the next
// wait needs a bridge as well. So endsSoon first waits briefly: short work ends meanwhile. After each further wait in vain in a row, more
// bridges are made without waiting.
const (
	brief      = 200 * time.Microsecond
	mostAsked  = 1 << 14 // if the clock stands still, as in package synctest
	mostInVain = 6       // from then on, 64 bridges are made without waiting after each wait in vain
)

// briefly counts the waits of endsSoon that were in vain, and the bridges that are made without such a wait.
type briefly struct {
	inVain atomic.Uint32 // in a row
	skip   atomic.Int32  // bridges that are made without waiting
}

// endsSoon waits for the event briefly, and reports whether its work has ended.
func (s *Stream) endsSoon(e *Event) bool {
	if s.short.skip.Add(-1) >= 0 {
		return false
	}
	s.short.skip.Store(0)
	o := &e.stream.bridges
	var w nap.Waiter
	for range mostAsked {
		o.ask()
		if done, _ := e.Done(); done {
			s.short.inVain.Store(0)
			return true
		}
		w.Rest(context.Background())
		if w.Since() > brief || e.unanswered.n.Load() > 0 { // a driver that fails to answer is asked rarely
			break
		}
	}
	s.short.skip.Store(1 << min(s.short.inVain.Add(1), mostInVain))
	return false
}

// ask opens the oldest bridge if its event's work has ended.
func (o *bridges) ask() {
	if o.shut.Load() == 0 {
		return
	}
	o.mu.Lock()
	b := o.list.next
	if b == nil || b == &o.list || b.event.unanswered.n.Load() > 0 {
		o.mu.Unlock()
		return
	}
	b.event.Retain()
	o.mu.Unlock()
	_, _ = b.event.Done() // which opens it
	b.event.Release()
}

// bridge makes a stream wait for work of another backend: a gate that is opened when the work has ended.
type bridge struct {
	stream *Stream
	event  *Event // the bridge holds a reference until the gate is opened
	gate   driver.Gate
	nth    uint64 // number of the bridge on its stream, from 1

	prev, next *bridge // in the stream's list, nil once the gate is opened
}

// bridges holds those bridges of a stream whose gates are still shut. A goroutine that synchronises with the stream waits for their
// events and opens the gates itself. That is quicker than being woken through two other goroutines.
type bridges struct {
	made atomic.Uint64 // bridges made so far
	shut atomic.Int64  // bridges whose gates are shut

	mu   sync.Mutex
	list bridge // head of the list, the oldest first
}

// bridge makes later work of the stream wait for the event.
func (s *Stream) bridge(e *Event) error {
	g, err := s.ownGate()
	if err != nil {
		return err
	}
	b := &bridge{stream: s, event: e, gate: g}
	e.Retain()
	s.outer.Stay()
	o := &s.bridges
	o.shut.Add(1)
	o.mu.Lock()
	head := &o.list
	if head.next == nil {
		head.prev, head.next = head, head
	}
	b.nth = o.made.Add(1)
	b.prev, b.next = head.prev, head
	b.prev.next, head.prev = b, b
	o.mu.Unlock()
	e.mu.Lock()
	known := e.Known()
	if !known {
		e.bridges = append(e.bridges, b)
		e.dev.watch.poll(e)
	}
	e.mu.Unlock()
	if known {
		b.open()
	}
	return nil
}

// open opens the gate, once.
func (b *bridge) open() {
	o := &b.stream.bridges
	o.mu.Lock()
	first := b.next != nil
	if first {
		b.prev.next, b.next.prev = b.next, b.prev
		b.prev, b.next = nil, nil
	}
	o.mu.Unlock()
	if !first {
		return
	}
	_ = b.gate.Open() // the bridge does not report errors; those of the work are reported by the event
	o.shut.Add(-1)
	b.stream.outer.Leave()
	b.event.Release()
}

// help waits for the events of the bridges numbered up to made and opens their gates. It stops when ctx ends.
func (o *bridges) help(ctx context.Context, made uint64) {
	for o.shut.Load() > 0 {
		o.mu.Lock()
		b := o.list.next
		if b == nil || b == &o.list || b.nth > made {
			o.mu.Unlock()
			return
		}
		b.event.Retain()
		o.mu.Unlock()
		over, _ := b.event.Wait(ctx, "help")
		b.event.Release()
		if !over {
			return
		}
		b.open()
	}
}
