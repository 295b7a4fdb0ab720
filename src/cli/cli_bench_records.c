/* Finished runs, one JSON object on a line of DIR/points.jsonl. A line is written at once, so that
 * several processes can add to the file. */
#include "cli_bench.h"
#include "cli_json.h"
#include "cli_text.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void take_line(cli_bench *bench, const char *line, size_t length) {
    json_t *record = json_loadb(line, length, 0, NULL);
    const char *key = json_string_value(json_object_get(record, "key"));
    if (key && json_is_array(json_object_get(record, "points")))
        cli_json_set(bench->records, key, json_incref(record));
    json_decref(record);
}

/* A line that a killed process left without its end is cut off: the next one must begin a line. */
static int cut_off(const char *path, long whole) {
    if (truncate(path, whole) == 0)
        return CLI_DONE;
    cli_complain("%s: cannot be written: %s", path, strerror(errno));
    return CLI_REFUSED;
}

int cli_bench_load(cli_bench *bench) {
    json_decref(bench->records);
    bench->records = cli_json_object();
    FILE *file = fopen(bench->points_path, "r");
    if (!file && errno == ENOENT)
        return CLI_DONE;
    if (!file) {
        cli_complain("%s: cannot be read: %s", bench->points_path, strerror(errno));
        return CLI_REFUSED;
    }
    char *line = NULL;
    size_t room = 0;
    long whole = 0;
    ssize_t length;
    bool torn = false;
    while ((length = getline(&line, &room, file)) > 0) {
        torn = line[length - 1] != '\n';
        if (torn)
            break;
        take_line(bench, line, (size_t)length);
        whole = ftell(file);
    }
    bool failed = !feof(file);
    int error = errno;
    free(line);
    fclose(file);
    if (failed && !torn) {
        cli_complain("%s: cannot be read: %s", bench->points_path, strerror(error));
        return CLI_REFUSED;
    }
    return torn ? cut_off(bench->points_path, whole) : CLI_DONE;
}

int cli_bench_keep(const cli_bench *bench, const json_t *record) {
    char *text = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text)
        exit(cli_refuse(BLV_E_MEMORY, NULL));
    char *line = cli_print("%s\n", text);
    free(text);
    int file = open(bench->points_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    size_t length = strlen(line);
    errno = ENOSPC; /* of a write that was cut short */
    bool well = file >= 0 && write(file, line, length) == (ssize_t)length;
    int error = errno;
    if (file >= 0 && close(file) != 0 && well) {
        well = false;
        error = errno;
    }
    free(line);
    if (well)
        return CLI_DONE;
    cli_complain("%s: cannot be written: %s", bench->points_path, strerror(error));
    return CLI_REFUSED;
}

json_t *cli_bench_record(const cli_bench *bench, const cli_job *job) {
    return json_object_get(bench->records, job->key);
}

double cli_record_end_value(const json_t *record, const char *what) {
    const json_t *points = json_object_get(record, "points");
    const json_t *last = json_array_get(points, json_array_size(points) - 1);
    const json_t *value = json_object_get(last, what);
    bool failed = json_is_true(json_object_get(record, "failed"));
    return json_is_number(value) && !failed ? json_number_value(value) : NAN;
}

bool cli_more_is_better(const char *what) {
    static const char *const parts[] = {"accuracy", "auroc", "precision", "recall"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (strstr(what, parts[i]))
            return true;
    return false;
}
