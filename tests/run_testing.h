/* Shared by the tests of runs: making problems and runs, and a problem whose oracles go wrong on
 * demand. */
#ifndef RUN_TESTING_H
#define RUN_TESTING_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bilevel/bilevel.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))
#define SETTINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline void expect_text(const char *text, const char *part) {
    if (!text || !strstr(text, part))
        fail_msg("'%s' does not contain '%s'", text ? text : "(null)", part);
}

/* ---- Problems and runs ---- */

/* Settings without which a family cannot be made: the problems on data need a file. Made by the
 * test itself, in its working folder; removed at exit. */
static char training_file[64];

static inline void remove_training_file(void) {
    remove(training_file);
}

/* A small network, and penalties that keep its lower level well conditioned. */
static inline const char *const *settings_of_network(const blv_problem_family *family) {
    static const char *const penalties[] = {"ridge", "C", "first"};
    static const char *settings[] = {"train", training_file, "net", "mlp:4-5-3", "", "1", NULL};
    size_t k = 0;
    while (k + 1 < LENGTH(penalties) && !blv_params_find(family->params, penalties[k]))
        k++;
    settings[4] = penalties[k];
    return settings;
}

static inline const char *const *needed_settings(const blv_problem_family *family) {
    if (!blv_params_find(family->params, "train"))
        return NULL;
    if (!training_file[0]) {
        snprintf(training_file, sizeof training_file, "training_%ld.svm", (long)getpid());
        FILE *file = fopen(training_file, "w");
        assert_non_null(file);
        for (int i = 0; i < 30; i++)
            fprintf(file, "%d 1:%d 2:%g 4:%g\n", i % 3, i % 7 - 3, 0.1 * i, i % 2 ? 1.0 : -0.5);
        fclose(file);
        atexit(remove_training_file);
    }
    static const char *const settings[] = {"train", training_file, NULL};
    return blv_params_find(family->params, "net") ? settings_of_network(family) : settings;
}

static inline blv_problem *make_problem_in(const char *family, const char *const *settings,
                                           blv_precision precision) {
    blv_message why = {""};
    blv_problem *problem = NULL;
    blv_problem_options options = {
        .size = sizeof(blv_problem_options), .precision = precision, .threads = 1};
    const blv_problem_family *found = blv_family_find(NULL, family, &why);
    if (!found || blv_problem_from_family(found, settings, &options, &problem, &why) != BLV_OK)
        fail_msg("%s: %s", family, why.text);
    return problem;
}

static inline blv_problem *make_problem(const char *family, const char *const *settings) {
    return make_problem_in(family, settings, BLV_F64);
}

static inline blv_problem *small_quadratic(blv_precision precision) {
    return make_problem_in("quadratic", SETTINGS("dx", "3", "dy", "4", "kappa", "10"), precision);
}

static inline void set_all(blv_run *run, const char *const *settings) {
    for (size_t i = 0; settings && settings[i]; i += 2)
        if (blv_run_set(run, settings[i], settings[i + 1]) != BLV_OK)
            fail_msg("%s", blv_run_message(run));
}

static inline blv_run *make_run(const blv_problem *problem, const char *solver,
                                const char *const *settings) {
    blv_message why = {""};
    blv_run *run = NULL;
    const blv_solver *found = blv_solver_find(NULL, solver, &why);
    if (!found || blv_run_create(&run, problem, found, &why) != BLV_OK)
        fail_msg("%s: %s", solver, why.text);
    set_all(run, settings);
    return run;
}

static inline blv_outcome outcome_of(const blv_run *run) {
    return blv_run_result(run)->outcome;
}

static inline void expect_outcome(const blv_run *run, blv_outcome expected) {
    if (outcome_of(run) != expected)
        fail_msg("outcome '%s', expected '%s': %s", blv_outcome_word(outcome_of(run)),
                 blv_outcome_word(expected), blv_run_message(run));
}

static inline bool has_note(const blv_run *run, const char *part) {
    const char *note;
    for (size_t i = 0; (note = blv_run_notes(run, i)); i++)
        if (strstr(note, part))
            return true;
    return false;
}

enum { DIM_MAX = 64 };

