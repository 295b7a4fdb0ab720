/* Reading and writing the state of a run from outside, and its oracles for solvers. */
#include "base/random.h"
#include "core/run_private.h"

#include <math.h>
#include <stdlib.h>

size_t blv_run_dim(const blv_run *run, const char *name) {
    const blv_state_entry *entry = run ? blv_state_find(run, name) : NULL;
    return entry ? blv_vec_dim(entry->vec) : 0;
}

blv_error blv_run_read(const blv_run *run, const char *name, double *host) {
    if (!run || !name)
        return BLV_E_ARGUMENT;
    const blv_state_entry *entry = blv_state_find(run, name);
    if (!entry || !host)
        return entry ? BLV_E_ARGUMENT : BLV_E_NAME;
    blv_vec_read(entry->vec, host);
    return BLV_OK;
}

/* Made aside, so that x stays as it is where the projection fails. The norm of a finite x may
 * overflow. */
static blv_error write_x(blv_run *run, blv_state_entry *entry, const double *host) {
    entry->moved = 0;
    blv_vec_write(entry->previous, host);
    if (blv_eval_project(&run->eval, entry->previous) != BLV_GO ||
        isnan(blv_vec_norm(entry->previous)))
        return blv_run_fail(run, BLV_E_ORACLE, "the projection of x failed");
    blv_vec_swap(entry->vec, entry->previous);
    return BLV_OK;
}

blv_error blv_run_write(blv_run *run, const char *name, const double *host) {
    if (!run || !name)
        return blv_run_fail(run, BLV_E_ARGUMENT, "a vector without a name cannot be written");
    if (run->busy)
        return blv_run_fail(run, BLV_E_ORDER, "a run may not be changed from within");
    blv_state_entry *entry = blv_state_find(run, name);
    if (!entry)
        return blv_run_fail(run, BLV_E_NAME, "solver %s has no vector '%.60s'", run->solver->name,
                            name);
    if (!host)
        return blv_run_fail(run, BLV_E_ARGUMENT, "vector %s: no values", name);
    run->certificate_known = false;
    size_t dim = blv_vec_dim(entry->vec);
    for (size_t i = 0; i < dim; i++)
        if (!isfinite(host[i]) || (run->def->precision == BLV_F32 && !isfinite((float)host[i])))
            return blv_run_fail(run, BLV_E_VALUE, "vector %s: element %zu is not finite", name, i);
    if (entry->vec == run->x)
        return write_x(run, entry, host);
    blv_vec_write(entry->vec, host);
    return BLV_OK;
}

static blv_error write_normals(blv_run *run, const char *name, double scale, double *host) {
    blv_stream stream = blv_stream_make((uint64_t)run->options.seed, name);
    size_t dim = blv_run_dim(run, name);
    blv_random_normals(&stream, 0, dim, host);
    for (size_t i = 0; i < dim; i++)
        host[i] *= scale;
    return blv_run_write(run, name, host);
}

blv_error blv_run_start_random(blv_run *run, double scale) {
    if (!run || !isfinite(scale))
        return blv_run_fail(run, BLV_E_ARGUMENT, "start: the scale must be finite");
    size_t dim = run->def->dim_x > run->def->dim_y ? run->def->dim_x : run->def->dim_y;
    double *host = malloc(dim * sizeof *host);
    if (!host)
        return blv_run_fail(run, BLV_E_MEMORY, "start: out of memory");
    blv_error error = write_normals(run, "x", scale, host);
    if (error == BLV_OK)
        error = write_normals(run, "y", scale, host);
    free(host);
    return error;
}

static blv_flow have(blv_run *run, const void *x, const void *y, const void *v) {
    if (run && x && y && v)
        return BLV_GO;
    blv_run_fail(run, BLV_E_ARGUMENT, "an oracle was called with a vector that is NULL");
    return BLV_FATAL;
}

blv_flow blv_oracle_upper(blv_run *run, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                          double *f, blv_vec *fx, blv_vec *fy) {
    BLV_TRY(have(run, x, y, run));
    return blv_eval_upper(&run->eval, batch, x, y, f, fx, fy);
}

blv_flow blv_oracle_lower(blv_run *run, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                          double *g, blv_vec *gx, blv_vec *gy) {
    BLV_TRY(have(run, x, y, run));
    return blv_eval_lower(&run->eval, batch, x, y, g, gx, gy);
}

blv_flow blv_oracle_hvp(blv_run *run, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        const blv_vec *v, blv_vec *hv) {
    BLV_TRY(have(run, x, y, v));
    return hv ? blv_eval_hvp(&run->eval, batch, x, y, v, hv) : BLV_GO;
}

blv_flow blv_oracle_cross(blv_run *run, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                          const blv_vec *v, blv_vec *jv) {
    BLV_TRY(have(run, x, y, v));
    return jv ? blv_eval_cross(&run->eval, batch, x, y, v, jv) : BLV_GO;
}

blv_flow blv_oracle_project(blv_run *run, blv_vec *x) {
    BLV_TRY(have(run, x, x, x));
    return blv_eval_project(&run->eval, x);
}

blv_flow blv_oracle_all(blv_run *run, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                        const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {
    BLV_TRY(have(run, x, y, v));
    return blv_eval_all(&run->eval, batch, x, y, v, gy, hv, jv);
}
