/*
 * Memory. An arena is one file in memory, mapped twice: at the addresses that programs see (device
 * memory is not readable there) and at the addresses that the engine uses. The addresses of an
 * arena are many times more than the bytes that it may hold, and allocation advances through them,
 * so a freed address stays unused for a long time.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine.h"

static const u64 fresh = 0xBDEBCBDBA55AE7F9ull, stale = 0xDDD1D7DBDDDCDEDFull;

int arena_open(struct arena *a, u64 size, bool reuse, bool guest) {
    memset(a, 0, sizeof *a);
    a->size = size;
    a->reuse = reuse;
    a->guest = guest;
    a->fd = memfd_create("halyard simulated memory", MFD_CLOEXEC);
    if (a->fd < 0)
        return E_OS;
    if (ftruncate(a->fd, (off_t)size) != 0) {
        close(a->fd);
        a->fd = -1;
        return E_OS;
    }
    void *pub = mmap(NULL, size, PROT_NONE, MAP_SHARED | MAP_NORESERVE, a->fd, 0);
    void *rw = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, a->fd, 0);
    a->pub = pub == MAP_FAILED ? NULL : pub;
    a->rw = rw == MAP_FAILED ? NULL : rw;
    if (!a->pub || !a->rw) {
        arena_close(a);
        return E_OS;
    }
    /* A forked child must not share device memory with its parent. */
    madvise(pub, size, MADV_DONTFORK);
    madvise(rw, size, MADV_DONTFORK);
    madvise(pub, size, MADV_DONTDUMP);
    madvise(rw, size, MADV_DONTDUMP);
    return OK;
}

void arena_close(struct arena *a) {
    for (u32 i = 0; i < a->nfreed; i++)
        block_unref(a->freed[i]);
    if (a->pub)
        munmap(a->pub, a->size);
    if (a->rw)
        munmap(a->rw, a->size);
    if (a->fd > 0)
        close(a->fd);
    free(a->v);
    memset(a, 0, sizeof *a);
}

