/* Every function of the public headers with NULL arguments, vectors of another space and numbers
 * out of range. What each call answers is in the headers. */
#include "bilevel/certificate.h"
#include "bilevel/checkpoint.h"
#include "bilevel/registry.h"
#include "run_testing.h"
#include "small_sets.h"

#define REFUSES(call) assert_int_equal((call), BLV_E_ARGUMENT)
#define DIES(call) assert_int_equal((call), BLV_FATAL)

static int zero_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                      double *f, blv_vec *fx, blv_vec *fy) {
    (void)user, (void)batch, (void)x, (void)y;
    if (f)
        *f = 0.0;
    if (fx)
        blv_vec_fill(fx, 0.0);
    if (fy)
        blv_vec_fill(fy, 0.0);
    return 0;
}

static void test_null_status(void **state) {
    (void)state;
    assert_non_null(blv_version());
    assert_non_null(blv_error_text((blv_error)999));
    assert_non_null(blv_outcome_word((blv_outcome)999));
    assert_non_null(blv_outcome_text((blv_outcome)999));
}

static void test_null_params(void **state) {
    (void)state;
    const blv_param *table = blv_run_options();
    char text[64] = "x";
    blv_message why;
    assert_int_equal(blv_params_default(NULL, NULL, NULL), BLV_OK); /* a table of nothing */
    REFUSES(blv_params_default(table, NULL, &why));
    REFUSES(blv_params_set(table, NULL, NULL, "seed", "1", &why));
    REFUSES(blv_params_set(table, text, "owner", NULL, "1", NULL));
    REFUSES(blv_params_set(table, text, "owner", "seed", NULL, NULL));
    assert_int_equal(blv_params_set(NULL, text, NULL, "seed", "1", &why), BLV_E_NAME);
    REFUSES(blv_params_set_real(table, NULL, NULL, "seed", 1.0, &why));
    REFUSES(blv_params_set_real(table, text, NULL, NULL, 1.0, NULL));
    REFUSES(blv_params_set_int(table, NULL, NULL, "seed", 1, &why));
    REFUSES(blv_params_set_int(table, text, NULL, NULL, 1, NULL));
    assert_null(blv_params_find(NULL, "seed"));
    assert_null(blv_params_find(table, NULL));
    blv_params_format(table, NULL, text, sizeof text);
    assert_string_equal(text, "");
    blv_params_format(NULL, text, text, sizeof text);
    blv_params_format(table, table, NULL, 0);
    blv_params_range(NULL, text, sizeof text);
    assert_string_equal(text, "");
    blv_params_range(table, NULL, 0);
}

static void test_null_space(void **state) {
    (void)state;
    blv_space *space = NULL;
    REFUSES(blv_space_create_host(NULL, 3, BLV_F64, 1));
    REFUSES(blv_space_create_host(&space, 0, BLV_F64, 1));
    REFUSES(blv_space_create_host(&space, 3, BLV_F64, -1));
    REFUSES(blv_space_create(NULL, NULL, 3, BLV_F64, NULL));
    REFUSES(blv_space_create(&space, NULL, 3, BLV_F64, NULL));
    REFUSES(blv_space_create(&space,
                             &(const blv_space_ops){BLV_SIZED(blv_space_ops), .name = "half"}, 3,
                             BLV_F64, NULL));
    assert_null(space);
    blv_space_destroy(NULL);
    assert_int_equal(blv_space_dim(NULL), 0);
    assert_int_equal(blv_space_precision(NULL), BLV_F64);
    assert_int_equal(blv_space_threads(NULL), 0);
    assert_null(blv_space_name(NULL));
    assert_null(blv_space_context(NULL));
    assert_int_equal(blv_space_vec_bytes(NULL), 0);
}

static void test_null_look_at_vectors(void **state) {
    (void)state;
    blv_vec *vec = NULL;
    REFUSES(blv_vec_create(NULL, NULL));
    REFUSES(blv_vec_create(&vec, NULL));
    assert_null(vec);
    blv_vec_destroy(NULL);
    assert_null(blv_vec_space(NULL));
    assert_int_equal(blv_vec_dim(NULL), 0);
    assert_null(blv_vec_f64(NULL));
    assert_null(blv_vec_f64_mut(NULL));
    assert_null(blv_vec_f32(NULL));
    assert_null(blv_vec_f32_mut(NULL));
    assert_true(isnan(blv_vec_at(NULL, 0)));
    blv_vec_put(NULL, 0, 1.0);
}

static bool is_spoiled(blv_vec *v) {
    bool spoiled = isnan(blv_vec_at(v, 0)) && isnan(blv_vec_at(v, blv_vec_dim(v) - 1));
    blv_vec_fill(v, 1.0);
    return spoiled;
}

