/*
 * The HIP face: the functions of libamdhip64.so that Halyard uses. Their names and signatures are
 * the same in ROCm 5, 6 and 7.
 */
#include <stdlib.h>

#include "engine.h"

const struct face face = {
    .name = "HIP",
    .title = "simulated HIP driver",
    .uuid = 0xA0,
    .contexts = false,
    .stream_code = E_CTX_GONE, /* the code that the runtime returns for an unknown stream */
    .low = 1,
    .high = -1,
    .staged_sync = false,
    .read_image = codeobject_read,
    .shared = 64 << 10,
    .shared_most = 64 << 10,
    .block_z = 1024,
};

typedef struct stream_ *hipStream_t;
typedef struct event_ *hipEvent_t;
typedef struct pool_ *hipMemPool_t;
typedef struct module_ *hipModule_t;
typedef struct function_ *hipFunction_t;
typedef struct graph_ *hipGraph_t;
typedef struct exec_ *hipGraphExec_t;
typedef struct {
    char bytes[16];
} hipUUID;
typedef struct {
    char reserved[64];
} hipIpcMemHandle_t;

static u64 num(const void *handle) {
    return (u64)(uintptr_t)handle;
}

static void *opaque(u64 handle) {
    return (void *)(uintptr_t)handle;
}

/* Every call initialises the runtime. */
static int started(void) {
    int code = engine_init();
    return code == E_NO_DEVICE ? E_DEVICE : code;
}

#define START(flags)                                                                               \
    BEGIN((flags) | CALL_BEFORE_INIT);                                                             \
    int state_ = started();                                                                        \
    if (state_ != OK)                                                                              \
    END(state_)

#define CURRENT(c)                                                                                 \
    START(0);                                                                                      \
    struct ctx *c = ctx_current(&state_);                                                          \
    if (!c)                                                                                        \
    END(state_)

#define CURRENT_QUIET(c)                                                                           \
    START(CALL_CLEANUP);                                                                           \
    struct ctx *c = ctx_quiet(&state_);                                                            \
    if (!c)                                                                                        \
    END(state_)

#define STREAM(c, s, handle)                                                                       \
    CURRENT(c);                                                                                    \
    struct stream *s = stream_get(c, num(handle), &state_);                                        \
    if (!s)                                                                                        \
    END(state_)

#define DEFAULT_STREAM(c, s)                                                                       \
    CURRENT(c);                                                                                    \
    struct stream *s = c->null

/* ---- runtime and devices ---- */

int hipInit(unsigned flags) {
    START(0);
    END(flags ? E_VALUE : OK);
}

static int version(int *out) {
    if (!out)
        return E_VALUE;
    *out = 60342131;
    return OK;
}

int hipDriverGetVersion(int *out) {
    BEGIN(CALL_BEFORE_INIT);
    END(version(out));
}

int hipRuntimeGetVersion(int *out) {
    BEGIN(CALL_BEFORE_INIT);
    END(version(out));
}

int hipGetDeviceCount(int *count) {
    BEGIN(CALL_BEFORE_INIT);
    if (!count)
        END(E_VALUE);
    int code = engine_init();
    *count = code == OK ? (int)E.now.devices : 0;
    END(code);
}

int hipSetDevice(int dev) {
    START(0);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    self.device = dev;
    END(OK);
}

int hipGetDevice(int *dev) {
    START(0);
    if (!dev)
        END(E_VALUE);
    *dev = self.device;
    END(OK);
}

int hipDeviceGet(int *dev, int ordinal) {
    START(0);
    if (!dev)
        END(E_VALUE);
    if (device_check(ordinal) != OK)
        END(E_DEVICE);
    *dev = ordinal;
    END(OK);
}

int hipDeviceGetName(char *name, int len, int dev) {
    START(0);
    if (!name || len <= 0)
        END(E_VALUE);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    device_name(dev, name, len);
    END(OK);
}

int hipDeviceGetUuid(hipUUID *uuid, int dev) {
    START(0);
    if (!uuid)
        END(E_VALUE);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    if (without(HALYARD_SIM_WITHOUT_ANSWERS))
        END(E_SUPPORTED);
    device_uuid(dev, uuid->bytes);
    END(OK);
}

