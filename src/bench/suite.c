#include "bench/suite.h"

#include "store/run_info.h"

#include <libgen.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

const char *const bench_command_words[] = {
    [BENCH_CORESET] = "coreset", [BENCH_CONTINUAL] = "continual", NULL};
const char *const bench_limit_words[] = {
    [BENCH_SECONDS] = "seconds", [BENCH_CALLS] = "calls", [BENCH_ITERATIONS] = "iterations", NULL};
const char *const bench_limit_options[] = {"seconds", "budget", "iters"};
const char *const bench_start_words[] = {"zero", "random", NULL};
static const char *const certify_words[] = {[BENCH_CERTIFY_POINTS] = "points",
                                            [BENCH_CERTIFY_END] = "end",
                                            [BENCH_CERTIFY_NEVER] = "never",
                                            NULL};
static const char *const basis_words[] = {
    [BENCH_BY_SECONDS] = "seconds", [BENCH_BY_CALLS] = "calls",   [BENCH_BY_END] = "end",
    [BENCH_BY_SPREAD] = "spread",   [BENCH_BY_CHANGE] = "change", NULL};

/* ---- The form of the file ---- */

#define NEEDED(type, member, kind) BLV_FIELD_AS(#member, type, member, kind, BLV_REQUIRED)
#define NAMES(name_, type, member, flags_)                                                         \
    BLV_FIELD_WITH(name_, type, member.items, TEXTS, .flags = (flags_),                            \
                   .count = offsetof(type, member.count))
#define LIMITS(member)                                                                             \
    BLV_FIELD_AS("seconds", bench_suite, member[BENCH_SECONDS], REAL, 0),                          \
        BLV_FIELD_AS("calls", bench_suite, member[BENCH_CALLS], REAL, 0),                          \
        BLV_FIELD_AS("iterations", bench_suite, member[BENCH_ITERATIONS], REAL, 0)

static const blv_field limit_fields[] = {LIMITS(limits), {0}};
static const blv_field reference_fields[] = {
    LIMITS(reference_limits), BLV_FIELD_AS("set", bench_suite, reference_set, VALUES, 0), {0}};
static const blv_field tuning_fields[] = {LIMITS(tuning_limits),
                                          BLV_FIELD(bench_suite, choose, TEXT),
                                          BLV_FIELD_AS("most", bench_suite, most_settings, SIZE, 0),
                                          {0}};
static const blv_field variant_fields[] = {NEEDED(bench_variant, name, TEXT),
                                           BLV_FIELD(bench_variant, problem_set, VALUES),
                                           BLV_FIELD(bench_variant, data, VALUES),
                                           {0}};
#define OF_SOLVER(name_, member, kind_, flags_)                                                    \
    BLV_FIELD_AS(name_, bench_solver_file, member, kind_, flags_)
static const blv_field sweep_fields[] = {NAMES("keys", bench_solver_file, sweep_keys, BLV_REQUIRED),
                                         OF_SOLVER("values", sweep_values, JSON, BLV_REQUIRED),
                                         {0}};
static const blv_field baseline_fields[] = {
    OF_SOLVER("name", baseline_name, TEXT, BLV_REQUIRED),
    OF_SOLVER("problem_set", baseline_problem_set, VALUES, 0),
    OF_SOLVER("set", baseline_set, VALUES, 0),
    {0}};
static const blv_field solver_fields[] = {
    OF_SOLVER("solver", solver, TEXT, BLV_REQUIRED),
    OF_SOLVER("untuned", untuned, BOOL, 0),
    BLV_FIELD_WITH("published", bench_solver_file, published, VALUES,
                   BLV_WHEN(bench_solver_file, is_published)),
    OF_SOLVER("grid", grid, JSON, 0),
    NAMES("tuned", bench_solver_file, tuned, 0),
    OF_SOLVER("grid_set", grid_set, VALUES, 0),
    BLV_FIELD_ARRAY(bench_solver_file, detuned, detuned_count, REALS),
    BLV_FIELD_PART("sweep", bench_solver_file, sweep_fields, has_sweep),
    OF_SOLVER("set", set, VALUES, 0),
    BLV_FIELD_PART("baseline", bench_solver_file, baseline_fields, has_baseline),
    {0}};
static const blv_field claim_fields[] = {
    NEEDED(bench_claim, text, TEXT),
    NAMES("who", bench_claim, who, BLV_REQUIRED),
    NAMES("of", bench_claim, of, 0),
    BLV_FIELD_WITH("by", bench_claim, by, WORD, .flags = BLV_REQUIRED, .words = basis_words),
    BLV_FIELD(bench_claim, factor, REAL),
    BLV_FIELD_WITH("bounds", bench_claim, bounds, VALUES, BLV_WHEN(bench_claim, is_bounded)),
    BLV_FIELD(bench_claim, metric, TEXT),
    BLV_FIELD(bench_claim, level, REAL),
    BLV_FIELD(bench_claim, paper, TEXT),
    BLV_FIELD(bench_claim, published, TEXT),
    BLV_FIELD(bench_claim, tried, TEXT),
    {0}};
