//go:build go1.27 && goexperiment.simd && (arm64 || wasm)

package lanes

import (
	"math"
	"runtime"
	"simd"

	"github.com/go-halyard/halyard/kernel/grid"
)

// ClearUpper does nothing: only processors of AMD64 need it.
func ClearUpper() {}

// hasFMA reports whether a vector's MulAdd is an instruction of the processor, or is not used.
func hasFMA() bool { return true }

// FMAFloat32s returns x*y + z, rounded once, as grid.FMA does. WebAssembly's vectors may round twice.
func FMAFloat32s(x, y, z simd.Float32s) simd.Float32s {
	if runtime.GOARCH != "wasm" {
		return x.MulAdd(y, z)
	}
	var a, b, c [most]float32
	x.Store(a[:])
	y.Store(b[:])
	z.Store(c[:])
	for i := range c {
		c[i] = grid.FMA(a[i], b[i], c[i])
	}
	return simd.LoadFloat32s(c[:])
}

// FMAFloat64s returns x*y + z, rounded once, as math.FMA does.
func FMAFloat64s(x, y, z simd.Float64s) simd.Float64s {
	if runtime.GOARCH != "wasm" {
		return x.MulAdd(y, z)
	}
	var a, b, c [most / 2]float64
	x.Store(a[:])
	y.Store(b[:])
	z.Store(c[:])
	for i := range c {
		c[i] = math.FMA(a[i], b[i], c[i])
	}
	return simd.LoadFloat64s(c[:])
}

// Wrap64Float32 returns float64(float32(v)). If v is a sum, a difference, a product, a quotient or a root of such numbers, this is what it
// is in float32: a float64 has so many bits that rounding it again makes no difference.
func Wrap64Float32(v simd.Float64s) simd.Float64s { return slowWrap64Float32(v) }

// FourUint32s returns [GatherUint32s] at four places, one after the other.
func FourUint32s(s []uint32, at, step int) (a, b, c, d simd.Uint32s) {
	return slowFourUint32s(s, at, step)
}

// ExpFloat32s returns float32(math.Exp(float64(x))) for the number x of each lane.
func ExpFloat32s(x simd.Float32s) simd.Float32s { return EachFloat32s(math.Exp, x) }

// ExpFloat64s returns math.Exp(x) for the number x of each lane.
func ExpFloat64s(x simd.Float64s) simd.Float64s { return EachFloat64s(math.Exp, x) }
