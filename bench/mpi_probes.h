/* What the machine does when so many processes work at once and exchange nothing. */
#ifndef MPI_PROBES_H
#define MPI_PROBES_H

#include <mpi.h>
#include <stddef.h>

/* Seconds of a piece of work that all processes do at once, again and again. */
typedef struct pace {
    double mean;    /* over the processes, of the median of each */
    double steady;  /* the process with the largest median: a core that is always slow */
    double slowest; /* the median of the slowest process of each time: what ranks wait for */
} pace;

double median(double *values, int count);
/* taken: seconds of this process, each time. */
pace pace_of(const double *taken, int count, MPI_Comm all);

/* Prints what the system says about the processors. */
void print_machine(void);
/* Multiply-adds in registers, and reading of memory, on 1, 2, 4, ... of the processes; then
 * multiply-adds on each two of them: those that share a core show. All processes call it;
 * those that have nothing to do wait in meet(). */
void print_probes(void (*meet)(void));

#endif
