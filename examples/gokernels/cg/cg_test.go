package cg

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

// The solution is the one that the right-hand side was made of, in the bits that the host gives.
func TestSolve(t *testing.T) {
	const n = 8
	want, b := make([]float32, n*n), make([]float32, n*n)
	for i := range want {
		want[i] = float32(i*7%19 - 9 + i/n%5)
	}
	at := func(i, j int) float32 {
		if i < 0 || j < 0 || i >= n || j >= n {
			return 0
		}
		return want[i*n+j]
	}
	for i := range b {
		y, x := i/n, i%n
		b[i] = 4*at(y, x) - at(y-1, x) - at(y+1, x) - at(y, x-1) - at(y, x+1)
	}
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		q, host := halyard.On(t.Context(), stream), halyard.Open(t.Context(), "host:0")
		got, steps := Solve(q, n, b)
		onHost, stepsOnHost := Solve(host, n, b)
		if err := errors.Join(q.Close(), host.Close()); err != nil {
			return err
		}
		// As examples/cg says, a residual of a millionth puts x off by less than 0.02; float32 adds less than that again.
		assert.InDeltaSlice(t, want, got, 0.04)
		assert.Equal(t, onHost, got)
		assert.Equal(t, stepsOnHost, steps)
		return nil
	})
}
