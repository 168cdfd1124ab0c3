package protocol

import (
	"fmt"

	"github.com/go-halyard/halyard/coherence"
)

// State is the state of one range of bytes. Valid is a subset of Allocated.
type State struct {
	Allocated Set // places that have memory for the range
	Valid     Set // places whose memory holds the bytes of the last write
}

// Move is one transfer. From is NoPlace if To is to be filled with zeros.
type Move struct {
	From, To Place
}

// String returns "host → device 1" or "zeros → host".
func (m Move) String() string {
	if m.From == NoPlace {
		return "zeros → " + m.To.String()
	}
	return m.From.String() + " → " + m.To.String()
}

// Cost compares possible transfers: the one with the lowest cost is planned. Among transfers of equal cost, that from or
// to the lowest place is planned. Any int is allowed. A nil Cost makes all costs equal, so
// that the host is preferred and then the lowest device.
type Cost func(from, to Place) int

// Plan returns the transfer that an action at p needs, and the state after the action. If need is true the transfer m is to be
// submitted before the state becomes next. If need is false there is no transfer. Plan does not allocate unless it fails.
//
// When the only valid replica is evicted it is copied to an allocated place, or to the host
// even if that is not allocated; without any such place the error is a *RefusalError that matches
// coherence.ErrSoleCopy. A refusal by the table is a *RefusalError that matches coherence.ErrConflict. Other errors
// match ErrInvalidPlace, ErrInvalidAction and ErrInvalidState. With an error, next is s and need is
// false.
func (s State) Plan(a Action, p Place, cost Cost) (next State, m Move, need bool, err error) {
	return standard.plan(s, a, p, cost)
}

// Apply returns the state once the transfer has been submitted and nothing else has happened.
func (s State) Apply(m Move) State {
	return State{Allocated: s.Allocated.With(m.To), Valid: s.Valid.With(m.To)}
}

// Version returns the version that p holds: the given one, which is that of the last write, or -1
// if p is not valid.
func (s State) Version(p Place, version int64) int64 {
	if s.Valid.Has(p) {
		return version
	}
	return -1
}

// String shows both sets.
func (s State) String() string {
	return fmt.Sprintf("valid %v of %v", s.Valid, s.Allocated)
}

func (t *protocol) plan(s State, a Action, p Place, cost Cost) (next State, m Move, need bool, err error) {
	if int(a) >= numActions {
		return s, m, false, invalidAction(a)
	}
	if !p.Usable() && a.Placed() {
		return s, m, false, invalidPlace(p)
	}
	if s.Valid&^s.Allocated != 0 {
		return s, m, false, fmt.Errorf("protocol: %w: %v", ErrInvalidState, s)
	}
	c := &t[a][situation(s.Valid, p)]
	m, need, refusal := c.move(s, p, cost)
	if refusal != nil {
		return s, Move{}, false, &RefusalError{Kind: refusal, Action: a, Place: p, State: s}
	}
	next = s
	if need {
		next = s.Apply(m)
	}
	next.Valid = c.valid.On(next.Valid, p)
	next.Allocated = c.allocated.On(next.Allocated, p)
	return next, m, need, nil
}

// move chooses the transfer. If the action is refused, refusal is the kind of the error.
func (c *cell) move(s State, p Place, cost Cost) (m Move, need bool, refusal error) {
	switch {
	case c.refuse != nil:
		return Move{}, false, c.refuse
	case c.supply == SupplyCopy:
		return Move{From: source(s.Valid, p, cost), To: p}, true, nil
	case c.supply == SupplyZeros:
		return Move{From: NoPlace, To: p}, true, nil
	case c.supply == SupplyRescue:
		to := refuge(s.Allocated.With(Host).Without(p), p, cost)
		if to == NoPlace {
			return Move{}, false, coherence.ErrSoleCopy
		}
		return Move{From: p, To: to}, true, nil
	}
	return Move{}, false, nil
}

// source returns the place from which bytes are copied to p.
func source(places Set, p Place, cost Cost) Place {
	best := places.First()
	if cost == nil || places&(places-1) == 0 {
		return best
	}
	least := cost(best, p)
	for rest := places & (places - 1); rest != 0; rest &= rest - 1 {
		if c := cost(rest.First(), p); c < least {
			best, least = rest.First(), c
		}
	}
	return best
}

// refuge returns the place to which the bytes at p are copied.
func refuge(places Set, p Place, cost Cost) Place {
	best := places.First()
	if cost == nil || places&(places-1) == 0 {
		return best
	}
	least := cost(p, best)
	for rest := places & (places - 1); rest != 0; rest &= rest - 1 {
		if c := cost(p, rest.First()); c < least {
			best, least = rest.First(), c
		}
	}
	return best
}
