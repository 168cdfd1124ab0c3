package main

import (
	"slices"

	"github.com/go-halyard/halyard/coherence"
)

// device is the one device of the diagram.
const device coherence.Place = 1

// cause is an action that leads from one name to another.
type cause struct {
	action  coherence.Action
	place   coherence.Place
	moves   bool // there is a transfer first
	zeros   bool // and it fills with zeros
	refused bool
}

// String returns "Read device (copy)".
func (c cause) String() string {
	s := c.action.String()
	if c.action.Placed() {
		s += " " + placeName(c.place)
	}
	switch {
	case c.refused:
		return s
	case c.zeros:
		return s + " (zeros)"
	case c.moves:
		return s + " (copy)"
	}
	return s
}

func placeName(p coherence.Place) string {
	if p == coherence.Host {
		return "host"
	}
	return "device"
}

// edge joins two names, which are the same for what changes nothing that the names show.
type edge struct {
	from, to coherence.Name
	causes   []cause

	// kept says that the edge exists only where some place has memory although nothing is valid, as
	// after Discard.
	kept bool
}

// states lists every state of one host and one device.
func states() (all []coherence.State) {
	both := coherence.Of(coherence.Host, device)
	for allocated := coherence.Set(0); allocated <= both; allocated++ {
		for valid := coherence.Set(0); valid <= allocated; valid++ {
			if valid&^allocated == 0 {
				all = append(all, coherence.State{Allocated: allocated, Valid: valid})
			}
		}
	}
	return all
}

// occasions lists every action at both places.
func occasions() (all []cause) {
	for _, a := range coherence.Actions() {
		all = append(all, cause{action: a, place: coherence.Host})
		if a.Placed() {
			all = append(all, cause{action: a, place: device})
		}
	}
	return all
}

// apply returns what an occasion does in a state.
func apply(s coherence.State, c cause) (coherence.State, cause) {
	next, move, need, err := s.Plan(c.action, c.place, nil)
	c.moves = need
	c.zeros = need && move.From == coherence.NoPlace
	c.refused = err != nil
	return next, c
}

// edges enumerates all transitions, by name. Refused actions are edges from a name to itself.
func edges() []edge {
	var all []edge
	for _, s := range states() {
		for _, c := range occasions() {
			next, c := apply(s, c)
			from, to := s.Name(), next.Name()
			i := slices.IndexFunc(all, func(e edge) bool { return e.from == from && e.to == to })
			if i < 0 {
				i = len(all)
				all = append(all, edge{from: from, to: to, kept: true})
			}
			e := &all[i]
			if !slices.Contains(e.causes, c) {
				e.causes = append(e.causes, c)
			}
			if s.Allocated == 0 || s.Valid != 0 {
				e.kept = false
			}
		}
	}
	slices.SortStableFunc(all, func(a, b edge) int {
		if a.from != b.from {
			return int(a.from) - int(b.from)
		}
		return int(a.to) - int(b.to)
	})
	return all
}
