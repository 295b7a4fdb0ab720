/* Two ranks that take turns in one thread: what they do together, while memory is short on one of
 * them or an exchange fails. Ranks that are at different exchanges, or wait for one that has left,
 * hear that the exchange failed, as with MPI, and no exchange comes after it. What has failed has a
 * message, and nothing is kept. Include after cmocka.h and alloc_testing.h. */
#ifndef RANK_TURNS_H
#define RANK_TURNS_H

#include "bilevel/ranks.h"

#include <string.h>
#include <ucontext.h>

enum { TWO = 2, STACK = 1 << 20 };

/* What a rank is at: a sum of `size` values where from < 0, else `size` bytes of that rank. */
typedef struct exchange {
    int from;
    size_t size;
    void *data;
} exchange;

/* A piece of work of one rank; it writes why it failed. */
typedef blv_error (*rank_work)(const blv_ranks *ranks, const void *context, blv_message *why);

typedef struct one_rank {
    int rank;
    rank_work work;
    const void *context;
    bool spared; /* its requests for memory do not fail */
    bool waits;  /* at this exchange */
    exchange at;
    blv_error error;
    blv_message why;
    ucontext_t turn;
} one_rank;

static struct meeting {
    one_rank ranks[TWO];
    ucontext_t all; /* who waits for both to be done */
    int left;
    long made, fails_at; /* exchanges; the one that fails, from 0, or -1 */
    bool broken;
} meeting;

static inline void give_turn(one_rank *from, int to) {
    requests_spared = meeting.ranks[to].spared;
    swapcontext(&from->turn, &meeting.ranks[to].turn);
}

static inline bool complete(const exchange *a, const exchange *b) {
    if (meeting.made++ == meeting.fails_at || a->from != b->from || a->size != b->size)
        return false;
    if (a->from >= 0) {
        const exchange *both[TWO] = {a, b};
        memcpy(both[1 - a->from]->data, both[a->from]->data, a->size);
        return true;
    }
    for (size_t i = 0; i < a->size; i++)
        ((double *)a->data)[i] += ((double *)b->data)[i];
    memcpy(b->data, a->data, a->size * sizeof(double));
    return true;
}

static inline bool meet(one_rank *here, exchange mine) {
    one_rank *other = &meeting.ranks[1 - here->rank];
    meeting.broken |= meeting.left > 0;
    here->at = mine;
    if (!meeting.broken && other->waits) {
        meeting.broken = !complete(&meeting.ranks[0].at, &meeting.ranks[1].at);
        other->waits = false;
    } else if (!meeting.broken) {
        here->waits = true;
        give_turn(here, other->rank);
    }
    return !meeting.broken;
}

static inline bool turn_sum(void *context, size_t count, double *values) {
    return meet(context, (exchange){-1, count, values});
}

static inline bool turn_broadcast(void *context, int from, void *bytes, size_t size) {
    return meet(context, (exchange){from, size, bytes});
}

static inline void run_rank(int rank) {
    one_rank *r = &meeting.ranks[rank];
    const blv_ranks ranks = {.size = sizeof ranks,
                             .rank = rank,
                             .count = TWO,
                             .context = r,
                             .sum = turn_sum,
                             .broadcast = turn_broadcast};
    r->error = r->work(&ranks, r->context, &r->why);
    if (++meeting.left == TWO) {
        setcontext(&meeting.all);
    } else {
        meeting.broken |= meeting.ranks[1 - rank].waits; /* for this one */
        give_turn(r, 1 - rank);
    }
}

static inline void seat_rank(int rank, rank_work work, const void *context, bool spared) {
    static char stacks[TWO][STACK];
    one_rank *r = &meeting.ranks[rank];
    *r = (one_rank){.rank = rank, .work = work, .context = context, .spared = spared};
    getcontext(&r->turn);
    r->turn.uc_stack.ss_sp = stacks[rank];
    r->turn.uc_stack.ss_size = STACK;
    makecontext(&r->turn, (void (*)(void))run_rank, 1, rank);
}

/* Both ranks from the beginning to the end; the request for memory of rank `short_of` that comes
 * after `request` others fails, or exchange number fails_at. Negative: none. */
static inline const one_rank *run_ranks(rank_work work, const void *context, int short_of,
                                        long request, long fails_at) {
    meeting = (struct meeting){.fails_at = fails_at};
    seat_rank(0, work, context, short_of != 0);
    seat_rank(1, work, context, short_of != 1);
    fail_request(request);
    requests_spared = meeting.ranks[0].spared;
    swapcontext(&meeting.all, &meeting.ranks[0].turn);
    requests_spared = false;
    return meeting.ranks;
}

/* ---- Faults ---- */

typedef struct job {
    const char *what;
    rank_work work;
    const void *context;
} job;

/* Whether one of them has failed. The rank on which memory was short may be the only one, where it
 * was after the last exchange; else both have. */
static inline bool some_failed(const one_rank *pair, const job *j, int short_of, const char *fault,
                               long at) {
    const int other = short_of == 0 ? 1 : 0;
    if (pair[other].error ? !pair[1 - other].error : short_of < 0 && pair[1 - other].error)
        fail_msg("%s, %s %ld: rank 0 %s, rank 1 %s", j->what, fault, at,
                 blv_error_text(pair[0].error), blv_error_text(pair[1].error));
    for (int rank = 0; rank < TWO; rank++)
        if (pair[rank].error && !pair[rank].why.text[0])
            fail_msg("%s, %s %ld: no message on rank %d: %s", j->what, fault, at, rank,
                     blv_error_text(pair[rank].error));
    return pair[1 - other].error != BLV_OK;
}

enum { FIRST_REQUESTS = 100 }; /* and exchanges; beyond that only some */

static inline void fail_requests(const job *j, int rank) {
    long failures = 0, tried = 0;
    bool failed = true;
    for (long n = 0; failed; n += n < FIRST_REQUESTS ? 1 : n / 8) {
        const long before = memory_live;
        const one_rank *pair = run_ranks(j->work, j->context, rank, n, -1);
        failed = a_request_failed();
        tried++;
        failures += some_failed(pair, j, rank, "request", n);
        if (memory_live > before) /* less: the C library has asked for some of it */
            fail_msg("%s: %ld bytes kept after request %ld of rank %d", j->what,
                     memory_live - before, n, rank);
        if (!failed && pair[0].error)
            fail_msg("%s: %s", j->what, pair[0].why.text);
    }
    if (failures < tried / 2)
        fail_msg("%s: %ld of %ld requests failed unnoticed", j->what, tried - failures, tried);
}

static inline void fail_exchanges(const job *j) {
    for (long n = 0;; n += n < FIRST_REQUESTS ? 1 : n / 8) {
        const long before = memory_live;
        const one_rank *pair = run_ranks(j->work, j->context, -1, -1, n);
        if (memory_live > before) /* less: the C library has asked for some of it */
            fail_msg("%s: %ld bytes kept after exchange %ld", j->what, memory_live - before, n);
        const bool failed = some_failed(pair, j, -1, "exchange", n);
        if (meeting.made <= n) { /* there is none with this number */
            if (failed)
                fail_msg("%s: %s", j->what, pair[0].why.text);
            assert_true(n > 0);
            return;
        }
    }
}

static inline void fail_everything(const job *jobs, size_t count) {
    for (size_t i = 0; i < count; i++) {
        fail_exchanges(&jobs[i]);
        for (int rank = 0; rank < TWO; rank++)
            fail_requests(&jobs[i], rank);
    }
}

#endif
