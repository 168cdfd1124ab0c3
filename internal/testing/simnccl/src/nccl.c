/*
 * A simulated libnccl.so.2, or librccl.so.1, on a simulated driver. It has the binary interface of the part of NCCL that Halyard uses, and moves
 * the bytes. The bytes to send are copied from the device in stream order, and go through the server. For the bytes to receive, the stream waits
 * for a word, and then copies them to the device.
 *
 * A communicator has two threads. The launcher connects, and puts work on streams. A call of a nonblocking communicator returns "in
 * progress" before that has happened, as in NCCL it may. The mover talks to the server.
 *
 * Environment, read when a communicator is made:
 *
 *   HALYARD_SIM_NCCL_VERSION  the version that ncclGetVersion returns (22707)
 *   HALYARD_SIM_NCCL_BUG      one of the names in the table bugs
 *   HALYARD_SIM_NCCL_LATE     milliseconds from a call until its work is on the stream (0)
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "gpu.h"
#include "wire.h"

enum { SUCCESS, GPU_ERROR, SYSTEM_ERROR, INTERNAL_ERROR, INVALID_ARGUMENT, INVALID_USAGE, REMOTE_ERROR, IN_PROGRESS };

enum bug { NO_BUG, DROP, SHORTEN, EARLY, UNORDERED, ASYNC_ERROR, WRONG_OP, WRONG_PART, WRONG_ROOT, HANG, NEVER_LAUNCHED, SWAPPED, BUGS };

static const char *const bugs[BUGS] = {"", "drop", "shorten", "early", "unordered", "async-error", "wrong-op", "wrong-part", "wrong-root", "hang",
                                       "never-launched", "swapped"};

typedef struct { char internal[128]; } ncclUniqueId;
typedef struct ncclComm *ncclComm_t;

struct config {
    size_t size;
    unsigned magic, version;
    int blocking;
};

/* One call of the program. */
struct op {
    uint32_t call;
    const void *send;
    void *recv;
    size_t count, out, in; /* elements; bytes sent and received */
    int type, redop, peer;
    gpu_stream stream;
    char *stage_out, *stage_in; /* page-locked */
    bool answered;
};

/* Calls that begin together. */
struct group {
    struct group *next;
    ncclComm_t comm;
    gpu_ctx ctx;
    struct op *ops;
    size_t n;
    gpu_stream *streams;
    size_t nstreams, ready; /* number of streams on which the bytes to send have been copied */
    uint32_t *word;         /* page-locked: the streams wait until it is 1 */
    char *memory;           /* page-locked: the word and the staging of all ops */
    size_t size;            /* of memory */
    gpu_event *events;      /* the end on each stream */
    bool moved;
};

struct ncclComm {
    int rank, ranks, dev;
    gpu_ctx ctx;
    bool blocking;
    enum bug bug;
    long late;
    char id[128];

    pthread_mutex_t mu;
    pthread_cond_t cond;
    int state; /* IN_PROGRESS while a call has not taken effect */
    char text[TEXT];
    int fd;
    bool connected, aborted, finalizing, ended;
    struct group *to_launch, **launch_last;
    struct group *to_move, **move_last;
    uint64_t next_id, launched;
    pthread_t launcher, mover;
};

static __thread char last_text[TEXT];
static __thread int depth;
static __thread struct group *open_groups;
static __thread int group_error;

/* Finished groups whose work may still be on a stream. */
static pthread_mutex_t old_mu = PTHREAD_MUTEX_INITIALIZER;
static struct group *old;

static int refuse(int code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = snprintf(last_text, sizeof last_text, LIBRARY ": ");
    vsnprintf(last_text + n, sizeof last_text - (size_t)n, format, args);
    va_end(args);
    return code;
}

/* Called with the lock. The first error is kept. */
static void fail(ncclComm_t c, int code, const char *text) {
    if (c->state == SUCCESS || c->state == IN_PROGRESS) {
        c->state = code;
        snprintf(c->text, sizeof c->text, "%s", text);
    }
    pthread_cond_broadcast(&c->cond);
}

