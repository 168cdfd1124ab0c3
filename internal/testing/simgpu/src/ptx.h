/*
 * An interpreter for PTX: the text that NVRTC compiles CUDA C into.
 *
 * It is also a checker. A kernel with one of these mistakes may seem to work on a GPU. Here it ends
 * with an error that names the mistake, the line of the text, the block and the thread:
 *
 *   - accesses that are out of bounds, misaligned, or refused by the caller;
 *   - values that are used before they were written, in registers, shared memory and local memory
 *     (copying such a value, for example the padding of a structure, does not count as a use);
 *   - two threads of a block that use the same byte of shared memory without a barrier in between,
 *     if one of them writes it and not both use atomics;
 *   - a barrier at which some threads of a block wait while others have ended or wait at another
 *     barrier, and the same for the threads of a warp that exchange values;
 *   - a thread that makes more steps than the limit;
 *   - an integer division by zero, and trap.
 *
 * A warp is 32 threads with consecutive numbers. They exchange values with shfl.sync.idx, which orders
 * no accesses to memory. The parser refuses other instructions for warps (vote, ...), and every
 * instruction, modifier or directive that it does not know. A thread runs until it ends, exchanges a
 * value or waits at a barrier; then another thread runs. So a thread that waits in a loop for another thread waits
 * for ever, and is reported. A seed determines the order of the blocks, and of the threads after
 * each barrier.
 *
 * Where PTX promises the results of IEEE 754, they are the same bit for bit. Functions
 * that PTX calls approximate are computed with the C library. NaN results of 32-bit
 * arithmetic are 0x7fffffff, as on the hardware.
 *
 * How a driver uses it:
 *
 *   load    m = ptx_parse(text, err, sizeof err). NULL is CUDA_ERROR_INVALID_PTX,
 *           and err is for the JIT error log. One module belongs to one device:
 *           variables of the module (.global, .const) live in it.
 *   find    e = ptx_find(m, "saxpy"). NULL is CUDA_ERROR_NOT_FOUND. e->params has the
 *           information for cuFuncGetParamInfo: copy each argument to its offset in a
 *           buffer of e->params_size bytes while the launch is enqueued. e->shared,
 *           e->maxntid and e->reqntid are for cuFuncGetAttribute and for refusing launches.
 *   launch  when the work runs: ptx_run(e, params, grid, block, dynamic, &mem, err,
 *           sizeof err). Anything but PTX_OK is a sticky error of the context
 *           (ptx_fault says which), and err is the text of a violation.
 *   unload  ptx_free(m), when no launch of it is unfinished.
 *
 * mem.access is called before each use of global memory, with the kernel's address. It checks that
 * the bytes are in a live block, and records them for the vector clocks. If it returns false, the
 * kernel ends with an error. mem.view then returns the address at which the engine itself accesses
 * these bytes; if mem.view is NULL, the kernel's address is used. Neither is called for variables
 * of the module.
 *
 * Between calls ptx_run keeps no state except the variables of the module. It changes the rounding
 * mode only while it computes, and takes no lock. Two runs at once share only those variables and
 * the effects of the callbacks.
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
    bool pointer;                 /* the text has .ptr; a 64-bit parameter without .ptr may be a pointer too */
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

    /* Returns where this process accesses the bytes that access has allowed. If view is NULL, that
     * is addr. */
    void *(*view)(void *ctx, uint64_t addr, uint32_t size);

    uint64_t seed;  /* determines the order of blocks and threads; 0 is the natural order */
    uint64_t steps; /* limit of steps of one thread; 0 for PTX_STEPS */
} ptx_memory;

enum { PTX_STEPS = 1 << 26 };

/* The results of ptx_run, with the CUDA status for each. */
typedef enum ptx_fault {
    PTX_OK = 0,
    PTX_LAUNCH = 1,     /* the launch does not fit the kernel; nothing ran (1, INVALID_VALUE) */
    PTX_MEMORY = 2,     /* the interpreter has no memory for so many threads; nothing ran (701, LAUNCH_OUT_OF_RESOURCES) */
    PTX_ADDRESS = 3,    /* out of bounds or refused (700, ILLEGAL_ADDRESS) */
    PTX_MISALIGNED = 4, /* (716, MISALIGNED_ADDRESS) */
    PTX_TRAP = 5,       /* trap, or a failed assertion (719, LAUNCH_FAILED; 710, ASSERT) */
    PTX_ENDLESS = 6,    /* a thread made too many steps (702, LAUNCH_TIMEOUT) */
    PTX_UNDEFINED = 7,  /* everything else: races, divergent barriers, values that were never written, division by zero, too deep calls.
                           A GPU goes on, with undefined results. It is a violation. */
} ptx_fault;

/* Returns the module. If it returns NULL, err has the reason, which begins with the line: "line 12:
 * ...". */
ptx_module *ptx_parse(const char *text, char *err, size_t errlen);
void ptx_free(ptx_module *m);

uint32_t ptx_version(const ptx_module *m); /* of the text: 10 * major + minor, 88 for 8.8 */
uint32_t ptx_target(const ptx_module *m);  /* 90 for sm_90 */

uint32_t ptx_entries(const ptx_module *m);
ptx_entry *ptx_entry_at(ptx_module *m, uint32_t i);
ptx_entry *ptx_find(ptx_module *m, const char *name);

/* Returns the address of a .global or .const variable, which is the same for the kernel and the process; NULL
 * if there is none. */
void *ptx_variable(ptx_module *m, const char *name, uint64_t *size);

/* Runs all blocks. params has the layout that the entry describes. Returns a ptx_fault. Unless that is PTX_OK, err has the
 * reason. */
int ptx_run(ptx_entry *e, const void *params, const uint32_t grid[3], const uint32_t block[3], size_t dynamic_shared,
            const ptx_memory *mem, char *err, size_t errlen);

#endif
