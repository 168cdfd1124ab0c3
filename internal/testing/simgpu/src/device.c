/* Devices, contexts, peers, and memory shared between processes. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine.h"

int device_check(int dev) {
    return dev >= 0 && dev < (int)E.now.devices ? OK : E_DEVICE;
}

void device_name(int dev, char *name, int len) {
    snprintf(name, (size_t)len, "Simulated %s device %d", face.name, dev);
}

void device_uuid(int dev, char uuid[16]) {
    static const u8 rest[] = {0x48, 0x41, 0x4C, 0x59, 0x41, 0x52, 0x44, 0x53, 0x49, 0x4D, 0x55, 0x4C, 0x41, 0x54};
    uuid[0] = (char)face.uuid;
    memcpy(uuid + 1, rest, sizeof rest);
    uuid[15] = (char)dev;
}

void device_pci(int dev, char *id, int len) {
    snprintf(id, (size_t)len, "%04x:%02x:%02x.0", 0, 0x40 + dev, 0);
}

/* ---- contexts ---- */

int ctx_state(const struct ctx *c) {
    return c->sticky != OK ? c->sticky : E.dev[c->dev].lost ? E_LAUNCH : OK;
}

struct ctx *ctx_primary(int dev, int *code) {
    struct device *d = &E.dev[dev];
    *code = OK;
    if (d->ctx)
        return d->ctx;
    if (d->lost) {
        *code = E_LAUNCH;
        return NULL;
    }
    struct ctx *c = calloc(1, sizeof *c);
    c->dev = dev;
    c->handle = handle_new(H_CTX, c);
    d->ctx = c;
    c->null = stream_new(c, 0, 0);
    c->thread = stream_new(c, 0, 0);
    return c;
}

struct ctx *ctx_of(u64 handle, int *code) {
    struct ctx *c = handle_get(handle, H_CTX);
    *code = OK;
    if (c)
        return c;
    *code = handle_was(handle) ? E_CTX_GONE : E_CONTEXT;
    violation("%s: %s context", self.call, handle_was(handle) ? "destroyed" : "unknown");
    return NULL;
}

struct ctx *ctx_quiet(int *code) {
    *code = OK;
    if (!face.contexts) {
        *code = device_check(self.device);
        return *code == OK ? ctx_primary(self.device, code) : NULL;
    }
    u64 handle = self.depth ? self.stack[self.depth - 1] : 0;
    if (!handle) {
        violation("%s: no context is current", self.call);
        *code = E_CONTEXT;
        return NULL;
    }
    return ctx_of(handle, code);
}

struct ctx *ctx_current(int *code) {
    struct ctx *c = ctx_quiet(code);
    if (c && (*code = ctx_state(c)) != OK)
        return NULL;
    return c;
}

void ctx_destroy(struct ctx *c, bool report) {
    struct device *d = &E.dev[c->dev];
    u32 streams = 0, events = 0, blocks = 0, modules = 0;
    d->ctx = NULL; /* before the lock is released, so that no other thread finds the context */
    handle_drop(c->handle);
    for (u32 i = 0; i < E.nlanes; i++) /* also lanes of destroyed streams */
        if (E.lanes[i]->head && E.lanes[i]->head->ctx == c)
            lane_drop(E.lanes[i]);
    for (u64 i = 0; i < E.now.devices; i++)
        if (E.dev[i].ctx)
            E.dev[i].ctx->peers &= ~(1u << c->dev);
    blocks = arena_release(&d->mem, NULL) + arena_release(&E.host_mem, c);
    for (u32 i = E.nloose; i-- > 0;) {
        if (E.loose[i]->ctx == c) {
            block_release(E.loose[i]);
            blocks++;
        }
    }
    struct event *e;
    for (u32 at = 0; (e = handle_next(&at, H_EVENT));) {
        if (e->ctx != c)
            continue;
        handle_drop(e->handle);
        mark_unref(e->mark);
        free(e);
        events++;
    }
    modules = modules_drop(c);
    while (c->streams) {
        struct stream *s = c->streams;
        c->streams = s->next;
        streams += s != c->null && s != c->thread;
        handle_drop(s->handle);
        lane_orphan(s->lane);
        free(s);
    }
    d->freeing = 0;
    c->null = c->thread = NULL;
    c->next = E.dead;
    E.dead = c;
    if (report && (streams || events || blocks || modules))
        violation("%s: context of device %d ends with %u memories, %u streams, %u events and %u modules alive", self.call, c->dev,
                  blocks, streams, events, modules);
}

