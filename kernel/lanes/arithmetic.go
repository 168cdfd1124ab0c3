//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package lanes

import "simd"

// MinFloat32s returns the smaller of x and y as Go's min does: a NaN if one of them is a NaN, and -0 is less than +0.
func MinFloat32s(x, y simd.Float32s) simd.Float32s {
	v := x.IfElse(x.Less(y), y)
	v = OrUint32s(AloneUint32s(x.ToBits()), AloneUint32s(y.ToBits())).BitsToFloat32().IfElse(x.Equal(y), v)
	return x.IfElse(x.NotEqual(x), v)
}

// MaxFloat32s returns the larger of x and y as Go's max does: a NaN if one of them is a NaN, and -0 is less than +0.
func MaxFloat32s(x, y simd.Float32s) simd.Float32s {
	v := x.IfElse(x.Greater(y), y)
	v = AndUint32s(AloneUint32s(x.ToBits()), AloneUint32s(y.ToBits())).BitsToFloat32().IfElse(x.Equal(y), v)
	return x.IfElse(x.NotEqual(x), v)
}

// MinFloat64s returns the smaller of x and y as Go's min does: a NaN if one of them is a NaN, and -0 is less than +0.
func MinFloat64s(x, y simd.Float64s) simd.Float64s {
	v := x.IfElse(x.Less(y), y)
	v = OrUint64s(AloneUint64s(x.ToBits()), AloneUint64s(y.ToBits())).BitsToFloat64().IfElse(x.Equal(y), v)
	return x.IfElse(x.NotEqual(x), v)
}

// MaxFloat64s returns the larger of x and y as Go's max does: a NaN if one of them is a NaN, and -0 is less than +0.
func MaxFloat64s(x, y simd.Float64s) simd.Float64s {
	v := x.IfElse(x.Greater(y), y)
	v = AndUint64s(AloneUint64s(x.ToBits()), AloneUint64s(y.ToBits())).BitsToFloat64().IfElse(x.Equal(y), v)
	return x.IfElse(x.NotEqual(x), v)
}

// MinInt64s returns the smaller of x and y.
func MinInt64s(x, y simd.Int64s) simd.Int64s { return x.IfElse(x.Less(y), y) }

// MaxInt64s returns the larger of x and y.
func MaxInt64s(x, y simd.Int64s) simd.Int64s { return x.IfElse(x.Greater(y), y) }

// MinUint64s returns the smaller of x and y.
func MinUint64s(x, y simd.Uint64s) simd.Uint64s { return x.IfElse(x.Less(y), y) }

// MaxUint64s returns the larger of x and y.
func MaxUint64s(x, y simd.Uint64s) simd.Uint64s { return x.IfElse(x.Greater(y), y) }

// Go 1.27.0 to 1.27.4 gets some instructions of 512 bits wrong into which it merges several operations: a shift by a constant with the
// choice of lanes after it, and two operations on bits with a load. So the results of shifts and of operations on bits are numbers that
// were added to zero.

// AloneInt32s returns x, so that the compiler does not merge the operation that made it with the one that uses it.
func AloneInt32s(x simd.Int32s) simd.Int32s { return x.Add(simd.Int32s{}) }

// AndInt32s returns x & y.
func AndInt32s(x, y simd.Int32s) simd.Int32s { return AloneInt32s(x.And(y)) }

// OrInt32s returns x | y.
func OrInt32s(x, y simd.Int32s) simd.Int32s { return AloneInt32s(x.Or(y)) }

// XorInt32s returns x ^ y.
func XorInt32s(x, y simd.Int32s) simd.Int32s { return AloneInt32s(x.Xor(y)) }

// AndNotInt32s returns x &^ y.
func AndNotInt32s(x, y simd.Int32s) simd.Int32s { return AndInt32s(x, NotInt32s(y)) }

// NotInt32s returns ^x.
func NotInt32s(x simd.Int32s) simd.Int32s { return AloneInt32s(x.Not()) }

// AloneUint32s returns x, so that the compiler does not merge the operation that made it with the one that uses it.
func AloneUint32s(x simd.Uint32s) simd.Uint32s { return x.Add(simd.Uint32s{}) }

