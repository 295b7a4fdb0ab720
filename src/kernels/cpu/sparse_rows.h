/* First sweep: scores of each row, and from them losses, residuals, curvatures.
 *
 * The entries of a row pick rows of W all over memory. The processor cannot foresee them, but the
 * list of columns names them: they are fetched AHEAD entries before their use, over the end of the
 * row where the next row of the sweep is the next in memory. */
#pragma once

#include "kernels/cpu/sparse_lanes.h"
#include "kernels/cpu/sparse_loops.h"

#include <math.h>

ALWAYS_INLINE size_t row_at(const blv_rows *rows, size_t position) {
    return rows->index ? rows->index[position] : rows->first + position;
}

/* Entries [begin, end) are multiplied; those before `limit` may be looked at, to fetch the rows of
 * W that are used `ahead` entries later. */
typedef struct span {
    const uint32_t *column;
    const real *value;
    size_t begin, end, limit, ahead;
} span;

/* A block of `vectors` vectors out of the classes: `first` is where it begins, `last` the part that
 * its last vector has. */
typedef struct block {
    size_t vectors, first;
    part last;
} block;

ALWAYS_INLINE block block_at(size_t first, size_t classes) {
    const size_t left = classes - first < BLOCK * LANES ? classes - first : BLOCK * LANES;
    const size_t vectors = (left + LANES - 1) / LANES;
    return (block){vectors, first, part_of(left - (vectors - 1) * LANES)};
}

ALWAYS_INLINE vec load_of(const real *from, size_t k, size_t vectors, part last) {
    return k + 1 < vectors ? load(from + k * LANES) : load_part(from + k * LANES, last);
}

ALWAYS_INLINE void store_of(real *to, size_t k, size_t vectors, part last, vec v) {
    if (k + 1 < vectors)
        store(to + k * LANES, v);
    else
        store_part(to + k * LANES, v, last);
}

/* The cache lines of a row of the block: that of every 64th byte, and that of the last. Into the
 * first level of cache, where they are used soon, or into the second. */
#define FETCH_LINES(level)                                                                         \
    const char *p = (const char *)row;                                                             \
    __builtin_prefetch(p, 0, level);                                                               \
    if ((vectors - 1) * VECTOR_BYTES > 64)                                                         \
        __builtin_prefetch(p + 64, 0, level);                                                      \
    if ((vectors - 1) * VECTOR_BYTES > 128)                                                        \
        __builtin_prefetch(p + 128, 0, level);                                                     \
    __builtin_prefetch(p + (vectors - 1) * VECTOR_BYTES + last.lanes * sizeof(real) - 1, 0, level)

ALWAYS_INLINE void fetch_now(const real *row, size_t vectors, part last) {
    FETCH_LINES(3);
}

ALWAYS_INLINE void fetch_early(const real *row, size_t vectors, part last) {
    FETCH_LINES(2);
}
#undef FETCH_LINES
_Static_assert(BLOCK *VECTOR_BYTES <= 256, "a block has no more than four cache lines");

/* out = W a and, with `both`, tangent = V a, for one block of classes. Even and odd entries have
 * sums of their own: one multiply-add need not wait for the one before. */
