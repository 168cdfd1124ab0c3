//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package lanes

import "simd"

// Int32sOfFloat32s returns int32(x). What that is for a number out of range depends on the processor and on the compiler, so Go converts
// such vectors.
func Int32sOfFloat32s(x simd.Float32s) simd.Int32s {
	if !Any32(Not32(x.Abs().Less(simd.BroadcastFloat32s(1 << 31)))) {
		return x.ConvertToInt32()
	}
	var from [most]float32
	var to [most]int32
	x.Store(from[:])
	convert[int32](to[:], from[:x.Len()])
	return simd.LoadInt32s(to[:])
}

// Uint32sOfFloat32s returns uint32(x).
func Uint32sOfFloat32s(x simd.Float32s) simd.Uint32s {
	if !Any32(Not32(x.GreaterEqual(simd.Float32s{}).And(x.Less(simd.BroadcastFloat32s(1 << 31))))) {
		return x.ConvertToInt32().ToBits()
	}
	var from [most]float32
	var to [most]uint32
	x.Store(from[:])
	convert[uint32](to[:], from[:x.Len()])
	return simd.LoadUint32s(to[:])
}

// Float32sOfUint32s returns float32(x).
func Float32sOfUint32s(x simd.Uint32s) simd.Float32s {
	if !Any32(x.BitsToInt32().Less(simd.Int32s{})) {
		return x.BitsToInt32().ConvertToFloat32()
	}
	var from [most]uint32
	var to [most]float32
	x.Store(from[:])
	convert[float32](to[:], from[:x.Len()])
	return simd.LoadFloat32s(to[:])
}
