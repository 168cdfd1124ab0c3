/*
 * Functions that the tests of the PTX interpreter call. They load a module, and launch kernels on
 * memory whose addresses are invented.
 */
#include <stdlib.h>
#include <string.h>

#include "../src/ptx.h"

struct range {
    uint64_t addr, size;
    uint8_t *data;
    uint64_t writable, reads, writes, atomics;
};

struct job {
    ptx_entry *entry;
    const void *params;
    uint32_t grid[3], block[3];
    uint64_t shared, seed, steps;
    struct range *ranges;
    uint64_t n;
    char *err;
    uint64_t errlen;
};

struct param {
    uint64_t size, align, offset, pointer;
};

static struct range *find(struct job *j, uint64_t addr, uint32_t size) {
    for (uint64_t i = 0; i < j->n; i++) {
        struct range *r = &j->ranges[i];
        if (addr >= r->addr && addr - r->addr <= r->size && r->size - (addr - r->addr) >= size)
            return r;
    }
    return NULL;
}

static bool access_range(void *ctx, uint64_t addr, uint32_t size, bool write, bool atomic) {
    struct range *r = find(ctx, addr, size);
    if (!r || (write && !r->writable))
        return false;
    r->reads += !write;
    r->writes += write;
    r->atomics += atomic;
    return true;
}

static void *view_range(void *ctx, uint64_t addr, uint32_t size) {
    struct range *r = find(ctx, addr, size);
    return r->data + (addr - r->addr);
}

ptx_module *test_parse(const char *text, char *err, uint64_t n) {
    return ptx_parse(text, err, n);
}

void test_free(ptx_module *m) {
    ptx_free(m);
}

ptx_entry *test_find(ptx_module *m, const char *name) {
    return ptx_find(m, name);
}

/* The properties of a kernel, as 64-bit numbers. */
void test_properties(const ptx_entry *e, uint64_t out[10]) {
    out[0] = e->nparams;
    out[1] = e->params_size;
    out[2] = e->shared;
    out[3] = e->local;
    for (int i = 0; i < 3; i++) {
        out[4 + i] = e->reqntid[i];
        out[7 + i] = e->maxntid[i];
    }
}

void test_param(const ptx_entry *e, uint64_t i, struct param *out) {
    const ptx_param *p = &e->params[i];
    *out = (struct param){p->size, p->align, p->offset, p->pointer};
}

int test_run(struct job *j) {
    ptx_memory mem = {.ctx = j, .access = access_range, .view = view_range, .seed = j->seed, .steps = j->steps};
    return ptx_run(j->entry, j->params, j->grid, j->block, j->shared, &mem, j->err, j->errlen);
}

/* The variable's address, and its size in *size. */
void *test_variable(ptx_module *m, const char *name, uint64_t *size) {
    return ptx_variable(m, name, size);
}

uint64_t test_target(const ptx_module *m) {
    return ptx_target(m);
}

uint64_t test_entries(const ptx_module *m) {
    return ptx_entries(m);
}
