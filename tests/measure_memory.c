/* Whether a run takes the memory that it announces, at sizes where it counts.
 *
 *     measure_memory rows N FOLDER       N rows x 50 features, mapped from a file made in FOLDER
 *     measure_memory variables N         N variables in x and in y
 *     measure_memory table N FOLDER      N rows of numbers and categories, read from a CSV file
 *
 * Compared is the growth of the process's own memory (RssAnon: pages of a mapped file are not in
 * it) over a solve with what was announced: blv_run_memory, and for rows what the data set keeps
 * beside the mapped file and the problem for each row. Exit code 1 when they differ by more than 5%
 * and by more than what the allocator and the stacks of threads may take (SLACK).
 *
 * Of a table the most that reading it takes, beside what the process has after it read a small one
 * (the pages of the program are in memory then), is compared with the bytes of its numbers: 8 a
 * value, sparse 12 for each that is not zero. Exit code 1 above 1.3. */
#include "bilevel/bilevel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLACK ((size_t)1 << 20)
enum { COLUMNS = 50, VAL_ROWS = 1000, STEPS = 5 };

static void give_up(const char *text) {
    fprintf(stderr, "measure_memory: %s\n", text);
    exit(2);
}

/* Bytes of the process, by their name in /proc/self/status. */
static size_t status_bytes(const char *name) {
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    unsigned long kilobytes = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            kilobytes = strtoul(line + strlen(name), NULL, 10);
    if (!file || kilobytes == 0)
        give_up("/proc/self/status does not tell the memory");
    fclose(file);
    return (size_t)kilobytes * 1024;
}

/* Those that no file backs. */
static size_t own_memory(void) {
    return status_bytes("RssAnon:");
}

static double next_number(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) / 16777216.0 - 0.5;
}

/* ---- Files ---- */

/* An NPY header of 128 bytes. */
static void put_header(FILE *file, const char *kind, const char *shape) {
    char text[119];
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
                     kind, shape);
    memset(text + n, ' ', sizeof text - (size_t)n);
    text[117] = '\n';
    fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, file);
    fwrite(text, 1, 118, file);
}

static void write_features(const char *path, const char *labels_path, size_t rows, uint64_t seed) {
    char shape[64];
    FILE *file = fopen(path, "wb"), *labels = fopen(labels_path, "wb");
    if (!file || !labels)
        give_up("a file could not be made");
    snprintf(shape, sizeof shape, "(%zu, %d)", rows, COLUMNS);
    put_header(file, "<f4", shape);
    snprintf(shape, sizeof shape, "(%zu,)", rows);
    put_header(labels, "<i4", shape);
    for (size_t i = 0; i < rows; i++) {
        float row[COLUMNS];
        for (size_t j = 0; j < COLUMNS; j++)
            row[j] = (float)next_number(&seed);
        int32_t label = row[0] + row[1] + 0.5f * (float)next_number(&seed) > 0.0f;
        fwrite(row, sizeof row, 1, file);
        fwrite(&label, sizeof label, 1, labels);
    }
    if (fclose(file) != 0 || fclose(labels) != 0)
        give_up("a file could not be written");
}

static blv_dataset *read_features(const char *path, const char *labels_path) {
    const blv_read_options options = {
        .size = sizeof(blv_read_options), .precision = BLV_F32, .labels = labels_path};
    blv_message why;
    blv_dataset *set;
    if (blv_dataset_read(&set, path, &options, &why) != BLV_OK)
        give_up(why.text);
    return set;
}

/* ---- Solving ---- */

/* Steps, so that every page that will be used has been; returns what the run announces. */
static size_t solve(const blv_problem *problem, blv_run **run) {
    blv_message why;
    if (blv_run_create(run, problem, blv_solver_find(NULL, "s-tfbo", NULL), &why) != BLV_OK)
        give_up(why.text);
    for (int i = 0; i < STEPS; i++)
        if (blv_run_step(*run) != BLV_OK)
            give_up(blv_run_message(*run));
    return blv_run_memory(*run);
}

static int judge(const char *what, size_t announced, size_t measured) {
    double off = fabs((double)measured - (double)announced);
    double share = off / (double)announced;
    printf("%s: announced %.1f MB, measured %.1f MB, off by %.2f%%\n", what,
           (double)announced / 1e6, (double)measured / 1e6, 100.0 * share);
    return share <= 0.05 || off <= (double)SLACK ? 0 : 1;
}

static int measure_variables(size_t count) {
    char dim[32];
    blv_message why;
    blv_problem *problem;
    blv_run *run;
    snprintf(dim, sizeof dim, "%zu", count);
    const char *const settings[] = {"dim", dim, NULL};
    if (blv_problem_from_family(blv_family_find(NULL, "pl-shift", NULL), settings, NULL, &problem,
                                &why) != BLV_OK)
        give_up(why.text);
    size_t before = own_memory();
    size_t announced = solve(problem, &run), after = own_memory();
    int code = judge("variables", announced, after - before);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    return code;
}

