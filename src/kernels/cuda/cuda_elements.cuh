/* The functions of blv_kernels that are no sweeps; see kernel_table.h. */
#pragma once

#include "kernels/cuda/cuda_sweep.cuh"

namespace elements {

template <class real> void row_sigmoid(const blv_rows *rows, const void *x, void *out);
template <class real>
void row_sigmoid_slope(const blv_rows *rows, double scale, const void *x, const void *factor,
                       void *out);
template <class real>
void row_add(const blv_rows *rows, double scale, const void *factor, void *out);
size_t count_right(const blv_rows *rows, const int32_t *guess);
template <class real> void exp_scaled(size_t n, double scale, const void *x, void *out);
template <class real>
void column_products(size_t columns, size_t rows, int transposed, double factor, const void *scale,
                     const void *u, const void *v, void *out);
template <class real> double sum(size_t n, const void *u);
template <class real>
void spread_groups(size_t n, const uint32_t *group, const void *from, void *out);
template <class real>
void sum_groups(size_t n, const uint32_t *group, const void *in, size_t groups, double *sums,
                void *out);
template <class real>
void penalize(size_t groups, size_t ranges, const blv_range *range, const void *x, const void *u,
              void *out);
template <class real>
double penalty_products(size_t groups, size_t ranges, const blv_range *range, double factor,
                        const void *x, const void *u, const void *v, void *out);
template <class real> double dot(size_t n, const void *a, const void *b);
template <class real> void axpy(size_t n, double a, const void *x, void *y);
template <class real>
void combine(size_t n, double a, const void *x, double b, const void *y, void *out);
template <class real>
void gemv(size_t rows, size_t columns, double alpha, const void *m, const void *v, double beta,
          const void *w, void *out);
template <class real>
double quadratic(size_t n, size_t m, const void *A, const void *C, const void *c, const void *x,
                 const void *y);

} // namespace elements
