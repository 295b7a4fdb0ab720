/* Spaces: creation, what they are, and their first failure. */
#include "base/message.h"
#include "base/precision.h"
#include "bilevel/ranks.h"
#include "space/space_private.h"
#include "space/step_checks.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_complete(const blv_space_ops *o) {
    return o->size >= sizeof *o && o->name && o->create && o->destroy && o->copy && o->fill &&
           o->scale && o->axpy && o->dot && o->clamp && o->read && o->write;
}

blv_error blv_space_create(blv_space **space, const blv_space_ops *ops, size_t dim,
                           blv_precision precision, void *context) {
    if (!space)
        return BLV_E_ARGUMENT;
    *space = NULL;
    if (!ops || dim == 0 || (precision != BLV_F64 && precision != BLV_F32) || !is_complete(ops))
        return BLV_E_ARGUMENT;
    blv_space *s = malloc(sizeof *s);
    if (!s)
        return BLV_E_MEMORY;
    *s = (blv_space){.dim = dim,
                     .local = dim,
                     .precision = precision,
                     .threads = 1,
                     .context = context,
                     .ops = ops};
    *space = s;
    return BLV_OK;
}

void blv_space_destroy(blv_space *space) {
    if (!space)
        return;
    if (space->ops->free_context)
        space->ops->free_context(space->context);
    free(space);
}

size_t blv_space_dim(const blv_space *space) {
    return space ? space->dim : 0;
}

size_t blv_space_local_dim(const blv_space *space) {
    if (!space)
        return 0;
    return space->ops->local_dim ? space->ops->local_dim(space) : space->local;
}

blv_precision blv_space_precision(const blv_space *space) {
    return space ? space->precision : BLV_F64;
}

blv_memory_kind blv_space_memory(const blv_space *space) {
    return space ? space->ops->memory : BLV_MEMORY_OTHER;
}

int blv_space_threads(const blv_space *space) {
    return space ? space->threads : 0;
}

const char *blv_space_name(const blv_space *space) {
    return space ? space->ops->name : NULL;
}

void *blv_space_context(const blv_space *space) {
    return space ? space->context : NULL;
}

size_t blv_space_vec_bytes(const blv_space *space) {
    if (!space)
        return 0;
    if (space->ops->vec_bytes)
        return space->ops->vec_bytes(space);
    return blv_space_local_dim(space) * blv_value_size(space->precision);
}

blv_error blv_space_error(const blv_space *space, blv_message *why) {
    if (!space)
        return BLV_E_ARGUMENT;
    return space->error == BLV_OK ? BLV_OK : blv_explain(why, space->error, "%s", space->why.text);
}

void blv_vec_spoil(blv_vec *v) {
    blv_vec_fill(v, (double)NAN);
    if (v)
        blv_keep_square(v, (double)NAN);
}

const blv_error *blv_space_failure(const blv_space *space) {
    return &space->error;
}

/* Operations get their space as a constant; what they fail with is the one thing that changes. */
void blv_space_fail(const blv_space *space, blv_error error, const char *format, ...) {
    blv_space *s = (blv_space *)space;
    if (!s || !format || error == BLV_OK || s->error != BLV_OK)
        return;
    s->error = error;
    va_list args;
    va_start(args, format);
    vsnprintf(s->why.text, sizeof s->why.text, format, args);
    va_end(args);
}

const blv_ranks *blv_space_ranks(const blv_space *space) {
    return space ? space->ranks : NULL;
}

bool blv_space_agrees(const blv_space *space) {
    return space && space->ops->agree;
}

double blv_space_agree(const blv_space *space, double word) {
    return space && space->ops->agree ? space->ops->agree(space, word) : word;
}
