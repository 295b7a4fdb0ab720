/* Where vectors live.
 *
 * A space is a dimension, a precision, a kind of memory and a table of operations. Solvers hold
 * opaque vectors and double scalars, so one solver source runs in float, in double, and on any
 * custom space: a GPU, a cluster.
 *
 * Updates return nothing. Scalars are asked for in one call for all of them (blv_reduce), which is
 * the only point where a device has to be waited for.
 *
 * Host spaces: elements are contiguous and aligned to 64 bytes. Every reduction is accumulated in
 * double over a partition that depends on the dimension only, so results are bitwise identical for
 * any number of threads. */
#ifndef BILEVEL_SPACE_H
#define BILEVEL_SPACE_H

#include "bilevel/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum blv_precision { BLV_F64 = 0, BLV_F32 = 1 } blv_precision;

typedef enum blv_memory_kind {
    BLV_MEMORY_HOST = 0,
    BLV_MEMORY_CUDA = 1,
    BLV_MEMORY_OTHER = 2,  /* not addressed by one pointer, or not known */
    BLV_MEMORY_MANAGED = 3 /* CUDA memory that the host can read, too */
} blv_memory_kind;

typedef struct blv_space blv_space;
typedef struct blv_vec blv_vec;
typedef struct blv_ranks blv_ranks; /* several processes, see ranks.h */

/* ---- Spaces ---- */

/* A space of vectors in this process's memory. threads: 0 for all processors, else at least 1. */
BLV_API blv_error blv_space_create_host(blv_space **space, size_t dim, blv_precision precision,
                                        int threads);
/* NULL is allowed. Every vector of the space must have been destroyed before. */
BLV_API void blv_space_destroy(blv_space *space);

BLV_API size_t blv_space_dim(const blv_space *space);
/* Elements that this process keeps: the dimension, unless the space is spread over processes. */
BLV_API size_t blv_space_local_dim(const blv_space *space);
BLV_API blv_precision blv_space_precision(const blv_space *space);
BLV_API blv_memory_kind blv_space_memory(const blv_space *space);
BLV_API int blv_space_threads(const blv_space *space);
BLV_API const char *blv_space_name(const blv_space *space);
BLV_API void *blv_space_context(const blv_space *space);
/* Bytes that one vector takes here. */
BLV_API size_t blv_space_vec_bytes(const blv_space *space);
/* The first failure of an operation, BLV_OK while there was none. It stays: what vectors hold after
 * it is not to be used. why may be NULL. */
BLV_API blv_error blv_space_error(const blv_space *space, blv_message *why);
/* For the operations of a space, which return nothing: a failure that blv_space_error is to report.
 * Later ones are ignored. */
BLV_API void blv_space_fail(const blv_space *space, blv_error error, const char *format, ...)
    BLV_PRINTF(3, 4);
/* What all processes of a space are to act on, given what this one would: the word itself on a
 * space of one process. Every process has to call it. */
BLV_API double blv_space_agree(const blv_space *space, double word);
BLV_API bool blv_space_agrees(const blv_space *space); /* whether there are others to agree with */

/* ---- Vectors ---- */

/* A new vector, all zero. The space must outlive it. */
BLV_API blv_error blv_vec_create(blv_vec **vec, const blv_space *space);
/* A vector around memory of the space's kind, which the caller keeps and frees after the vector. On
 * host spaces: blv_space_vec_bytes bytes, aligned to 64; what is behind the last element may be
 * overwritten. BLV_E_UNSUPPORTED where the space cannot, BLV_E_ARGUMENT where the memory does not
 * do. */
BLV_API blv_error blv_vec_wrap(blv_vec **vec, const blv_space *space, void *memory, size_t bytes);
BLV_API void blv_vec_destroy(blv_vec *vec); /* NULL is allowed */
BLV_API const blv_space *blv_vec_space(const blv_vec *vec);
BLV_API size_t blv_vec_dim(const blv_vec *vec);

/* Updates. The vectors are of one space: out of two spaces, or with NULL for a vector, the result
 * is NaN. */
BLV_API void blv_vec_copy(blv_vec *dst, const blv_vec *src);
BLV_API void blv_vec_fill(blv_vec *v, double a);
BLV_API void blv_vec_scale(blv_vec *v, double a);
BLV_API void blv_vec_axpy(blv_vec *y, double a, const blv_vec *x); /* y += a x */
BLV_API void blv_vec_clamp(blv_vec *v, double lo, double hi);      /* each element into [lo, hi] */
/* Exchanges the contents of two vectors, without copying elements unless one is wrapped. */
BLV_API void blv_vec_swap(blv_vec *a, blv_vec *b);

#define BLV_LINCOMB_MAX 8
/* out = sum_i coef[i] terms[i], 1 <= count <= BLV_LINCOMB_MAX. out may be one of the terms. */
BLV_API void blv_vec_lincomb(blv_vec *out, size_t count, const double *coef,
                             const blv_vec *const *terms);
/* out = a x + b y. The two-term form of the above. */
BLV_API void blv_vec_combine(blv_vec *out, double a, const blv_vec *x, double b, const blv_vec *y);

/* Operations on each element: c is a number, a and b are the elements of two vectors. NaN in a
 * stays NaN. */
typedef enum blv_elementwise {
    BLV_PRODUCT,  /* c a b */
    BLV_QUOTIENT, /* a / (b + c) */
    BLV_SQRT,     /* sqrt(c a) */
    BLV_SIGMOID,  /* 1 / (1 + exp(-c a)) */
    BLV_LEAST,    /* a, but at least b */
    BLV_MOST,     /* a, but at most b */
    BLV_EXCESS,   /* a - c where that is positive, else 0 */
    BLV_STEP,     /* 1 where a > c, else 0 */
    BLV_ELEMENTWISE_COUNT
} blv_elementwise;
/* out may be a or b. b is not looked at, and may be NULL, where the operation has none. */
BLV_API void blv_vec_apply(blv_vec *out, blv_elementwise operation, double c, const blv_vec *a,
                           const blv_vec *b);

