package buffer

import (
	"context"
	"runtime/trace"
	"time"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// move enqueues one transfer of a plan and makes it part of the state. A transfer to a device is
// enqueued on the given stream of that device; one to the host, on a stream of its source.
func (s *storage) move(t coherence.Transfer, stream *hal.Stream, mem *hal.Memory, c cause) error {
	begin := now()
	var err error
	if trace.IsEnabled() {
		stream, err = s.enqueueTraced(t, stream, mem, c)
	} else {
		stream, err = s.enqueue(t, stream, mem, c)
	}
	if err != nil {
		return err
	}
	s.account(t, stream, c, begin)
	s.m.Apply(t)
	if t.From != coherence.NoPlace {
		s.classify(s.replica(t.From))
	}
	return nil
}

// enqueue is the transfer itself. It returns the stream that it is on.
func (s *storage) enqueue(t coherence.Transfer, stream *hal.Stream, mem *hal.Memory, c cause) (*hal.Stream, error) {
	var err error
	switch {
	case t.From == coherence.NoPlace:
		err = s.zero(t, stream, mem)
	case t.To == coherence.Host:
		stream, err = s.moveOut(t)
	case t.From == coherence.Host:
		err = s.moveIn(t, stream, c)
	default:
		err = s.moveAcross(t, stream)
	}
	return stream, err
}

// account counts a transfer and shows it to the observer, before it becomes part of the state.
func (s *storage) account(t coherence.Transfer, stream *hal.Stream, c cause, begin time.Time) {
	n := t.Hi - t.Lo
	if t.From == coherence.NoPlace {
		s.stats.Fills++
		s.stats.BytesFilled += n
		totals.fills.Add(1)
		totals.bytesFilled.Add(n)
	} else {
		s.stats.Copies++
		s.stats.BytesCopied += n
		totals.copies.Add(1)
		totals.bytesCopied.Add(n)
	}
	if observed() {
		s.noteTransfer(t, stream, c, begin)
	}
}

// record notes the work that was just enqueued on the stream as a hazard of the replica. That
// cannot fail: without a mark, the stream as a whole stands for the work. The rest of the hazard, but for its mark, is z.
func (s *storage) record(r *replica, stream *hal.Stream, z hazard) {
	z.stream = stream
	if !r.hazards.renew(&z) {
		z.mark, _ = stream.Mark()
	}
	s.add(&r.hazards, z)
}

// add makes a hazard, which has a reference to its mark, one of the list.
func (s *storage) add(h *hazards, z hazard) {
	s.seq++
	z.seq = s.seq
	h.add(z)
}

// zero clears a range that was never written, at a device, or on the host by way of a device that
// shares the host's replica.
func (s *storage) zero(t coherence.Transfer, stream *hal.Stream, mem *hal.Memory) error {
	r := s.replica(t.To)
	if t.To == coherence.Host && s.host.clean {
		return nil
	}
	if busy, err := s.unmapForDevice(stream, mem, true); err != nil {
		return err
	} else if busy != nil {
		return s.conflictError("zero", coherence.Overwrite, stream.Device().Name(), t.Lo, t.Hi, busy)
	}
	if err := r.hazards.order(stream, t.Lo, t.Hi, true); err != nil {
		return err
	}
	err := stream.Fill(s.region(r, mem, t.Lo, t.Hi), hal.Zero)
	s.record(r, stream, hazard{lo: t.Lo, hi: t.Hi, write: true, copy: true, fresh: true, from: coherence.NoPlace})
	return err
}

// moveOut copies from a device to the host.
func (s *storage) moveOut(t coherence.Transfer) (*hal.Stream, error) {
	src := s.replica(t.From)
	stream, err := src.dev.CopyStream(true)
	if err != nil {
		return nil, err
	}
	if err := s.mapForHost(true); err != nil {
		return nil, err
	}
	if err := src.hazards.order(stream, t.Lo, t.Hi, false); err != nil {
		return nil, err
	}
	if err := s.host.hazards.order(stream, t.Lo, t.Hi, true); err != nil {
		return nil, err
	}
	s.host.clean = false
	s.lock(stream)
	err = stream.CopyOut(s.host.slice(t.Lo, t.Hi), src.region(t.Lo, t.Hi))
	s.recordBoth(&s.host.replica, src, stream, t.Lo, t.Hi)
	return stream, err
}

// moveIn copies from the host to the stream's device.
func (s *storage) moveIn(t coherence.Transfer, stream *hal.Stream, c cause) error {
	dst := s.replica(t.To)
	if err := s.mapForHost(false); err != nil {
		return err
	}
	if err := s.host.hazards.order(stream, t.Lo, t.Hi, false); err != nil {
		return err
	}
	if !s.lock(stream) {
		// The driver may read the host's memory during the call.
		_ = s.await(context.Background(), c, t.Lo, t.Hi, s.host.hazards.pending(t.Lo, t.Hi, false, nil))
	}
	if err := dst.hazards.order(stream, t.Lo, t.Hi, true); err != nil {
		return err
	}
	err := stream.CopyIn(dst.region(t.Lo, t.Hi), s.host.slice(t.Lo, t.Hi))
	s.recordBoth(dst, &s.host.replica, stream, t.Lo, t.Hi)
	return err
}

// moveAcross copies from one device to another.
func (s *storage) moveAcross(t coherence.Transfer, stream *hal.Stream) error {
	src, dst := s.replica(t.From), s.replica(t.To)
	if err := dst.hazards.order(stream, t.Lo, t.Hi, true); err != nil {
		return err
	}
	if dst.dev.Reaches(src.dev) {
		if err := src.hazards.order(stream, t.Lo, t.Hi, false); err != nil {
			return err
		}
		err := stream.Copy(dst.region(t.Lo, t.Hi), src.region(t.Lo, t.Hi))
		s.recordBoth(dst, src, stream, t.Lo, t.Hi)
		return err
	}
	out, err := src.dev.CopyStream(true)
	if err != nil {
		return err
	}
	if err := src.hazards.order(out, t.Lo, t.Hi, false); err != nil {
		return err
	}
	err = hal.CopyAcross(stream, dst.region(t.Lo, t.Hi), out, src.region(t.Lo, t.Hi))
	// The bytes hang on both streams, and the writes are one.
	src.hazards.built(t.Lo, t.Hi)
	z := hazard{lo: t.Lo, hi: t.Hi, mark: marked(out, 2), stream: out}
	s.add(&src.hazards, z)
	w := hazard{lo: t.Lo, hi: t.Hi, write: true, copy: true, fresh: true, from: src.place}
	w.seq, w.mark, w.stream, w.base, w.under = s.seq+2, z.mark, out, true, true
	dst.hazards.add(w)
	z.mark, z.stream, z.copy, z.arrival = marked(stream, 2), stream, true, true
	s.add(&src.hazards, z)
	w.mark, w.stream, w.base, w.under = z.mark, stream, false, false
	s.add(&dst.hazards, w)
	return err
}

// recordBoth notes one copy as a write of its destination and a read of its source. They share
// a mark.
func (s *storage) recordBoth(dst, src *replica, stream *hal.Stream, lo, hi uint64) {
	src.hazards.built(lo, hi)
	z := hazard{lo: lo, hi: hi, mark: marked(stream, 2), stream: stream, copy: true}
	s.add(&src.hazards, z)
	z.write, z.fresh, z.from = true, true, src.place
	s.add(&dst.hazards, z)
}

// marked returns a mark of the stream with some references, or nil.
func marked(stream *hal.Stream, references int) *hal.Mark {
	m, err := stream.Mark()
	if err != nil {
		return nil
	}
	for range references - 1 {
		m.Retain()
	}
	return m
}

// lost is a range whose last write failed.
type lost struct {
	lo, hi uint64
	err    error
	saved  string // where the bytes are all the same, and the next access is to be told; "" if they are nowhere
}

const (
	savedThere = "a copy that an eviction made failed; the bytes are back on the device that was to lose them"
	savedElse  = "work under way failed; the bytes are current elsewhere"
)

// lostIn returns the error of the first lost range that overlaps [lo, hi). One whose bytes are back is told of once.
func (s *storage) lostIn(op string, lo, hi uint64) error {
	for _, l := range s.lost {
		if l.lo < hi && lo < l.hi {
			if l.saved != "" {
				s.told(lo, hi)
				return &hal.Error{Op: op, Device: -1, Kind: kindOf(l.err), Err: l.err, Detail: l.saved}
			}
			return &hal.Error{Op: op, Device: -1, Kind: hal.ErrDeviceLost, Err: l.err,
				Detail: "the last write failed and nothing else holds the bytes; overwrite or discard them"}
		}
	}
	return nil
}

// found forgets the losses in [lo, hi), which is written anew.
func (s *storage) found(lo, hi uint64) {
	var kept []lost
	for _, l := range s.lost {
		if l.lo < lo {
			kept = append(kept, lost{l.lo, min(l.hi, lo), l.err, l.saved})
		}
		if l.hi > hi {
			kept = append(kept, lost{max(l.lo, hi), l.hi, l.err, l.saved})
		}
	}
	s.lost = kept
}
