package atomics

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/everydevice"
	"github.com/go-halyard/halyard/kernel/grid"
)

const threads = 100_000

// fits limits the numbers so that no sum of floats rounds, whatever the order.
const fits = 100

// numbers are small, and every other one is negative unless T has no sign.
func numbers[T grid.Number](n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(i * 7919 % fits)
		if i%2 == 1 && T(0)-1 < 0 {
			x[i] = -x[i]
		}
	}
	return x
}

// All threads change the same elements, and no change is lost.
func TestAtomicsOfManyThreads(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		many[float32](t, q)
		many[float64](t, q)
		many[int64](t, q)
		many[uint64](t, q)
		many[uint32](t, q)
	})
}

func many[T grid.Number](t *testing.T, q *halyard.Queue) {
	name := fmt.Sprintf("%T", T(0))
	n := threads
	if _, is32 := any(T(0)).(float32); is32 {
		n = 50_000 // so that replaced is exact
	}
	xs := numbers[T](n)
	x, ticket, cell := halyard.From(q, xs), halyard.New[T](q, n), halyard.New[T](q, cells)
	cell.Fill(0)
	Changed(q, x, ticket, cell)
	got, taken := cell.Values(), ticket.Values()
	if q.Err() != nil {
		return
	}
	var total T
	for _, v := range xs {
		total += v
	}
	assert.Equal(t, total, got[sum], name)
	assert.Equal(t, min(0, slices.Min(xs)), got[least], name)
	assert.Equal(t, slices.Max(xs), got[most], name)
	assert.Equal(t, T(n), got[exchanged], name)
	assert.Equal(t, total, got[replaced]+got[stored], name)
	slices.Sort(taken)
	for i, v := range taken {
		require.Equal(t, T(i), v, "%s: each thread has a ticket of its own", name)
	}
}

// The same in memory that the threads of a block share.
func TestAtomicsInSharedMemory(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		inBlocks[float32](t, q)
		inBlocks[float64](t, q)
		inBlocks[int64](t, q)
	})
}

func inBlocks[T grid.Number](t *testing.T, q *halyard.Queue) {
	xs := numbers[T](1000)
	x, cell := halyard.From(q, xs), halyard.New[T](q, 4)
	cell.Fill(0)
	Shared(q.Grid(hal.Over(len(xs)).Of(32)), x, cell)
	got := cell.Values()
	if q.Err() != nil {
		return
	}
	var total T
	for _, v := range xs {
		total += v
	}
	assert.Equal(t, []T{total, slices.Min(xs), slices.Max(xs), 7}, got, "%T", T(0))
}

func TestAtomicsOnBits(t *testing.T) {
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		x := make([]uint64, 63)
		for i := range x {
			x[i] = 1<<i | 1<<63
		}
		none, signed := halyard.From(q, []uint64{1<<64 - 1, 0, 0}), halyard.From(q, []int64{-1, 0, 0})
		Bits(q, halyard.From(q, x), none, signed)
		got, also := none.Values(), signed.Values()
		if q.Err() == nil {
			assert.Equal(t, []uint64{0, 1<<64 - 1, 1<<64 - 1}, got)
			assert.Equal(t, []int64{0, -1, -1}, also)
		}
	})
}

// As for Go's min and max, a NaN wins, and -0 is less than 0.
func TestLeastAndMostOfSpecialFloats(t *testing.T) {
	nan, inf, negative := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	for _, c := range []struct {
		xs          []float64
		least, most float64
	}{
		{[]float64{0, negative, 1, 0}, negative, 1},
		{[]float64{negative, negative, 0, negative}, negative, 0},
		{[]float64{1, inf, 1, 2}, 1, inf},
		{[]float64{1, 2, nan, -inf}, nan, nan},
		{[]float64{nan, 2, 3, 4}, nan, nan},
	} {
		xs := c.xs
		xs32 := make([]float32, len(xs))
		for i, x := range xs {
			xs32[i] = float32(x)
		}
		everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
			cell, wide := halyard.From(q, []float32{xs32[0], xs32[0]}), halyard.From(q, []float64{xs[0], xs[0]})
			Special(q, halyard.From(q, xs32), cell, halyard.From(q, xs), wide)
			got32, got := cell.Values(), wide.Values()
			if q.Err() != nil {
				return
			}
			for i, want := range []float64{c.least, c.most} {
				for _, is := range []float64{got[i], float64(got32[i])} {
					assert.Equal(t, want != want, is != is, "%v: %v", xs, is)
					assert.True(t, want != want || math.Float64bits(want) == math.Float64bits(is), "%v: %v, not %v", xs, is, want)
				}
			}
		})
	}
}
