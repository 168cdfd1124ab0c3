/*
 * The PTX parser. Its rules come from the PTX ISA manual. Sections are not named at each rule, but
 * instructions are in the order of chapter 9 of the manual.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ptx_code.h"

enum {
    MAX_TEXT = 256 << 20,
    MAX_REGISTERS = 1 << 20,
    MAX_VARIABLE = 1 << 28,
    MAX_NESTING = 64,
    MAX_OPERANDS = 8,
    MAX_MODIFIERS = 16,
    MAX_NAME = 1024,
};

/* ---- memory: everything of a module is freed at once ---- */

struct chunk {
    struct chunk *next;
    size_t used, size;
    _Alignas(16) u8 data[];
};

/* ---- tokens ---- */

enum token_kind { K_END, K_WORD, K_STRING, K_MARK };

struct token {
    u8 kind;
    char mark;
    u32 at, len, line;
};

struct symbol {
    const char *name;
    u32 len;
    u8 type;   /* of a register */
    bool range; /* the name is a prefix, which is followed by a number below count */
    u32 reg, count;
    u8 space; /* of a variable */
    u64 size, off;
    bool formal;
    struct var *var;
};

struct label {
    const char *name;
    u32 len, scope, at;
    bool table;
};

struct fixup {
    const char *name;
    u32 len, scope, line;
    u32 *to;  /* the entry of a table to set; NULL for the target */
    u32 insn; /* of this instruction */
    bool table;
};

enum raw_kind { R_REG, R_INT, R_F32, R_F64, R_SREG, R_VAR, R_NAME, R_VEC, R_ADDR, R_SINK };

/* An operand as it was written. */
struct raw {
    u8 kind, type;
    bool negate, minus;
    u32 reg, line;
    u64 imm; /* number, bits, or displacement */
    struct symbol *sym;
    const char *name;
    u32 len;
    struct raw *v; /* elements, or what is in brackets */
    u32 n;
    struct raw *second; /* after | */
};

#define LIST(T)                                                                                                        \
    struct {                                                                                                           \
        T *v;                                                                                                          \
        u32 n, cap;                                                                                                    \
    }

struct parser {
    jmp_buf stop;
    char *err;
    size_t errlen;
    ptx_module *m;
    const char *text;
    LIST(struct token) tok;
    u32 i;
    LIST(struct symbol) syms;

    struct func *f;
    LIST(struct insn) code;
    LIST(struct label) labels;
    LIST(struct fixup) fixups;
    LIST(u32) scopes; /* parent of each */
    LIST(struct call) calls;
    LIST(struct table) tables;
    LIST(u32) shared;
    u32 scope, depth;

    const char *op;
    u32 oplen;
    const char *mod[MAX_MODIFIERS];
    u32 modlen[MAX_MODIFIERS];
    bool modused[MAX_MODIFIERS];
    u32 nmod;
    struct raw arg[MAX_OPERANDS];
    u32 narg;
    u32 line;
};

static _Noreturn void refuse_at(struct parser *p, u32 line, const char *format, ...) __attribute__((format(printf, 3, 4)));

static _Noreturn void refuse_at(struct parser *p, u32 line, const char *format, ...) {
    if (p->err && p->errlen) {
        int n = snprintf(p->err, p->errlen, "line %u: ", line);
        if (n >= 0 && (size_t)n < p->errlen) {
            va_list ap;
            va_start(ap, format);
            vsnprintf(p->err + n, p->errlen - (size_t)n, format, ap);
            va_end(ap);
        }
    }
    longjmp(p->stop, 1);
}

#define refuse(p, ...) refuse_at((p), (p)->line, __VA_ARGS__)

static void *give(struct parser *p, size_t n) {
    n = (n + 15) & ~(size_t)15;
    struct chunk *c = p->m->chunks;
    if (!c || c->size - c->used < n) {
        size_t size = n > 64 << 10 ? n : 64 << 10;
        c = calloc(1, sizeof *c + size);
        if (!c)
            refuse(p, "no memory is left");
        c->size = size;
        if (p->m->chunks && size == n) {
            /* A full chunk is inserted after the chunk in use. */
            c->next = p->m->chunks->next;
            p->m->chunks->next = c;
        } else {
            c->next = p->m->chunks;
            p->m->chunks = c;
        }
    }
    void *at = c->data + c->used;
    c->used += n;
    return at;
}

static void *grown(struct parser *p, void *v, u32 n, u32 *cap, size_t size) {
    if (n < *cap)
        return v;
    u32 more = *cap ? 2 * *cap : 16;
    void *to = give(p, more * size);
    if (n)
        memcpy(to, v, n * size);
    *cap = more;
    return to;
}

#define PUSH(p, list) (((list).v = grown((p), (list).v, (list).n, &(list).cap, sizeof *(list).v)), &(list).v[(list).n++])

static char *name_of(struct parser *p, const char *s, u32 len) {
    char *to = give(p, len + 1u);
    memcpy(to, s, len);
    return to;
}

static bool letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%' || c == '.';
}

static bool digit(char c) {
    return c >= '0' && c <= '9';
}

static void tokens(struct parser *p) {
    const char *s = p->text;
    u32 i = 0, line = 1;
    for (;;) {
        char c = s[i];
        if (c == '\n') {
            line++;
            i++;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            i++;
        } else if (c == '/' && s[i + 1] == '/') {
            while (s[i] && s[i] != '\n')
                i++;
        } else if (c == '/' && s[i + 1] == '*') {
            u32 from = line;
            for (i += 2; s[i] && !(s[i] == '*' && s[i + 1] == '/'); i++)
                line += s[i] == '\n';
            if (!s[i])
                refuse_at(p, from, "a comment does not end");
            i += 2;
        } else {
            struct token *t = PUSH(p, p->tok);
            t->at = i;
            t->line = line;
            if (!c) {
                t->kind = K_END;
                return;
            }
            if (c == '"') {
                t->kind = K_STRING;
                for (i++; s[i] && s[i] != '"' && s[i] != '\n'; i++)
                    if (s[i] == '\\' && s[i + 1] && s[i + 1] != '\n')
                        i++;
                if (s[i] != '"')
                    refuse_at(p, line, "a string does not end");
                i++;
            } else if (letter(c)) {
                t->kind = K_WORD;
                bool decimal = digit(c) && !(c == '0' && letter(s[i + 1]) && s[i + 1] != '.');
                while (letter(s[i]) || (s[i] == ':' && s[i + 1] == ':' && letter(s[i + 2]))) {
                    bool exponent = decimal && (s[i] == 'e' || s[i] == 'E') && (s[i + 1] == '-' || s[i + 1] == '+');
                    i += s[i] == ':' || exponent ? 2 : 1;
                }
            } else if (c > ' ' && c <= '~') {
                t->kind = K_MARK;
                t->mark = c;
                i++;
            } else {
                refuse_at(p, line, "byte 0x%02x is not part of PTX", (u8)c);
            }
            t->len = i - t->at;
        }
    }
}

static struct token *peek(struct parser *p) {
    return &p->tok.v[p->i];
}

static struct token *next(struct parser *p) {
    struct token *t = &p->tok.v[p->i];
    if (t->kind != K_END)
        p->i++;
    p->line = t->line;
    return t;
}

static bool is_mark(struct parser *p, char c) {
    return peek(p)->kind == K_MARK && peek(p)->mark == c;
}

static bool take(struct parser *p, char c) {
    if (!is_mark(p, c))
        return false;
    next(p);
    return true;
}

#define SHOW(p, t) (int)((t)->len > 80 ? 80 : (t)->len), (p)->text + (t)->at

static void expect(struct parser *p, char c) {
    struct token *t = peek(p);
    if (take(p, c))
        return;
    if (t->kind == K_END)
        refuse_at(p, t->line, "the text ends, and '%c' is missing", c);
    refuse_at(p, t->line, "'%c' is missing before \"%.*s\"", c, SHOW(p, t));
}

static bool same(const char *s, u32 len, const char *word) {
    return strlen(word) == len && !memcmp(s, word, len);
}

static bool is_word(struct parser *p, const char *word) {
    struct token *t = peek(p);
    return t->kind == K_WORD && same(p->text + t->at, t->len, word);
}

static bool take_word(struct parser *p, const char *word) {
    if (!is_word(p, word))
        return false;
    next(p);
    return true;
}

static const char *identifier(struct parser *p, u32 *len) {
    struct token *t = next(p);
    const char *s = p->text + t->at;
    if (t->kind != K_WORD || digit(*s) || *s == '.' || memchr(s, '.', t->len) || memchr(s, ':', t->len) || t->len > MAX_NAME)
        refuse(p, "a name must be here, not \"%.*s\"", SHOW(p, t));
    *len = t->len;
    return s;
}

/* ---- numbers ---- */

static bool number(struct parser *p, const char *s, u32 len, struct raw *r) {
    char buf[64];
    if (!digit(*s) || len >= sizeof buf)
        return false;
    memcpy(buf, s, len);
    buf[len] = 0;
    char *end;
    if (len > 2 && buf[0] == '0' && (buf[1] == 'f' || buf[1] == 'F' || buf[1] == 'd' || buf[1] == 'D')) {
        bool single = buf[1] == 'f' || buf[1] == 'F';
        if (len != (single ? 10 : 18) || strspn(buf + 2, "0123456789abcdefABCDEF") != len - 2)
            refuse(p, "\"%s\" is not a number", buf);
        r->kind = single ? R_F32 : R_F64;
        r->imm = strtoull(buf + 2, NULL, 16);
        return true;
    }
    bool hex = len > 2 && buf[0] == '0' && (buf[1] == 'x' || buf[1] == 'X');
    if (!hex && strpbrk(buf, ".eE")) {
        double d = strtod(buf, &end);
        if (*end || strspn(buf, "0123456789.eE+-") != len)
            refuse(p, "\"%s\" is not a number", buf);
        r->kind = R_F64;
        memcpy(&r->imm, &d, 8);
        return true;
    }
    if (buf[len - 1] == 'U')
        buf[len - 1] = 0;
    bool binary = len > 2 && buf[0] == '0' && (buf[1] == 'b' || buf[1] == 'B');
    const char *digits = buf + (hex || binary ? 2 : 0);
    int base = hex ? 16 : binary ? 2 : buf[0] == '0' ? 8 : 10;
    u64 v = 0;
    for (const char *c = digits; *c || c == digits; c++) {
        u32 d = digit(*c) ? (u32)(*c - '0') : (*c | 32) >= 'a' && (*c | 32) <= 'f' ? (u32)((*c | 32) - 'a' + 10) : 99;
        if (d >= (u32)base || v > (~(u64)0 - d) / (u32)base)
            refuse(p, "\"%s\" is not a number, or too large", buf);
        v = v * (u32)base + d;
    }
    r->kind = R_INT;
    r->imm = v;
    return true;
}

