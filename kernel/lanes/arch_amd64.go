//go:build go1.27 && goexperiment.simd && amd64

package lanes

import (
	"simd"
	"simd/archsimd"
	"unsafe"
)

// Package simd has no operation for these and for those of amd64_gen.go, and archsimd has an instruction. The compiler chooses the case of
// each switch when it compiles a function for a width, so that the switch costs nothing.

// ClearUpper clears the upper halves of the vector registers. While they are set, scalar code on floats is slower, on some processors by far.
func ClearUpper() { archsimd.ClearAVXUpperBits() }

// hasFMA reports whether a vector's MulAdd is an instruction of the processor.
func hasFMA() bool { return archsimd.X86.FMA() }

// FMAFloat32s returns x*y + z, rounded once, as grid.FMA does.
func FMAFloat32s(x, y, z simd.Float32s) simd.Float32s { return x.MulAdd(y, z) }

// FMAFloat64s returns x*y + z, rounded once, as math.FMA does.
func FMAFloat64s(x, y, z simd.Float64s) simd.Float64s { return x.MulAdd(y, z) }

// LoadUint8 returns the first elements of s, widened to 32 bits.
func LoadUint8(s []uint8) simd.Uint32s {
	var v simd.Uint32s
	if _, ok := v.ToArch().(archsimd.Uint32x8); ok && len(s) >= 8 {
		return simd.Uint32sFromArch(eight(unsafe.Pointer(&s[0])).ExtendLo8ToUint32())
	}
	return slowLoadUint8(s)
}

// LoadInt8 returns the first elements of s, widened to 32 bits.
func LoadInt8(s []int8) simd.Int32s {
	var v simd.Int32s
	if _, ok := v.ToArch().(archsimd.Int32x8); ok && len(s) >= 8 {
		return simd.Int32sFromArch(eight(unsafe.Pointer(&s[0])).BitsToInt8().ExtendLo8ToInt32())
	}
	return slowLoadInt8(s)
}

func eight(p unsafe.Pointer) archsimd.Uint8x16 {
	var v archsimd.Uint64x2
	return v.SetElem(0, *(*uint64)(p)).ReshapeToUint8s()
}

// Wrap64Float32 returns float64(float32(v)). If v is a sum, a difference, a product, a quotient or a root of such numbers, this is what it
// is in float32: a float64 has so many bits that rounding it again makes no difference.
func Wrap64Float32(v simd.Float64s) simd.Float64s {
	if v, ok := v.ToArch().(archsimd.Float64x4); ok {
		return simd.Float64sFromArch(v.ConvertToFloat32().ConvertToFloat64())
	}
	return slowWrap64Float32(v)
}

// FourUint32s returns [GatherUint32s] at four places, one after the other.
func FourUint32s(s []uint32, at, step int) (a, b, c, d simd.Uint32s) {
	if _, ok := a.ToArch().(archsimd.Uint32x8); !ok || !Covers(at, step, a.Len(), len(s)-3) {
		return slowFourUint32s(s, at, step)
	}
	// Each has the elements of a lane, and of the lane that is four behind.
	e, f, g, h := pair(s, at, step), pair(s, at+step, step), pair(s, at+2*step, step), pair(s, at+3*step, step)
	p, q := e.InterleaveLoGrouped(f).ReshapeToUint64s(), g.InterleaveLoGrouped(h).ReshapeToUint64s()
	r, t := e.InterleaveHiGrouped(f).ReshapeToUint64s(), g.InterleaveHiGrouped(h).ReshapeToUint64s()
	a, b = simd.Uint32sFromArch(p.InterleaveLoGrouped(q).ReshapeToUint32s()), simd.Uint32sFromArch(p.InterleaveHiGrouped(q).ReshapeToUint32s())
	c, d = simd.Uint32sFromArch(r.InterleaveLoGrouped(t).ReshapeToUint32s()), simd.Uint32sFromArch(r.InterleaveHiGrouped(t).ReshapeToUint32s())
	return a, b, c, d
}

// pair returns four elements from at on, and four that are four steps behind.
func pair(s []uint32, at, step int) archsimd.Uint32x8 {
	var v archsimd.Uint32x8
	return v.SetLo(archsimd.LoadUint32x4(s[at:])).SetHi(archsimd.LoadUint32x4(s[at+4*step:]))
}

// GatherUint32s returns the elements of s at, at+step and so on.
func GatherUint32s(s []uint32, at, step int) simd.Uint32s {
	var v simd.Uint32s
	if v, ok := v.ToArch().(archsimd.Uint32x8); ok && Covers(at, step, 8, len(s)) {
		return simd.Uint32sFromArch(v.SetLo(four(s, at, step)).SetHi(four(s, at+4*step, step)))
	}
	return slowGatherUint32s(s, at, step)
}

func four(s []uint32, at, step int) (v archsimd.Uint32x4) {
	return v.SetElem(0, s[at]).SetElem(1, s[at+step]).SetElem(2, s[at+2*step]).SetElem(3, s[at+3*step])
}

// GatherUint64s returns the elements of s at, at+step and so on.
func GatherUint64s(s []uint64, at, step int) simd.Uint64s {
	var v simd.Uint64s
	if v, ok := v.ToArch().(archsimd.Uint64x4); ok && Covers(at, step, 4, len(s)) {
		return simd.Uint64sFromArch(v.SetLo(two(s, at, step)).SetHi(two(s, at+2*step, step)))
	}
	return slowGatherUint64s(s, at, step)
}

func two(s []uint64, at, step int) (v archsimd.Uint64x2) {
	return v.SetElem(0, s[at]).SetElem(1, s[at+step])
}
