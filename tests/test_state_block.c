/* State that is neither a vector of x or y nor a column of the trace: blocks and hidden scalars. */
#include "run_testing.h"

typedef struct counting {
    double *block;
    double hidden, shown;
} counting;

enum { BLOCK = 5000 };
static const char *block_name = "numbers";
static size_t block_size = BLOCK;
static double sum_seen;

static blv_error counting_open(blv_run *run, void *state) {
    counting *s = state;
    BLV_CHECK(blv_state_hidden(run, "hidden one", &s->hidden));
    BLV_CHECK(blv_state_scalar(run, "shown one", &s->shown));
    return block_size ? blv_state_block(run, block_name, block_size, &s->block) : BLV_OK;
}

/* Every number of the block is raised by one: it must be zero at first and keep its value. */
static blv_flow counting_step(blv_run *run, void *state) {
    counting *s = state;
    double t = (double)blv_run_iteration(run);
    sum_seen = 0.0;
    for (size_t i = 0; i < block_size; i++) {
        assert_true(s->block[i] == t);
        s->block[i] += 1.0;
        sum_seen += s->block[i];
    }
    s->shown = s->hidden += 1.0;
    return BLV_GO;
}

static const blv_solver counting_solver = {BLV_SIZED(blv_solver), .name = "counting",
                                           .state_size = sizeof(counting), .open = counting_open,
                                           .step = counting_step};

static blv_run *make_counting(const blv_problem *problem) {
    blv_run *run = NULL;
    assert_int_equal(blv_run_create(&run, problem, &counting_solver, NULL), BLV_OK);
    return run;
}

static void test_values_and_memory(void **state) {
    (void)state;
    for (int precision = BLV_F64; precision <= BLV_F32; precision++) {
        blv_problem *problem = small_quadratic((blv_precision)precision);
        block_size = 0;
        blv_run *without = make_counting(problem);
        assert_int_equal(blv_run_open(without), BLV_OK);
        block_size = BLOCK;
        blv_run *with = make_counting(problem);
        assert_int_equal(blv_run_open(with), BLV_OK);
        assert_true(blv_run_memory(with) - blv_run_memory(without) >= BLOCK * sizeof(double));
        for (int t = 0; t < 7; t++)
            assert_int_equal(blv_run_step(with), BLV_OK);
        assert_true(sum_seen == 7.0 * BLOCK);
        blv_run_destroy(with);
        blv_run_destroy(without);
        blv_problem_destroy(problem);
    }
}

static void test_bad_names(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    block_name = "a name that is longer than thirty-one letters";
    blv_run *run = make_counting(problem);
    assert_int_equal(blv_run_open(run), BLV_E_NAME);
    expect_text(blv_run_message(run), block_name);
    blv_run_destroy(run);
    block_name = "numbers";
    blv_problem_destroy(problem);
}

static void test_trace(void **state) {
    (void)state;
    char path[] = "trace-XXXXXX", text[4096] = "";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_counting(problem);
    set_all(run, SETTINGS("iters", "1"));
    assert_int_equal(blv_run_trace(run, path), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    unlink(path);
    assert_true(length > 0);
    expect_text(text, "\"shown one\":1");
    assert_null(strstr(text, "hidden one"));
    assert_null(strstr(text, "numbers"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_and_memory),
        cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
