/* What the parts of blv_clean share. */
#pragma once

#include "base/arena.h"
#include "bilevel/clean.h"
#include "learn/linear_fit.h"

/* The result while it is made. */
typedef struct blv_cleaning {
    blv_clean_result result; /* first: what the caller gets */
    blv_arena arena;         /* of everything that the result shows */
    blv_clean_options options;
    const blv_task_sets *given;
    blv_task_sets
        sets;         /* dense columns standardized and clipped, sparse ones that tell something */
    uint32_t *column; /* of sparse rows: what each was in the rows as given */
    double *weights;  /* classes x columns: the mean of the models */
    blv_task task;
    bool wide; /* f32 has failed: in f64 */
    blv_message *why;
} blv_cleaning;

/* The fold of each row. */
typedef struct blv_deal {
    const uint32_t *part, *val_part;
    uint64_t seed;
} blv_deal;

/* Probabilities, rows x classes of each set: by models that have not seen the row; test: the mean
 * of all models. */
typedef struct blv_answers {
    double *train, *val, *test;
} blv_answers;

bool blv_answers_open(blv_answers *answers,
                      const blv_cleaning *cleaning); /* zeros; false: memory */
void blv_answers_close(blv_answers *answers);
blv_answers blv_answers_of_result(const blv_cleaning *cleaning); /* where they are */
void blv_answers_copy(const blv_cleaning *cleaning, const blv_answers *from, const blv_answers *to);
/* a and b, the second to the power weight, the first to 1 - weight, summing up to 1 in each row. */
void blv_answers_mix(const blv_cleaning *cleaning, const blv_answers *a, const blv_answers *b,
                     double weight, const blv_answers *to);

/* Weight of the mean loss of train in the held-out loss, beside 1 for val. */
double blv_clean_noisy_share(const blv_dataset *train, const blv_dataset *val);
/* The mean over a set of the losses with a less those with b, and what its square error is; b NULL:
 * of the losses themselves. noise NULL: labels are right. */
double blv_clean_difference(const blv_dataset *set, const double *noise, const double *a,
                            const double *b, double *square_error);
/* Decides between the linear models, with these answers, and networks: the model of the result,
 * whose answers they become. */
blv_error blv_clean_choose_model(blv_cleaning *cleaning, const blv_deal *deal, blv_answers *linear);
/* The answers of linear models become those of the model of the result. */
blv_error blv_clean_model_answers(blv_cleaning *cleaning, const blv_deal *deal,
                                  blv_answers *linear);

/* Mixes the answers of the result with those of trees, where the labels are likelier then. */
blv_error blv_clean_add_trees(blv_cleaning *cleaning);

/* Makes `sets` of what is given. */
blv_error blv_clean_take_rows(blv_cleaning *cleaning);
void blv_clean_release_rows(blv_cleaning *cleaning);
/* Learns the noise and the probabilities of the classes. */
blv_error blv_clean_learn(blv_cleaning *cleaning);
/* What the probabilities of the result say about its labels. */
typedef struct blv_wrong_share {
    double likelihood; /* of the labels, in the logarithm */
    double share;      /* of wrong labels */
    double apart;      /* of rows with another likely class than their label */
    bool vague;        /* so many that the model hardly tells the classes apart */
    bool surely;       /* not all labels are right */
    bool blind;        /* the labels are no likelier than by the sizes of their classes */
} blv_wrong_share;

/* Also the probability that each label is right, the estimate of the result, and S, classes x
 * classes: for each true class which wrong label it gets. */
blv_error blv_clean_share(blv_cleaning *cleaning, blv_wrong_share *found, double *S);
/* Which rows are suspect. */
blv_error blv_clean_flag(blv_cleaning *cleaning);
/* BLV_E_STOPPED after a request to stop. */
blv_error blv_clean_stopped(const blv_cleaning *cleaning);
/* Adds a line to the cautions of the result. */
void blv_clean_caution(blv_cleaning *cleaning, const char *format, ...) BLV_PRINTF(2, 3);
/* Trains on the rows as given, on those kept, and so on, as far as there are rows to test on. */
blv_error blv_clean_compare(blv_cleaning *cleaning);