ALWAYS_INLINE void multiply_of(size_t vectors, bool both, const span *s, block b, size_t classes,
                               const real *w, const real *v, real *out, real *tangent) {
    vec even[BLOCK] = {{0}}, odd[BLOCK] = {{0}}, even_v[BLOCK] = {{0}}, odd_v[BLOCK] = {{0}};
    w += b.first;
    v = both ? v + b.first : NULL;
#define ADD_W(k) sum[k] = multiply_add(a, load_of(w + at, k, vectors, b.last), sum[k])
#define ADD_V(k) sum_v[k] = multiply_add(a, load_of(v + at, k, vectors, b.last), sum_v[k])
#define ENTRY(e, sums, sums_v)                                                                     \
    do {                                                                                           \
        vec *sum = sums, *sum_v = sums_v;                                                          \
        const size_t at = s->column[e] * classes;                                                  \
        const size_t next = (e) + s->ahead < s->limit ? (e) + s->ahead : (e);                      \
        fetch_early(w + s->column[next] * classes, vectors, b.last);                               \
        if (both)                                                                                  \
            fetch_early(v + s->column[next] * classes, vectors, b.last);                           \
        const vec a = all(s->value[e]);                                                            \
        EACH(vectors, ADD_W);                                                                      \
        if (both)                                                                                  \
            EACH(vectors, ADD_V);                                                                  \
        (void)sum_v;                                                                               \
    } while (0)
    size_t e = s->begin;
    for (; e + 1 < s->end; e += 2) {
        ENTRY(e, even, even_v);
        ENTRY(e + 1, odd, odd_v);
    }
    if (e < s->end)
        ENTRY(e, even, even_v);
#define PUT_W(k) store_of(out + b.first, k, vectors, b.last, even[k] + odd[k])
#define PUT_V(k) store_of(tangent + b.first, k, vectors, b.last, even_v[k] + odd_v[k])
    EACH(vectors, PUT_W);
    if (both)
        EACH(vectors, PUT_V);
#undef ADD_W
#undef ADD_V
#undef ENTRY
#undef PUT_W
#undef PUT_V
}

#define MULTIPLY(vectors)                                                                          \
    OUT_OF_LINE void multiply_##vectors(const span *s, block b, size_t classes, const real *w,     \
                                        const real *v, real *out, real *tangent) {                 \
        if (v)                                                                                     \
            multiply_of(vectors, true, s, b, classes, w, v, out, tangent);                         \
        else                                                                                       \
            multiply_of(vectors, false, s, b, classes, w, v, out, tangent);                        \
    }
MULTIPLY(1)
MULTIPLY(2)
MULTIPLY(3)
MULTIPLY(4)
#undef MULTIPLY
_Static_assert(BLOCK == 4, "a copy for each number of vectors");

ALWAYS_INLINE void multiply(const span *s, size_t classes, const real *w, const real *v, real *out,
                            real *tangent) {
    static void (*const copy[])(const span *, block, size_t, const real *, const real *, real *,
                                real *) = {multiply_1, multiply_2, multiply_3, multiply_4};
    for (size_t first = 0; first < classes; first += BLOCK * LANES) {
        const block b = block_at(first, classes);
        copy[b.vectors - 1](s, b, classes, w, v, out, tangent);
    }
}

/* One score: W and V are single columns, and lanes have nothing to share. */
OUT_OF_LINE void multiply_single(const span *s, const real *w, const real *v, real *out,
                                 real *tangent) {
    real sum[4] = {0}, sum_v[4] = {0};
    for (size_t e = s->begin; e < s->end; e += 4) {
        const size_t many = s->end - e < 4 ? s->end - e : 4;
        if (many == 4 && !v) {
            UNROLL
            for (size_t l = 0; l < 4; l++) {
                const size_t next = e + l + s->ahead < s->limit ? e + l + s->ahead : e;
                __builtin_prefetch(w + s->column[next], 0, 2);
                sum[l] += s->value[e + l] * w[s->column[e + l]];
            }
        } else {
            for (size_t l = 0; l < many; l++) {
                sum[l] += s->value[e + l] * w[s->column[e + l]];
                sum_v[l] += v ? s->value[e + l] * v[s->column[e + l]] : 0;
            }
        }
    }
    *out = (sum[0] + sum[2]) + (sum[1] + sum[3]);
    if (v)
        *tangent = (sum_v[0] + sum_v[2]) + (sum_v[1] + sum_v[3]);
}

/* What a row gives besides residual and curvature. */
typedef struct outcome {
    double loss, cross, probability;
} outcome;

/* Probabilities of a row: class k's is `inverse` times from[k], and the label's less 1 is miss. */
typedef struct chances {
    const real *from;
    real inverse, miss;
} chances;

#define EACH_PIECE(k, p, classes)                                                                  \
    for (size_t k = 0; k < (classes); k += LANES)                                                  \
        for (part p = part_of((classes)-k < LANES ? (classes)-k : LANES), *once = &p; once;        \
             once = NULL)

