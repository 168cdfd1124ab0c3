/*
 * The scheduler. Work waits in lanes. A host thread that waits, the background thread, or any
 * driver call picks one of the lanes whose first operation is ready, and runs a part of that
 * operation. With seed 0 it picks the oldest operation, and small ones run at once. With any other
 * seed it picks by a policy that depends on the seed, and runs work in pieces and as late as
 * possible.
 */
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "engine.h"

enum { INLINE_BYTES = 256 * 1024, PLAIN_CHUNK = 1024 * 1024, IDLE_LANES = 16 };
enum policy { ANY, NEWEST, SAME, LAST_MADE, POLICIES };
enum aim { NEEDED_ONLY, WHATEVER, OTHERS_FIRST, AIMS };

u64 roll(u64 *rng) {
    *rng ^= *rng >> 12;
    *rng ^= *rng << 25;
    *rng ^= *rng >> 27;
    return *rng * 2685821657736338717ull;
}

/* Draws the policies of a seed. */
void personality(u64 seed) {
    static const u32 ticks[] = {0, 8, 48, 128};
    static const u64 chunks[] = {64, 512, 4096, 65536};
    static const u64 lazy[] = {300000, 1000000, 3000000};
    E.seed = seed;
    u64 z = seed + 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    E.rng = (z ^ (z >> 31)) | 1;
    for (int i = 0; i < 4; i++)
        roll(&E.rng);
    E.rng_bg = roll(&E.rng) | 1;
    E.tick_p = ticks[roll(&E.rng) >> 33 & 3];
    E.chunk = chunks[roll(&E.rng) >> 33 & 3];
    E.lazy_ns = lazy[(roll(&E.rng) >> 33) % 3];
    E.policy = (u32)((roll(&E.rng) >> 33) % POLICIES);
    E.aim = (u32)((roll(&E.rng) >> 33) % AIMS);
}

void pause_ns(pthread_cond_t *cond, u64 ns) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    u64 at = (u64)t.tv_nsec + ns;
    t.tv_sec += (time_t)(at / 1000000000ull);
    t.tv_nsec = (long)(at % 1000000000ull);
    pthread_cond_timedwait(cond, &E.mu, &t);
}

/* ---- lanes ---- */

struct lane *lane_new(struct stream *owner) {
    struct lane *l = E.idle_first;
    if (l && E.nidle > IDLE_LANES) {
        E.idle_first = l->idle;
        if (!E.idle_first)
            E.idle_last = NULL;
        E.nidle--;
        l->idle = NULL;
    } else {
        l = calloc(1, sizeof *l);
        if (E.nlanes == E.clanes) {
            E.clanes = E.clanes ? 2 * E.clanes : 16;
            E.lanes = realloc(E.lanes, E.clanes * sizeof *E.lanes);
        }
        E.lanes[E.nlanes++] = l;
        l->slot = E.nlanes;
    }
    l->owner = owner;
    l->priority = owner->priority;
    return l;
}

static void lane_retire(struct lane *l) {
    l->idle = NULL;
    if (E.idle_last)
        E.idle_last->idle = l;
    else
        E.idle_first = l;
    E.idle_last = l;
    E.nidle++;
}

/* The stream is destroyed. When the lane's work is done, another stream can use the lane. */
void lane_orphan(struct lane *l) {
    l->owner = NULL;
    if (!l->head)
        lane_retire(l);
}

void lanes_free(void) {
    for (u32 i = 0; i < E.nlanes; i++) {
        clock_drop(&E.lanes[i]->clock);
        free(E.lanes[i]);
    }
    free(E.lanes);
    free(E.active);
    while (E.spare) {
        struct op *op = E.spare;
        E.spare = op->next;
        free(op->deps);
        free(op);
    }
    E.lanes = NULL;
    E.active = NULL;
    E.last = NULL;
    E.idle_first = E.idle_last = NULL;
    E.nlanes = E.clanes = E.nactive = E.cactive = E.nidle = 0;
}

static void activate(struct lane *l) {
    if (E.nactive == E.cactive) {
        E.cactive = E.cactive ? 2 * E.cactive : 16;
        E.active = realloc(E.active, E.cactive * sizeof *E.active);
    }
    E.active[E.nactive++] = l;
    l->active = E.nactive;
}

static void deactivate(struct lane *l) {
    struct lane *last = E.active[E.nactive - 1];
    E.active[l->active - 1] = last;
    last->active = l->active;
    l->active = 0;
    E.nactive--;
}

