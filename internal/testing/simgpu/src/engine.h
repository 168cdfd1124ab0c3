/*
 * The engine of the simulated drivers, which both faces (CUDA and HIP) share.
 *
 * One lock guards everything below. Functions are called with the lock held unless their comment
 * says otherwise. Functions marked "may release" release it while they wait or move bytes, so
 * values that were read before the call may have changed after it.
 */
#ifndef SIM_ENGINE_H
#define SIM_ENGINE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "sim.h"

typedef uint8_t u8;
typedef int8_t s8;
typedef int64_t i64;
typedef uint32_t u32;
typedef uint64_t u64;

/* Status codes, whose numbers CUDA and HIP share. */
enum code {
    OK = 0,
    E_VALUE = 1,
    E_MEMORY = 2,
    E_INIT = 3,
    E_DEINIT = 4,
    E_CONFIGURATION = 9,
    E_NO_DEVICE = 100,
    E_DEVICE = 101,
    E_IMAGE = 200,
    E_CONTEXT = 201,
    E_NO_BINARY = 209,
    E_PEER_UNSUPPORTED = 217,
    E_PTX = 218,
    E_PTX_VERSION = 222,
    E_OS = 304,
    E_HANDLE = 400,
    E_STATE = 401,
    E_NOT_FOUND = 500,
    E_NOT_READY = 600,
    E_ILLEGAL = 700,
    E_RESOURCES = 701,
    E_PEER_ENABLED = 704,
    E_PEER_DISABLED = 705,
    E_CTX_GONE = 709,
    E_REGISTERED = 712,
    E_NOT_REGISTERED = 713,
    E_LAUNCH = 719,
    E_PERMITTED = 800,
    E_SUPPORTED = 801,
};

enum {
    MAX_DEVICES = 16,
    MAX_DEPTH = 16,  /* of the context stack of a thread */
    ALIGNMENT = 512, /* of device memory; on purpose allocations are not aligned to more */
    PAGE = 4096,
    SIGNAL_MEMORY = 0x5160, /* flags of memory made for stream waits */
};

struct module;

/* What distinguishes the two faces. */
struct face {
    const char *name;    /* "CUDA", "HIP" */
    const char *title;   /* "simulated CUDA driver" */
    u8 uuid;             /* first byte of device UUIDs */
    bool contexts;       /* a thread has a current context; otherwise it has a current device */
    int stream_code;     /* for a stream handle that is unknown */
    int low, high;       /* stream priorities */
    bool staged_sync;    /* a synchronous copy from pageable memory returns once it is staged */
    /* Reads the kernels of an image into a module. What the compiler says goes to the log. */
    int (*read_image)(struct module *m, const void *image, char *log, size_t len);
    u32 shared, shared_most; /* bytes of shared memory of a block: without a kernel's attribute for more, and with it */
    u32 block_z;             /* most threads of a block in the third dimension */
};
extern const struct face face;

/* ---- vector clocks of the host (slot 0) and the lanes (the other slots) ---- */

struct clock {
    u32 n, cap;
    u64 *v;
};

/* An immutable clock shared by many operations. */
struct snap {
    u32 refs, n;
    u64 v[];
};

void clock_join(struct clock *c, const u64 *v, u32 n);
void clock_set(struct clock *c, u32 slot, u64 pos);
u64 clock_at(const struct clock *c, u32 slot);
void clock_drop(struct clock *c);
struct snap *snap_of(const struct clock *c);
struct snap *snap_ref(struct snap *s);
void snap_unref(struct snap *s);
u64 snap_at(const struct snap *s, u32 slot);

/* ---- memory ---- */

enum kind { DEVICE, HOST, MANAGED, REGISTERED, STAGE, IMPORTED };

/* One recorded use of a range of a block, for the race detector. */
struct access {
    u64 lo, hi; /* bytes from the start of the block */
    u64 pos;
    u32 slot, stream;
    bool write;
    const char *call;
};

