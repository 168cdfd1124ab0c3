package part

import (
	"slices"
	"sort"

	"github.com/go-halyard/halyard/buffer"
)

// parts has the elements of a layout that one rank stores. They have two numberings: the local one, and that of slots. In slots the owned
// elements come first, and then the ghosts, in the order of the ranks that own them. The elements of one owner have the order of the
// local numbering.
type parts struct {
	grid   *grid
	rank   int
	extent [3]int
	size   int   // local elements
	count  int   // owned elements
	own    []run // the owned elements
	ghosts []run
	slots  []stretch // from slots to the local numbering
	locals []stretch // from the local numbering to slots
	links  []*link   // by rank
}

// stretch is n elements that are consecutive in two numberings. The fields at and to say where they begin in the one
// and in the other.
type stretch struct{ at, to, n int }

// add appends elements that follow those of a list.
func add(list []stretch, to, n int) []stretch {
	if len(list) == 0 {
		return append(list, stretch{0, to, n})
	}
	if last := &list[len(list)-1]; last.to+last.n != to {
		list = append(list, stretch{last.at + last.n, to, n})
	} else {
		last.n += n
	}
	return list
}

// pieces calls fn for each stretch of the elements from lo up to but not including hi.
func pieces(list []stretch, lo, hi int, fn func(at, to, n int)) {
	i := sort.Search(len(list), func(i int) bool { return list[i].at+list[i].n > lo })
	for ; i < len(list) && list[i].at < hi; i++ {
		s := list[i]
		a, b := max(s.at, lo), min(s.at+s.n, hi)
		fn(a, s.to+a-s.at, b-a)
	}
}

// link is what a rank knows about one neighbour: which elements of either rank are ghosts at the other, and which of these are exchanged.
type link struct {
	peer int
	ends [2]end // out: elements owned here with ghosts there; in: ghosts here of elements owned there

	// The two lists in the heads of messages: the elements that the message has, and, in an exchange, requests: ghosts that the sender has
	// written to. The receiver, who owns these elements, sends them in this exchange or in the next one.
	sent, requested []span
	received, owed  []span
}

// span is elements [lo, hi) of a link, in the order in which both ends number them: that of the ghosts in the receiver's local numbering.
type span struct{ lo, hi int }

// end is one rank's end of the elements of a link.
type end struct {
	slots  []stretch // from the link's numbering to slots
	n      int
	lo, hi int // all slots lie in [lo, hi)
}

func (e *end) add(slot, n int) {
	if e.n == 0 {
		e.lo = slot
	}
	e.slots = add(e.slots, slot, n)
	e.n, e.lo, e.hi = e.n+n, min(e.lo, slot), max(e.hi, slot+n)
}

// divide finds the elements of a rank: those that it owns, its ghosts, and the owners of the ghosts.
func (g *grid) divide(rank int, needs []buffer.Range) parts {
	p := parts{grid: g, rank: rank}
	p.extent, p.size = g.runs(rank, needs, func(r run) {
		switch k := len(p.own) - 1; {
		case r.ghost:
			p.ghosts = append(p.ghosts, r)
			return
		case k >= 0 && p.own[k].local+p.own[k].n == r.local && p.own[k].global+p.own[k].n == r.global:
			p.own[k].n += r.n
		default:
			p.own = append(p.own, r)
		}
		p.count += r.n
		p.slots = add(p.slots, r.local, r.n)
	})
	owned := len(p.slots)
	ghosts := slices.Clone(p.ghosts)
	slices.SortStableFunc(ghosts, func(a, b run) int { return a.owner - b.owner })
	var list []stretch // apart, so that no stretch has both owned elements and ghosts
	slot := p.count
	for _, r := range ghosts {
		list = add(list, r.local, r.n)
		p.link(r.owner).ends[in].add(slot, r.n)
		slot += r.n
	}
	p.slots = append(p.slots, list...)
	for i := range p.slots {
		if i >= owned {
			p.slots[i].at += p.count
		}
		s := p.slots[i]
		p.locals = append(p.locals, stretch{s.to, s.at, s.n})
	}
	slices.SortFunc(p.locals, func(a, b stretch) int { return a.at - b.at })
	return p
}

// serve finds which elements of this rank are ghosts of other ranks, in a halo of widths. Both ends of a link number them in the order of
// the other rank's box.
func (p *parts) serve() {
	for _, peer := range p.grid.readers(p.rank) {
		p.grid.walk(peer, p.rank, func(r run) {
			if r.ghost {
				p.owe(peer, r.global, r.n)
			}
		})
	}
}

// owe notes that a rank has ghosts of owned elements.
func (p *parts) owe(peer, global, n int) {
	l := p.link(peer)
	for n > 0 {
		i := sort.Search(len(p.own), func(i int) bool { return p.own[i].global+p.own[i].n > global })
		r := p.own[i]
		k := min(n, r.global+r.n-global)
		local := r.local + global - r.global
		pieces(p.locals, local, local+k, func(_, slot, n int) { l.ends[out].add(slot, n) })
		global, n = global+k, n-k
	}
}

// link returns the link with a rank, and makes it first if there is none.
func (p *parts) link(peer int) *link {
	i, found := slices.BinarySearchFunc(p.links, peer, func(l *link, peer int) int { return l.peer - peer })
	if !found {
		p.links = slices.Insert(p.links, i, &link{peer: peer})
	}
	return p.links[i]
}
