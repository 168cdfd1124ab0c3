/* Start, reset and settings of the engine, its threads, the beginning and end of every call,
 * planned faults. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

struct engine E = {.mu = PTHREAD_MUTEX_INITIALIZER, .validate = true};
__thread struct thread self;

u64 now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

bool without(u32 bit) {
    return (E.now.without & bit) != 0;
}

static u64 env_number(const char *name, u64 fallback) {
    const char *text = getenv(name);
    if (!text || *text < '0' || *text > '9')
        return fallback;
    char *end;
    u64 v = strtoull(text, &end, 0);
    return *end ? fallback : v;
}

/* "n:v"; false if the variable is not set or not of that form. */
static bool env_pair(const char *name, u64 *n, int *v) {
    const char *text = getenv(name);
    if (!text || *text < '0' || *text > '9')
        return false;
    char *end;
    *n = strtoull(text, &end, 10);
    if (*end != ':')
        return false;
    *v = (int)strtol(end + 1, &end, 10);
    return !*end;
}

static u64 env_without(void) {
    static const char *const names[] = {"peer",          "pools",           "wait-value",         "managed",
                                        "concurrent-managed", "host-register", "registered-pointer", "priorities",
                                        "host-func",     "ipc",             "prefetch",           "mem-info",
                                        "answers",       "alignment",       "address",            "pointer-query",
                                        "host-launch",   "discrete-memory", "fresh-events"};
    const char *text = getenv("HALYARD_SIM_WITHOUT");
    u64 mask = 0;
    while (text && *text) {
        size_t n = strcspn(text, ", ");
        for (u32 i = 0; i < sizeof names / sizeof *names; i++)
            if (strlen(names[i]) == n && !strncmp(text, names[i], n))
                mask |= 1ull << i;
        text += n + (text[n] != 0);
    }
    return mask;
}

/* Runs once for the library. */
void engine_setup(void) {
    if (E.ready)
        return;
    E.ready = true;
    E.epoch = 1;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&E.progress, &attr);
    pthread_cond_init(&E.work, &attr);
    pthread_cond_init(&E.calls, &attr);
    pthread_condattr_destroy(&attr);
    E.next.devices = env_number("HALYARD_SIM_DEVICES", 2);
    if (E.next.devices > MAX_DEVICES)
        E.next.devices = MAX_DEVICES;
    E.next.memory = env_number("HALYARD_SIM_MEMORY", 256ull << 20);
    E.next.host_memory = env_number("HALYARD_SIM_HOST_MEMORY", 1ull << 30);
    E.next.without = env_without();
    E.free = env_number("HALYARD_SIM_FREE", 0) != 0;
    E.validate = env_number("HALYARD_SIM_VALIDATE", 1) != 0;
    E.link = env_number("HALYARD_SIM_LINK", 0);
    E.pageable = env_number("HALYARD_SIM_PAGEABLE", 0);
    E.fail_alloc = env_number("HALYARD_SIM_FAIL_ALLOC", 0);
    env_pair("HALYARD_SIM_FAIL_CALL", &E.fail_call, &E.fail_code);
    env_pair("HALYARD_SIM_STICKY", &E.sticky_at, &E.sticky_code);
    env_pair("HALYARD_SIM_LOST", &E.lost_at, &E.lost_dev);
    E.scratch = memfd_create("halyard simulation", MFD_CLOEXEC);
    if (E.scratch >= 0 && ftruncate(E.scratch, 2 * PAGE) == 0) {
        void *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, E.scratch, 0);
        E.scratch_view = p == MAP_FAILED ? NULL : p;
    }
    personality(env_number("HALYARD_SIM_SEED", 0));
}

/* Signals are blocked on the engine's threads: handlers of the program's runtime must not run
 * there. */
