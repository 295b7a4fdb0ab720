/* Ways of choosing points. All of them write `size` different numbers of points to index, and a
 * weight for each where they have one; same seed, same choice, whatever the number of threads.
 * False: memory is short. */
#pragma once

#include "learn/points.h"

/* The first of a random order. */
bool blv_choose_uniform(size_t count, size_t size, uint64_t seed, size_t *index);

/* k-means with `size` centers from a k-means++ start, `rounds` rounds at most; of each center the
 * nearest point that is not taken yet, weighted with the points that have this center. Points
 * without a left part. D. Arthur, S. Vassilvitskii, SODA 2007; S. Lloyd, 1982. */
bool blv_choose_kmeans(const blv_points *points, size_t size, size_t rounds, uint64_t seed,
                       size_t *index, double *weight);

/* Facility location: one after the other the point that lowers the sum over all points of the
 * squared distance to the nearest chosen one the most; the first has the least sum. Weighted with
 * the points that are nearest to it. G. Nemhauser, L. Wolsey, M. Fisher, 1978; lazily: M. Minoux,
 * 1978. Points without a left part. */
bool blv_choose_facility(const blv_points *points, size_t size, size_t *index, double *weight);

/* One after the other the point, of those that may be taken, that brings the mean of the chosen
 * nearest to the target. S.-A. Rebuffi, A. Kolesnikov, G. Sperl, C. Lampert, CVPR 2017 (iCaRL).
 * allowed NULL: all. */
bool blv_choose_herding(const blv_points *points, const bool *allowed, const double *target,
                        size_t size, size_t *index);

/* Orthogonal matching pursuit: one after the other the point with the largest product with the
 * residual, then weights >= 0 of all chosen that minimize |target - sum w p|^2 + ridge |w|^2. K.
 * Killamsetty and others, ICML 2021; R. Tiwari and others, CVPR 2022 (GCR). */
bool blv_choose_matching(const blv_points *points, const double *target, double ridge, size_t size,
                         size_t *index, double *weight);

/* s becomes the nearest point with 0 <= s <= 1 and sum total (at most count). */
void blv_project_capped(size_t count, double total, double *s);

typedef struct blv_valued {
    double value;
    size_t number;
} blv_valued;

/* For qsort: the largest value first; of equal ones the smallest number. */
int blv_by_value(const void *left, const void *right);
/* The numbers of the largest values, in descending order; the first of equal ones. */
bool blv_largest(size_t count, const double *value, size_t size, size_t *index);
