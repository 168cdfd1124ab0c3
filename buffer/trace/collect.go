package trace

import (
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// patience is the longest time for which Close waits for copies under way.
const patience = 10 * time.Second

// collector makes spans of events.
type collector struct {
	stop  func()
	asked func(span)  // called when work is enqueued on a stream
	done  func(span)  // called when the span has ended
	place func(place) // called before a place is first named

	mu      sync.Mutex
	ids     uint64
	places  map[string]bool
	streams map[weak.Pointer[hal.Stream]]*queue
	most    int                 // forget is called when there are that many streams
	numbers map[string]*numbers // numbers of the streams of each place
	open    int                 // spans of streams that have not ended
	idle    chan struct{}       // closed when no span is open and no new one can begin
	closed  bool
}

// queue has the spans of one stream that have not ended, in order.
type queue struct {
	place  string
	number int
	last   time.Time // end of the latest span that is done
	spans  []span
}

// numbers assigns numbers to the streams of a place.
type numbers struct {
	last int
	free []int // numbers of streams that have been forgotten, in falling order
}

func (n *numbers) take() int {
	if k := len(n.free) - 1; k >= 0 {
		number := n.free[k]
		n.free = n.free[:k]
		return number
	}
	n.last++
	return n.last
}

func collect(asked, done func(span), place func(place)) *collector {
	c := &collector{asked: asked, done: done, place: place, places: map[string]bool{},
		streams: map[weak.Pointer[hal.Stream]]*queue{}, most: fewStreams, numbers: map[string]*numbers{}, idle: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.see("host", nil)
	c.stop = buffer.Observe(c.observe)
	return c
}

// see reports a place once; c.mu is held.
func (c *collector) see(name string, dev *hal.Device) {
	if c.places[name] || name == "" {
		return
	}
	c.places[name] = true
	p := place{Name: name}
	if dev != nil {
		info := dev.Info()
		p.Title, p.Simulated = info.Model, info.Simulated
	}
	c.place(p)
}

func (c *collector) observe(e buffer.Activity) {
	stream, caller := e.Stream, e.Site()
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.see(e.From, e.FromDevice)
	c.see(e.To, e.ToDevice)
	c.ids++
	s := span{Activity: e, Begin: e.At, End: e.At, Place: "host", Caller: caller, ID: c.ids}
	// A trace must not keep a stream alive, so that leaked streams are still found.
	s.Activity.Stream, s.FromDevice, s.ToDevice = nil, nil, nil
	if stream == nil {
		s.End = e.At.Add(e.Took)
		switch e.Kind {
		case buffer.ActivityAlloc, buffer.ActivityFree, buffer.ActivityEvict:
			s.Place = e.To
		}
		c.done(s)
		c.mu.Unlock()
		return
	}
	q := c.queue(stream)
	s.Place, s.Stream = q.place, q.number
	if e.Kind == buffer.ActivityCopy || e.Kind == buffer.ActivityFill {
		c.asked(s)
	}
	q.spans = append(q.spans, s)
	c.open++
	c.mu.Unlock()
	if err := stream.OnDone(func() { c.finish(q, s.ID, time.Now()) }); err != nil {
		c.finish(q, s.ID, time.Time{})
	}
}

func (c *collector) queue(stream *hal.Stream) *queue {
	key := weak.Make(stream)
	q := c.streams[key]
	if q == nil {
		if len(c.streams) >= c.most {
			c.forget()
		}
		dev := stream.Device()
		c.see(dev.Name(), dev)
		n := c.numbers[dev.Name()]
		if n == nil {
			n = &numbers{}
			c.numbers[dev.Name()] = n
		}
		q = &queue{place: dev.Name(), number: n.take()}
		c.streams[key] = q
	}
	return q
}

// fewStreams is the number of streams at which forget is called for the first time.
const fewStreams = 16

// forget drops the streams that are closed or garbage collected and whose work is done. It is called again when there are twice as many
// streams as it left.
func (c *collector) forget() {
	for key, q := range c.streams {
		if s := key.Value(); len(q.spans) > 0 || s != nil && layer.Err(s) == nil {
			continue
		}
		delete(c.streams, key)
		n := c.numbers[q.place]
		n.free = append(n.free, q.number)
	}
	for _, n := range c.numbers {
		slices.SortFunc(n.free, func(a, b int) int { return b - a })
	}
	c.most = max(fewStreams, 2*len(c.streams))
}

// finish ends a span of a stream and all spans before it: a stream does its work in order, but callbacks may
// come in any order. The zero time means that the end is not known.
func (c *collector) finish(q *queue, id uint64, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(q.spans, func(s span) bool { return s.ID == id })
	if i < 0 {
		return
	}
	for _, s := range q.spans[:i+1] {
		if q.last.After(s.Begin) {
			s.Begin = q.last
		}
		if !at.IsZero() { // it has finished; what it waited for on other streams is not its own time
			if t := s.Reached(); t.After(s.Begin) {
				s.Begin = t
			}
		}
		s.End = s.Begin
		if at.After(s.End) {
			s.End = at
		}
		q.last = s.End
		c.done(s)
		c.open--
	}
	q.spans = slices.Delete(q.spans, 0, i+1)
	if c.open == 0 && c.closed {
		close(c.idle)
	}
}

// close ends the collection. It waits for open spans, for at most patience.
func (c *collector) close() {
	c.stop()
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		<-c.idle
		return
	}
	c.closed = true
	if c.open == 0 {
		close(c.idle)
	}
	c.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-c.idle:
		return
	case <-timer.C:
	}
	c.mu.Lock()
	var stuck []*queue
	for _, q := range c.streams {
		if len(q.spans) > 0 {
			stuck = append(stuck, q)
		}
	}
	c.mu.Unlock()
	for _, q := range stuck {
		c.mu.Lock()
		id := uint64(0)
		if n := len(q.spans); n > 0 {
			id = q.spans[n-1].ID
		}
		c.mu.Unlock()
		c.finish(q, id, time.Time{})
	}
}

// words describes a span in a few words.
func words(s *span) string {
	switch s.Kind {
	case buffer.ActivityCopy:
		return s.From + " → " + s.To
	case buffer.ActivityFill:
		return "zeros → " + s.To
	case buffer.ActivityWait:
		return "wait for " + s.Why
	case buffer.ActivityUse:
		return "use: " + s.Cause
	}
	return s.Kind.String()
}
