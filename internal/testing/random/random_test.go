package random

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/internal/testing/everydevice"
	"github.com/go-halyard/halyard/kernel/grid/rand"
)

// Every device gets the numbers that a program for the host gets.
func TestNumbersAreTheSameEverywhere(t *testing.T) {
	const n, seed = 10_007, 1<<63 + 12345
	words, wide, singles, doubles := make([]uint32, n), make([]uint64, n), make([]float32, n), make([]float64, n)
	for i := range words {
		r := rand.New(seed, i-1)
		for range i % 7 {
			r.Uint32()
		}
		words[i] = r.Uint32()
		wide[i] = r.Uint64() ^ uint64(r.IntN(1000))
		singles[i] = r.Float32()
		doubles[i] = r.Float64()
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		a, b, c, d := halyard.New[uint32](q, n), halyard.New[uint64](q, n), halyard.New[float32](q, n), halyard.New[float64](q, n)
		Numbers(q, seed, 1000, a, b, c, d)
		gotWords, gotWide, gotSingles, gotDoubles := a.Values(), b.Values(), c.Values(), d.Values()
		if q.Err() == nil {
			assert.Equal(t, words, gotWords)
			assert.Equal(t, wide, gotWide)
			assert.Equal(t, singles, gotSingles)
			assert.Equal(t, doubles, gotDoubles)
		}
	})
}

// The same for normally distributed numbers, to the bit.
func TestNormalsAreTheSameEverywhere(t *testing.T) {
	const n, seed = 10_007, 3
	want := make([]uint64, n)
	for i := range want {
		r := rand.New(seed, i)
		want[i] = math.Float64bits(r.NormFloat64())
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		x := halyard.New[float64](q, n)
		Normals(q, seed, x)
		got := halyard.As[uint64](x).Values()
		if q.Err() == nil {
			assert.Equal(t, want, got)
		}
	})
}

// The known answers of Random123, the authors' library: kat_vectors, philox4x32 with 10 rounds.
func TestKnownAnswers(t *testing.T) {
	in := []uint32{
		0, 0, 0, 0, 0, 0,
		0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
		0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0,
	}
	want := []uint32{
		0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8,
		0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd,
		0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1,
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		out := halyard.New[uint32](q, len(want))
		Philox(q, halyard.From(q, in), out)
		if got := out.Values(); q.Err() == nil {
			assert.Equal(t, want, got)
		}
	})
}

func TestEstimate(t *testing.T) {
	const threads, points = 256, 100
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		inside := halyard.New[uint32](q, threads)
		inside.Fill(0)
		Estimate(q, 1, points, inside)
		sum := uint32(0)
		for _, n := range inside.Values() {
			sum += n
		}
		if q.Err() == nil {
			assert.InDelta(t, math.Pi, 4*float64(sum)/threads/points, 0.03)
		}
	})
}
