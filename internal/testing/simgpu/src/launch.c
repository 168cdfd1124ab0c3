/*
 * Launches. Parameters are read during the call, as in a real driver. The kernel runs, block by
 * block, when its lane reaches it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"

static bool on_device(const struct block *b) {
    return b->kind == DEVICE || b->kind == IMPORTED;
}

/* Finds the memory that a pointer parameter points to, and reports a violation if the kernel must
 * not use it. */
static void follow(const struct stream *s, struct launch *l, u32 param, u64 addr, u64 extent, bool write) {
    const char *name = l->fn->name;
    u64 off;
    bool alias;
    struct block *b = block_find(addr, &off, &alias);
    if (!extent && !b) /* of what the kernel does not touch any address will do, as the end of a memory */
        return;
    if (!b || b->freed || b->freeing) {
        if (b)
            violation("%s: parameter %u of kernel %s is %s memory %u, which is freed", self.call, param, name, kind_name(b->kind), b->id);
        else
            violation("%s: parameter %u of kernel %s is %s", self.call, param, name,
                      in_arena(addr) ? "in memory that is not allocated" : "a pointer that the driver does not know");
        l->bad = true;
        return;
    }
    if (b->alias && !alias) {
        violation("%s: parameter %u of kernel %s is the host's address of registered memory %u, not the device's", self.call, param,
                  name, b->id);
        l->bad = true;
    } else if (extent > b->size - off) {
        violation("%s: kernel %s goes out of bounds of %s memory %u of %llu bytes: [%llu,%llu)", self.call, name, kind_name(b->kind),
                  b->id, (unsigned long long)b->size, (unsigned long long)off, (unsigned long long)(off + extent));
        l->bad = true;
    } else if (on_device(b) && b->dev != s->ctx->dev && !(s->ctx->peers >> b->dev & 1)) {
        violation("%s: parameter %u of kernel %s is memory of device %d, which stream %u of device %d may not use", self.call, param,
                  name, b->dev, s->id, s->ctx->dev);
        l->bad = true;
    }
    l->of[param] = (s8)l->nuses;
    l->use[l->nuses++] = (struct use){.b = b, .lo = off, .hi = l->bad ? off : off + extent, .write = write};
}

static u64 extent_of(const struct launch *l, int pointer) {
    const struct body *body = l->fn->body;
    if (body->extent)
        return body->extent(l, pointer);
    u32 n;
    memcpy(&n, l->params + l->fn->param[body->count].off, sizeof n);
    u64 all = l->blocks * l->threads;
    return (all < n ? all : n) * (u64)body->element;
}

static void follow_all(const struct stream *s, struct launch *l) {
    const struct function *f = l->fn;
    int pointer = 0;
    for (u32 i = 0; i < f->nparams; i++) {
        u64 addr;
        l->of[i] = -1;
        if (f->param[i].size != sizeof addr)
            continue;
        memcpy(&addr, l->params + f->param[i].off, sizeof addr);
        if (f->body && f->body->takes[i] == 'p') {
            follow(s, l, i, addr, extent_of(l, pointer), f->body->uses[pointer] != 'r');
            pointer++;
        } else if (!f->body) { /* this may be a pointer: the launch keeps a reference to the memory */
            u64 off;
            bool alias;
            struct block *b = block_find(addr, &off, &alias);
            if (b && !b->freed && !b->freeing)
                l->use[l->nuses++] = (struct use){.b = b, .lo = off, .hi = off};
        }
    }
}

static int shape(const struct function *f, const u32 grid[3], const u32 block[3], u32 shared) {
    u64 threads = (u64)block[0] * block[1];
    int zero = face.contexts ? E_VALUE : E_CONFIGURATION;
    for (int i = 0; i < 3; i++)
        if (!grid[i] || !block[i])
            return zero;
    if (block[0] > MAX_THREADS || block[1] > MAX_THREADS || block[2] > face.block_z || threads * block[2] > MAX_THREADS)
        return E_VALUE;
    threads *= block[2];
    if (grid[0] > MAX_GRID_X || grid[1] > MAX_GRID_YZ || grid[2] > MAX_GRID_YZ)
        return E_VALUE;
    for (int i = 0; i < 3 && !face.contexts; i++)
        if ((u64)grid[i] * block[i] > UINT32_MAX)
            return E_CONFIGURATION;
    if (threads > f->threads)
        return face.contexts ? E_RESOURCES : E_LAUNCH;
    return shared > f->dynamic ? E_VALUE : OK;
}

