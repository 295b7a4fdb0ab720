/* Finished runs, one JSON object on a line of DIR/points.jsonl. A line is written at once, so that
 * several processes can add to the file. */
#define _GNU_SOURCE /* asprintf */
#include "bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const blv_field bench_record_fields[] = {
    BLV_FIELD_CHARS("key", bench_record, key, BLV_REQUIRED),
    BLV_FIELD_WORD("kind", bench_record, kind, bench_job_words),
    BLV_FIELD(bench_record, variant, TEXT),
    BLV_FIELD(bench_record, entry, TEXT),
    BLV_FIELD(bench_record, solver, TEXT),
    BLV_FIELD(bench_record, setting, SIZE),
    BLV_FIELD(bench_record, seed, WHOLE),
    BLV_FIELD(bench_record, set, VALUES),
    BLV_FIELD(bench_record, used, VALUES),
    BLV_FIELD_ARRAY(bench_record, points, point_count, VALUES_LIST),
    BLV_FIELD(bench_record, processor_share, REAL),
    BLV_FIELD_AS("outcome", bench_record, outcome, TEXT, BLV_OPTIONAL),
    BLV_FIELD(bench_record, failed, BOOL),
    BLV_FIELD_AS("message", bench_record, message, TEXT, BLV_OPTIONAL),
    BLV_FIELD_AS("refused", bench_record, rejected, TEXT, BLV_OPTIONAL),
    BLV_FIELD_AS("run", bench_record, run, INT64, BLV_ZERO_IS_NULL),
    BLV_FIELD_AS("tried", bench_record, tried, SIZE, BLV_ZERO_IS_NULL | BLV_OPTIONAL),
    BLV_FIELD_AS("finals", bench_record, finals, SIZE, BLV_ZERO_IS_NULL | BLV_OPTIONAL),
    {0}};

/* ---- Reading ---- */

static blv_error explain(const bench *b, const char *action, int code) {
    return blv_explain(b->suite.why, BLV_E_FILE, "%s: cannot be %s: %s", b->points_path, action,
                       strerror(code));
}

/* Lines that are none of ours are passed over. */
static blv_error take_line(bench *b, const char *line) {
    bench_record *added = blv_array_add(&b->records, &b->record_count, sizeof *added);
    blv_error error =
        added ? blv_record_parse(bench_record_fields, added, line, NULL) : BLV_E_MEMORY;
    if (added && error != BLV_OK)
        b->record_count--;
    return error == BLV_E_MEMORY ? error : BLV_OK;
}

/* A line that a killed process left without its end is cut off: the next one must begin a line. */
static blv_error read_lines(bench *b, FILE *file) {
    char *line = NULL;
    size_t room = 0;
    long whole = 0;
    ssize_t length;
    blv_error error = BLV_OK;
    bool torn = false;
    while (error == BLV_OK && !torn && (length = getline(&line, &room, file)) > 0) {
        torn = line[length - 1] != '\n';
        if (!torn) {
            error = take_line(b, line);
            whole = ftell(file);
        }
    }
    if (error == BLV_OK && !torn && !feof(file))
        error = explain(b, "read", errno);
    if (torn && truncate(b->points_path, whole) != 0)
        error = explain(b, "written", errno);
    free(line);
    return error;
}

void bench_forget_records(bench *b) {
    for (size_t i = 0; i < b->record_count; i++)
        blv_record_free(bench_record_fields, &b->records[i]);
    free(b->records);
    b->records = NULL;
    b->record_count = 0;
    for (size_t i = 0; i < b->job_count; i++)
        b->jobs[i].record = NULL;
}

blv_error bench_load_records(bench *b) {
    bench_forget_records(b);
    FILE *file = fopen(b->points_path, "r");
    if (!file)
        return errno == ENOENT ? BLV_OK : explain(b, "read", errno);
    blv_error error = read_lines(b, file);
    fclose(file);
    for (size_t i = 0; i < b->job_count; i++)
        for (size_t r = 0; r < b->record_count; r++)
            if (strcmp(b->jobs[i].key, b->records[r].key) == 0)
                b->jobs[i].record = &b->records[r];
    return error;
}

/* ---- Writing ---- */

blv_error bench_keep_record(const bench *b, const bench_record *record) {
    char *text = blv_json_text(blv_record_json(bench_record_fields, record),
                               JSON_COMPACT | JSON_REAL_PRECISION(17));
    char *line = NULL;
    int length = text ? asprintf(&line, "%s\n", text) : -1;
    free(text);
    if (length < 0)
        return BLV_E_MEMORY;
    int file = open(b->points_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    errno = file < 0 ? errno : ENOSPC; /* of a write that was cut short */
    bool well = file >= 0 && write(file, line, (size_t)length) == length;
    int code = errno;
    if (file >= 0 && close(file) != 0 && well) {
        well = false;
        code = errno;
    }
    free(line);
    return well ? BLV_OK : explain(b, "written", code);
}

/* ---- Points ---- */

blv_error bench_record_point(bench_record *record, uint64_t iteration, double seconds,
                             blv_values **point) {
    *point = blv_array_add(&record->points, &record->point_count, sizeof **point);
    if (!*point)
        return BLV_E_MEMORY;
    BLV_CHECK(blv_values_add_int(*point, "iteration", (int64_t)iteration));
    return blv_values_add_real(*point, "seconds", seconds);
}

double bench_record_end(const bench_record *record, const char *name) {
    size_t count = record->point_count;
    return blv_values_number(count > 0 ? &record->points[count - 1] : NULL, name);
}

double bench_clock(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool bench_more_is_better(const char *metric) {
    static const char *const parts[] = {"accuracy", "auroc", "precision", "recall"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(metric, parts[i]))
            return true;
    return false;
}
