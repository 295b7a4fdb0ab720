/* Small dense symmetric matrices: systems, eigenvalues, and values clipped to an interval.
 *
 * Matrices are arrays of doubles, row by row. Nothing is allocated: callers bring the room. One
 * thread and one order of operations, so results are bitwise identical on every machine, which
 * LAPACK does not promise. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* ---- A x = b, A symmetric and perhaps indefinite ---- */

/* Overwrites the lower triangle of a (n x n) with P A P' = L D L'; what is above the diagonal is
 * not read and not written. order: n numbers that belong to the factors. work: 2 n numbers. False:
 * singular to rounding, or not finite; then the factors are of no use. */
bool blv_dense_factor(size_t n, double *a, size_t *order, double *work);
/* x = A^-1 b from the factors; x may be b. work: n numbers. */
void blv_dense_solve(size_t n, const double *factors, const size_t *order, const double *b,
                     double *x, double *work);

/* ---- Eigenvalues and singular values ---- */

/* Overwrites a (n x n, symmetric, both triangles) with a diagonal matrix of its eigenvalues, in no
 * order, and fills `rows` (n x n) with eigenvectors, one in a row. */
void blv_dense_eigen(size_t n, double *a, double *rows);

/* Moves every eigenvalue of a (n x n) whose size is outside of [lo, hi] to the nearer end, with its
 * sign; zero counts as positive. Those inside are left as they are, and so is a if all are. room:
 * 2 n^2 numbers. */
void blv_dense_clip_eigenvalues(size_t n, double *a, double lo, double hi, double *room);
/* Lowers every singular value of m (rows x columns) that is above hi to hi. Those that are lowered
 * are exact to about roundoff (largest/hi)^2. room: 2 s^2 + l numbers, s and l the smaller and the
 * larger of the two sizes. */
void blv_dense_clip_singular_values(size_t rows, size_t columns, double *m, double hi,
                                    double *room);
