//go:build go1.27 && goexperiment.simd && (arm64 || wasm)

package lanes

import "simd"

// ClearUpper does nothing: only processors of AMD64 need it.
func ClearUpper() {}

// Any32 reports whether m has a lane.
func Any32(m simd.Mask32s) bool { return slowAny32(m) }

// Any64 reports whether m has a lane.
func Any64(m simd.Mask64s) bool { return slowAny64(m) }

// StoreUint32s stores v in the first elements of s, for the lanes of m.
func StoreUint32s(v simd.Uint32s, m simd.Mask32s, s []uint32) { ScatterUint32s(v, m, s, 0, 1) }

// StoreUint64s stores v in the first elements of s, for the lanes of m.
func StoreUint64s(v simd.Uint64s, m simd.Mask64s, s []uint64) { ScatterUint64s(v, m, s, 0, 1) }

// LoadUint8 returns the first elements of s, widened to 32 bits.
func LoadUint8(s []uint8) simd.Uint32s { return slowLoadUint8(s) }

// LoadInt8 returns the first elements of s, widened to 32 bits.
func LoadInt8(s []int8) simd.Int32s { return slowLoadInt8(s) }

// Load64Int32 returns the first elements of s, widened to 64 bits.
func Load64Int32(s []int32) simd.Int64s { return slowLoad64Int32(s) }

// Load64Uint32 returns the first elements of s, widened to 64 bits.
func Load64Uint32(s []uint32) simd.Uint64s { return slowLoad64Uint32(s) }

// Load64Float32 returns the first elements of s, widened to 64 bits.
func Load64Float32(s []float32) simd.Float64s { return slowLoad64Float32(s) }

// Wrap64Float32 returns float64(float32(v)). If v is a sum, a difference, a product, a quotient or a root of such numbers, this is what it
// is in float32: a float64 has so many bits that rounding it again makes no difference.
func Wrap64Float32(v simd.Float64s) simd.Float64s { return slowWrap64Float32(v) }

// FourUint32s returns [GatherUint32s] at four places, one after the other.
func FourUint32s(s []uint32, at, step int) (a, b, c, d simd.Uint32s) {
	return slowFourUint32s(s, at, step)
}

// GatherUint32s returns the elements of s at, at+step and so on.
func GatherUint32s(s []uint32, at, step int) simd.Uint32s { return slowGatherUint32s(s, at, step) }

// GatherUint64s returns the elements of s at, at+step and so on.
func GatherUint64s(s []uint64, at, step int) simd.Uint64s { return slowGatherUint64s(s, at, step) }
