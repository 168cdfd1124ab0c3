package protocol

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// places are those of the maps that are searched.
const places = 3

// ranged is a world of several bytes, each of which was written or not.
type ranged struct {
	allocated Set
	valid     [bytes]Set
	written   [bytes]bool
}

// build makes the map and the model of a world by the same calls that programs use.
func (w ranged) build() (*Map, *model) {
	m, o := NewMap(bytes), newModel(bytes)
	for p := range w.allocated.All() {
		_ = m.Allocate(p)
	}
	o.allocated = w.allocated
	for i, v := range w.valid {
		lo, hi := uint64(i), uint64(i+1)
		from := NoPlace
		for p := range v.All() {
			_ = m.Apply(Transfer{Move{from, p}, lo, hi})
			from = p
		}
		o.valid[i] = v
		if w.written[i] {
			o.last[i] = i + 1
		}
		o.next = bytes
		for p := range v.All() {
			o.replica(p)[i] = o.last[i]
		}
	}
	return m, o
}

func worldOf(o *model) (w ranged) {
	w.allocated = o.allocated
	for i := range bytes {
		w.valid[i], w.written[i] = o.valid[i], o.last[i] != 0
	}
	return w
}

// searchRanges visits every world of three bytes and three places that can be reached from the empty
// one, with every action on every range: done, stopped before each of its transfers, and failed.
func searchRanges(s steps) (worlds, transitions int, err error) {
	seen := map[ranged]bool{{}: true}
	queue := []ranged{{}}
	for len(queue) > 0 {
		w := queue[0]
		queue = queue[1:]
		try := func(what string, act func(*Map, *model) error) bool {
			transitions++
			m, o := w.build()
			if err = o.compare(m); err == nil {
				err = act(m, o)
			}
			if err != nil {
				err = fmt.Errorf("%s from %v: %w", what, w, err)
				return false
			}
			if next := worldOf(o); !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
			return true
		}
		for lo := uint64(0); lo < bytes; lo++ {
			for hi := lo + 1; hi <= bytes; hi++ {
				for p := Place(0); p < places; p++ {
					for _, a := range Actions() {
						if a == Reset && p > 0 {
							continue
						}
						stops := []int{-1}
						if a == Read || a == Evict {
							stops = []int{-1, 1}
						}
						for _, stop := range stops {
							what := fmt.Sprintf("%v at %v of [%d, %d)", a, p, lo, hi)
							if !try(what, func(m *Map, o *model) error { return o.act(m, s, a, p, lo, hi, nil, stop) }) {
								return len(seen), transitions, err
							}
						}
					}
					if !try("failure", func(m *Map, o *model) error { return o.poison(m, p, lo, hi) }) {
						return len(seen), transitions, err
					}
				}
			}
		}
	}
	return len(seen), transitions, nil
}

func TestEveryReachableMapKeepsTheInvariants(t *testing.T) {
	worlds, transitions, err := searchRanges(properly)
	require.NoError(t, err)
	t.Logf("%d bytes at %d places: visited %d maps, %d transitions", bytes, places, worlds, transitions)
	// With k places allocated each byte is valid nowhere or, written or not, in one of 2ᵏ-1 sets of
	// places: (2·2ᵏ-1)ⁿ worlds of n bytes for each of the C(3,k) allocations. From each there are
	// n(n+1)/2 ranges, with 3 places and 7 ways to act, Reset and 3 failures.
	want := 0
	for allocated := range Set(1 << places) {
		product := 1
		for range bytes {
			product *= 2<<allocated.Len() - 1
		}
		want += product
	}
	assert.Equal(t, want, worlds)
	assert.Equal(t, want*bytes*(bytes+1)/2*(places*7+1+places), transitions)
}

