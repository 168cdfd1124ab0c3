/* Streams and events. */
#include <stdlib.h>

#include "engine.h"

/* ---- streams ---- */

struct stream *stream_new(struct ctx *c, u32 flags, int priority) {
    struct stream *s = calloc(1, sizeof *s);
    s->ctx = c;
    s->flags = flags;
    if (without(HALYARD_SIM_WITHOUT_PRIORITIES))
        priority = 0;
    s->priority = priority > face.low ? face.low : priority < face.high ? face.high : priority;
    s->id = c->null && c->thread ? ++E.next_stream : 0;
    s->lane = lane_new(s);
    s->handle = handle_new(H_STREAM, s);
    s->next = c->streams;
    c->streams = s;
    return s;
}

/* Returns the stream of a handle, of any context. */
struct stream *stream_any(struct ctx *c, u64 handle, int *code) {
    *code = OK;
    if (handle <= 2)
        return handle == 2 ? c->thread : c->null;
    struct stream *s = handle_get(handle, H_STREAM);
    if (!s) {
        *code = face.stream_code;
        violation("%s: %s stream", self.call, handle_was(handle) ? "destroyed" : "unknown");
    }
    return s;
}

/* Returns the stream of a handle, for a call made while c is current. It ignores errors of the
 * context. */
struct stream *stream_quiet(struct ctx *c, u64 handle, int *code) {
    struct stream *s = stream_any(c, handle, code);
    if (s && s->ctx != c)
        violation("%s: stream %u of device %d while device %d is current", self.call, s->id, s->ctx->dev, c->dev);
    return s;
}

struct stream *stream_get(struct ctx *c, u64 handle, int *code) {
    struct stream *s = stream_quiet(c, handle, code);
    if (s && (*code = ctx_state(s->ctx)) != OK)
        return NULL;
    return s;
}

int stream_destroy(struct ctx *c, u64 handle) {
    struct stream *s = handle > 2 ? handle_get(handle, H_STREAM) : NULL;
    if (!s || s == s->ctx->null || s == s->ctx->thread) {
        violation("%s: %s stream", self.call, handle <= 2 ? "default" : handle_was(handle) ? "destroyed" : "unknown");
        return handle <= 2 ? E_HANDLE : face.stream_code;
    }
    struct ctx *owner = s->ctx;
    if (owner != c)
        violation("%s: stream %u of device %d while device %d is current", self.call, s->id, owner->dev, c->dev);
    handle_drop(handle);
    struct stream **at = &owner->streams;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    lane_orphan(s->lane);
    capture_drop(s);
    free(s);
    return ctx_state(owner);
}

static int lane_sync(struct ctx *c, struct lane *lane) {
    int rc = wait_pos(lane, lane->enq);
    if (rc != OK)
        return rc;
    host_learns(lane->clock.v, lane->clock.n);
    return ctx_state(c);
}

int stream_sync(struct stream *s) {
    return lane_sync(s->ctx, s->lane);
}

int stream_query(struct stream *s) {
    if (s->lane->head)
        return E_NOT_READY;
    host_learns(s->lane->clock.v, s->lane->clock.n);
    return OK;
}

/* Waits for all work that the context's streams have now. If learn is true, the host knows afterwards
 * that the work is done. */
static int drain(struct ctx *c, bool learn) {
    u32 n = 0;
    for (struct stream *s = c->streams; s; s = s->next)
        n++;
    struct dep *all = malloc((n + 1) * sizeof *all);
    n = 0;
    for (struct stream *s = c->streams; s; s = s->next)
        all[n++] = (struct dep){s->lane, s->lane->enq};
    int rc = OK;
    for (u32 i = 0; i < n && rc == OK; i++) {
        rc = wait_pos(all[i].lane, all[i].pos);
        if (rc == OK && learn)
            host_learns(all[i].lane->clock.v, all[i].lane->clock.n);
    }
    free(all);
    return rc;
}

int ctx_sync(struct ctx *c) {
    int rc = drain(c, true);
    return rc == OK ? ctx_state(c) : rc;
}

/*
 * Calls that free memory wait for the device: HIP documents "an implicit hipDeviceSynchronize()", and CUDA says that they "may
 * perform implicit synchronization". Programs must not rely on it. So the validator learns nothing from this wait, and with a seed
 * other than 0 about half of the calls do not wait.
 */
int ctx_settle(struct ctx *c) {
    return E.seed && roll(&E.rng) >> 63 ? OK : drain(c, false);
}

/* Finds the aligned word that a stream waits for or writes. */
static int value_side(struct stream *s, u64 addr, u32 width, struct side *side) {
    u64 off;
    bool alias;
    struct block *b = block_find(addr, &off, &alias);
    if (without(HALYARD_SIM_WITHOUT_WAIT_VALUE))
        return E_SUPPORTED;
    if (addr % width)
        return E_VALUE;
    if (!b || b->freed || b->freeing || width > b->size - off || (b->alias && !alias)) {
        violation("%s: %s on stream %u", self.call, b && (b->freed || b->freeing) ? "freed memory" : "not a device pointer",
                  s->id);
        return E_VALUE;
    }
    side->b = b;
    side->trusted = b->rw != NULL;
    side->ptr = (b->rw ? b->rw : (u8 *)(uintptr_t)b->addr) + off;
    return OK;
}

