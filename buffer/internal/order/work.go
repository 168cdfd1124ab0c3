// Package order keeps track of the earlier work on a replica: which of it a later access has to wait for, and how it has ended.
//
// A [Work] is work that was enqueued on a stream and may not have ended: a copy, or what a program enqueues between Acquire and Release.
// An [Order] has the Works of one replica, by the bytes that they write and read. It returns the Works that an access has to wait for,
// and says whether a Work on its bytes is known to have failed.
//
// A failure travels along the waits: a Work that reads bytes waits for the Works that wrote them, its sources, and fails if one of them
// fails. So a failure need not be reported to later work: each access asks the Work that last wrote its bytes.
package order

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// Work is all work that was enqueued on a stream up to one point. Its references are counted, and the last Release closes
// the event. It is safe for concurrent use.
type Work struct {
	Stream *hal.Stream
	keeps  bool // events of the stream keep failures (tellsLater)

	refs   atomic.Int32
	passed atomic.Bool // the stream has come to the end of the work
	ended  atomic.Bool // and the sources have ended as well
	of     Launches    // the launches whose failures are failures of the work
	last   uint64      // of these: the number of the stream's operations when they had been enqueued
	seq    uint64      // greater than that of every Work recorded on the stream before, unless two goroutines record at the same time

	mu      sync.Mutex
	event   *hal.Event   // nil if none was recorded; then the work has ended when the whole stream is idle
	sources []*Work      // the Works that wrote the bytes which it reads, without those known to have ended
	err     error        // the first error found so far; final once ended is set
	check   func() error // if not nil, it is called once after the stream's work has ended, and returns any further error
	depth   int          // length of the longest sequence of sources that leads to this Work
	joined  bool         // it has joined waiting; set before other goroutines know the Work
	place   int          // in waiting.list, counted from 1, 0 if the Work is not there; guarded by waiting.mu
}

// Launches are the launches of a Work whose stream knows which of its launches has failed (layer.FailureOf): those with the key after the
// first operations. The zero Launches means all work except launches that have a key.
type Launches struct{ Key, First uint64 }

// Launched says that the work is only these launches. The caller must have the only reference.
func (w *Work) Launched(of Launches) {
	if of.Key != 0 {
		w.of, w.last = of, layer.Position(w.Stream)
	}
}

// own returns the error of this work, or nil if err, which its event has reported, is that of other work.
func (w *Work) own(err error) error {
	if err == nil && w.of.Key == 0 {
		return nil
	}
	return layer.FailureOf(w.Stream, w.of.First, w.last, w.of.Key, err)
}

// lastSeq is the seq of the Work that was made last.
var lastSeq atomic.Uint64

// spare are Works without references, for reuse.
var spare = sync.Pool{New: func() any { return new(Work) }}

// NewWork returns a Work, with one reference, of all work that was enqueued on the stream so far. It cannot fail: if no event can
// be recorded, the Work ends when the whole stream is idle.
func NewWork(stream *hal.Stream) *Work {
	w := spare.Get().(*Work)
	w.Stream, w.seq, w.keeps = stream, lastSeq.Add(1), layer.FailsForGood(stream)
	w.of, w.last = Launches{}, math.MaxUint64
	w.refs.Add(1)
	w.event, _ = layer.RecordShared(stream)
	return w
}

// Checked is NewWork for work whose success the driver does not know, because its bytes come from elsewhere. When the stream's work has
// ended without an error, check is called once and returns an error or nil. It must not block.
func Checked(stream *hal.Stream, check func() error) *Work {
	w := NewWork(stream)
	w.check = check
	return w
}

// AddSource makes a, which wrote bytes that w reads, a source of w. It takes over the caller's reference to a. The caller must have the
// only reference to w, which is in no Order yet.
func (w *Work) AddSource(a *Work) {
	w.sources = append(w.sources, a)
	w.depth = max(w.depth, a.depth+1)
}

