/* Conjugate gradients on the Laplacian of an n x n grid, in OpenCL and C, with memory that is managed by hand: what examples/cg does, written as
   one writes it without a library. It prints the nanoseconds of a step, and the square of the residual's length after the last.

       cg KERNELS N STEPS PLATFORM [PLATFORM] */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BETWEEN = 16, THREADS = 64 };

static void check(cl_int code, const char *call) {
    if (code != CL_SUCCESS) {
        fprintf(stderr, "%s: %d\n", call, code);
        exit(1);
    }
}

#define CALL(call) check(call, #call)

struct part {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue;
    cl_kernel product, total, laplace, advance, direct;
    size_t lo, hi, above, below; /* rows [lo, hi), and whether there is a neighbour */
    /* p has a row more where there is a neighbour; sums are those of all rows on the first part, and of its own elsewhere. */
    cl_mem x, r, p, q, sums, rr, next, pq;
};

static size_t n;

static cl_device_id find(const char *name) {
    cl_platform_id all[16];
    cl_uint count;
    CALL(clGetPlatformIDs(16, all, &count));
    for (cl_uint i = 0; i < count && i < 16; i++) {
        char text[256];
        cl_device_id device;
        CALL(clGetPlatformInfo(all[i], CL_PLATFORM_NAME, sizeof text, text, NULL));
        if (strstr(text, name) && clGetDeviceIDs(all[i], CL_DEVICE_TYPE_ALL, 1, &device, NULL) == CL_SUCCESS)
            return device;
    }
    fprintf(stderr, "no platform %s\n", name);
    exit(1);
}

static char *contents(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END)) {
        perror(path);
        exit(1);
    }
    long size = ftell(f);
    char *text = malloc(size + 1);
    rewind(f);
    if (!text || fread(text, 1, size, f) != (size_t)size) {
        perror(path);
        exit(1);
    }
    text[size] = 0;
    fclose(f);
    return text;
}

static cl_mem memory(struct part *t, size_t floats, const float *from) {
    cl_int code;
    cl_mem m = clCreateBuffer(t->context, CL_MEM_READ_WRITE | (from ? CL_MEM_COPY_HOST_PTR : 0), 4 * floats, (void *)from, &code);
    check(code, "clCreateBuffer");
    return m;
}

