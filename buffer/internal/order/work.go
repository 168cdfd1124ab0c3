// Package order keeps track of what later work on a replica has to wait for, and of how earlier work has ended.
//
// [Work] is something that a stream was given and whose end is not known yet: a copy, or what a program does between Acquire and
// Release. A Work knows the earlier Works that made the bytes which it read, and fails if one of them does. So a failure need
// not be announced: each access asks the Work that wrote its bytes last.
//
// [Order] has, for one replica, the Works by the bytes that they write and read. It tells an access what to wait for, and
// whether work on its bytes is known to have failed.
package order

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// Work is what a stream was given up to one point. Its references are counted, and the last Release gives the driver's event
// back. It is safe for concurrent use.
type Work struct {
	Stream *hal.Stream

	refs  atomic.Int32
	ended atomic.Bool

	mu    sync.Mutex
	event *hal.Event   // nil if none could be recorded; then the stream as a whole stands for the work
	after []*Work      // the Works that made the bytes which this one reads, without those known to have ended
	err   error        // found so far; final once ended
	check func() error // if not nil, it says after the end of what the stream was given whether that was all
	depth int          // length of the longest line of Works, each made of the one before, that ends with this one
	chain *chain       // the chain that it is in, or nil
}

// spare are Works that nobody has a reference to.
var spare = sync.Pool{New: func() any { return new(Work) }}

// NewWork returns the work that the stream has been given so far, with one reference. That cannot fail: a stream that
// records no event is waited for as a whole.
func NewWork(stream *hal.Stream) *Work {
	w := Earlier(stream)
	w.event, _ = stream.RecordShared()
	return w
}

// Checked is NewWork for work whose success the driver cannot know, because its bytes come from elsewhere. Once the stream's work has
// ended well, check is asked for an error, once. It must not block.
func Checked(stream *hal.Stream, check func() error) *Work {
	w := NewWork(stream)
	w.check = check
	return w
}

// Earlier returns Work that stands for all that the stream was given before now, by others. An event is recorded when somebody
// on another stream has to wait for it.
func Earlier(stream *hal.Stream) *Work {
	w := spare.Get().(*Work)
	w.Stream = stream
	w.refs.Store(1)
	return w
}

// MadeOf says that the work reads bytes which another Work made. It takes over a reference. Nobody else has the work yet.
func (w *Work) MadeOf(a *Work) {
	w.after = append(w.after, a)
	if w.depth = max(w.depth, a.depth+1); w.depth > chained && w.chain == nil {
		w.join(a)
	}
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
	if w.event != nil {
		_ = w.event.Close()
	}
	w.event = nil
	w.forgetCauses()
	w.check = nil
	if w.chain == nil { // which may still look at it
		w.Stream, w.err, w.depth = nil, nil, 0
		w.ended.Store(false)
		spare.Put(w)
	}
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

// again makes the work stand for all that its stream has been given by now, if the caller has all of its references: holders says
// how many. The work stays made of the same Works, unless it reads nothing.
func (w *Work) again(holders int32, reads bool) bool {
	if w.chain != nil || w.refs.Load() != holders || w.event == nil || w.check != nil || w.err != nil || !w.Stream.RecordAgain(w.event) {
		return false
	}
	w.depth = 0
	if w.ended.Load() {
		w.ended.Store(false)
	}
	if !reads {
		w.forgetCauses()
	}
	return true
}

// alone reports whether the caller has the only reference to the work, no chain can add one, and how it ends depends on its mark only.
func (w *Work) alone() bool {
	return w.chain == nil && w.refs.Load() == 1 && w.event != nil && w.check == nil && len(w.after) == 0 && w.err == nil
}

// End reports whether the work has ended, and the error with which it or what it was made of has failed. It asks the driver, and
// does not wait.
func (w *Work) End() (done bool, err error) {
	if w.ended.Load() {
		return true, w.err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended.Load() {
		return true, w.err
	}
	if w.event != nil {
		done, err = w.event.Done()
	} else {
		done, err = layer.Idle(w.Stream)
	}
	if !done && err == nil {
		return false, nil
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
			return false, nil
		}
		if w.err == nil {
			w.err = err
		}
		w.after[n-1] = nil
		w.after = w.after[:n-1]
		a.Release()
	}
	w.ended.Store(true)
	return true, w.err
}

// Over reports whether the work is known to have ended well, without asking.
func (w *Work) Over() bool { return w.ended.Load() && w.err == nil }

// Wait waits until the work, and what it was made of, has ended. It returns an error only if ctx ends first; how the work has
// ended is for End to say.
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
			_ = event.Sync(ctx) // the caller's reference keeps it
		} else {
			_ = layer.Drain(w.Stream, ctx)
		}
		if earlier != nil {
			_ = earlier.Wait(ctx)
			earlier.Release()
		}
	}
}

// OnEnd calls fn once, on a goroutine of its own, soon after the work or one that it was made of has ended. fn has to ask whether all have. It may wait: the
// goroutine that the driver's events share would have to open the gates that it waits for.
func (w *Work) OnEnd(fn func()) {
	w.mu.Lock()
	event := w.event
	if event != nil {
		if done, err := event.Done(); done || err != nil {
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

// Before makes later work of the stream wait for this. It does not block if [Work.Deferred] says so.
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

// recorded returns the event, recorded now if there was none so far; nil if that fails.
func (w *Work) recorded() *hal.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.event == nil {
		w.event, _ = w.Stream.RecordShared()
	}
	return w.event
}

// Event is the event of the work, nil if it has none. The caller's reference keeps it.
func (w *Work) Event() *hal.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.event
}
