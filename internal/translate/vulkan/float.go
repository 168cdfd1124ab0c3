package vulkan

import "math"

func finite(x float64) bool { return x-x == 0 }

func infinity() float64 { return math.Float64frombits(0x7ff0000000000000) }

func nan() float64 { return math.Float64frombits(0x7ff8000000000001) }

// zeros returns the number of leading zero bits of a number that is not 0.
func zeros(x uint64) (n int64) {
	for s := uint64(32); s > 0; s >>= 1 {
		if x>>((64-s)&63) == 0 {
			x <<= s & 63
			n += int64(s)
		}
	}
	return n
}

// exponent returns the biased exponent of a finite number. For a subnormal number, the exponent is below 1.
func exponent(x float64) int64 {
	e := int64(math.Float64bits(x) >> 52 & 0x7ff)
	if e == 0 {
		e = 1 - (zeros(math.Float64bits(x)<<12>>12|1) - 11)
	}
	return e
}

// significand returns the significand of a finite number. The highest bit that is set is bit 52.
func significand(x float64) uint64 {
	m := math.Float64bits(x) << 12 >> 12
	if math.Float64bits(x)>>52&0x7ff != 0 {
		m |= 1 << 52
	} else {
		m <<= uint64(zeros(m|1)-11) & 63
	}
	return m
}

// scaled returns x * 2**k.
func scaled(x float64, k int64) float64 {
	for n := 0; n < 2 && k > 1023; n++ {
		x *= 8.98846567431158e+307
		k -= 1023
	}
	for n := 0; n < 2 && k < -1022; n++ {
		x *= 2.004168360008973e-292
		k += 969
	}
	return x * math.Float64frombits(uint64(min(max(k, -1022), 1023)+1023)<<52)
}

// FMA is math.FMA. The product x*y and z are integers of 128 bits whose highest set bit is bit 125. If a shift loses bits that are not 0, the lowest bit is
// set.
func FMA(x, y, z float64) float64 {
	if x == 0 || y == 0 || !finite(x) || !finite(y) {
		return x*y + z
	}
	if !finite(z) {
		return z
	}
	if z == 0 {
		return x * y
	}
	mx, my := significand(x), significand(y)
	ph, pl, zh, zl := High(mx, my), mx*my, significand(z)<<9, uint64(0)
	sign, zsign := (math.Float64bits(x)^math.Float64bits(y))>>63, math.Float64bits(z)>>63
	up := uint64(zeros(ph) - 2)
	ph = ph<<(up&63) | pl>>((64-up)&63)
	pl <<= up & 63
	pe, ze := exponent(x)+exponent(y)-2150-int64(up), exponent(z)-1148
	if ze > pe || ze == pe && (zh > ph || zh == ph && zl > pl) {
		ph, pl, sign, pe, zh, zl, zsign, ze = zh, zl, zsign, ze, ph, pl, sign, pe
	}
	down, lost := uint64(pe-ze), uint64(0)
	if down >= 128 {
		zh, zl = 0, 1
	} else if down >= 64 {
		if zl != 0 || down > 64 && zh<<((128-down)&63) != 0 {
			lost = 1
		}
		zl = zh>>((down-64)&63) | lost
		zh = 0
	} else if down > 0 {
		if zl<<((64-down)&63) != 0 {
			lost = 1
		}
		zl = zl>>(down&63) | zh<<((64-down)&63) | lost
		zh >>= down & 63
	}
	if sign == zsign {
		low := pl + zl
		if low < pl {
			ph++
		}
		ph += zh
		pl = low
	} else {
		if pl < zl {
			ph--
		}
		ph -= zh
		pl -= zl
	}
	if ph|pl == 0 {
		return 0
	}
	return rounded(sign, pe, ph, pl)
}

// rounded returns the float64 nearest to the number with a sign, an exponent and a significand of 128 bits.
func rounded(sign uint64, e int64, high, low uint64) float64 {
	if high == 0 {
		high, low = low, 0
		e -= 64
	}
	up := uint64(zeros(high))
	if up > 0 {
		high = high<<(up&63) | low>>((64-up)&63)
		low <<= up & 63
	}
	e += 1150 - int64(up)
	high = high>>1 | high&1
	if low != 0 {
		high |= 1
	}
	if e < 1 {
		down := uint64(min(1-e, 63))
		rest := high << ((64 - down) & 63)
		high >>= down & 63
		if rest != 0 {
			high |= 1
		}
		e = 1
	}
	lost := high & 0x3ff
	high >>= 10
	if lost > 0x200 || lost == 0x200 && high&1 != 0 {
		high++
	}
	bits := uint64(e-1)<<52 + high
	if e >= 0x7ff {
		bits = 0x7ff << 52
	}
	return math.Float64frombits(sign<<63 | bits)
}

