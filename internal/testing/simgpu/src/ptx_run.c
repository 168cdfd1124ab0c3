/*
 * The PTX interpreter.
 */
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ptx_code.h"

/* Arithmetic in wider registers, as in the 387 FPU, would round twice. */
_Static_assert(FLT_EVAL_METHOD == 0, "floating-point arithmetic must be that of its type");

enum { MAX_FRAMES = 256, MAX_MEMORY = 1 << 30, ATOMIC = 1u << 31, SEVERAL = 1u << 30, WHO = SEVERAL - 1 };

enum state { READY, WAITING, EXCHANGING, ENDED };

struct frame {
    const struct func *f;
    u32 pc, regs, params, local; /* where its part of the thread's arrays begins */
};

/* A thread. It has growing arrays of registers, parameters and local memory, and for each of them
 * the bytes that are defined. */
struct thread {
    u32 index, tid[3];
    enum state state;
    const struct insn *at; /* the barrier it waits at */
    u32 bar;
    bool vote, carry;
    u64 give; /* what it gives the other threads of its warp, from the lane it takes, and the lanes that take part */
    u8 given;
    u32 lane, lanes;
    u64 steps;
    u64 *reg;
    u8 *def; /* a bit for each byte */
    u32 nreg, creg;
    u8 *par, *pardef;
    u32 npar, cpar;
    u8 *loc, *locdef;
    u32 nloc, cloc;
    struct frame frame[MAX_FRAMES];
    u32 depth;
};

/* The threads that last wrote and read a byte of shared memory, and the epochs in which they did. */
struct use {
    u32 writer, written, reader, read;
};

struct run {
    const struct ptx_entry *e;
    const struct func *f;
    const ptx_module *m;
    const ptx_memory *mem;
    const u8 *params;
    u32 grid[3], block[3], ctaid[3];
    u64 dynamic, shared_size, limit;
    u8 *shared, *shdef;
    struct use *use;
    u32 epoch;
    struct thread *t;
    u32 n;
    u32 *order;
    u64 rng;
    char *err;
    size_t errlen;
    int fault;
};

static const struct insn none;

static void fail(struct run *r, const struct thread *t, const struct insn *in, int fault, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static void fail(struct run *r, const struct thread *t, const struct insn *in, int fault, const char *format, ...) {
    if (r->fault)
        return;
    r->fault = fault;
    if (!r->err || !r->errlen)
        return;
    char what[256], text[96];
    va_list ap;
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    if (!t) {
        snprintf(r->err, r->errlen, "kernel %s: %s", r->e->name, what);
        return;
    }
    u32 n = 0;
    for (u32 i = 0; i < in->len && n < sizeof text - 1; i++) {
        char c = r->m->text[in->at + i];
        bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
        if (blank && n && text[n - 1] == ' ')
            continue;
        text[n++] = blank ? ' ' : c;
    }
    text[n] = 0;
    snprintf(r->err, r->errlen, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u), line %u, \"%s\": %s", r->e->name, r->ctaid[0], r->ctaid[1],
             r->ctaid[2], t->tid[0], t->tid[1], t->tid[2], in->line, text, what);
}