/* Scores become exponentials, and from them come loss and probability of the label in `result`; if
 * kept is not NULL the probabilities of all classes are written there. Sums without the label are
 * apart from it, for p - 1 and the loss of a row that is almost certain keep all their digits. */
OUT_OF_LINE chances softmax(real *score, size_t classes, size_t label, real *kept,
                            outcome *result) {
    vec top = all(-(real)INFINITY);
    EACH_PIECE(k, p, classes) {
        const vec s = fill_rest(load_part(score + k, p), p, -(real)INFINITY);
        top = choose(s > top, s, top);
    }
    const real largest = largest_of(top), below = score[label] - largest;
    vec sum[PARTS] = {{0}};
    const ivec lane = lane_numbers();
    EACH_PIECE(k, p, classes) {
        vec s = load_part(score + k, p) - all(largest);
        s = exp_of(fill_rest(s, p, -(real)INFINITY));
        store_part(score + k, s, p);
        sum[k / LANES % PARTS] +=
            (vec)((ivec)s & (lane + (integer)k != (integer)label - (ivec){0}));
    }
    const real others = sum_of(sum), total = others + score[label], inverse = 1 / total;
    result->probability = (double)(score[label] * inverse);
    result->loss = below == 0 ? log1p((double)others) : log((double)total) - (double)below;
    const chances c = {score, inverse, -others * inverse};
    if (kept) {
        EACH_PIECE(k, p, classes) {
            store_part(kept + k, load_part(score + k, p) * all(inverse), p);
        }
        kept[classes] = c.miss;
    }
    return c;
}

/* Residual and curvature of a row, both times `factor`; the curvature in place of the tangent, if
 * that is not NULL. Returns the product of the row's gradient with V. */
OUT_OF_LINE double softmax_factors(chances c, size_t classes, size_t label, real factor,
                                   real *residual, real *tangent) {
    const vec at_label = all(c.miss), inverse = all(c.inverse);
    const ivec lane = lane_numbers();
    real mean = 0;
    double cross = 0.0;
    if (tangent) {
        vec mean_sum[PARTS] = {{0}}, cross_sum[PARTS] = {{0}};
        EACH_PIECE(k, p, classes) {
            const vec prob = load_part(c.from + k, p) * inverse;
            const vec t = load_part(tangent + k, p);
            const ivec labelled = lane + (integer)k == (integer)label - (ivec){0};
            vec *mean_part = &mean_sum[k / LANES % PARTS],
                *cross_part = &cross_sum[k / LANES % PARTS];
            *mean_part = multiply_add(prob, t, *mean_part);
            *cross_part = multiply_add(choose(labelled, at_label, prob), t, *cross_part);
        }
        mean = sum_of(mean_sum);
        cross = (double)sum_of(cross_sum);
    }
    EACH_PIECE(k, p, classes) {
        const vec prob = load_part(c.from + k, p) * inverse;
        const ivec labelled = lane + (integer)k == (integer)label - (ivec){0};
        const vec of_label = choose(labelled, at_label, prob);
        store_part(residual + k, of_label * all(factor), p);
        if (tangent) {
            const vec t = load_part(tangent + k, p) - all(mean);
            store_part(tangent + k, prob * t * all(factor), p);
        }
    }
    return cross;
}

/* The row at position i: score and tangent become residual and curvature, both times `factor`. */
static outcome softmax_row(const blv_sparse_args *args, size_t i, size_t label, real factor,
                           real *score, real *tangent) {
    const size_t classes = args->sweep->classes;
    real *kept = args->kept ? (real *)args->kept + i * (classes + 1) : NULL;
    outcome result = {0};
    const chances c = args->known ? (chances){kept, 1, kept[classes]}
                                  : softmax(score, classes, label, kept, &result);
    result.cross = softmax_factors(c, classes, label, factor, score, tangent);
    return result;
}

/* The same by a rule of the caller. */
static outcome rule_row(const blv_sweep *sweep, size_t row, real factor, real *score,
                        real *tangent) {
    const outcome result = {.loss = sweep->rule(sweep->rule_context, row, score, tangent)};
    for (size_t k = 0; k < sweep->classes; k++) {
        score[k] *= factor;
        if (tangent)
            tangent[k] *= factor;
    }
    return result;
}

