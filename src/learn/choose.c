/* Uniform choice, herding, and what other ways share. */
#include "learn/choose.h"
#include "base/arena.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool blv_choose_uniform(size_t count, size_t size, uint64_t seed, size_t *index) {
    const blv_stream stream = blv_stream_make(seed, "uniform choice");
    size_t *order = malloc(count * sizeof *order);
    if (!order)
        return false;
    blv_random_permutation(&stream, 0, count, order);
    memcpy(index, order, size * sizeof *index);
    free(order);
    return true;
}

/* ---- Herding ---- */

bool blv_choose_herding(const blv_points *p, const bool *allowed, const double *target, size_t size,
                        size_t *index) {
    const size_t dim = blv_points_dim(p);
    blv_arena arena = {0};
    double *wanted = blv_arena_alloc(&arena, dim, sizeof *wanted);
    double *product = blv_arena_alloc(&arena, p->count, sizeof *product);
    double *half = blv_arena_alloc(&arena, p->count, sizeof *half);
    bool *taken = blv_arena_alloc(&arena, p->count, sizeof *taken), room = !arena.failed;
    for (size_t i = 0; room && i < p->count; i++) {
        half[i] = 0.5 * blv_points_dot(p, i, i);
        taken[i] = allowed && !allowed[i];
    }
    for (size_t k = 0; room && k < size; k++) {
        /* wanted = (k+1) target - those chosen: |wanted - p| is to be least */
        for (size_t j = 0; j < dim; j++)
            wanted[j] += target[j];
        blv_points_times(p, wanted, product);
        size_t best = p->count;
        for (size_t i = 0; i < p->count; i++)
            if (!taken[i] &&
                (best == p->count || product[i] - half[i] > product[best] - half[best]))
                best = i;
        taken[best] = true;
        index[k] = best;
        blv_points_add(p, best, -1.0, wanted);
    }
    blv_arena_free(&arena);
    return room;
}

/* ---- The capped simplex ---- */

static double capped_sum(size_t count, const double *s, double shift) {
    double sum = 0.0;
    for (size_t i = 0; i < count; i++)
        sum += fmin(fmax(s[i] - shift, 0.0), 1.0);
    return sum;
}

/* P(s)_i = min(max(s_i - t, 0), 1); the sum falls with t, which halving finds. */
void blv_project_capped(size_t count, double total, double *s) {
    double low = s[0], high = s[0];
    for (size_t i = 1; i < count; i++) {
        low = fmin(low, s[i]);
        high = fmax(high, s[i]);
    }
    low -= 1.0; /* there the sum is count, at high it is 0 */
    for (int halvings = 0; halvings < 200 && high > low; halvings++) {
        const double middle = low + 0.5 * (high - low);
        if (middle <= low || middle >= high)
            break;
        if (capped_sum(count, s, middle) > total)
            low = middle;
        else
            high = middle;
    }
    for (size_t i = 0; i < count; i++)
        s[i] = fmin(fmax(s[i] - high, 0.0), 1.0);
}

/* ---- The largest ---- */

int blv_by_value(const void *left, const void *right) {
    const blv_valued *x = left, *y = right;
    if (x->value != y->value)
        return x->value < y->value ? 1 : -1;
    return x->number < y->number ? -1 : x->number > y->number;
}

bool blv_largest(size_t count, const double *value, size_t size, size_t *index) {
    blv_valued *entries = malloc(count * sizeof *entries);
    if (!entries)
        return false;
    for (size_t i = 0; i < count; i++)
        entries[i] = (blv_valued){value[i], i};
    qsort(entries, count, sizeof *entries, blv_by_value);
    for (size_t k = 0; k < size; k++)
        index[k] = entries[k].number;
    free(entries);
    return true;
}
