/*
 * Reads the declarations of PTX text: the kernels with their parameters and limits. It skips the
 * code of the kernels, and only checks that its braces match.
 */
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"

enum { MAX_TEXT = 16 << 20, NEWEST_MAJOR = 8, NEWEST_MINOR = 8, DEVICE_SM = 90 };

struct reader {
    const char *p;
    int line;
    char token[160];
    char *log;
    size_t len;
};

static int wrong(struct reader *r, const char *what) {
    snprintf(r->log, r->len, "ptxas application ptx input, line %d; error   : %s near '%s' (simulated)", r->line, what, r->token);
    return E_PTX;
}

static bool word_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%' || c == '.';
}

/* The next token: a word, or one other character. False at the end of the text. */
static bool next(struct reader *r) {
    for (;;) {
        while (*r->p == ' ' || *r->p == '\t' || *r->p == '\r' || *r->p == '\n')
            r->line += *r->p++ == '\n';
        if (r->p[0] == '/' && r->p[1] == '/') {
            while (*r->p && *r->p != '\n')
                r->p++;
        } else if (r->p[0] == '/' && r->p[1] == '*') {
            const char *end = strstr(r->p, "*/");
            for (const char *stop = end ? end + 2 : r->p + strlen(r->p); r->p < stop; r->p++)
                r->line += *r->p == '\n';
        } else {
            break;
        }
    }
    size_t n = 0;
    if (*r->p == '"') {
        do
            r->line += *r->p++ == '\n';
        while (*r->p && *r->p != '"');
        r->p += *r->p != 0;
        strcpy(r->token, "\"");
        return true;
    }
    while (word_char(*r->p)) {
        if (n + 1 < sizeof r->token)
            r->token[n++] = *r->p;
        r->p++;
    }
    if (!n && *r->p)
        r->token[n++] = *r->p++;
    r->token[n] = 0;
    return n > 0;
}

static bool is(const struct reader *r, const char *token) {
    return !strcmp(r->token, token);
}

static u64 size_of_type(const char *type) {
    static const struct {
        const char *name;
        u64 size;
    } types[] = {{".b8", 1},   {".u8", 1},   {".s8", 1},   {".b16", 2}, {".u16", 2}, {".s16", 2}, {".f16", 2}, {".b32", 4},
                 {".u32", 4}, {".s32", 4}, {".f32", 4}, {".b64", 8}, {".u64", 8}, {".s64", 8}, {".f64", 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, type))
            return types[i].size;
    return 0;
}

/* Reads what follows ".param", up to "," or ")". */
static int parameter(struct reader *r, struct function *f) {
    u64 align = 0, size = 0, count = 1;
    while (next(r) && r->token[0] == '.') {
        if (is(r, ".align")) {
            if (!next(r))
                break;
            u64 v = strtoull(r->token, NULL, 10);
            align = align ? align : v; /* a second .align is that of the memory a pointer points to */
        } else if (size_of_type(r->token)) {
            size = size_of_type(r->token);
        } else if (!is(r, ".ptr") && !is(r, ".global") && !is(r, ".const") && !is(r, ".shared")) {
            return wrong(r, "unknown type");
        }
    }
    if (!size)
        return wrong(r, "a parameter without a type");
    u64 natural = size;
    if (!next(r))
        return wrong(r, "unexpected end");
    if (is(r, "[")) {
        next(r);
        count = strtoull(r->token, NULL, 0);
        if (!next(r) || !is(r, "]") || !next(r))
            return wrong(r, "an array without a size");
        natural = align ? align : size;
    }
    if (!count || count > 4096 || !natural || (natural & (natural - 1)))
        return wrong(r, "a size that is not allowed");
    u64 off = (f->bytes + natural - 1) & ~(natural - 1);
    return function_param(f, off, size * count, false) == OK ? OK : wrong(r, "too many parameters");
}

static int block_of(struct reader *r) {
    int depth = 1, from = r->line;
    while (depth) {
        if (!next(r)) {
            r->line = from;
            return wrong(r, "a brace that is not closed");
        }
        depth += is(r, "{") - is(r, "}");
    }
    return OK;
}

