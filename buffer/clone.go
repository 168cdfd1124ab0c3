package buffer

import (
	"context"

	"github.com/go-halyard/halyard/coherence"
)

// span is a range of bytes and a place where it is current.
type span struct {
	lo, hi uint64
	place  coherence.Place
}

// Clone returns a new buffer with a copy of the elements. They are copied where they are: on the
// host if they are current there, else within a device that has them. It waits for accesses that
// write to them and, for what is on the host, for work under way, until ctx ends.
func (b *Buffer[T]) Clone(ctx context.Context) (*Buffer[T], error) {
	const op = "Clone"
	s := b.s
	c := &Buffer[T]{s: newStorage(b.elementSize(), b.hi-b.lo, nil), hi: b.hi - b.lo}
	c.s.allocators = s.allocators
	err := s.cloneInto(ctx, op, c.s, b.lo, b.hi)
	for range attempts {
		p, full := err.(*pressure)
		if !full {
			break
		}
		if err = p.relieve(ctx, op, c.s); err == nil {
			err = s.cloneInto(ctx, op, c.s, b.lo, b.hi)
		}
	}
	if p, full := err.(*pressure); full {
		err = p.exhausted(residencyOf(p.dev), op, c.s.size)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (s *storage) cloneInto(ctx context.Context, op string, dst *storage, lo, hi uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(op, false); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return interrupted(op, ctx, nil)
	}
	if err := s.settle(ctx, op, coherence.Read, nil, "the clone", lo, hi, nil); err != nil {
		return err
	}
	if err := s.resolve(op, lo, hi, false); err != nil {
		return err
	}
	if err := s.lostIn(op, lo, hi); err != nil {
		return err
	}
	slot, _ := s.accesses.begin(lo, hi, coherence.Read, coherence.Host, nil)
	defer s.ended(slot)
	var onHost, onDevice []span
	s.m.Runs(lo, hi, func(lo, hi uint64, valid coherence.Set) bool {
		switch {
		case valid.Has(coherence.Host):
			onHost = append(onHost, span{lo, hi, coherence.Host})
		case valid != 0:
			onDevice = append(onDevice, span{lo, hi, valid.First()})
		}
		return true
	})
	dst.mu.Lock()
	defer dst.mu.Unlock()
	for _, x := range onDevice {
		if err := s.cloneOnDevice(dst, x, lo); err != nil {
			return err
		}
	}
	if len(onHost) == 0 {
		return nil
	}
	if err := s.mapForHost(false); err != nil {
		return err
	}
	pending := s.host.hazards.pending(lo, hi, false, nil)
	s.mu.Unlock()
	err := s.await(ctx, cause{op: op}, lo, hi, pending)
	s.mu.Lock()
	if err != nil {
		return interrupted(op, ctx, nil)
	}
	if err := s.resolve(op, lo, hi, true); err != nil {
		return err
	}
	for _, x := range onHost {
		if !s.m.ValidIn(x.lo, x.hi, coherence.Host) {
			return s.badSince(op, x.lo, x.hi)
		}
	}
	if err := dst.hold(cause{op: op, action: coherence.Overwrite}); err != nil {
		return err
	}
	if err := dst.mapForHost(true); err != nil {
		return err
	}
	// What a device copied there may be in the same memory.
	if err := dst.await(ctx, cause{op: op}, 0, dst.size, dst.host.hazards.pending(0, dst.size, true, nil)); err != nil {
		return interrupted(op, ctx, nil)
	}
	for _, x := range onHost {
		copy(dst.host.slice(x.lo-lo, x.hi-lo), s.host.slice(x.lo, x.hi))
		dst.wrote(coherence.Overwrite, coherence.Host, x.lo-lo, x.hi-lo)
	}
	return nil
}

func (s *storage) cloneOnDevice(dst *storage, x span, base uint64) error {
	src := s.replica(x.place)
	stream, err := src.dev.CopyStream(false)
	if err != nil {
		return err
	}
	r, mem, err := dst.at(stream, cause{op: "Clone", action: coherence.Overwrite})
	if err != nil {
		return err
	}
	if err := src.hazards.order(stream, x.lo, x.hi, false); err != nil {
		return err
	}
	lo, hi := x.lo-base, x.hi-base
	if err := r.hazards.order(stream, lo, hi, true); err != nil {
		return err
	}
	err = stream.Copy(dst.region(r, mem, lo, hi), src.region(x.lo, x.hi))
	src.hazards.built(x.lo, x.hi)
	s.record(src, stream, hazard{lo: x.lo, hi: x.hi})
	dst.hang(r, s.unsure(x.place, x.lo, x.hi, lo))
	dst.record(r, stream, hazard{lo: lo, hi: hi, write: true, copy: true, fresh: true, from: r.place})
	if err != nil {
		return err
	}
	dst.wrote(coherence.Overwrite, r.place, lo, hi)
	return nil
}
