/* Checkpoints: a run that is saved can be resumed, and ends bitwise as if it had never stopped. */
#ifndef BILEVEL_CHECKPOINT_H
#define BILEVEL_CHECKPOINT_H

#include "bilevel/npz.h"
#include "bilevel/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes everything that the run needs to go on, as an NPZ file (docs/store.md): aside first,
 * brought to the disk, then renamed over path, so that path is always whole. Between two steps,
 * from a monitor or from a pause; opens the run if it is not open. When it fails the run is as it
 * was, and what was at path too. */
BLV_API blv_error blv_run_save(blv_run *run, const char *path);
/* The same through a function that gets the file front to back. */
BLV_API blv_error blv_run_save_to(blv_run *run, blv_write_fn write, void *context);

/* Takes over what was saved, in place of a start: the run must be of the same solver, problem,
 * dimensions, precision, parameters, seed, batch and sampler, opened or not, and not yet stepped.
 * Limits, tolerances and the trace may differ. It then goes on as the one that was saved would
 * have, to the bit, in any number of threads. What differs is named in the message (BLV_E_VALUE); a
 * file that is damaged or of another version is BLV_E_FORMAT. On error the run is as it was. */
BLV_API blv_error blv_run_load(blv_run *run, const char *path);
/* The same from memory. */
BLV_API blv_error blv_run_load_from(blv_run *run, const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif
#endif
