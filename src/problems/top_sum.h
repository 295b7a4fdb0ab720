/* The sum of the K largest entries of x, smoothed: the mean over some draws of z of the sum of the
 * K largest entries of x + delta z, z normal. The draws are made once, so this is a function:
 * convex, piecewise linear, and nearly smooth when there are many draws. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct top_sum {
    size_t count, top, draws;
    double delta;
    double *noise; /* draws x count */
} top_sum;

/* False when memory is short. 1 <= top <= count. */
bool top_sum_open(top_sum *t, size_t count, size_t top, size_t draws, double delta, uint64_t seed);
void top_sum_close(top_sum *t);

/* share, if not NULL, becomes the gradient: the share of the draws in which an entry is among the
 * largest. room: 2 count numbers. */
double top_sum_of(const top_sum *t, const double *x, double *room, double *share);
