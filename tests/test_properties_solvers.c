/* Properties that hold for every solver, tried on random instances: what it does depends neither on
 * the order of samples nor on the units of x and y. */
#include "bilevel/registry.h"
#include "properties_testing.h"

/* ---- Solvers: the order of samples ---- */

enum { STEPS = 12 };

/* Solvers for which the whole sum is not the end of it: they take differences between batches of
 * sizes of their own, or visit samples one by one. */
static bool visits_samples(const char *solver) {
    static const char *const names[] = {"saba", "vrbo", "mrbo"};
    for (size_t i = 0; i < LENGTH(names); i++)
        if (strcmp(solver, names[i]) == 0)
            return true;
    return false;
}

static blv_run *steps_of(const blv_problem *problem, const blv_solver *solver) {
    blv_run *run = make_run(problem, solver->name, SETTINGS("batch", "full"));
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(blv_run_step(run), BLV_OK);
    return run;
}

/* |a - b| / (1 + |b|) of a state vector; order: where the elements of a have gone, NULL: nowhere.
 */
static double distance(const blv_run *a, const blv_run *b, const char *name, const size_t *order) {
    size_t dim = blv_run_dim(a, name);
    double *u = malloc(2 * dim * sizeof *u), *v = u + dim, sum = 0.0, size = 0.0;
    assert_true(u && dim == blv_run_dim(b, name));
    assert_int_equal(blv_run_read(a, name, u), BLV_OK);
    assert_int_equal(blv_run_read(b, name, v), BLV_OK);
    for (size_t i = 0; i < dim; i++) {
        double difference = u[order ? order[i] : i] - v[i];
        sum += difference * difference;
        size += v[i] * v[i];
    }
    free(u);
    return sqrt(sum) / (1.0 + sqrt(size));
}

static const blv_solver *present_solver;

static bool order_does_not_matter(const instance *of, finding *why) {
    instance exact = *of;
    exact.precision = BLV_F64;
    blv_dataset *rows = training_rows(&exact), *mixed;
    size_t count = blv_dataset_view_of(rows)->rows;
    size_t *order = malloc(count * sizeof *order);
    assert_non_null(order);
    draws d = draws_of(of, "order");
    blv_random_permutation(&d.stream, 1, count, order);
    assert_int_equal(blv_dataset_select(rows, order, count, &mixed, NULL), BLV_OK);
    blv_problem *a = problem_on_rows(&exact, rows), *b = problem_on_rows(&exact, mixed);
    blv_run *first = steps_of(a, present_solver), *second = steps_of(b, present_solver);
    double allowed = 1e-8; /* rounding, grown over the steps */
    bool ok =
        refute(why, "x", distance(first, second, "x", of->family == HYPERCLEAN ? order : NULL),
               allowed) &&
        refute(why, "y", distance(first, second, "y", NULL), allowed);
    blv_run_destroy(first);
    blv_run_destroy(second);
    blv_problem_destroy(a);
    blv_problem_destroy(b);
    free(order);
    return ok;
}

static void test_order_of_samples(void **state) {
    (void)state;
    for (size_t i = 0; (present_solver = blv_solver_at(NULL, i)); i++)
        for (uint64_t seed = 1; seed <= RUNS && !visits_samples(present_solver->name); seed++)
            for (int family = L2REG; family <= HYPERCLEAN; family++) {
                instance of = draw_instance((family_kind)family, seed);
                char what[80];
                snprintf(what, sizeof what, "order of samples, %s,", present_solver->name);
                try_instance(&of, order_does_not_matter, what);
            }
}

/* ---- Solvers: units ---- */

/* The problem in other units: x' = s x, y' = s y, f' = s^2 f, g' = s^2 g, with s a power of two, so
 * that no oracle rounds anything anew. Gradients grow by s, Hessians stay. */
typedef struct units {
    blv_problem *base, *problem;
    const blv_problem_def *def;
    double s;
    blv_vec *x, *y, *v;
} units;

