/* What the parts of blv_continual share. */
#pragma once

#include "base/arena.h"
#include "bilevel/continual.h"
#include "learn/task_runner.h"

typedef struct blv_stream_setting {
    const blv_continual_options *options;
    const blv_dataset *rows, *test; /* the same classes */
    blv_message *why;
} blv_stream_setting;

/* One pass: method, initial, seed and tasks are given, the rest is filled in; arrays are in the
 * arena. */
blv_error blv_continual_run_pass(const blv_stream_setting *setting, blv_arena *arena,
                                 blv_continual_pass *pass);
