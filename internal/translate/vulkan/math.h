/* Functions of package math that Vulkan lacks, or has with errors that are too large, in the portable dialect: internal/translate adds them to the text
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
/* The product is exact. If the sum is not, its last bit is made odd, so that rounding to f32 comes out as if there had been one rounding. */
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
