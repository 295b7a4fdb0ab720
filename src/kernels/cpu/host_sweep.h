/* Sweeps over rows in host memory. */
#pragma once

#include "base/instructions.h"
#include "kernels/row_sweep.h"

/* real_size: sizeof(float) or sizeof(double), of all sweeps. threads 0: all processors. NULL when
 * memory is short. */
blv_sweep_work *blv_sweep_work_create(size_t classes, size_t columns, size_t real_size, bool sparse,
                                      size_t max_rows, int threads);
void blv_sweep_work_destroy(blv_sweep_work *work); /* NULL is allowed */
/* Makes room for the probabilities of all rows of a set of up to `rows` rows. From then on softmax
 * sweeps over all rows that say `keep` leave them there, and when one at the same W follows it does
 * without the scores X W: Hv takes two products over the data instead of three. Results are bitwise
 * identical. Data and labels must not change in between. Once for each work, before its first
 * sweep. False when memory is short: sweeps work without. */
bool blv_sweep_work_keep(blv_sweep_work *work, size_t rows);
void blv_host_sweep(const blv_rows *rows, const blv_sweep *sweep, blv_sweep_work *work);

/* For tests and benchmarks: another instruction set than the best one. */
void blv_sweep_work_instructions(blv_sweep_work *work, blv_instructions instructions);
