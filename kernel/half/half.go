// Package half has the floating-point numbers of 16 bits: Float16 is IEEE 754's binary16, and BFloat16 the upper half of a float32. Both
// are for memory: elements of buffers, and fields of them. Compute in float32:
//
//	//halyard:kernel
//	func scale(t grid.Thread, by float32, x []half.Float16) {
//		if i := t.Global(0); i < len(x) {
//			x[i] = half.ToFloat16(by * x[i].Float32())
//		}
//	}
//
// The functions work in kernels on every device, also on those that have no such numbers themselves, and give the same bits everywhere,
// apart from those of NaN. The types are no [github.com/go-halyard/halyard/buffer.Number], so that no reduction takes their bits for
// integers. Files in NumPy's format (packages buffer/array and buffer/encode) have Float16 as float16. For other libraries, reinterpret a buffer of them as one of
// uint16.
package half

import "math"

// Float16 is a number with 11 significant bits, of magnitude up to 65504. The zero value is 0.
type Float16 struct {
	Bits uint16 // sign, 5 bits of exponent, 10 of fraction
}

// BFloat16 is a number with 8 significant bits and the range of a float32. The zero value is 0.
type BFloat16 struct {
	Bits uint16 // sign, 8 bits of exponent, 7 of fraction
}

// Float32 returns the same number.
func (h Float16) Float32() float32 {
	sign, exponent, fraction := uint32(h.Bits&0x8000)<<16, uint32(h.Bits>>10&0x1f), uint32(h.Bits&0x3ff)
	switch exponent {
	case 0x1f: // an infinity or NaN
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	case 0: // the fraction counts in steps of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)/(1<<24)))
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// ToFloat16 returns the nearest number, of two that are equally near the one with an even fraction. From 65520 on that is an infinity.
func ToFloat16(x float32) Float16 {
	bits := math.Float32bits(x)
	sign := uint16(bits >> 16 & 0x8000)
	bits &= 0x7fffffff
	switch {
	case bits > 0x7f800000: // NaN stays one
		return Float16{sign | 0x7e00 | uint16(bits>>13&0x3ff)}
	case bits >= 0x47800000: // at least 65536
		return Float16{sign | 0x7c00}
	case bits >= 0x38800000: // at least the smallest normal number; a carry goes into the exponent
		return Float16{sign | uint16((bits+0xfff+bits>>13&1-112<<23)>>13)}
	case bits < 0x33000000: // less than half the smallest number
		return Float16{sign}
	}
	fraction, shift := bits&0x7fffff|0x800000, 126-bits>>23
	rest, middle := fraction&(1<<shift-1), uint32(1)<<(shift-1)
	fraction >>= shift
	if rest > middle || rest == middle && fraction&1 == 1 {
		fraction++
	}
	return Float16{sign | uint16(fraction)}
}

// Float32 returns the same number.
func (h BFloat16) Float32() float32 { return math.Float32frombits(uint32(h.Bits) << 16) }

// ToBFloat16 returns the nearest number, of two that are equally near the one with an even fraction.
func ToBFloat16(x float32) BFloat16 {
	bits := math.Float32bits(x)
	if bits&0x7fffffff > 0x7f800000 { // NaN stays one
		return BFloat16{uint16(bits>>16) | 0x40}
	}
	return BFloat16{uint16((bits + 0x7fff + bits>>16&1) >> 16)}
}
