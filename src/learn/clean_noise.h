/* Linear models of the folds, and the ridge, the noise of labels and the weight of trusted rows
 * that go with them. */
#pragma once

#include "learn/clean_work.h"

typedef struct blv_noise_fit {
    blv_cleaning *cleaning;
    blv_arena arena;
    blv_dataset *train, *val; /* val may be NULL; both are kept by the caller */
    blv_problem *problem;
    uint32_t *part, *val_part;
    bool dense;
    size_t classes, folds, dim_x, dim_y;
    size_t first_logit;    /* of x: 1 without trusted rows, 2 with */
    double *x, *y, *best;  /* the present point, and the y of the best one */
    double *start, *noise; /* the noise that is expected, and that is tried */
    double none;           /* the loss that the first model has */
    double gradient;       /* |gy| at y = 0: what tolerances are relative to */
} blv_noise_fit;

/* Products of a row with a model of each class, in each fold. */
double blv_clean_products(const blv_dataset *set, size_t folds);

/* The first deal of the rows, the noise that is expected. */
blv_error blv_noise_fit_open(blv_noise_fit *fit, blv_cleaning *cleaning, blv_dataset *train,
                             blv_dataset *val);
void blv_noise_fit_close(blv_noise_fit *fit);
/* Ridge, weight, noise and models: the best for rows that are held out. */
blv_error blv_noise_fit_learn(blv_noise_fit *fit);
/* Again with other noise, where more rows look wrong than there seem to be. */
blv_error blv_noise_fit_learn_again(blv_noise_fit *fit);
/* Deals the rows out anew. */
blv_error blv_noise_fit_deal(blv_noise_fit *fit, uint64_t seed);
/* The problem of the present deal: for what follows. */
blv_error blv_noise_fit_make_problem(blv_noise_fit *fit);
/* x: the ridge of a linear model, expected noise, and this weight of trusted rows. */
void blv_noise_fit_expect(const blv_noise_fit *fit, double ridge, double trusted_weight, double *x);
/* |gy| relative to that at y = 0 of models that judge rows. Those of other folds need it: they
 * begin with models that have seen the labels they will judge. */
#define BLV_NOISE_TOLERANCE 1e-3
/* y: the models at x, which begin where it is. */
blv_error blv_noise_fit_models(const blv_noise_fit *fit, const double *x, double tolerance,
                               double *y);
/* The answers of models y to rows of a set, each by the model of its fold, or by the mean of all
 * where part is NULL. */
blv_error blv_noise_fit_answer(const blv_noise_fit *fit, const double *y, const blv_dataset *set,
                               const uint32_t *part, double *probability);
/* Adds the mean of the models y times share, scores x columns. */
void blv_noise_fit_add_weights(const blv_noise_fit *fit, const double *y, double share,
                               double *weights);
