package vulkan

import "math"

// This file computes quotients and roots of float32 on devices that do not round them correctly. The driver computes an estimate,
// which may be off by 30 units in the last place. If the driver has a fused product and sum and the numbers are not extreme, the estimate
// is corrected by its remainder, which the fused operation computes exactly. Otherwise integer arithmetic corrects it.

// fma32 is the driver's operation, which may round the product.
func fma32(x, y, z float32) float32 { return float32(math.FMA(float64(x), float64(y), float64(z))) }

// fuses reports whether fma32 rounds once.
func fuses() bool { return fma32(1.000244140625, 1.000244140625, -1.00048828125) > 0 }

// FMA32 is grid.FMA for float32.
func FMA32(x, y, z float32) float32 {
	if fuses() {
		return fma32(x, y, z)
	}
	return slowFMA32(x, y, z)
}

// slowFMA32 is FMA32 where the driver's operation rounds more than once. The product and z are integers of 64 bits whose highest set bit is
// bit 61. If a shift loses bits that are not 0, the lowest bit is set.
func slowFMA32(x, y, z float32) float32 {
	a, b, c := math.Float32bits(x)&0x7fffffff, math.Float32bits(y)&0x7fffffff, math.Float32bits(z)&0x7fffffff
	if a-1 >= 0x7f7fffff || b-1 >= 0x7f7fffff { // 0, Inf or NaN
		return float32(x*y) + z
	}
	if c == 0 {
		return x * y
	}
	if c >= 0x7f800000 {
		return z
	}
	u, v, w := wide(a), wide(b), wide(c)
	p, q := uint64(u&0x7fffff|0x800000)*uint64(v&0x7fffff|0x800000)<<14, uint64(w&0x7fffff|0x800000)<<38
	e, f := int64(u>>23)+int64(v>>23)-164, int64(w>>23)-38
	if p>>61 == 0 {
		p <<= 1
		e--
	}
	sign, other := uint64((math.Float32bits(x)^math.Float32bits(y))>>31), uint64(math.Float32bits(z)>>31)
	if f > e || f == e && q > p {
		p, q, e, f, sign, other = q, p, f, e, other, sign
	}
	q = lowered(q, e-f)
	if sign == other {
		p += q
	} else {
		p -= q
	}
	if p == 0 {
		return 0
	}
	up := zeros(p)
	p <<= uint64(up) & 63
	e += 40 - up // of the highest 24 bits
	if e < 1 {
		p = lowered(p, 1-e)
		e = 1
	}
	lost := p & 0xffffffffff
	p = uint64(e-1)<<23 + p>>40
	if lost > 0x8000000000 || lost == 0x8000000000 && p&1 != 0 {
		p++
	}
	return math.Float32frombits(uint32(sign<<31 | min(p, 0x7f800000)))
}

// lowered returns x shifted right by n. If that loses bits that are not 0, the lowest bit is set.
func lowered(x uint64, n int64) uint64 {
	if n <= 0 {
		return x
	}
	y := uint64(0)
	if n < 64 {
		y = x >> (uint64(n) & 63)
		x <<= uint64(64-n) & 63
	}
	if x != 0 {
		y |= 1
	}
	return y
}

// wide returns the bits of a positive float32, given its bits x. For a subnormal number it returns the bits of a normalized number, whose exponent is below
// those of float32.
func wide(x uint32) int32 {
	if x < 0x800000 {
		x = math.Float32bits(float32(int32(x))) - 0x4a800000
	}
	return int32(x)
}

