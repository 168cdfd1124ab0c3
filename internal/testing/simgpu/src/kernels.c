/*
 * The C functions that stand for kernels. A kernel is found by its name, and its parameters must be
 * those that the image declares; otherwise the image is refused.
 *
 * Images that tests declare have no code, and use the first table. An image of a compiler has code,
 * which may do anything under the same name and with the same parameters. Two programs of this kind
 * are known, each by the list of all its kernels: the program of package conformance and that of
 * the command's benchmark. The PTX of other programs is interpreted.
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

/* y = a*x + y. Parameters: x, y, a, n. */
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

/* The work of the threads of a block. Thread (x, y, z) of the grid works on element x + y*width +
 * z*width*height. */
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

/* Adds one, to show which threads ran. */
static int tally(const struct work *w) {
    return by_place(w, true);
}

/* Stores the thread's indexes: x, y, z in the grid in 8 bits each, and x, y, z in the block in 3, 3
 * and 2 bits. */
static int place(const struct work *w) {
    return by_place(w, false);
}

/* out[block] = the sum of the block's part of in. It uses 4 bytes of shared memory for each thread. */
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

/* Fails with the error that its parameter names. */
static int fault(const struct work *w) {
    return (int)word(w, 0);
}

static int nothing(const struct work *w) {
    (void)w;
    return OK;
}

/* ---- the program of package conformance: its text is in conformance/kernel.go ---- */

/* The threads of the block in the first dimension, by their index in the grid. */
#define ALONG(i, count) \
    for (u64 i = (u64)w->at[0] * w->block[0], last_ = (count), end_ = i + w->block[0]; i < end_ && i < last_; i++)

static u64 along(const struct launch *l) {
    return (u64)l->grid[0] * l->block[0];
}

/* The bytes of n elements. n is the number of threads in the first dimension, or the parameter if
 * that is smaller. */
static u64 along_extent(const struct launch *l, u32 param) {
    u32 n;
    memcpy(&n, l->params + l->fn->param[param].off, sizeof n);
    u64 all = along(l);
    return 4 * (all < n ? all : n);
}

static int suite_put(const struct work *w) {
    u32 *y = w->ptr[0];
    ALONG(i, word(w, 2))
    y[i] = word(w, 1);
    return OK;
}

static u64 put_extent(const struct launch *l, int pointer) {
    (void)pointer;
    return along_extent(l, 2);
}

static int suite_first_or_none(const struct work *w) {
    const u32 *x = w->ptr[0];
    u32 *y = w->ptr[1], v = 1 + (word(w, 2) > 0 ? x[0] : 0);
    for (u64 t = 0; t < w->threads; t++)
        y[(u64)w->at[0] * w->block[0] + t % w->block[0]] = v;
    return OK;
}

static u64 first_or_none_extent(const struct launch *l, int pointer) {
    u32 n;
    memcpy(&n, l->params + l->fn->param[2].off, sizeof n);
    if (pointer == 0)
        return n ? 4 : 0;
    return 4 * along(l);
}

static int suite_add(const struct work *w) {
    const u32 *x = w->ptr[0];
    u32 *y = w->ptr[1];
    ALONG(i, word(w, 3))
    y[i] = x[i] + word(w, 2);
    return OK;
}

static u64 add_extent(const struct launch *l, int pointer) {
    (void)pointer;
    return along_extent(l, 3);
}

/* Some bytes of a parameter, as a word of 8 bytes. */
static u64 wide(const struct work *w, u32 param, u32 from, u32 bytes) {
    u64 v = 0;
    memcpy(&v, w->val[param] + from, bytes);
    return v;
}

static int suite_scalars(const struct work *w) {
    int8_t f;
    memcpy(&f, w->val[6], sizeof f);
    u64 y[] = {wide(w, 1, 0, 1), wide(w, 2, 0, 2), wide(w, 3, 0, 4), wide(w, 4, 0, 8), wide(w, 5, 0, 4), (u64)(i64)f};
    if (w->at[0] == 0)
        memcpy(w->ptr[0], y, sizeof y);
    return OK;
}

static u64 scalars_extent(const struct launch *l, int pointer) {
    (void)l, (void)pointer;
    return 48;
}

