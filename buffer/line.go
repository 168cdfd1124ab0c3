package buffer

import (
	"context"
	"runtime/trace"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// wait is work that a stream has to wait for, or the host if stream is nil.
type wait struct {
	work   *order.Work
	stream *hal.Stream
}

// line is the second step of an access, for its copies: it makes their streams wait for the work that they depend on. stream is
// the access's own, or nil.
//
// A stream cannot be made to wait if its device cannot delay it, or reads the host's memory during the call that enqueues a copy. If
// there is such a stream, line makes no stream wait, and returns in left the work for which such streams would have to wait, with a reference
// to each. The caller then waits for that work with the buffer unlocked, and repeats the steps of the access.
func (k *copier) line(plan []protocol.Transfer, stream *hal.Stream) (left []*order.Work, err error) {
	s := k.owner
	waits := k.waits[:0]
	for _, t := range plan {
		r, err := k.route(t.Move, stream)
		if err != nil {
			return nil, err
		}
		waits = k.collect(waits, s.places.replica(t.To), r.into, t.Lo, t.Hi, true)
		if t.From == protocol.NoPlace {
			continue
		}
		from := r.from
		if !r.ordered {
			from = nil // the driver may read the host's memory during the call
		}
		waits = k.collect(waits, s.places.replica(t.From), from, t.Lo, t.Hi, false)
	}
	return k.lineUp(waits)
}

// line does the same for the access itself, when its copies have been enqueued.
func (x *access) line() (left []*order.Work, err error) {
	s := x.storage
	r := x.replica
	waits := s.copier.waits[:0]
	x.each(func(p part) { waits = s.copier.collect(waits, r, x.stream, p.lo, p.hi, p.writes()) })
	return s.copier.lineUp(waits)
}

// collect appends the work that an access of [lo, hi) at a replica has to wait for.
func (k *copier) collect(waits []wait, r *replica, stream *hal.Stream, lo, hi uint64, write bool) []wait {
	if r.order.Idle() {
		return waits
	}
	list := r.order.Waits(lo, hi, write, r.order.Begin(k.works[:0]))
	for _, w := range list {
		if w.Stream != stream {
			waits = append(waits, wait{w, stream})
		}
	}
	clear(list)
	k.works = list[:0]
	return waits
}

// lineUp makes the streams wait. If the host has to wait for some of the work instead, lineUp only returns that work, with a reference to each.
func (k *copier) lineUp(waits []wait) (left []*order.Work, err error) {
	for _, w := range waits {
		if w.stream != nil && w.work.Deferred(w.stream) {
			continue
		}
		if done, _ := w.work.End(); !done {
			left = append(left, w.work.Retain())
		}
	}
	if len(left) == 0 {
		for _, w := range waits {
			if w.stream != nil && err == nil {
				err = w.work.Before(w.stream)
			}
		}
	}
	clear(waits)
	k.waits = waits[:0]
	return left, err
}

// await blocks the calling goroutine until the work has ended, with the storage unlocked, and releases the references. dev is the device that
// needs the work to end, nil for the host. It returns an error only if ctx ends.
func (s *storage) await(ctx context.Context, c cause, dev *hal.Device, lo, hi uint64, list []*order.Work) (err error) {
	defer trace.StartRegion(ctx, "halyard: wait").End()
	begin := now()
	s.unlocked(func() {
		for i, w := range list {
			if err == nil {
				err = w.Wait(ctx)
			}
			w.Release()
			list[i] = nil
		}
	})
	if cap(list) <= 64 {
		s.scratch.left = list[:0]
	}
	s.waited(c, "work", dev, lo, hi, begin)
	if err != nil {
		return interrupted(c.op, ctx, nil)
	}
	return nil
}
