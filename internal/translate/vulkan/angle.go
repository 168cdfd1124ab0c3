package vulkan

import "math"

// twoOverPi returns word i of the bits of 2/pi. Word 1 has the first 64 bits after the binary point.
func twoOverPi(i int64) (w uint64) {
	switch i {
	case 1:
		w = 0xa2f9836e4e441529
	case 2:
		w = 0xfc2757d1f534ddc0
	case 3:
		w = 0xdb6295993c439041
	case 4:
		w = 0xfe5163abdebbc561
	case 5:
		w = 0xb7246e3a424dd2e0
	case 6:
		w = 0x6492eea09d1921c
	case 7:
		w = 0xfe1deb1cb129a73e
	case 8:
		w = 0xe88235f52ebb4484
	case 9:
		w = 0xe99c7026b45f7e41
	case 10:
		w = 0x3991d639835339f4
	case 11:
		w = 0x9c845f8bbdf9283b
	case 12:
		w = 0x1ff897ffde05980f
	case 13:
		w = 0xef2f118b5a0a6d1f
	case 14:
		w = 0x6d367ecf27cb09b7
	case 15:
		w = 0x4f463f669e5fea2d
	case 16:
		w = 0x7527bac7ebe5f17b
	case 17:
		w = 0x3d0739f78a5292ea
	case 18:
		w = 0x6bfb5fb11f8d5d08
	case 19:
		w = 0x56033046fc7b6bab
	}
	return w
}

// reduced returns an angle between -pi/4 and pi/4, as the sum at + low. The number n is how many right angles x is above that angle, up to multiples of 4.
func reduced(x float64) (at, low float64, n int64) {
	if math.Abs(x) < 1e6 {
		k := math.RoundToEven(x * 0.6366197723675814)
		r, w := x-k*1.5707963267341256, k*6.077100506303966e-11
		t := r - w
		rest := k*2.0222662487959506e-21 - ((r - t) - w)
		at = t - rest
		return at, (t - at) - rest, int64(k)
	}
	m := significand(x)
	from := exponent(x) - 1075 + 62
	i, by := from>>6, uint64(from)&63
	w0, w1, w2, w3 := twoOverPi(i), twoOverPi(i+1), twoOverPi(i+2), twoOverPi(i+3)
	if by > 0 {
		w0 = w0<<(by&63) | w1>>((64-by)&63)
		w1 = w1<<(by&63) | w2>>((64-by)&63)
		w2 = w2<<(by&63) | w3>>((64-by)&63)
	}
	bottom, middle, top := m*w2, m*w1+High(m, w2), m*w0+High(m, w1)
	if middle < m*w1 {
		top++
	}
	n = int64(top >> 62)
	top = top<<2 | middle>>62
	middle = middle<<2 | bottom>>62
	sign := 1.0
	if top>>63 != 0 {
		n++
		sign = -1
		middle = ^middle + 1
		top = ^top
		if middle == 0 {
			top++
		}
	}
	up := uint64(zeros(top | 1))
	if up > 0 {
		top = top<<(up&63) | middle>>((64-up)&63)
		middle <<= up & 63
	}
	h, l := scaled(float64(int64(top>>11)), -53-int64(up)), scaled(float64((top&0x7ff)<<53|middle>>11), -117-int64(up))
	p := h * 1.5707963267948966
	rest := FMA(h, 1.5707963267948966, -p) + (h*6.123233995736766e-17 + l*1.5707963267948966)
	if x < 0 {
		sign, n = -sign, -n
	}
	return sign * p, sign * rest, n
}

func sine(x, low float64) float64 {
	z := x * x
	return x + (x*z*(-0.16666666666666666+z*(0.008333333333333333+z*(-0.0001984126984126984+z*(2.7557319223985893e-06+z*
		(-2.505210838544172e-08+z*(1.6059043836821613e-10+z*(-7.647163731819816e-13+z*(2.8114572543455206e-15+z*
			-8.22063524662433e-18)))))))) + low*(1-0.5*z))
}