int hipDeviceTotalMem(size_t *bytes, int dev) {
    START(0);
    if (!bytes)
        END(E_VALUE);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    *bytes = E.now.memory;
    END(OK);
}

int hipDeviceGetPCIBusId(char *id, int len, int dev) {
    START(0);
    if (!id || len <= 0)
        END(E_VALUE);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    if (without(HALYARD_SIM_WITHOUT_ANSWERS))
        END(E_SUPPORTED);
    device_pci(dev, id, len);
    END(OK);
}

int hipDeviceGetByPCIBusId(int *dev, const char *id) {
    START(0);
    if (!dev || !id)
        END(E_VALUE);
    for (int i = 0; i < (int)E.now.devices; i++) {
        char have[32];
        device_pci(i, have, sizeof have);
        if (!strcmp(have, id) || !strcmp(have + 5, id)) {
            *dev = i;
            END(OK);
        }
    }
    END(E_DEVICE);
}

/*
 * The two versions of the call have different layouts of the structure of properties. In both, only
 * the name and the architecture are filled in.
 */
static int properties(char *out, size_t size, size_t arch, int dev) {
    if (!out)
        return E_VALUE;
    if (device_check(dev) != OK)
        return E_DEVICE;
    if (without(HALYARD_SIM_WITHOUT_ANSWERS))
        return E_SUPPORTED;
    memset(out, 0, size);
    device_name(dev, out, 256);
    strcpy(out + arch, "gfx906:sramecc+:xnack-");
    return OK;
}

int hipGetDeviceProperties(char *out, int dev) {
    START(0);
    END(properties(out, 792, 396, dev));
}

int hipGetDevicePropertiesR0600(char *out, int dev) {
    START(0);
    END(properties(out, 1472, 1160, dev));
}

/* The numbers of hipDeviceAttribute_t are the same in ROCm 5.2 and 6. */
static int attribute(int which, int dev, int *value) {
    switch (which) {
    case 2: /* copy engines */
        *value = 2;
        return OK;
    case 3: /* maps host memory */
    case 8: /* concurrent kernels */
    case 12: /* copies while a kernel runs */
    case 63: /* multiprocessors */
    case 85: /* unified addressing */
        *value = 1;
        return OK;
    case 4: /* registered memory has the host's address on the device too */
        *value = !without(HALYARD_SIM_WITHOUT_REGISTERED_POINTER);
        return OK;
    case 5: /* clock, kHz */
    case 60: /* memory clock, kHz */
        *value = 1000000;
        return OK;
    case 9: /* concurrent managed access */
        *value = !without(HALYARD_SIM_WITHOUT_CONCURRENT_MANAGED) && !without(HALYARD_SIM_WITHOUT_MANAGED);
        return OK;
    case 19: /* L2 bytes */
        *value = 1 << 20;
        return OK;
    case 23: /* compute capability */
        *value = 9;
        return OK;
    case 24: /* managed memory */
        *value = !without(HALYARD_SIM_WITHOUT_MANAGED);
        return OK;
    case 26: /* threads of a block in each dimension */
    case 27:
    case 28:
    case 56: /* threads per block */
        *value = MAX_THREADS;
        return OK;
    case 29: /* blocks of a grid in each dimension */
        *value = MAX_GRID_X;
        return OK;
    case 30:
    case 31:
        *value = MAX_GRID_YZ;
        return OK;
    case 74: /* shared memory of a block */
        *value = (int)face.shared;
        return OK;
    case 59: /* bus width */
        *value = 256;
        return OK;
    case 67: /* PCI bus */
        *value = 0x40 + dev;
        return OK;
    case 78: /* stream priorities */
        *value = !without(HALYARD_SIM_WITHOUT_PRIORITIES);
        return OK;
    case 81: /* texture alignment */
        *value = ALIGNMENT;
        return OK;
    case 84: /* memory, at most the largest int */
        *value = E.now.memory > 0x7FFFFFFF ? 0x7FFFFFFF : (int)E.now.memory;
        return OK;
    case 87: /* warp size */
        *value = 64;
        return OK;
    case 88: /* memory pools */
        *value = !without(HALYARD_SIM_WITHOUT_POOLS);
        return OK;
    case 16: /* integrated */
        *value = without(HALYARD_SIM_WITHOUT_DISCRETE_MEMORY);
        return OK;
    case 10013: /* stream waits for a value */
        if (without(HALYARD_SIM_WITHOUT_ANSWERS))
            return E_SUPPORTED;
        *value = !without(HALYARD_SIM_WITHOUT_WAIT_VALUE);
        return OK;
    case 10016: /* fine-grained memory */
        *value = 1;
        return OK;
    }
    if (which < 0 || which > 10030 || (which > 110 && which < 10000))
        return E_VALUE;
    *value = 0;
    return OK;
}

