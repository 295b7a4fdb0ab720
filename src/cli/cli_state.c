#include "cli_state.h"
#include "cli_common.h"

#include "bilevel/npz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const cli_vector_names[CLI_VECTORS] = {"x", "y", "v"};

void cli_vectors_read(cli_vectors *vectors, const blv_run *run) {
    for (int i = 0; i < CLI_VECTORS; i++) {
        size_t dim = blv_run_dim(run, cli_vector_names[i]);
        if (dim == 0)
            continue;
        double *values = cli_alloc(dim, sizeof *values);
        if (blv_run_read(run, cli_vector_names[i], values) != BLV_OK) {
            free(values);
            continue;
        }
        vectors->dim[i] = dim;
        vectors->values[i] = values;
    }
}

void cli_vectors_drop(cli_vectors *vectors, int which) {
    free(vectors->values[which]);
    vectors->values[which] = NULL;
    vectors->dim[which] = 0;
}

void cli_vectors_free(cli_vectors *vectors) {
    for (int i = 0; i < CLI_VECTORS; i++)
        cli_vectors_drop(vectors, i);
}

/* ---- Start ---- */

static bool has_array(const blv_npz *file, const char *name) {
    for (size_t i = 0; i < blv_npz_count(file); i++)
        if (strcmp(blv_npz_name(file, i), name) == 0)
            return true;
    return false;
}

static int expect_finite(const char *path, const char *name, const double *values, size_t count,
                         blv_precision precision) {
    for (size_t i = 0; i < count; i++) {
        double held = precision == BLV_F32 ? (double)(float)values[i] : values[i];
        if (isfinite(held))
            continue;
        cli_complain("%s: array %s: entry %zu is %g, expected a finite number of precision %s",
                     path, name, i, values[i], cli_precision_word(precision));
        return CLI_REFUSED;
    }
    return CLI_DONE;
}

static int expect_size(const char *path, const char *name, size_t expected, size_t found) {
    if (found == expected)
        return CLI_DONE;
    cli_complain("%s: array %s: expected %zu entries, found %zu", path, name, expected, found);
    return CLI_REFUSED;
}

static int load_vector(cli_vectors *loaded, int which, blv_npz *file, const char *path,
                       const blv_run *run, blv_precision precision) {
    const char *name = cli_vector_names[which];
    blv_message why = {0};
    blv_array about;
    blv_error error = blv_npz_info(file, name, &about, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    size_t expected = blv_run_dim(run, name);
    int code = expected == 0 ? CLI_DONE : expect_size(path, name, expected, about.count);
    if (code != CLI_DONE)
        return code;
    error = blv_npz_read_f64(file, name, &loaded->values[which], NULL, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    loaded->dim[which] = about.count;
    return expect_finite(path, name, loaded->values[which], about.count, precision);
}

static bool is_word(const char *start) {
    return strcmp(start, "zero") == 0 || strcmp(start, "random") == 0;
}

int cli_start_load(cli_vectors *loaded, const blv_run *run, const char *start,
                   blv_precision precision) {
    if (is_word(start))
        return CLI_DONE;
    blv_message why = {0};
    blv_npz *file = NULL;
    blv_error error = blv_npz_open(&file, start, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    int code = CLI_DONE;
    bool found = false;
    for (int i = 0; i < CLI_VECTORS && code == CLI_DONE; i++) {
        if (!has_array(file, cli_vector_names[i]))
            continue;
        code = load_vector(loaded, i, file, start, run, precision);
        found = true;
    }
    if (!found) {
        cli_complain("%s: expected an array x, y or v, found none of them", start);
        code = CLI_REFUSED;
    }
    blv_npz_close(file);
    return code;
}

static int apply_vector(blv_run *run, const char *name, const char *path, const double *values,
                        size_t count) {
    size_t dim = blv_run_dim(run, name);
    if (dim == 0) {
        cli_complain("%s: array %s: solver %s has no %s to start from", path, name,
                     blv_run_solver(run)->name, name);
        return CLI_REFUSED;
    }
    int code = expect_size(path, name, dim, count);
    if (code != CLI_DONE)
        return code;
    blv_error error = blv_run_write(run, name, values);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, blv_run_message(run));
}

int cli_start_apply(blv_run *run, const char *start, const cli_vectors *loaded) {
    const double scale = 1.0;
    blv_error error = BLV_OK;
    if (strcmp(start, "random") == 0)
        error = blv_run_start_random(run, scale);
    if (error != BLV_OK)
        return cli_refuse(error, blv_run_message(run));
    int code = CLI_DONE;
    for (int i = 0; i < CLI_VECTORS && code == CLI_DONE; i++)
        if (loaded->values[i])
            code = apply_vector(run, cli_vector_names[i], start, loaded->values[i], loaded->dim[i]);
    return code;
}

/* ---- Out ---- */

int cli_expect_writable(const char *path) {
    blv_message why = {0};
    blv_npz_writer *writer = NULL;
    blv_error error = blv_npz_create(&writer, path, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    blv_npz_discard(writer);
    return CLI_DONE;
}

static blv_error add_vectors(blv_npz_writer *writer, const cli_vectors *vectors, const char *suffix,
                             blv_message *why) {
    for (int i = 0; i < CLI_VECTORS; i++) {
        if (!vectors->values[i])
            continue;
        char name[8];
        snprintf(name, sizeof name, "%s%s", cli_vector_names[i], suffix);
        blv_error error =
            blv_npz_add_f64(writer, name, 1, &vectors->dim[i], vectors->values[i], why);
        if (error != BLV_OK)
            return error;
    }
    return BLV_OK;
}

int cli_save(const char *path, const cli_vectors *end, const cli_vectors *start) {
    blv_message why = {0};
    blv_npz_writer *writer = NULL;
    blv_error error = blv_npz_create(&writer, path, &why);
    if (error == BLV_OK)
        error = add_vectors(writer, end, "", &why);
    if (error == BLV_OK)
        error = add_vectors(writer, start, "0", &why);
    if (error != BLV_OK) {
        blv_npz_discard(writer);
        return cli_refuse(error, why.text);
    }
    error = blv_npz_commit(writer, &why);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

/* ---- Known solutions ---- */

static double distance(const blv_vec *solution, const double *values, size_t dim) {
    double *known = cli_alloc(dim, sizeof *known), sum = 0.0;
    blv_vec_read(solution, known);
    for (size_t i = 0; i < dim; i++)
        sum += (values[i] - known[i]) * (values[i] - known[i]);
    free(known);
    return sqrt(sum);
}

bool cli_known_distance(const blv_problem *problem, const cli_vectors *end, double *distance_x,
                        double *distance_y) {
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_vec *x = NULL, *y = NULL;
    bool known = def->known_solution && end->values[CLI_X] && end->values[CLI_Y] &&
                 blv_vec_create(&x, def->space_x) == BLV_OK &&
                 blv_vec_create(&y, def->space_y) == BLV_OK &&
                 def->known_solution(def->user, x, y) == 0;
    if (known) {
        *distance_x = distance(x, end->values[CLI_X], end->dim[CLI_X]);
        *distance_y = distance(y, end->values[CLI_Y], end->dim[CLI_Y]);
    }
    blv_vec_destroy(x);
    blv_vec_destroy(y);
    return known;
}
