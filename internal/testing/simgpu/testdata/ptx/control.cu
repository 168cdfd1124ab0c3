/* Branches and calls. */
extern "C" __global__ void choose(int *out, const int *x, int n) {
    int i = threadIdx.x;
    if (i >= n)
        return;
    int v = x[i], r;
    switch (v) {
    case 0:
        r = out[i] * 3;
        break;
    case 1:
        r = out[i] / 7 + n;
        break;
    case 2:
        out[i + n] = 5;
        r = -1;
        break;
    case 3:
        r = v << i;
        break;
    case 4:
        r = out[i] ^ 0x55;
        break;
    case 5:
        r = i % 3 - out[i];
        break;
    case 6:
        r = out[n - 1 - i + n];
        break;
    case 7:
        r = 1000;
        out[i + n] = i;
        break;
    default:
        r = 99;
    }
    out[i] = r;
}

/* A machine with a stack, whose switch is large enough for a table of branches. */
extern "C" __global__ void machine(int *out, const unsigned char *code, int n) {
    int stack[8], top = 0, acc = threadIdx.x, steps = 0;
    for (int at = 0; at < n; at++) {
        steps++;
        switch (code[at]) {
        case 0:
            acc += code[++at];
            break;
        case 1:
            acc *= 3;
            break;
        case 2:
            stack[top++ & 7] = acc;
            break;
        case 3:
            acc = stack[--top & 7];
            break;
        case 4:
            acc = -acc;
            break;
        case 5:
            acc ^= steps;
            break;
        case 6:
            if (acc & 1)
                at += code[at + 1];
            break;
        case 7:
            out[threadIdx.x] = acc;
            break;
        case 8:
            acc = out[threadIdx.x] / 2;
            break;
        case 9:
            acc <<= 2;
            break;
        case 10:
            acc = acc % 1000 + stack[(top - 1) & 7];
            break;
        case 11:
            __threadfence_block();
            acc++;
            break;
        case 12:
            acc = __popc(acc);
            break;
        default:
            at = n;
        }
    }
    out[blockDim.x + threadIdx.x] = acc;
}

struct big {
    int v[6];
};

__device__ __noinline__ int power(int base, int exponent) {
    int r = 1;
    while (exponent-- > 0)
        r *= base;
    return r;
}

__device__ __noinline__ struct big turn(struct big b, double by) {
    struct big r;
    for (int i = 0; i < 6; i++)
        r.v[i] = b.v[5 - i] + (int)(by * i);
    return r;
}

__device__ __noinline__ void store(int *to, int v) {
    *to = power(v, 2);
}

__device__ __noinline__ int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

extern "C" __global__ void calls(int *out, const int *x) {
    int i = threadIdx.x;
    struct big b;
    for (int k = 0; k < 6; k++)
        b.v[k] = x[i] + k;
    b = turn(b, 1.5);
    out[4 * i] = power(x[i], 3) + b.v[i % 6];
    store(&out[4 * i + 1], x[i]);
    out[4 * i + 2] = fibonacci(x[i] & 7);
    int own = 3;
    store(&own, i);
    out[4 * i + 3] = own;
}
