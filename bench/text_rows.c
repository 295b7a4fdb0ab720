#include "text_rows.h"
#include "base/aligned_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double draw_uniform(uint64_t *state) {
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (double)(*state >> 11) * 0x1p-53;
}

void *bench_memory(size_t count, size_t size) {
    void *p = blv_room(count * size + 64);
    if (!p) {
        fputs("benchmark: out of memory\n", stderr);
        exit(1);
    }
    memset(p, 0, count * size);
    return p;
}

static int by_number(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Rank r with chance in proportion to (r + 30)^-1.2, as in 20 Newsgroups, where a third of the
 * words are not in a given half of the texts and another third in one text only. Then a bijection
 * of ranks to columns. */
static uint32_t draw_column(size_t columns, uint64_t *state) {
    const double shift = 30.0, power = -0.2;
    const double from = pow(shift, power), to = pow((double)columns + shift, power);
    const double rank = pow(from + (to - from) * draw_uniform(state), 1.0 / power) - shift;
    const size_t r = (size_t)rank < columns ? (size_t)rank : columns - 1;
    return (uint32_t)((r * 7919 + 11) % columns);
}

static void draw_rows(text_rows *t, size_t mean_entries, uint64_t *state) {
    uint32_t *seen = bench_memory(t->columns, sizeof *seen);
    for (size_t i = 0; i < t->rows; i++) {
        const size_t wanted = 1 + (size_t)(draw_uniform(state) * 2.0 * (double)(mean_entries - 1));
        uint32_t *column = t->column + t->row_start[i];
        size_t got = 0;
        for (size_t k = 0; k < 20 * wanted && got < wanted; k++) {
            const uint32_t j = draw_column(t->columns, state);
            if (seen[j] != i + 1) {
                seen[j] = (uint32_t)(i + 1);
                column[got++] = j;
            }
        }
        qsort(column, got, sizeof *column, by_number);
        t->row_start[i + 1] = t->row_start[i] + got;
    }
    t->entries = t->row_start[t->rows];
    for (size_t e = 0; e < t->entries; e++) {
        t->value[e] = 0.02 + 0.2 * draw_uniform(state);
        t->value_f32[e] = (float)t->value[e];
    }
    free(seen);
}

static void transpose(text_rows *t) {
    for (size_t e = 0; e < t->entries; e++)
        t->column_start[t->column[e] + 1]++;
    for (size_t j = 0; j < t->columns; j++)
        t->column_start[j + 1] += t->column_start[j];
    size_t *next = bench_memory(t->columns, sizeof *next);
    memcpy(next, t->column_start, t->columns * sizeof *next);
    for (size_t i = 0; i < t->rows; i++)
        for (size_t e = t->row_start[i]; e < t->row_start[i + 1]; e++) {
            const size_t to = next[t->column[e]]++;
            t->row[to] = (uint32_t)i;
            t->column_value[to] = t->value[e];
            t->column_value_f32[to] = t->value_f32[e];
        }
    free(next);
}

void text_rows_open(text_rows *t, size_t rows, size_t columns, size_t mean_entries,
                    uint64_t *state) {
    const size_t most = rows * 2 * mean_entries;
    *t = (text_rows){.rows = rows, .columns = columns};
    t->row_start = bench_memory(rows + 1, sizeof *t->row_start);
    t->column_start = bench_memory(columns + 1, sizeof *t->column_start);
    t->column = bench_memory(most, sizeof *t->column);
    t->row = bench_memory(most, sizeof *t->row);
    t->value = bench_memory(most, sizeof *t->value);
    t->column_value = bench_memory(most, sizeof *t->column_value);
    t->value_f32 = bench_memory(most, sizeof *t->value_f32);
    t->column_value_f32 = bench_memory(most, sizeof *t->column_value_f32);
    draw_rows(t, mean_entries, state);
    transpose(t);
}

void text_rows_close(text_rows *t) {
    free(t->row_start);
    free(t->column_start);
    free(t->column);
    free(t->row);
    free(t->value);
    free(t->column_value);
    free(t->value_f32);
    free(t->column_value_f32);
}