int hipDeviceGetAttribute(int *value, int which, int dev) {
    START(0);
    if (!value)
        END(E_VALUE);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    END(attribute(which, dev, value));
}

int hipDeviceGetStreamPriorityRange(int *low, int *high) {
    START(0);
    bool none = without(HALYARD_SIM_WITHOUT_PRIORITIES);
    if (low)
        *low = none ? 0 : face.low;
    if (high)
        *high = none ? 0 : face.high;
    END(OK);
}

int hipDeviceSynchronize(void) {
    CURRENT(c);
    END(ctx_sync(c));
}

int hipDeviceReset(void) {
    CURRENT_QUIET(c);
    ctx_destroy(c, true);
    END(OK);
}

int hipDeviceCanAccessPeer(int *can, int dev, int peer) {
    START(0);
    END(can ? peer_can(dev, peer, can) : E_VALUE);
}

int hipDeviceEnablePeerAccess(int peer, unsigned flags) {
    CURRENT(c);
    END(flags ? E_VALUE : peer_enable(c, peer));
}

int hipDeviceDisablePeerAccess(int peer) {
    CURRENT_QUIET(c);
    END(peer_disable(c, peer));
}

/* ---- memory ---- */

int hipMemGetInfo(size_t *avail, size_t *total) {
    CURRENT(c);
    END(engine_mem_info(c, avail, total));
}

static int alloc(struct ctx *c, enum kind kind, size_t size, u32 flags, void **out) {
    u64 addr = 0;
    if (!out)
        return E_VALUE;
    if (!size) {
        *out = NULL;
        return OK;
    }
    int code = engine_alloc(c, kind, size, flags, &addr);
    if (code == OK)
        *out = opaque(addr);
    return code;
}

int hipMalloc(void **out, size_t size) {
    CURRENT(c);
    END(alloc(c, DEVICE, size, 0, out));
}

int hipExtMallocWithFlags(void **out, size_t size, unsigned flags) {
    CURRENT(c);
    if (flags == 2)
        END(size == 8 ? alloc(c, MANAGED, size, SIGNAL_MEMORY, out) : E_VALUE);
    END(flags > 2 ? E_VALUE : alloc(c, DEVICE, size, flags, out));
}

int hipFree(void *addr) {
    CURRENT_QUIET(c);
    END(addr ? engine_free(c, num(addr), DEVICE) : OK);
}

int hipHostMalloc(void **out, size_t size, unsigned flags) {
    CURRENT(c);
    if (flags & ~0xE0000007u || (flags & 0xC0000000u) == 0xC0000000u)
        END(E_VALUE);
    END(alloc(c, HOST, size, flags, out));
}

int hipHostFree(void *addr) {
    CURRENT_QUIET(c);
    END(addr ? engine_free(c, num(addr), HOST) : OK);
}

int hipHostRegister(void *addr, size_t size, unsigned flags) {
    CURRENT(c);
    END(flags & ~15u ? E_VALUE : engine_register(c, num(addr), size, flags));
}

int hipHostUnregister(void *addr) {
    CURRENT_QUIET(c);
    END(engine_unregister(c, num(addr)));
}

