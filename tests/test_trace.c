/* The trace: JSON lines with the right rows and numbers, off the clock, whatever the locale, and
 * what happens when it cannot be written. */
#include "bilevel/certificate.h"
#include "run_testing.h"

#include "registry/builtin.h"

#include <jansson.h>
#include <locale.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROWS_MAX = 200 };

static char path[64];

static int make_path(void **state) {
    (void)state;
    strcpy(path, "trace-XXXXXX");
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state) {
    (void)state;
    return unlink(path);
}

typedef struct rows {
    json_t *at[ROWS_MAX];
    size_t count;
} rows;

/* Every line is one object, and the file ends with a line end. */
static void read_rows(rows *r) {
    char line[8192];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    r->count = 0;
    while (fgets(line, sizeof line, file)) {
        json_error_t error;
        assert_true(r->count < ROWS_MAX);
        assert_int_equal(line[strlen(line) - 1], '\n');
        json_t *row = json_loads(line, JSON_REJECT_DUPLICATES, &error);
        if (!row || !json_is_object(row))
            fail_msg("not JSON: %s: %s", error.text, line);
        r->at[r->count++] = row;
    }
    fclose(file);
}

static void free_rows(rows *r) {
    for (size_t i = 0; i < r->count; i++)
        json_decref(r->at[i]);
}

static uint64_t iteration(const json_t *row) {
    const json_t *k = json_object_get(row, "iteration");
    assert_true(json_is_integer(k));
    return (uint64_t)json_integer_value(k);
}

static double number(const json_t *row, const char *key) {
    const json_t *value = json_object_get(row, key);
    if (!json_is_number(value))
        fail_msg("row %llu has no number %s", (unsigned long long)iteration(row), key);
    return json_number_value(value);
}

static void expect_near(double a, double b, double relative) {
    if (!(fabs(a - b) <= relative * fmax(fabs(a), fabs(b))))
        fail_msg("%.17g and %.17g differ", a, b);
}

/* ---- Rows and keys ---- */