/* ---- Scalars ---- */

/* One scalar of a reduction: a'b, or |a| where b is NULL. */
typedef struct blv_scalar {
    double *result;
    const blv_vec *a, *b;
} blv_scalar;

/* Elements of such a list, and a list as the two arguments that functions take:
 * blv_reduce(BLV_SCALARS(BLV_NORM(&norm, r), BLV_DOT(&slope, g, d))) */
#define BLV_NORM(result, a)                                                                        \
    { (result), (a), NULL }
#define BLV_DOT(result, a, b)                                                                      \
    { (result), (a), (b) }
#define BLV_SCALARS(...)                                                                           \
    sizeof((const blv_scalar[]){__VA_ARGS__}) / sizeof(blv_scalar), (const blv_scalar[]) {         \
        __VA_ARGS__                                                                                \
    }

enum { BLV_REDUCE_MAX = 64 }; /* scalars in one reduction; more of them take several */
/* All scalars of the list in one reduction: of vectors of different spaces too, where these are of
 * one kind. Says whether all of them are finite: a NaN or an infinity in a vector shows in its
 * products and in its norm. A pair out of two spaces, or without a, gives NaN. */
BLV_API bool blv_reduce(size_t count, const blv_scalar *scalars);
/* Lists of one. */
BLV_API double blv_vec_dot(const blv_vec *a, const blv_vec *b);
BLV_API double blv_vec_norm(const blv_vec *a);
/* Whether the last update of the vector has left its norm behind, as those of host spaces do:
 * asking for it takes no reduction then. */
BLV_API bool blv_vec_norm_known(const blv_vec *a);

/* ---- Elements ---- */

/* All elements to and from host memory, dim doubles, converted where the precision differs. On a
 * space that is spread over processes every process calls it, and gets or gives all of them. */
BLV_API void blv_vec_read(const blv_vec *v, double *host);
BLV_API void blv_vec_write(blv_vec *v, const double *host);

/* Direct access for oracles: the elements, or NULL when the vector is not a host vector of that
 * precision; local_dim of them on a space that is spread. Valid until the vector is next handed to
 * the library. */
BLV_API const double *blv_vec_f64(const blv_vec *v);
BLV_API double *blv_vec_f64_mut(blv_vec *v);
BLV_API const float *blv_vec_f32(const blv_vec *v);
BLV_API float *blv_vec_f32_mut(blv_vec *v);

/* One element of a host vector of either precision: short, for oracles of few variables. Putting
 * into NULL does nothing, as an output that is not needed wants it. Beyond the last element, and
 * for a vector of another kind, NaN is read and nothing is put. */
BLV_API double blv_vec_at(const blv_vec *v, size_t i);
BLV_API void blv_vec_put(blv_vec *v, size_t i, double value);

/* A vector as other libraries describe it: the layout of DLTensor in DLPack 0.8 (dlpack.h), with
 * the room that shape and strides point to. */
typedef struct blv_dlpack {
    struct {
        void *data;
        struct {
            int32_t type, id; /* 1: host, 2: CUDA, 13: CUDA managed */
        } device;
        int32_t ndim;
        struct {
            uint8_t code, bits; /* code 2: floating point */
            uint16_t lanes;
        } dtype;
        int64_t *shape, *strides;
        uint64_t byte_offset;
    } tensor;
    int64_t shape[1], strides[1];
} blv_dlpack;

/* Describes the elements that are kept here. They are borrowed, as with blv_vec_f64_mut; the
 * description must not be copied. BLV_E_UNSUPPORTED where no pointer leads to them. */
BLV_API blv_error blv_vec_dlpack(blv_vec *v, blv_dlpack *description);

/* ---- A custom space ---- */

/* One product of a reduction, for the operation below: a'b, both of that space. */
typedef struct blv_operands {
    const blv_space *space;
    const void *a, *b;
} blv_operands;

/* The operations of a space. `void *` is what `create` returned. The required ones must be set; a
 * missing optional one is built from the required ones. Only `create` and `wrap` can report that
 * they failed; what the others meet goes to blv_space_fail. The table begins with BLV_SIZED. */
typedef struct blv_space_ops {
    size_t size; /* of this struct */
    const char *name;
    blv_memory_kind memory;

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

    /* optional: speed */
    /* True where |out|^2 came at no cost, and is in *square: a reduction that wants it uses that.
     */
    bool (*lincomb)(const blv_space *s, void *out, size_t count, const double *coef,
                    const void *const *terms, double *square);
    /* Of all spaces that have the same function here. */
    void (*reduce)(size_t count, const blv_operands *pairs, double *result);
    void (*apply)(const blv_space *s, blv_elementwise operation, void *out, double c, const void *a,
                  const void *b);

    /* optional: memory */
    size_t (*vec_bytes)(const blv_space *s);
    size_t (*local_dim)(const blv_space *s);
    /* Where the elements are, and the number of the device. That comes as -1 from who only puts
     * work on the space's own stream: what is queued may stay there. */
    void *(*data)(const blv_space *s, void *v, int *device);
    /* A vector around the caller's memory, NULL where that does not do; `unwrap` in place of
     * `destroy` ends it, and may be NULL. */
    void *(*wrap)(const blv_space *s, void *memory, size_t bytes);
    void (*unwrap)(const blv_space *s, void *v);

    /* optional: several processes. The word of one of them, on all. */
    double (*agree)(const blv_space *s, double word);

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
