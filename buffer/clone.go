package buffer

import (
	"context"
	"errors"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Clone returns a new buffer with a copy of the elements. Each range is copied on the host if it is current there, otherwise on a
// device where it is current, or on the host if that device has no memory left for the copy. Clone waits until ctx ends for accesses that
// write to the elements. A copy on the host also waits for enqueued work on the elements.
func (b *Buffer[T]) Clone(ctx context.Context) (*Buffer[T], error) {
	if err := b.check("Clone"); err != nil {
		return nil, err
	}
	c := newHandle[T](newStorage(b.elementSize(), b.hi-b.lo, nil))
	c.s.allocator = b.s.allocator
	made := false
	defer c.closeUnless(&made)
	if err := b.cloneInto(ctx, "Clone", c); err != nil {
		return nil, err
	}
	made = true
	return c, nil
}

// closeUnless closes a buffer that a call has made, unless it is going to return it.
func (b *Buffer[T]) closeUnless(returned *bool) {
	if !*returned {
		_ = b.Close()
	}
}

func (b *Buffer[T]) cloneInto(ctx context.Context, op string, c *Buffer[T]) error {
	s := b.s
	x, runs, err := s.holdStill(ctx, &request{op: op, own: b.own, part: newPart(b.lo, b.hi, protocol.Read)})
	if err != nil {
		return err
	}
	defer s.abandon(x)
	return b.copyRuns(ctx, op, c, x, runs)
}

// copyRuns copies runs of b, which the access x holds still, to c, whose first byte is b's. A copy on a device may be under way when copyRuns returns.
func (b *Buffer[T]) copyRuns(ctx context.Context, op string, c *Buffer[T], x *access, runs []run) error {
	for _, r := range runs {
		to := Want{s: c.s, own: c.own, part: newPart(r.lo-b.lo, r.hi-b.lo, protocol.Overwrite)}
		from := Want{s: b.s, own: b.own, part: newPart(r.lo, r.hi, protocol.Read), under: x}
		if r.dev != nil {
			if err := copyOn(ctx, op, r.dev, to, from); err == nil {
				continue
			} else if !errors.Is(err, hal.ErrOutOfMemory) {
				return err
			}
		}
		if err := copyOnHost(ctx, op, to, from); err != nil {
			return err
		}
	}
	return nil
}

// run is a range of bytes and the device that has them, nil for the host.
type run struct {
	lo, hi uint64
	dev    *hal.Device
}

// holdStill begins an access at no place, during which other accesses cannot write to the range, and returns the places where its bytes are
// current. Bytes that were never written are left out. The caller ends the access with abandon.
func (s *storage) holdStill(ctx context.Context, q *request) (*access, []run, error) {
	s.mu.Lock()
	defer s.unlock()
	x, err := s.admit(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	x.replica, x.place = nil, protocol.NoPlace
	ready := false
	defer x.endUnless(&ready)
	if err = s.failed(q.op, q.Lo, q.Hi, s.learn(x, q.Lo, q.Hi)); err != nil {
		return nil, nil, err
	}
	ready = true
	var runs []run
	s.m.Runs(q.Lo, q.Hi, func(lo, hi uint64, valid protocol.Set) bool {
		var dev *hal.Device
		if valid != 0 && !valid.Has(protocol.Host) {
			dev = s.places.replica(valid.First()).dev
		}
		last := len(runs) - 1
		switch {
		case valid == 0:
		case last >= 0 && runs[last].dev == dev && runs[last].hi == lo:
			runs[last].hi = hi
		default:
			runs = append(runs, run{lo, hi, dev})
		}
		return true
	})
	return x, runs, nil
}
