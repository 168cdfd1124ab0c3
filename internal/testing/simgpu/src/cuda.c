/*
 * The CUDA face: the functions of libcuda.so.1 that Halyard uses, with the names and signatures of
 * cuda.h of CUDA 12.9. The names are those for dlsym, so they have the _v2 that the header adds by
 * macros.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"

const struct face face = {
    .name = "CUDA",
    .title = "simulated CUDA driver",
    .uuid = 0xC0,
    .contexts = true,
    .stream_code = E_HANDLE,
    .low = 0,
    .high = -5,
    .staged_sync = true,
    .read_image = ptx_read,
    .shared = 48 << 10,
    .shared_most = 227 << 10,
    .block_z = 64,
};

typedef u64 ptr;
typedef struct ctx_ *CUcontext;
typedef struct stream_ *CUstream;
typedef struct event_ *CUevent;
typedef struct pool_ *CUmemoryPool;
typedef struct module_ *CUmodule;
typedef struct function_ *CUfunction;
typedef struct graph_ *CUgraph;
typedef struct exec_ *CUgraphExec;
typedef struct {
    char bytes[16];
} CUuuid;
typedef struct {
    char reserved[64];
} CUipcMemHandle;
typedef struct {
    int type, id;
} CUmemLocation;
typedef struct {
    size_t srcXInBytes, srcY;
    unsigned srcMemoryType;
    const void *srcHost;
    ptr srcDevice;
    void *srcArray;
    size_t srcPitch;
    size_t dstXInBytes, dstY;
    unsigned dstMemoryType;
    void *dstHost;
    ptr dstDevice;
    void *dstArray;
    size_t dstPitch;
    size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;
_Static_assert(sizeof(CUDA_MEMCPY2D) == 128, "as in cuda.h");

static u64 num(const void *handle) {
    return (u64)(uintptr_t)handle;
}

static void *opaque(u64 handle) {
    return (void *)(uintptr_t)handle;
}

/* Defines c as the current context, or ends the call with an error. */
#define CURRENT(c)                                                                                 \
    int state_;                                                                                    \
    struct ctx *c = ctx_current(&state_);                                                          \
    if (!c)                                                                                        \
    END(state_)

#define CURRENT_QUIET(c)                                                                           \
    int state_;                                                                                    \
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

/* ---- driver and devices ---- */

int cuInit(unsigned flags) {
    BEGIN(CALL_BEFORE_INIT);
    END(flags ? E_VALUE : engine_init());
}

int cuDriverGetVersion(int *version) {
    BEGIN(CALL_BEFORE_INIT);
    if (!version)
        END(E_VALUE);
    *version = 12090;
    END(OK);
}

int cuDeviceGetCount(int *count) {
    BEGIN(0);
    if (!count)
        END(E_VALUE);
    *count = (int)E.now.devices;
    END(OK);
}

int cuDeviceGet(int *device, int ordinal) {
    BEGIN(0);
    if (!device)
        END(E_VALUE);
    if (device_check(ordinal) != OK)
        END(E_DEVICE);
    *device = ordinal;
    END(OK);
}

int cuDeviceGetName(char *name, int len, int dev) {
    BEGIN(0);
    if (!name || len <= 0)
        END(E_VALUE);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    device_name(dev, name, len);
    END(OK);
}

static int get_uuid(CUuuid *uuid, int dev) {
    if (!uuid)
        return E_VALUE;
    if (device_check(dev) != OK)
        return E_DEVICE;
    if (without(HALYARD_SIM_WITHOUT_ANSWERS))
        return E_SUPPORTED;
    device_uuid(dev, uuid->bytes);
    return OK;
}

int cuDeviceGetUuid(CUuuid *uuid, int dev) {
    BEGIN(0);
    END(get_uuid(uuid, dev));
}

int cuDeviceGetUuid_v2(CUuuid *uuid, int dev) {
    BEGIN(0);
    END(get_uuid(uuid, dev));
}

int cuDeviceTotalMem_v2(size_t *bytes, int dev) {
    BEGIN(0);
    if (!bytes)
        END(E_VALUE);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    *bytes = E.now.memory;
    END(OK);
}

int cuDeviceGetPCIBusId(char *id, int len, int dev) {
    BEGIN(0);
    if (!id || len <= 0)
        END(E_VALUE);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    if (without(HALYARD_SIM_WITHOUT_ANSWERS))
        END(E_SUPPORTED);
    device_pci(dev, id, len);
    END(OK);
}