int hipHostGetDevicePointer(void **out, void *addr, unsigned flags) {
    CURRENT(c);
    (void)c;
    u64 at = 0;
    int code = flags || !out ? E_VALUE : engine_device_pointer(num(addr), &at);
    if (code == OK)
        *out = opaque(at);
    END(code);
}

int hipHostGetFlags(unsigned *flags, void *addr) {
    CURRENT(c);
    (void)c;
    u64 off;
    bool alias;
    struct block *b = block_find(num(addr), &off, &alias);
    if (!flags || !b || b->freed || b->kind != HOST)
        END(E_VALUE);
    *flags = b->flags;
    END(OK);
}

int hipMallocManaged(void **out, size_t size, unsigned flags) {
    CURRENT(c);
    END(flags != 1 && flags != 2 ? E_VALUE : alloc(c, MANAGED, size, flags, out));
}

int hipMemGetAddressRange(void **base, size_t *size, void *addr) {
    CURRENT(c);
    (void)c;
    u64 off;
    bool alias;
    struct block *b = block_find(num(addr), &off, &alias);
    if (!b || b->freed)
        END(E_NOT_FOUND);
    if (base)
        *base = opaque(num(addr) - off);
    if (size)
        *size = b->size;
    END(OK);
}

int hipMallocAsync(void **out, size_t size, hipStream_t stream) {
    STREAM(c, s, stream);
    u64 addr = 0;
    if (!out)
        END(E_VALUE);
    if (!size) {
        *out = NULL;
        END(OK);
    }
    int code = engine_alloc_async(s, size, &addr);
    if (code == OK)
        *out = opaque(addr);
    END(code);
}

int hipFreeAsync(void *addr, hipStream_t stream) {
    CURRENT_QUIET(c);
    struct stream *s = stream_quiet(c, num(stream), &state_);
    if (!s)
        END(state_);
    END(addr ? engine_free_async(s, num(addr)) : E_VALUE);
}

int hipDeviceGetDefaultMemPool(hipMemPool_t *out, int dev) {
    START(0);
    u64 pool = 0;
    int code = out ? pool_default(dev, &pool) : E_VALUE;
    if (code == OK)
        *out = opaque(pool);
    END(code);
}

int hipDeviceGetMemPool(hipMemPool_t *out, int dev) {
    return hipDeviceGetDefaultMemPool(out, dev);
}

int hipMemPoolGetAttribute(hipMemPool_t pool, int which, void *value) {
    START(0);
    END(pool_get(num(pool), which, value));
}

int hipMemPoolSetAttribute(hipMemPool_t pool, int which, const void *value) {
    START(0);
    END(pool_set(num(pool), which, value));
}

int hipMemPoolTrimTo(hipMemPool_t pool, size_t keep) {
    START(0);
    (void)keep;
    END(pool_device(num(pool)) < 0 ? E_VALUE : OK);
}

int hipMemPrefetchAsync(const void *addr, size_t n, int dev, hipStream_t stream) {
    STREAM(c, s, stream);
    END(engine_prefetch(s, num(addr), n, dev));
}

int hipPointerGetAttribute(void *data, int which, void *addr) {
    CURRENT(c);
    (void)c;
    END(engine_pointer(data, which, num(addr)));
}

/* ---- between processes ---- */

int hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *addr) {
    CURRENT(c);
    END(handle ? ipc_export(c, num(addr), handle->reserved) : E_VALUE);
}

int hipIpcOpenMemHandle(void **out, hipIpcMemHandle_t handle, unsigned flags) {
    CURRENT(c);
    u64 addr = 0;
    int code = !out || flags > 1 ? E_VALUE : ipc_import(c, handle.reserved, &addr);
    if (code == OK)
        *out = opaque(addr);
    END(code);
}

int hipIpcCloseMemHandle(void *addr) {
    CURRENT_QUIET(c);
    END(ipc_close(c, num(addr)));
}

/* ---- copies ---- */

