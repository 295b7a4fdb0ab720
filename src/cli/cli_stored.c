#include "cli_stored.h"
#include "cli_json.h"
#include "cli_runs.h"
#include "cli_text.h"
#include "store/store_trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const value_sets[] = {"problem_parameters", "parameters", "options"};
enum { VALUE_SETS = sizeof value_sets / sizeof value_sets[0] };

/* ---- Groups ---- */

static void copy_field(json_t *key, const json_t *run, const char *name) {
    json_t *value = json_object_get(run, name);
    cli_json_set(key, name, value ? json_deep_copy(value) : json_null());
}

static json_t *key_of(const json_t *run) {
    static const char *const fields[] = {"kind",        "problem",   "problem_parameters",
                                         "fingerprint", "precision", "solver",
                                         "parameters",  "options"};
    json_t *key = cli_json_object();
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        copy_field(key, run, fields[i]);
    copy_field(key, json_object_get(run, "task"), "start");
    json_object_del(json_object_get(key, "options"), "seed");
    return key;
}

static bool same_problem(const json_t *a, const json_t *b) {
    static const char *const fields[] = {"problem", "problem_parameters", "fingerprint"};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (!json_equal(json_object_get(a, fields[i]), json_object_get(b, fields[i])))
            return false;
    return true;
}

static size_t group_of(cli_stored *stored, const json_t *run) {
    json_t *key = key_of(run);
    size_t problem = stored->problems;
    for (size_t g = 0; g < stored->groups; g++) {
        if (json_equal(key, stored->group[g].key)) {
            json_decref(key);
            return g;
        }
        if (same_problem(key, stored->group[g].key))
            problem = stored->group[g].problem;
    }
    stored->group = cli_grow(stored->group, stored->groups + 1, sizeof stored->group[0]);
    stored->group[stored->groups] = (cli_stored_group){.key = key, .problem = problem};
    stored->problems += problem == stored->problems;
    return stored->groups++;
}

/* ---- Labels ---- */

static const char *solver_of(const json_t *key) {
    const char *solver = cli_run_text(key, "solver"), *kind = cli_run_text(key, "kind");
    return solver ? solver : kind ? kind : "?";
}

static bool same_name(const json_t *a, const json_t *b) {
    return strcmp(solver_of(a), solver_of(b)) == 0 &&
           json_equal(json_object_get(a, "problem"), json_object_get(b, "problem"));
}

static bool differs(const cli_stored *stored, size_t g, const char *set, const char *name) {
    const json_t *mine = stored->group[g].key;
    for (size_t h = 0; h < stored->groups; h++) {
        const json_t *other = stored->group[h].key;
        if (same_name(mine, other) &&
            !json_equal(json_object_get(json_object_get(mine, set), name),
                        json_object_get(json_object_get(other, set), name)))
            return true;
    }
    return false;
}

static void put_differences(FILE *out, const cli_stored *stored, size_t g) {
    for (size_t s = 0; s < VALUE_SETS; s++) {
        const char *name;
        json_t *value;
        json_object_foreach(json_object_get(stored->group[g].key, value_sets[s]), name, value) {
            char text[CLI_VALUE_SIZE];
            cli_value_text(value, text);
            if (differs(stored, g, value_sets[s], name))
                fprintf(out, ", %s = %s", name, text);
        }
    }
}

static bool several_problem_names(const cli_stored *stored) {
    for (size_t g = 1; g < stored->groups; g++)
        if (!json_equal(json_object_get(stored->group[0].key, "problem"),
                        json_object_get(stored->group[g].key, "problem")))
            return true;
    return false;
}

/* Two groups may still look alike, such as runs from different starts: then the runs are named. */
static void put_runs(FILE *out, const cli_stored *stored, size_t g) {
    const char *joint = " (run ";
    for (size_t i = 0; i < stored->count; i++) {
        if (stored->runs[i].group != g)
            continue;
        fprintf(out, "%s%lld", joint, (long long)stored->runs[i].id);
        joint = ", ";
    }
    fputc(')', out);
}