int cuDeviceGetByPCIBusId(int *dev, const char *id) {
    BEGIN(0);
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

static int attribute(int which, int dev, int *value) {
    int pools = !without(HALYARD_SIM_WITHOUT_POOLS), values = !without(HALYARD_SIM_WITHOUT_WAIT_VALUE);
    switch (which) {
    case 1: /* threads per block */
    case 2: /* of a block in each dimension */
    case 3:
        *value = MAX_THREADS;
        return OK;
    case 4:
        *value = (int)face.block_z;
        return OK;
    case 5: /* blocks of a grid in each dimension */
        *value = MAX_GRID_X;
        return OK;
    case 6:
    case 7:
        *value = MAX_GRID_YZ;
        return OK;
    case 8: /* shared memory of a block */
        *value = (int)face.shared;
        return OK;
    case 97: /* the same, if a kernel asks for more */
        *value = (int)face.shared_most;
        return OK;
    case 10: /* warp size */
        *value = 32;
        return OK;
    case 13: /* clock, kHz */
    case 36: /* memory clock, kHz */
        *value = 1000000;
        return OK;
    case 14: /* texture alignment */
        *value = ALIGNMENT;
        return OK;
    case 15: /* copies while a kernel runs */
    case 16: /* multiprocessors */
    case 19: /* maps host memory */
    case 31: /* concurrent kernels */
    case 41: /* unified addressing */
        *value = 1;
        return OK;
    case 18: /* integrated */
        *value = without(HALYARD_SIM_WITHOUT_DISCRETE_MEMORY);
        return OK;
    case 33: /* PCI bus */
        *value = 0x40 + dev;
        return OK;
    case 17: /* kernel time-out */
    case 20: /* compute mode */
    case 32: /* ECC */
    case 34: /* PCI device */
    case 35: /* TCC */
    case 50: /* PCI domain */
    case 88: /* pageable memory access */
    case 100:
    case 101:
    case 110:
    case 116:
    case 119:
        *value = 0;
        return OK;
    case 37: /* bus width */
        *value = 256;
        return OK;
    case 38: /* L2 bytes */
        *value = 1 << 20;
        return OK;
    case 39: /* threads per multiprocessor */
        *value = 2048;
        return OK;
    case 40: /* copy engines */
        *value = 2;
        return OK;
    case 75: /* compute capability */
        *value = 9;
        return OK;
    case 76:
        *value = 0;
        return OK;
    case 78: /* stream priorities */
        *value = !without(HALYARD_SIM_WITHOUT_PRIORITIES);
        return OK;
    case 83: /* managed memory */
        *value = !without(HALYARD_SIM_WITHOUT_MANAGED);
        return OK;
    case 89: /* concurrent managed access */
        *value = !without(HALYARD_SIM_WITHOUT_CONCURRENT_MANAGED) && !without(HALYARD_SIM_WITHOUT_MANAGED);
        return OK;
    case 91: /* registered memory has the host's address on the device too */
        *value = !without(HALYARD_SIM_WITHOUT_REGISTERED_POINTER);
        return OK;
    case 92: /* stream memory operations, first version */
    case 94:
    case 122: /* 64 bits wide */
    case 123: /* wait-value NOR */
        if (without(HALYARD_SIM_WITHOUT_ANSWERS))
            return E_SUPPORTED;
        *value = values;
        return OK;
    case 93:
        *value = values;
        return OK;
    case 99: /* host registration */
        *value = !without(HALYARD_SIM_WITHOUT_HOST_REGISTER);
        return OK;
    case 115: /* memory pools */
        *value = pools;
        return OK;
    case 90:
    case 95:
    case 96:
    case 98:
        *value = 0;
        return OK;
    }
    if (which < 1 || which > 150)
        return E_VALUE;
    *value = 0;
    return OK;
}

int cuDeviceGetAttribute(int *value, int which, int dev) {
    BEGIN(0);
    if (!value)
        END(E_VALUE);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    END(attribute(which, dev, value));
}

int cuDeviceCanAccessPeer(int *can, int dev, int peer) {
    BEGIN(0);
    END(can ? peer_can(dev, peer, can) : E_VALUE);
}

int cuDeviceGetP2PAttribute(int *value, int which, int src, int dst) {
    BEGIN(0);
    if (!value || which < 1 || which > 4 || src == dst)
        END(E_VALUE);
    END(which == 1 ? (*value = 0, peer_can(src, dst, &(int){0})) : peer_can(src, dst, value));
}

/* ---- contexts ---- */

int cuDevicePrimaryCtxRetain(CUcontext *out, int dev) {
    BEGIN(0);
    if (!out)
        END(E_VALUE);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    int code;
    struct ctx *c = ctx_primary(dev, &code);
    if (!c)
        END(code);
    c->refs++;
    *out = opaque(c->handle);
    END(OK);
}

int cuDevicePrimaryCtxRelease_v2(int dev) {
    BEGIN(CALL_CLEANUP);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    struct ctx *c = E.dev[dev].ctx;
    if (!c || !c->refs) {
        violation("%s: the primary context of device %d is not retained", self.call, dev);
        END(E_CONTEXT);
    }
    if (--c->refs == 0)
        ctx_destroy(c, true);
    END(OK);
}

int cuDevicePrimaryCtxReset_v2(int dev) {
    BEGIN(CALL_CLEANUP);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    if (E.dev[dev].ctx)
        ctx_destroy(E.dev[dev].ctx, true);
    END(OK);
}

int cuDevicePrimaryCtxGetState(int dev, unsigned *flags, int *active) {
    BEGIN(0);
    if (!flags || !active)
        END(E_VALUE);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    *flags = E.dev[dev].flags;
    *active = E.dev[dev].ctx != NULL;
    END(OK);
}

int cuDevicePrimaryCtxSetFlags_v2(int dev, unsigned flags) {
    BEGIN(0);
    if (device_check(dev) != OK)
        END(E_DEVICE);
    E.dev[dev].flags = flags;
    END(OK);
}

int cuCtxSetCurrent(CUcontext ctx) {
    BEGIN(0);
    if (!ctx) {
        self.depth -= self.depth > 0;
        END(OK);
    }
    int code;
    if (!ctx_of(num(ctx), &code))
        END(code);
    if (!self.depth)
        self.depth = 1;
    self.stack[self.depth - 1] = num(ctx);
    END(OK);
}

int cuCtxGetCurrent(CUcontext *ctx) {
    BEGIN(0);
    if (!ctx)
        END(E_VALUE);
    *ctx = self.depth ? opaque(self.stack[self.depth - 1]) : NULL;
    END(OK);
}

int cuCtxPushCurrent_v2(CUcontext ctx) {
    BEGIN(0);
    int code;
    if (!ctx_of(num(ctx), &code))
        END(code);
    if (self.depth == MAX_DEPTH)
        END(E_VALUE);
    self.stack[self.depth++] = num(ctx);
    END(OK);
}

int cuCtxPopCurrent_v2(CUcontext *ctx) {
    BEGIN(0);
    if (!self.depth)
        END(E_CONTEXT);
    self.depth--;
    if (ctx)
        *ctx = opaque(self.stack[self.depth]);
    END(OK);
}

int cuCtxGetDevice(int *dev) {
    BEGIN(0);
    CURRENT(c);
    if (!dev)
        END(E_VALUE);
    *dev = c->dev;
    END(OK);
}

int cuCtxGetApiVersion(CUcontext ctx, unsigned *version) {
    BEGIN(0);
    int code = OK;
    if (!version)
        END(E_VALUE);
    if (ctx && !ctx_of(num(ctx), &code))
        END(code);
    *version = 3020;
    END(OK);
}

int cuCtxGetFlags(unsigned *flags) {
    BEGIN(0);
    CURRENT(c);
    if (!flags)
        END(E_VALUE);
    *flags = E.dev[c->dev].flags;
    END(OK);
}

int cuCtxSynchronize(void) {
    BEGIN(0);
    CURRENT(c);
    END(ctx_sync(c));
}

int cuCtxGetStreamPriorityRange(int *low, int *high) {
    BEGIN(0);
    CURRENT(c);
    (void)c;
    bool none = without(HALYARD_SIM_WITHOUT_PRIORITIES);
    if (low)
        *low = none ? 0 : face.low;
    if (high)
        *high = none ? 0 : face.high;
    END(OK);
}

int cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    BEGIN(0);
    CURRENT(c);
    struct ctx *p = ctx_of(num(peer), &state_);
    if (!p)
        END(state_);
    END(flags ? E_VALUE : p == c ? E_CONTEXT : peer_enable(c, p->dev));
}

