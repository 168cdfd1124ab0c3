/* Parameters and places. */
struct pair {
    double scale;
    int add;
    char tag;
};
struct __align__(16) vec4 {
    float x, y, z, w;
};

extern "C" __global__ void by_value(double *out, struct pair p, struct vec4 v, short s, unsigned char c, long long big) {
    int i = threadIdx.x;
    const float *f = &v.x;
    out[i] = p.scale * f[i & 3] + p.add + p.tag + s + c + (double)big;
}

/* A structure with bytes between its members that nobody writes, copied whole. */
extern "C" __global__ void padded(struct pair *to, const struct pair *from, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        struct pair p = from[n - 1 - i];
        p.add += i;
        to[i] = p;
    }
}

extern "C" __global__ void grid3(unsigned *out) {
    unsigned long long x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
                       z = blockIdx.z * blockDim.z + threadIdx.z;
    unsigned long long w = gridDim.x * blockDim.x, h = gridDim.y * blockDim.y;
    out[(z * h + y) * w + x] = (unsigned)(x + 100 * y + 10000 * z);
}

/* An index that does not fit into 32 bits, brought back by an offset. */
extern "C" __global__ void far(float *x, long long from, long long stride, int n) {
    for (long long i = threadIdx.x; i < n; i += blockDim.x)
        x[from + i * stride - from] = (float)(from / 1000003 + i);
}

__device__ int counter = 5;
__constant__ float weights[4] = {0.5f, 1.5f, -2.0f, 8.0f};
__device__ const char *names[2] = {"halyard", "rope"};

extern "C" __global__ void variables(float *out, int *chars) {
    out[threadIdx.x] = weights[threadIdx.x & 3] + atomicAdd(&counter, 1) * 0;
    chars[threadIdx.x] = names[threadIdx.x & 1][threadIdx.x & 3];
}

/* A local array whose index is not known when it is compiled. */
extern "C" __global__ void locals(int *out, const int *order, int n) {
    int a[16];
    for (int i = 0; i < 16; i++)
        a[i] = i * i + threadIdx.x;
    for (int i = 0; i < n; i++) {
        int k = order[i] & 15, l = order[n - 1 - i] & 15, v = a[k];
        a[k] = a[l] + 1;
        a[l] = v;
    }
    for (int i = 0; i < 16; i++)
        out[threadIdx.x * 16 + i] = a[i];
}

extern "C" __global__ void __launch_bounds__(64) bounded(int *out) {
    out[threadIdx.x] = blockDim.x;
}

extern "C" __global__ void vectors(float4 *out, const float4 *in, uchar4 *bytes, double2 *d) {
    int i = threadIdx.x;
    float4 v = in[i];
    out[i] = make_float4(v.w, v.z, v.y, v.x);
    uchar4 b = bytes[i];
    bytes[i] = make_uchar4(b.w, b.x, b.y, b.z);
    d[i] = make_double2(d[i].y, d[i].x + v.x);
}
