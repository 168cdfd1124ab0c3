/* The control interface; sim.h says what each call does. */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"

static void lock(void) {
    pthread_mutex_lock(&E.mu);
    engine_setup();
}

static void unlock(void) {
    pthread_mutex_unlock(&E.mu);
}

struct text {
    char *buf;
    size_t len, at, lines;
};

static void line(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line(struct text *t, const char *format, ...) {
    t->lines++;
    if (!t->buf || t->at + 1 >= t->len)
        return;
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(t->buf + t->at, t->len - t->at, format, ap);
    va_end(ap);
    size_t room = t->len - t->at - 1;
    t->at += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room;
    if (t->at + 1 < t->len) {
        t->buf[t->at++] = '\n';
        t->buf[t->at] = 0;
    }
}

static struct text text_in(char *buf, size_t len) {
    struct text t = {len ? buf : NULL, len, 0, 0};
    if (t.buf)
        *t.buf = 0;
    return t;
}

int halyard_sim_version(void) {
    return HALYARD_SIM_VERSION;
}

const char *halyard_sim_name(void) {
    return face.title;
}

static void forget_violations(void) {
    while (E.nviolation)
        free(E.violation[--E.nviolation]);
    E.violated = 0;
}

int halyard_sim_reset(uint64_t seed) {
    lock();
    bool was = E.inited;
    if (self.callback || !engine_teardown()) {
        unlock();
        return -1;
    }
    forget_violations();
    for (struct site *s = E.sites; s; s = s->next)
        s->count = 0;
    E.calls_made = E.allocs_made = 0;
    E.fail_call = E.fail_alloc = E.sticky_at = E.lost_at = 0;
    E.hold = false;
    int rc = 0;
    if (was)
        rc = engine_build(seed) == OK ? 0 : -1;
    else
        personality(seed);
    unlock();
    return rc;
}

int halyard_sim_set(const char *name, uint64_t value) {
    int rc = 0;
    lock();
    if (!strcmp(name, "devices") && value <= MAX_DEVICES)
        E.next.devices = value;
    else if (!strcmp(name, "memory") && value)
        E.next.memory = value;
    else if (!strcmp(name, "host_memory") && value)
        E.next.host_memory = value;
    else if (!strcmp(name, "without"))
        E.next.without = value;
    else if (!strcmp(name, "free"))
        E.free = value != 0;
    else if (!strcmp(name, "validate"))
        E.validate = value != 0;
    else if (!strcmp(name, "link"))
        E.link = value;
    else if (!strcmp(name, "pageable"))
        E.pageable = value;
    else
        rc = -1;
    unlock();
    return rc;
}

void halyard_sim_fail_call(uint64_t n, int code) {
    lock();
    E.fail_call = n;
    E.fail_code = code;
    unlock();
}

void halyard_sim_fail_alloc(uint64_t n) {
    lock();
    E.fail_alloc = n;
    unlock();
}

static void wake(void) {
    pthread_cond_broadcast(&E.progress);
    pthread_cond_signal(&E.work);
}

int halyard_sim_sticky(int device, int code) {
    int rc = -1;
    lock();
    for (int i = 0; i < (int)E.now.devices; i++) {
        if (device != i && device != -1)
            continue;
        rc = 0;
        if (E.dev[i].ctx)
            E.dev[i].ctx->sticky = code;
    }
    wake();
    unlock();
    return rc;
}

int halyard_sim_lose(int device) {
    int rc = -1;
    lock();
    if (device >= 0 && device < (int)E.now.devices) {
        E.dev[device].lost = true;
        rc = 0;
    }
    wake();
    unlock();
    return rc;
}

int halyard_sim_lose_at(int device, uint64_t n) {
    int rc = -1;
    lock();
    if (device >= 0 && device < (int)E.now.devices) {
        E.lost_at = n ? E.calls_made + n : 0;
        E.lost_dev = device;
        rc = 0;
    }
    unlock();
    return rc;
}

void halyard_sim_link(uint64_t bytes_per_ms) {
    lock();
    E.link = bytes_per_ms;
    unlock();
}

void halyard_sim_pageable(uint64_t bytes_per_ms) {
    lock();
    E.pageable = bytes_per_ms;
    unlock();
}

uint64_t halyard_sim_call_count(void) {
    lock();
    u64 n = E.calls_made;
    unlock();
    return n;
}

uint64_t halyard_sim_bytes(void) {
    lock();
    u64 n = E.moved;
    unlock();
    return n;
}

static int by_name(const void *a, const void *b) {
    return strcmp((*(struct site *const *)a)->name, (*(struct site *const *)b)->name);
}

size_t halyard_sim_calls(char *buf, size_t len) {
    lock();
    struct text t = text_in(buf, len);
    size_t n = 0;
    for (struct site *s = E.sites; s; s = s->next)
        n++;
    struct site **all = malloc((n + 1) * sizeof *all);
    n = 0;
    for (struct site *s = E.sites; s; s = s->next)
        if (s->count)
            all[n++] = s;
    qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0; i < n; i++)
        line(&t, "%s %llu", all[i]->name, (unsigned long long)all[i]->count);
    free(all);
    unlock();
    return t.lines;
}

