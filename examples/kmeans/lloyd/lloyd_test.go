package lloyd

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
	data := Cloud(n)
	var want [K][8]float64
	for c := range want {
		for d, x := range data[c] {
			want[c][d] = float64(x)
		}
	}
	for range steps {
		var sums [K][9]float64
		for _, p := range data {
			best, least := 0, 1e30
			for c := range want {
				away := 0.0
				for d, x := range p {
					away += (float64(x) - want[c][d]) * (float64(x) - want[c][d])
				}
				if away < least {
					best, least = c, away
				}
			}
			for d, x := range p {
				sums[best][d] += float64(x)
			}
			sums[best][8]++
		}
		for c, sum := range sums {
			for d := range want[c] {
				want[c][d] = sum[d] / max(sum[8], 1)
			}
		}
	}
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		q := halyard.On(t.Context(), stream)
		points, centres := halyard.From(q, data), halyard.From(q, data[:K])
		sums := halyard.New[[K][9]float32](q, 1024)
		for range steps {
			sums.Fill([K][9]float32{})
			Add(q, points, centres, sums)
			Move(q, sums, centres)
		}
		got := centres.Values()
		if err := q.Close(); err != nil {
			return err
		}
		for c, centre := range got {
			for d, x := range centre {
				assert.InDelta(t, want[c][d], x, 1e-3, "number %d of centre %d", d, c)
			}
		}
		return nil
	})
}
