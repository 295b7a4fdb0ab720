/* Sparse rows as of texts, for benchmarks: the chance of a word falls with its rank, and ranks are
 * strewn over the columns. */
#ifndef TEXT_ROWS_H
#define TEXT_ROWS_H

#include <stddef.h>
#include <stdint.h>

typedef struct text_rows {
    size_t rows, columns, entries;
    size_t *row_start, *column_start; /* by rows, and the same entries by columns */
    uint32_t *column, *row;
    double *value, *column_value;
    float *value_f32, *column_value_f32;
} text_rows;

/* A number from 0 up to 1, from a state of any value. */
double draw_uniform(uint64_t *state);
/* Zeros, aligned for vectors. Memory that is short ends the program, here and below. */
void *bench_memory(size_t count, size_t size);
/* Row lengths are spread evenly about the mean. */
void text_rows_open(text_rows *t, size_t rows, size_t columns, size_t mean_entries,
                    uint64_t *state);
void text_rows_close(text_rows *t);

#endif
