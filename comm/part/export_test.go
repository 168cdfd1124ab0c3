package part

import (
	"github.com/go-halyard/halyard/coherence"
	launches "github.com/go-halyard/halyard/internal/parts"
	"github.com/go-halyard/halyard/kernel"
)

// StaleError lets tests look at the ranges of an error.
type StaleError = staleError

// Stretches returns how many neighbours a rank of a layout has, how many stretches of consecutive elements it keeps, and how many stretches and ranks it looks
// at to find those.
func Stretches(l Layout, h Halo, rank, ranks int) (neighbours, kept, seen int, err error) {
	g, err := l.on("Stretches", ranks)
	if err == nil {
		err = g.surround("Test", &h, rank)
	}
	if err != nil {
		return 0, 0, 0, err
	}
	count := func(run) { seen++ }
	g.runs(rank, h.Needs, count)
	for _, peer := range g.readers(rank) {
		seen++
		g.walk(peer, rank, count)
	}
	p := g.divide(rank, h.Needs)
	p.serve()
	kept = len(p.own) + len(p.ghosts) + len(p.slots) + len(p.locals)
	for _, l := range p.links {
		if l.peer != rank {
			neighbours++
		}
		kept += len(l.ends[out].slots) + len(l.ends[in].slots)
	}
	return neighbours, kept, seen, nil
}

// Traffic returns how many messages a rank of a layout sends and receives in an exchange after which all elements have changed, and how many elements they have.
func Traffic(l Layout, h Halo, rank, ranks int) (sent, received, elements, ghosts int, err error) {
	g, err := l.on("Traffic", ranks)
	if err == nil {
		err = g.surround("Test", &h, rank)
	}
	if err != nil {
		return 0, 0, 0, 0, err
	}
	p := g.divide(rank, h.Needs)
	p.serve()
	for _, l := range p.links {
		if l.peer == rank {
			continue
		}
		o, n := l.ends[out].n, l.ends[in].n
		elements, ghosts = elements+o, ghosts+n
		if o > 0 {
			sent++
		}
		if n > 0 {
			received++
		}
	}
	return sent, received, elements, ghosts, nil
}

// News returns how often what this rank knows about a buffer may have changed.
func News(x kernel.Operand) int64 {
	by, _, _, _ := launches.Watched(x.Want(coherence.Read), nil)
	return by.(*copies).news.Load()
}
