package blackscholes

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

// Prices are those of plain Go to the bit, and those of float64 and package math to four digits.
func TestPrice(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		const n, rate, volatility = 10001, float32(0.02), float32(0.3)
		var in [3][]float32
		for k := range in {
			in[k] = make([]float32, n)
		}
		for i := range n {
			in[0][i], in[1][i], in[2][i] = 5+float32(i%251)/10, 1+float32(i%997)/10, 0.25+float32(i%39)/4
		}
		share, e1 := buffer.From(in[0])
		strike, e2 := buffer.From(in[1])
		years, e3 := buffer.From(in[2])
		call, e4 := buffer.New[float32](n)
		put, e5 := buffer.New[float32](n)
		err := errors.Join(e1, e2, e3, e4, e5)
		if err == nil {
			err = PriceOn(t.Context(), stream, hal.Over(n), rate, volatility, share, strike, years, call, put)
		}
		calls, puts := make([]float32, n), make([]float32, n)
		if err := errors.Join(err, call.CopyOut(t.Context(), calls), put.CopyOut(t.Context(), puts), hal.CloseAll(share, strike, years, call, put)); err != nil {
			return err
		}
		bits, worst := 0, 0.0
		for i := range n {
			s, k, y := in[0][i], in[1][i], in[2][i]
			spread := volatility * float32(math.Sqrt(float64(y)))
			d := (logarithm(s/k) + float32((rate+float32(float32(volatility*volatility)*0.5))*y)) / spread
			later := k * power(-float32(rate*y))
			c := float32(s*normal(d)) - float32(later*normal(d-spread))
			if calls[i] != c || puts[i] != c-s+later {
				bits++
			}
			S, K, Y, r, v := float64(s), float64(k), float64(y), float64(rate), float64(volatility)
			D := (math.Log(S/K) + (r+v*v/2)*Y) / (v * math.Sqrt(Y))
			exact := S*math.Erfc(-D/math.Sqrt2)/2 - K*math.Exp(-r*Y)*math.Erfc(-(D-v*math.Sqrt(Y))/math.Sqrt2)/2
			worst = max(worst, math.Abs(exact-float64(calls[i])), math.Abs(exact-S+K*math.Exp(-r*Y)-float64(puts[i])))
		}
		assert.Zero(t, bits, "prices that differ from those of plain Go")
		assert.Less(t, worst, 1e-4)
		return nil
	})
}
