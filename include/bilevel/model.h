/* Linear models: files of them, and their answers (docs/tune.md has the arrays of a file). */
#ifndef BILEVEL_MODEL_H
#define BILEVEL_MODEL_H

#include "bilevel/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Scores of a row x: weights z + intercept with z = (x - shift) / divisor, one for each class; or
 * one only, of two classes the second against the first, or the answer itself of a model of real
 * targets. To be read; blv_model_read and the tasks make models. */
typedef struct blv_model {
    size_t scores, features;
    size_t classes;                /* 0: real targets */
    const double *weights;         /* scores x features, of the scaled features */
    const double *intercept;       /* scores */
    const double *shift, *divisor; /* features */
    bool unit_rows;                /* z is divided by its length */
    const char *const *class_names;
    const char *const *feature_names; /* NULL: none */
    size_t penalties;
    const double *penalty;            /* that it was trained with */
    const char *const *penalty_names; /* what each penalty is of */
    const char *name;                 /* in messages: the file, or "the model" */
    const char *recipe; /* how rows of a CSV file become features: blv_dataset_recipe; NULL: none */
} blv_model;

/* NPZ. Replaces the file when all of it is written. */
BLV_API blv_error blv_model_write(const blv_model *model, const char *path, blv_message *why);
BLV_API blv_error blv_model_read(blv_model **model, const char *path, blv_message *why);
BLV_API void blv_model_destroy(blv_model *model); /* NULL is allowed */

/* Rows from a file, as wide as the model. A CSV file is read by the recipe of the model: its
 * columns are matched by name, and the label may be missing. Where there is no recipe, a CSV file
 * with as many columns as the model has features has no labels, unless reading names a column, and
 * names of features must be those of the model. */
BLV_API blv_error blv_model_read_rows(const blv_model *model, blv_dataset **rows, const char *path,
                                      const blv_read_options *reading, blv_message *why);

/* probability[i * classes + k] that row i is of class k; of a model of real targets: the number
 * that is predicted for each row. The rows are as in a file, not scaled. */
BLV_API blv_error blv_model_answer(const blv_model *model, const blv_dataset *rows,
                                   double *probability, blv_message *why);

typedef struct blv_prediction {
    size_t rows, classes;
    const double *probability; /* rows x classes */
    const int32_t *predicted;  /* the likeliest class of each row */
    const int32_t *label;      /* the class that it has, as the model counts; NULL: none is known */
    const size_t *count;       /* rows that are predicted to be of each class */
    double accuracy, loss;     /* NaN: labels are not known */

    /* real targets: classes is 0, and all of the above but the rows NULL or NaN */
    const double *value;  /* that is predicted */
    const double *target; /* NULL: none is known */
    double rmse, r2;      /* root of the mean squared error; share of the variance explained; NaN:
                             targets are not known */
} blv_prediction;

/* Answers, and how good they are where rows have labels, which must be classes of the model. */
BLV_API blv_error blv_model_predict(const blv_model *model, const blv_dataset *rows,
                                    blv_prediction **prediction, blv_message *why);
BLV_API void blv_prediction_destroy(blv_prediction *prediction); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
