/*
 * The server of a communicator. It is a thread of the process that made the unique id, like the bootstrap of NCCL. All bytes go through it, so
 * ranks that are threads of one process and ranks that are processes work in the same way. It compares the operations of the ranks, and
 * reports differences.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "wire.h"

struct packet {
    struct packet *next;
    struct head head;
    char *data;
};

struct rank {
    struct server *of;
    int fd;
    struct head hello;
    bool joined, left, bye;
    pthread_t writer;
    struct packet *first, **last; /* to be written */
    bool closing;
};

/* One collective operation for which some ranks have not called yet. */
struct round {
    struct round *next;
    uint64_t seq;
    int arrived;
    struct packet **parts;
};

/* A send or a receive that waits for the other side. */
struct waiting {
    struct waiting *next;
    struct packet *p;
};

struct server {
    int listener;
    pthread_mutex_t mu;
    pthread_cond_t cond;
    int refs; /* threads */
    int ranks, joined, byes;
    struct rank **rank; /* by number */
    struct round *rounds;
    struct waiting *waiting;
    bool failed;
};

static void drop(struct packet *p) {
    if (p)
        free(p->data);
    free(p);
}

/* The functions below are called with the lock. */

static void post(struct rank *r, const struct head *head, const void *data) {
    struct packet *p = calloc(1, sizeof *p);
    p->head = *head;
    if (head->bytes) {
        p->data = malloc(head->bytes);
        memcpy(p->data, data, head->bytes);
    }
    *r->last = p;
    r->last = &p->next;
    pthread_cond_broadcast(&r->of->cond);
}

static void fail_one(struct rank *r, int code, const char *text) {
    struct head h = {.kind = FAILED, .rank = code, .bytes = strlen(text) + 1};
    post(r, &h, text);
}

static void fail_all(struct server *s, int code, const char *text) {
    if (s->failed)
        return;
    s->failed = true;
    for (int i = 0; i < s->ranks; i++)
        if (s->rank[i] && !s->rank[i]->left)
            fail_one(s->rank[i], code, text);
}

static void result(struct server *s, int rank, uint64_t id, const void *data, size_t n) {
    struct head h = {.kind = RESULT, .id = id, .bytes = n};
    if (s->rank[rank])
        post(s->rank[rank], &h, data);
}

static void finish_round(struct server *s, struct round *r) {
    const struct head *h = &r->parts[0]->head;
    char text[TEXT];
    for (int i = 1; i < s->ranks; i++) {
        const struct head *o = &r->parts[i]->head;
        if (o->call == h->call && o->count == h->count && o->type == h->type && o->op == h->op && o->peer == h->peer)
            continue;
        snprintf(text, sizeof text,
                 "simulated NCCL: ranks disagree: rank 0 calls %s of %llu elements, type %d, operation %d, root %d; rank %d calls %s of %llu, type %d, "
                 "operation %d, root %d",
                 call_name(h->call), (unsigned long long)h->count, h->type, h->op, h->peer, i, call_name(o->call), (unsigned long long)o->count,
                 o->type, o->op, o->peer);
        fail_all(s, 5, text);
        return;
    }
    size_t n = h->count * type_size(h->type), all = n * (size_t)s->ranks;
    char *sum = malloc(all + 1);
    switch (h->call) {
    case BROADCAST:
        memcpy(sum, r->parts[h->peer]->data, n);
        break;
    case ALL_GATHER:
        for (int i = 0; i < s->ranks; i++)
            memcpy(sum + (size_t)i * n, r->parts[i]->data, n);
        break;
    default: {
        size_t elements = h->call == REDUCE_SCATTER ? h->count * (size_t)s->ranks : h->count;
        memcpy(sum, r->parts[0]->data, elements * type_size(h->type));
        int rc = 0;
        for (int i = 1; i < s->ranks && rc == 0; i++)
            rc = combine(sum, r->parts[i]->data, elements, h->type, h->op);
        if (rc == 0 && h->op == 4)
            rc = divide(sum, elements, h->type, s->ranks);
        if (rc != 0)
            fail_all(s, 4, "simulated NCCL: elements of this type cannot be combined");
    }
    }
    for (int i = 0; i < s->ranks && !s->failed; i++) {
        uint64_t id = r->parts[i]->head.id;
        switch (h->call) {
        case ALL_GATHER:
            result(s, i, id, sum, all);
            break;
        case REDUCE_SCATTER:
            result(s, i, id, sum + (size_t)i * n, n);
            break;
        case REDUCE:
            result(s, i, id, sum, i == h->peer ? n : 0);
            break;
        default:
            result(s, i, id, sum, n);
        }
    }
    free(sum);
}

