#include "cli_suite.h"
#include "cli_json.h"
#include "cli_schema.h"
#include "cli_text.h"

#include "bilevel/registry.h"
#include "bilevel/run.h"
#include "bilevel/select.h"

#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const cli_suite_commands[] = {"coreset", "continual", NULL};
const char *const cli_limit_words[] = {
    [CLI_SECONDS] = "seconds", [CLI_CALLS] = "calls", [CLI_ITERATIONS] = "iterations", NULL};
const char *const cli_limit_options[] = {
    [CLI_SECONDS] = "seconds", [CLI_CALLS] = "budget", [CLI_ITERATIONS] = "iters", NULL};

static const char *const precisions[] = {"f64", "f32", NULL};
static const char *const starts[] = {"zero", "random", NULL};
static const char *const certifies[] = {[CLI_CERTIFY_POINTS] = "points",
                                        [CLI_CERTIFY_END] = "end",
                                        [CLI_CERTIFY_NEVER] = "never",
                                        NULL};

/* ---- The form of the file ---- */

static const cli_field limit_fields[] = {{"seconds", CLI_FIELD_POSITIVE, NULL, NULL},
                                         {"calls", CLI_FIELD_POSITIVE, NULL, NULL},
                                         {"iterations", CLI_FIELD_POSITIVE, NULL, NULL},
                                         {0}};
static const cli_field reference_fields[] = {{"seconds", CLI_FIELD_POSITIVE, NULL, NULL},
                                             {"calls", CLI_FIELD_POSITIVE, NULL, NULL},
                                             {"iterations", CLI_FIELD_POSITIVE, NULL, NULL},
                                             {"set", CLI_FIELD_SETTINGS, NULL, NULL},
                                             {0}};
static const cli_field tuning_fields[] = {
    {"seconds", CLI_FIELD_POSITIVE, NULL, NULL},    {"calls", CLI_FIELD_POSITIVE, NULL, NULL},
    {"iterations", CLI_FIELD_POSITIVE, NULL, NULL}, {"choose", CLI_FIELD_TEXT, NULL, NULL},
    {"most", CLI_FIELD_COUNT, NULL, NULL},          {0}};
static const cli_field variant_fields[] = {{"name", CLI_FIELD_NEEDED_TEXT, NULL, NULL},
                                           {"problem_set", CLI_FIELD_SETTINGS, NULL, NULL},
                                           {"data", CLI_FIELD_SETTINGS, NULL, NULL},
                                           {0}};
static const cli_field sweep_fields[] = {{"keys", CLI_FIELD_NEEDED_TEXTS, NULL, NULL},
                                         {"values", CLI_FIELD_NEEDED_VALUES, NULL, NULL},
                                         {0}};
static const cli_field baseline_fields[] = {{"name", CLI_FIELD_NEEDED_TEXT, NULL, NULL},
                                            {"problem_set", CLI_FIELD_SETTINGS, NULL, NULL},
                                            {"set", CLI_FIELD_SETTINGS, NULL, NULL},
                                            {0}};
static const cli_field solver_fields[] = {{"solver", CLI_FIELD_NEEDED_TEXT, NULL, NULL},
                                          {"untuned", CLI_FIELD_BOOLEAN, NULL, NULL},
                                          {"published", CLI_FIELD_SETTINGS, NULL, NULL},
                                          {"grid", CLI_FIELD_GRID, NULL, NULL},
                                          {"grid_set", CLI_FIELD_SETTINGS, NULL, NULL},
                                          {"sweep", CLI_FIELD_OBJECT, sweep_fields, NULL},
                                          {"set", CLI_FIELD_SETTINGS, NULL, NULL},
                                          {"baseline", CLI_FIELD_OBJECT, baseline_fields, NULL},
                                          {0}};
const char *const cli_claim_bases[] = {"seconds", "calls", "end", "spread", "change", NULL};
static const cli_field claim_fields[] = {{"text", CLI_FIELD_NEEDED_TEXT, NULL, NULL},
                                         {"who", CLI_FIELD_NEEDED_TEXTS, NULL, NULL},
                                         {"of", CLI_FIELD_TEXTS, NULL, NULL},
                                         {"by", CLI_FIELD_NEEDED_TEXT, NULL, cli_claim_bases},
                                         {"factor", CLI_FIELD_POSITIVE, NULL, NULL},
                                         {"bounds", CLI_FIELD_SETTINGS, NULL, NULL},
                                         {0}};
