/* What this machine can do, for benchmarks to be measured against. */
#ifndef MACHINE_PEAK_H
#define MACHINE_PEAK_H

#include <stdbool.h>
#include <stddef.h>

double seconds_now(void);
/* Seconds that `flops` floating-point operations take on each of so many threads, in multiply-adds
 * of the widest vectors and with nothing to load. */
double seconds_of_flops(double flops, bool single, int threads);
/* Seconds to read so many bytes once, shared out among threads. */
double seconds_of_reading(const void *data, size_t bytes, int threads);

#endif
