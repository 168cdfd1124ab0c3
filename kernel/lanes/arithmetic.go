//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package lanes

import "simd"

// Int32sOfFloat32s returns int32(x). What that is for a number out of range depends on the processor and on the compiler, so Go converts
// such vectors.
func Int32sOfFloat32s(x simd.Float32s) simd.Int32s {
	if !Any32(Not32(x.Abs().Less(simd.BroadcastFloat32s(1 << 31)))) {
		return x.ConvertToInt32()
	}
	return slowInt32sOfFloat32s(x)
}

// Uint32sOfFloat32s returns uint32(x).
func Uint32sOfFloat32s(x simd.Float32s) simd.Uint32s {
	if !Any32(Not32(x.GreaterEqual(simd.Float32s{}).And(x.Less(simd.BroadcastFloat32s(1 << 31))))) {
		return x.ConvertToInt32().ToBits()
	}
	return slowUint32sOfFloat32s(x)
}

// Float32sOfUint32s returns float32(x).
func Float32sOfUint32s(x simd.Uint32s) simd.Float32s {
	if !Any32(x.BitsToInt32().Less(simd.Int32s{})) {
		return x.BitsToInt32().ConvertToFloat32()
	}
	return slowFloat32sOfUint32s(x)
}
