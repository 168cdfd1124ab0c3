/*
 * Drives the simulated CUDA driver from several threads at once, linked into one
 * program with it, so that the compiler's sanitizers see both. It checks bytes,
 * and prints "done" if all went well.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/sim.h"

typedef uint64_t ptr;
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void **, int);
int cuDevicePrimaryCtxRelease_v2(int);
int cuCtxSetCurrent(void *);
int cuCtxSynchronize(void);
int cuMemAlloc_v2(ptr *, size_t);
int cuMemFree_v2(ptr);
int cuMemAllocAsync(ptr *, size_t, void *);
int cuMemFreeAsync(ptr, void *);
int cuMemHostAlloc(void **, size_t, unsigned);
int cuMemFreeHost(void *);
int cuMemHostRegister_v2(void *, size_t, unsigned);
int cuMemHostUnregister(void *);
int cuMemcpyHtoDAsync_v2(ptr, const void *, size_t, void *);
int cuMemcpyDtoHAsync_v2(void *, ptr, size_t, void *);
int cuMemcpyDtoDAsync_v2(ptr, ptr, size_t, void *);
int cuMemsetD8Async(ptr, unsigned char, size_t, void *);
int cuStreamCreate(void **, unsigned);
int cuStreamDestroy_v2(void *);
int cuStreamSynchronize(void *);
int cuStreamQuery(void *);
int cuStreamWaitEvent(void *, void *, unsigned);
int cuStreamWaitValue32_v2(void *, ptr, uint32_t, unsigned);
int cuLaunchHostFunc(void *, void (*)(void *), void *);
int cuEventCreate(void **, unsigned);
int cuEventDestroy_v2(void *);
int cuEventRecord(void *, void *);
int cuEventSynchronize(void *);
int cuEventQuery(void *);

enum { THREADS = 4, ROUNDS = 12, SIZE = 20000 };

static void *ctx[2];
static atomic_int failures, called;

#define MUST(call)                                                                                 \
    do {                                                                                           \
        int code_ = (call);                                                                        \
        if (code_ && !atomic_fetch_add(&failures, 1))                                              \
            fprintf(stderr, "line %d: %s = %d\n", __LINE__, #call, code_);                         \
    } while (0)

static void note(void *arg) {
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void *orderly(void *arg) {
    int me = (int)(intptr_t)arg;
    unsigned char *mine = malloc(SIZE);
    for (int round = 0; round < ROUNDS; round++) {
        void *s1, *s2, *e, *word, *pinned;
        ptr a, b, c;
        MUST(cuCtxSetCurrent(ctx[(me + round) % 2]));
        MUST(cuStreamCreate(&s1, 1));
        MUST(cuStreamCreate(&s2, 1));
        MUST(cuEventCreate(&e, 2));
        MUST(cuMemAlloc_v2(&a, SIZE));
        MUST(cuMemAlloc_v2(&b, SIZE));
        MUST(cuMemHostAlloc(&word, 8, 1));
        MUST(cuMemHostAlloc(&pinned, SIZE, 1));
        MUST(cuMemHostRegister_v2(mine, SIZE, 1));
        memset(mine, me * 16 + round, SIZE);
        memset(pinned, 0, SIZE);
        atomic_store((_Atomic uint32_t *)word, 0);
        MUST(cuStreamWaitValue32_v2(s1, (ptr)(uintptr_t)word, 1, 0));
        MUST(cuMemcpyHtoDAsync_v2(a, mine, SIZE, s1));
        MUST(cuEventRecord(e, s1));
        MUST(cuStreamWaitEvent(s2, e, 0));
        MUST(cuMemAllocAsync(&c, SIZE, s2));
        MUST(cuMemcpyDtoDAsync_v2(c, a, SIZE, s2));
        MUST(cuMemcpyDtoDAsync_v2(b, c, SIZE, s2));
        MUST(cuMemFreeAsync(c, s2));
        MUST(cuMemcpyDtoHAsync_v2(pinned, b, SIZE, s2));
        MUST(cuLaunchHostFunc(s2, note, &called));
        if (cuStreamQuery(s2) != 600 || cuEventQuery(e) != 600)
            atomic_fetch_add(&failures, 1);
        atomic_store((_Atomic uint32_t *)word, 1);
        MUST(cuEventSynchronize(e));
        MUST(cuStreamSynchronize(s2));
        MUST(cuStreamSynchronize(s1));
        if (memcmp(pinned, mine, SIZE))
            atomic_fetch_add(&failures, 1);
        MUST(cuMemHostUnregister(mine));
        unsigned char near[64];
        MUST(cuMemcpyHtoDAsync_v2(a, near, 0, s1));
        MUST(cuMemcpyDtoHAsync_v2(near, b, sizeof near, s2));
        if (near[63] != (unsigned char)(me * 16 + round))
            atomic_fetch_add(&failures, 1);
        MUST(cuMemFree_v2(a));
        MUST(cuMemFree_v2(b));
        MUST(cuMemFreeHost(word));
        MUST(cuMemFreeHost(pinned));
        MUST(cuEventDestroy_v2(e));
        MUST(cuStreamDestroy_v2(s1));
        MUST(cuStreamDestroy_v2(s2));
    }
    free(mine);
    return NULL;
}

/* Makes mistakes and meets faults; nothing may crash. */
static void *careless(void *arg) {
    unsigned seed = (unsigned)(intptr_t)arg * 977 + 1;
    char text[4096];
    void *s[3], *e[3];
    ptr a[4];
    unsigned char *host = malloc(SIZE);
    memset(s, 0, sizeof s);
    memset(e, 0, sizeof e);
    memset(a, 0, sizeof a);
    for (int i = 0; i < 600; i++) {
        seed = seed * 1664525 + 1013904223;
        unsigned r = seed >> 8, x = r % 3, y = r / 3 % 4, n = r / 12 % SIZE;
        switch (r / 7 % 18) {
        case 0: cuMemAlloc_v2(&a[y], n); break;
        case 1: cuMemFree_v2(a[y]); break;
        case 2: cuStreamCreate(&s[x], r & 1); break;
        case 3: cuStreamDestroy_v2(s[x]); break;
        case 4: cuEventCreate(&e[x], 0); break;
        case 5: cuEventDestroy_v2(e[x]); break;
        case 6: cuEventRecord(e[x], s[y % 3]); break;
        case 7: cuStreamWaitEvent(s[x], e[y % 3], 0); break;
        case 8: cuMemsetD8Async(a[y], 1, n, s[x]); break;
        case 9: cuMemcpyHtoDAsync_v2(a[y], host, n, s[x]); break;
        case 10: cuMemcpyDtoHAsync_v2(host, a[y], n, s[x]); break;
        case 11: cuMemcpyDtoDAsync_v2(a[y], a[x], n, s[x]); break;
        case 12: cuCtxSetCurrent(ctx[r & 1]); break;
        case 13: cuMemAllocAsync(&a[y], n, s[x]); break;
        case 14: cuMemFreeAsync(a[y], s[x]); break;
        case 15: halyard_sim_violations(text, sizeof text); halyard_sim_leaks(text, sizeof text); break;
        case 16: if (r % 5 == 0) halyard_sim_fail_call(3, 999); break;
        case 17: cuEventQuery(e[x]); halyard_sim_calls(text, sizeof text); break;
        }
    }
    cuCtxSynchronize();
    free(host);
    return NULL;
}

