/* Penalties for each feature on generated data: half of the features carry signal, half none, so
 * the best penalties differ. The set of the minimax paper's section 4.1 has 1000 rows of 20
 * features, half for training and half for validation; the paper does not say how it was drawn.
 * Here features are normal numbers, and b = sign(a'w + noise) with w normal on the first half of
 * the features. */
#include "base/message.h"
#include "base/random.h"
#include "problems/l2reg.h"

#include <math.h>
#include <stdlib.h>

typedef struct synthetic_params {
    int64_t rows, columns, seed;
    double noise;
} synthetic_params;

#define FIELD(name) offsetof(synthetic_params, name)

static const blv_param params[] = {
    {"rows", BLV_INT, FIELD(rows), "1000", 4, 1e8, NULL, "rows, half of them for training"},
    {"columns", BLV_INT, FIELD(columns), "20", 1, 1e6, NULL, "features"},
    {"noise", BLV_REAL, FIELD(noise), "1", 0, 1e6, NULL, "size of the noise in the labels"},
    {"seed", BLV_INT, FIELD(seed), "0", 0, 9e15, NULL, "seed of the data"},
    PARAMS_END,
};

/* features: rows x columns of the precision; label: 1 or 0. w: room for columns numbers. */
static void generate(const synthetic_params *p, blv_precision precision, void *features,
                     int32_t *label, double *w) {
    size_t rows = (size_t)p->rows, columns = (size_t)p->columns;
    blv_stream of_w = blv_stream_make((uint64_t)p->seed, "synthetic w");
    blv_stream of_a = blv_stream_make((uint64_t)p->seed, "synthetic a");
    blv_stream of_noise = blv_stream_make((uint64_t)p->seed, "synthetic noise");
    for (size_t j = 0; j < columns; j++)
        w[j] = 2 * j < columns ? blv_random_normal(&of_w, j) : 0.0;
    for (size_t i = 0; i < rows; i++) {
        double score = p->noise * blv_random_normal(&of_noise, i);
        for (size_t j = 0; j < columns; j++) {
            double a = blv_random_normal(&of_a, i * columns + j);
            score += a * w[j];
            blv_value_set(features, precision, i * columns + j, a);
        }
        label[i] = score > 0.0;
    }
}

/* The two halves of the generated rows. */
static blv_error make_data(const synthetic_params *p, blv_precision precision, data_sets *data,
                           blv_message *why) {
    static const char *const names[] = {"-1", "+1"};
    size_t rows = (size_t)p->rows, columns = (size_t)p->columns, half = rows / 2;
    size_t real = blv_value_size(precision);
    *data = (data_sets){NULL, NULL, NULL};
    char *features = malloc(rows * columns * real);
    int32_t *label = malloc(rows * sizeof *label);
    double *w = malloc(columns * sizeof *w);
    blv_error error = BLV_OK;
    if (features && label && w) {
        generate(p, precision, features, label, w);
        blv_dataset_view view = {.size = sizeof(blv_dataset_view),
                                 .rows = half,
                                 .columns = columns,
                                 .precision = precision,
                                 .dense = features,
                                 .stride = columns,
                                 .classes = 2,
                                 .label = label,
                                 .class_names = names,
                                 .format = "generated"};
        error = blv_dataset_create(&data->train, &view, "generated", why);
        view.rows = rows - half;
        view.dense = features + half * columns * real;
        view.label = label + half;
        if (error == BLV_OK)
            error = blv_dataset_create(&data->val, &view, "generated", why);
    } else {
        error = blv_explain(why, BLV_E_MEMORY, "problem synthetic-logistic: out of memory");
    }
    free(features);
    free(label);
    free(w);
    if (error != BLV_OK)
        data_sets_release(data);
    return error;
}

static blv_error create(const void *fields, const blv_problem_options *options,
                        blv_problem **problem, blv_message *why) {
    data_sets sets;
    /* per feature, logistic, no bounds */
    const l2reg_params choices = {.scale = 1.0, .lo = NAN, .hi = NAN};
    BLV_CHECK(make_data(fields, options->precision, &sets, why));
    return data_problem_make(&l2reg_family, "synthetic-logistic", &choices, &sets, options, problem,
                             why);
}

PROBLEM_FAMILY(synthetic_logistic, "synthetic-logistic", synthetic_params, params, create,
               "a penalty for each feature of a logistic model on generated data",
               "f = mean loss on validation rows\n"
               "g = mean loss on training rows + 1/2 sum exp(x) y^2");