static u64 roll(u64 *rng) {
    u64 z = *rng += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- registers ---- */

static inline u64 mask_of(u8 size) {
    return size >= 8 ? ~(u64)0 : ((u64)1 << 8 * size) - 1;
}

static inline u8 bytes_of(u8 size) {
    return (u8)((1u << size) - 1);
}

static u64 special(const struct run *r, const struct thread *t, u32 id) {
    switch (id) {
    case SR_TID + 3:
    case SR_CTAID + 3:
    case SR_ZERO:
        return 0;
    case SR_NTID + 3:
    case SR_NCTAID + 3:
    case SR_ONE:
        return 1;
    case SR_WARP:
        return t->index / WARP;
    case SR_NWARP:
        return (r->n + WARP - 1) / WARP;
    case SR_LANE:
        return t->index % WARP;
    case SR_MASK_EQ:
        return 1u << t->index % WARP;
    case SR_MASK_LE:
        return ~0u >> (WARP - 1 - t->index % WARP);
    case SR_MASK_LT:
        return ~(~0u << t->index % WARP);
    case SR_MASK_GE:
        return ~0u << t->index % WARP;
    case SR_MASK_GT:
        return ~(~0u >> (WARP - 1 - t->index % WARP));
    case SR_CLOCK:
        return (u32)t->steps;
    case SR_CLOCK_HI:
        return t->steps >> 32;
    case SR_CLOCK64:
        return t->steps;
    case SR_DYNAMIC:
        return r->dynamic;
    case SR_TOTAL_SHARED:
        return r->e->shared + r->dynamic;
    default:
        break;
    }
    if (id < SR_NTID)
        return t->tid[id - SR_TID];
    if (id < SR_CTAID)
        return r->block[id - SR_NTID];
    if (id < SR_NCTAID)
        return r->ctaid[id - SR_CTAID];
    return r->grid[id - SR_NCTAID];
}

/* Returns the value of an operand. *def has a bit for each byte that is defined. */
static inline u64 raw(const struct run *r, const struct thread *t, const struct frame *f, const struct arg *a, u8 *def) {
    *def = 0xff;
    switch (a->kind) {
    case A_REG: {
        u32 i = f->regs + a->reg;
        *def = t->def[i];
        return a->negate ? !t->reg[i] : t->reg[i];
    }
    case A_IMM:
        return a->imm;
    case A_SREG:
        return special(r, t, a->reg) & mask_of(a->size);
    case A_LOCAL:
        return f->local + a->imm;
    case A_PARAM:
        return PARAM_LOCAL + f->params + a->imm;
    case A_SHARED:
        return r->f->layout[a->reg] + a->imm;
    default:
        return 0;
    }
}

static void undefined_register(struct run *r, const struct thread *t, const struct insn *in) {
    fail(r, t, in, PTX_UNDEFINED, "uses a value that was never written");
}

static inline u64 src(struct run *r, const struct thread *t, const struct frame *f, const struct insn *in, const struct arg *a, u8 size) {
    u8 def;
    u64 v = raw(r, t, f, a, &def);
    u8 need = bytes_of(size);
    if ((def & need) != need)
        undefined_register(r, t, in);
    return v;
}

static inline void dst_partly(struct thread *t, const struct frame *f, const struct arg *a, u64 v, u8 def) {
    if (a->kind != A_REG)
        return;
    t->reg[f->regs + a->reg] = v & mask_of(a->size);
    t->def[f->regs + a->reg] = def;
}

static inline void dst(struct thread *t, const struct frame *f, const struct arg *a, u64 v) {
    dst_partly(t, f, a, v, 0xff);
}

static inline s64 extend(u8 type, u64 v) {
    switch (type) {
    case T_S8:
        return (signed char)v;
    case T_S16:
        return (int16_t)v;
    case T_S32:
        return (s32)v;
    case T_U8:
    case T_B8:
        return (u8)v;
    case T_U16:
    case T_B16:
        return (u16)v;
    case T_U32:
    case T_B32:
        return (u32)v;
    case T_PRED:
        return v & 1;
    default:
        return (s64)v;
    }
}

static inline float as_f32(u64 v) {
    u32 b = (u32)v;
    float f;
    memcpy(&f, &b, 4);
    return f;
}
static inline u64 of_f32(float f) {
    u32 b;
    memcpy(&b, &f, 4);
    return b;
}
static inline double as_f64(u64 v) {
    double d;
    memcpy(&d, &v, 8);
    return d;
}
static inline u64 of_f64(double d) {
    u64 b;
    memcpy(&b, &d, 8);
    return b;
}

/* ---- floating point ---- */

static int rounding(u32 mods) {
    if (mods & (M_RZ | M_RZI))
        return FE_TOWARDZERO;
    if (mods & (M_RM | M_RMI))
        return FE_DOWNWARD;
    if (mods & (M_RP | M_RPI))
        return FE_UPWARD;
    return FE_TONEAREST;
}

static float flush(float f) {
    return f != 0 && fabsf(f) < FLT_MIN ? copysignf(0, f) : f;
}

static float finish32(float f, u32 mods) {
    if (mods & M_FTZ)
        f = flush(f);
    if (mods & M_SAT)
        f = !(f > 0) ? 0 : f > 1 ? 1 : f; /* NaN becomes 0 */
    return f;
}

static u64 result32(float f, u32 mods) {
    f = finish32(f, mods);
    return f != f ? 0x7fffffff : of_f32(f);
}

static float lesser32(float a, float b, bool nan, bool max) {
    if (a != a || b != b)
        return nan ? NAN : a != a ? b : a;
    if (a == b)
        return signbit(a) != max ? a : b;
    return (a < b) != max ? a : b;
}

static double lesser64(double a, double b, bool max) {
    if (a != a || b != b)
        return a != a ? b : a;
    if (a == b)
        return signbit(a) != max ? a : b;
    return (a < b) != max ? a : b;
}

/* Operands and results are volatile, so that the compiler does not move the operation past the
 * change of the rounding mode. */
static float compute32(u8 op, float a, float b, float c, int mode) {
    volatile float x = a, y = b, z = c, v;
    if (mode != FE_TONEAREST)
        fesetround(mode);
    switch (op) {
    case O_ADD:
        v = x + y;
        break;
    case O_SUB:
        v = x - y;
        break;
    case O_MUL:
        v = x * y;
        break;
    case O_FMA:
    case O_MAD:
        v = fmaf(x, y, z);
        break;
    case O_DIV:
        v = x / y;
        break;
    case O_RCP:
        v = 1 / x;
        break;
    case O_SQRT:
        v = sqrtf(x);
        break;
    case O_RSQRT:
        v = (float)(1 / sqrt((double)x));
        break;
    case O_SIN:
        v = sinf(x);
        break;
    case O_COS:
        v = cosf(x);
        break;
    case O_EX2:
        v = exp2f(x);
        break;
    case O_LG2:
        v = log2f(x);
        break;
    default:
        v = tanhf(x);
        break;
    }
    if (mode != FE_TONEAREST)
        fesetround(FE_TONEAREST);
    return v;
}

static double compute64(u8 op, double a, double b, double c, int mode) {
    volatile double x = a, y = b, z = c, v;
    if (mode != FE_TONEAREST)
        fesetround(mode);
    switch (op) {
    case O_ADD:
        v = x + y;
        break;
    case O_SUB:
        v = x - y;
        break;
    case O_MUL:
        v = x * y;
        break;
    case O_FMA:
    case O_MAD:
        v = fma(x, y, z);
        break;
    case O_DIV:
        v = x / y;
        break;
    case O_RCP:
        v = 1 / x;
        break;
    case O_SQRT:
        v = sqrt(x);
        break;
    default:
        v = 1 / sqrt(x);
        break;
    }
    if (mode != FE_TONEAREST)
        fesetround(FE_TONEAREST);
    return v;
}

static u64 floating(const struct insn *in, u64 a, u64 b, u64 c) {
    if (in->type == T_F64) {
        double x = as_f64(a), y = as_f64(b);
        switch (in->op) {
        case O_MIN:
            return of_f64(lesser64(x, y, false));
        case O_MAX:
            return of_f64(lesser64(x, y, true));
        case O_NEG:
            return a ^ (u64)1 << 63;
        case O_ABS:
            return a & ~((u64)1 << 63);
        case O_COPYSIGN: /* the sign of the first, the rest of the second */
            return (b & ~((u64)1 << 63)) | (a & (u64)1 << 63);
        default:
            return of_f64(compute64(in->op, x, y, as_f64(c), rounding(in->mods)));
        }
    }
    float x = as_f32(a), y = as_f32(b), z = as_f32(c);
    if (in->mods & M_FTZ) {
        x = flush(x);
        y = flush(y);
        z = flush(z);
    }
    switch (in->op) {
    case O_MIN:
    case O_MAX:
        return result32(lesser32(x, y, (in->mods & M_NAN) != 0, in->op == O_MAX), in->mods);
    case O_NEG:
        return of_f32(x) ^ (u64)1 << 31;
    case O_ABS:
        return of_f32(x) & 0x7fffffff;
    case O_COPYSIGN:
        return (b & 0x7fffffff) | (a & (u64)1 << 31);
    default:
        return result32(compute32(in->op, x, y, z, rounding(in->mods)), in->mods);
    }
}

static u64 from_float(u8 type, double d, bool wide_source) {
    u32 bits = 8u * type_size(type);
    if (d != d)
        return wide_source || bits == 64 ? (u64)1 << (bits - 1) : 0;
    if (type_signed(type)) {
        double limit = ldexp(1, (int)bits - 1);
        if (d >= limit)
            return ((u64)1 << (bits - 1)) - 1;
        if (d < -limit)
            return (u64)0 - ((u64)1 << (bits - 1));
        return (u64)(s64)d;
    }
    if (d <= 0)
        return 0;
    if (d >= ldexp(1, (int)bits))
        return mask_of((u8)(bits / 8));
    return (u64)d;
}

static double to_integral(double d, u32 mods) {
    volatile double x = d, v;
    int mode = rounding(mods);
    if (mode != FE_TONEAREST)
        fesetround(mode);
    v = nearbyint(x);
    if (mode != FE_TONEAREST)
        fesetround(FE_TONEAREST);
    return v;
}

static u64 convert(const struct insn *in, u64 a) {
    u8 d = in->type, s = in->type2;
    u32 m = in->mods;
    int mode = rounding(m);
    if (type_float(s)) {
        double x;
        if (s == T_F32) {
            float f = as_f32(a);
            x = m & M_FTZ ? flush(f) : f;
        } else {
            x = as_f64(a);
        }
        if (m & M_INTEGRAL)
            x = to_integral(x, m);
        if (d == T_F64) {
            if (m & M_SAT)
                x = !(x > 0) ? 0 : x > 1 ? 1 : x;
            return of_f64(x);
        }
        if (d == T_F32) {
            volatile double from = x;
            volatile float to;
            if (mode != FE_TONEAREST)
                fesetround(mode);
            to = (float)from;
            if (mode != FE_TONEAREST)
                fesetround(FE_TONEAREST);
            return result32(to, m);
        }
        return from_float(d, x, s == T_F64);
    }
    if (type_float(d)) {
        bool sign = type_signed(s);
        volatile s64 i = extend(s, a);
        volatile u64 u = (u64)i;
        volatile float f;
        volatile double g;
        if (mode != FE_TONEAREST)
            fesetround(mode);
        if (d == T_F32) {
            f = sign ? (float)i : (float)u;
            g = 0;
        } else {
            g = sign ? (double)i : (double)u;
            f = 0;
        }
        if (mode != FE_TONEAREST)
            fesetround(FE_TONEAREST);
        if (d == T_F32)
            return result32(f, m);
        double v = g;
        if (m & M_SAT)
            v = !(v > 0) ? 0 : v > 1 ? 1 : v;
        return of_f64(v);
    }
    s64 v = extend(s, a);
    if (m & M_SAT) {
        u32 bits = 8u * type_size(d);
        s64 top = type_signed(d) ? (s64)(((u64)1 << (bits - 1)) - 1) : (s64)(mask_of((u8)(bits / 8)) & INT64_MAX);
        s64 low = type_signed(d) ? -top - 1 : 0;
        if (!type_signed(s) && v < 0) /* a 64-bit value above the signed range */
            v = d == T_U64 ? v : top;
        else if (v < low)
            v = low;
        else if (v > top && !(d == T_U64))
            v = top;
    }
    return (u64)extend(d, (u64)v);
}

/* ---- integers ---- */

static u64 high64(u64 a, u64 b, bool sign) {
    u64 al = (u32)a, ah = a >> 32, bl = (u32)b, bh = b >> 32;
    u64 mid = ah * bl + (al * bl >> 32);
    u64 mid2 = al * bh + (u32)mid;
    u64 hi = ah * bh + (mid >> 32) + (mid2 >> 32);
    if (sign) {
        hi -= (s64)a < 0 ? b : 0;
        hi -= (s64)b < 0 ? a : 0;
    }
    return hi;
}

/* Returns the half of the product that the modifiers select. */
static u64 product(u8 type, u32 mods, u64 a, u64 b) {
    u64 x = (u64)extend(type, a), y = (u64)extend(type, b);
    if (!(mods & M_HI))
        return x * y;
    u8 size = type_size(type);
    if (size == 8)
        return high64(x, y, type_signed(type));
    return type_signed(type) ? (u64)((s64)(x * y) >> 8 * size) : x * y >> 8 * size;
}

static u64 shift_left(u64 v, u32 n, u32 bits) {
    return n >= bits ? 0 : v << n;
}

static u64 shift_right(u8 type, u64 v, u32 n) {
    u32 bits = 8u * type_size(type);
    if (type_signed(type))
        return (u64)(extend(type, v) >> (n >= bits ? bits - 1 : n));
    return n >= bits ? 0 : (u64)extend(type, v) >> n;
}

static u64 extract(u8 type, u64 v, u32 pos, u32 len) {
    u32 bits = 8u * type_size(type);
    pos &= 255;
    len &= 255;
    bool sign = false;
    if (type_signed(type) && len) {
        u32 top = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
        sign = v >> top & 1;
    }
    u64 out = 0;
    for (u32 i = 0; i < bits; i++) {
        bool bit = i < len && pos + i < bits ? v >> (pos + i) & 1 : sign;
        out |= (u64)bit << i;
    }
    return out;
}

static u64 insert(u64 from, u64 to, u32 pos, u32 len, u32 bits) {
    pos &= 255;
    len &= 255;
    for (u32 i = 0; i < len && pos + i < bits; i++) {
        u64 bit = (u64)1 << (pos + i);
        to = from >> i & 1 ? to | bit : to & ~bit;
    }
    return to;
}

static u32 permute(u8 mode, u32 a, u32 b, u32 sel) {
    u8 bytes[8];
    for (u32 i = 0; i < 4; i++) {
        bytes[i] = (u8)(a >> 8 * i);
        bytes[4 + i] = (u8)(b >> 8 * i);
    }
    static const u8 ecl[4][4] = {{0, 1, 2, 3}, {1, 1, 2, 3}, {2, 2, 2, 3}, {3, 3, 3, 3}};
    static const u8 ecr[4][4] = {{0, 0, 0, 0}, {0, 1, 1, 1}, {0, 1, 2, 2}, {0, 1, 2, 3}};
    u32 out = 0, s = sel & 3;
    for (u32 i = 0; i < 4; i++) {
        u32 n = 0;
        bool sign = false;
        switch (mode) {
        case PRMT_PLAIN:
            n = sel >> 4 * i & 7;
            sign = sel >> 4 * i & 8;
            break;
        case PRMT_F4E:
            n = s + i;
            break;
        case PRMT_B4E:
            n = (s - i) & 7;
            break;
        case PRMT_RC8:
            n = s;
            break;
        case PRMT_ECL:
            n = ecl[s][i];
            break;
        case PRMT_ECR:
            n = ecr[s][i];
            break;
        default:
            n = 2 * (s & 1) + (i & 1);
            break;
        }
        u32 byte = sign ? (bytes[n] & 0x80 ? 0xff : 0) : bytes[n];
        out |= byte << 8 * i;
    }
    return out;
}

static bool compare(const struct insn *in, u64 a, u64 b) {
    if (type_float(in->type)) {
        double x, y;
        if (in->type == T_F32) {
            float f = as_f32(a), g = as_f32(b);
            x = in->mods & M_FTZ ? flush(f) : f;
            y = in->mods & M_FTZ ? flush(g) : g;
        } else {
            x = as_f64(a);
            y = as_f64(b);
        }
        bool nan = x != x || y != y;
        switch (in->sub) {
        case C_EQ:
            return x == y;
        case C_NE:
            return !nan && x != y;
        case C_LT:
            return x < y;
        case C_LE:
            return x <= y;
        case C_GT:
            return x > y;
        case C_GE:
            return x >= y;
        case C_EQU:
            return nan || x == y;
        case C_NEU:
            return x != y;
        case C_LTU:
            return nan || x < y;
        case C_LEU:
            return nan || x <= y;
        case C_GTU:
            return nan || x > y;
        case C_GEU:
            return nan || x >= y;
        case C_NUM:
            return !nan;
        default:
            return nan;
        }
    }
    s64 x = extend(in->type, a), y = extend(in->type, b);
    bool below = type_signed(in->type) ? x < y : (u64)x < (u64)y;
    switch (in->sub) {
    case C_EQ:
        return x == y;
    case C_NE:
        return x != y;
    case C_LT:
    case C_LO:
        return below;
    case C_LE:
    case C_LS:
        return below || x == y;
    case C_GT:
    case C_HI:
        return !below && x != y;
    default:
        return !below;
    }
}

/* ---- memory ---- */

/* The address of bytes, and of the flags that say which are defined (NULL: all). */
struct place {
    u8 *at, *def;
};

static void thread_name(char *text, size_t n, const struct run *r, u32 who) {
    const struct thread *t = &r->t[who];
    snprintf(text, n, "thread (%u,%u,%u)", t->tid[0], t->tid[1], t->tid[2]);
}

static void race(struct run *r, const struct thread *t, const struct insn *in, u64 off, bool write, u32 other, bool wrote) {
    char who[64] = "other threads";
    if (!(other & SEVERAL))
        thread_name(who, sizeof who, r, (other & WHO) - 1);
    fail(r, t, in, PTX_UNDEFINED, "race: %s byte %llu of shared memory, which %s %s since the last barrier", write ? "writes" : "reads",
         (unsigned long long)off, who, wrote ? "wrote" : "read");
}

static void watch(struct run *r, const struct thread *t, const struct insn *in, u64 off, u32 size, bool write, bool atomic) {
    u32 me = t->index + 1;
    for (u64 i = off; i < off + size && !r->fault; i++) {
        struct use *u = &r->use[i];
        if (u->written == r->epoch && (u->writer & (WHO | SEVERAL)) != me && !(atomic && u->writer & ATOMIC))
            race(r, t, in, i, write, u->writer, true);
        if (write && u->read == r->epoch && (u->reader & (WHO | SEVERAL)) != me)
            race(r, t, in, i, write, u->reader, false);
        if (!write) {
            if (u->read != r->epoch)
                u->reader = me;
            else if (u->reader != me)
                u->reader = me | SEVERAL;
            u->read = r->epoch;
            continue;
        }
        if (u->written != r->epoch)
            u->writer = me | (atomic ? ATOMIC : 0);
        else if (!atomic)
            u->writer = me; /* the earlier write was by this thread too */
        else if ((u->writer & WHO) != me)
            u->writer |= SEVERAL;
        u->written = r->epoch;
    }
}

/* Finds the bytes of an access, and checks that the access is allowed. */
static struct place resolve(struct run *r, struct thread *t, const struct insn *in, u8 space, u64 addr, u32 size, bool write, bool atomic) {
    struct place none_at = {0};
    static const char *const names[NSPACES] = {"generic", "global", "constant", "shared", "local", "parameter"};
    const char *verb = atomic ? "changes" : write ? "writes" : "reads";
    unsigned long long shown = addr;
    if (addr & (size - 1)) {
        fail(r, t, in, PTX_MISALIGNED, "misaligned: %s %u bytes at address 0x%llx", verb, size, shown);
        return none_at;
    }
    if (space == GENERIC) {
        u64 window = addr & WINDOW_MASK, rest = addr & ~WINDOW_MASK;
        if (window == WINDOW_SHARED) {
            space = SHARED;
            addr = rest;
        } else if (window == WINDOW_LOCAL) {
            if (rest >> LOCAL_BITS != t->index) {
                fail(r, t, in, PTX_UNDEFINED, "%s local memory of another thread", verb);
                return none_at;
            }
            space = LOCAL;
            addr = rest & (((u64)1 << LOCAL_BITS) - 1);
        } else if (window == WINDOW_PARAM) {
            space = PARAM;
            addr = rest;
        } else {
            space = GLOBAL;
        }
    }
    switch (space) {
    case GLOBAL:
    case CONST: {
        if (addr >= r->m->lo && addr < r->m->hi)
            for (u32 i = 0; i < r->m->nvars; i++) {
                const struct var *v = r->m->vars[i];
                u64 at = (u64)(uintptr_t)v->data;
                if (addr < at || addr - at >= v->size || v->size - (addr - at) < size)
                    continue;
                if (write && v->space == CONST) {
                    fail(r, t, in, PTX_ADDRESS, "writes to the constant %s", v->name);
                    return none_at;
                }
                return (struct place){v->data + (addr - at), NULL};
            }
        if (space == CONST || addr + size < addr || !r->mem->access || !r->mem->access(r->mem->ctx, addr, size, write, atomic)) {
            fail(r, t, in, PTX_ADDRESS, "out of bounds: %s %u bytes at address 0x%llx of %s memory", verb, size, shown, names[space]);
            return none_at;
        }
        u8 *at = r->mem->view ? r->mem->view(r->mem->ctx, addr, size) : (u8 *)(uintptr_t)addr;
        if (!at)
            fail(r, t, in, PTX_ADDRESS, "out of bounds: %s %u bytes at address 0x%llx", verb, size, shown);
        return (struct place){at, NULL};
    }
    case SHARED: {
        bool ok = addr <= r->shared_size && r->shared_size - addr >= size;
        if (ok && addr < r->f->extent) {
            ok = false;
            for (u32 i = 0; i < r->f->nusable && !ok; i++)
                ok = addr >= r->f->usable[i].lo && addr + size <= r->f->usable[i].hi;
        }
        if (!ok) {
            fail(r, t, in, PTX_ADDRESS, "out of bounds: %s %u bytes at offset 0x%llx of shared memory", verb, size, (unsigned long long)addr);
            return none_at;
        }
        watch(r, t, in, addr, size, write, atomic);
        return (struct place){r->shared + addr, r->shdef + addr};
    }
    case LOCAL:
        if (addr > t->nloc || t->nloc - addr < size) {
            fail(r, t, in, PTX_ADDRESS, "out of bounds: %s %u bytes at offset 0x%llx of local memory", verb, size, (unsigned long long)addr);
            return none_at;
        }
        return (struct place){t->loc + addr, t->locdef + addr};
    default:
        if (addr < PARAM_LOCAL) {
            if (addr > r->e->params_size || r->e->params_size - addr < size) {
                fail(r, t, in, PTX_ADDRESS, "out of bounds: %s %u bytes at offset 0x%llx of the parameters", verb, size, (unsigned long long)addr);
                return none_at;
            }
            if (write) {
                fail(r, t, in, PTX_ADDRESS, "writes to the kernel's parameters");
                return none_at;
            }
            return (struct place){(u8 *)(uintptr_t)(r->params + addr), NULL};
        }
        addr -= PARAM_LOCAL;
        if (addr > t->npar || t->npar - addr < size) {
            fail(r, t, in, PTX_ADDRESS, "out of bounds: %s %u bytes of parameters", verb, size);
            return none_at;
        }
        return (struct place){t->par + addr, t->pardef + addr};
    }
}

static u64 address(struct run *r, const struct thread *t, const struct frame *f, const struct insn *in, const struct arg *a) {
    u64 v = src(r, t, f, in, a, a->kind == A_REG ? a->size : 8);
    if (a->kind == A_REG) {
        v += a->imm;
        if (a->size == 4)
            v = (u32)v;
    }
    return v;
}

static void load(struct run *r, struct thread *t, const struct frame *f, const struct insn *in) {
    u8 size = type_size(in->type);
    struct place p = resolve(r, t, in, in->space, address(r, t, f, in, &in->a[0]), size * in->nvec, false, false);
    if (r->fault)
        return;
    for (u32 i = 0; i < in->nvec; i++) {
        u64 v = 0;
        memcpy(&v, p.at + i * size, size);
        u8 def = 0xff;
        if (p.def) {
            def = 0;
            for (u32 k = 0; k < size; k++)
                def |= (u8)(p.def[i * size + k] << k);
            if (!def && in->v[i].kind != A_SINK && in->nvec == 1) {
                fail(r, t, in, PTX_UNDEFINED, "reads memory that was never written");
                return;
            }
            def |= (u8)~bytes_of(size);
            if (!(def & bytes_of(size)))
                def = 0;
        }
        dst_partly(t, f, &in->v[i], (u64)extend(in->type, v), def);
    }
}

static void store(struct run *r, struct thread *t, const struct frame *f, const struct insn *in) {
    u8 size = type_size(in->type), def[4];
    u64 v[4];
    for (u32 i = 0; i < in->nvec; i++) {
        v[i] = raw(r, t, f, &in->v[i], &def[i]);
        def[i] &= bytes_of(size);
    }
    struct place p = resolve(r, t, in, in->space, address(r, t, f, in, &in->a[0]), size * in->nvec, true, false);
    if (r->fault)
        return;
    for (u32 i = 0; i < in->nvec; i++) {
        if (p.def) {
            for (u32 k = 0; k < size; k++)
                p.def[i * size + k] = def[i] >> k & 1;
        } else { /* in global memory padding may be undefined: it gets bytes that no program takes for a result */
            for (u32 k = 0; k < size; k++)
                if (!(def[i] >> k & 1))
                    v[i] = (v[i] & ~((u64)0xff << 8 * k)) | (u64)0xab << 8 * k;
        }
        memcpy(p.at + i * size, &v[i], size);
    }
}

static u64 combined(const struct insn *in, u64 old, u64 a, u64 b) {
    u8 t = in->type;
    s64 x = extend(t, old), y = extend(t, a);
    bool below = type_signed(t) ? x < y : (u64)x < (u64)y;
    switch (in->sub) {
    case AT_ADD:
        if (t == T_F32)
            return result32(compute32(O_ADD, as_f32(old), as_f32(a), 0, FE_TONEAREST), 0);
        if (t == T_F64)
            return of_f64(compute64(O_ADD, as_f64(old), as_f64(a), 0, FE_TONEAREST));
        return old + a;
    case AT_MIN:
        return below ? old : a;
    case AT_MAX:
        return below ? a : old;
    case AT_AND:
        return old & a;
    case AT_OR:
        return old | a;
    case AT_XOR:
        return old ^ a;
    case AT_EXCH:
        return a;
    case AT_CAS:
        return old == a ? b : old;
    case AT_INC:
        return (u32)old >= (u32)a ? 0 : old + 1;
    default:
        return old == 0 || (u32)old > (u32)a ? a : old - 1;
    }
}

/* Other processors may use memory of the program at the same time, so it is changed by
 * compare-and-exchange. */
static u64 exchange(const struct insn *in, u8 *at, u64 a, u64 b) {
    switch (type_size(in->type)) {
    case 2: {
        u16 old = __atomic_load_n((u16 *)at, __ATOMIC_SEQ_CST);
        while (!__atomic_compare_exchange_n((u16 *)at, &old, (u16)combined(in, old, a, b), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        }
        return old;
    }
    case 4: {
        u32 old = __atomic_load_n((u32 *)at, __ATOMIC_SEQ_CST);
        while (!__atomic_compare_exchange_n((u32 *)at, &old, (u32)combined(in, old, a, b), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        }
        return old;
    }
    default: {
        u64 old = __atomic_load_n((u64 *)at, __ATOMIC_SEQ_CST);
        while (!__atomic_compare_exchange_n((u64 *)at, &old, combined(in, old, a, b), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        }
        return old;
    }
    }
}

static void atomic(struct run *r, struct thread *t, const struct frame *f, const struct insn *in) {
    u8 size = type_size(in->type);
    u64 a = src(r, t, f, in, &in->a[2], size), b = src(r, t, f, in, &in->a[3], in->a[3].kind ? size : 0);
    struct place p = resolve(r, t, in, in->space, address(r, t, f, in, &in->a[0]), size, true, true);
    if (r->fault)
        return;
    for (u32 i = 0; i < size && p.def; i++) {
        if (!p.def[i] && in->sub != AT_EXCH) {
            fail(r, t, in, PTX_UNDEFINED, "changes memory that was never written");
            return;
        }
        p.def[i] = 1;
    }
    u64 old = exchange(in, p.at, a, b);
    if (in->returns)
        dst(t, f, &in->a[1], old);
}

/* ---- calls ---- */

static bool room(void **v, u8 **def, u32 *cap, u64 need, size_t size) {
    if (need <= *cap)
        return true;
    u64 more = need < 64 ? 64 : need + need / 2;
    if (more > UINT32_MAX)
        return false;
    void *to = realloc(*v, more * size);
    if (!to)
        return false;
    *v = to;
    u8 *bits = realloc(*def, more);
    if (!bits)
        return false;
    *def = bits;
    *cap = (u32)more;
    return true;
}

/* Makes a frame in which no byte is defined. The parameters of a kernel are stored elsewhere, but space for them is
 * counted. */
static bool enter(struct thread *t, const struct func *f) {
    u64 params = ((u64)t->npar + 15) & ~(u64)15, local = ((u64)t->nloc + 15) & ~(u64)15;
    u64 regs = (u64)t->nreg + f->nregs, par = params + f->params, loc = local + f->local;
    if (t->depth == MAX_FRAMES || loc > 1 << LOCAL_BITS || par > 64 << 20)
        return false;
    if (!room((void **)&t->reg, &t->def, &t->creg, regs, sizeof *t->reg) || !room((void **)&t->par, &t->pardef, &t->cpar, par, 1) ||
        !room((void **)&t->loc, &t->locdef, &t->cloc, loc, 1))
        return false;
    if (f->nregs)
        memset(t->def + t->nreg, 0, f->nregs);
    if (par > params)
        memset(t->pardef + params, 0, par - params);
    if (loc > local)
        memset(t->locdef + local, 0, loc - local);
    t->frame[t->depth++] = (struct frame){f, 0, t->nreg, (u32)params, (u32)local};
    t->nreg = (u32)regs;
    t->npar = (u32)par;
    t->nloc = (u32)loc;
    return true;
}

static void leave(struct thread *t) {
    const struct frame *f = &t->frame[--t->depth];
    t->nreg = f->regs;
    t->npar = f->params;
    t->nloc = f->local;
}

static void call(struct run *r, struct thread *t, const struct insn *in) {
    const struct frame *from = &t->frame[t->depth - 1];
    const struct call *c = &from->f->calls[in->target];
    if (c->f->assertion) {
        fail(r, t, in, PTX_TRAP, "an assertion failed");
        return;
    }
    if (!enter(t, c->f)) {
        fail(r, t, in, PTX_UNDEFINED, "calls are nested too deeply");
        return;
    }
    const struct frame *to = &t->frame[t->depth - 1];
    for (u32 i = 0; i < c->nargs; i++) {
        const struct arg *a = &c->args[i];
        const struct formal *at = &c->f->in[i];
        u32 off = to->params + at->off;
        if (a->kind == A_PARAM) {
            u32 s = from->params + (u32)a->imm;
            memcpy(t->par + off, t->par + s, at->size);
            memcpy(t->pardef + off, t->pardef + s, at->size);
        } else {
            u8 def;
            u64 v = raw(r, t, from, a, &def);
            memcpy(t->par + off, &v, at->size);
            for (u32 k = 0; k < at->size; k++)
                t->pardef[off + k] = def >> k & 1;
        }
    }
}

/* Returns from a function to the instruction after the call. */
static void back(struct thread *t) {
    const struct frame *from = &t->frame[t->depth - 1];
    struct frame *to = &t->frame[t->depth - 2];
    const struct call *c = &to->f->calls[to->f->code[to->pc - 1].target];
    if (c->has_result) {
        u32 s = from->params + from->f->out.off, d = to->params + (u32)c->result.imm;
        memcpy(t->par + d, t->par + s, from->f->out.size);
        memcpy(t->pardef + d, t->pardef + s, from->f->out.size);
    }
    leave(t);
}

/* ---- threads ---- */

/* Runs a thread until it ends, waits or fails. */
static void run_thread(struct run *r, struct thread *t) {
    struct frame *f = &t->frame[t->depth - 1];
    while (!r->fault) {
        const struct insn *in = &f->f->code[f->pc++];
        if (++t->steps > r->limit) {
            fail(r, t, in, PTX_ENDLESS, "makes more than %llu steps: an endless loop, or one that waits for another thread",
                 (unsigned long long)r->limit);
            return;
        }
        if (in->pred >= 0) {
            u32 i = f->regs + (u32)in->pred;
            if (!(t->def[i] & 1)) {
                fail(r, t, in, PTX_UNDEFINED, "depends on a predicate that was never written");
                return;
            }
            if ((t->reg[i] & 1) == in->predneg)
                continue;
        }
        u8 type = in->type, size = type_size(type);
#define A(i, n) src(r, t, f, in, &in->a[i], (n))
#define SET(v) dst(t, f, &in->a[0], (v))
        switch ((enum op)in->op) {
        case O_MOV: {
            u8 def;
            u64 v = raw(r, t, f, &in->a[1], &def);
            dst_partly(t, f, &in->a[0], v, def);
            break;
        }
        case O_PACK: {
            u8 part = type_size(in->type2), def = 0;
            u64 v = 0;
            for (u32 i = 0; i < in->nvec; i++) {
                u8 d;
                v |= (raw(r, t, f, &in->v[i], &d) & mask_of(part)) << 8 * part * i;
                def |= (u8)((d & bytes_of(part)) << part * i);
            }
            dst_partly(t, f, &in->a[0], v, def);
            break;
        }
        case O_UNPACK: {
            u8 part = type_size(in->type2), def;
            u64 v = raw(r, t, f, &in->a[0], &def);
            for (u32 i = 0; i < in->nvec; i++)
                dst_partly(t, f, &in->v[i], v >> 8 * part * i & mask_of(part), def >> part * i & bytes_of(part));
            break;
        }
        case O_LD:
            load(r, t, f, in);
            break;
        case O_ST:
            store(r, t, f, in);
            break;
        case O_ATOM:
            atomic(r, t, f, in);
            break;
        case O_CVT: {
            u64 v = convert(in, A(1, type_size(in->type2)));
            SET(type_signed(type) ? (u64)extend(type, v) : v & mask_of(size));
            break;
        }
        case O_CVTA: {
            u64 v = A(1, 8);
            switch (in->space) {
            case SHARED:
                v |= WINDOW_SHARED;
                break;
            case LOCAL:
                v |= WINDOW_LOCAL | (u64)t->index << LOCAL_BITS;
                break;
            case PARAM:
                v |= WINDOW_PARAM;
                break;
            default:
                break;
            }
            SET(v);
            break;
        }
        case O_CVTA_TO: {
            u64 v = A(1, 8);
            switch (in->space) {
            case SHARED:
                v -= WINDOW_SHARED;
                break;
            case LOCAL:
                v -= WINDOW_LOCAL | (u64)t->index << LOCAL_BITS;
                break;
            case PARAM:
                v -= WINDOW_PARAM;
                break;
            default:
                break;
            }
            SET(v);
            break;
        }
        case O_ISSPACEP: {
            u64 v = A(1, 8), window = v & WINDOW_MASK;
            bool constant = false;
            for (u32 i = 0; i < r->m->nvars; i++) {
                const struct var *x = r->m->vars[i];
                u64 at = (u64)(uintptr_t)x->data;
                constant |= x->space == CONST && v >= at && v - at < x->size;
            }
            u8 is = window == WINDOW_SHARED  ? SHARED
                    : window == WINDOW_LOCAL ? LOCAL
                    : window == WINDOW_PARAM ? PARAM
                    : constant               ? CONST
                                             : GLOBAL;
            SET(is == in->space);
            break;
        }
        case O_ADD:
        case O_SUB: {
            u64 a = A(1, size), b = A(2, size);
            if (type_float(type)) {
                SET(floating(in, a, b, 0));
                break;
            }
            u64 v = in->op == O_ADD ? a + b : a - b;
            if (in->mods & M_SAT) {
                s64 w = in->op == O_ADD ? extend(type, a) + extend(type, b) : extend(type, a) - extend(type, b);
                v = (u64)(w > INT32_MAX ? INT32_MAX : w < INT32_MIN ? INT32_MIN : w);
            }
            if (in->mods & M_CC)
                t->carry = in->op == O_ADD ? (v & mask_of(size)) < a : a < b;
            SET(v);
            break;
        }
        case O_ADDC:
        case O_SUBC: {
            u64 a = A(1, size), b = A(2, size), m = mask_of(size), c = t->carry;
            if (in->op == O_ADDC) {
                u64 s = (a + b) & m, v = (s + c) & m;
                if (in->mods & M_CC)
                    t->carry = s < a || v < s;
                SET(v);
            } else {
                if (in->mods & M_CC)
                    t->carry = a < b || (a == b && c);
                SET(a - b - c);
            }
            break;
        }
        case O_MUL: {
            u64 a = A(1, size), b = A(2, size);
            SET(type_float(type) ? floating(in, a, b, 0) : product(type, in->mods, a, b));
            break;
        }
        case O_MAD:
        case O_MADC: {
            u64 a = A(1, size), b = A(2, size), c = A(3, in->mods & M_WIDE ? 2 * size : size);
            if (type_float(type)) {
                SET(floating(in, a, b, c));
                break;
            }
            u64 m = in->mods & M_WIDE ? mask_of(2 * size) : mask_of(size);
            u64 half = product(type, in->mods, a, b) & m, s = (half + c) & m;
            u64 v = in->op == O_MADC ? (s + t->carry) & m : s;
            if (in->mods & M_CC)
                t->carry = s < half || v < s;
            SET(v);
            break;
        }
        case O_MUL24:
        case O_MAD24: {
            u64 a = A(1, 4), b = A(2, 4);
            s64 x = type_signed(type) ? (s64)(a << 40) >> 40 : (s64)(a & 0xffffff);
            s64 y = type_signed(type) ? (s64)(b << 40) >> 40 : (s64)(b & 0xffffff);
            u64 v = (u64)(x * y) >> (in->mods & M_HI ? 16 : 0);
            if (in->op == O_MAD24)
                v += A(3, 4);
            SET(v);
            break;
        }
        case O_SAD: {
            u64 a = (u64)extend(type, A(1, size)), b = (u64)extend(type, A(2, size));
            bool below = type_signed(type) ? (s64)a < (s64)b : a < b;
            SET(A(3, size) + (below ? b - a : a - b));
            break;
        }
        case O_DP4A:
        case O_DP2A: {
            u32 n = in->op == O_DP4A ? 4 : 2, bits = 32 / n;
            u64 a = A(1, 4), b = A(2, 4);
            u32 sum = (u32)A(3, 4);
            if (in->mods & M_HI)
                b >>= 16;
            for (u32 i = 0; i < n; i++) {
                u32 x = (u32)(a >> i * bits) << (32 - bits), y = (u32)(b >> 8 * i) << 24;
                s64 left = type_signed(type) ? (s32)x >> (32 - bits) : (s64)(x >> (32 - bits));
                s64 right = type_signed(in->type2) ? (s32)y >> 24 : (s64)(y >> 24);
                sum += (u32)(left * right);
            }
            SET(sum);
            break;
        }
        case O_FMA:
            SET(floating(in, A(1, size), A(2, size), A(3, size)));
            break;
        case O_DIV:
        case O_REM: {
            u64 a = A(1, size), b = A(2, size);
            if (type_float(type)) {
                SET(floating(in, a, b, 0));
                break;
            }
            s64 x = extend(type, a), y = extend(type, b);
            if (r->fault)
                break;
            if (!y) {
                fail(r, t, in, PTX_UNDEFINED, "divides by zero");
                break;
            }
            u64 v;
            if (!type_signed(type))
                v = in->op == O_DIV ? (u64)x / (u64)y : (u64)x % (u64)y;
            else if (y == -1)
                v = in->op == O_DIV ? (u64)0 - (u64)x : 0; /* the quotient of the smallest number is the number itself */
            else
                v = (u64)(in->op == O_DIV ? x / y : x % y);
            SET(v);
            break;
        }
        case O_MIN:
        case O_MAX: {
            u64 a = A(1, size), b = A(2, size);
            if (type_float(type)) {
                SET(floating(in, a, b, 0));
                break;
            }
            s64 x = extend(type, a), y = extend(type, b);
            bool below = type_signed(type) ? x < y : (u64)x < (u64)y;
            SET(below == (in->op == O_MIN) ? a : b);
            break;
        }
        case O_NEG: {
            u64 a = A(1, size);
            SET(type_float(type) ? floating(in, a, 0, 0) : (u64)0 - a);
            break;
        }
        case O_ABS: {
            u64 a = A(1, size);
            SET(type_float(type) ? floating(in, a, 0, 0) : extend(type, a) < 0 ? (u64)0 - a : a);
            break;
        }
        case O_SQRT:
        case O_RCP:
        case O_RSQRT:
        case O_SIN:
        case O_COS:
        case O_EX2:
        case O_LG2:
        case O_TANH:
            SET(floating(in, A(1, size), 0, 0));
            break;
        case O_COPYSIGN:
            SET(floating(in, A(1, size), A(2, size), 0));
            break;
        case O_TESTP: {
            u64 a = A(1, size);
            int c = type == T_F32 ? fpclassify(as_f32(a)) : fpclassify(as_f64(a));
            bool is = false;
            switch (in->sub) {
            case TEST_FINITE:
                is = c != FP_NAN && c != FP_INFINITE;
                break;
            case TEST_INFINITE:
                is = c == FP_INFINITE;
                break;
            case TEST_NUMBER:
                is = c != FP_NAN;
                break;
            case TEST_NOTANUMBER:
                is = c == FP_NAN;
                break;
            case TEST_NORMAL:
                is = c == FP_NORMAL;
                break;
            default:
                is = c == FP_SUBNORMAL;
                break;
            }
            SET(is);
            break;
        }
        case O_AND:
            SET(A(1, size) & A(2, size));
            break;
        case O_OR:
            SET(A(1, size) | A(2, size));
            break;
        case O_XOR:
            SET(A(1, size) ^ A(2, size));
            break;
        case O_NOT:
            SET(type == T_PRED ? !A(1, size) : ~A(1, size));
            break;
        case O_CNOT:
            SET(!A(1, size));
            break;
        case O_SHL:
            SET(shift_left(A(1, size), (u32)A(2, 4), 8u * size));
            break;
        case O_SHR:
            SET(shift_right(type, A(1, size), (u32)A(2, 4)));
            break;
        case O_SHF: {
            u64 v = A(1, 4) | A(2, 4) << 32;
            u32 n = (u32)A(3, 4);
            n = in->mods & M_WRAP ? n & 31 : n > 32 ? 32 : n;
            SET(in->mods & M_LEFT ? v << n >> 32 : v >> n);
            break;
        }
        case O_BFE:
            SET(extract(type, A(1, size), (u32)A(2, 4), (u32)A(3, 4)));
            break;
        case O_BFI:
            SET(insert(A(1, size), A(2, size), (u32)A(3, 4), (u32)A(4, 4), 8u * size));
            break;
        case O_BFIND: {
            u64 v = (u64)extend(type, A(1, size));
            if (type_signed(type) && (s64)v < 0)
                v = ~v;
            v &= mask_of(size);
            u32 top = v ? 63u - (u32)__builtin_clzll(v) : ~0u;
            SET(in->mods & M_SHIFTAMT && v ? 8u * size - 1 - top : top);
            break;
        }
        case O_POPC:
            SET((u64)__builtin_popcountll(A(1, size)));
            break;
        case O_CLZ: {
            u64 v = A(1, size);
            SET(v ? (u64)__builtin_clzll(v) - (64 - 8u * size) : 8u * size);
            break;
        }
        case O_BREV: {
            u64 v = A(1, size), out = 0;
            for (u32 i = 0; i < 8u * size; i++)
                out |= (v >> i & 1) << (8u * size - 1 - i);
            SET(out);
            break;
        }
        case O_LOP3: {
            u64 a = A(1, 4), b = A(2, 4), c = A(3, 4), out = 0;
            for (u32 i = 0; i < 8; i++)
                if (in->sub >> i & 1)
                    out |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
            SET(out);
            break;
        }
        case O_PRMT:
            SET(permute(in->sub, (u32)A(1, 4), (u32)A(2, 4), (u32)A(3, 4)));
            break;
        case O_SETP:
        case O_SET: {
            bool v = compare(in, A(1, size), A(2, size)), w = !v;
            if (in->boolop) {
                bool c = A(3, 1);
                v = in->boolop == BOOL_AND ? v && c : in->boolop == BOOL_OR ? v || c : v != c;
                w = in->boolop == BOOL_AND ? w && c : in->boolop == BOOL_OR ? w || c : w != c;
            }
            if (in->op == O_SETP) {
                SET(v);
                dst(t, f, &in->a[4], w);
            } else {
                SET(!v ? 0 : in->type2 == T_F32 ? of_f32(1) : 0xffffffff);
            }
            break;
        }
        case O_SELP: {
            u8 def;
            u64 v = raw(r, t, f, &in->a[A(3, 1) ? 1 : 2], &def);
            dst_partly(t, f, &in->a[0], v, def);
            break;
        }
        case O_SLCT: {
            u64 c = A(3, 4);
            float x = in->mods & M_FTZ ? flush(as_f32(c)) : as_f32(c);
            bool first = in->type2 == T_S32 ? (s32)c >= 0 : x >= 0;
            SET(A(first ? 1 : 2, size));
            break;
        }
        case O_BRA:
            f->pc = in->target;
            break;
        case O_BRX: {
            const struct table *b = &f->f->tables[in->target];
            u64 i = A(0, 4);
            if (r->fault)
                break;
            if (i >= b->n) {
                fail(r, t, in, PTX_UNDEFINED, "jumps to label %llu of a list of %u", (unsigned long long)i, b->n);
                break;
            }
            f->pc = b->to[i];
            break;
        }
        case O_CALL:
            call(r, t, in);
            f = &t->frame[t->depth - 1];
            break;
        case O_RET:
            if (t->depth > 1) {
                back(t);
                f = &t->frame[t->depth - 1];
                break;
            }
            t->state = ENDED;
            t->at = in;
            return;
        case O_EXIT:
            t->state = ENDED;
            t->at = in;
            return;
        case O_TRAP:
            fail(r, t, in, PTX_TRAP, "trap");
            break;
        case O_BAR:
            t->bar = (u32)A(1, 4);
            t->vote = in->sub != BAR_SYNC && A(2, 1);
            t->at = in;
            t->state = WAITING;
            if (t->bar > 15)
                fail(r, t, in, PTX_UNDEFINED, "there is no barrier %u", t->bar);
            return;
        case O_SHFL:
            t->give = raw(r, t, f, &in->a[1], &t->given);
            t->lane = (u32)A(2, 4);
            t->lanes = (u32)A(4, 4);
            t->at = in;
            t->state = EXCHANGING;
            if (A(3, 4) != WARP - 1)
                fail(r, t, in, PTX_UNDEFINED, "exchanges values within parts of a warp, which is not supported");
            else if (!(t->lanes >> t->index % WARP & 1))
                fail(r, t, in, PTX_UNDEFINED, "is not one of the lanes 0x%x", t->lanes);
            return;
        case O_NOP:
            break;
        }
#undef A
#undef SET
    }
}

/* Gives a thread the value of a lane. That of a lane which does not take part is any value. */
static void take(struct run *r, struct thread *t) {
    const struct frame *f = &t->frame[t->depth - 1];
    u32 from = t->index / WARP * WARP + t->lane % WARP;
    if (t->lanes >> t->lane % WARP & 1)
        dst_partly(t, f, &t->at->a[0], r->t[from].give, r->t[from].given);
    else
        dst(t, f, &t->at->a[0], roll(&r->rng));
    dst(t, f, &t->at->v[0], 1);
}

/* Lets the threads of warps that wait for each other exchange their values. Returns true if there are any. */
static bool meet_in_warps(struct run *r) {
    bool any = false;
    for (u32 i = 0; i < r->n && !r->fault; i++) {
        const struct thread *t = &r->t[i];
        if (t->state != EXCHANGING)
            continue;
        any = true;
        for (u32 lane = 0; lane < WARP; lane++) {
            u32 k = i / WARP * WARP + lane;
            if (!(t->lanes >> lane & 1))
                continue;
            if (k >= r->n)
                fail(r, t, t->at, PTX_UNDEFINED, "waits for lane %u, and the block has no such thread", lane);
            else if (r->t[k].state != EXCHANGING || r->t[k].at != t->at || r->t[k].lanes != t->lanes) {
                char who[64];
                thread_name(who, sizeof who, r, k);
                fail(r, t, t->at, PTX_UNDEFINED, "divergent warp: waits here, while %s %s line %u", who,
                     r->t[k].state == ENDED ? "has ended in" : "waits in", r->t[k].at->line);
            }
        }
    }
    for (u32 i = 0; i < r->n && !r->fault; i++)
        if (r->t[i].state == EXCHANGING) {
            take(r, &r->t[i]);
            r->t[i].state = READY;
        }
    return any;
}

/* Checks that all threads wait at the same barrier, or all have ended. Returns true if they wait, so that
 * there is more to run. */
static bool meet(struct run *r) {
    const struct thread *waits = NULL, *other = NULL;
    for (u32 i = 0; i < r->n && !waits; i++)
        if (r->t[i].state == WAITING)
            waits = &r->t[i];
    if (!waits)
        return false;
    u32 votes = 0;
    for (u32 i = 0; i < r->n; i++) {
        const struct thread *t = &r->t[i];
        votes += t->vote;
        if (t->state != WAITING || t->at != waits->at || t->bar != waits->bar)
            other = t;
    }
    if (other) {
        char who[64];
        thread_name(who, sizeof who, r, other->index);
        fail(r, waits, waits->at, PTX_UNDEFINED, "divergent barrier: waits here, while %s %s line %u", who,
             other->state == WAITING ? "waits at the barrier in" : "has ended in", other->at->line);
        return false;
    }
    const struct insn *in = waits->at;
    for (u32 i = 0; i < r->n; i++) {
        struct thread *t = &r->t[i];
        t->state = READY;
        if (in->sub == BAR_SYNC)
            continue;
        u64 v = in->sub == BAR_AND ? votes == r->n : in->sub == BAR_OR ? votes > 0 : votes;
        dst(t, &t->frame[t->depth - 1], &in->a[0], v);
        t->vote = false;
    }
    return true;
}

static void shuffle(struct run *r) {
    if (!r->mem->seed)
        return;
    for (u32 i = r->n; i > 1; i--) {
        u32 k = (u32)(roll(&r->rng) % i), v = r->order[k];
        r->order[k] = r->order[i - 1];
        r->order[i - 1] = v;
    }
}

static void next_epoch(struct run *r) {
    if (++r->epoch)
        return;
    memset(r->use, 0, (r->shared_size + 1) * sizeof *r->use);
    r->epoch = 1;
}

static void run_block(struct run *r) {
    memset(r->shdef, 0, r->shared_size);
    memset(r->shared, 0xa5, r->shared_size);
    next_epoch(r);
    for (u32 i = 0; i < r->n; i++) {
        struct thread *t = &r->t[i];
        t->state = READY;
        t->steps = 0;
        t->vote = t->carry = false;
        t->depth = t->nreg = t->npar = t->nloc = 0;
        t->index = i;
        t->tid[0] = i % r->block[0];
        t->tid[1] = i / r->block[0] % r->block[1];
        t->tid[2] = i / r->block[0] / r->block[1];
        r->order[i] = i;
        if (!enter(t, r->f)) {
            fail(r, NULL, &none, PTX_MEMORY, "not enough memory for the threads of a block");
            return;
        }
    }
    do {
        do {
            shuffle(r);
            for (u32 i = 0; i < r->n && !r->fault; i++)
                if (r->t[r->order[i]].state == READY)
                    run_thread(r, &r->t[r->order[i]]);
        } while (!r->fault && meet_in_warps(r));
        if (r->fault)
            return;
        next_epoch(r);
    } while (meet(r));
}

static bool allowed(struct run *r, const ptx_entry *e) {
    u64 n = (u64)r->block[0] * r->block[1];
    for (u32 i = 0; i < 3; i++) {
        if (!r->grid[i] || !r->block[i]) {
            fail(r, NULL, &none, PTX_LAUNCH, "grid or block is zero in a dimension");
            return false;
        }
        if (r->block[i] > MAX_THREADS) {
            fail(r, NULL, &none, PTX_LAUNCH, "a block has more than %u threads", MAX_THREADS);
            return false;
        }
        if (e->reqntid[0] && e->reqntid[i] != r->block[i]) {
            fail(r, NULL, &none, PTX_LAUNCH, "the block must be (%u,%u,%u)", e->reqntid[0], e->reqntid[1], e->reqntid[2]);
            return false;
        }
    }
    n *= r->block[2];
    u64 most = e->maxntid[0] ? (u64)e->maxntid[0] * e->maxntid[1] * e->maxntid[2] : MAX_THREADS;
    if (n > most || n > MAX_THREADS) {
        fail(r, NULL, &none, PTX_LAUNCH, "a block has %llu threads, and may have at most %llu", (unsigned long long)n,
             (unsigned long long)(most < MAX_THREADS ? most : MAX_THREADS));
        return false;
    }
    if (r->dynamic > SHARED_MAX || e->shared + r->dynamic > SHARED_MAX) {
        fail(r, NULL, &none, PTX_LAUNCH, "a block has more than %u bytes of shared memory", SHARED_MAX);
        return false;
    }
    r->n = (u32)n;
    u64 each = (u64)r->f->nregs * 9 + (u64)r->f->local * 2 + (u64)r->f->params * 2 + sizeof(struct thread);
    if (each * n > MAX_MEMORY) {
        fail(r, NULL, &none, PTX_MEMORY, "the threads of a block need more than %u bytes", MAX_MEMORY);
        return false;
    }
    return true;
}

int ptx_run(ptx_entry *e, const void *params, const uint32_t grid[3], const uint32_t block[3], size_t dynamic_shared, const ptx_memory *mem,
            char *err, size_t errlen) {
    if (err && errlen)
        *err = 0;
    struct run r = {.e = e, .f = e->code, .m = e->module, .mem = mem, .params = params, .dynamic = dynamic_shared, .err = err, .errlen = errlen};
    memcpy(r.grid, grid, sizeof r.grid);
    memcpy(r.block, block, sizeof r.block);
    r.limit = mem->steps ? mem->steps : PTX_STEPS;
    r.rng = mem->seed;
    if (!allowed(&r, e))
        return r.fault;
    r.shared_size = r.f->extent + dynamic_shared;
    r.shared = aligned_alloc(1024, (r.shared_size + 1024) & ~(u64)1023);
    r.shdef = malloc(r.shared_size + 1);
    r.use = calloc(r.shared_size + 1, sizeof *r.use);
    r.t = calloc(r.n, sizeof *r.t);
    r.order = malloc(r.n * sizeof *r.order);
    fenv_t env;
    feholdexcept(&env);
    fesetround(FE_TONEAREST);
    if (!r.shared || !r.shdef || !r.use || !r.t || !r.order)
        fail(&r, NULL, &none, PTX_MEMORY, "no memory is left");
    /* With a seed, the blocks run in another order: each dimension starts at a random index and may
     * run backwards. */
    u64 blocks[3] = {grid[0], grid[1], grid[2]};
    bool turned[3] = {false};
    u64 start[3] = {0};
    for (u32 i = 0; i < 3 && mem->seed; i++) {
        turned[i] = roll(&r.rng) & 1;
        start[i] = roll(&r.rng) % blocks[i];
    }
    for (u64 z = 0; z < blocks[2] && !r.fault; z++)
        for (u64 y = 0; y < blocks[1] && !r.fault; y++)
            for (u64 x = 0; x < blocks[0] && !r.fault; x++) {
                u64 at[3] = {x, y, z};
                for (u32 i = 0; i < 3; i++)
                    r.ctaid[i] = (u32)(((turned[i] ? blocks[i] - 1 - at[i] : at[i]) + start[i]) % blocks[i]);
                run_block(&r);
            }
    fesetenv(&env);
    for (u32 i = 0; r.t && i < r.n; i++) {
        free(r.t[i].reg);
        free(r.t[i].def);
        free(r.t[i].par);
        free(r.t[i].pardef);
        free(r.t[i].loc);
        free(r.t[i].locdef);
    }
    free(r.t);
    free(r.order);
    free(r.shared);
    free(r.shdef);
    free(r.use);
    return r.fault;
}