static int copy(struct stream *s, const void *dst, const void *src, size_t n, int kind, bool sync) {
    static const int kinds[] = {COPY_H2H, COPY_H2D, COPY_D2H, COPY_D2D, COPY_ANY};
    if (kind < 0 || kind > 4)
        return 21; /* hipErrorInvalidMemcpyDirection */
    return engine_copy1(s, num(dst), num(src), n, kinds[kind], sync);
}

int hipMemcpyAsync(void *dst, const void *src, size_t n, int kind, hipStream_t stream) {
    STREAM(c, s, stream);
    END(copy(s, dst, src, n, kind, false));
}

int hipMemcpyWithStream(void *dst, const void *src, size_t n, int kind, hipStream_t stream) {
    STREAM(c, s, stream);
    int code = copy(s, dst, src, n, kind, true);
    END(code == OK ? stream_sync(s) : code);
}

int hipMemcpy(void *dst, const void *src, size_t n, int kind) {
    DEFAULT_STREAM(c, s);
    END(copy(s, dst, src, n, kind, true));
}

#define COPY(name, type_dst, type_src, kind)                                                       \
    int hipMemcpy##name##Async(type_dst dst, type_src src, size_t n, hipStream_t stream) {         \
        STREAM(c, s, stream);                                                                      \
        END(engine_copy1(s, num(dst), num(src), n, kind, false));                                  \
    }                                                                                              \
    int hipMemcpy##name(type_dst dst, type_src src, size_t n) {                                    \
        DEFAULT_STREAM(c, s);                                                                      \
        END(engine_copy1(s, num(dst), num(src), n, kind, true));                                   \
    }

COPY(HtoD, void *, const void *, COPY_H2D)
COPY(DtoH, void *, const void *, COPY_D2H)
COPY(DtoD, void *, const void *, COPY_D2D)

static int copy_peer(struct stream *s, const void *dst, int ddev, const void *src, int sdev, size_t n, bool sync) {
    if (device_check(ddev) != OK || device_check(sdev) != OK)
        return E_DEVICE;
    struct rect r = {.dst = num(dst), .src = num(src), .width = n, .rows = 1, .dpitch = n, .spitch = n, .dstdev = ddev, .srcdev = sdev};
    return engine_copy(s, &r, COPY_PEER, sync);
}

int hipMemcpyPeerAsync(void *dst, int ddev, const void *src, int sdev, size_t n, hipStream_t stream) {
    STREAM(c, s, stream);
    END(copy_peer(s, dst, ddev, src, sdev, n, false));
}

int hipMemcpyPeer(void *dst, int ddev, const void *src, int sdev, size_t n) {
    DEFAULT_STREAM(c, s);
    END(copy_peer(s, dst, ddev, src, sdev, n, true));
}

int hipMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height, int kind,
                     hipStream_t stream) {
    static const int kinds[] = {COPY_H2H, COPY_H2D, COPY_D2H, COPY_D2D, COPY_ANY};
    STREAM(c, s, stream);
    if (kind < 0 || kind > 4)
        END(21);
    struct rect r = {num(dst), num(src), width, height, dpitch, spitch, -1, -1};
    END(engine_copy(s, &r, kinds[kind], false));
}

/* ---- fills ---- */

#define FILL(name, type, width)                                                                    \
    int hipMemset##name##Async(void *dst, type v, size_t n, hipStream_t stream) {                  \
        STREAM(c, s, stream);                                                                      \
        END(n > 1ull << 46 ? E_VALUE : engine_fill(s, num(dst), (u32)v, width, n * width, 1, n * width, false)); \
    }                                                                                              \
    int hipMemset##name(void *dst, type v, size_t n) {                                             \
        DEFAULT_STREAM(c, s);                                                                      \
        END(n > 1ull << 46 ? E_VALUE : engine_fill(s, num(dst), (u32)v, width, n * width, 1, n * width, true)); \
    }

FILL(D8, unsigned char, 1)
FILL(D16, unsigned short, 2)
FILL(D32, int, 4)

int hipMemsetAsync(void *dst, int v, size_t n, hipStream_t stream) {
    STREAM(c, s, stream);
    END(engine_fill(s, num(dst), (u8)v, 1, n, 1, n, false));
}

