/* Calls of which one argument is NULL, or none of what is expected, while all others are sound:
 * refused, with nothing done. After api_null, where the first one is missing. */
#include "run_testing.h"

#include "bilevel/certificate.h"
#include "bilevel/npz.h"
#include "bilevel/ranks.h"
#include "bilevel/store.h"
#include "core/problem_private.h"
#include "core/run_private.h"
#include "npz_helpers.h"
#include "space/elements.h"
#include "space/space_private.h"

#define REFUSES(call) assert_int_equal(call, BLV_E_ARGUMENT)

static void test_lower_level(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_vec *x, *y, *b, *v, *other;
    blv_space *space;
    blv_message why = {""};
    double norm = 0.0;
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
    assert_int_equal(blv_vec_create(&b, def->space_y), BLV_OK);
    assert_int_equal(blv_vec_create(&v, def->space_y), BLV_OK);
    assert_int_equal(blv_space_create_host(&space, 99, BLV_F64, 1), BLV_OK);
    assert_int_equal(blv_vec_create(&other, space), BLV_OK);
    blv_vec_fill(x, 0.0);
    blv_vec_fill(y, 0.0);
    blv_vec_fill(v, 0.0);
    blv_vec_fill(b, 1.0);
#define ADJOINT(p, x_, y_, b_, v_, tol, norm_)                                                     \
    blv_solve_adjoint(p, x_, y_, b_, v_, tol, NULL, NULL, norm_, &why)
    assert_int_equal(ADJOINT(problem, x, y, b, v, 1e-9, &norm), BLV_OK);
    assert_true(norm <= 1e-8);
    REFUSES(ADJOINT(problem, NULL, y, b, v, 1e-9, &norm));
    REFUSES(ADJOINT(problem, x, NULL, b, v, 1e-9, &norm));
    REFUSES(ADJOINT(problem, x, y, NULL, v, 1e-9, &norm));
    REFUSES(ADJOINT(problem, x, y, b, NULL, 1e-9, &norm));
    REFUSES(ADJOINT(problem, x, y, b, v, -1.0, &norm));
    REFUSES(ADJOINT(problem, x, y, b, v, NAN, &norm));
    REFUSES(ADJOINT(problem, x, y, b, v, 1e-9, NULL));
    expect_text(why.text, "a bad argument");
    REFUSES(ADJOINT(problem, other, y, b, v, 1e-9, &norm));
    REFUSES(ADJOINT(problem, x, other, b, v, 1e-9, &norm));
    REFUSES(ADJOINT(problem, x, y, other, v, 1e-9, &norm));
    REFUSES(ADJOINT(problem, x, y, b, other, 1e-9, &norm));
    expect_text(why.text, "vectors are not of the problem's spaces");
#define LOWER(p, x_, y_, tol, norm_) blv_solve_lower(p, x_, y_, tol, NULL, NULL, norm_, &why)
    assert_int_equal(LOWER(problem, x, y, 1e-9, &norm), BLV_OK);
    REFUSES(LOWER(problem, NULL, y, 1e-9, &norm));
    REFUSES(LOWER(problem, x, NULL, 1e-9, &norm));
    REFUSES(LOWER(problem, x, y, NAN, &norm));
    REFUSES(LOWER(problem, x, y, 1e-9, NULL));
    REFUSES(LOWER(problem, x, other, 1e-9, &norm));
    REFUSES(LOWER(problem, other, y, 1e-9, &norm));
    /* what cannot be told apart becomes NaN */
    blv_vec_combine(y, 1.0, NULL, 1.0, y);
    assert_true(isnan(blv_vec_norm(y)));
    blv_vec_fill(y, 1.0);
    blv_vec_combine(y, 1.0, other, 1.0, y);
    assert_true(isnan(blv_vec_norm(y)));
    blv_vec_fill(y, 1.0);
    blv_vec_combine(y, 1.0, b, 1.0, other);
    assert_true(isnan(blv_vec_norm(y)));
    blv_vec_combine(NULL, 1.0, y, 1.0, y);
    blv_vec *const all[] = {x, y, b, v, other};
    for (size_t i = 0; i < LENGTH(all); i++)
        blv_vec_destroy(all[i]);
    blv_space_destroy(space);
    blv_problem_destroy(problem);
}

