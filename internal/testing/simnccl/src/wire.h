/* What ranks and the server of a communicator say to each other, over a socket of the machine. */
#ifndef WIRE_H
#define WIRE_H

#include <stddef.h>
#include <stdint.h>

enum message { HELLO = 1, COLLECTIVE, SEND, RECEIVE, BYE, READY, RESULT, FAILED };

enum call { ALL_REDUCE = 1, BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, SEND_TO, RECEIVE_FROM };

struct head {
    uint32_t kind;  /* enum message */
    uint32_t call;  /* enum call */
    int32_t rank;   /* of the sender of the message; of FAILED: the ncclResult_t */
    int32_t ranks;
    int32_t type, op;
    int32_t peer;   /* or the root, -1 for none */
    int32_t single; /* of HELLO: a device may have more than one rank */
    uint64_t count;
    uint64_t id;    /* which of the rank's operations */
    uint64_t gpu;   /* of HELLO */
    uint64_t bytes; /* that follow */
};

#define TEXT 256

int write_all(int fd, const void *p, size_t n);
int read_all(int fd, void *p, size_t n);
size_t type_size(int type);
const char *call_name(uint32_t call);

/* Combines n elements of src into dst. Returns -1 for a type or operation that there is not. */
int combine(void *dst, const void *src, size_t n, int type, int op);
int divide(void *dst, size_t n, int type, int ranks);

/* Starts a server of one communicator, and gives the name under which ranks find it. Returns -1 if the system refuses. */
int server_start(char *name, size_t len);
int server_connect(const char *name);

#endif