static inline bool all_finite(const blv_run *run, const char *name) {
    double host[DIM_MAX];
    size_t dim = blv_run_dim(run, name);
    assert_in_range(dim, 1, DIM_MAX);
    assert_int_equal(blv_run_read(run, name, host), BLV_OK);
    for (size_t i = 0; i < dim; i++)
        if (!isfinite(host[i]))
            return false;
    return true;
}

static inline void expect_same_vector(const blv_run *a, const blv_run *b, const char *name) {
    double u[DIM_MAX], v[DIM_MAX];
    size_t dim = blv_run_dim(a, name);
    assert_int_equal(dim, blv_run_dim(b, name));
    assert_in_range(dim, 1, DIM_MAX);
    assert_int_equal(blv_run_read(a, name, u), BLV_OK);
    assert_int_equal(blv_run_read(b, name, v), BLV_OK);
    assert_memory_equal(u, v, dim * sizeof *u);
}

/* ---- A problem whose oracles go wrong on demand ---- */

typedef enum oracle { UPPER, LOWER, HVP, CROSS, ALL, PROJECT, ORACLES } oracle;
typedef enum fault { NO_FAULT, NAN_VALUE, NAN_ENTRY, REFUSE, DIE } fault_kind;

static const char *const oracle_names[ORACLES] = {"upper",       "lower",     "lower_hvp",
                                                  "lower_cross", "lower_all", "project_x"};

enum { REFUSED = 1, DEAD = -7 };

typedef struct wrapped {
    blv_problem *problem;       /* what runs are made of */
    blv_problem *base;          /* what answers */
    const blv_problem_def *def; /* of base */
    oracle at;                  /* where it goes wrong, from call `first` on, `times` times */
    fault_kind fault;
    long first, times; /* times 0: forever */
    long fired;
    long calls[ORACLES];
    blv_run *stop; /* to be stopped at a call of `lower` */
    long stop_call;
    double radius;               /* lower oracles refuse |y| above this; 0: never */
    double largest_y;            /* of the accepted ones */
    void (*on_value)(void);      /* called when a value of f or g is asked for */
    void (*on_lower)(long call); /* called at every call of `lower` */
} wrapped;

static inline fault_kind fault_at(wrapped *w, oracle at, bool value, bool vector) {
    long call = ++w->calls[at];
    if (at == LOWER && w->stop && call == w->stop_call)
        blv_run_stop(w->stop);
    if (at == LOWER && w->on_lower)
        w->on_lower(call);
    if (value && w->on_value)
        w->on_value();
    if (w->fault == NO_FAULT || at != w->at || call < w->first)
        return NO_FAULT;
    if ((w->times > 0 && w->fired >= w->times) || (w->fault == NAN_VALUE && !value) ||
        (w->fault == NAN_ENTRY && !vector))
        return NO_FAULT;
    w->fired++;
    return w->fault;
}

static inline bool outside(wrapped *w, const blv_vec *y) {
    double norm = blv_vec_norm(y);
    if (w->radius > 0.0 && norm > w->radius)
        return true;
    w->largest_y = fmax(w->largest_y, norm);
    return false;
}

static inline void poison(blv_vec *v) {
    if (v && blv_vec_f64_mut(v))
        blv_vec_f64_mut(v)[blv_vec_dim(v) - 1] = NAN;
    else if (v)
        blv_vec_f32_mut(v)[blv_vec_dim(v) - 1] = NAN;
}

/* What an oracle returns that goes wrong: refused and fatal ones leave rubbish behind. Of the
 * vectors that were asked for, one gets a NaN. */
static inline int go_wrong(const wrapped *w, fault_kind wrong, double *value,
                           blv_vec *const out[3]) {
    if (wrong == REFUSE || wrong == DIE) {
        if (value)
            *value = NAN;
        for (int i = 0; i < 3; i++)
            poison(out[i]);
        return wrong == REFUSE ? REFUSED : DEAD;
    }
    if (wrong == NAN_VALUE)
        *value = NAN;
    for (long i = 0; wrong == NAN_ENTRY && i < 3; i++)
        if (out[(w->first + i) % 3]) {
            poison(out[(w->first + i) % 3]);
            break;
        }
    return 0;
}

