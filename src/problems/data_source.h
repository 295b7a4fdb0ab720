/* Where the data of a problem come from: the parameters that all families on data share, and the
 * sets that are loaded from them or handed over. */
#pragma once

#include "bilevel/linear.h"

#include <float.h>

enum { DATA_ORDER_RANDOM, DATA_ORDER_FILE };

typedef struct data_source {
    char train[BLV_TEXT_SIZE], val[BLV_TEXT_SIZE], test[BLV_TEXT_SIZE];
    char label[BLV_TEXT_SIZE], positive[BLV_TEXT_SIZE];
    char labels[BLV_TEXT_SIZE], header[BLV_TEXT_SIZE];
    double train_size, val_size, test_size; /* NaN: what is left, or the default */
    int order, scaling, unit_rows, intercept, layout;
    double corrupt;
    int corruption;
    int64_t data_seed;
    double max_memory; /* NaN: automatic */
    bool real;         /* targets are numbers; not in the table */
} data_source;

enum { NET_NORM_FROZEN, NET_NORM_BATCH };

typedef struct net_source {
    char net[BLV_TEXT_SIZE];
    int64_t net_seed, slice;
    int norm;
} net_source;

typedef enum linear_loss {
    LINEAR_LOSS_AUTO,
    LINEAR_LOSS_LOGISTIC,
    LINEAR_LOSS_SOFTMAX,
    LINEAR_LOSS_SQUARES /* 1/2 (score - target)^2 */
} linear_loss;

/* The parameters of every family on data begin with this: net for networks, loss for linear models.
 */
typedef struct data_params {
    data_source source;
    net_source net;
    int loss; /* linear_loss */
} data_params;

/* Rows of a family's table, with offsets into data_params. */
#define DATA_PARAM_TEXT(name, help)                                                                \
    { #name, BLV_TEXT, offsetof(data_params, source.name), "", 0, 0, NULL, help }
#define DATA_PARAM_SIZE(name, word, help)                                                          \
    { #name, BLV_REAL, offsetof(data_params, source.name), word, DBL_MIN, 1e12, word, help }
#define DATA_PARAM_CHOICE(name, value, words, help)                                                \
    { #name, BLV_CHOICE, offsetof(data_params, source.name), value, 0, 0, words, help }

/* clang-format off */
#define DATA_SOURCE_PARAMS                                                                         \
    DATA_PARAM_TEXT(train,                                                                         \
        "file of the training rows; as it is, or in the folder that BILEVEL_DATA names"),          \
    DATA_PARAM_TEXT(val, "file of the validation rows; empty: a part of the training file"),       \
    DATA_PARAM_TEXT(test,                                                                          \
        "file of the test rows; empty: a part of the training file when test_size is given"),      \
    DATA_PARAM_TEXT(label, "label column of a CSV, by name or number"),                            \
    DATA_PARAM_TEXT(positive, "this class against all others: makes two classes"),                 \
    DATA_PARAM_SIZE(train_size, "rest", "training rows: a share below 1, a number from 1 on"),     \
    DATA_PARAM_SIZE(val_size, "auto",                                                              \
        "validation rows, likewise; auto: all of their file, or 0.2 of the training file"),        \
    DATA_PARAM_TEXT(labels, "file of the training labels, where they are apart"),                  \
    DATA_PARAM_TEXT(header,                                                                        \
        "yes or no: whether a CSV begins with names; empty: detected from its lines"),             \
    DATA_PARAM_SIZE(test_size, "all", "test rows, likewise"),                                      \
    DATA_PARAM_CHOICE(order, "random", "random|file",                                              \
        "of the training rows; file: as they come, split into consecutive parts"),                 \
    DATA_PARAM_CHOICE(scaling, "none", "none|standard|unit",                                       \
        "of the features, by the training rows"),                                                  \
    DATA_PARAM_CHOICE(unit_rows, "off", "off|on", "scale each row to Euclidean length 1"),         \
    DATA_PARAM_CHOICE(intercept, "off", "off|on", "add a column of ones"),                         \
    DATA_PARAM_CHOICE(layout, "auto", "auto|dense|sparse", "how rows are kept"),                   \
    {"corrupt", BLV_REAL, offsetof(data_params, source.corrupt), "0", 0, 1, NULL,                  \
        "share of the training labels to corrupt"},                                                \
    DATA_PARAM_CHOICE(corruption, "uniform", "uniform|pairwise|redraw",                            \
        "to another class, to the next one, or drawn again"),                                      \
    DATA_PARAM_SIZE(max_memory, "auto",                                                            \
        "bytes that the data may take; auto: half of what is free, 1000 times their file"),        \
    {"data_seed", BLV_INT, offsetof(data_params, source.data_seed), "0", 0, 9e15, NULL,            \
        "seed of splits and corruption"}

#define NET_SOURCE_PARAMS(text)                                                                    \
    {"net", BLV_TEXT, offsetof(data_params, net.net), text, 0, 0, NULL,                            \
        "mlp:in-128-out[,act=relu|softplus|gelu][,dropout=0.2] or resnet18:16[,act=...]"},         \
    {"net_seed", BLV_INT, offsetof(data_params, net.net_seed), "0", 0, 9e15, NULL,                 \
        "seed of the network's start and of its dropout"},                                         \
    {"norm", BLV_CHOICE, offsetof(data_params, net.norm), "frozen", 0, 0, "frozen|batch",          \
        "statistics of norms: those of the start, or of the rows of a call"},                        \
    {"slice", BLV_INT, offsetof(data_params, net.slice), "auto", 1, 1e9, "auto",                   \
        "rows that go through the network together, and that norm = batch is about"}
/* clang-format on */

typedef struct data_sets {
    blv_dataset *train, *val, *test; /* test may be NULL */
} data_sets;

void data_sets_release(data_sets *sets);

/* Reads, splits, corrupts and scales. owner is for messages. On error nothing is left. */
blv_error data_load(const data_source *source, const char *owner,
                    const blv_problem_options *options, data_sets *sets, blv_message *why);

/* Sets that share the rows of the caller's, whose later changes do not reach them, after a check;
 * and the options in full. complete: whether the other arguments are there. On error nothing is
 * left. */
blv_error data_sets_take(const blv_sets *given, bool complete, const blv_problem_options *options,
                         const char *owner, data_sets *sets, blv_problem_options *chosen,
                         blv_message *why);
