/*
 * Graphs: launches that a stream was given while it was captured. The stream takes nothing else then. Launching a graph pushes
 * each of its launches, which are checked as launches of their own.
 */
#include <stdlib.h>

#include "engine.h"

struct graph {
    u64 handle;
    u32 id, n;
    struct ctx *ctx;
    struct launch **v;
};

static u32 graphs;

static struct launch *copied(const struct launch *l) {
    size_t size = sizeof *l + l->fn->bytes;
    struct launch *c = malloc(size);
    memcpy(c, l, size);
    return c;
}

static void add(struct graph *g, struct launch *l) {
    g->v = realloc(g->v, (g->n + 1) * sizeof *g->v);
    g->v[g->n++] = l;
    l->fn->module->refs++;
}

static void drop(struct graph *g) {
    if (g->handle)
        handle_drop(g->handle);
    for (u32 i = 0; i < g->n; i++) {
        module_unref(g->v[i]->fn->module);
        free(g->v[i]);
    }
    free(g->v);
    free(g);
}

/* Adds a launch to the graph that the stream's work is captured into, if there is one. */
bool graph_takes(struct stream *s, struct launch *l) {
    if (s->capture)
        add(s->capture, l);
    return s->capture;
}

int capture_begin(struct stream *s, int mode) {
    if (s->capture || mode < 0 || mode > 2 || s == s->ctx->null)
        return E_VALUE;
    if (s->lane->head)
        violation("%s: stream %u has work", self.call, s->id); /* a driver allows it; the backend captures a stream of its own */
    s->capture = calloc(1, sizeof *s->capture);
    s->capture->ctx = s->ctx;
    return OK;
}

int capture_end(struct stream *s, u64 *out) {
    struct graph *g = s->capture;
    if (!g || !out)
        return E_VALUE;
    s->capture = NULL;
    g->id = ++graphs;
    *out = g->handle = handle_new(H_GRAPH, g);
    return OK;
}

void capture_drop(struct stream *s) {
    if (s->capture)
        drop(s->capture);
}

static struct graph *graph_get(const struct ctx *c, u64 handle, enum handle_kind kind) {
    struct graph *g = handle_get(handle, kind);
    if (!g)
        violation("%s: %s graph", self.call, handle_was(handle) ? "destroyed" : "unknown");
    else if (g->ctx != c)
        violation("%s: graph %u of device %d while device %d is current", self.call, g->id, g->ctx->dev, c->dev);
    return g;
}

int graph_instantiate(struct ctx *c, u64 handle, u64 *out) {
    struct graph *g = graph_get(c, handle, H_GRAPH);
    if (!g || !out)
        return E_VALUE;
    struct graph *x = calloc(1, sizeof *x);
    x->ctx = c;
    x->id = g->id;
    for (u32 i = 0; i < g->n; i++)
        add(x, copied(g->v[i]));
    *out = x->handle = handle_new(H_EXEC, x);
    return OK;
}

int graph_launch(struct stream *s, u64 handle) {
    struct graph *x = graph_get(s->ctx, handle, H_EXEC);
    if (!x)
        return E_VALUE;
    for (u32 i = 0; i < x->n; i++)
        launch_push(s, copied(x->v[i]));
    return ctx_state(s->ctx);
}

int graph_destroy(struct ctx *c, u64 handle, enum handle_kind kind) {
    struct graph *g = graph_get(c, handle, kind);
    if (!g)
        return E_VALUE;
    drop(g);
    return OK;
}

/* Drops the graphs of a context, or all. */
void graphs_drop(const struct ctx *c) {
    struct graph *g;
    for (enum handle_kind kind = H_GRAPH; kind <= H_EXEC; kind++)
        for (u32 at = 0; (g = handle_next(&at, kind));)
            if (!c || g->ctx == c)
                drop(g);
}

u32 graph_id(const struct graph *g, int *dev) {
    *dev = g->ctx->dev;
    return g->id;
}
