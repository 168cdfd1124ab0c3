package protocol

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-halyard/halyard/coherence"
)

// model is a buffer kept byte by byte, with the contents of every replica. It shares no code with
// Map: what an action needs is written out here again from the rules of the protocol.
type model struct {
	allocated Set
	valid     []Set
	last      []int           // the value of the last write of each byte, 0 before the first
	content   map[Place][]int // what each replica holds; garbage where it was never filled
	next      int             // the value of the next write
	moved     uint64          // bytes
}

const leftovers = -1

func newModel(size int) *model {
	return &model{valid: make([]Set, size), last: make([]int, size), content: map[Place][]int{}}
}

func (o *model) replica(p Place) []int {
	if o.content[p] == nil {
		o.content[p] = slices.Repeat([]int{leftovers}, len(o.valid))
	}
	return o.content[p]
}

// refusal is what an action has to fail with, and needed the number of bytes that it has to move.
func (o *model) expect(a Action, p Place, lo, hi uint64) (needed uint64, refusal error) {
	for i := lo; i < hi; i++ {
		switch v := o.valid[i]; a {
		case Read, ReadWrite:
			if !v.Has(p) {
				needed++
			}
		case MarkModified:
			if !v.Has(p) {
				return 0, coherence.ErrConflict
			}
		case Evict:
			if v == Of(p) {
				if needed++; o.allocated.With(Host) == Of(p) {
					return 0, coherence.ErrSoleCopy
				}
			}
		}
	}
	return needed, nil
}

// ends are those of the transfer of one byte.
func (o *model) ends(a Action, p Place, i uint64, cost Cost) Move {
	from, to := cheapest(world{State: State{o.allocated, o.valid[i]}}, a, p, cost)
	return Move{from, to}
}

// steps is how a map is driven; the tests put broken ones in its place.
type steps struct {
	plan   func(m *Map, a Action, p Place, lo, hi uint64, cost Cost) ([]Transfer, error)
	apply  func(m *Map, t Transfer) error
	commit func(m *Map, a Action, p Place, lo, hi uint64) error
}

var properly = steps{
	plan: func(m *Map, a Action, p Place, lo, hi uint64, cost Cost) ([]Transfer, error) {
		return m.Plan(a, p, lo, hi, cost, nil)
	},
	apply:  (*Map).Apply,
	commit: (*Map).Commit,
}

// act performs one action on the map and on the model and compares them. It stops after stop
// transfers, as if the next one had been refused, unless stop is negative.
func (o *model) act(m *Map, s steps, a Action, p Place, lo, hi uint64, cost Cost, stop int) error {
	needed, refusal := o.expect(a, p, lo, hi)
	transfers, err := s.plan(m, a, p, lo, hi, cost)
	if !errors.Is(err, refusal) || (err == nil) != (refusal == nil) {
		return fmt.Errorf("plan fails with %v, not %v", err, refusal)
	}
	if err != nil {
		if len(transfers) > 0 {
			return fmt.Errorf("a refused plan has transfers %v", transfers)
		}
		if err := s.commit(m, a, p, lo, hi); !errors.Is(err, refusal) {
			return fmt.Errorf("commit fails with %v, not %v", err, refusal)
		}
		return o.compare(m)
	}
	if a == Evict && needed > 0 {
		if err := s.commit(m, a, p, lo, hi); !errors.Is(err, coherence.ErrSoleCopy) {
			return fmt.Errorf("eviction before its transfers fails with %v", err)
		}
	}
	if err := o.check(transfers, a, p, lo, hi, needed, cost); err != nil {
		return err
	}
	for i, t := range transfers {
		if i == stop {
			return o.compare(m)
		}
		if err := s.apply(m, t); err != nil {
			return fmt.Errorf("%v: %w", t, err)
		}
		to := o.replica(t.To)
		for i := t.Lo; i < t.Hi; i++ {
			to[i] = 0
			if t.From != NoPlace {
				to[i] = o.replica(t.From)[i]
			}
			o.valid[i] = o.valid[i].With(t.To)
		}
		o.allocated = o.allocated.With(t.To)
		o.moved += t.Len()
	}

	if a.Placed() {
		o.perform(a, p, lo, hi)
	} else {
		for i := lo; i < hi; i++ {
			o.valid[i], o.last[i] = 0, 0
		}
	}
	if err := s.commit(m, a, p, lo, hi); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return o.compare(m)
}

