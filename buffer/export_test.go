package buffer

import (
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Cycle makes the replica of the stream's device, which must be the only one that the buffer has ever had, and gives it
// back as one that the stream was the last to use.
func (b *Buffer[T]) Cycle(stream *hal.Stream) error {
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	r, _, err := s.at(stream, cause{})
	if err != nil {
		return err
	}
	s.add(&r.hazards, hazard{hi: s.size, stream: stream, write: true})
	if err := s.m.Commit(coherence.Evict, r.place, 0, s.size); err != nil {
		return err
	}
	return r.free(cause{})
}

// Awaited reports whether somebody waits for an access of the buffer to end.
func Awaited[T Element](b *Buffer[T]) bool {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.s.changed != nil
}

// Hazards is the number of hazards of a buffer.
func Hazards[T Element](b *Buffer[T]) (n int) {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.s.lists(func(_ coherence.Place, h *hazards, _ *departure) { n += len(h.list) })
	return n
}
