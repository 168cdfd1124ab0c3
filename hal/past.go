package hal

import (
	"sync"
	"sync/atomic"
)

// past says for which work of other streams all later work of a stream waits. It saves waits: if stream A waits for an event of B that was
// recorded after B waited for C, then A need not wait for C as well. Programs that enqueue far ahead would do so often: a stream that
// overwrites what another stream has read usually also reads what that stream has made since.
type past struct {
	mu   sync.Mutex
	some atomic.Bool // whether it is not empty
	passed
}

// passed lists streams, each with the number of its last record that is waited for.
type passed struct {
	n    int
	list [pastMost]struct{ stream, upTo uint64 }
}

// pastMost is how many streams are remembered. With one more, the stream that was added first is forgotten, which costs at most a needless wait.
const pastMost = 6

// streams counts the streams made so far.
var streams atomic.Uint64

// point is where in the order of its stream an event was recorded. Events that goroutines record at the same time have no order.
type point struct {
	nth    uint64 // number of the stream
	before uint64 // how many records of the stream had returned when this one began
	after  uint64 // how many had returned when this one had
	passed passed // what the stream waited for when the record began
}

// follows reports whether p was recorded after q on the same stream, so that the work of p does not end before that of q.
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

// behind reports whether later work of the stream waits for the point already.
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

// follow notes that later work of the stream waits for the point.
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

// snapshot copies to l what later work of the stream waits for.
func (st *streamState) snapshot(l *passed) {
	if !st.past.some.Load() {
		return
	}
	st.past.mu.Lock()
	l.n = copy(l.list[:], st.past.list[:st.past.n])
	st.past.mu.Unlock()
}
