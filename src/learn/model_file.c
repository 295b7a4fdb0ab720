#include "base/message.h"
#include "base/precision.h"
#include "bilevel/model.h"
#include "bilevel/npz.h"
#include "bilevel/solver.h"
#include "learn/linear_fit.h"

#include <stdlib.h>
#include <string.h>

static const char *const format_name = "bilevel linear model 1";

/* ---- Writing ---- */

static blv_error add_names(blv_npz_writer *w, const char *array, const char *const *names,
                           size_t count, blv_message *why) {
    return names ? blv_npz_add_names(w, array, names, count, why) : BLV_OK;
}

static blv_error add_arrays(const blv_model *m, blv_npz_writer *w, blv_message *why) {
    size_t shape[2] = {m->scores, m->features};
    int64_t unit_rows = m->unit_rows;
    BLV_CHECK(blv_npz_add_names(w, "format", &format_name, 1, why));
    BLV_CHECK(blv_npz_add_f64(w, "weights", 2, shape, m->weights, why));
    BLV_CHECK(blv_npz_add_f64(w, "intercept", 1, &m->scores, m->intercept, why));
    BLV_CHECK(blv_npz_add_f64(w, "shift", 1, &m->features, m->shift, why));
    BLV_CHECK(blv_npz_add_f64(w, "divisor", 1, &m->features, m->divisor, why));
    BLV_CHECK(blv_npz_add_i64(w, "unit_rows", 0, NULL, &unit_rows, why));
    BLV_CHECK(blv_npz_add_f64(w, "penalties", 1, &m->penalties, m->penalty, why));
    BLV_CHECK(add_names(w, "penalty_names", m->penalty_names, m->penalties, why));
    BLV_CHECK(add_names(w, "class_names", m->class_names, m->classes, why));
    if (m->recipe)
        BLV_CHECK(blv_npz_add_text(w, "recipe", m->recipe, why));
    return add_names(w, "feature_names", m->feature_names, m->features, why);
}

/* ---- What a model must be ---- */

static bool all_named(const char *const *names, size_t count) {
    size_t i = 0;
    while (names && i < count && names[i])
        i++;
    return i == count;
}

blv_error blv_model_check(const blv_model *m, blv_message *why) {
    const char *name = m->name ? m->name : "the model";
    const char *problem = NULL;
    if (m->features == 0 || m->scores == 0 || m->scores > SIZE_MAX / sizeof(double) / m->features ||
        (m->scores == 1 ? m->classes != 0 && m->classes != 2 : m->scores != m->classes))
        problem = "the arrays do not fit together";
    else if (!blv_all_finite(m->weights, m->scores * m->features) ||
             !blv_all_finite(m->intercept, m->scores) || !blv_all_finite(m->shift, m->features) ||
             !blv_all_finite(m->divisor, m->features) || !blv_all_finite(m->penalty, m->penalties))
        problem = "a number is not finite";
    else if (!all_named(m->class_names, m->classes) ||
             (m->feature_names && !all_named(m->feature_names, m->features)) ||
             (m->penalty_names && !all_named(m->penalty_names, m->penalties)))
        problem = "a name is missing";
    for (size_t j = 0; !problem && j < m->features; j++)
        problem = m->divisor[j] == 0.0 ? "a divisor is 0" : NULL;
    return problem ? blv_explain(why, BLV_E_FORMAT, "%s: %s", blv_shown_path(name), problem)
                   : BLV_OK;
}

/* ---- Writing ---- */

blv_error blv_model_write(const blv_model *model, const char *path, blv_message *why) {
    blv_npz_writer *writer = NULL;
    if (!model || !path)
        return blv_explain(why, BLV_E_ARGUMENT, "model: a NULL argument");
    BLV_CHECK(blv_model_check(model, why));
    BLV_CHECK(blv_npz_create(&writer, path, why));
    blv_error error = add_arrays(model, writer, why);
    if (error == BLV_OK)
        return blv_npz_commit(writer, why);
    blv_npz_discard(writer);
    return error;
}

/* ---- Reading ---- */

enum { MOST_OWNED = 16 };

/* A model from a file, and its arrays and texts, from malloc. */
typedef struct model_file {
    blv_model model; /* first: what the caller gets */
    blv_npz *file;
    void *owned[MOST_OWNED];
    size_t owned_count;
    blv_message *why;
} model_file;

static bool has_array(const model_file *f, const char *name) {
    for (size_t i = 0; i < blv_npz_count(f->file); i++)
        if (strcmp(blv_npz_name(f->file, i), name) == 0)
            return true;
    return false;
}