static void fail_locked(ncclComm_t c, int code, const char *text) {
    pthread_mutex_lock(&c->mu);
    fail(c, code, text);
    pthread_mutex_unlock(&c->mu);
}

static bool failed(ncclComm_t c) { return c->state != SUCCESS && c->state != IN_PROGRESS; }

static void open_word(struct group *g) {
    if (g->word)
        __atomic_store_n(g->word, 1, __ATOMIC_SEQ_CST);
}

/*
 * Page-locked memory that is not in use. It is kept for later groups, because freeing it may wait for all work of a device, and that work may
 * wait for an operation that another rank of this process has not begun yet.
 */
struct piece {
    struct piece *next;
    gpu_ctx ctx;
    char *memory;
    size_t size;
};
static pthread_mutex_t pieces_mu = PTHREAD_MUTEX_INITIALIZER;
static struct piece *pieces;

/* Called with the context current. */
static int piece_take(struct group *g, size_t n) {
    size_t size = 4096;
    while (size < n)
        size *= 2;
    pthread_mutex_lock(&pieces_mu);
    for (struct piece **at = &pieces; *at; at = &(*at)->next) {
        struct piece *p = *at;
        if (p->ctx != g->ctx || p->size != size)
            continue;
        *at = p->next;
        pthread_mutex_unlock(&pieces_mu);
        g->memory = p->memory;
        g->size = size;
        free(p);
        return 0;
    }
    pthread_mutex_unlock(&pieces_mu);
    g->size = size;
    return gpu_alloc((void **)&g->memory, size);
}

static void piece_give(struct group *g) {
    struct piece *p = calloc(1, sizeof *p);
    p->ctx = g->ctx;
    p->memory = g->memory;
    p->size = g->size;
    pthread_mutex_lock(&pieces_mu);
    p->next = pieces;
    pieces = p;
    pthread_mutex_unlock(&pieces_mu);
}

static void group_free(struct group *g) {
    if (g->memory)
        piece_give(g);
    for (size_t i = 0; i < g->nstreams && g->events; i++)
        if (g->events[i])
            gpu_event_free(g->events[i]);
    free(g->events);
    free(g->streams);
    free(g->ops);
    free(g);
}

static void retire(struct group *g) {
    pthread_mutex_lock(&old_mu);
    g->next = old;
    old = g;
    pthread_mutex_unlock(&old_mu);
}

/* Frees the groups whose work has ended, and returns how many groups are left. It changes the current context of the thread, so it runs only on
 * threads of the library: on a thread of the program, the context could not be restored if it has been destroyed. */
static int reap(void) {
    int left = 0;
    pthread_mutex_lock(&old_mu);
    for (struct group **at = &old; *at;) {
        struct group *g = *at;
        bool busy = false;
        if (gpu_set(g->ctx) == 0)
            for (size_t i = 0; i < g->nstreams && g->events; i++)
                busy |= g->events[i] && gpu_query(g->events[i]) == NOT_READY;
        if (busy) {
            left++;
            at = &g->next;
            continue;
        }
        *at = g->next;
        group_free(g);
    }
    pthread_mutex_unlock(&old_mu);
    return left;
}

static void *give_back(void *arg) {
    *(int *)arg = reap();
    pthread_mutex_lock(&pieces_mu);
    struct piece *list = pieces;
    pieces = NULL;
    pthread_mutex_unlock(&pieces_mu);
    for (struct piece *p = list, *next; p; p = next) {
        next = p->next;
        if (gpu_set(p->ctx) == 0)
            gpu_free(p->memory);
        free(p);
    }
    return NULL;
}

/* Frees all memory that is not in use, and returns how many groups are left. No communicator may have unfinished
 * work. */
int halyard_sim_nccl_reap(void) {
    int left = -1;
    pthread_t t;
    if (pthread_create(&t, NULL, give_back, &left) == 0)
        pthread_join(t, NULL);
    return left;
}

