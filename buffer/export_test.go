package buffer

import "github.com/go-halyard/halyard/hal"

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
	s.m.Deallocate(r.place)
	return r.free(cause{})
}