static blv_error reject(const model_file *f, const char *text) {
    return blv_explain(f->why, BLV_E_FORMAT, "%s: %s", blv_shown_path(f->model.name), text);
}

static blv_error expect_format(model_file *f) {
    char **name = NULL;
    size_t count = 0;
    bool known = has_array(f, "format") &&
                 blv_npz_read_names(f->file, "format", &name, &count, NULL) == BLV_OK &&
                 count == 1 && strcmp(name[0], format_name) == 0;
    free(name);
    return known ? BLV_OK : reject(f, "not a model that 'bilevel tune' has written");
}

/* *count: as many are expected; 0: any number, which is put there. */
static blv_error read_numbers(model_file *f, const char *name, size_t *count,
                              const double **values) {
    blv_array about;
    double *read = NULL;
    BLV_CHECK(blv_npz_read_f64(f->file, name, &read, &about, f->why));
    *values = f->owned[f->owned_count++] = read;
    if (*count > 0 && about.count != *count)
        return reject(f, "the arrays do not fit together");
    *count = about.count;
    return BLV_OK;
}

static blv_error read_names(model_file *f, const char *name, size_t expected,
                            const char *const **names) {
    size_t count = 0;
    char **read = NULL;
    BLV_CHECK(blv_npz_read_names(f->file, name, &read, &count, f->why));
    f->owned[f->owned_count++] = read;
    *names = (const char *const *)read;
    return count == expected ? BLV_OK : reject(f, "the arrays do not fit together");
}

static blv_error read_shape(model_file *f) {
    blv_model *m = &f->model;
    blv_array about;
    BLV_CHECK(blv_npz_info(f->file, "weights", &about, f->why));
    if (about.ndim != 2 || about.count == 0)
        return reject(f, "the weights are not a matrix");
    m->scores = about.shape[0];
    m->features = about.shape[1];
    m->classes = !has_array(f, "class_names") ? 0 : m->scores == 1 ? 2 : m->scores;
    return BLV_OK;
}

static blv_error read_arrays(model_file *f) {
    blv_model *m = &f->model;
    size_t any = 0, one = 1;
    const double *unit_rows;
    char *recipe = NULL;
    BLV_CHECK(expect_format(f));
    BLV_CHECK(read_shape(f));
    BLV_CHECK(read_numbers(f, "weights", &any, &m->weights));
    BLV_CHECK(read_numbers(f, "intercept", &m->scores, &m->intercept));
    BLV_CHECK(read_numbers(f, "shift", &m->features, &m->shift));
    BLV_CHECK(read_numbers(f, "divisor", &m->features, &m->divisor));
    BLV_CHECK(read_numbers(f, "unit_rows", &one, &unit_rows));
    m->unit_rows = unit_rows[0] != 0.0;
    if (m->classes > 0)
        BLV_CHECK(read_names(f, "class_names", m->classes, &m->class_names));
    else if (m->scores != 1)
        return reject(f, "the arrays do not fit together");
    if (has_array(f, "feature_names"))
        BLV_CHECK(read_names(f, "feature_names", m->features, &m->feature_names));
    if (has_array(f, "penalties"))
        BLV_CHECK(read_numbers(f, "penalties", &m->penalties, &m->penalty));
    if (has_array(f, "penalty_names"))
        BLV_CHECK(read_names(f, "penalty_names", m->penalties, &m->penalty_names));
    if (has_array(f, "recipe"))
        BLV_CHECK(blv_npz_read_text(f->file, "recipe", &recipe, f->why));
    m->recipe = f->owned[f->owned_count++] = recipe;
    return blv_model_check(m, f->why);
}

blv_error blv_model_read(blv_model **model, const char *path, blv_message *why) {
    if (!model || !path)
        return blv_explain(why, BLV_E_ARGUMENT, "model: a NULL argument");
    *model = NULL;
    model_file *f = calloc(1, sizeof *f);
    char *name = f ? strdup(path) : NULL;
    if (!name) {
        free(f);
        return blv_explain_memory(why);
    }
    f->model.name = f->owned[f->owned_count++] = name;
    f->why = why;
    blv_error error = blv_npz_open(&f->file, path, why);
    if (error == BLV_OK)
        error = read_arrays(f);
    blv_npz_close(f->file);
    if (error != BLV_OK) {
        blv_model_destroy(&f->model);
        return error;
    }
    *model = &f->model;
    return BLV_OK;
}

void blv_model_destroy(blv_model *model) {
    if (!model)
        return;
    model_file *f = (model_file *)(void *)model; /* its first member */
    for (size_t i = 0; i < f->owned_count; i++)
        free(f->owned[i]);
    free(f);
}
