package half_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/kernel/half"
)

// value is what IEEE 754 says of a binary16.
func value(bits uint16) float64 {
	sign, exponent, fraction := 1-2*float64(bits>>15), int(bits>>10&0x1f), float64(bits&0x3ff)
	switch exponent {
	case 0x1f:
		if fraction != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	case 0:
		return math.Copysign(math.Ldexp(fraction, -24), sign)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

func TestEveryFloat16(t *testing.T) {
	for i := range 1 << 16 {
		h, want := half.Float16{Bits: uint16(i)}, value(uint16(i))
		got := h.Float32()
		if want != want {
			require.True(t, got != got && math.IsNaN(float64(half.ToFloat16(got).Float32())), "%#x", i)
			continue
		}
		require.Equal(t, math.Float64bits(want), math.Float64bits(float64(got)), "%#x", i)
		require.Equal(t, h, half.ToFloat16(got))
	}
}

// Between each number and the next are a middle, which goes to the even one, and two sides.
func TestFloat16Rounds(t *testing.T) {
	for i := range uint16(0x7c00) {
		low, high := half.Float16{Bits: i}, half.Float16{Bits: i + 1}
		next := float64(high.Float32())
		if i == 0x7bff {
			next = 65536 // what would follow if there were no infinity
		}
		rounds(t, float32((float64(low.Float32())+next)/2), low.Bits, high.Bits, func(x float32) uint16 { return half.ToFloat16(x).Bits })
	}
	require.Equal(t, half.Float16{Bits: 0x7c00}, half.ToFloat16(math.MaxFloat32))
	require.Equal(t, half.Float16{Bits: 0x8000}, half.ToFloat16(-math.SmallestNonzeroFloat32))
}

func rounds(t *testing.T, middle float32, low, high uint16, to func(float32) uint16) {
	t.Helper()
	even := low
	if low&1 == 1 {
		even = high
	}
	for _, sign := range []uint16{0, 0x8000} {
		x := float32(math.Copysign(float64(middle), 1-2*float64(sign>>15)))
		require.Equal(t, even|sign, to(x), "%v", x)
		require.Equal(t, low|sign, to(math.Nextafter32(x, 0)), "below %v", x)
		require.Equal(t, high|sign, to(math.Nextafter32(x, float32(math.Inf(int(1-2*int(sign>>15)))))), "above %v", x)
	}
}

func TestEveryBFloat16(t *testing.T) {
	for i := range 1 << 16 {
		h := half.BFloat16{Bits: uint16(i)}
		x := h.Float32()
		require.Equal(t, uint32(i)<<16, math.Float32bits(x))
		if x != x {
			require.True(t, math.IsNaN(float64(half.ToBFloat16(x).Float32())))
			continue
		}
		require.Equal(t, h, half.ToBFloat16(x))
	}
	for i := range uint16(0x7f80) {
		rounds(t, math.Float32frombits(uint32(i)<<16|0x8000), i, i+1, func(x float32) uint16 { return half.ToBFloat16(x).Bits })
	}
	require.True(t, math.IsNaN(float64(half.ToBFloat16(math.Float32frombits(0x7f800001)).Float32())))
}
