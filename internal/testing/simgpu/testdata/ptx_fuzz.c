/*
 * Changes texts of PTX at random, and parses and runs what comes of it. Built under
 * the sanitizers, it ends badly if a text, however wrong, leads the parser or the
 * interpreter astray.
 *
 *     ptx_fuzz SEED ROUNDS FILE...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/ptx.h"

enum { SIZE = 4096, MOST = 1 << 20 };

static uint64_t state;

static uint64_t roll(void) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static size_t pick(size_t n) {
    return n ? roll() % n : 0;
}

static bool access_any(void *ctx, uint64_t addr, uint32_t size, bool write, bool atomic) {
    (void)ctx;
    (void)atomic;
    (void)write;
    return addr >= 0x1000 && addr <= 0x1000 + SIZE - size;
}

static void *view(void *ctx, uint64_t addr, uint32_t size) {
    (void)size;
    return (uint8_t *)ctx + (addr - 0x1000);
}

static const char *const words[] = {
    "{", "}", "[", "]", "(", ")", ";", ",", "<", ">", ":", "!", "@", "|", "+", "-", "=", "_", "%r1", "%rd1", "%p1", "%f1", ".reg", ".param",
    ".shared", ".local", ".global", ".const", ".align", ".b8", ".b32", ".u64", ".f32", ".f64", ".pred", ".v4", ".entry", ".func", ".extern", "0",
    "1", "-1", "4294967295", "0xffffffffffffffff", "1048576", "0f7fc00000", "0d3ff0000000000000", "1e999", ".branchtargets", "brx.idx", "call",
    "ret", "bar.sync", "mov.b64", "ld.local.v4.u32", "st.shared.u8", "atom.cas.b16", "cvt.rni.s64.f32", "prmt.b32.ecl", "bfi.b64", "sh", "/*", "\"",
};

/* Makes up to a few changes of a text; the result lies in out. */
static void change(const char *text, size_t len, char *out, size_t *outlen) {
    memcpy(out, text, len);
    for (size_t n = pick(3) ? 1 : 1 + pick(6); n > 0; n--) {
        size_t at = pick(len), more = pick(40), other = pick(len);
        switch (pick(8)) {
        case 0: /* a byte */
            if (len)
                out[at] = (char)(1 + pick(255));
            break;
        case 1: /* one bit */
            if (len)
                out[at] ^= (char)(1 << pick(7));
            break;
        case 2: /* a piece less */
            if (more > len - at)
                more = len - at;
            memmove(out + at, out + at + more, len - at - more);
            len -= more;
            break;
        case 3: /* a piece of the text elsewhere */
        case 4: {
            if (more > len - other)
                more = len - other;
            char piece[64];
            memcpy(piece, out + other, more);
            if (len + more >= MOST)
                break;
            memmove(out + at + more, out + at, len - at);
            memcpy(out + at, piece, more);
            len += more;
            break;
        }
        case 5: { /* a word */
            const char *w = words[pick(sizeof words / sizeof *words)];
            size_t k = strlen(w);
            if (len + k + 2 >= MOST)
                break;
            memmove(out + at + k + 2, out + at, len - at);
            out[at] = ' ';
            memcpy(out + at + 1, w, k);
            out[at + 1 + k] = ' ';
            len += k + 2;
            break;
        }
        case 6: { /* another digit */
            for (size_t i = 0; i < 200 && at + i < len; i++)
                if (out[at + i] >= '0' && out[at + i] <= '9') {
                    out[at + i] = (char)('0' + pick(10));
                    break;
                }
            break;
        }
        default: /* two lines change places, or the text ends early */
            if (!pick(10)) {
                len = at;
                break;
            }
            if (at > other) {
                size_t t = at;
                at = other;
                other = t;
            }
            while (at < len && out[at] != '\n')
                at++;
            while (other < len && out[other] != '\n')
                other++;
            if (at < other && other - at < 2000) {
                size_t mid = at + 1;
                while (mid < other && out[mid] != '\n')
                    mid++;
                char first[2000];
                size_t a = mid - at, b = other - mid;
                memcpy(first, out + at, a);
                memmove(out + at, out + mid, b);
                memcpy(out + at + b, first, a);
            }
            break;
        }
    }
    for (size_t i = 0; i < len; i++)
        if (!out[i])
            out[i] = ' ';
    out[len] = 0;
    *outlen = len;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    state = strtoull(argv[1], NULL, 10);
    uint64_t rounds = strtoull(argv[2], NULL, 10), parsed = 0, ran = 0, right = 0;
    int files = argc - 3;
    char **text = calloc((size_t)files, sizeof *text);
    size_t *len = calloc((size_t)files, sizeof *len);
    for (int i = 0; i < files; i++) {
        FILE *f = fopen(argv[3 + i], "rb");
        text[i] = calloc(1, MOST);
        if (!f || !text[i])
            return 2;
        len[i] = fread(text[i], 1, MOST / 2, f);
        fclose(f);
    }
    char *work = malloc(2 * MOST), err[300];
    uint8_t *memory = malloc(SIZE), *params = malloc(32768);
    for (uint64_t round = 0; round < rounds; round++) {
        int i = (int)pick((size_t)files);
        size_t n;
        change(text[i], len[i], work, &n);
        /* In memory of exactly its size, so that reading behind the end is seen. */
        char *exact = malloc(n + 1);
        memcpy(exact, work, n + 1);
        ptx_module *m = ptx_parse(exact, err, 1 + pick(sizeof err));
        free(exact);
        if (!m) {
            if (strncmp(err, "line ", strnlen(err, 5))) {
                printf("odd reason: %s\n", err);
                return 1;
            }
            continue;
        }
        parsed++;
        uint32_t entries = ptx_entries(m);
        for (uint32_t k = 0; k < entries && k < 3; k++) {
            ptx_entry *e = ptx_entry_at(m, (uint32_t)pick(entries));
            for (uint32_t p = 0; p < e->nparams; p++)
                for (uint32_t b = 0; b < e->params[p].size; b++) {
                    uint64_t v = e->params[p].size == 8 ? 0x1000 + 8 * pick(SIZE / 16) : pick(64);
                    params[e->params[p].offset + b] = b < 8 ? (uint8_t)(v >> 8 * b) : (uint8_t)roll();
                    if (b == 0 && e->params[p].size == 8) {
                        memcpy(params + e->params[p].offset, &v, 8);
                        break;
                    }
                }
            memset(memory, 0, SIZE);
            for (size_t b = 0; b < SIZE; b += 4)
                memory[b] = (uint8_t)pick(8);
            uint32_t grid[3] = {1 + (uint32_t)pick(2), 1 + (uint32_t)pick(2), 1}, block[3] = {1 + (uint32_t)pick(20), 1 + (uint32_t)pick(2), 1};
            ptx_memory mem = {.ctx = memory, .access = access_any, .view = view, .seed = roll(), .steps = 3000};
            uint8_t *exactly = malloc(e->params_size + !e->params_size);
            memcpy(exactly, params, e->params_size);
            int fault = ptx_run(e, exactly, grid, block, pick(2048), &mem, err, 1 + pick(sizeof err));
            free(exactly);
            ran++;
            right += fault == PTX_OK;
        }
        ptx_free(m);
    }
    printf("%llu texts, %llu parsed, %llu launches, %llu right\n", (unsigned long long)rounds, (unsigned long long)parsed,
           (unsigned long long)ran, (unsigned long long)right);
    for (int i = 0; i < files; i++)
        free(text[i]);
    free(text);
    free(len);
    free(work);
    free(memory);
    free(params);
    return 0;
}