/* ---- operations ---- */

void mark_unref(struct mark *m) {
    if (m && --m->refs == 0) {
        snap_unref(m->clock);
        free(m);
    }
}

struct op *op_new(enum op_kind kind, struct stream *s, const char *call) {
    if (s->capture)
        violation("%s: stream %u is captured", call, s->id);
    struct op *op = E.spare;
    if (op) {
        struct dep *deps = op->deps;
        E.spare = op->next;
        memset(op, 0, sizeof *op);
        op->deps = deps;
    } else {
        op = calloc(1, sizeof *op);
    }
    op->kind = kind;
    op->call = call;
    op->lane = s->lane;
    op->ctx = s->ctx;
    op->stream = s->id;
    return op;
}

void op_dep(struct op *op, struct lane *lane, u64 pos) {
    if (!pos || lane == op->lane)
        return;
    if ((op->ndeps & (op->ndeps - 1)) == 0)
        op->deps = realloc(op->deps, (op->ndeps ? 2 * op->ndeps : 1) * sizeof *op->deps);
    op->deps[op->ndeps++] = (struct dep){lane, pos};
}

static void op_recycle(struct op *op) {
    snap_unref(op->host);
    mark_unref(op->mark);
    if (op->launch)
        launch_drop(op->launch);
    struct block *bs[] = {op->dst.b, op->src.b};
    for (int i = 0; i < 2; i++) {
        if (!bs[i])
            continue;
        bs[i]->pending--;
        if (bs[i]->kind == STAGE)
            block_release(bs[i]);
        else if (bs[i]->freed && !bs[i]->pending)
            block_discard(bs[i]);
        block_unref(bs[i]);
    }
    op->next = E.spare;
    E.spare = op;
}

static void complete(struct op *op) {
    struct lane *l = op->lane;
    l->done = op->pos;
    l->head = op->next;
    if (!l->head) {
        l->tail = NULL;
        deactivate(l);
        if (!l->owner)
            lane_retire(l);
    }
    E.pending--;
    op_recycle(op);
    if (E.waiters)
        pthread_cond_broadcast(&E.progress);
}

static bool crosses_link(const struct op *op) {
    if (op->kind != OP_COPY)
        return false;
    const struct block *d = op->dst.b, *s = op->src.b;
    bool dd = d && (d->kind == DEVICE || d->kind == IMPORTED), sd = s && (s->kind == DEVICE || s->kind == IMPORTED);
    return dd != sd || (dd && sd && d->dev != s->dev);
}

static bool value_met(const struct op *op) {
    u64 v = 0;
    if (peek(&op->dst, op->patw, &v) != OK)
        return true;
    v &= op->mask;
    switch (op->cond) {
    case 0:
        return op->patw == 4 ? (int32_t)((u32)v - (u32)op->value) >= 0 : (int64_t)(v - op->value) >= 0;
    case 1:
        return v == op->value;
    case 2:
        return (v & op->value) != 0;
    default:
        return ~(v | op->value) << (64 - 8 * op->patw) != 0;
    }
}

/* Whether the first operation of the lane can run. If it waits for another lane, *blocker is that
 * lane. *poll is true if the caller must ask again after a while, because no other thread will
 * signal. */
static bool ready(struct lane *l, struct lane **blocker, bool *poll) {
    struct op *op = l->head;
    if (!op || l->running)
        return false;
    if (op->begun || ctx_state(op->ctx) != OK)
        return true;
    for (u32 i = 0; i < op->ndeps; i++) {
        if (op->deps[i].lane->done < op->deps[i].pos) {
            if (blocker)
                *blocker = op->deps[i].lane;
            return false;
        }
    }
    if (op->kind == OP_WAIT_VALUE && !value_met(op)) {
        *poll = true;
        return false;
    }
    if (E.link && !E.free && crosses_link(op)) {
        u64 now = now_ns();
        struct device *d = &E.dev[op->ctx->dev];
        if (!op->due) {
            u64 start = d->link_free > now ? d->link_free : now;
            u64 rate = through_staging(op) && E.pageable < E.link ? E.pageable : E.link;
            op->due = start + op->width * op->rows * 1000000ull / rate;
            d->link_free = op->due;
        }
        if (now < op->due) {
            *poll = true;
            return false;
        }
    }
    return true;
}

