/* First sweep, of one precision: scores of each row, and from them losses, residuals, curvatures.
 * Included by sparse_loops.c for each REAL, has no include guard.
 *
 * The entries of a row pick rows of W all over memory. The processor cannot foresee them, but the
 * list of columns names them: they are fetched AHEAD entries before their use, over the end of the
 * row where the next row of the sweep is the next in memory. */

#define span NAME(span)
/* Entries [begin, end) are multiplied; those before `limit` may be looked at, to fetch the rows of
 * W that are used `ahead` entries later. */
typedef struct span {
    const uint32_t *column;
    const REAL *value;
    size_t begin, end, limit, ahead;
} span;

/* A block of `vectors` vectors out of the classes: `first` is where it begins, `last` the part that
 * its last vector has. */
#define block NAME(block)
typedef struct block {
    size_t vectors, first;
    part last;
} block;

ALWAYS_INLINE block NAME(block_at)(size_t first, size_t classes) {
    const size_t left = classes - first < BLOCK * WIDTH ? classes - first : BLOCK * WIDTH;
    const size_t vectors = (left + WIDTH - 1) / WIDTH;
    return (block){vectors, first, NAME(part_of)(left - (vectors - 1) * WIDTH)};
}

ALWAYS_INLINE vector NAME(load_of)(const REAL *from, size_t k, size_t vectors, part last) {
    return k + 1 < vectors ? NAME(load)(from + k * WIDTH) : NAME(load_part)(from + k * WIDTH, last);
}

ALWAYS_INLINE void NAME(store_of)(REAL *to, size_t k, size_t vectors, part last, vector v) {
    if (k + 1 < vectors)
        NAME(store)(to + k * WIDTH, v);
    else
        NAME(store_part)(to + k * WIDTH, v, last);
}

/* The cache lines of a row of the block: that of every 64th byte, and that of the last. Into the
 * first level of cache, where they are used soon, or into the second. */
#define FETCH_LINES(level)                                                                         \
    const char *p = (const char *)row;                                                             \
    __builtin_prefetch(p, 0, level);                                                               \
    if ((vectors - 1) * BYTES > 64)                                                                \
        __builtin_prefetch(p + 64, 0, level);                                                      \
    if ((vectors - 1) * BYTES > 128)                                                               \
        __builtin_prefetch(p + 128, 0, level);                                                     \
    __builtin_prefetch(p + (vectors - 1) * BYTES + last.lanes * sizeof(REAL) - 1, 0, level)

ALWAYS_INLINE void NAME(fetch)(const REAL *row, size_t vectors, part last) {
    FETCH_LINES(3);
}

ALWAYS_INLINE void NAME(fetch_early)(const REAL *row, size_t vectors, part last) {
    FETCH_LINES(2);
}
#undef FETCH_LINES
_Static_assert(BLOCK *BYTES <= 256, "a block has no more than four cache lines");

/* out = W a and, with `both`, tangent = V a, for one block of classes. Even and odd entries have
 * sums of their own: one multiply-add need not wait for the one before. */
