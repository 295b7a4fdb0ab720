#include "blocks/trajectory.h"
#include "core/run_private.h"
#include "core/sampler.h"

#include <stdlib.h>
#include <string.h>

typedef struct kept {
    blv_vec *y;
    bool whole;
    blv_batch batch;
    double step;
} kept;

struct blv_trajectory {
    size_t count, batch, bytes;
    kept *points;
    size_t *index; /* count lists of `batch` samples */
};

static void destroy(void *object) {
    blv_trajectory *t = object;
    for (size_t i = 0; t->points && i < t->count; i++)
        blv_vec_destroy(t->points[i].y);
    free(t->points);
    free(t->index);
    free(t);
}

static bool allocate(blv_trajectory *t, const blv_space *space) {
    t->points = calloc(t->count, sizeof *t->points);
    if (!t->points || (t->batch && t->count > SIZE_MAX / sizeof *t->index / t->batch))
        return false;
    t->index = t->batch ? malloc(t->count * t->batch * sizeof *t->index) : NULL;
    if (t->batch && !t->index)
        return false;
    for (size_t i = 0; i < t->count; i++)
        if (blv_vec_create(&t->points[i].y, space) != BLV_OK)
            return false;
    t->bytes = sizeof *t + t->count * (sizeof *t->points + t->batch * sizeof *t->index +
                                       blv_space_vec_bytes(space));
    return true;
}

blv_error blv_trajectory_open(blv_run *run, size_t count, const blv_sampler *batches,
                              blv_trajectory **trajectory) {
    *trajectory = NULL;
    blv_trajectory *t = calloc(1, sizeof *t);
    if (t) {
        t->count = count;
        t->batch = blv_sampler_batch(batches);
    }
    if (!t || !allocate(t, run->def->space_y)) {
        if (t)
            destroy(t);
        return blv_run_fail(run, BLV_E_MEMORY, "trajectory of %zu points: out of memory", count);
    }
    BLV_CHECK(blv_run_own(run, t, destroy, t->bytes));
    *trajectory = t;
    return BLV_OK;
}

size_t blv_trajectory_bytes(const blv_trajectory *t) {
    return t->bytes;
}

void blv_trajectory_keep(blv_trajectory *t, size_t number, const blv_vec *y, const blv_batch *batch,
                         double step) {
    kept *point = &t->points[number % t->count];
    blv_vec_copy(point->y, y);
    point->step = step;
    point->whole = !batch;
    if (!batch)
        return;
    point->batch = (blv_batch){.first = batch->first, .count = batch->count};
    if (batch->index) {
        size_t *list = t->index + number % t->count * t->batch;
        memcpy(list, batch->index, batch->count * sizeof *list);
        point->batch.index = list;
    }
}

blv_trajectory_point blv_trajectory_at(const blv_trajectory *t, size_t number) {
    const kept *point = &t->points[number % t->count];
    return (blv_trajectory_point){
        .y = point->y, .batch = point->whole ? NULL : &point->batch, .step = point->step};
}
