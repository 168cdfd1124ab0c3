/* Modules and their kernels. */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"


/* Adds a kernel that an image declares. */
struct function *module_add(struct module *m, const char *name) {
    if (m->n == m->cap) {
        m->cap = m->cap ? 2 * m->cap : 8;
        m->v = realloc(m->v, m->cap * sizeof *m->v);
    }
    struct function *f = calloc(1, sizeof *f);
    f->module = m;
    f->name = strdup(name);
    f->threads = MAX_THREADS;
    m->v[m->n++] = f;
    return f;
}

int function_param(struct function *f, u64 off, u64 size, bool pointer) {
    if (f->nparams == MAX_PARAMS || size == 0 || size > 4096 || off > 4096 || off < f->bytes)
        return E_IMAGE;
    f->param[f->nparams].off = (u32)off;
    f->param[f->nparams].pointer = pointer;
    f->param[f->nparams++].size = (u32)size;
    f->bytes = (u32)(off + size);
    return OK;
}

void module_unref(struct module *m) {
    if (--m->refs)
        return;
    for (u32 i = 0; i < m->n; i++) {
        free(m->v[i]->name);
        free(m->v[i]);
    }
    if (m->program)
        interpreter->drop(m->program);
    free(m->v);
    clock_drop(&m->used);
    free(m);
}

/* Gives every kernel its C function or its entry in the interpreted program. */
static int resolve(struct module *m, char *log, size_t len) {
    for (u32 i = 0; i < m->n; i++) {
        struct function *f = m->v[i];
        f->dynamic = f->shared < face.shared ? face.shared - f->shared : 0;
        bool other = false;
        f->body = body_find(f, &other);
        if (other) {
            snprintf(log, len, "simulated %s: the kernel %s takes other parameters", face.name, f->name);
            return face.contexts ? E_PTX : E_SUPPORTED;
        }
        if (f->body)
            continue;
        f->entry = m->program ? interpreter->entry(m->program, f->name) : NULL;
        if (!f->entry) {
            snprintf(log, len, "simulated %s: nothing can run the kernel %s", face.name, f->name);
            return face.contexts ? E_PTX : E_SUPPORTED;
        }
    }
    return OK;
}

int module_load(struct ctx *c, const void *image, char *log, size_t len, u64 *out) {
    if (!out || !image)
        return E_VALUE;
    struct module *m = calloc(1, sizeof *m);
    m->refs = 1;
    m->ctx = c;
    int rc = face.read_image(m, image, log, len);
    if (rc == OK)
        rc = resolve(m, log, len);
    if (rc != OK) {
        module_unref(m);
        return rc;
    }
    m->id = ++E.next_module;
    m->handle = *out = handle_new(H_MODULE, m);
    for (u32 i = 0; i < m->n; i++)
        m->v[i]->handle = handle_new(H_FUNCTION, m->v[i]);
    return OK;
}

static struct module *module_get(const struct ctx *c, u64 handle, int *code) {
    struct module *m = handle_get(handle, H_MODULE);
    *code = OK;
    if (!m) {
        *code = E_HANDLE;
        violation("%s: %s module", self.call, handle_was(handle) ? "unloaded" : "unknown");
    } else if (m->ctx != c) {
        violation("%s: module %u of device %d while device %d is current", self.call, m->id, m->ctx->dev, c->dev);
    }
    return m;
}

static void module_end(struct module *m) {
    handle_drop(m->handle);
    for (u32 i = 0; i < m->n; i++)
        handle_drop(m->v[i]->handle);
    m->unloaded = true;
    module_unref(m);
}

/* Whether a launch has not run yet, or the host does not know that it has run. */
static bool busy(const struct module *m) {
    if (m->launches) {
        if (E.validate)
            violation("in flight: %s unloads module %u with %u launches to run", self.call, m->id, m->launches);
        return true;
    }
    for (u32 slot = 0; slot < m->used.n && validating(); slot++) {
        if (clock_at(&E.host, slot) < m->used.v[slot]) {
            violation("in flight: %s unloads module %u without waiting for its last launch", self.call, m->id);
            return true;
        }
    }
    return false;
}

int module_unload(struct ctx *c, u64 handle) {
    int rc;
    wait_idle();
    struct module *m = module_get(c, handle, &rc);
    if (!m)
        return rc;
    struct ctx *owner = m->ctx;
    rc = busy(m) ? OK : ctx_settle(c);
    if (rc != OK)
        return rc;
    wait_idle();
    if (handle_get(handle, H_MODULE) != m) {
        violation("%s: unloaded twice", self.call);
        return E_HANDLE;
    }
    module_end(m);
    return ctx_state(owner);
}

u32 modules_drop(const struct ctx *c) {
    u32 n = 0;
    graphs_drop(c);
    struct module *m;
    for (u32 at = 0; (m = handle_next(&at, H_MODULE));) {
        if (c && m->ctx != c)
            continue;
        module_end(m);
        n++;
    }
    return n;
}

int module_function(struct ctx *c, u64 handle, const char *name, u64 *out) {
    int rc;
    if (!name || !out)
        return E_VALUE;
    struct module *m = module_get(c, handle, &rc);
    if (!m)
        return rc;
    for (u32 i = 0; i < m->n; i++) {
        if (!strcmp(m->v[i]->name, name)) {
            *out = m->v[i]->handle;
            return OK;
        }
    }
    return E_NOT_FOUND;
}

struct function *function_get(const struct ctx *c, u64 handle, int *code) {
    struct function *f = handle_get(handle, H_FUNCTION);
    *code = OK;
    if (!f) {
        *code = E_HANDLE;
        violation("%s: %s function", self.call, handle_was(handle) ? "unloaded" : "unknown");
    } else if (f->module->ctx != c) {
        violation("%s: kernel %s of device %d while device %d is current", self.call, f->name, f->module->ctx->dev, c->dev);
    }
    return f;
}

int function_attribute(const struct function *f, int which, int *value) {
    static const int registers = 32;
    if (!value)
        return E_VALUE;
    switch (which) {
    case 0:
        *value = (int)f->threads;
        return OK;
    case 1:
        *value = (int)f->shared;
        return OK;
    case 3:
        *value = (int)f->local;
        return OK;
    case 4:
        *value = registers;
        return OK;
    case 5:
    case 6:
        *value = 90;
        return OK;
    case 8:
        *value = (int)f->dynamic;
        return OK;
    case 2:
    case 7:
        *value = 0;
        return OK;
    }
    return E_VALUE;
}

int function_set(struct function *f, int which, int value) {
    if (which != 8 || value < 0 || (u32)value + f->shared > face.shared_most)
        return E_VALUE;
    f->dynamic = (u32)value;
    return OK;
}

int function_occupancy(const struct function *f, u64 shared, int limit, int *grid, int *block) {
    enum { FAST = 512 };
    if (!grid || !block || limit < 0 || shared > f->dynamic)
        return E_VALUE;
    u32 n = f->threads < FAST ? f->threads : FAST;
    *block = (int)(limit && (u32)limit < n ? (u32)limit : n);
    *grid = 4;
    return OK;
}
