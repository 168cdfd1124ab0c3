package protocol

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/go-halyard/halyard/coherence"
)

func TestRandomRangesMatchAByteModel(t *testing.T) {
	for _, most := range []int{32, 256} {
		t.Run(fmt.Sprintf("up to %d intervals", most), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				size := rapid.IntRange(1, most).Draw(t, "size")
				places := Place(rapid.IntRange(1, 6).Draw(t, "places"))
				o, m := newModel(size), NewMap(uint64(size))
				drive(t, o, m, places)
			})
		})
	}
}

// drive lets rapid choose the actions, most of them on a few bytes so that intervals stay many.
func drive(t *rapid.T, o *model, m *Map, places Place) {
	place := rapid.Custom(func(t *rapid.T) Place { return Place(rapid.IntRange(0, int(places)-1).Draw(t, "place")) })
	span := func(t *rapid.T) (lo, hi uint64) {
		lo = rapid.Uint64Range(0, m.Size()-1).Draw(t, "lo")
		return lo, rapid.Uint64Range(lo+1, m.Size()).Draw(t, "hi")
	}
	costs := []Cost{nil, func(from, to Place) int { return -int(from) - int(to) }}
	t.Repeat(map[string]func(*rapid.T){
		"act": func(t *rapid.T) {
			a := rapid.SampledFrom(Actions()).Draw(t, "action")
			p, cost := place.Draw(t, "at"), rapid.IntRange(0, 1).Draw(t, "cost")
			stop := rapid.IntRange(-1, 3).Draw(t, "stop")
			lo, hi := span(t)
			require.NoError(t, o.act(m, properly, a, p, lo, hi, costs[cost], stop))
		},
		"write bytes": func(t *rapid.T) {
			for range 8 {
				i := rapid.Uint64Range(0, m.Size()-1).Draw(t, "byte")
				require.NoError(t, o.act(m, properly, Overwrite, place.Draw(t, "at"), i, i+1, nil, -1))
			}
		},
		"fail": func(t *rapid.T) {
			lo, hi := span(t)
			require.NoError(t, o.poison(m, place.Draw(t, "at"), lo, hi))
		},
		"allocate": func(t *rapid.T) {
			p := place.Draw(t, "at")
			require.NoError(t, m.Allocate(p))
			o.allocated = o.allocated.With(p)
		},
		"": func(t *rapid.T) {
			require.NoError(t, o.compare(m))
			lo, hi := span(t)
			require.NoError(t, o.query(m, lo, hi))
		},
	})
}

// A seed, many small ranges and now and then a large one: the map grows to thousands of intervals
// and shrinks again.
func TestLongRandomTraces(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			const size = 4096
			r := rand.New(rand.NewPCG(seed, 1))
			o, m := newModel(size), NewMap(size)
			most, deep, one := 0, 0, 0
			for i := range 6000 {
				p := Place(r.IntN(6))
				lo := r.Uint64N(size)
				length := 1 + r.Uint64N(4)
				if r.IntN(150) == 0 {
					length = 1 + r.Uint64N(size)
				}
				hi := min(lo+length, size)
				a := Actions()[r.IntN(numActions)]
				if r.IntN(2) == 0 {
					a = Overwrite
				}
				if i%1500 == 1499 {
					a, lo, hi = Overwrite, 0, size
				}
				var err error
				if i%25 == 24 {
					err = o.act(m, properly, a, p, lo, hi, nil, r.IntN(3)-1)
				} else {
					err = o.quick(m, a, p, lo, hi)
				}
				require.NoError(t, err, "step %d: %v at %v of [%d, %d)", i, a, p, lo, hi)
				require.NoError(t, o.query(m, lo, hi))
				if most = max(most, m.Len()); m.Len() > 32 {
					deep++
				} else {
					one++
				}
			}
			assert.Greater(t, most, 600)
			assert.Greater(t, deep, 1000)
			assert.GreaterOrEqual(t, one, 4)
			t.Logf("up to %d intervals, %d steps with more than 32, %d with less", most, deep, one)
		})
	}
}

