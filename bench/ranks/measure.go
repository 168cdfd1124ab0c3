package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/comm/part"
	"github.com/go-halyard/halyard/conformance/commtest"
)

// each is the number of elements of one rank.
const each = 4096

// problem is a layout with ghosts for any number of ranks that is a power of 8.
type problem struct {
	name   string
	layout func(ranks int) part.Layout
	halo   func(rank, ranks int) part.Halo
}

var problems = []problem{
	{"1-D, periodic", line, around(1, true)},
	{"2-D, periodic", square, around(2, true)},
	{"3-D, periodic", cube, around(3, true)},
	{"lists of needs", line, needs},
	{"1-D, explicit starts", starts, around(1, true)},
	{"1-D", line, around(1, false)},
	{"2-D", square, around(2, false)},
	{"3-D", cube, around(3, false)},
}

// drawn is the number of problems in the picture, counted from the first. There are as many colors.
const drawn = 5

// sides returns the ranks along two edges, as equal as can be.
func sides(ranks int) (int, int) {
	a := 1
	for a*a < ranks {
		a *= 2
	}
	return a, ranks / a
}

func line(ranks int) part.Layout { return part.Block(ranks * each) }

// starts makes parts that are alternately longer and shorter.
func starts(ranks int) part.Layout {
	list := make([]int, ranks+1)
	for i := range list {
		list[i] = i * each
		if i%2 == 1 && i < ranks {
			list[i] += each / 8
		}
	}
	return part.Starts(list...)
}

func square(ranks int) part.Layout {
	a, b := sides(ranks)
	return part.Grid([]int{a * 64, b * 64}, []int{a, b})
}

func cube(ranks int) part.Layout {
	a := 1
	for a*a*a < ranks {
		a *= 2
	}
	return part.Grid([]int{a * 16, a * 16, a * 16}, []int{a, a, a})
}

// around is one ghost on each side of each dimension, with the corners.
func around(dims int, periodic bool) func(int, int) part.Halo {
	return func(int, int) part.Halo {
		h := part.Width([]int{1, 1, 1}[:dims]...)
		h.Periodic = []bool{periodic, periodic, periodic}[:dims]
		return h
	}
}

// needs are four elements of each of up to eight other ranks, as in an unstructured mesh.
func needs(rank, ranks int) (h part.Halo) {
	r := rand.New(rand.NewPCG(1, uint64(rank)))
	for taken := map[int]bool{rank: true}; len(h.Needs) < 8 && len(taken) < ranks; {
		peer := r.IntN(ranks)
		if taken[peer] {
			continue
		}
		taken[peer] = true
		lo := peer*each + r.IntN(each-4)
		h.Needs = append(h.Needs, buffer.Range{Lo: lo, Hi: lo + 4})
	}
	return h
}

// point is what was measured with a number of ranks. Bytes and messages are those of the rank that sent most, and times are divided by the number of ranks.
type point struct {
	ranks       int
	made, moved time.Duration // to make the buffers, and to exchange
	clean       time.Duration // to exchange when nothing was written
	bytes       uint64
	messages    int
	cleanBytes  uint64
}

// stage is a barrier of all ranks. The last to reach it notes the time.
type stage struct {
	mu      sync.Mutex
	waiting int
	open    chan struct{}
	start   time.Time
}

// pass waits for all ranks, or until ctx ends.
func (s *stage) pass(ctx context.Context, ranks int) {
	s.mu.Lock()
	if s.waiting++; s.waiting == ranks {
		s.start = time.Now()
		close(s.open)
	}
	s.mu.Unlock()
	select {
	case <-s.open:
	case <-ctx.Done():
	}
}

func measure(ctx context.Context, p problem, ranks int) (point, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	at := point{ranks: ranks}
	var mu sync.Mutex
	stages := make([]stage, 5)
	for i := range stages {
		stages[i].open = make(chan struct{})
	}
	err := commtest.Execute(ranks, func(e comm.Engine) error {
		c := comm.New(e)
		stages[0].pass(ctx, ranks)
		a, err := part.New[float64](ctx, c, p.layout(ranks), p.halo(c.Rank(), ranks))
		stages[1].pass(ctx, ranks)
		if err != nil {
			cancel() // so that the others do not wait for this rank
			return err
		}
		err = fill(ctx, a, c.Rank())
		stages[2].pass(ctx, ranks)
		var moved, clean part.Moved
		if err == nil {
			moved, err = a.Exchange(ctx)
		}
		stages[3].pass(ctx, ranks)
		if err == nil {
			clean, err = a.Exchange(ctx)
		}
		stages[4].pass(ctx, ranks)
		mu.Lock()
		at.bytes, at.messages, at.cleanBytes = max(at.bytes, moved.Bytes), max(at.messages, moved.Messages), max(at.cleanBytes, clean.Bytes)
		mu.Unlock()
		return errors.Join(err, check(ctx, a), a.Close(), c.Close())
	})
	share := func(from, to int) time.Duration {
		return stages[to].start.Sub(stages[from].start) / time.Duration(ranks)
	}
	at.made, at.moved, at.clean = share(0, 1), share(2, 3), share(3, 4)
	return at, err
}

// fill writes rank+1 to all elements that the rank owns.
func fill(ctx context.Context, b *part.Buffer[float64], rank int) error {
	return b.Local().AccessRanges(ctx, writing, b.OwnedRanges(), func(s []float64) error {
		for i := range s {
			s[i] = float64(rank + 1)
		}
		return nil
	})
}

// check returns an error if a ghost is stale, or an element was written by no rank.
func check(ctx context.Context, b *part.Buffer[float64]) error {
	if stale := b.Stale(); len(stale) > 0 {
		return fmt.Errorf("stale ghosts %v", stale)
	}
	return b.Local().View(ctx, func(s []float64) error {
		for i, v := range s {
			if v < 1 {
				return fmt.Errorf("element %d was not written", i)
			}
		}
		return nil
	})
}
