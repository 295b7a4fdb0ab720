/* Makes bytes in a separate thread, a few pieces ahead of the reader. */
#pragma once

#include "bilevel/status.h"

#include <stddef.h>

typedef struct blv_ahead blv_ahead;

/* Makes n bytes, or fewer when there are no more. Called in the thread only, until stop returns. */
typedef blv_error blv_make_fn(void *context, void *out, size_t n, size_t *got, blv_message *why);

/* NULL when there is no memory or no thread to be had. */
blv_ahead *blv_ahead_start(blv_make_fn *make, void *context);
void blv_ahead_stop(blv_ahead *ahead); /* NULL is allowed */

/* Takes n bytes, or fewer when there are no more, or when the error comes that making them met. */
blv_error blv_ahead_take(blv_ahead *ahead, void *out, size_t n, size_t *got, blv_message *why);