int cuCtxDisablePeerAccess(CUcontext peer) {
    BEGIN(CALL_CLEANUP);
    CURRENT_QUIET(c);
    struct ctx *p = ctx_of(num(peer), &state_);
    if (!p)
        END(state_);
    END(peer_disable(c, p->dev));
}

/* ---- memory ---- */

int cuMemGetInfo_v2(size_t *avail, size_t *total) {
    BEGIN(0);
    CURRENT(c);
    END(engine_mem_info(c, avail, total));
}

int cuMemAlloc_v2(ptr *out, size_t size) {
    BEGIN(0);
    CURRENT(c);
    END(engine_alloc(c, DEVICE, size, 0, out));
}

int cuMemAllocPitch_v2(ptr *out, size_t *pitch, size_t width, size_t height, unsigned element) {
    BEGIN(0);
    CURRENT(c);
    if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16) || width > 1ull << 40)
        END(E_VALUE);
    *pitch = (width + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    u64 size;
    if (__builtin_mul_overflow(*pitch, height, &size))
        END(E_MEMORY);
    END(engine_alloc(c, DEVICE, size, 0, out));
}

int cuMemFree_v2(ptr addr) {
    BEGIN(CALL_CLEANUP);
    CURRENT_QUIET(c);
    END(addr ? engine_free(c, addr, DEVICE) : OK);
}

int cuMemHostAlloc(void **out, size_t size, unsigned flags) {
    BEGIN(0);
    CURRENT(c);
    if (!out || flags & ~7u)
        END(E_VALUE);
    u64 addr = 0;
    int code = engine_alloc(c, HOST, size, flags, &addr);
    if (code == OK)
        *out = opaque(addr);
    END(code);
}

int cuMemAllocHost_v2(void **out, size_t size) {
    BEGIN(0);
    CURRENT(c);
    if (!out)
        END(E_VALUE);
    u64 addr = 0;
    int code = engine_alloc(c, HOST, size, 0, &addr);
    if (code == OK)
        *out = opaque(addr);
    END(code);
}

int cuMemFreeHost(void *addr) {
    BEGIN(CALL_CLEANUP);
    CURRENT_QUIET(c);
    END(addr ? engine_free(c, num(addr), HOST) : E_VALUE);
}

int cuMemHostRegister_v2(void *addr, size_t size, unsigned flags) {
    BEGIN(0);
    CURRENT(c);
    END(flags & ~15u ? E_VALUE : engine_register(c, num(addr), size, flags));
}