int hipMemset(void *dst, int v, size_t n) {
    DEFAULT_STREAM(c, s);
    END(engine_fill(s, num(dst), (u8)v, 1, n, 1, n, true));
}

/* ---- streams ---- */

static int create_stream(hipStream_t *out, unsigned flags, int priority) {
    int code;
    struct ctx *c = ctx_current(&code);
    if (!c)
        return code;
    if (!out || flags & ~1u)
        return E_VALUE;
    *out = opaque(stream_new(c, flags, priority)->handle);
    return OK;
}

int hipStreamCreate(hipStream_t *out) {
    START(0);
    END(create_stream(out, 0, 0));
}

int hipStreamCreateWithFlags(hipStream_t *out, unsigned flags) {
    START(0);
    END(create_stream(out, flags, 0));
}

int hipStreamCreateWithPriority(hipStream_t *out, unsigned flags, int priority) {
    START(0);
    END(create_stream(out, flags, priority));
}

int hipStreamDestroy(hipStream_t stream) {
    CURRENT_QUIET(c);
    END(stream_destroy(c, num(stream)));
}

int hipStreamSynchronize(hipStream_t stream) {
    STREAM(c, s, stream);
    END(stream_sync(s));
}

int hipStreamQuery(hipStream_t stream) {
    STREAM(c, s, stream);
    END(call_asked(stream_query(s)));
}

int hipStreamGetFlags(hipStream_t stream, unsigned *flags) {
    STREAM(c, s, stream);
    if (!flags)
        END(E_VALUE);
    *flags = s->flags;
    END(OK);
}

int hipStreamGetPriority(hipStream_t stream, int *priority) {
    STREAM(c, s, stream);
    if (!priority)
        END(E_VALUE);
    *priority = s->priority;
    END(OK);
}

int hipStreamGetDevice(hipStream_t stream, int *dev) {
    CURRENT(c);
    struct stream *s = stream_any(c, num(stream), &state_);
    if (!s)
        END(state_);
    if (!dev)
        END(E_VALUE);
    *dev = s->ctx->dev;
    END(OK);
}

int hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned flags) {
    STREAM(c, s, stream);
    struct event *e = event_get(c, num(event), true, &state_);
    if (!e)
        END(state_);
    END(flags ? E_VALUE : event_wait(e, s));
}

#define VALUE(bits, type, width)                                                                   \
    int hipStreamWaitValue##bits(hipStream_t stream, void *addr, type v, unsigned flags, type mask) { \
        STREAM(c, s, stream);                                                                      \
        END(stream_wait_value(s, num(addr), v, mask, width, flags));                               \
    }                                                                                              \
    int hipStreamWriteValue##bits(hipStream_t stream, void *addr, type v, unsigned flags) {        \
        STREAM(c, s, stream);                                                                      \
        END(flags ? E_VALUE : stream_write_value(s, num(addr), v, width));                         \
    }

VALUE(32, u32, 4)
VALUE(64, u64, 8)

int hipLaunchHostFunc(hipStream_t stream, void (*fn)(void *), void *arg) {
    STREAM(c, s, stream);
    END(stream_call(s, fn, NULL, arg, 0));
}

int hipStreamAddCallback(hipStream_t stream, void (*fn)(void *, int, void *), void *arg, unsigned flags) {
    STREAM(c, s, stream);
    END(flags ? E_VALUE : stream_call(s, NULL, fn, arg, num(stream)));
}

/* ---- modules and kernels ---- */

static int load(hipModule_t *out, const void *image) {
    int code;
    u64 handle = 0;
    struct ctx *c = ctx_current(&code);
    if (!c)
        return code;
    code = out ? module_load(c, image, (char[256]){""}, 256, &handle) : E_VALUE;
    if (code == OK)
        *out = opaque(handle);
    return code;
}

int hipModuleLoadData(hipModule_t *out, const void *image) {
    START(0);
    END(load(out, image));
}

int hipModuleLoadDataEx(hipModule_t *out, const void *image, unsigned n, int *options, void **values) {
    START(0);
    (void)n, (void)options, (void)values; /* the runtime ignores them too */
    END(load(out, image));
}

