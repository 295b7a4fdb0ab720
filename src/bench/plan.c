/* Which runs a suite asks for. */
#include "bench/bench.h"

#include "base/hash.h"
#include "store/run_info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const bench_job_words[] = {[BENCH_REFERENCE] = "reference",
                                       [BENCH_TUNING] = "tuning",
                                       [BENCH_FINAL] = "final",
                                       [BENCH_RUN] = "run",
                                       NULL};

/* ---- Keys ---- */

/* A hash of everything that defines the run. */
static blv_error make_key(const bench *b, bench_job *job) {
    const bench_suite *suite = &b->suite;
    json_t *what =
        json_pack("{s:s, s:s, s:o, s:o, s:s, s:i, s:s, s:s, s:s, s:o, s:I, s:s, s:f, s:I, s:i}",
                  "version", blv_version(), "problem",
                  suite->problem ? suite->problem : bench_command_words[suite->command],
                  "problem_set", blv_values_json(&job->problem_set), "data",
                  blv_values_json(&suite->variants[job->variant].hashes), "precision",
                  blv_precision_words[suite->precision], "threads", b->request->threads, "start",
                  bench_start_words[suite->start], "kind", bench_job_words[job->kind], "solver",
                  job->solver, "set", blv_values_json(&job->set), "seed", (json_int_t)job->seed,
                  "limit", bench_limit_words[job->limit.kind], "amount", job->limit.amount,
                  "points", (json_int_t)job->points, "certify", (int)job->certify);
    char *text = blv_json_text(what, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text)
        return BLV_E_MEMORY;
    snprintf(job->key, sizeof job->key, "%016" PRIx64,
             blv_hash_bytes(BLV_HASH_EMPTY, text, strlen(text)));
    free(text);
    return BLV_OK;
}

/* ---- Jobs ---- */

/* The variant's settings, a baseline's own, and the seed where the suite wants it there too. */
static blv_error complete_problem_set(const bench_suite *suite, bench_job *job) {
    BLV_CHECK(blv_values_update(&job->problem_set, &suite->variants[job->variant].problem_set));
    if (job->entry != SIZE_MAX)
        BLV_CHECK(blv_values_update(&job->problem_set, &suite->entries[job->entry].problem_set));
    const blv_value seed = {.kind = BLV_VALUE_INT, .whole = (int64_t)job->seed};
    for (size_t i = 0; i < suite->seeded.count; i++)
        BLV_CHECK(blv_values_set(&job->problem_set, suite->seeded.items[i], &seed));
    return BLV_OK;
}

static bool is_certified(const char *what) {
    return strcmp(what, "phi") == 0 || strcmp(what, "grad_norm") == 0;
}

/* own: settings of the job, which win over those that the suite has for every run. */
static blv_error fill_job(const bench *b, bench_job *job, const blv_values *own) {
    const bench_suite *suite = &b->suite;
    const bool is_run = job->kind == BENCH_RUN, is_reference = job->kind == BENCH_REFERENCE;
    const bool is_final = job->kind == BENCH_FINAL;
    const char *by = is_final ? bench_judged_by(suite) : suite->choose;
    job->solver = is_reference ? "exact" : suite->entries[job->entry].solver;
    job->limit = is_run || is_final ? suite->limit
                 : is_reference     ? suite->reference
                                    : suite->tuning;
    job->points = is_run ? suite->points : 1;
    job->certify = is_run                             ? suite->certify
                   : is_reference || is_certified(by) ? BENCH_CERTIFY_END
                                                      : BENCH_CERTIFY_NEVER;
    if (!is_reference)
        BLV_CHECK(blv_values_update(&job->set, &suite->run_set));
    BLV_CHECK(blv_values_update(&job->set, own));
    BLV_CHECK(complete_problem_set(suite, job));
    return make_key(b, job);
}

blv_error bench_add_job(bench *b, bench_job job, const blv_values *own) {
    bench_job *added = blv_array_add(&b->jobs, &b->job_count, sizeof *added);
    if (!added)
        return BLV_E_MEMORY;
    *added = job;
    return fill_job(b, added, own);
}

static blv_error add_runs(bench *b, bench_job job, const blv_values *own) {
    for (; job.seed < b->suite.seeds; job.seed++)
        BLV_CHECK(bench_add_job(b, job, own));
    return BLV_OK;
}

static blv_error plan_variant(bench *b, size_t v) {
    if (b->suite.has_reference)
        BLV_CHECK(
            bench_add_job(b, (bench_job){.kind = BENCH_REFERENCE, .variant = v, .entry = SIZE_MAX},
                          &b->suite.reference_set));
    for (size_t e = 0; e < b->suite.entry_count; e++) {
        const bench_entry *entry = &b->suite.entries[e];
        bench_job job = {.kind = BENCH_RUN, .variant = v, .entry = e};
        BLV_CHECK(bench_is_tuned(entry) ? bench_plan_tuning(b, v, e)
                                        : add_runs(b, job, &entry->set));
    }
    return BLV_OK;
}

/* ---- Tuned settings ---- */

static blv_error plan_tuned_variant(bench *b, size_t v) {
    for (size_t e = 0; e < b->suite.entry_count; e++) {
        blv_values set;
        if (!bench_is_tuned(&b->suite.entries[e]))
            continue;
        blv_error error = bench_tuned_set(b, v, e, &set);
        if (error == BLV_OK)
            error = add_runs(b, (bench_job){.kind = BENCH_RUN, .variant = v, .entry = e}, &set);
        blv_values_free(&set);
        if (error != BLV_E_NAME)
            BLV_CHECK(error);
    }
    return BLV_OK;
}

blv_error bench_plan(bench *b, bool tuned) {
    for (size_t v = 0; v < b->suite.variant_count; v++)
        BLV_CHECK(tuned ? plan_tuned_variant(b, v) : plan_variant(b, v));
    return BLV_OK;
}
