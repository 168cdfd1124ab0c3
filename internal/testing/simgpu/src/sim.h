/*
 * Control interface of Halyard's simulated vendor GPU drivers.
 *
 * Each simulated library (libcuda.so.1, libamdhip64.so.6) exports the vendor's own calls and the
 * functions below. A program that finds halyard_sim_version knows that it runs on a simulation.
 * Every library contains its own engine: two libraries share nothing, and neither do two copies of
 * one library that are loaded under different paths.
 *
 * Environment, read once at the first call of any kind:
 *
 *   HALYARD_SIM_DEVICES       number of devices, 0 to 16 (2)
 *   HALYARD_SIM_MEMORY        bytes of memory of each device (256 MiB)
 *   HALYARD_SIM_HOST_MEMORY   bytes of page-locked and managed memory (1 GiB)
 *   HALYARD_SIM_SEED          seed of the scheduler; 0 runs work in order (0)
 *   HALYARD_SIM_FREE          1: work costs nothing and moves no bytes (0)
 *   HALYARD_SIM_VALIDATE      0: no race detection (1)
 *   HALYARD_SIM_LINK          bytes per millisecond between host and devices (0: no limit)
 *   HALYARD_SIM_PAGEABLE      the same for pageable memory on a limited link (0: as page-locked)
 *   HALYARD_SIM_WITHOUT       comma-separated abilities that the devices lack:
 *                             peer pools wait-value managed concurrent-managed
 *                             host-register registered-pointer priorities
 *                             host-func ipc prefetch mem-info answers alignment
 *                             address pointer-query host-launch discrete-memory
 *                             fresh-events; the enum below says what each means
 *   HALYARD_SIM_FAIL_CALL     n:code, the n-th call fails with that code
 *   HALYARD_SIM_FAIL_ALLOC    n, the n-th allocation finds no memory
 *   HALYARD_SIM_STICKY        n:code, that sticky error appears before the n-th call
 *   HALYARD_SIM_LOST          n:device, that device is lost before the n-th call
 *
 * All functions may be called from any thread, but not from a host callback of
 * the simulated driver.
 */
#ifndef HALYARD_SIM_H
#define HALYARD_SIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. */
#define HALYARD_SIM_VERSION 1

/* A buffer of this size holds the longest text that any call here returns. */
#define HALYARD_SIM_TEXT (256 * 1024)

int halyard_sim_version(void);

/* Name of the simulation: "simulated CUDA driver" or "simulated HIP driver". */
const char *halyard_sim_name(void);

/*
 * Forget everything: handles, memory, contexts, violations, counters and planned faults. Settings
 * made by halyard_sim_set take effect, and the scheduler starts from the seed. Handles made before
 * are refused from now on. Other threads that wait inside the driver return with error 4. Returns
 * 0, or -1 if a host callback does not end within ten seconds; then nothing is forgotten.
 */
int halyard_sim_reset(uint64_t seed);

/*
 * Settings: "devices", "memory", "host_memory" and "without" (a mask of
 * HALYARD_SIM_WITHOUT_*) take effect at the next reset; "free", "validate",
 * "link" and "pageable" at once. Returns 0, or -1 for an unknown name or a bad value.
 */
int halyard_sim_set(const char *name, uint64_t value);

/* Bits of the setting "without", in the order of HALYARD_SIM_WITHOUT above. */
enum {
    HALYARD_SIM_WITHOUT_PEER = 1 << 0,
    HALYARD_SIM_WITHOUT_POOLS = 1 << 1,
    HALYARD_SIM_WITHOUT_WAIT_VALUE = 1 << 2,
    HALYARD_SIM_WITHOUT_MANAGED = 1 << 3,
    HALYARD_SIM_WITHOUT_CONCURRENT_MANAGED = 1 << 4,
    HALYARD_SIM_WITHOUT_HOST_REGISTER = 1 << 5,
    HALYARD_SIM_WITHOUT_REGISTERED_POINTER = 1 << 6,
    HALYARD_SIM_WITHOUT_PRIORITIES = 1 << 7,
    HALYARD_SIM_WITHOUT_HOST_FUNC = 1 << 8,
    HALYARD_SIM_WITHOUT_IPC = 1 << 9,
    HALYARD_SIM_WITHOUT_PREFETCH = 1 << 10,
    HALYARD_SIM_WITHOUT_MEM_INFO = 1 << 11,
    /* Queries of the UUID, the bus address and the attribute for waiting on a word return 801. */
    HALYARD_SIM_WITHOUT_ANSWERS = 1 << 12,
    /* Addresses of allocations are odd multiples of 16. */
    HALYARD_SIM_WITHOUT_ALIGNMENT = 1 << 13,
    /* Allocations report success, give a null pointer, and allocate nothing. */
    HALYARD_SIM_WITHOUT_ADDRESS = 1 << 14,
    /* The call for an attribute of an address returns 801. */
    HALYARD_SIM_WITHOUT_POINTER_QUERY = 1 << 15,
    /* cuLaunchHostFunc and hipLaunchHostFunc return 801; the older call for stream callbacks works. */
    HALYARD_SIM_WITHOUT_HOST_LAUNCH = 1 << 16,
    /* The devices say that they are integrated. */
    HALYARD_SIM_WITHOUT_DISCRETE_MEMORY = 1 << 17,
    /* An event that was never recorded is not ready, for ever. */
    HALYARD_SIM_WITHOUT_FRESH_EVENTS = 1 << 18
};

