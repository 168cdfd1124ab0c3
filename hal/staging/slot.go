package staging

import (
	"context"
	"slices"

	"github.com/go-halyard/halyard/hal"
)

// slot is one piece of memory. It is in one place at a time: among the ring's free ones, with a call, or in the ring's lists of
// those that a stream uses.
type slot struct {
	ring  *Ring
	mem   *hal.Memory // page-locked; nil if bytes are of the Go heap
	bytes []byte      // nil before the first use
	retry int         // uses before page-locked memory is asked for again
	event *hal.Event  // of the work that uses the slot

	watch  func() // watchOnce, kept so that starting it does not allocate
	owned  bool   // watched on behalf of the call that has the slot; guarded by the ring's lock
	err    error  // of the event, for that call
	landed chan struct{}
}

// allocate gives the slot page-locked memory, or memory of the Go heap if there is none.
func (s *slot) allocate(dev *hal.Device, n uint64) {
	s.retry = retryAfter
	if m, err := dev.Alloc(hal.KindHost, n, 0); err == nil {
		if b, err := m.Bytes(); err == nil {
			s.mem, s.bytes = m, b
			return
		}
		_ = m.Close()
	}
	if s.bytes == nil {
		s.bytes = make([]byte, n)
	}
}

// drop leaves the memory to the work that may use it: after an error nobody knows when it is done.
func (s *slot) drop() {
	if s.mem != nil {
		_ = s.mem.Close()
	}
	s.mem, s.bytes = nil, nil
}

func (s *slot) close() {
	s.drop()
	_ = s.event.Close()
}

// wait waits for the work that uses a slot of the caller's. If that failed, or ctx ended first, the slot is not the caller's any more.
func (s *slot) wait(ctx context.Context, op string) error {
	done, err := s.event.Query()
	if !done && err == nil {
		s.ring.waits.Add(1)
		if ctx.Done() != nil {
			return s.await(ctx, op)
		}
		err = s.event.Sync(ctx)
	}
	if err != nil {
		s.drop()
		s.ring.put(s)
	}
	return err
}

// await is wait with a context that may end, which leaves the slot to the goroutine that watches it.
func (s *slot) await(ctx context.Context, op string) error {
	r := s.ring
	r.mu.Lock()
	s.owned = true
	r.mu.Unlock()
	go s.watch()
	select {
	case <-s.landed:
		if s.err != nil {
			s.drop()
			r.put(s)
		}
		return s.err
	case <-ctx.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-s.landed:
		if s.err != nil {
			s.drop()
		}
		if !r.closed {
			r.free <- s
			return hal.Interrupted(op, ctx)
		}
	default:
		s.owned = false
		if !r.closed {
			r.watched = append(r.watched, s)
			return hal.Interrupted(op, ctx)
		}
	}
	s.close()
	return hal.Interrupted(op, ctx)
}

// watchOnce waits for the work that uses the slot, and then gives it to whoever wants it.
func (s *slot) watchOnce() {
	err := s.event.Sync(context.Background())
	r := s.ring
	r.mu.Lock()
	defer r.mu.Unlock()
	switch i := slices.Index(r.watched, s); {
	case s.owned:
		s.owned, s.err = false, err
		s.landed <- struct{}{}
	case i >= 0:
		if err != nil {
			s.drop()
		}
		r.watched = slices.Delete(r.watched, i, i+1)
		r.free <- s
	}
}
