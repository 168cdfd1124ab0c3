/*
 * Handles. A handle is an address inside a reservation that cannot be accessed, so a program that
 * dereferences a handle faults at once. A handle is used only once, so a destroyed handle can be
 * told from one that never existed. Reservations are made when they are needed, because an emulator
 * may pay for each page of a reservation.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "engine.h"

enum { STEP = 64, RESERVED = 1 << 20, EACH = RESERVED / STEP - 1, MOST = 1 << 14 };

static u64 bases[MOST], given; /* handles repeat after MOST * EACH, 268 million */

struct entry {
    u64 handle; /* 0: empty, 1: dropped */
    void *object;
    enum handle_kind kind;
};

static struct {
    struct entry *v;
    u32 cap, used; /* used counts dropped entries as well */
    u32 live;
} table;

static u32 place(u64 handle) {
    return (u32)((handle / STEP) * 2654435761u) & (table.cap - 1);
}

static void rehash(void) {
    struct entry *old = table.v;
    u32 n = table.cap;
    table.cap = 64;
    while (table.cap < table.live * 4)
        table.cap *= 2;
    table.v = calloc(table.cap, sizeof *table.v);
    table.used = 0;
    for (u32 i = 0; i < n; i++) {
        if (old[i].handle <= 1)
            continue;
        u32 at = place(old[i].handle);
        while (table.v[at].handle)
            at = (at + 1) & (table.cap - 1);
        table.v[at] = old[i];
        table.used++;
    }
    free(old);
}

static struct entry *find(u64 handle) {
    if (handle <= 1 || !table.cap)
        return NULL;
    for (u32 at = place(handle); table.v[at].handle; at = (at + 1) & (table.cap - 1))
        if (table.v[at].handle == handle)
            return &table.v[at];
    return NULL;
}

u64 handle_new(enum handle_kind kind, void *object) {
    u64 *base = &bases[given / EACH % MOST];
    if (!*base) {
        void *p = mmap(NULL, RESERVED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        *base = p == MAP_FAILED ? (1ull << 46) + (u64)(base - bases) * RESERVED : (u64)(uintptr_t)p;
    }
    if ((table.used + 1) * 2 > table.cap)
        rehash();
    u64 handle = *base + (given++ % EACH + 1) * STEP;
    u32 at = place(handle);
    while (table.v[at].handle > 1)
        at = (at + 1) & (table.cap - 1);
    if (!table.v[at].handle)
        table.used++;
    table.v[at] = (struct entry){handle, object, kind};
    table.live++;
    return handle;
}

void handle_drop(u64 handle) {
    struct entry *e = find(handle);
    if (e) {
        *e = (struct entry){.handle = 1};
        table.live--;
    }
}

void *handle_get(u64 handle, enum handle_kind kind) {
    struct entry *e = find(handle);
    return e && e->kind == kind ? e->object : NULL;
}

/* Whether the handle was ever used. */
bool handle_was(u64 handle) {
    for (u64 i = 0; i < MOST && bases[i]; i++) {
        u64 off = handle - bases[i];
        if (off > 0 && off < RESERVED && off % STEP == 0)
            return i * EACH + off / STEP <= given;
    }
    return false;
}

void handles_clear(void) {
    free(table.v);
    memset(&table, 0, sizeof table);
}

/* Iterates over the live handles of a kind. *at is 0 at the start. */
void *handle_next(u32 *at, enum handle_kind kind) {
    while (*at < table.cap) {
        struct entry *e = &table.v[(*at)++];
        if (e->handle > 1 && e->kind == kind)
            return e->object;
    }
    return NULL;
}
