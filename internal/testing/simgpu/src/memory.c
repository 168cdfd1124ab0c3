/* Allocation, registration, and queries about memory. */
#include <stdlib.h>

#include "engine.h"

/* Whether this allocation is planned to fail. */
static bool alloc_fails(void) {
    E.allocs_made++;
    return E.fail_alloc && --E.fail_alloc == 0;
}

static int device_room(int dev, u64 size, u64 extra) {
    u64 limit = E.now.memory;
    struct device *d = &E.dev[dev];
    if (size > limit)
        return E_MEMORY;
    if (d->used - (extra < d->used ? extra : d->used) + size <= limit)
        return OK;
    reclaim(dev);
    return d->used + size <= limit ? OK : E_MEMORY;
}

static u64 rounded(u64 size) {
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

int engine_alloc(struct ctx *c, enum kind kind, u64 size, u32 flags, u64 *out) {
    int dev = c->dev;
    if (!out || !size || size > 1ull << 46)
        return size > 1ull << 46 ? E_MEMORY : E_VALUE;
    if (alloc_fails())
        return E_MEMORY;
    if (without(HALYARD_SIM_WITHOUT_ADDRESS)) {
        *out = 0;
        return OK;
    }
    if (kind == MANAGED && flags != SIGNAL_MEMORY && without(HALYARD_SIM_WITHOUT_MANAGED))
        return E_SUPPORTED;
    if (kind == DEVICE) {
        int rc = device_room(dev, rounded(size), 0);
        if (rc != OK)
            return rc;
    } else if (E.host_used + rounded(size) > E.now.host_memory) {
        return E_MEMORY;
    }
    if (E.dev[dev].ctx != c)
        return E_CTX_GONE;
    struct block *b;
    int rc = block_new(kind, dev, size, &b);
    if (rc != OK)
        return rc;
    b->ctx = c;
    b->flags = flags;
    *out = b->addr;
    return OK;
}

/* Returns the live block that starts at the address. If there is none, it reports a violation. */
static struct block *start_of(u64 addr, const char *what) {
    u64 off;
    bool alias;
    struct block *b = block_find(addr, &off, &alias);
    if (!b)
        violation("%s: %s a pointer that is not %s's", self.call, what, face.name);
    else if (b->freed)
        violation("%s: %s memory %u twice", self.call, what, b->id);
    else if (b->freeing)
        violation("%s: %s memory %u, whose free is enqueued", self.call, what, b->id);
    else if (off)
        violation("%s: %s a pointer inside %s memory %u", self.call, what, kind_name(b->kind), b->id);
    else
        return b;
    return NULL;
}

/* Whether work still uses memory that is about to be freed. If so, it reports a violation. */
bool in_flight(struct block *b) {
    if (watch_host(b, 0, b->size, true, self.call))
        return true;
    if (b->pending && E.validate)
        violation("in flight: %s ends memory %u with %u operations to run", self.call, b->id, b->pending);
    return b->pending;
}

int engine_free(struct ctx *c, u64 addr, enum kind kind) {
    wait_idle();
    struct block *b = start_of(addr, "frees");
    if (!b)
        return E_VALUE;
    bool fits = kind == HOST ? b->kind == HOST : b->kind == DEVICE || b->kind == MANAGED;
    if (!fits) {
        violation("%s: frees %s memory %u", self.call, kind_name(b->kind), b->id);
        return E_VALUE;
    }
    if (b->kind == DEVICE && b->dev != c->dev)
        violation("%s: memory of device %d while device %d is current", self.call, b->dev, c->dev);
    int rc = in_flight(b) ? OK : ctx_settle(c);
    if (rc != OK)
        return rc;
    wait_idle();
    if (start_of(addr, "frees") != b)
        return E_VALUE;
    block_release(b);
    return ctx_state(c);
}

int engine_alloc_async(struct stream *s, u64 size, u64 *out) {
    struct ctx *c = s->ctx;
    struct lane *lane = s->lane;
    u64 handle = s->handle;
    if (without(HALYARD_SIM_WITHOUT_POOLS))
        return E_SUPPORTED;
    if (!out || !size || size > 1ull << 46)
        return size > 1ull << 46 ? E_MEMORY : E_VALUE;
    if (alloc_fails())
        return E_MEMORY;
    if (without(HALYARD_SIM_WITHOUT_ADDRESS)) {
        *out = 0;
        return OK;
    }
    /* Memory whose free is enqueued on this stream is available to this allocation. */
    int rc = device_room(c->dev, rounded(size), lane->freeing);
    if (rc != OK)
        return rc;
    if (handle_get(handle, H_STREAM) != s || E.dev[c->dev].ctx != c)
        return E_CTX_GONE;
    struct block *b;
    rc = block_new(DEVICE, c->dev, size, &b);
    if (rc != OK)
        return rc;
    b->ctx = c;
    b->async = true;
    *out = b->addr;
    struct op *op = op_new(OP_ALLOC, s, self.call);
    op->dst.b = b;
    op->width = b->size;
    op->rows = 1;
    op_push(op);
    return OK;
}

int engine_free_async(struct stream *s, u64 addr) {
    struct ctx *c = s->ctx;
    if (without(HALYARD_SIM_WITHOUT_POOLS))
        return E_SUPPORTED;
    struct block *b = start_of(addr, "frees");
    if (!b)
        return E_VALUE;
    if (!b->async) {
        violation("%s: frees %s memory %u, which is not stream-ordered", self.call, kind_name(b->kind), b->id);
        return E_VALUE;
    }
    if (b->dev != c->dev)
        violation("%s: memory of device %d on a stream of device %d", self.call, b->dev, c->dev);
    b->freeing = true;
    E.dev[b->dev].freeing += b->charge;
    s->lane->freeing += b->charge;
    struct op *op = op_new(OP_FREE, s, self.call);
    op->dst.b = b;
    op->width = b->size;
    op->rows = 1;
    op_push(op);
    return ctx_state(c);
}

int engine_register(struct ctx *c, u64 addr, u64 size, u32 flags) {
    if (without(HALYARD_SIM_WITHOUT_HOST_REGISTER))
        return E_SUPPORTED;
    if (!addr || !size || addr + size < addr)
        return E_VALUE;
    if (block_in(addr, size))
        return E_REGISTERED;
    if (alloc_fails())
        return E_MEMORY;
    struct block *b;
    int rc = block_register(addr, size, c->dev, &b);
    if (rc != OK)
        return rc;
    b->ctx = c;
    b->flags = flags;
    return OK;
}

int engine_unregister(struct ctx *c, u64 addr) {
    u64 off;
    bool alias;
    wait_idle();
    struct block *b = block_find(addr, &off, &alias);
    if (!b || b->kind != REGISTERED || off || alias) {
        violation("%s: not the start of a registered range", self.call);
        return E_NOT_REGISTERED;
    }
    int rc = in_flight(b) ? OK : ctx_settle(c);
    if (rc != OK)
        return rc;
    wait_idle();
    if (block_find(addr, &off, &alias) != b || b->kind != REGISTERED) {
        violation("%s: unregistered twice", self.call);
        return E_NOT_REGISTERED;
    }
    block_release(b);
    return ctx_state(c);
}

int engine_device_pointer(u64 host, u64 *out) {
    u64 off;
    bool alias;
    struct block *b = block_find(host, &off, &alias);
    if (!out || !b || b->freed || alias || (b->kind != HOST && b->kind != REGISTERED && b->kind != MANAGED)) {
        if (b && b->freed)
            violation("%s: freed memory %u", self.call, b->id);
        return E_VALUE;
    }
    *out = b->alias ? b->alias->addr + off : host;
    return OK;
}

int engine_mem_info(struct ctx *c, size_t *avail, size_t *total) {
    if (without(HALYARD_SIM_WITHOUT_MEM_INFO))
        return E_SUPPORTED;
    if (!avail || !total)
        return E_VALUE;
    u64 used = E.dev[c->dev].used;
    *avail = used < E.now.memory ? E.now.memory - used : 0;
    *total = E.now.memory;
    return OK;
}

int engine_prefetch(struct stream *s, u64 addr, u64 n, int to) {
    struct ctx *c = s->ctx;
    u64 off;
    bool alias;
    if (without(HALYARD_SIM_WITHOUT_PREFETCH))
        return E_SUPPORTED;
    struct block *b = block_find(addr, &off, &alias);
    if (!b || b->freed || b->kind != MANAGED || !n || n > b->size - off) {
        violation("%s: not a range of managed memory", self.call);
        return E_VALUE;
    }
    if (to != -1 && device_check(to) != OK)
        return E_DEVICE;
    if (to != -1 && without(HALYARD_SIM_WITHOUT_CONCURRENT_MANAGED))
        return E_DEVICE;
    struct op *op = op_new(OP_PREFETCH, s, self.call);
    op->dst.b = b;
    op_push(op);
    return ctx_state(c);
}

/* ---- memory pools: each device has the default one ---- */

static u64 release_threshold[MAX_DEVICES];

static const u64 first_pool = 0x600D0000;

int pool_device(u64 pool) {
    u64 dev = (pool - first_pool) / 64;
    return pool >= first_pool && pool % 64 == 0 && dev < E.now.devices ? (int)dev : -1;
}

int pool_default(int dev, u64 *out) {
    if (device_check(dev) != OK)
        return E_DEVICE;
    if (without(HALYARD_SIM_WITHOUT_POOLS))
        return E_SUPPORTED;
    *out = first_pool + (u64)dev * 64;
    return OK;
}

enum { POOL_POLICIES = 3, POOL_THRESHOLD = 4, POOL_LAST = 8 };

int pool_get(u64 pool, int which, void *value) {
    int dev = pool_device(pool);
    if (dev < 0 || !value || which < 1 || which > POOL_LAST)
        return E_VALUE;
    if (which <= POOL_POLICIES)
        *(int *)value = 1;
    else
        *(u64 *)value = which == POOL_THRESHOLD ? release_threshold[dev] : E.dev[dev].used;
    return OK;
}

int pool_set(u64 pool, int which, const void *value) {
    int dev = pool_device(pool);
    if (dev < 0 || !value || which < 1 || which > POOL_LAST)
        return E_VALUE;
    if (which == POOL_THRESHOLD)
        release_threshold[dev] = *(const u64 *)value;
    return OK;
}

/* Returns an attribute of an address. The numbers are the same in CUDA and in HIP. */
int engine_pointer(void *data, int which, u64 addr) {
    u64 off;
    bool alias;
    if (!addr)
        return E_VALUE;
    if (without(HALYARD_SIM_WITHOUT_POINTER_QUERY))
        return E_SUPPORTED;
    struct block *b = block_find(addr, &off, &alias);
    if (!data || !b || b->freed || b->freeing)
        return E_VALUE;
    bool device = b->kind == DEVICE || b->kind == IMPORTED;
    switch (which) {
    case 1:
        *(void **)data = b->ctx ? (void *)(uintptr_t)b->ctx->handle : NULL;
        return OK;
    case 2:
        *(unsigned *)data = device || b->kind == MANAGED ? 2 : 1;
        return OK;
    case 3:
        *(u64 *)data = b->alias && !alias ? b->alias->addr + off : addr;
        return OK;
    case 4:
        if (device)
            return E_VALUE;
        *(u64 *)data = b->addr + off;
        return OK;
    case 7:
        *(u64 *)data = b->id;
        return OK;
    case 8:
        *(unsigned *)data = b->kind == MANAGED;
        return OK;
    case 9:
        *(int *)data = b->dev;
        return OK;
    case 10:
        *(u8 *)data = b->kind == DEVICE && !b->async;
        return OK;
    case 11:
        *(u64 *)data = addr - off;
        return OK;
    case 12:
        *(size_t *)data = b->size;
        return OK;
    case 13:
        *(u8 *)data = 1;
        return OK;
    }
    return E_SUPPORTED;
}