/* other: NULL, or a vector of another space. */
static void expect_spoiled(blv_vec *v, blv_vec *other) {
    double ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, result[2] = {0.0, 0.0};
    blv_vec_copy(v, other);
    assert_true(is_spoiled(v));
    blv_vec_axpy(v, 1.0, other);
    assert_true(is_spoiled(v));
    blv_vec_swap(v, other);
    assert_true(is_spoiled(v));
    blv_vec_swap(other, v);
    assert_true(is_spoiled(v));
    assert_true(isnan(blv_vec_dot(v, other)) && isnan(blv_vec_dot(other, v)));
    blv_vec_combine(v, 1.0, v, 1.0, other);
    assert_true(is_spoiled(v));
    blv_vec_lincomb(v, 2, ones, (const blv_vec *const[]){v, other});
    assert_true(is_spoiled(v));
    blv_vec_fill(v, 1.0);
    blv_vec_apply(v, BLV_PRODUCT, 1.0, v, other);
    assert_true(is_spoiled(v));
    blv_vec_fill(v, 1.0);
    assert_false(blv_reduce(
        BLV_SCALARS(BLV_DOT(&result[0], v, v), BLV_DOT(&result[1], other, v), BLV_NORM(NULL, v))));
    assert_true(isfinite(result[0]) && isnan(result[1]));
}

static void test_null_and_foreign_vectors(void **state) {
    (void)state;
    for (int precision = BLV_F64; precision <= BLV_F32; precision++) {
        blv_space *space, *longer;
        blv_vec *v, *foreign;
        assert_int_equal(blv_space_create_host(&space, 3, (blv_precision)precision, 1), BLV_OK);
        assert_int_equal(blv_space_create_host(&longer, 5, (blv_precision)precision, 1), BLV_OK);
        assert_int_equal(blv_vec_create(&v, space), BLV_OK);
        assert_int_equal(blv_vec_create(&foreign, longer), BLV_OK);
        expect_spoiled(v, NULL);
        expect_spoiled(v, foreign);
        double host[8] = {7.0}, ones[9] = {1.0};
        blv_vec *foreign_none;
        const blv_vec *terms[9] = {v, v, v, v, v, v, v, v, v};
        assert_true(isnan(blv_vec_norm(NULL)));
        blv_vec_lincomb(NULL, 1, ones, terms);
        static const struct {
            size_t count;
            bool coef, terms;
        } wrong[] = {{0, true, true}, {9, true, true}, {1, false, true}, {1, true, false}};
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
            blv_vec_fill(v, 1.0);
            blv_vec_lincomb(v, wrong[i].count, wrong[i].coef ? ones : NULL,
                            wrong[i].terms ? terms : NULL);
            assert_true(is_spoiled(v));
        }
        blv_vec_apply(NULL, BLV_SQRT, 1.0, v, NULL);
        blv_vec_apply(v, BLV_ELEMENTWISE_COUNT, 1.0, v, v);
        assert_true(is_spoiled(v));
        assert_true(blv_reduce(0, NULL));
        assert_false(blv_reduce(1, NULL));
        blv_dlpack description;
        REFUSES(blv_vec_dlpack(NULL, &description));
        REFUSES(blv_vec_dlpack(v, NULL));
        REFUSES(blv_vec_wrap(NULL, space, host, sizeof host));
        REFUSES(blv_vec_wrap(&foreign_none, space, NULL, sizeof host));
        blv_vec_fill(NULL, 1.0);
        blv_vec_scale(NULL, 1.0);
        blv_vec_clamp(NULL, 0.0, 1.0);
        blv_vec_read(NULL, host);
        blv_vec_read(v, NULL);
        assert_float_equal(host[0], 7.0, 0.0);
        blv_vec_write(NULL, host);
        blv_vec_write(v, NULL);
        assert_true(is_spoiled(v));
        assert_true(isnan(blv_vec_at(v, 3)));
        blv_vec_put(v, 3, 9.0);
        blv_vec_destroy(v);
        blv_vec_destroy(foreign);
        blv_space_destroy(space);
        blv_space_destroy(longer);
    }
}

