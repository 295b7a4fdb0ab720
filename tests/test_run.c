/* The life of a run: create, set, open, step, solve, look, destroy, and what is refused. */
#include "bilevel/registry.h"
#include "run_testing.h"

#include "alloc_testing.h"
#include "registry/builtin.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Order of calls ---- */

static void test_life(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "s-tfbo", SETTINGS("iters", "3"));
    const blv_result *result = blv_run_result(run);
    assert_string_equal(blv_run_message(run), "not started");
    assert_int_equal(result->outcome, BLV_RUNNING);
    assert_int_equal(blv_run_open(run), BLV_OK);
    assert_int_equal(blv_run_open(run), BLV_OK);
    assert_int_equal(blv_run_set(run, "iters", "5"), BLV_E_ORDER);
    expect_text(blv_run_message(run), "before the run is opened");
    assert_int_equal(blv_run_trace(run, "never.jsonl"), BLV_E_ORDER);
    for (uint64_t k = 1; k <= 3; k++) {
        assert_int_equal(blv_run_step(run), BLV_OK);
        assert_int_equal(result->iterations, k);
        expect_outcome(run, k < 3 ? BLV_RUNNING : BLV_LIMIT_ITERATIONS);
        assert_true(result->metrics.d_norm >= 0.0); /* reported */
    }
    expect_text(blv_run_message(run), "after 3 iterations");
    double x[3], again[3];
    blv_counts counts = result->counts;
    assert_int_equal(blv_run_read(run, "x", x), BLV_OK);
    assert_int_equal(blv_run_step(run), BLV_OK); /* nothing happens any more */
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_int_equal(blv_run_set(run, "iters", "9"), BLV_E_ORDER);
    assert_int_equal(result->iterations, 3);
    assert_memory_equal(&counts, &result->counts, sizeof counts);
    assert_int_equal(blv_run_read(run, "x", again), BLV_OK);
    assert_memory_equal(x, again, sizeof x);
    assert_ptr_equal(blv_run_solver(run), blv_solver_find(NULL, "s-tfbo", NULL));
    blv_run_destroy(run);
    blv_run_destroy(make_run(problem, "exact", NULL)); /* never opened */
    blv_problem_destroy(problem);
}

/* Steps one by one and a solve give the same bits; so does a solve after some steps. */
static void test_step_and_solve_agree(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    for (size_t s = 0; blv_builtin_solvers[s]; s++) {
        const char *name = blv_builtin_solvers[s]->name;
        blv_run *a = make_run(problem, name, SETTINGS("iters", "6"));
        blv_run *b = make_run(problem, name, SETTINGS("iters", "6"));
        assert_int_equal(blv_run_solve(a), BLV_OK);
        assert_int_equal(blv_run_step(b), BLV_OK);
        assert_int_equal(blv_run_step(b), BLV_OK);
        assert_int_equal(blv_run_solve(b), BLV_OK);
        expect_same_vector(a, b, "x");
        expect_same_vector(a, b, "y");
        if (blv_run_dim(a, "v") > 0)
            expect_same_vector(a, b, "v");
        assert_int_equal(blv_run_result(a)->iterations, blv_run_result(b)->iterations);
        blv_run_destroy(a);
        blv_run_destroy(b);
    }
    blv_problem_destroy(problem);
}

static blv_error open_nothing(blv_run *run, void *fields) {
    (void)run;
    (void)fields;
    return BLV_OK;
}

static blv_flow step_nothing(blv_run *run, void *fields) {
    (void)run;
    (void)fields;
    return BLV_GO;
}

