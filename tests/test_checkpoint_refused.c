/* Checkpoints that do not fit the run, or are damaged, are refused and leave the run as it was. */
#include "bilevel/checkpoint.h"
#include "checkpoint_testing.h"

#include "core/workspace.h"
#include "registry/builtin.h"

/* ---- Refusals ---- */

typedef struct difference {
    const char *solver;
    const char *problem;
    blv_precision precision;
    const char *problem_settings[8];
    const char *settings[8];
    const char *words;
} difference;

static void test_refused_with_the_difference(void **state) {
    (void)state;
    static const difference same = {
        "s-tfbo", "quadratic", BLV_F64, {"dx", "3", "terms", "5", NULL}, {"seed", "1", NULL}, NULL};
    static const difference others[] = {
        {"soba",
         "quadratic",
         BLV_F64,
         {"dx", "3", "terms", "5"},
         {"seed", "1"},
         "solver is soba here and s-tfbo in the checkpoint"},
        {"s-tfbo",
         "parabola",
         BLV_F64,
         {NULL},
         {"seed", "1"},
         "problem is parabola here and quadratic in the checkpoint"},
        {"s-tfbo",
         "quadratic",
         BLV_F32,
         {"dx", "3", "terms", "5"},
         {"seed", "1"},
         "precision is f32 here and f64 in the checkpoint"},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "4", "terms", "5"},
         {"seed", "1"},
         "dimension of x is 4 here and 3 in the checkpoint"},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "3", "dy", "2", "terms", "5"},
         {"seed", "1"},
         "dimension of y is 2 here and "},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "3", "terms", "6"},
         {"seed", "1"},
         "samples of f is 6 here and 5 in the checkpoint"},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "3", "terms", "5", "kappa", "7"},
         {"seed", "1"},
         "fingerprint of the data is "},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "3", "terms", "5"},
         {"seed", "2"},
         "seed is 2 here and 1 in the checkpoint"},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "3", "terms", "5"},
         {"seed", "1", "batch", "2"},
         "batch is 2 here and auto in the checkpoint"},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "3", "terms", "5"},
         {"seed", "1", "sampler", "iid"},
         "sampler is iid here and block in the checkpoint"},
        {"s-tfbo",
         "quadratic",
         BLV_F64,
         {"dx", "3", "terms", "5"},
         {"seed", "1", "eta_x", "0.5"},
         "parameter eta_x is 0.5 here and 1 in the checkpoint"},
    };
    blv_problem *problem = make_problem(same.problem, same.problem_settings);
    blv_run *run = make_run(problem, same.solver, same.settings);
    steps(run, 5);
    image at = image_of(run);
    for (size_t i = 0; i < LENGTH(others); i++) {
        const difference *d = &others[i];
        blv_problem *elsewhere = make_problem_in(d->problem, d->problem_settings, d->precision);
        blv_run *other = make_run(elsewhere, d->solver, d->settings);
        blv_run *fresh = make_run(elsewhere, d->solver, d->settings);
        assert_int_equal(blv_run_load_from(other, at.bytes, at.size), BLV_E_VALUE);
        expect_text(blv_run_message(other), d->words);
        steps(other, 3);
        steps(fresh, 3);
        expect_same_state(other, fresh, "a refused checkpoint changed the run");
        blv_run_destroy(other);
        blv_run_destroy(fresh);
        blv_problem_destroy(elsewhere);
    }
    free_image(&at);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

/* What `open` makes of an automatic parameter counts: T follows the iteration limit. */
static void test_planned_iterations_differ(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "d-tfbo", SETTINGS("iters", "5"));
    blv_run *other = make_run(problem, "d-tfbo", SETTINGS("iters", "9"));
    solve_to_end(run);
    image at = image_of(run);
    assert_int_equal(blv_run_load_from(other, at.bytes, at.size), BLV_E_VALUE);
    expect_text(blv_run_message(other), "parameter T is 9 here and 5 in the checkpoint");
    free_image(&at);
    blv_run_destroy(run);
    blv_run_destroy(other);
    blv_problem_destroy(problem);
}

/* ---- Damage ---- */

/* Refused with a message, or a byte that does not count: then the state is whole. */
static void expect_refused_or_whole(const blv_problem *problem, const image *damaged,
                                    blv_run *whole, size_t at, long *refused) {
    blv_run *run = make_run(problem, "soba", SETTINGS("batch", "2"));
    blv_error error = blv_run_load_from(run, damaged->bytes, damaged->size);
    if (error == BLV_OK) {
        char what[60];
        snprintf(what, sizeof what, "byte %zu is damaged", at);
        expect_same_state(run, whole, what);
    } else {
        ++*refused;
        if (strlen(blv_run_message(run)) < 15)
            fail_msg("byte %zu: message '%s'", at, blv_run_message(run));
        assert_true(blv_run_result(run)->iterations == 0);
    }
    blv_run_destroy(run);
}

static void test_damaged_bytes(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("dx", "2", "dy", "2", "terms", "5"));
    blv_run *whole = make_run(problem, "soba", SETTINGS("batch", "2"));
    steps(whole, 7);
    image at = image_of(whole);
    long refused = 0, cut = 0;
    for (size_t i = 0; i < at.size; i++) {
        at.bytes[i] ^= 0x41;
        expect_refused_or_whole(problem, &at, whole, i, &refused);
        at.bytes[i] ^= 0x41;
    }
    assert_true(refused > (long)at.size / 2); /* the rest is padding */
    for (size_t size = 0; size < at.size; size += 13)
        expect_refused_or_whole(problem, &(image){at.bytes, size}, whole, size, &cut);
    assert_int_equal(cut, (at.size + 12) / 13);
    free_image(&at);
    blv_run_destroy(whole);
    blv_problem_destroy(problem);
}

