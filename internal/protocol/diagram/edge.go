package main

import (
	"slices"

	"github.com/go-halyard/halyard/internal/protocol"
)

// device is the one device of the diagram.
const device protocol.Place = 1

// cause is an action that leads from one name to another.
type cause struct {
	action  protocol.Action
	place   protocol.Place
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

func placeName(p protocol.Place) string {
	if p == protocol.Host {
		return "host"
	}
	return "device"
}

// edge joins two names. They are the same for actions that do not change the name of the state.
type edge struct {
	from, to protocol.Name
	causes   []cause

	// kept says that the edge exists only where some place has memory although nothing is valid, as
	// after Reset.
	kept bool
}

// states lists every state of one host and one device.
func states() (all []protocol.State) {
	both := protocol.Of(protocol.Host, device)
	for allocated := protocol.Set(0); allocated <= both; allocated++ {
		for valid := protocol.Set(0); valid <= allocated; valid++ {
			if valid&^allocated == 0 {
				all = append(all, protocol.State{Allocated: allocated, Valid: valid})
			}
		}
	}
	return all
}

// occasions lists every action at both places, and Reset once.
func occasions() (all []cause) {
	for _, a := range protocol.Actions() {
		all = append(all, cause{action: a, place: protocol.Host})
		if a.Placed() {
			all = append(all, cause{action: a, place: device})
		}
	}
	return all
}

// apply returns what an occasion does in a state.
func apply(s protocol.State, c cause) (protocol.State, cause) {
	next, move, need, err := s.Plan(c.action, c.place, nil)
	c.moves = need
	c.zeros = need && move.From == protocol.NoPlace
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