// Retain adds a reference.
func (w *Work) Retain() *Work {
	w.refs.Add(1)
	return w
}

// Release drops a reference.
func (w *Work) Release() {
	if w.refs.Add(-1) > 0 {
		return
	}
	if w.joined {
		waiting.remove(w)
	}
	if w.event != nil {
		_ = w.event.Close()
	}
	w.event = nil
	if len(w.sources) > 0 {
		w.forgetSources()
	}
	w.check = nil
	w.Stream, w.err, w.depth, w.joined = nil, nil, 0, false
	w.passed.Store(false)
	w.ended.Store(false)
	spare.Put(w)
}

func (w *Work) forgetSources() {
	for i, a := range w.sources {
		a.Release()
		w.sources[i] = nil
	}
	if w.sources = w.sources[:0]; cap(w.sources) > 16 {
		w.sources = nil
	}
}

// Ended reports whether the work and its sources have ended, and the error if one of them has failed. It asks the driver, and does not
// wait.
func (w *Work) Ended() (done bool, err error) {
	if w.ended.Load() {
		return true, w.err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended.Load() {
		return true, w.err
	}
	if !w.passed.Load() {
		if w.event != nil {
			done, err = w.event.Done()
		} else {
			done, err = layer.Idle(w.Stream)
		}
		if !done {
			return false, nil
		}
		if err = w.own(err); err == nil && w.check != nil {
			err = w.check()
		}
		w.check = nil
		if w.err == nil {
			w.err = err
		}
		w.passed.Store(true)
	}
	for n := len(w.sources); n > 0; n = len(w.sources) {
		a := w.sources[n-1]
		done, err := a.Ended()
		if !done {
			return false, nil
		}
		if w.err == nil {
			w.err = err
		}
		w.sources[n-1] = nil
		w.sources = w.sources[:n-1]
		a.Release()
	}
	w.ended.Store(true)
	return true, w.err
}

// doomed returns the error of a source that is known to have failed, or nil. Work that has such a source fails, too, when it ends.
func (w *Work) doomed() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.err
	for i := 0; i < len(w.sources) && err == nil; i++ {
		_, err = w.sources[i].Ended()
	}
	return err
}

// tellsLater reports whether the next event of the work's stream will also report a failure of this work, so that the driver need not be
// asked about it now.
func (w *Work) tellsLater() bool {
	if !w.keeps || !layer.FailsForGood(w.Stream) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.passed.Load() && w.check == nil && len(w.sources) == 0 && w.err == nil
}

// EndedWell reports whether the work is known to have ended without an error. It does not ask the driver.
func (w *Work) EndedWell() bool { return w.ended.Load() && w.err == nil }

