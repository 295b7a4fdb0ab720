#include "problems/top_sum.h"
#include "base/random.h"

#include <stdlib.h>

bool top_sum_open(top_sum *t, size_t count, size_t top, size_t draws, double delta, uint64_t seed) {
    const blv_stream stream = blv_stream_make(seed, "smoothed top");
    *t = (top_sum){.count = count, .top = top, .draws = draws, .delta = delta};
    t->noise = malloc(draws * count * sizeof *t->noise);
    if (!t->noise)
        return false;
    blv_random_normals(&stream, 0, draws * count, t->noise);
    return true;
}

void top_sum_close(top_sum *t) {
    free(t->noise);
    t->noise = NULL;
}

static double middle_of(double a, double b, double c) {
    const double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* The number that `rank` others of the array come before, in descending order (Hoare). The array is
 * put into another order. */
static double ranked(double *a, size_t count, size_t rank) {
    size_t begin = 0, end = count;
    while (end - begin > 1) {
        const double pivot = middle_of(a[begin], a[begin + (end - begin) / 2], a[end - 1]);
        size_t above = begin, at = begin, below = end; /* [begin,above) > pivot, [below,end) < */
        while (at < below) {
            const double value = a[at];
            if (value > pivot) {
                a[at++] = a[above];
                a[above++] = value;
            } else if (value < pivot) {
                a[at] = a[--below];
                a[below] = value;
            } else {
                at++;
            }
        }
        if (rank < above)
            end = above;
        else if (rank < below)
            return pivot;
        else
            begin = below;
    }
    return a[begin];
}

/* Adds up the largest, and `each` to the share of each; of equal ones, the first count. */
static double add_largest(size_t count, size_t top, const double *value, double *room, double each,
                          double *share) {
    for (size_t i = 0; i < count; i++)
        room[i] = value[i];
    const double least = ranked(room, count, top - 1);
    double sum = 0.0;
    size_t left = top;
    for (size_t i = 0; i < count; i++)
        left -= value[i] > least;
    for (size_t i = 0; i < count; i++) {
        const bool taken = value[i] > least || (value[i] == least && left > 0);
        left -= taken && value[i] == least;
        sum += taken ? value[i] : 0.0;
        if (share && taken)
            share[i] += each;
    }
    return sum;
}

double top_sum_of(const top_sum *t, const double *x, double *room, double *share) {
    double sum = 0.0, *moved = room + t->count;
    for (size_t i = 0; share && i < t->count; i++)
        share[i] = 0.0;
    for (size_t draw = 0; draw < t->draws; draw++) {
        const double *z = t->noise + draw * t->count;
        for (size_t i = 0; i < t->count; i++)
            moved[i] = x[i] + t->delta * z[i];
        sum += add_largest(t->count, t->top, moved, room, 1.0 / (double)t->draws, share);
    }
    return sum / (double)t->draws;
}