void engine_threads(void) {
    if (E.threads)
        return;
    E.threads = true;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_t t;
    if (pthread_create(&t, &attr, run_background, NULL) != 0 || pthread_create(&t, &attr, run_callbacks, NULL) != 0)
        E.threads = false;
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static u64 arena_size(u64 limit) {
    const u64 least = 1ull << 30, most = 1ull << 40;
    u64 size = limit > most / 64 ? most : limit * 64;
    if (size < limit * 4)
        size = limit * 4;
    size = size < least ? least : size;
    return (size + PAGE - 1) / PAGE * PAGE;
}

/* Makes the memory for the current settings. Memory is kept if the settings are the same. */
int engine_build(u64 seed) {
    bool same = E.inited && E.now.devices == E.next.devices && E.now.memory == E.next.memory &&
                E.now.host_memory == E.next.host_memory;
    u64 had = E.inited ? E.now.devices : 0;
    E.now = E.next;
    personality(seed);
    if (same)
        return OK;
    for (u64 i = 0; i < had; i++)
        arena_close(&E.dev[i].mem);
    if (E.inited) {
        arena_close(&E.host_mem);
        arena_close(&E.stage);
        arena_close(&E.alias);
    }
    E.inited = false;
    if (!E.scratch_view)
        return E_OS;
    int rc = arena_open(&E.host_mem, arena_size(E.now.host_memory), false, true);
    if (rc == OK)
        rc = arena_open(&E.stage, 16ull << 30, true, false);
    if (rc == OK)
        rc = arena_open(&E.alias, 16ull << 30, false, false);
    u64 made = 0;
    while (rc == OK && made < E.now.devices)
        rc = arena_open(&E.dev[made++].mem, arena_size(E.now.memory), false, false);
    if (rc != OK) {
        for (u64 i = 0; i < made; i++)
            arena_close(&E.dev[i].mem);
        arena_close(&E.host_mem);
        arena_close(&E.stage);
        arena_close(&E.alias);
        return rc;
    }
    E.inited = true;
    return OK;
}

int engine_init(void) {
    int rc = E.inited ? OK : engine_build(E.seed);
    if (rc != OK)
        return rc;
    engine_threads();
    return E.now.devices ? OK : E_NO_DEVICE;
}

/* Forgets all objects. Returns false if a host callback does not end in time. */
bool engine_teardown(void) {
    u64 until = now_ns() + 10000000000ull;
    while (E.resetting)
        pause_ns(&E.progress, 1000000);
    E.resetting = true;
    E.epoch++;
    E.waiters++;
    pthread_cond_broadcast(&E.progress);
    while ((E.inside || E.executing || E.calling) && now_ns() < until)
        pause_ns(&E.progress, 1000000);
    bool quiet = !E.inside && !E.executing && !E.calling;
    if (quiet) {
        E.queue_first = E.queue_last = NULL;
        for (u32 i = 0; i < E.nlanes; i++)
            E.lanes[i]->running = false;
        for (u64 i = 0; E.inited && i < E.now.devices; i++) {
            if (E.dev[i].ctx)
                ctx_destroy(E.dev[i].ctx, false);
            E.dev[i].lost = false;
            E.dev[i].flags = 0;
            E.dev[i].link_free = 0;
        }
        modules_drop(NULL);
        while (E.nloose)
            block_release(E.loose[E.nloose - 1]);
        arena_release(&E.host_mem, NULL);
        struct event *e;
        for (u32 at = 0; (e = handle_next(&at, H_EVENT));) {
            mark_unref(e->mark);
            free(e);
        }
        handles_clear();
        while (E.dead) {
            struct ctx *c = E.dead;
            E.dead = c->next;
            free(c);
        }
        lanes_free();
        snap_unref(E.host_snap);
        E.host_snap = NULL;
        E.host.n = 0;
        E.seq = E.moved = 0;
        E.next_block = E.next_stream = E.next_event = E.next_module = 0;
    }
    E.waiters--;
    E.resetting = false;
    pthread_cond_broadcast(&E.progress);
    return quiet;
}

/* ---- beginning and end of a call ---- */

static void faults_due(void) {
    if (E.sticky_at && E.calls_made >= E.sticky_at) {
        E.sticky_at = 0;
        for (u64 i = 0; i < E.now.devices; i++)
            if (E.dev[i].ctx)
                E.dev[i].ctx->sticky = E.sticky_code;
    }
    if (E.lost_at && E.calls_made >= E.lost_at) {
        E.lost_at = 0;
        if (E.lost_dev >= 0 && E.lost_dev < MAX_DEVICES)
            E.dev[E.lost_dev].lost = true;
    }
}

int call_begin(struct site *site, unsigned flags) {
    pthread_mutex_lock(&E.mu);
    if (!E.ready)
        engine_setup();
    self.call = site->name;
    self.perform = false;
    if (self.callback) {
        /* Not counted in E.inside: a reset waits for the callback anyway. */
        violation("%s: driver call inside a host callback", site->name);
        return E_PERMITTED;
    }
    while (E.resetting)
        pause_ns(&E.progress, 1000000);
    E.inside++;
    if (self.epoch != E.epoch) {
        self.epoch = E.epoch;
        self.depth = 0;
        self.device = 0;
        self.last = OK;
    }
    if (!site->count++) {
        struct site *s = E.sites;
        while (s && s != site)
            s = s->next;
        if (!s) {
            site->next = E.sites;
            E.sites = site;
        }
    }
    if (flags & CALL_UNCOUNTED)
        return OK;
    E.calls_made++;
    if (E.sticky_at || E.lost_at)
        faults_due();
    bool fails = E.fail_call && --E.fail_call == 0;
    if (!E.inited && !(flags & CALL_BEFORE_INIT))
        return E_INIT;
    if (fails) {
        self.perform = (flags & CALL_CLEANUP) != 0;
        return E.fail_code;
    }
    tick();
    return OK;
}

int call_asked(int code) {
    if (code == E_NOT_READY) {
        E.calls_made--;
        if (E.fail_call)
            E.fail_call++;
    }
    return code;
}

int call_end(int code) {
    if (!self.callback) {
        E.inside--;
        if (E.resetting)
            pthread_cond_broadcast(&E.progress);
    }
    if (code != OK)
        self.last = code;
    pthread_mutex_unlock(&E.mu);
    return code;
}
