package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

// The centres are those of plain Go, which adds up in another order.
func TestCluster(t *testing.T) {
	const n, steps = 500, 2
	data := cloud(n)
	want := append([]float64(nil), doubles(data[:k*dims])...)
	for range steps {
		sums, counts := make([]float64, k*dims), make([]float64, k)
		for i := range n {
			best, least := 0, 1e30
			for c := range k {
				sum := 0.0
				for d := range dims {
					x := float64(data[i*dims+d]) - want[c*dims+d]
					sum += x * x
				}
				if sum < least {
					best, least = c, sum
				}
			}
			counts[best]++
			for d := range dims {
				sums[best*dims+d] += float64(data[i*dims+d])
			}
		}
		for i := range want {
			if counts[i/dims] > 0 {
				want[i] = sums[i] / counts[i/dims]
			}
		}
	}
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		q := halyard.On(t.Context(), stream)
		got := cluster(q, data, steps)
		if err := q.Close(); err != nil {
			return err
		}
		assert.InDeltaSlice(t, want, doubles(got), 1e-3)
		return nil
	})
}

func doubles(data []float32) (out []float64) {
	for _, v := range data {
		out = append(out, float64(v))
	}
	return out
}
