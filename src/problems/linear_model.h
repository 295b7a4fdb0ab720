/* What the problems on data share: where the data come from, and linear models on them.
 *
 * The scores of row a are W a, one for each class (one only for a binary logistic model). y is W as
 * one vector: classes x columns for dense data, columns x classes for sparse data. */
#ifndef BLV_PROBLEMS_LINEAR_MODEL_H
#define BLV_PROBLEMS_LINEAR_MODEL_H

#include "bilevel/linear.h"
#include "kernels/elementwise.h"
#include "kernels/row_sweep.h"
#include "problems/pool.h"

/* ---- Where the data come from: fields of a family's parameters ---- */

enum { LINEAR_ORDER_RANDOM, LINEAR_ORDER_FILE };

typedef struct linear_source {
    char train[BLV_TEXT_SIZE], val[BLV_TEXT_SIZE], test[BLV_TEXT_SIZE];
    char label[BLV_TEXT_SIZE], positive[BLV_TEXT_SIZE];
    char labels[BLV_TEXT_SIZE], header[BLV_TEXT_SIZE];
    double train_size, val_size, test_size; /* NaN: what is left, or the default */
    int order, scaling, unit_rows, intercept, layout;
    double corrupt;
    int corruption;
    int64_t seed;
} linear_source;

#define LINEAR_SOURCE_PARAMS(type, member)                                                           \
    {"train",                                                                                        \
     BLV_TEXT,                                                                                       \
     offsetof(type, member.train),                                                                   \
     "",                                                                                             \
     0,                                                                                              \
     0,                                                                                              \
     NULL,                                                                                           \
     "file of the training rows; as it is, or in the folder that BILEVEL_DATA names"},               \
        {"val",                                                                                      \
         BLV_TEXT,                                                                                   \
         offsetof(type, member.val),                                                                 \
         "",                                                                                         \
         0,                                                                                          \
         0,                                                                                          \
         NULL,                                                                                       \
         "file of the validation rows; empty: a part of the training file"},                         \
        {"test",                                                                                     \
         BLV_TEXT,                                                                                   \
         offsetof(type, member.test),                                                                \
         "",                                                                                         \
         0,                                                                                          \
         0,                                                                                          \
         NULL,                                                                                       \
         "file of the test rows; empty: a part of the training file when test_size is given"},       \
        {"label",                                                                                    \
         BLV_TEXT,                                                                                   \
         offsetof(type, member.label),                                                               \
         "",                                                                                         \
         0,                                                                                          \
         0,                                                                                          \
         NULL,                                                                                       \
         "label column of a CSV, by name or number"},                                                \
        {"positive",                                                                                 \
         BLV_TEXT,                                                                                   \
         offsetof(type, member.positive),                                                            \
         "",                                                                                         \
         0,                                                                                          \
         0,                                                                                          \
         NULL,                                                                                       \
         "this class against all others: makes two classes"},                                        \
        {"train_size",                                                                               \
         BLV_REAL,                                                                                   \
         offsetof(type, member.train_size),                                                          \
         "rest",                                                                                     \
         DBL_MIN,                                                                                    \
         1e12,                                                                                       \
         "rest",                                                                                     \
         "training rows: a share below 1, a number from 1 on"},                                      \
        {"val_size",                                                                                 \
         BLV_REAL,                                                                                   \
         offsetof(type, member.val_size),                                                            \
         "auto",                                                                                     \
         DBL_MIN,                                                                                    \
         1e12,                                                                                       \
         "auto",                                                                                     \
         "validation rows, likewise; auto: all of their file, or 0.2 of the training file"},         \
        {"labels",                                                                                   \
         BLV_TEXT,                                                                                   \
         offsetof(type, member.labels),                                                              \
         "",                                                                                         \
         0,                                                                                          \
         0,                                                                                          \
         NULL,                                                                                       \
         "file of the training labels, where they are apart"},                                       \
        {"header",                                                                                   \
         BLV_TEXT,                                                                                   \
         offsetof(type, member.header),                                                              \
         "",                                                                                         \
         0,                                                                                          \
         0,                                                                                          \
         NULL,                                                                                       \
         "yes or no: whether a CSV begins with names; empty: told from its lines"},                  \
        {"test_size",                                                                                \
         BLV_REAL,                                                                                   \
         offsetof(type, member.test_size),                                                           \
         "all",                                                                                      \
         DBL_MIN,                                                                                    \
         1e12,                                                                                       \
         "all",                                                                                      \
         "test rows, likewise"},                                                                     \
        {"order",                                                                                    \
         BLV_CHOICE,                                                                                 \
         offsetof(type, member.order),                                                               \
         "random",                                                                                   \
         0,                                                                                          \
         0,                                                                                          \
         "random|file",                                                                              \
         "of the training rows; file: as they come, split into consecutive parts"},                  \
        {"scaling", BLV_CHOICE,           offsetof(type, member.scaling),         "none", 0,         \
         0,         "none|standard|unit", "of the features, by the training rows"},                  \
        {"unit_rows", BLV_CHOICE, offsetof(type, member.unit_rows),      "off", 0,                   \
         0,           "off|on",   "scale each row to Euclidean length 1"},                           \
        {"intercept",           BLV_CHOICE, offsetof(type, member.intercept), "off", 0, 0, "off|on", \
         "add a column of ones"},                                                                    \
        {"layout", BLV_CHOICE, offsetof(type, member.layout), "auto",                                \
         0,        0,          "auto|dense|sparse",           "how rows are kept"},                  \
        {"corrupt", BLV_REAL, offsetof(type, member.corrupt),           "0", 0,                      \
         1,         NULL,     "share of the training labels to corrupt"},                            \
        {"corruption",                                                                               \
         BLV_CHOICE,                                                                                 \
         offsetof(type, member.corruption),                                                          \
         "uniform",                                                                                  \
         0,                                                                                          \
         0,                                                                                          \
         "uniform|pairwise|redraw",                                                                  \
         "to another class, to the next one, or drawn anew"},                                        \
    {                                                                                                \
        "data_seed", BLV_INT, offsetof(type, member.seed), "0", 0, 9e15, NULL,                       \
            "seed of splits and corruption"                                                          \
    }

