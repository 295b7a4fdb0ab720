/* Stored points: all that tables, figures and verdicts are made from, in a file that is small
 * enough to be kept with the sources. Its first line has facts about the runs and the names of the
 * columns, each other line a run, with rounded numbers: Phi is stored as its distance to Phi*. Of
 * tuning there is one line for each entry, with the settings that were chosen and what all of it
 * has cost. */
#include "bench/results.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 7, MOST_COLUMNS = 5 + BENCH_SHOWN_MAX };

static const blv_field least_fields[] = {BLV_FIELD(bench_least, variant, TEXT),
                                         BLV_FIELD(bench_least, phi, REAL),
                                         BLV_FIELD(bench_least, from, TEXT),
                                         {0}};
static const blv_field facts_fields[] = {
    BLV_FIELD_AS("suite", bench_facts, suite, TEXT, BLV_REQUIRED),
    BLV_FIELD_AS("command", bench_facts, command, TEXT, BLV_REQUIRED),
    BLV_FIELD_AS("version", bench_facts, version, TEXT, BLV_REQUIRED),
    BLV_FIELD_AS("machine", bench_facts, machine, TEXT, BLV_REQUIRED),
    BLV_FIELD(bench_facts, threads, INT),
    BLV_FIELD(bench_facts, quick, BOOL),
    BLV_FIELD(bench_facts, seeds, WHOLE),
    BLV_FIELD_WORD("limit", bench_facts, limit.kind, bench_limit_words),
    BLV_FIELD_AS("amount", bench_facts, limit.amount, REAL, 0),
    BLV_FIELD_RECORDS("least", bench_facts, least, least_count, least_fields),
    BLV_FIELD_WITH("columns", bench_facts, columns.items, TEXTS,
                   .count = offsetof(bench_facts, columns.count)),
    {0}};

void bench_facts_free(bench_facts *facts) {
    blv_record_free(facts_fields, facts);
}

/* ---- Writing ---- */

static size_t find_columns(const bench_suite *suite, const char *names[MOST_COLUMNS]) {
    static const char *const own[] = {"iteration", "seconds", "calls", "phi"};
    size_t count = 0;
    for (; count < sizeof own / sizeof own[0]; count++)
        names[count] = own[count];
    for (size_t i = 0; i <= suite->show.count && i <= BENCH_SHOWN_MAX; i++) {
        const char *name = i == 0 ? suite->metric : suite->show.items[i - 1];
        bool is_new = true;
        for (size_t k = 0; k < count; k++)
            is_new = is_new && strcmp(names[k], name) != 0;
        if (is_new)
            names[count++] = name;
    }
    return count;
}

static json_t *points_json(const bench_view *view, const bench_record *record,
                           const char *const *names, size_t count) {
    json_t *rows = json_array();
    bool well = rows != NULL;
    for (size_t k = 0; k < record->point_count && well; k++) {
        json_t *row = json_array();
        well = json_array_append_new(rows, row) == 0;
        for (size_t c = 0; c < count && well; c++) {
            double value = blv_values_number(&record->points[k], names[c]);
            if (strcmp(names[c], "phi") == 0)
                value -= view->least_phi;
            well = json_array_append_new(row, value == floor(value) && fabs(value) < 1e15
                                                  ? json_integer((json_int_t)value)
                                                  : blv_json_real(value)) == 0;
        }
    }
    if (!well)
        json_decref(rows);
    return well ? rows : NULL;
}

static blv_error put_json_line(json_t *line, size_t digits, FILE *out) {
    char *text = blv_json_text(line, JSON_COMPACT | JSON_REAL_PRECISION(digits));
    if (!text)
        return BLV_E_MEMORY;
    fprintf(out, "%s\n", text);
    free(text);
    return BLV_OK;
}

static blv_error put_run(const bench_results *results, const bench_job *job,
                         const char *const *names, size_t count, FILE *out) {
    const bench_view *view = &results->views[job->variant];
    const bench_record *record = job->record;
    json_t *line =
        json_pack("{s:s, s:s, s:s, s:I, s:o}", "kind", bench_job_words[BENCH_RUN], "variant",
                  view->name, "entry", bench_job_entry(results->bench, job), "seed",
                  (json_int_t)job->seed, "processor_share", blv_json_real(record->processor_share));
    if (json_object_set_new(line, "failed", json_boolean(record->failed)) != 0 ||
        (record->rejected &&
         json_object_set_new(line, "refused", blv_json_string(record->rejected)) != 0) ||
        json_object_set_new(line, "rows", points_json(view, record, names, count)) != 0) {
        json_decref(line);
        return BLV_E_MEMORY;
    }
    return put_json_line(line, DIGITS, out);
}

static blv_error put_choice(const bench_cell *cell, FILE *out) {
    if (!cell->is_chosen)
        return BLV_OK;
    return put_json_line(json_pack("{s:s, s:s, s:s, s:I, s:I, s:o, s:[[n, f, f]]}", "kind",
                                   bench_job_words[BENCH_TUNING], "variant", cell->variant, "entry",
                                   cell->id, "tried", (json_int_t)cell->tried, "finals",
                                   (json_int_t)cell->finals, "set", blv_values_json(&cell->chosen),
                                   "rows", cell->grid_seconds, cell->grid_calls),
                         DIGITS, out);
}

static blv_error put_facts(const bench_results *results, const char **names, size_t count,
                           FILE *out) {
    bench_facts facts = results->bench->facts;
    bench_least *least = calloc(results->view_count, sizeof *least);
    if (!least)
        return BLV_E_MEMORY;
    for (size_t v = 0; v < results->view_count; v++) {
        bench_view *view = &results->views[v];
        least[v] = (bench_least){(char *)(uintptr_t)view->name, view->least_phi, view->least_from};
    }
    facts.least = least;
    facts.least_count = results->view_count;
    facts.columns = (bench_names){count, (char **)(uintptr_t)names};
    blv_error error = put_json_line(blv_record_json(facts_fields, &facts), 17, out);
    free(least);
    return error;
}