struct block {
    u32 id, refs;
    enum kind kind;
    int dev; /* DEVICE, IMPORTED: the device that has the memory; otherwise the device that was current */
    u64 addr, size; /* what programs see; addr is on the host for REGISTERED */
    struct block *alias, *base; /* REGISTERED: the block that holds the device's address, and back */
    u64 lo, hi;     /* pages of its arena, in bytes from the arena's start */
    u64 charge;     /* bytes counted against a limit */
    u8 *rw; /* the engine's own view of the bytes; NULL for REGISTERED */
    int fd;
    off_t off;
    bool freed, freeing, async;
    u32 flags;
    u32 pending; /* operations that have not run */
    struct arena *arena;
    struct access *acc;
    u32 nacc, cacc;
    struct clock release; /* of writes by streams to words that another stream may wait for */
    struct ctx *ctx;
    void *map_pub, *map_rw; /* IMPORTED */
    u64 map_len;
    u32 opens;
    u64 token[2];
};

struct arena {
    u8 *pub, *rw;
    int fd;
    u64 size, cursor;
    bool reuse; /* addresses are used again at once: programs do not see them */
    bool guest; /* the program may read and write allocated memory at its public address */
    struct block **v;
    u32 n, cap;
    struct block *freed[512];
    u32 nfreed;
};

/* One end of a copy. ptr is in the engine's view or in the program's memory. */
struct side {
    struct block *b; /* NULL for pageable memory */
    u8 *ptr;
    bool trusted; /* ptr is the engine's own view and cannot fault */
    int fd;
    off_t off;
};

int arena_open(struct arena *a, u64 size, bool reuse, bool guest);
void arena_close(struct arena *a);
u32 arena_release(struct arena *a, const struct ctx *c);
int block_new(enum kind kind, int dev, u64 size, struct block **out);
int block_register(u64 addr, u64 size, int dev, struct block **out);
int block_import(int dev, const char *path, u64 off, u64 size, const u64 token[2], struct block **out);
void block_release(struct block *b); /* the program has freed it */
void block_unref(struct block *b);
void block_discard(const struct block *b);
struct block *block_find(u64 addr, u64 *off, bool *alias); /* may return a freed block */
struct block *block_in(u64 addr, u64 len); /* any live block that overlaps the range */
bool in_arena(u64 addr);
int move_bytes(const struct side *dst, u64 doff, const struct side *src, u64 soff, u64 n);
int fill_bytes(const struct side *dst, u64 doff, u64 pattern, u32 width, u64 n);
bool guest_read(void *to, const void *from, u64 n);
int peek(const struct side *s, u32 width, u64 *value);
int poke(const struct side *s, u32 width, u64 value);

/* ---- devices, contexts, streams, events ---- */

struct ctx {
    u64 handle;
    int dev;
    u32 refs;
    int sticky;
    u32 peers; /* devices whose memory this context may use */
    struct stream *null, *thread;
    struct stream *streams; /* null and thread included */
    struct ctx *next;
};

struct device {
    struct arena mem;
    u64 used, freeing; /* bytes in use; bytes whose free is enqueued */
    struct ctx *ctx;   /* the primary context, NULL if inactive */
    u32 flags;
    bool lost;
    u64 link_free; /* when the link is idle again, ns */
};

struct stream {
    u64 handle;
    u32 id;
    struct ctx *ctx;
    u32 flags;
    int priority;
    struct lane *lane;
    struct graph *capture; /* what its work is captured into, or NULL */
    struct stream *next;
};

/* The point in a stream at which an event was recorded. */
struct mark {
    u32 refs;
    struct lane *lane;
    u64 pos;
    bool done;
    int err;
    u64 time;
    struct snap *clock;
    struct ctx *ctx;
};

struct event {
    u64 handle;
    u32 id;
    struct ctx *ctx;
    u32 flags;
    struct mark *mark;
};

enum { EVENT_NO_TIMING = 2 };

/* ---- operations ---- */

enum op_kind { OP_COPY, OP_FILL, OP_RECORD, OP_WAIT, OP_WAIT_VALUE, OP_WRITE_VALUE, OP_CALL, OP_ALLOC, OP_FREE, OP_PREFETCH, OP_LAUNCH };

struct dep {
    struct lane *lane;
    u64 pos;
};

