#include "core/workspace.h"
#include "core/run_private.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

static blv_error no_workspace(blv_run *run, blv_error error) {
    return blv_run_fail(run, error, "workspace: %s", blv_error_text(error));
}

#define DESTROY(kind)                                                                              \
    static void destroy_##kind(void *object) {                                                     \
        blv_##kind##_destroy(object);                                                              \
    }
DESTROY(linear_work)
DESTROY(lbfgs)
DESTROY(implicit)

blv_error blv_run_linear_work(blv_run *run, size_t vectors, blv_linear_work **work) {
    blv_error error = blv_linear_work_create(work, run->def->space_y, vectors);
    if (error != BLV_OK)
        return no_workspace(run, error);
    return blv_run_own(run, *work, destroy_linear_work, blv_linear_work_bytes(*work));
}

blv_error blv_run_lbfgs(blv_run *run, blv_level level, size_t memory, blv_lbfgs **lbfgs) {
    blv_error error = blv_lbfgs_create(lbfgs, blv_space_at(run, level), memory);
    if (error != BLV_OK)
        return no_workspace(run, error);
    return blv_run_own(run, *lbfgs, destroy_lbfgs, blv_lbfgs_bytes(*lbfgs));
}

blv_error blv_state_lbfgs(blv_run *run, const char *name, blv_lbfgs *lbfgs) {
    blv_vec *vec;
    for (size_t i = 0; (vec = blv_lbfgs_vector(lbfgs, i)); i++) {
        char vec_name[NAME_SIZE];
        snprintf(vec_name, sizeof vec_name, "%.20s %zu", name, i);
        BLV_CHECK(blv_state_object_vec(run, vec_name, vec));
    }
    return blv_state_object_add(run, name,
                                &(const blv_state_object){.kind = "lbfgs",
                                                          .object = lbfgs,
                                                          .count = blv_lbfgs_number_count(lbfgs),
                                                          .get = blv_lbfgs_get,
                                                          .fits = blv_lbfgs_fits,
                                                          .put = blv_lbfgs_put});
}

blv_error blv_run_implicit(blv_run *run, blv_implicit **implicit) {
    blv_error error = blv_implicit_create(implicit, &run->eval);
    if (error != BLV_OK)
        return no_workspace(run, error);
    return blv_run_own(run, *implicit, destroy_implicit, blv_implicit_bytes(*implicit));
}

blv_error blv_scratch_block(blv_run *run, size_t count, double **numbers) {
    *numbers = calloc(count, sizeof **numbers);
    if (!*numbers)
        return no_workspace(run, BLV_E_MEMORY);
    return blv_run_own(run, *numbers, free, count * sizeof **numbers);
}

blv_error blv_scratch_vecs(blv_run *run, blv_level level, ...) {
    blv_error error = BLV_OK;
    va_list args;
    va_start(args, level);
    for (blv_vec **vec; error == BLV_OK && (vec = va_arg(args, blv_vec **));)
        error = blv_scratch_vec(run, level, vec);
    va_end(args);
    return error;
}

static blv_error register_each(blv_run *run, va_list args,
                               blv_error (*add)(blv_run *, const char *, double *)) {
    blv_error error = BLV_OK;
    for (const char *name; error == BLV_OK && (name = va_arg(args, const char *));)
        error = add(run, name, va_arg(args, double *));
    return error;
}

blv_error blv_state_scalars(blv_run *run, ...) {
    va_list args;
    va_start(args, run);
    blv_error error = register_each(run, args, blv_state_scalar);
    va_end(args);
    return error;
}

blv_error blv_state_hiddens(blv_run *run, ...) {
    va_list args;
    va_start(args, run);
    blv_error error = register_each(run, args, blv_state_hidden);
    va_end(args);
    return error;
}

blv_flow blv_project_or_keep(blv_run *run, blv_vec *x, blv_vec *room) {
    blv_vec_copy(room, x);
    BLV_TRY(blv_oracle_project(run, room));
    if (!isfinite(blv_vec_norm(room)))
        return BLV_NONFINITE;
    blv_vec_swap(x, room);
    return BLV_GO;
}
