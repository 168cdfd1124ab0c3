package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-halyard/halyard/bench/internal/timing"
	"github.com/go-halyard/halyard/comm/part"
)

// planned is what package part plans for the ranks of a problem, one by one and without a communicator. Entries and steps are the most of any rank.
type planned struct {
	entries, steps int
	took           time.Duration // for one rank, the median
	sends          []part.Moved  // of each rank
}

// plan plans a problem for each of its ranks. The plans of two ranks must agree on what one sends to the other.
func (p *problem) plan(ranks int) (all planned, err error) {
	plans, times := make([]part.Plan, ranks), make([]float64, ranks)
	told := false // the problem has needs, so only the other ranks know what a rank sends
	for r := range plans {
		h := p.halo(r, ranks)
		told = told || len(h.Needs) > 0
		start := time.Now()
		if p.to != nil {
			plans[r], err = part.PlanRedistribute(p.to(ranks), p.layout(ranks), r, ranks)
		} else {
			plans[r], err = part.PlanExchange(p.layout(ranks), h, r, ranks)
		}
		times[r] = float64(time.Since(start))
		if err != nil {
			return all, err
		}
		all.entries, all.steps = max(all.entries, plans[r].Entries), max(all.steps, plans[r].Steps)
	}
	if told {
		answer(plans)
	}
	all.took = time.Duration(timing.Summarize(times).Median)
	for r := range plans {
		var m part.Moved
		for _, q := range plans[r].Peers {
			if got := receives(&plans[q.Rank], r); got != q.Send {
				return all, fmt.Errorf("rank %d plans to send %d elements to rank %d, which plans to receive %d", r, q.Send, q.Rank, got)
			}
			if p.to == nil || q.Send > 0 { // an exchange sends a message even without elements
				m.Messages++
				m.Bytes += 8 * uint64(q.Send)
			}
		}
		all.sends = append(all.sends, m)
	}
	return all, nil
}

func find(p *part.Plan, peer int) (int, bool) {
	return slices.BinarySearchFunc(p.Peers, peer, func(q part.Peer, peer int) int { return q.Rank - peer })
}

// receives returns how many elements a plan receives from a rank.
func receives(p *part.Plan, peer int) int {
	if i, found := find(p, peer); found {
		return p.Peers[i].Receive
	}
	return 0
}

// answer completes plans with needs, which have only what each rank receives: it adds what each sends.
func answer(plans []part.Plan) {
	type need struct{ from, to, n int }
	var list []need
	for r := range plans {
		for _, q := range plans[r].Peers {
			list = append(list, need{q.Rank, r, q.Receive})
		}
	}
	for _, x := range list {
		p := &plans[x.from]
		i, found := find(p, x.to)
		if !found {
			p.Peers = slices.Insert(p.Peers, i, part.Peer{Rank: x.to})
		}
		p.Peers[i].Send = x.n
	}
}
