package buffer

import (
	"context"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// move enqueues one transfer of a plan and makes it part of the state. A transfer to a device is
// enqueued on the given stream of that device; one to the host, on a stream of its source.
func (s *storage) move(t coherence.Transfer, stream *hal.Stream, mem *hal.Memory, cause string) error {
	var err error
	switch {
	case t.From == coherence.NoPlace:
		err = s.zero(t, stream, mem)
	case t.To == coherence.Host:
		stream, err = s.moveOut(t)
	case t.From == coherence.Host:
		err = s.moveIn(t, stream)
	default:
		err = s.moveAcross(t, stream)
	}
	if err != nil {
		return err
	}
	s.account(t, stream, cause)
	s.m.Apply(t)
	if t.From != coherence.NoPlace {
		s.classify(s.replica(t.From))
	}
	return nil
}

// account counts a transfer and shows it to the observer, before it becomes part of the state.
func (s *storage) account(t coherence.Transfer, stream *hal.Stream, cause string) {
	n := t.Hi - t.Lo
	e := Event{Kind: EventFill, Buffer: s.id, Lo: t.Lo, Hi: t.Hi, Cause: cause, Stream: stream}
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
		e.Kind = EventCopy
	}
	if !observed() {
		return
	}
	e.To = s.placeName(t.To, nil)
	if e.Kind == EventCopy {
		e.From = s.placeName(t.From, nil)
		e.Sources = s.m.State(t.Lo, t.Hi).Valid
	}
	notify(e)
}

// record notes the work that was just enqueued on the stream as a hazard of the replica. That
// cannot fail: without a mark, the stream as a whole stands for the work.
func (s *storage) record(r *replica, stream *hal.Stream, lo, hi uint64, write, copied bool) {
	m, err := stream.Mark()
	if err != nil {
		m = nil
	}
	s.recordMark(r, hazard{lo: lo, hi: hi, mark: m, stream: stream, write: write, copy: copied})
}

func (s *storage) recordMark(r *replica, z hazard) {
	r.hazards.add(z)
	if len(r.hazards.list) >= max(crowded, r.hazards.limit) {
		r.hazards.sweep(0, s.size, func(z hazard, err error) { s.failed(r, z, err) })
		r.hazards.limit = 2 * len(r.hazards.list)
	}
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
	err := stream.Fill(mem.Region(t.Lo, t.Hi-t.Lo), hal.Zero)
	s.record(r, stream, t.Lo, t.Hi, true, false)
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
func (s *storage) moveIn(t coherence.Transfer, stream *hal.Stream) error {
	dst := s.replica(t.To)
	if err := s.mapForHost(false); err != nil {
		return err
	}
	if err := s.host.hazards.order(stream, t.Lo, t.Hi, false); err != nil {
		return err
	}
	if ordered := s.lock(stream); !ordered {
		// The driver may read the host's memory during the call.
		_ = waitAll(context.Background(), s.host.hazards.pending(t.Lo, t.Hi, false, nil))
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
	s.record(src, out, t.Lo, t.Hi, false, false)
	s.record(dst, stream, t.Lo, t.Hi, true, true)
	return err
}

// recordBoth notes one copy as a write of its destination and a read of its source. They share
// a mark.
func (s *storage) recordBoth(dst, src *replica, stream *hal.Stream, lo, hi uint64) {
	m, err := stream.Mark()
	if err != nil {
		m = nil
	} else {
		m.Retain()
	}
	s.recordMark(src, hazard{lo: lo, hi: hi, mark: m, stream: stream})
	s.recordMark(dst, hazard{lo: lo, hi: hi, mark: m, stream: stream, write: true, copy: true})
}

// failed makes a failure that was found in finished work part of the state. A failed copy spoils
// its destination alone; where nothing else holds the bytes they are lost, and accesses that
// would read them get the error until they are written anew.
func (s *storage) failed(r *replica, z hazard, err error) {
	if !z.write {
		return
	}
	var gone []lost
	s.m.Runs(z.lo, z.hi, func(lo, hi uint64, valid coherence.Set) bool {
		if valid == coherence.Of(r.place) {
			gone = append(gone, lost{lo, hi, err})
		}
		return true
	})
	s.m.Invalidate(r.place, z.lo, z.hi)
	s.lost = append(s.lost, gone...)
}

// lost is a range whose last write failed.
type lost struct {
	lo, hi uint64
	err    error
}

// lostIn returns the error of the first lost range that overlaps [lo, hi).
func (s *storage) lostIn(op string, lo, hi uint64) error {
	for _, l := range s.lost {
		if l.lo < hi && lo < l.hi {
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
			kept = append(kept, lost{l.lo, min(l.hi, lo), l.err})
		}
		if l.hi > hi {
			kept = append(kept, lost{max(l.lo, hi), l.hi, l.err})
		}
	}
	s.lost = kept
}
