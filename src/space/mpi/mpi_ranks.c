/* Ranks of MPI.
 *
 * Sums are made in an order that depends on the number of ranks alone, so that they are bitwise the
 * same on all ranks and from run to run; what MPI_Allreduce does may depend on message sizes,
 * topology and hardware. With p = 2^k ranks:
 *
 *   few values    k rounds; in each, two ranks exchange all values and both add them
 *   many values   k rounds in which two ranks exchange halves of what they have in common, and add
 *                 (each rank ends with the sums of 1/p of the values), then k rounds back
 *                 (Rabenseifner 2004): 2 k messages, 2 (p - 1)/p times the values in all
 *
 * With another number of ranks, pairs of the first ones add theirs before and share the result
 * after it.
 *
 * The tag of a message says which exchange it belongs to. A rank that has failed alone, and is at
 * another one than the rest, is noticed by that: the exchange fails on all, where they would
 * otherwise wait for each other for ever, or take one number for another. */
#include "bilevel/mpi.h"

#include <stdio.h>
#include <stdlib.h>

enum { FEW = 512, MOST_BYTES = 1 << 30, PATIENCE = 5 /* seconds */, ROUNDS_MAX = 32 };
enum { TAGS = (1 << 15) - 2, GIVEN_UP }; /* every MPI has 1 << 15 */
enum {
    ROOM = 1 << 17
}; /* values that are summed at once; more come one such part after the other */
enum { SUM, BROADCAST };

typedef struct mpi_ranks {
    blv_ranks ranks;
    MPI_Comm comm;
    bool owns_mpi;
    bool failed; /* an exchange has: none comes after it */
    int tag;     /* of the present one */
    uint64_t exchanges;
    double seconds;
    double received[ROOM]; /* here from the start: a sum cannot fail on one rank for want of it */
} mpi_ranks;

/* ---- Messages ---- */

/* The last message to each of the others, for those that wait for this rank. */
static void give_up(const mpi_ranks *m) {
    MPI_Request request;
    for (int to = 0; to < m->ranks.count; to++)
        if (to != m->ranks.rank &&
            MPI_Isend(NULL, 0, MPI_BYTE, to, GIVEN_UP, m->comm, &request) == MPI_SUCCESS)
            MPI_Request_free(&request);
}

/* Whether what was received is of this exchange, and all of it. */
static bool is_expected(const mpi_ranks *m, const MPI_Status *status, MPI_Datatype type,
                        size_t count) {
    int received = -1;
    return status->MPI_TAG == m->tag && MPI_Get_count(status, type, &received) == MPI_SUCCESS &&
           received == (int)count;
}

static bool receive(const mpi_ranks *m, int from, MPI_Datatype type, void *in, size_t count) {
    MPI_Status status;
    return MPI_Recv(in, (int)count, type, from, MPI_ANY_TAG, m->comm, &status) == MPI_SUCCESS &&
           is_expected(m, &status, type, count);
}

static bool send(const mpi_ranks *m, int to, MPI_Datatype type, const void *out, size_t count) {
    return MPI_Send(out, (int)count, type, to, m->tag, m->comm) == MPI_SUCCESS;
}

static bool swap_with(const mpi_ranks *m, int other, const double *out, size_t out_count,
                      double *in, size_t in_count) {
    MPI_Status status;
    return MPI_Sendrecv(out, (int)out_count, MPI_DOUBLE, other, m->tag, in, (int)in_count,
                        MPI_DOUBLE, other, MPI_ANY_TAG, m->comm, &status) == MPI_SUCCESS &&
           is_expected(m, &status, MPI_DOUBLE, in_count);
}

/* ---- Sums ---- */

static void add(double *to, const double *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        to[i] += values[i];
}

/* id: among the 2^k ranks that take part; rank_of: the rank with an id. */
typedef struct group {
    int id, size, extra;
} group;

static int rank_of(const group *g, int id) {
    return id < g->extra ? 2 * id : id + g->extra;
}

