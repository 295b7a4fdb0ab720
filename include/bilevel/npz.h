/* NumPy files: .npz archives (read and written) and single .npy arrays (read).
 *
 *     blv_npz *file;
 *     double *x;
 *     blv_array about;
 *     if (blv_npz_open(&file, "data.npz", &why) == BLV_OK) {
 *         if (blv_npz_read_f64(file, "x", &x, &about, &why) == BLV_OK) {
 *             use(x, about.ndim, about.shape);
 *             free(x);
 *         }
 *         blv_npz_close(file);
 *     }
 *
 * Files may come from anywhere: sizes and offsets are checked before memory is taken, checksums are
 * checked, and what is rejected is rejected with the file, the array and the reason in `why`.
 * BLV_E_FILE: the system could not read or write. BLV_E_FORMAT: the content is not as it should be.
 *
 * Several threads may read from one blv_npz at a time. A writer belongs to one thread at a time. */
#ifndef BILEVEL_NPZ_H
#define BILEVEL_NPZ_H

#include "bilevel/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BLV_ARRAY_MAX_DIMS 8

/* What a file says about one of its arrays. */
typedef struct blv_array {
    const char *name; /* owned by the blv_npz: valid until it is closed */
    char kind;        /* in the file: 'f' real, 'i' signed, 'u' unsigned, 'b' boolean */
    size_t item_size; /* bytes of one element in the file */
    size_t ndim;      /* 0 for a scalar */
    size_t shape[BLV_ARRAY_MAX_DIMS];
    size_t count; /* product of the shape; 1 for a scalar */
} blv_array;

/* ---- Reading ---- */

typedef struct blv_npz blv_npz;

/* Opens an .npz or an .npy file; which of them is decided by its content. The path is copied.
 * On success *npz is the caller's, to be given to blv_npz_close; on error it is NULL. */
BLV_API blv_error blv_npz_open(blv_npz **npz, const char *path, blv_message *why);
/* The same for a file's content in memory, which must outlive npz. name: for messages; copied. */
BLV_API blv_error blv_npz_open_memory(blv_npz **npz, const void *bytes, size_t size,
                                      const char *name, blv_message *why);
BLV_API void blv_npz_close(blv_npz *npz); /* NULL is allowed */

/* The arrays, in the order of the file. Members of the archive that are not .npy are passed over.
 * Names come without ".npy"; the one array of an .npy file has the name "". */
BLV_API size_t blv_npz_count(const blv_npz *npz);
/* Owned by npz. NULL when i is not below the count. */
BLV_API const char *blv_npz_name(const blv_npz *npz, size_t i);

/* Describes an array without reading its elements. An unknown name gives BLV_E_NAME. */
BLV_API blv_error blv_npz_info(blv_npz *npz, const char *name, blv_array *info, blv_message *why);

/* Reads an array as doubles in C order, from reals of 4 or 8 bytes, integers of 1 to 8 bytes or
 * booleans (0 and 1). Integers beyond 2^53 are rounded to the nearest double.
 * On success *data is the caller's, to be given to free(), and is not NULL even where the array is
 * empty; on error it is NULL. info may be NULL. */
BLV_API blv_error blv_npz_read_f64(blv_npz *npz, const char *name, double **data, blv_array *info,
                                   blv_message *why);

/* Reads an array of bytes (dtype S) as one text, without its zero bytes. At most BLV_NPZ_TEXT_MAX
 * of them. On success *text is the caller's, to be given to free(); on error it is NULL. */
#define BLV_NPZ_TEXT_MAX ((size_t)1 << 24)
BLV_API blv_error blv_npz_read_text(blv_npz *npz, const char *name, char **text, blv_message *why);

/* Reads an array of texts as bytes (dtype S, one dimension). On success *names is the caller's: one
 * block, to be given to free(), that holds the strings too. */
BLV_API blv_error blv_npz_read_names(blv_npz *npz, const char *name, char ***names, size_t *count,
                                     blv_message *why);

/* ---- Writing ---- */

typedef struct blv_npz_writer blv_npz_writer;

/* Starts a file. Everything goes to a temporary file beside path until blv_npz_commit; what is at
 * path is not touched before. The path is copied. Something there that is not a regular file is
 * rejected; a symbolic link is replaced. On success *writer is the caller's, to be given to
 * blv_npz_commit or blv_npz_discard; on error it is NULL. */
BLV_API blv_error blv_npz_create(blv_npz_writer **writer, const char *path, blv_message *why);

/* Takes count bytes; anything but 0 means that it could not. */
typedef int (*blv_write_fn)(void *context, const void *bytes, size_t count);
/* Starts a file that goes to a function, front to back, as it is made. name: for messages; copied.
 */
BLV_API blv_error blv_npz_create_to(blv_npz_writer **writer, const char *name, blv_write_fn write,
                                    void *context, blv_message *why);

/* Adds an array in C order, uncompressed, elements aligned to 64 bytes in the file. Everything is
 * written before the call returns, nothing is kept by reference. ndim 0 is a scalar (shape may be
 * NULL); data may be NULL where the array is empty.
 * BLV_E_VALUE (name empty, too long or used before; more than BLV_ARRAY_MAX_DIMS dimensions; shape
 * too large), BLV_E_ARGUMENT and BLV_E_MEMORY leave the file as it was; after BLV_E_FILE it can
 * only be discarded. */
BLV_API blv_error blv_npz_add_f64(blv_npz_writer *writer, const char *name, size_t ndim,
                                  const size_t *shape, const double *data, blv_message *why);
BLV_API blv_error blv_npz_add_f32(blv_npz_writer *writer, const char *name, size_t ndim,
                                  const size_t *shape, const float *data, blv_message *why);
BLV_API blv_error blv_npz_add_i64(blv_npz_writer *writer, const char *name, size_t ndim,
                                  const size_t *shape, const int64_t *data, blv_message *why);

/* Adds a text as a scalar of bytes, dtype S. */
BLV_API blv_error blv_npz_add_text(blv_npz_writer *writer, const char *name, const char *text,
                                   blv_message *why);

/* Adds texts as an array of bytes (dtype S), padded with zero bytes. */
BLV_API blv_error blv_npz_add_names(blv_npz_writer *writer, const char *name,
                                    const char *const *names, size_t count, blv_message *why);

/* Completes the file, flushes it to disk and renames it over path. Frees the writer in any case;
 * on error the temporary file is removed and path is as it was. */
BLV_API blv_error blv_npz_commit(blv_npz_writer *writer, blv_message *why);
/* Removes the temporary file and frees the writer. NULL is allowed. */
BLV_API void blv_npz_discard(blv_npz_writer *writer);

#ifdef __cplusplus
}
#endif
#endif