// Trunc is math.Trunc.
func Trunc(x float64) float64 {
	b := math.Float64bits(x)
	switch e := int(b>>52&0x7ff) - 1023; {
	case e < 0:
		b &= 1 << 63
	case e < 52:
		b &^= 1<<(52-uint(e)) - 1
	}
	return math.Float64frombits(b)
}

// Floor is math.Floor.
func Floor(x float64) float64 {
	t := Trunc(x)
	if t > x {
		t--
	}
	return t
}

// Ceil is math.Ceil.
func Ceil(x float64) float64 {
	t := Trunc(x)
	if t < x {
		t++
	}
	return t
}

// RoundToEven is math.RoundToEven.
func RoundToEven(x float64) float64 {
	t := Trunc(x)
	if rest := math.Abs(x - t); rest > 0.5 || rest == 0.5 && Trunc(t*0.5) != t*0.5 {
		t += math.Copysign(1, x)
	}
	return t
}

// Round is math.Round.
func Round(x float64) float64 {
	t := math.Trunc(x)
	if math.Abs(x-t) >= 0.5 {
		t += math.Copysign(1, x)
	}
	return t
}

// Round32 is math.Round for a float32.
func Round32(x float32) float32 {
	t := float32(math.Trunc(float64(x)))
	if float32(math.Abs(float64(x-t))) >= 0.5 {
		t += float32(math.Copysign(1, float64(x)))
	}
	return t
}

// Mod is math.Mod.
func Mod(x, y float64) float64 {
	size, by := math.Abs(x), math.Abs(y)
	if by == 0 || !finite(x) || y != y {
		return (x * y) / (x * y)
	}
	if size < by || !finite(y) {
		return x
	}
	m, n := significand(size), significand(by)
	e, last := exponent(size), exponent(by)
	for ; e > last; e-- {
		if m >= n {
			m -= n
		}
		m <<= 1
	}
	if m >= n {
		m -= n
	}
	if m == 0 {
		return math.Copysign(0, x)
	}
	up := zeros(m) - 11
	m <<= uint64(up) & 63
	e -= up
	if e > 0 {
		m += uint64(e-1) << 52
	} else {
		m >>= uint64(1-e) & 63
	}
	return math.Copysign(math.Float64frombits(m), x)
}

// Remainder is math.Remainder.
func Remainder(x, y float64) float64 {
	by := math.Abs(y)
	if by == 0 || !finite(x) || y != y {
		return (x * y) / (x * y)
	}
	if !finite(y) {
		return x
	}
	r := math.Abs(x)
	if by <= 8.98846567431158e307 {
		r = math.Abs(Mod(x, by+by))
	}
	if by < 4.450147717014403e-308 {
		if r+r > by {
			r -= by
			if r+r >= by {
				r -= by
			}
		}
	} else if r > 0.5*by {
		r -= by
		if r >= 0.5*by {
			r -= by
		}
	}
	return math.Float64frombits(math.Float64bits(r) ^ math.Float64bits(x)&(1<<63))
}

// ComplexQuotient divides a+bi by c+di, in the same steps as complex128div in Go's package runtime.
func ComplexQuotient(a, b, c, d float64) (re, im float64) {
	if math.Abs(c) >= math.Abs(d) {
		ratio := d / c
		denom := c + ratio*d
		re = (a + b*ratio) / denom
		im = (b - a*ratio) / denom
	} else {
		ratio := c / d
		denom := d + ratio*c
		re = (a*ratio + b) / denom
		im = (b*ratio - a) / denom
	}
	if re != re && im != im {
		inf := infinity()
		if c == 0 && d == 0 && (a == a || b == b) {
			re = math.Copysign(inf, c) * a
			im = math.Copysign(inf, c) * b
		} else if (infinite(a) || infinite(b)) && finite(c) && finite(d) {
			a, b = infToOne(a), infToOne(b)
			re = inf * (a*c + b*d)
			im = inf * (b*c - a*d)
		} else if (infinite(c) || infinite(d)) && finite(a) && finite(b) {
			c, d = infToOne(c), infToOne(d)
			re = 0 * (a*c + b*d)
			im = 0 * (b*c - a*d)
		}
	}
	return re, im
}

func infinite(x float64) bool { return x == x && x-x != 0 }

func infToOne(x float64) float64 {
	one := 0.0
	if infinite(x) {
		one = 1
	}
	return math.Copysign(one, x)
}