/*
 * Faults. Every call counts that can fail in a real driver: all except those for error names,
 * hipGetLastError, hipPeekAtLastError and cuGetProcAddress. Numbers start at 1 for the next call; 0
 * cancels a plan. A call that fails by plan has no effect, except that calls that destroy, free,
 * unregister, close, release and disable do their work and then report the error. A real driver
 * does the same when such a call returns the error of earlier work.
 */
void halyard_sim_fail_call(uint64_t n, int code);
void halyard_sim_fail_alloc(uint64_t n);

/*
 * A sticky error of one device (-1: all): its unfinished work is dropped, and every later call that
 * concerns the device returns the code until its context is destroyed (last release of the primary
 * context, its reset, hipDeviceReset). Returns 0, or -1 for a device that does not exist.
 */
int halyard_sim_sticky(int device, int code);

/* The device is lost until the next reset. This is like a sticky 719, but destroying the context
 * does not clear it. */
int halyard_sim_lose(int device);

/* The same, at the n-th call from now on (1 is the next). 0 cancels the plan. Returns -1 if there is no such device. */
int halyard_sim_lose_at(int device, uint64_t n);

/* Copies between the host and devices, or between two devices, move so many bytes in 1 ms; 0: no
 * limit. */
void halyard_sim_link(uint64_t bytes_per_ms);

/*
 * How a limited link treats host memory that is not page-locked. A driver copies it through a small
 * page-locked buffer of its own, on the calling thread. With this setting a copy of more than 64
 * KiB moves at most so many bytes in 1 ms, and the call returns when all bytes are moved; smaller
 * sources are read at once, as without this setting. 0: pageable memory of any size is read at
 * once, and crosses the link like page-locked memory. Copies to pageable memory wait in either
 * case.
 */
void halyard_sim_pageable(uint64_t bytes_per_ms);

/* Calls that count, since the last reset. */
uint64_t halyard_sim_call_count(void);

/* Lines "name count" of every driver call made since the last reset, by name.
   Returns the number of lines. Text is cut at len, and ends with a NUL. */
size_t halyard_sim_calls(char *buf, size_t len);

/* Bytes that copies and fills have moved since the last reset. */
uint64_t halyard_sim_bytes(void);

/* One line for each violation of the driver's rules since the last reset or clear. Equal lines are
 * listed once. Returns the number of lines. */
size_t halyard_sim_violations(char *buf, size_t len);
void halyard_sim_clear(void);

/* One line for each handle that is alive: memory, registered ranges, streams,
   events, modules, contexts. Returns the number of lines. */
size_t halyard_sim_leaks(char *buf, size_t len);

/*
 * Tell the validator that the host reads (write = 0) or writes now. It is a violation if a stream
 * may still be using the memory. Returns the number of violations that this access caused.
 */
int halyard_sim_host_access(const void *ptr, size_t len, int write);

/* Run work that streams and events allow, at most so many steps, now, in the
   scheduler's order; returns the number of steps taken. */
uint64_t halyard_sim_step(uint64_t steps);

/* Stop (1) or resume (0) the background thread, which runs work while no host thread waits for it.
 * While it is stopped, only calls that wait, and halyard_sim_step, run work. Then the run of a
 * single-threaded program can be repeated. */
void halyard_sim_hold(int hold);

#ifdef __cplusplus
}
#endif
#endif