ALWAYS_INLINE void NAME(multiply_of)(size_t vectors, bool both, const span *s, block b,
                                     size_t classes, const REAL *w, const REAL *v, REAL *out,
                                     REAL *tangent) {
    vector even[BLOCK] = {{0}}, odd[BLOCK] = {{0}}, even_v[BLOCK] = {{0}}, odd_v[BLOCK] = {{0}};
    w += b.first;
    v = both ? v + b.first : NULL;
#define ADD_W(k) sum[k] = NAME(madd)(a, NAME(load_of)(w + at, k, vectors, b.last), sum[k])
#define ADD_V(k) sum_v[k] = NAME(madd)(a, NAME(load_of)(v + at, k, vectors, b.last), sum_v[k])
#define ENTRY(e, sums, sums_v)                                                                     \
    do {                                                                                           \
        vector *sum = sums, *sum_v = sums_v;                                                       \
        const size_t at = s->column[e] * classes;                                                  \
        const size_t next = (e) + s->ahead < s->limit ? (e) + s->ahead : (e);                      \
        NAME(fetch_early)(w + s->column[next] * classes, vectors, b.last);                         \
        if (both)                                                                                  \
            NAME(fetch_early)(v + s->column[next] * classes, vectors, b.last);                     \
        const vector a = NAME(spread)(s->value[e]);                                                \
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
#define PUT_W(k) NAME(store_of)(out + b.first, k, vectors, b.last, even[k] + odd[k])
#define PUT_V(k) NAME(store_of)(tangent + b.first, k, vectors, b.last, even_v[k] + odd_v[k])
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
    NOINLINE void NAME(multiply_##vectors)(const span *s, block b, size_t classes, const REAL *w,  \
                                           const REAL *v, REAL *out, REAL *tangent) {              \
        if (v)                                                                                     \
            NAME(multiply_of)(vectors, true, s, b, classes, w, v, out, tangent);                   \
        else                                                                                       \
            NAME(multiply_of)(vectors, false, s, b, classes, w, v, out, tangent);                  \
    }
MULTIPLY(1)
MULTIPLY(2)
MULTIPLY(3)
MULTIPLY(4)
#undef MULTIPLY
_Static_assert(BLOCK == 4, "a copy for each number of vectors");

ALWAYS_INLINE void NAME(multiply)(const span *s, size_t classes, const REAL *w, const REAL *v,
                                  REAL *out, REAL *tangent) {
    static void (*const copy[])(const span *, block, size_t, const REAL *, const REAL *, REAL *,
                                REAL *) = {NAME(multiply_1), NAME(multiply_2), NAME(multiply_3),
                                           NAME(multiply_4)};
    for (size_t first = 0; first < classes; first += BLOCK * WIDTH) {
        const block b = NAME(block_at)(first, classes);
        copy[b.vectors - 1](s, b, classes, w, v, out, tangent);
    }
}

/* One score: W and V are single columns, and lanes have nothing to share. */
NOINLINE void NAME(multiply_single)(const span *s, const REAL *w, const REAL *v, REAL *out,
                                    REAL *tangent) {
    REAL sum[4] = {0}, sum_v[4] = {0};
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
#define outcome NAME(outcome)
typedef struct outcome {
    double loss, cross, probability;
} outcome;

/* Probabilities of a row: class k's is `inverse` times from[k], and the label's less 1 is miss. */
#define chances NAME(chances)
typedef struct chances {
    const REAL *from;
    REAL inverse, miss;
} chances;

#define EACH_PART(k, p, classes)                                                                   \
    for (size_t k = 0; k < (classes); k += WIDTH)                                                  \
        for (part p = NAME(part_of)((classes)-k < WIDTH ? (classes)-k : WIDTH), *once = &p; once;  \
             once = NULL)

ALWAYS_INLINE bits NAME(lane_numbers)(void) {
    bits lane;
    for (size_t l = 0; l < WIDTH; l++)
        lane[l] = (REAL_BITS)l;
    return lane;
}

/* Scores become exponentials, and from them come loss and probability of the label in `result`; if
 * kept is not NULL the probabilities of all classes are written there. Sums without the label are
 * apart from it, for p - 1 and the loss of a row that is almost certain keep all their digits. */
NOINLINE chances NAME(softmax)(REAL *score, size_t classes, size_t label, REAL *kept,
                               outcome *result) {
    vector top = NAME(spread)(-(REAL)INFINITY);
    EACH_PART(k, p, classes) {
        const vector s = NAME(fill_rest)(NAME(load_part)(score + k, p), p, -(REAL)INFINITY);
        top = NAME(choose)(s > top, s, top);
    }
    const REAL largest = NAME(largest_of)(top), below = score[label] - largest;
    vector sum = {0};
    const bits lane = NAME(lane_numbers)();
    EACH_PART(k, p, classes) {
        vector s = NAME(load_part)(score + k, p) - NAME(spread)(largest);
        s = NAME(exp_of)(NAME(fill_rest)(s, p, -(REAL)INFINITY));
        NAME(store_part)(score + k, s, p);
        sum += (vector)((bits)s & (lane + (REAL_BITS)k != (REAL_BITS)label - (bits){0}));
    }
    const REAL others = NAME(sum_of)(sum), total = others + score[label], inverse = 1 / total;
    result->probability = (double)(score[label] * inverse);
    result->loss = below == 0 ? log1p((double)others) : log((double)total) - (double)below;
    const chances c = {score, inverse, -others * inverse};
    if (kept) {
        EACH_PART(k, p, classes) {
            NAME(store_part)(kept + k, NAME(load_part)(score + k, p) * NAME(spread)(inverse), p);
        }
        kept[classes] = c.miss;
    }
    return c;
}

/* Residual and curvature of a row, both times `factor`; the curvature in place of the tangent, if
 * that is not NULL. Returns the product of the row's gradient with V. */
NOINLINE double NAME(softmax_factors)(chances c, size_t classes, size_t label, REAL factor,
                                      REAL *residual, REAL *tangent) {
    const vector at_label = NAME(spread)(c.miss), inverse = NAME(spread)(c.inverse);
    const bits lane = NAME(lane_numbers)();
    REAL mean = 0;
    double cross = 0.0;
    if (tangent) {
        vector mean_sum = {0}, cross_sum = {0};
        EACH_PART(k, p, classes) {
            const vector prob = NAME(load_part)(c.from + k, p) * inverse;
            const vector t = NAME(load_part)(tangent + k, p);
            const bits labelled = lane + (REAL_BITS)k == (REAL_BITS)label - (bits){0};
            mean_sum = NAME(madd)(prob, t, mean_sum);
            cross_sum = NAME(madd)(NAME(choose)(labelled, at_label, prob), t, cross_sum);
        }
        mean = NAME(sum_of)(mean_sum);
        cross = (double)NAME(sum_of)(cross_sum);
    }
    EACH_PART(k, p, classes) {
        const vector prob = NAME(load_part)(c.from + k, p) * inverse;
        const bits labelled = lane + (REAL_BITS)k == (REAL_BITS)label - (bits){0};
        const vector of_label = NAME(choose)(labelled, at_label, prob);
        NAME(store_part)(residual + k, of_label * NAME(spread)(factor), p);
        if (tangent) {
            const vector t = NAME(load_part)(tangent + k, p) - NAME(spread)(mean);
            NAME(store_part)(tangent + k, prob * t * NAME(spread)(factor), p);
        }
    }
    return cross;
}

/* The row at position i: score and tangent become residual and curvature, both times `factor`. */
static outcome NAME(softmax_row)(const blv_sparse_args *args, size_t i, size_t label, REAL factor,
                                 REAL *score, REAL *tangent) {
    const size_t classes = args->sweep->classes;
    REAL *kept = args->kept ? (REAL *)args->kept + i * (classes + 1) : NULL;
    outcome result = {0};
    const chances c = args->known ? (chances){kept, 1, kept[classes]}
                                  : NAME(softmax)(score, classes, label, kept, &result);
    result.cross = NAME(softmax_factors)(c, classes, label, factor, score, tangent);
    return result;
}

/* One score for two classes, of which label 1 has probability 1 / (1 + exp(-score)). */
static outcome NAME(logistic)(REAL *score, REAL *tangent, size_t label, REAL factor,
                              bool second_order) {
    const double s = (double)*score, small = exp(-fabs(s));
    const double larger = 1.0 / (1.0 + small), smaller = small * larger;
    const bool agrees = (s > 0.0) == (label == 1);
    outcome result = {.probability = agrees ? larger : smaller};
    result.loss = log1p(small) + (agrees ? 0.0 : fabs(s));
    const double wrong = agrees ? smaller : larger, residual = label ? -wrong : wrong;
    *score = (REAL)((double)factor * residual);
    if (second_order) {
        result.cross = residual * (double)*tangent;
        *tangent = (REAL)((double)factor * larger * smaller * (double)*tangent);
    }
    return result;
}

static int32_t NAME(best_class)(const REAL *score, size_t classes, bool logistic) {
    if (logistic)
        return score[0] > 0;
    size_t best = 0;
    for (size_t k = 1; k < classes; k++)
        best = score[k] > score[best] ? k : best;
    return (int32_t)best;
}

/* A row that occurs twice in a sweep may be written by two threads, with the same value: atomic,
 * for that to be allowed. It costs nothing. */
static void NAME(put)(void *array, size_t row, double value) {
    REAL rounded = (REAL)value;
    if (array)
        __atomic_store((REAL *)array + row, &rounded, __ATOMIC_RELAXED);
}

static double NAME(rows)(const blv_sparse_args *args, size_t begin, size_t end) {
    const blv_rows *rows = args->rows;
    const blv_sweep *sweep = args->sweep;
    const REAL *w = sweep->w, *v = args->second_order ? sweep->v : NULL, *weights = rows->weight;
    const size_t classes = sweep->classes;
    span s = {
        .column = rows->column, .value = rows->value, .ahead = rows->index ? LISTED_AHEAD : AHEAD};
    double loss = 0.0;
    for (size_t i = begin; i < end; i++) {
        const size_t row = row_at(rows, i), label = (size_t)rows->label[row];
        const double weight = weights ? (double)weights[row] : 1.0;
        REAL *score = (REAL *)args->residual + i * args->stride;
        REAL *tangent = (REAL *)args->curvature + i * args->stride;
        s.begin = rows->row_start[row];
        s.end = rows->row_start[row + 1];
        s.limit = rows->index ? s.end : rows->row_start[rows->rows];
        if (rows->index && i + 1 < end) {
            const size_t next = rows->row_start[row_at(rows, i + 1)];
            __builtin_prefetch(s.column + next);
            __builtin_prefetch(s.value + next);
        }
        if (args->logistic)
            NAME(multiply_single)(&s, w, v, score, tangent);
        else if (!args->known)
            NAME(multiply)(&s, classes, w, v, score, tangent);
        else if (v)
            NAME(multiply)(&s, classes, v, NULL, tangent, NULL);
        if (sweep->row_class) {
            int32_t best = NAME(best_class)(score, classes, args->logistic);
            __atomic_store(sweep->row_class + row, &best, __ATOMIC_RELAXED);
        }
        const REAL factor = (REAL)(sweep->scale * weight);
        const outcome o =
            args->logistic ? NAME(logistic)(score, tangent, label, factor, v != NULL)
                           : NAME(softmax_row)(args, i, label, factor, score, v ? tangent : NULL);
        loss += weight * o.loss;
        NAME(put)(sweep->row_loss, row, o.loss);
        NAME(put)(sweep->row_cross, row, o.cross);
        NAME(put)(sweep->row_probability, row, o.probability);
    }
    return loss;
}

#undef span
#undef outcome
#undef chances
