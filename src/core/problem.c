/* Problem objects: a checked copy of the definition and the spaces of x and y. */
#include "base/hash.h"
#include "base/message.h"
#include "bilevel/cuda.h"
#include "core/problem_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static blv_error check_definition(const blv_problem_def *def, blv_message *why) {
    if (!def->upper)
        return blv_explain(why, BLV_E_ARGUMENT, "problem: the oracle `upper` is missing");
    if (!def->lower)
        return blv_explain(why, BLV_E_ARGUMENT, "problem: the oracle `lower` is missing");
    if (!def->space_x && def->dim_x == 0)
        return blv_explain(why, BLV_E_ARGUMENT, "problem: dim_x is 0, expected at least 1");
    if (!def->space_y && def->dim_y == 0)
        return blv_explain(why, BLV_E_ARGUMENT, "problem: dim_y is 0, expected at least 1");
    if (def->threads < 0)
        return blv_explain(why, BLV_E_ARGUMENT, "problem: threads is %d, expected 0 or more",
                           def->threads);
    return BLV_OK;
}

static blv_error make_space(const blv_problem_def *d, size_t dim, blv_space **own,
                            const blv_space **space, blv_message *why) {
    if (*space)
        return BLV_OK;
    blv_error error = d->memory == BLV_MEMORY_CUDA
                          ? blv_space_create_cuda(own, dim, d->precision, why)
                          : blv_space_create_host(own, dim, d->precision, d->threads);
    *space = *own;
    return error;
}

static blv_error fill_definition(blv_problem *p, blv_message *why) {
    blv_problem_def *d = &p->def;
    BLV_CHECK(make_space(d, d->dim_x, &p->own_x, &d->space_x, why));
    BLV_CHECK(make_space(d, d->dim_y, &p->own_y, &d->space_y, why));
    p->name = strdup(d->name ? d->name : "problem");
    if (!p->name)
        return BLV_E_MEMORY;
    d->name = p->name;
    d->threads = blv_space_threads(d->space_y);
    d->dim_x = blv_space_dim(d->space_x);
    d->dim_y = blv_space_dim(d->space_y);
    d->precision = blv_space_precision(d->space_y);
    d->upper_samples = d->upper_samples ? d->upper_samples : 1;
    d->lower_samples = d->lower_samples ? d->lower_samples : 1;
    return BLV_OK;
}

blv_error blv_problem_create(blv_problem **problem, const blv_problem_def *def, blv_message *why) {
    if (!problem || !def)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_problem_create: a NULL argument");
    *problem = NULL;
    if (def->size < sizeof *def)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "problem: the definition must begin with BLV_SIZED(blv_problem_def)");
    blv_error error = check_definition(def, why);
    blv_problem *p = error == BLV_OK ? calloc(1, sizeof *p) : NULL;
    if (p) {
        p->def = *def;
        blv_message reason = {""};
        error = fill_definition(p, &reason);
        if (error == BLV_OK) {
            *problem = p;
            return BLV_OK;
        }
        blv_problem_destroy(p);
        return blv_explain(why, error, "problem: %.400s",
                           reason.text[0] ? reason.text : blv_error_text(error));
    }
    if (def->free_user)
        def->free_user(def->user);
    return error != BLV_OK ? error : blv_explain(why, BLV_E_MEMORY, "problem: out of memory");
}

void blv_problem_destroy(blv_problem *problem) {
    if (!problem)
        return;
    if (problem->def.free_user)
        problem->def.free_user(problem->def.user);
    blv_space_destroy(problem->own_x);
    blv_space_destroy(problem->own_y);
    free(problem->name);
    free(problem);
}

const blv_problem_def *blv_problem_definition(const blv_problem *problem) {
    return problem ? &problem->def : NULL;
}

uint64_t blv_problem_fingerprint(const blv_problem *problem) {
    if (!problem)
        return 0;
    const blv_problem_def *def = &problem->def;
    if (def->fingerprint)
        return def->fingerprint(def->user);
    uint64_t hash = def->arrays ? BLV_HASH_EMPTY : 0;
    for (const blv_named_array *a = def->arrays; a && a->name; a++) {
        size_t count = 1;
        for (size_t d = 0; d < a->ndim; d++)
            count *= a->shape[d];
        hash = blv_hash_bytes(hash, a->name, strlen(a->name));
        hash = blv_hash_bytes(hash, a->shape, a->ndim * sizeof *a->shape);
        hash = blv_hash_bytes(hash, a->data, count * sizeof *a->data);
    }
    return hash;
}

blv_error blv_problem_from_family(const blv_problem_family *family, const char *const *settings,
                                  const blv_problem_options *options, blv_problem **problem,
                                  blv_message *why) {
    if (problem)
        *problem = NULL;
    if (family && family->size < sizeof *family)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "problem family: it must begin with BLV_SIZED(blv_problem_family)");
    if (!family || !family->name || !family->create || !problem)
        return blv_explain(why, BLV_E_ARGUMENT, "blv_problem_from_family: a NULL argument");
    blv_problem_options chosen;
    BLV_CHECK(blv_caller_struct(&chosen, sizeof chosen, options, "blv_problem_options", why));
    void *params = calloc(1, family->params_size ? family->params_size : 1);
    if (!params)
        return blv_explain(why, BLV_E_MEMORY, "problem %s: out of memory", family->name);
    char owner[80];
    snprintf(owner, sizeof owner, "problem %s", family->name);
    blv_error error = blv_params_default(family->params, params, why);
    for (size_t i = 0; error == BLV_OK && settings && settings[i]; i += 2)
        error = blv_params_set(family->params, params, owner, settings[i], settings[i + 1], why);
    if (error == BLV_OK)
        error = family->create(params, &chosen, problem, why);
    free(params);
    return error;
}
