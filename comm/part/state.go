package part

import (
	"sort"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/protocol"
)

// The places in the map of a Buffer, which has a state for each slot. An element that is owned here is current at the owner, and also at
// the ghosts if it was sent since it was written. A ghost is current at both places, or at the owner alone (it is stale), or at the ghost
// alone (this rank has written to it).
const (
	ghost protocol.Place = 0
	owner protocol.Place = 1
)

// state is a [Buffer] without its type. It watches the local buffer.
type state struct {
	store
	parts
	mail
	typ driver.Type

	// These are guarded by the lock of the store.
	quiet  bool // an exchange is under way
	busy   bool // a collective call is under way
	closed bool
	failed error // of a call that had begun: later calls are refused, because messages may be left over, and ghosts that were not sent
	runs   []span
}

// find appends the parts of [lo, hi) in the map whose places match, as spans that begin at lo.
func (s *state) find(list []span, lo, hi int, match func(valid protocol.Set) bool) []span {
	s.m.Runs(uint64(lo), uint64(hi), func(a, b uint64, valid protocol.Set) bool {
		if match(valid) {
			list = append(list, span{int(a) - lo, int(b) - lo})
		}
		return true
	})
	return list
}

func stale(valid protocol.Set) bool    { return !valid.Has(ghost) }
func written(valid protocol.Set) bool  { return !valid.Has(owner) }
func shared(valid protocol.Set) bool   { return valid.Has(owner) && valid.Has(ghost) }
func unshared(valid protocol.Set) bool { return valid == protocol.Of(owner) }

// at notes that slots from base on were read or written at a place.
func (s *state) at(p protocol.Place, a protocol.Action, base int, list []span) {
	for _, r := range list {
		_ = s.m.Commit(a, p, uint64(base+r.lo), uint64(base+r.hi))
	}
}

// Reads implements launches.Watcher. It refuses to read stale ghosts.
func (s *state) Reads(lo, hi uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m.ValidIn(uint64(s.count), uint64(s.size), ghost) {
		return nil
	}
	local, global := s.stale(int(lo)/s.elem, (int(hi)+s.elem-1)/s.elem)
	if len(local) == 0 {
		return nil
	}
	return &staleError{Rank: s.rank, Local: local, Global: global, call: exchanging}
}

// stale lists the stale ghosts in [lo, hi) of the local numbering, in both numberings.
func (s *state) stale(lo, hi int) (locals, globals []buffer.Range) {
	i := sort.Search(len(s.ghosts), func(i int) bool { return s.ghosts[i].local+s.ghosts[i].n > lo })
	for ; i < len(s.ghosts) && s.ghosts[i].local < hi; i++ {
		r := s.ghosts[i]
		pieces(s.locals, max(r.local, lo), min(r.local+r.n, hi), func(local, slot, n int) {
			s.runs = s.find(s.runs[:0], slot, slot+n, stale)
			for _, f := range s.runs {
				at := buffer.Range{Lo: local + f.lo, Hi: local + f.hi}
				locals = append(locals, at)
				globals = append(globals, buffer.Range{Lo: at.Lo - r.local + r.global, Hi: at.Hi - r.local + r.global})
			}
		})
	}
	return locals, globals
}

// Writes implements launches.Watcher. It notes what was written, and expires the ghosts if owned elements were.
func (s *state) Writes(from, to uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owned := false
	note := func(_, slot, n int) {
		place := ghost
		if slot < s.count {
			place, owned = owner, true
		}
		_ = s.m.Commit(protocol.Overwrite, place, uint64(slot), uint64(slot+n))
	}
	lo, hi := int(from)/s.elem, (int(to)+s.elem-1)/s.elem
	if hi-lo < s.size {
		pieces(s.locals, lo, hi, note)
	} else { // the same in two steps
		note(0, 0, s.count)
		note(0, s.count, s.size-s.count)
	}
	if owned && !s.quiet {
		s.expire()
	}
}