static u64 integer(struct parser *p, u64 max, const char *what) {
    struct token *t = next(p);
    struct raw r = {0};
    if (t->kind != K_WORD || !number(p, p->text + t->at, t->len, &r) || r.kind != R_INT)
        refuse(p, "%s must be here, not \"%.*s\"", what, SHOW(p, t));
    if (r.imm > max)
        refuse(p, "%s is %llu, and must be at most %llu", what, (unsigned long long)r.imm, (unsigned long long)max);
    return r.imm;
}

/* ---- symbols ---- */

static struct symbol *symbol_find(struct parser *p, const char *s, u32 len, u32 *reg) {
    u32 digits = 0;
    while (digits < len && digit(s[len - 1 - digits]))
        digits++;
    for (u32 i = p->syms.n; i-- > 0;) {
        struct symbol *y = &p->syms.v[i];
        if (!y->range) {
            if (y->len == len && !memcmp(y->name, s, len)) {
                *reg = y->reg;
                return y;
            }
            continue;
        }
        if (y->len >= len || len - y->len > digits || len - y->len > 9 || memcmp(y->name, s, y->len))
            continue;
        if (s[y->len] == '0' && len - y->len > 1)
            continue;
        u32 n = 0;
        for (u32 k = y->len; k < len; k++)
            n = 10 * n + (u32)(s[k] - '0');
        if (n < y->count) {
            *reg = y->reg + n;
            return y;
        }
    }
    return NULL;
}

static bool special(const char *s, u32 len, u8 *type, u32 *id) {
    static const struct {
        const char *name;
        u8 type, id;
    } regs[] = {
        {"%laneid", T_U32, SR_LANE},       {"%warpid", T_U32, SR_WARP},         {"%nwarpid", T_U32, SR_NWARP},
        {"%smid", T_U32, SR_ZERO},         {"%nsmid", T_U32, SR_ONE},           {"%gridid", T_U64, SR_ZERO},
        {"%clock", T_U32, SR_CLOCK},       {"%clock_hi", T_U32, SR_CLOCK_HI},   {"%clock64", T_U64, SR_CLOCK64},
        {"%globaltimer", T_U64, SR_CLOCK64}, {"%globaltimer_lo", T_U32, SR_CLOCK}, {"%globaltimer_hi", T_U32, SR_CLOCK_HI},
        {"%lanemask_eq", T_U32, SR_MASK_EQ}, {"%lanemask_le", T_U32, SR_MASK_LE}, {"%lanemask_lt", T_U32, SR_MASK_LT},
        {"%lanemask_ge", T_U32, SR_MASK_GE}, {"%lanemask_gt", T_U32, SR_MASK_GT},
        {"%dynamic_smem_size", T_U32, SR_DYNAMIC}, {"%total_smem_size", T_U32, SR_TOTAL_SHARED},
    };
    for (u32 i = 0; i < sizeof regs / sizeof *regs; i++)
        if (same(s, len, regs[i].name)) {
            *type = regs[i].type;
            *id = regs[i].id;
            return true;
        }
    static const struct {
        const char *name;
        u8 id;
    } vectors[] = {{"%tid.", SR_TID}, {"%ntid.", SR_NTID}, {"%ctaid.", SR_CTAID}, {"%nctaid.", SR_NCTAID}};
    for (u32 i = 0; i < 4; i++) {
        u32 n = (u32)strlen(vectors[i].name);
        if (len != n + 1 || memcmp(s, vectors[i].name, n))
            continue;
        if (!memchr("xyzw", s[n], 4))
            return false;
        *type = T_U32;
        *id = vectors[i].id + (s[n] == 'w' ? 3u : (u32)(s[n] - 'x'));
        return true;
    }
    return false;
}

static u8 type_named(const char *s, u32 len) {
    static const char *const names[NTYPES] = {"",    "b8",  "b16", "b32", "b64", "u8",  "u16", "u32",
                                              "u64", "s8",  "s16", "s32", "s64", "f32", "f64", "pred"};
    for (u8 t = 1; t < NTYPES; t++)
        if (same(s, len, names[t]))
            return t;
    return T_NONE;
}

static u8 take_type(struct parser *p) {
    struct token *t = peek(p);
    const char *s = p->text + t->at;
    if (t->kind != K_WORD || *s != '.')
        return T_NONE;
    u8 type = type_named(s + 1, t->len - 1);
    if (type != T_NONE)
        next(p);
    return type;
}

/* ---- operands ---- */

static void operand(struct parser *p, struct raw *r, u32 depth) {
    memset(r, 0, sizeof *r);
    r->line = peek(p)->line;
    if (depth > 2)
        refuse(p, "operands are nested too deeply");
    if (take(p, '[')) {
        r->kind = R_ADDR;
        r->v = give(p, sizeof *r);
        operand(p, r->v, depth + 1);
        if (is_mark(p, ','))
            refuse_at(p, r->line, "an operand of this form (texture or tensor) is not supported");
        expect(p, ']');
        return;
    }
    if (take(p, '{')) {
        LIST(struct raw) list = {0};
        do
            operand(p, PUSH(p, list), depth + 1);
        while (take(p, ','));
        expect(p, '}');
        r->kind = R_VEC;
        r->v = list.v;
        r->n = list.n;
        return;
    }
    if (take(p, '!'))
        r->negate = true;
    if (take(p, '-'))
        r->minus = true;
    struct token *t = next(p);
    const char *s = p->text + t->at;
    if (t->kind != K_WORD)
        refuse(p, "an operand must be here, not \"%.*s\"", SHOW(p, t));
    if (same(s, t->len, "_")) {
        r->kind = R_SINK;
    } else if (number(p, s, t->len, r)) {
        if (r->minus)
            r->imm = r->kind == R_INT ? -r->imm : r->imm ^ (u64)1 << (r->kind == R_F32 ? 31 : 63);
        r->minus = false;
    } else if (special(s, t->len, &r->type, &r->reg)) {
        r->kind = R_SREG;
    } else {
        r->sym = symbol_find(p, s, t->len, &r->reg);
        r->name = s;
        r->len = t->len;
        r->kind = !r->sym ? R_NAME : r->sym->type ? R_REG : R_VAR;
        if (r->kind == R_REG)
            r->type = r->sym->type;
        if (*s == '%' && !r->sym)
            refuse(p, "register %.*s is not declared, or not supported", SHOW(p, t));
    }
    if (r->minus || (r->negate && r->kind != R_REG))
        refuse(p, "'%c' is not allowed before \"%.*s\"", r->minus ? '-' : '!', SHOW(p, t));
    if (r->kind == R_REG || r->kind == R_VAR) {
        while (is_mark(p, '+') || is_mark(p, '-')) {
            bool minus = next(p)->mark == '-';
            minus ^= take(p, '-');
            u64 v = integer(p, (u64)1 << 62, "an offset");
            r->imm += minus ? -v : v;
        }
    }
    if (r->kind == R_REG && take(p, '|')) {
        r->second = give(p, sizeof *r);
        operand(p, r->second, depth + 1);
        if (r->second->second)
            refuse(p, "a destination has at most two parts");
    } else if (r->kind == R_SINK && take(p, '|')) {
        r->second = give(p, sizeof *r);
        operand(p, r->second, depth + 1);
        if (r->second->second)
            refuse(p, "a destination has at most two parts");
    }
}

static void operands(struct parser *p) {
    p->narg = 0;
    if (is_mark(p, ';'))
        return;
    do {
        if (p->narg == MAX_OPERANDS)
            refuse(p, "\"%.*s\" has too many operands", (int)p->oplen, p->op);
        operand(p, &p->arg[p->narg++], 0);
    } while (take(p, ','));
}

static const struct raw *arg_at(struct parser *p, u32 i) {
    if (i >= p->narg)
        refuse(p, "\"%.*s\" has %u operands, and needs more", (int)p->oplen, p->op, p->narg);
    return &p->arg[i];
}

static void arg_count(struct parser *p, u32 n) {
    if (p->narg != n)
        refuse(p, "\"%.*s\" has %u operands instead of %u", (int)p->oplen, p->op, p->narg, n);
}

static void check_type(struct parser *p, const struct raw *r, u8 have, u8 want, bool wider) {
    u8 a = type_size(have), b = type_size(want);
    bool ok = wider ? a >= b : a == b;
    if ((have == T_PRED) != (want == T_PRED))
        ok = false;
    if (!type_bits(have) && !type_bits(want) && type_float(have) != type_float(want))
        ok = false;
    if (wider && a > b && (type_float(have) || type_float(want)) && !type_bits(have))
        ok = false;
    if (!ok)
        refuse_at(p, r->line, "operand \"%.*s\" of \"%.*s\" has the wrong type", r->name ? (int)r->len : 1, r->name ? r->name : "?", (int)p->oplen,
                  p->op);
}

static void use_shared(struct parser *p, u32 index) {
    for (u32 i = 0; i < p->shared.n; i++)
        if (p->shared.v[i] == index)
            return;
    *PUSH(p, p->shared) = index;
}

/* Returns the address of a variable, as a value in its own space. */
static struct arg address_of(struct parser *p, const struct raw *r) {
    const struct symbol *y = r->sym;
    struct arg a = {.kind = A_IMM, .imm = r->imm};
    switch (y->space) {
    case SHARED:
        a.kind = A_SHARED;
        a.reg = y->var->index;
        use_shared(p, y->var->index);
        break;
    case LOCAL:
        a.kind = A_LOCAL;
        a.imm += y->off;
        break;
    case PARAM:
        if (!(p->f->entry && y->formal))
            a.kind = A_PARAM;
        a.imm += y->off;
        break;
    default:
        a.imm += (u64)(uintptr_t)y->var->data;
        break;
    }
    return a;
}

static struct arg arg_src(struct parser *p, const struct raw *r, u8 type, bool wider) {
    struct arg a = {0};
    switch (r->kind) {
    case R_REG:
        check_type(p, r, r->type, type, wider);
        if (r->imm || r->second)
            refuse_at(p, r->line, "\"%.*s\" is not an operand of this form", (int)r->len, r->name);
        if (r->negate && type != T_PRED)
            refuse_at(p, r->line, "'!' must be followed by a predicate");
        a.kind = A_REG;
        a.reg = r->reg;
        a.size = type_size(r->type);
        a.negate = r->negate;
        return a;
    case R_SREG:
        if (type_size(type) != type_size(r->type) || type_float(type))
            refuse_at(p, r->line, "a special register has the wrong type for \"%.*s\"", (int)p->oplen, p->op);
        a.kind = A_SREG;
        a.reg = r->reg;
        a.size = type_size(r->type);
        return a;
    case R_INT:
        if (type_float(type))
            refuse_at(p, r->line, "an integer is not allowed as a floating-point number");
        a.kind = A_IMM;
        a.imm = type == T_PRED ? r->imm != 0 : type_size(type) == 8 ? r->imm : r->imm & (((u64)1 << 8 * type_size(type)) - 1);
        return a;
    case R_F32:
        if (type != T_F32 && type != T_B32)
            refuse_at(p, r->line, "a 32-bit floating-point number is not allowed here");
        a.kind = A_IMM;
        a.imm = r->imm;
        return a;
    case R_F64:
        a.kind = A_IMM;
        a.imm = r->imm;
        if (type == T_F32) {
            double d;
            memcpy(&d, &r->imm, 8);
            float f = (float)d;
            a.imm = 0;
            memcpy(&a.imm, &f, sizeof f); /* little-endian hosts only, as in the rest of the engine */
        } else if (type != T_F64 && type != T_B64) {
            refuse_at(p, r->line, "a floating-point number is not allowed here");
        }
        return a;
    case R_VAR:
        if (type_float(type) || type == T_PRED || type_size(type) < 4 || (type_size(type) == 4 && r->sym->space <= CONST))
            refuse_at(p, r->line, "the address of \"%.*s\" does not fit here", (int)r->len, r->name);
        return address_of(p, r);
    case R_NAME:
        refuse_at(p, r->line, "\"%.*s\" is not declared, or cannot be an operand here", (int)(r->len > 80 ? 80 : r->len), r->name);
    default:
        refuse_at(p, r->line, "an operand of \"%.*s\" has the wrong form", (int)p->oplen, p->op);
    }
}

