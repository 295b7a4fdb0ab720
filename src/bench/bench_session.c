/* A benchmark from its request to its records. */
#define _DEFAULT_SOURCE /* strsep */
#include "bench/bench.h"

#include "base/hash.h"
#include "bilevel/registry.h"
#include "bilevel/select.h"
#include "bilevel/solver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    BLV_CHECK(bench_plan(b, false));
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
    BLV_CHECK(bench_plan(b, true));
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