static void expect_iterations(const rows *r, const uint64_t *expected, size_t count) {
    assert_int_equal(r->count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(iteration(r->at[i]), expected[i]);
}

static void trace_run(const blv_problem *problem, const char *solver, const char *const *settings,
                      rows *r) {
    blv_run *run = make_run(problem, solver, settings);
    assert_int_equal(blv_run_trace(run, path), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    read_rows(r);
    assert_int_equal(iteration(r->at[r->count - 1]), blv_run_result(run)->iterations);
    blv_run_destroy(run);
}

static void test_rows(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    rows r;
    trace_run(problem, "s-tfbo", SETTINGS("iters", "10", "every", "4"), &r);
    expect_iterations(&r, (const uint64_t[]){0, 4, 8, 10}, 4);
    free_rows(&r);
    trace_run(problem, "s-tfbo", SETTINGS("iters", "8", "every", "4"), &r);
    expect_iterations(&r, (const uint64_t[]){0, 4, 8}, 3);
    free_rows(&r);
    trace_run(problem, "soba", SETTINGS("iters", "3"), &r);
    expect_iterations(&r, (const uint64_t[]){0, 3}, 2);
    free_rows(&r);
    trace_run(problem, "soba", SETTINGS("iters", "0"), &r);
    expect_iterations(&r, (const uint64_t[]){0}, 1);
    free_rows(&r);
    blv_problem_destroy(problem);
}

static int stop_at_seven(void *context, const blv_progress *progress) {
    (void)context;
    return progress->iteration == 7;
}

/* Also when it is the monitor that ends the run between two rows. */
static void test_last_row_after_monitor_stop(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "s-tfbo", SETTINGS("iters", "100", "every", "5"));
    rows r;
    assert_int_equal(blv_run_trace(run, path), BLV_OK);
    assert_int_equal(blv_run_monitor(run, stop_at_seven, NULL, 1, 0.0), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_STOPPED_MONITOR);
    read_rows(&r);
    expect_iterations(&r, (const uint64_t[]){0, 5, 7}, 3);
    free_rows(&r);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static void test_keys(void **state) {
    (void)state;
    static const char *const keys[] = {"iteration", "seconds", "f_grad", "g_grad", "hvp",
                                       "jvp",       "values",  "f",      "g",      "gy_norm",
                                       "r_norm",    "d_norm",  "step_y", "step_v", "step_x"};
    blv_problem *problem = small_quadratic(BLV_F64);
    for (size_t s = 0; blv_builtin_solvers[s]; s++) {
        const char *name = blv_builtin_solvers[s]->name;
        rows r;
        trace_run(problem, name, SETTINGS("iters", "6", "every", "2"), &r);
        for (size_t i = 0; i < r.count; i++) {
            for (size_t k = 0; k < LENGTH(keys); k++)
                if (!json_object_get(r.at[i], keys[k]))
                    fail_msg("%s: row %zu has no key %s", name, i, keys[k]);
            assert_null(json_object_get(r.at[i], "phi"));
            assert_null(json_object_get(r.at[i], "x"));
            if (i > 0) {
                assert_true(number(r.at[i], "seconds") >= number(r.at[i - 1], "seconds"));
                assert_true(number(r.at[i], "g_grad") >= number(r.at[i - 1], "g_grad"));
                assert_true(number(r.at[i], "d_norm") >= 0.0);
            } else {
                assert_true(json_is_null(json_object_get(r.at[0], "d_norm")));
            }
        }
        free_rows(&r);
    }
    rows r;
    trace_run(problem, "s-tfbo", SETTINGS("iters", "3"), &r);
    assert_true(number(r.at[1], "alpha") >= 1.0 && number(r.at[1], "beta") > 1.0);
    free_rows(&r);
    blv_problem_destroy(problem);
}

/* ---- Numbers ---- */

/* Reads a vector of a row into a new vector of the space. */
static blv_vec *vector(const json_t *row, const char *key, const blv_space *space) {
    double host[DIM_MAX];
    blv_vec *v;
    const json_t *array = json_object_get(row, key);
    assert_int_equal(json_array_size(array), blv_space_dim(space));
    for (size_t i = 0; i < json_array_size(array); i++)
        host[i] = json_number_value(json_array_get(array, i));
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    blv_vec_write(v, host);
    return v;
}

/* f, g and the certified columns of each row from its iterates. */
static void test_numbers_agree_with_own_evaluation(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    const blv_problem_def *def = blv_problem_definition(problem);
    for (size_t s = 0; blv_builtin_solvers[s]; s++) {
        rows r;
        trace_run(problem, blv_builtin_solvers[s]->name,
                  SETTINGS("iters", "9", "every", "2", "iterates", "on", "certify", "on"), &r);
        for (size_t i = 0; i < r.count; i++) {
            blv_vec *x = vector(r.at[i], "x", def->space_x);
            blv_vec *y = vector(r.at[i], "y", def->space_y);
            double f, g;
            blv_certificate c;
            assert_int_equal(def->upper(def->user, NULL, x, y, &f, NULL, NULL), 0);
            assert_int_equal(def->lower(def->user, NULL, x, y, &g, NULL, NULL), 0);
            assert_true(number(r.at[i], "f") == f && number(r.at[i], "g") == g);
            assert_int_equal(blv_certify(problem, x, y, NULL, &c, NULL, NULL), BLV_OK);
            expect_near(number(r.at[i], "phi"), c.phi, 1e-14);
            expect_near(number(r.at[i], "grad_norm"), c.grad_norm, 1e-9);
            blv_vec_destroy(x);
            blv_vec_destroy(y);
        }
        free_rows(&r);
    }
    blv_problem_destroy(problem);
}

/* The last row holds the result, to the last bit. */
static void test_iterates_are_the_result(void **state) {
    (void)state;
    for (int precision = BLV_F64; precision <= BLV_F32; precision++) {
        blv_problem *problem = small_quadratic((blv_precision)precision);
        blv_run *run = make_run(problem, "soba", SETTINGS("iters", "5", "iterates", "on"));
        static const char *const names[] = {"x", "y", "v"};
        rows r;
        assert_int_equal(blv_run_trace(run, path), BLV_OK);
        assert_int_equal(blv_run_solve(run), BLV_OK);
        read_rows(&r);
        for (size_t n = 0; n < LENGTH(names); n++) {
            double host[DIM_MAX];
            const json_t *array = json_object_get(r.at[r.count - 1], names[n]);
            assert_int_equal(blv_run_read(run, names[n], host), BLV_OK);
            assert_int_equal(json_array_size(array), blv_run_dim(run, names[n]));
            for (size_t i = 0; i < json_array_size(array); i++)
                assert_true(json_number_value(json_array_get(array, i)) == host[i]);
        }
        free_rows(&r);
        blv_run_destroy(run);
        blv_problem_destroy(problem);
    }
}

/* Tracing changes no bit of the iterates and none of the solver's counts. */
static void test_trace_changes_nothing(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    for (size_t s = 0; blv_builtin_solvers[s]; s++) {
        const char *const *settings = SETTINGS("iters", "8", "every", "1", "certify", "on");
        blv_run *a = make_run(problem, blv_builtin_solvers[s]->name, settings);
        blv_run *b = make_run(problem, blv_builtin_solvers[s]->name, SETTINGS("iters", "8"));
        assert_int_equal(blv_run_trace(a, path), BLV_OK);
        assert_int_equal(blv_run_solve(a), BLV_OK);
        assert_int_equal(blv_run_solve(b), BLV_OK);
        expect_same_vector(a, b, "x");
        expect_same_vector(a, b, "y");
        const blv_result *ra = blv_run_result(a), *rb = blv_run_result(b);
        assert_memory_equal(&ra->counts, &rb->counts, sizeof ra->counts);
        bool confirmed = rb->outcome == BLV_CONVERGED; /* by a certificate */
        assert_true(ra->check_counts.values > 0 && (rb->check_counts.values == 0) != confirmed);
        blv_run_destroy(a);
        blv_run_destroy(b);
    }
    blv_problem_destroy(problem);
}

/* ---- The clock ---- */

static void sleep_20_ms(void) {
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

/* s-tfbo asks for no values: what sleeps is evaluation alone, 42 times 20 ms of it. */
static void test_evaluation_is_off_the_clock(void **state) {
    (void)state;
    wrapped w;
    rows r = {.count = 0};
    wrap(&w, small_quadratic(BLV_F64), BY_ALL);
    w.on_value = sleep_20_ms;
    blv_run *run = make_run(w.problem, "s-tfbo", SETTINGS("iters", "20", "every", "1"));
    assert_int_equal(blv_run_trace(run, path), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    read_rows(&r);
    assert_int_equal(r.count, 21);
    assert_true(blv_run_result(run)->seconds < 0.2);
    assert_true(number(r.at[20], "seconds") < 0.2);
    free_rows(&r);
    blv_run_destroy(run);
    unwrap(&w);
}

/* ---- Locale ---- */

static size_t trace_bytes(const blv_problem *problem, char *text, size_t size) {
    blv_run *run = make_run(problem, "s-tfbo",
                            SETTINGS("iters", "6", "every", "1", "iterates", "on", "eta_x", "0.5"));
    assert_int_equal(blv_run_trace(run, path), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    blv_run_destroy(run);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, size, file);
    fclose(file);
    assert_true(n > 0 && n < size);
    text[n] = '\0';
    for (char *at = text; (at = strstr(at, "\"seconds\":"));) /* the one thing that may differ */
        for (at += 10; *at != ',' || at[1] != '"'; at++)
            *at = ' ';
    return n;
}

static void blank_free(char *text) { /* seconds are of different lengths */
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ')
            *to++ = *from;
    *to = '\0';
}

static void test_decimal_comma(void **state) {
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "es_ES.UTF-8",
                                          "de_DE"};
    static char plain[65536], comma[65536];
    blv_problem *problem = small_quadratic(BLV_F64);
    trace_bytes(problem, plain, sizeof plain);
    bool found = false;
    for (size_t i = 0; !found && i < LENGTH(locales); i++)
        found = setlocale(LC_ALL, locales[i]) != NULL;
    if (found) {
        char shown[16];
        snprintf(shown, sizeof shown, "%.1f", 0.5);
        assert_string_equal(shown, "0,5");
        trace_bytes(problem, comma, sizeof comma);
        setlocale(LC_ALL, "C");
        blank_free(plain);
        blank_free(comma);
        assert_string_equal(plain, comma);
    }
    blv_problem_destroy(problem);
    if (!found) {
        print_message("no locale with a decimal comma is installed\n");
        skip();
    }
}

/* ---- Files that cannot be written ---- */

static void test_full_disk(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *a = make_run(problem, "s-tfbo", SETTINGS("iters", "12", "every", "3"));
    blv_run *b = make_run(problem, "s-tfbo", SETTINGS("iters", "12"));
    assert_int_equal(blv_run_trace(a, "/dev/full"), BLV_OK);
    assert_int_equal(blv_run_solve(a), BLV_E_FILE);
    expect_text(blv_run_message(a), "/dev/full");
    assert_true(has_note(a, "ends early"));
    assert_int_equal(blv_run_solve(b), BLV_OK);
    expect_outcome(a, BLV_LIMIT_ITERATIONS);
    assert_int_equal(blv_run_result(a)->iterations, 12);
    expect_same_vector(a, b, "x");
    expect_same_vector(a, b, "y");
    blv_run_destroy(a);
    blv_run_destroy(b);
    blv_problem_destroy(problem);
}

static void test_unwritable_path(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "s-tfbo", SETTINGS("iters", "12"));
    assert_int_equal(blv_run_trace(run, "no/such/folder/trace.jsonl"), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_E_FILE);
    expect_text(blv_run_message(run), "no/such/folder/trace.jsonl");
    assert_int_equal(blv_run_result(run)->iterations, 0);
    assert_int_equal(blv_run_result(run)->counts.g_grad, 0);
    assert_int_equal(blv_run_step(run), BLV_E_FILE);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

#define TRACE_TEST(test) cmocka_unit_test_setup_teardown(test, make_path, remove_path)

/* ---- Rows to a function ---- */

typedef struct given {
    uint64_t at[2000];
    size_t count;
    char last[4096];
} given;

static void take_row(void *context, const blv_progress *progress, const char *text) {
    given *g = context;
    assert_true(g->count < LENGTH(g->at));
    g->at[g->count++] = progress->iteration;
    snprintf(g->last, sizeof g->last, "%s", text);
}

static void test_all_rows_are_those_of_the_file(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "s-tfbo", SETTINGS("iters", "100", "every", "3"));
    given g = {.count = 0};
    rows r;
    assert_int_equal(blv_run_trace(run, path), BLV_OK);
    assert_int_equal(blv_run_trace_callback(run, take_row, &g, true), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    read_rows(&r);
    expect_iterations(&r, g.at, g.count);
    json_t *last = json_loads(g.last, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_equal(last, r.at[r.count - 1]));
    json_decref(last);
    free_rows(&r);
    assert_int_equal(blv_run_trace_callback(run, NULL, NULL, true), BLV_E_ORDER);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* Few: 2 % apart, with the first and the last, whatever `every` is. */
static void test_few_rows(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "s-tfbo", SETTINGS("iters", "20011", "every", "1"));
    given g = {.count = 0};
    assert_int_equal(blv_run_trace_callback(run, take_row, &g, false), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_in_range(g.count, 3, 500);
    assert_int_equal(g.at[0], 0);
    assert_int_equal(g.at[g.count - 1], 20011);
    for (size_t i = 1; i + 1 < g.count; i++)
        assert_true((double)g.at[i] >= 1.02 * (double)g.at[i - 1] && g.at[i] > g.at[i - 1]);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static void be_slow(void) {
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    nanosleep(&pause, NULL);
}

/* Values that take long: rows stay a small share of the time. */
static void test_few_rows_take_little_time(void **state) {
    (void)state;
    wrapped w;
    wrap(&w, small_quadratic(BLV_F64), BY_ALL);
    w.on_value = be_slow;
    blv_run *run = make_run(w.problem, "s-tfbo", SETTINGS("iters", "2000", "every", "1"));
    given g = {.count = 0};
    assert_int_equal(blv_run_trace_callback(run, take_row, &g, false), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    double allowed = 3.0 + 0.1 * blv_run_result(run)->seconds / 0.04; /* two values a row */
    assert_true((double)g.count <= allowed);
    assert_in_range(g.count, 2, 2000);
    blv_run_destroy(run);
    unwrap(&w);
}

/* A value that is not finite ends a run that is traced or watched, not one that hands out rows. */
static void test_rows_decide_nothing(void **state) {
    (void)state;
    for (int traced = 0; traced < 2; traced++) {
        wrapped w;
        wrap(&w, small_quadratic(BLV_F64), BY_ALL);
        plan(&w, UPPER, NAN_VALUE, 1, 0);
        blv_run *run = make_run(w.problem, "s-tfbo", SETTINGS("iters", "50", "every", "10"));
        given g = {.count = 0};
        assert_int_equal(blv_run_trace_callback(run, take_row, &g, true), BLV_OK);
        if (traced)
            assert_int_equal(blv_run_trace(run, path), BLV_OK);
        assert_int_equal(blv_run_solve(run), BLV_OK);
        expect_outcome(run, traced ? BLV_DIVERGED : BLV_LIMIT_ITERATIONS);
        assert_int_equal(g.count, traced ? 1 : 6);
        expect_text(g.last, "\"f\":null");
        blv_run_destroy(run);
        unwrap(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TRACE_TEST(test_rows),
        TRACE_TEST(test_last_row_after_monitor_stop),
        TRACE_TEST(test_keys),
        TRACE_TEST(test_numbers_agree_with_own_evaluation),
        TRACE_TEST(test_iterates_are_the_result),
        TRACE_TEST(test_trace_changes_nothing),
        TRACE_TEST(test_evaluation_is_off_the_clock),
        TRACE_TEST(test_decimal_comma),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_unwritable_path),
        TRACE_TEST(test_all_rows_are_those_of_the_file),
        cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_few_rows_take_little_time),
        TRACE_TEST(test_rows_decide_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
