/* The certificate: what a result is really worth, recomputed from the oracles. */
#include "core/certifier.h"
#include "base/message.h"
#include "core/implicit.h"
#include "linsolve/stationarity.h"
#include "space/distance.h"

#include <math.h>
#include <stdlib.h>

struct blv_certifier {
    blv_eval eval;
    blv_implicit *implicit;
    blv_vec *y, *v, *gradient, *estimate, *shifted;
    blv_vec *random; /* right-hand side of a system that has a solution only where H is regular */
};

blv_error blv_certifier_create(blv_certifier **certifier, const blv_problem *problem,
                               blv_counts *counts) {
    *certifier = NULL;
    const blv_problem_def *def = blv_problem_definition(problem);
    if (def->many_minimizers)
        return BLV_E_UNSUPPORTED;
    blv_certifier *c = calloc(1, sizeof *c);
    if (!c)
        return BLV_E_MEMORY;
    blv_error error = blv_eval_open(&c->eval, problem, counts);
    if (error == BLV_OK)
        error = blv_implicit_create(&c->implicit, &c->eval);
    if (error == BLV_OK)
        error = blv_implicit_form(c->implicit);
    blv_vec **of_y[] = {&c->y, &c->v, &c->random},
            **of_x[] = {&c->gradient, &c->estimate, &c->shifted};
    for (size_t i = 0; error == BLV_OK && i < 3; i++)
        error = blv_vec_create(of_y[i], def->space_y);
    for (size_t i = 0; error == BLV_OK && i < 3; i++)
        error = blv_vec_create(of_x[i], def->space_x);
    if (error == BLV_OK)
        error = blv_vec_normals(c->random, 0, "certificate");
    if (error != BLV_OK) {
        blv_certifier_destroy(c);
        return error;
    }
    *certifier = c;
    return BLV_OK;
}

const char *blv_certifier_refusal(blv_error error) {
    return error == BLV_E_UNSUPPORTED ? "g has many minimizers in y: Phi is not one function"
                                      : blv_error_text(error);
}

void blv_certifier_destroy(blv_certifier *c) {
    if (!c)
        return;
    blv_implicit_destroy(c->implicit);
    blv_eval_close(&c->eval);
    blv_vec *all[] = {c->y, c->v, c->random, c->gradient, c->estimate, c->shifted};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        blv_vec_destroy(all[i]);
    free(c);
}

size_t blv_certifier_bytes(const blv_certifier *c) {
    return sizeof *c + blv_implicit_bytes(c->implicit) + blv_eval_bytes(&c->eval) +
           3 * blv_space_vec_bytes(c->eval.def->space_y) +
           3 * blv_space_vec_bytes(c->eval.def->space_x);
}

/* estimate = fx - J v at the y and v handed in. */
static blv_flow own_estimate(blv_certifier *c, const blv_vec *x, const blv_vec *y,
                             const blv_vec *v) {
    BLV_TRY(blv_eval_upper(&c->eval, NULL, x, y, NULL, c->estimate, NULL));
    BLV_TRY(blv_eval_cross(&c->eval, NULL, x, y, v, c->shifted));
    blv_vec_combine(c->estimate, 1.0, c->estimate, -1.0, c->shifted);
    return BLV_GO;
}

static int project(void *certifier, blv_vec *x) {
    blv_certifier *c = certifier;
    return (int)blv_eval_project(&c->eval, x);
}

/* BLV_NO_INVERSE where H(x, y*) is singular, even if fy happens to lie in its range: then a random
 * right-hand side does not. */
static blv_flow probe_inverse(blv_certifier *c, const blv_vec *x) {
    double residual, rel = 1e-3;
    blv_vec_fill(c->v, 0.0);
    return blv_implicit_adjoint(c->implicit, x, c->y, c->random, c->v,
                                rel * blv_vec_norm(c->random), &residual);
}

blv_flow blv_certifier_phi(blv_certifier *c, const blv_vec *x, const blv_vec *y, double *phi) {
    const double rel = 1e-6; /* half the products of a solve to the last digit */
    blv_implicit_result solved;
    double scale;
    blv_implicit_forget(c->implicit);
    blv_vec_copy(c->y, y);
    blv_flow flow = blv_implicit_value(c->implicit, x, c->y, rel, c->gradient, &scale, &solved);
    *phi = solved.phi;
    return flow;
}

blv_flow blv_certifier_make(blv_certifier *c, const blv_vec *x, const blv_vec *y, const blv_vec *v,
                            blv_certificate *certificate) {
    blv_certificate out = {.phi = NAN,
                           .grad_norm = NAN,
                           .estimate_error = NAN,
                           .linear_residual = NAN,
                           .start_phi = NAN,
                           .projected = c->eval.def->project_x != NULL};
    blv_implicit_forget(c->implicit);
    BLV_TRY(blv_eval_lower(&c->eval, NULL, x, y, NULL, NULL, c->y));
    out.inner_residual = blv_vec_norm(c->y);
    if (v)
        BLV_TRY(own_estimate(c, x, y, v));
    blv_vec_copy(c->y, y);
    blv_vec_fill(c->v, 0.0);
    blv_implicit_result solved;
    blv_flow flow = blv_implicit_gradient(c->implicit, x, c->y, c->v, 0.0, c->gradient, &solved);
    out.phi = solved.phi;
    out.solve_residual = solved.gy_norm;
    out.linear_residual = solved.r_norm;
    out.tight = solved.tight;
    if (flow == BLV_GO) {
        bool curves_down = blv_implicit_minimum(c->implicit) == BLV_NO;
        flow = probe_inverse(c, x);
        out.minimum = curves_down ? BLV_NO : blv_implicit_minimum(c->implicit);
    }
    out.singular = flow == BLV_NO_INVERSE || c->eval.def->singular_lower;
    if (flow == BLV_GO && !out.singular) {
        BLV_TRY((blv_flow)blv_stationarity(x, out.phi, c->gradient, out.projected ? project : NULL,
                                           c, c->shifted, &out.grad_norm));
        if (v)
            out.estimate_error = blv_distance(c->estimate, c->estimate, c->gradient);
    } else if (flow != BLV_GO && flow != BLV_NO_INVERSE) {
        return flow;
    }
    *certificate = out;
    return BLV_GO;
}

blv_error blv_certify(const blv_problem *problem, const blv_vec *x, const blv_vec *y,
                      const blv_vec *v, blv_certificate *certificate, blv_counts *counts,
                      blv_message *why) {
    if (!problem || !x || !y || !certificate)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_certify: a NULL argument");
    const blv_problem_def *def = blv_problem_definition(problem);
    if (blv_vec_space(x) != def->space_x || blv_vec_space(y) != def->space_y ||
        (v && blv_vec_space(v) != def->space_y))
        return blv_explain(why, BLV_E_ARGUMENT,
                           "blv_certify: vectors are not of the problem's spaces");
    blv_counts unused = {0, 0, 0, 0, 0};
    blv_certifier *c;
    blv_error error = blv_certifier_create(&c, problem, counts ? counts : &unused);
    if (error != BLV_OK)
        return blv_explain(why, error, "certificate: %s", blv_certifier_refusal(error));
    blv_flow flow = blv_certifier_make(c, x, y, v, certificate);
    blv_certifier_destroy(c);
    if (flow == BLV_GO)
        return BLV_OK;
    return blv_explain(why, BLV_E_ORACLE, "certificate: %s",
                       flow == BLV_NONFINITE ? "a value was not finite" : "an oracle failed");
}
