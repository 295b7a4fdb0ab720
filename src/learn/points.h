/* Points to choose from: features of rows, or gradients of their losses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Point i has left x right numbers, the outer product of left[i] and right[i]: gradients of a last
 * layer are residuals times features, and need not be written out. left NULL: right[i] alone. */
typedef struct blv_points {
    size_t count, left_width, right_width; /* left_width: 1 without left */
    const float *left, *right;             /* count x width each */
    int threads;
} blv_points;

size_t blv_points_dim(const blv_points *points);
double blv_points_dot(const blv_points *points, size_t i, size_t j);
/* <point i, v> for all i; v has blv_points_dim numbers. */
void blv_points_times(const blv_points *points, const double *v, double *out);
/* sum += factor * point i */
void blv_points_add(const blv_points *points, size_t i, double factor, double *sum);
/* sum = sum of weight_i point_i; weight NULL: 1 / count each */
void blv_points_sum(const blv_points *points, const double *weight, double *sum);

/* Calls run(context, begin, end) for parts of 0 .. count - 1 that depend on count alone. */
typedef void (*blv_span_fn)(void *context, size_t begin, size_t end);
void blv_in_spans(int threads, size_t count, blv_span_fn run, void *context);
