#include "problems/family.h"
#include "base/message.h"
#include "bilevel/cuda.h"
#include "bilevel/ranks.h"

#include <math.h>

static const char *memory_name(blv_memory_kind memory) {
    return memory == BLV_MEMORY_HOST ? "host" : memory == BLV_MEMORY_CUDA ? "CUDA" : "this kind of";
}

blv_error problem_kernels(const blv_problem_options *options, const char *name,
                          const blv_kernels **kernels, blv_message *why) {
    blv_message reason = {""};
    if (options->memory == BLV_MEMORY_CUDA && blv_cuda_find(&reason) != BLV_OK)
        return blv_explain(why, BLV_E_UNSUPPORTED, "problem %s: not in CUDA memory: %.380s", name,
                           reason.text);
    *kernels = blv_kernels_for(options->memory, options->precision);
    return *kernels ? BLV_OK
                    : blv_explain(why, BLV_E_UNSUPPORTED, "problem %s: no kernels for %s memory",
                                  name, memory_name(options->memory));
}

const char *problem_ranks_error(blv_error error) {
    return error == BLV_E_UNSUPPORTED ? "the processors of the ranks have different instructions, "
                                        "so they would not round alike"
                                      : blv_error_text(error);
}

bool problem_sum(const blv_ranks *ranks, const blv_kernels *kernels, size_t numbers, double *number,
                 size_t count, void *const *arrays, const size_t *sizes, double *shared) {
    double *at = shared;
    for (size_t i = 0; i < count; i++)
        if (arrays[i]) {
            kernels->read(sizes[i], arrays[i], at);
            at += sizes[i];
        }
    for (size_t i = 0; number && i < numbers; i++)
        *at++ = number[i];
    const bool well = at == shared || ranks->sum(ranks->context, (size_t)(at - shared), shared);
    if (!well)
        *shared = (double)NAN;
    at = shared;
    for (size_t i = 0; i < count; i++)
        if (arrays[i]) {
            kernels->write(sizes[i], at, arrays[i]);
            at += sizes[i];
        }
    for (size_t i = 0; number && i < numbers; i++)
        number[i] = *at++;
    return well;
}

blv_error problem_on_host(const blv_problem_options *options, const char *name, blv_message *why) {
    if (options->ranks)
        return blv_explain(why, BLV_E_UNSUPPORTED,
                           "problem %s: cannot be spread over ranks; run it in one process", name);
    return options->memory == BLV_MEMORY_HOST
               ? BLV_OK
               : blv_explain(why, BLV_E_UNSUPPORTED,
                             "problem %s: only in host memory, not in %s memory", name,
                             memory_name(options->memory));
}