blv_error bench_put_stored(const bench_results *results, FILE *out) {
    const bench *b = results->bench;
    const char *names[MOST_COLUMNS];
    const size_t count = find_columns(&b->suite, names);
    BLV_CHECK(put_facts(results, names, count, out));
    for (size_t i = 0; i < results->cell_count; i++)
        BLV_CHECK(put_choice(&results->cells[i], out));
    for (size_t i = 0; i < b->job_count; i++)
        if (b->jobs[i].record && b->jobs[i].kind == BENCH_RUN)
            BLV_CHECK(put_run(results, &b->jobs[i], names, count, out));
    return BLV_OK;
}

/* ---- Reading ---- */

const bench_least *bench_find_least(const bench *b, const char *variant) {
    for (size_t i = 0; i < b->facts.least_count; i++)
        if (strcmp(b->facts.least[i].variant, variant) == 0)
            return &b->facts.least[i];
    return NULL;
}

/* Rows of numbers become points with names, and distances to Phi* become Phi. */
static blv_error take_points(const bench *b, const json_t *rows, bench_record *record) {
    const bench_least *least = bench_find_least(b, record->variant);
    json_t *row;
    size_t i;
    json_array_foreach(rows, i, row) {
        blv_values *point =
            blv_array_add(&record->points, &record->point_count, sizeof *record->points);
        if (!point)
            return BLV_E_MEMORY;
        for (size_t c = 0; c < b->facts.columns.count; c++) {
            const char *name = b->facts.columns.items[c];
            const json_t *value = json_array_get(row, c);
            double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
            if (least && strcmp(name, "phi") == 0)
                number += least->phi;
            BLV_CHECK(blv_values_add_real(point, name, number));
        }
        if (record->kind == BENCH_TUNING) /* it is the setting that was chosen */
            BLV_CHECK(blv_values_add_real(point, b->suite.choose, 0.0));
    }
    return BLV_OK;
}

static blv_error add_stored_job(bench *b, const bench_record *record) {
    const bench_suite *suite = &b->suite;
    bench_job job = {.kind = record->kind, .seed = record->seed, .record = record};
    while (job.variant < suite->variant_count &&
           strcmp(suite->variants[job.variant].name, record->variant) != 0)
        job.variant++;
    while (job.entry < suite->entry_count && strcmp(suite->entries[job.entry].id, record->entry))
        job.entry++;
    if (job.variant == suite->variant_count || job.entry == suite->entry_count)
        return BLV_OK; /* the suite has it no more */
    job.solver = suite->entries[job.entry].solver;
    bench_job *added = blv_array_add(&b->jobs, &b->job_count, sizeof *added);
    if (!added)
        return BLV_E_MEMORY;
    *added = job;
    return blv_values_copy(&added->set, &record->set);
}

static blv_error take_run(bench *b, json_t *line, blv_message *why) {
    bench_record *added = blv_array_add(&b->records, &b->record_count, sizeof *added);
    if (!added || json_object_set_new(line, "key", json_string("")) != 0)
        return BLV_E_MEMORY;
    BLV_CHECK(blv_record_read(bench_record_fields, added, line, why));
    return added->variant && added->entry
               ? take_points(b, json_object_get(line, "rows"), added)
               : blv_explain(why, BLV_E_FORMAT, "expected a variant and an entry");
}

/* The first line has the facts, and says how the suite is to be read. */
static blv_error take_facts(bench *b, const json_t *line, blv_message *why) {
    BLV_CHECK(blv_record_read(facts_fields, &b->facts, line, why));
    BLV_CHECK(bench_suite_read(&b->suite, b->request->suite, b->facts.quick, why));
    if (strcmp(b->facts.suite, b->suite.name) != 0)
        return blv_explain(why, BLV_E_ARGUMENT, "it has the points of suite %s, not of %s",
                           b->facts.suite, b->suite.name);
    b->suite.seeds = b->facts.seeds;
    if (!b->suite.has_command)
        b->suite.limit = b->facts.limit;
    return BLV_OK;
}

static blv_error take_lines(bench *b, FILE *file, size_t *number, blv_message *why) {
    char *text = NULL;
    size_t room = 0;
    blv_error error = BLV_OK;
    while (error == BLV_OK && getline(&text, &room, file) > 0) {
        json_error_t at;
        json_t *line = json_loads(text, 0, &at);
        ++*number;
        error = !json_is_object(line) ? blv_explain(why, BLV_E_FORMAT, "expected a JSON object")
                : *number == 1        ? take_facts(b, line, why)
                                      : take_run(b, line, why);
        json_decref(line);
    }
    free(text);
    for (size_t i = 0; i < b->record_count && error == BLV_OK; i++)
        error = add_stored_job(b, &b->records[i]);
    return error;
}

blv_error bench_open_stored(bench *b, blv_message *why) {
    const char *path = b->request->from;
    FILE *file = fopen(path, "r");
    blv_message reason = {0};
    size_t number = 0;
    if (!file)
        return blv_explain(why, BLV_E_FILE, "%s: cannot be read: %s", path, strerror(errno));
    blv_error error = take_lines(b, file, &number, &reason);
    if (error == BLV_OK && number == 0)
        error = blv_explain(&reason, BLV_E_FORMAT, "expected a line with facts about the runs");
    fclose(file);
    b->suite.why = why;
    return error == BLV_OK ? BLV_OK
                           : blv_explain(why, error, "%s: line %zu: %.300s", path, number,
                                         *reason.text ? reason.text : blv_error_text(error));
}
