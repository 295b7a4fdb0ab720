/* Two ranks of which one is short of memory at any moment, and exchanges that fail at any moment:
 * what has failed has a message, no rank waits for the other, nothing is kept. */
#include "bilevel/bilevel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "alloc_testing.h"
#include "rank_turns.h"

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static char folder[] = "/tmp/test-rank-faults-XXXXXX";

static const char *path_of(const char *name) {
    static char paths[4][200];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* ---- Files ---- */

typedef struct file {
    const char *name;
    blv_read_options options;
} file;

static blv_error read_file(const blv_ranks *ranks, const void *context, blv_message *why) {
    const file *f = context;
    char path[200];
    blv_dataset *set = NULL;
    blv_read_options options = f->options;
    options.size = sizeof options;
    options.ranks = ranks;
    snprintf(path, sizeof path, "%s/%s", folder, f->name);
    blv_error error = blv_dataset_read(&set, path, &options, why);
    if (!error && !blv_dataset_view_of(set)->ranks)
        error = BLV_E_UNSUPPORTED;
    blv_dataset_release(set);
    return error;
}

static void test_files(void **state) {
    static const file files[] = {
        {"sparse.svm", {0}},
        {"words.csv", {0}},
        {"numbers.csv", {.targets = BLV_TARGETS_REAL}},
        {"quoted.csv", {0}},
        {"kinds.csv", {.weight = "w", .label = "class", .truth = "truth"}},
        {"kinds.csv", {.weight = "w", .label = "class", .layout = BLV_LAYOUT_SPARSE}},
        {"dense.npz", {0}},
        {"dense.npz", {.precision = BLV_F32}},
        {"sparse.npz", {0}},
        {"images-idx3-ubyte", {.precision = BLV_F32}},
        {"cifar.bin", {0}},
    };
    job jobs[LENGTH(files)];
    (void)state;
    for (size_t i = 0; i < LENGTH(files); i++)
        jobs[i] = (job){files[i].name, read_file, &files[i]};
    fail_everything(jobs, LENGTH(jobs));
}

/* ---- Sets ---- */

static blv_error change(blv_dataset *set, const blv_ranks *ranks, bool dense, blv_message *why) {
    blv_dataset *part[2] = {NULL, NULL};
    const double sizes[] = {0.6, 0.4};
    bool mixed;
    blv_error error = blv_dataset_spread(set, ranks, why);
    if (!error)
        error = blv_dataset_split(set, sizes, 2, true, 3, part, why);
    if (!error)
        error = blv_dataset_relearn(part, 2, why);
    if (!error)
        error = blv_dataset_centre_table(part, 2, !dense, &mixed, why);
    if (!error)
        error = blv_dataset_scale(part, 2, dense ? BLV_SCALE_STANDARD : BLV_SCALE_UNIT, why);
    if (!error)
        error = blv_dataset_unit_rows(part[0], why);
    if (!error)
        error = blv_dataset_transpose(part[0], why);
    for (int p = 0; p < 2; p++)
        blv_dataset_release(part[p]);
    return error;
}

/* What every rank has read alone. */
static blv_error change_sets(const blv_ranks *ranks, const void *context, blv_message *why) {
    const file *f = context;
    blv_read_options options = f->options;
    blv_dataset *set = NULL;
    char path[200];
    options.size = sizeof options;
    snprintf(path, sizeof path, "%s/%s", folder, f->name);
    const bool spared = requests_spared;
    requests_spared = true;
    blv_error error = blv_dataset_read(&set, path, &options, why);
    requests_spared = spared;
    if (!error)
        error = change(set, ranks, options.layout == BLV_LAYOUT_DENSE, why);
    blv_dataset_release(set);
    return error;
}

static void test_sets(void **state) {
    static const file files[] = {
        {"kinds.csv", {.label = "class", .layout = BLV_LAYOUT_DENSE}},
        {"kinds.csv", {.label = "class", .layout = BLV_LAYOUT_SPARSE}},
        {"sparse.svm", {0}},
    };
    job jobs[LENGTH(files)];
    (void)state;
    for (size_t i = 0; i < LENGTH(files); i++)
        jobs[i] = (job){files[i].name, change_sets, &files[i]};
    fail_everything(jobs, LENGTH(jobs));
}

/* ---- Vectors ---- */

enum { DIM = 9 };

static blv_error use_vectors(blv_vec *a, blv_vec *b) {
    double host[DIM] = {1.0, 2.0, 3.0}, sum;
    blv_vec_write(a, host);
    blv_vec_copy(b, a);
    blv_vec_axpy(b, 2.0, a);
    sum = blv_vec_dot(a, b);
    blv_vec_read(b, host);
    return blv_space_error(blv_vec_space(a), NULL) != BLV_OK || (sum == 42.0 && host[2] == 9.0)
               ? BLV_OK
               : BLV_E_VALUE;
}

static blv_error use_space(const blv_ranks *ranks, const void *context, blv_message *why) {
    const size_t own[2][5] = {{0, 1, 4, 7, 8}, {2, 3, 5, 6}};
    const int kind = *(const int *)context;
    blv_space *space = NULL;
    blv_vec *a = NULL, *b = NULL;
    blv_error error =
        kind == 0
            ? blv_space_create_replicated(&space, ranks, DIM, BLV_F64, 1)
            : blv_space_create_spread(&space, ranks, DIM, kind == 1 ? NULL : own[ranks->rank],
                                      5 - (size_t)ranks->rank, kind == 1 ? BLV_F32 : BLV_F64, 1);
    snprintf(why->text, sizeof why->text, "%s", error ? blv_error_text(error) : "");
    const bool spared = requests_spared;
    requests_spared = true; /* vectors are of one rank */
    if (!error && (blv_vec_create(&a, space) || blv_vec_create(&b, space)))
        error = BLV_E_MEMORY;
    requests_spared = spared;
    if (!error)
        error = use_vectors(a, b);
    if (!error)
        error = blv_space_error(space, why);
    blv_vec_destroy(a);
    blv_vec_destroy(b);
    blv_space_destroy(space);
    return error;
}

static void test_vectors(void **state) {
    static const int kinds[] = {0, 1, 2};
    const job jobs[] = {{"replicated", use_space, &kinds[0]},
                        {"spread", use_space, &kinds[1]},
                        {"spread by numbers", use_space, &kinds[2]}};
    (void)state;
    /* one that is replicated exchanges nothing after it is made */
    fail_everything(jobs, LENGTH(jobs));
}

/* ---- Problems and runs ---- */

typedef struct model {
    const char *family, *solver, *settings[12];
} model;

/* An oracle that fails ends a run with an outcome; an exchange that fails leaves no certificate. */
static blv_error solve(const blv_problem *problem, const char *solver, blv_message *why) {
    const blv_solve_options options = {
        .size = sizeof options, .solver = solver, .iters = 2, .seed = 1};
    blv_solution *s = NULL;
    blv_error error = blv_solve(&s, problem, &options, why);
    if (!error && s->outcome == BLV_ORACLE_FAILED) {
        error = BLV_E_ORACLE;
        *why = s->message;
    } else if (!error && !s->certified) {
        error = BLV_E_ORACLE;
        *why = s->no_certificate;
    }
    blv_solution_destroy(s);
    return error;
}

static blv_error make_problem(const blv_ranks *ranks, const model *m, blv_problem **problem,
                              blv_message *why) {
    const blv_problem_options options = {.size = sizeof options, .threads = 1, .ranks = ranks};
    const blv_problem_family *family = blv_family_find(NULL, m->family, why);
    return blv_problem_from_family(family, m->settings, &options, problem, why);
}

static blv_error use_problem(const blv_ranks *ranks, const void *context, blv_message *why) {
    const model *m = context;
    blv_problem *problem = NULL;
    blv_error error = make_problem(ranks, m, &problem, why);
    if (!error)
        error = solve(problem, m->solver, why);
    blv_problem_destroy(problem);
    return error;
}

static void test_problems(void **state) {
    char sparse[200], words[200], numbers[200];
    (void)state;
    snprintf(sparse, sizeof sparse, "%s/sparse.svm", folder);
    snprintf(words, sizeof words, "%s/words.csv", folder);
    snprintf(numbers, sizeof numbers, "%s/numbers.csv", folder);
    const model models[] = {
        {"hyperclean", "soba", {"train", words, "val_size", "0.4", "scaling", "standard"}},
        {"hyperclean", "saba", {"train", sparse, "layout", "sparse", "val_size", "0.3"}},
        {"l2reg", "s-tfbo", {"train", words, "test_size", "5", "unit_rows", "on"}},
        {"l2reg", "soba", {"train", numbers, "val_size", "0.4"}},
        {"quadratic", "saba", {"dx", "2", "dy", "3", "terms", "7"}},
        {"synthetic-logistic", "soba", {"rows", "9", "columns", "2"}},
    };
    job jobs[LENGTH(models)];
    for (size_t i = 0; i < LENGTH(models); i++)
        jobs[i] = (job){models[i].family, use_problem, &models[i]};
    fail_everything(jobs, LENGTH(jobs));
}

/* ---- Wrong labels ---- */

static blv_error find_wrong(const blv_ranks *ranks, const void *context, blv_message *why) {
    const file *f = context;
    char path[200];
    blv_read_options reading = f->options;
    reading.size = sizeof reading;
    reading.ranks = ranks;
    snprintf(path, sizeof path, "%s/%s", folder, f->name);
    const blv_task_files files = {
        .size = sizeof files, .train = path, .val = path, .test = path, .reading = &reading};
    const blv_clean_options options = {
        .size = sizeof options, .folds = 2, .ridge = 0.1, .model = BLV_CLEAN_LINEAR};
    blv_task_sets *sets = NULL;
    blv_clean_result *result = NULL;
    blv_error error = blv_task_sets_read(&sets, &files, why);
    if (!error)
        error = blv_clean(sets, &options, &result, NULL, why);
    blv_clean_result_destroy(result);
    blv_task_sets_destroy(sets);
    return error;
}

static void test_wrong_labels(void **state) {
    static const file files[] = {{"words.csv", {.layout = BLV_LAYOUT_DENSE}},
                                 {"sparse.svm", {.layout = BLV_LAYOUT_SPARSE}}};
    (void)state;
    for (size_t i = 0; i < LENGTH(files); i++)
        fail_exchanges(&(job){files[i].name, find_wrong, &files[i]});
}

/* ---- */

static void write_texts(void) {
    char text[4000], *at = text;
    for (int i = 0; i < 24; i++)
        at += sprintf(at, "%d %d:0.5 %d:%d\n", i % 2 ? 1 : -1, i % 5 + 1, i % 5 + 3, i);
    write_file("sparse.svm", text, (size_t)(at - text));
    at = text + sprintf(text, "a,b,label\n");
    for (int i = 0; i < 20; i++)
        at += sprintf(at, "%g,%d,%s\n", 0.1 * i * i, i * 7 % 11, i % 3 ? "late" : "early");
    write_file("words.csv", text, (size_t)(at - text));
    for (at = text; at - text < 200;)
        at += sprintf(at, "%g;%d;%g\n", 0.1 * (double)(at - text), 5, 0.7 * (double)(at - text));
    write_file("numbers.csv", text, (size_t)(at - text));
    static const char quoted[] = "a,b,label\n1,\"2\",x\n3,4,y\n5,6,x\n";
    write_file("quoted.csv", quoted, sizeof quoted - 1);
    at = text + sprintf(text, "size,city,class,truth,w\n");
    for (int i = 0; i < 22; i++)
        at += i % 7 == 3 ? sprintf(at, ",Rome,u,u,1\n")
                         : sprintf(at, "%d,%s,%s,u,0.5\n", i * 13 % 17,
                                   i % 3   ? "Bern"
                                   : i > 9 ? "Oslo"
                                           : "Rome",
                                   i % 2 ? "v" : "u");
    write_file("kinds.csv", text, (size_t)(at - text));
}

static void write_images(void) {
    enum { ROWS = 12, RECORD = 3073 };
    unsigned char idx[16 + ROWS * 6] = {0, 0, 8, 3, 0, 0, 0, ROWS, 0, 0, 0, 2, 0, 0, 0, 3};
    unsigned char labels[8 + ROWS] = {0, 0, 8, 1, 0, 0, 0, ROWS};
    static unsigned char cifar[3 * RECORD];
    for (size_t i = 16; i < sizeof idx; i++)
        idx[i] = (unsigned char)(i * i);
    for (size_t i = 8; i < sizeof labels; i++)
        labels[i] = i % 4;
    for (size_t i = 0; i < sizeof cifar; i++)
        cifar[i] = i % RECORD == 0 ? (unsigned char)(i / RECORD) : (unsigned char)(i * 7);
    write_file("images-idx3-ubyte", idx, sizeof idx);
    write_file("images-idx1-ubyte", labels, sizeof labels);
    write_file("cifar.bin", cifar, sizeof cifar);
}

static const char *const archives[] = {"dense.npz", "sparse.npz"};

static void write_archives(void) {
    for (int sparse = 0; sparse < 2; sparse++) {
        const blv_read_options options = {.size = sizeof options,
                                          .layout = sparse ? BLV_LAYOUT_SPARSE : BLV_LAYOUT_DENSE};
        blv_dataset *set = NULL;
        assert_int_equal(blv_dataset_read(&set, path_of("sparse.svm"), &options, NULL), BLV_OK);
        assert_int_equal(blv_dataset_write(set, path_of(archives[sparse]), "npz", NULL), BLV_OK);
        blv_dataset_release(set);
    }
}

static int write_files(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    write_texts();
    write_images();
    write_archives();
    return 0;
}

static int remove_files(void **state) {
    static const char *const names[] = {
        "sparse.svm", "words.csv",  "numbers.csv",       "quoted.csv",        "kinds.csv",
        "dense.npz",  "sparse.npz", "images-idx3-ubyte", "images-idx1-ubyte", "cifar.bin"};
    (void)state;
    for (size_t i = 0; i < LENGTH(names); i++)
        unlink(path_of(names[i]));
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_vectors),      cmocka_unit_test(test_problems),
        cmocka_unit_test(test_wrong_labels),
    };
    return cmocka_run_group_tests(tests, write_files, remove_files);
}