static void collective(struct server *s, struct packet *p, uint64_t seq) {
    struct round **at = &s->rounds;
    while (*at && (*at)->seq != seq)
        at = &(*at)->next;
    struct round *r = *at;
    if (!r) {
        r = *at = calloc(1, sizeof *r);
        r->seq = seq;
        r->parts = calloc((size_t)s->ranks, sizeof *r->parts);
    }
    r->parts[p->head.rank] = p;
    if (++r->arrived < s->ranks)
        return;
    *at = r->next;
    finish_round(s, r);
    for (int i = 0; i < s->ranks; i++)
        drop(r->parts[i]);
    free(r->parts);
    free(r);
}

/* Matches a send with the first receive that waits for it, or a receive with the first such send. */
static void message(struct server *s, struct packet *p) {
    struct waiting **at = &s->waiting;
    for (; *at; at = &(*at)->next) {
        struct head *o = &(*at)->p->head;
        if (o->kind != p->head.kind && o->rank == p->head.peer && o->peer == p->head.rank)
            break;
    }
    if (!*at) {
        struct waiting *w = calloc(1, sizeof *w);
        w->p = p;
        *at = w;
        return;
    }
    struct waiting *w = *at;
    *at = w->next;
    struct packet *from = p->head.kind == SEND ? p : w->p, *to = p->head.kind == SEND ? w->p : p;
    if (from->head.count != to->head.count || from->head.type != to->head.type) {
        char text[TEXT];
        snprintf(text, sizeof text, "simulated NCCL: ranks disagree: rank %d sends %llu elements of type %d, rank %d receives %llu of type %d",
                 from->head.rank, (unsigned long long)from->head.count, from->head.type, to->head.rank, (unsigned long long)to->head.count,
                 to->head.type);
        fail_all(s, 5, text);
    } else {
        result(s, from->head.rank, from->head.id, NULL, 0);
        result(s, to->head.rank, to->head.id, from->data, from->head.bytes);
    }
    drop(p);
    drop(w->p);
    free(w);
}

static void join(struct server *s, struct rank *r) {
    char text[TEXT];
    const struct head *h = &r->hello;
    if (s->failed) {
        fail_one(r, 6, "simulated NCCL: another rank has failed before this one came");
        return;
    }
    if (!s->rank && h->ranks > 0) {
        s->ranks = h->ranks;
        s->rank = calloc((size_t)h->ranks, sizeof *s->rank);
    }
    if (h->ranks != s->ranks || h->rank < 0 || h->rank >= s->ranks || s->rank[h->rank]) {
        snprintf(text, sizeof text, "simulated NCCL: rank %d of %d joins a communicator of %d, or joins twice", h->rank, h->ranks, s->ranks);
        fail_one(r, 5, text);
        fail_all(s, 5, text);
        return;
    }
    s->rank[h->rank] = r;
    r->joined = true;
    for (int i = 0; i < s->ranks; i++) {
        struct rank *o = s->rank[i];
        if (!o || o == r || o->hello.gpu != h->gpu || !(o->hello.single || h->single))
            continue;
        snprintf(text, sizeof text, "simulated NCCL: Duplicate GPU detected: rank %d and rank %d; set NCCL_MULTI_RANK_GPU_ENABLE=1", i, h->rank);
        fail_all(s, 5, text);
        return;
    }
    if (++s->joined < s->ranks)
        return;
    for (int i = 0; i < s->ranks; i++) {
        struct head ready = {.kind = READY};
        post(s->rank[i], &ready, NULL);
    }
}

/* The functions below take the lock. */

static void leave(struct server *s) {
    pthread_mutex_lock(&s->mu);
    bool last = --s->refs == 0;
    pthread_mutex_unlock(&s->mu);
    if (!last)
        return;
    for (struct round *r = s->rounds, *next; r; r = next) {
        next = r->next;
        for (int i = 0; i < s->ranks; i++)
            drop(r->parts[i]);
        free(r->parts);
        free(r);
    }
    for (struct waiting *w = s->waiting, *next; w; w = next) {
        next = w->next;
        drop(w->p);
        free(w);
    }
    free(s->rank);
    free(s);
}

static void *write_to(void *arg) {
    struct rank *r = arg;
    struct server *s = r->of;
    pthread_mutex_lock(&s->mu);
    for (;;) {
        while (!r->first && !r->closing)
            pthread_cond_wait(&s->cond, &s->mu);
        struct packet *p = r->first;
        if (!p)
            break;
        if (!(r->first = p->next))
            r->last = &r->first;
        pthread_mutex_unlock(&s->mu);
        if (write_all(r->fd, &p->head, sizeof p->head) == 0 && p->head.bytes)
            write_all(r->fd, p->data, p->head.bytes);
        drop(p);
        pthread_mutex_lock(&s->mu);
    }
    pthread_mutex_unlock(&s->mu);
    return NULL;
}

