#include "cli_bench.h"
#include "cli_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const cli_job_words[] = {
    [CLI_JOB_REFERENCE] = "reference", [CLI_JOB_TUNING] = "tuning", [CLI_JOB_RUN] = "run"};

/* ---- Keys ---- */

static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t size) {
    const unsigned char *b = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static const uint64_t empty_hash = UINT64_C(0xcbf29ce484222325);

/* Data are told by what is in the files: they may be moved. */
static json_t *hash_of_file(const char *path) {
    char text[20], piece[65536];
    uint64_t hash = empty_hash;
    size_t count;
    FILE *file = path ? fopen(path, "rb") : NULL;
    while (file && (count = fread(piece, 1, sizeof piece, file)) > 0)
        hash = mix_bytes(hash, piece, count);
    if (path && (!file || ferror(file))) {
        cli_complain("%s: cannot be read: %s", path, strerror(errno));
        exit(CLI_REFUSED);
    }
    if (file)
        fclose(file);
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    return cli_json_text(text);
}

char *cli_bench_data(const cli_bench *bench, const char *name) {
    return cli_suite_data(&bench->suite, bench->asked->data, name);
}

static json_t *hashes_of(const cli_bench *bench, const cli_variant *variant) {
    json_t *hashes = cli_json_object(), *name;
    const char *key;
    json_object_foreach(variant->data, key, name) {
        char *path = cli_bench_data(bench, json_string_value(name));
        cli_json_set(hashes, key, hash_of_file(path));
        free(path);
    }
    return hashes;
}

/* All that defines the run. */
static void make_key(const cli_bench *bench, cli_job *job, json_t *hashes) {
    const cli_suite *suite = &bench->suite;
    json_t *what = cli_json_object();
    cli_json_set(what, "version", cli_json_text(blv_version()));
    cli_json_set(what, "problem", cli_json_text(suite->problem ? suite->problem : suite->command));
    cli_json_set(what, "problem_set", json_incref(job->problem_set));
    cli_json_set(what, "data", json_incref(hashes));
    cli_json_set(what, "precision", cli_json_text(cli_precision_word(suite->precision)));
    cli_json_set(what, "threads", cli_json_whole((uint64_t)bench->asked->threads));
    cli_json_set(what, "start", cli_json_text(suite->start));
    cli_json_set(what, "kind", cli_json_text(cli_job_words[job->kind]));
    cli_json_set(what, "solver", cli_json_text(job->solver));
    cli_json_set(what, "set", json_incref(job->set));
    cli_json_set(what, "seed", cli_json_whole(job->seed));
    cli_json_set(what, "limit", cli_json_text(cli_limit_words[job->limit.kind]));
    cli_json_set(what, "amount", cli_json_real(job->limit.amount));
    cli_json_set(what, "points", cli_json_whole(job->points));
    cli_json_set(what, "certify", cli_json_whole((uint64_t)job->certify));
    char *text = json_dumps(what, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    snprintf(job->key, sizeof job->key, "%016" PRIx64, mix_bytes(empty_hash, text, strlen(text)));
    free(text);
    json_decref(what);
}

/* ---- Jobs ---- */

static void put_all(json_t *set, json_t *own) {
    if (own && json_object_update(set, own) != 0)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
}

/* The suite's settings for every run, and the entry's own, which win. */
static json_t *complete_set(const cli_suite *suite, json_t *own) {
    json_t *set = cli_json_object();
    put_all(set, suite->run_set);
    put_all(set, own);
    return set;
}

/* The variant's, a baseline's own, and the seed where the suite wants it there too. */
static json_t *complete_problem_set(const cli_suite *suite, const cli_job *job) {
    json_t *set = cli_json_object(), *key;
    size_t i;
    put_all(set, suite->variants[job->variant].problem_set);
    if (job->entry != SIZE_MAX)
        put_all(set, suite->entries[job->entry].problem_set);
    json_array_foreach(suite->seeded, i, key) {
        cli_json_set(set, json_string_value(key), cli_json_whole(job->seed));
    }
    return set;
}

/* Takes over the set. */
static void add_job(cli_bench *bench, cli_job job, json_t *hashes) {
    job.problem_set = complete_problem_set(&bench->suite, &job);
    make_key(bench, &job, hashes);
    bench->jobs = cli_grow(bench->jobs, bench->job_count + 1, sizeof *bench->jobs);
    bench->jobs[bench->job_count++] = job;
}

static void add_reference(cli_bench *bench, size_t variant, json_t *hashes) {
    const cli_suite *suite = &bench->suite;
    json_t *set = cli_json_object();
    put_all(set, suite->reference_set);
    add_job(bench,
            (cli_job){.kind = CLI_JOB_REFERENCE,
                      .variant = variant,
                      .entry = SIZE_MAX,
                      .solver = "exact",
                      .set = set,
                      .limit = suite->reference,
                      .points = 1,
                      .certify = CLI_CERTIFY_END},
            hashes);
}

static bool is_certified(const char *what) {
    return strcmp(what, "phi") == 0 || strcmp(what, "grad_norm") == 0;
}

static void add_tuning(cli_bench *bench, size_t variant, size_t entry, json_t *hashes) {
    const cli_suite *suite = &bench->suite;
    size_t count = cli_suite_grid_size(suite, &suite->entries[entry]);
    for (size_t i = 0; i < count; i++) {
        json_t *own = cli_suite_grid_at(&suite->entries[entry], i);
        add_job(
            bench,
            (cli_job){.kind = CLI_JOB_TUNING,
                      .variant = variant,
                      .entry = entry,
                      .setting = i,
                      .solver = suite->entries[entry].solver,
                      .set = complete_set(suite, own),
                      .limit = suite->tuning,
                      .points = 1,
                      .certify = is_certified(suite->choose) ? CLI_CERTIFY_END : CLI_CERTIFY_NEVER},
            hashes);
        json_decref(own);
    }
}

static void add_runs(cli_bench *bench, size_t variant, size_t entry, json_t *own, json_t *hashes) {
    const cli_suite *suite = &bench->suite;
    for (uint64_t seed = 0; seed < suite->seeds; seed++)
        add_job(bench,
                (cli_job){.kind = CLI_JOB_RUN,
                          .variant = variant,
                          .entry = entry,
                          .seed = seed,
                          .solver = suite->entries[entry].solver,
                          .set = complete_set(suite, own),
                          .limit = suite->limit,
                          .points = suite->points,
                          .certify = suite->certify},
                hashes);
}

void cli_bench_plan(cli_bench *bench) {
    const cli_suite *suite = &bench->suite;
    for (size_t v = 0; v < suite->variant_count; v++) {
        json_t *hashes = hashes_of(bench, &suite->variants[v]);
        if (suite->has_reference)
            add_reference(bench, v, hashes);
        for (size_t e = 0; e < suite->entry_count; e++) {
            if (suite->entries[e].grid)
                add_tuning(bench, v, e, hashes);
            else
                add_runs(bench, v, e, suite->entries[e].set, hashes);
        }
        json_decref(hashes);
    }
}

/* ---- Tuned settings ---- */

/* The least (or largest) end of those that came to one; the first of several. */
const cli_job *cli_bench_chosen(const cli_bench *bench, size_t variant, size_t entry) {
    const char *what = bench->suite.choose;
    const cli_job *best = NULL;
    double best_value = NAN;
    for (size_t i = 0; i < bench->job_count; i++) {
        const cli_job *job = &bench->jobs[i];
        if (job->kind != CLI_JOB_TUNING || job->variant != variant || job->entry != entry)
            continue;
        double value = cli_record_end_value(cli_bench_record(bench, job), what);
        bool better = cli_more_is_better(what) ? value > best_value : value < best_value;
        if (isnan(value) || (best && !better))
            continue;
        best = job;
        best_value = value;
    }
    return best;
}

void cli_bench_plan_tuned(cli_bench *bench) {
    const cli_suite *suite = &bench->suite;
    for (size_t v = 0; v < suite->variant_count; v++) {
        json_t *hashes = hashes_of(bench, &suite->variants[v]);
        for (size_t e = 0; e < suite->entry_count; e++) {
            const cli_job *chosen = suite->entries[e].grid ? cli_bench_chosen(bench, v, e) : NULL;
            json_t *set = chosen ? json_incref(chosen->set) : NULL; /* jobs move as they grow */
            if (set)
                add_runs(bench, v, e, set, hashes);
            json_decref(set);
        }
        json_decref(hashes);
    }
}

void cli_bench_free(cli_bench *bench) {
    for (size_t i = 0; i < bench->job_count; i++) {
        json_decref(bench->jobs[i].set);
        json_decref(bench->jobs[i].problem_set);
    }
    free(bench->jobs);
    free(bench->points_path);
    json_decref(bench->records);
    cli_suite_free(&bench->suite);
}
