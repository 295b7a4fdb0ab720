/* The lower level alone and certificates, with oracles of which one call goes wrong, for every
 * call, and when memory runs out at every request: an error with a sentence, or an answer that is
 * right. */
#include "bilevel/certificate.h"
#include "run_testing.h"

#include "memory_sweep.h"

typedef struct asked {
    wrapped w;
    blv_vec *x, *y, *v, *start;
    blv_certificate truth;
} asked;

static blv_vec *filled(const blv_space *space, double value) {
    blv_vec *v;
    assert_int_equal(blv_vec_create(&v, space), BLV_OK);
    blv_vec_fill(v, value);
    return v;
}

static void open_asked(asked *a, blv_problem *base, product_kind products) {
    wrap(&a->w, base, products);
    const blv_problem_def *def = blv_problem_definition(a->w.problem);
    a->x = filled(def->space_x, 0.5);
    a->y = filled(def->space_y, 0.25);
    a->start = filled(def->space_y, 0.25);
    a->v = filled(def->space_y, 0.125);
    plan(&a->w, UPPER, NO_FAULT, 1, 0);
    assert_int_equal(blv_certify(a->w.problem, a->x, a->y, a->v, &a->truth, NULL, NULL), BLV_OK);
}

static void close_asked(asked *a) {
    blv_vec *const all[] = {a->x, a->y, a->start, a->v};
    for (size_t i = 0; i < LENGTH(all); i++)
        blv_vec_destroy(all[i]);
    unwrap(&a->w);
}

/* ---- Oracles ---- */

typedef struct planned {
    oracle at;
    fault_kind fault;
    long call;
} planned;

static void complain(const planned *p, const char *what, const blv_message *why) {
    fail_msg("fault %d of %s in call %ld: %s: %s", (int)p->fault, oracle_names[p->at], p->call,
             what, why->text);
}

static void expect_error(const planned *p, blv_error error, const blv_message *why) {
    if (error != BLV_E_ORACLE || !why->text[0])
        complain(p, "no error, or without a sentence", why);
}

/* Whether the fault came to pass. */
static bool solve(asked *a, const planned *p) {
    blv_message why = {""};
    double gy_norm;
    blv_vec_copy(a->y, a->start);
    plan(&a->w, p->at, p->fault, p->call, 1);
    blv_error error = blv_solve_lower(a->w.problem, a->x, a->y, 1e-8, NULL, NULL, &gy_norm, &why);
    if (a->w.fired == 0)
        return false;
    if (error != BLV_OK || p->fault == DIE)
        expect_error(p, error, &why);
    else if (!(gy_norm <= 1e-6))
        complain(p, "not at the minimum", &why);
    if (!isfinite(blv_vec_norm(a->y)))
        complain(p, "y is not finite", &why);
    return true;
}

/* NaN says that it is not known. */
static bool right(double found, double truth) {
    return isnan(found) || fabs(found - truth) <= 1e-5 * (1.0 + fabs(truth));
}

static bool certify(asked *a, const planned *p) {
    blv_message why = {""};
    blv_certificate c;
    blv_vec_copy(a->y, a->start);
    plan(&a->w, p->at, p->fault, p->call, 1);
    blv_error error = blv_certify(a->w.problem, a->x, a->y, a->v, &c, NULL, &why);
    if (a->w.fired == 0)
        return false;
    if (error != BLV_OK || p->fault == DIE)
        expect_error(p, error, &why);
    else if (!c.singular &&
             (!right(c.phi, a->truth.phi) || !right(c.grad_norm, a->truth.grad_norm) ||
              !right(c.estimate_error, a->truth.estimate_error)))
        complain(p, "an answer that is not right", &why);
    return true;
}

static void try_all(asked *a, bool (*work)(asked *a, const planned *p)) {
    for (oracle at = UPPER; at < ORACLES; at++)
        for (int fault = NAN_VALUE; fault <= DIE; fault++) {
            planned p = {at, (fault_kind)fault, 1};
            while (work(a, &p) && p.call < 1000)
                p.call++;
        }
}

static void test_oracles(void **state) {
    (void)state;
    for (int products = BY_ALL; products <= BY_DIFFERENCES; products++) {
        asked a;
        open_asked(&a, small_quadratic(BLV_F64), (product_kind)products);
        try_all(&a, solve);
        try_all(&a, certify);
        close_asked(&a);
        open_asked(&a, make_problem("pl-sine", NULL), (product_kind)products); /* with a set X */
        try_all(&a, certify);
        close_asked(&a);
    }
}

/* ---- Memory ---- */

static blv_error ask_both(void *context, blv_message *why) {
    asked *a = context;
    blv_certificate c;
    double gy_norm;
    blv_vec_copy(a->y, a->start);
    blv_error error = blv_solve_lower(a->w.problem, a->x, a->y, 1e-6, NULL, NULL, &gy_norm, why);
    return error == BLV_OK ? blv_certify(a->w.problem, a->x, a->y, a->v, &c, NULL, why) : error;
}

static void test_memory(void **state) {
    (void)state;
    for (int products = BY_ALL; products <= BY_DIFFERENCES; products++) {
        asked a;
        open_asked(&a, small_quadratic(BLV_F32), (product_kind)products);
        fail_every_request("lower level and certificate", ask_both, &a, true);
        close_asked(&a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oracles),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
