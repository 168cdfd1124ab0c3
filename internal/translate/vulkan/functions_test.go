package vulkan

import (
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/kernel/grid"
)

// ulps returns how far a result is from what it should be, in units in the last place.
func ulps(got, want float64) float64 {
	if got == want || got != got && want != want {
		return 0
	}
	if math.IsInf(want, 0) || math.IsInf(got, 0) || got != got || want != want {
		return math.Inf(1)
	}
	return math.Abs(got-want) / (math.Nextafter(math.Abs(want), math.Inf(1)) - math.Abs(want))
}

// numbers returns numbers of all sizes, or those for which Go's own errors are small, and special ones.
func numbers(sizes bool) []float64 {
	all := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2, 10, math.Pi, math.Inf(1), math.Inf(-1), math.NaN(), 1e-10, 1e22}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		all = append(all, (r.Float64()-0.5)*8, (r.Float64()-0.5)*200)
		if sizes {
			all = append(all, math.Float64frombits(r.Uint64()), math.Float64frombits(r.Uint64()>>12))
		}
	}
	return all
}

// The functions compute what those of Go do, exactly or with a small error. Devices are compared elsewhere.
func TestFunctionsAreThoseOfGo(t *testing.T) {
	t.Parallel()
	all := numbers(false)
	for name, f := range map[string]struct {
		got, want func(float64) float64
		most      float64
	}{
		"Round": {Round, math.Round, 0}, "Trunc": {Trunc, math.Trunc, 0}, "Floor": {Floor, math.Floor, 0}, "Ceil": {Ceil, math.Ceil, 0}, "RoundToEven": {RoundToEven, math.RoundToEven, 0}, "Exp": {Exp, math.Exp, 4}, "Exp2": {Exp2, math.Exp2, 4}, "Expm1": {Expm1, math.Expm1, 6}, "Log": {Log, math.Log, 4},
		"Log2": {Log2, math.Log2, 64}, "Log10": {Log10, math.Log10, 4}, "Log1p": {Log1p, math.Log1p, 6}, "Sin": {Sin, math.Sin, 8}, "Cos": {Cos, math.Cos, 8},
		"Tan": {Tan, math.Tan, 10}, "Asin": {Asin, math.Asin, 64}, "Acos": {Acos, math.Acos, 64}, "Atan": {Atan, math.Atan, 4}, "Sinh": {Sinh, math.Sinh, 8},
		"Cosh": {Cosh, math.Cosh, 8}, "Tanh": {Tanh, math.Tanh, 8}, "Asinh": {Asinh, math.Asinh, 8}, "Acosh": {Acosh, math.Acosh, 8},
		"Atanh": {Atanh, math.Atanh, 8}, "Cbrt": {Cbrt, math.Cbrt, 4}, "Erf": {Erf, math.Erf, 8}, "Erfc": {Erfc, math.Erfc, 16},
	} {
		for _, x := range all {
			if u := ulps(f.got(x), f.want(x)); u > f.most {
				t.Errorf("%s(%v) = %v, and in Go %v: %v units in the last place", name, x, f.got(x), f.want(x), u)
				break
			}
		}
	}
	for name, f := range map[string]struct {
		got, want func(x, y float64) float64
		most      float64
	}{
		"Mod": {Mod, math.Mod, 0}, "Remainder": {Remainder, math.Remainder, 0}, "Hypot": {Hypot, math.Hypot, 4}, "Atan2": {Atan2, math.Atan2, 6},
		"Pow":      {Pow, math.Pow, 1000},
		"FMA":      {func(x, y float64) float64 { return FMA(x, y, -x*y) }, func(x, y float64) float64 { return math.FMA(x, y, -x*y) }, 0},
		"FMA of 3": {func(x, y float64) float64 { return FMA(x, y, x) }, func(x, y float64) float64 { return math.FMA(x, y, x) }, 0},
	} {
		all := numbers(f.most == 0)
		for i, x := range all {
			y := all[(i*7+3)%len(all)]
			if u := ulps(f.got(x, y), f.want(x, y)); u > f.most {
				t.Errorf("%s(%v, %v) = %v, and in Go %v: %v units in the last place", name, x, y, f.got(x, y), f.want(x, y), u)
				break
			}
		}
	}
}

