/*
 * The validator. It reports misuse that a real driver may tolerate. Two uses of the same bytes of
 * which one is a write must be ordered: by a stream, by an event, or by a wait of the host. It does
 * not matter in which order they happened to run.
 *
 * All host threads count as one, because the validator cannot see how a program orders its threads:
 * what one thread has waited for, all threads know.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"

enum { MAX_TEXTS = 256, MAX_RECORDS = 1024, MAX_ROWS = 4096 };

const char *kind_name(enum kind k) {
    switch (k) {
    case DEVICE:
        return "device";
    case HOST:
        return "host";
    case MANAGED:
        return "managed";
    case REGISTERED:
        return "registered";
    case IMPORTED:
        return "imported";
    case STAGE:
        break;
    }
    return "staging";
}

void violation(const char *format, ...) {
    char text[512];
    int n = snprintf(text, sizeof text, "simulated %s: ", face.name);
    va_list ap;
    va_start(ap, format);
    vsnprintf(text + n, sizeof text - (size_t)n, format, ap);
    va_end(ap);
    E.violated++;
    for (u32 i = 0; i < E.nviolation; i++)
        if (!strcmp(E.violation[i], text))
            return;
    if (E.nviolation == MAX_TEXTS)
        return;
    if (E.nviolation == E.cviolation) {
        E.cviolation = E.cviolation ? 2 * E.cviolation : 8;
        E.violation = realloc(E.violation, E.cviolation * sizeof *E.violation);
    }
    E.violation[E.nviolation++] = strdup(text);
}

static void record(struct block *b, const struct access *a) {
    if (b->nacc == MAX_RECORDS) {
        memmove(b->acc, b->acc + 1, (b->nacc - 1) * sizeof *b->acc);
        b->nacc--;
    }
    if (b->nacc == b->cacc) {
        b->cacc = b->cacc ? 2 * b->cacc : 4;
        b->acc = realloc(b->acc, b->cacc * sizeof *b->acc);
    }
    b->acc[b->nacc++] = *a;
}

static void actor(char *text, size_t n, const struct access *a) {
    if (a->slot)
        snprintf(text, n, "%s on stream %u", a->call, a->stream);
    else
        snprintf(text, n, "%s by the host", a->call);
}

static void race(const struct block *b, const struct access *a, const struct access *old) {
    char now[128], then[128];
    actor(now, sizeof now, a);
    actor(then, sizeof then, old);
    violation("race: %s %s bytes [%llu,%llu) of %s memory %u, not ordered after %s, which %s bytes [%llu,%llu)", now,
              a->write ? "writes" : "reads", (unsigned long long)a->lo, (unsigned long long)a->hi, kind_name(b->kind),
              b->id, then, old->write ? "writes" : "reads", (unsigned long long)old->lo, (unsigned long long)old->hi);
}

/*
 * Checks an access against the recorded ones and records it. The clock says which of them are
 * ordered before it. Recorded ranges that the new access covers are trimmed if later accesses need
 * to be compared only with the new one.
 */
static void check(struct block *b, const struct access *a, const struct clock *clock) {
    bool reported = false;
    for (u32 i = 0; i < b->nacc; i++) {
        struct access *o = &b->acc[i];
        if (o->hi <= a->lo || a->hi <= o->lo)
            continue;
        bool ordered = clock_at(clock, o->slot) >= o->pos;
        if (!ordered && (a->write || o->write) && !reported) {
            race(b, a, o);
            reported = true; /* one report for one access */
        }
        if (!ordered && !a->write)
            continue;
        if (!a->write && (o->write || o->slot != a->slot))
            continue;
        struct access after = *o;
        if (o->lo < a->lo && a->hi < o->hi) {
            o->hi = a->lo;
            after.lo = a->hi;
            record(b, &after);
        } else if (o->lo < a->lo) {
            o->hi = a->lo;
        } else if (a->hi < o->hi) {
            o->lo = a->hi;
        } else {
            *o = b->acc[--b->nacc];
            i--;
        }
    }
    record(b, a);
}

static void watch_side(const struct op *op, struct block *b, u64 off, u64 pitch, bool write) {
    if (!b || b->kind == STAGE || b->freed)
        return;
    struct access a = {.pos = op->pos, .slot = op->lane->slot, .stream = op->stream, .write = write, .call = op->call};
    u64 rows = op->rows, width = op->width;
    if (rows > MAX_ROWS)
        return;
    for (u64 r = 0; r < rows; r++) {
        a.lo = off + r * pitch;
        a.hi = a.lo + width;
        check(b, &a, &op->lane->clock);
    }
}

