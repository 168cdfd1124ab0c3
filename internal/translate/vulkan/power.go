package vulkan

import "math"

// expOf returns exp(x + low), by the series of exp around the multiple of log(2) that is nearest to x.
func expOf(x, low float64) float64 {
	if x != x {
		return x
	}
	if x > 709.8 {
		return infinity()
	}
	if x < -745.2 {
		return 0
	}
	k := math.RoundToEven(x * 1.4426950408889634)
	r := ((x - k*0.6931471803691238) - k*1.9082149292705877e-10) + low
	p := 1.0 + (r + r*r*(0.5+r*(0.16666666666666666+r*(0.041666666666666664+r*(0.008333333333333333+r*
		(0.001388888888888889+r*(0.0001984126984126984+r*(2.48015873015873e-05+r*(2.7557319223985893e-06+r*
			(2.755731922398589e-07+r*(2.505210838544172e-08+r*(2.08767569878681e-09+r*(1.6059043836821613e-10+r*
				1.1470745597729725e-11)))))))))))))
	return scaled(p, int64(k))
}

// Exp is math.Exp.
func Exp(x float64) float64 { return expOf(x, 0) }

// Exp2 is math.Exp2.
func Exp2(x float64) float64 {
	if x != x {
		return x
	}
	if x >= 1024 {
		return infinity()
	}
	if x < -1080 {
		return 0
	}
	k := math.RoundToEven(x)
	return scaled(expOf((x-k)*0.6931471805599453, 0), int64(k))
}

// Expm1 is math.Expm1.
func Expm1(x float64) float64 {
	if math.Abs(x) < 0.6 {
		return x + x*x*(0.5+x*(0.16666666666666666+x*(0.041666666666666664+x*(0.008333333333333333+x*
			(0.001388888888888889+x*(0.0001984126984126984+x*(2.48015873015873e-05+x*(2.7557319223985893e-06+x*
				(2.755731922398589e-07+x*(2.505210838544172e-08+x*(2.08767569878681e-09+x*(1.6059043836821613e-10+x*
					(1.1470745597729725e-11+x*(7.647163731819816e-13+x*(4.779477332387385e-14+x*2.8114572543455206e-15)))))))))))))))
	}
	return expOf(x, 0) - 1
}

// split returns a positive number as f * 2**k, and the logarithm of f. The number f is between the square root of 1/2 and the square root of 2.
func split(x float64) (f, k, log float64) {
	e := exponent(x) - 1023
	f = math.Float64frombits(significand(x)<<12>>12 | 0x3ff<<52)
	if f > 1.4142135623730951 {
		f *= 0.5
		e++
	}
	g := f - 1
	s := g / (2 + g)
	z, half := s*s, 0.5*g*g
	log = g - (half - s*(half+z*(0.6666666666666666+z*(0.4+z*(0.2857142857142857+z*(0.2222222222222222+z*
		(0.18181818181818182+z*(0.15384615384615385+z*(0.13333333333333333+z*(0.11764705882352941+z*(0.10526315789473684+z*
			(0.09523809523809523+z*0.08695652173913043))))))))))))
	return f, float64(e), log
}

func logOf(x float64) float64 {
	_, k, log := split(x)
	return k*0.6931471803691238 + (log + k*1.9082149292705877e-10)
}

func hasLog(x float64) bool { return x > 0 && finite(x) }

// noLog returns math.Log(x) for a number x for which hasLog is false: -Inf, NaN or x itself.
func noLog(x float64) float64 {
	if x == 0 {
		return -infinity()
	}
	if !(x > 0) {
		return nan()
	}
	return x
}

// Log is math.Log.
func Log(x float64) float64 {
	if !hasLog(x) {
		return noLog(x)
	}
	return logOf(x)
}

// Log2 is math.Log2.
func Log2(x float64) float64 {
	if !hasLog(x) {
		return noLog(x)
	}
	_, k, log := split(x)
	return k + log*1.4426950408889634
}

// Log10 is math.Log10.
func Log10(x float64) float64 {
	if !hasLog(x) {
		return noLog(x)
	}
	return logOf(x) * 0.4342944819032518
}

// Log1p is math.Log1p.
func Log1p(x float64) float64 {
	u := 1 + x
	if !hasLog(u) {
		return noLog(u)
	}
	if u == 1 {
		return x
	}
	return logOf(u) + (x-(u-1))/u
}

// Sinh is math.Sinh.
func Sinh(x float64) float64 {
	a, r := math.Abs(x), 0.0
	if !(a < 709) {
		w := Exp(0.5 * a)
		r = 0.5 * w * w
	} else {
		e := Expm1(a)
		if a < 1 {
			r = 0.5 * (2*e - e*e/(e+1))
		} else {
			r = 0.5 * (e + e/(e+1))
		}
	}
	return math.Copysign(r, x)
}

// Cosh is math.Cosh.
func Cosh(x float64) float64 {
	a := math.Abs(x)
	if a < 709 {
		e := Exp(a)
		return 0.5*e + 0.5/e
	}
	w := Exp(0.5 * a)
	return 0.5 * w * w
}

// Tanh is math.Tanh.
func Tanh(x float64) float64 {
	a := math.Abs(x)
	e := Expm1(2 * a)
	r := e / (e + 2)
	if a > 22 {
		r = 1
	}
	return math.Copysign(r, x)
}