/* Returns the index of the first block whose pages end after the offset. */
static u32 arena_search(const struct arena *a, u64 at) {
    u32 lo = 0, hi = a->n;
    while (lo < hi) {
        u32 mid = (lo + hi) / 2;
        if (a->v[mid]->hi > at)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static void arena_take(struct arena *a, u32 i) {
    memmove(a->v + i, a->v + i + 1, (a->n - i - 1) * sizeof *a->v);
    a->n--;
}

static void arena_forget(struct arena *a, struct block *b) {
    u32 i = arena_search(a, b->lo);
    if (i < a->n && a->v[i] == b)
        arena_take(a, i);
    b->arena = NULL;
}

static void forget_freed(struct arena *a, u32 i) {
    struct block *b = a->freed[i];
    memmove(a->freed + i, a->freed + i + 1, (a->nfreed - i - 1) * sizeof *a->freed);
    a->nfreed--;
    arena_forget(a, b);
    block_unref(b);
}

static int arena_place(struct arena *a, struct block *b, u64 size) {
    u64 need = (size + PAGE - 1) / PAGE * PAGE + PAGE;
    if (size > a->size || need > a->size)
        return E_MEMORY;
    u64 at = a->reuse ? 0 : a->cursor;
    u32 i;
    for (int wraps = 0;;) {
        if (at + need > a->size) {
            if (wraps++)
                return E_MEMORY;
            at = 0;
            continue;
        }
        i = arena_search(a, at);
        if (i == a->n || a->v[i]->lo >= at + need)
            break;
        struct block *in = a->v[i];
        u32 f = a->nfreed;
        if (in->freed && in->refs == 1)
            for (f = 0; f < a->nfreed && a->freed[f] != in; f++)
                ;
        if (f < a->nfreed)
            forget_freed(a, f);
        else
            at = in->hi;
    }
    if (a->n == a->cap) {
        a->cap = a->cap ? 2 * a->cap : 64;
        a->v = realloc(a->v, a->cap * sizeof *a->v);
    }
    memmove(a->v + i + 1, a->v + i, (a->n - i) * sizeof *a->v);
    a->v[i] = b;
    a->n++;
    b->arena = a;
    b->lo = at;
    b->hi = at + need;
    a->cursor = at + need;
    return OK;
}

static void pattern_fill(u8 *p, u64 pattern, u32 width, u64 n) {
    if (n < 16) {
        for (u64 i = 0; i < n; i++)
            p[i] = (u8)(pattern >> (i % width * 8));
        return;
    }
    for (u32 i = 0; i < 8; i++)
        p[i] = (u8)(pattern >> (i % width * 8));
    u64 have = 8;
    while (have < n) {
        u64 step = have < 65536 ? have : 65536;
        if (step > n - have)
            step = n - have;
        memcpy(p + have, p, step);
        have += step;
    }
}

static void arena_discard(const struct arena *a, const struct block *b) {
    if (fallocate(a->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)b->lo, (off_t)(b->hi - b->lo)) != 0 &&
        !E.free)
        memset(a->rw + b->lo, 0, b->hi - b->lo);
}

/* Returns the bytes of a freed block to the system. */
void block_discard(const struct block *b) {
    if (b->arena && !b->base)
        arena_discard(b->arena, b);
}

/* Programs often allocate large page-locked memory to stage copies. If it is larger than this at both ends together, only the
 * ends are filled with poison. */
#define FRESH_ENDS (128u << 10)

int block_new(enum kind kind, int dev, u64 size, struct block **out) {
    struct arena *a = kind == DEVICE ? &E.dev[dev].mem : kind == STAGE ? &E.stage : &E.host_mem;
    struct block *b = calloc(1, sizeof *b);
    b->refs = 1;
    b->kind = kind;
    b->dev = dev;
    b->size = size;
    /* Device memory is aligned to ALIGNMENT and not to more. */
    u64 lead = kind == DEVICE ? ALIGNMENT : 0;
    if (kind != STAGE && without(HALYARD_SIM_WITHOUT_ALIGNMENT))
        lead = 16;
    if (!a->size || size > a->size || arena_place(a, b, size + lead) != OK) {
        free(b);
        return E_MEMORY;
    }
    b->fd = a->fd;
    b->off = (off_t)(b->lo + lead);
    b->rw = a->rw + b->off;
    b->addr = (u64)(uintptr_t)(a->pub + b->off);
    b->charge = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (a->guest && mprotect(a->pub + b->lo, b->hi - b->lo - PAGE, PROT_READ | PROT_WRITE) != 0) {
        arena_forget(a, b);
        free(b);
        return E_MEMORY;
    }
    if (kind == DEVICE)
        E.dev[dev].used += b->charge;
    if (kind != STAGE) {
        b->id = ++E.next_block;
        if (kind != DEVICE)
            E.host_used += b->charge;
        if (!E.free && kind != DEVICE && size > 2 * FRESH_ENDS) {
            pattern_fill(b->rw, fresh, 8, FRESH_ENDS);
            pattern_fill(b->rw + size - FRESH_ENDS, fresh, 8, FRESH_ENDS);
        } else if (!E.free) {
            pattern_fill(b->rw, fresh, 8, size);
        }
    }
    *out = b;
    return OK;
}

void block_unref(struct block *b) {
    if (--b->refs)
        return;
    free(b->acc);
    clock_drop(&b->release);
    if (b->map_pub)
        munmap(b->map_pub, b->map_len);
    if (b->map_rw)
        munmap(b->map_rw, b->map_len);
    if (b->kind == IMPORTED && b->fd > 0)
        close(b->fd);
    free(b);
}

static u32 loose_search(u64 addr) {
    u32 lo = 0, hi = E.nloose;
    while (lo < hi) {
        u32 mid = (lo + hi) / 2;
        if (E.loose[mid]->addr + E.loose[mid]->size > addr)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static void loose_insert(struct block *b) {
    if (E.nloose == E.cloose) {
        E.cloose = E.cloose ? 2 * E.cloose : 16;
        E.loose = realloc(E.loose, E.cloose * sizeof *E.loose);
    }
    u32 i = loose_search(b->addr);
    memmove(E.loose + i + 1, E.loose + i, (E.nloose - i) * sizeof *E.loose);
    E.loose[i] = b;
    E.nloose++;
}

static void loose_remove(struct block *b) {
    u32 i = loose_search(b->addr);
    if (i == E.nloose || E.loose[i] != b)
        return;
    memmove(E.loose + i, E.loose + i + 1, (E.nloose - i - 1) * sizeof *E.loose);
    E.nloose--;
}

/* The program has freed the block: its address is refused from now on, and its bytes are lost. */
void block_release(struct block *b) {
    struct arena *a = b->arena;
    b->freed = true;
    switch (b->kind) {
    case REGISTERED:
        loose_remove(b);
        if (b->alias)
            block_release(b->alias);
        block_unref(b);
        return;
    case IMPORTED:
        loose_remove(b);
        block_unref(b);
        return;
    case STAGE:
        if (b->size >= 65536)
            block_discard(b);
        arena_forget(a, b);
        block_unref(b);
        return;
    case DEVICE:
        if (!b->base)
            E.dev[b->dev].used -= b->charge;
        break;
    case HOST:
    case MANAGED:
        E.host_used -= b->charge;
        break;
    }
    if (a->guest)
        mprotect(a->pub + b->lo, b->hi - b->lo - PAGE, PROT_NONE);
    if (b->pending)
        pattern_fill(b->rw, stale, 8, b->size);
    else
        block_discard(b);
    if (a->nfreed == sizeof a->freed / sizeof *a->freed)
        forget_freed(a, 0);
    a->freed[a->nfreed++] = b; /* a->freed takes over the caller's reference */
}

/* Releases the live blocks of an arena, or only those of one context. Returns the number of blocks
 * whose free was not enqueued. */
u32 arena_release(struct arena *a, const struct ctx *c) {
    u32 n = 0, live = 0;
    struct block **all = malloc((a->n + 1) * sizeof *all);
    for (u32 i = 0; i < a->n; i++)
        if (!a->v[i]->freed && (!c || a->v[i]->ctx == c))
            all[n++] = a->v[i];
    for (u32 i = 0; i < n; i++) {
        live += !all[i]->freeing;
        block_release(all[i]);
    }
    free(all);
    return live;
}

/* Whether one byte at the address can be read by this process. */
static bool readable(u64 addr) {
    return pwrite(E.scratch, (const void *)(uintptr_t)addr, 1, 64) == 1;
}

int block_register(u64 addr, u64 size, int dev, struct block **out) {
    for (u64 at = addr; at < addr + size; at = at / PAGE * PAGE + PAGE)
        if (!readable(at))
            return E_VALUE;
    struct block *b = calloc(1, sizeof *b);
    b->refs = 1;
    b->kind = REGISTERED;
    b->dev = dev;
    b->size = size;
    b->addr = addr;
    b->id = ++E.next_block;
    if (without(HALYARD_SIM_WITHOUT_REGISTERED_POINTER)) {
        struct block *alias = calloc(1, sizeof *alias);
        alias->refs = 1;
        alias->size = size;
        alias->base = b;
        alias->id = b->id;
        if (arena_place(&E.alias, alias, size + PAGE) != OK) {
            free(alias);
            free(b);
            return E_MEMORY;
        }
        alias->addr = (u64)(uintptr_t)(E.alias.pub + alias->lo) + addr % PAGE;
        b->alias = alias;
    }
    loose_insert(b);
    *out = b;
    return OK;
}

int block_import(int dev, const char *path, u64 off, u64 size, const u64 token[2], struct block **out) {
    for (u32 i = 0; i < E.nloose; i++) {
        struct block *b = E.loose[i];
        if (b->kind == IMPORTED && !memcmp(b->token, token, sizeof b->token) && b->dev == dev) {
            b->opens++;
            *out = b;
            return OK;
        }
    }
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return E_HANDLE;
    u64 start = off / PAGE * PAGE, lead = off - start;
    u64 len = (lead + size + PAGE - 1) / PAGE * PAGE;
    void *pub = mmap(NULL, len, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)start);
    void *rw = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)start);
    if (pub == MAP_FAILED || rw == MAP_FAILED) {
        if (pub != MAP_FAILED)
            munmap(pub, len);
        close(fd);
        return E_HANDLE;
    }
    struct block *b = calloc(1, sizeof *b);
    b->refs = 1;
    b->kind = IMPORTED;
    b->dev = dev;
    b->size = size;
    b->fd = fd;
    b->off = (off_t)off;
    b->map_pub = pub;
    b->map_rw = rw;
    b->map_len = len;
    b->addr = (u64)(uintptr_t)pub + lead;
    b->rw = (u8 *)rw + lead;
    b->opens = 1;
    b->id = ++E.next_block;
    memcpy(b->token, token, sizeof b->token);
    loose_insert(b);
    *out = b;
    return OK;
}

