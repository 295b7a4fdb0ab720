#include "store/start_vectors.h"

#include "base/message.h"
#include "bilevel/npz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const blv_vector_names[BLV_VECTORS] = {"x", "y", "v"};

blv_error blv_vectors_read(blv_vectors *vectors, const blv_run *run) {
    *vectors = (blv_vectors){0};
    for (int i = 0; i < BLV_VECTORS; i++) {
        size_t dim = blv_run_dim(run, blv_vector_names[i]);
        double *values = dim > 0 ? malloc(dim * sizeof *values) : NULL;
        if (dim > 0 && !values) {
            blv_vectors_free(vectors);
            return BLV_E_MEMORY;
        }
        if (values && blv_run_read(run, blv_vector_names[i], values) == BLV_OK) {
            vectors->dim[i] = dim;
            vectors->values[i] = values;
        } else
            free(values);
    }
    return BLV_OK;
}

void blv_vectors_free(blv_vectors *vectors) {
    for (int i = 0; i < BLV_VECTORS; i++)
        free(vectors->values[i]);
    *vectors = (blv_vectors){0};
}

/* ---- Start ---- */

static blv_error expect_size(const char *path, const char *name, size_t expected, size_t found,
                             blv_message *why) {
    return found == expected
               ? BLV_OK
               : blv_explain(why, BLV_E_VALUE, "%s: array %s: expected %zu entries, found %zu",
                             blv_shown_path(path), name, expected, found);
}

/* An array that the file does not have is passed over. v has its size from the solver. */
static blv_error load_vector(blv_vectors *loaded, int which, blv_npz *file, const char *path,
                             const blv_problem_def *def, blv_message *why) {
    const char *name = blv_vector_names[which];
    const bool single = def->precision == BLV_F32;
    blv_array about;
    blv_error error = blv_npz_info(file, name, &about, why);
    if (error != BLV_OK)
        return error == BLV_E_NAME ? BLV_OK : error;
    if (which != BLV_VECTOR_V)
        BLV_CHECK(expect_size(path, name, which == BLV_VECTOR_X ? def->dim_x : def->dim_y,
                              about.count, why));
    BLV_CHECK(blv_npz_read_f64(file, name, &loaded->values[which], NULL, why));
    loaded->dim[which] = about.count;
    for (size_t i = 0; i < about.count; i++) {
        double value = loaded->values[which][i];
        if (!isfinite(single ? (double)(float)value : value))
            return blv_explain(
                why, BLV_E_VALUE,
                "%s: array %s: entry %zu is %g, expected a finite number of precision %s",
                blv_shown_path(path), name, i, value, single ? "f32" : "f64");
    }
    return BLV_OK;
}

blv_error blv_start_load(blv_vectors *loaded, const char *start, const blv_problem *problem,
                         blv_message *why) {
    *loaded = (blv_vectors){0};
    if (strcmp(start, "zero") == 0 || strcmp(start, "random") == 0)
        return BLV_OK;
    blv_npz *file = NULL;
    BLV_CHECK(blv_npz_open(&file, start, why));
    blv_error error = BLV_OK;
    bool found = false;
    for (int i = 0; i < BLV_VECTORS && error == BLV_OK; i++) {
        error = load_vector(loaded, i, file, start, blv_problem_definition(problem), why);
        found = found || loaded->values[i];
    }
    if (error == BLV_OK && !found)
        error = blv_explain(why, BLV_E_VALUE, "%s: expected an array x, y or v, found none of them",
                            blv_shown_path(start));
    blv_npz_close(file);
    if (error != BLV_OK)
        blv_vectors_free(loaded);
    return error;
}

static blv_error apply_vector(blv_run *run, int which, const char *path, const blv_vectors *loaded,
                              blv_message *why) {
    const char *name = blv_vector_names[which];
    size_t dim = blv_run_dim(run, name);
    if (dim == 0)
        return blv_explain(why, BLV_E_VALUE, "%s: array %s: solver %s has no %s to start from",
                           blv_shown_path(path), name, blv_run_solver(run)->name, name);
    BLV_CHECK(expect_size(path, name, dim, loaded->dim[which], why));
    blv_error error = blv_run_write(run, name, loaded->values[which]);
    return error == BLV_OK ? BLV_OK : blv_explain(why, error, "%s", blv_run_message(run));
}

blv_error blv_start_apply(blv_run *run, const char *start, const blv_vectors *loaded,
                          bool v_is_optional, blv_message *why) {
    const double scale = 1.0;
    blv_error error = strcmp(start, "random") == 0 ? blv_run_start_random(run, scale) : BLV_OK;
    if (error != BLV_OK)
        return blv_explain(why, error, "%s", blv_run_message(run));
    for (int i = 0; i < BLV_VECTORS; i++) {
        bool passed_over =
            i == BLV_VECTOR_V && v_is_optional && blv_run_dim(run, blv_vector_names[i]) == 0;
        if (loaded->values[i] && !passed_over)
            BLV_CHECK(apply_vector(run, i, start, loaded, why));
    }
    return BLV_OK;
}

/* ---- Out ---- */

blv_error blv_vectors_expect_writable(const char *path, blv_message *why) {
    blv_npz_writer *writer = NULL;
    BLV_CHECK(blv_npz_create(&writer, path, why));
    blv_npz_discard(writer);
    return BLV_OK;
}

static blv_error add_vectors(blv_npz_writer *writer, const blv_vectors *vectors, const char *suffix,
                             blv_message *why) {
    for (int i = 0; i < BLV_VECTORS; i++) {
        if (!vectors->values[i])
            continue;
        char name[8];
        snprintf(name, sizeof name, "%s%s", blv_vector_names[i], suffix);
        BLV_CHECK(blv_npz_add_f64(writer, name, 1, &vectors->dim[i], vectors->values[i], why));
    }
    return BLV_OK;
}

blv_error blv_vectors_save(const char *path, const blv_vectors *end, const blv_vectors *start,
                           blv_message *why) {
    blv_npz_writer *writer = NULL;
    BLV_CHECK(blv_npz_create(&writer, path, why));
    blv_error error = add_vectors(writer, end, "", why);
    if (error == BLV_OK)
        error = add_vectors(writer, start, "0", why);
    if (error == BLV_OK)
        return blv_npz_commit(writer, why);
    blv_npz_discard(writer);
    return error;
}