int engine_launch(struct stream *s, struct function *f, const u32 grid[3], const u32 block[3], u32 shared, void **params,
                  void **extra) {
    int rc = shape(f, grid, block, shared);
    if (rc != OK)
        return rc;
    if (f->module->ctx != s->ctx)
        return E_HANDLE;
    if (extra)
        return params ? E_VALUE : E_SUPPORTED;
    if (!params && f->nparams)
        return E_VALUE;
    struct launch *l = calloc(1, sizeof *l + f->bytes);
    l->fn = f;
    memcpy(l->grid, grid, sizeof l->grid);
    memcpy(l->block, block, sizeof l->block);
    l->blocks = (u64)grid[0] * grid[1] * grid[2];
    l->threads = (u64)block[0] * block[1] * block[2];
    l->shared = (u64)f->shared + shared;
    l->rounds = 1;
    for (u32 i = 0; i < f->nparams; i++) {
        void *at;
        if (E.free) { /* here a system call for each parameter would take most of the time of a launch */
            memcpy(l->params + f->param[i].off, params[i], f->param[i].size);
            continue;
        }
        if (guest_read(&at, params + i, sizeof at) && guest_read(l->params + f->param[i].off, at, f->param[i].size))
            continue;
        /* A driver would end the process. */
        violation("%s: parameter %u of kernel %s cannot be read", self.call, i, f->name);
        free(l);
        return E_VALUE;
    }
    if (f->body && f->body->rounds >= 0)
        memcpy(&l->rounds, l->params + f->param[f->body->rounds].off, sizeof l->rounds);
    if (!graph_takes(s, l))
        launch_push(s, l);
    return ctx_state(s->ctx);
}

void launch_push(struct stream *s, struct launch *l) {
    follow_all(s, l);
    struct op *op = op_new(OP_LAUNCH, s, self.call);
    op->launch = l;
    op->width = l->blocks * l->threads; /* determines how long it takes */
    op->rows = l->rounds;
    op_push(op);
}

void launch_attach(struct launch *l, struct lane *lane, u64 pos) {
    struct module *m = l->fn->module;
    m->refs++;
    m->launches++;
    clock_set(&m->used, lane->slot, pos);
    for (u32 i = 0; i < l->nuses; i++) {
        l->use[i].b->refs++;
        l->use[i].b->pending++;
    }
}

void launch_drop(struct launch *l) {
    for (u32 i = 0; i < l->nuses; i++) {
        struct block *b = l->use[i].b;
        free(l->use[i].copy);
        b->pending--;
        if (b->freed && !b->pending)
            block_discard(b);
        block_unref(b);
    }
    l->fn->module->launches--;
    module_unref(l->fn->module);
    free(l);
}

/* ---- running ---- */

static struct side end_of(const struct use *u) {
    return (struct side){.b = u->b, .ptr = (u8 *)(uintptr_t)u->b->addr + u->lo, .trusted = false};
}

/* The kernel works on a copy of memory of the program, because accessing that memory may fail. */
static int borrow(struct launch *l) {
    for (u32 i = 0; i < l->nuses; i++) {
        struct use *u = &l->use[i];
        if (u->b->rw || u->hi == u->lo || u->copy)
            continue;
        u->copy = malloc(u->hi - u->lo);
        struct side from = end_of(u), to = {.ptr = u->copy, .trusted = false};
        if (move_bytes(&to, 0, &from, 0, u->hi - u->lo) != OK)
            return E_ILLEGAL;
    }
    return OK;
}

static int give_back(struct launch *l) {
    for (u32 i = 0; i < l->nuses; i++) {
        struct use *u = &l->use[i];
        if (!u->copy || !u->write)
            continue;
        struct side to = end_of(u), from = {.ptr = u->copy, .trusted = false};
        if (move_bytes(&to, 0, &from, 0, u->hi - u->lo) != OK)
            return E_ILLEGAL;
    }
    return OK;
}

static int run_blocks(struct launch *l, u64 upto) {
    const struct function *f = l->fn;
    struct work w = {.threads = l->threads, .nshared = l->shared};
    memcpy(w.grid, l->grid, sizeof w.grid);
    memcpy(w.block, l->block, sizeof w.block);
    for (u32 i = 0; i < f->nparams; i++) {
        w.val[i] = l->params + f->param[i].off;
        if (l->of[i] >= 0) {
            const struct use *u = &l->use[l->of[i]];
            w.ptr[i] = u->copy ? u->copy : u->b->rw ? u->b->rw + u->lo : NULL;
        }
    }
    w.shared = l->shared ? malloc(l->shared) : NULL;
    int rc = OK;
    for (u64 n = l->next; n < upto && rc == OK; n++) {
        w.at[0] = (u32)(n % l->grid[0]);
        w.at[1] = (u32)(n / l->grid[0] % l->grid[1]);
        w.at[2] = (u32)(n / l->grid[0] / l->grid[1]);
        w.first = n * l->threads;
        if (w.shared)
            memset(w.shared, 0xA5, l->shared);
        rc = f->body->run(&w);
    }
    free(w.shared);
    return rc;
}

/*
 * The memory that an interpreted kernel uses is known only while it runs, and its threads run in odd orders. Their accesses are joined into
 * ranges before they are checked, because the cost of a check grows with the number of ranges on record, and the number of records is
 * limited.
 */
struct range {
    u64 lo, hi;
};

