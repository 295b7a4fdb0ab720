/* What the problems with a network share: its parameters, the network, passes over a set's rows.
 * The data come from where those of linear models do. y is the parameter vector of the network. */
#ifndef BLV_PROBLEMS_NET_MODEL_H
#define BLV_PROBLEMS_NET_MODEL_H

#include "nn/nn.h"
#include "problems/linear_model.h"

enum { NET_NORM_FROZEN, NET_NORM_BATCH };

typedef struct net_source {
    char text[BLV_TEXT_SIZE];
    int64_t seed, slice;
    int norm;
} net_source;

#define NET_SOURCE_PARAMS(type, member, net)                                                       \
    {"net",                                                                                        \
     BLV_TEXT,                                                                                     \
     offsetof(type, member.text),                                                                  \
     net,                                                                                          \
     0,                                                                                            \
     0,                                                                                            \
     NULL,                                                                                         \
     "mlp:in-128-out[,act=relu|softplus|gelu][,dropout=0.2] or resnet18:16[,act=...]"},            \
        {"net_seed",                                                                               \
         BLV_INT,                                                                                  \
         offsetof(type, member.seed),                                                              \
         "0",                                                                                      \
         0,                                                                                        \
         9e15,                                                                                     \
         NULL,                                                                                     \
         "seed of the network's start and of its dropout"},                                        \
        {"norm",                                                                                   \
         BLV_CHOICE,                                                                               \
         offsetof(type, member.norm),                                                              \
         "frozen",                                                                                 \
         0,                                                                                        \
         0,                                                                                        \
         "frozen|batch",                                                                           \
         "statistics of norms: those of the start, or of the rows at hand"},                       \
    {                                                                                              \
        "slice", BLV_INT, offsetof(type, member.slice), "auto", 1, 1e9, "auto",                    \
            "rows that go through the network together, and that norm = batch is about"            \
    }

/* Memory that one oracle call needs. */
typedef struct net_work {
    pool_link link;
    blv_nn_work *pass;
    void *weight; /* one number for each row of the largest set, here and below */
    void *row;
    int32_t *guess;
    double *statistics; /* of norms */
    double *numbers;    /* NET_NUMBERS for each row */
    double *of_x;       /* one for each parameter */
} net_work;

enum { NET_NUMBERS = 4 };

typedef struct net_model {
    linear_data data;
    blv_nn *net;
    blv_precision precision;
    int threads;
    uint64_t seed;
    size_t slice;       /* 0: automatic */
    double *statistics; /* of norms; NULL: those of the rows at hand, or there are no norms */
    const blv_element_loops *loops; /* of the precision */
    work_pool *pool;
} net_model;

/* Loads the data and makes the network; owner is for messages. On error nothing is left. */
blv_error net_model_open(net_model *model, const linear_source *data, const net_source *net,
                         const char *owner, const blv_problem_options *options, blv_message *why);
/* The same on sets at hand, which it takes over, also when it fails. */
blv_error net_model_take(net_model *model, linear_data *data, const net_source *net,
                         const char *owner, const blv_problem_options *options, blv_message *why);
void net_model_close(net_model *model);

/* NULL when memory is short. */
net_work *net_work_take(net_model *model);
void net_work_return(net_model *model, net_work *work);

/* A pass with the model's statistics; training: with dropout, if the network has any. */
void net_pass(const net_model *model, const blv_rows *rows, blv_nn_pass pass, bool training,
              net_work *work);

/* Everything of g but the penalty: scale sum weight_i l_i over the training rows at hand, added to
 * gy and hv. weight: of each row of the set, or NULL; row outputs likewise. */
typedef struct net_lower {
    const blv_vec *y, *v;
    const void *weight;
    double scale;
    double *loss;
    blv_vec *gy, *hv;
    void *row_loss, *row_cross;
} net_lower;
void net_lower_pass(net_model *model, const blv_rows *rows, const net_lower *lower, net_work *work);

/* out = factor u, to which a pass adds; nothing when out is NULL */
void net_ridge(blv_vec *out, double factor, const blv_vec *u);

/* Mean loss on rows of a set, without dropout; f and fy may be NULL. */
void net_mean_loss(net_model *model, const blv_dataset *set, const blv_batch *batch,
                   const blv_vec *y, double *f, blv_vec *fy, net_work *work);
/* f: mean loss on the validation rows, which does not depend on x. */
int net_upper(net_model *model, const blv_batch *batch, const blv_vec *x, const blv_vec *y,
              double *f, blv_vec *fx, blv_vec *fy);

/* y at the start of the network */
void net_start(const net_model *model, blv_vec *y);

extern const char *const net_measures[];
/* The first four measures of every problem on data. With norm = batch, statistics are those of
 * training rows at y. */
int net_measure(net_model *model, const blv_vec *y, double *values);
/* Of each training row, without dropout: the probability of its label. */
void net_probabilities(net_model *model, const blv_vec *y, void *probability, net_work *work);

/* What the definitions of all problems with a network have in common. */
blv_problem_def net_definition(const net_model *model, const linear_source *source,
                               const char *name);

#endif
