/* The options of every run. */
#include "core/run_private.h"

#include <float.h>
#include <stddef.h>

#define FIELD(name) offsetof(blv_options, name)

const blv_param blv_option_table[] = {
    {"iters", BLV_INT, FIELD(iters), "auto", 0, 9e15, "auto",
     "iteration limit; auto: 100000 unless seconds or budget are given"},
    {"seconds", BLV_REAL, FIELD(seconds), "none", 0, DBL_MAX, "none",
     "time limit on the solver's clock"},
    {"budget", BLV_INT, FIELD(budget), "none", 1, 9e15, "none",
     "limit on oracle calls, counted for each sample, all kinds together"},
    {"tol", BLV_REAL, FIELD(tol), "0", 0, DBL_MAX, NULL,
     "stop when |d|, |gy| and |r|, as far as the solver reports them, are at most this; 0: never"},
    {"target", BLV_REAL, FIELD(target), "none", -DBL_MAX, DBL_MAX, "none",
     "stop when the certified Phi is at most this; tried every `every` iterations"},
    {"seed", BLV_INT, FIELD(seed), "0", 0, 9e15, NULL, "seed of every random stream of the run"},
    {"batch", BLV_INT, FIELD(batch), "auto", 1, 9e15, "auto|full",
     "samples in a batch; auto: 64 for stochastic solvers, full for the others"},
    {"sampler", BLV_CHOICE, FIELD(sampler), "block", 0, 0, "block|iid|shuffle",
     "how batches are drawn"},
    {"every", BLV_INT, FIELD(every), "100", 1, 9e15, NULL,
     "iterations between rows of the trace and tests of the target"},
    {"certify", BLV_CHOICE, FIELD(certify), "off", 0, 0, "off|on|never",
     "certified Phi and gradient in every row of the trace; never: not at the end either, so that "
     "no run is called converged"},
    {"iterates", BLV_CHOICE, FIELD(iterates), "off", 0, 0, "off|on",
     "the iterates themselves in every row of the trace"},
    {NULL, BLV_REAL, 0, NULL, 0, 0, NULL, NULL},
};

const blv_param *blv_run_options(void) {
    return blv_option_table;
}

const void *blv_run_option_fields(const blv_run *run) {
    return run ? &run->options : NULL;
}