static int suite_members(const struct work *w) {
    u64 y[] = {wide(w, 1, 0, 8),  wide(w, 1, 8, 4),  wide(w, 1, 12, 1), wide(w, 1, 14, 2),
               wide(w, 1, 16, 4), wide(w, 1, 24, 4), wide(w, 1, 28, 1)};
    if (w->at[0] == 0)
        memcpy(w->ptr[0], y, sizeof y);
    return OK;
}

static u64 members_extent(const struct launch *l, int pointer) {
    (void)l, (void)pointer;
    return 56;
}

static int suite_visit(const struct work *w) {
    u32 *y = w->ptr[0];
    u64 nx = (u64)w->grid[0] * w->block[0], ny = (u64)w->grid[1] * w->block[1];
    u32 b = w->at[0] + w->grid[0] * (w->at[1] + w->grid[1] * w->at[2]), t = 0;
    for (u32 z = 0; z < w->block[2]; z++)
        for (u32 j = 0; j < w->block[1]; j++)
            for (u32 x = 0; x < w->block[0]; x++, t++) {
                u64 gx = (u64)w->at[0] * w->block[0] + x, gy = (u64)w->at[1] * w->block[1] + j, gz = (u64)w->at[2] * w->block[2] + z;
                y[gx + nx * (gy + ny * gz)] += 1 + (b << 20) + (t << 8);
            }
    return OK;
}

static u64 visit_extent(const struct launch *l, int pointer) {
    (void)pointer;
    return 4 * l->blocks * l->threads;
}

/* Each inner loop runs the code between two barriers for all threads of the block. */
static int suite_turn(const struct work *w) {
    u32 n = w->block[0], *y = (u32 *)w->ptr[0] + (u64)w->at[0] * n, *tile = (u32 *)(void *)w->shared;
    if (w->nshared < 4ull * n)
        return E_ILLEGAL;
    for (int round = 0; round < 3; round++) {
        for (u32 t = 0; t < n; t++)
            tile[t] = y[t];
        for (u32 t = 0; t < n; t++)
            y[t] = tile[n - 1 - t] + 1;
    }
    return OK;
}

static u64 turn_extent(const struct launch *l, int pointer) {
    (void)pointer;
    return 4 * along(l);
}

/* In the block, each word moves one place down, and the first becomes the last. */
static int suite_shift(const struct work *w) {
    u32 n = w->block[0], *s = (u32 *)(void *)w->shared;
    const u32 *x = (const u32 *)w->ptr[0] + (u64)w->at[0] * n;
    u32 *y = (u32 *)w->ptr[1] + (u64)w->at[0] * n;
    if (w->nshared < 4ull * n)
        return E_ILLEGAL;
    for (u32 t = 0; t < n; t++)
        s[t] = x[t];
    for (u32 t = 0; t < n; t++)
        y[t] = s[(t + 1) % n];
    return OK;
}

static int suite_shift_buffer(const struct work *w) {
    u32 n = w->block[0], *y = (u32 *)w->ptr[0] + (u64)w->at[0] * n, first = y[0];
    for (u32 t = 0; t + 1 < n; t++)
        y[t] = y[t + 1];
    y[n - 1] = first;
    return OK;
}

static int suite_count(const struct work *w) {
    u32 *y = w->ptr[0];
    for (u64 t = 0; t < w->threads; t++)
        y[((u64)w->at[0] * w->block[0] + t % w->block[0]) % 7]++;
    return OK;
}

static u64 count_extent(const struct launch *l, int pointer) {
    u64 all = along(l);
    (void)pointer;
    return 4 * (all < 7 ? all : 7);
}

/* ---- the program of the command's benchmark: its text is in cmd/halyard/bench_launch.go ---- */

static int bench_six(const struct work *w) {
    u32 *y = w->ptr[0];
    ALONG(i, word(w, 5))
    y[i] = word(w, 1) + word(w, 2) + word(w, 3) + word(w, 4);
    return OK;
}

static u64 six_extent(const struct launch *l, int pointer) {
    (void)pointer;
    return along_extent(l, 5);
}

static int bench_five(const struct work *w) {
    u32 sum = 0;
    for (int i = 1; i < 5; i++)
        sum += *(const u32 *)w->ptr[i];
    if (w->at[0] == 0)
        *(u32 *)w->ptr[0] = sum;
    return OK;
}

