/* Between the library's callbacks and those of Python: vectors become addresses here, so that a
 * call into Python has only numbers to convert. */
#include <bilevel/bilevel.h>
#include <bilevel/store.h>

#include <stdlib.h>
#include <string.h>

/* Here make_bindings.py puts the declarations of callbacks.cdef. */

uintptr_t blv_py_elements(const blv_vec *v) {
    const void *elements = v ? blv_vec_f64(v) : NULL;
    if (v && !elements)
        elements = blv_vec_f32(v);
    blv_dlpack description;
    if (v && !elements && blv_vec_dlpack((blv_vec *)v, &description) == BLV_OK)
        elements = description.tensor.data;
    return (uintptr_t)elements;
}

uintptr_t blv_py_output(blv_vec *v) {
    void *elements = v ? blv_vec_f64_mut(v) : NULL;
    if (v && !elements)
        elements = blv_vec_f32_mut(v);
    return v && !elements ? blv_py_elements(v) : (uintptr_t)elements;
}

/* ---- Oracles ---- */

static int upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *f,
                 blv_vec *fx, blv_vec *fy) {
    return blv_py_upper(user, batch, blv_py_elements(x), blv_py_elements(y), f, blv_py_output(fx),
                        blv_py_output(fy));
}

static int lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y, double *g,
                 blv_vec *gx, blv_vec *gy) {
    return blv_py_lower(user, batch, blv_py_elements(x), blv_py_elements(y), g, blv_py_output(gx),
                        blv_py_output(gy));
}

static int all(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
               const blv_vec *v, blv_vec *gy, blv_vec *hv, blv_vec *jv) {
    return blv_py_all(user, batch, blv_py_elements(x), blv_py_elements(y), blv_py_elements(v),
                      blv_py_output(gy), blv_py_output(hv), blv_py_output(jv));
}

static int hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
               const blv_vec *v, blv_vec *hv) {
    return all(user, batch, x, y, v, NULL, hv, NULL);
}

static int cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                 const blv_vec *v, blv_vec *jv) {
    return all(user, batch, x, y, v, NULL, NULL, jv);
}

static int project(void *user, blv_vec *x) {
    return blv_py_project(user, blv_py_output(x));
}

void blv_py_oracles(blv_problem_def *def, bool has_hvp, bool has_cross, bool projects) {
    def->upper = upper;
    def->lower = lower;
    def->lower_hvp = has_hvp ? hvp : NULL;
    def->lower_cross = has_cross ? cross : NULL;
    def->lower_all = has_hvp && has_cross ? all : NULL;
    def->project_x = projects ? project : NULL;
}

/* ---- Solvers: the descriptor is the first field, so that `open` finds the Python object ---- */

typedef struct python_solver {
    blv_solver descriptor;
    void *object;
} python_solver;

static void *object_of(blv_run *run) {
    return ((const python_solver *)(const void *)blv_run_solver(run))->object;
}

static blv_error open_solver(blv_run *run, void *state) {
    (void)state;
    return blv_py_open(object_of(run), run);
}

static blv_flow step_solver(blv_run *run, void *state) {
    (void)state;
    return (blv_flow)blv_py_step(object_of(run), run);
}

static void close_solver(blv_run *run, void *state) {
    (void)state;
    blv_py_close(object_of(run));
}

blv_solver *blv_py_solver_create(const char *name, void *object) {
    python_solver *solver = calloc(1, sizeof *solver);
    if (!solver)
        return NULL;
    solver->descriptor = (blv_solver){
        BLV_SIZED(blv_solver), .name = name,        .summary = "a solver written in Python",
        .citation = "",        .group = "python",   .hint = "",
        .state_size = 1,       .open = open_solver, .step = step_solver,
        .close = close_solver,
    };
    solver->object = object;
    return &solver->descriptor;
}

void blv_py_solver_destroy(blv_solver *solver) {
    free(solver);
}

/* ---- The space of a device ---- */

static void *number_of(const blv_space *s, void *v, int *device) {
    (void)s;
    *device = 0;
    return v;
}

static const blv_space_ops space_ops = {
    BLV_SIZED(blv_space_ops),  .name = "python",
    .memory = BLV_MEMORY_CUDA, /* behind numbers that only Python can look up */
    .create = blv_py_create,   .destroy = blv_py_destroy,
    .copy = blv_py_copy,       .fill = blv_py_fill,
    .scale = blv_py_scale,     .axpy = blv_py_axpy,
    .dot = blv_py_dot,         .clamp = blv_py_clamp,
    .read = blv_py_read,       .write = blv_py_put,
    .lincomb = blv_py_lincomb, .reduce = blv_py_reduce,
    .apply = blv_py_apply,     .data = number_of,
};

const blv_space_ops *blv_py_space_ops(void) {
    return &space_ops;
}

void blv_py_free(void *p) {
    free(p);
}

void blv_py_move(uintptr_t to, uintptr_t from, size_t bytes) {
    memmove((void *)to, (const void *)from, bytes);
}

bool blv_py_same(uintptr_t a, uintptr_t b, size_t bytes) {
    return memcmp((const void *)a, (const void *)b, bytes) == 0;
}