static void test_spaces(void **state) {
    (void)state;
    blv_space *space;
    blv_message why = {""};
    assert_int_equal(blv_space_create_host(&space, 3, BLV_F64, 1), BLV_OK);
    assert_int_equal(blv_space_local_dim(NULL), 0);
    assert_int_equal(blv_space_memory(NULL), BLV_MEMORY_OTHER);
    assert_null(blv_space_name(NULL));
    assert_null(blv_space_ranks(NULL));
    assert_null(blv_space_ranks(space));
    assert_false(blv_space_agrees(NULL));
    assert_false(blv_space_agrees(space));
    assert_true(blv_space_agree(NULL, 2.5) == 2.5 && blv_space_agree(space, 2.5) == 2.5);
    assert_null(blv_vec_elements(NULL));
    assert_null(blv_vec_elements_mut(NULL));
    assert_int_equal(blv_space_error(NULL, &why), BLV_E_ARGUMENT);
    /* the first failure stays; what is none changes nothing */
    blv_space_fail(NULL, BLV_E_DEVICE, "%s", "nobody");
    blv_space_fail(space, BLV_OK, "%s", "well");
    blv_space_fail(space, BLV_E_DEVICE, NULL);
    assert_int_equal(blv_space_error(space, &why), BLV_OK);
    blv_space_fail(space, BLV_E_DEVICE, "%s", "first");
    blv_space_fail(space, BLV_E_MEMORY, "%s", "second");
    assert_int_equal(blv_space_error(space, &why), BLV_E_DEVICE);
    assert_string_equal(why.text, "first");
    blv_space_destroy(space);
}

static void test_notes_of_runs(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "soba", NULL);
    blv_run_note(NULL, "%s", "none");
    blv_run_note(run, NULL);
    assert_int_equal(run->note_count, 0);
    blv_run_note(run, "of %s", "one");
    blv_run_note(run, "of %s", "another"); /* told once */
    assert_int_equal(run->note_count, 1);
    assert_string_equal(run->notes[0].text, "of one");
    blv_run_unnote(NULL, "of %s");
    blv_run_unnote(run, NULL);
    blv_run_unnote(run, "of something else");
    assert_int_equal(run->note_count, 1);
    blv_run_unnote(run, "of %s");
    assert_int_equal(run->note_count, 0);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static void test_archives(void **state) {
    (void)state;
    const size_t two = 2;
    const double values[] = {1.0, 2.0};
    const char *const names[] = {"a", NULL};
    blv_npz_writer *writer = NULL;
    blv_message why = {""};
    REFUSES(blv_npz_create(&writer, NULL, &why));
    REFUSES(blv_npz_create(&writer, "", &why));
    REFUSES(blv_npz_create(NULL, in_folder("a.npz"), &why));
    REFUSES(blv_npz_create_to(&writer, "a", NULL, NULL, &why));
    const char *path = in_folder("a.npz");
    assert_int_equal(blv_npz_create(&writer, path, &why), BLV_OK);
    assert_int_equal(blv_npz_add_f64(writer, "v", 1, &two, values, &why), BLV_OK);
    REFUSES(blv_npz_add_names(writer, "n", names, 2, &why));
    REFUSES(blv_npz_add_names(writer, "n", NULL, 2, &why));
    assert_int_equal(blv_npz_add_names(writer, "n", names, 1, &why), BLV_OK);
    assert_int_equal(blv_npz_commit(writer, &why), BLV_OK);
    blv_npz *npz = NULL;
    blv_array about;
    double *data = NULL;
    char **read = NULL, *text = NULL;
    size_t count = 0;
    assert_int_equal(blv_npz_open(&npz, in_folder("a.npz"), &why), BLV_OK);
    REFUSES(blv_npz_info(npz, NULL, &about, &why));
    REFUSES(blv_npz_info(npz, "v", NULL, &why));
    REFUSES(blv_npz_read_f64(npz, NULL, &data, &about, &why));
    REFUSES(blv_npz_read_f64(npz, "v", NULL, &about, &why));
    REFUSES(blv_npz_read_names(npz, NULL, &read, &count, &why));
    REFUSES(blv_npz_read_names(npz, "n", NULL, &count, &why));
    REFUSES(blv_npz_read_names(npz, "n", &read, NULL, &why));
    REFUSES(blv_npz_read_text(npz, NULL, &text, &why));
    REFUSES(blv_npz_read_text(npz, "n", NULL, &why));
    assert_int_equal(blv_npz_read_f64(npz, "v", &data, NULL, &why), BLV_OK);
    assert_true(data[0] == 1.0 && data[1] == 2.0);
    free(data);
    blv_npz_close(npz);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lower_level),
        cmocka_unit_test(test_spaces),
        cmocka_unit_test(test_notes_of_runs),
        cmocka_unit_test(test_archives),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
