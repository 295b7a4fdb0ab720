#include "bilevel/task.h"

#include <stdlib.h>

void blv_run_end_free(blv_run_end *end) {
    if (!end)
        return;
    free(end->x);
    free(end->y);
    *end = (blv_run_end){0};
}
