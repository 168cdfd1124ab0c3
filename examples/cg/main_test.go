package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/examples/cg/solve"
	"github.com/go-halyard/halyard/examples/internal/every"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

const n = 16

// bound is how far off a solution may be. The condition of the grid's matrix is below 4(n+1)²/π² = 118, so a residual of a millionth puts x off by
// 118 millionths of its length at most: 118e-6 · 16 · 9, and float32 adds less than that again.
const bound = 0.04

// plain is the same method without devices, in float64.
func plain(b []float32) []float32 {
	x, r, p, q := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	dot := func(a, b []float64) (s float64) {
		for i := range a {
			s += a[i] * b[i]
		}
		return s
	}
	for i, v := range b {
		r[i], p[i] = float64(v), float64(v)
	}
	rr := dot(r, r)
	for limit := 1e-20 * rr; rr > limit; {
		at := func(i, j int) float64 {
			if i < 0 || j < 0 || i >= n || j >= n {
				return 0
			}
			return p[i*n+j]
		}
		for i := range n {
			for j := range n {
				q[i*n+j] = 4*at(i, j) - at(i-1, j) - at(i+1, j) - at(i, j-1) - at(i, j+1)
			}
		}
		alpha, before := rr/dot(p, q), rr
		for i := range x {
			x[i] += alpha * p[i]
			r[i] -= alpha * q[i]
		}
		rr = dot(r, r)
		for i := range p {
			p[i] = r[i] + rr/before*p[i]
		}
	}
	out := make([]float32, n*n)
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// A device solves it, and a device of the host beside it, each with half of the rows, solves it too.
func TestSolutionIsThatOfPlainGo(t *testing.T) {
	exact, b := solve.Problem(n)
	want := plain(b)
	require.Less(t, distance(exact, want), float32(1e-4), "plain Go")
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		alone, err := solve.Solve(t.Context(), []*hal.Stream{stream}, n, b, nil)
		if err != nil {
			return err
		}
		assert.Less(t, distance(alone.X, want), float32(bound))
		// The same device twice: the sums are in the same order, and the bits the same.
		second, closeSecond, err := every.Streams(t.Context(), stream.Device().Name(), "host:1")
		if err != nil {
			return err
		}
		defer func() { assert.NoError(t, closeSecond()) }()
		twice, err := solve.Solve(t.Context(), []*hal.Stream{stream, second[0]}, n, b, nil)
		if err != nil {
			return err
		}
		assert.Equal(t, alone.X, twice.X, "two streams")
		mixed, err := solve.Solve(t.Context(), []*hal.Stream{second[1], stream}, n, b, nil)
		if err != nil {
			return err
		}
		assert.Less(t, distance(mixed.X, want), float32(bound), "with a device of the host")
		return nil
	})
}

// Any number of devices gives the same bits, and two move in each step a row in each direction, the sums of
// the second's rows, and two numbers.
func TestHaloIsAllThatMoves(t *testing.T) {
	_, b := solve.Problem(n)
	var first solve.Result
	for _, devices := range []int{1, 2, 3, 5} {
		require.NoError(t, onHost(t.Context(), devices, func(streams []*hal.Stream) error {
			res, err := solve.Solve(t.Context(), streams, n, b, nil)
			if err != nil {
				return err
			}
			if devices == 1 {
				first = res
			}
			assert.Equal(t, first.X, res.X, "%d devices", devices)
			assert.Equal(t, first.Steps, res.Steps)
			if devices == 2 {
				parts := n*n + 2*n               // of p, once, with their halos
				halos := 2 * n * (res.Steps - 1) // of p, in every later step
				products := 2*res.Steps + 1      // each brings the sums of n/2 rows to the first device, and the result to the second
				looks := res.Steps/solve.Between + 1
				assert.Equal(t, 4*(parts+halos+products*(n/2+1)+looks), int(res.Copied), "%d steps", res.Steps)
			}
			return nil
		}))
	}
}

func TestBadInputIsRefused(t *testing.T) {
	for _, c := range []struct{ streams, n, b int }{{0, 4, 16}, {2, 1, 1}, {1, 4, 15}} {
		_, err := solve.Solve(t.Context(), make([]*hal.Stream, c.streams), c.n, make([]float32, c.b), nil)
		assert.ErrorIs(t, err, hal.ErrInvalidArgument)
	}
}
