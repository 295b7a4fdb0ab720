/* Problems on data at points that they have seen before: the bits of a problem that has not, from
 * one thread and from two at once, without memory being asked for, and where it was short. */
#include "bilevel/registry.h"
#include "run_testing.h"

#include "alloc_testing.h"

#include <pthread.h>
#include <unistd.h>

enum { ROWS = 150, COLUMNS = 11, CLASSES = 3, POINTS = 3, CALLS = 200 };

static char data_file[64];

static void remove_data_file(void) {
    remove(data_file);
}

static void write_data_file(void) {
    unsigned state = 1;
    snprintf(data_file, sizeof data_file, "kept_problems_%ld.svm", (long)getpid());
    FILE *file = fopen(data_file, "w");
    assert_non_null(file);
    for (int i = 0; i < ROWS; i++) {
        fprintf(file, "%d", i % CLASSES);
        for (int j = 1; j <= COLUMNS; j++) {
            state = state * 1103515245u + 12345u;
            fprintf(file, " %d:%g", j, (double)(state >> 16) / 65536.0 - 0.5);
        }
        fputc('\n', file);
    }
    assert_int_equal(fclose(file), 0);
    atexit(remove_data_file);
}

typedef struct form {
    const char *family, *layout;
    blv_precision precision;
} form;

static const form forms[] = {
    {"hyperclean", "dense", BLV_F64},  {"hyperclean", "dense", BLV_F32},
    {"hyperclean", "sparse", BLV_F64}, {"hyperclean", "sparse", BLV_F32},
    {"l2reg", "dense", BLV_F64},       {"l2reg", "dense", BLV_F32},
    {"l2reg", "sparse", BLV_F64},      {"l2reg", "sparse", BLV_F32},
};
enum { FORMS = sizeof forms / sizeof *forms };

static blv_problem *open_form(const form *f) {
    return make_problem_in(f->family, SETTINGS("train", data_file, "layout", f->layout),
                           f->precision);
}

/* Vectors of one problem's spaces, and room for what its oracles give. */
typedef struct place {
    const blv_problem_def *def;
    blv_vec *x[POINTS], *y[POINTS], *v[POINTS], *gy, *hv, *jv;
} place;

static blv_vec *vector(const blv_space *space, unsigned seed) {
    blv_vec *v = NULL;
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    const size_t n = blv_vec_dim(v);
    double *numbers = malloc(n * sizeof *numbers);
    assert_non_null(numbers);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1103515245u + 12345u;
        numbers[i] = (double)(seed >> 16) / 65536.0 - 0.5;
    }
    blv_vec_write(v, numbers);
    free(numbers);
    return v;
}

static void place_open(place *p, const blv_problem *problem) {
    p->def = blv_problem_definition(problem);
    for (unsigned i = 0; i < POINTS; i++) {
        p->x[i] = vector(p->def->space_x, 3 * i + 1);
        p->y[i] = vector(p->def->space_y, 3 * i + 2);
        p->v[i] = vector(p->def->space_y, 3 * i + 3);
    }
    p->gy = vector(p->def->space_y, 1);
    p->hv = vector(p->def->space_y, 1);
    p->jv = vector(p->def->space_x, 1);
}

static void place_close(place *p) {
    for (int i = 0; i < POINTS; i++) {
        blv_vec_destroy(p->x[i]);
        blv_vec_destroy(p->y[i]);
        blv_vec_destroy(p->v[i]);
    }
    blv_vec_destroy(p->gy);
    blv_vec_destroy(p->hv);
    blv_vec_destroy(p->jv);
}

enum { ASK_LOWER, ASK_HVP, ASK_CROSS, ASK_ALL, ASKED };

/* Which oracle at which point; outputs that it does not give become 0. */
typedef struct call {
    int oracle, x, y, v;
} call;

static void ask(place *p, call c) {
    const blv_problem_def *d = p->def;
    const blv_vec *x = p->x[c.x], *y = p->y[c.y], *v = p->v[c.v];
    int code = 0;
    blv_vec_fill(p->gy, 0.0);
    blv_vec_fill(p->hv, 0.0);
    blv_vec_fill(p->jv, 0.0);
    if (c.oracle == ASK_LOWER)
        code = d->lower(d->user, NULL, x, y, NULL, NULL, p->gy);
    else if (c.oracle == ASK_HVP)
        code = d->lower_hvp(d->user, NULL, x, y, v, p->hv);
    else if (c.oracle == ASK_CROSS)
        code = d->lower_cross(d->user, NULL, x, y, v, p->jv);
    else
        code = d->lower_all(d->user, NULL, x, y, v, p->gy, p->hv, p->jv);
    assert_int_equal(code, 0);
}

