// Kernels by hand of six of the programs.
// Products are rounded before they are added, as in Go.
#pragma OPENCL FP_CONTRACT OFF
#define TILE 16

kernel void luDiagonal(long at, global float *a, long n) {
	local float part[TILE][TILE];
	int me = get_local_id(0);
	for (int k = 0; k < TILE; k++)
		part[me][k] = a[(at + me) * n + at + k];
	for (int k = 0; k < TILE - 1; k++) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (me > k) {
			float l = part[me][k] / part[k][k];
			part[me][k] = l;
			for (int j = k + 1; j < TILE; j++)
				part[me][j] -= l * part[k][j];
		}
	}
	for (int k = 0; k < TILE; k++)
		a[(at + me) * n + at + k] = part[me][k];
}

kernel void luRight(long at, global float *a, long n) {
	long x = at + TILE + get_global_id(0);
	if (x >= n)
		return;
	for (int i = 1; i < TILE; i++) {
		float v = a[(at + i) * n + x];
		for (int k = 0; k < i; k++)
			v -= a[(at + i) * n + at + k] * a[(at + k) * n + x];
		a[(at + i) * n + x] = v;
	}
}

kernel void luBelow(long at, global float *a, long n) {
	long y = at + TILE + get_global_id(0);
	if (y >= n)
		return;
	for (int j = 0; j < TILE; j++) {
		float v = a[y * n + at + j];
		for (int k = 0; k < j; k++)
			v -= a[y * n + at + k] * a[(at + k) * n + at + j];
		a[y * n + at + j] = v / a[(at + j) * n + at + j];
	}
}

kernel void luInner(long at, global float *a, long n) {
	local float left[TILE][TILE], above[TILE][TILE];
	int x = get_local_id(0), y = get_local_id(1);
	long i = at + TILE + get_global_id(1), j = at + TILE + get_global_id(0);
	left[y][x] = a[i * n + at + x];
	above[y][x] = a[(at + y) * n + j];
	barrier(CLK_LOCAL_MEM_FENCE);
	float v = a[i * n + j];
	for (int k = 0; k < TILE; k++)
		v -= left[y][k] * above[k][x];
	a[i * n + j] = v;
}

kernel void fftStage(long s, long half_, global const float *wr, global const float *wi,
		global const float *xr, global const float *xi, global float *yr, global float *yi) {
	long q = get_global_id(0), p = get_global_id(1), i = p * s + q, o = i + p * s;
	if (q >= s)
		return;
	float dr = xr[i] - xr[i + half_], di = xi[i] - xi[i + half_], cr = wr[p * s], ci = wi[p * s];
	yr[o] = xr[i] + xr[i + half_], yi[o] = xi[i] + xi[i + half_];
	yr[o + s] = dr * cr - di * ci, yi[o + s] = dr * ci + di * cr;
}

kernel void fftShort(long s, long half_, global const float *wr, global const float *wi,
		global const float *xr, global const float *xi, global float *yr, global float *yi) {
	long i = get_global_id(0), first = i & ~(s - 1), o = i + first;
	if (i >= half_)
		return;
	float dr = xr[i] - xr[i + half_], di = xi[i] - xi[i + half_], cr = wr[first], ci = wi[first];
	yr[o] = xr[i] + xr[i + half_], yi[o] = xi[i] + xi[i + half_];
	yr[o + s] = dr * cr - di * ci, yi[o + s] = dr * ci + di * cr;
}

#define STRIP 128

kernel void align(long tiles, long first, long n, global const uchar *a, global const uchar *back, global int *score) {
	long me = get_local_id(0), line = n + 1, i = (first + get_group_id(0)) * STRIP + me + 1;
	for (int k = 0; k < 2 * STRIP - 1; k++) {
		if (me <= k && k - me < STRIP) {
			long d = tiles * STRIP + k + 2;
			int same = a[i - 1] == back[n - d + i] ? 2 : -1;
			score[d * line + i] = max(score[(d - 2) * line + i - 1] + same, max(score[(d - 1) * line + i - 1] - 1, score[(d - 1) * line + i] - 1));
		}
		barrier(CLK_GLOBAL_MEM_FENCE);
	}
}

kernel void dct(global const float *cosines, global const float *in, global float *out, long n) {
	local float part[8][8], half_[8][8];
	int x = get_local_id(0), y = get_local_id(1);
	part[y][x] = in[get_global_id(1) * n + get_global_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	float sum = 0;
	for (int k = 0; k < 8; k++)
		sum += cosines[k * 8 + y] * part[k][x];
	half_[y][x] = sum;
	barrier(CLK_LOCAL_MEM_FENCE);
	sum = 0;
	for (int k = 0; k < 8; k++)
		sum += half_[y][k] * cosines[k * 8 + x];
	out[get_global_id(1) * n + get_global_id(0)] = sum;
}

#define WORD(p) ((uint)(p)[0] << 24 | (uint)(p)[1] << 16 | (uint)(p)[2] << 8 | (p)[3])
#define MIX(a, b, c, d, key) (t[(a) >> 24] ^ t[256 + ((b) >> 16 & 255)] ^ t[512 + ((c) >> 8 & 255)] ^ t[768 + ((d) & 255)] ^ (key))
#define LAST(to, a, b, c, d, key) \
	(to)[0] = last[(a) >> 24] ^ (key) >> 24, (to)[1] = last[(b) >> 16 & 255] ^ (key) >> 16, \
	(to)[2] = last[(c) >> 8 & 255] ^ (key) >> 8, (to)[3] = last[(d) & 255] ^ (key)

kernel void aes(long n, global const uint *keys, global const uint *t, global const uchar *last,
		global const uchar *in, global uchar *out) {
	if (get_global_id(0) >= n)
		return;
	in += get_global_id(0) * 16, out += get_global_id(0) * 16;
	uint a = WORD(in) ^ keys[0], b = WORD(in + 4) ^ keys[1], c = WORD(in + 8) ^ keys[2], d = WORD(in + 12) ^ keys[3];
	for (int r = 4; r < 40; r += 4) {
		uint e = MIX(a, b, c, d, keys[r]), f = MIX(b, c, d, a, keys[r + 1]);
		uint g = MIX(c, d, a, b, keys[r + 2]), h = MIX(d, a, b, c, keys[r + 3]);
		a = e, b = f, c = g, d = h;
	}
	LAST(out, a, b, c, d, keys[40]);
	LAST(out + 4, b, c, d, a, keys[41]);
	LAST(out + 8, c, d, a, b, keys[42]);
	LAST(out + 12, d, a, b, c, keys[43]);
}

kernel void queens(uint n, global uint *counts) {
	uint i = get_global_id(0), left[20], down[20], right[20], free[20];
	uint board = (1u << n) - 1, count = 0, a = 1u << i / n, b = 1u << i % n;
	if (i >= n * n)
		return;
	if (!(b & (a | a << 1 | a >> 1))) {
		int row = 2;
		left[2] = (a << 1 | b) << 1, down[2] = a | b, right[2] = (a >> 1 | b) >> 1;
		free[2] = board & ~(left[2] | down[2] | right[2]);
		while (row >= 2) {
			if (!free[row]) {
				row--;
				continue;
			}
			uint bit = free[row] & -free[row];
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