/* ---- the launcher ---- */

static void copied(void *arg) {
    struct group *g = arg;
    pthread_mutex_lock(&g->comm->mu);
    g->ready++;
    pthread_cond_broadcast(&g->comm->cond);
    pthread_mutex_unlock(&g->comm->mu);
}

static size_t round_up(size_t n) { return (n + 63) & ~(size_t)63; }

static int launch(ncclComm_t c, struct group *g) {
    size_t total = 64;
    for (size_t i = 0; i < g->n; i++)
        total += round_up(g->ops[i].out) + round_up(g->ops[i].in);
    int rc = piece_take(g, total);
    if (rc)
        return rc;
    memset(g->memory, 0xdb, total);
    g->word = (uint32_t *)g->memory;
    *g->word = 0;
    char *at = g->memory + 64;
    for (size_t i = 0; i < g->n; i++) {
        struct op *o = &g->ops[i];
        o->stage_out = at;
        at += round_up(o->out);
        o->stage_in = at;
        at += round_up(o->in);
        if (o->out)
            rc = rc ? rc : gpu_down(o->stage_out, o->send, o->out, c->bug == UNORDERED ? NULL : o->stream);
        size_t k = 0;
        while (k < g->nstreams && g->streams[k] != o->stream)
            k++;
        if (k == g->nstreams)
            g->streams[g->nstreams++] = o->stream;
    }
    g->events = calloc(g->nstreams, sizeof *g->events);
    for (size_t k = 0; k < g->nstreams; k++) {
        rc = rc ? rc : gpu_call(g->streams[k], copied, g);
        if (c->bug != EARLY)
            rc = rc ? rc : gpu_wait(g->streams[k], g->word);
    }
    for (size_t i = 0; i < g->n && c->bug != DROP; i++) {
        struct op *o = &g->ops[i];
        size_t n = o->in;
        if (c->bug == SHORTEN && n)
            n -= type_size(o->type);
        if (n)
            rc = rc ? rc : gpu_up(o->recv, o->stage_in, n, o->stream);
    }
    for (size_t k = 0; k < g->nstreams; k++) {
        rc = rc ? rc : gpu_event_new(&g->events[k]);
        rc = rc ? rc : gpu_record(g->events[k], g->streams[k]);
    }
    return rc;
}

