/* Another library behind two pipes: a script of peers/ that times a case when it is asked to. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

typedef struct timing {
    double median, lowest; /* seconds of a call */
} timing;

typedef struct peer {
    pid_t process;
    FILE *ask, *answer; /* NULL: not there */
    char version[64];
} peer;

/* Runs the script with the first python3 in PATH; without it, or without what it needs, ask is
 * NULL.
 */
void peer_open(peer *p, const char *script);
void peer_close(peer *p);
/* NaN when there is no peer. */
timing peer_time(peer *p, const char *name, int threads);

/* Takes what is lower of the two. */
void timing_improve(timing *t, timing other);
/* Two threads slower than one: other work has the cores, and a ratio says nothing. */
bool timing_disturbed(timing one, timing two);
/* Time of calls of a function: the median and the lowest of samples, after a while of warming up.
 */
timing timing_of(void (*call)(void *context), void *context);
void print_load(const char *when);

#endif
