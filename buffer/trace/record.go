package trace

import (
	"slices"
	"sync"
	"time"
	"weak"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

// Span is one event with its end.
type Span struct {
	buffer.Event
	Track string    // where it is shown: "host", "cuda:0 in", "cuda:0 out"
	End   time.Time // At for what takes no time, or whose end could not be seen
}

// Recording is what happened between Record and Stop.
type Recording struct {
	mu     sync.Mutex
	stop   func()
	open   sync.WaitGroup
	begun  time.Time
	ended  time.Time
	spans  []Span
	latest map[weak.Pointer[hal.Stream]]time.Time // end of the last span of a stream, in which work is done in order
}

// Record begins to collect the events of all buffers. The recording holds every event in memory until
// it is dropped. Several can run at once.
func Record() *Recording {
	r := &Recording{begun: time.Now(), latest: map[weak.Pointer[hal.Stream]]time.Time{}}
	r.stop = buffer.Observe(r.observe)
	return r
}

// Stop ends the recording, after the copies that it has seen begin are done.
func (r *Recording) Stop() {
	r.stop()
	r.open.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended.IsZero() {
		r.ended = time.Now()
	}
}

// Spans returns what was recorded, in the order of its beginnings.
func (r *Recording) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	spans := slices.Clone(r.spans)
	slices.SortStableFunc(spans, func(a, b Span) int { return a.At.Compare(b.At) })
	return spans
}

func (r *Recording) observe(e buffer.Event) {
	stream := e.Stream
	e.Stream = nil // a recording keeps no stream from being closed or found leaked
	s := Span{Event: e, Track: track(e), End: e.At.Add(e.Took)}
	if stream == nil {
		r.add(s)
		return
	}
	r.open.Add(1)
	err := stream.Call(func() {
		defer r.open.Done()
		r.done(s, stream)
	})
	if err != nil {
		r.open.Done()
		r.add(s)
	}
}

func (r *Recording) add(s Span) {
	r.mu.Lock()
	r.spans = append(r.spans, s)
	r.mu.Unlock()
}

// done adds a copy that has just ended. It began when the one before it on the stream had ended.
func (r *Recording) done(s Span, stream *hal.Stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.End = time.Now()
	key := weak.Make(stream)
	if last := r.latest[key]; last.After(s.At) && last.Before(s.End) {
		s.At = last
	}
	if s.End.After(r.latest[key]) {
		r.latest[key] = s.End
	}
	r.spans = append(r.spans, s)
}

func track(e buffer.Event) string {
	switch {
	case e.Kind == buffer.EventCopy && e.To == "host":
		return e.From + " out"
	case e.Kind == buffer.EventCopy || e.Kind == buffer.EventFill && e.To != "host":
		return e.To + " in"
	}
	return e.To
}

// label says in a few words what a span is.
func (s *Span) label() string {
	switch s.Kind {
	case buffer.EventCopy:
		return s.From + " → " + s.To
	case buffer.EventFill:
		return "zeros → " + s.To
	}
	return s.Kind.String()
}

// tracks lists the tracks of spans, the host first.
func tracks(spans []Span) []string {
	var names []string
	for _, s := range spans {
		if !slices.Contains(names, s.Track) {
			names = append(names, s.Track)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == "host" || b != "host" && a < b:
			return -1
		}
		return 1
	})
	return names
}