static void nap(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* Joins the other ranks. */
static int enter(ncclComm_t c) {
    int fd = server_connect(c->id);
    if (fd < 0) {
        fail_locked(c, SYSTEM_ERROR, LIBRARY ": no server listens at the address in the unique id");
        return -1;
    }
    pthread_mutex_lock(&c->mu);
    c->fd = fd;
    bool aborted = c->aborted;
    pthread_mutex_unlock(&c->mu);
    const char *multi = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    struct head h = {.kind = HELLO, .rank = c->rank, .ranks = c->ranks, .gpu = (uint64_t)getpid() << 8 | (uint64_t)c->dev,
                     .single = !(multi && strcmp(multi, "1") == 0)};
    if (aborted || write_all(fd, &h, sizeof h) != 0 || read_all(fd, &h, sizeof h) != 0) {
        fail_locked(c, REMOTE_ERROR, LIBRARY ": the other ranks are gone");
        return -1;
    }
    if (h.kind == FAILED) {
        char text[TEXT] = "";
        if (h.bytes <= sizeof text)
            read_all(fd, text, h.bytes);
        fail_locked(c, h.rank, text);
        return -1;
    }
    return 0;
}

static void *launcher(void *arg) {
    ncclComm_t c = arg;
    gpu_set(c->ctx);
    if (enter(c) != 0)
        return NULL;
    pthread_mutex_lock(&c->mu);
    c->connected = true;
    if (c->state == IN_PROGRESS)
        c->state = SUCCESS;
    pthread_cond_broadcast(&c->cond);
    for (;;) {
        while (!c->to_launch && !c->aborted && !c->ended)
            pthread_cond_wait(&c->cond, &c->mu);
        struct group *g = c->to_launch;
        if (!g || c->aborted)
            break;
        if (c->bug == NEVER_LAUNCHED) {
            pthread_cond_wait(&c->cond, &c->mu);
            continue;
        }
        pthread_mutex_unlock(&c->mu);
        if (c->late)
            nap(c->late);
        reap();
        gpu_set(c->ctx);
        int rc = launch(c, g);
        pthread_mutex_lock(&c->mu);
        if (!(c->to_launch = g->next))
            c->launch_last = &c->to_launch;
        g->next = NULL;
        *c->move_last = g;
        c->move_last = &g->next;
        if (rc) {
            char text[TEXT];
            snprintf(text, sizeof text, LIBRARY ": the driver returned %d", rc);
            fail(c, GPU_ERROR, text);
        } else if (c->state == IN_PROGRESS && !c->to_launch) {
            c->state = SUCCESS;
        }
        pthread_cond_broadcast(&c->cond);
    }
    pthread_mutex_unlock(&c->mu);
    return NULL;
}

/* ---- the mover ---- */

static int ask(ncclComm_t c, struct group *g, size_t i) {
    struct op *o = &g->ops[i];
    struct head h = {.kind = COLLECTIVE, .call = o->call, .rank = c->rank, .ranks = c->ranks, .type = o->type, .op = o->redop, .peer = o->peer,
                     .count = o->count, .id = i, .bytes = o->out};
    if (o->call == SEND_TO)
        h.kind = SEND;
    else if (o->call == RECEIVE_FROM)
        h.kind = RECEIVE;
    if (c->bug == WRONG_OP && o->redop >= 0)
        h.op = o->redop == 0 ? 2 : 0;
    if (c->bug == WRONG_ROOT && (o->call == BROADCAST || o->call == REDUCE))
        h.peer = (o->peer + 1) % c->ranks;
    return write_all(c->fd, &h, sizeof h) || (h.bytes && write_all(c->fd, o->stage_out, h.bytes)) ? -1 : 0;
}

static void swap_halves(char *p, size_t n) {
    for (size_t i = 0; i < n / 2; i++) {
        char t = p[i];
        p[i] = p[n - n / 2 + i];
        p[n - n / 2 + i] = t;
    }
}

static int take_answer(ncclComm_t c, struct group *g) {
    struct head h;
    if (read_all(c->fd, &h, sizeof h) != 0)
        return -1;
    if (h.kind == FAILED) {
        char text[TEXT] = "";
        if (h.bytes <= sizeof text)
            read_all(c->fd, text, h.bytes);
        fail_locked(c, h.rank, text);
        return 1;
    }
    if (h.kind != RESULT || h.id >= g->n || g->ops[h.id].answered || (h.bytes && h.bytes > g->ops[h.id].in && g->ops[h.id].call != BROADCAST &&
                                                                      g->ops[h.id].call != REDUCE)) {
        fail_locked(c, INTERNAL_ERROR, LIBRARY ": an unexpected answer of the server");
        return 1;
    }
    struct op *o = &g->ops[h.id];
    o->answered = true;
    char *to = o->stage_in, *spare = NULL;
    if (h.bytes > o->in)
        to = spare = malloc(h.bytes);
    int rc = h.bytes ? read_all(c->fd, to, h.bytes) : 0;
    if (c->bug == WRONG_PART && (o->call == ALL_GATHER || o->call == REDUCE_SCATTER) && o->in > 1)
        swap_halves(o->stage_in, o->in);
    if (c->bug == SWAPPED && o->call == RECEIVE_FROM && o->in > 1)
        swap_halves(o->stage_in, o->in);
    free(spare);
    return rc;
}

/* Carries out one group. Returns 0, 1 if an error has been recorded, or -1 if the connection is lost. */
static int move(ncclComm_t c, struct group *g) {
    int rc = 0;
    for (size_t i = 0; i < g->n && rc == 0; i++)
        rc = ask(c, g, i);
    for (size_t i = 0; i < g->n && rc == 0; i++)
        rc = take_answer(c, g);
    return rc;
}

static void *mover(void *arg) {
    ncclComm_t c = arg;
    pthread_mutex_lock(&c->mu);
    for (;;) {
        struct group *g;
        while (!(c->aborted || ((g = c->to_move) && g->ready == g->nstreams && !failed(c)) ||
                 (!c->to_move && !c->to_launch && c->finalizing)))
            pthread_cond_wait(&c->cond, &c->mu);
        g = c->to_move;
        if (c->aborted || !g)
            break;
        pthread_mutex_unlock(&c->mu);
        int rc = 0;
        if (c->bug == ASYNC_ERROR) {
            fail_locked(c, SYSTEM_ERROR, LIBRARY ": a fault that HALYARD_SIM_NCCL_BUG asks for");
            rc = 1;
        } else {
            rc = move(c, g);
        }
        if (rc < 0)
            fail_locked(c, REMOTE_ERROR, LIBRARY ": the other ranks are gone");
        pthread_mutex_lock(&c->mu);
        if (rc == 0 && c->bug != HANG) {
            open_word(g);
            g->moved = true;
            if (!(c->to_move = g->next))
                c->move_last = &c->to_move;
            pthread_mutex_unlock(&c->mu);
            retire(g);
            pthread_mutex_lock(&c->mu);
            continue;
        }
        /* As with NCCL, the streams are stuck until the communicator is aborted. */
        while (!c->aborted)
            pthread_cond_wait(&c->cond, &c->mu);
        break;
    }
    if (c->finalizing && !c->aborted) {
        /* It waits until all ranks are finalizing, because the server ends with the process that it
         * runs in. */
        struct head h = {.kind = BYE};
        char text[TEXT] = "";
        pthread_mutex_unlock(&c->mu);
        bool told = c->connected && write_all(c->fd, &h, sizeof h) == 0 && read_all(c->fd, &h, sizeof h) == 0 && h.kind == FAILED;
        if (told && h.bytes <= sizeof text)
            read_all(c->fd, text, h.bytes);
        pthread_mutex_lock(&c->mu);
        if (told)
            fail(c, h.rank, text);
        else if (c->state == IN_PROGRESS)
            c->state = SUCCESS;
        c->ended = true;
    }
    pthread_cond_broadcast(&c->cond);
    pthread_mutex_unlock(&c->mu);
    return NULL;
}

/* ---- communicators ---- */

static int init(ncclComm_t *out, int ranks, const char *id, int rank, const void *config) {
    const struct config *f = config;
    bool blocking = true;
    if (!out || !id || ranks < 1 || rank < 0 || rank >= ranks)
        return refuse(INVALID_ARGUMENT, "rank %d of %d", rank, ranks);
    if (f) {
        if (f->size < sizeof *f || f->magic != 0xcafebeef || f->version < 21400 || (f->blocking != 0 && f->blocking != 1 && f->blocking != INT32_MIN))
            return refuse(INVALID_ARGUMENT, "config of %zu bytes, magic %x, version %u, blocking %d", f->size, f->magic, f->version, f->blocking);
        blocking = f->blocking != 0;
    }
    if (strnlen(id, 128) == 128 || strncmp(id, "simulated-nccl-", 15) != 0)
        return refuse(INVALID_ARGUMENT, "not a unique id of this library");
    gpu_ctx ctx;
    int dev = -1, rc = gpu_current(&ctx, &dev);
    if (rc)
        return refuse(GPU_ERROR, "no device is current: the driver returned %d", rc);
    ncclComm_t c = calloc(1, sizeof *c);
    c->rank = rank;
    c->ranks = ranks;
    c->dev = dev;
    c->ctx = ctx;
    c->blocking = blocking;
    c->fd = -1;
    c->state = IN_PROGRESS;
    c->launch_last = &c->to_launch;
    c->move_last = &c->to_move;
    memcpy(c->id, id, sizeof c->id);
    pthread_mutex_init(&c->mu, NULL);
    pthread_cond_init(&c->cond, NULL);
    const char *bug = getenv("HALYARD_SIM_NCCL_BUG"), *late = getenv("HALYARD_SIM_NCCL_LATE");
    for (int i = 1; bug && *bug && i < BUGS; i++)
        if (strcmp(bug, bugs[i]) == 0)
            c->bug = (enum bug)i;
    if (bug && *bug && !c->bug) {
        free(c);
        return refuse(INVALID_ARGUMENT, "HALYARD_SIM_NCCL_BUG names no bug: %s", bug);
    }
    c->late = late ? atol(late) : 0;
    *out = c;
    pthread_create(&c->launcher, NULL, launcher, c);
    pthread_create(&c->mover, NULL, mover, c);
    if (!blocking)
        return IN_PROGRESS;
    pthread_mutex_lock(&c->mu);
    while (c->state == IN_PROGRESS)
        pthread_cond_wait(&c->cond, &c->mu);
    rc = c->state;
    pthread_mutex_unlock(&c->mu);
    return rc == SUCCESS ? rc : refuse(rc, "%s", c->text);
}

int ncclGetVersion(int *version) {
    const char *v = getenv("HALYARD_SIM_NCCL_VERSION");
    if (!version)
        return INVALID_ARGUMENT;
    *version = v ? atoi(v) : 22707;
    return SUCCESS;
}

int ncclGetUniqueId(ncclUniqueId *id) {
    if (!id)
        return INVALID_ARGUMENT;
    memset(id, 0, sizeof *id);
    return server_start(id->internal, 100) == 0 ? SUCCESS : refuse(SYSTEM_ERROR, "no socket");
}

int ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank, void *config) {
    return init(comm, ranks, id.internal, rank, config);
}

int ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank) { return init(comm, ranks, id.internal, rank, NULL); }

int ncclCommInitRankScalable(ncclComm_t *comm, int ranks, int rank, int ids, ncclUniqueId *id, void *config) {
    return ids < 1 || !id ? refuse(INVALID_ARGUMENT, "%d unique ids", ids) : init(comm, ranks, id->internal, rank, config);
}

int ncclCommGetAsyncError(ncclComm_t c, int *state) {
    if (!c || !state)
        return INVALID_ARGUMENT;
    pthread_mutex_lock(&c->mu);
    *state = c->state;
    pthread_mutex_unlock(&c->mu);
    return SUCCESS;
}

static void release(ncclComm_t c) {
    pthread_join(c->launcher, NULL);
    pthread_join(c->mover, NULL);
    for (struct group *g = c->to_launch, *next; g; g = next) { /* never launched */
        next = g->next;
        group_free(g);
    }
    for (struct group *g = c->to_move, *next; g; g = next) {
        next = g->next;
        open_word(g);
        retire(g);
    }
    if (c->fd >= 0)
        close(c->fd);
    /* A host function of a group may still access the communicator, so its memory is not freed. */
}

int ncclCommAbort(ncclComm_t c) {
    if (!c)
        return SUCCESS;
    pthread_mutex_lock(&c->mu);
    c->aborted = true;
    if (c->fd >= 0)
        shutdown(c->fd, SHUT_RDWR);
    pthread_cond_broadcast(&c->cond);
    pthread_mutex_unlock(&c->mu);
    release(c);
    return SUCCESS;
}

