/* The entries of a suite: each of its solvers with the settings that the file asks for. */
#include "bench/suite.h"

#include "bilevel/registry.h"
#include "bilevel/select.h"
#include "bilevel/solver.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const blv_values no_settings;

static void free_entry(bench_entry *entry) {
    blv_values_free(&entry->set);
    blv_values_free(&entry->problem_set);
}

/* Its settings are those of `base`, and of `own`, which win. */
static blv_error add_entry(bench_suite *suite, const char *solver, const char *column,
                           const blv_values *base, const blv_values *own, json_t *grid) {
    char *id = blv_arena_print(&suite->arena, "%s/%s", solver, column);
    for (size_t i = 0; id && i < suite->entry_count; i++)
        if (strcmp(suite->entries[i].id, id) == 0)
            return bench_reject(suite, "solvers: %s is there twice", id);
    bench_entry *entry =
        id ? blv_array_add(&suite->entries, &suite->entry_count, sizeof *entry) : NULL;
    if (!entry)
        return BLV_E_MEMORY;
    *entry = (bench_entry){.id = id, .solver = solver, .grid = grid, .untuned = base};
    BLV_CHECK(blv_values_update(&entry->set, base));
    return blv_values_update(&entry->set, own);
}

const char *bench_suite_solver(const bench_suite *suite, const char *name, blv_message *why) {
    if (suite->has_command) {
        const blv_selection_method *method = blv_selection_method_find(name, why);
        return method ? method->name : NULL;
    }
    const blv_solver *solver = blv_solver_find(NULL, name, why);
    return solver ? solver->name : NULL;
}

static blv_error add_baseline(bench_suite *suite, const char *solver,
                              const bench_solver_file *file) {
    if (suite->has_command)
        return bench_reject(suite, "solvers: %s: baseline: the command %s has none", solver,
                            bench_command_words[suite->command]);
    BLV_CHECK(add_entry(suite, solver, file->baseline_name, &file->set, &file->baseline_set, NULL));
    bench_entry *entry = &suite->entries[suite->entry_count - 1];
    return blv_values_update(&entry->problem_set, &file->baseline_problem_set);
}

/* Settings around the automatic ones, which are those of a run. */
static blv_error add_tuned(bench_suite *suite, const char *solver, const bench_solver_file *file) {
    if (suite->has_command)
        return bench_reject(suite, "solvers: %s: tuned: the command %s has no automatic settings",
                            solver, bench_command_words[suite->command]);
    BLV_CHECK(add_entry(suite, solver, "tuned", &file->set, &file->grid_set, NULL));
    suite->entries[suite->entry_count - 1].tuned = file->tuned;
    return BLV_OK;
}

static bool is_value(const json_t *value) {
    return json_is_string(value) || json_is_number(value);
}

/* An array of texts and numbers; where and key: the keys that lead to it. */
static blv_error check_values(const bench_suite *suite, const char *path, const char *where,
                              const char *key, const json_t *list) {
    size_t i;
    json_t *item;
    bool fits = json_array_size(list) > 0;
    json_array_foreach(list, i, item) {
        fits = fits && is_value(item);
    }
    return fits
               ? BLV_OK
               : blv_explain(suite->why, BLV_E_FORMAT,
                             "%s: %s.%s: expected an array of texts and numbers", path, where, key);
}

static blv_error check_grid(const bench_suite *suite, const char *path, const char *where,
                            json_t *grid) {
    const char *key;
    json_t *values;
    if (json_object_size(grid) == 0)
        return blv_explain(suite->why, BLV_E_FORMAT,
                           "%s: %s: expected an object of arrays, {\"KEY\": [VALUE, ...], ...}",
                           path, where);
    json_object_foreach(grid, key, values) {
        BLV_CHECK(check_values(suite, path, where, key, values));
    }
    return BLV_OK;
}

/* All keys of a sweep get the value. */
static blv_error add_swept(bench_suite *suite, const char *solver, const bench_solver_file *file,
                           json_t *json) {
    const bench_names *keys = &file->sweep_keys;
    const blv_value value = blv_value_of_json(json);
    char text[BLV_SHOWN_SIZE], column[2 * BLV_SHOWN_SIZE];
    blv_value_show(&value, text);
    snprintf(column, sizeof column, "%.100s=%.100s", keys->items[0], text);
    BLV_CHECK(add_entry(suite, solver, column, &file->set, &no_settings, NULL));
    for (size_t k = 0; k < keys->count; k++)
        BLV_CHECK(
            blv_values_set(&suite->entries[suite->entry_count - 1].set, keys->items[k], &value));
    return BLV_OK;
}

