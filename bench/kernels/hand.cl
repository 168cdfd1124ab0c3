// The kernels of the examples as they are written by hand in OpenCL C: indexes of type size_t, no length that is not needed, pointers through which
// alone their elements are used. Go's sums and products are rounded one by one, so that they must not be fused here either.
#pragma OPENCL FP_CONTRACT OFF

#define TILE 32
#define BLOCK 64

kernel void saxpy(int n, float a, global const float *restrict x, global float *restrict y) {
	size_t i = get_global_id(0);
	if (i < n)
		y[i] += a * x[i];
}

kernel void smooth(int width, int height, global const float *restrict from, global float *restrict to) {
	size_t x = get_global_id(0), y = get_global_id(1);
	if (x >= width || y >= height)
		return;
	size_t i = y * width + x;
	if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
		to[i] = from[i];
	else
		to[i] = (from[i - 1] + from[i + 1] + from[i - width] + from[i + width]) * 0.25f;
}

kernel void matmul(int rows, int cols, int inner, global const float *restrict a, global const float *restrict b, global float *restrict c) {
	local float at[TILE][TILE], bt[TILE][TILE];
	size_t x = get_local_id(0), y = get_local_id(1), col = get_global_id(0), row = get_global_id(1);
	float sum = 0;
	for (int k = 0; k < inner; k += TILE) {
		at[y][x] = row < rows && k + x < inner ? a[row * inner + k + x] : 0;
		bt[y][x] = col < cols && k + y < inner ? b[(k + y) * cols + col] : 0;
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int i = 0; i < TILE; i++)
			sum = fma(at[y][i], bt[i][x], sum);
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	if (row < rows && col < cols)
		c[row * cols + col] = sum;
}

// The exponentials of each row of x, divided by their sum. A block has one row of n numbers.
#define ROW 256
kernel void softmax(global const float *restrict x, global float *restrict y, int n) {
	local float part[ROW];
	size_t me = get_local_id(0), row = get_group_id(0) * n;
	float most = -INFINITY;
	for (size_t i = me; i < n; i += ROW)
		most = fmax(most, x[row + i]);
	part[me] = most;
	for (size_t apart = ROW / 2; apart > 0; apart /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (me < apart)
			part[me] = fmax(part[me], part[me + apart]);
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	most = part[0];
	barrier(CLK_LOCAL_MEM_FENCE);
	float sum = 0;
	for (size_t i = me; i < n; i += ROW)
		sum += exp(x[row + i] - most);
	part[me] = sum;
	for (size_t apart = ROW / 2; apart > 0; apart /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (me < apart)
			part[me] += part[me + apart];
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	sum = part[0];
	for (size_t i = me; i < n; i += ROW)
		y[row + i] = exp(x[row + i] - most) / sum;
}

kernel void laplace(global const float *restrict p, global float *restrict q, int n) {
	size_t j = get_global_id(0), i = get_global_id(1);
	if (i >= n || j >= n)
		return;
	size_t at = i * n + j;
	float v = 4 * p[at];
	if (i > 0)
		v -= p[at - n];
	if (j > 0)
		v -= p[at - 1];
	if (j < n - 1)
		v -= p[at + 1];
	if (i < n - 1)
		v -= p[at + n];
	q[at] = v;
}

// The dot product of each row of a and b, which may be the same. A block has one row. Its sums are added in the order of grid.BlockSum.
kernel void product(global const float *a, global const float *b, global float *restrict sums, int n) {
	local float part[BLOCK];
	size_t me = get_local_id(0), row = get_group_id(0) * n;
	float mine = 0;
	for (size_t j = me; j < n; j += BLOCK)
		mine += a[row + j] * b[row + j];
	part[me] = mine;
	for (size_t apart = 1; apart < BLOCK; apart *= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (me % (2 * apart) == 0)
			part[me] += part[me + apart];
	}
	if (me == 0)
		sums[get_group_id(0)] = part[0];
}

kernel void total(global const float *restrict sums, int n, global float *restrict out) {
	local float part[BLOCK];
	size_t me = get_local_id(0);
	float mine = 0;
	for (size_t j = me; j < n; j += BLOCK)
		mine += sums[j];
	part[me] = mine;
	for (size_t apart = 1; apart < BLOCK; apart *= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (me % (2 * apart) == 0)
			part[me] += part[me + apart];
	}
	if (me == 0)
		out[0] = part[0];
}

kernel void advance(int n, global float *restrict x, global float *restrict r, global const float *restrict p, global const float *restrict q,
	global const float *restrict rr, global const float *restrict pq) {
	size_t i = get_global_id(0);
	if (i < n) {
		float alpha = rr[0] / pq[0];
		x[i] += alpha * p[i];
		r[i] -= alpha * q[i];
	}
}

kernel void direct(int n, global float *restrict p, global const float *restrict r, global const float *restrict now, global const float *restrict before) {
	size_t i = get_global_id(0);
	if (i < n) {
		float beta = now[0] / before[0];
		p[i] = r[i] + beta * p[i];
	}
}