static void test_null_problem(void **state) {
    (void)state;
    blv_message why;
    blv_problem *problem = NULL;
    blv_problem *quadratic = small_quadratic(BLV_F64);
    blv_check_report report;
    const blv_problem_def half = {BLV_SIZED(blv_problem_def), .dim_x = 1, .dim_y = 1,
                                  .upper = zero_upper};
    REFUSES(blv_problem_create(NULL, &half, &why));
    REFUSES(blv_problem_create(&problem, NULL, &why));
    REFUSES(blv_problem_create(&problem, &half, NULL));
    assert_null(problem);
    blv_problem_destroy(NULL);
    assert_null(blv_problem_definition(NULL));
    assert_int_equal(blv_problem_fingerprint(NULL), 0);
    REFUSES(blv_problem_check(NULL, 1, 1.0, &report, &why));
    REFUSES(blv_problem_check(quadratic, 1, 1.0, NULL, NULL));
    REFUSES(blv_problem_check(quadratic, 1, NAN, &report, NULL));
    const blv_problem_family *family = blv_family_find(NULL, "quadratic", NULL);
    const blv_problem_family empty = {BLV_SIZED(blv_problem_family), .name = "empty"};
    REFUSES(blv_problem_from_family(NULL, NULL, NULL, &problem, &why));
    REFUSES(blv_problem_from_family(family, NULL, NULL, NULL, NULL));
    REFUSES(blv_problem_from_family(&empty, NULL, NULL, &problem, NULL));
    REFUSES(blv_problem_from_family(family, SETTINGS("dx"), NULL, &problem, NULL)); /* no value */
    assert_null(problem);
    blv_problem_destroy(quadratic);
}

static void test_null_certify_and_lower(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64), *other = small_quadratic(BLV_F64);
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_certificate certificate;
    blv_message why;
    blv_vec *x, *y, *foreign;
    double norm;
    assert_int_equal(blv_vec_create(&x, def->space_x), BLV_OK);
    assert_int_equal(blv_vec_create(&y, def->space_y), BLV_OK);
    assert_int_equal(blv_vec_create(&foreign, blv_problem_definition(other)->space_y), BLV_OK);
    REFUSES(blv_certify(NULL, x, y, NULL, &certificate, NULL, &why));
    REFUSES(blv_certify(problem, NULL, y, NULL, &certificate, NULL, NULL));
    REFUSES(blv_certify(problem, x, NULL, NULL, &certificate, NULL, NULL));
    REFUSES(blv_certify(problem, x, y, NULL, NULL, NULL, NULL));
    REFUSES(blv_certify(problem, y, x, NULL, &certificate, NULL, NULL));
    REFUSES(blv_certify(problem, x, y, foreign, &certificate, NULL, &why));
    expect_text(why.text, "spaces");
    REFUSES(blv_solve_lower(NULL, x, y, 0.1, NULL, NULL, &norm, &why));
    REFUSES(blv_solve_lower(problem, NULL, y, 0.1, NULL, NULL, &norm, NULL));
    REFUSES(blv_solve_lower(problem, x, NULL, 0.1, NULL, NULL, &norm, NULL));
    REFUSES(blv_solve_lower(problem, x, y, 0.1, NULL, NULL, NULL, NULL));
    REFUSES(blv_solve_lower(problem, x, y, NAN, NULL, NULL, &norm, NULL));
    REFUSES(blv_solve_lower(problem, x, foreign, 0.1, NULL, NULL, &norm, NULL));
    REFUSES(blv_solve_adjoint(problem, x, y, NULL, y, 0.1, NULL, NULL, &norm, NULL));
    REFUSES(blv_solve_adjoint(problem, x, y, y, foreign, 0.1, NULL, NULL, &norm, NULL));
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    blv_vec_destroy(foreign);
    blv_problem_destroy(problem);
    blv_problem_destroy(other);
}

static void test_null_run(void **state) {
    (void)state;
    double host[8];
    blv_message why;
    blv_run *run = (blv_run *)&why;
    blv_certificate certificate;
    REFUSES(blv_run_create(&run, NULL, NULL, &why));
    assert_null(run);
    REFUSES(blv_run_create(NULL, NULL, NULL, NULL));
    REFUSES(blv_run_set(NULL, "seed", "1"));
    REFUSES(blv_run_set_real(NULL, "seed", 1.0));
    REFUSES(blv_run_set_int(NULL, "seed", 1));
    assert_int_equal(blv_counts_total(NULL), 0);
    assert_int_equal(blv_counts_total(&(const blv_counts){1, 2, 4, 8, 16}), 31);
    REFUSES(blv_run_open(NULL));
    REFUSES(blv_run_step(NULL));
    REFUSES(blv_run_solve(NULL));
    REFUSES(blv_run_read(NULL, "x", host));
    REFUSES(blv_run_write(NULL, "x", host));
    REFUSES(blv_run_start_random(NULL, 1.0));
    REFUSES(blv_run_certify(NULL, &certificate));
    REFUSES(blv_run_save(NULL, "nowhere"));
    REFUSES(blv_run_save_to(NULL, NULL, NULL));
    REFUSES(blv_run_load(NULL, "nowhere"));
    REFUSES(blv_run_load_from(NULL, host, sizeof host));
    REFUSES(blv_run_every(NULL, NULL, NULL, 1.0));
    REFUSES(blv_run_monitor(NULL, NULL, NULL, 1, 0.0));
    REFUSES(blv_run_trace(NULL, "nowhere"));
    REFUSES(blv_run_trace_callback(NULL, NULL, NULL, true));
    blv_run_destroy(NULL);
    blv_run_stop(NULL);
    blv_run_note(NULL, "a note");
    assert_int_equal(blv_run_fail(NULL, BLV_E_VALUE, "a text"), BLV_E_VALUE);
    assert_null(blv_run_result(NULL));
    assert_non_null(blv_run_message(NULL));
    assert_null(blv_run_notes(NULL, 0));
    assert_int_equal(blv_run_dim(NULL, "x"), 0);
    assert_int_equal(blv_run_memory(NULL), 0);
    assert_null(blv_run_option_fields(NULL));
    assert_null(blv_run_solver(NULL));
    assert_null(blv_run_solver_fields(NULL));
    assert_null(blv_run_x(NULL));
    assert_null(blv_run_y(NULL));
    assert_null(blv_run_problem(NULL));
    assert_null(blv_run_metrics(NULL));
    assert_int_equal(blv_run_iteration(NULL), 0);
    assert_int_equal(blv_run_limit(NULL), 0);
}

