/* Ranks of MPI, in the library libbilevel-mpi. docs/clusters.md is the page about it.
 *
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
 *     blv_ranks *ranks;
 *     blv_mpi_open(&ranks, MPI_COMM_WORLD, &why);
 *     blv_problem_options options = {BLV_SIZED(blv_problem_options), .ranks = ranks};
 *     blv_problem_from_family(family, settings, &options, &problem, &why);
 */
#ifndef BILEVEL_MPI_H
#define BILEVEL_MPI_H

#include "bilevel/ranks.h"

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The communicator is duplicated; every process of it has to call this. MPI must have been
 * initialized with MPI_THREAD_FUNNELED or more, and the ranks be used from the thread that did so.
 */
BLV_API blv_error blv_mpi_open(blv_ranks **ranks, MPI_Comm communicator, blv_message *why);
/* Before MPI_Finalize. NULL is allowed. */
BLV_API void blv_mpi_close(blv_ranks *ranks);

/* Exchanges so far, and the seconds that this rank has spent in them. */
BLV_API void blv_mpi_use(const blv_ranks *ranks, uint64_t *exchanges, double *seconds);

/* ---- For programs that leave MPI to the library, as the command does ---- */

/* Initializes MPI; the ranks are those of MPI_COMM_WORLD. */
BLV_API blv_error blv_mpi_start(blv_ranks **ranks, blv_message *why);
/* Ends MPI, and with an exit code other than 0 the whole job where the other ranks have not come to
 * their end within a few seconds: none waits for one that has left. alone is called before that,
 * and where an exchange has failed: the others do not know of what has failed here. It may be NULL.
 */
BLV_API void blv_mpi_leave(blv_ranks *ranks, int exit_code, void (*alone)(void));

#ifdef __cplusplus
}
#endif
#endif
