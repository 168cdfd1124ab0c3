/*
 * The program that the PTX parser makes for the interpreter.
 */
#ifndef SIM_PTX_CODE_H
#define SIM_PTX_CODE_H

#include <string.h>

#include "ptx.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

enum type { T_NONE, T_B8, T_B16, T_B32, T_B64, T_U8, T_U16, T_U32, T_U64, T_S8, T_S16, T_S32, T_S64, T_F32, T_F64, T_PRED, NTYPES };

static inline u8 type_size(u8 t) {
    static const u8 size[NTYPES] = {0, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 1};
    return size[t];
}
static inline bool type_float(u8 t) {
    return t == T_F32 || t == T_F64;
}
static inline bool type_signed(u8 t) {
    return t >= T_S8 && t <= T_S64;
}
static inline bool type_bits(u8 t) {
    return t >= T_B8 && t <= T_B64;
}

enum space { GENERIC, GLOBAL, CONST, SHARED, LOCAL, PARAM, NSPACES };

/* Windows of the generic address space. The addresses of local memory and parameters include the
 * thread, so that a use by another thread is detected. */
#define WINDOW_SHARED 0x7a10000000000000u
#define WINDOW_LOCAL 0x7a20000000000000u
#define WINDOW_PARAM 0x7a30000000000000u
#define WINDOW_MASK 0xfff0000000000000u
enum {
    LOCAL_BITS = 24,         /* bits of an address in one thread's local memory */
    PARAM_LOCAL = 1 << 16,   /* offset in the space of parameters: those of .funcs follow those of the kernel */
    PARAM_MAX = 32764,       /* bytes of a kernel's parameters */
    SHARED_MAX = 256 << 10,  /* bytes of one block */
    GUARD = 16,              /* bytes between shared variables, which no thread may use */
    MAX_THREADS = 1024,
    WARP = 32, /* threads */
};

enum op {
    O_MOV, O_PACK, O_UNPACK, O_LD, O_ST, O_CVT, O_CVTA, O_CVTA_TO, O_ISSPACEP, O_ADD, O_SUB, O_ADDC, O_SUBC, O_MUL, O_MAD, O_MADC,
    O_FMA, O_DIV, O_REM, O_NEG, O_ABS, O_MIN, O_MAX, O_AND, O_OR, O_XOR, O_NOT, O_CNOT, O_SHL, O_SHR, O_SHF, O_BFE, O_BFI,
    O_BFIND, O_POPC, O_CLZ, O_BREV, O_SAD, O_LOP3, O_PRMT, O_SETP, O_SET, O_SELP, O_SLCT, O_BRA, O_BRX, O_CALL, O_RET, O_EXIT,
    O_TRAP, O_BAR, O_NOP, O_ATOM, O_SQRT, O_RCP, O_RSQRT, O_SIN, O_COS, O_EX2, O_LG2, O_TANH, O_COPYSIGN, O_TESTP, O_MUL24, O_MAD24,
    O_DP4A, O_DP2A, O_SHFL,
};

/* Modifiers. */
enum {
    M_RN = 1 << 0, M_RZ = 1 << 1, M_RM = 1 << 2, M_RP = 1 << 3,
    M_RNI = 1 << 4, M_RZI = 1 << 5, M_RMI = 1 << 6, M_RPI = 1 << 7,
    M_FTZ = 1 << 8, M_SAT = 1 << 9, M_CC = 1 << 10, M_LO = 1 << 11, M_HI = 1 << 12, M_WIDE = 1 << 13,
    M_APPROX = 1 << 14, M_FULL = 1 << 15, M_NAN = 1 << 16, M_WRAP = 1 << 17, M_CLAMP = 1 << 18,
    M_LEFT = 1 << 19, M_RIGHT = 1 << 20, M_SHIFTAMT = 1 << 21,
    M_ROUND = M_RN | M_RZ | M_RM | M_RP,
    M_INTEGRAL = M_RNI | M_RZI | M_RMI | M_RPI,
};

