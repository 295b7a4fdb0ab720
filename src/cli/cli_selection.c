#include "cli_selection.h"
#include "bilevel/registry.h"
#include "cli/solver_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

static void add(cli_selection *selection, const blv_solver *solver) {
    selection->items = cli_grow(selection->items, selection->count + 1, sizeof(cli_choice));
    selection->items[selection->count++] = (cli_choice){.solver = solver, .runs = true};
}

static void add_all(cli_selection *selection) {
    const blv_solver **solvers = cli_solvers_by_group();
    for (size_t i = 0; solvers[i]; i++)
        add(selection, solvers[i]);
    free(solvers);
}

static bool is_selected(const cli_selection *selection, const blv_solver *solver) {
    for (size_t i = 0; i < selection->count; i++)
        if (selection->items[i].solver == solver)
            return true;
    return false;
}

static int add_named(cli_selection *selection, const char *name, const char *list) {
    blv_message why = {0};
    if (!*name && selection->several) {
        cli_complain("--solver '%s': a name is missing", list);
        return CLI_REFUSED;
    }
    if (strcmp(name, "all") == 0) {
        cli_complain("--solver '%s': 'all' stands alone", list);
        return CLI_REFUSED;
    }
    const blv_solver *solver = blv_solver_find(NULL, name, &why);
    if (!solver)
        return cli_refuse(BLV_E_NAME, why.text);
    if (is_selected(selection, solver)) {
        cli_complain("--solver '%s': %s is named twice", list, name);
        return CLI_REFUSED;
    }
    add(selection, solver);
    return CLI_DONE;
}

int cli_selection_parse(cli_selection *selection, const char *text) {
    selection->all = strcmp(text, "all") == 0;
    selection->several = selection->all || strchr(text, ',');
    if (selection->all) {
        add_all(selection);
        return CLI_DONE;
    }
    size_t size = strlen(text) + 1;
    char *names = memcpy(cli_alloc(size, 1), text, size), *rest = names;
    int code = CLI_DONE;
    for (char *name; code == CLI_DONE && (name = strsep(&rest, ","));)
        code = add_named(selection, name, text);
    free(names);
    return code;
}

void cli_selection_free(cli_selection *selection) {
    free(selection->items);
    *selection = (cli_selection){0};
}

int cli_selection_fit(cli_selection *selection, const blv_problem *problem) {
    size_t left = 0;
    for (size_t i = 0; i < selection->count; i++) {
        cli_choice *choice = &selection->items[i];
        blv_fit fit = blv_solver_fit(choice->solver, problem, &choice->reason);
        choice->runs = fit == BLV_FIT_SUITED || (fit == BLV_FIT_DIFFERENCES && !selection->all);
        left += choice->runs;
    }
    return left > 0 ? CLI_DONE : cli_selection_refuse(selection, problem);
}

int cli_selection_refuse(const cli_selection *selection, const blv_problem *problem) {
    const cli_choice *first = &selection->items[0];
    cli_complain("none of the solvers suits problem %s as it is; %s: %s",
                 blv_problem_definition(problem)->name, first->solver->name, first->reason.text);
    return CLI_REFUSED;
}

/* ---- Settings ---- */

static bool has_key(const blv_solver *solver, const char *key) {
    return blv_params_find(solver->params, key) || blv_params_find(blv_run_options(), key);
}

/* The key behind "SOLVER.", NULL when the setting is not of this solver alone. */
static const char *key_of_its_own(const char *key, const blv_solver *solver) {
    size_t length = strlen(solver->name);
    return strncmp(key, solver->name, length) == 0 && key[length] == '.' ? key + length + 1 : NULL;
}

static void suggest(const cli_nearest *nearest, char *text, size_t size) {
    if (nearest->best)
        snprintf(text, size, "; did you mean '%s'?", nearest->best);
}

static int refuse_solver(const cli_selection *selection, const char *key) {
    char name[64], hint[128] = "";
    snprintf(name, sizeof name, "%.*s", (int)strcspn(key, "."), key);
    cli_nearest nearest = {.word = name};
    for (size_t i = 0; i < selection->count; i++)
        if (selection->items[i].runs)
            cli_nearest_try(&nearest, selection->items[i].solver->name);
    suggest(&nearest, hint, sizeof hint);
    cli_complain("--set %s: '%s' is not among the solvers that run%s", key, name, hint);
    return CLI_REFUSED;
}

static int refuse_key(const cli_selection *selection, const char *key) {
    char hint[128] = "";
    cli_nearest nearest = {.word = key};
    for (size_t i = 0; i < selection->count; i++)
        if (selection->items[i].runs)
            for (const blv_param *p = selection->items[i].solver->params; p && p->key; p++)
                cli_nearest_try(&nearest, p->key);
    for (const blv_param *p = blv_run_options(); p->key; p++)
        cli_nearest_try(&nearest, p->key);
    suggest(&nearest, hint, sizeof hint);
    cli_complain("none of the solvers that run has a parameter '%s'%s", key, hint);
    return CLI_REFUSED;
}

static int check_setting(const cli_selection *selection, const char *key) {
    bool of_one = strchr(key, '.') != NULL;
    for (size_t i = 0; i < selection->count; i++) {
        const blv_solver *solver = selection->items[i].solver;
        if (selection->items[i].runs &&
            (of_one ? key_of_its_own(key, solver) != NULL : has_key(solver, key)))
            return CLI_DONE;
    }
    if (of_one)
        return refuse_solver(selection, key);
    return selection->several ? refuse_key(selection, key) : CLI_DONE; /* the run refuses better */
}

int cli_selection_check(const cli_selection *selection, const cli_settings *settings) {
    int code = CLI_DONE;
    for (size_t i = 0; code == CLI_DONE && i < settings->count; i++)
        code = check_setting(selection, settings->items[i].key);
    return code;
}

blv_error cli_settings_apply(const cli_settings *settings, blv_run *run, bool alone) {
    const blv_solver *solver = blv_run_solver(run);
    for (size_t i = 0; i < settings->count; i++) {
        const cli_setting *s = &settings->items[i];
        if (!strchr(s->key, '.') && (alone || has_key(solver, s->key)))
            BLV_CHECK(blv_run_set(run, s->key, s->value));
    }
    for (size_t i = 0; i < settings->count; i++) {
        const char *key = key_of_its_own(settings->items[i].key, solver);
        if (key)
            BLV_CHECK(blv_run_set(run, key, settings->items[i].value));
    }
    return BLV_OK;
}

/* ---- Files ---- */

char *cli_path_for(const char *path, const char *solver) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t stem = dot && dot > name ? (size_t)(dot - path) : strlen(path);
    size_t size = strlen(path) + strlen(solver) + 2;
    char *full = cli_alloc(size, 1);
    snprintf(full, size, "%.*s.%s%s", (int)stem, path, solver, path + stem);
    return full;
}