static const cli_field reproduces_fields[] = {{"paper", CLI_FIELD_NEEDED_TEXT, NULL, NULL},
                                              {"figure", CLI_FIELD_NEEDED_TEXT, NULL, NULL},
                                              {"claim", CLI_FIELD_NEEDED_TEXT, NULL, NULL},
                                              {0}};

/* What the quick form may replace. */
#define PARTS                                                                                      \
    {"problem", CLI_FIELD_TEXT, NULL, NULL}, {"problem_set", CLI_FIELD_SETTINGS, NULL, NULL},      \
        {"command", CLI_FIELD_TEXT, NULL, cli_suite_commands},                                     \
        {"seeded", CLI_FIELD_TEXTS, NULL, NULL}, {"level", CLI_FIELD_POSITIVE, NULL, NULL},        \
        {"data", CLI_FIELD_SETTINGS, NULL, NULL}, {"data_folders", CLI_FIELD_TEXTS, NULL, NULL},   \
        {"precision", CLI_FIELD_TEXT, NULL, precisions}, {"start", CLI_FIELD_TEXT, NULL, starts},  \
        {"run_set", CLI_FIELD_SETTINGS, NULL, NULL},                                               \
        {"variants", CLI_FIELD_OBJECTS, variant_fields, NULL},                                     \
        {"limit", CLI_FIELD_OBJECT, limit_fields, NULL}, {"seeds", CLI_FIELD_COUNT, NULL, NULL},   \
        {"points", CLI_FIELD_COUNT, NULL, NULL}, {"certify", CLI_FIELD_TEXT, NULL, certifies},     \
        {"reference", CLI_FIELD_OBJECT, reference_fields, NULL},                                   \
        {"tuning", CLI_FIELD_OBJECT, tuning_fields, NULL}, {"metric", CLI_FIELD_TEXT, NULL, NULL}, \
        {"show", CLI_FIELD_TEXTS, NULL, NULL}, {                                                   \
        "solvers", CLI_FIELD_OBJECTS, solver_fields, NULL                                          \
    }

static const cli_field quick_fields[] = {PARTS, {0}};
static const cli_field suite_fields[] = {
    {"name", CLI_FIELD_NEEDED_TEXT, NULL, NULL},
    {"title", CLI_FIELD_NEEDED_TEXT, NULL, NULL},
    {"reproduces", CLI_FIELD_NEEDED_OBJECT, reproduces_fields, NULL},
    PARTS,
    {"claims", CLI_FIELD_OBJECTS, claim_fields, NULL},
    {"quick", CLI_FIELD_OBJECT, quick_fields, NULL},
    {0}};

/* ---- Parts ---- */

static const char *text_or(const json_t *object, const char *key, const char *otherwise) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : otherwise;
}

static uint64_t count_or(const json_t *object, const char *key, uint64_t otherwise) {
    const json_t *value = json_object_get(object, key);
    return value ? (uint64_t)json_integer_value(value) : otherwise;
}

static size_t place_of(const char *word, const char *const *words) {
    size_t i = 0;
    while (words[i] && strcmp(words[i], word) != 0)
        i++;
    return i;
}

/* One of the three is set, and only one. */
static int take_limit(const cli_suite *suite, const char *where, const json_t *object,
                      cli_limit *limit) {
    size_t found = 0;
    for (int kind = CLI_SECONDS; kind <= CLI_ITERATIONS; kind++) {
        const json_t *value = json_object_get(object, cli_limit_words[kind]);
        if (!value)
            continue;
        *limit = (cli_limit){(cli_limit_kind)kind, json_number_value(value)};
        found++;
    }
    if (found == 1)
        return CLI_DONE;
    cli_complain("%s: %s: expected one of seconds, calls and iterations, found %zu", suite->path,
                 where, found);
    return CLI_REFUSED;
}

static json_t *merged(json_t *base, json_t *own) {
    json_t *both = cli_json_object();
    if ((base && json_object_update(both, base) != 0) ||
        (own && json_object_update(both, own) != 0))
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    return both;
}

static void take_variants(cli_suite *suite) {
    json_t *list = json_object_get(suite->root, "variants");
    json_t *problem_set = json_object_get(suite->root, "problem_set");
    json_t *data = json_object_get(suite->root, "data");
    suite->variant_count = json_array_size(list) > 0 ? json_array_size(list) : 1;
    suite->variants = cli_alloc(suite->variant_count, sizeof *suite->variants);
    for (size_t i = 0; i < suite->variant_count; i++) {
        json_t *own = json_array_get(list, i);
        suite->variants[i] =
            (cli_variant){.name = text_or(own, "name", ""),
                          .problem_set = merged(problem_set, json_object_get(own, "problem_set")),
                          .data = merged(data, json_object_get(own, "data"))};
    }
}

