#include "base/arena.h"
#include "base/random.h"
#include "learn/choose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct clusters {
    const blv_points *points;
    size_t count, width, size; /* of points, of their numbers, of centers */
    float *turned;             /* centers, width x size: a row of features meets all at once */
    double *center;            /* size x width */
    double *half;              /* half the square of each center */
    double *length;            /* square of each point */
    double *distance;          /* square, to the nearest center */
    size_t *nearest, *members;
    size_t last; /* while the start is made: the newest center's point */
} clusters;

static const float *point(const clusters *c, size_t i) {
    return c->points->right + i * c->width;
}

/* ---- k-means++: centers at points, far ones being likely ---- */

static void meet_last(void *context, size_t begin, size_t end) {
    clusters *c = context;
    for (size_t i = begin; i < end; i++) {
        const double product = blv_points_dot(c->points, i, c->last);
        const double d = fmax(c->length[i] + c->length[c->last] - 2.0 * product, 0.0);
        c->distance[i] = fmin(c->distance[i], d);
    }
}

/* The point where the running sum of distances passes a random height. */
static size_t draw_far(const clusters *c, double uniform) {
    double sum = 0.0, running = 0.0;
    size_t last = 0;
    for (size_t i = 0; i < c->count; i++)
        sum += c->distance[i];
    for (size_t i = 0; i < c->count; i++) {
        if (c->distance[i] > 0.0)
            last = i;
        running += c->distance[i];
        if (running > uniform * sum)
            return i;
    }
    return last; /* all points are centers, or rounding */
}

static void begin_centers(clusters *c, uint64_t seed) {
    const blv_stream stream = blv_stream_make(seed, "k-means");
    for (size_t i = 0; i < c->count; i++) {
        c->length[i] = blv_points_dot(c->points, i, i);
        c->distance[i] = (double)INFINITY;
    }
    for (size_t k = 0; k < c->size; k++) {
        c->last = k == 0 ? (size_t)blv_random_below(&stream, 0, c->count)
                         : draw_far(c, blv_random_uniform(&stream, k));
        for (size_t j = 0; j < c->width; j++)
            c->center[k * c->width + j] = (double)point(c, c->last)[j];
        blv_in_spans(c->points->threads, c->count, meet_last, c);
    }
}

/* ---- Rounds ---- */

static void turn_centers(clusters *c) {
    for (size_t k = 0; k < c->size; k++) {
        double square = 0.0;
        for (size_t j = 0; j < c->width; j++) {
            const double value = c->center[k * c->width + j];
            square += value * value;
            c->turned[j * c->size + k] = (float)value;
        }
        c->half[k] = 0.5 * square;
    }
}

static void add_column(size_t size, float factor, const float *turned, float *product) {
    for (size_t k = 0; k < size; k++)
        product[k] += factor * turned[k];
}

/* Of each point the nearest center: the largest <p, c> - |c|^2/2. Zeros of p cost nothing. */
static void assign_span(void *context, size_t begin, size_t end) {
    clusters *c = context;
    float *product = malloc(c->size * sizeof *product);
    for (size_t i = begin; product && i < end; i++) {
        memset(product, 0, c->size * sizeof *product);
        for (size_t j = 0; j < c->width; j++)
            if (point(c, i)[j] != 0.0f)
                add_column(c->size, point(c, i)[j], c->turned + j * c->size, product);
        size_t best = 0;
        for (size_t k = 1; k < c->size; k++)
            if ((double)product[k] - c->half[k] > (double)product[best] - c->half[best])
                best = k;
        c->nearest[i] = best;
        c->distance[i] = c->length[i] + 2.0 * (c->half[best] - (double)product[best]);
    }
    if (!product)
        for (size_t i = begin; i < end; i++)
            c->nearest[i] = c->size;
    free(product);
}

/* False: memory is short. */
static bool assign(clusters *c) {
    turn_centers(c);
    blv_in_spans(c->points->threads, c->count, assign_span, c);
    for (size_t i = 0; i < c->count; i++)
        if (c->nearest[i] == c->size)
            return false;
    return true;
}

/* Means of the members; a center without any stays. Returns whether any has moved. */
static bool move_centers(clusters *c, double *sum) {
    bool moved = false;
    memset(sum, 0, c->size * c->width * sizeof *sum);
    memset(c->members, 0, c->size * sizeof *c->members);
    for (size_t i = 0; i < c->count; i++) {
        blv_points_add(c->points, i, 1.0, sum + c->nearest[i] * c->width);
        c->members[c->nearest[i]]++;
    }
    for (size_t k = 0; k < c->size; k++)
        for (size_t j = 0; c->members[k] > 0 && j < c->width; j++) {
            const double mean = sum[k * c->width + j] / (double)c->members[k];
            moved = moved || mean != c->center[k * c->width + j];
            c->center[k * c->width + j] = mean;
        }
    return moved;
}

/* ---- Points for the centers ---- */

static double distance_to(const clusters *c, size_t i, size_t k) {
    double sum = 0.0;
    for (size_t j = 0; j < c->width; j++) {
        const double gap = (double)point(c, i)[j] - c->center[k * c->width + j];
        sum += gap * gap;
    }
    return sum;
}

/* Its nearest member; where it has none that is free, the nearest point that is. */
static size_t nearest_free(const clusters *c, size_t k, const bool *taken) {
    size_t best = c->count;
    double least = (double)INFINITY;
    for (int pass = 0; pass < 2 && best == c->count; pass++)
        for (size_t i = 0; i < c->count; i++) {
            if (taken[i] || (pass == 0 && c->nearest[i] != k))
                continue;
            const double d = distance_to(c, i, k);
            if (d < least || best == c->count) {
                least = d;
                best = i;
            }
        }
    return best;
}

static void pick(const clusters *c, bool *taken, size_t *index, double *weight) {
    for (size_t k = 0; k < c->size; k++) {
        index[k] = nearest_free(c, k, taken);
        taken[index[k]] = true;
        weight[k] = fmax((double)c->members[k], 1.0);
    }
}

bool blv_choose_kmeans(const blv_points *points, size_t size, size_t rounds, uint64_t seed,
                       size_t *index, double *weight) {
    blv_arena arena = {0};
    clusters c = {
        .points = points, .count = points->count, .width = points->right_width, .size = size};
    c.turned = blv_arena_alloc(&arena, c.width * size, sizeof *c.turned);
    c.center = blv_arena_alloc(&arena, c.width * size, sizeof *c.center);
    c.half = blv_arena_alloc(&arena, size, sizeof *c.half);
    c.length = blv_arena_alloc(&arena, c.count, sizeof *c.length);
    c.distance = blv_arena_alloc(&arena, c.count, sizeof *c.distance);
    c.nearest = blv_arena_alloc(&arena, c.count, sizeof *c.nearest);
    c.members = blv_arena_alloc(&arena, size, sizeof *c.members);
    double *sum = blv_arena_alloc(&arena, c.width * size, sizeof *sum);
    bool *taken = blv_arena_alloc(&arena, c.count, sizeof *taken), room = !arena.failed;
    if (room)
        begin_centers(&c, seed);
    for (size_t round = 0; room && round < rounds; round++) {
        room = assign(&c);
        if (room && !move_centers(&c, sum))
            break;
    }
    if (room)
        pick(&c, taken, index, weight);
    blv_arena_free(&arena);
    return room;
}