/* The ranges of a block that have been read, or written: sorted, and not touching each other. */
struct ranges {
    struct block *b;
    bool write;
    u32 n, cap;
    struct range *v;
};

enum { MAX_RANGES = 1 << 14 }; /* when there are so many, they are checked and forgotten */

struct watching {
    struct op *op;
    u32 n, cap;
    struct ranges *v;
    char log[256];
};

static void check_ranges(struct watching *w, struct ranges *s) {
    for (u32 i = 0; i < s->n; i++)
        watch_use(w->op, s->b, s->v[i].lo, s->v[i].hi, s->write);
    s->n = 0;
}

/* Adds a range, and joins it with the ranges that it touches. */
static void join(struct ranges *s, u64 lo, u64 hi) {
    u32 at = 0, n = s->n; /* at: the first range that does not end before lo */
    while (n) {
        u32 half = n / 2;
        if (s->v[at + half].hi < lo) {
            at += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    u32 end = at;
    for (; end < s->n && s->v[end].lo <= hi; end++) {
        lo = s->v[end].lo < lo ? s->v[end].lo : lo;
        hi = s->v[end].hi > hi ? s->v[end].hi : hi;
    }
    if (end == at && s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 16;
        s->v = realloc(s->v, s->cap * sizeof *s->v);
    }
    if (end != at + 1)
        memmove(s->v + at + 1, s->v + end, (s->n - end) * sizeof *s->v);
    s->n += 1 - (end - at);
    s->v[at] = (struct range){lo, hi};
}

static void note(struct watching *w, struct block *b, u64 lo, u64 hi, bool write) {
    struct ranges *s = w->v; /* a kernel uses few blocks */
    while (s < w->v + w->n && (s->b != b || s->write != write))
        s++;
    if (s == w->v + w->n) {
        if (w->n == w->cap) {
            w->cap = w->cap ? 2 * w->cap : 8;
            w->v = realloc(w->v, w->cap * sizeof *w->v);
        }
        b->refs++;
        s = w->v + w->n++;
        *s = (struct ranges){.b = b, .write = write};
    }
    if (s->n == MAX_RANGES)
        check_ranges(w, s);
    join(s, lo, hi);
}

static void end_watching(struct watching *w) {
    for (u32 i = 0; i < w->n; i++) {
        check_ranges(w, &w->v[i]);
        free(w->v[i].v);
        block_unref(w->v[i].b);
    }
    free(w->v);
}

static void *bytes_at(void *arg, u64 addr, u32 size, bool write) {
    struct watching *w = arg;
    u64 off;
    bool alias;
    void *at = NULL;
    pthread_mutex_lock(&E.mu);
    struct block *b = block_find(addr, &off, &alias);
    bool reaches = b && (!on_device(b) || b->dev == w->op->ctx->dev || w->op->ctx->peers >> b->dev & 1);
    if (b && !b->freed && size <= b->size - off && reaches && (alias || !b->alias)) {
        at = (b->rw ? b->rw : (u8 *)(uintptr_t)b->addr) + off; /* registered memory is accessed at the program's own address */
        if (validating())
            note(w, b, off, off + size, write);
    }
    pthread_mutex_unlock(&E.mu);
    return at;
}

/* Runs about so many threads of the kernel. *done is true if the launch is finished. A code other than OK is
 * the error of the context. */
int launch_step(struct op *op, u64 threads, bool *done) {
    struct launch *l = op->launch;
    const struct function *f = l->fn;
    *done = true;
    for (u32 i = 0; i < l->nuses; i++)
        l->bad |= l->use[i].b->freed && l->use[i].b->kind == REGISTERED;
    if (l->bad || f->module->unloaded)
        return E_ILLEGAL;
    if (E.free && (!f->body || strcmp(f->body->name, "fault") != 0))
        return OK;
    u64 upto = l->next + 1 + (threads > l->threads ? threads / l->threads : 0);
    if (upto > l->blocks || !f->body)
        upto = l->blocks;
    struct watching w = {.op = op};
    E.executing = true;
    pthread_mutex_unlock(&E.mu);
    int rc = f->body ? borrow(l) : OK;
    if (rc == OK && f->body) {
        rc = run_blocks(l, upto);
    } else if (rc == OK) {
        struct reach reach = {&w, bytes_at};
        rc = interpreter->run(f->entry, l->params, l->grid, l->block, l->shared, &reach, w.log, sizeof w.log);
    }
    l->next = upto;
    bool ends = rc == OK && upto == l->blocks && l->round + 1 >= l->rounds;
    if (ends)
        rc = give_back(l);
    pthread_mutex_lock(&E.mu);
    E.executing = false;
    end_watching(&w);
    if (E.waiters)
        pthread_cond_broadcast(&E.progress);
    if (w.log[0])
        violation("kernel %s: %s", f->name, w.log);
    if (rc != OK)
        return rc;
    if (upto == l->blocks && !ends) {
        l->round++;
        l->next = 0;
    }
    *done = ends;
    return OK;
}