struct op {
    struct op *next, *qnext;
    enum op_kind kind;
    const char *call;
    struct lane *lane;
    struct ctx *ctx;
    u32 stream;
    u64 pos, seq;
    struct dep *deps;
    u32 ndeps;
    struct snap *host;
    bool begun, slow;
    u64 due; /* when the link has moved the bytes, ns */
    struct side dst, src;
    u64 doff, soff; /* bytes from the start of the blocks, for the validator */
    u64 width, rows, dpitch, spitch, done;
    u64 pattern;
    u32 patw;
    struct mark *mark;
    u64 value, mask;
    u32 cond;
    void (*fn)(void *);
    void (*cb)(void *, int, void *);
    void *arg;
    u64 handle;
    int status; /* the status that is passed to a stream callback */
    int *result; /* where a caller that waits for the operation gets its status, or NULL */
    struct launch *launch;
};

/* A queue of operations in order. A lane may be used by another stream after its stream is
 * destroyed. Positions only grow. */
struct lane {
    u32 slot;
    u64 enq, done;
    struct op *head, *tail;
    struct clock clock;
    struct stream *owner; /* NULL once the stream is destroyed */
    struct lane *idle;
    u64 freeing; /* bytes whose free is enqueued here */
    int priority;
    bool running; /* its head is in a host callback */
    u32 active;   /* index in the list of lanes with work, plus 1; 0 if it has no work */
};

struct op *op_new(enum op_kind kind, struct stream *s, const char *call);
void op_dep(struct op *op, struct lane *lane, u64 pos);
void op_push(struct op *op);
int wait_pos(struct lane *lane, u64 pos);   /* may release; OK or E_DEINIT */
void wait_idle(void);                       /* may release: waits until no thread moves bytes */
bool run_one(void);                         /* may release */
void tick(void);                            /* may release */
void reclaim(int dev);                      /* may release: run enqueued frees */
void lane_drop(struct lane *lane);          /* may release: abandon its work */
struct lane *lane_new(struct stream *owner);
void lane_orphan(struct lane *lane);
void lanes_free(void);
void pause_ns(pthread_cond_t *cond, u64 ns); /* releases */
void *run_background(void *arg);
void *run_callbacks(void *arg);
void host_learns(const u64 *v, u32 n);
struct snap *host_now(void);
void mark_unref(struct mark *m);

/* ---- engine ---- */

struct site {
    const char *name;
    u64 count;
    struct site *next;
};

struct thread {
    u64 epoch;
    u64 stack[MAX_DEPTH]; /* context handles; the last one is current */
    int depth;
    int device; /* the current device, for a face without contexts */
    int last;
    bool callback;
    bool perform; /* this call does its work although it will report a planned error */
    const char *call;
};
extern __thread struct thread self;

struct config {
    u64 devices, memory, host_memory, without;
};

struct engine {
    pthread_mutex_t mu;
    pthread_cond_t progress, work, calls;
    bool ready, threads, inited, resetting;
    u32 inside; /* threads in a driver call */
    u64 epoch;
    struct config now, next;
    bool free, validate, hold;
    u64 link, pageable, seed;

    /* scheduler */
    u64 rng, rng_bg;
    u32 tick_p, policy, aim;
    u64 chunk, lazy_ns;
    bool executing, sleeping, calling;
    u32 waiters;
    u64 seq, pending, moved;
    struct lane *last; /* the lane from which work was taken last */
    struct lane **active;
    u32 nactive, cactive;
    struct lane **lanes;
    u32 nlanes, clanes;
    struct lane *idle_first, *idle_last;
    u32 nidle;
    struct op *queue_first, *queue_last; /* host callbacks to make */
    struct op *spare;
    struct clock host;
    struct snap *host_snap;

    /* objects */
    struct device dev[MAX_DEVICES];
    struct arena host_mem, stage, alias;
    u64 host_used;
    struct block **loose; /* REGISTERED and IMPORTED, by address */
    u32 nloose, cloose;
    struct ctx *dead;
    u32 next_block, next_stream, next_event, next_module;
    int scratch;
    u8 *scratch_view;