// check verifies that transfers are in order, and move what is needed, from where it is cheapest, and no more.
func (o *model) check(transfers []Transfer, a Action, p Place, lo, hi, needed uint64, cost Cost) error {
	var moved uint64
	at := lo
	for i, t := range transfers {
		switch {
		case t.Lo < at || t.Lo >= t.Hi || t.Hi > hi:
			return fmt.Errorf("%v is out of order or out of [%d, %d)", t, lo, hi)
		case i > 0 && t.Lo == at && transfers[i-1].Move == t.Move:
			return fmt.Errorf("%v is not merged with the one before", t)
		}
		at = t.Hi
		for b := t.Lo; b < t.Hi; b++ {
			if n, _ := o.expect(a, p, b, b+1); n == 0 {
				return fmt.Errorf("%v moves byte %d, which need not", t, b)
			}
			if want := o.ends(a, p, b, cost); want != t.Move {
				return fmt.Errorf("byte %d: %v, not %v", b, t.Move, want)
			}
			moved++
		}
	}
	if moved != needed {
		return fmt.Errorf("%v move %d bytes of %d", transfers, moved, needed)
	}
	return nil
}

// perform lets the program touch the replica and records what it did.
func (o *model) perform(a Action, p Place, lo, hi uint64) {
	r := o.replica(p)
	if a == Evict {
		for i := lo; i < hi; i++ {
			r[i] = leftovers
			o.valid[i] = o.valid[i].Without(p)
		}
		if hi-lo == uint64(len(o.valid)) {
			o.allocated = o.allocated.Without(p)
		}
		return
	}
	o.allocated = o.allocated.With(p)
	if a == Read {
		return
	}
	o.next++
	for i := lo; i < hi; i++ {
		r[i], o.last[i], o.valid[i] = o.next, o.next, Of(p)
	}
}

// poison makes p fail in the range.
func (o *model) poison(m *Map, p Place, lo, hi uint64) error {
	var lost uint64
	r := o.replica(p)
	for i := lo; i < min(hi, uint64(len(o.valid))); i++ {
		r[i] = leftovers
		if o.valid[i] == Of(p) {
			lost++
			o.last[i] = 0
		}
		o.valid[i] = o.valid[i].Without(p)
	}
	if got := m.Invalidate(p, lo, hi); got != lost {
		return fmt.Errorf("%d bytes lost, not %d", got, lost)
	}
	return o.compare(m)
}

// compare checks that the map says of every byte what the model says, that what is valid is right,
// and that the map is as small as it can be.
func (o *model) compare(m *Map) error {
	if err := m.Check(); err != nil {
		return err
	}
	if m.Allocated() != o.allocated {
		return fmt.Errorf("allocated %v, not %v", m.Allocated(), o.allocated)
	}
	runs := 0
	var err error
	m.Runs(0, m.Size(), func(lo, hi uint64, valid Set) bool {
		runs++
		for i := lo; i < hi && err == nil; i++ {
			if valid != o.valid[i] {
				err = fmt.Errorf("byte %d: valid at %v, not %v", i, valid, o.valid[i])
			}
			for p := range valid.All() {
				if c := o.replica(p)[i]; c != o.last[i] && err == nil {
					err = fmt.Errorf("byte %d: %v is valid with %d for %d", i, p, c, o.last[i])
				}
			}
		}
		return err == nil
	})
	if err == nil && runs != m.Len() {
		err = fmt.Errorf("%d intervals of %d", runs, m.Len())
	}
	return err
}

// query compares the answers about one range.
func (o *model) query(m *Map, lo, hi uint64) error {
	all, any, written := ^Set(0), Set(0), true
	for _, v := range o.valid[lo:hi] {
		all, any, written = all&v, any|v, written && v != 0
	}
	gotAll, gotAny, gotWritten := m.Summary(lo, hi)
	if all != gotAll || any != gotAny || written != gotWritten {
		return fmt.Errorf("summary of [%d, %d) is %v %v %t, not %v %v %t", lo, hi, gotAll, gotAny, gotWritten, all, any, written)
	}
	if s := m.State(lo, hi); s != (State{o.allocated, all}) {
		return fmt.Errorf("state of [%d, %d) is %v, not %v", lo, hi, s, all)
	}
	for p := Place(0); p < 8; p++ {
		if m.ValidIn(lo, hi, p) != all.Has(p) {
			return fmt.Errorf("%v is valid in [%d, %d): %t", p, lo, hi, !all.Has(p))
		}
	}
	at := lo
	var err error
	m.Runs(lo, hi, func(l, h uint64, valid Set) bool {
		if l != at || h <= l || h > hi {
			err = fmt.Errorf("run [%d, %d) after %d in [%d, %d)", l, h, at, lo, hi)
		}
		at = h
		return err == nil
	})
	if err == nil && at != hi {
		err = fmt.Errorf("runs of [%d, %d) end at %d", lo, hi, at)
	}
	return err
}
