/*
 * What kernels do. No code of an image is run: a kernel is found by its name here,
 * and takes what the image says that it takes, or else the image is refused.
 *
 * Unless said otherwise, thread i works on element i, up to the number of elements.
 */
#include <math.h>

#include "engine.h"

static u32 word(const struct work *w, int param) {
    u32 v;
    memcpy(&v, w->val[param], sizeof v);
    return v;
}

static float real(const struct work *w, int param) {
    float v;
    memcpy(&v, w->val[param], sizeof v);
    return v;
}

#define EACH(i, count) for (u64 i = w->first, last_ = (count); i < w->first + w->threads && i < last_; i++)

/* y = a*x + y, of x, y, a, n. */
static int saxpy(const struct work *w) {
    const float *x = w->ptr[0];
    float *y = w->ptr[1], a = real(w, 2);
    EACH(i, word(w, 3))
    y[i] = fmaf(a, x[i], y[i]);
    return OK;
}

static int fill(const struct work *w) {
    u32 *p = w->ptr[0];
    EACH(i, word(w, 2))
    p[i] = word(w, 1);
    return OK;
}

static int add_one(const struct work *w) {
    u32 *p = w->ptr[0];
    EACH(i, word(w, 1))
    p[i]++;
    return OK;
}

static int copy(const struct work *w) {
    u32 *dst = w->ptr[0];
    const u32 *src = w->ptr[1];
    EACH(i, word(w, 2))
    dst[i] = src[i];
    return OK;
}

static int scale(const struct work *w) {
    float *p = w->ptr[0];
    EACH(i, word(w, 2))
    p[i] *= real(w, 1);
    return OK;
}

/* Four numbers added up: six parameters. */
static int sum_four(const struct work *w) {
    u32 *p = w->ptr[0];
    EACH(i, word(w, 5))
    p[i] = word(w, 1) + word(w, 2) + word(w, 3) + word(w, 4);
    return OK;
}

/* Each value goes to 8 bytes of its own. */
static int widths(const struct work *w) {
    u8 *p = w->ptr[0];
    static const u32 sizes[] = {1, 2, 4, 8, 4, 8};
    if (w->first == 0) {
        memset(p, 0, 48);
        for (int i = 0; i < 6; i++)
            memcpy(p + 8 * i, w->val[1 + i], sizes[i]);
    }
    return OK;
}

static u64 widths_extent(const struct launch *l, int pointer) {
    (void)l, (void)pointer;
    return 48;
}

static int record(const struct work *w) {
    if (w->first == 0)
        memcpy(w->ptr[0], w->val[1], 40);
    return OK;
}

static u64 record_extent(const struct launch *l, int pointer) {
    (void)l, (void)pointer;
    return 40;
}

/* What is done by thread (x, y, z) of the whole grid: element x + y*width + z*width*height is its own. */
static int by_place(const struct work *w, bool count) {
    u32 *p = w->ptr[0], n = word(w, 1);
    u64 width = (u64)w->grid[0] * w->block[0], height = (u64)w->grid[1] * w->block[1];
    for (u32 z = 0; z < w->block[2]; z++)
        for (u32 y = 0; y < w->block[1]; y++)
            for (u32 x = 0; x < w->block[0]; x++) {
                u32 gx = w->at[0] * w->block[0] + x, gy = w->at[1] * w->block[1] + y, gz = w->at[2] * w->block[2] + z;
                u64 i = (gz * height + gy) * width + gx;
                if (i < n)
                    p[i] = count ? p[i] + 1 : gx | gy << 8 | gz << 16 | x << 24 | y << 27 | z << 30;
            }
    return OK;
}

/* Adds one: which threads there were. */
static int tally(const struct work *w) {
    return by_place(w, true);
}

/* Stores who the thread is: x, y, z of the grid in 8 bits each, of the block in 3, 3 and 2. */
static int place(const struct work *w) {
    return by_place(w, false);
}

/* out[block] = the sum of the block's part of in, by way of 4 bytes of shared memory for each thread. */
static int block_sum(const struct work *w) {
    u32 *out = w->ptr[0], *room = (u32 *)(void *)w->shared;
    const u32 *in = w->ptr[1];
    u64 n = word(w, 2);
    if (w->nshared < 4 * w->threads)
        return E_ILLEGAL;
    for (u64 t = 0; t < w->threads; t++)
        room[t] = w->first + t < n ? in[w->first + t] : 0;
    u32 sum = 0;
    for (u64 t = 0; t < w->threads; t++)
        sum += room[t];
    out[w->first / w->threads] = sum;
    return OK;
}

static u64 block_sum_extent(const struct launch *l, int pointer) {
    u32 n;
    memcpy(&n, l->params + l->fn->param[2].off, sizeof n);
    u64 all = l->blocks * l->threads;
    return pointer == 0 ? 4 * l->blocks : 4 * (all < n ? all : n);
}

/* Ends with the error that it is told. */
static int fault(const struct work *w) {
    return (int)word(w, 0);
}

static int nothing(const struct work *w) {
    (void)w;
    return OK;
}

static const struct body bodies[] = {
    {"saxpy", "ppfu", "rm", 3, 4, NULL, -1, saxpy},
    {"fill", "puu", "w", 2, 4, NULL, -1, fill},
    {"add_one", "pu", "m", 1, 4, NULL, -1, add_one},
    {"copy", "ppu", "wr", 2, 4, NULL, -1, copy},
    {"scale", "pfu", "m", 2, 4, NULL, -1, scale},
    {"sum_four", "puuuuu", "w", 5, 4, NULL, -1, sum_four},
    {"widths", "pbhulfd", "w", -1, 0, widths_extent, -1, widths},
    {"record", "ps", "w", -1, 0, record_extent, -1, record},
    {"tally", "pu", "m", 1, 4, NULL, -1, tally},
    {"place", "pu", "w", 1, 4, NULL, -1, place},
    {"block_sum", "ppu", "wr", -1, 0, block_sum_extent, -1, block_sum},
    {"slow", "puu", "m", 1, 4, NULL, 2, add_one}, /* as often as its last parameter says */
    {"fault", "u", "", -1, 0, NULL, -1, fault},
    {"nothing", "", "", -1, 0, NULL, -1, nothing},
};

const struct body *body_find(const char *name) {
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        if (!strcmp(bodies[i].name, name))
            return &bodies[i];
    return NULL;
}

u32 body_size(char letter) {
    switch (letter) {
    case 'b':
        return 1;
    case 'h':
        return 2;
    case 'u':
    case 'f':
        return 4;
    case 's':
        return 40;
    }
    return 8;
}