static u64 five_extent(const struct launch *l, int pointer) {
    (void)l, (void)pointer;
    return 4;
}

static const struct body bodies[] = {
    {"saxpy", "ppfu", "rm", 3, 4, NULL, -1, saxpy},
    {"fill", "puu", "w", 2, 4, NULL, -1, fill},
    {"add_one", "pu", "m", 1, 4, NULL, -1, add_one},
    {"copy", "ppu", "wr", 2, 4, NULL, -1, copy},
    {"sum_four", "puuuuu", "w", 5, 4, NULL, -1, sum_four},
    {"widths", "pbhulfd", "w", -1, 0, widths_extent, -1, widths},
    {"record", "ps", "w", -1, 0, record_extent, -1, record},
    {"tally", "pu", "m", 1, 4, NULL, -1, tally},
    {"place", "pu", "w", 1, 4, NULL, -1, place},
    {"block_sum", "ppu", "wr", -1, 0, block_sum_extent, -1, block_sum},
    {"slow", "puu", "m", 1, 4, NULL, 2, add_one}, /* runs as many times as its last parameter says */
    {"fault", "u", "", -1, 0, NULL, -1, fault},
    {"nothing", "", "", -1, 0, NULL, -1, nothing},
};

static const struct body suite[] = {
    {"put", "puu", "w", -1, 0, put_extent, -1, suite_put},
    {"first_or_none", "ppu", "rw", -1, 0, first_or_none_extent, -1, suite_first_or_none},
    {"add", "ppuu", "rw", -1, 0, add_extent, -1, suite_add},
    {"scalars", "pbhulfb", "w", -1, 0, scalars_extent, -1, suite_scalars},
    {"members", "pt", "w", -1, 0, members_extent, -1, suite_members},
    {"visit", "p", "m", -1, 0, visit_extent, -1, suite_visit},
    {"turn", "p", "m", -1, 0, turn_extent, -1, suite_turn},
    {"shift", "pp", "rw", -1, 0, turn_extent, -1, suite_shift},
    {"shift_buffer", "p", "m", -1, 0, turn_extent, -1, suite_shift_buffer},
    {"count", "p", "m", -1, 0, count_extent, -1, suite_count},
};

static const struct body bench[] = {
    {"six", "puuuuu", "w", -1, 0, six_extent, -1, bench_six},
    {"five", "ppppp", "wrrrr", -1, 0, five_extent, -1, bench_five},
};

static const struct program {
    const struct body *v;
    size_t n;
} programs[] = {{suite, sizeof suite / sizeof *suite}, {bench, sizeof bench / sizeof *bench}};

static const struct body *among(const struct body *list, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i].name, name))
            return &list[i];
    return NULL;
}

/* Whether the kernel has the parameters of the body. */
static bool fits(const struct function *f, const struct body *b) {
    bool same = f->nparams == strlen(b->takes);
    for (u32 p = 0; p < f->nparams && same; p++)
        same = f->param[p].size == body_size(b->takes[p]) && (!f->kinds || f->param[p].pointer == (b->takes[p] == 'p'));
    return same;
}

/* Whether the image is the program: it has the program's kernels, with their parameters, and no
 * others. */
static bool is(const struct module *m, const struct program *p) {
    bool same = m->n == p->n;
    for (u32 i = 0; i < m->n && same; i++) {
        const struct body *b = among(p->v, p->n, m->v[i]->name);
        same = b && fits(m->v[i], b);
        for (u32 j = 0; j < i && same; j++)
            same = strcmp(m->v[i]->name, m->v[j]->name) != 0;
    }
    return same;
}

const struct body *body_find(const struct function *f, bool *other) {
    const struct module *m = f->module;
    *other = false;
    if (m->compiled) {
        for (size_t i = 0; i < sizeof programs / sizeof *programs && !m->program; i++)
            if (is(m, &programs[i]))
                return among(programs[i].v, programs[i].n, f->name);
        return NULL;
    }
    const struct body *b = among(bodies, sizeof bodies / sizeof *bodies, f->name);
    *other = b && !fits(f, b);
    return *other ? NULL : b;
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
    case 't':
        return 32;
    case 's':
        return 40;
    }
    return 8;
}