int cuMemHostUnregister(void *addr) {
    BEGIN(CALL_CLEANUP);
    CURRENT_QUIET(c);
    END(engine_unregister(c, num(addr)));
}

int cuMemHostGetDevicePointer_v2(ptr *out, void *addr, unsigned flags) {
    BEGIN(0);
    CURRENT(c);
    (void)c;
    END(flags ? E_VALUE : engine_device_pointer(num(addr), out));
}

int cuMemHostGetFlags(unsigned *flags, void *addr) {
    BEGIN(0);
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

int cuMemAllocManaged(ptr *out, size_t size, unsigned flags) {
    BEGIN(0);
    CURRENT(c);
    END(flags != 1 && flags != 2 ? E_VALUE : engine_alloc(c, MANAGED, size, flags, out));
}

int cuMemGetAddressRange_v2(ptr *base, size_t *size, ptr addr) {
    BEGIN(0);
    CURRENT(c);
    (void)c;
    u64 off;
    bool alias;
    struct block *b = block_find(addr, &off, &alias);
    if (!b || b->freed)
        END(E_NOT_FOUND);
    if (base)
        *base = addr - off;
    if (size)
        *size = b->size;
    END(OK);
}

int cuMemAllocAsync(ptr *out, size_t size, CUstream stream) {
    BEGIN(0);
    STREAM(c, s, stream);
    END(engine_alloc_async(s, size, out));
}

int cuMemFreeAsync(ptr addr, CUstream stream) {
    BEGIN(CALL_CLEANUP);
    CURRENT_QUIET(c);
    struct stream *s = stream_quiet(c, num(stream), &state_);
    if (!s)
        END(state_);
    END(addr ? engine_free_async(s, addr) : E_VALUE);
}

static int get_pool(CUmemoryPool *out, int dev) {
    u64 pool = 0;
    int code = out ? pool_default(dev, &pool) : E_VALUE;
    if (code == OK)
        *out = opaque(pool);
    return code;
}

int cuDeviceGetDefaultMemPool(CUmemoryPool *out, int dev) {
    BEGIN(0);
    END(get_pool(out, dev));
}

int cuDeviceGetMemPool(CUmemoryPool *out, int dev) {
    BEGIN(0);
    END(get_pool(out, dev));
}

int cuMemPoolGetAttribute(CUmemoryPool pool, int which, void *value) {
    BEGIN(0);
    END(pool_get(num(pool), which, value));
}

int cuMemPoolSetAttribute(CUmemoryPool pool, int which, const void *value) {
    BEGIN(0);
    END(pool_set(num(pool), which, value));
}

int cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    BEGIN(0);
    (void)keep;
    END(pool_device(num(pool)) < 0 ? E_VALUE : OK);
}

int cuMemAllocFromPoolAsync(ptr *out, size_t size, CUmemoryPool pool, CUstream stream) {
    BEGIN(0);
    STREAM(c, s, stream);
    END(pool_device(num(pool)) != s->ctx->dev ? E_VALUE : engine_alloc_async(s, size, out));
}

int cuMemPrefetchAsync(ptr addr, size_t n, int dev, CUstream stream) {
    BEGIN(0);
    STREAM(c, s, stream);
    END(engine_prefetch(s, addr, n, dev));
}

int cuMemPrefetchAsync_v2(ptr addr, size_t n, CUmemLocation to, unsigned flags, CUstream stream) {
    BEGIN(0);
    STREAM(c, s, stream);
    if (flags || to.type < 1 || to.type > 4)
        END(E_VALUE);
    END(engine_prefetch(s, addr, n, to.type == 1 ? to.id : -1));
}

int cuPointerGetAttribute(void *data, int which, ptr addr) {
    BEGIN(0);
    CURRENT(c);
    (void)c;
    END(engine_pointer(data, which, addr));
}

/* ---- between processes ---- */

int cuIpcGetMemHandle(CUipcMemHandle *handle, ptr addr) {
    BEGIN(0);
    CURRENT(c);
    END(handle ? ipc_export(c, addr, handle->reserved) : E_VALUE);
}

int cuIpcOpenMemHandle_v2(ptr *out, CUipcMemHandle handle, unsigned flags) {
    BEGIN(0);
    CURRENT(c);
    END(!out || flags != 1 ? E_VALUE : ipc_import(c, handle.reserved, out));
}

int cuIpcCloseMemHandle(ptr addr) {
    BEGIN(CALL_CLEANUP);
    CURRENT_QUIET(c);
    END(ipc_close(c, addr));
}

/* ---- copies ---- */

#define COPY_ASYNC(kind)                                                                           \
    BEGIN(0);                                                                                      \
    STREAM(c, s, stream);                                                                          \
    END(engine_copy1(s, (u64)(uintptr_t)dst, (u64)(uintptr_t)src, n, kind, false))

#define COPY_SYNC(kind)                                                                            \
    BEGIN(0);                                                                                      \
    DEFAULT_STREAM(c, s);                                                                          \
    END(engine_copy1(s, (u64)(uintptr_t)dst, (u64)(uintptr_t)src, n, kind, true))