/* ---- peers ---- */

int peer_can(int dev, int peer, int *can) {
    if (device_check(dev) != OK || device_check(peer) != OK)
        return E_DEVICE;
    *can = dev != peer && !without(HALYARD_SIM_WITHOUT_PEER);
    return OK;
}

int peer_enable(struct ctx *c, int peer) {
    int can = 0;
    if (peer_can(c->dev, peer, &can) != OK)
        return E_DEVICE;
    if (!can)
        return c->dev == peer ? E_DEVICE : E_PEER_UNSUPPORTED;
    if (c->peers >> peer & 1)
        return E_PEER_ENABLED;
    c->peers |= 1u << peer;
    return OK;
}

int peer_disable(struct ctx *c, int peer) {
    if (device_check(peer) != OK)
        return E_DEVICE;
    if (!(c->peers >> peer & 1))
        return E_PEER_DISABLED;
    c->peers &= ~(1u << peer);
    return ctx_state(c);
}

/* ---- between processes ---- */

struct token {
    char magic[8];
    u64 pid, fd, off, size, block, device, face;
};
_Static_assert(sizeof(struct token) == 64, "an IPC handle has 64 bytes");

int ipc_export(struct ctx *c, u64 addr, char out[64]) {
    u64 off;
    bool alias;
    if (!addr)
        return E_VALUE;
    if (without(HALYARD_SIM_WITHOUT_IPC))
        return E_SUPPORTED;
    struct block *b = block_find(addr, &off, &alias);
    if (!b || b->freed || b->freeing || b->kind != DEVICE || b->async) {
        violation("%s: %s memory cannot be exported", self.call,
                  !b ? "foreign" : b->freed || b->freeing ? "freed" : b->async ? "stream-ordered" : kind_name(b->kind));
        return E_VALUE;
    }
    (void)c;
    struct token t = {"HALYSIM", (u64)getpid(), (u64)b->fd, (u64)b->off, b->size, b->id, (u64)b->dev, face.uuid};
    memcpy(out, &t, sizeof t);
    return OK;
}

int ipc_import(struct ctx *c, const char in[64], u64 *out) {
    struct token t;
    if (without(HALYARD_SIM_WITHOUT_IPC))
        return E_SUPPORTED;
    memcpy(&t, in, sizeof t);
    if (memcmp(t.magic, "HALYSIM", 8) != 0 || t.face != face.uuid || t.device >= E.now.devices || !t.size ||
        t.size > 1ull << 46 || t.off > 1ull << 46)
        return E_HANDLE;
    if (t.pid == (u64)getpid())
        return E_CONTEXT; /* the vendors also refuse this in the process that exported the memory */
    if ((int)t.device != c->dev)
        return E_DEVICE;
    char path[64];
    snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)t.pid, (unsigned long long)t.fd);
    struct block *b;
    u64 id[2] = {t.pid << 32 | t.fd, t.off};
    int rc = block_import(c->dev, path, t.off, t.size, id, &b);
    if (rc != OK)
        return rc;
    b->ctx = c;
    *out = b->addr;
    return OK;
}

int ipc_close(struct ctx *c, u64 addr) {
    u64 off;
    bool alias;
    wait_idle();
    struct block *b = block_find(addr, &off, &alias);
    if (!b || b->kind != IMPORTED || off) {
        violation("%s: not the start of imported memory", self.call);
        return E_VALUE;
    }
    if (b->opens > 1) {
        b->opens--;
        return ctx_state(c);
    }
    int rc = in_flight(b) ? OK : ctx_settle(c);
    if (rc != OK)
        return rc;
    wait_idle();
    if (block_find(addr, &off, &alias) != b || b->kind != IMPORTED) {
        violation("%s: closed twice", self.call);
        return E_VALUE;
    }
    if (b->opens > 1) { /* opened again while this waited */
        b->opens--;
        return ctx_state(c);
    }
    block_release(b);
    return ctx_state(c);
}
