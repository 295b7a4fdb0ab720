/* The entries of a suite: each of its solvers with the settings that the file asks for. */
#include "bench/suite.h"

#include "base/message.h"
#include "bench/suite_check.h"
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
                           const blv_values *base, const blv_values *own, json_t *grid,
                           blv_message *why) {
    char *id = blv_arena_print(&suite->arena, "%s/%s", solver, column);
    bench_entry *entries = realloc(suite->entries, (suite->entry_count + 1) * sizeof *entries);
    suite->entries = entries ? entries : suite->entries;
    if (!id || !entries)
        return BLV_E_MEMORY;
    for (size_t i = 0; i < suite->entry_count; i++)
        if (strcmp(entries[i].id, id) == 0)
            return blv_explain(why, BLV_E_FORMAT, "%s: solvers: %s is there twice", suite->path,
                               id);
    bench_entry *entry = &entries[suite->entry_count++];
    *entry = (bench_entry){.id = id, .solver = solver, .grid = grid};
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

static blv_error add_baseline(bench_suite *suite, const char *solver, const bench_solver_file *file,
                              blv_message *why) {
    const bench_baseline_file *baseline = &file->baseline;
    if (suite->has_command)
        return blv_explain(why, BLV_E_FORMAT, "%s: solvers: %s: baseline: the command %s has none",
                           suite->path, solver, bench_command_words[suite->command]);
    BLV_CHECK(add_entry(suite, solver, baseline->name, &file->set, &baseline->set, NULL, why));
    bench_entry *entry = &suite->entries[suite->entry_count - 1];
    return blv_values_update(&entry->problem_set, &baseline->problem_set);
}

static blv_error set_json(blv_values *set, const char *key, json_t *value) {
    json_t *object = json_pack("{s:O}", key, value);
    blv_values one = {0};
    blv_error error = object ? blv_values_read(&one, object) : BLV_E_MEMORY;
    if (error == BLV_OK)
        error = blv_values_update(set, &one);
    blv_values_free(&one);
    json_decref(object);
    return error;
}

/* All keys of a sweep get the value. */
static blv_error add_swept(bench_suite *suite, const char *solver, const bench_solver_file *file,
                           json_t *value, blv_message *why) {
    const bench_names *keys = &file->sweep.keys;
    char text[BLV_SHOWN_SIZE], column[2 * BLV_SHOWN_SIZE];
    blv_values set = {0};
    blv_error error = BLV_OK;
    for (size_t k = 0; k < keys->count && error == BLV_OK; k++)
        error = set_json(&set, keys->items[k], value);
    if (error == BLV_OK) {
        blv_value_show(&set.items[0], text);
        snprintf(column, sizeof column, "%.100s=%.100s", keys->items[0], text);
        error = add_entry(suite, solver, column, &file->set, &set, NULL, why);
    }
    blv_values_free(&set);
    return error;
}

static blv_error take_solver(bench_suite *suite, const bench_solver_file *file, json_t *object,
                             blv_message *why) {
    blv_message unknown = {0};
    const char *solver = bench_suite_solver(suite, file->solver, &unknown);
    json_t *grid = json_object_get(object, "grid"), *value;
    size_t i;
    if (!solver)
        return blv_explain(why, BLV_E_NAME, "%s: solvers: %.400s", suite->path, unknown.text);
    if (file->untuned)
        BLV_CHECK(add_entry(suite, solver, "untuned", &file->set, &no_settings, NULL, why));
    if (file->is_published)
        BLV_CHECK(add_entry(suite, solver, "published", &file->set, &file->published, NULL, why));
    if (grid)
        BLV_CHECK(add_entry(suite, solver, "tuned", &file->set, &file->grid_set, grid, why));
    json_array_foreach(json_object_get(json_object_get(object, "sweep"), "values"), i, value) {
        BLV_CHECK(add_swept(suite, solver, file, value, why));
    }
    return file->has_baseline ? add_baseline(suite, solver, file, why) : BLV_OK;
}

blv_error bench_suite_add_entries(bench_suite *suite, blv_message *why) {
    for (size_t i = 0; i < suite->solver_count; i++)
        BLV_CHECK(take_solver(suite, &suite->solvers[i],
                              json_array_get(json_object_get(suite->root, "solvers"), i), why));
    if (suite->entry_count > 0)
        return BLV_OK;
    return blv_explain(why, BLV_E_FORMAT,
                       "%s: solvers: expected at least one with untuned, published, grid, sweep or "
                       "baseline",
                       suite->path);
}

static bool is_among(const char *name, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Drops entries whose solver is none of these; NULL: those with a grid. */
static void keep_entries(bench_suite *suite, const char *const *solvers, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < suite->entry_count; i++) {
        bench_entry *entry = &suite->entries[i];
        if (solvers ? is_among(entry->solver, solvers, count) : !entry->grid)
            suite->entries[kept++] = *entry;
        else
            free_entry(entry);
    }
    suite->entry_count = kept;
}

blv_error bench_suite_select(bench_suite *suite, const char *const *solvers, size_t count,
                             blv_message *why) {
    keep_entries(suite, solvers, count);
    size_t own = suite->entry_count;
    for (size_t s = 0; s < count; s++) {
        bool found = is_among(solvers[s], solvers, s); /* named twice */
        for (size_t i = 0; i < own && !found; i++)
            found = strcmp(suite->entries[i].solver, solvers[s]) == 0;
        if (!found)
            BLV_CHECK(
                add_entry(suite, solvers[s], "untuned", &no_settings, &no_settings, NULL, why));
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
        if (error == BLV_OK)
            error = set_json(set, key, json_array_get(values, place));
    }
    if (error != BLV_OK)
        blv_values_free(set);
    return error;
}

static blv_error add_grid(bench_suite *suite, const char *path, const char *name, json_t *grid,
                          blv_message *why) {
    blv_message unknown = {0};
    const char *solver = bench_suite_solver(suite, name, &unknown);
    if (!solver)
        return blv_explain(why, BLV_E_NAME, "%s: %.400s", path, unknown.text);
    BLV_CHECK(bench_check_grid(path, name, grid, why));
    return add_entry(suite, solver, "tuned", &no_settings, &no_settings, grid, why);
}

blv_error bench_suite_replace_grids(bench_suite *suite, const char *path, blv_message *why) {
    json_t *grid;
    const char *name;
    keep_entries(suite, NULL, 0);
    if (path)
        BLV_CHECK(bench_json_load(path, &suite->grids, why));
    json_object_foreach(suite->grids, name, grid) {
        BLV_CHECK(add_grid(suite, path, name, grid, why));
    }
    return BLV_OK;
}

blv_error bench_suite_check_choice(const bench_suite *suite, blv_message *why) {
    for (size_t i = 0; i < suite->entry_count; i++)
        if (suite->entries[i].grid && strncmp(suite->choose, "test_", 5) == 0)
            return blv_explain(why, BLV_E_FORMAT,
                               "%s: tuning.choose is '%s': expected f or a measure of validation "
                               "rows; test rows have no part in what is chosen",
                               suite->path, suite->choose);
    return BLV_OK;
}

void bench_suite_free_entries(bench_suite *suite) {
    for (size_t i = 0; i < suite->entry_count; i++)
        free_entry(&suite->entries[i]);
    free(suite->entries);
}
