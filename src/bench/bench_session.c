/* A benchmark from its request to its records. */
#define _DEFAULT_SOURCE /* strsep */
#include "bench/bench.h"

#include "base/hash.h"
#include "bilevel/registry.h"
#include "bilevel/select.h"
#include "bilevel/solver.h"
#include "store/run_info.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const bench_job_words[] = {[BENCH_REFERENCE] = "reference",
                                       [BENCH_TUNING] = "tuning",
                                       [BENCH_FINAL] = "final",
                                       [BENCH_RUN] = "run",
                                       NULL};

/* ---- Which solvers ---- */

/* The i-th solver or method that there is; NULL after the last. */
static const char *name_at(const bench_suite *suite, size_t i) {
    if (suite->has_command) {
        const blv_selection_method *method = blv_selection_method_at(i);
        return method ? method->name : NULL;
    }
    const blv_solver *solver = blv_solver_at(NULL, i);
    return solver ? solver->name : NULL;
}

/* "all", or NAME,NAME,...; text is cut into words. */
static blv_error select_solvers(bench_suite *suite, char *text) {
    enum { MOST = 256 };
    const char *names[MOST];
    size_t count = 0;
    if (strcmp(text, "all") == 0)
        while (count < MOST && (names[count] = name_at(suite, count)))
            count++;
    else
        for (char *word; count < MOST && (word = strsep(&text, ",")); count++)
            if (!(names[count] = bench_suite_solver(suite, word, suite->why)))
                return BLV_E_NAME;
    return bench_suite_select(suite, names, count);
}

static blv_error apply_request(bench_suite *suite, const bench_request *request) {
    if (request->seeds)
        suite->seeds = request->seeds;
    if (request->has_limit && suite->has_command)
        return blv_explain(suite->why, BLV_E_ARGUMENT, "suite %s runs %s, which has no limit",
                           suite->name, bench_command_words[suite->command]);
    if (request->has_limit)
        suite->limit = request->limit;
    if (strcmp(request->grid, "default") != 0)
        BLV_CHECK(
            bench_suite_replace_grids(suite, strcmp(request->grid, "none") ? request->grid : NULL));
    if (strcmp(request->solvers, "papers") != 0) {
        char *text = strdup(request->solvers);
        blv_error error = text ? select_solvers(suite, text) : BLV_E_MEMORY;
        free(text);
        BLV_CHECK(error);
    }
    return bench_suite_check_choice(suite);
}

/* ---- Data ---- */

static blv_error hash_file(const char *path, uint64_t *hash, blv_message *why) {
    char piece[65536];
    size_t count;
    *hash = BLV_HASH_EMPTY;
    FILE *file = fopen(path, "rb");
    while (file && (count = fread(piece, 1, sizeof piece, file)) > 0)
        *hash = blv_hash_bytes(*hash, piece, count);
    bool well = file && !ferror(file);
    if (!well)
        blv_explain(why, BLV_E_FILE, "%s: cannot be read: %s", path, strerror(errno));
    if (file)
        fclose(file);
    return well ? BLV_OK : BLV_E_FILE;
}

/* Data are recognized by the content of the files: they may be moved. */
static blv_error find_file(bench *b, bench_variant *variant, const blv_value *file) {
    char *path = NULL, text[BENCH_KEY_SIZE];
    uint64_t hash = 0;
    BLV_CHECK(
        bench_suite_data(&b->suite, b->request->data_folders, file->text ? file->text : "", &path));
    BLV_CHECK(hash_file(path, &hash, b->suite.why));
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    BLV_CHECK(blv_values_add_text(&variant->hashes, file->name, text));
    return blv_values_add_text(&variant->files, file->name, path);
}

static blv_error find_files(bench *b) {
    for (size_t v = 0; v < b->suite.variant_count; v++)
        for (size_t i = 0; i < b->suite.variants[v].data.count; i++)
            BLV_CHECK(find_file(b, &b->suite.variants[v], &b->suite.variants[v].data.items[i]));
    return BLV_OK;
}

/* ---- Which runs: jobs, each with a key ---- */

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

/* tuned: the runs of tuned entries, once tuning is done; else all others. */
static blv_error plan(bench *b, bool tuned) {
    for (size_t v = 0; v < b->suite.variant_count; v++)
        BLV_CHECK(tuned ? plan_tuned_variant(b, v) : plan_variant(b, v));
    return BLV_OK;
}