static void start(struct part *t, const char *platform, const char *text, const float *b) {
    cl_int code;
    t->device = find(platform);
    t->context = clCreateContext(NULL, 1, &t->device, NULL, NULL, &code);
    check(code, "clCreateContext");
    t->queue = clCreateCommandQueue(t->context, t->device, 0, &code);
    check(code, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(t->context, 1, &text, NULL, &code);
    check(code, "clCreateProgramWithSource");
    CALL(clBuildProgram(program, 1, &t->device, "", NULL, NULL));
    t->product = clCreateKernel(program, "product", &code);
    t->total = clCreateKernel(program, "total", &code);
    t->laplace = clCreateKernel(program, "laplace", &code);
    t->advance = clCreateKernel(program, "advance", &code);
    t->direct = clCreateKernel(program, "direct", &code);
    check(code, "clCreateKernel");
    size_t own = (t->hi - t->lo) * n;
    float *zeros = calloc(own, 4);
    t->x = memory(t, own, zeros);
    t->q = memory(t, own, NULL);
    t->r = memory(t, own, b + t->lo * n);
    t->p = memory(t, own + (t->above + t->below) * n, b + (t->lo - t->above) * n);
    t->sums = memory(t, n, NULL);
    t->rr = memory(t, 1, NULL);
    t->next = memory(t, 1, NULL);
    t->pq = memory(t, 1, NULL);
    free(zeros);
}

static void arg(cl_kernel k, cl_uint i, size_t size, const void *value) { check(clSetKernelArg(k, i, size, value), "clSetKernelArg"); }

static void number(cl_kernel k, cl_uint i, size_t value) {
    cl_uint v = (cl_uint)value;
    arg(k, i, sizeof v, &v);
}

static void launch(struct part *t, cl_kernel k, cl_uint dims, size_t w, size_t h, size_t block) {
    size_t global[2] = {w, h}, local[2] = {block, 1};
    CALL(clEnqueueNDRangeKernel(t->queue, k, dims, NULL, global, local, 0, NULL, NULL));
}

static size_t up(size_t v, size_t to) { return (v + to - 1) / to * to; }

/* The rows of p that a part owns begin after the neighbour's. In OpenCL 1.2 a kernel takes whole buffers: parts are made once. */
static cl_mem inner(struct part *t) {
    static struct { struct part *t; cl_mem m; } made[2];
    int i = made[0].t && made[0].t != t;
    if (!made[i].t) {
        cl_buffer_region r = {4 * t->above * n, 4 * (t->hi - t->lo) * n};
        cl_int code;
        made[i].t = t;
        made[i].m = clCreateSubBuffer(t->p, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &r, &code);
        check(code, "clCreateSubBuffer");
    }
    return made[i].m;
}

static void dot(struct part *t, int parts, int of_p, int which) {
    float sums[1 << 14], sum;
    for (int i = 0; i < parts; i++) {
        cl_mem a = of_p ? inner(&t[i]) : t[i].r;
        arg(t[i].product, 0, sizeof a, &a);
        arg(t[i].product, 1, sizeof a, of_p ? &t[i].q : &t[i].r);
        arg(t[i].product, 2, sizeof a, &t[i].sums);
        number(t[i].product, 3, n);
        arg(t[i].product, 4, 4 * THREADS, NULL);
        launch(&t[i], t[i].product, 1, (t[i].hi - t[i].lo) * THREADS, 1, THREADS);
        if (i > 0) {
            CALL(clFlush(t[0].queue));
            CALL(clEnqueueReadBuffer(t[i].queue, t[i].sums, CL_TRUE, 0, 4 * (t[i].hi - t[i].lo), sums, 0, NULL, NULL));
            CALL(clEnqueueWriteBuffer(t[0].queue, t[0].sums, CL_TRUE, 4 * t[i].lo, 4 * (t[i].hi - t[i].lo), sums, 0, NULL, NULL));
        }
    }
    cl_mem to = which ? t[0].next : of_p ? t[0].pq : t[0].rr;
    arg(t[0].total, 0, sizeof to, &t[0].sums);
    arg(t[0].total, 1, sizeof to, &to);
    number(t[0].total, 2, n);
    arg(t[0].total, 3, 4 * THREADS, NULL);
    launch(t, t[0].total, 1, THREADS, 1, THREADS);
    for (int i = 1; i < parts; i++) {
        if (i == 1)
            CALL(clEnqueueReadBuffer(t[0].queue, to, CL_TRUE, 0, 4, &sum, 0, NULL, NULL));
        CALL(clEnqueueWriteBuffer(t[i].queue, which ? t[i].next : of_p ? t[i].pq : t[i].rr, CL_TRUE, 0, 4, &sum, 0, NULL, NULL));
    }
}

static void halos(struct part *t, int parts) {
    static float row[1 << 14];
    for (int i = 0; i + 1 < parts; i++) {
        size_t last = t[i].above + t[i].hi - t[i].lo;
        CALL(clEnqueueReadBuffer(t[i].queue, t[i].p, CL_TRUE, 4 * n * (last - 1), 4 * n, row, 0, NULL, NULL));
        CALL(clEnqueueWriteBuffer(t[i + 1].queue, t[i + 1].p, CL_TRUE, 0, 4 * n, row, 0, NULL, NULL));
        CALL(clEnqueueReadBuffer(t[i + 1].queue, t[i + 1].p, CL_TRUE, 4 * n, 4 * n, row, 0, NULL, NULL));
        CALL(clEnqueueWriteBuffer(t[i].queue, t[i].p, CL_TRUE, 4 * n * last, 4 * n, row, 0, NULL, NULL));
    }
}

static void step(struct part *t, int parts) {
    for (int i = 0; i < parts; i++) {
        arg(t[i].laplace, 0, sizeof(cl_mem), &t[i].p);
        arg(t[i].laplace, 1, sizeof(cl_mem), &t[i].q);
        number(t[i].laplace, 2, n);
        number(t[i].laplace, 3, t[i].hi - t[i].lo);
        number(t[i].laplace, 4, t[i].above);
        number(t[i].laplace, 5, t[i].below);
        launch(&t[i], t[i].laplace, 2, up(n, THREADS), t[i].hi - t[i].lo, THREADS);
    }
    dot(t, parts, 1, 0);
    for (int i = 0; i < parts; i++) {
        cl_mem p = inner(&t[i]);
        size_t own = (t[i].hi - t[i].lo) * n;
        arg(t[i].advance, 0, sizeof p, &t[i].x);
        arg(t[i].advance, 1, sizeof p, &t[i].r);
        arg(t[i].advance, 2, sizeof p, &p);
        arg(t[i].advance, 3, sizeof p, &t[i].q);
        arg(t[i].advance, 4, sizeof p, &t[i].rr);
        arg(t[i].advance, 5, sizeof p, &t[i].pq);
        number(t[i].advance, 6, own);
        launch(&t[i], t[i].advance, 1, up(own, THREADS), 1, THREADS);
    }
    dot(t, parts, 0, 1);
    for (int i = 0; i < parts; i++) {
        cl_mem p = inner(&t[i]);
        size_t own = (t[i].hi - t[i].lo) * n;
        arg(t[i].direct, 0, sizeof p, &p);
        arg(t[i].direct, 1, sizeof p, &t[i].r);
        arg(t[i].direct, 2, sizeof p, &t[i].next);
        arg(t[i].direct, 3, sizeof p, &t[i].rr);
        number(t[i].direct, 4, own);
        launch(&t[i], t[i].direct, 1, up(own, THREADS), 1, THREADS);
        cl_mem now = t[i].next;
        t[i].next = t[i].rr;
        t[i].rr = now;
    }
    halos(t, parts);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * t.tv_sec + t.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc < 5 || argc > 6) {
        fprintf(stderr, "usage: cg KERNELS N STEPS PLATFORM [PLATFORM]\n");
        return 2;
    }
    static struct part t[2];
    int parts = argc - 4, steps = atoi(argv[3]);
    n = strtoul(argv[2], NULL, 10);
    if (n < 2 || n > 1 << 14 || steps <= BETWEEN)
        return 2;
    char *text = contents(argv[1]);
    /* The right-hand side is the Laplacian of small whole numbers, as in the example. */
    float *x = malloc(4 * n * n), *b = malloc(4 * n * n);
    for (size_t i = 0; i < n * n; i++)
        x[i] = (float)((int)(i * 7 % 19) - 9 + (int)(i / n % 5));
    for (size_t i = 0; i < n * n; i++)
        b[i] = 4 * x[i] - (i >= n ? x[i - n] : 0) - (i % n ? x[i - 1] : 0) - (i % n < n - 1 ? x[i + 1] : 0) - (i < n * (n - 1) ? x[i + n] : 0);
    for (int i = 0; i < parts; i++) {
        t[i].lo = n * i / parts;
        t[i].hi = n * (i + 1) / parts;
        t[i].above = i > 0;
        t[i].below = i + 1 < parts;
        start(&t[i], argv[4 + i], text, b);
    }
    dot(t, parts, 0, 0);
    float residual;
    double begin = 0;
    for (int s = 1; s <= steps; s++) {
        step(t, parts);
        if (s % BETWEEN == 0) {
            CALL(clEnqueueReadBuffer(t[0].queue, t[0].rr, CL_TRUE, 0, 4, &residual, 0, NULL, NULL));
            if (s == BETWEEN)
                begin = now();
        }
    }
    printf("%.0f %.9g\n", (now() - begin) / (steps - BETWEEN), residual);
    return 0;
}
