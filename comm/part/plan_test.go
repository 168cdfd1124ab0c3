package part_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
)

// cube is a periodic grid of one to three dimensions with a width of 1, in which each rank has as many elements however many ranks there are.
func cube(side ...int) (part.Layout, part.Halo, int) {
	shape, ranks, h := make([]int, len(side)), 1, part.Halo{}
	for d, n := range side {
		shape[d], ranks = 6*n, ranks*n
		h.Lo, h.Hi, h.Periodic = append(h.Lo, 1), append(h.Hi, 1), append(h.Periodic, true)
	}
	return part.Grid(shape, side), h, ranks
}

// What a rank looks at and keeps does not grow with the number of ranks, once a rank has all neighbours that it can have.
func TestPlansDoNotGrowWithRanks(t *testing.T) {
	for d, grids := range [][][]int{
		{{8}, {64}, {512}, {4096}},
		{{3, 3}, {8, 8}, {16, 32}, {64, 64}},
		{{3, 3, 3}, {4, 4, 4}, {8, 8, 8}, {16, 16, 16}},
	} {
		var first part.Plan
		for i, side := range grids {
			l, h, ranks := cube(side...)
			for rank := 0; rank < ranks; rank += max(1, ranks/64) {
				p, err := part.PlanExchange(l, h, rank, ranks)
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 && rank == 0 {
					first = p
				}
				if neighbours := []int{2, 8, 26}[d]; len(p.Peers) != neighbours {
					t.Fatalf("rank %d of %v has %d neighbours in place of %d", rank, side, len(p.Peers), neighbours)
				}
				if p.Entries > first.Entries || p.Steps > first.Steps || p.Owned != first.Owned || p.Ghosts != first.Ghosts {
					t.Fatalf("rank %d of %v keeps %d entries after %d steps for %d elements and %d ghosts, and of %v %d after %d for %d and %d",
						rank, side, p.Entries, p.Steps, p.Owned, p.Ghosts, grids[0], first.Entries, first.Steps, first.Owned, first.Ghosts)
				}
			}
		}
	}
}

// sums adds up what a plan sends.
func sums(p part.Plan) (m part.Moved) {
	for _, q := range p.Peers {
		m.Messages++
		m.Bytes += 8 * uint64(q.Send)
	}
	return m
}

// Plans of all ranks say the same of what goes from one to the other, and it is what then goes.
func TestPlansAreWhatIsSent(t *testing.T) {
	for _, s := range setups() {
		t.Run(s.name, func(t *testing.T) {
			plans := make([]part.Plan, s.ranks)
			sent, received := map[[2]int]int{}, map[[2]int]int{}
			needs := false
			for r := range plans {
				var err error
				if plans[r], err = part.PlanExchange(s.layout, s.halo(r), r, s.ranks); err != nil {
					t.Fatal(err)
				}
				needs = needs || s.halo(r).Needs != nil
				for _, p := range plans[r].Peers {
					sent[[2]int{r, p.Rank}], received[[2]int{p.Rank, r}] = p.Send, p.Receive
				}
			}
			for pair, n := range sent {
				if n != received[pair] && !needs {
					t.Errorf("rank %d sends %d elements to rank %d, which receives %d", pair[0], n, pair[1], received[pair])
				}
			}
			run(t, s.ranks, func(ctx context.Context, c *comm.Comm) error {
				b, err := part.New[float64](ctx, c, s.layout, s.halo(c.Rank()))
				if err != nil {
					return err
				}
				p := plans[c.Rank()]
				moved, err := b.Exchange(ctx)
				if err == nil && !needs && moved != sums(p) {
					err = fmt.Errorf("%+v was sent in place of %+v", moved, sums(p))
				}
				elements := 0
				if b.Local() != nil {
					elements = b.Local().Len()
				}
				if err == nil && p.Owned+p.Ghosts != elements {
					err = fmt.Errorf("%d elements are here in place of %d and %d ghosts", elements, p.Owned, p.Ghosts)
				}
				row, e := part.New[float64](ctx, c, part.Block(b.Size()), part.Halo{})
				if err = errors.Join(err, e); err != nil {
					return err
				}
				moved, err = part.Redistribute(ctx, row, b)
				if err != nil {
					return err
				}
				p, err = part.PlanRedistribute(part.Block(b.Size()), s.layout, c.Rank(), c.Size())
				want := part.Moved{}
				for _, q := range p.Peers {
					if q.Send > 0 {
						want.Messages++
						want.Bytes += 8 * uint64(q.Send)
					}
				}
				if err == nil && (moved != want || p.Owned != row.Local().Len()) {
					err = fmt.Errorf("redistributing sent %+v in place of %+v", moved, want)
				}
				return errors.Join(err, row.Close(), b.Close())
			})
		})
	}
}

func TestPlansRefuseWhatNewRefuses(t *testing.T) {
	line := part.Block(10)
	for name, err := range map[string]error{
		"rank":     second(part.PlanExchange(line, part.Halo{}, 4, 4)),
		"negative": second(part.PlanExchange(line, part.Halo{}, -1, 4)),
		"ranks":    second(part.PlanExchange(part.Grid([]int{4, 4}, []int{2, 2}), part.Halo{}, 0, 5)),
		"halo":     second(part.PlanExchange(line, part.Width(1, 1), 0, 4)),
		"length":   second(part.PlanRedistribute(line, part.Block(11), 0, 4)),
		"from":     second(part.PlanRedistribute(line, part.Starts(0, 10), 0, 4)),
	} {
		if !errors.Is(err, comm.ErrInvalidArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second(_ part.Plan, err error) error { return err }
