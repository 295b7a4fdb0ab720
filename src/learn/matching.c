#include "base/arena.h"
#include "learn/choose.h"

#include <math.h>

/* What is known of the points chosen so far. */
typedef struct pursuit {
    const blv_points *points;
    double ridge;
    size_t size, chosen;
    const size_t *index;
    double *gram;   /* size x size: products of the chosen */
    double *aim;    /* products with the target */
    double *weight; /* of the chosen */
} pursuit;

static void take_in(pursuit *m, double product) {
    const size_t k = m->chosen++;
    m->aim[k] = product;
    m->weight[k] = 0.0;
    for (size_t j = 0; j <= k; j++)
        m->gram[k * m->size + j] = m->gram[j * m->size + k] =
            blv_points_dot(m->points, m->index[k], m->index[j]);
}

/* Coordinate descent on w'(G + ridge I)w/2 - aim'w over w >= 0, until nothing moves. */
static void solve_weights(pursuit *m) {
    enum { SWEEPS = 1000 };
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double moved = 0.0, largest = 0.0;
        for (size_t k = 0; k < m->chosen; k++) {
            const double curve = m->gram[k * m->size + k] + m->ridge;
            double slope = m->ridge * m->weight[k] - m->aim[k];
            for (size_t j = 0; j < m->chosen; j++)
                slope += m->gram[k * m->size + j] * m->weight[j];
            const double next = curve > 0.0 ? fmax(m->weight[k] - slope / curve, 0.0) : 0.0;
            moved = fmax(moved, fabs(next - m->weight[k]));
            largest = fmax(largest, next);
            m->weight[k] = next;
        }
        if (moved <= 1e-9 * largest)
            break;
    }
}

static void residual_of(const pursuit *m, const double *target, double *residual) {
    for (size_t j = 0; j < blv_points_dim(m->points); j++)
        residual[j] = target[j];
    for (size_t k = 0; k < m->chosen; k++)
        blv_points_add(m->points, m->index[k], -m->weight[k], residual);
}

bool blv_choose_matching(const blv_points *p, const double *target, double ridge, size_t size,
                         size_t *index, double *weight) {
    pursuit m = {.points = p, .ridge = ridge, .size = size, .index = index, .weight = weight};
    blv_arena arena = {0};
    double *residual = blv_arena_alloc(&arena, blv_points_dim(p), sizeof *residual);
    double *product = blv_arena_alloc(&arena, p->count, sizeof *product);
    double *aim = blv_arena_alloc(&arena, p->count, sizeof *aim); /* products with the target */
    bool *taken = blv_arena_alloc(&arena, p->count, sizeof *taken);
    m.gram = blv_arena_alloc(&arena, size * size, sizeof *m.gram);
    m.aim = blv_arena_alloc(&arena, size, sizeof *m.aim);
    const bool room = !arena.failed;
    if (room)
        blv_points_times(p, target, aim);
    while (room && m.chosen < size) {
        residual_of(&m, target, residual);
        blv_points_times(p, residual, product);
        size_t best = p->count;
        for (size_t i = 0; i < p->count; i++)
            if (!taken[i] && (best == p->count || product[i] > product[best]))
                best = i;
        taken[best] = true;
        index[m.chosen] = best;
        take_in(&m, aim[best]);
        solve_weights(&m);
    }
    blv_arena_free(&arena);
    return room;
}
