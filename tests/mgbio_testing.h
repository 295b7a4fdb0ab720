/* Shared by the tests of the MGBiO family. */
#ifndef MGBIO_TESTING_H
#define MGBIO_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "blv_testing.h"

static const char *const family[] = {"mgbio", "msgbio", "vr-msgbio"};

static inline double true_gradient(const blv_problem *problem, const blv_run *run) {
    size_t dx = blv_run_dim(run, "x");
    double *x = make_numbers(dx), *gradient = make_numbers(dx);
    read_state(run, "x", x);
    quadratic_truth(problem, x, NULL, NULL, gradient);
    double norm = dense_size(dx, gradient);
    free(x);
    free(gradient);
    return norm;
}

static inline bool ended_well(const blv_run *run) {
    return blv_run_result(run)->outcome > BLV_DIVERGED;
}

#endif
