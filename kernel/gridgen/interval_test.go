package gridgen

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
)

// An operation on intervals has the results of Go's operation on all their numbers, also where that wraps around.
func TestIntervalsHoldResults(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	edge := func() int64 {
		switch r.IntN(4) {
		case 0:
			return math.MaxInt64 - r.Int64N(4)
		case 1:
			return math.MinInt64 + r.Int64N(4)
		case 2:
			return int64(r.Uint64())
		}
		return r.Int64N(40) - 20
	}
	some := func() (Interval, int64) {
		a, b := edge(), edge()
		if r.IntN(3) > 0 {
			b = a + min(r.Int64N(9), math.MaxInt64-max(a, 0))
		}
		in := Interval{lo: min(a, b), hi: max(a, b)}
		width := uint64(in.hi) - uint64(in.lo)
		return in, in.lo + int64(r.Uint64()%max(width, width+1))
	}
	quotient := func(x, y int64) int64 {
		if y == 0 {
			return 0
		}
		return x / y
	}
	rest := func(x, y int64) int64 {
		if y == 0 {
			return 0
		}
		return x % y
	}
	operations := map[string]struct {
		on      func(a, b Interval) Interval
		numbers func(x, y int64) int64
	}{
		"Plus":  {Interval.Plus, func(x, y int64) int64 { return x + y }},
		"Minus": {Interval.Minus, func(x, y int64) int64 { return x - y }},
		"Times": {Interval.Times, func(x, y int64) int64 { return x * y }},
		"Over":  {Interval.Over, quotient},
		"Rest":  {Interval.Rest, rest},
		"Mask":  {Interval.Mask, func(x, y int64) int64 { return x & y }},
		"Min":   {Interval.Min, func(x, y int64) int64 { return min(x, y) }},
		"Max":   {Interval.Max, func(x, y int64) int64 { return max(x, y) }},
		"Or":    {Interval.Or, func(x, _ int64) int64 { return x }},
		"Right": {func(a, _ Interval) Interval { return a.Right(3) }, func(x, _ int64) int64 { return x >> 3 }},
		"Fits":  {func(a, _ Interval) Interval { return a.Fits(math.MinInt8, math.MaxInt8) }, func(x, _ int64) int64 { return int64(int8(x)) }},
	}
	bounds := map[string]struct {
		on   func(a, b Interval) Interval
		true func(x, y int64) bool
	}{
		"Below": {Interval.Below, func(x, y int64) bool { return x < y }},
		"UpTo":  {Interval.UpTo, func(x, y int64) bool { return x <= y }},
		"Above": {Interval.Above, func(x, y int64) bool { return x > y }},
		"From":  {Interval.From, func(x, y int64) bool { return x >= y }},
		"And":   {Interval.And, func(x, y int64) bool { return x == y }},
		"Not":   {Interval.Not, func(x, y int64) bool { return x != y }},
	}
	for range 200_000 {
		a, x := some()
		b, y := some()
		for name, op := range operations {
			got, want := op.on(a, b), op.numbers(x, y)
			require.True(t, got.lo <= want && want <= got.hi, "%v %s %v = %v, without %d of %d and %d", a, name, b, got, want, x, y)
		}
		for name, op := range bounds {
			if got := op.on(a, b); op.true(x, y) {
				require.True(t, got.lo <= x && x <= got.hi, "%v %s %v = %v, without %d, compared with %d", a, name, b, got, x, y)
			}
		}
	}
}

// A product that leaves int64 between the ends of an interval can be any number.
func TestProductsThatWrapAround(t *testing.T) {
	assert.Equal(t, anything, Interval{lo: 1, hi: 3}.Times(Only(1<<62)))
	assert.Equal(t, anything, Interval{lo: 1, hi: 2}.Times(Only(1<<62)))
}