static void finish_mark(struct op *op, int err) {
    struct mark *m = op->mark;
    m->done = true;
    m->err = err;
    m->time = now_ns();
    if (validating())
        m->clock = snap_of(&op->lane->clock);
}

/* Ends an operation whose context has an error or is being destroyed. It moves no bytes, but
 * threads that wait for it wake up. */
static void abandon(struct op *op, int err) {
    if (op->kind == OP_RECORD) {
        finish_mark(op, err);
    } else if (op->kind == OP_FREE) {
        E.dev[op->dst.b->dev].freeing -= op->dst.b->charge;
        op->lane->freeing -= op->dst.b->charge;
        block_release(op->dst.b);
    }
    if (op->result)
        *op->result = err;
    complete(op);
}

/* Moves up to chunk bytes of a copy or fill; releases the lock around them. */
static int advance(struct op *op, u64 chunk) {
    u64 total = op->width * op->rows, from = op->done;
    u64 upto = total - from < chunk ? total : from + chunk;
    bool lost_src = op->kind == OP_COPY && op->src.b && op->src.b->freed && op->src.b->kind == REGISTERED;
    bool lost_dst = op->dst.b && op->dst.b->freed && op->dst.b->kind == REGISTERED;
    int rc = OK;
    if (!E.free && !lost_dst) {
        E.executing = true;
        pthread_mutex_unlock(&E.mu);
        for (u64 at = from; at < upto && rc == OK;) {
            u64 row = at / op->width, col = at % op->width;
            u64 n = op->width - col < upto - at ? op->width - col : upto - at;
            u64 d = row * op->dpitch + col;
            if (op->kind == OP_FILL)
                rc = fill_bytes(&op->dst, d, op->pattern, op->patw, n);
            else if (lost_src)
                rc = fill_bytes(&op->dst, d, 0xDDD1D7DBDDDCDEDFull, 8, n);
            else
                rc = move_bytes(&op->dst, d, &op->src, row * op->spitch + col, n);
            at += n;
        }
        pthread_mutex_lock(&E.mu);
        E.executing = false;
        if (E.waiters)
            pthread_cond_broadcast(&E.progress);
        E.moved += upto - from;
    }
    op->done = upto;
    return rc;
}

static void begin(struct op *op) {
    struct lane *l = op->lane;
    clock_join(&l->clock, op->host->v, op->host->n);
    for (u32 i = 0; i < op->ndeps; i++) {
        const struct dep *d = &op->deps[i];
        /* An event orders the work before its record, not later work of that stream. */
        if (op->kind == OP_WAIT && op->mark->clock && d->lane == op->mark->lane && d->pos == op->mark->pos)
            clock_join(&l->clock, op->mark->clock->v, op->mark->clock->n);
        else
            clock_join(&l->clock, d->lane->clock.v, d->lane->clock.n);
    }
    if (op->kind == OP_WAIT_VALUE) {
        clock_join(&l->clock, E.host.v, E.host.n);
        clock_join(&l->clock, op->dst.b->release.v, op->dst.b->release.n);
    }
    clock_set(&l->clock, l->slot, op->pos);
    watch(op);
}

/* Runs the first operation of a lane, or a part of it. */
static void execute(struct lane *l) {
    struct op *op = l->head;
    int state = ctx_state(op->ctx), rc;
    if (state != OK && !(op->kind == OP_CALL && op->cb)) {
        abandon(op, state);
        return;
    }
    if (!op->begun && validating())
        begin(op);
    op->begun = true;
    switch (op->kind) {
    case OP_COPY:
    case OP_FILL: {
        u64 total = op->width * op->rows, chunk = PLAIN_CHUNK;
        if (E.seed) {
            chunk = E.chunk > total / 32 ? E.chunk : total / 32;
            chunk += 8 - chunk % 8;
        }
        rc = advance(op, chunk);
        if (rc == OK && op->done < total)
            return;
        if (rc != OK) {
            violation("%s: host memory of an operation on stream %u cannot be accessed", op->call, op->stream);
            if (op->result)
                *op->result = E_VALUE;
            else
                op->ctx->sticky = E_ILLEGAL;
        }
        break;
    }
    case OP_RECORD:
        finish_mark(op, OK);
        break;
    case OP_WRITE_VALUE:
        if (poke(&op->dst, op->patw, op->value) != OK) {
            violation("%s: host memory of an operation on stream %u cannot be accessed", op->call, op->stream);
            op->ctx->sticky = E_ILLEGAL;
            break;
        }
        clock_join(&op->dst.b->release, l->clock.v, l->clock.n);
        if (op->dst.b->kind != DEVICE && op->dst.b->kind != IMPORTED)
            host_learns(l->clock.v, l->clock.n);
        break;
    case OP_FREE:
        E.dev[op->dst.b->dev].freeing -= op->dst.b->charge;
        l->freeing -= op->dst.b->charge;
        block_release(op->dst.b);
        break;
    case OP_CALL:
        op->status = state;
        op->qnext = NULL;
        if (E.queue_last)
            E.queue_last->qnext = op;
        else
            E.queue_first = op;
        E.queue_last = op;
        l->running = true;
        pthread_cond_signal(&E.calls);
        return;
    case OP_LAUNCH: {
        u64 total = op->width, piece = PLAIN_CHUNK;
        if (E.seed)
            piece = E.chunk > total / 32 ? E.chunk : total / 32;
        bool done = true;
        rc = launch_step(op, piece, &done);
        if (rc != OK)
            op->ctx->sticky = rc;
        else if (!done)
            return;
        break;
    }
    case OP_WAIT:
    case OP_WAIT_VALUE:
    case OP_ALLOC:
    case OP_PREFETCH:
        break;
    }
    complete(op);
}