int hipModuleUnload(hipModule_t module) {
    CURRENT_QUIET(c);
    END(module_unload(c, num(module)));
}

int hipModuleGetFunction(hipFunction_t *out, hipModule_t module, const char *name) {
    CURRENT(c);
    u64 handle = 0;
    int code = out ? module_function(c, num(module), name, &handle) : E_VALUE;
    if (code == OK)
        *out = opaque(handle);
    END(code);
}

#define FUNCTION(c, f, handle)                                                                     \
    CURRENT(c);                                                                                    \
    struct function *f = function_get(c, num(handle), &state_);                                    \
    if (!f)                                                                                        \
    END(state_)

int hipFuncGetAttribute(int *value, int which, hipFunction_t function) {
    FUNCTION(c, f, function);
    END(function_attribute(f, which, value));
}

int hipModuleOccupancyMaxPotentialBlockSize(int *grid, int *block, hipFunction_t function, size_t dynamic, int limit) {
    FUNCTION(c, f, function);
    END(function_occupancy(f, dynamic, limit, grid, block));
}

int hipModuleLaunchKernel(hipFunction_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, hipStream_t stream, void **params, void **extra) {
    STREAM(c, s, stream);
    struct function *f = function_get(c, num(function), &state_);
    if (!f)
        END(state_);
    END(engine_launch(s, f, (u32[]){gx, gy, gz}, (u32[]){bx, by, bz}, shared, params, extra));
}

/* ---- graphs ---- */

int hipStreamBeginCapture(hipStream_t stream, int mode) {
    STREAM(c, s, stream);
    END(capture_begin(s, mode));
}

int hipStreamEndCapture(hipStream_t stream, hipGraph_t *out) {
    STREAM(c, s, stream);
    u64 handle = 0;
    int code = capture_end(s, out ? &handle : NULL);
    if (code == OK)
        *out = opaque(handle);
    END(code);
}

int hipGraphInstantiate(hipGraphExec_t *out, hipGraph_t graph, void **node, char *log, size_t size) {
    CURRENT(c);
    (void)node, (void)log, (void)size;
    u64 handle = 0;
    int code = graph_instantiate(c, num(graph), out ? &handle : NULL);
    if (code == OK)
        *out = opaque(handle);
    END(code);
}

int hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream) {
    STREAM(c, s, stream);
    END(graph_launch(s, num(exec)));
}

int hipGraphExecDestroy(hipGraphExec_t exec) {
    CURRENT_QUIET(c);
    END(graph_destroy(c, num(exec), H_EXEC));
}

int hipGraphDestroy(hipGraph_t graph) {
    CURRENT_QUIET(c);
    END(graph_destroy(c, num(graph), H_GRAPH));
}

/* ---- events ---- */

static int create_event(hipEvent_t *out, unsigned flags) {
    int code;
    u64 handle = 0;
    struct ctx *c = ctx_current(&code);
    if (!c)
        return code;
    if (!out || flags & ~0xC0000007u)
        return E_VALUE;
    code = event_new(c, flags, &handle);
    *out = opaque(handle);
    return code;
}

int hipEventCreate(hipEvent_t *out) {
    START(0);
    END(create_event(out, 0));
}

int hipEventCreateWithFlags(hipEvent_t *out, unsigned flags) {
    START(0);
    END(create_event(out, flags));
}

int hipEventDestroy(hipEvent_t event) {
    CURRENT_QUIET(c);
    END(event_destroy(c, num(event)));
}

int hipEventRecord(hipEvent_t event, hipStream_t stream) {
    CURRENT(c);
    struct event *e = event_get(c, num(event), false, &state_);
    if (!e)
        END(state_);
    struct stream *s = stream_get(c, num(stream), &state_);
    END(s ? event_record(e, s) : state_);
}

int hipEventQuery(hipEvent_t event) {
    CURRENT(c);
    struct event *e = event_get(c, num(event), false, &state_);
    END(e ? call_asked(event_query(e)) : state_);
}