// Asinh is math.Asinh.
func Asinh(x float64) float64 {
	a := math.Abs(x)
	if a != a {
		return x
	}
	r := 0.0
	if a > 268435456 {
		r = Log(a) + 0.6931471805599453
	} else {
		r = Log1p(a + a*a/(1+math.Sqrt(a*a+1)))
	}
	return math.Copysign(r, x)
}

// Acosh is math.Acosh.
func Acosh(x float64) float64 {
	t := x - 1
	if !(x >= 1) {
		return nan()
	}
	if x > 268435456 {
		return Log(x) + 0.6931471805599453
	}
	return Log1p(t + math.Sqrt(2*t+t*t))
}

// Atanh is math.Atanh.
func Atanh(x float64) float64 {
	a := math.Abs(x)
	if !(a <= 1) {
		return nan()
	}
	r := infinity()
	if a != 1 {
		r = 0.5 * Log1p(2*a/(1-a))
	}
	return math.Copysign(r, x)
}

// Hypot is math.Hypot.
func Hypot(x, y float64) float64 {
	a, b, inf := math.Abs(x), math.Abs(y), infinity()
	if a == inf || b == inf {
		return inf
	}
	if a < b {
		a, b = b, a
	}
	if a != a || b != b {
		return nan()
	}
	if a == 0 {
		return 0
	}
	r := b / a
	return a * math.Sqrt(1+r*r)
}

// Cbrt is math.Cbrt.
func Cbrt(x float64) float64 {
	if x == 0 || !finite(x) {
		return x
	}
	a := math.Abs(x)
	e := exponent(a) - 1023 + 1080
	k := e / 3
	f := scaled(math.Float64frombits(significand(a)<<12>>12|0x3ff<<52), e-3*k)
	t := 0.85 + 0.165*f
	for n := 0; n < 3; n++ {
		t *= (t*t*t + 2*f) / (2*t*t*t + f)
	}
	t -= (t - f/(t*t)) * 0.3333333333333333
	return math.Copysign(scaled(t, k-360), x)
}

// bell returns exp(-a*a).
func bell(a float64) float64 {
	s := a * a
	return expOf(-s, -FMA(a, a, -s))
}

// erfcOf returns erfc(x) for x >= 0.75, by a continued fraction.
func erfcOf(x float64) float64 {
	if x > 27.3 {
		return 0
	}
	r := x
	for n := 30 + int64(500/(x*x)); n > 0; n-- {
		r = x + 0.5*float64(n)/r
	}
	return bell(x) / (r * 1.772453850905516)
}

// Erf is math.Erf.
func Erf(x float64) float64 {
	a := math.Abs(x)
	if a != a {
		return x
	}
	if a > 0.75 {
		return math.Copysign(1-erfcOf(a), x)
	}
	s, term, sum := 2*a*a, 1.0, 0.0
	for n := int64(3); term > sum*1e-18; n += 2 {
		sum += term
		term *= s / float64(n)
	}
	return math.Copysign(a*1.1283791670955126*bell(a)*sum, x)
}

// Erfc is math.Erfc.
func Erfc(x float64) float64 {
	if x != x {
		return x
	}
	if x < 0.75 {
		return 1 - Erf(x)
	}
	return erfcOf(x)
}

// Pow is math.Pow. It multiplies y by the logarithm of x, which it computes as a sum of two numbers.
func Pow(x, y float64) float64 {
	a, inf := math.Abs(x), infinity()
	whole := math.Trunc(y) == y
	odd := whole && math.Abs(y) < 9007199254740992 && math.Trunc(0.5*y) != 0.5*y
	if y == 0 || x == 1 {
		return 1
	}
	if x != x || y != y {
		return nan()
	}
	if !finite(y) {
		if a == 1 {
			return 1
		}
		if (a > 1) == (y > 0) {
			return inf
		}
		return 0
	}
	sign := 1.0
	if odd {
		sign = math.Copysign(1, x)
	}
	if a == 0 || a == inf {
		if (a == 0) == (y > 0) {
			return sign * 0
		}
		return sign * inf
	}
	if x < 0 && !whole {
		return nan()
	}
	f, k, _ := split(a)
	g := f - 1
	d := 2 + g
	s := g / d
	z := s * s
	low := (FMA(-s, d, g) - s*(g-(d-2))) / d
	big, first := k*0.6931471803691238, 2*s
	sum := big + first
	part := sum - big
	rest := ((big - (sum - part)) + (first - part)) + (2*low + (s*z*(0.6666666666666666+z*(0.4+z*
		(0.2857142857142857+z*(0.2222222222222222+z*(0.18181818181818182+z*(0.15384615384615385+z*(0.13333333333333333+z*
			(0.11764705882352941+z*(0.10526315789473684+z*(0.09523809523809523+z*0.08695652173913043)))))))))) + k*
		1.9082149292705877e-10))
	h := sum + rest
	rest -= h - sum
	p := y * h
	if p > 710 {
		return sign * inf
	}
	if p < -746 {
		return sign * 0
	}
	return sign * expOf(p, FMA(y, h, -p)+y*rest)
}
