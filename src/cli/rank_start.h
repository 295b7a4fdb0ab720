/* The command under mpirun: one process for each rank, of which the first prints and writes.
 *
 * MPI is in libbilevel-mpi, which is loaded only where mpirun has started the command: without it
 * the command knows nothing of MPI. */
#pragma once

#include "bilevel/ranks.h"

/* Once, before anything is printed. Under mpirun it starts MPI, which ends with the command however
 * that ends; the standard streams of all ranks but the first lead nowhere. The command ends where
 * that fails, and where the ranks have different arguments. */
void cli_ranks_start(int argc, char **argv);
/* NULL: there is one process. */
const blv_ranks *cli_ranks(void);
/* What the first rank says, on all. All ranks wait for each other. */
int cli_rank_word(int word);
/* The exit code of the first rank, when all have come to their end. */
int cli_rank_exit(int code);
/* Whether this process writes files and the run store. */
bool cli_rank_writes(void);
/* Threads of a rank where none are asked for: the processors of the machine are shared by the ranks
 * on it. 0: all, there is one process. */
int cli_rank_threads(void);