// quick performs an action without comparing every byte.
func (o *model) quick(m *Map, a Action, p Place, lo, hi uint64) error {
	transfers, err := m.Plan(a, p, lo, hi, nil, nil)
	if err != nil {
		if _, refusal := o.expect(a, p, lo, hi); refusal == nil {
			return err
		}
		return nil
	}
	for _, t := range transfers {
		if err := m.Apply(t); err != nil {
			return err
		}
		for i := t.Lo; i < t.Hi; i++ {
			value := 0
			if t.From != NoPlace {
				value = o.replica(t.From)[i]
			}
			o.replica(t.To)[i] = value
			o.valid[i] = o.valid[i].With(t.To)
		}
		o.allocated = o.allocated.With(t.To)
	}
	if a == Reset {
		for i := lo; i < hi; i++ {
			o.valid[i], o.last[i] = 0, 0
		}
	} else {
		o.perform(a, p, lo, hi)
	}
	if err := m.Commit(a, p, lo, hi); err != nil {
		return err
	}
	return m.Check()
}

// comb returns a map of n intervals of stride bytes, valid in turn at places 1 and 2, and all at 3.
func comb(n int, stride uint64) *Map {
	m := NewMap(uint64(n) * stride)
	for i := range uint64(n) {
		_ = m.Commit(Overwrite, Place(1+i%2), i*stride, (i+1)*stride)
	}
	if n > 1 {
		_ = m.Allocate(3)
		_ = m.Commit(Read, 3, 0, m.size)
	}
	return m
}

func TestAMillionIntervals(t *testing.T) {
	const n, stride = many, 16
	m := comb(n, stride)
	require.NoError(t, m.Check())
	require.Equal(t, n, m.Len())
	assert.Equal(t, State{Of(1, 2, 3), Of(3)}, m.State(0, m.Size()))
	assert.Equal(t, State{Of(1, 2, 3), Of(3)}, m.State(1, m.Size()-1))

	// One byte in the middle is written elsewhere and read back into place: two intervals more, then
	// one transfer of one byte.
	at := uint64(n/2*stride + 5)
	require.NoError(t, m.Commit(Overwrite, 4, at, at+1))
	assert.Equal(t, n+2, m.Len())
	assert.False(t, m.ValidIn(0, m.Size(), 3))
	assert.True(t, m.ValidIn(0, at, 3))
	assert.True(t, m.ValidIn(at+1, m.Size(), 3))
	transfers, err := m.Plan(Read, 3, 0, m.Size(), nil, nil)
	require.NoError(t, err)
	assert.Equal(t, []Transfer{{Move{4, 3}, at, at + 1}}, transfers)
	require.NoError(t, m.Apply(transfers[0]))
	assert.True(t, m.ValidIn(0, m.Size(), 3))
	require.NoError(t, m.Check())

	// Every second interval is stale at 1. Then one write covers all.
	transfers, err = m.Plan(Read, 1, 0, m.Size(), nil, nil)
	require.NoError(t, err)
	assert.Equal(t, n/2+1, len(transfers))
	for _, tr := range transfers[:1000] {
		require.NoError(t, m.Apply(tr))
	}
	require.NoError(t, m.Check())
	require.NoError(t, m.Commit(Read, 1, 0, m.Size()))
	require.NoError(t, m.Check())
	assert.Equal(t, n+2, m.Len(), "places 2 and 4 still tell the intervals apart")
	require.NoError(t, m.Commit(Overwrite, 2, 0, m.Size()))
	assert.Equal(t, 1, m.Len())
	require.NoError(t, m.Check())
}

func TestSweepsLeaveABalancedTree(t *testing.T) {
	const n = 20000
	orders := map[string]func(i uint64) uint64{
		"upwards":   func(i uint64) uint64 { return i },
		"downwards": func(i uint64) uint64 { return n - 1 - i },
		"scattered": func(i uint64) uint64 { return i * 7919 % n },
	}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			m := NewMap(2 * n)
			for i := range uint64(n) {
				at := 2 * order(i)
				require.NoError(t, m.Commit(Overwrite, 1, at, at+1))
				if i%1000 == 0 {
					require.NoError(t, m.Check())
				}
			}
			require.NoError(t, m.Check())
			require.Equal(t, 2*n, m.Len())
			depth, err := m.tree.root.check(0, m.size)
			require.NoError(t, err)
			assert.LessOrEqual(t, depth, 50)
			for i := range uint64(n) {
				at := 2 * order(i)
				require.NoError(t, m.Commit(Reset, 0, at, at+1))
				if i%500 == 0 || n-i < 100 {
					require.NoError(t, m.Check())
				}
			}
			assert.Equal(t, 1, m.Len())
			require.NoError(t, m.Check())
		})
	}
}

