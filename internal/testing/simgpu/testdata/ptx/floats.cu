/* Conversions of a number to every type of integer: 8 results of 64 bits each. */
extern "C" __global__ void to_ints(long long *out, const float *x, const double *y, unsigned n) {
    unsigned i = threadIdx.x;
    if (i >= n)
        return;
    long long *o = out + 12 * i;
    o[0] = (int)x[i];
    o[1] = (unsigned)x[i];
    o[2] = (long long)x[i];
    o[3] = (long long)(unsigned long long)x[i];
    o[4] = (int)y[i];
    o[5] = (unsigned)y[i];
    o[6] = (long long)y[i];
    o[7] = (long long)(unsigned long long)y[i];
    o[8] = __float2int_rn(x[i]);
    o[9] = __float2int_ru(x[i]);
    o[10] = __float2int_rd(x[i]);
    o[11] = __double2int_rn(y[i]);
}

extern "C" __global__ void from_ints(float *f, double *d, const long long *x, unsigned n) {
    unsigned i = threadIdx.x;
    if (i >= n)
        return;
    f[4 * i] = (float)(int)x[i];
    f[4 * i + 1] = (float)(unsigned)x[i];
    f[4 * i + 2] = (float)x[i];
    f[4 * i + 3] = (float)(unsigned long long)x[i];
    d[4 * i] = (double)(signed char)x[i];
    d[4 * i + 1] = (double)(unsigned short)x[i];
    d[4 * i + 2] = (double)x[i];
    d[4 * i + 3] = (double)(unsigned long long)x[i];
}

/* Arithmetic that is exact, in all directions of rounding. */
extern "C" __global__ void exact(float *f, double *d, const float *x, const float *y, unsigned n) {
    unsigned i = threadIdx.x;
    if (i >= n)
        return;
    float a = x[i], b = y[i], *o = f + 14 * i;
    double c = (double)a / 3, e = (double)b * 1.1, *p = d + 8 * i;
    o[0] = __fadd_rn(a, b);
    o[1] = __fmul_rn(a, b);
    o[2] = __fmaf_rn(a, b, a);
    o[3] = __fdiv_rn(a, b);
    o[4] = __fsqrt_rn(fabsf(a));
    o[5] = __frcp_rn(b);
    o[6] = __fadd_rz(a, b);
    o[7] = __fmul_ru(a, b);
    o[8] = __fdiv_rd(a, b);
    o[9] = fminf(a, b);
    o[10] = fmaxf(a, -b);
    o[11] = copysignf(a, b);
    o[12] = truncf(a) + rintf(b) + floorf(a) + ceilf(b);
    o[13] = (float)c;
    p[0] = __dadd_rn(c, e);
    p[1] = __dmul_rn(c, e);
    p[2] = fma(c, e, c);
    p[3] = __ddiv_rn(c, e);
    p[4] = __dsqrt_rn(fabs(c));
    p[5] = __dadd_ru(c, e);
    p[6] = fmin(c, e);
    p[7] = (double)(isnan(a) + 2 * isinf(b) + 4 * signbit(a));
}

/* Functions of the mathematical library. */
extern "C" __global__ void library(float *f, double *d, const float *x, unsigned n) {
    unsigned i = threadIdx.x;
    if (i >= n)
        return;
    float a = x[i], *o = f + 10 * i;
    double b = a, *p = d + 6 * i;
    o[0] = sinf(a);
    o[1] = cosf(a);
    o[2] = expf(a);
    o[3] = logf(fabsf(a) + 1);
    o[4] = powf(fabsf(a), 1.7f);
    o[5] = tanhf(a);
    o[6] = sqrtf(fabsf(a));
    o[7] = atanf(a);
    o[8] = fmodf(a, 2.5f);
    o[9] = rsqrtf(fabsf(a) + 1);
    p[0] = sin(b);
    p[1] = exp(b);
    p[2] = log(fabs(b) + 1);
    p[3] = pow(fabs(b), 0.3);
    p[4] = atan2(b, 2.0);
    p[5] = fmod(b, 0.7);
}

extern "C" __global__ void mandelbrot(int *out, int width, int height, int limit) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height)
        return;
    float cx = -2.0f + 3.0f * px / width, cy = -1.0f + 2.0f * py / height, x = 0, y = 0;
    int i = 0;
    while (i < limit && x * x + y * y <= 4) {
        float t = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = t;
        i++;
    }
    out[py * width + px] = i;
}

/* Newton's method in double precision. */
extern "C" __global__ void roots(double *x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double a = x[i], r = a;
    for (int k = 0; k < 60 && r > 0; k++)
        r = 0.5 * (r + a / r);
    x[i] = r;
}
