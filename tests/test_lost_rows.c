/* A row of the trace that memory was too short for is left out and told; the others are whole. */
#include "run_testing.h"

#include <jansson.h>
#include <stdarg.h>

static long countdown = -1; /* the call that finds 0 fails; below 0 none does */

int __real_vfprintf(FILE *file, const char *format, va_list arguments);
int __wrap_vfprintf(FILE *file, const char *format, va_list arguments);
int __wrap_vfprintf(FILE *file, const char *format, va_list arguments) {
    if (countdown >= 0 && countdown-- == 0)
        return -1;
    return __real_vfprintf(file, format, arguments);
}

static void take_row(void *context, const blv_progress *progress, const char *text) {
    json_t *row = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(row);
    assert_int_equal(json_integer_value(json_object_get(row, "iteration")), progress->iteration);
    assert_non_null(json_object_get(row, "step_x"));
    json_decref(row);
    ++*(size_t *)context;
}

/* Rows that were handed out, and whether one was said to be missing. */
static size_t rows_with_fault(const blv_problem *problem, long at, bool *told) {
    size_t count = 0;
    blv_run *run = make_run(problem, "s-tfbo", SETTINGS("iters", "3", "every", "1"));
    assert_int_equal(blv_run_trace_callback(run, take_row, &count, true), BLV_OK);
    countdown = at;
    assert_int_equal(blv_run_solve(run), BLV_OK);
    *told = has_note(run, "a row of the trace is missing");
    blv_run_destroy(run);
    return count;
}

static void test_every_piece_of_every_row(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    bool told = true;
    size_t rows = rows_with_fault(problem, -1, &told);
    assert_int_equal(rows, 4);
    assert_false(told);
    long at = 0;
    for (; countdown < 0; at++) {
        size_t left = rows_with_fault(problem, at, &told);
        if (countdown < 0) {
            assert_int_equal(left, rows - 1);
            assert_true(told);
        }
    }
    assert_true(at > 40); /* pieces */
    countdown = -1;
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_piece_of_every_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