static struct arg arg_dst(struct parser *p, const struct raw *r, u8 type, bool wider) {
    struct arg a = {0};
    if (r->kind == R_SINK) {
        a.kind = A_SINK;
        return a;
    }
    if (r->kind != R_REG || r->negate || r->imm)
        refuse_at(p, r->line, "the destination of \"%.*s\" must be a register", (int)p->oplen, p->op);
    check_type(p, r, r->type, type, wider);
    a.kind = A_REG;
    a.reg = r->reg;
    a.size = type_size(r->type);
    return a;
}

static struct arg arg_plain_dst(struct parser *p, u32 i, u8 type, bool wider) {
    const struct raw *r = arg_at(p, i);
    if (r->second)
        refuse_at(p, r->line, "\"%.*s\" has one destination", (int)p->oplen, p->op);
    return arg_dst(p, r, type, wider);
}

static struct arg arg_address(struct parser *p, u32 i, u8 space) {
    const struct raw *r = arg_at(p, i);
    if (r->kind != R_ADDR)
        refuse_at(p, r->line, "\"%.*s\" needs an address in brackets", (int)p->oplen, p->op);
    r = r->v;
    struct arg a = {0};
    switch (r->kind) {
    case R_REG:
        if (r->type == T_PRED || type_float(r->type) || type_size(r->type) < 4 || r->negate || r->second)
            refuse_at(p, r->line, "register \"%.*s\" cannot hold an address", (int)r->len, r->name);
        a.kind = A_REG;
        a.reg = r->reg;
        a.size = type_size(r->type);
        a.imm = r->imm;
        return a;
    case R_INT:
        a.kind = A_IMM;
        a.imm = r->imm;
        return a;
    case R_VAR:
        if (space == GENERIC ? r->sym->space != GLOBAL && r->sym->space != CONST : r->sym->space != space)
            refuse_at(p, r->line, "\"%.*s\" is not in the space that \"%.*s\" uses", (int)r->len, r->name, (int)p->oplen, p->op);
        return address_of(p, r);
    default:
        refuse_at(p, r->line, "an address of \"%.*s\" has the wrong form", (int)p->oplen, p->op);
    }
}

/* ---- modifiers ---- */

static void split(struct parser *p, const char *s, u32 len) {
    p->op = s;
    p->oplen = len > 120 ? 120 : len;
    p->nmod = 0;
    const char *end = s + len;
    for (const char *at = memchr(s, '.', len); at && at < end;) {
        const char *dot = memchr(at + 1, '.', (size_t)(end - at - 1));
        if (p->nmod == MAX_MODIFIERS)
            refuse(p, "\"%.*s\" has too many modifiers", (int)p->oplen, s);
        p->mod[p->nmod] = at + 1;
        p->modlen[p->nmod] = (u32)((dot ? dot : end) - at - 1);
        p->modused[p->nmod++] = false;
        at = dot;
    }
}

static bool mod(struct parser *p, const char *word) {
    for (u32 i = 0; i < p->nmod; i++)
        if (!p->modused[i] && same(p->mod[i], p->modlen[i], word)) {
            p->modused[i] = true;
            return true;
        }
    return false;
}

static u8 mod_type(struct parser *p) {
    for (u32 i = 0; i < p->nmod; i++) {
        u8 t = p->modused[i] ? T_NONE : type_named(p->mod[i], p->modlen[i]);
        if (t != T_NONE) {
            p->modused[i] = true;
            return t;
        }
    }
    for (u32 i = 0; i < p->nmod; i++)
        if (!p->modused[i])
            refuse(p, "modifier \".%.*s\" of \"%.*s\" is not supported", (int)(p->modlen[i] > 80 ? 80 : p->modlen[i]), p->mod[i], (int)p->oplen, p->op);
    refuse(p, "\"%.*s\" has no type", (int)p->oplen, p->op);
}

static void mods_done(struct parser *p) {
    for (u32 i = 0; i < p->nmod; i++)
        if (!p->modused[i])
            refuse(p, "modifier \".%.*s\" of \"%.*s\" is not supported", (int)(p->modlen[i] > 80 ? 80 : p->modlen[i]), p->mod[i], (int)p->oplen, p->op);
}

static const struct {
    const char *name;
    u32 bit;
} flag_names[] = {
    {"rn", M_RN},       {"rz", M_RZ},         {"rm", M_RM},     {"rp", M_RP},     {"rni", M_RNI},     {"rzi", M_RZI},
    {"rmi", M_RMI},     {"rpi", M_RPI},       {"ftz", M_FTZ},   {"sat", M_SAT},   {"cc", M_CC},       {"lo", M_LO},
    {"hi", M_HI},       {"wide", M_WIDE},     {"approx", M_APPROX}, {"full", M_FULL}, {"NaN", M_NAN}, {"wrap", M_WRAP},
    {"clamp", M_CLAMP}, {"l", M_LEFT},        {"r", M_RIGHT},   {"shiftamt", M_SHIFTAMT},
};

static u32 mod_flags(struct parser *p, u32 allowed) {
    u32 flags = 0;
    for (u32 i = 0; i < sizeof flag_names / sizeof *flag_names; i++)
        if (flag_names[i].bit & allowed && mod(p, flag_names[i].name))
            flags |= flag_names[i].bit;
    return flags;
}

static void one_of(struct parser *p, u32 flags, u32 set, bool needed, const char *what) {
    u32 n = flags & set;
    if ((n & (n - 1)) || (!n && needed))
        refuse(p, "\"%.*s\" needs one modifier for %s", (int)p->oplen, p->op, what);
}

/* ---- instructions with one destination and then sources ---- */

enum {
    I16 = 1 << T_U16 | 1 << T_S16,
    I32 = 1 << T_U32 | 1 << T_S32,
    I64 = 1 << T_U64 | 1 << T_S64,
    INTS = I16 | I32 | I64,
    SINTS = 1 << T_S16 | 1 << T_S32 | 1 << T_S64,
    F32 = 1 << T_F32,
    F64 = 1 << T_F64,
    FLOATS = F32 | F64,
    B16 = 1 << T_B16,
    B32 = 1 << T_B32,
    B64 = 1 << T_B64,
    BITS = B16 | B32 | B64,
    PRED = 1 << T_PRED,
};

/* args has a letter for the type of each operand: . the type of the instruction, d u32, w the wide type,
 * p a predicate. */
static const struct simple {
    const char *name;
    u8 op;
    const char *args;
    u32 types, mods;
} simples[] = {
    {"add", O_ADD, "...", INTS | FLOATS, M_ROUND | M_FTZ | M_SAT | M_CC},
    {"sub", O_SUB, "...", INTS | FLOATS, M_ROUND | M_FTZ | M_SAT | M_CC},
    {"addc", O_ADDC, "...", I32 | I64, M_CC},
    {"subc", O_SUBC, "...", I32 | I64, M_CC},
    {"mul", O_MUL, "w..", INTS | FLOATS, M_ROUND | M_FTZ | M_SAT | M_LO | M_HI | M_WIDE},
    {"mad", O_MAD, "w..w", INTS | FLOATS, M_ROUND | M_FTZ | M_SAT | M_LO | M_HI | M_WIDE | M_CC},
    {"madc", O_MADC, "....", I32 | I64, M_LO | M_HI | M_CC},
    {"mul24", O_MUL24, "...", I32, M_LO | M_HI},
    {"mad24", O_MAD24, "....", I32, M_LO | M_HI},
    {"sad", O_SAD, "....", INTS, 0},
    {"fma", O_FMA, "....", FLOATS, M_ROUND | M_FTZ | M_SAT},
    {"div", O_DIV, "...", INTS | FLOATS, M_ROUND | M_FTZ | M_APPROX | M_FULL},
    {"rem", O_REM, "...", INTS, 0},
    {"neg", O_NEG, "..", SINTS | FLOATS, M_FTZ},
    {"abs", O_ABS, "..", SINTS | FLOATS, M_FTZ},
    {"min", O_MIN, "...", INTS | FLOATS, M_FTZ | M_NAN},
    {"max", O_MAX, "...", INTS | FLOATS, M_FTZ | M_NAN},
    {"and", O_AND, "...", BITS | PRED, 0},
    {"or", O_OR, "...", BITS | PRED, 0},
    {"xor", O_XOR, "...", BITS | PRED, 0},
    {"not", O_NOT, "..", BITS | PRED, 0},
    {"cnot", O_CNOT, "..", BITS, 0},
    {"shl", O_SHL, "..d", BITS, 0},
    {"shr", O_SHR, "..d", BITS | INTS, 0},
    {"shf", O_SHF, "....", B32, M_LEFT | M_RIGHT | M_WRAP | M_CLAMP},
    {"bfe", O_BFE, "..dd", I32 | I64, 0},
    {"bfi", O_BFI, "...dd", B32 | B64, 0},
    {"bfind", O_BFIND, "d.", I32 | I64, M_SHIFTAMT},
    {"popc", O_POPC, "d.", B32 | B64, 0},
    {"clz", O_CLZ, "d.", B32 | B64, 0},
    {"brev", O_BREV, "..", B32 | B64, 0},
    {"selp", O_SELP, "...p", BITS | INTS | FLOATS, 0},
    {"sqrt", O_SQRT, "..", FLOATS, M_ROUND | M_FTZ | M_APPROX},
    {"rcp", O_RCP, "..", FLOATS, M_ROUND | M_FTZ | M_APPROX},
    {"rsqrt", O_RSQRT, "..", FLOATS, M_FTZ | M_APPROX},
    {"sin", O_SIN, "..", F32, M_FTZ | M_APPROX},
    {"cos", O_COS, "..", F32, M_FTZ | M_APPROX},
    {"ex2", O_EX2, "..", F32, M_FTZ | M_APPROX},
    {"lg2", O_LG2, "..", F32, M_FTZ | M_APPROX},
    {"tanh", O_TANH, "..", F32, M_APPROX},
    {"copysign", O_COPYSIGN, "...", FLOATS, 0},
};

static u8 wide(u8 t) {
    switch (t) {
    case T_U16:
        return T_U32;
    case T_S16:
        return T_S32;
    case T_U32:
        return T_U64;
    default:
        return T_S64;
    }
}

