/*
 * Runs kernels that have PTX and no C function: the engine's interface to the interpreter.
 */
#include "engine.h"
#include "ptx.h"

/* The memory that one run may use. last is where the bytes of the last access are: view follows access, for the same
 * bytes. */
struct reached {
    const struct reach *by;
    void *last;
};

static bool may_use(void *ctx, u64 addr, u32 size, bool write, bool atomic) {
    struct reached *r = ctx;
    (void)atomic;
    r->last = r->by->bytes(r->by->arg, addr, size, write);
    return r->last != NULL;
}

static void *seen_at(void *ctx, u64 addr, u32 size) {
    (void)addr;
    (void)size;
    return ((struct reached *)ctx)->last;
}

static void *parse(const char *text, char *log, size_t len) { return ptx_parse(text, log, len); }
static void drop(void *program) { ptx_free(program); }
static void *find_entry(void *program, const char *name) { return ptx_find(program, name); }

static int status_of(int fault) {
    switch (fault) {
    case PTX_OK:
        return OK;
    case PTX_LAUNCH:
        return E_VALUE;
    case PTX_MEMORY:
        return E_RESOURCES;
    case PTX_ADDRESS:
    case PTX_MISALIGNED:
        return E_ILLEGAL;
    }
    return E_LAUNCH;
}

static int run(void *entry, const void *params, const u32 grid[3], const u32 block[3], u64 shared, const struct reach *reach, char *log, size_t len) {
    static u64 runs; /* at most one runs at a time */
    struct reached r = {.by = reach};
    ptx_memory mem = {.ctx = &r, .access = may_use, .view = seen_at, .seed = ++runs};
    log[0] = 0;
    return status_of(ptx_run(entry, params, grid, block, shared, &mem, log, len));
}

static const struct interpreter ptx = {parse, drop, find_entry, run};
const struct interpreter *interpreter = &ptx;
