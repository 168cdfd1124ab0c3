package part_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// run runs fn on n ranks.
func run(t *testing.T, n int, fn func(ctx context.Context, c *comm.Comm) error, opts ...commtest.Option) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	commtest.Run(t, n, func(e driver.Engine) error {
		c := comm.New(e)
		if err := fn(ctx, c); err != nil {
			return err
		}
		return c.Close()
	}, opts...)
}

// globals lists the global index of each local element, and whether it is owned, from the definition.
func globals(b *part.Buffer[float64], h part.Halo) (index []int, owned []bool) {
	shape := b.Shape()
	lo, hi := b.Box()
	index, owned = []int{0}, []bool{true}
	for d := range shape {
		if lo[d] == hi[d] {
			index, owned = nil, nil
			break
		}
		var nextIndex []int
		var nextOwned []bool
		wl, wh, periodic := 0, 0, false
		if h.Lo != nil {
			wl = h.Lo[d]
		}
		if h.Hi != nil {
			wh = h.Hi[d]
		}
		if h.Periodic != nil {
			periodic = h.Periodic[d]
		}
		for k := range index {
			for x := lo[d] - wl; x < hi[d]+wh; x++ {
				in := x >= lo[d] && x < hi[d]
				if (x < 0 || x >= shape[d]) && !periodic {
					continue
				}
				y := (x + 2*shape[d]) % shape[d]
				nextIndex = append(nextIndex, index[k]*shape[d]+y)
				nextOwned = append(nextOwned, owned[k] && in)
			}
		}
		index, owned = nextIndex, nextOwned
	}
	for _, r := range h.Needs {
		for i := r.Lo; i < r.Hi; i++ {
			index, owned = append(index, i), append(owned, false)
		}
	}
	return index, owned
}

// model is what one rank knows of a buffer, from the definition.
type model struct {
	b      *part.Buffer[float64]
	index  []int
	owned  []bool
	now    []float64 // what the owners have
	then   []float64 // what they had at the last exchange
	stale  bool      // this rank's ghosts
	ghosts int
}

// whole is the number of elements of all ranks together.
func whole(b *part.Buffer[float64]) int {
	n := 1
	for _, extent := range b.Shape() {
		n *= extent
	}
	return n
}

func newModel(b *part.Buffer[float64], h part.Halo) *model {
	m := &model{b: b, now: make([]float64, whole(b)), then: make([]float64, whole(b)), stale: true}
	m.index, m.owned = globals(b, h)
	for _, o := range m.owned {
		if !o {
			m.ghosts++
		}
	}
	return m
}

// check compares the local buffer with the model.
func (m *model) check(ctx context.Context) error {
	if m.b.Local() == nil {
		if len(m.index) > 0 {
			return fmt.Errorf("no local buffer in place of %d elements", len(m.index))
		}
		return nil
	}
	if n := m.b.Local().Len(); n != len(m.index) {
		return fmt.Errorf("%d local elements in place of %d", n, len(m.index))
	}
	stale := 0
	for _, r := range m.b.Stale() {
		for i := r.Lo; i < r.Hi; i++ {
			if m.owned[i] {
				return fmt.Errorf("the owned element %d is called stale", i)
			}
			stale++
		}
	}
	err := m.b.Local().View(ctx, func(s []float64) error { return m.compare(s) })
	if m.stale && m.ghosts > 0 {
		var e *part.StaleError
		if stale != m.ghosts || !errors.As(err, &e) || !errors.Is(err, part.ErrStale) {
			return fmt.Errorf("%d of %d ghosts are stale, and reading gave %v", stale, m.ghosts, err)
		}
		for k, r := range e.Local {
			for i := r.Lo; i < r.Hi; i++ {
				if g := e.Global[k].Lo + i - r.Lo; m.index[i] != g {
					return fmt.Errorf("local element %d is global element %d, not %d", i, m.index[i], g)
				}
			}
		}
		if m.b.Owned() != nil {
			return m.b.Owned().View(ctx, func([]float64) error { return nil })
		}
		return nil
	}
	if stale > 0 {
		return fmt.Errorf("%d ghosts are stale, and should not be", stale)
	}
	return err
}

