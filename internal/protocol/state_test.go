package protocol

import (
	"errors"
	"slices"
	"testing"

	"github.com/go-halyard/halyard/coherence"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSetHoldsPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[Place]bool{}
		var s Set
		for _, p := range rapid.SliceOf(rapid.Uint8Range(0, 70)).Draw(t, "places") {
			if rapid.Bool().Draw(t, "add") {
				s = s.With(Place(p))
				if Place(p).Usable() {
					want[Place(p)] = true
				}
			} else {
				s = s.Without(Place(p))
				delete(want, Place(p))
			}
		}
		var sorted []Place
		for p := Place(0); p < 255; p++ {
			if s.Has(p) != want[p] {
				t.Fatalf("Has(%d) is %t", p, s.Has(p))
			}
			if want[p] {
				sorted = append(sorted, p)
			}
		}
		if s.Len() != len(sorted) || !slices.Equal(slices.Collect(s.All()), sorted) || Of(sorted...) != s {
			t.Fatalf("%v is not %v", s, sorted)
		}
		first := NoPlace
		if len(sorted) > 0 {
			first = sorted[0]
		}
		if s.First() != first {
			t.Fatalf("First is %v", s.First())
		}
	})
}

func TestSetAllStopsWhenToldTo(t *testing.T) {
	for p := range Of(3, 4, 5).All() {
		assert.Equal(t, Place(3), p)
		break
	}
}

func TestSetLeavesOutWhatIsNoPlace(t *testing.T) {
	assert.Equal(t, Of(1), Of(1, 64, 200, NoPlace))
	assert.False(t, (^Set(0)).Has(NoPlace))
	assert.False(t, (^Set(0)).Has(64))
}

func TestValuesPrintAsWords(t *testing.T) {
	for want, got := range map[string]interface{ String() string }{
		"{}":               Set(0),
		"{host, 1, 63}":    Of(63, Host, 1),
		"host":             Host,
		"device 7":         Place(7),
		"none":             NoPlace,
		"place(64)":        Place(64),
		"ReadWrite":        ReadWrite,
		"Action(9)":        Action(9),
		"HOST_DIRTY":       HostDirty,
		"Name(6)":          Name(6),
		"host → device 1":  Move{Host, 1},
		"zeros → host":     Move{NoPlace, Host},
		"valid {1} of {1}": State{Of(1), Of(1)},
		"sole or shared":   WhenValid,
		"always":           WhenAlways,
	} {
		assert.Equal(t, want, got.String())
	}
}