// Wait waits until the work and its sources have ended. It returns an error only if ctx ends first; Ended returns the errors of the work.
func (w *Work) Wait(ctx context.Context) error {
	for {
		if done, _ := w.Ended(); done {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		w.mu.Lock()
		event := w.event
		var earlier *Work
		if n := len(w.sources); n > 0 {
			earlier = w.sources[n-1].Retain()
		}
		w.mu.Unlock()
		if event != nil {
			_ = event.Sync(ctx) // the caller's reference keeps it open
		} else {
			_ = layer.Drain(w.Stream, ctx)
		}
		if earlier != nil {
			_ = earlier.Wait(ctx)
			earlier.Release()
		}
	}
}

// OnEnd calls fn once, soon after the work or one of its sources has ended. fn has to call Ended to learn whether all have ended. fn runs
// on a goroutine of its own, because it may wait for a gate, and gates are opened on the goroutine that runs the callbacks of events.
func (w *Work) OnEnd(fn func()) {
	w.mu.Lock()
	event := w.event
	if event != nil {
		if done, _ := event.Done(); done {
			event = nil
			if n := len(w.sources); n > 0 {
				earlier := w.sources[n-1].Retain()
				w.mu.Unlock()
				earlier.OnEnd(fn)
				earlier.Release()
				return
			}
		}
	}
	w.mu.Unlock()
	if event != nil {
		_ = event.OnDone(func(error) { go fn() })
		return
	}
	w.Retain()
	go func() {
		_ = w.Wait(context.Background())
		w.Release()
		fn()
	}()
}

// Before makes later work of the stream wait for this work. If [Work.Deferred] returns true, Before does not block.
func (w *Work) Before(stream *hal.Stream) error {
	if w.ended.Load() || w.Stream == stream {
		return nil
	}
	if event := w.recorded(); event != nil {
		return stream.WaitEvent(event)
	}
	if _, _ = w.Ended(); w.passed.Load() {
		return nil // also if the device is lost, for which no stream can wait
	}
	return stream.WaitStream(w.Stream)
}

// Deferred reports whether Before makes the stream wait without blocking the caller.
func (w *Work) Deferred(stream *hal.Stream) bool {
	if w.ended.Load() || w.Stream == stream {
		return true
	}
	if event := w.recorded(); event != nil {
		return layer.CanDefer(stream, event)
	}
	return stream.Device().Caps().Has(hal.CapGate) // else WaitStream may wait for the work of a closed stream itself
}

// recorded returns the event. If there is none, it records one now, and returns nil if that fails.
func (w *Work) recorded() *hal.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.event == nil {
		w.event, _ = layer.RecordShared(w.Stream)
	}
	return w.event
}

// Event returns the event of the work, or nil if it has none. The event stays open as long as the caller has a reference to the work.
func (w *Work) Event() *hal.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.event
}

// waiting has Works that wait for sources. A Work forgets its sources when Ended finds that they have ended, but no access calls Ended of a
// Work whose bytes were written again. So each Work that joins asks two others, in turn. Therefore the Works in the list that have ended
// are not many more than those that have not, however long a program goes on without waiting. If none of the two has ended, the next few
// Works ask nothing.
var waiting waitingList

type waitingList struct {
	mu   sync.Mutex
	list []*Work // without references to them
	hand int     // index of the Work that was asked last
	skip int     // how many of the next Works to join ask nothing
}

const (
	shallow = 4 // a Work joins if its longest sequence of sources is longer than this
	skipped = 4 // how many Works ask nothing after one that has found none to have ended
)

// join adds a Work that has all its sources. It is for a Work whose sequences of sources are not all short.
func (l *waitingList) join(w *Work) {
	var ask [asked]*Work
	l.mu.Lock()
	if l.skip > 0 {
		l.skip--
	} else {
		for i := range ask {
			if l.hand++; l.hand >= len(l.list) {
				l.hand = 0
			}
			if len(l.list) > 0 {
				ask[i] = l.list[l.hand].retainUsed()
			}
		}
	}
	l.list = append(l.list, w)
	w.joined, w.place = true, len(l.list)
	l.mu.Unlock()
	if ask[0] == nil {
		return
	}
	found := false
	for _, o := range ask {
		if o == nil {
			continue
		}
		if done, _ := o.Ended(); done {
			l.remove(o)
			found = true
		}
		o.Release()
	}
	if !found {
		l.mu.Lock()
		l.skip = skipped
		l.mu.Unlock()
	}
}

func (l *waitingList) remove(w *Work) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.place == 0 {
		return
	}
	last := len(l.list) - 1
	l.list[w.place-1] = l.list[last]
	l.list[w.place-1].place = w.place
	l.list[last] = nil
	if l.list = l.list[:last]; last == 0 && cap(l.list) > 1024 {
		l.list = nil // many Works waited at once: free their memory
	}
	w.place = 0
}

// retainUsed adds a reference if there is one already, else it returns nil.
func (w *Work) retainUsed() *Work {
	for n := w.refs.Load(); n > 0; n = w.refs.Load() {
		if w.refs.CompareAndSwap(n, n+1) {
			return w
		}
	}
	return nil
}
