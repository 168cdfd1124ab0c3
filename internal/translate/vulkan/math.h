/* Functions of package math that Vulkan lacks, or has with errors that are too large, in the portable dialect: internal/translate
	adds them to the text
   that it makes SPIR-V from. vk_NAME_64 is for f64, and vk_NAME_32 for f32. */
FUNCTION u64 vk_high(u64 x, u64 y) {
	u64 a = x >> 32, b = x & 0xffffffff, c = y >> 32, d = y & 0xffffffff, m = a * d + (b * d >> 32), n = (m & 0xffffffff) + b * c;
	return a * c + (m >> 32) + (n >> 32);
}
FUNCTION i64 vk_zeros(u64 x) {
	i64 n = 0;
	for (i64 s = 32; s > 0; s >>= 1) {
		if (x >> (64 - s) == 0) {
			x <<= s;
			n += s;
		}
	}
	return n;
}
FUNCTION u8 vk_finite(f64 x) { return x - x == 0; }
FUNCTION i64 vk_exponent(f64 x) {
	i64 e = (i64)(GO_F64_BITS(x) >> 52 & 0x7ff);
	return e != 0 ? e : 1 - (vk_zeros(GO_F64_BITS(x) << 12 >> 12 | 1) - 11);
}
FUNCTION u64 vk_significand(f64 x) {
	u64 m = GO_F64_BITS(x) << 12 >> 12;
	return (GO_F64_BITS(x) >> 52 & 0x7ff) != 0 ? m | (u64)1 << 52 : m << (vk_zeros(m | 1) - 11);
}
/* Both terms are 128 bits wide with the highest bit at 125, and what is shifted out is kept in the lowest bit. */
FUNCTION f64 vk_fma_64(f64 x, f64 y, f64 z) {
	if (x == 0 || y == 0 || !vk_finite(x) || !vk_finite(y)) return x * y + z;
	if (!vk_finite(z)) return z;
	if (z == 0) return x * y;
	u64 mx = vk_significand(x), my = vk_significand(y), ph = vk_high(mx, my), pl = mx * my, zh = vk_significand(z) << 9, zl = 0;
	u64 sign = (GO_F64_BITS(x) ^ GO_F64_BITS(y)) >> 63, zsign = GO_F64_BITS(z) >> 63;
	i64 up = vk_zeros(ph) - 2;
	ph = ph << up | pl >> (64 - up);
	pl <<= up;
	i64 pe = vk_exponent(x) + vk_exponent(y) - 2150 - up, ze = vk_exponent(z) - 1148;
	if (ze > pe || ze == pe && (zh > ph || zh == ph && zl > pl)) {
		u64 h = ph, l = pl, s = sign;
		i64 t = pe;
		ph = zh;
		pl = zl;
		sign = zsign;
		pe = ze;
		zh = h;
		zl = l;
		zsign = s;
		ze = t;
	}
	u64 down = (u64)(pe - ze), lost = 0;
	if (down >= 128) {
		zh = 0;
		zl = 1;
	} else if (down >= 64) {
		if (zl != 0) lost = 1;
		if (down > 64) {
			if (zh << (128 - down) != 0) lost = 1;
		}
		zl = zh >> (down - 64) | lost;
		zh = 0;
	} else if (down > 0) {
		if (zl << (64 - down) != 0) lost = 1;
		zl = zl >> down | zh << (64 - down) | lost;
		zh >>= down;
	}
	if (sign == zsign) {
		u64 low = pl + zl;
		ph += zh + (u64)(low < pl);
		pl = low;
	} else {
		ph -= zh + (u64)(pl < zl);
		pl -= zl;
	}
	if ((ph | pl) == 0) return 0.0;
	if (ph == 0) {
		ph = pl;
		pl = 0;
		pe -= 64;
	}
	up = vk_zeros(ph);
	if (up > 0) {
		ph = ph << up | pl >> (64 - up);
		pl <<= up;
	}
	pe += 1150 - up;
	ph = ph >> 1 | (ph & 1) | (u64)(pl != 0);
	if (pe < 1) {
		down = (u64)(1 - pe < 63 ? 1 - pe : 63);
		ph = ph >> down | (u64)(ph << (64 - down) != 0);
		pe = 1;
	}
	lost = ph & 0x3ff;
	ph = (ph >> 10) + (u64)(lost > 0x200 || lost == 0x200 && (ph >> 10 & 1) != 0);
	return GO_BITS_F64(sign << 63 | (pe >= 0x7ff ? (u64)0x7ff << 52 : ((u64)(pe - 1) << 52) + ph));
}
/* The product is exact. If the sum is not, its last bit is made odd, so that rounding to f32 comes out as if there had been one
	rounding. */