func (m *model) compare(s []float64) error {
	for i, v := range s {
		want := m.then[m.index[i]]
		if m.owned[i] {
			want = m.now[m.index[i]]
		}
		if v != want {
			return fmt.Errorf("local element %d, global %d (owned: %v), is %v, not %v", i, m.index[i], m.owned[i], v, want)
		}
	}
	return nil
}

// write writes owned elements of one rank that chance selects. Every rank follows it in its model.
func (m *model) write(ctx context.Context, rng *rand.Rand, step, rank, writer int, layout []int) error {
	keep := rng.IntN(4)
	from, length := rng.Float64(), rng.Float64()
	var ranges []buffer.Range
	lo, hi := int(from*float64(len(layout))), 0
	hi = min(lo+1+int(length*length*float64(len(layout))), len(layout))
	if keep == 0 {
		lo, hi = 0, len(layout)
	}
	for i := lo; i < hi; i++ {
		m.now[layout[i]] = float64(step*100000 + layout[i] + 1)
	}
	if rank != writer || lo >= hi {
		return nil
	}
	m.stale = true
	wanted := map[int]bool{}
	for i := lo; i < hi; i++ {
		wanted[layout[i]] = true
	}
	for i, g := range m.index {
		if m.owned[i] && wanted[g] {
			ranges = append(ranges, buffer.Range{Lo: i, Hi: i + 1})
		}
	}
	return m.b.Local().AccessRanges(ctx, coherence.Overwrite, ranges, func(s []float64) error {
		for _, r := range ranges {
			s[r.Lo-ranges[0].Lo] = m.now[m.index[r.Lo]]
		}
		return nil
	})
}

// setup is a layout with a halo, for a number of ranks.
type setup struct {
	name   string
	ranks  int
	layout part.Layout
	halo   func(rank int) part.Halo
}

func always(h part.Halo) func(int) part.Halo { return func(int) part.Halo { return h } }

func setups() []setup {
	list := []setup{
		{"starts with empty parts", 4, part.Starts(0, 3, 3, 10, 10), always(part.Width(4))},
		{"uneven and periodic", 3, part.Starts(0, 1, 2, 9), always(part.Halo{Lo: []int{3}, Hi: []int{1}, Periodic: []bool{true}})},
		{"as wide as the grid", 3, part.Block(5), always(part.Halo{Lo: []int{5}, Hi: []int{5}, Periodic: []bool{true}})},
		{"needs", 4, part.Block(23), func(rank int) part.Halo {
			return part.Halo{Needs: [][]buffer.Range{
				{{Lo: 20, Hi: 22}, {Lo: 7, Hi: 15}},
				nil,
				{{Lo: 0, Hi: 1}, {Lo: 2, Hi: 3}, {Lo: 4, Hi: 5}},
				{{Lo: 5, Hi: 9}},
			}[rank]}
		}},
		{"needs of a rank that owns nothing", 3, part.Starts(0, 2, 2, 4), func(rank int) part.Halo {
			return part.Halo{Needs: [][]buffer.Range{nil, {{Lo: 1, Hi: 4}, {Lo: 0, Hi: 1}}, {{Lo: 0, Hi: 2}}}[rank]}
		}},
		{"2-D one-sided", 6, part.Grid([]int{7, 5}, []int{3, 2}), always(part.Halo{Lo: []int{1, 2}, Hi: []int{0, 0}})},
		{"2-D more ranks than rows", 4, part.Grid([]int{3, 6}, []int{4, 1}), always(part.Width(1, 1))},
		{"3-D half periodic", 8, part.Grid([]int{4, 5, 6}, []int{2, 2, 2}), always(part.Halo{Lo: []int{1, 1, 2}, Hi: []int{1, 2, 1}, Periodic: []bool{true, false, true}})},
	}
	for ranks := 1; ranks <= 8; ranks++ {
		for _, periodic := range []bool{false, true} {
			p := []bool{periodic, periodic, periodic}
			name := fmt.Sprintf("ranks=%d periodic=%v", ranks, periodic)
			a, b := 1, ranks
			if ranks%2 == 0 {
				a, b = 2, ranks/2
			}
			list = append(list,
				setup{"1-D " + name, ranks, part.Block(29), always(part.Halo{Lo: []int{2}, Hi: []int{2}, Periodic: p[:1]})},
				setup{"2-D " + name, ranks, part.Grid([]int{8, 9}, []int{a, b}), always(part.Halo{Lo: []int{1, 1}, Hi: []int{1, 1}, Periodic: p[:2]})},
				setup{"3-D " + name, ranks, part.Grid([]int{4, 8, 5}, []int{a, b, 1}), always(part.Halo{Lo: []int{1, 1, 1}, Hi: []int{1, 1, 1}, Periodic: p})})
		}
	}
	return list
}