typedef struct change {
    const char *from, *to; /* in the lines */
    const char *drop;      /* array to leave out */
    const char *spoil;     /* array to get this first number */
    double number;
    const char *add; /* array to add */
    const char *words;
} change;

static void copy_changed(blv_npz *file, const change *c, image *out) {
    blv_message why = {""};
    blv_npz_writer *writer = NULL;
    assert_int_equal(blv_npz_create_to(&writer, "copy", take_bytes, out, &why), BLV_OK);
    for (size_t i = 0; i < blv_npz_count(file); i++) {
        const char *name = blv_npz_name(file, i);
        if (c->drop && strcmp(name, c->drop) == 0)
            continue;
        if (strcmp(name, "checkpoint") == 0) {
            char *text = lines_of(file), changed[8192];
            char *found = c->from ? strstr(text, c->from) : NULL;
            assert_true(!c->from || found);
            if (found)
                snprintf(changed, sizeof changed, "%.*s%s%s", (int)(found - text), text, c->to,
                         found + strlen(c->from));
            else
                snprintf(changed, sizeof changed, "%s", text);
            assert_int_equal(blv_npz_add_text(writer, name, changed, &why), BLV_OK);
            free(text);
            continue;
        }
        double *values = NULL;
        blv_array about;
        assert_int_equal(blv_npz_read_f64(file, name, &values, &about, &why), BLV_OK);
        if (c->spoil && strcmp(name, c->spoil) == 0)
            values[0] = c->number;
        assert_int_equal(blv_npz_add_f64(writer, name, about.ndim, about.shape, values, &why),
                         BLV_OK);
        free(values);
    }
    if (c->add)
        assert_int_equal(blv_npz_add_f64(writer, c->add, 0, NULL, &c->number, &why), BLV_OK);
    assert_int_equal(blv_npz_commit(writer, &why), BLV_OK);
}

static void test_refused_contents(void **state) {
    (void)state;
    static const change changes[] = {
        {"version\t2\n", "version\t1\n", NULL, NULL, 0, NULL, "version 1"},
        {"version\t2\n", "", NULL, NULL, 0, NULL, "version"},
        {"bilevel checkpoint", "something else", NULL, NULL, 0, NULL, "not a checkpoint"},
        {"run/iterations\t2", "run/iterations\tmany", NULL, NULL, 0, NULL, "run/iterations"},
        {"run/moves\t", "run/mover\t", NULL, NULL, 0, NULL, "run/moves"},
        {"run/phase\tstepping", "run/phase\tdancing", NULL, NULL, 0, NULL, "run/phase"},
        {"run/outcome\t0", "run/outcome\t77", NULL, NULL, 0, NULL, "run/outcome"},
        {"moved/y\t", "moved/z\t", NULL, NULL, 0, NULL, "moved/y"},
        {"same/seed\t0", "same/seed\t0\nsame/weather\tfine", NULL, NULL, 0, NULL,
         "weather is not known here and fine in the checkpoint"},
        {"same/solver\texact\n", "", NULL, NULL, 0, NULL,
         "solver is exact here and not known in the checkpoint"},
        {NULL, NULL, "checkpoint", NULL, 0, NULL, "not a checkpoint"},
        {NULL, NULL, "vector/v", NULL, 0, NULL, "vector/v"},
        {NULL, NULL, NULL, "vector/x", NAN, NULL, "vector/x"},
        {NULL, NULL, NULL, "lbfgs/lbfgs", 99.0, NULL, "lbfgs/lbfgs"},
        {NULL, NULL, NULL, "lbfgs/lbfgs", 0.5, NULL, "lbfgs/lbfgs"},
        {NULL, NULL, NULL, "run/clock and metrics", -1.0, NULL, "clock"},
        {NULL, NULL, NULL, NULL, 1.0, "vector/w", "another version"},
    };
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "exact", SETTINGS("memory", "2"));
    steps(run, 2);
    image at = image_of(run);
    blv_npz *file = open_image(&at);
    for (size_t i = 0; i < LENGTH(changes); i++) {
        image changed = {NULL, 0};
        copy_changed(file, &changes[i], &changed);
        blv_run *other = make_run(problem, "exact", SETTINGS("memory", "2"));
        assert_int_not_equal(blv_run_load_from(other, changed.bytes, changed.size), BLV_OK);
        expect_text(blv_run_message(other), changes[i].words);
        blv_run_destroy(other);
        free_image(&changed);
    }
    blv_npz_close(file);
    free_image(&at);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static void test_bad_sampler_position(void **state) {
    (void)state;
    blv_problem *problem = make_problem("quadratic", SETTINGS("terms", "9"));
    blv_run *run = make_run(problem, "soba", SETTINGS("batch", "4"));
    steps(run, 4);
    image at = image_of(run), changed = {NULL, 0};
    blv_npz *file = open_image(&at);
    copy_changed(file, &(const change){.spoil = "sampler/g batch", .number = -1.0}, &changed);
    blv_run *other = make_run(problem, "soba", SETTINGS("batch", "4"));
    assert_int_equal(blv_run_load_from(other, changed.bytes, changed.size), BLV_E_FORMAT);
    expect_text(blv_run_message(other), "sampler/g batch");
    blv_npz_close(file);
    free_image(&at);
    free_image(&changed);
    blv_run_destroy(run);
    blv_run_destroy(other);
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_with_the_difference),
        cmocka_unit_test(test_planned_iterations_differ),
        cmocka_unit_test(test_damaged_bytes),
        cmocka_unit_test(test_refused_contents),
        cmocka_unit_test(test_bad_sampler_position),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
