/*
 * An interpreter for PTX: the text that NVRTC compiles CUDA C into.
 *
 * It is a checker as much as an interpreter. A kernel that a GPU would forgive, on
 * a good day, ends here with an error that says what it did, where in the text, and
 * in which block and thread:
 *
 *   - accesses that are out of bounds, misaligned, or refused by the caller;
 *   - values that are used before they were written, in registers, shared memory
 *     and local memory (copying such a value, as the padding of a structure is
 *     copied, is no use of it);
 *   - two threads of a block that use the same byte of shared memory, one of them
 *     writing it, without a barrier between them, unless both use atomics;
 *   - a barrier that some threads of a block wait at while others have ended or
 *     wait at another one;
 *   - a thread that makes more steps than it may;
 *   - an integer division by zero, and trap.
 *
 * A warp is one thread: instructions for warps (shfl, vote, ...) are refused when
 * the text is parsed, as is every instruction, modifier or directive that is not
 * known. A thread runs until it ends or waits at a barrier, and then another one
 * does. So a thread that waits in a loop for another thread waits for ever, and is
 * reported. The order of the blocks, and that of the threads after each barrier,
 * depend on a seed.
 *
 * Arithmetic is that of IEEE 754, bit for bit, where PTX promises it. Functions
 * that PTX calls approximate are computed with the C library. NaN results of 32-bit
 * arithmetic are 0x7fffffff, as on the hardware.
 *
 * How a driver uses it:
 *
 *   load    m = ptx_parse(text, err, sizeof err). NULL is CUDA_ERROR_INVALID_PTX,
 *           and err is for the JIT error log. One module belongs to one device:
 *           variables of the module (.global, .const) live in it.
 *   find    e = ptx_find(m, "saxpy"). NULL is CUDA_ERROR_NOT_FOUND. e->params
 *           answers cuFuncGetParamInfo: copy each argument to its offset in a
 *           buffer of e->params_size bytes while the launch is enqueued.
 *           e->shared, e->maxntid and e->reqntid answer cuFuncGetAttribute and
 *           refuse launches.
 *   launch  when the work runs: ptx_run(e, params, grid, block, dynamic, &mem, err,
 *           sizeof err). Anything but PTX_OK is a sticky error of the context
 *           (ptx_fault says which) and err the text of a violation.
 *   unload  ptx_free(m), once no launch of it is under way.
 *
 * mem.access is asked before each use of global memory, with the address as the
 * kernel knows it. It checks that the bytes lie in a living block and records them
 * for the vector clocks; if it returns false, the kernel ends with an error.
 * mem.view then says where the engine itself reaches these bytes; without it the
 * address is used as it is. Neither is called for variables of the module.
 *
 * ptx_run keeps no state between calls but the variables of the module, changes the
 * rounding mode only while it computes, and takes no lock: two runs at once are
 * independent, but for those variables and for what the callbacks do.
 */
#ifndef SIM_PTX_H
#define SIM_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ptx_module ptx_module;
typedef struct ptx_entry ptx_entry;

typedef struct ptx_param {
    const char *name;
    uint32_t size, align, offset; /* bytes; the offset is from the start of all parameters */
    bool pointer;                 /* the text says so (.ptr); a 64-bit parameter without it may be one too */
} ptx_param;

struct ptx_entry {
    const char *name;
    const ptx_param *params;
    uint32_t nparams;
    uint32_t params_size;
    uint32_t shared;     /* bytes of shared memory that it declares, itself or in functions that it calls */
    uint32_t local;      /* bytes of local memory that a thread uses, without calls */
    uint32_t reqntid[3]; /* 0 if not given */
    uint32_t maxntid[3]; /* 0 if not given */
    ptx_module *module;
    const void *code;
};

typedef struct ptx_memory {
    void *ctx;

    /* Whether the kernel may read or, if write, change size bytes at addr. */
    bool (*access)(void *ctx, uint64_t addr, uint32_t size, bool write, bool atomic);

    /* Where the bytes that access allowed are for this process. May be NULL: at addr. */
    void *(*view)(void *ctx, uint64_t addr, uint32_t size);

    uint64_t seed;  /* of the order of blocks and threads; 0 is the natural order */
    uint64_t steps; /* that one thread may make; 0 for PTX_STEPS */
} ptx_memory;

enum { PTX_STEPS = 1 << 26 };

/* What ptx_run returns, and the CUDA status that stands for it. */
typedef enum ptx_fault {
    PTX_OK = 0,
    PTX_LAUNCH = 1,     /* the launch does not fit the kernel; nothing ran (1, INVALID_VALUE) */
    PTX_MEMORY = 2,     /* the interpreter has no memory for so many threads; nothing ran (701, LAUNCH_OUT_OF_RESOURCES) */
    PTX_ADDRESS = 3,    /* out of bounds or refused (700, ILLEGAL_ADDRESS) */
    PTX_MISALIGNED = 4, /* (716, MISALIGNED_ADDRESS) */
    PTX_TRAP = 5,       /* trap, or a failed assertion (719, LAUNCH_FAILED; 710, ASSERT) */
    PTX_ENDLESS = 6,    /* a thread made too many steps (702, LAUNCH_TIMEOUT) */
    PTX_UNDEFINED = 7,  /* all else: races, divergent barriers, values never written, division by zero, too deep calls.
                           A GPU runs on, with results that are anyone's guess: a violation */
} ptx_fault;

/* Returns the module, or NULL and the reason in err, which begins with the line: "line 12: ...". */
ptx_module *ptx_parse(const char *text, char *err, size_t errlen);
void ptx_free(ptx_module *m);

uint32_t ptx_version(const ptx_module *m); /* of the text: 10 * major + minor, 88 for 8.8 */
uint32_t ptx_target(const ptx_module *m);  /* 90 for sm_90 */

uint32_t ptx_entries(const ptx_module *m);
ptx_entry *ptx_entry_at(ptx_module *m, uint32_t i);
ptx_entry *ptx_find(ptx_module *m, const char *name);

/* The address of a .global or .const variable, for the kernel and the process alike; NULL if there is none. */
void *ptx_variable(ptx_module *m, const char *name, uint64_t *size);

/* Runs all blocks. The params are laid out as in the entry. Returns a ptx_fault, with the reason in err unless it is PTX_OK. */
int ptx_run(ptx_entry *e, const void *params, const uint32_t grid[3], const uint32_t block[3], size_t dynamic_shared,
            const ptx_memory *mem, char *err, size_t errlen);

#endif