/* ---- Opening and closing ---- */

static blv_error make_folder(bench *b) {
    struct stat status;
    const char *out = b->request->out;
    blv_arena *arena = &b->suite.arena;
    b->folder =
        out ? blv_arena_copy(arena, out) : blv_arena_print(arena, "bench-%s", b->suite.name);
    b->points_path = b->folder ? blv_arena_print(arena, "%s/points.jsonl", b->folder) : NULL;
    if (!b->points_path)
        return BLV_E_MEMORY;
    if (mkdir(b->folder, 0777) == 0 ||
        (errno == EEXIST && stat(b->folder, &status) == 0 && S_ISDIR(status.st_mode)))
        return BLV_OK;
    return blv_explain(b->suite.why, BLV_E_FILE, "%s: the folder cannot be created: %s", b->folder,
                       strerror(errno));
}

/* The command without the names of files and folders, and the machine. */
static blv_error find_facts(bench *b) {
    const bench_request *request = b->request;
    char seeds[48] = "", limit[64] = "", machine[256], command[512];
    if (request->seeds)
        snprintf(seeds, sizeof seeds, " --seeds %" PRIu64, request->seeds);
    if (request->has_limit)
        snprintf(limit, sizeof limit, " --%s %.10g", bench_limit_options[request->limit.kind],
                 request->limit.amount);
    const bool own = strcmp(request->solvers, "papers") == 0;
    snprintf(command, sizeof command, "bilevel bench %s%s%s%s%.200s%s", b->suite.name,
             request->quick ? " --quick" : "", seeds, limit, own ? "" : " --solvers ",
             own ? "" : request->solvers);
    bench_machine_text(machine, sizeof machine);
    b->facts = (bench_facts){.suite = strdup(b->suite.name),
                             .command = strdup(command),
                             .version = strdup(blv_version()),
                             .machine = strdup(machine),
                             .threads = request->threads,
                             .quick = request->quick,
                             .seeds = b->suite.seeds,
                             .limit = b->suite.limit};
    return b->facts.suite && b->facts.command && b->facts.version && b->facts.machine
               ? BLV_OK
               : BLV_E_MEMORY;
}

blv_error bench_open(bench *b, const bench_request *request, blv_message *why) {
    *b = (bench){.request = request};
    if (request->from) {
        BLV_CHECK(bench_open_stored(b, why));
        return make_folder(b);
    }
    BLV_CHECK(bench_suite_read(&b->suite, request->suite, request->quick, why));
    BLV_CHECK(apply_request(&b->suite, request));
    BLV_CHECK(find_facts(b));
    BLV_CHECK(find_files(b));
    BLV_CHECK(b->suite.has_command ? bench_check_choices(b) : bench_check_problems(b));
    BLV_CHECK(plan(b, false));
    BLV_CHECK(bench_check_jobs(b));
    BLV_CHECK(make_folder(b));
    return bench_load_records(b);
}

blv_error bench_run_all(bench *b, blv_message *why) {
    b->suite.why = why;
    if (b->request->from)
        return BLV_OK;
    BLV_CHECK(bench_execute(b));
    for (bool more = true; more;) {
        BLV_CHECK(bench_plan_more_tuning(b, &more));
        BLV_CHECK(bench_load_records(b));
        BLV_CHECK(bench_execute(b));
    }
    BLV_CHECK(bench_plan_final(b));
    BLV_CHECK(bench_load_records(b));
    BLV_CHECK(bench_execute(b));
    BLV_CHECK(plan(b, true));
    BLV_CHECK(bench_load_records(b));
    return bench_execute(b);
}

const char *bench_job_entry(const bench *b, const bench_job *job) {
    return job->entry == SIZE_MAX ? job->solver : b->suite.entries[job->entry].id;
}

void bench_close(bench *b) {
    bench_forget_records(b);
    for (size_t i = 0; i < b->job_count; i++) {
        blv_values_free(&b->jobs[i].set);
        blv_values_free(&b->jobs[i].problem_set);
    }
    free(b->jobs);
    bench_facts_free(&b->facts);
    bench_suite_free(&b->suite);
}
