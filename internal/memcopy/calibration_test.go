package memcopy

import (
	"slices"
	"testing"
	"unsafe"
)

func TestClassOf(t *testing.T) {
	for _, row := range []struct{ size, from uint64 }{
		{1 << 20, 1 << 20}, {2<<20 - 1, 1 << 20}, {2 << 20, 2 << 20}, {33 << 20, 32 << 20},
		{64<<20 - 1, 32 << 20}, {64 << 20, 64 << 20}, {1 << 40, 64 << 20},
	} {
		if got := classOf(row.size).from; got != row.from {
			t.Errorf("%d bytes are of the class from %d, want %d", row.size, got, row.from)
		}
	}
}

func TestCandidates(t *testing.T) {
	for _, row := range []struct {
		size       uint64
		processors int
		most       int // goroutines
	}{
		{1 << 20, 1, 1}, {1 << 20, 2, 2}, {1 << 20, 64, 4}, {64 << 20, 1, 1}, {64 << 20, 2, 2},
		{64 << 20, 12, 8}, {64 << 20, 500, mostWorkers},
	} {
		plans := candidates(row.size, row.processors)
		if plans[0] != one {
			t.Errorf("%+v: the built-in copy is not the first candidate", row)
		}
		most := 0
		for i, p := range plans {
			most = max(most, p.Workers)
			if p.Piece == 0 || p.Piece%4096 != 0 && p.Piece != one.Piece || slices.Contains(plans[:i], p) {
				t.Errorf("%+v: candidate %+v", row, p)
			}
			if p.Workers > 1 && p.Piece*uint64(p.Workers) > row.size {
				t.Errorf("%+v: %+v has goroutines without work", row, p)
			}
		}
		if most != row.most {
			t.Errorf("%+v: up to %d goroutines, want %d", row, most, row.most)
		}
	}
}

func TestBest(t *testing.T) {
	plans := []Plan{one, {Piece: 1, Workers: 1}, {Piece: 1, Workers: 2}, {Piece: 2, Workers: 2}, {Piece: 1, Workers: 4}}
	for _, row := range []struct {
		rates []float64
		want  int
	}{
		{[]float64{5, 4, 4, 4, 4}, 0},
		{[]float64{3, 5, 4, 4, 4}, 1},
		{[]float64{3, 5, 8, 10, 9}, 3},
		{[]float64{3, 5, 5.1, 5.2, 5.2}, 1}, // not worth a second goroutine
		{[]float64{3, 5, 8, 8.1, 8.2}, 3},   // nor four
		{[]float64{3, 5, 8, 8.1, 16}, 4},
	} {
		if got := best(plans, row.rates); got != row.want {
			t.Errorf("rates %v: plan %d, want %d", row.rates, got, row.want)
		}
	}
}

// A plan is measured with the caches as it left them itself, and not as another did.
func TestTrialsAreNotChargedForTheLastPlan(t *testing.T) {
	counted := make([]int, 5)
	last := -1
	for tried := range len(counted) * trialsPerPlan {
		plan, counts := turn(tried)
		if counts && plan != last {
			t.Errorf("trial %d of plan %d counts, and the copy before followed plan %d", tried, plan, last)
		}
		if counts {
			counted[plan]++
		}
		last = plan
	}
	for plan, n := range counted {
		if n < 3 {
			t.Errorf("plan %d is measured %d times", plan, n)
		}
	}
}

// A class is settled by its copies, and then follows what was the fastest.
func TestCalibrationSettles(t *testing.T) {
	size := uint64(4 << 20)
	src, dst := make([]byte, size), make([]byte, size)
	for range 100 {
		Copy(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), size)
	}
	c := classOf(size)
	s := c.settled.Load()
	if s == nil {
		t.Fatal("100 copies have not settled it")
	}
	if rate := c.rates[slices.Index(c.plans, *s)]; rate <= 0 || c.rates[0] <= 0 || rate < c.rates[0] {
		t.Errorf("%+v was chosen, of %v", s, c.rates)
	}
	if got := c.plan(); got != *s {
		t.Errorf("copies follow %+v, not %+v", got, *s)
	}
}