/* All outputs as one row of numbers. */
static double *answers_of(const place *p, size_t *count) {
    const size_t y = blv_vec_dim(p->gy), x = blv_vec_dim(p->jv);
    double *all = malloc((2 * y + x) * sizeof *all);
    assert_non_null(all);
    blv_vec_read(p->gy, all);
    blv_vec_read(p->hv, all + y);
    blv_vec_read(p->jv, all + 2 * y);
    *count = 2 * y + x;
    return all;
}

static int place_of_call(call c) {
    return ((c.oracle * POINTS + c.x) * POINTS + c.y) * POINTS + c.v;
}
enum { DIFFERENT_CALLS = ASKED * POINTS * POINTS * POINTS };

/* What every call gives on a problem that was not asked before. */
static void expected_answers(const form *f, double *expected[DIFFERENT_CALLS]) {
    for (int asked = 0; asked < ASKED; asked++)
        for (int k = 0; k < POINTS * POINTS * POINTS; k++) {
            const call c = {asked, k / POINTS / POINTS, k / POINTS % POINTS, k % POINTS};
            blv_problem *problem = open_form(f);
            place p;
            size_t count;
            place_open(&p, problem);
            ask(&p, c);
            expected[place_of_call(c)] = answers_of(&p, &count);
            place_close(&p);
            blv_problem_destroy(problem);
        }
}

static void free_answers(double *answers[DIFFERENT_CALLS]) {
    for (int i = 0; i < DIFFERENT_CALLS; i++)
        free(answers[i]);
}

/* Mostly the y of the call before. */
static call next_call(unsigned *state, int y) {
    *state = *state * 1103515245u + 12345u;
    const unsigned draw = *state >> 16;
    return (call){(int)(draw % ASKED), (int)(draw / 4 % POINTS),
                  draw / 16 % 5 == 0 ? (int)(draw / 128 % POINTS) : y, (int)(draw / 512 % POINTS)};
}

typedef struct job {
    const blv_problem *problem;
    double **expected;
    unsigned seed;
    int wrong;
} job;

static void *many_calls(void *context) {
    job *j = context;
    place p;
    place_open(&p, j->problem);
    for (int i = 0, y = 0; i < CALLS; i++) {
        const call c = next_call(&j->seed, y);
        size_t count;
        ask(&p, c);
        double *got = answers_of(&p, &count);
        j->wrong += memcmp(got, j->expected[place_of_call(c)], count * sizeof *got) != 0;
        free(got);
        y = c.y;
    }
    place_close(&p);
    return NULL;
}

static void test_bits(void **state) {
    (void)state;
    for (size_t f = 0; f < FORMS; f++) {
        double *expected[DIFFERENT_CALLS];
        expected_answers(&forms[f], expected);
        blv_problem *problem = open_form(&forms[f]);
        job alone = {problem, expected, 1, 0};
        many_calls(&alone);
        assert_int_equal(alone.wrong, 0);
        job both[2] = {{problem, expected, 2, 0}, {problem, expected, 3, 0}};
        pthread_t thread[2];
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_create(&thread[i], NULL, many_calls, &both[i]), 0);
        for (int i = 0; i < 2; i++)
            pthread_join(thread[i], NULL);
        assert_int_equal(both[0].wrong + both[1].wrong, 0);
        blv_problem_destroy(problem);
        free_answers(expected);
    }
}

static void test_no_memory_asked_for(void **state) {
    (void)state;
    for (size_t f = 0; f < FORMS; f++) {
        blv_problem *problem = open_form(&forms[f]);
        place p;
        unsigned seed = 4;
        place_open(&p, problem);
        const long before = memory_calls;
        for (int i = 0, y = 0; i < CALLS; i++) {
            const call c = next_call(&seed, y);
            ask(&p, c);
            y = c.y;
        }
        assert_int_equal(memory_calls - before, 0);
        place_close(&p);
        blv_problem_destroy(problem);
    }
}

/* A problem that got no room to keep anything, or less than it asked for, gives the same bits. */
static void test_short_of_memory(void **state) {
    (void)state;
    const blv_problem_family *family = blv_family_find(NULL, "hyperclean", NULL);
    const blv_problem_options options = {
        .size = sizeof(blv_problem_options), .precision = BLV_F64, .threads = 1};
    double *expected[DIFFERENT_CALLS];
    expected_answers(&forms[0], expected);
    int without = 0;
    for (long n = 0, failed = 1; failed; n++) {
        blv_problem *problem = NULL;
        fail_request(n);
        const blv_error error = blv_problem_from_family(
            family, SETTINGS("train", data_file, "layout", "dense"), &options, &problem, NULL);
        failed = a_request_failed();
        if (error != BLV_OK)
            continue;
        job alone = {problem, expected, 5, 0};
        many_calls(&alone);
        assert_int_equal(alone.wrong, 0);
        blv_problem_destroy(problem);
        without += failed != 0;
    }
    assert_true(without >= 2); /* probabilities, copy of W */
    free_answers(expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_no_memory_asked_for),
        cmocka_unit_test(test_short_of_memory),
    };
    write_data_file();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
