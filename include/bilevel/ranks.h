/* Several processes that work on one problem, each with its share of the rows.
 *
 * The processes are called ranks, 0 to count - 1. They all make the same calls in the same order;
 * what differs is the rows that each one reads. A blv_ranks is how they exchange numbers:
 * bilevel/mpi.h makes one from a communicator of MPI, and nothing else in the library knows MPI.
 *
 * Vectors are replicated (every rank has all elements, and keeps them equal by making the same
 * updates) or spread (every rank has some of them). Solvers do not notice. */
#ifndef BILEVEL_RANKS_H
#define BILEVEL_RANKS_H

#include "bilevel/space.h"

#ifdef __cplusplus
extern "C" {
#endif

struct blv_ranks {
    size_t size; /* of this struct: BLV_SIZED(blv_ranks) */
    int rank, count;
    void *context;
    /* Each value becomes its sum over the ranks: bitwise the same on all of them, and from run to
     * run with the same number of ranks. False: the exchange failed. */
    bool (*sum)(void *context, size_t count, double *values);
    /* The bytes of rank `from`, on all. */
    bool (*broadcast)(void *context, int from, void *bytes, size_t size);
};

/* ---- For oracles ---- */

/* The end of an oracle whose rows are spread: code is what this rank would return (0, positive,
 * negative), and values its part of the sums. On all ranks values are the whole sums, and the
 * result is what the oracle is to return: 0 only where code is 0 on all ranks. All of it is one
 * exchange, and a short second one of 2,048 values and more. A rank that has failed calls it like
 * the others, with any values. */
BLV_API int blv_ranks_sum(const blv_ranks *ranks, int code, size_t count, double *values);

/* ---- Spaces ---- */

/* The ranks are borrowed and must outlive the space. threads as in blv_space_create_host. Every
 * rank has to create it. Vectors have their elements in host memory (blv_vec_f64, blv_vec_f32). */

/* Every rank has all elements. Reductions exchange nothing. BLV_E_UNSUPPORTED where the processors
 * of the ranks have different instructions: they would not round alike. */
BLV_API blv_error blv_space_create_replicated(blv_space **space, const blv_ranks *ranks, size_t dim,
                                              blv_precision precision, int threads);
/* Each element is on one rank: those with the numbers index[0 .. local - 1], ascending, are here.
 * index NULL: element i is on rank i % count. The pointers of vectors lead to the local elements in
 * that order. All scalars of a reduction are one exchange. */
BLV_API blv_error blv_space_create_spread(blv_space **space, const blv_ranks *ranks, size_t dim,
                                          const size_t *index, size_t local,
                                          blv_precision precision, int threads);
/* The ranks of a space, NULL where it is of one process. */
BLV_API const blv_ranks *blv_space_ranks(const blv_space *space);

#ifdef __cplusplus
}
#endif
#endif
