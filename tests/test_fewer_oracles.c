/* A problem without some of its second derivatives: the checks of what is left, a certificate that
 * agrees with that of the whole problem, and runs that end at a finite point. */
#include "run_testing.h"

#include "bilevel/certificate.h"

enum {
    WITH_HVP = 1,
    WITH_CROSS = 2,
    WITH_ALL = 4,
    WITH_HESSIAN = 8,
    WITH_MATRIX = 16,
    SUBSETS = 32
};

/* The user's data stay those of the whole problem, which must live as long. */
static blv_problem *make_subset(const blv_problem *whole, unsigned has) {
    blv_problem_def def = *blv_problem_definition(whole);
    blv_problem *problem = NULL;
    blv_message why = {""};
    def.free_user = NULL;
    def.space_x = def.space_y = NULL;
    def.lower_hvp = has & WITH_HVP ? def.lower_hvp : NULL;
    def.lower_cross = has & WITH_CROSS ? def.lower_cross : NULL;
    def.lower_all = has & WITH_ALL ? def.lower_all : NULL;
    def.lower_hessian_matrix = has & WITH_HESSIAN ? def.lower_hessian_matrix : NULL;
    def.lower_cross_matrix = has & WITH_MATRIX ? def.lower_cross_matrix : NULL;
    if (blv_problem_create(&problem, &def, &why) != BLV_OK)
        fail_msg("%u: %s", has, why.text);
    return problem;
}

static bool has_item(const blv_check_report *report, const char *part) {
    for (size_t i = 0; i < report->count; i++)
        if (strstr(report->item[i].what, part))
            return true;
    return false;
}

static void expect_checked(const blv_problem *problem, unsigned has) {
    blv_check_report report;
    blv_message why = {""};
    assert_int_equal(blv_problem_check(problem, 3, 1.0, &report, &why), BLV_OK);
    for (size_t i = 0; i < report.count; i++)
        if (!report.item[i].ok)
            fail_msg("%u: %s: %g", has, report.item[i].what, report.item[i].error);
    assert_int_equal(has_item(&report, "Hv against differences"),
                     (has & (WITH_HVP | WITH_ALL)) != 0);
    assert_int_equal(has_item(&report, "Jv against differences"),
                     (has & (WITH_CROSS | WITH_ALL)) != 0);
    assert_int_equal(has_item(&report, "lower_all against"), (has & WITH_ALL) != 0);
}

/* |grad Phi| where a run of one step of a given length has ended, and Phi. */
static blv_certificate certificate_of(const blv_problem *problem, const char *solver) {
    blv_run *run = make_run(problem, solver, SETTINGS("iters", "2", "step_x", "0.01", NULL));
    blv_certificate c;
    assert_int_equal(blv_run_solve(run), BLV_OK);
    assert_true(all_finite(run, "x") && all_finite(run, "y"));
    if (blv_run_certify(run, &c) != BLV_OK)
        fail_msg("%s", blv_run_message(run));
    blv_run_destroy(run);
    return c;
}

static void test_each_subset(void **state) {
    (void)state;
    blv_problem *whole = make_problem("quadratic", SETTINGS("dx", "3", "dy", "4", "terms", "6"));
    const blv_certificate expected = certificate_of(whole, "f2sa");
    for (unsigned has = 0; has < SUBSETS; has++) {
        blv_problem *problem = make_subset(whole, has);
        expect_checked(problem, has);
        const blv_certificate c = certificate_of(problem, "f2sa"); /* uses gradients alone */
        if (fabs(c.phi - expected.phi) > 1e-6 * fabs(expected.phi) ||
            fabs(c.grad_norm - expected.grad_norm) > 1e-4 * expected.grad_norm)
            fail_msg("%u: Phi %.12g, |grad Phi| %.12g, not %.12g, %.12g", has, c.phi, c.grad_norm,
                     expected.phi, expected.grad_norm);
        blv_problem_destroy(problem);
    }
    blv_problem_destroy(whole);
}

/* Solvers with products: differences in place of those that are missing. */
static void test_solvers(void **state) {
    (void)state;
    static const char *const solvers[] = {"soba", "aid-cg", "stable", "itd", "auto", "exact"};
    blv_problem *whole = small_quadratic(BLV_F64);
    for (unsigned has = 0; has < SUBSETS; has++) {
        blv_problem *problem = make_subset(whole, has);
        for (size_t s = 0; s < LENGTH(solvers); s++) {
            blv_run *run = make_run(problem, solvers[s], SETTINGS("iters", "5"));
            if (blv_run_solve(run) != BLV_OK)
                fail_msg("%u, %s: %s", has, solvers[s], blv_run_message(run));
            assert_true(all_finite(run, "x") && all_finite(run, "y"));
            assert_true(outcome_of(run) != BLV_ORACLE_FAILED && outcome_of(run) != BLV_DIVERGED);
            blv_run_destroy(run);
        }
        blv_problem_destroy(problem);
    }
    blv_problem_destroy(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_subset),
        cmocka_unit_test(test_solvers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
