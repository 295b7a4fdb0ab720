/* Linear classifiers: the problems hyperclean and l2reg on data sets in memory, and the answers of
 * a model.
 *
 * The families of these names read their data from files, split and scale them; here all of that
 * has been done with dataset.h. */
#ifndef BILEVEL_LINEAR_H
#define BILEVEL_LINEAR_H

#include "bilevel/dataset.h"
#include "bilevel/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Problems ---- */

/* Sets with the same classes, columns, layout and precision (blv_dataset_align). test may be NULL:
 * it is for measures only. */
typedef struct blv_sets {
    size_t size; /* sizeof(blv_sets) */
    blv_dataset *train, *val, *test;
} blv_sets;

/* The sets stay the caller's. A problem shares their rows, which are not copied; later changes to
 * the sets do not reach it. options may be NULL; its precision must be that of the sets. */

/* A weight for each training row: x has an entry for each row of train, in its order. */
BLV_API blv_error blv_hyperclean_create(const blv_sets *sets, double C,
                                        const blv_problem_options *options, blv_problem **problem,
                                        blv_message *why);

typedef enum blv_penalty_kind {
    BLV_PENALTY_PER_FEATURE,
    BLV_PENALTY_PER_CLASS,
    BLV_PENALTY_ONE,
    BLV_PENALTY_GROUPS
} blv_penalty_kind;

typedef struct blv_l2reg_setting {
    size_t size; /* sizeof(blv_l2reg_setting) */
    blv_penalty_kind penalty;
    const uint32_t *group; /* BLV_PENALTY_GROUPS: that of each column, from 0; copied */
    double scale;          /* the penalty of x = 0; above 0 */
    double lo, hi;         /* bounds of x; infinite: none */

    /* The following may be 0. */
    double last_penalty; /* of the last column, an intercept, which x has no entry for then; not for
                            BLV_PENALTY_PER_CLASS. 0: it has a penalty like the others */
    double shrinkage;    /* f has shrinkage/2 times the mean of x^2 in addition */
    /* Cross-validation in place of validation rows, which are not looked at then: y has folds x
     * repeats models, and f is the mean loss of rows by the models that have not seen them. */
    size_t folds, repeats; /* repeats 0: 1 */
    const uint32_t *fold;  /* repeats x rows of train: the fold of each row, from 0; copied */
    /* folds x repeats sets, the rows of train as each of these models sees them, such as filled and
     * scaled by the rows outside of its fold; they stay the caller's. NULL: train, for all */
    blv_dataset *const *fold_rows;
} blv_l2reg_setting;

/* Penalties scale exp(x); the loss is logistic for two classes, softmax for more, and half the
 * square of score - target for real targets. */
BLV_API blv_error blv_l2reg_create(const blv_sets *sets, const blv_l2reg_setting *setting,
                                   const blv_problem_options *options, blv_problem **problem,
                                   blv_message *why);

/* Labels of which some are wrong: which label becomes which, learned with a linear model of the
 * true class, over folds (docs/clean.md). train: the labels as given; val: right labels, or NULL.
 * x = (log of the ridge, log of the weight of a row of val where there is one, the logits of the
 * noise); y: the weights of the model of each fold, one after the other. */
typedef struct blv_noise_setting {
    size_t size; /* sizeof(blv_noise_setting) */
    size_t folds;
    const uint32_t *part, *val_part; /* the fold of each row, below folds; copied */
    const double *start;             /* classes x classes: the noise that is expected; copied */
    double prior;                    /* rows of each class that this expectation is worth */
    double noisy_share;              /* of the rows of train in f beside those of val */
    double ridge;                    /* above 0: it is not learned */
} blv_noise_setting;

BLV_API blv_error blv_label_noise_create(const blv_sets *sets, const blv_noise_setting *setting,
                                         const blv_problem_options *options, blv_problem **problem,
                                         blv_message *why);
/* T[k * classes + l]: the probability of label l where the true class is k. logits: classes x
 * (classes - 1), against the diagonal, which is left out. */
BLV_API void blv_noise_matrix(size_t classes, const double *logits, double *T);

/* ---- Answers ---- */

/* Scores of a row a: W a + intercept, one for each class; or one only, of two classes the second
 * against the first. */
typedef struct blv_linear_model {
    size_t size; /* sizeof(blv_linear_model) */
    size_t scores, columns;
    const double *weights;   /* scores x columns, row by row */
    const double *intercept; /* scores numbers; NULL: 0 */
    bool real;               /* the scores are the answers */
} blv_linear_model;

/* probability[i * classes + k] that row i is of class k; classes is 2 where there is one score,
 * else the number of scores. Of a model of real targets: the scores. The set's labels are not
 * looked at. */
BLV_API blv_error blv_linear_answer(const blv_linear_model *model, const blv_dataset *dataset,
                                    double *probability, blv_message *why);

/* How well a score tells positives from negatives: the probability that a random positive has the
 * higher one, ties counting half; NaN where there are only positives or only negatives. */
BLV_API blv_error blv_auroc(size_t count, const double *score, const bool *positive, double *area);

#ifdef __cplusplus
}
#endif
#endif
