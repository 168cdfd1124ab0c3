#include "wire.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

int write_all(int fd, const void *p, size_t n) {
    for (const char *at = p; n > 0;) {
        ssize_t done = send(fd, at, n, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

int read_all(int fd, void *p, size_t n) {
    for (char *at = p; n > 0;) {
        ssize_t done = recv(fd, at, n, 0);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

size_t type_size(int type) {
    static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return type >= 0 && type < (int)(sizeof sizes / sizeof *sizes) ? sizes[type] : 0;
}

const char *call_name(uint32_t call) {
    static const char *const names[] = {"?", "AllReduce", "Broadcast", "Reduce", "AllGather", "ReduceScatter", "Send", "Recv"};
    return names[call < sizeof names / sizeof *names ? call : 0];
}

/* Sums and products of integers are computed as unsigned numbers, because signed overflow is undefined in C. */
#define COMBINE(T, U)                                                                                                                    \
    do {                                                                                                                                 \
        T *d = dst;                                                                                                                      \
        const T *s = src;                                                                                                                \
        for (size_t i = 0; i < n; i++)                                                                                                   \
            switch (op) {                                                                                                                \
            case 0:                                                                                                                      \
            case 4:                                                                                                                      \
                d[i] = (T)((U)d[i] + (U)s[i]);                                                                                           \
                break;                                                                                                                   \
            case 1:                                                                                                                      \
                d[i] = (T)((U)d[i] * (U)s[i]);                                                                                           \
                break;                                                                                                                   \
            case 2:                                                                                                                      \
                d[i] = d[i] > s[i] ? d[i] : s[i];                                                                                        \
                break;                                                                                                                   \
            case 3:                                                                                                                      \
                d[i] = d[i] < s[i] ? d[i] : s[i];                                                                                        \
                break;                                                                                                                   \
            default:                                                                                                                     \
                return -1;                                                                                                               \
            }                                                                                                                            \
        return 0;                                                                                                                        \
    } while (0)

/* The values of bfloat16 are the upper halves of floats. */
static int combine_bfloats(uint16_t *d, const uint16_t *s, size_t n, int op) {
    for (size_t i = 0; i < n; i++) {
        uint32_t x = (uint32_t)d[i] << 16, y = (uint32_t)s[i] << 16;
        if (combine(&x, &y, 1, 7, op))
            return -1;
        d[i] = (uint16_t)((x + 0x7fff + (x >> 16 & 1)) >> 16);
    }
    return 0;
}

int combine(void *dst, const void *src, size_t n, int type, int op) {
    switch (type) {
    case 0:
        COMBINE(int8_t, uint32_t);
    case 1:
        COMBINE(uint8_t, uint32_t);
    case 2:
        COMBINE(int32_t, uint32_t);
    case 3:
        COMBINE(uint32_t, uint32_t);
    case 4:
        COMBINE(int64_t, uint64_t);
    case 5:
        COMBINE(uint64_t, uint64_t);
    case 6:
        COMBINE(_Float16, float);
    case 7:
        COMBINE(float, float);
    case 8:
        COMBINE(double, double);
    case 9:
        return combine_bfloats(dst, src, n, op);
    }
    return -1;
}

#define DIVIDE(T)                                                                                                                        \
    do {                                                                                                                                 \
        T *d = dst;                                                                                                                      \
        for (size_t i = 0; i < n; i++)                                                                                                   \
            d[i] = (T)(d[i] / (T)ranks);                                                                                                 \
        return 0;                                                                                                                        \
    } while (0)

int divide(void *dst, size_t n, int type, int ranks) {
    switch (type) {
    case 0:
        DIVIDE(int8_t);
    case 1:
        DIVIDE(uint8_t);
    case 2:
        DIVIDE(int32_t);
    case 3:
        DIVIDE(uint32_t);
    case 4:
        DIVIDE(int64_t);
    case 5:
        DIVIDE(uint64_t);
    case 7:
        DIVIDE(float);
    case 8:
        DIVIDE(double);
    }
    return -1;
}