    /* faults */
    u64 calls_made, allocs_made, fail_call, fail_alloc;
    int fail_code;
    u64 sticky_at, lost_at;
    int sticky_code, lost_dev;

    /* validator */
    char **violation;
    u32 nviolation, cviolation;
    u64 violated;
    struct site *sites;
};
extern struct engine E;

static inline bool validating(void) {
    return E.validate && !E.free;
}

u64 now_ns(void);
u64 roll(u64 *rng);
void engine_setup(void);
void engine_threads(void);
int engine_build(u64 seed);
bool engine_teardown(void); /* may release */
void personality(u64 seed);
bool without(u32 bit);

/* Calls: call_begin takes the lock; call_end releases it and returns its argument. */
enum { CALL_CLEANUP = 1, CALL_BEFORE_INIT = 2, CALL_UNCOUNTED = 4 };
int call_begin(struct site *site, unsigned flags);
int call_end(int code);
/* Takes and returns the answer to whether work is done. "Not yet" does not count as a call for the planned faults, because it depends on
   the time how often it is the answer. */
int call_asked(int code);

#define BEGIN(flags)                                                                               \
    static struct site site_ = {__func__, 0, NULL};                                                \
    int planned_ = call_begin(&site_, (flags));                                                    \
    if (planned_ != OK && !self.perform)                                                           \
    return call_end(planned_)
#define END(expr)                                                                                  \
    do {                                                                                           \
        int done_ = (expr);                                                                        \
        return call_end(planned_ != OK ? planned_ : done_);                                        \
    } while (0)

/* Handles: addresses in memory that cannot be accessed. A handle is not used twice. */
enum handle_kind { H_CTX = 1, H_STREAM, H_EVENT, H_MODULE, H_FUNCTION, H_GRAPH, H_EXEC };
u64 handle_new(enum handle_kind kind, void *object);
void handle_drop(u64 handle);
void *handle_get(u64 handle, enum handle_kind kind);
bool handle_was(u64 handle);
void handles_clear(void);
void *handle_next(u32 *at, enum handle_kind kind);

/* Contexts of the calling thread. */
struct ctx *ctx_current(int *code); /* also fails if the context has a sticky error */
struct ctx *ctx_quiet(int *code); /* ignores sticky errors, for calls that clean up */
struct ctx *ctx_primary(int dev, int *code); /* made if it does not exist */
struct ctx *ctx_of(u64 handle, int *code);
void ctx_destroy(struct ctx *c, bool report); /* may release */
int ctx_state(const struct ctx *c);
int device_check(int dev);

/* The functions that the faces call. Each checks its arguments, reports violations, and returns a
 * code. */
int engine_init(void);
int engine_alloc(struct ctx *c, enum kind kind, u64 size, u32 flags, u64 *out);
int engine_free(struct ctx *c, u64 addr, enum kind kind);
int engine_alloc_async(struct stream *s, u64 size, u64 *out);
int engine_free_async(struct stream *s, u64 addr);
int engine_register(struct ctx *c, u64 addr, u64 size, u32 flags);
int engine_unregister(struct ctx *c, u64 addr);
int engine_device_pointer(u64 host, u64 *out);
int engine_mem_info(struct ctx *c, size_t *avail, size_t *total);
int pool_device(u64 pool); /* -1 if there is no such pool */
int pool_default(int dev, u64 *out);
int pool_get(u64 pool, int which, void *value);
int pool_set(u64 pool, int which, const void *value);
int engine_prefetch(struct stream *s, u64 addr, u64 n, int to);
int engine_pointer(void *data, int which, u64 addr);

enum { COPY_H2H, COPY_H2D, COPY_D2H, COPY_D2D, COPY_ANY, COPY_PEER };
struct rect {
    u64 dst, src;
    u64 width, rows, dpitch, spitch;
    int dstdev, srcdev; /* the devices that the caller named, for COPY_PEER; otherwise -1 */
};
int engine_copy(struct stream *s, const struct rect *r, int kind, bool sync);
int engine_copy1(struct stream *s, u64 dst, u64 src, u64 n, int kind, bool sync);
int engine_fill(struct stream *s, u64 dst, u64 pattern, u32 patw, u64 width, u64 rows, u64 pitch, bool sync);

