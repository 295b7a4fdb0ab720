#include "base/arena.h"
#include "learn/choose.h"

#include <math.h>

typedef struct facility {
    const blv_points *points;
    size_t count;
    double *length;  /* square of each point */
    float *distance; /* count x count, squares */
    double *near;    /* square of the distance to the nearest that is chosen */
    double *gain;    /* what taking it would bring, or did when last looked at */
    size_t *owner;   /* the nearest that is chosen, as its place in the choice */
    size_t *looked;  /* how many were chosen when the gain was computed */
} facility;

/* Those before the row; the others are filled in from there. */
static void distances_of_span(void *context, size_t begin, size_t end) {
    const facility *f = context;
    for (size_t i = begin; i < end; i++)
        for (size_t j = 0; j < i; j++) {
            const double d = f->length[i] + f->length[j] - 2.0 * blv_points_dot(f->points, i, j);
            f->distance[i * f->count + j] = (float)fmax(d, 0.0);
        }
}

static void find_distances(facility *f) {
    blv_in_spans(f->points->threads, f->count, distances_of_span, f);
    for (size_t i = 0; i < f->count; i++) {
        f->distance[i * f->count + i] = 0.0f;
        for (size_t j = 0; j < i; j++)
            f->distance[j * f->count + i] = f->distance[i * f->count + j];
    }
}

static double gain_of(const facility *f, size_t j) {
    const float *distance = f->distance + j * f->count;
    double gain = 0.0;
    for (size_t i = 0; i < f->count; i++)
        gain += fmax(f->near[i] - (double)distance[i], 0.0);
    return gain;
}

static void gains_of_span(void *context, size_t begin, size_t end) {
    facility *f = context;
    for (size_t j = begin; j < end; j++)
        f->gain[j] = gain_of(f, j);
}

static void take(facility *f, size_t j, size_t place) {
    const float *distance = f->distance + j * f->count;
    for (size_t i = 0; i < f->count; i++)
        if ((double)distance[i] < f->near[i] || i == j) {
            f->near[i] = (double)distance[i];
            f->owner[i] = place;
        }
    f->gain[j] = -(double)INFINITY;
}

/* The point with the least sum of distances to all. */
static size_t central(const facility *f) {
    double least = (double)INFINITY;
    size_t best = 0;
    for (size_t j = 0; j < f->count; j++) {
        double sum = 0.0;
        for (size_t i = 0; i < f->count; i++)
            sum += (double)f->distance[j * f->count + i];
        if (sum < least) {
            least = sum;
            best = j;
        }
    }
    return best;
}

/* A gain falls as more are chosen: where the largest is of now, it is the largest. */
static size_t best_now(facility *f, size_t chosen) {
    for (;;) {
        size_t best = 0;
        for (size_t j = 1; j < f->count; j++)
            best = f->gain[j] > f->gain[best] ? j : best;
        if (f->looked[best] == chosen)
            return best;
        f->gain[best] = gain_of(f, best);
        f->looked[best] = chosen;
    }
}

static void choose(facility *f, size_t size, size_t *index) {
    for (size_t i = 0; i < f->count; i++) {
        f->length[i] = blv_points_dot(f->points, i, i);
        f->near[i] = (double)INFINITY;
        f->looked[i] = 1;
    }
    find_distances(f);
    index[0] = central(f);
    take(f, index[0], 0);
    blv_in_spans(f->points->threads, f->count, gains_of_span, f);
    f->gain[index[0]] = -(double)INFINITY;
    for (size_t k = 1; k < size; k++) {
        index[k] = best_now(f, k);
        take(f, index[k], k);
    }
}

bool blv_choose_facility(const blv_points *points, size_t size, size_t *index, double *weight) {
    const size_t count = points->count;
    blv_arena arena = {0};
    facility f = {.points = points, .count = count};
    f.length = blv_arena_alloc(&arena, count, sizeof *f.length);
    f.near = blv_arena_alloc(&arena, count, sizeof *f.near);
    f.gain = blv_arena_alloc(&arena, count, sizeof *f.gain);
    f.distance = blv_arena_alloc(&arena, count, count * sizeof *f.distance);
    f.owner = blv_arena_alloc(&arena, count, sizeof *f.owner);
    f.looked = blv_arena_alloc(&arena, count, sizeof *f.looked);
    const bool room = !arena.failed;
    if (room)
        choose(&f, size, index);
    for (size_t k = 0; room && k < size; k++)
        weight[k] = 0.0;
    for (size_t i = 0; room && i < count; i++)
        weight[f.owner[i]] += 1.0;
    blv_arena_free(&arena);
    return room;
}