// Spans are within the slice, and those of no threads are empty.
func TestSpansOfIntervals(t *testing.T) {
	box := Box{Lo: [3]int{4, 0, 0}, Hi: [3]int{12, 1, 1}, Block: [3]int{4, 1, 1}}
	i := Places(box, 0)
	assert.Equal(t, buffer.Range{Lo: 4, Hi: 12}, i.Span(100))
	assert.Equal(t, buffer.Range{Lo: 4, Hi: 6}, i.Span(6))
	assert.Equal(t, buffer.Range{}, i.Span(4))
	assert.Equal(t, buffer.Range{}, i.Span(0))
	assert.Equal(t, buffer.Range{}, i.Span(-1))
	assert.Equal(t, buffer.Range{Lo: 0, Hi: 2}, i.Add(-10).Span(6))
	assert.Equal(t, buffer.Range{Lo: 0, Hi: 7}, i.Times(Only(math.MaxInt64)).Span(7), "it may be anything")
	assert.Equal(t, buffer.Range{Lo: 1, Hi: 3}, Blocks(box, 0).Span(9))
	assert.Equal(t, buffer.Range{Lo: 0, Hi: 4}, Locals(box, 0).Span(9))
	whole := box
	whole.Blocks = [3]int{5, 1, 1}
	assert.Equal(t, buffer.Range{Lo: 20, Hi: 41}, Blocks(whole, 0).Times(Only(100)).Over(Counts(whole, 0)).Span(50), "a fifth of 100 for each block")
	assert.Equal(t, buffer.Range{Lo: 0, Hi: 50}, Blocks(box, 0).Times(Only(100)).Over(Counts(box, 0)).Span(50))
	assert.Equal(t, buffer.Range{Lo: 3, Hi: 9}, Only(3).Steps(Only(2), Only(9)).Span(20))
	assert.Equal(t, buffer.Range{}, Only(9).Steps(Only(2), Only(9)).Span(20))
	box.Hi[1] = 0
	for _, none := range []Interval{Places(box, 0), Locals(box, 0), Blocks(box, 0), Only(1).When(Places(box, 0)), Places(box, 2).Plus(Only(1)).Times(Only(2))} {
		assert.Equal(t, buffer.Range{}, none.Span(9))
	}
}

// Elements that are counted fill a span, unless more numbers may be in the intervals than there are.
func TestFilledSpans(t *testing.T) {
	i := Places(Box{Hi: [3]int{5, 1, 1}}, 0)
	assert.True(t, Filled(buffer.Range{Hi: 5}, 1, i))
	assert.True(t, Filled(buffer.Range{Lo: 10, Hi: 20}, 2, i))
	assert.True(t, Filled(buffer.Range{Hi: 25}, 1, i, i))
	assert.True(t, Filled(buffer.Range{Hi: 3}, 1, i.Below(Only(3))))
	assert.False(t, Filled(buffer.Range{Hi: 6}, 1, i))
	assert.False(t, Filled(buffer.Range{Hi: 3}, 1, i.Below(Between(1, 3))))
	assert.False(t, Filled(buffer.Range{Hi: 5}, 1, i.Or(Only(2))))
	assert.False(t, Filled(buffer.Range{Hi: 6}, 1, Only(0).Steps(Only(2), Only(6))), "only each second number")
	assert.True(t, Filled(buffer.Range{Hi: 6}, 1, Only(0).Steps(Only(1), Only(6))))
	assert.False(t, Filled(buffer.Range{Hi: 1}, 1, Anything()))
}

// Footprints do not allocate.
func TestFootprintsDoNotAllocate(t *testing.T) {
	touch := make([]Touch, 1)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		box, n := Box{Hi: [3]int{64, 64, 1}}, Only(64)
		i, j := Places(box, 1).Below(n), Places(box, 0).Below(n)
		s := i.Times(n).Plus(j).Span(64 * 64)
		touch[0] = Touch{Write: s, Whole: Filled(s, 1, i, j)}
	}))
	assert.True(t, touch[0].Whole)
}
