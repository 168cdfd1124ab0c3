/* What the threads of a block do together. */
extern "C" __global__ void reduce(int *sum, const int *x, int n) {
    extern __shared__ int part[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    part[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        atomicAdd(sum, part[0]);
}

/* The sums of all elements up to each one, for one block of 128 threads. */
extern "C" __global__ void scan(unsigned *x, unsigned n) {
    __shared__ unsigned a[2][128];
    unsigned t = threadIdx.x, from = 0;
    a[0][t] = t < n ? x[t] : 0;
    __syncthreads();
    for (unsigned d = 1; d < 128; d *= 2) {
        unsigned to = 1 - from;
        a[to][t] = t >= d ? a[from][t] + a[from][t - d] : a[from][t];
        from = to;
        __syncthreads();
    }
    if (t < n)
        x[t] = a[from][t];
}

extern "C" __global__ void histogram(unsigned *bins, const unsigned char *x, unsigned n) {
    __shared__ unsigned own[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        own[i] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x)
        atomicAdd(&bins[i], own[i]);
}

/* Sorts 256 elements in one block of 128 threads. */
extern "C" __global__ void bitonic(int *x) {
    __shared__ int s[256];
    unsigned t = threadIdx.x;
    s[t] = x[t];
    s[t + 128] = x[t + 128];
    for (unsigned k = 2; k <= 256; k *= 2)
        for (unsigned j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            unsigned i = 2 * t - (t & (j - 1));
            bool up = (i & k) == 0;
            int a = s[i], b = s[i + j];
            if ((a > b) == up) {
                s[i] = b;
                s[i + j] = a;
            }
        }
    __syncthreads();
    x[t] = s[t];
    x[t + 128] = s[t + 128];
}

extern "C" __global__ void votes(int *out, const int *x) {
    int t = threadIdx.x, v = x[t];
    out[3 * t] = __syncthreads_count(v > 3);
    out[3 * t + 1] = __syncthreads_and(v > 3) != 0;
    out[3 * t + 2] = __syncthreads_or(v > 3) != 0;
}