FUNCTION f32 vk_fma_32(f32 x, f32 y, f32 z) {
	f64 p = (f64)x * (f64)y, w = (f64)z, s = p + w, b = s - p, lost = (p - (s - b)) + (w - b);
	u64 bits = GO_F64_BITS(s);
	if (vk_finite(s) && lost != 0 && (bits & 1) == 0) {
		if ((lost > 0) == (s > 0)) bits++;
		else bits--;
		s = GO_BITS_F64(bits);
	}
	return (f32)s;
}
FUNCTION f64 vk_round_64(f64 x) {
	f64 t = trunc(x);
	return fabs(x - t) >= 0.5 ? t + copysign(1.0, x) : t;
}
FUNCTION f32 vk_round_32(f32 x) {
	f32 t = trunc(x);
	return fabs(x - t) >= 0.5f ? t + copysign(1.0f, x) : t;
}
FUNCTION f64 vk_fmod_64(f64 x, f64 y) {
	f64 size = fabs(x), by = fabs(y);
	if (by == 0 || !vk_finite(x) || y != y) return (x * y) / (x * y);
	if (size < by || !vk_finite(y)) return x;
	u64 m = vk_significand(size), n = vk_significand(by);
	i64 e = vk_exponent(size), last = vk_exponent(by);
	for (; e > last; e--) {
		if (m >= n) m -= n;
		m <<= 1;
	}
	if (m >= n) m -= n;
	if (m == 0) return copysign(0.0, x);
	i64 up = vk_zeros(m) - 11;
	m <<= up;
	e -= up;
	return copysign(GO_BITS_F64(e > 0 ? ((u64)(e - 1) << 52) + m : m >> (1 - e)), x);
}
FUNCTION f64 vk_remainder_64(f64 x, f64 y) {
	f64 by = fabs(y);
	if (by == 0 || !vk_finite(x) || y != y) return (x * y) / (x * y);
	if (!vk_finite(y)) return x;
	f64 r = by <= 8.98846567431158e307 ? fabs(vk_fmod_64(x, by + by)) : fabs(x);
	if (by < 4.450147717014403e-308) {
		if (r + r > by) {
			r -= by;
			if (r + r >= by) r -= by;
		}
	} else if (r > 0.5 * by) {
		r -= by;
		if (r >= 0.5 * by) r -= by;
	}
	return GO_BITS_F64(GO_F64_BITS(r) ^ (GO_F64_BITS(x) & 0x8000000000000000));
}
FUNCTION f64 vk_infinity() { return GO_BITS_F64(0x7ff0000000000000); }
FUNCTION f64 vk_nan() { return GO_BITS_F64(0x7ff8000000000001); }
/* x * 2^k */
FUNCTION f64 vk_scaled(f64 x, i64 k) {
	for (i64 n = 0; n < 2 && k > 1023; n++) {
		x *= 8.98846567431158e+307;
		k -= 1023;
	}
	for (i64 n = 0; n < 2 && k < -1022; n++) {
		x *= 2.004168360008973e-292;
		k += 969;
	}
	k = k > 1023 ? 1023 : k < -1022 ? -1022 : k;
	return x * GO_BITS_F64((u64)(k + 1023) << 52);
}
/* exp(x + low), by the series of exp around the nearest multiple of log 2. */
FUNCTION f64 vk_exp_of(f64 x, f64 low) {
	if (x != x) return x;
	if (x > 709.8) return vk_infinity();
	if (x < -745.2) return 0.0;
	f64 k = rint(x * 1.4426950408889634), r = ((x - k * 0.6931471803691238) - k * 1.9082149292705877e-10) + low;
	f64 p = 1.0 + (r + r * r * (0.5 + r * (0.16666666666666666 + r * (0.041666666666666664 + r * (0.008333333333333333 + r *
		(0.001388888888888889 + r * (0.0001984126984126984 + r * (2.48015873015873e-05 + r * (2.7557319223985893e-06 + r *
		(2.755731922398589e-07 + r * (2.505210838544172e-08 + r * (2.08767569878681e-09 + r * (1.6059043836821613e-10 + r *
		1.1470745597729725e-11)))))))))))));
	return vk_scaled(p, (i64)k);
}
FUNCTION f64 vk_exp_64(f64 x) { return vk_exp_of(x, 0.0); }
FUNCTION f64 vk_exp2_64(f64 x) {
	if (x != x) return x;
	if (x >= 1024) return vk_infinity();
	if (x < -1080) return 0.0;
	f64 k = rint(x);
	return vk_scaled(vk_exp_of((x - k) * 0.6931471805599453, 0.0), (i64)k);
}
FUNCTION f64 vk_expm1_64(f64 x) {
	if (fabs(x) < 0.6) return x + x * x * (0.5 + x * (0.16666666666666666 + x * (0.041666666666666664 + x * (0.008333333333333333 + x
		* (0.001388888888888889 + x * (0.0001984126984126984 + x * (2.48015873015873e-05 + x * (2.7557319223985893e-06 + x *
		(2.755731922398589e-07 + x * (2.505210838544172e-08 + x * (2.08767569878681e-09 + x * (1.6059043836821613e-10 + x *
		(1.1470745597729725e-11 + x * (7.647163731819816e-13 + x * (4.779477332387385e-14 + x * 2.8114572543455206e-15)))))))))))))));
	return vk_exp_of(x, 0.0) - 1.0;
}
/* A positive number as f * 2^k, with f between the square roots of 1/2 and 2, and f's logarithm. */
typedef struct { f64 f; f64 k; f64 log; } vk_split;
FUNCTION vk_split vk_split_of(f64 x) {
	vk_split v;
	i64 k = vk_exponent(x) - 1023;
	f64 f = GO_BITS_F64(vk_significand(x) << 12 >> 12 | (u64)0x3ff << 52);
	if (f > 1.4142135623730951) {
		f *= 0.5;
		k++;
	}
	f64 g = f - 1.0, s = g / (2.0 + g), z = s * s, half = 0.5 * g * g;
	v.f = f;
	v.k = (f64)k;
	v.log = g - (half - s * (half + z * (0.6666666666666666 + z * (0.4 + z * (0.2857142857142857 + z * (0.2222222222222222 + z *
		(0.18181818181818182 + z * (0.15384615384615385 + z * (0.13333333333333333 + z * (0.11764705882352941 + z * (0.10526315789473684
		+ z * (0.09523809523809523 + z * 0.08695652173913043))))))))))));
	return v;
}
FUNCTION f64 vk_log_of(f64 x) {
	vk_split v = vk_split_of(x);
	return v.k * 0.6931471803691238 + (v.log + v.k * 1.9082149292705877e-10);
}
/* What a logarithm is where it is no number, or x. */
FUNCTION u8 vk_has_log(f64 x) { return x > 0 && vk_finite(x); }
FUNCTION f64 vk_no_log(f64 x) { return x == 0 ? -vk_infinity() : x > 0 ? x : vk_nan(); }
FUNCTION f64 vk_log_64(f64 x) {
	if (!vk_has_log(x)) return vk_no_log(x);
	return vk_log_of(x);
}
FUNCTION f64 vk_log2_64(f64 x) {
	if (!vk_has_log(x)) return vk_no_log(x);
	vk_split v = vk_split_of(x);
	return v.k + v.log * 1.4426950408889634;
}
FUNCTION f64 vk_log10_64(f64 x) {
	if (!vk_has_log(x)) return vk_no_log(x);
	return vk_log_of(x) * 0.4342944819032518;
}
FUNCTION f64 vk_log1p_64(f64 x) {
	f64 u = 1.0 + x;
	if (!vk_has_log(u)) return vk_no_log(u);
	return u == 1 ? x : vk_log_of(u) + (x - (u - 1.0)) / u;
}
/* An angle within a quarter of pi, as a sum, and how many right angles it is away from another. */
typedef struct { f64 x; f64 low; i64 n; } vk_angle;
FUNCTION u64 vk_two_over_pi(i64 i) {
	return i == 0 ? (u64)0x0 : i == 1 ? (u64)0xa2f9836e4e441529 : i == 2 ? (u64)0xfc2757d1f534ddc0 : i == 3 ? (u64)0xdb6295993c439041
		: i == 4 ? (u64)0xfe5163abdebbc561 : i == 5 ? (u64)0xb7246e3a424dd2e0 : i == 6 ? (u64)0x6492eea09d1921c : i == 7 ?
		(u64)0xfe1deb1cb129a73e : i == 8 ? (u64)0xe88235f52ebb4484 : i == 9 ? (u64)0xe99c7026b45f7e41 : i == 10 ? (u64)0x3991d639835339f4
		: i == 11 ? (u64)0x9c845f8bbdf9283b : i == 12 ? (u64)0x1ff897ffde05980f : i == 13 ? (u64)0xef2f118b5a0a6d1f : i == 14 ?
		(u64)0x6d367ecf27cb09b7 : i == 15 ? (u64)0x4f463f669e5fea2d : i == 16 ? (u64)0x7527bac7ebe5f17b : i == 17 ?
		(u64)0x3d0739f78a5292ea : i == 18 ? (u64)0x6bfb5fb11f8d5d08 : i == 19 ? (u64)0x56033046fc7b6bab : (u64)0;
}
FUNCTION vk_angle vk_reduced(f64 x) {
	vk_angle v;
	if (fabs(x) < 1e6) {
		f64 n = rint(x * 0.6366197723675814), r = x - n * 1.5707963267341256, w = n * 6.077100506303966e-11, t = r - w;
		f64 rest = n * 2.0222662487959506e-21 - ((r - t) - w);
		v.x = t - rest;
		v.low = (t - v.x) - rest;
		v.n = (i64)n;
		return v;
	}
	u64 m = vk_significand(x);
	i64 from = vk_exponent(x) - 1075 + 62, i = from >> 6, by = from & 63;
	u64 w0 = vk_two_over_pi(i), w1 = vk_two_over_pi(i + 1), w2 = vk_two_over_pi(i + 2), w3 = vk_two_over_pi(i + 3);
	if (by > 0) {
		w0 = w0 << by | w1 >> (64 - by);
		w1 = w1 << by | w2 >> (64 - by);
		w2 = w2 << by | w3 >> (64 - by);
	}
	u64 low = m * w2, middle = m * w1 + vk_high(m, w2), top = m * w0 + vk_high(m, w1) + (u64)(middle < m * w1);
	v.n = (i64)(top >> 62);
	top = top << 2 | middle >> 62;
	middle = middle << 2 | low >> 62;
	f64 sign = 1.0;
	if (top >> 63 != 0) {
		v.n++;
		sign = -1.0;
		middle = ~middle + 1;
		top = ~top + (u64)(middle == 0);
	}
	i64 up = vk_zeros(top | 1);
	if (up > 0) {
		top = top << up | middle >> (64 - up);
		middle <<= up;
	}
	f64 h = vk_scaled((f64)(top >> 11), -53 - up), l = vk_scaled((f64)((top & 0x7ff) << 53 | middle >> 11), -117 - up);
	f64 p = h * 1.5707963267948966, rest = vk_fma_64(h, 1.5707963267948966, -p) + (h * 6.123233995736766e-17 + l * 1.5707963267948966);
	sign = x < 0 ? -sign : sign;
	v.n = x < 0 ? -v.n : v.n;
	v.x = sign * p;
	v.low = sign * rest;
	return v;
}
FUNCTION f64 vk_sine(vk_angle v) {
	f64 x = v.x, z = x * x;
	return x + (x * z * (-0.16666666666666666 + z * (0.008333333333333333 + z * (-0.0001984126984126984 + z * (2.7557319223985893e-06
		+ z * (-2.505210838544172e-08 + z * (1.6059043836821613e-10 + z * (-7.647163731819816e-13 + z * (2.8114572543455206e-15 + z *
		-8.22063524662433e-18)))))))) + v.low * (1.0 - 0.5 * z));
}
FUNCTION f64 vk_cosine(vk_angle v) {
	f64 x = v.x, z = x * x, half = 0.5 * z, w = 1.0 - half;
	return w + (((1.0 - w) - half) + (z * z * (0.041666666666666664 + z * (-0.001388888888888889 + z * (2.48015873015873e-05 + z *
		(-2.755731922398589e-07 + z * (2.08767569878681e-09 + z * (-1.1470745597729725e-11 + z * (4.779477332387385e-14 + z *
		(-1.5619206968586225e-16 + z * 4.110317623312165e-19)))))))) - x * v.low));
}
FUNCTION f64 vk_sin_64(f64 x) {
	if (x == 0 || !vk_finite(x)) return x == 0 ? x : vk_nan();
	vk_angle v = vk_reduced(x);
	f64 y = (v.n & 1) != 0 ? vk_cosine(v) : vk_sine(v);
	return (v.n & 2) != 0 ? -y : y;
}
FUNCTION f64 vk_cos_64(f64 x) {
	if (!vk_finite(x)) return vk_nan();
	vk_angle v = vk_reduced(x);
	f64 y = (v.n & 1) != 0 ? vk_sine(v) : vk_cosine(v);
	return (v.n + 1 & 2) != 0 ? -y : y;
}
FUNCTION f64 vk_tan_64(f64 x) {
	if (x == 0 || !vk_finite(x)) return x == 0 ? x : vk_nan();
	vk_angle v = vk_reduced(x);
	f64 s = vk_sine(v), c = vk_cosine(v);
	return (v.n & 1) != 0 ? -c / s : s / c;
}
/* Of a number that is not negative, by the series around the nearest quarter. */
FUNCTION f64 vk_atan_of(f64 a) {
	f64 t = a > 1 ? 1.0 / a : a, q = rint(t * 4.0), c = 0.25 * q, u = (t - c) / (1.0 + t * c), z = u * u;
	f64 h = q == 1 ? 0.24497866312686414 : q == 2 ? 0.4636476090008061 : q == 3 ? 0.6435011087932844 : q == 4 ? 0.7853981633974483 :
		0.0;
	f64 l = q == 1 ? 1.0698755618734451e-17 : q == 2 ? 2.2698777452961687e-17 : q == 3 ? 1.5834785051444286e-17 : q == 4 ?
		3.061616997868383e-17 : 0.0;
	f64 r = h + (u + (u * z * (-0.3333333333333333 + z * (0.2 + z * (-0.14285714285714285 + z * (0.1111111111111111 + z *
		(-0.09090909090909091 + z * (0.07692307692307693 + z * (-0.06666666666666667 + z * (0.058823529411764705 + z *
		(-0.05263157894736842 + z * 0.047619047619047616))))))))) + l));
	return a > 1 ? 1.5707963267948966 - (r - 6.123233995736766e-17) : r;
}
FUNCTION f64 vk_atan_64(f64 x) { return x != x ? x : copysign(vk_atan_of(fabs(x)), x); }
FUNCTION f64 vk_atan2_64(f64 y, f64 x) {
	if (x != x || y != y) return vk_nan();
	f64 a = fabs(y), b = fabs(x), r;
	if (a == 0) r = 0.0;
	else if (!vk_finite(a) && !vk_finite(b)) r = 0.7853981633974483;
	else r = vk_atan_of(a / b);
	if (copysign(1.0, x) < 0) r = 3.141592653589793 - (r - 1.2246467991473532e-16);
	return copysign(r, y);
}
FUNCTION f64 vk_asin_64(f64 x) { return fabs(x) <= 1 ? vk_atan2_64(x, sqrt((1.0 - x) * (1.0 + x))) : vk_nan(); }
FUNCTION f64 vk_acos_64(f64 x) { return fabs(x) <= 1 ? vk_atan2_64(sqrt((1.0 - x) * (1.0 + x)), x) : vk_nan(); }
FUNCTION f64 vk_sinh_64(f64 x) {
	f64 a = fabs(x), r;
	if (!(a < 709)) {
		f64 w = vk_exp_64(0.5 * a);
		r = 0.5 * w * w;
	} else {
		f64 e = vk_expm1_64(a);
		r = 0.5 * (a < 1 ? 2.0 * e - e * e / (e + 1.0) : e + e / (e + 1.0));
	}
	return copysign(r, x);
}
FUNCTION f64 vk_cosh_64(f64 x) {
	f64 a = fabs(x), w = vk_exp_64(0.5 * a), e = vk_exp_64(a);
	return a < 709 ? 0.5 * e + 0.5 / e : 0.5 * w * w;
}
FUNCTION f64 vk_tanh_64(f64 x) {
	f64 a = fabs(x), e = vk_expm1_64(2.0 * a);
	return a > 22 ? copysign(1.0, x) : copysign(e / (e + 2.0), x);
}
FUNCTION f64 vk_asinh_64(f64 x) {
	f64 a = fabs(x);
	if (a != a) return x;
	return copysign(a > 268435456 ? vk_log_64(a) + 0.6931471805599453 : vk_log1p_64(a + a * a / (1.0 + sqrt(a * a + 1.0))), x);
}
FUNCTION f64 vk_acosh_64(f64 x) {
	f64 t = x - 1.0;
	if (!(x >= 1)) return vk_nan();
	return x > 268435456 ? vk_log_64(x) + 0.6931471805599453 : vk_log1p_64(t + sqrt(2.0 * t + t * t));
}
FUNCTION f64 vk_atanh_64(f64 x) {
	f64 a = fabs(x);
	if (!(a <= 1)) return vk_nan();
	return copysign(a == 1 ? vk_infinity() : 0.5 * vk_log1p_64(2.0 * a / (1.0 - a)), x);
}
FUNCTION f64 vk_hypot_64(f64 x, f64 y) {
	f64 a = fabs(x), b = fabs(y), inf = vk_infinity();
	if (a == inf || b == inf) return inf;
	if (a < b) {
		f64 t = a;
		a = b;
		b = t;
	}
	if (a != a || b != b) return vk_nan();
	if (a == 0) return 0.0;
	f64 r = b / a;
	return a * sqrt(1.0 + r * r);
}
FUNCTION f64 vk_cbrt_64(f64 x) {
	if (x == 0 || !vk_finite(x)) return x;
	f64 a = fabs(x);
	i64 e = vk_exponent(a) - 1023 + 1080, k = e / 3;
	f64 f = vk_scaled(GO_BITS_F64(vk_significand(a) << 12 >> 12 | (u64)0x3ff << 52), e - 3 * k), t = 0.85 + 0.165 * f;
	for (i64 n = 0; n < 3; n++) t *= (t * t * t + 2.0 * f) / (2.0 * t * t * t + f);
	t -= (t - f / (t * t)) * 0.3333333333333333;
	return copysign(vk_scaled(t, k - 360), x);
}
/* exp(-a*a) */
FUNCTION f64 vk_bell(f64 a) {
	f64 s = a * a;
	return vk_exp_of(-s, -vk_fma_64(a, a, -s));
}
/* By a continued fraction, from 0.75 on. */
FUNCTION f64 vk_erfc_of(f64 x) {
	if (x > 27.3) return 0.0;
	f64 r = x;
	for (i64 n = 30 + (i64)(500.0 / (x * x)); n > 0; n--) r = x + 0.5 * (f64)n / r;
	return vk_bell(x) / (r * 1.772453850905516);
}
FUNCTION f64 vk_erf_64(f64 x) {
	f64 a = fabs(x);
	if (a != a) return x;
	if (a > 0.75) return copysign(1.0 - vk_erfc_of(a), x);
	f64 s = 2.0 * a * a, term = 1.0, sum = 0.0;
	for (i64 n = 3; term > sum * 1e-18; n += 2) {
		sum += term;
		term *= s / (f64)n;
	}
	return copysign(a * 1.1283791670955126 * vk_bell(a) * sum, x);
}
FUNCTION f64 vk_erfc_64(f64 x) {
	if (x != x) return x;
	return x < 0.75 ? 1.0 - vk_erf_64(x) : vk_erfc_of(x);
}
/* The logarithm of x, as a sum of two numbers, is multiplied by y. */
FUNCTION f64 vk_pow_64(f64 x, f64 y) {
	f64 a = fabs(x), inf = vk_infinity();
	u8 whole = trunc(y) == y, odd = whole && fabs(y) < 9007199254740992.0 && trunc(0.5 * y) != 0.5 * y;
	if (y == 0 || x == 1) return 1.0;
	if (x != x || y != y) return vk_nan();
	if (!vk_finite(y)) return a == 1 ? 1.0 : (a > 1) == (y > 0) ? inf : 0.0;
	f64 sign = odd ? copysign(1.0, x) : 1.0;
	if (a == 0 || a == inf) return (a == 0) == (y > 0) ? sign * 0.0 : sign * inf;
	if (x < 0 && !whole) return vk_nan();
	vk_split v = vk_split_of(a);
	f64 g = v.f - 1.0, d = 2.0 + g, s = g / d, z = s * s, k = v.k;
	f64 low = (vk_fma_64(-s, d, g) - s * (g - (d - 2.0))) / d;
	f64 big = k * 0.6931471803691238, first = 2.0 * s, sum = big + first, part = sum - big;
	f64 rest = ((big - (sum - part)) + (first - part)) + (2.0 * low + (s * z * (0.6666666666666666 + z * (0.4 + z *
		(0.2857142857142857 + z * (0.2222222222222222 + z * (0.18181818181818182 + z * (0.15384615384615385 + z * (0.13333333333333333 +
		z * (0.11764705882352941 + z * (0.10526315789473684 + z * (0.09523809523809523 + z * 0.08695652173913043)))))))))) + k *
		1.9082149292705877e-10));
	f64 h = sum + rest;
	rest -= h - sum;
	f64 p = y * h;
	if (p > 710) return sign * inf;
	if (p < -746) return sign * 0.0;
	return sign * vk_exp_of(p, vk_fma_64(y, h, -p) + y * rest);
}
/* Quotients and roots of f32. Vulkan lets a driver be wrong by 2.5 units in the last place of x / y, and by more of a root. GO_QUOTIENT
   and GO_ROOT are the driver's, and GO_ROUNDS says whether they are rounded correctly; a launch knows. Where they are not, they are
   estimates, which integers correct: they may be wrong by 30 units.
   vk_wide is the bits of a positive number. Below the smallest normal number it goes on with exponents that f32 does not have. */