int cuMemcpyHtoDAsync_v2(ptr dst, const void *src, size_t n, CUstream stream) {
    COPY_ASYNC(COPY_H2D);
}

int cuMemcpyDtoHAsync_v2(void *dst, ptr src, size_t n, CUstream stream) {
    COPY_ASYNC(COPY_D2H);
}

int cuMemcpyDtoDAsync_v2(ptr dst, ptr src, size_t n, CUstream stream) {
    COPY_ASYNC(COPY_D2D);
}

int cuMemcpyAsync(ptr dst, ptr src, size_t n, CUstream stream) {
    COPY_ASYNC(COPY_ANY);
}

int cuMemcpyHtoD_v2(ptr dst, const void *src, size_t n) {
    COPY_SYNC(COPY_H2D);
}

int cuMemcpyDtoH_v2(void *dst, ptr src, size_t n) {
    COPY_SYNC(COPY_D2H);
}

int cuMemcpyDtoD_v2(ptr dst, ptr src, size_t n) {
    COPY_SYNC(COPY_D2D);
}

int cuMemcpy(ptr dst, ptr src, size_t n) {
    COPY_SYNC(COPY_ANY);
}

static int copy_peer(struct stream *s, ptr dst, CUcontext dctx, ptr src, CUcontext sctx, size_t n, bool sync) {
    int code;
    struct ctx *d = ctx_of(num(dctx), &code);
    if (!d)
        return code;
    struct ctx *f = ctx_of(num(sctx), &code);
    if (!f)
        return code;
    struct rect r = {.dst = dst, .src = src, .width = n, .rows = 1, .dpitch = n, .spitch = n, .dstdev = d->dev, .srcdev = f->dev};
    return engine_copy(s, &r, COPY_PEER, sync);
}

int cuMemcpyPeerAsync(ptr dst, CUcontext dctx, ptr src, CUcontext sctx, size_t n, CUstream stream) {
    BEGIN(0);
    STREAM(c, s, stream);
    END(copy_peer(s, dst, dctx, src, sctx, n, false));
}

int cuMemcpyPeer(ptr dst, CUcontext dctx, ptr src, CUcontext sctx, size_t n) {
    BEGIN(0);
    DEFAULT_STREAM(c, s);
    END(copy_peer(s, dst, dctx, src, sctx, n, true));
}

static int copy_2d(struct stream *s, const CUDA_MEMCPY2D *p, bool sync) {
    if (!p || p->srcMemoryType < 1 || p->srcMemoryType > 4 || p->dstMemoryType < 1 || p->dstMemoryType > 4)
        return E_VALUE;
    if (p->srcMemoryType == 3 || p->dstMemoryType == 3)
        return E_SUPPORTED;
    bool shost = p->srcMemoryType == 1, dhost = p->dstMemoryType == 1;
    struct rect r = {
        .dst = (dhost ? num(p->dstHost) : p->dstDevice) + p->dstY * p->dstPitch + p->dstXInBytes,
        .src = (shost ? num(p->srcHost) : p->srcDevice) + p->srcY * p->srcPitch + p->srcXInBytes,
        .width = p->WidthInBytes,
        .rows = p->Height,
        .dpitch = p->dstPitch ? p->dstPitch : p->WidthInBytes,
        .spitch = p->srcPitch ? p->srcPitch : p->WidthInBytes,
        .dstdev = -1,
        .srcdev = -1,
    };
    bool any = p->srcMemoryType == 4 || p->dstMemoryType == 4;
    int kind = any ? COPY_ANY : dhost ? (shost ? COPY_H2H : COPY_D2H) : shost ? COPY_H2D : COPY_D2D;
    return engine_copy(s, &r, kind, sync);
}

int cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, CUstream stream) {
    BEGIN(0);
    STREAM(c, s, stream);
    END(copy_2d(s, p, false));
}

int cuMemcpy2D_v2(const CUDA_MEMCPY2D *p) {
    BEGIN(0);
    DEFAULT_STREAM(c, s);
    END(copy_2d(s, p, true));
}

int cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *p) {
    BEGIN(0);
    DEFAULT_STREAM(c, s);
    END(copy_2d(s, p, true));
}

/* ---- fills ---- */

#define FILL(name, type, width)                                                                    \
    int cuMemset##name##Async(ptr dst, type v, size_t n, CUstream stream) {                        \
        BEGIN(0);                                                                                  \
        STREAM(c, s, stream);                                                                      \
        END(n > 1ull << 46 ? E_VALUE : engine_fill(s, dst, v, width, n * width, 1, n * width, false)); \
    }                                                                                              \
    int cuMemset##name##_v2(ptr dst, type v, size_t n) {                                           \
        BEGIN(0);                                                                                  \
        DEFAULT_STREAM(c, s);                                                                      \
        END(n > 1ull << 46 ? E_VALUE : engine_fill(s, dst, v, width, n * width, 1, n * width, true)); \
    }