// Mistakes in how ranges are kept, as other systems make them.
func TestEveryMutantOfTheRangesIsCaught(t *testing.T) {
	for name, change := range map[string]func(*steps){
		"a partial write marks the whole buffer": func(s *steps) {
			s.commit = func(m *Map, a Action, p Place, lo, hi uint64) error {
				if a.Writes() {
					lo, hi = 0, m.Size()
				}
				return m.Commit(a, p, lo, hi)
			}
		},
		"a write marks its first byte only": func(s *steps) {
			s.commit = func(m *Map, a Action, p Place, lo, hi uint64) error {
				if a == ReadWrite {
					hi = lo + 1
				}
				return m.Commit(a, p, lo, hi)
			}
		},
		"the state changes before the plan": func(s *steps) {
			s.plan = func(m *Map, a Action, p Place, lo, hi uint64, cost Cost) ([]Transfer, error) {
				if a == ReadWrite {
					_ = m.Commit(a, p, lo, hi)
				}
				return properly.plan(m, a, p, lo, hi, cost)
			}
		},
		"a range with parts valid in different places has no source": func(s *steps) {
			s.plan = func(m *Map, a Action, p Place, lo, hi uint64, cost Cost) ([]Transfer, error) {
				if a != Read {
					return properly.plan(m, a, p, lo, hi, cost)
				}
				_, move, need, err := m.State(lo, hi).Plan(a, p, cost)
				if !need {
					return nil, err
				}
				return []Transfer{{move, lo, hi}}, nil
			}
		},
		"the source of the first interval is taken for all": func(s *steps) {
			s.plan = func(m *Map, a Action, p Place, lo, hi uint64, cost Cost) ([]Transfer, error) {
				transfers, err := properly.plan(m, a, p, lo, hi, cost)
				for i := range transfers {
					transfers[i].Move = transfers[0].Move
				}
				return transfers, err
			}
		},
		"a transfer covers the whole buffer": func(s *steps) {
			s.plan = func(m *Map, a Action, p Place, lo, hi uint64, cost Cost) ([]Transfer, error) {
				transfers, err := properly.plan(m, a, p, lo, hi, cost)
				if len(transfers) == 1 {
					transfers[0].Lo, transfers[0].Hi = 0, m.Size()
				}
				return transfers, err
			}
		},
		"the last transfer of a plan is forgotten": func(s *steps) {
			s.plan = func(m *Map, a Action, p Place, lo, hi uint64, cost Cost) ([]Transfer, error) {
				transfers, err := properly.plan(m, a, p, lo, hi, cost)
				return transfers[:max(0, len(transfers)-1)], err
			}
		},
		"a write through a part clears what its parent holds elsewhere": func(s *steps) {
			s.commit = func(m *Map, a Action, p Place, lo, hi uint64) error {
				err := m.Commit(a, p, lo, hi)
				if err == nil && a == ReadWrite && hi < m.Size() {
					m.Invalidate(p, hi, m.Size())
				}
				return err
			}
		},
		"an eviction of a part gives up all memory": func(s *steps) {
			s.commit = func(m *Map, a Action, p Place, lo, hi uint64) error {
				err := m.Commit(a, p, lo, hi)
				if err == nil && a == Evict {
					m.allocated = m.allocated.Without(p)
				}
				return err
			}
		},
		"neighbours are left unmerged": func(s *steps) {
			s.commit = func(m *Map, a Action, p Place, lo, hi uint64) error {
				err := m.Commit(a, p, lo, hi)
				if err == nil && !m.split {
					m.tree = new(tree)
					m.tree.reset(m.one)
					m.tree.splice(1, 2, []interval{{1, m.one}})
					m.split = true
				}
				return err
			}
		},
		"zeros are marked where bytes are valid": func(s *steps) {
			s.apply = func(m *Map, t Transfer) error {
				m.update(t.Lo, t.Hi, t.To, uniform(Only))
				m.allocated = m.allocated.With(t.To)
				return nil
			}
		},
	} {
		s := properly
		change(&s)
		_, _, err := searchRanges(s)
		if assert.Error(t, err, "%s: survived", name) {
			t.Logf("%-65s → %v", name, err)
		}
	}
}
