#include "cli_model_file.h"

#include "bilevel/solver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const format_name = "bilevel linear model 1";

/* ---- Writing ---- */

static blv_error add_names(blv_npz_writer *w, const char *array, char *const *names, size_t count,
                           blv_message *why) {
    return names ? blv_npz_add_names(w, array, (const char *const *)names, count, why) : BLV_OK;
}

static blv_error add_arrays(const cli_model *m, blv_npz_writer *w, blv_message *why) {
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
    return add_names(w, "feature_names", m->feature_names, m->features, why);
}

int cli_model_write(const cli_model *model, const char *place, const char *path) {
    blv_message why = {0};
    blv_npz_writer *writer = NULL;
    blv_error error = blv_npz_create(&writer, place, &why);
    if (error == BLV_OK)
        error = add_arrays(model, writer, &why);
    if (error == BLV_OK)
        error = blv_npz_commit(writer, &why);
    else
        blv_npz_discard(writer);
    if (error == BLV_OK)
        return CLI_DONE;
    cli_complain("%s: cannot be written: %s", path, why.text);
    return CLI_REFUSED;
}

/* ---- Reading ---- */

static bool has_array(const blv_npz *file, const char *name) {
    for (size_t i = 0; i < blv_npz_count(file); i++)
        if (strcmp(blv_npz_name(file, i), name) == 0)
            return true;
    return false;
}

static int refuse(const char *path, const char *text) {
    cli_complain("%s: %s", path, text);
    return CLI_REFUSED;
}

static int expect_format(const char *path, blv_npz *file) {
    char **name = NULL;
    size_t count = 0;
    bool known = has_array(file, "format") &&
                 blv_npz_read_names(file, "format", &name, &count, NULL) == BLV_OK && count == 1 &&
                 strcmp(name[0], format_name) == 0;
    free(name);
    return known ? CLI_DONE : refuse(path, "not a model that 'bilevel tune' has written");
}

static int read_numbers(const char *path, blv_npz *file, const char *name, size_t count,
                        double **values) {
    blv_message why = {0};
    blv_array about;
    blv_error error = blv_npz_read_f64(file, name, values, &about, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    for (size_t i = 0; i < about.count; i++)
        if (!isfinite((*values)[i]))
            return refuse(path, "a number is not finite");
    return count == 0 || about.count == count ? CLI_DONE
                                              : refuse(path, "the arrays do not fit together");
}

static int read_names(const char *path, blv_npz *file, const char *name, size_t *count,
                      char ***names) {
    blv_message why = {0};
    size_t expected = *count;
    blv_error error = blv_npz_read_names(file, name, names, count, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    return expected == 0 || *count == expected ? CLI_DONE
                                               : refuse(path, "the arrays do not fit together");
}

static int read_shape(const char *path, blv_npz *file, cli_model *m) {
    blv_message why = {0};
    blv_array about;
    blv_error error = blv_npz_info(file, "weights", &about, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    if (about.ndim != 2 || about.count == 0)
        return refuse(path, "the weights are not a matrix");
    m->scores = about.shape[0];
    m->features = about.shape[1];
    m->classes = m->scores == 1 ? 2 : m->scores;
    return CLI_DONE;
}

static int read_arrays(const char *path, blv_npz *file, cli_model *m) {
    double *unit_rows = NULL;
    int code = read_shape(path, file, m);
    if (code == CLI_DONE)
        code = read_numbers(path, file, "weights", 0, &m->weights);
    if (code == CLI_DONE)
        code = read_numbers(path, file, "intercept", m->scores, &m->intercept);
    if (code == CLI_DONE)
        code = read_numbers(path, file, "shift", m->features, &m->shift);
    if (code == CLI_DONE)
        code = read_numbers(path, file, "divisor", m->features, &m->divisor);
    if (code == CLI_DONE)
        code = read_numbers(path, file, "unit_rows", 1, &unit_rows);
    if (code == CLI_DONE)
        m->unit_rows = unit_rows[0] != 0.0;
    if (code == CLI_DONE)
        code = read_names(path, file, "class_names", &m->classes, &m->class_names);
    if (code == CLI_DONE && has_array(file, "feature_names"))
        code = read_names(path, file, "feature_names", &m->features, &m->feature_names);
    free(unit_rows);
    return code;
}

int cli_model_read(cli_model *model, const char *path) {
    blv_message why = {0};
    blv_npz *file = NULL;
    blv_error error = blv_npz_open(&file, path, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    int code = expect_format(path, file);
    if (code == CLI_DONE)
        code = read_arrays(path, file, model);
    for (size_t j = 0; code == CLI_DONE && j < model->features; j++)
        if (model->divisor[j] == 0.0)
            code = refuse(path, "a divisor is 0");
    blv_npz_close(file);
    return code;
}

void cli_model_free(cli_model *m) {
    free(m->weights);
    free(m->intercept);
    free(m->shift);
    free(m->divisor);
    free(m->penalty);
    free(m->class_names);
    free(m->feature_names);
    free(m->penalty_names);
    *m = (cli_model){0};
}

/* ---- Answers ---- */

/* Scaling goes into the weights: w (x - shift) / divisor + b = (w / divisor) x + b - ... */
static void fold_scaling(const cli_model *m, double *weights, double *intercept) {
    for (size_t k = 0; k < m->scores; k++) {
        intercept[k] = m->intercept[k];
        for (size_t j = 0; j < m->features; j++) {
            size_t at = k * m->features + j;
            weights[at] = m->weights[at] / m->divisor[j];
            intercept[k] -= weights[at] * m->shift[j];
        }
    }
}

int cli_model_answer(const cli_model *m, blv_dataset *dataset, double *probability) {
    blv_message why = {0};
    blv_error error = m->unit_rows ? blv_dataset_unit_rows(dataset, &why) : BLV_OK;
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    double *weights = cli_alloc(m->scores * m->features, sizeof *weights);
    double *intercept = cli_alloc(m->scores, sizeof *intercept);
    fold_scaling(m, weights, intercept);
    blv_linear_model linear = {.size = sizeof linear,
                               .scores = m->scores,
                               .columns = m->features,
                               .weights = weights,
                               .intercept = intercept};
    error = blv_linear_answer(&linear, dataset, probability, &why);
    free(weights);
    free(intercept);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}
