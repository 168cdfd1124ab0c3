package buffer

import (
	"context"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Resize replaces b by a buffer of n elements, and closes b. Use it as you use append:
//
//	b, err = b.Resize(ctx, n)
//
// The first elements keep their values, and elements beyond those of b read as zeros. The new buffer has the options of b. If b already has n
// elements, Resize returns b. After an error it returns b, too, which is unchanged and still open; only if the driver fails to free the memory
// of b, Resize returns that error and the new buffer, because b is closed then.
//
// The elements are copied as by [Buffer.Clone], each range where it is current, and nothing is copied to another place. Resize waits until ctx
// ends for accesses that write to the elements, and for the copies: it closes b only when they have succeeded. Meanwhile each place that has elements
// has memory for both buffers. Slices of b refer to b and are closed with it. Memory that b has adopted is given back as by Close.
//
// The error is of kind ErrInvalidArgument for a slice, ErrUnsupported for the elements of a part.Buffer, ErrFrozen if b is frozen, and a [ConflictError] if another access uses b or waits for it
// at the moment when Resize is about to close it. Nothing that such an access writes is lost.
func (b *Buffer[T]) Resize(ctx context.Context, n int) (*Buffer[T], error) {
	const op = "Resize"
	if err := b.check(op); err != nil {
		return b, err
	}
	switch {
	case b.slice:
		return b, hal.Errorf(op, hal.ErrInvalidArgument, "a slice cannot be resized, only its buffer")
	case n == b.Len():
		return b, b.s.resizable(op)
	}
	c, err := New[T](n, func(s *storage) { s.homeOn, s.guarded, s.allocator = b.s.homeOn, b.s.guarded, b.s.allocator })
	if err != nil {
		return b, err
	}
	closed := false
	defer c.closeUnless(&closed)
	if err = b.s.resizable(op); err == nil {
		closed, err = b.moveInto(ctx, op, c)
	}
	if !closed {
		return b, err
	}
	b.own.cleanup.Stop()
	return c, err
}

// resizable returns an error if the buffer is closed, frozen or watched.
func (s *storage) resizable(op string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watcher != nil {
		return hal.Errorf(op, hal.ErrUnsupported, "the buffer belongs to another object, such as a part.Buffer, which could not follow")
	}
	return s.usable(op, true)
}

// moveInto copies the elements that b and c both have, waits for the copies, and closes b. closed is false if b is still open.
func (b *Buffer[T]) moveInto(ctx context.Context, op string, c *Buffer[T]) (closed bool, err error) {
	s := b.s
	x, runs, err := s.holdStill(ctx, &request{op: op, own: b.own, part: newPart(0, min(s.size, c.s.size), protocol.Read)})
	if err != nil {
		return false, err
	}
	moved := false
	defer func() {
		if !moved {
			s.abandon(x)
		}
	}()
	if err = b.copyRuns(ctx, op, c, x, runs); err == nil {
		err = c.awaitRuns(ctx, runs)
	}
	if err != nil {
		return false, err
	}
	moved = true
	return s.closeAfter(op, x)
}

// awaitRuns waits until the copies of the runs have ended, and returns the error of one that has failed.
func (b *Buffer[T]) awaitRuns(ctx context.Context, runs []run) error {
	for _, r := range runs {
		copied := &Buffer[T]{s: b.s, own: b.own, lo: r.lo, hi: r.hi, slice: true} // a run may begin within an element
		if err := copied.SyncTo(ctx, b.s.home(r.lo, r.hi)); err != nil {
			return err
		}
	}
	return nil
}