static char *label_of(const cli_stored *stored, size_t g, bool name_runs) {
    const json_t *key = stored->group[g].key;
    cli_text label;
    FILE *out = cli_text_begin(&label);
    fputs(solver_of(key), out);
    if (several_problem_names(stored))
        fprintf(out, ", %s", cli_run_text(key, "problem") ? cli_run_text(key, "problem") : "-");
    put_differences(out, stored, g);
    if (name_runs)
        put_runs(out, stored, g);
    return cli_text_end(&label);
}

static void label_groups(cli_stored *stored) {
    bool *alike = cli_alloc(stored->groups, sizeof *alike);
    for (size_t g = 0; g < stored->groups; g++)
        stored->group[g].label = label_of(stored, g, false);
    for (size_t g = 0; g < stored->groups; g++)
        for (size_t h = 0; h < stored->groups; h++)
            alike[g] =
                alike[g] || (g != h && strcmp(stored->group[g].label, stored->group[h].label) == 0);
    for (size_t g = 0; g < stored->groups; g++) {
        if (!alike[g])
            continue;
        free(stored->group[g].label);
        stored->group[g].label = label_of(stored, g, true);
    }
    free(alike);
}

/* ---- The best Phi ---- */

/* The least of what the store has and of certified rows. */
static void lower_best(cli_stored_run *run, const cli_stored_run *other) {
    size_t k;
    json_t *row;
    run->best = fmin(run->best, other->best);
    json_array_foreach(other->rows, k, row) {
        const json_t *phi = json_object_get(row, "phi");
        if (json_is_number(phi))
            run->best = fmin(run->best, json_number_value(phi));
    }
}

static void share_best(cli_stored *stored) {
    for (size_t i = 0; i < stored->count; i++)
        for (size_t k = 0; k < stored->count; k++)
            if (stored->runs[i].problem == stored->runs[k].problem)
                lower_best(&stored->runs[i], &stored->runs[k]);
}

/* ---- Loading ---- */

static bool is_loaded(const cli_stored *stored, int64_t id) {
    for (size_t i = 0; i < stored->count; i++)
        if (stored->runs[i].id == id)
            return true;
    return false;
}

static int load_one(cli_stored *stored, blv_store *store, int64_t id) {
    cli_stored_run loaded = {.id = id, .best = NAN};
    int code = cli_runs_find(store, id, &loaded.run);
    if (code != CLI_DONE)
        return code;
    stored->runs = cli_grow(stored->runs, stored->count + 1, sizeof stored->runs[0]);
    cli_stored_run *kept = &stored->runs[stored->count++];
    *kept = loaded;
    if (blv_store_rows_json(store, id, &kept->rows) != BLV_OK ||
        blv_store_best(store, id, &kept->best) != BLV_OK) {
        cli_complain("%s", blv_store_message(store));
        return CLI_REFUSED;
    }
    kept->group = group_of(stored, kept->run);
    kept->problem = stored->group[kept->group].problem;
    return CLI_DONE;
}

int cli_stored_load(cli_stored *stored, blv_store *store, const int64_t *ids, size_t count) {
    *stored = (cli_stored){0};
    int code = CLI_DONE;
    for (size_t i = 0; i < count && code == CLI_DONE; i++)
        if (!is_loaded(stored, ids[i]))
            code = load_one(stored, store, ids[i]);
    if (code == CLI_DONE) {
        share_best(stored);
        label_groups(stored);
    }
    return code;
}

void cli_stored_free(cli_stored *stored) {
    for (size_t i = 0; i < stored->count; i++) {
        json_decref(stored->runs[i].run);
        json_decref(stored->runs[i].rows);
    }
    for (size_t g = 0; g < stored->groups; g++) {
        json_decref(stored->group[g].key);
        free(stored->group[g].label);
    }
    free(stored->runs);
    free(stored->group);
    *stored = (cli_stored){0};
}
