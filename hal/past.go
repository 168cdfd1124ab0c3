package hal

import (
	"sync"
	"sync/atomic"
)

// past is what later work of a stream is behind on other streams. With it a stream does not wait for what it waits for already by way of
// others. A program that goes on without waiting often would: a stream that writes what another has read is behind that mostly because it also reads
// what the other made afterwards.
type past struct {
	mu   sync.Mutex
	some atomic.Bool // whether it is not empty
	passed
}

// passed are the records of some streams up to a number each.
type passed struct {
	n    int
	list [pastMost]struct{ stream, upTo uint64 }
}

// pastMost is how many streams are remembered. Beyond that the one that was added first is forgotten, and waited for once more than need be.
const pastMost = 6

// streams counts the streams made so far.
var streams atomic.Uint64

// point is where in the order of its stream an event was recorded. Several that are recorded at the same moment have no order.
type point struct {
	nth           uint64 // number of the stream
	before, after uint64 // how many records of the stream had ended before this one began, and when it had ended
	passed        passed // what the stream was behind before the record began
}

// follows reports whether what p stands for has not ended before what q stands for.
func (p *point) follows(q *point) bool { return p.nth == q.nth && q.after <= p.before }

func (l *passed) add(stream, upTo uint64) {
	for i := range l.list[:l.n] {
		if x := &l.list[i]; x.stream == stream {
			x.upTo = max(x.upTo, upTo)
			return
		}
	}
	if l.n == len(l.list) {
		copy(l.list[:], l.list[1:])
		l.n--
	}
	l.list[l.n].stream, l.list[l.n].upTo = stream, upTo
	l.n++
}

// behind reports whether later work of the stream is behind the point already.
func (st *streamState) behind(p *point) bool {
	if !st.past.some.Load() {
		return false
	}
	st.past.mu.Lock()
	defer st.past.mu.Unlock()
	for i := range st.past.list[:st.past.n] {
		if x := &st.past.list[i]; x.stream == p.nth {
			return p.after <= x.upTo
		}
	}
	return false
}

// follow notes that later work of the stream is behind the point.
func (st *streamState) follow(p *point) {
	st.past.mu.Lock()
	defer st.past.mu.Unlock()
	for i := range p.passed.list[:p.passed.n] {
		if x := &p.passed.list[i]; x.stream != st.nth {
			st.past.add(x.stream, x.upTo)
		}
	}
	upTo := p.before
	if p.after == p.before+1 { // nobody else recorded at the same moment
		upTo = p.after
	}
	st.past.add(p.nth, upTo)
	st.past.some.Store(true)
}

// snapshot puts what later work of the stream is behind into l.
func (st *streamState) snapshot(l *passed) {
	if !st.past.some.Load() {
		return
	}
	st.past.mu.Lock()
	l.n = copy(l.list[:], st.past.list[:st.past.n])
	st.past.mu.Unlock()
}