/* ---- Entries ---- */

static int add_entry(cli_suite *suite, const char *solver, const char *column, json_t *set,
                     json_t *grid) {
    char *id = cli_print("%s/%s", solver, column);
    for (size_t i = 0; i < suite->entry_count; i++) {
        if (strcmp(suite->entries[i].id, id) != 0)
            continue;
        cli_complain("%s: solvers: %s is there twice", suite->path, id);
        free(id);
        return CLI_REFUSED;
    }
    suite->entries = cli_grow(suite->entries, suite->entry_count + 1, sizeof *suite->entries);
    suite->entries[suite->entry_count++] = (cli_entry){
        .id = id, .solver = solver, .set = merged(NULL, set), .grid = json_incref(grid)};
    return CLI_DONE;
}

const char *cli_suite_solver(const cli_suite *suite, const char *name, blv_message *why) {
    if (suite->command) {
        const blv_selection_method *method = blv_selection_method_find(name, why);
        return method ? method->name : NULL;
    }
    const blv_solver *solver = blv_solver_find(NULL, name, why);
    return solver ? solver->name : NULL;
}

static int add_baseline(cli_suite *suite, const char *solver, json_t *set, json_t *baseline) {
    if (suite->command) {
        cli_complain("%s: solvers: %s: baseline: the command %s has none", suite->path, solver,
                     suite->command);
        return CLI_REFUSED;
    }
    json_t *both = merged(set, json_object_get(baseline, "set"));
    int code = add_entry(suite, solver, text_or(baseline, "name", ""), both, NULL);
    if (code == CLI_DONE)
        suite->entries[suite->entry_count - 1].problem_set =
            json_object_get(baseline, "problem_set");
    json_decref(both);
    return code;
}

void cli_suite_add_untuned(cli_suite *suite, const char *solver) {
    add_entry(suite, solver, "untuned", NULL, NULL);
}

static int add_sweep(cli_suite *suite, const char *solver, json_t *sweep, json_t *base) {
    json_t *keys = json_object_get(sweep, "keys"), *values = json_object_get(sweep, "values");
    size_t i, k;
    json_t *value, *key;
    int code = CLI_DONE;
    json_array_foreach(values, i, value) {
        char text[CLI_VALUE_SIZE], column[2 * CLI_VALUE_SIZE];
        json_t *set = merged(NULL, base);
        cli_value_text(value, text);
        snprintf(column, sizeof column, "%.100s=%.100s", json_string_value(json_array_get(keys, 0)),
                 text);
        json_array_foreach(keys, k, key) {
            cli_json_set(set, json_string_value(key), json_incref(value));
        }
        if (code == CLI_DONE)
            code = add_entry(suite, solver, column, set, NULL);
        json_decref(set);
    }
    return code;
}

static int take_solver(cli_suite *suite, const json_t *object) {
    blv_message why = {0};
    const char *solver = cli_suite_solver(suite, text_or(object, "solver", ""), &why);
    if (!solver) {
        cli_complain("%s: solvers: %s", suite->path, why.text);
        return CLI_REFUSED;
    }
    json_t *published = json_object_get(object, "published"), *set = json_object_get(object, "set");
    json_t *grid = json_object_get(object, "grid"), *sweep = json_object_get(object, "sweep");
    json_t *baseline = json_object_get(object, "baseline");
    json_t *as_published = merged(set, published);
    json_t *as_tuned = merged(set, json_object_get(object, "grid_set"));
    int code = CLI_DONE;
    if (json_is_true(json_object_get(object, "untuned")))
        code = add_entry(suite, solver, "untuned", set, NULL);
    if (code == CLI_DONE && published)
        code = add_entry(suite, solver, "published", as_published, NULL);
    if (code == CLI_DONE && grid)
        code = add_entry(suite, solver, "tuned", as_tuned, grid);
    if (code == CLI_DONE && sweep)
        code = add_sweep(suite, solver, sweep, set);
    if (code == CLI_DONE && baseline)
        code = add_baseline(suite, solver, set, baseline);
    json_decref(as_published);
    json_decref(as_tuned);
    return code;
}

static int take_entries(cli_suite *suite) {
    size_t i;
    json_t *object;
    int code = CLI_DONE;
    json_array_foreach(json_object_get(suite->root, "solvers"), i, object) {
        if (code == CLI_DONE)
            code = take_solver(suite, object);
    }
    if (code == CLI_DONE && suite->entry_count == 0) {
        cli_complain("%s: solvers: expected at least one with untuned, published, grid, sweep or "
                     "baseline",
                     suite->path);
        code = CLI_REFUSED;
    }
    return code;
}

