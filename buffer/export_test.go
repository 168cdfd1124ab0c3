package buffer

import (
	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/resident"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/span"
)

// Cycle makes the replica of the stream's device, which must be the only one that the buffer has ever had, and gives it
// back as one that the stream was the last to use.
func Cycle[T Element](b *Buffer[T], stream *hal.Stream) error {
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.standIn("Cycle", part{})
	x.stream = stream
	if err := s.place(x); err != nil {
		return err
	}
	r := x.replica
	r.EndLease()
	w := order.NewWork(stream)
	r.order.Add(w, true, true, span.Range{Hi: s.size})
	w.Release()
	_ = s.m.Commit(protocol.Evict, r.place, 0, s.size)
	return r.free(cause{})
}

// Intervals is how many ranges of the whole buffer have a state of their own.
func Intervals[T Element](b *Buffer[T]) int {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.s.m.Len()
}

// ID is what events call the buffer.
func ID[T Element](b *Buffer[T]) uint64 { return b.s.id }

// Waiting is the number of calls that wait for an access of the buffer to end.
func Waiting[T Element](b *Buffer[T]) int {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.s.queue.Waiting()
}

// Leaving is the number of replicas that go once their bytes have arrived elsewhere.
func Leaving[T Element](b *Buffer[T]) int {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.s.leaving
}

// Works is the number of Works of a buffer.
func Works[T Element](b *Buffer[T]) (n int) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	n = b.s.host.order.Len()
	for _, r := range b.s.at[1:] {
		n += r.order.Len()
	}
	return n
}

// Steps counts what the accesses of a buffer have looked at.
func Steps[T Element](b *Buffer[T]) (n int) {
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	n = s.queue.Steps() + s.lost.Steps() + s.host.order.Steps()
	for _, r := range s.at[1:] {
		n += r.order.Steps()
	}
	return n
}

// ResidencySteps counts what searches for a replica to evict from a device have looked at.
func ResidencySteps(dev *hal.Device) int {
	return resident.Of(dev).Steps()
}

// Repeats reports whether an access of the whole buffer could begin at once on the stream.
func Repeats[T Element](b *Buffer[T], stream *hal.Stream, mode protocol.Action) bool {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.s.canBeginAtOnce(&request{stream: stream, part: b.s.whole(mode)}, new(order.Asked))
}

// RepeatsOnHost reports whether an access of the whole buffer could begin at once on the host.
func RepeatsOnHost[T Element](b *Buffer[T], mode protocol.Action) bool {
	return Repeats(b, nil, mode)
}

// SetShortcuts turns the shortcuts of fast.go on or off. No access may begin meanwhile.
func SetShortcuts(on bool) { shortcuts = on }