func TestPlanFollowsTheTable(t *testing.T) {
	none := Move{}
	for _, c := range []struct {
		name  string
		state State
		act   Action
		place Place
		next  State
		move  Move
		err   error
	}{
		{"read of nothing", State{}, Read, 1, State{Of(1), Of(1)}, Move{NoPlace, 1}, nil},
		{"read of a stale device", State{Of(0, 1), Of(0)}, Read, 1, State{Of(0, 1), Of(0, 1)}, Move{0, 1}, nil},
		{"read prefers the host as source", State{Of(0, 1, 2), Of(0, 1)}, Read, 2, State{Of(0, 1, 2), Of(0, 1, 2)}, Move{0, 2}, nil},
		{"read of a valid device", State{Of(1), Of(1)}, Read, 1, State{Of(1), Of(1)}, none, nil},
		{"a third place is filled", State{Of(0, 1), Of(0, 1)}, Read, 2, State{Of(0, 1, 2), Of(0, 1, 2)}, Move{0, 2}, nil},
		{"change of a stale device", State{Of(0), Of(0)}, ReadWrite, 1, State{Of(0, 1), Of(1)}, Move{0, 1}, nil},
		{"change of a shared device", State{Of(0, 1), Of(0, 1)}, ReadWrite, 1, State{Of(0, 1), Of(1)}, none, nil},
		{"overwrite of a stale device", State{Of(0), Of(0)}, Overwrite, 1, State{Of(0, 1), Of(1)}, none, nil},
		{"modified where valid", State{Of(0, 1), Of(0, 1)}, MarkModified, 1, State{Of(0, 1), Of(1)}, none, nil},
		{"modified where stale", State{Of(0, 1), Of(0)}, MarkModified, 1, State{Of(0, 1), Of(0)}, none, coherence.ErrConflict},
		{"modified before the first write", State{Of(1), 0}, MarkModified, 1, State{Of(1), 0}, none, coherence.ErrConflict},
		{"evict of a device writes back", State{Of(1), Of(1)}, Evict, 1, State{Of(0), Of(0)}, Move{1, 0}, nil},
		{"evict of the host", State{Of(0, 3), Of(0)}, Evict, 0, State{Of(3), Of(3)}, Move{0, 3}, nil},
		{"evict of the only place", State{Of(0), Of(0)}, Evict, 0, State{Of(0), Of(0)}, none, coherence.ErrSoleCopy},
		{"evict of a shared device", State{Of(0, 1), Of(0, 1)}, Evict, 1, State{Of(0), Of(0)}, none, nil},
		{"evict of a stale device", State{Of(0, 1), Of(0)}, Evict, 1, State{Of(0), Of(0)}, none, nil},
		{"evict where there is nothing", State{Of(0), Of(0)}, Evict, 5, State{Of(0), Of(0)}, none, nil},
		{"reset", State{Of(0, 1), Of(0, 1)}, Reset, NoPlace, State{Of(0, 1), 0}, none, nil},
		{"the last place", State{Of(0), Of(0)}, Read, 63, State{Of(0, 63), Of(0, 63)}, Move{0, 63}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			next, move, need, err := c.state.Plan(c.act, c.place, nil)
			assert.Equal(t, c.next, next)
			assert.Equal(t, c.move, move)
			assert.Equal(t, c.move != none, need)
			if c.err == nil {
				require.NoError(t, err)
				return
			}
			var conflict *RefusalError
			require.ErrorAs(t, err, &conflict)
			require.ErrorIs(t, err, c.err)
			assert.Equal(t, RefusalError{Kind: c.err, Action: c.act, Place: c.place, State: c.state}, *conflict)
			assert.Contains(t, err.Error(), c.act.String())
		})
	}
}

func TestCostChoosesTheOtherEnd(t *testing.T) {
	far := func(from, to Place) int {
		if from == Host || to == Host {
			return 10
		}
		return -int(from) - int(to)
	}
	_, m, _, err := State{Of(0, 1, 2, 3), Of(0, 1, 2)}.Plan(Read, 3, far)
	require.NoError(t, err)
	assert.Equal(t, Move{2, 3}, m)

	_, m, _, err = State{Of(1, 2, 3), Of(1)}.Plan(Evict, 1, far)
	require.NoError(t, err)
	assert.Equal(t, Move{1, 3}, m)

	equal := func(Place, Place) int { return 7 }
	_, m, _, err = State{Of(1, 2, 3), Of(1)}.Plan(Evict, 1, equal)
	require.NoError(t, err)
	assert.Equal(t, Move{1, Host}, m, "of equal costs the host wins, allocated or not")
}

func TestEveryErrorHasOneKind(t *testing.T) {
	kinds := []error{coherence.ErrConflict, coherence.ErrSoleCopy, ErrInvalidPlace, ErrInvalidAction, ErrInvalidState, ErrInvalidRange}
	m := NewMap(8)
	require.NoError(t, m.Commit(Overwrite, Host, 0, 8))
	second := func(_ []Transfer, err error) error { return err }
	fourth := func(_ State, _ Move, _ bool, err error) error { return err }
	for want, err := range map[error]error{
		coherence.ErrConflict: second(m.Plan(MarkModified, 1, 0, 8, nil, nil)),
		coherence.ErrSoleCopy: second(m.Plan(Evict, Host, 0, 8, nil, nil)),
		ErrInvalidPlace:       m.Allocate(64),
		ErrInvalidAction:      second(m.Plan(Action(6), Host, 0, 8, nil, nil)),
		ErrInvalidState:       fourth(State{Valid: Of(1)}.Plan(Read, 1, nil)),
		ErrInvalidRange:       second(m.Plan(Read, Host, 4, 9, nil, nil)),
	} {
		require.Error(t, err, want)
		for _, k := range kinds {
			assert.Equal(t, k == want, errors.Is(err, k), "%v is %v", err, k)
		}
		assert.NotEmpty(t, err.Error())
	}
}