// Random ranks write random elements and exchange, and every rank compares all that it can read with a model of the whole.
func TestHaloBitIdenticalToSerial(t *testing.T) {
	const all = 60
	steps := all
	if testing.Short() {
		steps = 15
	}
	defer func() { t.Logf("did %d of %d steps", steps, all) }()
	for i, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			var opts []commtest.Option
			if i%2 == 1 {
				opts = append(opts, commtest.Adversary(uint64(i)), commtest.EagerLimit(uint64(i%3)*100))
			}
			run(t, s.ranks, func(ctx context.Context, c *comm.Comm) error {
				h := s.halo(c.Rank())
				b, err := part.New[float64](ctx, c, s.layout, h)
				if err != nil {
					return err
				}
				m := newModel(b, h)
				owned, err := whoOwns(ctx, c, m)
				if err != nil {
					return err
				}
				rng := rand.New(rand.NewPCG(uint64(i), 7))
				for step := range steps {
					for writer := range s.ranks {
						if len(owned[writer]) > 0 && rng.IntN(2) == 0 {
							if err := m.write(ctx, rng, step, c.Rank(), writer, owned[writer]); err != nil {
								return fmt.Errorf("step %d: write: %w", step, err)
							}
						}
					}
					if err := m.check(ctx); err != nil {
						return fmt.Errorf("step %d, before: %w", step, err)
					}
					if rng.IntN(3) > 0 {
						if _, err := b.Exchange(ctx); err != nil {
							return fmt.Errorf("step %d: %w", step, err)
						}
						copy(m.then, m.now)
						m.stale = false
						if err := m.check(ctx); err != nil {
							return fmt.Errorf("step %d, after: %w", step, err)
						}
					}
				}
				return b.Close()
			}, opts...)
		})
	}
}

// whoOwns lists the global elements of each rank. It checks that every element has one owner.
func whoOwns(ctx context.Context, c *comm.Comm, m *model) ([][]int, error) {
	owner := make([]int64, whole(m.b))
	for i, g := range m.index {
		if m.owned[i] {
			owner[g] += int64(1 + c.Rank())
			if owner[g] != int64(1+c.Rank()) {
				return nil, fmt.Errorf("element %d is owned twice", g)
			}
		}
	}
	times := make([]int64, len(owner))
	for g := range owner {
		if owner[g] > 0 {
			times[g] = 1
		}
	}
	if err := comm.AllreduceSlice(ctx, c, owner, comm.Sum); err != nil {
		return nil, err
	}
	if err := comm.AllreduceSlice(ctx, c, times, comm.Sum); err != nil {
		return nil, err
	}
	list := make([][]int, c.Size())
	for g := range owner {
		if times[g] != 1 {
			return nil, fmt.Errorf("element %d has %d owners", g, times[g])
		}
		list[owner[g]-1] = append(list[owner[g]-1], g)
	}
	return list, nil
}