/* ---- picking ---- */

struct search {
    struct lane *found;
    u32 n;
    bool poll;
};

static u64 size_of(const struct op *op) {
    return op->kind == OP_COPY || op->kind == OP_FILL || op->kind == OP_LAUNCH ? op->width * op->rows : 0;
}

static void pick(struct search *s, u64 *rng, u64 max, const struct lane *except) {
    u32 policy = roll(rng) >> 62 ? E.policy : ANY;
    s->found = NULL;
    s->n = 0;
    for (u32 i = 0; i < E.nactive; i++) {
        struct lane *l = E.active[i];
        if (l == except || size_of(l->head) > max || !ready(l, NULL, &s->poll))
            continue;
        s->n++;
        if (!s->found) {
            s->found = l;
            continue;
        }
        bool better;
        if (!E.seed)
            better = l->head->seq < s->found->head->seq;
        else if (policy == NEWEST)
            better = l->head->seq > s->found->head->seq;
        else if (policy == SAME)
            better = l == E.last || (s->found != E.last && roll(rng) >> 33 & 1);
        else if (policy == LAST_MADE)
            better = l->slot > s->found->slot;
        else
            better = (roll(rng) >> 33) % s->n == 0;
        if (better)
            s->found = l;
    }
    E.last = s->found;
}

static bool step(u64 *rng, u64 max, bool *poll) {
    if (E.executing || !E.pending)
        return false;
    struct search s = {0};
    pick(&s, rng, max, NULL);
    *poll |= s.poll;
    if (!s.found)
        return false;
    execute(s.found);
    return true;
}

bool run_one(void) {
    bool poll = false;
    return step(&E.rng, UINT64_MAX, &poll);
}

/* Runs one step towards the completion of the work that is in the lane now. */
static bool step_for(struct lane *l, bool *poll) {
    if (E.executing)
        return false;
    if (!E.seed || E.aim == WHATEVER)
        return step(&E.rng, UINT64_MAX, poll);
    struct lane *need = l, *blocker = NULL;
    u32 hops = 0, aim = roll(&E.rng) >> 61 ? E.aim : NEEDED_ONLY;
    while (!ready(need, &blocker, poll) && blocker && hops++ < E.nlanes) {
        need = blocker;
        blocker = NULL;
    }
    bool can = ready(need, NULL, poll);
    if (aim == OTHERS_FIRST || !can) {
        struct search s = {0};
        pick(&s, &E.rng, UINT64_MAX, need);
        *poll |= s.poll;
        if (s.found) {
            execute(s.found);
            return true;
        }
    }
    if (!can)
        return false;
    execute(need);
    return true;
}

/* Runs in every driver call: with a seed, the devices sometimes make progress during it. */
void tick(void) {
    if (!E.seed || E.free || !E.pending)
        return;
    u64 r = roll(&E.rng) >> 32;
    if ((r & 255) >= E.tick_p)
        return;
    for (u64 n = 1 + (r >> 8 & 3); n && run_one(); n--)
        ;
    if (!(r >> 12 & 15)) {
        pthread_mutex_unlock(&E.mu);
        sched_yield();
        pthread_mutex_lock(&E.mu);
    }
}