/* Comparisons. The unordered ones are true if an operand is NaN. */
enum cmp { C_EQ, C_NE, C_LT, C_LE, C_GT, C_GE, C_EQU, C_NEU, C_LTU, C_LEU, C_GTU, C_GEU, C_NUM, C_NAN, C_LO, C_LS, C_HI, C_HS };
enum { BOOL_NONE, BOOL_AND, BOOL_OR, BOOL_XOR };
enum atom { AT_ADD, AT_MIN, AT_MAX, AT_AND, AT_OR, AT_XOR, AT_EXCH, AT_CAS, AT_INC, AT_DEC };
enum { PRMT_PLAIN, PRMT_F4E, PRMT_B4E, PRMT_RC8, PRMT_ECL, PRMT_ECR, PRMT_RC16 };
enum { TEST_FINITE, TEST_INFINITE, TEST_NUMBER, TEST_NOTANUMBER, TEST_NORMAL, TEST_SUBNORMAL };
enum { BAR_SYNC, BAR_AND, BAR_OR, BAR_POPC };
enum sreg {
    SR_TID, SR_NTID = SR_TID + 4, SR_CTAID = SR_NTID + 4, SR_NCTAID = SR_CTAID + 4, SR_ZERO = SR_NCTAID + 4, SR_ONE, SR_WARP,
    SR_NWARP, SR_LANE, SR_MASK_EQ, SR_MASK_LE, SR_MASK_LT, SR_MASK_GE, SR_MASK_GT, SR_CLOCK, SR_CLOCK_HI, SR_CLOCK64, SR_DYNAMIC, SR_TOTAL_SHARED,
};

/* A_LOCAL and A_PARAM are addresses in the frame of the function. A_SHARED is the address of
 * variable number reg in the layout of the kernel. imm is the displacement, also for registers. */
enum arg_kind { A_NONE, A_REG, A_IMM, A_SREG, A_SINK, A_LOCAL, A_PARAM, A_SHARED };

struct arg {
    u8 kind;
    u8 size; /* of the register */
    bool negate;
    u32 reg;
    u64 imm;
};

struct insn {
    u8 op, type, type2, space, sub, boolop, nvec;
    bool predneg, returns, to_reg;
    s32 pred; /* register or -1 */
    u32 mods;
    u32 line, at, len; /* in the text */
    u32 target;        /* index of the instruction, table or call */
    struct arg a[5];
    struct arg v[4];
};

struct formal {
    u32 size, off;
};

struct call {
    struct func *f;
    u32 nargs;
    struct arg *args; /* A_PARAM of the caller, or A_REG, A_IMM */
    bool has_result;
    struct arg result;
};

struct table {
    u32 n;
    u32 *to;
};

struct var {
    const char *name;
    u8 space;
    u32 align;
    u64 size;
    u8 *data;     /* GLOBAL, CONST */
    u32 index;    /* SHARED */
    bool dynamic; /* extern shared */
};

struct func {
    const char *name;
    bool entry, defined, assertion;
    struct insn *code;
    u32 ncode;
    u32 nregs;
    struct formal *in;
    u32 nin;
    struct formal out;
    bool has_out;
    u32 params; /* bytes of the frame's parameters: formals first */
    u32 local;  /* bytes of the frame's local memory */
    struct call *calls;
    u32 ncalls;
    struct table *tables;
    u32 ntables;
    u32 *shared; /* indices of the shared variables that the function uses */
    u32 nshared;
    u8 mark;
    struct func *next;
    /* entries */
    struct ptx_entry pub;
    u64 *layout; /* offset of each shared variable, ~0 if it is not used */
    u32 extent;  /* bytes of the static shared memory, with guards */
    u32 dyn_align;
    struct {
        u32 lo, hi;
    } *usable;
    u32 nusable;
};

struct ptx_module {
    struct chunk *chunks;
    char *text;
    u32 version, target;
    struct func *funcs, **tail;
    u32 nentries;
    struct func **entries;
    struct var **vars; /* GLOBAL and CONST */
    u32 nvars, cvars;
    struct var **shared;
    u32 nshared, cshared;
    u64 lo, hi; /* all variables are between these addresses */
};

#endif
