/* Functions with the argument shapes of the vendors' calls, which report what they got. */
#include <stdint.h>
#include <string.h>

static __thread uintptr_t current;
static uintptr_t last_bound;

int abi_bind(uintptr_t ctx) {
    current = ctx;
    last_bound = ctx;
    return ctx == 13 ? 201 : 0;
}

uintptr_t abi_last_bound(void) { return last_bound; }

/* Returns the context that is current on this thread. */
int abi_current(void) { return (int)current; }

int abi_six(uint64_t a, uint32_t b, uint64_t c, int32_t d, uint8_t e, uint64_t f) {
    return a == 1ull << 40 && b == 2 && c == 3ull << 40 && d == -4 && e == 5 && f == 6ull << 40 ? 0 : 1;
}

int abi_make(uint64_t *out, uint64_t a, uint32_t b, uint64_t c) {
    *out = a + b + c;
    return out == 0 ? 1 : 0;
}

int abi_elapsed(float *ms, uint64_t from, uint64_t to) {
    *ms = (float)(to - from) / 4;
    return 0;
}

typedef struct { char reserved[64]; } handle;

/* Returns 0 if the handle holds 0, 1, 2 ... and puts the flags beside an address. */
int abi_open(uint64_t *out, handle h, unsigned flags) {
    for (int i = 0; i < 64; i++)
        if (h.reserved[i] != i)
            return 1;
    *out = 0x1000 + flags;
    return 0;
}

int abi_export(handle *h, uint64_t addr) {
    memset(h, 0, sizeof *h);
    memcpy(h->reserved + 56, &addr, sizeof addr);
    return 0;
}

/* Calls back on the caller's own thread, which grows the Go stack under the call. */
int abi_call(uint64_t stream, void (*fn)(void *), void *data, unsigned flags) {
    (void)stream, (void)flags;
    fn(data);
    return 0;
}

int abi_text(char *out, int len, int dev) {
    for (int i = 0; i < len; i++)
        out[i] = 'a' + dev;
    return 0;
}