static void *read_from(void *arg) {
    struct rank *r = arg;
    struct server *s = r->of;
    uint64_t seq = 0;
    if (read_all(r->fd, &r->hello, sizeof r->hello) == 0 && r->hello.kind == HELLO) {
        pthread_mutex_lock(&s->mu);
        join(s, r);
        pthread_mutex_unlock(&s->mu);
        struct head h;
        while (read_all(r->fd, &h, sizeof h) == 0) {
            struct packet *p = calloc(1, sizeof *p);
            p->head = h;
            if (h.bytes) {
                p->data = malloc(h.bytes);
                if (read_all(r->fd, p->data, h.bytes) != 0) {
                    drop(p);
                    break;
                }
            }
            pthread_mutex_lock(&s->mu);
            if (h.kind == BYE && r->joined && !r->bye) {
                drop(p);
                r->bye = true;
                struct head ready = {.kind = READY};
                if (++s->byes == s->ranks)
                    for (int i = 0; i < s->ranks; i++)
                        if (s->rank[i])
                            post(s->rank[i], &ready, NULL);
            } else if (h.kind == BYE || !r->joined || s->failed)
                drop(p);
            else if (h.kind == COLLECTIVE)
                collective(s, p, seq++);
            else
                message(s, p);
            pthread_mutex_unlock(&s->mu);
        }
    }
    pthread_mutex_lock(&s->mu);
    r->left = r->closing = true;
    if (s->byes < s->ranks && r->joined) {
        char text[TEXT];
        snprintf(text, sizeof text, "simulated NCCL: rank %d is gone", r->hello.rank);
        fail_all(s, 6, text);
    }
    pthread_cond_broadcast(&s->cond);
    pthread_mutex_unlock(&s->mu);
    pthread_join(r->writer, NULL);
    pthread_mutex_lock(&s->mu);
    if (r->joined)
        s->rank[r->hello.rank] = NULL;
    bool empty = s->failed || s->joined == s->ranks;
    for (int i = 0; i < s->ranks; i++)
        empty = empty && !s->rank[i];
    if (empty)
        shutdown(s->listener, SHUT_RDWR);
    pthread_mutex_unlock(&s->mu);
    close(r->fd);
    while (r->first) {
        struct packet *p = r->first;
        r->first = p->next;
        drop(p);
    }
    free(r);
    leave(s);
    return NULL;
}

/* Accepts connections until the last rank has left. */
static void *listen_on(void *arg) {
    struct server *s = arg;
    for (;;) {
        int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
        pthread_mutex_lock(&s->mu);
        if (fd < 0) {
            pthread_mutex_unlock(&s->mu);
            break;
        }
        struct rank *r = calloc(1, sizeof *r);
        r->of = s;
        r->fd = fd;
        r->last = &r->first;
        s->refs++;
        pthread_mutex_unlock(&s->mu);
        pthread_t reader;
        pthread_create(&r->writer, NULL, write_to, r);
        pthread_create(&reader, NULL, read_from, r);
        pthread_detach(reader);
    }
    close(s->listener);
    leave(s);
    return NULL;
}

static socklen_t address(struct sockaddr_un *a, const char *name) {
    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    size_t n = strnlen(name, sizeof a->sun_path - 2);
    memcpy(a->sun_path + 1, name, n); /* a name that begins with a NUL byte has no file */
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

int server_start(char *name, size_t len) {
    unsigned char random[12];
    FILE *f = fopen("/dev/urandom", "rb");
    if (!f || fread(random, sizeof random, 1, f) != 1) {
        if (f)
            fclose(f);
        return -1;
    }
    fclose(f);
    int n = snprintf(name, len, "simulated-nccl-%d-", (int)getpid());
    for (size_t i = 0; i < sizeof random; i++)
        n += snprintf(name + n, len - (size_t)n, "%02x", random[i]);
    struct sockaddr_un a;
    socklen_t size = address(&a, name);
    struct server *s = calloc(1, sizeof *s);
    pthread_mutex_init(&s->mu, NULL);
    pthread_cond_init(&s->cond, NULL);
    s->refs = 1;
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_t t;
    if (s->listener < 0 || bind(s->listener, (struct sockaddr *)&a, size) != 0 || listen(s->listener, 64) != 0 ||
        pthread_create(&t, NULL, listen_on, s) != 0) {
        if (s->listener >= 0)
            close(s->listener);
        free(s);
        return -1;
    }
    pthread_detach(t);
    return 0;
}

int server_connect(const char *name) {
    struct sockaddr_un a;
    socklen_t size = address(&a, name);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, size) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}
