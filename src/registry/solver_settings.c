/* Settings "KEY" and "SOLVER.KEY" for one solver or several. */
#include "base/message.h"
#include "registry/solve_parts.h"

#include <stdio.h>
#include <string.h>

static bool has_key(const blv_solver *solver, const char *key) {
    return blv_params_find(solver->params, key) || blv_params_find(blv_run_options(), key);
}

/* The key after "SOLVER."; NULL when the setting is not for this solver alone. */
static const char *own_key(const char *key, const blv_solver *solver) {
    size_t length = strlen(solver->name);
    return strncmp(key, solver->name, length) == 0 && key[length] == '.' ? key + length + 1 : NULL;
}

static blv_error reject_solver(const char *key, const blv_solver *const *solvers, size_t count,
                               blv_message *why) {
    char name[64], lacking[160];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(key, "."), key);
    snprintf(lacking, sizeof lacking, "%.80s: among the solvers that run is no", key);
    blv_nearest nearest = {.name = name};
    for (size_t i = 0; i < count; i++)
        blv_nearest_try(&nearest, solvers[i]->name);
    return blv_explain_name(why, lacking, &nearest);
}

static blv_error reject_key(const char *key, const blv_solver *const *solvers, size_t count,
                            blv_message *why) {
    blv_nearest nearest = {.name = key};
    for (size_t i = 0; i < count; i++)
        for (const blv_param *p = solvers[i]->params; p && p->key; p++)
            blv_nearest_try(&nearest, p->key);
    for (const blv_param *p = blv_run_options(); p->key; p++)
        blv_nearest_try(&nearest, p->key);
    return blv_explain_name(why, "none of the solvers that run has a parameter", &nearest);
}

static blv_error check_setting(const char *key, const blv_solver *const *solvers, size_t count,
                               blv_message *why) {
    bool of_one = strchr(key, '.') != NULL;
    for (size_t i = 0; i < count; i++)
        if (of_one ? own_key(key, solvers[i]) != NULL : has_key(solvers[i], key))
            return BLV_OK;
    if (of_one)
        return reject_solver(key, solvers, count, why);
    return count > 1 ? reject_key(key, solvers, count, why) : BLV_OK; /* the run explains better */
}

blv_error blv_settings_check(const char *const *settings, const blv_solver *const *solvers,
                             size_t count, blv_message *why) {
    for (size_t i = 0; settings && settings[i]; i += 2) {
        if (!settings[i + 1])
            return blv_explain(why, BLV_E_ARGUMENT, "setting '%.60s' has no value", settings[i]);
        BLV_CHECK(check_setting(settings[i], solvers, count, why));
    }
    return BLV_OK;
}

static blv_error apply_settings(blv_run *run, const char *const *settings, bool alone) {
    const blv_solver *solver = blv_run_solver(run);
    for (size_t i = 0; settings && settings[i]; i += 2)
        if (!strchr(settings[i], '.') && (alone || has_key(solver, settings[i])))
            BLV_CHECK(blv_run_set(run, settings[i], settings[i + 1]));
    for (size_t i = 0; settings && settings[i]; i += 2) {
        const char *key = own_key(settings[i], solver);
        if (key)
            BLV_CHECK(blv_run_set(run, key, settings[i + 1]));
    }
    return BLV_OK;
}

/* 0 is the default, whatever the option's own default is. */
static blv_error set_real(blv_run *run, const char *key, double value) {
    return value == 0.0 ? BLV_OK : blv_run_set_real(run, key, value);
}

static blv_error set_int(blv_run *run, const char *key, int64_t value) {
    return value == 0 ? BLV_OK : blv_run_set_int(run, key, value);
}

blv_error blv_solve_configure(blv_run *run, const blv_solve_options *options, bool alone) {
    BLV_CHECK(set_real(run, "tol", options->tol));
    BLV_CHECK(set_real(run, "seconds", options->seconds));
    BLV_CHECK(set_int(run, "iters", options->iters));
    BLV_CHECK(set_int(run, "budget", options->budget));
    BLV_CHECK(set_int(run, "seed", options->seed));
    if (options->no_certificate)
        BLV_CHECK(blv_run_set(run, "certify", "never"));
    BLV_CHECK(apply_settings(run, options->settings, alone));
    if (options->x)
        BLV_CHECK(blv_run_write(run, "x", options->x));
    return options->y ? blv_run_write(run, "y", options->y) : BLV_OK;
}
