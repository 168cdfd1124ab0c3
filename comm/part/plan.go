package part

import (
	"slices"
	"sort"

	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// Plan says what one rank of a layout stores, and how much it sends and receives at most. It is made without a communicator, so a program can plan
// for more ranks than there are.
type Plan struct {
	Owned, Ghosts int // elements
	Peers         []Peer
	// Entries measures the memory for the plan: the number of stretches of consecutive elements that the rank stores (owned ones, ghosts,
	// and those of links with neighbours), and of starts of an explicit layout.
	Entries int
	// Steps measures the time for the plan: how many stretches, parts and starts were looked at.
	Steps int
}

// Peer is another rank, and how many elements go to it and come from it in one message each.
type Peer struct{ Rank, Send, Receive int }

// PlanExchange returns what an exchange of all ghosts sends and receives at the given rank. Peers are in the order of ranks. With needs it
// has only what this rank receives, because only the other ranks know what they need. Its errors are those of New.
func PlanExchange(layout Layout, halo Halo, rank, ranks int) (Plan, error) {
	const op = "PlanExchange"
	g, err := layout.ranked(op, rank, ranks)
	if err == nil {
		err = halo.check(op, g, rank)
	}
	if err != nil {
		return Plan{}, err
	}
	p := g.divide(rank, &halo)
	if len(halo.Needs) == 0 {
		p.serve(&halo)
	}
	plan := Plan{Owned: p.count, Ghosts: p.size - p.count, Entries: len(p.own) + len(p.ghosts) + len(g.cuts), Steps: g.steps}
	for _, l := range p.links {
		if l.peer != rank {
			plan.Peers = append(plan.Peers, Peer{l.peer, l.out.n, l.in.n})
		}
		plan.Entries += len(l.out.wire) + len(l.in.wire)
	}
	return plan, nil
}

// PlanRedistribute returns what Redistribute sends and receives at the given rank. Peers are in the order of ranks.
func PlanRedistribute(dst, src Layout, rank, ranks int) (Plan, error) {
	const op = "PlanRedistribute"
	to, err := dst.ranked(op, rank, ranks)
	if err != nil {
		return Plan{}, err
	}
	from, err := src.ranked(op, rank, ranks)
	if err != nil {
		return Plan{}, err
	}
	if to.len() != from.len() {
		return Plan{}, driver.Errorf(op, comm.ErrInvalidArgument, "the layouts have %d and %d elements; both must have the same number", from.len(), to.len())
	}
	var plan Plan
	here, there := from.divide(rank, new(Halo)), to.divide(rank, new(Halo))
	peers := map[int]Peer{}
	add := func(list []piece, count func(*Peer) *int) {
		for _, q := range list {
			plan.Entries += len(q.local)
			if q.peer != rank {
				peer := peers[q.peer]
				*count(&peer) = q.n
				peer.Rank = q.peer
				peers[q.peer] = peer
			}
		}
	}
	add(here.pieces(to), func(p *Peer) *int { return &p.Send })
	add(there.pieces(from), func(p *Peer) *int { return &p.Receive })
	for _, p := range peers {
		plan.Peers = append(plan.Peers, p)
	}
	slices.SortFunc(plan.Peers, func(a, b Peer) int { return a.Rank - b.Rank })
	plan.Owned, plan.Steps = there.count, to.steps+from.steps
	return plan, nil
}

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
