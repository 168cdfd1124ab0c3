/* Kernels with mistakes, each of which ends with an error. */
extern "C" __global__ void beyond(int *x, int n) {
    int i = threadIdx.x;
    if (i <= n)
        x[i] = i;
}

extern "C" __global__ void beyond_shared(int *x, int n) {
    __shared__ int a[32], b[32];
    a[threadIdx.x] = 1;
    b[threadIdx.x] = 2;
    __syncthreads();
    x[threadIdx.x] = a[threadIdx.x + n] + b[threadIdx.x];
}

extern "C" __global__ void race(int *x) {
    __shared__ int last;
    last = threadIdx.x;
    __syncthreads();
    x[threadIdx.x] = last;
}

extern "C" __global__ void no_barrier(int *x) {
    __shared__ int a[64];
    a[threadIdx.x] = x[threadIdx.x];
    x[threadIdx.x] = a[threadIdx.x ^ 1];
}

extern "C" __global__ void read_then_write(int *x) {
    __shared__ int a[64];
    a[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    int v = a[(threadIdx.x + 1) & 63];
    a[threadIdx.x] = v;
    __syncthreads();
    x[threadIdx.x] = a[threadIdx.x];
}

extern "C" __global__ void half_atomic(int *x) {
    __shared__ int sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, 1);
    x[threadIdx.x] = *(volatile int *)&sum;
}

extern "C" __global__ void never_written(int *x) {
    __shared__ int a[64];
    if (threadIdx.x < 32)
        a[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] = a[threadIdx.x];
}

extern "C" __global__ void local_never_written(int *x, int k) {
    int a[8];
    for (int i = 0; i < k; i++)
        a[x[i] & 7] = i;
    x[threadIdx.x] = a[x[8] & 7];
}

extern "C" __global__ void divergent(int *x) {
    if (threadIdx.x < 3)
        __syncthreads();
    x[threadIdx.x] = 1;
}

extern "C" __global__ void two_barriers(int *x) {
    if (threadIdx.x & 1) {
        x[threadIdx.x] = 1;
        __syncthreads();
    } else {
        x[threadIdx.x] = 2;
        __syncthreads();
        x[threadIdx.x] = 3;
    }
}

extern "C" __global__ void endless(volatile int *x) {
    while (*x == 0) {
    }
}

extern "C" __global__ void spin(int *x) {
    if (threadIdx.x == 0)
        while (atomicAdd(&x[0], 0) == 0) {
        }
    else
        atomicExch(&x[0], 1);
}

extern "C" __global__ void misaligned(char *x) {
    *(int *)(x + threadIdx.x) = 1;
}

extern "C" __global__ void by_zero(int *x, int n) {
    x[threadIdx.x] /= n - (int)threadIdx.x;
}

extern "C" __global__ void trapped(int *x) {
    if (x[0] == 7)
        __trap();
    x[0] = 1;
}

__device__ __noinline__ int deep(int *x, int n) {
    int a[4];
    a[n & 3] = n;
    x[0] += a[n & 3];
    return deep(x, n + 1) + x[a[n & 3] & 1];
}

extern "C" __global__ void recursion(int *x) {
    x[1] = deep(x, 0);
}

extern "C" __global__ void null_pointer(int *x, const int *p) {
    x[0] = *p;
}

extern "C" __global__ void constant_written(float *x) {
    static __constant__ float c[2] = {1, 2};
    const float *from = &c[x[0] > 0];
    float *p; /* by a way that hides from the compiler where it points */
    asm("mov.u64 %0, %1;" : "=l"(p) : "l"(from));
    *p = x[1];
}

extern "C" __global__ void others_local(int *x) {
    __shared__ int *p;
    int own[4];
    own[x[0] & 3] = 5;
    if (threadIdx.x == 0)
        p = &own[x[0] & 3];
    __syncthreads();
    x[threadIdx.x] = *p;
}
