/* Vector clocks. A clock holds, for the host (slot 0) and each lane n (slot n), up to which
 * position its owner knows the work to be done. */
#include <stdlib.h>

#include "engine.h"

static void grow(struct clock *c, u32 n) {
    if (n > c->cap) {
        c->cap = n < 8 ? 8 : 2 * n;
        c->v = realloc(c->v, c->cap * sizeof *c->v);
    }
    if (n > c->n) {
        memset(c->v + c->n, 0, (n - c->n) * sizeof *c->v);
        c->n = n;
    }
}

void clock_join(struct clock *c, const u64 *v, u32 n) {
    if (n > c->n)
        grow(c, n);
    for (u32 i = 0; i < n; i++)
        if (v[i] > c->v[i])
            c->v[i] = v[i];
}

void clock_set(struct clock *c, u32 slot, u64 pos) {
    if (slot >= c->n)
        grow(c, slot + 1);
    c->v[slot] = pos;
}

u64 clock_at(const struct clock *c, u32 slot) {
    return slot < c->n ? c->v[slot] : 0;
}

void clock_drop(struct clock *c) {
    free(c->v);
    memset(c, 0, sizeof *c);
}

struct snap *snap_of(const struct clock *c) {
    struct snap *s = malloc(sizeof *s + c->n * sizeof *s->v);
    s->refs = 1;
    s->n = c->n;
    if (c->n)
        memcpy(s->v, c->v, c->n * sizeof *s->v);
    return s;
}

struct snap *snap_ref(struct snap *s) {
    s->refs++;
    return s;
}

void snap_unref(struct snap *s) {
    if (s && --s->refs == 0)
        free(s);
}

u64 snap_at(const struct snap *s, u32 slot) {
    return slot < s->n ? s->v[slot] : 0;
}

/* The host learns, by a wait, a query or a callback, that the work in the clock is done. */
void host_learns(const u64 *v, u32 n) {
    bool news = n > E.host.n;
    for (u32 i = 0; i < n && !news; i++)
        news = v[i] > E.host.v[i];
    if (!news)
        return;
    clock_join(&E.host, v, n);
    snap_unref(E.host_snap);
    E.host_snap = NULL;
}

struct snap *host_now(void) {
    if (!E.host_snap)
        E.host_snap = snap_of(&E.host);
    return snap_ref(E.host_snap);
}