func TestWritesMarkExactlyTheirBytes(t *testing.T) {
	const mib = 1 << 20
	m := NewMap(1024 * mib)
	require.NoError(t, m.Commit(Overwrite, Host, 0, m.Size()))
	require.NoError(t, m.Commit(Read, 1, 0, m.Size()))
	require.NoError(t, m.Commit(ReadWrite, 1, 5*mib+3, 5*mib+3+1024))
	transfers, err := m.Plan(Read, Host, 0, m.Size(), nil, nil)
	require.NoError(t, err)
	assert.Equal(t, []Transfer{{Move{1, Host}, 5*mib + 3, 5*mib + 1027}}, transfers)
	assert.Equal(t, uint64(1024), transfers[0].Len())
	assert.Equal(t, 3, m.Len())
}

// Bytes valid half here and half there have no single valid place, and still a source each.
func TestHalvesFromDifferentPlacesFormOneReplica(t *testing.T) {
	m := NewMap(100)
	require.NoError(t, m.Commit(Overwrite, 1, 0, 50))
	require.NoError(t, m.Commit(Overwrite, 2, 50, 90))
	assert.Zero(t, m.State(0, 90).Valid)
	transfers, err := m.Plan(Read, 3, 10, 100, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, []Transfer{{Move{1, 3}, 10, 50}, {Move{2, 3}, 50, 90}, {Move{NoPlace, 3}, 90, 100}}, transfers)
}

func TestTransfersFromOneSourceMergeAcrossIntervals(t *testing.T) {
	m := NewMap(30)
	require.NoError(t, m.Commit(Overwrite, Host, 0, 30))
	require.NoError(t, m.Commit(Read, 1, 10, 20))
	require.Equal(t, 3, m.Len())
	transfers, err := m.Plan(Read, 2, 0, 30, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, []Transfer{{Move{Host, 2}, 0, 30}}, transfers)
}

func TestPlanAppends(t *testing.T) {
	m := NewMap(10)
	first := Transfer{Move{NoPlace, 1}, 0, 5}
	got, err := m.Plan(Read, 1, 5, 10, nil, []Transfer{first})
	require.NoError(t, err)
	assert.Equal(t, []Transfer{first, {Move{NoPlace, 1}, 5, 10}}, got)

	require.NoError(t, m.Commit(Overwrite, 1, 0, 5))
	got, err = m.Plan(Read, 1, 0, 10, nil, []Transfer{first})
	require.NoError(t, err)
	assert.Equal(t, []Transfer{first, {Move{NoPlace, 1}, 5, 10}}, got, "never merged into what was there")

	got, err = m.Plan(MarkModified, 2, 0, 10, nil, []Transfer{first})
	require.ErrorIs(t, err, coherence.ErrConflict)
	assert.Equal(t, []Transfer{first}, got)
}

func TestConflictNamesTheFirstIntervalInTheWay(t *testing.T) {
	m := NewMap(100)
	require.NoError(t, m.Commit(Overwrite, 1, 0, 100))
	require.NoError(t, m.Commit(Overwrite, 2, 30, 40))
	require.NoError(t, m.Commit(Overwrite, 2, 60, 70))
	_, planned := m.Plan(MarkModified, 1, 10, 90, nil, nil)
	for _, err := range []error{planned, m.Commit(MarkModified, 1, 10, 90)} {
		var conflict *RefusalError
		require.ErrorAs(t, err, &conflict)
		assert.Equal(t, RefusalError{coherence.ErrConflict, MarkModified, 1, State{Of(1, 2), Of(2)}, 30, 40}, *conflict)
		assert.Contains(t, err.Error(), "[30, 40)")
	}
}

func TestEvictionOfAPartKeepsTheMemory(t *testing.T) {
	m := NewMap(10)
	require.NoError(t, m.Commit(Overwrite, 1, 0, 10))
	transfers, err := m.Plan(Evict, 1, 0, 4, nil, nil)
	require.NoError(t, err)
	require.Equal(t, []Transfer{{Move{1, Host}, 0, 4}}, transfers)
	require.ErrorIs(t, m.Commit(Evict, 1, 0, 4), coherence.ErrSoleCopy, "the copy was not applied")
	require.NoError(t, m.Apply(transfers[0]))
	require.NoError(t, m.Commit(Evict, 1, 0, 4))
	assert.Equal(t, Of(0, 1), m.Allocated())

	transfers, err = m.Plan(Evict, 1, 0, 10, nil, nil)
	require.NoError(t, err)
	require.Equal(t, []Transfer{{Move{1, Host}, 4, 10}}, transfers)
	require.NoError(t, m.Apply(transfers[0]))
	require.NoError(t, m.Commit(Evict, 1, 0, 10))
	assert.Equal(t, Of(0), m.Allocated())
	assert.Equal(t, 1, m.Len())
}