static void test_null_beside_a_run(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run = make_run(problem, "s-tfbo", SETTINGS("tol", "1e-6"));
    double host[8];
    REFUSES(blv_run_set(run, NULL, "1"));
    REFUSES(blv_run_set_real(run, NULL, 1.0));
    REFUSES(blv_run_set_int(run, NULL, 1));
    REFUSES(blv_run_set(run, "seed", NULL));
    REFUSES(blv_run_read(run, NULL, host));
    REFUSES(blv_run_read(run, "x", NULL));
    REFUSES(blv_run_write(run, NULL, host));
    REFUSES(blv_run_write(run, "x", NULL));
    REFUSES(blv_run_start_random(run, INFINITY));
    REFUSES(blv_run_certify(run, NULL));
    REFUSES(blv_run_save(run, NULL));
    REFUSES(blv_run_save_to(run, NULL, NULL));
    REFUSES(blv_run_load(run, NULL));
    REFUSES(blv_run_load_from(run, NULL, 5));
    REFUSES(blv_run_monitor(run, NULL, NULL, 1, NAN));
    assert_int_equal(blv_run_dim(run, NULL), 0);
    assert_int_equal(blv_run_monitor(run, NULL, NULL, 0, 0.0), BLV_OK);
    assert_int_equal(blv_run_every(run, NULL, NULL, 0.0), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK); /* none of it did harm */
    expect_outcome(run, BLV_CONVERGED);
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static void destroy_nothing(void *object) {
    ++*(int *)object;
}

/* A solver that calls everything wrongly, and then nothing else. */
static blv_error wrong_open(blv_run *run, void *state) {
    (void)state;
    blv_vec *vec;
    blv_sampler *sampler;
    double *block, scalar;
    int destroyed = 0;
    REFUSES(blv_state_vec(NULL, "a", BLV_LEVEL_X, &vec));
    REFUSES(blv_state_vec(run, "a", BLV_LEVEL_X, NULL));
    assert_int_equal(blv_state_vec(run, NULL, BLV_LEVEL_X, &vec), BLV_E_NAME);
    REFUSES(blv_state_iterate(NULL, "a", BLV_LEVEL_X, &vec));
    REFUSES(blv_state_iterate(run, "a", BLV_LEVEL_X, NULL));
    REFUSES(blv_state_scalar(NULL, "a", &scalar));
    REFUSES(blv_state_scalar(run, "a", NULL));
    assert_int_equal(blv_state_scalar(run, NULL, &scalar), BLV_E_NAME);
    REFUSES(blv_state_hidden(NULL, "a", &scalar));
    REFUSES(blv_state_hidden(run, "a", NULL));
    REFUSES(blv_state_block(NULL, "a", 2, &block));
    REFUSES(blv_state_block(run, NULL, 2, &block));
    REFUSES(blv_state_block(run, "a", 2, NULL));
    REFUSES(blv_scratch_vec(NULL, BLV_LEVEL_X, &vec));
    REFUSES(blv_scratch_vec(run, BLV_LEVEL_X, NULL));
    REFUSES(blv_state_sampler(NULL, "a", BLV_LEVEL_X, 1, &sampler));
    REFUSES(blv_state_sampler(run, NULL, BLV_LEVEL_X, 1, &sampler));
    REFUSES(blv_state_sampler(run, "a", BLV_LEVEL_X, 1, NULL));
    REFUSES(blv_run_own(NULL, &destroyed, destroy_nothing, 1));
    assert_int_equal(destroyed, 1);
    REFUSES(blv_run_own(run, &destroyed, NULL, 1));
    blv_run_note(run, NULL);
    assert_int_equal(blv_run_fail(run, BLV_E_VALUE, NULL), BLV_E_VALUE);
    assert_int_equal(blv_run_save(run, "nowhere"), BLV_E_ORDER);
    assert_int_equal(blv_run_step(run), BLV_E_ORDER);
    return BLV_OK;
}

static blv_flow wrong_step(blv_run *run, void *state) {
    (void)state;
    blv_vec *x = blv_run_x(run), *y = blv_run_y(run);
    double value;
    DIES(blv_oracle_upper(NULL, NULL, x, y, &value, NULL, NULL));
    DIES(blv_oracle_upper(run, NULL, NULL, y, &value, NULL, NULL));
    DIES(blv_oracle_lower(NULL, NULL, x, y, &value, NULL, NULL));
    DIES(blv_oracle_lower(run, NULL, x, NULL, &value, NULL, NULL));
    DIES(blv_oracle_hvp(NULL, NULL, x, y, y, NULL));
    DIES(blv_oracle_hvp(run, NULL, x, y, NULL, y));
    DIES(blv_oracle_cross(NULL, NULL, x, y, y, NULL));
    DIES(blv_oracle_cross(run, NULL, x, y, NULL, x));
    DIES(blv_oracle_all(NULL, NULL, x, y, y, NULL, NULL, NULL));
    DIES(blv_oracle_all(run, NULL, x, y, NULL, NULL, NULL, NULL));
    DIES(blv_oracle_project(NULL, x));
    DIES(blv_oracle_project(run, NULL));
    DIES(blv_move(NULL, x, 1.0, x));
    DIES(blv_move(run, NULL, 1.0, x));
    DIES(blv_move(run, x, 1.0, NULL));
    DIES(blv_move_to(NULL, x, 0, NULL, NULL));
    assert_int_equal(blv_move_to(run, x, 1, NULL, NULL), BLV_NONFINITE);
    assert_int_equal(blv_oracle_hvp(run, NULL, x, y, y, NULL), BLV_GO); /* nothing is needed */
    assert_int_equal(blv_oracle_cross(run, NULL, x, y, y, NULL), BLV_GO);
    assert_null(blv_sampler_next(NULL));
    return BLV_FINISHED;
}

static const blv_solver wrong_solver = {BLV_SIZED(blv_solver), .name = "wrong", .open = wrong_open,
                                        .step = wrong_step};

static void test_null_in_a_solver(void **state) {
    (void)state;
    blv_problem *problem = small_quadratic(BLV_F64);
    blv_run *run;
    assert_int_equal(blv_run_create(&run, problem, &wrong_solver, NULL), BLV_OK);
    assert_int_equal(blv_run_solve(run), BLV_OK);
    expect_outcome(run, BLV_UNCERTIFIED);
    assert_true(all_finite(run, "x"));
    blv_run_destroy(run);
    blv_problem_destroy(problem);
}

static void test_null_registry(void **state) {
    (void)state;
    blv_registry *registry;
    blv_message remark;
    REFUSES(blv_registry_create(NULL));
    blv_registry_destroy(NULL);
    assert_int_equal(blv_registry_create(&registry), BLV_OK);
    REFUSES(blv_registry_add_solver(NULL, &wrong_solver, NULL));
    REFUSES(blv_registry_add_solver(registry, NULL, NULL));
    REFUSES(blv_registry_add_solver(
        registry, &(const blv_solver){BLV_SIZED(blv_solver), .name = "half"}, NULL));
    REFUSES(blv_registry_add_family(NULL, blv_family_at(NULL, 0), NULL));
    REFUSES(blv_registry_add_family(registry, NULL, NULL));
    assert_null(blv_solver_find(registry, NULL, NULL));
    assert_null(blv_family_find(NULL, NULL, NULL));
    assert_non_null(blv_solver_at(NULL, 0));
    assert_null(blv_solver_at(registry, 100000));
    assert_null(blv_family_at(registry, 100000));
    assert_int_equal(blv_solver_fit(NULL, NULL, &remark), BLV_FIT_REJECTED);
    assert_int_equal(blv_solver_fit(&wrong_solver, NULL, NULL), BLV_FIT_REJECTED);
    blv_registry_destroy(registry);
}

static void test_null_npz(void **state) {
    (void)state;
    blv_message why;
    blv_npz *npz = (blv_npz *)&why;
    blv_npz_writer *writer = NULL;
    blv_array info;
    double *data;
    char *text, **names;
    size_t count;
    REFUSES(blv_npz_open(NULL, "nowhere", &why));
    REFUSES(blv_npz_open(&npz, NULL, NULL));
    assert_null(npz);
    REFUSES(blv_npz_open_memory(NULL, "", 0, "a", NULL));
    REFUSES(blv_npz_open_memory(&npz, NULL, 0, "a", NULL));
    REFUSES(blv_npz_open_memory(&npz, "", 0, NULL, NULL));
    blv_npz_close(NULL);
    assert_int_equal(blv_npz_count(NULL), 0);
    assert_null(blv_npz_name(NULL, 0));
    REFUSES(blv_npz_info(NULL, "a", &info, NULL));
    REFUSES(blv_npz_read_f64(NULL, "a", &data, NULL, NULL));
    REFUSES(blv_npz_read_text(NULL, "a", &text, NULL));
    REFUSES(blv_npz_read_names(NULL, "a", &names, &count, NULL));
    REFUSES(blv_npz_create(NULL, "nowhere", NULL));
    REFUSES(blv_npz_create(&writer, NULL, NULL));
    REFUSES(blv_npz_create_to(&writer, "a", NULL, NULL, NULL));
    REFUSES(blv_npz_add_f64(NULL, "a", 0, NULL, NULL, NULL));
    REFUSES(blv_npz_add_f32(NULL, "a", 0, NULL, NULL, NULL));
    REFUSES(blv_npz_add_i64(NULL, "a", 0, NULL, NULL, NULL));
    REFUSES(blv_npz_add_text(NULL, "a", "b", NULL));
    REFUSES(blv_npz_add_names(NULL, "a", (const char *const[]){"b"}, 1, NULL));
    REFUSES(blv_npz_add_names(NULL, "a", NULL, 1, NULL));
    REFUSES(blv_npz_commit(NULL, NULL));
    blv_npz_discard(NULL);
}

static void test_null_dataset(void **state) {
    (void)state;
    blv_dataset *set = small_set(), *made = (blv_dataset *)&set;
    double numbers[4];
    const int32_t label[4] = {0};
    size_t row = 0;
    REFUSES(blv_dataset_read(NULL, "nowhere", NULL, NULL));
    REFUSES(blv_dataset_read(&made, NULL, NULL, NULL));
    assert_null(made);
    blv_dataset_release(NULL);
    assert_null(blv_dataset_view_of(NULL));
    assert_null(blv_dataset_history(NULL, 0));
    assert_null(blv_dataset_notes(NULL, 0));
    assert_int_equal(blv_dataset_fingerprint(NULL), 0);
    REFUSES(blv_dataset_create(NULL, blv_dataset_view_of(set), NULL, NULL));
    REFUSES(blv_dataset_create(&made, NULL, NULL, NULL));
    REFUSES(blv_dataset_borrow(&made, NULL, NULL, NULL, NULL, NULL));
    REFUSES(blv_dataset_select(NULL, NULL, 0, &made, NULL));
    REFUSES(blv_dataset_select(set, NULL, 1, &made, NULL));
    REFUSES(blv_dataset_select(set, NULL, 1, NULL, NULL));
    REFUSES(blv_dataset_split(NULL, numbers, 1, false, 1, &made, NULL));
    REFUSES(blv_dataset_split(set, NULL, 1, false, 1, &made, NULL));
    REFUSES(blv_dataset_split(set, numbers, 1, false, 1, NULL, NULL));
    REFUSES(blv_dataset_subsample(NULL, 0.5, false, 1, &made, NULL));
    REFUSES(blv_dataset_subsample(set, 0.5, false, 1, NULL, NULL));
    REFUSES(blv_dataset_corrupt(NULL, BLV_CORRUPT_UNIFORM, 0.5, 1, NULL));
    REFUSES(blv_dataset_corrupt(set, (blv_corruption)99, 0.5, 1, NULL));
    REFUSES(blv_dataset_scale(NULL, 1, BLV_SCALE_UNIT, NULL));
    REFUSES(blv_dataset_scale((blv_dataset *const[]){NULL}, 1, BLV_SCALE_UNIT, NULL));
    REFUSES(blv_dataset_scale_numbers(NULL, BLV_SCALE_UNIT, numbers, numbers, NULL));
    REFUSES(blv_dataset_scale_numbers(set, BLV_SCALE_UNIT, NULL, numbers, NULL));
    REFUSES(blv_dataset_multiply(NULL, 2.0, NULL));
    REFUSES(blv_dataset_unit_rows(NULL, NULL));
    REFUSES(blv_dataset_intercept(NULL, NULL));
    REFUSES(blv_dataset_one_against_rest(NULL, "1", NULL));
    REFUSES(blv_dataset_one_against_rest(set, NULL, NULL));
    REFUSES(blv_dataset_copy(NULL, &made, NULL));
    REFUSES(blv_dataset_copy(set, NULL, NULL));
    REFUSES(blv_dataset_relabel(NULL, label, &made, NULL));
    REFUSES(blv_dataset_relabel(set, NULL, &made, NULL));
    REFUSES(blv_dataset_relabel(set, label, NULL, NULL));
    REFUSES(blv_dataset_join(NULL, set, &made, NULL));
    REFUSES(blv_dataset_join(set, NULL, &made, NULL));
    REFUSES(blv_dataset_join(set, set, NULL, NULL));
    REFUSES(blv_dataset_split_rows(NULL, numbers, 1, false, 1, &row, &row, NULL));
    REFUSES(blv_dataset_split_rows(set, NULL, 1, false, 1, &row, &row, NULL));
    REFUSES(blv_dataset_split_rows(set, numbers, 1, false, 1, NULL, &row, NULL));
    REFUSES(blv_dataset_split_rows(set, numbers, 1, false, 1, &row, NULL, NULL));
    REFUSES(blv_dataset_split_rows(set, numbers, 0, false, 1, &row, &row, NULL));
    REFUSES(blv_dataset_align(NULL, NULL, 1, NULL));
    REFUSES(blv_dataset_align((blv_dataset *const[]){NULL}, NULL, 1, NULL));
    REFUSES(blv_dataset_align_to(NULL, NULL, blv_dataset_view_of(set), NULL, NULL));
    REFUSES(blv_dataset_align_to(set, NULL, NULL, NULL, NULL));
    bool mixed;
    REFUSES(blv_dataset_learn_fills(NULL, NULL));
    REFUSES(blv_dataset_centre_table(NULL, 1, false, &mixed, NULL));
    REFUSES(blv_dataset_centre_table(&set, 1, false, NULL, NULL));
    assert_null(blv_dataset_labels_beside(NULL));
    REFUSES(blv_dataset_expect_classes(NULL, "name", NULL));
    REFUSES(blv_dataset_expect_classes(set, NULL, NULL));
    assert_null(blv_dataset_retain(NULL));
    assert_int_equal(blv_dataset_fingerprint_all(NULL, 2), 0);
    REFUSES(blv_dataset_transpose(NULL, NULL));
    REFUSES(blv_dataset_write(NULL, "nowhere", "csv", NULL));
    REFUSES(blv_dataset_write(set, NULL, "csv", NULL));
    REFUSES(blv_dataset_write(set, "nowhere", NULL, NULL));
    blv_dataset_release(set);
}

/* Sets are taken over whatever goes wrong; the leak checker would tell. */
static void test_null_linear(void **state) {
    (void)state;
    const blv_l2reg_setting plain = {.size = sizeof plain,
                                     .penalty = BLV_PENALTY_ONE,
                                     .scale = 1.0,
                                     .lo = -INFINITY,
                                     .hi = INFINITY},
                            unknown = {.size = sizeof unknown,
                                       .penalty = (blv_penalty_kind)99,
                                       .scale = 1.0};
    blv_problem *problem = NULL;
    blv_sets sets = small_sets();
    REFUSES(blv_hyperclean_create(NULL, 1.0, NULL, &problem, NULL));
    REFUSES(blv_hyperclean_create(&sets, 1.0, NULL, NULL, NULL));
    REFUSES(blv_hyperclean_create(&(const blv_sets){.size = sizeof(blv_sets)}, 1.0, NULL, &problem,
                                  NULL));
    REFUSES(blv_l2reg_create(NULL, &plain, NULL, &problem, NULL));
    REFUSES(blv_l2reg_create(&sets, NULL, NULL, &problem, NULL));
    REFUSES(blv_l2reg_create(&sets, &plain, NULL, NULL, NULL));
    REFUSES(blv_l2reg_create(&sets, &(blv_l2reg_setting){.scale = 1.0}, NULL, &problem, NULL));
    REFUSES(blv_l2reg_create(&sets, &plain, &(blv_problem_options){.threads = 1}, &problem, NULL));
    REFUSES(blv_hyperclean_create(&(const blv_sets){0}, 1.0, NULL, &problem, NULL));
    assert_int_equal(blv_l2reg_create(&sets, &unknown, NULL, &problem, NULL), BLV_E_VALUE);
    blv_dataset_release(sets.train);
    blv_dataset_release(sets.val);
    assert_null(problem);
    double area, probability[8];
    const bool positive[] = {true, false};
    const blv_linear_model model = {.size = sizeof model, .scores = 1, .columns = 2};
    blv_dataset *set = small_set();
    REFUSES(blv_linear_answer(NULL, set, probability, NULL));
    REFUSES(blv_linear_answer(&(blv_linear_model){.scores = 1}, set, probability, NULL));
    REFUSES(blv_linear_answer(&model, NULL, probability, NULL));
    REFUSES(blv_linear_answer(&model, set, NULL, NULL));
    REFUSES(blv_linear_answer(&model, set, probability, NULL)); /* no weights */
    REFUSES(blv_auroc(2, NULL, positive, &area));
    REFUSES(blv_auroc(2, probability, NULL, &area));
    REFUSES(blv_auroc(2, probability, positive, NULL));
    blv_dataset_release(set);
}

static void test_null_classifier(void **state) {
    (void)state;
    blv_classifier *model = NULL;
    blv_dataset *set = small_set();
    const blv_training training = {.size = sizeof(blv_training), .steps = 1};
    const blv_classifier_options options = {.size = sizeof(blv_classifier_options), .threads = 1};
    double numbers[4 * 128];
    REFUSES(blv_classifier_create(NULL, 2, 2, &options, NULL));
    assert_int_equal(blv_classifier_create(&model, 2, 2, NULL, NULL), BLV_OK);
    blv_classifier_destroy(model);
    assert_int_equal(blv_classifier_create(&model, 2, 2, &options, NULL), BLV_OK);
    blv_classifier_restart(NULL, 1);
    REFUSES(blv_classifier_train(NULL, set, &training, NULL));
    REFUSES(blv_classifier_train(model, NULL, &training, NULL));
    REFUSES(blv_classifier_train(model, set, NULL, NULL));
    REFUSES(blv_classifier_scores(NULL, set, numbers, NULL));
    REFUSES(blv_classifier_scores(model, NULL, numbers, NULL));
    REFUSES(blv_classifier_scores(model, set, NULL, NULL));
    REFUSES(blv_classifier_features(NULL, set, numbers, NULL));
    REFUSES(blv_classifier_features(model, set, NULL, NULL));
    assert_int_equal(blv_classifier_width(NULL), 0);
    REFUSES(blv_classifier_accuracy(NULL, set, numbers, NULL));
    REFUSES(blv_classifier_accuracy(model, NULL, numbers, NULL));
    REFUSES(blv_classifier_accuracy(model, set, NULL, NULL));
    assert_int_equal(blv_classifier_train(model, set, &training, NULL), BLV_OK);
    blv_classifier_destroy(model);
    blv_classifier_destroy(NULL);
    blv_dataset_release(set);
}

static void test_null_select(void **state) {
    (void)state;
    blv_message why = {""};
    blv_problem *problem = NULL;
    blv_dataset *set = small_set();
    size_t index[1];
    const blv_selection how = {.size = sizeof(blv_selection),
                               .method = blv_selection_method_find("uniform", NULL),
                               .count = 1};
    const blv_coreset_setting setting = {.size = sizeof(blv_coreset_setting), .K = 1};
    assert_null(blv_selection_method_find(NULL, &why));
    expect_text(why.text, "uniform");
    assert_null(blv_selection_method_find("none", NULL));
    REFUSES(blv_select(NULL, &how, index, NULL, NULL));
    REFUSES(blv_select(set, NULL, index, NULL, NULL));
    REFUSES(blv_select(set, &(blv_selection){.size = sizeof(blv_selection), .count = 1}, index,
                       NULL, NULL));
    REFUSES(blv_select(set, &how, NULL, NULL, NULL));
    blv_dataset_release(set);
    REFUSES(blv_coreset_create(NULL, &setting, NULL, &problem, NULL));
    REFUSES(blv_coreset_create(&(const blv_sets){.size = sizeof(blv_sets)}, &setting, NULL,
                               &problem, NULL));
    blv_sets sets = small_sets();
    REFUSES(blv_coreset_create(&sets, NULL, NULL, &problem, NULL));
    REFUSES(blv_coreset_create(&sets, &setting, NULL, NULL, NULL));
    REFUSES(blv_coreset_create(&(const blv_sets){0}, &setting, NULL, &problem, NULL));
    REFUSES(blv_coreset_create(&sets, &setting, &(blv_problem_options){0}, &problem, NULL));
    blv_dataset_release(sets.train);
    blv_dataset_release(sets.val);
    assert_null(problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_null_status),
        cmocka_unit_test(test_null_params),
        cmocka_unit_test(test_null_space),
        cmocka_unit_test(test_null_look_at_vectors),
        cmocka_unit_test(test_null_and_foreign_vectors),
        cmocka_unit_test(test_null_problem),
        cmocka_unit_test(test_null_certify_and_lower),
        cmocka_unit_test(test_null_run),
        cmocka_unit_test(test_null_beside_a_run),
        cmocka_unit_test(test_null_in_a_solver),
        cmocka_unit_test(test_null_registry),
        cmocka_unit_test(test_null_npz),
        cmocka_unit_test(test_null_dataset),
        cmocka_unit_test(test_null_linear),
        cmocka_unit_test(test_null_classifier),
        cmocka_unit_test(test_null_select),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