static struct arena *arena_of(u64 addr) {
    for (u64 i = 0; i <= E.now.devices + 1; i++) {
        struct arena *a = i < E.now.devices ? &E.dev[i].mem : i == E.now.devices ? &E.host_mem : &E.alias;
        if (a->pub && addr >= (u64)(uintptr_t)a->pub && addr - (u64)(uintptr_t)a->pub < a->size)
            return a;
    }
    return NULL;
}

bool in_arena(u64 addr) {
    return arena_of(addr) != NULL;
}

/* Returns the block that contains the address, and the offset in it. *alias is true if the address
 * is the device's address of registered memory, which the host cannot use. */
struct block *block_find(u64 addr, u64 *off, bool *alias) {
    struct block *b = NULL;
    *alias = false;
    struct arena *a = arena_of(addr);
    if (a) {
        u32 i = arena_search(a, addr - (u64)(uintptr_t)a->pub);
        if (i < a->n)
            b = a->v[i];
    } else {
        u32 i = loose_search(addr);
        if (i < E.nloose)
            b = E.loose[i];
    }
    if (!b || addr < b->addr || addr - b->addr >= b->size)
        return NULL;
    *off = addr - b->addr;
    if (b->base && !b->freed) {
        *alias = true;
        return b->base;
    }
    return b;
}