static void simple(struct parser *p, struct insn *in, const struct simple *s) {
    in->op = s->op;
    in->type = mod_type(p);
    u8 t = in->type;
    if (!(s->types >> t & 1))
        refuse(p, "\"%.*s\" has a type that it cannot have", (int)p->oplen, p->op);
    in->mods = mod_flags(p, s->mods);
    u32 m = in->mods, bad = 0;
    one_of(p, m, M_ROUND | M_APPROX | M_FULL, false, "rounding");
    if (!type_float(t))
        bad = m & (M_ROUND | M_FTZ | M_APPROX | M_FULL | M_NAN);
    if (t == T_F64)
        bad |= m & (M_SAT | M_FULL | M_NAN);
    if (t == T_F64 && (m & M_FTZ) && !((s->op == O_RCP || s->op == O_RSQRT) && m & M_APPROX))
        bad |= M_FTZ;
    if (type_float(t))
        bad |= m & (M_CC | M_LO | M_HI | M_WIDE);
    switch (s->op) {
    case O_ADD:
    case O_SUB:
        if (m & M_SAT && !type_float(t) && t != T_S32)
            bad |= M_SAT;
        if (m & M_CC && (type_size(t) < 4 || m & M_SAT))
            bad |= M_CC;
        break;
    case O_MUL:
    case O_MAD:
        if (!type_float(t)) {
            one_of(p, m, M_LO | M_HI | M_WIDE, true, "the half of the product");
            bad |= m & M_SAT;
            if (m & M_WIDE && type_size(t) == 8)
                bad |= M_WIDE;
            if (m & M_CC && (m & M_WIDE || type_size(t) < 4))
                bad |= M_CC;
        }
        if (s->op == O_MAD && type_float(t))
            one_of(p, m, M_ROUND, true, "rounding");
        break;
    case O_MADC:
    case O_MUL24:
    case O_MAD24:
        one_of(p, m, M_LO | M_HI, true, "the half of the product");
        break;
    case O_FMA:
        one_of(p, m, M_ROUND, true, "rounding");
        break;
    case O_DIV:
    case O_SQRT:
    case O_RCP:
        if (type_float(t))
            one_of(p, m, M_ROUND | M_APPROX | M_FULL, true, "rounding");
        if (t == T_F64 && m & M_APPROX && (s->op != O_RCP || !(m & M_FTZ)))
            bad |= M_APPROX;
        break;
    case O_RSQRT:
    case O_SIN:
    case O_COS:
    case O_EX2:
    case O_LG2:
    case O_TANH:
        one_of(p, m, M_APPROX, true, "precision");
        break;
    case O_SHF:
        one_of(p, m, M_LEFT | M_RIGHT, true, "the direction");
        one_of(p, m, M_WRAP | M_CLAMP, true, "large distances");
        break;
    default:
        break;
    }
    if (bad)
        refuse(p, "\"%.*s\" has a modifier that its type cannot have", (int)p->oplen, p->op);
    mods_done(p);
    u32 n = (u32)strlen(s->args);
    arg_count(p, n);
    for (u32 i = 0; i < n; i++) {
        u8 at = t;
        switch (s->args[i]) {
        case 'd':
            at = T_U32;
            break;
        case 'p':
            at = T_PRED;
            break;
        case 'w':
            if (m & M_WIDE)
                at = wide(t);
            break;
        default:
            break;
        }
        in->a[i] = i ? arg_src(p, &p->arg[i], at, false) : arg_plain_dst(p, i, at, false);
    }
}

static u8 mod_space(struct parser *p, const char *const *names, const u8 *spaces, u32 n) {
    for (u32 i = 0; i < n; i++)
        if (mod(p, names[i]))
            return spaces[i];
    return GENERIC;
}

static const char *const space_names[] = {"global", "const", "shared", "shared::cta", "local", "param", "param::entry", "param::func"};
static const u8 space_values[] = {GLOBAL, CONST, SHARED, SHARED, LOCAL, PARAM, PARAM, PARAM};

static void any_of(struct parser *p, const char *const *names) {
    for (; *names; names++)
        mod(p, *names);
}

static const char *const orders[] = {"weak", "volatile", "relaxed", "acquire", "release", "acq_rel", "seq_cst", "sc",
                                     "mmio", "cta", "cluster", "gpu", "sys", NULL};
static const char *const caches[] = {"ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1::evict_normal", "L1::evict_unchanged", "L1::evict_first",
                                     "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B", NULL};

static void memory(struct parser *p, struct insn *in, bool store) {
    in->op = store ? O_ST : O_LD;
    in->space = mod_space(p, space_names, space_values, 8);
    any_of(p, orders);
    any_of(p, caches);
    if (!store && (in->space == GLOBAL))
        mod(p, "nc");
    in->nvec = mod(p, "v2") ? 2 : mod(p, "v4") ? 4 : 1;
    in->type = mod_type(p);
    mods_done(p);
    if (in->type == T_PRED || in->nvec * type_size(in->type) > 16)
        refuse(p, "\"%.*s\" has a type that it cannot have", (int)p->oplen, p->op);
    if (store && in->space == CONST)
        refuse(p, "\"%.*s\" writes to memory that cannot be written", (int)p->oplen, p->op);
    arg_count(p, 2);
    in->a[0] = arg_address(p, store ? 0 : 1, in->space);
    const struct raw *r = arg_at(p, store ? 1 : 0);
    if ((r->kind == R_VEC) != (in->nvec > 1) || (r->kind == R_VEC && r->n != in->nvec))
        refuse(p, "the operand of \"%.*s\" must have %u elements", (int)p->oplen, p->op, in->nvec);
    for (u32 i = 0; i < in->nvec; i++) {
        const struct raw *e = in->nvec > 1 ? &r->v[i] : r;
        if (e->second)
            refuse(p, "\"%.*s\" has one destination", (int)p->oplen, p->op);
        in->v[i] = store ? arg_src(p, e, in->type, true) : arg_dst(p, e, in->type, true);
    }
}

static void move(struct parser *p, struct insn *in) {
    in->op = O_MOV;
    in->type = mod_type(p);
    mods_done(p);
    arg_count(p, 2);
    const struct raw *d = &p->arg[0], *s = &p->arg[1];
    if (d->kind == R_VEC || s->kind == R_VEC) {
        const struct raw *v = d->kind == R_VEC ? d : s;
        u8 size = type_size(in->type);
        if (d->kind == s->kind || !(v->n == 2 || v->n == 4) || !type_bits(in->type) || size % v->n)
            refuse(p, "\"%.*s\" has operands of the wrong form", (int)p->oplen, p->op);
        u8 part = (u8)(size / v->n);
        u8 t = part == 1 ? T_B8 : part == 2 ? T_B16 : T_B32;
        in->nvec = (u8)v->n;
        in->type2 = t;
        in->op = d->kind == R_VEC ? O_UNPACK : O_PACK;
        for (u32 i = 0; i < v->n; i++)
            in->v[i] = in->op == O_UNPACK ? arg_dst(p, &v->v[i], t, false) : arg_src(p, &v->v[i], t, false);
        in->a[0] = in->op == O_UNPACK ? arg_src(p, s, in->type, false) : arg_plain_dst(p, 0, in->type, false);
        return;
    }
    in->a[0] = arg_plain_dst(p, 0, in->type, false);
    /* The clock may be read as 64 bits from registers of 32, and the grid's number as 32 from 64. */
    in->a[1] = arg_src(p, s, in->type, false);
    if (type_size(in->type) == 1 && in->type != T_PRED)
        refuse(p, "\"%.*s\" has a type that it cannot have", (int)p->oplen, p->op);
}

static void convert(struct parser *p, struct insn *in) {
    in->op = O_CVT;
    in->mods = mod_flags(p, M_ROUND | M_INTEGRAL | M_FTZ | M_SAT);
    in->type = mod_type(p);
    in->type2 = mod_type(p);
    mods_done(p);
    u32 m = in->mods;
    u8 d = in->type, s = in->type2;
    one_of(p, m, M_ROUND | M_INTEGRAL, false, "rounding");
    bool bad = type_bits(d) || type_bits(s) || d == T_PRED || s == T_PRED;
    bool df = type_float(d), sf = type_float(s);
    if (df && sf) {
        bad |= d == T_F32 && s == T_F64 ? !(m & M_ROUND) : (m & M_ROUND) != 0;
        bad |= d != s && m & M_INTEGRAL;
    } else if (df) {
        bad |= !(m & M_ROUND) || m & M_INTEGRAL;
    } else if (sf) {
        bad |= !(m & M_INTEGRAL) || m & M_ROUND;
    } else {
        bad |= (m & (M_ROUND | M_INTEGRAL | M_FTZ)) != 0;
    }
    if (m & M_FTZ && d != T_F32 && s != T_F32)
        bad = true;
    if (bad)
        refuse(p, "\"%.*s\" is not a conversion of PTX", (int)p->oplen, p->op);
    arg_count(p, 2);
    in->a[0] = arg_plain_dst(p, 0, d, true);
    in->a[1] = arg_src(p, &p->arg[1], s, true);
}

static void convert_address(struct parser *p, struct insn *in) {
    bool to = mod(p, "to");
    in->op = to ? O_CVTA_TO : O_CVTA;
    in->space = mod_space(p, space_names, space_values, 8);
    in->type = mod_type(p);
    mods_done(p);
    arg_count(p, 2);
    if (in->space == GENERIC || in->type != T_U64)
        refuse(p, "\"%.*s\" is not a supported conversion", (int)p->oplen, p->op);
    in->a[0] = arg_plain_dst(p, 0, T_U64, false);
    if (p->arg[1].kind == R_VAR && (to || p->arg[1].sym->space != in->space))
        refuse(p, "\"%.*s\" is in another space", (int)p->arg[1].len, p->arg[1].name);
    in->a[1] = arg_src(p, &p->arg[1], T_U64, false);
}

static void is_space(struct parser *p, struct insn *in) {
    in->op = O_ISSPACEP;
    in->space = mod_space(p, space_names, space_values, 8);
    mods_done(p);
    if (in->space == GENERIC)
        refuse(p, "\"%.*s\" needs a state space", (int)p->oplen, p->op);
    arg_count(p, 2);
    in->a[0] = arg_plain_dst(p, 0, T_PRED, false);
    in->a[1] = arg_src(p, &p->arg[1], T_U64, false);
}

static u8 mod_compare(struct parser *p) {
    static const char *const names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "equ", "neu", "ltu",
                                        "leu", "gtu", "geu", "num", "nan", "lo",  "ls",  "hi",  "hs"};
    for (u8 i = 0; i < sizeof names / sizeof *names; i++)
        if (mod(p, names[i]))
            return i;
    refuse(p, "\"%.*s\" has no known comparison", (int)p->oplen, p->op);
}