int ncclCommFinalize(ncclComm_t c) {
    if (!c)
        return INVALID_ARGUMENT;
    pthread_mutex_lock(&c->mu);
    if (c->state == IN_PROGRESS || c->finalizing || failed(c)) {
        int rc = failed(c) ? c->state : INVALID_ARGUMENT;
        pthread_mutex_unlock(&c->mu);
        return refuse(rc, "the communicator is not ready to be finalized");
    }
    c->finalizing = true;
    c->state = IN_PROGRESS;
    pthread_cond_broadcast(&c->cond);
    while (c->blocking && c->state == IN_PROGRESS)
        pthread_cond_wait(&c->cond, &c->mu);
    int rc = c->state;
    pthread_mutex_unlock(&c->mu);
    return rc;
}

int ncclCommDestroy(ncclComm_t c) {
    if (!c)
        return SUCCESS;
    pthread_mutex_lock(&c->mu);
    bool finalizing = c->finalizing, bad = failed(c);
    pthread_mutex_unlock(&c->mu);
    if (bad)
        return ncclCommAbort(c);
    if (!finalizing)
        ncclCommFinalize(c);
    pthread_mutex_lock(&c->mu);
    while (!c->ended && !failed(c))
        pthread_cond_wait(&c->cond, &c->mu);
    if (!c->ended)
        c->aborted = true;
    pthread_cond_broadcast(&c->cond);
    pthread_mutex_unlock(&c->mu);
    release(c);
    return SUCCESS;
}