static const blv_field source_fields[] = {NEEDED(bench_source, paper, TEXT),
                                          NEEDED(bench_source, figure, TEXT),
                                          NEEDED(bench_source, claim, TEXT),
                                          {0}};

/* The quick form may replace all fields but the first ones. */
enum { FIRST_QUICK = 5 };
static const blv_field suite_fields[] = {
    NEEDED(bench_suite, name, TEXT),
    NEEDED(bench_suite, title, TEXT),
    BLV_FIELD_WITH("reproduces", bench_suite, reproduces, RECORD, .flags = BLV_REQUIRED,
                   .fields = source_fields),
    BLV_FIELD_RECORDS("claims", bench_suite, claims, claim_count, claim_fields),
    BLV_FIELD_AS("quick", bench_suite, quick_form, JSON, 0),
    BLV_FIELD(bench_suite, problem, TEXT),
    BLV_FIELD(bench_suite, problem_set, VALUES),
    BLV_FIELD_WITH("command", bench_suite, command, WORD, BLV_WHEN(bench_suite, has_command),
                   .words = bench_command_words),
    NAMES("seeded", bench_suite, seeded, 0),
    BLV_FIELD(bench_suite, level, REAL),
    BLV_FIELD(bench_suite, data, VALUES),
    NAMES("data_folders", bench_suite, data_folders, 0),
    BLV_FIELD_WORD("precision", bench_suite, precision, blv_precision_words),
    BLV_FIELD_WORD("start", bench_suite, start, bench_start_words),
    BLV_FIELD(bench_suite, run_set, VALUES),
    BLV_FIELD_RECORDS("variants", bench_suite, variants, variant_count, variant_fields),
    {.name = "limit", .kind = BLV_KIND_RECORD, .fields = limit_fields},
    BLV_FIELD(bench_suite, seeds, WHOLE),
    BLV_FIELD(bench_suite, points, WHOLE),
    BLV_FIELD_WORD("certify", bench_suite, certify, certify_words),
    BLV_FIELD_PART("reference", bench_suite, reference_fields, has_reference),
    BLV_FIELD_PART("tuning", bench_suite, tuning_fields, has_tuning),
    BLV_FIELD(bench_suite, metric, TEXT),
    NAMES("show", bench_suite, show, 0),
    BLV_FIELD_RECORDS("solvers", bench_suite, solvers, solver_count, solver_fields),
    {0}};