// expire makes all ghosts stale that hold elements of their owners. Ghosts that were written here stay as they are.
func (s *state) expire() {
	s.runs = s.find(s.runs[:0], s.count, s.size, shared)
	for _, r := range s.runs {
		s.m.Invalidate(ghost, uint64(s.count+r.lo), uint64(s.count+r.hi))
	}
}

// decide determines what an exchange sends to the neighbours, notes it as sent, and determines what it requests of them.
func (s *state) decide() {
	for _, l := range s.links {
		l.sent, l.requested = s.unsent(l.sent[:0], &l.ends[out]), s.contributed(l, l.requested)
	}
	s.runs = s.find(s.runs[:0], 0, s.count, stale)
	s.at(ghost, protocol.Read, 0, s.runs)
}

// unsent appends the elements of an end that the neighbour does not have.
func (s *state) unsent(list []span, e *end) []span {
	all, some, _ := s.m.Summary(uint64(e.lo), uint64(e.hi))
	switch {
	case e.n == 0 || all.Has(ghost):
		return list
	case !some.Has(ghost):
		return append(list, span{0, e.n})
	}
	for _, t := range e.slots {
		s.runs = s.find(s.runs[:0], t.to, t.to+t.n, stale)
		for _, r := range s.runs {
			lo, hi := t.at+r.lo, t.at+r.hi
			// A short gap is sent too, because another span in the head would not take fewer bytes.
			if k := len(list) - 1; k >= 0 && (lo-list[k].hi)*s.elem <= spanSize {
				list[k].hi = hi
			} else {
				list = append(list, span{lo, hi})
			}
		}
	}
	return list
}

// contributed returns the ghosts of a link that were written here, in the memory of a list.
func (s *state) contributed(l *link, list []span) []span {
	return s.find(list[:0], l.ends[in].lo, l.ends[in].hi, written)
}

// lose makes ghosts that were written here stale.
func (s *state) lose() {
	s.runs = s.find(s.runs[:0], s.count, s.size, written)
	s.at(owner, protocol.Overwrite, s.count, s.runs)
}

// answer makes the next exchange send what a neighbour has requested, except what the exchange under way has sent.
func (s *state) answer(l *link) {
	k := 0
	for i, r := range l.owed {
		for k < len(l.sent) && l.sent[k].hi < r.hi {
			k++
		}
		if k == len(l.sent) || r.lo < l.sent[k].lo {
			s.unsend(l, l.owed[i:i+1])
		}
	}
}

// unsend makes the next exchange send owned elements of a link.
func (s *state) unsend(l *link, list []span) {
	for _, r := range list {
		pieces(l.ends[out].slots, r.lo, r.hi, func(_, slot, n int) { s.m.Invalidate(ghost, uint64(slot), uint64(slot+n)) })
	}
}

// begin begins a collective call, unless another one is under way.
func (s *state) begin(op string) error {
	if s == nil {
		return driver.Errorf(op, driver.ErrInvalidArgument, "nil buffer")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return driver.Errorf(op, driver.ErrClosed, "the buffer was closed")
	case s.busy:
		return driver.Errorf(op, driver.ErrInvalidArgument, "another collective call of the buffer is under way")
	case s.failed != nil && op != "Close":
		e := driver.Errorf(op, comm.ErrMismatch, "refused, because an earlier call on the buffer failed")
		e.Err = s.failed
		return e
	}
	s.busy, s.closed = true, op == "Close"
	s.began, s.moved = false, Moved{}
	return nil
}

// fail notes that the call under way has failed, and gives up its messages. It reports whether something was sent or received; then ghosts
// are stale.
func (s *state) fail(err error) bool {
	s.abandon()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.began && s.failed == nil {
		s.failed = err
		s.lose()
		s.expire() // what did not arrive may have changed
	}
	return s.began
}

func (s *state) done() {
	s.mu.Lock()
	s.busy, s.quiet, s.closed = false, false, false
	s.mu.Unlock()
}
