// The loops in C beside which kernels run on one processor: one thread, the compiler makes vectors of them. Arguments come by address.
#include <math.h>
#include <stdint.h>

void saxpy(const int64_t *n, const float *a, const float *restrict x, float *restrict y) {
	for (int64_t i = 0; i < *n; i++)
		y[i] += *a * x[i];
}

// from and to have a row more than the plate on each side.
void heat(const int64_t *size, const float *restrict from, float *restrict to) {
	const int64_t n = *size;
	for (int64_t y = 1; y <= n; y++) {
		const float *above = from + (y - 1) * n, *row = above + n, *below = row + n;
		float *out = to + y * n;
		out[0] = row[0] + 0.1f * (above[0] + below[0] + 0 + row[1] - 4 * row[0]);
		for (int64_t x = 1; x < n - 1; x++)
			out[x] = row[x] + 0.1f * (above[x] + below[x] + row[x - 1] + row[x + 1] - 4 * row[x]);
		out[n - 1] = row[n - 1] + 0.1f * (above[n - 1] + below[n - 1] + row[n - 2] + 0 - 4 * row[n - 1]);
	}
}

void attract(const int64_t *n, const float *px, const float *py, const float *pz, const float *mass,
		float *restrict ax, float *restrict ay, float *restrict az) {
	for (int64_t i = 0; i < *n; i++) {
		float sx = 0, sy = 0, sz = 0;
		for (int64_t k = 0; k < *n; k++) {
			float dx = px[k] - px[i], dy = py[k] - py[i], dz = pz[k] - pz[i];
			float d = dx * dx + dy * dy + dz * dz + 0.01f;
			float pull = mass[k] / (d * sqrtf(d));
			sx += dx * pull;
			sy += dy * pull;
			sz += dz * pull;
		}
		ax[i] = sx, ay[i] = sy, az[i] = sz;
	}
}

// Each element of c is a chain of fma, from the left to the right of a.
void product(const int64_t *size, const float *restrict a, const float *restrict b, float *restrict c) {
	const int64_t n = *size;
	for (int64_t i = 0; i < n; i++) {
		for (int64_t j = 0; j < n; j++)
			c[i * n + j] = 0;
		for (int64_t k = 0; k < n; k++)
			for (int64_t j = 0; j < n; j++)
				c[i * n + j] = fmaf(a[i * n + k], b[k * n + j], c[i * n + j]);
	}
}
