/* Vectors and data in the memory of a GPU.
 *
 * Problems of the families hyperclean, l2reg, synthetic-logistic, quadratic and others are there
 * when blv_problem_options says memory = BLV_MEMORY_CUDA: rows are copied to the GPU once, x, y and
 * all vectors of a solver live there. This library loads libbilevel-cuda when it is first asked
 * for; programs link nothing else. */
#ifndef BILEVEL_CUDA_H
#define BILEVEL_CUDA_H

#include "bilevel/space.h"

#ifdef __cplusplus
extern "C" {
#endif

/* BLV_OK when there is a GPU that can be used; else BLV_E_UNSUPPORTED and why not. */
BLV_API blv_error blv_cuda_find(blv_message *why);

/* A space of vectors in the memory of the GPU. Updates are queued and carried out together; a
 * reduction waits for the GPU, once. Results are bitwise identical from run to run. */
BLV_API blv_error blv_space_create_cuda(blv_space **space, size_t dim, blv_precision precision,
                                        blv_message *why);

/* The cudaStream_t that all work is on, for a caller's own kernels on the vectors; NULL where there
 * is no GPU. Asking for the elements (blv_vec_dlpack) sends off what is queued. */
BLV_API void *blv_cuda_stream(void);

#ifdef __cplusplus
}
#endif
#endif
