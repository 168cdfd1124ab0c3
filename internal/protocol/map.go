package protocol

import "github.com/go-halyard/halyard/coherence"

// Map is the state of every byte of a buffer: a [State] per interval, whose Valid sets differ from one interval to the next and whose
// Allocated set is the same everywhere, because a replica has memory for the whole buffer or none.
//
// Offsets are in bytes, ranges are half-open: [lo, hi). A map is made by [Map.Init]; it must not be copied once used, and is not safe for
// concurrent use. With n intervals a query of any range takes O(log n). A change takes O(log n) and time for each interval that it touches.
// Queries do not allocate.
//
// An empty range within the map is valid at every place that has memory, and no action on it needs a transfer. A range that is reversed or
// ends after the last byte is never valid anywhere; methods that return an error refuse it with an error of kind ErrInvalidRange and change nothing.
type Map struct {
	size      uint64
	allocated Set
	one       Set // valid places of all bytes, unless split
	split     bool
	tree      *tree // the intervals if split; kept for reuse after they merged into one
}

// Init makes m a map of size bytes, none of which is valid or allocated anywhere.
func (m *Map) Init(size uint64) { *m = Map{size: size} }

// Size is the number of bytes.
func (m *Map) Size() uint64 { return m.size }

// Len is the number of intervals. Neighbours differ, so no map of the same states has fewer.
func (m *Map) Len() int {
	if m.split {
		return m.tree.count
	}
	return 1
}

// Allocated is the set of places that have memory for the replica.
func (m *Map) Allocated() Set { return m.allocated }

// Allocate records that p has memory, whose contents are not valid. It fails with ErrInvalidPlace if p is not usable.
func (m *Map) Allocate(p Place) error {
	if !p.Usable() {
		return invalidPlace(p)
	}
	m.allocated = m.allocated.With(p)
	return nil
}

// ValidIn reports whether p holds every byte of [lo, hi) valid. It is false for a range that does not lie in the map.
func (m *Map) ValidIn(lo, hi uint64, p Place) bool {
	switch {
	case lo < hi && !m.split:
		return m.one.Has(p) && hi <= m.size
	case lo == hi:
		return m.allocated.Has(p) && hi <= m.size
	}
	return m.has(lo, hi) && m.tree.fold(lo, hi).all.Has(p)
}

// Sole reports whether the map has one interval and p, and no other place, holds every byte of [lo, hi) valid. It never searches: with
// more intervals it returns false even where the answer is yes.
func (m *Map) Sole(lo, hi uint64, p Place) bool {
	return !m.split && m.one == Of(p) && lo < hi && hi <= m.size
}

// State returns the state of the range as a whole: a place is valid if it is valid in every byte. A range that was never written and one
// whose parts are valid in different places both have no valid place; [Map.Summary] tells them apart. Nothing is valid in a range that does
// not lie in the map.
func (m *Map) State(lo, hi uint64) State {
	s := State{Allocated: m.allocated}
	switch {
	case !m.has(lo, hi):
	case lo == hi:
		s.Valid = m.allocated
	case !m.split:
		s.Valid = m.one
	default:
		s.Valid = m.fold(lo, hi).all
	}
	return s
}

// Summary returns the places valid in every byte of the range, those valid in at least one, and whether every byte is valid somewhere:
// written is false if a byte was never written or filled, or was reset. It returns zeros for a range that does not lie in the map.
func (m *Map) Summary(lo, hi uint64) (all, any Set, written bool) {
	if !m.has(lo, hi) {
		return 0, 0, false
	}
	if lo == hi {
		return m.allocated, m.allocated, true
	}
	s := m.fold(lo, hi)
	return s.all, s.any, !s.hole
}

// Runs calls yield for each interval of [lo, hi) in ascending order, clipped to that range and to the size of the map, until yield returns
// false. Neighbours differ in their valid places. The map must not be changed before Runs returns.
func (m *Map) Runs(lo, hi uint64, yield func(lo, hi uint64, valid Set) bool) {
	hi = min(hi, m.size)
	if lo < hi {
		m.walk(lo, hi, everything, yield)
	}
}