int hipEventSynchronize(hipEvent_t event) {
    CURRENT(c);
    struct event *e = event_get(c, num(event), false, &state_);
    END(e ? event_sync(e) : state_);
}

int hipEventElapsedTime(float *ms, hipEvent_t from, hipEvent_t to) {
    CURRENT(c);
    struct event *a = event_get(c, num(from), true, &state_);
    struct event *b = a ? event_get(c, num(to), true, &state_) : NULL;
    END(b ? event_elapsed(a, b, ms) : state_);
}

/* ---- errors ---- */

int hipGetLastError(void) {
    BEGIN(CALL_BEFORE_INIT | CALL_UNCOUNTED);
    int last = planned_ != OK ? planned_ : self.last;
    call_end(OK);
    self.last = OK;
    return last;
}

int hipPeekAtLastError(void) {
    BEGIN(CALL_BEFORE_INIT | CALL_UNCOUNTED);
    int last = planned_ != OK ? planned_ : self.last;
    call_end(OK);
    return last;
}

static const struct {
    int code;
    const char *name;
} codes[] = {
    {0, "hipSuccess"},
    {1, "hipErrorInvalidValue"},
    {2, "hipErrorOutOfMemory"},
    {3, "hipErrorNotInitialized"},
    {4, "hipErrorDeinitialized"},
    {9, "hipErrorInvalidConfiguration"},
    {17, "hipErrorInvalidDevicePointer"},
    {21, "hipErrorInvalidMemcpyDirection"},
    {35, "hipErrorInsufficientDriver"},
    {98, "hipErrorInvalidDeviceFunction"},
    {100, "hipErrorNoDevice"},
    {101, "hipErrorInvalidDevice"},
    {200, "hipErrorInvalidImage"},
    {201, "hipErrorInvalidContext"},
    {208, "hipErrorAlreadyMapped"},
    {209, "hipErrorNoBinaryForGpu"},
    {214, "hipErrorECCNotCorrectable"},
    {217, "hipErrorPeerAccessUnsupported"},
    {301, "hipErrorFileNotFound"},
    {304, "hipErrorOperatingSystem"},
    {400, "hipErrorInvalidHandle"},
    {401, "hipErrorIllegalState"},
    {500, "hipErrorNotFound"},
    {600, "hipErrorNotReady"},
    {700, "hipErrorIllegalAddress"},
    {701, "hipErrorLaunchOutOfResources"},
    {702, "hipErrorLaunchTimeOut"},
    {704, "hipErrorPeerAccessAlreadyEnabled"},
    {705, "hipErrorPeerAccessNotEnabled"},
    {708, "hipErrorSetOnActiveProcess"},
    {709, "hipErrorContextIsDestroyed"},
    {710, "hipErrorAssert"},
    {712, "hipErrorHostMemoryAlreadyRegistered"},
    {713, "hipErrorHostMemoryNotRegistered"},
    {719, "hipErrorLaunchFailure"},
    {800, "hipErrorNotPermitted"},
    {801, "hipErrorNotSupported"},
    {900, "hipErrorStreamCaptureUnsupported"},
    {901, "hipErrorStreamCaptureInvalidated"},
    {902, "hipErrorStreamCaptureMerge"},
    {903, "hipErrorStreamCaptureUnmatched"},
    {904, "hipErrorStreamCaptureUnjoined"},
    {905, "hipErrorStreamCaptureIsolation"},
    {906, "hipErrorStreamCaptureImplicit"},
    {907, "hipErrorCapturedEvent"},
    {908, "hipErrorStreamCaptureWrongThread"},
    {910, "hipErrorGraphExecUpdateFailure"},
    {999, "hipErrorUnknown"},
    {1052, "hipErrorRuntimeMemory"},
    {1053, "hipErrorRuntimeOther"},
    {1054, "hipErrorTbd"},
};

static const char *code_name(int code) {
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (codes[i].code == code)
            return codes[i].name;
    return "hipErrorUnknown";
}

const char *hipGetErrorName(int code) {
    return code_name(code);
}

/* The real runtime's text is the name too. */
const char *hipGetErrorString(int code) {
    return code_name(code);
}