static int tell(ncclComm_t c, int *out, int value) {
    if (!c || !out)
        return INVALID_ARGUMENT;
    *out = value;
    return SUCCESS;
}

int ncclCommCount(ncclComm_t c, int *n) { return tell(c, n, c ? c->ranks : 0); }
int ncclCommUserRank(ncclComm_t c, int *rank) { return tell(c, rank, c ? c->rank : 0); }
int ncclCommCuDevice(ncclComm_t c, int *dev) { return tell(c, dev, c ? c->dev : 0); }

const char *ncclGetErrorString(int code) {
    static const char *const texts[] = {"no error",         "unhandled cuda error", "unhandled system error", "internal error",
                                        "invalid argument", "invalid usage",        "remote process exited",  "NCCL operation in progress"};
    return code >= 0 && code < (int)(sizeof texts / sizeof *texts) ? texts[code] : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t c) {
    if (c) {
        pthread_mutex_lock(&c->mu);
        if (failed(c))
            snprintf(last_text, sizeof last_text, "%s", c->text);
        pthread_mutex_unlock(&c->mu);
    }
    return last_text;
}

/* ---- calls ---- */

static int submit(struct group *g) {
    ncclComm_t c = g->comm;
    pthread_mutex_lock(&c->mu);
    if (c->state != SUCCESS || c->finalizing) {
        int rc = failed(c) ? c->state : INVALID_ARGUMENT;
        pthread_mutex_unlock(&c->mu);
        group_free(g);
        return refuse(rc, "the communicator was used before its previous call was done, or after it failed");
    }
    c->state = IN_PROGRESS;
    *c->launch_last = g;
    c->launch_last = &g->next;
    pthread_cond_broadcast(&c->cond);
    while (c->blocking && c->state == IN_PROGRESS)
        pthread_cond_wait(&c->cond, &c->mu);
    int rc = c->blocking ? c->state : IN_PROGRESS;
    pthread_mutex_unlock(&c->mu);
    return rc;
}

int ncclGroupStart(void) {
    depth++;
    return SUCCESS;
}

int ncclGroupEnd(void) {
    if (depth == 0)
        return refuse(INVALID_USAGE, "ncclGroupEnd without ncclGroupStart");
    if (--depth > 0)
        return SUCCESS;
    int rc = group_error;
    group_error = SUCCESS;
    for (struct group *g = open_groups, *next; g; g = next) {
        next = g->next;
        g->next = NULL;
        if (rc != SUCCESS && rc != IN_PROGRESS) {
            group_free(g);
            continue;
        }
        int one = submit(g);
        if (one != SUCCESS)
            rc = one;
    }
    open_groups = NULL;
    return rc;
}

static int check(ncclComm_t c, const struct op *o) {
    if (!c)
        return refuse(INVALID_ARGUMENT, "no communicator");
    if (!type_size(o->type))
        return refuse(INVALID_ARGUMENT, "type %d", o->type);
    if (o->redop < -1 || o->redop > 4)
        return refuse(INVALID_ARGUMENT, "operation %d", o->redop);
    if (o->peer < -1 || o->peer >= c->ranks)
        return refuse(INVALID_ARGUMENT, "rank %d of %d", o->peer, c->ranks);
    if ((o->out && !o->send) || (o->in && !o->recv))
        return refuse(INVALID_ARGUMENT, "a null pointer to %zu elements", o->count);
    return SUCCESS;
}