static void start(uint64_t seed) {
    MUST(halyard_sim_reset(seed));
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&ctx[0], 0));
    MUST(cuDevicePrimaryCtxRetain(&ctx[1], 1));
}

int main(void) {
    static char text[HALYARD_SIM_TEXT];
    for (uint64_t seed = 0; seed < 6; seed++) {
        pthread_t t[THREADS];
        start(seed);
        for (int i = 0; i < THREADS; i++)
            pthread_create(&t[i], NULL, orderly, (void *)(intptr_t)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(t[i], NULL);
        cuDevicePrimaryCtxRelease_v2(0);
        cuDevicePrimaryCtxRelease_v2(1);
        if (halyard_sim_violations(text, sizeof text) || halyard_sim_leaks(text + strlen(text), 1024)) {
            atomic_fetch_add(&failures, 1);
            fprintf(stderr, "seed %d: %s\n", (int)seed, text);
        }
        start(seed);
        for (int i = 0; i < THREADS; i++)
            pthread_create(&t[i], NULL, careless, (void *)(intptr_t)(i + 10 * (int)seed));
        if (seed % 2)
            halyard_sim_reset(seed); /* while the threads run */
        for (int i = 0; i < THREADS; i++)
            pthread_join(t[i], NULL);
    }
    halyard_sim_reset(0);
    if (atomic_load(&called) != 6 * THREADS * ROUNDS)
        atomic_fetch_add(&failures, 1);
    if (atomic_load(&failures))
        return 1;
    puts("done");
    return 0;
}
