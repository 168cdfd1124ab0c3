// Package order keeps track of the earlier work on a replica: which of it a later access has to wait for, and how it has ended.
//
// A [Work] is work that was enqueued on a stream and may not have ended: a copy, or what a program enqueues between Acquire and
// Release. The causes of a Work are the Works that wrote the bytes which it reads. A Work has references to its causes, and fails if one of
// them fails. So a failure need not be reported to later work: each access asks the Work that last wrote its bytes.
//
// An [Order] has the Works of one replica, by the bytes that they write and read. It returns the Works that an access has to wait for, and
// says whether a Work on its bytes is known to have failed.
package order

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// Work is all work that was enqueued on a stream up to one point. Its references are counted, and the last Release closes
// the event. It is safe for concurrent use.
type Work struct {
	Stream *hal.Stream

	refs  atomic.Uint64 // the lower half counts references; the upper half counts how often the Work was given back, so that a chain notices
	ended atomic.Bool
	seq   uint64 // greater than that of every Work recorded on the stream before; Works that two goroutines record at the same time have any order

	mu    sync.Mutex
	event *hal.Event   // nil if none was recorded; then the work has ended when the whole stream is idle
	after []*Work      // the causes, without those known to have ended
	err   error        // the first error found so far; final once ended is set
	check func() error // if not nil, it is called once after the stream's work has ended, and returns any further error
	depth int          // length of the longest sequence of causes that leads to this Work
	chain *chain       // the chain that the work has joined, or nil
}

// recorded counts the Works.
var recorded atomic.Uint64

// spare are Works without references, for reuse.
var spare = sync.Pool{New: func() any { return new(Work) }}

// NewWork returns a Work, with one reference, of all work that was enqueued on the stream so far. It cannot fail: if no event can
// be recorded, the Work ends when the whole stream is idle.
func NewWork(stream *hal.Stream) *Work {
	w := spare.Get().(*Work)
	w.Stream, w.seq = stream, recorded.Add(1)
	w.refs.Add(1)
	w.event, _ = stream.RecordShared()
	return w
}

// Checked is NewWork for work whose success the driver does not know, because its bytes come from elsewhere. When the stream's work has
// ended without an error, check is called once and returns an error or nil. It must not block.
func Checked(stream *hal.Stream, check func() error) *Work {
	w := NewWork(stream)
	w.check = check
	return w
}

// MadeOf makes a a cause of w, which reads bytes that a wrote. It takes over the caller's reference to a. The caller must have the only
// reference to w, which is in no Order yet.
func (w *Work) MadeOf(a *Work) {
	w.after = append(w.after, a)
	w.depth = max(w.depth, a.depth+1)
}

// Retain adds a reference.
func (w *Work) Retain() *Work {
	w.refs.Add(1)
	return w
}

// Release drops a reference.
func (w *Work) Release() {
	if uint32(w.refs.Add(^uint64(0))) > 0 {
		return
	}
	if w.event != nil {
		_ = w.event.Close()
	}
	w.event = nil
	w.forgetCauses()
	w.check = nil
	w.Stream, w.err, w.depth, w.chain = nil, nil, 0, nil
	w.ended.Store(false)
	w.refs.Add(1 << 32)
	spare.Put(w)
}

func (w *Work) forgetCauses() {
	for i, a := range w.after {
		a.Release()
		w.after[i] = nil
	}
	if w.after = w.after[:0]; cap(w.after) > 16 {
		w.after = nil
	}
}

// again extends the work to everything that has been enqueued on its stream by now, and reports whether it could. The caller must have
// all of its references; holders is their number. The work keeps its causes, unless it reads nothing. The seq of a work that writes nothing
// is not used and stays as it is.
func (w *Work) again(holders int32, reads, writes bool) bool {
	if w.chain != nil || int32(w.refs.Load()) != holders || w.event == nil || w.check != nil || w.err != nil || !w.Stream.RecordAgain(w.event) {
		return false
	}
	if writes {
		w.seq = recorded.Add(1)
	}
	if w.ended.Load() {
		w.ended.Store(false)
	}
	if !reads {
		w.forgetCauses()
	}
	if len(w.after) == 0 {
		w.depth = 0
	}
	return true
}

// alone reports whether the caller has the only reference to the work, no chain can add another, and the end of the work depends on
// its event only.
func (w *Work) alone() bool {
	return w.chain == nil && uint32(w.refs.Load()) == 1 && w.event != nil && w.check == nil && len(w.after) == 0 && w.err == nil
}

// End reports whether the work and its causes have ended, and the error if one of them has failed. It asks the driver, and does not wait.
func (w *Work) End() (done bool, err error) {
	_, done, err = w.end()
	return done, err
}

// end is End. passed reports whether the stream has come to the end of the work; the work is done only if its causes have ended as well.
func (w *Work) end() (passed, done bool, err error) {
	if w.ended.Load() {
		return true, true, w.err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended.Load() {
		return true, true, w.err
	}
	if w.event != nil {
		done, err = w.event.Done()
	} else {
		done, err = layer.Idle(w.Stream)
	}
	if !done {
		return false, false, nil
	}
	if err == nil && w.check != nil {
		err = w.check()
	}
	w.check = nil
	if w.err == nil {
		w.err = err
	}
	for n := len(w.after); n > 0; n = len(w.after) {
		a := w.after[n-1]
		done, err := a.End()
		if !done {
			return true, false, nil
		}
		if w.err == nil {
			w.err = err
		}
		w.after[n-1] = nil
		w.after = w.after[:n-1]
		a.Release()
	}
	w.ended.Store(true)
	return true, true, w.err
}

// Over reports whether the work is known to have ended without an error. It does not ask the driver.
func (w *Work) Over() bool { return w.ended.Load() && w.err == nil }

// Wait waits until the work and its causes have ended. It returns an error only if ctx ends first; End returns the errors of the work.
func (w *Work) Wait(ctx context.Context) error {
	for {
		if done, _ := w.End(); done {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		w.mu.Lock()
		event := w.event
		var earlier *Work
		if n := len(w.after); n > 0 {
			earlier = w.after[n-1].Retain()
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

// OnEnd calls fn once, soon after the work or one of its causes has ended. fn has to call End to learn whether all have ended. fn runs on a
// goroutine of its own, because it may wait for a gate, and gates are opened on the goroutine that runs the callbacks of events.
func (w *Work) OnEnd(fn func()) {
	w.mu.Lock()
	event := w.event
	if event != nil {
		if done, _ := event.Done(); done {
			event = nil
			if n := len(w.after); n > 0 {
				earlier := w.after[n-1].Retain()
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
	return true
}

// recorded returns the event. If there is none, it records one now, and returns nil if that fails.
func (w *Work) recorded() *hal.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.event == nil {
		w.event, _ = w.Stream.RecordShared()
	}
	return w.event
}

// Event returns the event of the work, or nil if it has none. The event stays open as long as the caller has a reference to the work.
func (w *Work) Event() *hal.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.event
}