static void compare(struct parser *p, struct insn *in, bool to_value) {
    in->op = to_value ? O_SET : O_SETP;
    in->sub = mod_compare(p);
    in->boolop = mod(p, "and") ? BOOL_AND : mod(p, "or") ? BOOL_OR : mod(p, "xor") ? BOOL_XOR : BOOL_NONE;
    in->mods = mod_flags(p, M_FTZ);
    u8 d = T_PRED;
    if (to_value) {
        d = mod_type(p);
        if (d != T_U32 && d != T_S32 && d != T_F32)
            refuse(p, "\"%.*s\" has a type that it cannot have", (int)p->oplen, p->op);
    }
    in->type2 = d;
    u8 t = in->type = mod_type(p);
    mods_done(p);
    bool ok = type_size(t) >= 2 && t != T_PRED;
    if (type_bits(t))
        ok &= in->sub <= C_NE;
    if (in->sub >= C_EQU && in->sub <= C_NAN)
        ok &= type_float(t);
    if (in->sub >= C_LO)
        ok &= t >= T_U16 && t <= T_U64;
    if (in->mods & M_FTZ)
        ok &= t == T_F32;
    if (!ok)
        refuse(p, "\"%.*s\" has a type that it cannot have", (int)p->oplen, p->op);
    arg_count(p, in->boolop ? 4 : 3);
    const struct raw *r = &p->arg[0];
    in->a[0] = arg_dst(p, r, d, false);
    if (r->second) {
        if (to_value)
            refuse(p, "\"%.*s\" has one destination", (int)p->oplen, p->op);
        in->a[4] = arg_dst(p, r->second, d, false);
    }
    in->a[1] = arg_src(p, &p->arg[1], t, false);
    in->a[2] = arg_src(p, &p->arg[2], t, false);
    if (in->boolop)
        in->a[3] = arg_src(p, &p->arg[3], T_PRED, false);
}

static void select_by_sign(struct parser *p, struct insn *in) {
    in->op = O_SLCT;
    in->mods = mod_flags(p, M_FTZ);
    in->type = mod_type(p);
    in->type2 = mod_type(p);
    mods_done(p);
    if (type_size(in->type) < 2 || in->type == T_PRED || (in->type2 != T_S32 && in->type2 != T_F32) || (in->mods && in->type2 != T_F32))
        refuse(p, "\"%.*s\" has a type that it cannot have", (int)p->oplen, p->op);
    arg_count(p, 4);
    in->a[0] = arg_plain_dst(p, 0, in->type, false);
    in->a[1] = arg_src(p, &p->arg[1], in->type, false);
    in->a[2] = arg_src(p, &p->arg[2], in->type, false);
    in->a[3] = arg_src(p, &p->arg[3], in->type2, false);
}

/* Sums of products of small numbers. type is the type of the parts of the first operand, type2 that of the
 * second. */
static void dot_product(struct parser *p, struct insn *in, bool halves) {
    in->op = halves ? O_DP2A : O_DP4A;
    in->mods = mod_flags(p, halves ? M_LO | M_HI : 0);
    if (halves)
        one_of(p, in->mods, M_LO | M_HI, true, "which bytes of the second operand");
    in->type = mod_type(p);
    in->type2 = mod_type(p);
    mods_done(p);
    if ((in->type != T_S32 && in->type != T_U32) || (in->type2 != T_S32 && in->type2 != T_U32))
        refuse(p, "\"%.*s\" has a type that it cannot have", (int)p->oplen, p->op);
    u8 sum = type_signed(in->type) || type_signed(in->type2) ? T_S32 : T_U32;
    arg_count(p, 4);
    in->a[0] = arg_plain_dst(p, 0, sum, false);
    in->a[1] = arg_src(p, &p->arg[1], in->type, false);
    in->a[2] = arg_src(p, &p->arg[2], in->type2, false);
    in->a[3] = arg_src(p, &p->arg[3], sum, false);
}

static void logic3(struct parser *p, struct insn *in) {
    in->op = O_LOP3;
    in->type = mod_type(p);
    mods_done(p);
    arg_count(p, 5);
    const struct raw *lut = &p->arg[4];
    if (in->type != T_B32 || lut->kind != R_INT || lut->imm > 255)
        refuse(p, "\"%.*s\" needs type .b32 and a table from 0 to 255", (int)p->oplen, p->op);
    in->sub = (u8)lut->imm;
    in->a[0] = arg_plain_dst(p, 0, T_B32, false);
    for (u32 i = 1; i < 4; i++)
        in->a[i] = arg_src(p, &p->arg[i], T_B32, false);
}

static void permute(struct parser *p, struct insn *in) {
    static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"};
    in->op = O_PRMT;
    for (u8 i = 0; i < 6; i++)
        if (!in->sub && mod(p, modes[i]))
            in->sub = (u8)(PRMT_F4E + i);
    in->type = mod_type(p);
    mods_done(p);
    if (in->type != T_B32)
        refuse(p, "\"%.*s\" must have type .b32", (int)p->oplen, p->op);
    arg_count(p, 4);
    in->a[0] = arg_plain_dst(p, 0, T_B32, false);
    for (u32 i = 1; i < 4; i++)
        in->a[i] = arg_src(p, &p->arg[i], T_B32, false);
}