static void free_entry(cli_entry *entry) {
    free(entry->id);
    json_decref(entry->set);
    json_decref(entry->grid);
}

void cli_suite_keep(cli_suite *suite, bool (*keep)(const cli_entry *entry, const void *context),
                    const void *context) {
    size_t kept = 0;
    for (size_t i = 0; i < suite->entry_count; i++) {
        if (keep(&suite->entries[i], context))
            suite->entries[kept++] = suite->entries[i];
        else
            free_entry(&suite->entries[i]);
    }
    suite->entry_count = kept;
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

size_t cli_suite_grid_size(const cli_suite *suite, const cli_entry *entry) {
    size_t count = entry->grid ? grid_product(entry->grid) : 0;
    return count < suite->most_settings ? count : suite->most_settings;
}

json_t *cli_suite_grid_at(const cli_entry *entry, size_t i) {
    json_t *set = merged(NULL, entry->set), *values;
    const char *key;
    size_t stride = grid_product(entry->grid);
    json_object_foreach(entry->grid, key, values) {
        const size_t size = json_array_size(values);
        stride = size > 0 ? stride / size : 0;
        const size_t place = stride > 0 ? i / stride % size : 0;
        cli_json_set(set, key, json_incref(json_array_get(values, place)));
    }
    return set;
}

static json_t *grid_of_file(const cli_suite *suite, const char *path) {
    json_t *grids = cli_schema_load(path), *grid;
    const char *solver;
    bool well = grids != NULL;
    json_object_foreach(grids, solver, grid) {
        blv_message why = {0};
        if (well && !cli_suite_solver(suite, solver, &why)) {
            cli_complain("%s: %s", path, why.text);
            well = false;
        }
        well = well && cli_schema_is_grid(path, solver, grid);
    }
    if (!well)
        json_decref(grids);
    return well ? grids : NULL;
}

static bool is_not_tuned(const cli_entry *entry, const void *context) {
    (void)context;
    return !entry->grid;
}

int cli_suite_replace_grids(cli_suite *suite, const char *path) {
    json_t *grids = path ? grid_of_file(suite, path) : NULL, *grid;
    const char *name;
    if (path && !grids)
        return CLI_REFUSED;
    cli_suite_keep(suite, is_not_tuned, NULL);
    int code = CLI_DONE;
    json_object_foreach(grids, name, grid) {
        if (code == CLI_DONE)
            code = add_entry(suite, cli_suite_solver(suite, name, NULL), "tuned", NULL, grid);
    }
    json_decref(grids);
    return code;
}

int cli_suite_check_choice(const cli_suite *suite) {
    for (size_t i = 0; i < suite->entry_count; i++) {
        if (!suite->entries[i].grid || strncmp(suite->choose, "test_", 5) != 0)
            continue;
        cli_complain("%s: tuning.choose is '%s': expected f or a measure of validation rows; test "
                     "rows have no part in what is chosen",
                     suite->path, suite->choose);
        return CLI_REFUSED;
    }
    return CLI_DONE;
}

/* ---- The whole ---- */

static void put_quick_form(cli_suite *suite) {
    json_t *quick = json_object_get(suite->root, "quick");
    if (suite->quick && quick && json_object_update(suite->root, quick) != 0)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
}

static int expect_problem(const cli_suite *suite) {
    if (suite->problem && suite->command) {
        cli_complain("%s: expected a problem or a command, found both", suite->path);
        return CLI_REFUSED;
    }
    if (suite->problem || suite->command)
        return CLI_DONE;
    cli_complain("%s: 'problem' is missing", suite->path);
    return CLI_REFUSED;
}

static bool has_variant(const cli_suite *suite, const char *name) {
    for (size_t i = 0; i < suite->variant_count; i++)
        if (strcmp(suite->variants[i].name, name) == 0)
            return true;
    return false;
}

/* A claim compares with others, or with a bound for each of some variants. The quick form may have
 * other variants: it is the whole suite that is held to this. */
static int expect_claim(const cli_suite *suite, size_t i, json_t *claim) {
    json_t *bounds = json_object_get(claim, "bounds"), *bound;
    const char *variant;
    if ((json_array_size(json_object_get(claim, "of")) > 0) == (bounds != NULL)) {
        cli_complain("%s: claims[%zu]: expected one of 'of' and 'bounds'", suite->path, i);
        return CLI_REFUSED;
    }
    json_object_foreach(bounds, variant, bound) {
        if (!suite->quick && !has_variant(suite, variant)) {
            cli_complain("%s: claims[%zu].bounds: there is no variant '%s'", suite->path, i,
                         variant);
            return CLI_REFUSED;
        }
        if (!json_is_number(bound) || !(json_number_value(bound) > 0.0)) {
            cli_complain("%s: claims[%zu].bounds.%s: expected a number above 0", suite->path, i,
                         variant);
            return CLI_REFUSED;
        }
    }
    return CLI_DONE;
}

static int expect_claims(const cli_suite *suite) {
    size_t i;
    json_t *claim;
    int code = CLI_DONE;
    json_array_foreach(suite->claims, i, claim) {
        if (code == CLI_DONE)
            code = expect_claim(suite, i, claim);
    }
    return code;
}

/* What a command does not have: it goes through to its end. */
static int expect_no_limits(const cli_suite *suite) {
    static const char *const none[] = {"limit", "reference", "points", "certify", "start"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (json_object_get(suite->root, none[i])) {
            cli_complain("%s: '%s': the command %s has none", suite->path, none[i], suite->command);
            return CLI_REFUSED;
        }
    return CLI_DONE;
}

static int take_limits(cli_suite *suite) {
    json_t *tuning = json_object_get(suite->root, "tuning");
    json_t *reference = json_object_get(suite->root, "reference");
    int code = CLI_DONE;
    suite->choose = text_or(tuning, "choose", suite->command ? "val_accuracy" : suite->metric);
    suite->most_settings = (size_t)count_or(tuning, "most", SIZE_MAX);
    if (suite->command)
        return expect_no_limits(suite);
    code = take_limit(suite, "limit", json_object_get(suite->root, "limit"), &suite->limit);
    suite->tuning = suite->limit;
    if (code == CLI_DONE && tuning)
        code = take_limit(suite, "tuning", tuning, &suite->tuning);
    suite->has_reference = reference != NULL;
    if (code == CLI_DONE && reference)
        code = take_limit(suite, "reference", reference, &suite->reference);
    suite->reference_set = json_object_get(reference, "set");
    return code;
}

static void take_words(cli_suite *suite) {
    json_t *root = suite->root;
    suite->name = text_or(root, "name", NULL);
    suite->title = text_or(root, "title", NULL);
    suite->problem = text_or(root, "problem", NULL);
    suite->command = text_or(root, "command", NULL);
    suite->seeded = json_object_get(root, "seeded");
    suite->level =
        json_object_get(root, "level") ? json_number_value(json_object_get(root, "level")) : NAN;
    suite->start = text_or(root, "start", starts[0]);
    suite->metric = text_or(root, "metric", "phi");
    suite->precision = place_of(text_or(root, "precision", "f64"), precisions) ? BLV_F32 : BLV_F64;
    suite->reproduces = json_object_get(root, "reproduces");
    suite->run_set = json_object_get(root, "run_set");
    suite->claims = json_object_get(root, "claims");
    suite->show = json_object_get(root, "show");
    suite->seeds = count_or(root, "seeds", 5);
    suite->points = count_or(root, "points", 24);
    suite->certify = (cli_certify)place_of(text_or(root, "certify", "points"), certifies);
}

static void take_place(cli_suite *suite, const char *path) {
    suite->path = strdup(path);
    char *copy = strdup(path);
    suite->folder = copy ? strdup(dirname(copy)) : NULL;
    free(copy);
    if (!suite->path || !suite->folder)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
}

int cli_suite_read(cli_suite *suite, const char *path, bool quick) {
    *suite = (cli_suite){.quick = quick};
    take_place(suite, path);
    suite->root = cli_schema_load(path);
    if (!suite->root || !cli_schema_holds(path, "", suite->root, suite_fields))
        return CLI_REFUSED;
    put_quick_form(suite);
    take_words(suite);
    int code = expect_problem(suite);
    if (code == CLI_DONE)
        code = take_limits(suite);
    if (code == CLI_DONE)
        code = take_entries(suite);
    if (code == CLI_DONE)
        take_variants(suite);
    return code == CLI_DONE ? expect_claims(suite) : code;
}

void cli_suite_free(cli_suite *suite) {
    for (size_t i = 0; i < suite->entry_count; i++)
        free_entry(&suite->entries[i]);
    for (size_t i = 0; i < suite->variant_count; i++) {
        json_decref(suite->variants[i].problem_set);
        json_decref(suite->variants[i].data);
    }
    free(suite->entries);
    free(suite->variants);
    json_decref(suite->root);
    free(suite->path);
    free(suite->folder);
    *suite = (cli_suite){0};
}