// Quotient32 returns x / y.
func Quotient32(x, y float32) float32 {
	a, b := math.Float32bits(x)&0x7fffffff, math.Float32bits(y)&0x7fffffff
	sign := (math.Float32bits(x) ^ math.Float32bits(y)) & 0x80000000
	e := int32(a>>23) - int32(b>>23) + 127
	// If neither 1/y nor the quotient is near overflow or underflow, z comes within one unit in the last place of the quotient, and what
	// then remains of x is exact. It is more than y times half a unit if z is one unit too small or too large. No quotient lies halfway
	// between two numbers.
	if a-0x18800000 < 0x67000000 && b-0x800000 < 0x7e000000 && uint32(e-27) < 227 && fuses() {
		u, v := math.Float32frombits(a), math.Float32frombits(b)
		by := 1 / v
		z := u * by
		z = fma32(fma32(-z, v, u), by, z)
		rest, half := fma32(-z, v, u), v*math.Float32frombits(math.Float32bits(z)&0x7f800000-24<<23)
		c := math.Float32bits(z)
		if rest > half {
			c++
		} else if rest < -half {
			c--
		}
		return math.Float32frombits(sign | c)
	}
	if a-1 >= 0x7f7fffff || b-1 >= 0x7f7fffff { // 0, Inf or NaN
		special := sign | 0x7f800000
		if a > 0x7f800000 || b > 0x7f800000 || a == b {
			special = 0x7fc00000
		} else if a < b {
			special = sign
		}
		return math.Float32frombits(special)
	}
	m, n := wide(a), wide(b)
	p, q := uint32(m)&0x7fffff|0x800000, uint32(n)&0x7fffff|0x800000
	e = m>>23 - n>>23 + 127
	if p < q {
		p <<= 1
		e--
	}
	// p * 2**23 = z * q + r. The lowest 32 bits of the products are enough to compute r, because r is small.
	by := 1 / float32(int32(q))
	z := uint32(int32(float32(int32(p)) * by * 8388608))
	r := int32(p<<23 - z*q)
	step := int32(float32(math.RoundToEven(float64(float32(r) * by))))
	r -= step * int32(q)
	z += uint32(step)
	if r < 0 {
		r += int32(q)
		z--
	}
	// Two more bits of z say whether the remainder is at least half of a unit, and whether it is other than 0. A subnormal result keeps fewer bits.
	z <<= 2
	if 2*r >= int32(q) {
		z |= 2
	}
	if r != 0 {
		z |= 1
	}
	cut := uint32(2)
	if e < -24 {
		cut = 27
	} else if e < 1 {
		cut = uint32(3 - e)
	}
	z = (z + 1<<((cut-1)&31) - 1 + z>>(cut&31)&1) >> (cut & 31)
	if e >= 1 {
		z += uint32(e-1) << 23
	}
	return math.Float32frombits(sign | min(z, 0x7f800000))
}

// Root32 returns the square root of x.
func Root32(x float32) float32 {
	a := math.Float32bits(x)
	// A root is corrected as a quotient is. If z is a power of 2, the root may be below it, where a unit in the last place is half as
	// large: so the unit comes from the exponent of x.
	if a-0x18800000 < 0x67000000 && fuses() {
		z := float32(math.Sqrt(float64(x)))
		z = fma32(fma32(-z, z, x), 1/(z+z), z)
		rest, unit := fma32(-z, z, x), z*math.Float32frombits(((a>>23+127)>>1-23)<<23)
		c := math.Float32bits(z)
		if rest > unit {
			c++
		} else if rest <= -unit {
			c--
		}
		return math.Float32frombits(c)
	}
	if a-1 >= 0x7f7fffff { // 0, Inf, NaN or negative
		if a<<1 != 0 && a != 0x7f800000 {
			a = 0x7fc00000
		}
		return math.Float32frombits(a)
	}
	m := wide(a)
	e := m >> 23
	p := (uint32(m)&0x7fffff | 0x800000) << (uint32(^e) & 1)
	// p * 2**23 = z * z + r.
	z := int32(float32(math.Sqrt(float64(float32(int32(p)) * 8388608))))
	r := int32(p<<23 - uint32(z)*uint32(z))
	step := int32(float32(math.RoundToEven(float64(float32(r) / float32(2*z)))))
	r -= step * (2*z + step)
	z += step
	if r > z {
		z++
	} else if r <= -z {
		z--
	}
	return math.Float32frombits(uint32((e+127)>>1-1)<<23 + uint32(z))
}
