package part

import (
	"slices"
	"sort"
)

// parts is what one rank has of a layout.
type parts struct {
	grid   *grid
	rank   int
	extent [3]int
	size   int   // local elements
	count  int   // owned elements
	own    []run // the owned elements
	ghosts []run
	links  []*link // by rank
}

// divide finds the elements of a rank: those that it owns, its ghosts, and the owners of the ghosts.
func (g *grid) divide(rank int, h *Halo) parts {
	p := parts{grid: g, rank: rank}
	p.extent, p.size = h.runs(g, rank, func(r run) {
		switch k := len(p.own) - 1; {
		case r.ghost:
			p.ghosts = append(p.ghosts, r)
		case k >= 0 && p.own[k].local+p.own[k].n == r.local && p.own[k].global+p.own[k].n == r.global:
			p.own[k].n += r.n
			p.count += r.n
		default:
			p.own = append(p.own, r)
			p.count += r.n
		}
	})
	for _, r := range p.ghosts {
		p.link(r.owner).in.add(r.local, r.n)
	}
	return p
}

// serve finds which elements of this rank are ghosts of other ranks, in a halo of widths. Both ends of a link number them in the order of
// the other rank's box.
func (p *parts) serve(h *Halo) {
	for _, peer := range p.grid.readers(p.rank, h) {
		p.grid.walk(peer, p.rank, h, func(r run) {
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
		l.out.add(r.local+global-r.global, k)
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

// globalOf is the global index of a local ghost.
func (p *parts) globalOf(local int) int {
	i := sort.Search(len(p.ghosts), func(i int) bool { return p.ghosts[i].local+p.ghosts[i].n > local })
	return p.ghosts[i].global + local - p.ghosts[i].local
}
