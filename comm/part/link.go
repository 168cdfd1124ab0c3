package part

import (
	"slices"
	"sort"
	"sync"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// The places of a link's maps. A link is between the owner of elements and the rank that has ghosts of them.
const (
	ghost protocol.Place = 0
	owner protocol.Place = 1
)

// link is what a rank knows about one neighbour: which elements of the one the other has ghosts of, and what is sent for them.
type link struct {
	peer    int
	out, in end // elements owned here with ghosts there, and ghosts here of elements owned there

	// Elements of the exchange under way. Of owned elements:
	sent     []span // what this rank sends
	owed     []span // what the neighbour requests, because it wrote to its ghosts of them
	answered []span // the part of owed that is not in sent: it goes into a second message
	// Of ghosts:
	received  []span // what the neighbour sends
	requested []span // what this rank requests, because it wrote to these ghosts
	missing   []span // the part of requested that is not in received: it comes in a second message
}

// span is elements [lo, hi) of a link, in the order in which both ends number them: that of the ghosts in the receiver's local numbering.
type span struct{ lo, hi int }

// stretchOf is a stretch of a link's elements that is consecutive in the local numbering, too.
type stretchOf struct{ wire, local, n int }

// end is one rank's end of the elements of a link. Its map says at which of the two places they are current. At the owner's end, elements
// are current at the owner only once the owner has written them. At the other end they are current at both places, at the owner only (the
// ghosts are stale), or at the ghost only (this rank has written them).
type end struct {
	m       protocol.Map
	wire    []stretchOf // in the link's order
	local   []stretchOf // in the local order
	longest int         // the length of the longest stretch
	lo, hi  int         // all stretches lie in [lo, hi) of the local numbering
	n       int
}

func (e *end) add(local, n int) {
	if k := len(e.wire) - 1; k >= 0 && e.wire[k].local+e.wire[k].n == local {
		e.wire[k].n += n
	} else {
		e.wire = append(e.wire, stretchOf{e.n, local, n})
	}
	e.n += n
}

// ready prepares the end once all stretches were added.
func (e *end) ready() {
	e.m.Init(uint64(e.n))
	e.local = slices.Clone(e.wire)
	slices.SortFunc(e.local, func(a, b stretchOf) int { return a.local - b.local })
	for i, s := range e.local {
		if i == 0 {
			e.lo = s.local
		}
		e.hi = max(e.hi, s.local+s.n)
		e.longest = max(e.longest, s.n)
	}
	if e.n > 0 {
		_ = e.m.Commit(protocol.Overwrite, owner, 0, uint64(e.n))
	}
}

// meeting calls fn for each part of the link that lies in local elements [lo, hi). It takes O(log n) for n stretches, plus time for each
// stretch that begins in the range, or before it by less than the longest stretch's length.
func (e *end) meeting(lo, hi int, fn func(wire, local, n int)) {
	if e.n == 0 || hi <= e.lo || lo >= e.hi {
		return
	}
	i := sort.Search(len(e.local), func(i int) bool { return e.local[i].local > lo-e.longest })
	for ; i < len(e.local) && e.local[i].local < hi; i++ {
		s := e.local[i]
		a, b := max(s.local, lo), min(s.local+s.n, hi)
		if a < b {
			fn(s.wire+a-s.local, a, b-a)
		}
	}
}

// each calls fn for the local elements of a span, in the link's order.
func (e *end) each(s span, fn func(local, n int)) {
	i := sort.Search(len(e.wire), func(i int) bool { return e.wire[i].wire+e.wire[i].n > s.lo })
	for ; i < len(e.wire) && e.wire[i].wire < s.hi; i++ {
		w := e.wire[i]
		a, b := max(w.wire, s.lo), min(w.wire+w.n, s.hi)
		fn(w.local+a-w.wire, b-a)
	}
}

// overwrite notes that all of the elements in [lo, hi) were written at a place.
func (e *end) overwrite(p protocol.Place, lo, hi int) {
	if lo <= e.lo && e.hi <= hi {
		if e.n > 0 {
			_ = e.m.Commit(protocol.Overwrite, p, 0, uint64(e.n))
		}
		return
	}
	e.meeting(lo, hi, func(wire, _, n int) {
		_ = e.m.Commit(protocol.Overwrite, p, uint64(wire), uint64(wire+n))
	})
}

// state says where the elements of all links are current. It watches the local buffer.
type state struct {
	elem uint64
	rank int
	// global returns the global index of a local ghost, for errors.
	global func(local int) int

	mu     sync.Mutex
	links  []*link // by rank
	fresh  bool    // no ghost is stale
	some   bool    // some ghost may be current
	quiet  bool    // an exchange is under way
	busy   bool    // a collective call is under way
	closed bool
	began  bool  // the collective call under way has sent or received, so its ranks no longer agree if it fails on one
	failed error // of a call that had begun: later calls are refused, because messages may be left over, and ghosts that were not sent
	moves  []protocol.Transfer
	runs   []span
}

// Reads implements watch.Watcher. It refuses to read stale ghosts.
func (s *state) Reads(lo, hi uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh {
		return nil
	}
	list := s.stale(int(lo/s.elem), int((hi+s.elem-1)/s.elem))
	if len(list) == 0 {
		return nil
	}
	return s.error(list)
}

// stale lists the stale ghosts in [lo, hi).
func (s *state) stale(lo, hi int) (list []buffer.Range) {
	for _, l := range s.links {
		l.in.meeting(lo, hi, func(wire, local, n int) {
			l.in.m.Runs(uint64(wire), uint64(wire+n), func(a, b uint64, valid protocol.Set) bool {
				if !valid.Has(ghost) {
					at := local + int(a) - wire
					list = append(list, buffer.Range{Lo: at, Hi: at + int(b-a)})
				}
				return true
			})
		})
	}
	return union(list)
}

// error describes stale ghosts.
func (s *state) error(list []buffer.Range) *staleError {
	e := &staleError{Rank: s.rank, call: exchanging}
	for _, r := range list { // split where the global numbering jumps
		for lo := r.Lo; lo < r.Hi; {
			hi, first := lo+1, s.global(lo)
			for hi < r.Hi && s.global(hi) == first+hi-lo {
				hi++
			}
			e.Local = append(e.Local, buffer.Range{Lo: lo, Hi: hi})
			e.Global = append(e.Global, buffer.Range{Lo: first, Hi: first + hi - lo})
			lo = hi
		}
	}
	return e
}

// Writes implements watch.Watcher. It notes what was written, and expires the ghosts if owned elements were.
func (s *state) Writes(from, to uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lo, hi := int(from/s.elem), int((to+s.elem-1)/s.elem)
	ghosts := 0
	for _, l := range s.links {
		l.out.overwrite(owner, lo, hi)
		l.in.overwrite(ghost, lo, hi)
		if ghosts < hi-lo {
			l.in.meeting(lo, hi, func(_, _, n int) { ghosts += n })
		}
	}
	if ghosts < hi-lo && !s.quiet { // some of it is owned
		s.expire()
	}
}

// expire makes all ghosts stale that hold elements of their owners. Ghosts that were written here stay as they are.
func (s *state) expire() {
	if !s.some {
		return
	}
	s.some = false
	for _, l := range s.links {
		s.runs = s.runs[:0]
		l.in.m.Runs(0, uint64(l.in.n), func(lo, hi uint64, valid protocol.Set) bool {
			if valid.Has(owner) && valid.Has(ghost) {
				s.runs = append(s.runs, span{int(lo), int(hi)})
			}
			return true
		})
		for _, r := range s.runs {
			l.in.m.Invalidate(ghost, uint64(r.lo), uint64(r.hi))
			s.fresh = false
		}
	}
}

// decide determines what an exchange sends to a neighbour and requests of it, and notes both as done.
func (s *state) decide(l *link) {
	l.sent, l.requested = l.sent[:0], l.requested[:0]
	if l.out.n > 0 {
		s.moves, _ = l.out.m.Plan(protocol.Read, ghost, 0, uint64(l.out.n), nil, s.moves[:0])
		for _, t := range s.moves {
			_ = l.out.m.Apply(t)
			lo, hi := int(t.Lo), int(t.Hi)
			// A short gap is sent too, because another span in the head would not take fewer bytes.
			if k := len(l.sent) - 1; k >= 0 && uint64(lo-l.sent[k].hi)*s.elem <= spanSize {
				l.sent[k].hi = hi
			} else {
				l.sent = append(l.sent, span{lo, hi})
			}
		}
	}
	l.requested = s.written(l, l.requested)
	s.lose(l, l.requested)
}

// written appends the ghosts of a link that were written here.
func (s *state) written(l *link, list []span) []span {
	l.in.m.Runs(0, uint64(l.in.n), func(lo, hi uint64, valid protocol.Set) bool {
		if !valid.Has(owner) {
			list = append(list, span{int(lo), int(hi)})
		}
		return true
	})
	return list
}

// lose makes ghosts that were written here stale.
func (s *state) lose(l *link, list []span) {
	for _, r := range list {
		_ = l.in.m.Commit(protocol.Overwrite, owner, uint64(r.lo), uint64(r.hi))
		s.fresh = false
	}
}

// arrived notes that ghosts hold what their owner has.
func (e *end) arrived(list []span) {
	for _, r := range list {
		_ = e.m.Commit(protocol.Overwrite, owner, uint64(r.lo), uint64(r.hi))
		_ = e.m.Commit(protocol.Read, ghost, uint64(r.lo), uint64(r.hi))
	}
}

// confirm notes that the ghosts of a link which were not sent have not changed at their owner.
func (s *state) confirm(l *link) {
	s.runs = s.runs[:0]
	l.in.m.Runs(0, uint64(l.in.n), func(lo, hi uint64, valid protocol.Set) bool {
		if valid == protocol.Of(owner) {
			s.runs = append(s.runs, span{int(lo), int(hi)})
		}
		return true
	})
	for _, r := range s.runs {
		_ = l.in.m.Commit(protocol.Read, ghost, uint64(r.lo), uint64(r.hi))
	}
}

// settle computes fresh and some.
func (s *state) settle() {
	s.fresh, s.some = true, false
	for _, l := range s.links {
		if l.in.n > 0 {
			_, any, _ := l.in.m.Summary(0, uint64(l.in.n))
			s.some = s.some || any.Has(ghost)
			s.fresh = s.fresh && l.in.m.ValidIn(0, uint64(l.in.n), ghost)
		}
	}
}

// without returns the elements of a that are not in b. Both ascend.
func without(a, b []span) (list []span) {
	if len(b) == 0 {
		return a
	}
	i := 0
	for _, r := range a {
		for i < len(b) && b[i].hi <= r.lo {
			i++
		}
		for k := i; k < len(b) && b[k].lo < r.hi; k++ {
			if r.lo < b[k].lo {
				list = append(list, span{r.lo, b[k].lo})
			}
			r.lo = max(r.lo, b[k].hi)
		}
		if r.lo < r.hi {
			list = append(list, r)
		}
	}
	return list
}

// union sorts ranges and merges those that touch.
func union(list []buffer.Range) []buffer.Range {
	if !slices.IsSortedFunc(list, byLo) {
		slices.SortFunc(list, byLo)
	}
	out := list[:0]
	for _, r := range list {
		if k := len(out) - 1; k >= 0 && r.Lo <= out[k].Hi {
			out[k].Hi = max(out[k].Hi, r.Hi)
		} else {
			out = append(out, r)
		}
	}
	return out
}

func byLo(a, b buffer.Range) int { return a.Lo - b.Lo }

func count(list []span) (n int) {
	for _, r := range list {
		n += r.hi - r.lo
	}
	return n
}