static void to_base(const units *u, const blv_vec *from, blv_vec *to) {
    size_t dim = blv_vec_dim(from);
    for (size_t i = 0; i < dim; i++)
        blv_vec_put(to, i, blv_vec_at(from, i) / u->s);
}

/* Outputs are of the new problem's spaces: their elements are written in place. */
static void from_base(const units *u, const blv_vec *base, blv_vec *out) {
    for (size_t i = 0; out && i < blv_vec_dim(out); i++)
        blv_vec_put(out, i, u->s * blv_vec_at(base, i));
}

static int in_units(const units *u, value_fn ask, const blv_batch *batch, const blv_vec *x,
                    const blv_vec *y, double *value, blv_vec *in_x, blv_vec *in_y) {
    blv_vec *bx = in_x ? vec_of(u->def->space_x) : NULL,
            *by = in_y ? vec_of(u->def->space_y) : NULL;
    to_base(u, x, u->x);
    to_base(u, y, u->y);
    int code = ask(u->def->user, batch, u->x, u->y, value, bx, by);
    if (value)
        *value *= u->s * u->s;
    from_base(u, bx, in_x);
    from_base(u, by, in_y);
    blv_vec_destroy(bx);
    blv_vec_destroy(by);
    return code;
}

static int units_upper(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       double *f, blv_vec *fx, blv_vec *fy) {
    const units *u = user;
    return in_units(u, u->def->upper, batch, x, y, f, fx, fy);
}

static int units_lower(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       double *g, blv_vec *gx, blv_vec *gy) {
    const units *u = user;
    return in_units(u, u->def->lower, batch, x, y, g, gx, gy);
}

static int units_all(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *gy, blv_vec *hv_out, blv_vec *jv_out) {
    const units *u = user;
    blv_vec *const base[] = {vec_of(u->def->space_y), vec_of(u->def->space_y),
                             vec_of(u->def->space_x)};
    to_base(u, x, u->x);
    to_base(u, y, u->y);
    to_base(u, v, u->v);
    int code = u->def->lower_all(u->def->user, batch, u->x, u->y, u->v, gy ? base[0] : NULL,
                                 hv_out ? base[1] : NULL, jv_out ? base[2] : NULL);
    from_base(u, base[0], gy);
    from_base(u, base[1], hv_out);
    from_base(u, base[2], jv_out);
    for (size_t i = 0; i < LENGTH(base); i++)
        blv_vec_destroy(base[i]);
    return code;
}

static int units_hvp(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                     const blv_vec *v, blv_vec *out) {
    return units_all(user, batch, x, y, v, NULL, out, NULL);
}

static int units_cross(void *user, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                       const blv_vec *v, blv_vec *out) {
    return units_all(user, batch, x, y, v, NULL, NULL, out);
}

static void open_units(units *u, const instance *of, double s) {
    *u = (units){.base = problem_of(of), .s = s};
    u->def = blv_problem_definition(u->base);
    u->x = vec_of(u->def->space_x);
    u->y = vec_of(u->def->space_y);
    u->v = vec_of(u->def->space_y);
    const blv_problem_def def = {BLV_SIZED(blv_problem_def),
                                 .dim_x = u->def->dim_x,
                                 .dim_y = u->def->dim_y,
                                 .precision = u->def->precision,
                                 .threads = 1,
                                 .upper_samples = u->def->upper_samples,
                                 .lower_samples = u->def->lower_samples,
                                 .shuffled = u->def->shuffled,
                                 .user = u,
                                 .upper = units_upper,
                                 .lower = units_lower,
                                 .lower_hvp = units_hvp,
                                 .lower_cross = units_cross,
                                 .lower_all = units_all};
    assert_int_equal(blv_problem_create(&u->problem, &def, NULL), BLV_OK);
}

static void close_units(units *u) {
    blv_problem_destroy(u->problem);
    blv_vec_destroy(u->x);
    blv_vec_destroy(u->y);
    blv_vec_destroy(u->v);
    blv_problem_destroy(u->base);
}

/* Here everything is given, together with the bounds of curvature L, Lg and mu where a solver asks
 * for those; test_units.c has what is chosen automatically. */