static int measure_rows(size_t rows, const char *folder) {
    char path[4][512];
    static const char *const names[] = {"train.npy", "train-labels.npy", "val.npy",
                                        "val-labels.npy"};
    for (size_t i = 0; i < 4; i++)
        snprintf(path[i], sizeof path[i], "%s/%s", folder, names[i]);
    write_features(path[0], path[1], rows, 1);
    write_features(path[2], path[3], VAL_ROWS, 2);
    const blv_problem_options options = {.size = sizeof(blv_problem_options), .precision = BLV_F32};
    const blv_l2reg_setting setting = {.size = sizeof setting,
                                       .penalty = BLV_PENALTY_PER_FEATURE,
                                       .scale = 0.1,
                                       .lo = -INFINITY,
                                       .hi = INFINITY};
    blv_message why;
    blv_problem *problem;
    blv_run *run;
    size_t before = own_memory();
    const blv_sets sets = {.size = sizeof sets,
                           .train = read_features(path[0], path[1]),
                           .val = read_features(path[2], path[3])};
    if (!blv_dataset_view_of(sets.train)->mapped)
        give_up("the file was not mapped");
    if (blv_l2reg_create(&sets, &setting, &options, &problem, &why) != BLV_OK)
        give_up(why.text);
    blv_dataset_release(sets.train);
    blv_dataset_release(sets.val);
    size_t data = rows * sizeof(int32_t); /* labels; the features are the file */
    size_t announced = solve(problem, &run), after = own_memory();
    int code = judge("rows", announced + data, after - before);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    for (size_t i = 0; i < 4; i++)
        remove(path[i]);
    return code;
}

/* ---- Tables ---- */

static size_t below(uint64_t *seed, size_t count) {
    const size_t k = (size_t)((next_number(seed) + 0.5) * (double)count);
    return k < count ? k : count - 1;
}

/* As bench/peers/reading.py: 3 numbers and 7 categories, one of them with missing values. */
static void write_table(const char *path, size_t rows) {
    static const char *const words[] = {"Private", "State-gov", "Local-gov", "?"};
    FILE *file = fopen(path, "w");
    uint64_t seed = 5;
    if (!file)
        give_up("a file could not be made");
    fputs("age,work,weight,a,b,c,d,e,f,hours,income\n", file);
    for (size_t i = 0; i < rows; i++) {
        fprintf(file, "%zu,%s,%zu,", 17 + below(&seed, 74), words[below(&seed, 4)],
                1 + below(&seed, 1000000));
        for (int j = 0; j < 6; j++)
            fprintf(file, "%s,", words[below(&seed, 3)]);
        fprintf(file, "%zu,%s\n", below(&seed, 100), below(&seed, 2) ? "<=50K" : ">50K");
    }
    if (fclose(file) != 0)
        give_up("a file could not be written");
}

/* The bytes of the numbers of a table, which is read. */
static size_t read_table(const char *path, blv_layout layout) {
    const blv_read_options options = {.size = sizeof(blv_read_options), .layout = layout};
    blv_message why;
    blv_dataset *set;
    if (blv_dataset_read(&set, path, &options, &why) != BLV_OK)
        give_up(why.text);
    const blv_dataset_view *v = blv_dataset_view_of(set);
    const size_t numbers = v->dense ? 8 * v->rows * v->columns : 12 * v->row_start[v->rows];
    blv_dataset_release(set);
    return numbers;
}

/* The most from now on is told anew. */
static void forget_peak(void) {
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (!file || fputs("5", file) < 0 || fclose(file) != 0)
        give_up("/proc/self/clear_refs cannot be written");
}

static int measure_table(size_t rows, const char *folder) {
    static const char *const names[] = {
        [BLV_LAYOUT_DENSE] = "dense", [BLV_LAYOUT_SPARSE] = "sparse"};
    const blv_layout layouts[] = {BLV_LAYOUT_DENSE, BLV_LAYOUT_SPARSE};
    char path[512], small[512];
    int code = 0;
    snprintf(path, sizeof path, "%s/table-%zu.csv", folder, rows);
    snprintf(small, sizeof small, "%s/table-small-%zu.csv", folder, rows);
    write_table(path, rows);
    write_table(small, 100);
    for (size_t k = 0; k < 2; k++) {
        read_table(small, layouts[k]);
        forget_peak();
        const size_t before = status_bytes("VmRSS:");
        const size_t numbers = read_table(path, layouts[k]);
        const size_t most = status_bytes("VmHWM:") - before;
        const double ratio = (double)most / (double)numbers;
        printf("table of %zu rows, %s: %.2f MiB for %.2f MiB of numbers: %.2f\n", rows,
               names[layouts[k]], (double)most / 1048576.0, (double)numbers / 1048576.0, ratio);
        code |= ratio > 1.3;
    }
    remove(path);
    remove(small);
    return code;
}

int main(int argc, char **argv) {
    size_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
    if (argc == 4 && strcmp(argv[1], "rows") == 0 && count > 0)
        return measure_rows(count, argv[3]);
    if (argc == 3 && strcmp(argv[1], "variables") == 0 && count > 0)
        return measure_variables(count);
    if (argc == 4 && strcmp(argv[1], "table") == 0 && count > 0)
        return measure_table(count, argv[3]);
    fprintf(stderr, "usage: measure_memory rows N FOLDER | variables N | table N FOLDER\n");
    return 2;
}