/* Called when there is new work, or when work has ended that other work waits for. */
static void kick(void) {
    if (!E.seed) {
        bool poll = false;
        while (step(&E.rng, E.free ? UINT64_MAX : INLINE_BYTES, &poll))
            ;
    }
    if (E.pending && E.sleeping && !E.hold)
        pthread_cond_signal(&E.work);
}

void op_push(struct op *op) {
    struct lane *l = op->lane;
    struct stream *s = l->owner, *null = op->ctx->null;
    if (s == null) {
        for (struct stream *o = op->ctx->streams; o; o = o->next)
            if (!(o->flags & 1))
                op_dep(op, o->lane, o->lane->enq);
    } else if (!(s->flags & 1)) {
        op_dep(op, null->lane, null->lane->enq);
    }
    op->pos = ++l->enq;
    op->seq = ++E.seq;
    op->host = host_now();
    struct block *bs[] = {op->dst.b, op->src.b};
    for (int i = 0; i < 2; i++) {
        if (bs[i]) {
            bs[i]->refs++;
            bs[i]->pending++;
        }
    }
    if (op->mark)
        op->mark->refs++;
    if (op->launch)
        launch_attach(op->launch, l, op->pos);
    if (l->tail) {
        l->tail->next = op;
    } else {
        l->head = op;
        activate(l);
    }
    l->tail = op;
    E.pending++;
    kick();
}

/* ---- waiting ---- */

int wait_pos(struct lane *l, u64 pos) {
    u64 epoch = E.epoch;
    E.waiters++;
    while (E.epoch == epoch && l->done < pos) {
        bool poll = false;
        if (!step_for(l, &poll))
            pause_ns(&E.progress, poll ? 50000 : 5000000);
    }
    E.waiters--;
    return E.epoch == epoch ? OK : E_DEINIT;
}

void wait_idle(void) {
    E.waiters++;
    while (E.executing)
        pthread_cond_wait(&E.progress, &E.mu);
    E.waiters--;
}

/* Runs work until no free is enqueued on the device, or nothing can run. */
void reclaim(int dev) {
    u64 epoch = E.epoch;
    while (E.epoch == epoch && E.dev[dev].freeing) {
        if (E.executing)
            wait_idle();
        else if (!run_one())
            return;
    }
}

/* Abandons the work of a lane. */
void lane_drop(struct lane *l) {
    E.waiters++;
    while (l->head) {
        if (E.executing || l->running)
            pause_ns(&E.progress, 1000000);
        else
            abandon(l->head, E_CTX_GONE);
    }
    E.waiters--;
}

/* ---- threads ---- */

void *run_background(void *arg) {
    (void)arg;
    pthread_mutex_lock(&E.mu);
    for (;;) {
        if (E.hold || !E.pending) {
            E.sleeping = true;
            pthread_cond_wait(&E.work, &E.mu);
            E.sleeping = false;
            continue;
        }
        bool poll = false;
        if (!E.seed) {
            if (!step(&E.rng, UINT64_MAX, &poll))
                pause_ns(&E.work, poll ? 50000 : 500000);
            continue;
        }
        pause_ns(&E.work, E.lazy_ns / 2 + roll(&E.rng_bg) % E.lazy_ns);
        /* The number of steps grows with the backlog, so that a long one does not take for ever. */
        for (u64 n = 1 + (roll(&E.rng_bg) >> 33) % 8 + E.pending / 16; n && !E.hold && step(&E.rng_bg, UINT64_MAX, &poll); n--)
            ;
    }
    return NULL;
}

void *run_callbacks(void *arg) {
    (void)arg;
    self.callback = true;
    pthread_mutex_lock(&E.mu);
    for (;;) {
        struct op *op = E.queue_first;
        if (!op) {
            pthread_cond_wait(&E.calls, &E.mu);
            continue;
        }
        E.queue_first = op->qnext;
        if (!E.queue_first)
            E.queue_last = NULL;
        E.calling = true;
        host_learns(op->lane->clock.v, op->lane->clock.n);
        pthread_mutex_unlock(&E.mu);
        if (op->cb)
            op->cb((void *)(uintptr_t)op->handle, op->status, op->arg);
        else
            op->fn(op->arg);
        pthread_mutex_lock(&E.mu);
        E.calling = false;
        op->lane->running = false;
        complete(op);
        pthread_cond_broadcast(&E.progress);
        kick();
    }
    return NULL;
}
