package buffer

import (
	"errors"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/span"
)

// A failure is found by asking. Before an access reads bytes, learn asks the Works that wrote them whether they have failed. What a failed Work
// wrote is bad at its place: all of it, also outside the range of the access. Bytes that are current at another place are copied again from there.
// The others are lost until they are written again or reset, and every access that reads them fails.

// losses are the ranges of a buffer whose bytes are lost, each with the reason.
type losses struct{ tree span.Tree[error] }

// add records that a range is lost. An earlier reason counts no more.
func (l *losses) add(lo, hi uint64, err error) {
	l.forget(lo, hi)
	l.tree.Insert(&span.Node[error]{Lo: lo, Hi: hi, Value: err})
}

// forget removes [lo, hi), which is written again.
func (l *losses) forget(lo, hi uint64) {
	if l.tree.Len() == 0 {
		return
	}
	for _, n := range l.tree.Meeting(lo, hi, nil) {
		end, err := n.Hi, n.Value
		switch {
		case n.Lo < lo:
			l.tree.Cut(n, n.Lo, lo)
			if hi < end {
				l.tree.Insert(&span.Node[error]{Lo: hi, Hi: end, Value: err})
			}
		case hi < end:
			l.tree.Cut(n, hi, end)
		default:
			l.tree.Delete(n)
		}
	}
}

// in returns the error of an access that would read [lo, hi), or nil.
func (l *losses) in(op string, lo, hi uint64) error {
	if n := l.tree.Any(lo, hi); n != nil {
		return &hal.Error{Op: op, Device: -1, Kind: hal.ErrDeviceLost, Err: n.Value,
			Detail: "the last write failed and no other place has the bytes; overwrite or reset them"}
	}
	return nil
}

// failed returns the error of an access of [lo, hi) after learn has returned err: bytes of the range are lost, or err says why bytes of it have to be
// copied again.
func (s *storage) failed(op string, lo, hi uint64, err error) error {
	if lost := s.lost.in(op, lo, hi); lost != nil || err == nil {
		return lost
	}
	kind := hal.ErrDriver
	if e, ok := err.(*hal.Error); ok {
		kind = e.Kind
	}
	return &hal.Error{Op: op, Device: -1, Kind: kind, Err: err, Detail: "earlier work failed"}
}

// learn finds out whether work that wrote bytes of [lo, hi), at any place, has failed, and applies failures to the state. It returns the error of such
// work if bytes of the range were current there. It does not wait. self is the access that asks, or nil.
func (s *storage) learn(self *access, lo, hi uint64) (failed error) {
	s.places.each(func(r *replica) bool {
		if err := r.learn(self, lo, hi, false); failed == nil {
			failed = err
		}
		if err := r.gone(); err != nil {
			r.spoil(lo, hi, err)
		}
		return true
	})
	return failed
}

// gone returns an error if the replica's device is lost: no copy can be made from it, although the work that wrote it may have ended well.
func (r *replica) gone() error {
	if r.dev == nil {
		return nil
	}
	stream, err := r.dev.CopyStream(true)
	if err == nil {
		err = layer.Err(stream)
	}
	if errors.Is(err, hal.ErrDeviceLost) {
		return err
	}
	return nil
}

// learn is learn for one place. keep is as for [order.Order.Failed].
//
// Bytes that another open access writes are left out: when it ends, its own Work takes the place of the failed one, and fails if it reads the bad bytes.
func (r *replica) learn(self *access, lo, hi uint64, keep bool) (failed error) {
	r.order.Failed(lo, hi, keep, func(from, to uint64, err error) []span.Range {
		found := r.owner.unwritten(self, r.place, from, to)
		for _, f := range found {
			for _, b := range r.spoil(f.Lo, f.Hi, err) {
				if b.Lo < hi && lo < b.Hi {
					failed = err
				}
			}
		}
		return found
	})
	return failed
}

// spoil makes bytes of a replica stale because they are bad, and returns the ranges that were current.
func (r *replica) spoil(lo, hi uint64, err error) (bad []span.Range) {
	s := r.owner
	var valid []protocol.Set
	s.m.Runs(lo, hi, func(lo, hi uint64, at protocol.Set) bool {
		if at.Has(r.place) {
			bad, valid = append(bad, span.Range{Lo: lo, Hi: hi}), append(valid, at)
		}
		return true
	})
	for i, b := range bad {
		s.m.Invalidate(r.place, b.Lo, b.Hi)
		s.taint(r.place, b.Lo, b.Hi, err)
		switch rest := valid[i].Without(r.place); {
		case rest != 0:
			s.needed(rest)
		case s.version > 0: // else nothing was ever written, and the bytes are zeros again
			s.lost.add(b.Lo, b.Hi, err)
		}
	}
	if len(bad) > 0 {
		s.classify()
	}
	return bad
}

// needed makes one of the replicas at the places in valid stay if all of them are leaving: they have the only current copies of some bytes.
func (s *storage) needed(valid protocol.Set) {
	if s.leaving == 0 {
		return
	}
	for p := range valid.All() {
		if !s.places.replica(p).Leaving() {
			return
		}
	}
	s.places.replica(valid.First()).stay()
}
