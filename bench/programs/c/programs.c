// The programs in C, for one processor. The compiler makes vectors of what it can.
#include <math.h>
#include <stdint.h>

void lu(int64_t n, float *a) {
	for (int64_t k = 0; k < n; k++)
		for (int64_t i = k + 1; i < n; i++) {
			float l = a[i * n + k] /= a[k * n + k];
			for (int64_t j = k + 1; j < n; j++)
				a[i * n + j] -= l * a[k * n + j];
		}
}

// The last stage is to leave its result in yr and yi, so n is 2 to an odd power.
void fft(int64_t n, const float *wr, const float *wi, float *restrict xr, float *restrict xi, float *restrict yr, float *restrict yi) {
	for (int64_t s = 1; s < n; s *= 2) {
		for (int64_t p = 0; p < n / 2; p += s) {
			const float cr = wr[p], ci = wi[p];
			for (int64_t q = 0; q < s; q++) {
				float ar = xr[p + q], ai = xi[p + q], br = xr[p + q + n / 2], bi = xi[p + q + n / 2], dr = ar - br, di = ai - bi;
				yr[2 * p + q] = ar + br, yi[2 * p + q] = ai + bi;
				yr[2 * p + q + s] = dr * cr - di * ci, yi[2 * p + q + s] = dr * ci + di * cr;
			}
		}
		float *r = xr, *i = xi;
		xr = yr, xi = yi, yr = r, yi = i;
	}
}

void align(int64_t n, const uint8_t *a, const uint8_t *b, int32_t *score) {
	for (int64_t i = 1; i <= n; i++)
		for (int64_t j = 1; j <= n; j++) {
			const int32_t *above = score + (i - 1) * (n + 1) + j, best = above[-1] + (a[i - 1] == b[j - 1] ? 2 : -1);
			const int32_t left = score[i * (n + 1) + j - 1] - 1, up = above[0] - 1;
			const int32_t gap = left > up ? left : up;
			score[i * (n + 1) + j] = best > gap ? best : gap;
		}
}

void dct(int64_t n, const float *cosines, const float *in, float *out) {
	for (int64_t top = 0; top < n; top += 8)
		for (int64_t left = 0; left < n; left += 8) {
			float part[8][8] = {0};
			for (int y = 0; y < 8; y++)
				for (int k = 0; k < 8; k++)
					for (int x = 0; x < 8; x++)
						part[y][x] += cosines[k * 8 + y] * in[(top + k) * n + left + x];
			for (int y = 0; y < 8; y++) {
				float sum[8] = {0};
				for (int k = 0; k < 8; k++)
					for (int x = 0; x < 8; x++)
						sum[x] += part[y][k] * cosines[k * 8 + x];
				for (int x = 0; x < 8; x++)
					out[(top + y) * n + left + x] = sum[x];
			}
		}
}

typedef struct { float x, y, z, charge; } particle;

void lavaMD(int64_t boxes, const int32_t *near, const particle *all, particle *pull) {
	for (int64_t me = 0; me < boxes * 100; me++) {
		const particle p = all[me];
		particle f = {0, 0, 0, 0};
		for (int b = 0; b < 27; b++) {
			const int32_t box = near[me / 100 * 27 + b];
			if (box < 0)
				continue;
			for (int k = 0; k < 100; k++) {
				const particle *o = all + box * 100 + k;
				float dx = p.x - o->x, dy = p.y - o->y, dz = p.z - o->z;
				float e = o->charge * expf(-(0.5f * (dx * dx + dy * dy + dz * dz))), s = 2 * e;
				f.charge += e;
				f.x += s * dx, f.y += s * dy, f.z += s * dz;
			}
		}
		pull[me] = f;
	}
}

#define WORD(p) ((uint32_t)(p)[0] << 24 | (uint32_t)(p)[1] << 16 | (uint32_t)(p)[2] << 8 | (p)[3])
#define MIX(a, b, c, d, key) (t[(a) >> 24] ^ t[256 + ((b) >> 16 & 255)] ^ t[512 + ((c) >> 8 & 255)] ^ t[768 + ((d) & 255)] ^ (key))
#define LAST(to, a, b, c, d, key) \
	(to)[0] = last[(a) >> 24] ^ (key) >> 24, (to)[1] = last[(b) >> 16 & 255] ^ (key) >> 16, \
	(to)[2] = last[(c) >> 8 & 255] ^ (key) >> 8, (to)[3] = last[(d) & 255] ^ (key)

void aes(int64_t n, const uint32_t *keys, const uint32_t *t, const uint8_t *last, const uint8_t *in, uint8_t *out) {
	for (int64_t i = 0; i < n; i++, in += 16, out += 16) {
		uint32_t a = WORD(in) ^ keys[0], b = WORD(in + 4) ^ keys[1], c = WORD(in + 8) ^ keys[2], d = WORD(in + 12) ^ keys[3];
		for (int r = 4; r < 40; r += 4) {
			uint32_t e = MIX(a, b, c, d, keys[r]), f = MIX(b, c, d, a, keys[r + 1]);
			uint32_t g = MIX(c, d, a, b, keys[r + 2]), h = MIX(d, a, b, c, keys[r + 3]);
			a = e, b = f, c = g, d = h;
		}
		LAST(out, a, b, c, d, keys[40]);
		LAST(out + 4, b, c, d, a, keys[41]);
		LAST(out + 8, c, d, a, b, keys[42]);
		LAST(out + 12, d, a, b, c, keys[43]);
	}
}

