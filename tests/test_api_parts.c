/* Spaces, problems, solvers and families of a user's own of which a part is missing or does not fit
 * the others: refused when they are handed over, with what is missing. */
#include "bilevel/certificate.h"
#include "bilevel/registry.h"
#include "run_testing.h"

#include "naive_space.h"

/* ---- Spaces ---- */

static void test_spaces(void **state) {
    (void)state;
    naive_counts counts;
    blv_space *whole = naive_space(3, &counts), *space;
    assert_non_null(whole);
    const blv_space_ops complete = *naive_space_ops();
    for (size_t part = 0; part < offsetof(blv_space_ops, lincomb); part += sizeof(void *)) {
        if (part == offsetof(blv_space_ops, memory))
            continue;
        blv_space_ops ops = complete;
        memset((char *)&ops + part, 0, sizeof(void *));
        space = (blv_space *)&ops;
        assert_int_equal(blv_space_create(&space, &ops, 3, BLV_F64, NULL), BLV_E_ARGUMENT);
        assert_null(space);
    }
    assert_int_equal(blv_space_create(&space, &complete, 0, BLV_F64, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_space_create(&space, &complete, 3, (blv_precision)7, NULL),
                     BLV_E_ARGUMENT);
    blv_space_destroy(whole);
}

/* ---- Problems ---- */

static void refuse_problem(const blv_problem_def *def, const char *part) {
    blv_message why = {""};
    blv_problem *problem = (blv_problem *)&why;
    assert_int_equal(blv_problem_create(&problem, def, &why), BLV_E_ARGUMENT);
    assert_null(problem);
    expect_text(why.text, part);
}

static void test_problems(void **state) {
    (void)state;
    blv_problem *base = small_quadratic(BLV_F64), *problem;
    const blv_problem_def *from = blv_problem_definition(base);
    const blv_problem_def whole = {
        BLV_SIZED(blv_problem_def), .dim_x = 3,           .dim_y = 4,
        .user = from->user,         .upper = from->upper, .lower = from->lower};
    assert_int_equal(blv_problem_create(&problem, &whole, NULL), BLV_OK);
    blv_problem_destroy(problem);
    blv_problem_def def = whole;
    def.upper = NULL;
    refuse_problem(&def, "`upper` is missing");
    def = whole;
    def.lower = NULL;
    refuse_problem(&def, "`lower` is missing");
    def = whole;
    def.dim_x = 0;
    refuse_problem(&def, "dim_x is 0");
    def = whole;
    def.dim_y = 0;
    refuse_problem(&def, "dim_y is 0");
    def = whole;
    def.threads = -1;
    refuse_problem(&def, "threads is -1");
    blv_problem_destroy(base);
}

static void test_families(void **state) {
    (void)state;
    blv_registry *registry;
    blv_problem *problem = NULL;
    const blv_problem_family whole = *blv_family_find(NULL, "quadratic", NULL);
    blv_problem_family family = whole;
    assert_int_equal(blv_registry_create(&registry), BLV_OK);
    family.name = NULL;
    assert_int_equal(blv_registry_add_family(registry, &family, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_problem_from_family(&family, NULL, NULL, &problem, NULL), BLV_E_ARGUMENT);
    family = whole;
    family.create = NULL;
    assert_int_equal(blv_registry_add_family(registry, &family, NULL), BLV_E_ARGUMENT);
    assert_int_equal(blv_problem_from_family(&family, NULL, NULL, &problem, NULL), BLV_E_ARGUMENT);
    family = whole; /* a name that is taken */
    assert_int_equal(blv_registry_add_family(registry, &family, NULL), BLV_E_NAME);
    assert_null(problem);
    blv_registry_destroy(registry);
}

/* ---- Solvers ---- */

static void test_solvers(void **state) {
    (void)state;
    blv_registry *registry;
    blv_message why = {""};
    blv_problem *problem = small_quadratic(BLV_F64);
    const blv_solver whole = *blv_solver_find(NULL, "s-tfbo", NULL);
    assert_int_equal(blv_registry_create(&registry), BLV_OK);
    for (int part = 0; part < 3; part++) {
        blv_solver solver = whole;
        blv_run *run = (blv_run *)&why;
        if (part == 0)
            solver.name = NULL;
        else if (part == 1)
            solver.open = NULL;
        else
            solver.step = NULL;
        assert_int_equal(blv_registry_add_solver(registry, &solver, NULL), BLV_E_ARGUMENT);
        assert_int_equal(blv_run_create(&run, problem, &solver, &why), BLV_E_ARGUMENT);
        assert_null(run);
        expect_text(why.text, "name, open and step");
    }
    assert_int_equal(blv_registry_add_solver(registry, &whole, NULL), BLV_E_NAME);
    blv_registry_destroy(registry);
    blv_problem_destroy(problem);
}

/* ---- Vectors of another space ---- */

static void test_foreign_vectors(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_vec *x, *y;
    blv_certificate certificate;
    double gy_norm = 1.0;
    blv_message why = {""};
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
    blv_vec *const wrong[][3] = {{y, y, y}, {x, x, y}, {x, y, x}};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        assert_int_equal(
            blv_certify(problem, wrong[i][0], wrong[i][1], wrong[i][2], &certificate, NULL, &why),
            BLV_E_ARGUMENT);
        expect_text(why.text, "not of the problem's spaces");
    }
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(
            blv_solve_lower(problem, wrong[i][0], wrong[i][1], 0.1, NULL, NULL, &gy_norm, &why),
            BLV_E_ARGUMENT);
    assert_true(gy_norm == 1.0);
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    blv_problem_destroy(problem);
}

/* Residuals from the problem's own product with H. */
static void test_adjoint(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_vec *x, *y, *b, *v, *hv;
    double residual = 1.0;
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    blv_vec **const lower[] = {&y, &b, &v, &hv};
    for (size_t i = 0; i < LENGTH(lower); i++)
        assert_int_equal(blv_vec_create(lower[i], def->space_y), BLV_OK);
    blv_vec_fill(b, 0.5);
    assert_int_equal(blv_solve_adjoint(problem, x, y, b, v, 1e-10, NULL, NULL, &residual, NULL),
                     BLV_OK);
    assert_int_equal(def->lower_hvp(def->user, NULL, x, y, v, hv), 0);
    blv_vec_axpy(hv, -1.0, b);
    assert_true(residual <= 1e-10 && blv_vec_norm(hv) <= 1e-9);
    blv_vec_destroy(x);
    for (size_t i = 0; i < LENGTH(lower); i++)
        blv_vec_destroy(*lower[i]);
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spaces),          cmocka_unit_test(test_problems),
        cmocka_unit_test(test_families),        cmocka_unit_test(test_solvers),
        cmocka_unit_test(test_foreign_vectors), cmocka_unit_test(test_adjoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