// Transfer is a [Move] of the bytes [Lo, Hi).
type Transfer struct {
	Move
	Lo, Hi uint64
}

// Len is the number of bytes.
func (t Transfer) Len() uint64 { return t.Hi - t.Lo }

// Plan appends to dst the transfers that an action at p on [lo, hi) needs, in ascending order. Each byte moves at most once, and only if
// the action needs it. The source is chosen per interval; adjacent transfers with the same source and destination become one. The map does
// not change: pass each transfer to [Map.Apply] as it is submitted, then the action to [Map.Commit].
//
// Errors are those of [State.Plan], for the first interval for which the action is refused, and ErrInvalidRange;
// dst is then returned unchanged.
func (m *Map) Plan(a Action, p Place, lo, hi uint64, cost Cost, dst []Transfer) ([]Transfer, error) {
	if err := m.check(a, p, lo, hi); err != nil {
		return dst, err
	}
	if lo == hi {
		return dst, nil
	}
	if !m.split {
		c := &standard[a][situation(m.one, p)]
		move, need, refusal := c.move(State{m.allocated, m.one}, p, cost)
		switch {
		case refusal != nil:
			return dst, m.conflict(refusal, a, p, lo, hi, m.one)
		case need:
			dst = append(dst, Transfer{move, lo, hi})
		}
		return dst, nil
	}
	cells := &standard[a]
	work := needsWork(cells)
	if work == 0 {
		return dst, nil
	}
	before := len(dst)
	var err error
	m.walk(lo, hi, filter{p, work}, func(lo, hi uint64, valid Set) bool {
		move, _, refusal := cells[situation(valid, p)].move(State{m.allocated, valid}, p, cost)
		if refusal != nil {
			err = m.conflict(refusal, a, p, lo, hi, valid)
			return false
		}
		if len(dst) > before {
			last := &dst[len(dst)-1]
			if last.Move == move && last.Hi == lo {
				last.Hi = hi
				return true
			}
		}
		dst = append(dst, Transfer{move, lo, hi})
		return true
	})
	if err != nil {
		return dst[:before], err
	}
	return dst, nil
}

// Apply records that a transfer has been submitted: To is valid in its range and allocated. Call it for each transfer of [Map.Plan], none
// of which is empty, as it is submitted, so that a transfer counts even if a later one fails. Apply refuses, with a *RefusalError, a copy
// whose source is not valid throughout, and zeros over bytes that are valid somewhere: the plan is out of date.
func (m *Map) Apply(t Transfer) error {
	if t.To >= MaxPlaces {
		return invalidPlace(t.To)
	}
	if t.Lo >= t.Hi || t.Hi > m.size {
		return invalidRange(t.Lo, t.Hi, m.size)
	}
	refused := t.From == NoPlace && m.fold(t.Lo, t.Hi).any != 0 ||
		t.From != NoPlace && !m.ValidIn(t.Lo, t.Hi, t.From)
	if refused {
		return &RefusalError{Kind: coherence.ErrConflict, Action: Read, Place: t.To, State: m.State(t.Lo, t.Hi), Lo: t.Lo, Hi: t.Hi}
	}
	m.update(t.Lo, t.Hi, t.To, joined)
	m.allocated = m.allocated.With(t.To)
	return nil
}

// Commit records that an action was submitted after the transfers of its plan. For Evict each
// transfer must have been passed to [Map.Apply] before; for other actions Commit alone is enough.
//
// Evict makes p invalid in the range. It makes p not allocated only if the range is the whole map, because the memory stays when a part is
// evicted. Commit refuses what [Map.Plan] refuses, and an eviction that would lose a sole copy, with the same errors.
func (m *Map) Commit(a Action, p Place, lo, hi uint64) error {
	if err := m.check(a, p, lo, hi); err != nil {
		return err
	}
	c := &commits[a]
	if c.barred != 0 && lo < hi {
		var refusal error
		m.walk(lo, hi, filter{p, c.barred}, func(lo, hi uint64, valid Set) bool {
			kind := standard[a][situation(valid, p)].refuse
			if kind == nil {
				kind = coherence.ErrSoleCopy
			}
			refusal = m.conflict(kind, a, p, lo, hi, valid)
			return false
		})
		if refusal != nil {
			return refusal
		}
	}
	if lo < hi {
		m.update(lo, hi, p, c.valid)
	}
	if e := c.allocated; e == Join && lo < hi || e == Leave && lo == 0 && hi == m.size {
		m.allocated = e.On(m.allocated, p)
	}
	return nil
}

