/* The messages between the ranks and the server of a communicator, over a local socket. */
#ifndef WIRE_H
#define WIRE_H

#include <stddef.h>
#include <stdint.h>

enum message { HELLO = 1, COLLECTIVE, SEND, RECEIVE, BYE, READY, RESULT, FAILED };

enum call { ALL_REDUCE = 1, BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, SEND_TO, RECEIVE_FROM };

struct head {
    uint32_t kind;  /* enum message */
    uint32_t call;  /* enum call */
    int32_t rank;   /* the rank that sends the message; in FAILED: the ncclResult_t */
    int32_t ranks;
    int32_t type, op;
    int32_t peer;   /* the peer or the root, -1 for none */
    int32_t single; /* in HELLO: a device may have only one rank */
    uint64_t count;
    uint64_t id;    /* index of the operation in the rank's group */
    uint64_t gpu;   /* in HELLO: the process and the device */
    uint64_t bytes; /* number of bytes that follow */
};

#define TEXT 256

int write_all(int fd, const void *p, size_t n);
int read_all(int fd, void *p, size_t n);
size_t type_size(int type);
const char *call_name(uint32_t call);

/* Combines n elements of src into dst. Returns -1 if the type or operation does not exist. */
int combine(void *dst, const void *src, size_t n, int type, int op);
int divide(void *dst, size_t n, int type, int ranks);

/* Starts the server of a communicator, and writes the name under which ranks find it. Returns -1 if a system call fails. */
int server_start(char *name, size_t len);
int server_connect(const char *name);

#endif