#define FILL_2D(name, type, width)                                                                 \
    int cuMemset##name##Async(ptr dst, size_t pitch, type v, size_t w, size_t h, CUstream stream) { \
        BEGIN(0);                                                                                  \
        STREAM(c, s, stream);                                                                      \
        END(w > 1ull << 46 ? E_VALUE : engine_fill(s, dst, v, width, w * width, h, pitch, false)); \
    }                                                                                              \
    int cuMemset##name##_v2(ptr dst, size_t pitch, type v, size_t w, size_t h) {                   \
        BEGIN(0);                                                                                  \
        DEFAULT_STREAM(c, s);                                                                      \
        END(w > 1ull << 46 ? E_VALUE : engine_fill(s, dst, v, width, w * width, h, pitch, true));  \
    }

FILL(D8, unsigned char, 1)
FILL(D16, unsigned short, 2)
FILL(D32, unsigned, 4)
FILL_2D(D2D8, unsigned char, 1)
FILL_2D(D2D16, unsigned short, 2)
FILL_2D(D2D32, unsigned, 4)

/* ---- streams ---- */

static int create_stream(CUstream *out, unsigned flags, int priority) {
    int code;
    struct ctx *c = ctx_current(&code);
    if (!c)
        return code;
    if (!out || flags & ~1u)
        return E_VALUE;
    *out = opaque(stream_new(c, flags, priority)->handle);
    return OK;
}

int cuStreamCreate(CUstream *out, unsigned flags) {
    BEGIN(0);
    END(create_stream(out, flags, 0));
}

int cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority) {
    BEGIN(0);
    END(create_stream(out, flags, priority));
}

int cuStreamDestroy_v2(CUstream stream) {
    BEGIN(CALL_CLEANUP);
    CURRENT_QUIET(c);
    END(stream_destroy(c, num(stream)));
}

int cuStreamSynchronize(CUstream stream) {
    BEGIN(0);
    STREAM(c, s, stream);
    END(stream_sync(s));
}

int cuStreamQuery(CUstream stream) {
    BEGIN(0);
    STREAM(c, s, stream);
    END(call_asked(stream_query(s)));
}

/* 1 is CU_STREAM_CAPTURE_STATUS_ACTIVE. */
int cuStreamIsCapturing(CUstream stream, int *status) {
    BEGIN(0);
    STREAM(c, s, stream);
    if (!status)
        END(E_VALUE);
    *status = s->capture != NULL;
    END(OK);
}

int cuStreamGetFlags(CUstream stream, unsigned *flags) {
    BEGIN(0);
    STREAM(c, s, stream);
    if (!flags)
        END(E_VALUE);
    *flags = s->flags;
    END(OK);
}

int cuStreamGetPriority(CUstream stream, int *priority) {
    BEGIN(0);
    STREAM(c, s, stream);
    if (!priority)
        END(E_VALUE);
    *priority = s->priority;
    END(OK);
}

int cuStreamGetCtx(CUstream stream, CUcontext *ctx) {
    BEGIN(0);
    CURRENT(c);
    struct stream *s = stream_any(c, num(stream), &state_);
    if (!s)
        END(state_);
    if (!ctx)
        END(E_VALUE);
    *ctx = opaque(s->ctx->handle);
    END(OK);
}

int cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    BEGIN(0);
    STREAM(c, s, stream);
    struct event *e = event_get(c, num(event), true, &state_);
    if (!e)
        END(state_);
    END(flags & ~1u ? E_VALUE : event_wait(e, s));
}

#define VALUE(name, type, width)                                                                   \
    int cuStreamWaitValue##name(CUstream stream, ptr addr, type v, unsigned flags) {               \
        BEGIN(0);                                                                                  \
        STREAM(c, s, stream);                                                                      \
        END(flags & ~3u ? E_VALUE : stream_wait_value(s, addr, v, UINT64_MAX, width, flags));      \
    }                                                                                              \
    int cuStreamWriteValue##name(CUstream stream, ptr addr, type v, unsigned flags) {              \
        BEGIN(0);                                                                                  \
        STREAM(c, s, stream);                                                                      \
        END(flags & ~1u ? E_VALUE : stream_write_value(s, addr, v, width));                        \
    }

VALUE(32, u32, 4)
VALUE(32_v2, u32, 4)
VALUE(64, u64, 8)
VALUE(64_v2, u64, 8)

int cuLaunchHostFunc(CUstream stream, void (*fn)(void *), void *arg) {
    BEGIN(0);
    STREAM(c, s, stream);
    END(stream_call(s, fn, NULL, arg, 0));
}

int cuStreamAddCallback(CUstream stream, void (*fn)(void *, int, void *), void *arg, unsigned flags) {
    BEGIN(0);
    STREAM(c, s, stream);
    END(flags ? E_VALUE : stream_call(s, NULL, fn, arg, num(stream)));
}

/* ---- modules and kernels ---- */

enum { ERROR_LOG = 5, ERROR_LOG_SIZE = 6 };

static int load(CUmodule *out, const void *image, unsigned n, const int *options, void **values) {
    int code;
    struct ctx *c = ctx_current(&code);
    char *log = NULL, text[256] = "";
    size_t len = 0;
    if (!c)
        return code;
    for (unsigned i = 0; i < n; i++) {
        if (options[i] == ERROR_LOG)
            log = values[i];
        else if (options[i] == ERROR_LOG_SIZE)
            len = (size_t)(unsigned)num(values[i]);
    }
    u64 handle = 0;
    code = out ? module_load(c, image, text, sizeof text, &handle) : E_VALUE;
    if (code == OK)
        *out = opaque(handle);
    if (log && len)
        snprintf(log, len, "%s", text);
    return code;
}