size_t halyard_sim_violations(char *buf, size_t len) {
    lock();
    struct text t = text_in(buf, len);
    for (u32 i = 0; i < E.nviolation; i++)
        line(&t, "%s", E.violation[i]);
    unlock();
    return t.lines;
}

void halyard_sim_clear(void) {
    lock();
    forget_violations();
    unlock();
}

static void leak_block(struct text *t, const struct block *b) {
    if (b->freed || b->base)
        return;
    line(t, "simulated %s: %s memory %u, %llu bytes, device %d%s", face.name, kind_name(b->kind), b->id,
         (unsigned long long)b->size, b->dev, b->freeing ? ", its free has not run" : "");
}

size_t halyard_sim_leaks(char *buf, size_t len) {
    lock();
    struct text t = text_in(buf, len);
    for (u64 d = 0; E.inited && d < E.now.devices; d++)
        for (u32 i = 0; i < E.dev[d].mem.n; i++)
            leak_block(&t, E.dev[d].mem.v[i]);
    for (u32 i = 0; i < E.host_mem.n; i++)
        leak_block(&t, E.host_mem.v[i]);
    for (u32 i = 0; i < E.nloose; i++)
        leak_block(&t, E.loose[i]);
    struct stream *s;
    for (u32 at = 0; (s = handle_next(&at, H_STREAM));)
        if (s != s->ctx->null && s != s->ctx->thread)
            line(&t, "simulated %s: stream %u, device %d", face.name, s->id, s->ctx->dev);
    struct event *e;
    for (u32 at = 0; (e = handle_next(&at, H_EVENT));)
        line(&t, "simulated %s: event %u, device %d", face.name, e->id, e->ctx->dev);
    struct module *m;
    for (u32 at = 0; (m = handle_next(&at, H_MODULE));)
        line(&t, "simulated %s: module %u, device %d", face.name, m->id, m->ctx->dev);
    struct graph *g;
    for (enum handle_kind kind = H_GRAPH; kind <= H_EXEC; kind++)
        for (u32 at = 0; (g = handle_next(&at, kind));) {
            int dev;
            u32 id = graph_id(g, &dev);
            line(&t, "simulated %s: %s %u, device %d", face.name, kind == H_EXEC ? "executable graph" : "graph", id, dev);
        }
    for (u64 d = 0; face.contexts && d < E.now.devices; d++)
        if (E.dev[d].ctx)
            line(&t, "simulated %s: primary context of device %llu, retained %u times", face.name, (unsigned long long)d,
                 E.dev[d].ctx->refs);
    unlock();
    return t.lines;
}

int halyard_sim_host_access(const void *ptr, size_t len, int write) {
    int n = 0;
    lock();
    u64 off = 0, addr = (u64)(uintptr_t)ptr;
    bool alias;
    struct block *b = len ? block_find(addr, &off, &alias) : NULL;
    u64 before = E.violated;
    if (!b && len && in_arena(addr)) {
        violation("host access to memory that is not allocated");
    } else if (b && (b->freed || alias || b->kind == DEVICE || b->kind == IMPORTED)) {
        violation("host access to %s%s memory %u", b->freed ? "freed " : "", kind_name(b->kind), b->id);
    } else if (b) {
        u64 hi = len > b->size - off ? b->size : off + len;
        watch_host(b, off, hi, write != 0, "host access");
    }
    n = (int)(E.violated - before);
    unlock();
    return n;
}

uint64_t halyard_sim_step(uint64_t steps) {
    u64 n = 0;
    lock();
    E.inside++;
    while (n < steps && E.inited && !E.resetting) {
        wait_idle();
        if (!run_one())
            break;
        n++;
    }
    E.inside--;
    unlock();
    return n;
}

void halyard_sim_hold(int hold) {
    lock();
    E.hold = hold != 0;
    if (!hold)
        pthread_cond_signal(&E.work);
    unlock();
}