static blv_error take_solver(bench_suite *suite, size_t number) {
    const bench_solver_file *file = &suite->solvers[number];
    json_t *object = json_array_get(json_object_get(suite->root, "solvers"), number);
    json_t *grid = json_object_get(object, "grid"), *value;
    json_t *swept = json_object_get(json_object_get(object, "sweep"), "values");
    size_t i;
    char where[64];
    blv_message unknown = {0};
    const char *solver = bench_suite_solver(suite, file->solver, &unknown);
    if (!solver)
        return blv_explain(suite->why, BLV_E_NAME, "%s: solvers: %.400s", suite->path,
                           unknown.text);
    if (file->untuned)
        BLV_CHECK(add_entry(suite, solver, "untuned", &file->set, &no_settings, NULL));
    if (file->is_published)
        BLV_CHECK(add_entry(suite, solver, "published", &file->set, &file->published, NULL));
    snprintf(where, sizeof where, "solvers[%zu].grid", number);
    if (grid) {
        BLV_CHECK(check_grid(suite, suite->path, where, grid));
        BLV_CHECK(add_entry(suite, solver, "tuned", &file->set, &file->grid_set, grid));
        if (!file->untuned) /* its automatic settings may not be wanted */
            suite->entries[suite->entry_count - 1].untuned = NULL;
    }
    if (file->tuned.count > 0)
        BLV_CHECK(add_tuned(suite, solver, file));
    snprintf(where, sizeof where, "solvers[%zu].sweep", number);
    if (swept)
        BLV_CHECK(check_values(suite, suite->path, where, "values", swept));
    json_array_foreach(swept, i, value) {
        BLV_CHECK(add_swept(suite, solver, file, value));
    }
    for (size_t k = 0; k < file->detuned_count; k++) {
        snprintf(where, sizeof where, "detuned=%g", file->detuned[k]);
        BLV_CHECK(add_entry(suite, solver, where, &file->set, &no_settings, NULL));
        suite->entries[suite->entry_count - 1].detuned = file->detuned[k];
    }
    return file->has_baseline ? add_baseline(suite, solver, file) : BLV_OK;
}

blv_error bench_suite_add_entries(bench_suite *suite) {
    for (size_t i = 0; i < suite->solver_count; i++)
        BLV_CHECK(take_solver(suite, i));
    if (suite->entry_count > 0)
        return BLV_OK;
    return bench_reject(suite,
                        "solvers: expected at least one with untuned, published, tuned, grid, "
                        "sweep or baseline");
}

static bool is_among(const char *name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Drops entries whose solver is none of these; NULL: those that are tuned. */
static void keep_entries(bench_suite *suite, const char *const *solvers, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < suite->entry_count; i++) {
        bench_entry *entry = &suite->entries[i];
        if (solvers ? is_among(entry->solver, solvers, count) : !bench_is_tuned(entry))
            suite->entries[kept++] = *entry;
        else
            free_entry(entry);
    }
    suite->entry_count = kept;
}

blv_error bench_suite_select(bench_suite *suite, const char *const *solvers, size_t count) {
    keep_entries(suite, solvers, count);
    size_t own = suite->entry_count;
    for (size_t s = 0; s < count; s++) {
        bool found = is_among(solvers[s], solvers, s); /* named twice */
        for (size_t i = 0; i < own && !found; i++)
            found = strcmp(suite->entries[i].solver, solvers[s]) == 0;
        if (!found)
            BLV_CHECK(add_entry(suite, solvers[s], "untuned", &no_settings, &no_settings, NULL));
    }
    return BLV_OK;
}

/* ---- Grids ---- */

static size_t grid_product(json_t *grid) {
    size_t count = 1;
    const char *key;
    json_t *values;
    json_object_foreach(grid, key, values) {
        const size_t size = json_array_size(values);
        count = size > 0 && count > SIZE_MAX / size ? SIZE_MAX : count * size;
    }
    return count;
}

bool bench_has_grid(const bench_entry *entry) {
    return (entry->grid || entry->tuned.count > 0) && entry->detuned == 0.0;
}

bool bench_is_tuned(const bench_entry *entry) {
    return bench_has_grid(entry) || entry->detuned > 0.0;
}

size_t bench_suite_grid_size(const bench_suite *suite, const bench_entry *entry) {
    size_t count = entry->grid ? grid_product(entry->grid) : 0;
    return count < suite->most_settings ? count : suite->most_settings;
}

blv_error bench_suite_grid_at(const bench_entry *entry, size_t i, blv_values *set) {
    json_t *values;
    const char *key;
    size_t stride = grid_product(entry->grid);
    blv_error error = blv_values_copy(set, &entry->set);
    json_object_foreach(entry->grid, key, values) {
        const size_t size = json_array_size(values);
        stride = size > 0 ? stride / size : 0;
        const size_t place = stride > 0 ? i / stride % size : 0;
        const blv_value value = blv_value_of_json(json_array_get(values, place));
        if (error == BLV_OK)
            error = blv_values_set(set, key, &value);
    }
    if (error != BLV_OK)
        blv_values_free(set);
    return error;
}

static blv_error add_grid(bench_suite *suite, const char *path, const char *name, json_t *grid) {
    blv_message unknown = {0};
    const char *solver = bench_suite_solver(suite, name, &unknown);
    if (!solver)
        return blv_explain(suite->why, BLV_E_NAME, "%s: %.400s", path, unknown.text);
    BLV_CHECK(check_grid(suite, path, name, grid));
    return add_entry(suite, solver, "tuned", &no_settings, &no_settings, grid);
}

blv_error bench_suite_replace_grids(bench_suite *suite, const char *path) {
    json_t *grid;
    const char *name;
    keep_entries(suite, NULL, 0);
    if (path)
        BLV_CHECK(bench_json_load(path, &suite->grids, suite->why));
    json_object_foreach(suite->grids, name, grid) {
        BLV_CHECK(add_grid(suite, path, name, grid));
    }
    return BLV_OK;
}

blv_error bench_suite_check_choice(const bench_suite *suite) {
    for (size_t i = 0; i < suite->entry_count; i++)
        if (bench_is_tuned(&suite->entries[i]) && strncmp(suite->choose, "test_", 5) == 0)
            return bench_reject(suite,
                                "tuning.choose is '%s': expected f or a measure of validation "
                                "rows; test rows have no part in what is chosen",
                                suite->choose);
    return BLV_OK;
}

void bench_suite_free_entries(bench_suite *suite) {
    for (size_t i = 0; i < suite->entry_count; i++)
        free_entry(&suite->entries[i]);
    free(suite->entries);
}
