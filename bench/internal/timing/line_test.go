package timing

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFit(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want Line
	}{
		{[]float64{1, 2, 3}, []float64{5, 7, 9}, Line{3, 2}},
		{[]float64{0, 1, 2, 3}, []float64{1, 0, 1, 0}, Line{0.8, -0.2}},
		{[]float64{4, 4}, []float64{1, 3}, Line{2, 0}},
		{[]float64{4}, []float64{1}, Line{1, 0}},
		{nil, nil, Line{}},
	} {
		got := Fit(c.x, c.y)
		assert.InDelta(t, c.want.Base, got.Base, 1e-12)
		assert.InDelta(t, c.want.Slope, got.Slope, 1e-12)
	}
}

func TestExponent(t *testing.T) {
	n := []float64{10, 100, 1000}
	assert.InDelta(t, 0, Exponent(n, []float64{7, 7, 7}), 1e-12)
	assert.InDelta(t, 1, Exponent(n, []float64{30, 300, 3000}), 1e-12)
	assert.InDelta(t, 2, Exponent(n, []float64{1, 100, 10000}), 1e-12)
	assert.InDelta(t, 1, Exponent(n, []float64{0, 1, 10}), 1e-12, "a point without a logarithm")
	assert.True(t, math.IsNaN(Exponent(n[:1], n[:1])))
}
