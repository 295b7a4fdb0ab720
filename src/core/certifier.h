/* The true Phi and its gradient at a point, from a problem's oracles alone. */
#pragma once

#include "bilevel/certificate.h"
#include "bilevel/run.h"

typedef struct blv_certifier blv_certifier;

blv_error blv_certifier_create(blv_certifier **certifier, const blv_problem *problem,
                               blv_counts *counts);
/* Why there is none, in words. */
const char *blv_certifier_refusal(blv_error error);
void blv_certifier_destroy(blv_certifier *certifier);
size_t blv_certifier_bytes(const blv_certifier *certifier);

/* Phi(x) to about six digits, with y*(x) from a solve that starts at y. */
blv_flow blv_certifier_phi(blv_certifier *certifier, const blv_vec *x, const blv_vec *y,
                           double *phi);
/* v may be NULL. Anything but BLV_GO means that no certificate could be made. */
blv_flow blv_certifier_make(blv_certifier *certifier, const blv_vec *x, const blv_vec *y,
                            const blv_vec *v, blv_certificate *certificate);