blv_error bench_reject(const bench_suite *suite, const char *format, ...) {
    char text[sizeof(blv_message)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return blv_explain(suite->why, BLV_E_FORMAT, "%s: %s", suite->path, text);
}

/* ---- Limits ---- */

/* One of the three is set, and only one. */
static blv_error take_limit(const bench_suite *suite, const char *where, const double amounts[3],
                            bench_limit *limit) {
    size_t found = 0;
    for (int kind = BENCH_SECONDS; kind <= BENCH_ITERATIONS; kind++) {
        if (isnan(amounts[kind]))
            continue;
        *limit = (bench_limit){(bench_limit_kind)kind, amounts[kind]};
        found++;
    }
    if (found == 1)
        return BLV_OK;
    return bench_reject(suite, "%s: expected one of seconds, calls and iterations, found %zu",
                        where, found);
}

/* What a command does not have: it runs to its end. */
static blv_error expect_no_limits(const bench_suite *suite) {
    static const char *const none[] = {"limit", "reference", "points", "certify", "start"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (json_object_get(suite->root, none[i]))
            return bench_reject(suite, "'%s': the command %s has none", none[i],
                                bench_command_words[suite->command]);
    return BLV_OK;
}

static blv_error take_limits(bench_suite *suite) {
    if (suite->has_command)
        return expect_no_limits(suite);
    BLV_CHECK(take_limit(suite, "limit", suite->limits, &suite->limit));
    suite->tuning = suite->limit;
    if (suite->has_tuning)
        BLV_CHECK(take_limit(suite, "tuning", suite->tuning_limits, &suite->tuning));
    if (suite->has_reference)
        BLV_CHECK(take_limit(suite, "reference", suite->reference_limits, &suite->reference));
    return BLV_OK;
}

/* ---- Variants and claims ---- */

/* A suite without variants is one that has no name. Sets become complete. */
static blv_error complete_variants(bench_suite *suite) {
    if (suite->variant_count == 0) {
        bench_variant *only = blv_array_add(&suite->variants, &suite->variant_count, sizeof *only);
        if (!only || !(only->name = strdup("")))
            return BLV_E_MEMORY;
    }
    for (size_t i = 0; i < suite->variant_count; i++) {
        bench_variant *variant = &suite->variants[i];
        BLV_CHECK(blv_values_complete(&variant->problem_set, &suite->problem_set));
        BLV_CHECK(blv_values_complete(&variant->data, &suite->data));
    }
    return BLV_OK;
}

static bool has_variant(const bench_suite *suite, const char *name) {
    for (size_t i = 0; i < suite->variant_count; i++)
        if (strcmp(suite->variants[i].name, name) == 0)
            return true;
    return false;
}

bool bench_is_listed(const bench_names *names, const char *name) {
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

/* A claim compares with others, or with a bound for each of some variants. The quick form may have
 * other variants: it is the whole suite that is held to this. */
static blv_error expect_claim(const bench_suite *suite, size_t i) {
    const bench_claim *claim = &suite->claims[i];
    if ((claim->of.count > 0) == claim->is_bounded)
        return bench_reject(suite, "claims[%zu]: expected one of 'of' and 'bounds'", i);
    if (claim->metric && !suite->quick && !bench_is_listed(&suite->show, claim->metric))
        return bench_reject(suite, "claims[%zu].metric: '%s' is not in 'show'", i, claim->metric);
    for (size_t k = 0; k < claim->bounds.count; k++) {
        const blv_value *bound = &claim->bounds.items[k];
        if (!suite->quick && !has_variant(suite, bound->name))
            return bench_reject(suite, "claims[%zu].bounds: there is no variant '%s'", i,
                                bound->name);
        if (!(blv_values_number(&claim->bounds, bound->name) > 0.0))
            return bench_reject(suite, "claims[%zu].bounds.%s: expected a number above 0", i,
                                bound->name);
    }
    return BLV_OK;
}

/* ---- The whole ---- */

static blv_error take_place(bench_suite *suite, const char *path) {
    char *copy = blv_arena_copy(&suite->arena, path);
    suite->path = blv_arena_copy(&suite->arena, path);
    suite->folder = copy ? dirname(copy) : NULL;
    return suite->path && suite->folder ? BLV_OK : BLV_E_MEMORY;
}

/* The quick form is checked in any case. */
static blv_error read_fields(bench_suite *suite) {
    json_t *quick = json_object_get(suite->root, "quick");
    BLV_CHECK(blv_record_read_file(suite_fields, suite, suite->root, suite->path, "", suite->why));
    if (!quick)
        return BLV_OK;
    bench_suite form;
    const blv_field *table = suite_fields + FIRST_QUICK;
    BLV_CHECK(blv_record_read_file(table, &form, quick, suite->path, "quick", suite->why));
    blv_record_free(table, &form);
    if (!suite->quick)
        return BLV_OK;
    blv_record_free(suite_fields, suite);
    if (json_object_update(suite->root, quick) != 0)
        return BLV_E_MEMORY;
    return blv_record_read(suite_fields, suite, suite->root, suite->why);
}

static blv_error set_defaults(bench_suite *suite) {
    suite->seeds = suite->seeds ? suite->seeds : 5;
    suite->points = suite->points ? suite->points : 24;
    suite->most_settings = suite->most_settings ? suite->most_settings : SIZE_MAX;
    if (!suite->metric)
        suite->metric = strdup("phi");
    if (suite->metric && !suite->choose)
        suite->choose = strdup(suite->has_command ? "val_accuracy" : suite->metric);
    return suite->choose ? BLV_OK : BLV_E_MEMORY;
}

static blv_error expect_problem(const bench_suite *suite) {
    if (suite->problem && suite->has_command)
        return bench_reject(suite, "expected a problem or a command, found both");
    if (suite->problem || suite->has_command)
        return BLV_OK;
    return bench_reject(suite, "'problem' is missing");
}

static blv_error read_suite(bench_suite *suite, const char *path) {
    BLV_CHECK(take_place(suite, path));
    BLV_CHECK(bench_json_load(path, &suite->root, suite->why));
    BLV_CHECK(read_fields(suite));
    BLV_CHECK(set_defaults(suite));
    BLV_CHECK(expect_problem(suite));
    BLV_CHECK(take_limits(suite));
    BLV_CHECK(bench_suite_add_entries(suite));
    BLV_CHECK(complete_variants(suite));
    for (size_t i = 0; i < suite->claim_count; i++)
        BLV_CHECK(expect_claim(suite, i));
    return BLV_OK;
}

blv_error bench_suite_read(bench_suite *suite, const char *path, bool quick, blv_message *why) {
    *suite = (bench_suite){.quick = quick, .why = why};
    blv_error error = read_suite(suite, path);
    if (error != BLV_OK)
        bench_suite_free(suite);
    return error;
}

void bench_suite_free(bench_suite *suite) {
    bench_suite_free_entries(suite);
    for (size_t i = 0; i < suite->variant_count; i++) {
        blv_values_free(&suite->variants[i].files);
        blv_values_free(&suite->variants[i].hashes);
    }
    blv_record_free(suite_fields, suite);
    json_decref(suite->root);
    json_decref(suite->grids);
    blv_arena_free(&suite->arena);
    *suite = (bench_suite){0};
}