typedef struct linear_data {
    blv_dataset *train, *val, *test; /* test may be NULL */
} linear_data;

blv_error linear_load(const linear_source *source, const char *owner, blv_precision precision,
                      linear_data *data, blv_message *why);
/* Sets that share the rows of the caller's, whose later changes do not reach them. */
blv_error linear_data_copy(linear_data *data, const blv_sets *sets, blv_message *why);
void linear_data_destroy(linear_data *data);

/* ---- Linear models ---- */

typedef enum linear_loss {
    LINEAR_LOSS_AUTO,
    LINEAR_LOSS_LOGISTIC,
    LINEAR_LOSS_SOFTMAX
} linear_loss;

/* Memory that one oracle call needs; taken from a pool. */
typedef struct linear_work {
    blv_sweep_work *pass;
    void *ridge, *column, *penalty, *halves; /* columns or classes numbers each, the larger */
    double *sums;                            /* likewise */
    void *weight; /* one number for each row of the largest set, here and below */
    void *row;
    int32_t *guess;
} linear_work;

typedef struct linear_model {
    linear_data data;
    bool logistic;
    size_t classes; /* scores of a row: 1 for logistic */
    size_t columns;
    blv_precision precision;
    int threads;
    const blv_element_loops *loops; /* of the precision */
    work_pool *pool;
} linear_model;

/* Takes the data over, also when it fails. */
blv_error linear_model_open(linear_model *model, linear_data *data, linear_loss loss,
                            const char *owner, const blv_problem_options *options,
                            blv_message *why);
void linear_model_close(linear_model *model);
size_t linear_model_dim(const linear_model *model); /* of y */

/* NULL when memory is short. */
linear_work *linear_work_take(linear_model *model);
void linear_work_return(linear_model *model, linear_work *work);

/* The rows of a batch of a set; batch NULL: all. */
blv_rows linear_rows(const blv_dataset *set, const blv_batch *batch);
void linear_pass(const linear_model *model, const blv_rows *rows, const blv_sweep *pass,
                 linear_work *work);

/* f: mean loss on the validation rows, which does not depend on x. */
int linear_upper(linear_model *model, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
                 double *f, blv_vec *fx, blv_vec *fy);

/* Mean loss and share of right answers on a set. False when memory is short. */
bool linear_quality(linear_model *model, const blv_dataset *set, const blv_vec *y, double *loss,
                    double *accuracy);

/* What the definitions of all problems on data have in common; x and the oracles are left to fill
 * in. order: of the rows, LINEAR_ORDER_RANDOM or LINEAR_ORDER_FILE. */
blv_problem_def linear_definition(const linear_model *model, int order, const char *name);

/* Of training, validation and test rows, as the model reads them. */
uint64_t linear_fingerprint(const linear_data *data);

/* The first four measures of every problem on data: val_loss, val_accuracy, test_loss,
 * test_accuracy (NaN without test rows). */
int linear_measure(linear_model *model, const blv_vec *y, double *values);

#endif
