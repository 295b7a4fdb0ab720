/* What the parts of blv_tune share. */
#pragma once

#include "base/arena.h"
#include "bilevel/tune.h"
#include "learn/linear_fit.h"

typedef struct blv_tuning {
    blv_tune_result result; /* first: what the caller gets */
    blv_arena arena;        /* of everything that the result shows */
    blv_model model;
    blv_tune_options options;
    blv_task task;
    const blv_task_sets *sets;
    blv_dataset *train, *val, *test; /* retained; val NULL: cross-validation. Real targets have mean
                                        0 and variance 1 on train */
    blv_dataset *raw; /* train before it was filled and scaled, for folds; NULL: it is the same */
    double target_shift, target_scale;
    size_t scores;    /* rows of weights */
    size_t model_dim; /* of y of one model */
    double work;      /* numbers that a pass over the rows reads, times scores */
    double unit;      /* of penalties: the mean square of the features */
    size_t penalty_count;
    const char **penalty_names;
    uint32_t *group; /* of each column, with BLV_PENALTY_GROUPS */
    blv_message *why;
} blv_tuning;

/* Rows of data with penalties that are learned from them alone. */
typedef struct blv_learner {
    blv_tuning *tuning;
    blv_dataset *train, *val; /* retained; val NULL: folds of train */
    size_t folds, repeats;    /* 0 and 1 with val */
    uint32_t *fold;           /* repeats x rows of train */
    blv_dataset **fold_rows;  /* the rows as each model sees them; NULL: train */
    size_t blocks;            /* models in y */
    double *x;                /* logarithms of the penalties relative to the single one */
    double *y, *last_y;       /* models of all blocks at x, and where the last search was */
    double single;            /* logarithm of the best penalty for all */
    double single_loss;       /* held-out loss there: the unit of f */
    double gradient_unit;     /* |gy| without a model */
    blv_arena arena;
} blv_learner;

/* train and val are retained. raw: train as in blv_tuning, or NULL; repeats: of the folds. */
blv_error blv_learner_open(blv_learner *l, blv_tuning *t, blv_dataset *train,
                           const blv_dataset *raw, blv_dataset *val, size_t repeats, uint64_t seed);
/* Rows with `keep` are learned from; these, in `own`, and the others or, NULL, all rows, in `all`,
 * are filled and scaled by them. */
blv_error blv_tune_refill(const blv_tuning *t, const blv_dataset *raw, const bool *keep,
                          blv_dataset **own, const bool *others, blv_dataset **all);
void blv_learner_close(blv_learner *l);
/* The problem that it learns from, with a shrinkage in units of the held-out loss. */
blv_error blv_learner_problem(const blv_learner *l, blv_penalty_kind kind, double shrinkage,
                              blv_problem **problem);
/* One penalty for all, near a logarithm of it where that is not NaN: single, x and y. */
blv_error blv_learner_find_single(blv_learner *l, double near);
/* Many penalties, from x and y on. The run goes through the hooks where end is not NULL. */
blv_error blv_learner_find_many(blv_learner *l, double shrinkage, blv_run_end *end);
/* Whether the held-out loss of the models in y is below that of one penalty. */
bool blv_learner_gained(const blv_learner *l);
/* What penalties are multiplied with for a model on these rows: they are for a mean over rows, and
 * more rows need less. */
double blv_learner_share(const blv_learner *l, const blv_dataset *rows);
/* y of the model on all rows of a set, with the penalties single exp(x), x NULL: 0, times the
 * share.
 */
blv_error blv_learner_refit(const blv_learner *l, blv_dataset *rows, const double *x, double single,
                            double *y);

/* Weights, scores x columns, of one model in y. */
void blv_tune_weights(const blv_tuning *t, const double *y, double *weights);
/* What a model makes of each row. */
typedef struct blv_judged {
    double *loss;
    double *doubt; /* the loss that the row would have with another label, mean over these; 0 for
                      real targets */
    double *right; /* 1 where the likeliest class is right; 0 for real targets */
} blv_judged;
blv_error blv_tune_judge_rows(const blv_tuning *t, const blv_dataset *set, const double *weights,
                              const blv_judged *judged);
/* What decisions are made by: the loss as if `share` of a row more contradicted the model, one like
 * row i. Rows that can be separated would else speak for models that are sure of everything. */
double blv_tune_cautious(const blv_judged *judged, size_t i, size_t rows, double share);
/* The mean of `from` - `to`, row by row, and its standard error. Rows that are NaN do not count. */
double blv_tune_mean_gain(size_t rows, const double *from, const double *to, double *error);

/* What each penalty is of: penalty_count, penalty_names and group. */
blv_error blv_tune_name_penalties(blv_tuning *t);

/* ---- What the outer cross-validation finds ---- */

enum { BLV_OUTER_NONE, BLV_OUTER_ONE, BLV_OUTER_MANY };

typedef struct blv_outer {
    size_t rows;       /* of the set that is judged: val or train */
    blv_judged judged; /* models x rows, NaN where a row was not judged; models as above, the
                          last with one row for each shrinkage */
    double *cautious;  /* likewise: losses that decide */
    size_t chosen;     /* of these; 0: nothing was compared */
    double shrinkage;  /* of the chosen one */
    double gain, gain_error;
    bool clear; /* the gain is, beside its standard error */
} blv_outer;

/* all: the learner of all rows, whose single penalty is known. The table is in the tuning's arena.
 * Stopped on request: chosen is 0. */
blv_error blv_outer_judge(blv_outer *table, const blv_learner *all);
/* Shrinkages on the way to the chosen one: step 0, 1, ... until NaN. */
double blv_outer_shrinkage(size_t step, const blv_outer *table);