static bool sum_few(mpi_ranks *m, const group *g, size_t count, double *values) {
    for (int bit = 1; bit < g->size; bit <<= 1) {
        if (!swap_with(m, rank_of(g, g->id ^ bit), values, count, m->received, count))
            return false;
        add(values, m->received, count);
    }
    return true;
}

static bool sum_many(mpi_ranks *m, const group *g, size_t count, double *values) {
    size_t first[ROUNDS_MAX + 1] = {0}, end[ROUNDS_MAX + 1] = {count};
    int round = 0;
    for (int bit = 1; bit < g->size; bit <<= 1, round++) {
        const size_t from = first[round], to = end[round], middle = from + (to - from) / 2;
        const bool lower = !(g->id & bit);
        const size_t mine = lower ? from : middle, mine_end = lower ? middle : to;
        const size_t theirs = lower ? middle : from, theirs_end = lower ? to : middle;
        if (!swap_with(m, rank_of(g, g->id ^ bit), values + theirs, theirs_end - theirs,
                       m->received, mine_end - mine))
            return false;
        add(values + mine, m->received, mine_end - mine);
        first[round + 1] = mine;
        end[round + 1] = mine_end;
    }
    for (int bit = g->size >> 1; bit > 0; bit >>= 1, round--) {
        const size_t mine = first[round], mine_end = end[round];
        const bool lower = mine == first[round - 1];
        const size_t theirs = lower ? mine_end : first[round - 1];
        const size_t theirs_end = lower ? end[round - 1] : mine;
        if (!swap_with(m, rank_of(g, g->id ^ bit), values + mine, mine_end - mine, values + theirs,
                       theirs_end - theirs))
            return false;
    }
    return true;
}

static bool sum_once(mpi_ranks *m, size_t count, double *values) {
    group g = {.size = 1};
    const int rank = m->ranks.rank;
    while (2 * g.size <= m->ranks.count)
        g.size *= 2;
    g.extra = m->ranks.count - g.size;
    const bool paired = rank < 2 * g.extra, leaves = paired && rank % 2 == 1;
    g.id = paired ? rank / 2 : rank - g.extra;
    if (leaves)
        return send(m, rank - 1, MPI_DOUBLE, values, count) &&
               receive(m, rank - 1, MPI_DOUBLE, values, count);
    if (paired) {
        if (!receive(m, rank + 1, MPI_DOUBLE, m->received, count))
            return false;
        add(values, m->received, count);
    }
    if (!(count <= FEW ? sum_few : sum_many)(m, &g, count, values))
        return false;
    return !paired || send(m, rank + 1, MPI_DOUBLE, values, count);
}

/* ---- Broadcasts ---- */

/* By a binomial tree with `from` at its root. */
static bool broadcast_once(const mpi_ranks *m, int from, char *bytes, size_t size) {
    const int count = m->ranks.count, place = (m->ranks.rank - from + count) % count;
    int bit = 1;
    while (bit < count && !(place & bit))
        bit <<= 1;
    bool well = place == 0 || receive(m, (place - bit + from) % count, MPI_BYTE, bytes, size);
    for (bit >>= 1; well && bit > 0; bit >>= 1)
        if (place + bit < count)
            well = send(m, (place + bit + from) % count, MPI_BYTE, bytes, size);
    return well;
}

/* ---- Exchanges ---- */

/* Says whether there is anything to do: not on one rank. *well: what it comes to without that. */
static bool begin(mpi_ranks *m, int kind, bool *well, double *began) {
    *well = !m->failed;
    if (m->ranks.count == 1 || m->failed)
        return false;
    m->tag = (int)(2 * (m->exchanges++ % (TAGS / 2))) + kind;
    *began = MPI_Wtime();
    return true;
}

static bool end(mpi_ranks *m, bool well, double began) {
    m->failed = !well;
    if (m->failed)
        give_up(m);
    m->seconds += MPI_Wtime() - began;
    return well;
}

static bool sum(void *context, size_t count, double *values) {
    mpi_ranks *m = context;
    bool well;
    double began;
    if (!begin(m, SUM, &well, &began))
        return well;
    for (size_t first = 0; well && first < count; first += ROOM)
        well = sum_once(m, count - first < ROOM ? count - first : ROOM, values + first);
    return end(m, well, began);
}

