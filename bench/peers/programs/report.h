/* What the C and C++ programs print: one JSON object a line, for bench/peers to read. */
#ifndef REPORT_H
#define REPORT_H

#include <stdio.h>
#include <time.h>

static inline void head(const char *peer, const char *version, const char *device, const char *note, int shared)
{
	printf("{\"peer\": \"%s\", \"version\": \"%s\", \"device\": \"%s\", \"note\": \"%s\", \"shared\": %s}\n", peer, version,
	       device, note, shared ? "true" : "false");
	fflush(stdout);
}

static inline void sample(const char *name, size_t size, double ns)
{
	printf("{\"case\": \"%s\", \"size\": %zu, \"ns\": %.1f}\n", name, size, ns);
	fflush(stdout);
}

static inline double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* TIMED prints samples of the mean time of so many runs of the statement, after one that does not count. */
#define TIMED(name, size, calls, statement)                          \
	do {                                                         \
		statement;                                           \
		for (int round_ = 0; round_ < 5; round_++) {         \
			double start_ = now();                       \
			for (int i_ = 0; i_ < (calls); i_++) {       \
				statement;                           \
				__asm__ volatile("" ::: "memory");   \
			}                                            \
			sample(name, size, (now() - start_) / (calls)); \
		}                                                    \
	} while (0)

#endif