// AndUint32s returns x & y.
func AndUint32s(x, y simd.Uint32s) simd.Uint32s { return AloneUint32s(x.And(y)) }

// OrUint32s returns x | y.
func OrUint32s(x, y simd.Uint32s) simd.Uint32s { return AloneUint32s(x.Or(y)) }

// XorUint32s returns x ^ y.
func XorUint32s(x, y simd.Uint32s) simd.Uint32s { return AloneUint32s(x.Xor(y)) }

// AndNotUint32s returns x &^ y.
func AndNotUint32s(x, y simd.Uint32s) simd.Uint32s { return AndUint32s(x, NotUint32s(y)) }

// NotUint32s returns ^x.
func NotUint32s(x simd.Uint32s) simd.Uint32s { return AloneUint32s(x.Not()) }

// AloneInt64s returns x, so that the compiler does not merge the operation that made it with the one that uses it.
func AloneInt64s(x simd.Int64s) simd.Int64s { return x.Add(simd.Int64s{}) }

// AndInt64s returns x & y.
func AndInt64s(x, y simd.Int64s) simd.Int64s { return AloneInt64s(x.And(y)) }

// OrInt64s returns x | y.
func OrInt64s(x, y simd.Int64s) simd.Int64s { return AloneInt64s(x.Or(y)) }

// XorInt64s returns x ^ y.
func XorInt64s(x, y simd.Int64s) simd.Int64s { return AloneInt64s(x.Xor(y)) }

// AndNotInt64s returns x &^ y.
func AndNotInt64s(x, y simd.Int64s) simd.Int64s { return AndInt64s(x, NotInt64s(y)) }

// NotInt64s returns ^x.
func NotInt64s(x simd.Int64s) simd.Int64s { return AloneInt64s(x.Not()) }

// AloneUint64s returns x, so that the compiler does not merge the operation that made it with the one that uses it.
func AloneUint64s(x simd.Uint64s) simd.Uint64s { return x.Add(simd.Uint64s{}) }

// AndUint64s returns x & y.
func AndUint64s(x, y simd.Uint64s) simd.Uint64s { return AloneUint64s(x.And(y)) }

// OrUint64s returns x | y.
func OrUint64s(x, y simd.Uint64s) simd.Uint64s { return AloneUint64s(x.Or(y)) }

// XorUint64s returns x ^ y.
func XorUint64s(x, y simd.Uint64s) simd.Uint64s { return AloneUint64s(x.Xor(y)) }

// AndNotUint64s returns x &^ y.
func AndNotUint64s(x, y simd.Uint64s) simd.Uint64s { return AndUint64s(x, NotUint64s(y)) }

// NotUint64s returns ^x.
func NotUint64s(x simd.Uint64s) simd.Uint64s { return AloneUint64s(x.Not()) }

// A shift by a number that is not a constant is a product or goes by the bits of the number, because the methods of Go 1.27's package simd
// take counts of another type than they are declared with, and only a constant fits both.

// ShiftLeftInt32s returns x << n.
func ShiftLeftInt32s(x simd.Int32s, n uint64) simd.Int32s { return x.Mul(simd.BroadcastInt32s(1 << n)) }

// ShiftRightInt32s returns x >> n.
func ShiftRightInt32s(x simd.Int32s, n uint64) simd.Int32s {
	n = min(n, 31)
	if n&1 != 0 {
		x = x.ShiftAllRight(1)
	}
	if n&2 != 0 {
		x = x.ShiftAllRight(2)
	}
	if n&4 != 0 {
		x = x.ShiftAllRight(4)
	}
	if n&8 != 0 {
		x = x.ShiftAllRight(8)
	}
	if n&16 != 0 {
		x = x.ShiftAllRight(16)
	}
	return AloneInt32s(x)
}

// ShiftLeftUint32s returns x << n.
func ShiftLeftUint32s(x simd.Uint32s, n uint64) simd.Uint32s {
	return x.Mul(simd.BroadcastUint32s(1 << n))
}