struct stream *stream_new(struct ctx *c, u32 flags, int priority);
struct stream *stream_any(struct ctx *c, u64 handle, int *code);
struct stream *stream_quiet(struct ctx *c, u64 handle, int *code);
struct stream *stream_get(struct ctx *c, u64 handle, int *code);
int stream_destroy(struct ctx *c, u64 handle);
int stream_sync(struct stream *s);
int stream_query(struct stream *s);
int stream_wait_value(struct stream *s, u64 addr, u64 value, u64 mask, u32 width, u32 cond);
int stream_write_value(struct stream *s, u64 addr, u64 value, u32 width);
int stream_call(struct stream *s, void (*fn)(void *), void (*cb)(void *, int, void *), void *arg, u64 handle);
int ctx_sync(struct ctx *c);
bool in_flight(struct block *b);
int ctx_settle(struct ctx *c); /* may release: the wait in calls that free memory */

int event_new(struct ctx *c, u32 flags, u64 *out);
struct event *event_get(struct ctx *c, u64 handle, bool any_device, int *code);
int event_destroy(struct ctx *c, u64 handle);
int event_record(struct event *e, struct stream *s);
int event_wait(struct event *e, struct stream *s);
int event_query(struct event *e);
int event_sync(struct event *e);
int event_elapsed(struct event *from, struct event *to, float *ms);

int peer_can(int dev, int peer, int *can);
int peer_enable(struct ctx *c, int peer);
int peer_disable(struct ctx *c, int peer);

int ipc_export(struct ctx *c, u64 addr, char token[64]);
int ipc_import(struct ctx *c, const char token[64], u64 *out);
int ipc_close(struct ctx *c, u64 addr);

bool through_staging(const struct op *op);

/* ---- kernels ---- */

enum { MAX_PARAMS = 64, MAX_THREADS = 1024, MAX_GRID_X = 0x7FFFFFFF, MAX_GRID_YZ = 65535 };

/* A kernel of a loaded module. */
struct function {
    u64 handle;
    struct module *module;
    char *name;
    const struct body *body; /* the engine's C function for it, or NULL */
    void *entry; /* the code that the interpreter runs if body is NULL */
    u32 nparams, bytes;      /* bytes of all parameters */
    struct {
        u32 off, size;
        bool pointer;
    } param[MAX_PARAMS];
    bool kinds;        /* the image says which parameters are pointers */
    u32 threads;       /* most in a block */
    u32 shared, local; /* bytes of a block, of a thread */
    u32 dynamic;       /* most bytes of a block that a launch may add */
};

struct module {
    u64 handle;
    u32 id, refs; /* one reference for the program and one for each launch */
    u32 launches; /* number of launches that have not run */
    struct ctx *ctx;
    bool unloaded;
    u32 n, cap;
    struct function **v;
    void *program; /* the interpreter's program, or NULL */
    bool compiled;     /* the image has a compiler's code, so the name of a kernel does not tell what it does */
    struct clock used; /* the last launch on each lane */
};

/* Bytes of a block that a launch uses. */
struct use {
    struct block *b;
    u64 lo, hi; /* from the start of the block; lo == hi if the bytes are not known */
    bool write;
    u8 *copy; /* a copy, if the engine must not access the memory directly */
};

struct launch {
    struct function *fn;
    u32 grid[3], block[3];
    u64 blocks, next; /* number of blocks, and the first that has not run */
    u64 threads;      /* of a block */
    u64 shared;       /* bytes of each block */
    u32 rounds, round;
    bool bad; /* a parameter is wrong: the launch ends with an illegal address */
    u32 nuses;
    struct use use[MAX_PARAMS];
    s8 of[MAX_PARAMS]; /* index in use for each parameter, or -1 */
    u8 params[];
};

/* The argument with which a body runs one block of threads. */
struct work {
    u32 grid[3], block[3], at[3];
    u64 first, threads; /* number of the block's first thread in the grid; threads of a block */
    u8 *shared;
    u64 nshared;
    void *ptr[MAX_PARAMS]; /* the memory that pointer parameters point to */
    const u8 *val[MAX_PARAMS];
};