/* Reads what follows ".entry". */
static int entry(struct reader *r, struct module *m) {
    if (!next(r) || r->token[0] == '.' || !word_char(r->token[0]))
        return wrong(r, "a kernel without a name");
    for (u32 i = 0; i < m->n; i++)
        if (!strcmp(m->v[i]->name, r->token))
            return wrong(r, "a second kernel with that name");
    struct function *f = module_add(m, r->token);
    if (!next(r))
        return wrong(r, "unexpected end");
    if (is(r, "(")) {
        if (!next(r))
            return wrong(r, "unexpected end");
        while (!is(r, ")")) {
            if (!is(r, ".param"))
                return wrong(r, "a parameter does not begin with .param");
            int rc = parameter(r, f);
            if (rc != OK)
                return rc;
            if (is(r, ",") ? !next(r) : !is(r, ")"))
                return wrong(r, "unexpected end of parameters");
        }
        if (!next(r))
            return wrong(r, "unexpected end");
    }
    while (!is(r, "{")) {
        bool most = is(r, ".maxntid") || is(r, ".reqntid");
        if (most) {
            u64 n = 1;
            do {
                if (!next(r))
                    return wrong(r, "unexpected end");
                n *= strtoull(r->token, NULL, 10);
                if (!n || n > MAX_THREADS)
                    return wrong(r, "a block that is not allowed");
            } while (next(r) && is(r, ","));
            f->threads = (u32)n;
        } else if (!next(r) || is(r, ";")) {
            return wrong(r, "a kernel without code");
        }
    }
    return block_of(r);
}

static int header(struct reader *r, const char *directive, char *value, size_t n) {
    if (!next(r) || !is(r, directive))
        return wrong(r, "a directive is missing");
    if (!next(r))
        return wrong(r, "unexpected end");
    snprintf(value, n, "%s", r->token);
    return OK;
}

/* A zero-terminated copy of the program's text, or NULL. */
static char *text_of(const void *image) {
    size_t n = 0, cap = PAGE;
    char *text = malloc(cap);
    for (;;) {
        /* Reads up to the end of a page at a time, because the next page may not be readable. */
        size_t step = PAGE - ((uintptr_t)image + n) % PAGE;
        if (n + step + 1 > cap)
            text = realloc(text, cap = 2 * (n + step + 1));
        if (n > MAX_TEXT || !guest_read(text + n, (const char *)image + n, step)) {
            free(text);
            return NULL;
        }
        char *end = memchr(text + n, 0, step);
        if (end)
            return text;
        n += step;
    }
}

static int read_text(struct reader *r, struct module *m) {
    char value[160];
    int major = 0, minor = 0, sm = 0, rc;
    if ((rc = header(r, ".version", value, sizeof value)) != OK)
        return rc;
    if (sscanf(value, "%d.%d", &major, &minor) != 2)
        return wrong(r, "not a version");
    if (major > NEWEST_MAJOR || (major == NEWEST_MAJOR && minor > NEWEST_MINOR)) {
        wrong(r, "a version that is too new");
        return E_PTX_VERSION;
    }
    if ((rc = header(r, ".target", value, sizeof value)) != OK)
        return rc;
    if (sscanf(value, "sm_%d", &sm) != 1)
        return wrong(r, "not a target");
    if (sm > DEVICE_SM) {
        wrong(r, "the target is newer than the device");
        return E_NO_BINARY;
    }
    while (next(r)) {
        rc = is(r, ".entry") ? entry(r, m) : is(r, "{") ? block_of(r) : is(r, "}") ? wrong(r, "a closing brace without an opening one") : OK;
        if (rc != OK)
            return rc;
    }
    return OK;
}

int ptx_read(struct module *m, const void *image, char *log, size_t len) {
    char *text = text_of(image);
    struct reader r = {.p = text, .line = 1, .log = log, .len = len};
    if (!text)
        return E_IMAGE;
    for (const char *p = text; *p; p++)
        if ((u8)*p < ' ' && *p != '\n' && *p != '\r' && *p != '\t') {
            free(text); /* not text: a cubin or another format that cannot be run here */
            return E_IMAGE;
        }
    int rc = text[0] ? read_text(&r, m) : E_IMAGE;
    if (rc == OK && interpreter) {
        bool other, needed = m->compiled = strstr(text, "NVIDIA NVVM Compiler") != NULL;
        for (u32 i = 0; i < m->n; i++)
            needed |= !body_find(m->v[i], &other) && !other;
        if (needed && !(m->program = interpreter->parse(text, log, len)))
            rc = E_PTX;
    }
    free(text);
    return rc;
}
