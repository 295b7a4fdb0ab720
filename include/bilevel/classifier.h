/* Networks that tell classes apart: training by stochastic gradients, answers, features.
 *
 * The bilevel problems with a network hold theirs inside (docs/networks.md). This one is separate:
 * for judging a choice of rows, for tasks that come one after the other, for features to cluster.
 * Results are bitwise identical for the same seed and any number of threads. */
#ifndef BILEVEL_CLASSIFIER_H
#define BILEVEL_CLASSIFIER_H

#include "bilevel/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct blv_classifier blv_classifier;

/* All fields but size may be 0. */
typedef struct blv_classifier_options {
    size_t size;     /* sizeof(blv_classifier_options) */
    const char *net; /* as in docs/networks.md; NULL: mlp:in-128-out */
    blv_precision precision;
    int threads; /* 0: all processors */
    uint64_t seed;
} blv_classifier_options;

/* For rows with this many columns and classes. */
BLV_API blv_error blv_classifier_create(blv_classifier **classifier, size_t columns, size_t classes,
                                        const blv_classifier_options *options, blv_message *why);
BLV_API void blv_classifier_destroy(blv_classifier *classifier); /* NULL is allowed */
/* Forgets everything: parameters as drawn from the seed. */
BLV_API void blv_classifier_restart(blv_classifier *classifier, uint64_t seed);

/* Steps of SGD with momentum: velocity = momentum velocity + gradient, w -= step velocity. A batch
 * is drawn without replacement, epoch by epoch. All fields but size may be 0. */
typedef struct blv_training {
    size_t size;          /* sizeof(blv_training) */
    size_t steps;         /* 0: 1000 */
    size_t batch;         /* 0: 64; at most the rows there are */
    double step;          /* 0: 0.05 */
    double momentum;      /* 0: none */
    double decay;         /* weight of |w|^2/2 in the loss */
    bool cosine;          /* the step falls to 0 along half a wave */
    const double *weight; /* of each row in the loss, of any scale; NULL: all alike */
    uint64_t seed;        /* of the batches */
    /* Rows that every batch has some of besides, and their weights; NULL: none. */
    const blv_dataset *also;
    const double *also_weight;
    size_t also_batch; /* 0: as batch */
    /* classes x classes: [l * classes + k] is the probability that a row of true class k has label
     * l, which is allowed for in training; not for `also`, whose labels are right. NULL: all are.
     */
    const double *label_chance;
    /* Asked after every step: not 0 ends training early. NULL: nobody asks. */
    int (*stop)(void *context);
    void *stop_context;
} blv_training;

/* Starts from where the parameters are. Sets must be dense, with the columns, the precision and at
 * most the classes of the classifier. */
BLV_API blv_error blv_classifier_train(blv_classifier *classifier, const blv_dataset *rows,
                                       const blv_training *training, blv_message *why);

/* scores[i * classes + k] */
BLV_API blv_error blv_classifier_scores(blv_classifier *classifier, const blv_dataset *rows,
                                        double *scores, blv_message *why);
/* features[i * width + j]: what the last layer takes. */
BLV_API size_t blv_classifier_width(const blv_classifier *classifier);
BLV_API blv_error blv_classifier_features(blv_classifier *classifier, const blv_dataset *rows,
                                          double *features, blv_message *why);
/* The share of rows whose label has the largest score. */
BLV_API blv_error blv_classifier_accuracy(blv_classifier *classifier, const blv_dataset *rows,
                                          double *accuracy, blv_message *why);

/* ---- Judging a choice of rows ---- */

/* How networks are trained that judge rows: 1500 steps (where steps is 0) of 64 rows, momentum 0.9,
 * decay 1e-4, a step that falls from 0.05 to 0. */
BLV_API blv_training blv_judge_training(size_t steps, uint64_t seed);
/* The accuracy on test of a fresh network that is trained on rows; weight: of each row in training,
 * NULL: all alike. Of the options net, threads and seed count. */
BLV_API blv_error blv_judge_rows(const blv_dataset *rows, const double *weight,
                                 const blv_dataset *test, const blv_classifier_options *options,
                                 size_t steps, double *accuracy, blv_message *why);

#ifdef __cplusplus
}
#endif
#endif