func TestBitsAreThoseOfGo(t *testing.T) {
	t.Parallel()
	for _, f := range numbers(true) {
		x, y := math.Float64bits(f), math.Float64bits(f)*0x9e3779b97f4a7c15
		high, _ := bits.Mul64(x, y)
		assert.Equal(t, high, High(x, y))
		assert.Equal(t, bits.Len64(x), Len(x))
		assert.Equal(t, bits.OnesCount64(x), OnesCount(x))
		assert.Equal(t, bits.TrailingZeros64(x), TrailingZeros(x, 64))
		assert.Equal(t, bits.Reverse64(x), Reverse(x, 64))
		assert.Equal(t, bits.ReverseBytes64(x), ReverseBytes(x, 64))
		assert.Equal(t, bits.Reverse16(uint16(x)), uint16(Reverse(uint64(uint16(x)), 16)))
	}
}

// Quotients and roots of float32 have Go's bits where the driver's product and sum is fused, for numbers of all exponents, for all roots of two binades, and for
// quotients as close to halfway between two numbers as there are.
func TestQuotientsAndRootsOfOneFMA(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	quotient := func(x, y float32) {
		if got, want := Quotient32(x, y), x/y; math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
			require.Equal(t, want, got, "%g / %g", x, y)
		}
	}
	root := func(x float32) {
		if got, want := Root32(x), float32(math.Sqrt(float64(x))); math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
			require.Equal(t, want, got, "the root of %g", x)
		}
	}
	for e := range uint32(512) { // with the sign
		for f := range uint32(512) {
			for range 16 {
				quotient(math.Float32frombits(e<<23|r.Uint32()&(1<<23-1)), math.Float32frombits(f<<23|r.Uint32()&(1<<23-1)))
			}
		}
		for m := uint32(0); m < 1<<23; m += 1 + r.Uint32N(1<<12) {
			root(math.Float32frombits(e<<23 | m))
		}
	}
	for m := range uint32(1 << 24) {
		root(math.Float32frombits(0x3f000000 + m))
	}
	nearHalf(1<<20, quotient)
}

// nearHalf calls fn with the operands of quotients that are as close to halfway between two numbers as there are, first for the largest significands of y, then
// for n random ones.
func nearHalf(n uint64, fn func(x, y float32)) {
	r := rand.New(rand.NewPCG(11, 12))
	for i := range uint64(1<<16) + n {
		y := 1<<24 - 1 - 2*i // odd
		if i >= 1<<16 {
			y = 1<<23 + r.Uint64N(1<<22)*2 + 1
		}
		inverse := y
		for range 5 {
			inverse *= 2 - y*inverse
		}
		for c := range int64(8) { // in half units in the last place, x/y is (c-3)/y away from the integer m
			m := inverse * uint64(c-3) % (1 << 25)
			if x := (m*y - uint64(c-3)) >> 25; x>>23 == 1 {
				fn(float32(x), float32(y))
			}
		}
	}
}

// Integers compute what grid.FMA does on the host, which is the exact sum, rounded once.
func TestFusedProductsAndSums(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	special := []uint32{0, 1 << 31, 1, 0x7fffff, 0x800000, 0x3f800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x33800000, 0x80000001}
	number := func(i int) float32 {
		switch b := r.Uint32(); i % 4 {
		case 0:
			return math.Float32frombits(special[b%uint32(len(special))])
		case 1:
			return math.Float32frombits(b&0x81ffffff | 0x3e000000) // near 1
		case 2:
			return math.Float32frombits(b & 0xfff00000) // few bits, so that sums lie halfway
		default:
			return math.Float32frombits(b)
		}
	}
	for i := range 400_000 {
		x, y := number(r.IntN(4)), number(r.IntN(4))
		z := number(r.IntN(4))
		if i%3 == 0 { // near the product
			z = math.Float32frombits(math.Float32bits(-x*y) + uint32(r.IntN(5)) - 2)
		}
		want := float32(math.NaN())
		product, sum := float64(x)*float64(y), float64(x)*float64(y)+float64(z)
		if sum-sum == 0 {
			exact := new(big.Float).SetPrec(700).Add(new(big.Float).SetFloat64(product), new(big.Float).SetFloat64(float64(z)))
			if want, _ = exact.Float32(); want == 0 && exact.Sign() == 0 {
				want = float32(sum)
			}
		} else if sum == sum {
			want = float32(sum)
		}
		for how, got := range map[string]float32{"grid.FMA": grid.FMA(x, y, z), "slowFMA32": slowFMA32(x, y, z)} {
			if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
				require.Failf(t, how, "%v*%v + %v is %v, not %v", x, y, z, got, want)
			}
		}
	}
}