static const char *given_value(const char *key) {
    static const char *const penalties[] = {"lambda", "lambda0", "gamma", "alpha0"};
    for (size_t i = 0; i < LENGTH(penalties); i++)
        if (strcmp(key, penalties[i]) == 0)
            return "30";
    return key[0] == 'L' ? "1024" : strcmp(key, "mu") == 0 ? "0.5" : "0.0000152587890625";
}

static void give_steps(blv_run *run) {
    for (const blv_param *p = present_solver->params; p && p->key; p++)
        if (p->type == BLV_REAL && p->words && strcmp(p->value, p->words) == 0 &&
            strcmp(p->key, "B") != 0) /* of rahgd: a length in x, which auto does without */
            assert_int_equal(blv_run_set(run, p->key, given_value(p->key)), BLV_OK);
}

static blv_run *steps_in(const units *u) {
    blv_run *run = make_run(u->problem, present_solver->name, NULL);
    give_steps(run);
    double start[DIM_MAX];
    for (size_t i = 0; i < DIM_MAX; i++)
        start[i] = u->s * ((double)(i % 7) - 3.0) / 8.0;
    assert_int_equal(blv_run_write(run, "x", start), BLV_OK);
    assert_int_equal(blv_run_write(run, "y", start), BLV_OK);
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(blv_run_step(run), BLV_OK);
    return run;
}

static bool same_bits(const blv_run *plain, const blv_run *scaled, const char *name, double s,
                      finding *why) {
    double a[DIM_MAX], b[DIM_MAX];
    size_t dim = blv_run_dim(plain, name);
    assert_in_range(dim, 1, DIM_MAX);
    assert_int_equal(blv_run_read(plain, name, a), BLV_OK);
    assert_int_equal(blv_run_read(scaled, name, b), BLV_OK);
    for (size_t i = 0; i < dim; i++)
        if (a[i] * s != b[i]) {
            snprintf(why->text, sizeof why->text, "%s[%zu]: %a times %g is not %a", name, i, a[i],
                     s, b[i]);
            return false;
        }
    return true;
}

static bool units_do_not_matter(const instance *of, finding *why) {
    const double factors[] = {0x1p-10, 0x1p+7};
    units plain, scaled;
    bool ok = true;
    open_units(&plain, of, 1.0);
    blv_run *first = steps_in(&plain);
    for (size_t i = 0; i < LENGTH(factors) && ok; i++) {
        open_units(&scaled, of, factors[i]);
        blv_run *second = steps_in(&scaled);
        ok = blv_run_result(first)->iterations == blv_run_result(second)->iterations &&
             same_bits(first, second, "x", factors[i], why) &&
             same_bits(first, second, "y", factors[i], why);
        blv_run_destroy(second);
        close_units(&scaled);
    }
    blv_run_destroy(first);
    close_units(&plain);
    return ok;
}

/* The others agree to the bit. These have a unit by design: the tuning-free ones begin their sums
 * of squared gradients at a given number, and exact minimizes by a line search whose first step has
 * the length 1. */
static bool has_a_unit(const char *solver) {
    static const char *const names[] = {"s-tfbo", "d-tfbo", "exact"};
    for (size_t i = 0; i < LENGTH(names); i++)
        if (strcmp(solver, names[i]) == 0)
            return true;
    return false;
}

static void test_units(void **state) {
    (void)state;
    for (size_t i = 0; (present_solver = blv_solver_at(NULL, i)); i++)
        for (uint64_t seed = 1; seed <= RUNS && !has_a_unit(present_solver->name); seed++) {
            instance of = draw_instance(QUADRATIC, seed);
            char what[80];
            of.precision = BLV_F64;
            snprintf(what, sizeof what, "change of units, %s,", present_solver->name);
            try_instance(&of, units_do_not_matter, what);
        }
}

static void test_count(void **state) {
    (void)state;
    print_message("%ld instances tried\n", tried);
    assert_true(tried > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_samples),
        cmocka_unit_test(test_units),
        cmocka_unit_test(test_count),
    };
    atexit(remove_files);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