/* Runs a call in a process of its own: true when it comes back. */
static bool comes_back(void (*call)(blv_run *run), blv_run *run) {
    pid_t child = fork();
    if (child == 0) {
        fclose(stderr);
        signal(SIGSEGV, SIG_DFL);
        call(run);
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void read_without_name(blv_run *run) {
    double host[DIM_MAX];
    if (blv_run_read(run, NULL, host) == BLV_OK)
        _exit(1);
}

static void write_without_name(blv_run *run) {
    if (blv_run_write(run, NULL, (double[DIM_MAX]){0.0}) == BLV_OK)
        _exit(1);
}

static void test_null_arguments(void **state) {
    (void)state;
    blv_message why = {""};
    blv_problem *problem = small_quadratic(BLV_F64);
    const blv_solver *solver = blv_solver_find(NULL, "soba", NULL);
    blv_run *run = (blv_run *)&why;
    assert_int_equal(blv_run_create(NULL, problem, solver, &why), BLV_E_ARGUMENT);
    expect_text(why.text, "NULL");
    assert_int_equal(blv_run_create(&run, NULL, solver, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_run_create(&run, problem, NULL, &why), BLV_E_ARGUMENT);
    const blv_solver no_step = {BLV_SIZED(blv_solver), .name = "no step", .open = open_nothing};
    const blv_solver no_open = {BLV_SIZED(blv_solver), .name = "no open", .step = step_nothing};
    const blv_solver no_name = {BLV_SIZED(blv_solver), .open = open_nothing, .step = step_nothing};
    assert_int_equal(blv_run_create(&run, problem, &no_step, &why), BLV_E_ARGUMENT);
    assert_null(run);
    expect_text(why.text, "step");
    assert_int_equal(blv_run_create(&run, problem, &no_open, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_run_create(&run, problem, &no_name, NULL), BLV_E_ARGUMENT);
    blv_run_destroy(NULL);

    run = make_run(problem, "soba", NULL);
    assert_int_equal(blv_run_set(run, NULL, "1"), BLV_E_ARGUMENT);
    assert_int_equal(blv_run_set(run, "iters", NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_run_read(run, "x", NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_run_write(run, "x", NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_run_trace(run, NULL), BLV_OK);
    assert_int_equal(blv_run_monitor(run, NULL, NULL, 1, 0.0), BLV_OK);
    assert_int_equal(blv_run_monitor(run, NULL, NULL, 0, -1.0), BLV_E_ARGUMENT);
    assert_int_equal(blv_run_monitor(run, NULL, NULL, 0, NAN), BLV_E_ARGUMENT);
    assert_int_equal(blv_run_start_random(run, INFINITY), BLV_E_ARGUMENT);
    assert_true(comes_back(read_without_name, run));
    assert_true(comes_back(write_without_name, run));
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* ---- Parameters ---- */

static void test_unknown_keys(void **state) {
    (void)state;
    static const struct {
        const char *solver, *key, *suggestion;
    } cases[] = {
        {"s-tfbo", "alpha", "'alpha0'"},    {"s-tfbo", "itres", "'iters'"},
        {"s-tfbo", "etay", "'eta_y'"},      {"d-tfbo", "gama0", "'gamma0'"},
        {"aid-cg", "stepx", "'step_x'"},    {"soba", "samler", "'sampler'"},
        {"exact", "acuracy", "'accuracy'"},
    };
    blv_problem *problem = small_quadratic(BLV_F64);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        blv_run *run = make_run(problem, cases[i].solver, NULL);
        assert_int_equal(blv_run_set(run, cases[i].key, "1"), BLV_E_NAME);
        expect_text(blv_run_message(run), "did you mean");
        expect_text(blv_run_message(run), cases[i].suggestion);
        expect_text(blv_run_message(run), cases[i].solver);
        assert_int_equal(blv_run_set(run, "something-else-entirely", "1"), BLV_E_NAME);
        assert_null(strstr(blv_run_message(run), "did you mean"));
        assert_int_equal(blv_run_set(run, "", "1"), BLV_E_NAME);
        blv_run_destroy(run);
    }
    blv_problem_destroy(problem);
}

static void test_values_out_of_range(void **state) {
    (void)state;
    static const struct {
        const char *key, *value, *expected;
    } cases[] = {
        {"iters", "-1", "a whole number from 0"},
        {"iters", "2.5", "or auto"},
        {"iters", "none", "or auto"},
        {"iters", "1e17", "9e+15"},
        {"seconds", "-0.1", "a number >= 0"},
        {"seconds", "soon", "or none"},
        {"budget", "0", "a whole number from 1"},
        {"budget", "", "or none"},
        {"tol", "-1e-9", "a number >= 0"},
        {"tol", "nan", "a number >= 0"},
        {"tol", "1e-6x", "a number >= 0"},
        {"target", "inf", "a number or none"},
        {"seed", "-3", "a whole number from 0"},
        {"batch", "0", "auto or full"},
        {"sampler", "random", "block, iid or shuffle"},
        {"every", "0", "a whole number from 1"},
        {"certify", "yes", "off, on or never"},
        {"iterates", "1", "off or on"},
        {"beta0", "0", "a number > 0"},
        {"alpha0", "0.5", "a number >= 1"},
        {"scale", "on", "off or auto"},
    };
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "s-tfbo", NULL);
    char before[64], after[64];
    for (size_t i = 0; i < LENGTH(cases); i++) {
        const blv_param *p = blv_params_find(blv_run_options(), cases[i].key);
        const void *fields = p ? blv_run_option_fields(run) : blv_run_solver_fields(run);
        p = p ? p : blv_params_find(blv_run_solver(run)->params, cases[i].key);
        assert_non_null(p);
        blv_params_format(p, fields, before, sizeof before);
        assert_int_equal(blv_run_set(run, cases[i].key, cases[i].value), BLV_E_VALUE);
        expect_text(blv_run_message(run), cases[i].key);
        expect_text(blv_run_message(run), cases[i].value);
        expect_text(blv_run_message(run), "expected");
        expect_text(blv_run_message(run), cases[i].expected);
        blv_params_format(p, fields, after, sizeof after);
        assert_string_equal(before, after);
    }
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* A number reaches the run as it is, and is rejected with the words that its text would get. */
static void test_set_numbers(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "s-tfbo", NULL), *other = make_run(problem, "s-tfbo", NULL);
    const double tol = 0.1 + 0.2;
    char text[64];
    assert_int_equal(blv_run_set_real(run, "tol", tol), BLV_OK);
    assert_int_equal(blv_run_set_int(run, "iters", 30), BLV_OK);
    assert_int_equal(blv_run_set_real(run, "beta0", tol), BLV_OK);
    blv_params_format(blv_params_find(blv_run_options(), "tol"), blv_run_option_fields(run), text,
                      sizeof text);
    assert_true(strtod(text, NULL) == tol);
    blv_params_format(blv_params_find(blv_run_solver(run)->params, "beta0"),
                      blv_run_solver_fields(run), text, sizeof text);
    assert_true(strtod(text, NULL) == tol);
    assert_int_equal(blv_run_set_real(run, "tol", -1.0), BLV_E_VALUE);
    assert_int_equal(blv_run_set(other, "tol", "-1"), BLV_E_VALUE);
    assert_string_equal(blv_run_message(run), blv_run_message(other));
    assert_int_equal(blv_run_set_int(run, "itres", 1), BLV_E_NAME);
    assert_int_equal(blv_run_set(other, "itres", "1"), BLV_E_NAME);
    assert_string_equal(blv_run_message(run), blv_run_message(other));
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_true(blv_run_result(run)->iterations <= 30);
    assert_int_equal(blv_run_set_int(run, "iters", 31), BLV_E_ORDER);
    assert_int_equal(blv_run_set_real(run, "tol", 1.0), BLV_E_ORDER);
    blv_run_destroy(run);
    blv_run_destroy(other);
    blv_problem_destroy(problem);
}

static void check_table(const blv_param *table, size_t size, const char *owner, bool of_solver) {
    void *fields = calloc(1, size ? size : 1);
    blv_message why = {""};
    char text[BLV_TEXT_SIZE], range[200];
    assert_non_null(fields);
    if (blv_params_default(table, fields, &why) != BLV_OK)
        fail_msg("%s: %s", owner, why.text);
    for (const blv_param *p = table; p && p->key; p++) {
        blv_params_format(p, fields, text, sizeof text);
        blv_params_range(p, range, sizeof range);
        assert_true(p->help && p->help[0] && range[0] && (text[0] || p->type == BLV_TEXT));
        if (blv_params_set(table, fields, owner, p->key, text, &why) != BLV_OK)
            fail_msg("%s", why.text);
        assert_ptr_equal(blv_params_find(table, p->key), p); /* no key twice */
        if (of_solver && blv_params_find(blv_run_options(), p->key))
            fail_msg("%s: %s hides an option of the run", owner, p->key);
    }
    free(fields);
}

static void test_every_default_is_valid(void **state) {
    (void)state;
    for (size_t i = 0; blv_solver_at(NULL, i); i++) {
        const blv_solver *s = blv_solver_at(NULL, i);
        check_table(s->params, s->state_size, s->name, true);
        assert_true(s->summary && s->citation && s->group && s->hint);
    }
    for (size_t i = 0; blv_family_at(NULL, i); i++) {
        const blv_problem_family *p = blv_family_at(NULL, i);
        check_table(p->params, p->params_size, p->name, false);
        assert_true(p->summary && p->formula);
    }
}

/* Every solver makes steps on every problem with nothing set, in both precisions. */
static void test_every_solver_on_every_problem(void **state) {
    (void)state;
    for (int precision = BLV_F64; precision <= BLV_F32; precision++)
        for (size_t p = 0; blv_builtin_problems[p]; p++) {
            const char *name = blv_builtin_problems[p]->name;
            blv_problem *problem = make_problem_in(name, needed_settings(blv_builtin_problems[p]),
                                                   (blv_precision)precision);
            bool singular = blv_problem_definition(problem)->singular_lower;
            if (blv_problem_definition(problem)->many_minimizers) {
                blv_problem_destroy(problem); /* test_nn_problems has these */
                continue;
            }
            for (size_t s = 0; blv_builtin_solvers[s]; s++) {
                blv_run *run = NULL;
                blv_message why = {""};
                blv_error error = blv_run_create(&run, problem, blv_builtin_solvers[s], &why);
                bool refused = singular && (blv_builtin_solvers[s]->uses & BLV_USES_INVERSE);
                assert_int_equal(error, refused ? BLV_E_UNSUPPORTED : BLV_OK);
                if (refused) {
                    expect_text(why.text, "singular");
                    expect_text(why.text, blv_builtin_solvers[s]->name);
                    continue;
                }
                assert_int_equal(blv_run_set(run, "iters", "5"), BLV_OK);
                assert_int_equal(blv_run_solve(run), BLV_OK);
                if (outcome_of(run) <= BLV_DIVERGED)
                    fail_msg("%s on %s: %s", blv_builtin_solvers[s]->name, name,
                             blv_run_message(run));
                blv_run_destroy(run);
            }
            blv_problem_destroy(problem);
        }
}

/* ---- State by name, starts ---- */

static void test_state_by_name(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "s-tfbo", SETTINGS("iters", "1"));
    const double x[3] = {1.0, -2.5, 3e-7}, v[4] = {4.0, 3.0, 2.0, 1.0}, bad[3] = {0.0, NAN, 0.0};
    double host[4] = {9.0, 9.0, 9.0, 9.0};
    assert_int_equal(blv_run_dim(run, "x"), 3);
    assert_int_equal(blv_run_dim(run, "y"), 4);
    assert_int_equal(blv_run_dim(run, "v"), 0); /* registered when the run is opened */
    assert_int_equal(blv_run_read(run, "v", host), BLV_E_NAME);
    assert_int_equal(blv_run_write(run, "v", v), BLV_E_NAME);
    expect_text(blv_run_message(run), "'v'");
    assert_int_equal(blv_run_read(run, "y", host), BLV_OK);
    for (int i = 0; i < 4; i++)
        assert_true(host[i] == 0.0);
    assert_int_equal(blv_run_open(run), BLV_OK);
    assert_int_equal(blv_run_dim(run, "v"), 4);
    assert_int_equal(blv_run_write(run, "v", v), BLV_OK);
    assert_int_equal(blv_run_write(run, "x", x), BLV_OK);
    assert_int_equal(blv_run_write(run, "x", bad), BLV_E_VALUE);
    expect_text(blv_run_message(run), "element 1");
    assert_int_equal(blv_run_read(run, "x", host), BLV_OK);
    assert_memory_equal(host, x, sizeof x);
    assert_int_equal(blv_run_read(run, "v", host), BLV_OK);
    assert_memory_equal(host, v, sizeof v);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* A number that overflows in single precision is as bad as an infinity. */
static void test_written_values_stay_finite_in_f32(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F32);
    blv_run *run = make_run(problem, "s-tfbo", NULL);
    assert_int_equal(blv_run_write(run, "x", (double[]){0.0, 1e39, 0.0}), BLV_E_VALUE);
    assert_true(all_finite(run, "x"));
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static void test_starts(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *a = make_run(problem, "soba", SETTINGS("seed", "5"));
    blv_run *b = make_run(problem, "exact", SETTINGS("seed", "5"));
    blv_run *c = make_run(problem, "soba", SETTINGS("seed", "6"));
    double x[3], x2[3], xc[3], y[4];
    assert_int_equal(blv_run_start_random(a, 2.0), BLV_OK);
    assert_int_equal(blv_run_start_random(b, 2.0), BLV_OK);
    assert_int_equal(blv_run_start_random(c, 2.0), BLV_OK);
    expect_same_vector(a, b, "x");
    expect_same_vector(a, b, "y");
    assert_int_equal(blv_run_read(a, "x", x), BLV_OK);
    assert_int_equal(blv_run_read(c, "x", xc), BLV_OK);
    assert_int_equal(blv_run_read(a, "y", y), BLV_OK);
    assert_memory_not_equal(x, xc, sizeof x);
    assert_memory_not_equal(x, y, sizeof x);
    assert_int_equal(blv_run_start_random(a, 4.0), BLV_OK);
    assert_int_equal(blv_run_read(a, "x", x2), BLV_OK);
    for (int i = 0; i < 3; i++)
        assert_true(x2[i] == 2.0 * x[i]);
    blv_run_destroy(a);
    blv_run_destroy(b);
    blv_run_destroy(c);
    blv_problem_destroy(problem);

    problem = make_problem("scalar-penalty", NULL); /* x >= 0 */
    a = make_run(problem, "s-tfbo", NULL);
    assert_int_equal(blv_run_write(a, "x", (double[]){-3.0}), BLV_OK);
    assert_int_equal(blv_run_read(a, "x", x), BLV_OK);
    assert_true(x[0] == 0.0);
    blv_run_destroy(a);
    blv_problem_destroy(problem);
}

/* ---- Memory ---- */

static void check_memory(const blv_problem *problem, const blv_solver *solver, bool more) {
    blv_run *run;
    long before = memory_live;
    assert_int_equal(blv_run_create(&run, problem, solver, NULL), BLV_OK);
    set_all(run, SETTINGS("sampler", "shuffle", "batch", "10"));
    if (more) {
        set_all(run, SETTINGS("certify", "on", "iterates", "on"));
        assert_int_equal(blv_run_trace(run, "unused.jsonl"), BLV_OK);
    }
    assert_int_equal(blv_run_open(run), BLV_OK);
    double taken_bytes = (double)(memory_live - before), told = (double)blv_run_memory(run);
    if (fabs(told - taken_bytes) >
        0.06 * taken_bytes) /* small blocks hold more than was asked for */
        fail_msg("%s: takes %.0f bytes and tells %.0f", solver->name, taken_bytes, told);
    blv_run_destroy(run);
    assert_int_equal(memory_live, before);
}

/* One problem with long vectors, one with many samples. */
static void test_memory_is_what_is_taken(void **state) {
    (void)state;
    blv_problem *problems[] = {
        make_problem("pl-shift", SETTINGS("dim", "20000")),
        make_problem("quadratic", SETTINGS("dx", "100", "dy", "100", "terms", "20000")),
    };
    for (size_t p = 0; p < LENGTH(problems); p++) {
        for (size_t s = 0; blv_builtin_solvers[s]; s++) {
            if (p == 1 && strcmp(blv_builtin_solvers[s]->name, "exact") == 0)
                continue; /* has no batches: nothing large in it */
            if (p == 0 && strcmp(blv_builtin_solvers[s]->name, "stable") == 0)
                continue; /* dense matrices: it refuses this size */
            check_memory(problems[p], blv_builtin_solvers[s], false);
            check_memory(problems[p], blv_builtin_solvers[s], true);
        }
        blv_problem_destroy(problems[p]);
    }
}

/* ---- Threads ---- */

typedef struct job {
    const blv_problem *problem;
    const char *solver;
    blv_run *run;
} job;

static void *run_job(void *context) {
    job *j = context;
    blv_run_create(&j->run, j->problem, blv_solver_find(NULL, j->solver, NULL), NULL);
    blv_run_set(j->run, "iters", "60");
    blv_run_set(j->run, "batch", "8");
    blv_run_set(j->run, "inner", "fixed"); /* d-tfbo: no tolerance is reached on batches */
    blv_run_solve(j->run);
    return NULL;
}

static void test_two_threads_give_the_same_bits(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "6", "dy", "9", "terms", "64"));
    for (size_t s = 0; blv_builtin_solvers[s]; s++) {
        job jobs[3];
        pthread_t threads[2];
        for (int i = 0; i < 3; i++)
            jobs[i] = (job){problem, blv_builtin_solvers[s]->name, NULL};
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
        for (int i = 0; i < 2; i++)
            pthread_join(threads[i], NULL);
        run_job(&jobs[2]);
        for (int i = 0; i < 2; i++) {
            expect_same_vector(jobs[i].run, jobs[2].run, "x");
            expect_same_vector(jobs[i].run, jobs[2].run, "y");
            expect_outcome(jobs[i].run, outcome_of(jobs[2].run));
        }
        for (int i = 0; i < 3; i++)
            blv_run_destroy(jobs[i].run);
    }
    blv_problem_destroy(problem);
}

int main(void) {
    /* Else it rises, and blocks may be larger ones of before: test_memory_is_what_is_taken. */
    mallopt(M_MMAP_THRESHOLD, 1 << 17);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),
        cmocka_unit_test(test_step_and_solve_agree),
        cmocka_unit_test(test_null_arguments),
        cmocka_unit_test(test_unknown_keys),
        cmocka_unit_test(test_values_out_of_range),
        cmocka_unit_test(test_every_default_is_valid),
        cmocka_unit_test(test_every_solver_on_every_problem),
        cmocka_unit_test(test_state_by_name),
        cmocka_unit_test(test_written_values_stay_finite_in_f32),
        cmocka_unit_test(test_starts),
        cmocka_unit_test(test_memory_is_what_is_taken),
        cmocka_unit_test(test_two_threads_give_the_same_bits),
        cmocka_unit_test(test_set_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
