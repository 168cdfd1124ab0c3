package hal

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
)

// bridge makes a stream wait for work of another backend: a gate that is opened when the work has ended.
type bridge struct {
	stream *streamState
	event  *eventState // the bridge holds a reference until the gate is opened
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
func (st *streamState) bridge(e *eventState) error {
	g, err := st.gate()
	if err != nil {
		return err
	}
	b := &bridge{stream: st, event: e, gate: g}
	e.retain()
	st.Stay()
	o := &st.over
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
	known := e.known()
	if !known {
		e.gates = append(e.gates, b)
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
	o := &b.stream.over
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
	b.stream.Leave()
	b.event.release()
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
		b.event.retain()
		o.mu.Unlock()
		over, _ := b.event.wait(ctx, "help")
		b.event.release()
		if !over {
			return
		}
		b.open()
	}
}