int cuModuleLoadData(CUmodule *out, const void *image) {
    BEGIN(0);
    END(load(out, image, 0, NULL, NULL));
}

int cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned n, int *options, void **values) {
    BEGIN(0);
    END(n && (!options || !values) ? E_VALUE : load(out, image, n, options, values));
}

int cuModuleUnload(CUmodule module) {
    BEGIN(CALL_CLEANUP);
    CURRENT_QUIET(c);
    END(module_unload(c, num(module)));
}

int cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name) {
    BEGIN(0);
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

int cuFuncGetAttribute(int *value, int which, CUfunction function) {
    BEGIN(0);
    FUNCTION(c, f, function);
    END(function_attribute(f, which, value));
}

int cuFuncSetAttribute(CUfunction function, int which, int value) {
    BEGIN(0);
    FUNCTION(c, f, function);
    END(function_set(f, which, value));
}

int cuFuncLoad(CUfunction function) {
    BEGIN(0);
    FUNCTION(c, f, function);
    END(f ? OK : E_HANDLE);
}

int cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size) {
    BEGIN(0);
    FUNCTION(c, f, function);
    if (!offset || index >= f->nparams)
        END(E_VALUE);
    *offset = f->param[index].off;
    if (size)
        *size = f->param[index].size;
    END(OK);
}

int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function, size_t (*shared)(int), size_t dynamic, int limit) {
    BEGIN(0);
    FUNCTION(c, f, function);
    END(shared ? E_SUPPORTED : function_occupancy(f, dynamic, limit, grid, block));
}

int cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, CUstream stream, void **params, void **extra) {
    BEGIN(0);
    STREAM(c, s, stream);
    struct function *f = function_get(c, num(function), &state_);
    if (!f)
        END(state_);
    END(engine_launch(s, f, (u32[]){gx, gy, gz}, (u32[]){bx, by, bz}, shared, params, extra));
}

/* ---- graphs ---- */

int cuStreamBeginCapture_v2(CUstream stream, int mode) {
    BEGIN(0);
    STREAM(c, s, stream);
    END(capture_begin(s, mode));
}

int cuStreamEndCapture(CUstream stream, CUgraph *out) {
    BEGIN(0);
    STREAM(c, s, stream);
    u64 handle = 0;
    int code = capture_end(s, out ? &handle : NULL);
    if (code == OK)
        *out = opaque(handle);
    END(code);
}

int cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags) {
    BEGIN(0);
    CURRENT(c);
    u64 handle = 0;
    int code = flags ? E_VALUE : graph_instantiate(c, num(graph), out ? &handle : NULL);
    if (code == OK)
        *out = opaque(handle);
    END(code);
}

int cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    BEGIN(0);
    STREAM(c, s, stream);
    END(graph_launch(s, num(exec)));
}

int cuGraphExecDestroy(CUgraphExec exec) {
    BEGIN(CALL_CLEANUP);
    CURRENT_QUIET(c);
    END(graph_destroy(c, num(exec), H_EXEC));
}

int cuGraphDestroy(CUgraph graph) {
    BEGIN(CALL_CLEANUP);
    CURRENT_QUIET(c);
    END(graph_destroy(c, num(graph), H_GRAPH));
}

/* ---- events ---- */

int cuEventCreate(CUevent *out, unsigned flags) {
    BEGIN(0);
    CURRENT(c);
    u64 handle = 0;
    int code = !out || flags & ~7u || (flags & 4 && !(flags & 2)) ? E_VALUE : event_new(c, flags, &handle);
    if (code == OK)
        *out = opaque(handle);
    END(code);
}

int cuEventDestroy_v2(CUevent event) {
    BEGIN(CALL_CLEANUP);
    CURRENT_QUIET(c);
    END(event_destroy(c, num(event)));
}

static int record(struct ctx *c, CUevent event, CUstream stream) {
    int code;
    struct event *e = event_get(c, num(event), false, &code);
    if (!e)
        return code;
    struct stream *s = stream_get(c, num(stream), &code);
    return s ? event_record(e, s) : code;
}

int cuEventRecord(CUevent event, CUstream stream) {
    BEGIN(0);
    CURRENT(c);
    END(record(c, event, stream));
}

int cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
    BEGIN(0);
    CURRENT(c);
    END(flags ? E_VALUE : record(c, event, stream));
}

int cuEventQuery(CUevent event) {
    BEGIN(0);
    CURRENT(c);
    struct event *e = event_get(c, num(event), false, &state_);
    END(e ? call_asked(event_query(e)) : state_);
}

int cuEventSynchronize(CUevent event) {
    BEGIN(0);
    CURRENT(c);
    struct event *e = event_get(c, num(event), false, &state_);
    END(e ? event_sync(e) : state_);
}

static int elapsed(struct ctx *c, float *ms, CUevent from, CUevent to) {
    int code;
    struct event *a = event_get(c, num(from), true, &code);
    struct event *b = a ? event_get(c, num(to), true, &code) : NULL;
    return b ? event_elapsed(a, b, ms) : code;
}