// Invalidate makes p stale in [lo, hi), clipped to the size of the map, because work that wrote there failed. It returns the number of
// bytes that were valid at p alone and now are valid nowhere. They would read as zeros, so the caller has to report the failure instead.
func (m *Map) Invalidate(p Place, lo, hi uint64) (lost uint64) {
	hi = min(hi, m.size)
	if lo >= hi || !p.Usable() {
		return 0
	}
	m.walk(lo, hi, filter{p, WhenSole}, func(lo, hi uint64, _ Set) bool {
		lost += hi - lo
		return true
	})
	m.update(lo, hi, p, left)
	return lost
}

func (m *Map) has(lo, hi uint64) bool { return lo <= hi && hi <= m.size }

func (m *Map) check(a Action, p Place, lo, hi uint64) error {
	switch {
	case int(a) >= numActions:
		return invalidAction(a)
	case p >= MaxPlaces && a.Placed():
		return invalidPlace(p)
	case lo > hi || hi > m.size:
		return invalidRange(lo, hi, m.size)
	}
	return nil
}

func (m *Map) conflict(kind error, a Action, p Place, lo, hi uint64, valid Set) error {
	return &RefusalError{Kind: kind, Action: a, Place: p, State: State{m.allocated, valid}, Lo: lo, Hi: hi}
}

// commit is what committing an action does, as the table says.
type commit struct {
	barred    When // the situations in which Commit refuses the action
	valid     effects
	allocated Effect // Keep, or what the action does in any situation
}

var commits = func() (list [numActions]commit) {
	for a := range list {
		c := &list[a]
		for i, cell := range standard[a] {
			if cell.refuse != nil || cell.supply == SupplyRescue {
				c.barred |= 1 << i
			}
			c.valid[i] = cell.valid
			if cell.allocated != Keep {
				c.allocated = cell.allocated
			}
		}
	}
	return list
}()

// needsWork is the set of situations in which an action transfers or fails.
func needsWork(cells *[numSituations]cell) (w When) {
	for i := range cells {
		if cells[i].refuse != nil || cells[i].supply != SupplyNone {
			w |= 1 << i
		}
	}
	return w
}

// fold returns the summary of a range that lies in the map and is not empty.
func (m *Map) fold(lo, hi uint64) summary {
	switch {
	case !m.split:
		return summaryOf(m.one)
	case lo == 0 && hi == m.size:
		return m.tree.root.sum
	}
	return m.tree.fold(lo, hi)
}

func (m *Map) walk(lo, hi uint64, f filter, yield func(lo, hi uint64, valid Set) bool) {
	switch {
	case m.split:
		m.tree.root.walk(lo, hi, m.size, f, yield)
	case f.takes(m.one):
		yield(lo, hi, m.one)
	}
}

// update applies the effects to the valid sets of a range that lies in the map.
func (m *Map) update(lo, hi uint64, p Place, e effects) {
	if !m.split {
		valid := e.on(m.one, p)
		if valid == m.one {
			return
		}
		if lo == 0 && hi == m.size {
			m.one = valid
			return
		}
		if m.tree == nil {
			m.tree = new(tree)
		}
		m.tree.reset(m.one)
		m.split = true
	}
	m.tree.update(lo, hi, m.size, p, e)
	if m.tree.count == 1 {
		m.one, m.split = m.tree.root.valid, false
		if m.tree.spares > spareAlone {
			m.tree.spare, m.tree.spares = nil, 0
		}
	}
}
