/* Where vectors live.
 *
 * A space is a dimension, a precision and a table of operations. Solvers hold opaque vectors and
 * double scalars, so one solver source runs in float, in double, and on any space of your own.
 *
 * Host spaces: elements are contiguous and aligned to 64 bytes. Every reduction is accumulated in
 * double over a partition that depends on the dimension only, so the bits of a result do not depend
 * on the number of threads. */
#ifndef BILEVEL_SPACE_H
#define BILEVEL_SPACE_H

#include "bilevel/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum blv_precision { BLV_F64 = 0, BLV_F32 = 1 } blv_precision;

/* Which memory holds the elements: of this process, of a CUDA device, or something else. */
typedef enum blv_memory_kind {
    BLV_MEMORY_HOST = 0,
    BLV_MEMORY_CUDA = 1,
    BLV_MEMORY_OTHER = 2
} blv_memory_kind;

typedef struct blv_space blv_space;
typedef struct blv_vec blv_vec;

/* ---- Spaces ---- */

/* A space of vectors in this process's memory. threads: 0 for all processors, else at least 1. */
BLV_API blv_error blv_space_create_host(blv_space **space, size_t dim, blv_precision precision,
                                        int threads);
/* NULL is allowed. Every vector of the space must have been destroyed before. */
BLV_API void blv_space_destroy(blv_space *space);

BLV_API size_t blv_space_dim(const blv_space *space);
BLV_API blv_precision blv_space_precision(const blv_space *space);
BLV_API int blv_space_threads(const blv_space *space);
BLV_API const char *blv_space_name(const blv_space *space);
BLV_API void *blv_space_context(const blv_space *space);
/* Bytes that one vector takes. */
BLV_API size_t blv_space_vec_bytes(const blv_space *space);

/* ---- Vectors ---- */

/* A new vector, all zero. The space must outlive it. */
BLV_API blv_error blv_vec_create(blv_vec **vec, const blv_space *space);
BLV_API void blv_vec_destroy(blv_vec *vec); /* NULL is allowed */
BLV_API const blv_space *blv_vec_space(const blv_vec *vec);
BLV_API size_t blv_vec_dim(const blv_vec *vec);

/* In all of these, the vectors are of one space: out of two spaces, or with NULL for a vector, the
 * result is NaN. */
BLV_API void blv_vec_copy(blv_vec *dst, const blv_vec *src);
BLV_API void blv_vec_fill(blv_vec *v, double a);
BLV_API void blv_vec_scale(blv_vec *v, double a);
BLV_API void blv_vec_axpy(blv_vec *y, double a, const blv_vec *x); /* y += a x */
BLV_API double blv_vec_dot(const blv_vec *a, const blv_vec *b);
BLV_API double blv_vec_norm(const blv_vec *a);
BLV_API void blv_vec_clamp(blv_vec *v, double lo, double hi); /* each element into [lo, hi] */
/* Exchanges the contents of two vectors without copying elements. */
BLV_API void blv_vec_swap(blv_vec *a, blv_vec *b);

#define BLV_LINCOMB_MAX 8
/* out = sum_i coef[i] terms[i], 1 <= count <= BLV_LINCOMB_MAX; returns |out|, in one pass.
 * out may be one of the terms. A NaN or infinity in out makes the returned norm non-finite. */
BLV_API double blv_vec_lincomb(blv_vec *out, size_t count, const double *coef,
                               const blv_vec *const *terms);
/* out = a x + b y; returns |out|. The two-term form of the above. */
BLV_API double blv_vec_combine(blv_vec *out, double a, const blv_vec *x, double b,
                               const blv_vec *y);
/* result[i] = a[i]'b[i] for count pairs (at most BLV_LINCOMB_MAX) in one pass. */
BLV_API void blv_vec_dots(size_t count, const blv_vec *const *a, const blv_vec *const *b,
                          double *result);

/* Elements to and from host memory, dim doubles, converted where the precision differs. */
BLV_API void blv_vec_read(const blv_vec *v, double *host);
BLV_API void blv_vec_write(blv_vec *v, const double *host);

/* Direct access for oracles: the elements, or NULL when the vector is not a host vector of that
 * precision. Valid until the vector is next handed to the library. */
BLV_API const double *blv_vec_f64(const blv_vec *v);
BLV_API double *blv_vec_f64_mut(blv_vec *v);
BLV_API const float *blv_vec_f32(const blv_vec *v);
BLV_API float *blv_vec_f32_mut(blv_vec *v);

/* One element of a host vector of either precision: short, for oracles of few variables. Putting
 * into NULL does nothing, as an output that is not needed wants it. Beyond the last element, and
 * for a vector of another kind, NaN is read and nothing is put. */
BLV_API double blv_vec_at(const blv_vec *v, size_t i);
BLV_API void blv_vec_put(blv_vec *v, size_t i, double value);

/* ---- A space of your own ---- */

/* The operations of a space. `void *` is what `create` returned. The required ones must be set; a
 * missing optional one is built from the required ones. None of them may fail except `create`. */
typedef struct blv_space_ops {
    const char *name;

    /* required */
    void *(*create)(const blv_space *s); /* zero-filled; NULL when memory is short */
    void (*destroy)(const blv_space *s, void *v);
    void (*copy)(const blv_space *s, void *dst, const void *src);
    void (*fill)(const blv_space *s, void *v, double a);
    void (*scale)(const blv_space *s, void *v, double a);
    void (*axpy)(const blv_space *s, void *y, double a, const void *x);
    double (*dot)(const blv_space *s, const void *a, const void *b);
    void (*clamp)(const blv_space *s, void *v, double lo, double hi);
    void (*read)(const blv_space *s, const void *v, double *host);
    void (*write)(const blv_space *s, void *v, const double *host);

    /* optional */
    double (*norm)(const blv_space *s, const void *a);
    double (*lincomb)(const blv_space *s, void *out, size_t count, const double *coef,
                      const void *const *terms);
    void (*dots)(const blv_space *s, size_t count, const void *const *a, const void *const *b,
                 double *result);
    size_t (*vec_bytes)(const blv_space *s);
    void (*free_context)(void *context); /* called by blv_space_destroy */
} blv_space_ops;

/* ops is borrowed and must outlive the space; context is handed over to free_context.
 * On error the context is not freed. */
BLV_API blv_error blv_space_create(blv_space **space, const blv_space_ops *ops, size_t dim,
                                   blv_precision precision, void *context);

#ifdef __cplusplus
}
#endif
#endif