FUNCTION i32 vk_wide(u32 x) { return (i32)(x < 0x800000 ? F32_BITS((f32)x) - 0x4a800000 : x); }
FUNCTION f32 vk_div_exact(f32 x, f32 y) {
	u32 a = F32_BITS(x) & 0x7fffffff, b = F32_BITS(y) & 0x7fffffff, sign = (F32_BITS(x) ^ F32_BITS(y)) & 0x80000000;
	if (a - 1 >= 0x7f7fffff || b - 1 >= 0x7f7fffff) { /* 0, Inf or NaN */
		return BITS_F32(a > 0x7f800000 || b > 0x7f800000 || a == b ? 0x7fc00000 : a < b ? sign : sign | 0x7f800000);
	}
	i32 m = vk_wide(a), n = vk_wide(b);
	u32 p = ((u32)m & 0x7fffff) | 0x800000, q = ((u32)n & 0x7fffff) | 0x800000, less = (u32)(p < q);
	i32 e = (m >> 23) - (n >> 23) + 127 - (i32)less;
	p <<= less;
	/* p * 2^23 is z * q + r. The lowest bits of the product are enough for r, which is small. */
	f32 by = GO_QUOTIENT(1.0f, (f32)q);
	u32 z = (u32)((f32)p * by * 8388608.0f);
	i32 r = (i32)((p << 23) - z * q), step = (i32)rint((f32)r * by);
	r -= step * (i32)q;
	z += (u32)step - (u32)(r < 0);
	r += r < 0 ? (i32)q : 0;
	/* Two bits more: whether at least half a unit is left, and whether anything is. A subnormal number has fewer of all. */
	z = z << 2 | (u32)(2 * r >= (i32)q) << 1 | (u32)(r != 0);
	u32 cut = (u32)(e < -24 ? 27 : e < 1 ? 3 - e : 2);
	z = (z + ((u32)1 << (cut - 1)) - 1 + (z >> cut & 1)) >> cut;
	z += e < 1 ? 0 : (u32)(e - 1) << 23;
	return BITS_F32(sign | (z < 0x7f800000 ? z : 0x7f800000));
}
FUNCTION f32 vk_div_32(f32 x, f32 y) { return GO_ROUNDS() != 0 ? GO_QUOTIENT(x, y) : vk_div_exact(x, y); }
FUNCTION f32 vk_sqrt_exact(f32 x) {
	u32 a = F32_BITS(x);
	if (a - 1 >= 0x7f7fffff) { /* 0, Inf, NaN or negative */
		return BITS_F32(a << 1 == 0 || a == 0x7f800000 ? a : 0x7fc00000);
	}
	i32 m = vk_wide(a), e = m >> 23;
	u32 p = (((u32)m & 0x7fffff) | 0x800000) << (~e & 1);
	/* p * 2^23 is z * z + r. */
	i32 z = (i32)GO_ROOT((f32)p * 8388608.0f), r = (i32)((p << 23) - (u32)z * (u32)z), step = (i32)rint(GO_QUOTIENT((f32)r, (f32)(2 * z)));
	r -= step * (2 * z + step);
	z += step;
	z += (i32)(r > z) - (i32)(r <= -z);
	return BITS_F32((u32)((((e + 127) >> 1) - 1) << 23) + (u32)z);
}
FUNCTION f32 vk_sqrt_32(f32 x) { return GO_ROUNDS() != 0 ? GO_ROOT(x) : vk_sqrt_exact(x); }