// ShiftRightUint32s returns x >> n.
func ShiftRightUint32s(x simd.Uint32s, n uint64) simd.Uint32s {
	if n >= 32 {
		return simd.Uint32s{}
	}
	if n&1 != 0 {
		x = x.ShiftAllRight(1)
	}
	if n&2 != 0 {
		x = x.ShiftAllRight(2)
	}
	if n&4 != 0 {
		x = x.ShiftAllRight(4)
	}
	if n&8 != 0 {
		x = x.ShiftAllRight(8)
	}
	if n&16 != 0 {
		x = x.ShiftAllRight(16)
	}
	return AloneUint32s(x)
}

// ShiftLeftInt64s returns x << n.
func ShiftLeftInt64s(x simd.Int64s, n uint64) simd.Int64s {
	return ShiftLeftUint64s(x.ToBits(), n).BitsToInt64()
}

// ShiftLeftUint64s returns x << n.
func ShiftLeftUint64s(x simd.Uint64s, n uint64) simd.Uint64s {
	if n >= 64 {
		return simd.Uint64s{}
	}
	if n&1 != 0 {
		x = x.ShiftAllLeft(1)
	}
	if n&2 != 0 {
		x = x.ShiftAllLeft(2)
	}
	if n&4 != 0 {
		x = x.ShiftAllLeft(4)
	}
	if n&8 != 0 {
		x = x.ShiftAllLeft(8)
	}
	if n&16 != 0 {
		x = x.ShiftAllLeft(16)
	}
	if n&32 != 0 {
		x = x.ShiftAllLeft(32)
	}
	return AloneUint64s(x)
}

// ShiftRightUint64s returns x >> n.
func ShiftRightUint64s(x simd.Uint64s, n uint64) simd.Uint64s {
	if n >= 64 {
		return simd.Uint64s{}
	}
	if n&1 != 0 {
		x = x.ShiftAllRight(1)
	}
	if n&2 != 0 {
		x = x.ShiftAllRight(2)
	}
	if n&4 != 0 {
		x = x.ShiftAllRight(4)
	}
	if n&8 != 0 {
		x = x.ShiftAllRight(8)
	}
	if n&16 != 0 {
		x = x.ShiftAllRight(16)
	}
	if n&32 != 0 {
		x = x.ShiftAllRight(32)
	}
	return AloneUint64s(x)
}

// ShiftRightInt64s returns x >> n. Package simd shifts 64 bits without sign only, so negative numbers are shifted as their complement.
func ShiftRightInt64s(x simd.Int64s, n uint64) simd.Int64s {
	sign := x.Less(simd.Int64s{}).ToInt64s()
	return XorInt64s(ShiftRightUint64s(XorInt64s(x, sign).ToBits(), min(n, 63)).BitsToInt64(), sign)
}

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

// Int64sOfFloat64s returns int64(x).
func Int64sOfFloat64s(x simd.Float64s) simd.Int64s {
	var from [most / 2]float64
	var to [most / 2]int64
	x.Store(from[:])
	convert[int64](to[:], from[:x.Len()])
	return simd.LoadInt64s(to[:])
}

// Uint64sOfFloat64s returns uint64(x).
func Uint64sOfFloat64s(x simd.Float64s) simd.Uint64s {
	var from [most / 2]float64
	var to [most / 2]uint64
	x.Store(from[:])
	convert[uint64](to[:], from[:x.Len()])
	return simd.LoadUint64s(to[:])
}

// Float64sOfInt64s returns float64(x).
func Float64sOfInt64s(x simd.Int64s) simd.Float64s {
	var from [most / 2]int64
	var to [most / 2]float64
	x.Store(from[:])
	convert[float64](to[:], from[:x.Len()])
	return simd.LoadFloat64s(to[:])
}

// Float64sOfUint64s returns float64(x).
func Float64sOfUint64s(x simd.Uint64s) simd.Float64s {
	var from [most / 2]uint64
	var to [most / 2]float64
	x.Store(from[:])
	convert[float64](to[:], from[:x.Len()])
	return simd.LoadFloat64s(to[:])
}