func TestOutdatedTransfersAreRefused(t *testing.T) {
	m := NewMap(10)
	require.NoError(t, m.Commit(Overwrite, 1, 0, 10))
	stale, err := m.Plan(Read, 2, 0, 10, nil, nil)
	require.NoError(t, err)
	require.NoError(t, m.Commit(Overwrite, Host, 3, 5))
	before := m.String()
	require.ErrorIs(t, m.Apply(stale[0]), coherence.ErrConflict, "the source was overwritten in part")
	require.ErrorIs(t, m.Apply(Transfer{Move{NoPlace, 2}, 0, 10}), coherence.ErrConflict, "zeros would hide what was written")
	require.ErrorIs(t, m.Apply(Transfer{Move{1, 64}, 0, 3}), ErrInvalidPlace)
	require.ErrorIs(t, m.Apply(Transfer{Move{99, 2}, 0, 3}), coherence.ErrConflict)
	assert.Equal(t, before, m.String())
}

func TestRangesOutsideTheMapAreRefused(t *testing.T) {
	for name, m := range map[string]*Map{"one interval": NewMap(100), "slice": comb(10, 10), "tree": comb(1000, 10)} {
		t.Run(name, func(t *testing.T) {
			size := m.Size()
			before := m.String()
			for _, r := range [][2]uint64{{7, 3}, {0, size + 1}, {size, size + 1}, {size + 1, size + 1}, {1, ^uint64(0)}, {^uint64(0), 0}, {^uint64(0), ^uint64(0)}} {
				lo, hi := r[0], r[1]
				for _, a := range Actions() {
					got, err := m.Plan(a, 1, lo, hi, nil, nil)
					require.ErrorIs(t, err, ErrInvalidRange)
					assert.EqualError(t, err, fmt.Sprintf("protocol: invalid range: [%d, %d) in a map of %d bytes", lo, hi, size))
					assert.Empty(t, got)
					require.ErrorIs(t, m.Commit(a, 1, lo, hi), ErrInvalidRange)
				}
				require.ErrorIs(t, m.Apply(Transfer{Move{NoPlace, 1}, lo, hi}), ErrInvalidRange)
				for p := range Place(4) {
					assert.False(t, m.ValidIn(lo, hi, p))
				}
				assert.Equal(t, State{Allocated: m.Allocated()}, m.State(lo, hi))
				all, any, written := m.Summary(lo, hi)
				assert.Zero(t, all)
				assert.Zero(t, any)
				assert.False(t, written)
			}
			for _, at := range []uint64{0, 5, size} {
				for _, a := range Actions() {
					got, err := m.Plan(a, 1, at, at, nil, nil)
					require.NoError(t, err, "%v of nothing", a)
					assert.Empty(t, got)
					require.NoError(t, m.Commit(a, 1, at, at))
				}
				require.ErrorIs(t, m.Apply(Transfer{Move{NoPlace, 1}, at, at}), ErrInvalidRange)
				for p := range Place(4) {
					assert.Equal(t, m.Allocated().Has(p), m.ValidIn(at, at, p))
				}
				assert.Equal(t, State{m.Allocated(), m.Allocated()}, m.State(at, at))
				all, any, written := m.Summary(at, at)
				assert.Equal(t, m.Allocated(), all)
				assert.Equal(t, m.Allocated(), any)
				assert.True(t, written)
			}
			assert.False(t, m.ValidIn(0, 1, 64))
			assert.False(t, m.ValidIn(0, 1, NoPlace))
			require.ErrorIs(t, m.Commit(Read, 64, 0, 1), ErrInvalidPlace)
			require.ErrorIs(t, m.Commit(6, 1, 0, 1), ErrInvalidAction)
			require.ErrorIs(t, m.Allocate(NoPlace), ErrInvalidPlace)
			assert.Zero(t, m.Invalidate(NoPlace, 0, 1))
			assert.Zero(t, m.Invalidate(1, 1, 1))
			assert.Zero(t, m.Invalidate(1, size, size+9))
			assert.Equal(t, before, m.String())

			// Runs and Invalidate clip instead.
			n := 0
			m.Runs(5, ^uint64(0), func(lo, hi uint64, _ Set) bool { n++; return hi <= size })
			assert.Equal(t, m.Len(), n)
			m.Runs(size, size+5, func(uint64, uint64, Set) bool { panic("nothing is there") })
		})
	}
}

