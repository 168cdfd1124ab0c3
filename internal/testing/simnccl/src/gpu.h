/* The calls of the simulated driver that the library makes. Only their names differ between CUDA and HIP. */
#ifndef GPU_H
#define GPU_H

#include <stddef.h>

typedef void *gpu_stream;
typedef void *gpu_event;

#ifdef SIMULATE_RCCL
#define LIBRARY "simulated RCCL"
typedef int gpu_ctx;

int hipGetDevice(int *dev);
int hipSetDevice(int dev);
int hipHostMalloc(void **out, size_t n, unsigned flags);
int hipHostFree(void *p);
int hipMemcpyAsync(void *dst, const void *src, size_t n, int kind, gpu_stream s);
int hipLaunchHostFunc(gpu_stream s, void (*fn)(void *), void *arg);
int hipStreamWaitValue32(gpu_stream s, void *addr, unsigned v, unsigned flags, unsigned mask);
int hipEventCreateWithFlags(gpu_event *e, unsigned flags);
int hipEventRecord(gpu_event e, gpu_stream s);
int hipEventQuery(gpu_event e);
int hipEventDestroy(gpu_event e);

static inline int gpu_current(gpu_ctx *c, int *dev) {
    int rc = hipGetDevice(dev);
    *c = *dev;
    return rc;
}
static inline int gpu_set(gpu_ctx c) { return hipSetDevice(c); }
static inline int gpu_alloc(void **p, size_t n) { return hipHostMalloc(p, n, 0); }
static inline int gpu_free(void *p) { return hipHostFree(p); }
static inline int gpu_down(void *dst, const void *src, size_t n, gpu_stream s) { return hipMemcpyAsync(dst, src, n, 2, s); }
static inline int gpu_up(void *dst, const void *src, size_t n, gpu_stream s) { return hipMemcpyAsync(dst, src, n, 1, s); }
static inline int gpu_call(gpu_stream s, void (*fn)(void *), void *arg) { return hipLaunchHostFunc(s, fn, arg); }
static inline int gpu_wait(gpu_stream s, void *word) { return hipStreamWaitValue32(s, word, 1, 0, ~0u); }
static inline int gpu_event_new(gpu_event *e) { return hipEventCreateWithFlags(e, 2); }
static inline int gpu_record(gpu_event e, gpu_stream s) { return hipEventRecord(e, s); }
static inline int gpu_query(gpu_event e) { return hipEventQuery(e); }
static inline int gpu_event_free(gpu_event e) { return hipEventDestroy(e); }
#else
#define LIBRARY "simulated NCCL"
typedef void *gpu_ctx;

int cuCtxGetCurrent(void **ctx);
int cuCtxSetCurrent(void *ctx);
int cuCtxGetDevice(int *dev);
int cuMemHostAlloc(void **out, size_t n, unsigned flags);
int cuMemFreeHost(void *p);
int cuMemcpyDtoHAsync_v2(void *dst, unsigned long long src, size_t n, gpu_stream s);
int cuMemcpyHtoDAsync_v2(unsigned long long dst, const void *src, size_t n, gpu_stream s);
int cuLaunchHostFunc(gpu_stream s, void (*fn)(void *), void *arg);
int cuStreamWaitValue32_v2(gpu_stream s, unsigned long long addr, unsigned v, unsigned flags);
int cuEventCreate(gpu_event *e, unsigned flags);
int cuEventRecord(gpu_event e, gpu_stream s);
int cuEventQuery(gpu_event e);
int cuEventDestroy_v2(gpu_event e);

static inline int gpu_current(gpu_ctx *c, int *dev) {
    int rc = cuCtxGetCurrent(c);
    return rc ? rc : !*c ? 201 : cuCtxGetDevice(dev);
}
static inline int gpu_set(gpu_ctx c) { return cuCtxSetCurrent(c); }
static inline int gpu_alloc(void **p, size_t n) { return cuMemHostAlloc(p, n, 1); }
static inline int gpu_free(void *p) { return cuMemFreeHost(p); }
static inline int gpu_down(void *dst, const void *src, size_t n, gpu_stream s) {
    return cuMemcpyDtoHAsync_v2(dst, (unsigned long long)src, n, s);
}
static inline int gpu_up(void *dst, const void *src, size_t n, gpu_stream s) {
    return cuMemcpyHtoDAsync_v2((unsigned long long)dst, src, n, s);
}
static inline int gpu_call(gpu_stream s, void (*fn)(void *), void *arg) { return cuLaunchHostFunc(s, fn, arg); }
static inline int gpu_wait(gpu_stream s, void *word) { return cuStreamWaitValue32_v2(s, (unsigned long long)word, 1, 0); }
static inline int gpu_event_new(gpu_event *e) { return cuEventCreate(e, 2); }
static inline int gpu_record(gpu_event e, gpu_stream s) { return cuEventRecord(e, s); }
static inline int gpu_query(gpu_event e) { return cuEventQuery(e); }
static inline int gpu_event_free(gpu_event e) { return cuEventDestroy_v2(e); }
#endif

#define NOT_READY 600

#endif
