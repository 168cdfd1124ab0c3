package buffer

import (
	"slices"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/span"
)

// learn finds out whether work that wrote bytes of [lo, hi), at any place, has failed, and applies failures to the state. If a failure
// spoiled current bytes of the range, learn returns an error for op, the call of the access self. If op is "", a later access fails instead. It
// does not wait.
//
// A failed write spoils its bytes at its place. Later accesses copy them again from a place where they are still current; if there is none,
// they are lost. Copies of spoiled bytes need no search: the failed Work is a cause of their Work, which therefore fails too. Bytes
// that an open access writes are skipped: its own Work fails if it reads spoiled bytes. The other bytes of the same failed Work are not. If an
// open access only reads spoiled bytes, its work fails, too (accesses.spoiled).
func (l *losses) learn(op string, self *access, lo, hi uint64) (told error) {
	s := l.owner
	s.places.each(func(r *replica) bool {
		if err := r.learn(op, self, lo, hi, false); told == nil {
			told = err
		}
		return true
	})
	return told
}

// learn is learn for one place. keep is as for [order.Order.Failed].
func (r *replica) learn(op string, self *access, lo, hi uint64, keep bool) (told error) {
	s := r.owner
	r.order.Failed(lo, hi, keep, func(from, to uint64, kind order.Kind, err error) (digested []span.Range) {
		digested = s.accesses.unwritten(self, r.place, from, to)
		var bad []span.Range
		for _, d := range digested {
			bad = append(bad, r.spoil(d.Lo, d.Hi, kind, err)...)
		}
		switch here := func(b span.Range) bool { return b.Lo < hi && lo < b.Hi }; {
		case op == "" || !slices.ContainsFunc(bad, here):
			for _, b := range bad {
				s.lost.add(b.Lo, b.Hi, loss{err: err, once: true})
			}
		case told == nil:
			told = underWay(op, err)
		}
		return digested
	})
	return told
}

// spoil makes bytes of a replica stale because they are bad, and returns the ranges that were current.
func (r *replica) spoil(lo, hi uint64, kind order.Kind, err error) (bad []span.Range) {
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
		s.accesses.spoiled(r.place, b.Lo, b.Hi, err)
		switch rest := valid[i].Without(r.place); {
		case rest == 0 && kind != order.Zeroed:
			s.lost.add(b.Lo, b.Hi, loss{err: err})
		case rest != 0:
			s.lost.needed(rest)
		}
	}
	if len(bad) > 0 {
		s.classify()
	}
	return bad
}

// needed makes one of the replicas at the places in valid stay if all of them are leaving: they have the only current copies of some bytes.
func (l *losses) needed(valid protocol.Set) {
	s := l.owner
	if s.leaving == 0 {
		return
	}
	for p := range valid.All() {
		if !s.places.replica(p).leaving {
			return
		}
	}
	s.places.replica(valid.First()).stay()
}