static inline int wrapped_upper(void *user, const blv_batch *batch, const blv_vec *x,
                                const blv_vec *y, double *f, blv_vec *fx, blv_vec *fy) {
    wrapped *w = user;
    fault_kind wrong = fault_at(w, UPPER, f != NULL, fx || fy);
    int code = w->def->upper(w->def->user, batch, x, y, f, fx, fy);
    return code ? code : go_wrong(w, wrong, f, (blv_vec *const[]){fx, fy, NULL});
}

static inline int wrapped_lower(void *user, const blv_batch *batch, const blv_vec *x,
                                const blv_vec *y, double *g, blv_vec *gx, blv_vec *gy) {
    wrapped *w = user;
    fault_kind wrong = fault_at(w, LOWER, g != NULL, gx || gy);
    if (outside(w, y))
        return REFUSED;
    int code = w->def->lower(w->def->user, batch, x, y, g, gx, gy);
    return code ? code : go_wrong(w, wrong, g, (blv_vec *const[]){gx, gy, NULL});
}

static inline int wrapped_hvp(void *user, const blv_batch *batch, const blv_vec *x,
                              const blv_vec *y, const blv_vec *v, blv_vec *hv) {
    wrapped *w = user;
    fault_kind wrong = fault_at(w, HVP, false, true);
    int code = w->def->lower_hvp(w->def->user, batch, x, y, v, hv);
    return code ? code : go_wrong(w, wrong, NULL, (blv_vec *const[]){hv, NULL, NULL});
}

static inline int wrapped_cross(void *user, const blv_batch *batch, const blv_vec *x,
                                const blv_vec *y, const blv_vec *v, blv_vec *jv) {
    wrapped *w = user;
    fault_kind wrong = fault_at(w, CROSS, false, true);
    int code = w->def->lower_cross(w->def->user, batch, x, y, v, jv);
    return code ? code : go_wrong(w, wrong, NULL, (blv_vec *const[]){jv, NULL, NULL});
}

static inline int wrapped_all(void *user, const blv_batch *batch, const blv_vec *x,
                              const blv_vec *y, const blv_vec *v, blv_vec *gy, blv_vec *hv,
                              blv_vec *jv) {
    wrapped *w = user;
    fault_kind wrong = fault_at(w, ALL, false, gy || hv || jv);
    if (outside(w, y))
        return REFUSED;
    int code = w->def->lower_all(w->def->user, batch, x, y, v, gy, hv, jv);
    return code ? code : go_wrong(w, wrong, NULL, (blv_vec *const[]){gy, hv, jv});
}

static inline int wrapped_project(void *user, blv_vec *x) {
    wrapped *w = user;
    fault_kind wrong = fault_at(w, PROJECT, false, true);
    int code = w->def->project_x(w->def->user, x);
    return code ? code : go_wrong(w, wrong, NULL, (blv_vec *const[]){x, NULL, NULL});
}

/* Which second-order oracles the wrapped problem has. */
typedef enum products { BY_ALL, BY_PRODUCTS, BY_DIFFERENCES } product_kind;

static inline void wrap(wrapped *w, blv_problem *base, product_kind products) {
    *w = (wrapped){.base = base, .def = blv_problem_definition(base)};
    blv_problem_def def = *w->def;
    bool all = products == BY_ALL, apart = products == BY_PRODUCTS;
    def.user = w;
    def.free_user = NULL;
    def.upper = wrapped_upper;
    def.lower = wrapped_lower;
    def.lower_hvp = apart ? wrapped_hvp : NULL;
    def.lower_cross = apart ? wrapped_cross : NULL;
    def.lower_all = all ? wrapped_all : NULL;
    def.project_x = w->def->project_x ? wrapped_project : NULL;
    def.lower_hessian_matrix = NULL;
    def.lower_cross_matrix = NULL;
    def.known_phi = NULL;
    def.known_solution = NULL;
    def.arrays = NULL;
    assert_int_equal(blv_problem_create(&w->problem, &def, NULL), BLV_OK);
}

static inline void unwrap(wrapped *w) {
    blv_problem_destroy(w->problem);
    blv_problem_destroy(w->base);
}

/* Forgets what happened and plans the next fault. */
static inline void plan(wrapped *w, oracle at, fault_kind fault, long first, long times) {
    memset(w->calls, 0, sizeof w->calls);
    w->fired = 0;
    w->at = at;
    w->fault = fault;
    w->first = first;
    w->times = times;
}

#endif