func TestTheLargestMap(t *testing.T) {
	m := NewMap(^uint64(0))
	for i := range uint64(200) {
		require.NoError(t, m.Commit(Overwrite, 1, m.Size()-1-2*i, m.Size()-2*i))
	}
	require.NoError(t, m.Check())
	assert.Equal(t, 400, m.Len())
	assert.True(t, m.ValidIn(m.Size()-1, m.Size(), 1))
	assert.False(t, m.ValidIn(0, m.Size(), 1))
	transfers, err := m.Plan(ReadWrite, 2, 0, m.Size(), nil, nil)
	require.NoError(t, err)
	assert.Len(t, transfers, 400)
	require.NoError(t, m.Commit(ReadWrite, 2, 0, m.Size()))
	assert.Equal(t, 1, m.Len())
}

func TestAMapOfNoBytes(t *testing.T) {
	m := NewMap(0)
	require.NoError(t, m.Check())
	require.NoError(t, m.Allocate(1))
	require.NoError(t, m.Commit(Overwrite, 1, 0, 0))
	assert.Equal(t, State{Of(1), Of(1)}, m.State(0, 0))
	require.NoError(t, m.Commit(Evict, 1, 0, 0))
	assert.Zero(t, m.State(0, 0))
	assert.Equal(t, 1, m.Len())
	m.Runs(0, 10, func(uint64, uint64, Set) bool { panic("nothing is there") })
}

func TestRunsStopsWhenToldTo(t *testing.T) {
	for _, m := range []*Map{comb(10, 4), comb(1000, 4)} {
		n := 0
		m.Runs(0, m.Size(), func(uint64, uint64, Set) bool { n++; return n < 3 })
		assert.Equal(t, 3, n)
	}
}

func TestInitForgetsEverything(t *testing.T) {
	m := comb(1000, 4)
	m.Init(16)
	assert.Equal(t, NewMap(16), m)
}

func TestCheckFindsDamage(t *testing.T) {
	for name, damage := range map[string]func(*Map){
		"valid where nothing is allocated": func(m *Map) { m.allocated = Of(1, 2) },
		"unsorted":                         func(m *Map) { first(m).start = 5 },
		"not merged":                       func(m *Map) { m.tree.root.valid = m.tree.at(m.tree.root.start - 1) },
		"a summary out of date":            func(m *Map) { first(m).sum.any = 0 },
		"a root summary out of date":       func(m *Map) { m.tree.root.sum.hole = true },
		"a start out of order":             func(m *Map) { m.tree.root.start = 1 },
		"a wrong count":                    func(m *Map) { m.tree.count++ },
		"a wrong priority":                 func(m *Map) { m.tree.root.priority = 0 },
		"unused nodes not counted":         func(m *Map) { m.tree.spares++ },
	} {
		m := comb(1000, 4)
		require.NoError(t, m.Check())
		damage(m)
		assert.Error(t, m.Check(), name)
	}
	m := NewMap(8)
	m.one = Of(1)
	assert.Error(t, m.Check())
}

// first returns the node of the first interval.
func first(m *Map) *node {
	n := m.tree.root
	for n.left != nil {
		n = n.left
	}
	return n
}

func TestQueriesAndRepeatedWritesDoNotAllocate(t *testing.T) {
	dst := make([]Transfer, 0, 8)
	cost := func(from, to Place) int { return int(from) }
	for _, n := range []int{1, 50, 1000, 100_000} {
		m := comb(n, 64)
		size, at := m.Size(), m.Size()/2
		var sum uint64
		// Twice, so that the nodes to be reused are there.
		write := func() {
			_ = m.Commit(Overwrite, 4, at, at+4)
			_ = m.Commit(Overwrite, 5, at+2, at+8)
			_ = m.Commit(ReadWrite, 4, at, at+16)
			_ = m.Commit(Read, 3, at, at+16)
		}
		write()
		assert.Zero(t, testing.AllocsPerRun(50, func() {
			_ = m.ValidIn(at, at+4, 3)
			_ = m.ValidIn(0, size, 3)
			_ = m.State(1, size)
			_, _, _ = m.Summary(1, size-1)
			m.Runs(at, at+8, func(lo, hi uint64, _ Set) bool { sum += hi - lo; return true })
			dst, _ = m.Plan(Read, 5, at, at+8, cost, dst[:0])
			dst, _ = m.Plan(ReadWrite, 5, at, at+8, nil, dst[:0])
		}), "queries of %d intervals", n)
		assert.Zero(t, testing.AllocsPerRun(50, write), "writes in %d intervals", n)
	}
}