/* Checks one range of a block that a running operation uses. */
void watch_use(const struct op *op, struct block *b, u64 lo, u64 hi, bool write) {
    if (b->freed || lo == hi)
        return;
    struct access a = {.lo = lo, .hi = hi, .pos = op->pos, .slot = op->lane->slot, .stream = op->stream, .write = write, .call = op->call};
    check(b, &a, &op->lane->clock);
}

void watch(struct op *op) {
    switch (op->kind) {
    case OP_COPY:
        watch_side(op, op->src.b, op->soff, op->spitch, false);
        watch_side(op, op->dst.b, op->doff, op->dpitch, true);
        break;
    case OP_FILL:
    case OP_ALLOC:
    case OP_FREE:
        watch_side(op, op->dst.b, op->doff, op->dpitch, true);
        break;
    case OP_LAUNCH:
        for (u32 i = 0; i < op->launch->nuses && !op->launch->bad; i++) {
            const struct use *u = &op->launch->use[i];
            watch_use(op, u->b, u->lo, u->hi, u->write);
        }
        break;
    default:
        break;
    }
}

static bool meets(const struct op *op, u64 off, u64 pitch, u64 lo, u64 hi, u64 *from, u64 *to) {
    for (u64 r = 0; r < op->rows; r++) {
        *from = off + r * pitch;
        *to = *from + op->width;
        if (*from < hi && lo < *to)
            return true;
    }
    return false;
}

static bool touches(const struct op *op, const struct block *b, u64 lo, u64 hi, bool write, u64 *from, u64 *to) {
    for (u32 i = 0; op->launch && i < op->launch->nuses; i++) {
        const struct use *u = &op->launch->use[i];
        if (u->b != b || !(write || u->write) || u->hi <= lo || hi <= u->lo)
            continue;
        *from = u->lo;
        *to = u->hi;
        return true;
    }
    return (op->dst.b == b && meets(op, op->doff, op->dpitch, lo, hi, from, to)) ||
           (op->src.b == b && write && meets(op, op->soff, op->spitch, lo, hi, from, to));
}

/* The host uses bytes of a block now. It is a violation if an operation conflicts that has not run,
 * or that the host does not know to have run. Returns the number of violations. */
int watch_host(struct block *b, u64 lo, u64 hi, bool write, const char *what) {
    u64 before = E.violated;
    if (!validating())
        return 0;
    u64 from, to;
    for (u32 i = 0; i < E.nactive && b->pending; i++)
        for (struct op *op = E.active[i]->head; op; op = op->next)
            if (touches(op, b, lo, hi, write, &from, &to)) {
                violation("in flight: %s %s bytes [%llu,%llu) of %s memory %u while %s on stream %u uses [%llu,%llu)", what,
                          write ? "writes" : "reads", (unsigned long long)lo, (unsigned long long)hi, kind_name(b->kind),
                          b->id, op->call, op->stream, (unsigned long long)from, (unsigned long long)to);
                goto done;
            }
    for (u32 i = 0; i < b->nacc; i++) {
        const struct access *o = &b->acc[i];
        if (o->hi <= lo || hi <= o->lo || !(write || o->write) || clock_at(&E.host, o->slot) >= o->pos)
            continue;
        violation("in flight: %s %s bytes [%llu,%llu) of %s memory %u without waiting for %s on stream %u, which %s [%llu,%llu)",
                  what, write ? "writes" : "reads", (unsigned long long)lo, (unsigned long long)hi, kind_name(b->kind), b->id,
                  o->call, o->stream, o->write ? "writes" : "reads", (unsigned long long)o->lo, (unsigned long long)o->hi);
        break;
    }
done:;
    u64 tick = clock_at(&E.host, 0) + 1;
    struct access a = {.lo = lo, .hi = hi, .pos = tick, .slot = 0, .write = write, .call = what};
    clock_set(&E.host, 0, tick);
    snap_unref(E.host_snap);
    E.host_snap = NULL;
    for (u32 i = 0; i < b->nacc; i++) {
        const struct access *o = &b->acc[i];
        if (o->slot == 0 && o->lo >= lo && o->hi <= hi && (write || !o->write))
            b->acc[i--] = b->acc[--b->nacc];
    }
    record(b, &a);
    return (int)(E.violated - before);
}