int cuEventElapsedTime(float *ms, CUevent from, CUevent to) {
    BEGIN(0);
    CURRENT(c);
    END(elapsed(c, ms, from, to));
}

int cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to) {
    BEGIN(0);
    CURRENT(c);
    END(elapsed(c, ms, from, to));
}

/* ---- names ---- */

static const struct {
    int code;
    const char *name, *text;
} codes[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {4, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "stub library"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "no device"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "invalid image"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {208, "CUDA_ERROR_ALREADY_MAPPED", "already mapped"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no binary for the device"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error"},
    {215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "unsupported limit"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access unsupported"},
    {218, "CUDA_ERROR_INVALID_PTX", "invalid PTX"},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "uncorrectable NVLink error"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "unsupported PTX version"},
    {300, "CUDA_ERROR_INVALID_SOURCE", "invalid source"},
    {301, "CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "operating system error"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "illegal state"},
    {500, "CUDA_ERROR_NOT_FOUND", "not found"},
    {600, "CUDA_ERROR_NOT_READY", "not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "illegal address"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "out of resources"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "launch timed out"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access already enabled"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access not enabled"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "primary context active"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "context destroyed"},
    {710, "CUDA_ERROR_ASSERT", "device assertion"},
    {711, "CUDA_ERROR_TOO_MANY_PEERS", "too many peers"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "host memory already registered"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "host memory not registered"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "illegal instruction"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "invalid address space"},
    {718, "CUDA_ERROR_INVALID_PC", "invalid program counter"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "launch failed"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not ready"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "driver mismatch"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "compatibility not supported"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "capture unsupported"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "capture invalidated"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "capture merge"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture unmatched"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capture unjoined"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "capture isolation"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "capture implicit"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "captured event"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "capture on another thread"},
    {909, "CUDA_ERROR_TIMEOUT", "timed out"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "graph update failed"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

static int code_text(int code, const char **out, bool name) {
    if (!out)
        return E_VALUE;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (codes[i].code == code) {
            *out = name ? codes[i].name : codes[i].text;
            return OK;
        }
    }
    *out = NULL;
    return E_VALUE;
}

int cuGetErrorName(int code, const char **out) {
    return code_text(code, out, true);
}

int cuGetErrorString(int code, const char **out) {
    return code_text(code, out, false);
}

/* ---- entry points by name ---- */

/* Names whose newest form is returned only for this version of CUDA and later ones. */
static const struct {
    const char *name, *exported;
    int since;
} newer[] = {
    {"cuGetProcAddress", "cuGetProcAddress_v2", 12000},
    {"cuStreamWaitValue32", "cuStreamWaitValue32_v2", 11070},
    {"cuStreamWriteValue32", "cuStreamWriteValue32_v2", 11070},
    {"cuStreamWaitValue64", "cuStreamWaitValue64_v2", 11070},
    {"cuStreamWriteValue64", "cuStreamWriteValue64_v2", 11070},
    {"cuDeviceGetUuid", "cuDeviceGetUuid_v2", 11040},
    {"cuDevicePrimaryCtxRelease", "cuDevicePrimaryCtxRelease_v2", 11000},
    {"cuDevicePrimaryCtxReset", "cuDevicePrimaryCtxReset_v2", 11000},
    {"cuDevicePrimaryCtxSetFlags", "cuDevicePrimaryCtxSetFlags_v2", 11000},
    {"cuIpcOpenMemHandle", "cuIpcOpenMemHandle_v2", 11000},
    {"cuMemPrefetchAsync", "cuMemPrefetchAsync_v2", 13000},
    {"cuEventElapsedTime", "cuEventElapsedTime_v2", 13000},
};

static int proc_address(const char *symbol, void **out, int version, int *status) {
    Dl_info self_info;
    if (!symbol || !out)
        return E_VALUE;
    *out = NULL;
    if (status)
        *status = 1;
    if (!dladdr((void *)cuInit, &self_info))
        return E_NOT_FOUND;
    void *lib = dlopen(self_info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    if (!lib)
        return E_NOT_FOUND;
    char exported[128];
    bool listed = false;
    for (size_t i = 0; i < sizeof newer / sizeof *newer && !*out; i++) {
        if (strcmp(newer[i].name, symbol))
            continue;
        listed = true;
        if (version >= newer[i].since)
            *out = dlsym(lib, newer[i].exported);
    }
    if (!*out && !listed && snprintf(exported, sizeof exported, "%s_v2", symbol) < (int)sizeof exported)
        *out = dlsym(lib, exported);
    if (!*out && !strncmp(symbol, "cu", 2))
        *out = dlsym(lib, symbol);
    dlclose(lib);
    if (status)
        *status = *out ? 0 : 1;
    return *out ? OK : E_NOT_FOUND;
}

int cuGetProcAddress(const char *symbol, void **out, int version, u64 flags) {
    (void)flags;
    return proc_address(symbol, out, version, NULL);
}

int cuGetProcAddress_v2(const char *symbol, void **out, int version, u64 flags, int *status) {
    (void)flags;
    int code = proc_address(symbol, out, version, status);
    return status ? OK : code; /* if the caller passes a status, an unknown name is not an error of the call */
}
