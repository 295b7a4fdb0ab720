/* Checkpoints: a saved run can be resumed, in another process and on any number of threads, and
 * ends bitwise identical to a run that was never interrupted. */
#ifndef BILEVEL_CHECKPOINT_H
#define BILEVEL_CHECKPOINT_H

#include "bilevel/npz.h"
#include "bilevel/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes everything that is needed to resume the run, as an NPZ file (docs/store.md). The file is
 * replaced atomically: path is always whole. Between two steps, or from a callback; opens the run
 * if it is not open. On error the run and the file at path are as they were.
 * On several ranks all call it, rank 0 writes the file, and each rank its elements of vectors that
 * are spread: path.SET.part0, path.SET.part1, ... with a new SET each time. They are written before
 * the file, and those of the checkpoint before are removed after it, so that a whole set is there
 * at any time. It loads on any number of ranks. */
BLV_API blv_error blv_run_save(blv_run *run, const char *path);
/* The same through a function that gets the file front to back; on ranks the function of rank 0,
 * and the file has all elements. */
BLV_API blv_error blv_run_save_to(blv_run *run, blv_write_fn write, void *context);
/* The same with parts as blv_run_save has them, at base.SET.partN, where there are any. Once the
 * file is kept, blv_run_drop_parts removes parts of base that are not of the checkpoint that `keep`
 * has saved last (NULL: all). */
BLV_API blv_error blv_run_save_parts(blv_run *run, const char *base, blv_write_fn write,
                                     void *context);
BLV_API blv_error blv_run_drop_parts(const char *base, const blv_run *keep);

/* Restores what was saved, instead of a start: after the parameters are set, before the first step.
 * Solver, problem, dimensions, precision, parameters, seed, batch and sampler must be the same;
 * limits, tolerances and the trace may differ. What differs is named in the message (BLV_E_VALUE);
 * a file that is damaged or of another version is BLV_E_FORMAT. On error the run is as it was. */
BLV_API blv_error blv_run_load(blv_run *run, const char *path);
/* The same from memory; base: where its parts are, NULL: it has none. */
BLV_API blv_error blv_run_load_from(blv_run *run, const void *bytes, size_t size);
BLV_API blv_error blv_run_load_parts(blv_run *run, const char *base, const void *bytes,
                                     size_t size);

#ifdef __cplusplus
}
#endif
#endif