struct block *block_in(u64 addr, u64 len) {
    u32 i = loose_search(addr);
    if (i < E.nloose && E.loose[i]->addr < addr + len)
        return E.loose[i];
    struct arena *a = arena_of(addr);
    if (!a && len)
        a = arena_of(addr + len - 1);
    if (!a)
        return NULL;
    u64 start = (u64)(uintptr_t)a->pub, at = addr > start ? addr - start : 0;
    for (i = arena_search(a, at); i < a->n && a->v[i]->addr < addr + len; i++)
        if (!a->v[i]->freed && a->v[i]->addr + a->v[i]->size > addr)
            return a->v[i];
    return NULL;
}

static bool all_written(int fd, const u8 *p, u64 n, off_t off) {
    while (n) {
        ssize_t k = pwrite(fd, p, n, off);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (u64)k;
        off += k;
    }
    return true;
}

static bool all_read(int fd, u8 *p, u64 n, off_t off) {
    while (n) {
        ssize_t k = pread(fd, p, n, off);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (u64)k;
        off += k;
    }
    return true;
}

/*
 * Moves bytes between two ends. System calls read and write memory of the program: they return
 * EFAULT where a load or store would end the process. The lock may be released; then the caller
 * prevents other threads from moving bytes.
 */
int move_bytes(const struct side *dst, u64 doff, const struct side *src, u64 soff, u64 n) {
    if (dst->trusted && src->trusted) {
        memmove(dst->ptr + doff, src->ptr + soff, n);
        return OK;
    }
    if (dst->trusted)
        return all_written(dst->fd, src->ptr + soff, n, dst->off + (off_t)doff) ? OK : E_ILLEGAL;
    if (src->trusted)
        return all_read(src->fd, dst->ptr + doff, n, src->off + (off_t)soff) ? OK : E_ILLEGAL;
    while (n) {
        u64 k = n < PAGE ? n : PAGE;
        if (!all_written(E.scratch, src->ptr + soff, k, PAGE) || !all_read(E.scratch, dst->ptr + doff, k, PAGE))
            return E_ILLEGAL;
        soff += k;
        doff += k;
        n -= k;
    }
    return OK;
}

int fill_bytes(const struct side *dst, u64 doff, u64 pattern, u32 width, u64 n) {
    if (dst->trusted) {
        pattern_fill(dst->ptr + doff, pattern, width, n);
        return OK;
    }
    pattern_fill(E.scratch_view + PAGE, pattern, width, n < PAGE ? n : PAGE);
    while (n) {
        u64 k = n < PAGE ? n : PAGE;
        if (!all_read(E.scratch, dst->ptr + doff, k, PAGE))
            return E_ILLEGAL;
        doff += k;
        n -= k;
    }
    return OK;
}

/* Reads memory of the program. Returns false if it is not readable. */
bool guest_read(void *to, const void *from, u64 n) {
    for (u64 at = 0; at < n;) {
        u64 k = n - at < PAGE ? n - at : PAGE;
        if (!all_written(E.scratch, (const u8 *)from + at, k, 0))
            return false;
        memcpy((u8 *)to + at, E.scratch_view, k);
        at += k;
    }
    return true;
}

/* peek reads, and poke writes, one aligned value at once, like a program's atomic operations. */
int peek(const struct side *s, u32 width, u64 *value) {
    const void *p = s->ptr;
    if (!s->trusted) {
        if (!all_written(E.scratch, s->ptr, width, 0))
            return E_ILLEGAL;
        p = E.scratch_view;
    }
    *value = width == 4 ? __atomic_load_n((const u32 *)p, __ATOMIC_ACQUIRE) : __atomic_load_n((const u64 *)p, __ATOMIC_ACQUIRE);
    return OK;
}

int poke(const struct side *s, u32 width, u64 value) {
    void *p = s->trusted ? (void *)s->ptr : (void *)E.scratch_view;
    if (width == 4)
        __atomic_store_n((u32 *)p, (u32)value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((u64 *)p, value, __ATOMIC_RELEASE);
    if (!s->trusted && !all_read(E.scratch, s->ptr, width, 0))
        return E_ILLEGAL;
    return OK;
}
