// The algorithms of package algo for float, by hand: chunks of CHUNK elements, blocks of THREADS threads.

#pragma OPENCL FP_CONTRACT OFF
#define THREADS 256
#define EACH 8
#define CHUNK (THREADS * EACH)
#define DIGITS 16

__kernel void algo_total(int size, __global const float *x, int n, __global float *sums) {
	__local float part[THREADS];
	int me = get_local_id(0), from = get_group_id(0) * size, to = min(from + size, n);
	float sum = 0;
	for (int i = from + me; i < to; i += THREADS) sum += x[i];
	part[me] = sum;
	for (int step = THREADS / 2; step > 0; step /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (me < step) part[me] += part[me + step];
	}
	if (me == 0) sums[get_group_id(0)] = part[0];
}


#define SCAN(NAME, T)                                                                                                                        \
	__kernel void NAME(__global const T *x, __global const T *before, int chunks, int exclusive, int n, __global T *sums) {                  \
		__local T tile[CHUNK], part[THREADS];                                                                                                \
		int me = get_local_id(0), from = get_group_id(0) * CHUNK, left = min(CHUNK, n - from);                                               \
		for (int i = me; i < CHUNK; i += THREADS) tile[i] = i < left ? x[from + i] : 0;                                                      \
		barrier(CLK_LOCAL_MEM_FENCE);                                                                                                        \
		T own = 0;                                                                                                                           \
		for (int i = me * EACH; i < me * EACH + EACH; i++) own += tile[i];                                                                   \
		part[me] = own;                                                                                                                      \
		for (int step = 1; step < THREADS; step *= 2) {                                                                                      \
			barrier(CLK_LOCAL_MEM_FENCE);                                                                                                    \
			T more = me >= step ? part[me - step] : 0;                                                                                       \
			barrier(CLK_LOCAL_MEM_FENCE);                                                                                                    \
			part[me] += more;                                                                                                                \
		}                                                                                                                                    \
		barrier(CLK_LOCAL_MEM_FENCE);                                                                                                        \
		T sum = me > 0 ? part[me - 1] : 0;                                                                                                   \
		if (chunks > 1) sum += before[get_group_id(0)];                                                                                      \
		for (int i = me * EACH; i < me * EACH + EACH; i++) {                                                                                 \
			T v = tile[i];                                                                                                                   \
			if (exclusive) tile[i] = sum;                                                                                                    \
			sum += v;                                                                                                                        \
			if (!exclusive) tile[i] = sum;                                                                                                   \
		}                                                                                                                                    \
		barrier(CLK_LOCAL_MEM_FENCE);                                                                                                        \
		for (int i = me; i < left; i += THREADS) sums[from + i] = tile[i];                                                                   \
	}
SCAN(algo_scan, float)
SCAN(algo_scan_counts, uint)

__kernel void algo_total_counts(__global const uint *x, int n, __global uint *sums) {
	__local uint part[THREADS];
	int me = get_local_id(0), from = get_group_id(0) * CHUNK, to = min(from + CHUNK, n);
	uint sum = 0;
	for (int i = from + me; i < to; i += THREADS) sum += x[i];
	part[me] = sum;
	for (int step = THREADS / 2; step > 0; step /= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (me < step) part[me] += part[me + step];
	}
	if (me == 0) sums[get_group_id(0)] = part[0];
}

int digit(float key, uint shift) {
	uint b = as_uint(key);
	return (b >> 31 ? ~b : b | 0x80000000u) >> shift & (DIGITS - 1);
}

__kernel void algo_count(__global const float *keys, uint shift, int n, __global uint *counts) {
	__local uint own[DIGITS];
	int me = get_local_id(0), from = get_group_id(0) * CHUNK, to = min(from + CHUNK, n);
	if (me < DIGITS) own[me] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int i = from + me; i < to; i += THREADS) atomic_inc(&own[digit(keys[i], shift)]);
	barrier(CLK_LOCAL_MEM_FENCE);
	if (me < DIGITS) counts[me * get_num_groups(0) + get_group_id(0)] = own[me];
}

__kernel void algo_scatter(__global const float *keys, __global const uint *starts, uint shift, int n, __global float *sorted) {
	__local uint table[DIGITS * THREADS], part[THREADS], first[DIGITS];
	int me = get_local_id(0), from = get_group_id(0) * CHUNK, begin = min(from + me * EACH, n), end = min(from + me * EACH + EACH, n);
	for (int d = 0; d < DIGITS; d++) table[d * THREADS + me] = 0;
	for (int i = begin; i < end; i++) table[digit(keys[i], shift) * THREADS + me]++;
	barrier(CLK_LOCAL_MEM_FENCE);
	uint own = 0;
	for (int i = me * DIGITS; i < me * DIGITS + DIGITS; i++) own += table[i];
	part[me] = own;
	for (int step = 1; step < THREADS; step *= 2) {
		barrier(CLK_LOCAL_MEM_FENCE);
		uint more = me >= step ? part[me - step] : 0;
		barrier(CLK_LOCAL_MEM_FENCE);
		part[me] += more;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	uint sum = part[me] - own;
	for (int i = me * DIGITS; i < me * DIGITS + DIGITS; i++) {
		uint n = table[i];
		table[i] = sum;
		sum += n;
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	if (me < DIGITS) first[me] = table[me * THREADS] - starts[me * get_num_groups(0) + get_group_id(0)];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int i = begin; i < end; i++) {
		int d = digit(keys[i], shift);
		sorted[table[d * THREADS + me]++ - first[d]] = keys[i];
	}
}