static bool broadcast(void *context, int from, void *bytes, size_t size) {
    mpi_ranks *m = context;
    bool well;
    double began;
    if (!begin(m, BROADCAST, &well, &began))
        return well;
    for (size_t first = 0; well && first < size; first += MOST_BYTES)
        well = broadcast_once(m, from, (char *)bytes + first,
                              size - first < MOST_BYTES ? size - first : MOST_BYTES);
    return end(m, well, began);
}

/* ---- Opening ---- */

static blv_error refuse(blv_message *why, blv_error error, const char *text) {
    if (why)
        snprintf(why->text, sizeof why->text, "%s", text);
    return error;
}

blv_error blv_mpi_open(blv_ranks **ranks, MPI_Comm communicator, blv_message *why) {
    int initialized = 0, level = MPI_THREAD_SINGLE;
    if (!ranks)
        return refuse(why, BLV_E_ARGUMENT, "blv_mpi_open: a NULL argument");
    *ranks = NULL;
    MPI_Initialized(&initialized);
    if (initialized)
        MPI_Query_thread(&level);
    if (level < MPI_THREAD_FUNNELED)
        return refuse(why, BLV_E_ORDER, "MPI must be initialized with MPI_THREAD_FUNNELED or more");
    mpi_ranks *m = calloc(1, sizeof *m);
    if (!m)
        return refuse(why, BLV_E_MEMORY, "out of memory");
    if (MPI_Comm_dup(communicator, &m->comm) != MPI_SUCCESS) {
        free(m);
        return refuse(why, BLV_E_DEVICE, "the communicator cannot be duplicated");
    }
    MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    m->ranks =
        (blv_ranks){.size = sizeof(blv_ranks), .context = m, .sum = sum, .broadcast = broadcast};
    MPI_Comm_rank(m->comm, &m->ranks.rank);
    MPI_Comm_size(m->comm, &m->ranks.count);
    *ranks = &m->ranks;
    return BLV_OK;
}

void blv_mpi_close(blv_ranks *ranks) {
    mpi_ranks *m = ranks ? ranks->context : NULL;
    if (!m)
        return;
    MPI_Comm_free(&m->comm);
    free(m);
}

void blv_mpi_use(const blv_ranks *ranks, uint64_t *exchanges, double *seconds) {
    const mpi_ranks *m = ranks->context;
    *exchanges = m->exchanges;
    *seconds = m->seconds;
}

/* ---- Programs without MPI calls of their own ---- */

blv_error blv_mpi_start(blv_ranks **ranks, blv_message *why) {
    int level;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return refuse(why, BLV_E_DEVICE, "MPI cannot be initialized");
    blv_error error = blv_mpi_open(ranks, MPI_COMM_WORLD, why);
    if (error == BLV_OK)
        ((mpi_ranks *)(*ranks)->context)->owns_mpi = true;
    return error;
}

void blv_mpi_leave(blv_ranks *ranks, int exit_code, void (*alone)(void)) {
    mpi_ranks *m = ranks ? ranks->context : NULL;
    if (!m)
        return;
    MPI_Request all_here;
    int here = 0;
    if (m->failed && exit_code != 0 && alone)
        alone();
    const double began = MPI_Wtime();
    if (MPI_Ibarrier(m->comm, &all_here) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, exit_code ? exit_code : 1);
    while (!here) {
        MPI_Test(&all_here, &here, MPI_STATUS_IGNORE);
        if (MPI_Wtime() - began <= PATIENCE)
            continue;
        if (exit_code != 0) {
            if (alone)
                alone();
            MPI_Abort(MPI_COMM_WORLD, exit_code);
        }
        if (!m->failed)
            give_up(m); /* nothing to those that only take longer */
        m->failed = true;
    }
    const bool owns = m->owns_mpi;
    blv_mpi_close(ranks);
    if (owns)
        MPI_Finalize();
}
