/* Copies and fills. */
#include "engine.h"

/* The kinds of memory that are allowed at an end of an operation. */
enum end { DEVICE_END, HOST_END, ANY_END };

static bool host_end(const struct block *b) { return !b || b->kind == HOST || b->kind == REGISTERED; }

static bool is_device(const struct block *b) {
    return b && (b->kind == DEVICE || b->kind == IMPORTED);
}

/*
 * Finds the memory of an address range. If the driver does not know the address, it is pageable
 * host memory where a host pointer is allowed, and a violation elsewhere.
 */
static int resolve(u64 addr, u64 span, enum end end, const char *role, struct side *s, u64 *off) {
    bool alias;
    *off = 0;
    *s = (struct side){.ptr = (u8 *)(uintptr_t)addr};
    struct block *b = block_find(addr, off, &alias);
    if (!b) {
        if (addr && end != DEVICE_END && !in_arena(addr) && addr + span >= addr)
            return OK;
        violation("%s: %s is %s", self.call, role,
                  in_arena(addr) ? "in memory that is not allocated" : "a pointer that the driver does not know");
        return E_VALUE;
    }
    if (b->freed || b->freeing) {
        violation("%s: %s is %s memory %u, which is freed", self.call, role, kind_name(b->kind), b->id);
        return E_VALUE;
    }
    if (span > b->size - *off) {
        violation("%s: %s [%llu,%llu) is out of bounds of %s memory %u of %llu bytes", self.call, role,
                  (unsigned long long)*off, (unsigned long long)(*off + span), kind_name(b->kind), b->id,
                  (unsigned long long)b->size);
        return E_VALUE;
    }
    if (end == HOST_END && (is_device(b) || alias)) {
        violation("%s: %s is %s memory %u where a host pointer belongs", self.call, role, kind_name(b->kind), b->id);
        return E_VALUE;
    }
    if (end == DEVICE_END && b->alias && !alias) {
        violation("%s: %s is the host's address of registered memory %u, not the device's", self.call, role, b->id);
        return E_VALUE;
    }
    s->b = b;
    s->trusted = b->rw != NULL;
    s->ptr = (b->rw ? b->rw : (u8 *)(uintptr_t)b->addr) + *off;
    s->fd = b->fd;
    s->off = b->off + (off_t)*off;
    return OK;
}

/* Reports a violation if the stream must not use the memory of another device. */
static void reach(const struct stream *s, const struct block *b, const char *role, int said) {
    if (said >= 0) {
        if (is_device(b) && b->dev != said)
            violation("%s: %s is memory of device %d, not %d", self.call, role, b->dev, said);
    } else if (is_device(b) && b->dev != s->ctx->dev && !(s->ctx->peers >> b->dev & 1)) {
        violation("%s: %s is memory of device %d, which stream %u of device %d may not use", self.call, role, b->dev, s->id,
                  s->ctx->dev);
    }
}

/* Whether the call waits while the driver copies through its own page-locked buffer: see
 * halyard_sim_pageable. */
bool through_staging(const struct op *op) {
    enum { AT_ONCE = 64 * 1024 };
    return E.link && E.pageable && !E.free && (!op->src.b || !op->dst.b) && op->width * op->rows > AT_ONCE;
}

/* Copies pageable memory into staging memory at once, as a driver does. */
static int stage(struct op *op) {
    struct block *b;
    u64 n = op->width * op->rows;
    int rc = block_new(STAGE, 0, n, &b);
    if (rc != OK)
        return rc;
    struct side to = {.b = b, .ptr = b->rw, .trusted = true, .fd = b->fd, .off = b->off};
    for (u64 r = 0; r < op->rows && rc == OK; r++)
        rc = move_bytes(&to, r * op->width, &op->src, r * op->spitch, op->width);
    if (rc != OK) {
        violation("%s: source cannot be read", self.call);
        block_release(b);
        return E_VALUE;
    }
    op->src = to;
    op->spitch = op->width;
    return OK;
}