/* A kernel that is a C function of the engine, in kernels.c. */
struct body {
    const char *name;
    /* One letter for each parameter: p a pointer; b h u l unsigned of 1 2 4 8 bytes; f d floating-point; t s a structure of 32, 40 bytes. */
    const char *takes;
    const char *uses; /* for each pointer: r if it is read, w if it is written, m if both */
    int count, element; /* index of the parameter with the number of elements, or -1; bytes of an element */
    u64 (*extent)(const struct launch *l, int pointer); /* number of bytes at the n-th pointer; NULL if count determines it */
    int rounds;                                        /* index of the parameter with the number of runs of the grid, or -1 for one run */
    int (*run)(const struct work *w);                  /* runs one block; a code other than OK means that the kernel failed */
};
/* NULL if there is none. *other is true if the C function of that name takes other parameters. */
const struct body *body_find(const struct function *f, bool *other);
u32 body_size(char letter);

/*
 * The PTX interpreter runs kernels whose names are in no table, and all kernels of text that NVIDIA's compiler made. run is called
 * without the engine's lock, at most one at a time.
 */
struct reach {
    void *arg;
    /* Returns the engine's view of the bytes at a device address, or NULL if the kernel must not read or write
     * there. */
    void *(*bytes)(void *arg, u64 addr, u32 size, bool write);
};
struct interpreter {
    void *(*parse)(const char *text, char *log, size_t len); /* NULL if the text has an error, which the log describes */
    void (*drop)(void *program);
    void *(*entry)(void *program, const char *name);
    /* If the kernel fails, the code is the error of the context, and the log describes it. */
    int (*run)(void *entry, const void *params, const u32 grid[3], const u32 block[3], u64 shared, const struct reach *reach,
               char *log, size_t len);
};
extern const struct interpreter *interpreter;

int ptx_read(struct module *m, const void *image, char *log, size_t len);
int codeobject_read(struct module *m, const void *image, char *log, size_t len);
struct function *module_add(struct module *m, const char *name);
int function_param(struct function *f, u64 off, u64 size, bool pointer);

int module_load(struct ctx *c, const void *image, char *log, size_t len, u64 *out);
int module_unload(struct ctx *c, u64 handle);
void module_unref(struct module *m);
int module_function(struct ctx *c, u64 handle, const char *name, u64 *out);
u32 modules_drop(const struct ctx *c); /* all if c is NULL; returns how many there were */
struct function *function_get(const struct ctx *c, u64 handle, int *code);
int function_attribute(const struct function *f, int which, int *value);
int function_set(struct function *f, int which, int value);
int function_occupancy(const struct function *f, u64 shared, int limit, int *grid, int *block);

int engine_launch(struct stream *s, struct function *f, const u32 grid[3], const u32 block[3], u32 shared, void **params,
                  void **extra);
int launch_step(struct op *op, u64 threads, bool *done); /* may release */
void launch_attach(struct launch *l, struct lane *lane, u64 pos);
void launch_drop(struct launch *l);
void launch_push(struct stream *s, struct launch *l);

bool graph_takes(struct stream *s, struct launch *l);
int capture_begin(struct stream *s, int mode);
int capture_end(struct stream *s, u64 *out);
void capture_drop(struct stream *s);
int graph_instantiate(struct ctx *c, u64 handle, u64 *out);
int graph_launch(struct stream *s, u64 handle);
int graph_destroy(struct ctx *c, u64 handle, enum handle_kind kind);
void graphs_drop(const struct ctx *c);
u32 graph_id(const struct graph *g, int *dev);

void device_name(int dev, char *name, int len);
void device_uuid(int dev, char uuid[16]);
void device_pci(int dev, char *id, int len);

/* ---- validator ---- */

void violation(const char *format, ...) __attribute__((format(printf, 1, 2)));
void watch(struct op *op); /* records the accesses of an operation that starts */
void watch_use(const struct op *op, struct block *b, u64 lo, u64 hi, bool write);
int watch_host(struct block *b, u64 lo, u64 hi, bool write, const char *what);
const char *kind_name(enum kind k);

#endif