/* One score for two classes, of which label 1 has probability 1 / (1 + exp(-score)). */
static outcome logistic(real *score, real *tangent, size_t label, real factor, bool second_order) {
    const double s = (double)*score, small = exp(-fabs(s));
    const double larger = 1.0 / (1.0 + small), smaller = small * larger;
    const bool agrees = (s > 0.0) == (label == 1);
    outcome result = {.probability = agrees ? larger : smaller};
    result.loss = log1p(small) + (agrees ? 0.0 : fabs(s));
    const double wrong = agrees ? smaller : larger, residual = label ? -wrong : wrong;
    *score = (real)((double)factor * residual);
    if (second_order) {
        result.cross = residual * (double)*tangent;
        *tangent = (real)((double)factor * larger * smaller * (double)*tangent);
    }
    return result;
}

/* One score for a real target. */
static outcome squares(real *score, real *tangent, double target, real factor, bool second_order) {
    const double residual = (double)*score - target;
    outcome result = {.loss = 0.5 * residual * residual};
    *score = (real)((double)factor * residual);
    if (second_order) {
        result.cross = residual * (double)*tangent;
        *tangent *= factor;
    }
    return result;
}

static int32_t best_class(const real *score, size_t classes, bool logistic) {
    if (logistic)
        return score[0] > 0;
    size_t best = 0;
    for (size_t k = 1; k < classes; k++)
        best = score[k] > score[best] ? k : best;
    return (int32_t)best;
}

/* A row that occurs twice in a sweep may be written by two threads, with the same value: atomic,
 * for that to be allowed. It costs nothing. */
static void put(void *array, size_t row, double value) {
    real rounded = (real)value;
    if (array)
        __atomic_store((real *)array + row, &rounded, __ATOMIC_RELAXED);
}

static double sweep_rows(const blv_sparse_args *args, size_t begin, size_t end) {
    const blv_rows *rows = args->rows;
    const blv_sweep *sweep = args->sweep;
    const real *w = sweep->w, *v = args->second_order ? sweep->v : NULL, *weights = rows->weight;
    const size_t classes = sweep->classes;
    span s = {
        .column = rows->column, .value = rows->value, .ahead = rows->index ? LISTED_AHEAD : AHEAD};
    double loss = 0.0;
    for (size_t i = begin; i < end; i++) {
        const size_t row = row_at(rows, i), label = rows->label ? (size_t)rows->label[row] : 0;
        const double weight = weights ? (double)weights[row] : 1.0;
        real *score = (real *)args->residual + i * args->stride;
        real *tangent = (real *)args->curvature + i * args->stride;
        s.begin = rows->row_start[row];
        s.end = rows->row_start[row + 1];
        s.limit = rows->index ? s.end : rows->row_start[rows->rows];
        if (rows->index && i + 1 < end) {
            const size_t next = rows->row_start[row_at(rows, i + 1)];
            __builtin_prefetch(s.column + next);
            __builtin_prefetch(s.value + next);
        }
        if (args->logistic)
            multiply_single(&s, w, v, score, tangent);
        else if (!args->known)
            multiply(&s, classes, w, v, score, tangent);
        else if (v)
            multiply(&s, classes, v, NULL, tangent, NULL);
        if (sweep->row_class) {
            int32_t best = best_class(score, classes, args->logistic);
            __atomic_store(sweep->row_class + row, &best, __ATOMIC_RELAXED);
        }
        const real factor = (real)(sweep->scale * weight);
        const outcome o =
            sweep->rule      ? rule_row(sweep, row, factor, score, v ? tangent : NULL)
            : rows->target   ? squares(score, tangent, rows->target[row], factor, v != NULL)
            : args->logistic ? logistic(score, tangent, label, factor, v != NULL)
                             : softmax_row(args, i, label, factor, score, v ? tangent : NULL);
        loss += weight * o.loss;
        put(sweep->row_loss, row, o.loss);
        put(sweep->row_cross, row, o.cross);
        put(sweep->row_probability, row, o.probability);
    }
    return loss;
}