func cosine(x, low float64) float64 {
	z := x * x
	half := 0.5 * z
	w := 1 - half
	return w + (((1 - w) - half) + (z*z*(0.041666666666666664+z*(-0.001388888888888889+z*(2.48015873015873e-05+z*
		(-2.755731922398589e-07+z*(2.08767569878681e-09+z*(-1.1470745597729725e-11+z*(4.779477332387385e-14+z*
			(-1.5619206968586225e-16+z*4.110317623312165e-19)))))))) - x*low))
}

// Sin is math.Sin.
func Sin(x float64) float64 {
	if x == 0 {
		return x
	}
	if !finite(x) {
		return nan()
	}
	at, low, n := reduced(x)
	y := 0.0
	if n&1 != 0 {
		y = cosine(at, low)
	} else {
		y = sine(at, low)
	}
	if n&2 != 0 {
		y = -y
	}
	return y
}

// Cos is math.Cos.
func Cos(x float64) float64 {
	if !finite(x) {
		return nan()
	}
	at, low, n := reduced(x)
	y := 0.0
	if n&1 != 0 {
		y = sine(at, low)
	} else {
		y = cosine(at, low)
	}
	if (n+1)&2 != 0 {
		y = -y
	}
	return y
}

// Tan is math.Tan.
func Tan(x float64) float64 {
	if x == 0 {
		return x
	}
	if !finite(x) {
		return nan()
	}
	at, low, n := reduced(x)
	s, c := sine(at, low), cosine(at, low)
	if n&1 != 0 {
		s, c = -c, s
	}
	return s / c
}

// atanOf returns the arc tangent of a number a that is not negative. It uses the series around the multiple of 1/4 that is nearest to a, or to 1/a if a > 1.
func atanOf(a float64) float64 {
	t := a
	if a > 1 {
		t = 1 / a
	}
	q := math.RoundToEven(t * 4)
	c := 0.25 * q
	u := (t - c) / (1 + t*c)
	z, h, l := u*u, 0.0, 0.0
	if q == 1 {
		h, l = 0.24497866312686414, 1.0698755618734451e-17
	}
	if q == 2 {
		h, l = 0.4636476090008061, 2.2698777452961687e-17
	}
	if q == 3 {
		h, l = 0.6435011087932844, 1.5834785051444286e-17
	}
	if q == 4 {
		h, l = 0.7853981633974483, 3.061616997868383e-17
	}
	r := h + (u + (u*z*(-0.3333333333333333+z*(0.2+z*(-0.14285714285714285+z*(0.1111111111111111+z*
		(-0.09090909090909091+z*(0.07692307692307693+z*(-0.06666666666666667+z*(0.058823529411764705+z*
			(-0.05263157894736842+z*0.047619047619047616))))))))) + l))
	if a > 1 {
		r = 1.5707963267948966 - (r - 6.123233995736766e-17)
	}
	return r
}

// Atan is math.Atan.
func Atan(x float64) float64 {
	if x != x {
		return x
	}
	return math.Copysign(atanOf(math.Abs(x)), x)
}

// Atan2 is math.Atan2.
func Atan2(y, x float64) float64 {
	if x != x || y != y {
		return nan()
	}
	a, b, r := math.Abs(y), math.Abs(x), 0.0
	if a == 0 {
		r = 0
	} else if !finite(a) && !finite(b) {
		r = 0.7853981633974483
	} else {
		r = atanOf(a / b)
	}
	if math.Copysign(1, x) < 0 {
		r = 3.141592653589793 - (r - 1.2246467991473532e-16)
	}
	return math.Copysign(r, y)
}

// Asin is math.Asin.
func Asin(x float64) float64 {
	if !(math.Abs(x) <= 1) {
		return nan()
	}
	return Atan2(x, math.Sqrt((1-x)*(1+x)))
}

// Acos is math.Acos.
func Acos(x float64) float64 {
	if !(math.Abs(x) <= 1) {
		return nan()
	}
	return Atan2(math.Sqrt((1-x)*(1+x)), x)
}
