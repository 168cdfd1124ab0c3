package protocol

// Transfer is a [Move] of the bytes [Lo, Hi).
type Transfer struct {
	Move
	Lo, Hi uint64
}

// Len is the number of bytes.
func (t Transfer) Len() uint64 { return t.Hi - t.Lo }

// Plan appends to dst the transfers that an action at p on [lo, hi) needs, in ascending order. Each
// byte moves at most once, and only if the action needs it. The source is chosen per
// interval; adjacent transfers with the same source and destination become one. The map does not change: pass each
// transfer to [Map.Apply] as it is submitted, then the action to [Map.Commit].
//
// Errors are those of [State.Plan], for the first interval for which the action is refused, and *RangeError;
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
