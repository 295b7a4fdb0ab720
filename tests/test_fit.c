/* Which solvers suit a problem: every pair of a descriptor and a definition, by the rule as it is
 * written in the header, and what blv_run_create and the notes of a run say about the same pair. */
#include "bilevel/registry.h"
#include "run_testing.h"

enum { USES_END = 16, ORACLES_END = 8 };

static blv_error open_nothing(blv_run *run, void *state) {
    (void)run, (void)state;
    return BLV_OK;
}

static blv_flow finish(blv_run *run, void *state) {
    (void)run, (void)state;
    return BLV_FINISHED;
}

static blv_solver solver_using(unsigned uses) {
    return (blv_solver){BLV_SIZED(blv_solver), .name = "made-up", .uses = uses,
                        .open = open_nothing, .step = finish};
}

/* Oracles: 1 Hv, 2 Jv, 4 all in one. */
static blv_problem *problem_with(const blv_problem *model, unsigned oracles, bool singular,
                                 size_t samples) {
    blv_problem_def def = *blv_problem_definition(model);
    def.free_user = NULL;
    def.singular_lower = singular;
    def.lower_hvp = oracles & 1 ? def.lower_hvp : NULL;
    def.lower_cross = oracles & 2 ? def.lower_cross : NULL;
    def.lower_all = oracles & 4 ? def.lower_all : NULL;
    def.lower_samples = samples;
    def.upper_samples = 0;
    blv_problem *problem;
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    return problem;
}

static void expect_notes(const blv_problem *problem, const blv_solver *solver, bool hv, bool jv) {
    blv_run *run;
    assert_int_equal(blv_run_create(&run, problem, solver, NULL), BLV_OK);
    assert_int_equal(blv_run_open(run), BLV_OK);
    assert_true(has_note(run, "Hv by central differences") == hv);
    assert_true(has_note(run, "Jv by central differences") == jv);
    blv_run_destroy(run);
}

static void expect_pair(const blv_problem *problem, unsigned uses, unsigned oracles, bool singular,
                        size_t samples) {
    const blv_solver solver = solver_using(uses);
    blv_message remark = {"left over"};
    blv_fit fit = blv_solver_fit(&solver, problem, &remark);
    assert_int_equal(blv_solver_fit(&solver, problem, NULL), fit);
    if (singular && (uses & BLV_USES_INVERSE)) {
        assert_int_equal(fit, BLV_FIT_REJECTED);
        expect_text(remark.text, "singular");
        blv_run *run;
        blv_message why;
        assert_int_equal(blv_run_create(&run, problem, &solver, &why), BLV_E_UNSUPPORTED);
        expect_text(why.text, remark.text);
        expect_text(why.text, "made-up");
        return;
    }
    bool hv = (uses & BLV_USES_HVP) && !(oracles & 5);
    bool jv = (uses & BLV_USES_CROSS) && !(oracles & 6);
    assert_int_equal(fit, hv || jv ? BLV_FIT_DIFFERENCES : BLV_FIT_SUITED);
    assert_true(!strstr(remark.text, "Hv") == !hv);
    assert_true(!strstr(remark.text, "Jv") == !jv);
    bool whole = (uses & BLV_IS_STOCHASTIC) && samples < 2;
    assert_true(!strstr(remark.text, "not a sum") == !whole);
    assert_true((remark.text[0] == '\0') == (!hv && !jv && !whole));
    expect_notes(problem, &solver, hv, jv);
}

static void test_every_pair(void **state) {
    (void)state;
    blv_problem *model = make_problem("quadratic", SETTINGS("dx", "2", "dy", "2", "terms", "5"));
    for (unsigned oracles = 0; oracles < ORACLES_END; oracles++)
        for (int singular = 0; singular < 2; singular++)
            for (size_t samples = 0; samples < 6; samples += 5) {
                blv_problem *problem = problem_with(model, oracles, singular, samples);
                for (unsigned uses = 0; uses < USES_END; uses++)
                    expect_pair(problem, uses, oracles, singular, samples);
                blv_problem_destroy(problem);
            }
    blv_problem_destroy(model);
}

/* A sum in f alone is a sum. */
static void test_sum_above(void **state) {
    (void)state;
    blv_problem *model = small_quadratic(BLV_F64);
    blv_problem_def def = *blv_problem_definition(model);
    def.free_user = NULL;
    def.upper_samples = 3;
    def.lower_samples = 1;
    blv_problem *problem;
    assert_int_equal(blv_problem_create(&problem, &def, NULL), BLV_OK);
    const blv_solver solver = solver_using(BLV_IS_STOCHASTIC);
    blv_message remark;
    assert_int_equal(blv_solver_fit(&solver, problem, &remark), BLV_FIT_SUITED);
    assert_string_equal(remark.text, "");
    assert_int_equal(blv_solver_fit(&solver, model, &remark), BLV_FIT_SUITED);
    expect_text(remark.text, "not a sum");
    blv_problem_destroy(problem);
    blv_problem_destroy(model);
}

/* What is said of the built-in solvers is what happens to them. */
static void test_built_in(void **state) {
    (void)state;
    blv_problem *problem = make_problem("non-singleton", NULL);
    const blv_solver *solver;
    for (size_t i = 0; (solver = blv_solver_at(NULL, i)); i++) {
        blv_run *run = NULL;
        blv_error error = blv_run_create(&run, problem, solver, NULL);
        bool refused = blv_solver_fit(solver, problem, NULL) == BLV_FIT_REJECTED;
        assert_int_equal(error, refused ? BLV_E_UNSUPPORTED : BLV_OK);
        assert_true(refused == !!(solver->uses & BLV_USES_INVERSE));
        blv_run_destroy(run);
    }
    blv_problem_destroy(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair),
        cmocka_unit_test(test_sum_above),
        cmocka_unit_test(test_built_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