int engine_copy(struct stream *s, const struct rect *r, int kind, bool sync) {
    static const enum end ends[][2] = {{HOST_END, HOST_END},     {DEVICE_END, HOST_END}, {HOST_END, DEVICE_END},
                                       {DEVICE_END, DEVICE_END}, {ANY_END, ANY_END},     {DEVICE_END, DEVICE_END}};
    struct ctx *c = s->ctx;
    struct lane *lane = s->lane;
    struct side dst, src;
    u64 doff, soff;
    u64 width = r->width, rows = r->rows, dpitch = r->dpitch, spitch = r->spitch;
    if (!width || !rows)
        return OK;
    if (rows > 1 && dpitch == width && spitch == width) {
        width *= rows;
        rows = 1;
    }
    if (rows > 1 && (dpitch < width || spitch < width))
        return E_VALUE;
    u64 dspan, sspan;
    if (__builtin_mul_overflow(rows - 1, dpitch, &dspan) || __builtin_add_overflow(dspan, width, &dspan) ||
        __builtin_mul_overflow(rows - 1, spitch, &sspan) || __builtin_add_overflow(sspan, width, &sspan)) {
        violation("%s: the range overflows", self.call);
        return E_VALUE;
    }
    int rc = resolve(r->dst, dspan, ends[kind][0], "destination", &dst, &doff);
    if (rc == OK)
        rc = resolve(r->src, sspan, ends[kind][1], "source", &src, &soff);
    if (rc != OK)
        return rc;
    bool generic = kind == COPY_ANY || (kind == COPY_D2D && !face.contexts);
    if (!generic || !is_device(dst.b) || !is_device(src.b)) {
        reach(s, dst.b, "destination", kind == COPY_PEER ? r->dstdev : -1);
        reach(s, src.b, "source", kind == COPY_PEER ? r->srcdev : -1);
    }
    bool same = dst.b ? dst.b == src.b : !src.b;
    if (same && dst.ptr < src.ptr + sspan && src.ptr < dst.ptr + dspan && rows == 1)
        violation("%s: source and destination overlap", self.call);

    bool wait = !dst.b || (sync && !(is_device(dst.b) && (is_device(src.b) || (!src.b && face.staged_sync))));
    /* CUDA: "from any host memory to any host memory, the function is fully synchronous". */
    wait |= face.contexts && host_end(dst.b) && host_end(src.b);
    struct op *op = op_new(OP_COPY, s, self.call);
    op->dst = dst;
    op->src = src;
    op->doff = doff;
    op->soff = soff;
    op->width = width;
    op->rows = rows;
    op->dpitch = dpitch;
    op->spitch = spitch;
    wait |= through_staging(op) && (is_device(dst.b) || is_device(src.b));
    /* No work is pending, so the copy itself runs at once, which takes no longer than staging. */
    bool idle = !E.pending && !E.seed && !E.link;
    if (!src.b && !wait && !E.free && !idle && (rc = stage(op)) != OK) {
        op->next = E.spare;
        E.spare = op;
        return rc;
    }
    int result = OK;
    if (wait || !op->src.b)
        op->result = &result;
    u64 pos = lane->enq + 1;
    bool staged = op->src.b && op->src.b->kind == STAGE;
    op_push(op);
    if (wait || (!src.b && !staged)) {
        rc = wait_pos(lane, pos);
        if (rc != OK) {
            for (op = lane->head; op; op = op->next)
                if (op->result == &result)
                    op->result = NULL;
            return rc;
        }
        host_learns(lane->clock.v, lane->clock.n);
        if (result != OK)
            return result;
    }
    return ctx_state(c);
}

int engine_copy1(struct stream *s, u64 dst, u64 src, u64 n, int kind, bool sync) {
    struct rect r = {.dst = dst, .src = src, .width = n, .rows = 1, .dpitch = n, .spitch = n, .dstdev = -1, .srcdev = -1};
    return engine_copy(s, &r, kind, sync);
}

int engine_fill(struct stream *s, u64 dst, u64 pattern, u32 patw, u64 width, u64 rows, u64 pitch, bool sync) {
    struct side side;
    struct ctx *c = s->ctx;
    struct lane *lane = s->lane;
    u64 off, span;
    if (!width || !rows)
        return OK;
    if (dst % patw || (rows > 1 && (pitch % patw || pitch < width)))
        return E_VALUE;
    if (__builtin_mul_overflow(rows - 1, pitch, &span) || __builtin_add_overflow(span, width, &span)) {
        violation("%s: the range overflows", self.call);
        return E_VALUE;
    }
    int rc = resolve(dst, span, DEVICE_END, "destination", &side, &off);
    if (rc != OK)
        return rc;
    reach(s, side.b, "destination", -1);
    bool wait = sync && !is_device(side.b);
    struct op *op = op_new(OP_FILL, s, self.call);
    op->dst = side;
    op->doff = off;
    op->width = width;
    op->rows = rows;
    op->dpitch = pitch;
    op->pattern = pattern;
    op->patw = patw;
    u64 pos = lane->enq + 1;
    op_push(op);
    if (wait) {
        rc = wait_pos(lane, pos);
        if (rc != OK)
            return rc;
        host_learns(lane->clock.v, lane->clock.n);
    }
    return ctx_state(c);
}