static int call(ncclComm_t c, struct op o) {
    int rc = check(c, &o);
    if (rc != SUCCESS) {
        if (depth)
            group_error = rc;
        return rc;
    }
    struct group **at = &open_groups, *g = NULL;
    if (depth) {
        while (*at && (*at)->comm != c)
            at = &(*at)->next;
        g = *at;
    }
    if (!g) {
        g = calloc(1, sizeof *g);
        g->comm = c;
        g->ctx = c->ctx;
        if (depth)
            *at = g;
    }
    g->ops = realloc(g->ops, (g->n + 1) * sizeof *g->ops);
    g->streams = realloc(g->streams, (g->n + 1) * sizeof *g->streams);
    g->ops[g->n++] = o;
    return depth ? SUCCESS : submit(g);
}

#define BYTES(n) ((n) * type_size(type))

int ncclAllReduce(const void *send, void *recv, size_t n, int type, int op, ncclComm_t c, gpu_stream s) {
    return call(c, (struct op){.call = ALL_REDUCE, .send = send, .recv = recv, .count = n, .out = BYTES(n), .in = BYTES(n), .type = type,
                               .redop = op < 0 ? 99 : op, .peer = -1, .stream = s});
}

int ncclBroadcast(const void *send, void *recv, size_t n, int type, int root, ncclComm_t c, gpu_stream s) {
    bool mine = c && c->rank == root;
    return call(c, (struct op){.call = BROADCAST, .send = send, .recv = recv, .count = n, .out = mine ? BYTES(n) : 0,
                               .in = mine && send == recv ? 0 : BYTES(n), .type = type, .redop = -1, .peer = root < 0 ? 1 << 30 : root, .stream = s});
}

int ncclReduce(const void *send, void *recv, size_t n, int type, int op, int root, ncclComm_t c, gpu_stream s) {
    return call(c, (struct op){.call = REDUCE, .send = send, .recv = recv, .count = n, .out = BYTES(n), .in = c && c->rank == root ? BYTES(n) : 0,
                               .type = type, .redop = op < 0 ? 99 : op, .peer = root < 0 ? 1 << 30 : root, .stream = s});
}

int ncclAllGather(const void *send, void *recv, size_t n, int type, ncclComm_t c, gpu_stream s) {
    return call(c, (struct op){.call = ALL_GATHER, .send = send, .recv = recv, .count = n, .out = BYTES(n),
                               .in = BYTES(n) * (size_t)(c ? c->ranks : 0), .type = type, .redop = -1, .peer = -1, .stream = s});
}

int ncclReduceScatter(const void *send, void *recv, size_t n, int type, int op, ncclComm_t c, gpu_stream s) {
    return call(c, (struct op){.call = REDUCE_SCATTER, .send = send, .recv = recv, .count = n, .out = BYTES(n) * (size_t)(c ? c->ranks : 0),
                               .in = BYTES(n), .type = type, .redop = op < 0 ? 99 : op, .peer = -1, .stream = s});
}

int ncclSend(const void *send, size_t n, int type, int peer, ncclComm_t c, gpu_stream s) {
    return call(c, (struct op){.call = SEND_TO, .send = send, .count = n, .out = BYTES(n), .type = type, .redop = -1,
                               .peer = peer < 0 ? 1 << 30 : peer, .stream = s});
}

int ncclRecv(void *recv, size_t n, int type, int peer, ncclComm_t c, gpu_stream s) {
    return call(c, (struct op){.call = RECEIVE_FROM, .recv = recv, .count = n, .in = BYTES(n), .type = type, .redop = -1,
                               .peer = peer < 0 ? 1 << 30 : peer, .stream = s});
}