void srad(int64_t w, const float *in, float *north, float *south, float *west, float *east, float *flow, float *out) {
	const float q0 = 0.05f;
	for (int64_t y = 0; y < w; y++)
		for (int64_t x = 0; x < w; x++) {
			const int64_t i = y * w + x;
			float v = in[i], n = in[y > 0 ? i - w : i] - v, s = in[y < w - 1 ? i + w : i] - v;
			float l = in[x > 0 ? i - 1 : i] - v, r = in[x < w - 1 ? i + 1 : i] - v;
			float g = (n * n + s * s + l * l + r * r) / (v * v), sum = (n + s + l + r) / v, d = 1 + 0.25f * sum;
			float q = (0.5f * g - 0.0625f * (sum * sum)) / (d * d);
			float c = 1 / (1 + (q - q0) / (q0 * (1 + q0)));
			north[i] = n, south[i] = s, west[i] = l, east[i] = r;
			flow[i] = c < 0 ? 0 : c > 1 ? 1 : c;
		}
	for (int64_t y = 0; y < w; y++)
		for (int64_t x = 0; x < w; x++) {
			const int64_t i = y * w + x;
			float below = flow[y < w - 1 ? i + w : i], right = flow[x < w - 1 ? i + 1 : i];
			out[i] = in[i] + 0.125f * (flow[i] * north[i] + below * south[i] + flow[i] * west[i] + right * east[i]);
		}
}

// The last row's sums are to be in to, so the wall has an odd number of rows.
void pathfinder(int64_t rows, int64_t w, const int32_t *wall, int32_t *restrict from, int32_t *restrict to) {
	for (int64_t row = 0; row < rows; row++) {
		for (int64_t x = 0; x < w; x++) {
			int32_t best = from[x];
			if (x > 0 && from[x - 1] < best)
				best = from[x - 1];
			if (x < w - 1 && from[x + 1] < best)
				best = from[x + 1];
			to[x] = wall[row * w + x] + best;
		}
		int32_t *other = from;
		from = to, to = other;
	}
}

void spmv(int64_t n, const int32_t *starts, const int32_t *cols, const float *values, const float *x, float *y) {
	for (int64_t i = 0; i < n; i++) {
		float sum = 0;
		for (int32_t k = starts[i]; k < starts[i + 1]; k++)
			sum += values[k] * x[cols[k]];
		y[i] = sum;
	}
}

void queens(int64_t n, uint32_t *counts) {
	const uint32_t board = (1u << n) - 1;
	for (int64_t i = 0; i < n * n; i++) {
		uint32_t left[20], down[20], right[20], free[20], count = 0, a = 1u << i / n, b = 1u << i % n;
		if (!(b & (a | a << 1 | a >> 1))) {
			int row = 2;
			left[2] = (a << 1 | b) << 1, down[2] = a | b, right[2] = (a >> 1 | b) >> 1;
			free[2] = board & ~(left[2] | down[2] | right[2]);
			while (row >= 2) {
				if (!free[row]) {
					row--;
					continue;
				}
				uint32_t bit = free[row] & -free[row];
				free[row] ^= bit;
				if (row == n - 1) {
					count++;
					continue;
				}
				left[row + 1] = (left[row] | bit) << 1, down[row + 1] = down[row] | bit, right[row + 1] = (right[row] | bit) >> 1;
				row++;
				free[row] = board & ~(left[row] | down[row] | right[row]);
			}
		}
		counts[i] = count;
	}
}

void bitonic(int64_t n, int32_t *x) {
	for (int64_t size = 2; size <= n; size *= 2)
		for (int64_t apart = size / 2; apart > 0; apart /= 2)
			for (int64_t p = 0; p < n; p += 2 * apart)
				for (int64_t i = p; i < p + apart; i++) {
					int32_t a = x[i], b = x[i + apart], low = a < b ? a : b, high = a < b ? b : a;
					x[i] = p & size ? high : low, x[i + apart] = p & size ? low : high;
				}
}

void bfs(int64_t levels, int64_t n, const int32_t *starts, const int32_t *ends, int32_t *from, int32_t *to) {
	for (int32_t level = 0; level < levels; level++) {
		for (int64_t i = 0; i < n; i++) {
			int32_t l = from[i];
			for (int32_t k = starts[i]; l < 0 && k < starts[i + 1]; k++)
				if (from[ends[k]] == level)
					l = level + 1;
			to[i] = l;
		}
		int32_t *other = from;
		from = to, to = other;
	}
}