int stream_wait_value(struct stream *s, u64 addr, u64 value, u64 mask, u32 width, u32 cond) {
    struct side side = {0};
    if (cond > 3 || (cond == 3 && without(HALYARD_SIM_WITHOUT_WAIT_VALUE)))
        return E_VALUE;
    int rc = value_side(s, addr, width, &side);
    if (rc != OK)
        return rc;
    struct op *op = op_new(OP_WAIT_VALUE, s, self.call);
    op->dst = side;
    op->patw = width;
    op->value = value;
    op->mask = width == 4 ? mask & 0xFFFFFFFFu : mask;
    op->cond = cond;
    op_push(op);
    return OK;
}

int stream_write_value(struct stream *s, u64 addr, u64 value, u32 width) {
    struct side side = {0};
    int rc = value_side(s, addr, width, &side);
    if (rc != OK)
        return rc;
    struct op *op = op_new(OP_WRITE_VALUE, s, self.call);
    op->dst = side;
    op->patw = width;
    op->value = value;
    op_push(op);
    return OK;
}

int stream_call(struct stream *s, void (*fn)(void *), void (*cb)(void *, int, void *), void *arg, u64 handle) {
    if (without(HALYARD_SIM_WITHOUT_HOST_FUNC) || (fn && without(HALYARD_SIM_WITHOUT_HOST_LAUNCH)))
        return E_SUPPORTED;
    if (!fn && !cb)
        return E_VALUE;
    struct op *op = op_new(OP_CALL, s, self.call);
    op->fn = fn;
    op->cb = cb;
    op->arg = arg;
    op->handle = handle;
    op_push(op);
    return OK;
}

/* ---- events ---- */

int event_new(struct ctx *c, u32 flags, u64 *out) {
    if (!out)
        return E_VALUE;
    struct event *e = calloc(1, sizeof *e);
    e->ctx = c;
    e->flags = flags;
    e->id = ++E.next_event;
    e->handle = *out = handle_new(H_EVENT, e);
    return OK;
}

struct event *event_get(struct ctx *c, u64 handle, bool any_device, int *code) {
    struct event *e = handle_get(handle, H_EVENT);
    *code = OK;
    if (!e) {
        *code = E_HANDLE;
        violation("%s: %s event", self.call, handle_was(handle) ? "destroyed" : "unknown");
        return NULL;
    }
    if (e->ctx != c && !any_device)
        violation("%s: event %u of device %d while device %d is current", self.call, e->id, e->ctx->dev, c->dev);
    return e;
}

int event_destroy(struct ctx *c, u64 handle) {
    int rc;
    struct event *e = event_get(c, handle, false, &rc);
    if (!e)
        return rc;
    struct ctx *owner = e->ctx;
    handle_drop(handle);
    mark_unref(e->mark);
    free(e);
    return ctx_state(owner);
}

int event_record(struct event *e, struct stream *s) {
    if (e->ctx != s->ctx) {
        violation("%s: event %u of device %d on a stream of device %d", self.call, e->id, e->ctx->dev, s->ctx->dev);
        return E_HANDLE;
    }
    struct mark *m = calloc(1, sizeof *m);
    m->refs = 1;
    m->lane = s->lane;
    m->pos = s->lane->enq + 1;
    m->ctx = s->ctx;
    mark_unref(e->mark);
    e->mark = m;
    struct op *op = op_new(OP_RECORD, s, self.call);
    op->mark = m;
    op_push(op);
    return OK;
}

int event_wait(struct event *e, struct stream *s) {
    struct mark *m = e->mark;
    if (!m)
        return OK;
    struct op *op = op_new(OP_WAIT, s, self.call);
    op->mark = m;
    op_dep(op, m->lane, m->pos);
    op_push(op);
    return OK;
}

static int mark_end(const struct mark *m) {
    if (m->clock)
        host_learns(m->clock->v, m->clock->n);
    return m->err != OK ? m->err : ctx_state(m->ctx);
}

int event_query(struct event *e) {
    struct mark *m = e->mark;
    if (!m)
        return without(HALYARD_SIM_WITHOUT_FRESH_EVENTS) ? E_NOT_READY : ctx_state(e->ctx);
    if (!m->done) {
        int state = ctx_state(m->ctx);
        return state != OK ? state : E_NOT_READY;
    }
    return mark_end(m);
}

int event_sync(struct event *e) {
    struct mark *m = e->mark;
    if (!m)
        return without(HALYARD_SIM_WITHOUT_FRESH_EVENTS) ? E_NOT_READY : ctx_state(e->ctx);
    m->refs++;
    int rc = m->done ? OK : wait_pos(m->lane, m->pos);
    if (rc == OK)
        rc = mark_end(m);
    mark_unref(m);
    return rc;
}

int event_elapsed(struct event *from, struct event *to, float *ms) {
    if (!ms)
        return E_VALUE;
    if (!from->mark || !to->mark || (from->flags | to->flags) & EVENT_NO_TIMING)
        return E_HANDLE;
    if (!from->mark->done || !to->mark->done)
        return E_NOT_READY;
    *ms = (float)((double)(int64_t)(to->mark->time - from->mark->time) / 1e6);
    return OK;
}