static void test_property(struct parser *p, struct insn *in) {
    static const char *const tests[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
    in->op = O_TESTP;
    in->sub = 255;
    for (u8 i = 0; i < 6; i++)
        if (in->sub == 255 && mod(p, tests[i]))
            in->sub = i;
    in->type = mod_type(p);
    mods_done(p);
    if (in->sub == 255 || !type_float(in->type))
        refuse(p, "\"%.*s\" needs a property and a floating-point type", (int)p->oplen, p->op);
    arg_count(p, 2);
    in->a[0] = arg_plain_dst(p, 0, T_PRED, false);
    in->a[1] = arg_src(p, &p->arg[1], in->type, false);
}

static void fixup(struct parser *p, const struct raw *r, u32 *to, u32 insn, bool table) {
    if (r->kind != R_NAME)
        refuse_at(p, r->line, "\"%.*s\" needs a label", (int)p->oplen, p->op);
    *PUSH(p, p->fixups) = (struct fixup){r->name, r->len, p->scope, r->line, to, insn, table};
}

static void barrier(struct parser *p, struct insn *in) {
    in->op = O_BAR;
    mod(p, "cta");
    if (mod(p, "red")) {
        in->sub = mod(p, "and") ? BAR_AND : mod(p, "or") ? BAR_OR : mod(p, "popc") ? BAR_POPC : BAR_SYNC;
        in->type = mod_type(p);
        if (in->sub == BAR_SYNC || in->type != (in->sub == BAR_POPC ? T_U32 : T_PRED))
            refuse(p, "\"%.*s\" is not a barrier that is supported", (int)p->oplen, p->op);
    } else if (!mod(p, "sync")) {
        refuse(p, "\"%.*s\" is not a barrier that is supported", (int)p->oplen, p->op);
    }
    mod(p, "aligned");
    mods_done(p);
    u32 at = 0;
    if (in->sub != BAR_SYNC) {
        arg_count(p, 3); /* another operand would be a number of threads; here a barrier is always for all threads */
        in->a[0] = arg_plain_dst(p, 0, in->type, false);
        in->a[2] = arg_src(p, &p->arg[2], T_PRED, false);
        at = 1;
    } else if (p->narg != 1) {
        refuse(p, "\"%.*s\" with a number of threads is not supported", (int)p->oplen, p->op);
    }
    in->a[1] = arg_src(p, arg_at(p, at), T_U32, false);
}

static void exchange(struct parser *p, struct insn *in) {
    in->op = O_SHFL;
    if (!mod(p, "sync") || !mod(p, "idx"))
        refuse(p, "\"%.*s\" is not supported; shfl.sync.idx is", (int)p->oplen, p->op);
    in->type = mod_type(p);
    if (in->type != T_B32)
        refuse(p, "\"%.*s\" has a type that it cannot have", (int)p->oplen, p->op);
    mods_done(p);
    arg_count(p, 5);
    const struct raw *r = &p->arg[0];
    in->a[0] = arg_dst(p, r, T_B32, false);
    if (r->second)
        in->v[0] = arg_dst(p, r->second, T_PRED, false);
    for (u32 i = 1; i < 5; i++)
        in->a[i] = arg_src(p, &p->arg[i], T_B32, false);
}

static void atomic(struct parser *p, struct insn *in, bool result) {
    static const char *const ops[] = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"};
    in->op = O_ATOM;
    in->returns = result;
    in->space = mod_space(p, space_names, space_values, 4);
    any_of(p, orders);
    in->sub = 255;
    for (u8 i = 0; i < sizeof ops / sizeof *ops; i++)
        if (in->sub == 255 && mod(p, ops[i]))
            in->sub = i;
    if (in->sub == 255)
        refuse(p, "\"%.*s\" has no supported operation", (int)p->oplen, p->op);
    u8 t = in->type = mod_type(p);
    mods_done(p);
    u32 ok = 0;
    switch (in->sub) {
    case AT_ADD:
        ok = I32 | 1 << T_U64 | FLOATS;
        break;
    case AT_MIN:
    case AT_MAX:
        ok = I32 | I64;
        break;
    case AT_AND:
    case AT_OR:
    case AT_XOR:
        ok = B32 | B64;
        break;
    case AT_EXCH:
        ok = B32 | B64;
        break;
    case AT_CAS:
        ok = B16 | B32 | B64;
        break;
    default:
        ok = 1 << T_U32;
        break;
    }
    if (!(ok >> t & 1) || in->space == CONST || (!result && in->sub >= AT_EXCH && in->sub <= AT_CAS))
        refuse(p, "\"%.*s\" has a type or space that it cannot have", (int)p->oplen, p->op);
    u32 at = 0;
    u32 n = in->sub == AT_CAS ? 2 : 1;
    arg_count(p, n + 1 + (result ? 1 : 0));
    if (result)
        in->a[1] = arg_plain_dst(p, at++, t, false);
    in->a[0] = arg_address(p, at++, in->space);
    in->a[2] = arg_src(p, arg_at(p, at++), t, false);
    if (n == 2)
        in->a[3] = arg_src(p, arg_at(p, at++), t, false);
}

static struct func *func_named(struct parser *p, const char *s, u32 len) {
    for (struct func *f = p->m->funcs; f; f = f->next)
        if (same(s, len, f->name))
            return f;
    return NULL;
}

static void call(struct parser *p, struct insn *in) {
    in->op = O_CALL;
    mod(p, "uni");
    mods_done(p);
    struct call c = {0};
    struct raw r;
    if (take(p, '(')) {
        operand(p, &r, 1);
        if (r.kind != R_VAR || r.sym->space != PARAM || r.sym->formal || r.imm)
            refuse(p, "the result of a call must be a .param variable of the caller");
        c.has_result = true;
        c.result = address_of(p, &r);
        in->target = (u32)r.sym->size;
        expect(p, ')');
        expect(p, ',');
    }
    u32 result_size = in->target;
    struct token *t = peek(p);
    u32 len;
    const char *name = p->text + t->at;
    if (t->kind == K_WORD && *name == '%')
        refuse_at(p, t->line, "a call through a register is not supported");
    name = identifier(p, &len);
    c.f = func_named(p, name, len);
    if (!c.f || c.f->entry)
        refuse(p, "function \"%.*s\" is not declared", (int)len, name);
    if (c.has_result != c.f->has_out || (c.has_result && result_size != c.f->out.size))
        refuse(p, "a call of \"%s\" does not fit its result", c.f->name);
    if (take(p, ',')) {
        expect(p, '(');
        c.args = give(p, (c.f->nin + 1u) * sizeof *c.args);
        while (!is_mark(p, ')')) {
            if (c.nargs)
                expect(p, ',');
            if (c.nargs == c.f->nin)
                refuse(p, "a call of \"%s\" has too many arguments", c.f->name);
            u32 size = c.f->in[c.nargs].size;
            operand(p, &r, 1);
            struct arg *a = &c.args[c.nargs++];
            if (r.kind == R_VAR && r.sym->space == PARAM && !r.imm) {
                if (r.sym->size != size)
                    refuse(p, "argument %u of a call of \"%s\" has the wrong size", c.nargs, c.f->name);
                *a = address_of(p, &r);
                if (a->kind != A_PARAM)
                    refuse(p, "a parameter of a kernel cannot be passed on as it is");
            } else if ((r.kind == R_REG || r.kind == R_INT || r.kind == R_F32 || r.kind == R_F64) && (size == 4 || size == 8)) {
                u8 type = r.kind == R_F32 || r.kind == R_INT || r.kind == R_F64 || !type_float(r.type) ? (size == 4 ? T_B32 : T_B64) : r.type;
                *a = arg_src(p, &r, type, false);
                if (a->kind == A_REG && a->size != size)
                    refuse(p, "argument %u of a call of \"%s\" has the wrong size", c.nargs, c.f->name);
            } else {
                refuse(p, "argument %u of a call of \"%s\" is of a form that is not supported", c.nargs, c.f->name);
            }
        }
        expect(p, ')');
        if (is_mark(p, ','))
            refuse(p, "a call with a prototype is not supported");
    }
    if (c.nargs != c.f->nin)
        refuse(p, "a call of \"%s\" has too few arguments", c.f->name);
    in->target = p->calls.n;
    *PUSH(p, p->calls) = c;
}

static void instruction(struct parser *p) {
    struct insn in = {.pred = -1};
    in.line = peek(p)->line;
    in.at = peek(p)->at;
    if (take(p, '@')) {
        struct raw r;
        operand(p, &r, 1);
        if (r.kind != R_REG || r.type != T_PRED || r.second || r.imm)
            refuse(p, "a predicate must follow '@'");
        in.pred = (s32)r.reg;
        in.predneg = r.negate;
    }
    struct token *t = next(p);
    const char *s = p->text + t->at;
    if (t->kind != K_WORD || *s == '.' || *s == '%' || digit(*s))
        refuse(p, "an instruction must be here, not \"%.*s\"", SHOW(p, t));
    in.line = t->line;
    split(p, s, t->len);
    const char *dot = memchr(s, '.', t->len);
    u32 len = dot ? (u32)(dot - s) : t->len;
#define IS(word) same(s, len, word)
    if (IS("call")) {
        call(p, &in);
    } else {
        operands(p);
        p->line = in.line;
        const struct simple *found = NULL;
        for (u32 i = 0; i < sizeof simples / sizeof *simples && !found; i++)
            if (IS(simples[i].name))
                found = &simples[i];
        if (found) {
            simple(p, &in, found);
        } else if (IS("mov")) {
            move(p, &in);
        } else if (IS("ld") || IS("ldu")) {
            memory(p, &in, false);
        } else if (IS("st")) {
            memory(p, &in, true);
        } else if (IS("cvt")) {
            convert(p, &in);
        } else if (IS("cvta")) {
            convert_address(p, &in);
        } else if (IS("isspacep")) {
            is_space(p, &in);
        } else if (IS("setp") || IS("set")) {
            compare(p, &in, IS("set"));
        } else if (IS("slct")) {
            select_by_sign(p, &in);
        } else if (IS("dp4a") || IS("dp2a")) {
            dot_product(p, &in, IS("dp2a"));
        } else if (IS("lop3")) {
            logic3(p, &in);
        } else if (IS("prmt")) {
            permute(p, &in);
        } else if (IS("testp")) {
            test_property(p, &in);
        } else if (IS("bra")) {
            in.op = O_BRA;
            mod(p, "uni");
            mods_done(p);
            arg_count(p, 1);
        } else if (IS("brx")) {
            in.op = O_BRX;
            if (!mod(p, "idx"))
                refuse(p, "\"%.*s\" is not supported", (int)p->oplen, p->op);
            mod(p, "uni");
            mods_done(p);
            arg_count(p, 2);
            in.a[0] = arg_src(p, &p->arg[0], T_U32, false);
        } else if (IS("ret") || IS("exit") || IS("trap")) {
            in.op = IS("ret") ? O_RET : IS("exit") ? O_EXIT : O_TRAP;
            mod(p, "uni");
            mods_done(p);
            arg_count(p, 0);
        } else if (IS("bar") || IS("barrier")) {
            barrier(p, &in);
        } else if (IS("shfl")) {
            exchange(p, &in);
        } else if (IS("membar") || IS("fence")) {
            in.op = O_NOP;
            static const char *const levels[] = {"gl", NULL};
            any_of(p, orders);
            any_of(p, levels);
            mods_done(p);
            arg_count(p, 0);
        } else if (IS("atom") || IS("red")) {
            atomic(p, &in, IS("atom"));
        } else if (IS("nanosleep")) {
            in.op = O_NOP;
            mod_type(p);
            mods_done(p);
            arg_count(p, 1);
            arg_src(p, &p->arg[0], T_U32, false);
        } else if (IS("prefetch") || IS("prefetchu")) {
            static const char *const levels[] = {"L1", "L2", "L2::evict_last", "L2::evict_normal", NULL};
            in.op = O_NOP;
            u8 space = mod_space(p, space_names, space_values, 8);
            any_of(p, levels);
            mods_done(p);
            arg_count(p, 1);
            arg_address(p, 0, space);
        } else {
            refuse(p, "instruction \"%.*s\" is not supported", (int)p->oplen, p->op);
        }
    }
#undef IS
    in.len = peek(p)->at + 1 - in.at;
    expect(p, ';');
    if (in.op == O_BRA || in.op == O_BRX)
        fixup(p, &p->arg[in.op == O_BRX], NULL, p->code.n, in.op == O_BRX);
    *PUSH(p, p->code) = in;
}

/* ---- declarations ---- */

static struct symbol *declare(struct parser *p, const char *s, u32 len, u32 floor) {
    for (u32 i = floor; i < p->syms.n; i++)
        if (p->syms.v[i].len == len && !memcmp(p->syms.v[i].name, s, len))
            refuse(p, "\"%.*s\" is declared twice", (int)(len > 80 ? 80 : len), s);
    struct symbol *y = PUSH(p, p->syms);
    *y = (struct symbol){.name = s, .len = len};
    return y;
}

static void registers(struct parser *p, u32 floor) {
    u8 t = take_type(p);
    if (t == T_NONE)
        refuse(p, "a register has type \"%.*s\", which is not supported", SHOW(p, peek(p)));
    do {
        u32 len;
        const char *s = identifier(p, &len);
        u32 count = 1;
        bool range = take(p, '<');
        if (range) {
            count = (u32)integer(p, MAX_REGISTERS, "a number of registers");
            expect(p, '>');
        }
        if (count > MAX_REGISTERS - p->f->nregs)
            refuse(p, "there are too many registers");
        struct symbol *y = declare(p, s, len, floor);
        y->type = t;
        y->range = range;
        y->reg = p->f->nregs;
        y->count = count;
        p->f->nregs += count;
    } while (take(p, ','));
    expect(p, ';');
}

static u32 alignment(struct parser *p) {
    u32 a = (u32)integer(p, 1 << 20, "an alignment");
    if (!a || (a & (a - 1)))
        refuse(p, "an alignment of %u is not a power of two", a);
    return a;
}

static u64 round_up(u64 n, u64 align) {
    return (n + align - 1) & ~(align - 1);
}

struct declaration {
    u8 type;
    u32 align;
    u64 size;
    bool open; /* [] */
    bool pointer;
    const char *name;
    u32 len;
    u64 dims;
};

/* Reads a declaration such as .align 4 .b8 name[16]. */
static struct declaration declaration(struct parser *p) {
    struct declaration d = {0};
    u32 vec = 1;
    for (;;) {
        u8 t;
        if (take_word(p, ".align")) {
            d.align = alignment(p);
        } else if (take_word(p, ".v2")) {
            vec = 2;
        } else if (take_word(p, ".v4")) {
            vec = 4;
        } else if (take_word(p, ".ptr")) {
            d.pointer = true;
            static const char *const of[] = {".global", ".const", ".shared", ".local"};
            for (u32 i = 0; i < 4; i++)
                if (take_word(p, of[i]))
                    break;
            if (take_word(p, ".align"))
                alignment(p); /* of the memory that it points to */
        } else if ((t = take_type(p)) != T_NONE) {
            d.type = t;
        } else {
            break;
        }
    }
    if (d.type == T_NONE || d.type == T_PRED)
        refuse(p, "a declaration has no type that is supported before \"%.*s\"", SHOW(p, peek(p)));
    d.name = identifier(p, &d.len);
    d.size = (u64)type_size(d.type) * vec;
    if (!d.align)
        d.align = (u32)d.size;
    d.dims = 1;
    while (take(p, '[')) {
        if (take(p, ']')) {
            if (d.open || d.dims != 1)
                refuse(p, "only the first dimension can be open");
            d.open = true;
            continue;
        }
        u64 n = integer(p, MAX_VARIABLE, "a number of elements");
        expect(p, ']');
        d.dims *= n;
        if (d.dims > MAX_VARIABLE)
            refuse(p, "\"%.*s\" is too large", (int)d.len, d.name);
    }
    d.dims *= vec;
    d.size *= d.dims / vec;
    if (d.size > MAX_VARIABLE)
        refuse(p, "\"%.*s\" is too large", (int)d.len, d.name);
    return d;
}

static void initial(struct parser *p, const struct declaration *d, u8 *data, u64 *at, u64 dims, u32 depth) {
    if (depth > 4)
        refuse(p, "an initialiser is nested too deeply");
    if (take(p, '{')) {
        while (!is_mark(p, '}')) {
            initial(p, d, data, at, dims, depth + 1);
            if (!take(p, ','))
                break;
        }
        expect(p, '}');
        return;
    }
    u8 size = type_size(d->type);
    if (*at >= dims)
        refuse(p, "\"%.*s\" has more initial values than elements", (int)d->len, d->name);
    struct raw r;
    bool generic = is_word(p, "generic");
    if (generic) {
        next(p);
        expect(p, '(');
    }
    operand(p, &r, 1);
    if (generic)
        expect(p, ')');
    if (r.kind == R_VAR) {
        while (generic && (is_mark(p, '+') || is_mark(p, '-'))) {
            bool minus = next(p)->mark == '-';
            u64 v = integer(p, (u64)1 << 62, "an offset");
            r.imm += minus ? -v : v;
        }
        if (r.sym->space > CONST)
            refuse(p, "the address of \"%.*s\" is not known here", (int)r.len, r.name);
    }
    struct arg a = arg_src(p, &r, d->type, false);
    memcpy(data + *at * size, &a.imm, size);
    ++*at;
}

static void variable(struct parser *p, u8 space, bool external, u32 floor) {
    do {
        struct declaration d = declaration(p);
        struct symbol *y;
        if (d.open && !(space == SHARED && external) && !((space == GLOBAL || space == CONST) && !external))
            refuse(p, "\"%.*s\" has no size", (int)d.len, d.name);
        if (external && space != SHARED)
            refuse(p, "\"%.*s\" is defined in another module, which is not supported", (int)d.len, d.name);
        if (external && !d.open && d.size)
            refuse(p, "external shared memory \"%.*s\" with a size is not supported", (int)d.len, d.name);
        y = declare(p, d.name, d.len, floor);
        y->space = space;
        y->size = d.size;
        switch (space) {
        case LOCAL:
        case PARAM: {
            if (!p->f)
                refuse(p, "\"%.*s\" must be declared in a function", (int)d.len, d.name);
            u32 *end = space == LOCAL ? &p->f->local : &p->f->params;
            u64 off = round_up(*end, d.align);
            u64 max = space == LOCAL ? 1 << LOCAL_BITS : 4 << 20;
            if (off + d.size > max)
                refuse(p, "a function has more than %llu bytes of variables", (unsigned long long)max);
            y->off = off;
            *end = (u32)(off + d.size);
            break;
        }
        case SHARED: {
            if (d.size > SHARED_MAX)
                refuse(p, "\"%.*s\" is larger than the shared memory of a block", (int)d.len, d.name);
            struct var *v = y->var = give(p, sizeof *v);
            *v = (struct var){.name = name_of(p, d.name, d.len), .space = space, .align = d.align, .size = d.size, .dynamic = external};
            v->index = p->m->nshared;
            p->m->shared = grown(p, p->m->shared, p->m->nshared, &p->m->cshared, sizeof *p->m->shared);
            p->m->shared[p->m->nshared++] = v;
            break;
        }
        default: {
            struct var *v = give(p, sizeof *v);
            *v = (struct var){.name = name_of(p, d.name, d.len), .space = space, .align = d.align, .size = d.size};
            u64 elements = d.dims;
            u8 *data = NULL;
            u64 at = 0;
            if (d.open) {
                /* The number of elements is the number of values. */
                if (!is_mark(p, '='))
                    refuse(p, "\"%.*s\" has no size", (int)d.len, d.name);
                u64 n = 1;
                u32 depth = 0;
                for (u32 i = p->i + 1; p->tok.v[i].kind != K_END && !(p->tok.v[i].kind == K_MARK && p->tok.v[i].mark == ';'); i++) {
                    if (p->tok.v[i].kind != K_MARK)
                        continue;
                    depth += p->tok.v[i].mark == '{';
                    n += p->tok.v[i].mark == ',';
                }
                if (depth != 1)
                    refuse(p, "the initial value of \"%.*s\" has a form that is not supported", (int)d.len, d.name);
                elements = n;
                v->size = y->size = n * type_size(d.type);
            }
            size_t need = v->size + 16;
            u32 align = d.align < 16 ? 16 : d.align;
            data = give(p, need + align);
            data = (u8 *)(uintptr_t)round_up((u64)(uintptr_t)data, align);
            v->data = data;
            u64 lo = (u64)(uintptr_t)data;
            if (!p->m->hi || lo < p->m->lo)
                p->m->lo = lo;
            if (lo + v->size > p->m->hi)
                p->m->hi = lo + v->size;
            y->var = v;
            p->m->vars = grown(p, p->m->vars, p->m->nvars, &p->m->cvars, sizeof *p->m->vars);
            p->m->vars[p->m->nvars++] = v;
            if (take(p, '='))
                initial(p, &d, data, &at, elements, 0);
            break;
        }
        }
    } while (take(p, ','));
    expect(p, ';');
}

static void directive_lines(struct parser *p) {
    /* .loc and .file run to the end of the line. */
    u32 line = peek(p)->line;
    while (peek(p)->kind != K_END && peek(p)->line == line)
        next(p);
}

static void body(struct parser *p, u32 floor) {
    u32 line = p->line;
    for (;;) {
        struct token *t = peek(p);
        const char *s = p->text + t->at;
        if (t->kind == K_END)
            refuse_at(p, line, "a block does not end");
        if (take(p, '}'))
            return;
        if (take(p, '{')) {
            if (p->depth == MAX_NESTING)
                refuse(p, "blocks are nested too deeply");
            u32 outer = p->scope, syms = p->syms.n;
            p->scope = p->scopes.n;
            *PUSH(p, p->scopes) = outer;
            p->depth++;
            body(p, syms);
            p->depth--;
            p->syms.n = syms;
            p->scope = outer;
        } else if (take(p, ';')) {
        } else if (t->kind == K_WORD && *s == '.') {
            next(p);
            if (same(s, t->len, ".reg")) {
                registers(p, floor);
            } else if (same(s, t->len, ".local")) {
                variable(p, LOCAL, false, floor);
            } else if (same(s, t->len, ".shared")) {
                variable(p, SHARED, false, floor);
            } else if (same(s, t->len, ".param")) {
                variable(p, PARAM, false, floor);
            } else if (same(s, t->len, ".global")) {
                variable(p, GLOBAL, false, floor);
            } else if (same(s, t->len, ".const")) {
                variable(p, CONST, false, floor);
            } else if (same(s, t->len, ".pragma")) {
                struct token *v = next(p);
                if (v->kind != K_STRING)
                    refuse(p, "a string must follow .pragma");
                static const char *const known[] = {"\"nounroll\"", "\"used_bytes_mask"};
                bool ok = same(p->text + v->at, v->len, known[0]) ||
                          (v->len > strlen(known[1]) && !memcmp(p->text + v->at, known[1], strlen(known[1])));
                if (!ok)
                    refuse(p, ".pragma %.*s is not supported", SHOW(p, v));
                expect(p, ';');
            } else if (same(s, t->len, ".loc")) {
                p->i--;
                directive_lines(p);
            } else {
                refuse(p, "directive \"%.*s\" is not supported here", SHOW(p, t));
            }
        } else if (t->kind == K_WORD && p->tok.v[p->i + 1].kind == K_MARK && p->tok.v[p->i + 1].mark == ':') {
            u32 len;
            s = identifier(p, &len);
            expect(p, ':');
            for (u32 i = 0; i < p->labels.n; i++)
                if (p->labels.v[i].scope == p->scope && p->labels.v[i].len == len && !memcmp(p->labels.v[i].name, s, len))
                    refuse(p, "label \"%.*s\" is declared twice", (int)len, s);
            struct label *l = PUSH(p, p->labels);
            *l = (struct label){s, len, p->scope, p->code.n, false};
            if (is_word(p, ".branchtargets")) {
                next(p);
                split(p, ".branchtargets", 0);
                p->op = ".branchtargets";
                p->oplen = 14;
                LIST(struct raw) names = {0};
                do
                    operand(p, PUSH(p, names), 1);
                while (take(p, ','));
                expect(p, ';');
                struct table *b = PUSH(p, p->tables);
                b->n = names.n;
                b->to = give(p, names.n * sizeof *b->to);
                p->labels.v[p->labels.n - 1].table = true;
                p->labels.v[p->labels.n - 1].at = p->tables.n - 1;
                for (u32 i = 0; i < names.n; i++)
                    fixup(p, &names.v[i], &b->to[i], 0, false);
            } else if (is_word(p, ".callprototype") || is_word(p, ".calltargets")) {
                refuse(p, "directive \"%.*s\" is not supported", SHOW(p, peek(p)));
            }
        } else {
            instruction(p);
        }
    }
}

static void resolve(struct parser *p) {
    for (u32 i = 0; i < p->fixups.n; i++) {
        struct fixup *x = &p->fixups.v[i];
        const struct label *found = NULL;
        for (u32 scope = x->scope;; scope = p->scopes.v[scope]) {
            for (u32 k = 0; k < p->labels.n && !found; k++) {
                const struct label *l = &p->labels.v[k];
                if (l->scope == scope && l->len == x->len && !memcmp(l->name, x->name, x->len))
                    found = l;
            }
            if (found || !scope)
                break;
        }
        if (!found || found->table != x->table)
            refuse_at(p, x->line, "there is no label \"%.*s\" to jump to", (int)x->len, x->name);
        *(x->to ? x->to : &p->code.v[x->insn].target) = found->at;
    }
}

static void parameters(struct parser *p, struct func *f, bool result) {
    expect(p, '(');
    LIST(ptx_param) list = {0};
    while (!is_mark(p, ')')) {
        if (list.n)
            expect(p, ',');
        if (!take_word(p, ".param"))
            refuse_at(p, peek(p)->line, "a parameter begins with .param, not \"%.*s\"", SHOW(p, peek(p)));
        struct declaration d = declaration(p);
        u64 off = round_up(f->params, d.align);
        if (d.open)
            refuse(p, "parameter \"%.*s\" has no size", (int)d.len, d.name);
        if (off + d.size > PARAM_MAX)
            refuse(p, "the parameters of \"%s\" need more than %u bytes", f->name, PARAM_MAX);
        struct symbol *y = declare(p, d.name, d.len, p->syms.n - list.n);
        y->space = PARAM;
        y->size = d.size;
        y->off = off;
        y->formal = true;
        f->params = (u32)(off + d.size);
        ptx_param *q = PUSH(p, list);
        *q = (ptx_param){name_of(p, d.name, d.len), (u32)d.size, d.align, (u32)off, d.pointer};
    }
    expect(p, ')');
    if (result) {
        if (list.n > 1)
            refuse(p, "a function with several results is not supported");
        f->has_out = list.n;
        if (list.n)
            f->out = (struct formal){list.v[0].size, list.v[0].offset};
        return;
    }
    f->pub.params = list.v;
    f->pub.nparams = f->nin = list.n;
    f->pub.params_size = f->params;
    f->in = give(p, (list.n + 1u) * sizeof *f->in);
    for (u32 i = 0; i < list.n; i++)
        f->in[i] = (struct formal){list.v[i].size, list.v[i].offset};
}

static void triple(struct parser *p, u32 v[3]) {
    v[1] = v[2] = 1;
    for (u32 i = 0; i < 3; i++) {
        v[i] = (u32)integer(p, MAX_THREADS, "a number of threads");
        if (!v[i])
            refuse(p, "a number of threads is zero");
        if (!take(p, ','))
            break;
    }
}

static void function(struct parser *p, bool entry, bool external) {
    u32 syms = p->syms.n;
    struct func *f = give(p, sizeof *f);
    f->entry = entry;
    f->name = "a function";
    p->f = f;
    if (take_word(p, ".noreturn")) {
    }
    if (!entry && is_mark(p, '('))
        parameters(p, f, true);
    u32 len;
    const char *s = identifier(p, &len);
    f->name = f->pub.name = name_of(p, s, len);
    if (is_mark(p, '('))
        parameters(p, f, false);
    for (;;) {
        if (take_word(p, ".reqntid")) {
            triple(p, f->pub.reqntid);
        } else if (take_word(p, ".maxntid")) {
            triple(p, f->pub.maxntid);
        } else if (take_word(p, ".minnctapersm") || take_word(p, ".maxnctapersm") || take_word(p, ".maxnreg")) {
            integer(p, 1 << 20, "a number");
        } else if (take_word(p, ".noreturn")) {
        } else {
            break;
        }
    }
    struct func *old = func_named(p, f->name, (u32)strlen(f->name));
    if (old) {
        bool fits = old->entry == entry && old->has_out == f->has_out && old->out.size == f->out.size && old->nin == f->nin;
        for (u32 i = 0; fits && i < f->nin; i++)
            fits = old->in[i].size == f->in[i].size;
        if (!fits)
            refuse(p, "\"%s\" is declared in two different ways", f->name);
    }
    if (take(p, ';')) {
        if (!old) {
            f->assertion = external && !strcmp(f->name, "__assertfail");
            *p->m->tail = f;
            p->m->tail = &f->next;
        }
        p->syms.n = syms;
        p->f = NULL;
        return;
    }
    if (peek(p)->kind == K_WORD)
        refuse_at(p, peek(p)->line, "directive \"%.*s\" is not supported here", SHOW(p, peek(p)));
    if (old && old->defined)
        refuse(p, "\"%s\" is defined twice", f->name);
    expect(p, '{');
    if (old) {
        /* Calls refer to the declaration, so the definition is stored in its place. */
        struct func *after = old->next;
        *old = *f;
        old->next = after;
        f = p->f = old;
    } else {
        *p->m->tail = f;
        p->m->tail = &f->next;
    }
    f->defined = true;
    p->code.n = p->code.cap = p->calls.n = p->calls.cap = p->tables.n = p->tables.cap = p->shared.n = p->shared.cap = 0;
    p->labels.n = p->fixups.n = p->scopes.n = 0;
    p->scope = 0;
    *PUSH(p, p->scopes) = 0;
    p->depth = 0;
    body(p, p->syms.n);
    *PUSH(p, p->code) = (struct insn){.op = entry ? O_EXIT : O_RET, .pred = -1, .line = p->line, .at = p->tok.v[p->i - 1].at, .len = 1};
    resolve(p);
    f->code = p->code.v;
    f->ncode = p->code.n;
    f->calls = p->calls.v;
    f->ncalls = p->calls.n;
    f->tables = p->tables.v;
    f->ntables = p->tables.n;
    f->shared = p->shared.v;
    f->nshared = p->shared.n;
    p->syms.n = syms;
    p->f = NULL;
    if (entry)
        p->m->nentries++;
}

static void head(struct parser *p) {
    struct token *t = next(p);
    if (t->kind != K_WORD || !same(p->text + t->at, t->len, ".version"))
        refuse(p, "PTX begins with .version");
    t = next(p);
    u32 major = 0, minor = 0;
    char buf[16] = "";
    if (t->kind == K_WORD && t->len < sizeof buf)
        memcpy(buf, p->text + t->at, t->len);
    char end;
    if (sscanf(buf, "%2u.%1u%c", &major, &minor, &end) != 2)
        refuse(p, "\"%.*s\" is not a version", SHOW(p, t));
    p->m->version = 10 * major + minor;
    if (!take_word(p, ".target"))
        refuse_at(p, peek(p)->line, ".target must follow .version");
    t = next(p);
    memset(buf, 0, sizeof buf);
    if (t->kind == K_WORD && t->len < sizeof buf)
        memcpy(buf, p->text + t->at, t->len);
    char kind = 0;
    int n = sscanf(buf, "sm_%3u%c%c", &p->m->target, &kind, &end);
    if (n != 1 && !(n == 2 && (kind == 'a' || kind == 'f')))
        refuse(p, "target \"%.*s\" is not supported", SHOW(p, t));
    while (take(p, ',')) {
        t = next(p);
        if (t->kind != K_WORD || !same(p->text + t->at, t->len, "debug"))
            refuse(p, "target \"%.*s\" is not supported", SHOW(p, t));
    }
    if (take_word(p, ".address_size")) {
        if (integer(p, 64, "a size of addresses") != 64)
            refuse(p, "addresses must have 64 bits");
    } else {
        refuse_at(p, peek(p)->line, ".address_size 64 is missing");
    }
}

static void module(struct parser *p) {
    head(p);
    for (;;) {
        bool external = false;
        for (;;) {
            if (take_word(p, ".extern"))
                external = true;
            else if (!take_word(p, ".visible") && !take_word(p, ".weak") && !take_word(p, ".common"))
                break;
        }
        struct token *t = next(p);
        if (t->kind == K_END)
            return;
        const char *s = p->text + t->at;
        if (t->kind != K_WORD || *s != '.')
            refuse(p, "a directive must be here, not \"%.*s\"", SHOW(p, t));
        if (same(s, t->len, ".entry")) {
            function(p, true, external);
        } else if (same(s, t->len, ".func")) {
            function(p, false, external);
        } else if (same(s, t->len, ".global")) {
            variable(p, GLOBAL, external, 0);
        } else if (same(s, t->len, ".const")) {
            variable(p, CONST, external, 0);
        } else if (same(s, t->len, ".shared")) {
            variable(p, SHARED, external, 0);
        } else if (same(s, t->len, ".file") || same(s, t->len, ".loc")) {
            p->i--;
            directive_lines(p);
        } else if (same(s, t->len, ".section")) {
            next(p);
            expect(p, '{');
            while (peek(p)->kind != K_END && !is_mark(p, '}'))
                next(p);
            expect(p, '}');
        } else {
            refuse(p, "directive \"%.*s\" is not supported", SHOW(p, t));
        }
    }
}

/* ---- totals of what kernels and the functions that they call need ---- */

static void reach(struct parser *p, struct func *f, u8 *used, u32 depth) {
    if (f->mark)
        return;
    if (depth > 1000)
        refuse(p, "calls of \"%s\" are nested too deeply", f->name);
    f->mark = 1;
    for (u32 i = 0; i < f->nshared; i++)
        used[f->shared[i]] = 1;
    for (u32 i = 0; i < f->ncalls; i++)
        reach(p, f->calls[i].f, used, depth + 1);
}

static void lay_out(struct parser *p, struct func *e) {
    ptx_module *m = p->m;
    u8 *used = give(p, m->nshared + 1u);
    for (struct func *f = m->funcs; f; f = f->next)
        f->mark = 0;
    reach(p, e, used, 0);
    e->layout = give(p, (m->nshared + 1u) * sizeof *e->layout);
    e->usable = give(p, (m->nshared + 1u) * sizeof *e->usable);
    u64 size = 0, at = 0;
    e->dyn_align = 16;
    for (u32 i = 0; i < m->nshared; i++) {
        const struct var *v = m->shared[i];
        e->layout[i] = ~(u64)0;
        if (used[i] && v->dynamic && v->align > e->dyn_align)
            e->dyn_align = v->align;
        if (!used[i] || v->dynamic)
            continue;
        size = round_up(size, v->align) + v->size;
        at = round_up(at, v->align);
        e->layout[i] = at;
        if (size > SHARED_MAX || at + v->size > 16 * SHARED_MAX)
            refuse(p, "kernel \"%s\" has more than %u bytes of shared memory", e->name, SHARED_MAX);
        e->usable[e->nusable].lo = (u32)at;
        at += v->size;
        e->usable[e->nusable++].hi = (u32)at;
        at += GUARD;
    }
    e->extent = (u32)round_up(at, e->dyn_align);
    for (u32 i = 0; i < m->nshared; i++)
        if (used[i] && m->shared[i]->dynamic)
            e->layout[i] = e->extent;
    e->pub.shared = (u32)size;
    e->pub.local = e->local;
    e->pub.module = m;
    e->pub.code = e;
}

static void finish(struct parser *p) {
    ptx_module *m = p->m;
    p->line = peek(p)->line;
    for (struct func *f = m->funcs; f; f = f->next)
        for (u32 i = 0; i < f->ncalls; i++)
            if (!f->calls[i].f->defined && !f->calls[i].f->assertion)
                refuse(p, "function \"%s\" is called and not defined", f->calls[i].f->name);
    m->entries = give(p, (m->nentries + 1u) * sizeof *m->entries);
    u32 n = 0;
    for (struct func *f = m->funcs; f; f = f->next)
        if (f->entry && f->defined)
            m->entries[n++] = f;
    for (u32 i = 0; i < n; i++)
        lay_out(p, m->entries[i]);
}

/* Returns false if the text was refused. */
static bool parse(struct parser *p, const char *text) {
    if (setjmp(p->stop))
        return false;
    size_t len = strnlen(text, MAX_TEXT + 1);
    if (len > MAX_TEXT)
        refuse(p, "the text is longer than %u bytes", MAX_TEXT);
    p->m->text = malloc(len + 1);
    if (!p->m->text)
        refuse(p, "no memory is left");
    memcpy(p->m->text, text, len);
    p->m->text[len] = 0;
    p->text = p->m->text;
    tokens(p);
    module(p);
    finish(p);
    return true;
}

ptx_module *ptx_parse(const char *text, char *err, size_t errlen) {
    if (err && errlen)
        *err = 0;
    struct parser *p = calloc(1, sizeof *p);
    ptx_module *m = calloc(1, sizeof *m);
    bool ok = false;
    if (p && m) {
        p->err = err;
        p->errlen = errlen;
        p->m = m;
        m->tail = &m->funcs;
        ok = parse(p, text);
    } else if (err) {
        snprintf(err, errlen, "line 0: no memory is left");
    }
    free(p);
    if (ok)
        return m;
    ptx_free(m);
    return NULL;
}

void ptx_free(ptx_module *m) {
    if (!m)
        return;
    for (struct chunk *c = m->chunks, *after; c; c = after) {
        after = c->next;
        free(c);
    }
    free(m->text);
    free(m);
}

uint32_t ptx_version(const ptx_module *m) {
    return m->version;
}

uint32_t ptx_target(const ptx_module *m) {
    return m->target;
}

uint32_t ptx_entries(const ptx_module *m) {
    return m->nentries;
}

ptx_entry *ptx_entry_at(ptx_module *m, uint32_t i) {
    return i < m->nentries ? &m->entries[i]->pub : NULL;
}

ptx_entry *ptx_find(ptx_module *m, const char *name) {
    for (u32 i = 0; i < m->nentries; i++)
        if (!strcmp(m->entries[i]->name, name))
            return &m->entries[i]->pub;
    return NULL;
}

void *ptx_variable(ptx_module *m, const char *name, uint64_t *size) {
    for (u32 i = 0; i < m->nvars; i++)
        if (!strcmp(m->vars[i]->name, name)) {
            *size = m->vars[i]->size;
            return m->vars[i]->data;
        }
    return NULL;
}
