/* Operations on integers of every width: out has 16 values for each pair. */
#define WIDTH(name, T, S, bits)                                                                                        \
    extern "C" __global__ void name(T *out, const T *x, const T *y, unsigned n) {                                      \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                                            \
        if (i >= n)                                                                                                    \
            return;                                                                                                    \
        T a = x[i], b = y[i], *o = out + 16 * i;                                                                       \
        S c = (S)a, d = (S)b;                                                                                          \
        unsigned s = (unsigned)b & (bits - 1);                                                                         \
        o[0] = a + b;                                                                                                  \
        o[1] = a - b;                                                                                                  \
        o[2] = a * b;                                                                                                  \
        o[3] = b ? a / b : 0;                                                                                          \
        o[4] = b ? a % b : 0;                                                                                          \
        o[5] = d && d != -1 ? (T)(c / d) : 0;                                                                          \
        o[6] = d && d != -1 ? (T)(c % d) : 0;                                                                          \
        o[7] = (T)(a << s);                                                                                            \
        o[8] = (T)(a >> s);                                                                                            \
        o[9] = (T)(c >> s);                                                                                            \
        o[10] = (T)((a & b) | (a ^ (T)~b));                                                                            \
        o[11] = (T)(c < d ? c : d);                                                                                    \
        o[12] = a > b ? a : b;                                                                                         \
        o[13] = (T)(c < 0 ? -c : c);                                                                                   \
        o[14] = (T)((a < b) + 2 * (c < d) + 4 * (a <= b) + 8 * (c >= d) + 16 * (a == b));                              \
        o[15] = (T)((a << 3) | (T)(a >> (bits - 3)));                                                                  \
    }
WIDTH(ints8, unsigned char, signed char, 8)
WIDTH(ints16, unsigned short, short, 16)
WIDTH(ints32, unsigned, int, 32)
WIDTH(ints64, unsigned long long, long long, 64)

/* What the compiler has instructions for. */
extern "C" __global__ void bits(unsigned *out, unsigned long long *wide, const unsigned *x, const unsigned *y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned a = x[i], b = y[i], *o = out + 12 * i;
    unsigned long long *w = wide + 6 * i, c = (unsigned long long)a << 32 | b;
    o[0] = __popc(a);
    o[1] = __clz(a);
    o[2] = __brev(a);
    o[3] = __ffs(a);
    o[4] = __byte_perm(a, b, 0x9351);
    o[5] = __funnelshift_l(a, b, b);
    o[6] = __funnelshift_rc(a, b, b & 63);
    o[7] = __umulhi(a, b);
    o[8] = (unsigned)__mulhi((int)a, (int)b);
    o[9] = __umul24(a, b);
    o[10] = __usad(a, b, 7);
    o[11] = (a >> 5 & 0x3ff) ^ (unsigned)((int)(a << 9) >> 20);
    w[0] = __popcll(c);
    w[1] = __clzll(c);
    w[2] = __brevll(c);
    w[3] = __umul64hi(c, c ^ 0x123456789abcdefULL);
    w[4] = (unsigned long long)__mul64hi((long long)c, ~(long long)(c * 3));
    w[5] = (unsigned long long)a * b + c;
}

/* Sums of products of small numbers. Older architectures have no such instructions. */
extern "C" __global__ void dots(unsigned *out, const unsigned *x, const unsigned *y, unsigned n) {
#if __CUDA_ARCH__ >= 610
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned a = x[i], b = y[i], *o = out + 8 * i, d;
    o[0] = __dp4a(a, b, 7u);
    o[1] = (unsigned)__dp4a((int)a, (int)b, -7);
    o[2] = __dp2a_lo(a, b, a);
    o[3] = __dp2a_hi(a, b, b);
    o[4] = (unsigned)__dp2a_lo((int)a, (int)b, 1);
    o[5] = (unsigned)__dp2a_hi((int)a, (int)b, -1);
    asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(b));
    o[6] = d;
    asm("dp2a.hi.u32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(a));
    o[7] = d;
#endif
}

/* Sums of 128 bits, for which there is a carry. */
extern "C" __global__ void carries(unsigned long long *out, const unsigned long long *x, unsigned n) {
    unsigned i = threadIdx.x;
    if (i >= n)
        return;
    unsigned __int128 a = (unsigned __int128)x[4 * i] << 64 | x[4 * i + 1], b = (unsigned __int128)x[4 * i + 2] << 64 | x[4 * i + 3];
    unsigned __int128 s = a + b, d = a - b, m = a * b;
    out[6 * i] = (unsigned long long)(s >> 64);
    out[6 * i + 1] = (unsigned long long)s;
    out[6 * i + 2] = (unsigned long long)(d >> 64);
    out[6 * i + 3] = (unsigned long long)d;
    out[6 * i + 4] = (unsigned long long)(m >> 64);
    out[6 * i + 5] = (unsigned long long)m;
}

extern "C" __global__ void atomics(unsigned *u, int *s, unsigned long long *l, float *f, double *d) {
    int t = threadIdx.x;
    __shared__ unsigned least;
    __shared__ unsigned long long all;
    if (t == 0) {
        least = 1000;
        all = 0;
    }
    __syncthreads();
    atomicMin(&least, (unsigned)(t * 7 % 50 + 3));
    atomicAdd(&all, (unsigned long long)t << 30);
    atomicAdd(&u[0], 3u);
    atomicSub(&u[1], 1u);
    atomicMax(&u[2], (unsigned)t);
    atomicOr(&u[3], 1u << (t & 31));
    atomicAnd(&u[4], ~(1u << (t & 15)));
    atomicXor(&u[5], (unsigned)t);
    atomicInc(&u[6], 9u);
    atomicDec(&u[7], 9u);
    atomicExch(&u[8], 77u);
    atomicMin(&s[0], -t);
    atomicMax(&s[1], t - 100);
    atomicAdd(&l[0], 1ull << 33);
    atomicMax(&l[1], (unsigned long long)t << 40);
    unsigned long long old = l[2], seen;
    do {
        seen = old;
        old = atomicCAS(&l[2], seen, seen * 3 + 1);
    } while (old != seen);
    atomicAdd(f, 0.5f);
    atomicAdd(d, 0.25);
    __threadfence();
    __syncthreads();
    if (t == 0) {
        u[9] = least;
        l[3] = all;
    }
}
