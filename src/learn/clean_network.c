/* Networks in place of the linear models of the folds, and which of both are taken.
 *
 * A network is trained on the rows outside its fold with the noise and the weight of trusted rows
 * that the linear models have learned: the loss of a row is -log sum_k p_k T[k,label]. Candidates
 * are networks with several decays, and the geometric mean of such a network and the linear model.
 * The one with the least held-out loss is taken; with `auto`, the linear model if they are all
 * behind it by more than the standard error of the difference, row by row, or, without trusted
 * rows, not ahead of it by more than that. */
#include "learn/clean_work.h"
#include "learn/row_sets.h"
#include "learn/selecting.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, FEWEST_STEPS = 100, MOST_STEPS = 2000, EPOCHS = 20, DECAYS = 2 };
enum { UNITS = 64, FEW_UNITS = 32, FEW_ROWS = 1000 }; /* fewer rows, fewer units */
static const double decays[DECAYS] = {4e-2, 1e-2};
static const double most_weight = 4.0;    /* of a trusted row in a network */
static const double most_products = 5e11; /* what `auto` tries */
/* [trusted rows]: how far, in standard errors, networks that are taken may be behind the linear
 * models; without trusted rows they must be ahead, as noise too can be learned. */
static const double errors_behind[] = {-1.0, 1.0};

/* ---- Answers ---- */

bool blv_answers_open(blv_answers *a, const blv_cleaning *c) {
    const size_t K = c->result.classes;
    a->train = calloc(blv_rows_in(c->sets.train) * K + 1, sizeof *a->train);
    a->val = calloc(blv_rows_in(c->sets.val) * K + 1, sizeof *a->val);
    a->test = calloc(blv_rows_in(c->sets.test) * K + 1, sizeof *a->test);
    return a->train && a->val && a->test;
}

void blv_answers_close(blv_answers *a) {
    free(a->train);
    free(a->val);
    free(a->test);
}

static void clear(const blv_cleaning *c, blv_answers *a) {
    const size_t size = c->result.classes * sizeof(double);
    memset(a->train, 0, blv_rows_in(c->sets.train) * size);
    memset(a->val, 0, blv_rows_in(c->sets.val) * size);
    memset(a->test, 0, blv_rows_in(c->sets.test) * size);
}

blv_answers blv_answers_of_result(const blv_cleaning *c) {
    const blv_clean_result *r = &c->result;
    return (blv_answers){r->probability, r->val_probability, r->test_probability};
}

void blv_answers_copy(const blv_cleaning *c, const blv_answers *from, const blv_answers *to) {
    const size_t size = c->result.classes * sizeof(double);
    memcpy(to->train, from->train, blv_rows_in(c->sets.train) * size);
    memcpy(to->val, from->val, blv_rows_in(c->sets.val) * size);
    memcpy(to->test, from->test, blv_rows_in(c->sets.test) * size);
}

static void exchange(blv_answers *a, blv_answers *b) {
    const blv_answers before = *a;
    *a = *b;
    *b = before;
}

static void mix(size_t rows, size_t classes, const double *a, const double *b, double weight,
                double *to) {
    for (size_t i = 0; i < rows * classes; i += classes) {
        double sum = DBL_MIN;
        for (size_t k = i; k < i + classes; k++)
            sum += to[k] =
                exp((1.0 - weight) * log(fmax(a[k], 1e-24)) + weight * log(fmax(b[k], 1e-24)));
        for (size_t k = i; k < i + classes; k++)
            to[k] /= sum;
    }
}

void blv_answers_mix(const blv_cleaning *c, const blv_answers *a, const blv_answers *b,
                     double weight, const blv_answers *to) {
    const size_t K = c->result.classes;
    mix(blv_rows_in(c->sets.train), K, a->train, b->train, weight, to->train);
    mix(blv_rows_in(c->sets.val), K, a->val, b->val, weight, to->val);
    mix(blv_rows_in(c->sets.test), K, a->test, b->test, weight, to->test);
}

/* ---- The networks of a deal ---- */

static size_t units_for(size_t rows) {
    return rows < FEW_ROWS ? FEW_UNITS : UNITS;
}

static size_t steps_for(size_t rows) {
    const size_t steps = EPOCHS * rows / BATCH;
    return steps < FEWEST_STEPS ? FEWEST_STEPS : steps > MOST_STEPS ? MOST_STEPS : steps;
}

static blv_error outside(const blv_dataset *set, const uint32_t *part, size_t fold,
                         blv_dataset **to, blv_message *why) {
    const size_t rows = blv_rows_in(set);
    bool *keep = malloc(rows + 1);
    if (!keep)
        return blv_explain_memory(why);
    for (size_t i = 0; i < rows; i++)
        keep[i] = part[i] != fold;
    blv_error error = blv_keep_rows(set, keep, to, why);
    free(keep);
    return error;
}

/* The answers of a network to rows of a set: those of the fold, or of all rows times a share where
 * part is NULL. */
static blv_error add_answers(blv_classifier *net, const blv_dataset *set, const uint32_t *part,
                             size_t fold, double share, double *p, blv_message *why) {
    const size_t rows = blv_rows_in(set), K = blv_classifier_classes(net);
    if (rows == 0)
        return BLV_OK;
    double *score = malloc(rows * K * sizeof *score);
    blv_error error = score ? blv_classifier_scores(net, set, score, why) : blv_explain_memory(why);
    for (size_t i = 0; error == BLV_OK && i < rows; i++) {
        double *s = score + i * K, sum = 0.0;
        const double largest = s[blv_likeliest(s, K)];
        if (part && part[i] != fold)
            continue;
        for (size_t k = 0; k < K; k++)
            sum += s[k] = exp(s[k] - largest);
        for (size_t k = 0; k < K; k++)
            p[i * K + k] += share * s[k] / sum;
    }
    free(score);
    return error;
}

static blv_error train_fold(blv_cleaning *c, const blv_deal *deal, size_t fold, double decay,
                            const double *chance, blv_classifier *net) {
    blv_dataset *train = NULL, *val = NULL;
    blv_error error = outside(c->sets.train, deal->part, fold, &train, c->why);
    if (error == BLV_OK && c->sets.val)
        error = outside(c->sets.val, deal->val_part, fold, &val, c->why);
    if (error == BLV_OK) {
        const double rows = (double)blv_rows_in(train), trusted = (double)blv_rows_in(val);
        const double weight = fmin(fmax(c->result.trusted_weight, 1.0), most_weight);
        blv_training t = blv_judge_training(steps_for(blv_rows_in(train)), deal->seed + fold);
        t.batch = BATCH;
        t.decay = decay;
        t.label_chance = chance;
        t.weight = blv_dataset_view_of(train)->weight;
        t.also = trusted > 0.0 ? val : NULL;
        t.also_weight = val ? blv_dataset_view_of(val)->weight : NULL;
        t.also_batch = (size_t)fmax(1.0, round(BATCH * weight * trusted / rows));
        t.stop = blv_task_should_stop;
        t.stop_context = &c->task;
        blv_classifier_restart(net, deal->seed + fold);
        error = blv_classifier_train(net, train, &t, c->why);
    }
    blv_dataset_release(train);
    blv_dataset_release(val);
    return error;
}

static blv_error train_folds(blv_cleaning *c, const blv_deal *deal, double decay,
                             const double *chance, blv_classifier *net, blv_answers *to) {
    const size_t folds = c->options.folds;
    clear(c, to);
    for (size_t m = 0; m < folds; m++) {
        blv_task_say(&c->task, "network with decay %g, fold %zu of %zu", decay, m + 1, folds);
        BLV_CHECK(train_fold(c, deal, m, decay, chance, net));
        BLV_CHECK(blv_clean_stopped(c));
        BLV_CHECK(add_answers(net, c->sets.train, deal->part, m, 1.0, to->train, c->why));
        BLV_CHECK(add_answers(net, c->sets.val, deal->val_part, m, 1.0, to->val, c->why));
        BLV_CHECK(add_answers(net, c->sets.test, NULL, m, 1.0 / (double)folds, to->test, c->why));
    }
    return BLV_OK;
}

static blv_error networks(blv_cleaning *c, const blv_deal *deal, double decay, blv_answers *to) {
    const blv_dataset_view *v = blv_dataset_view_of(c->sets.train);
    const size_t K = c->result.classes;
    char text[32];
    const blv_classifier_options options = {.size = sizeof options,
                                            .net = text,
                                            .precision = v->precision,
                                            .threads = c->options.threads};
    blv_classifier *net = NULL;
    snprintf(text, sizeof text, "mlp:in-%zu-out", units_for(v->rows));
    double *chance = malloc(K * K * sizeof *chance);
    blv_error error = chance ? blv_classifier_create(&net, v->columns, K, &options, c->why)
                             : blv_explain_memory(c->why);
    for (size_t i = 0; error == BLV_OK && i < K * K; i++)
        chance[i] = c->result.noise[i % K * K + i / K];
    if (error == BLV_OK)
        error = train_folds(c, deal, decay, chance, net, to);
    blv_classifier_destroy(net);
    free(chance);
    return error;
}

/* ---- Which ---- */

double blv_clean_noisy_share(const blv_dataset *train, const blv_dataset *val) {
    static const double counts = 2.0; /* of a trusted row, as many as other rows */
    return val ? (double)blv_rows_in(train) / (counts * (double)blv_rows_in(val)) : 1.0;
}

double blv_clean_difference(const blv_dataset *set, const double *noise, const double *a,
                            const double *b, double *square_error) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    const size_t K = v->classes;
    double sum = 0.0, squares = 0.0, all = 0.0;
    for (size_t i = 0; i < v->rows; i++) {
        const size_t label = (size_t)v->label[i];
        double of_a = DBL_MIN, of_b = DBL_MIN;
        for (size_t k = 0; k < K; k++) {
            const double chance = noise ? noise[k * K + label] : k == label;
            of_a += chance * a[i * K + k];
            of_b += b ? chance * b[i * K + k] : 0.0;
        }
        const double difference = (b ? log(of_b) : 0.0) - log(of_a);
        const double counts = v->weight ? v->weight[i] : 1.0;
        sum += counts * difference;
        squares += counts * difference * difference;
        all += counts;
    }
    const double mean = sum / all;
    *square_error = (squares / all - mean * mean) / (double)v->rows;
    return mean;
}

/* The held-out loss of a less that of b, or that of a; *error: its standard error. */
static double difference(const blv_cleaning *c, const blv_answers *a, const blv_answers *b,
                         double *error) {
    double square, square_val = 0.0, share = 1.0;
    double value = blv_clean_difference(c->sets.train, c->result.noise, a->train,
                                        b ? b->train : NULL, &square);
    if (c->sets.val) {
        const double of_val =
            blv_clean_difference(c->sets.val, NULL, a->val, b ? b->val : NULL, &square_val);
        const double noisy = blv_clean_noisy_share(c->sets.train, c->sets.val);
        share = noisy / (1.0 + noisy);
        value = share * value + (1.0 - share) * of_val;
    }
    *error = sqrt(share * share * square + (1.0 - share) * (1.0 - share) * square_val);
    return value;
}

static bool worth_trying(const blv_cleaning *c) {
    const blv_dataset_view *v = blv_dataset_view_of(c->sets.train);
    const double unit = (double)((v->columns + v->classes) * units_for(v->rows)) * BATCH * 3.0;
    const double products =
        unit * (double)steps_for(v->rows) * (double)(c->options.folds * (DECAYS + 2));
    return v->dense && !v->ranks &&
           (c->options.model == BLV_CLEAN_MLP ||
            (c->options.model == BLV_CLEAN_AUTO && products < most_products));
}

static void describe_model(blv_cleaning *c, const char *reason) {
    blv_clean_result *r = &c->result;
    static const char *const names[] = {"", "linear", "mlp", "", "linear and mlp"};
    char text[160];
    size_t length = (size_t)snprintf(text, sizeof text, "%s%s", names[r->model], reason);
    for (int k = BLV_CLEAN_LINEAR; !*reason && k <= BLV_CLEAN_BOTH; k++)
        if (*names[k])
            length += (size_t)snprintf(text + length, sizeof text - length, "%s %s %.4f",
                                       k == BLV_CLEAN_LINEAR ? ", by the held-out loss:" : ",",
                                       names[k], r->model_loss[k]);
    r->model_text = blv_arena_copy(&c->arena, text);
}

blv_error blv_clean_choose_model(blv_cleaning *c, const blv_deal *deal, blv_answers *linear) {
    blv_clean_result *r = &c->result;
    blv_answers net = {0}, kept = {0};
    double error, best = INFINITY;
    r->model = BLV_CLEAN_LINEAR;
    r->model_loss[BLV_CLEAN_LINEAR] = difference(c, linear, NULL, &error);
    if (!worth_trying(c)) {
        describe_model(c, c->options.model != BLV_CLEAN_AUTO ? ", as asked"
                          : blv_dataset_view_of(c->sets.train)->ranks
                              ? "; networks need all rows in one process"
                          : blv_dataset_view_of(c->sets.train)->dense
                              ? "; networks are not tried on this many numbers"
                              : "; networks need dense rows");
        return BLV_OK;
    }
    blv_error failed = blv_answers_open(&net, c) && blv_answers_open(&kept, c)
                           ? BLV_OK
                           : blv_explain_memory(c->why);
    const bool asked = c->options.model == BLV_CLEAN_MLP;
    /* of few rows those of the first decay tell whether those of the other may be ahead */
    const bool both_decays = asked || c->sets.val || r->rows >= FEW_ROWS;
    bool promising = true;
    for (size_t d = 0; failed == BLV_OK && promising && d < DECAYS; d++) {
        failed = networks(c, deal, decays[d], &net);
        promising = both_decays;
        for (int both = 0; failed == BLV_OK && both < 2; both++) {
            const blv_clean_model_kind kind = both ? BLV_CLEAN_BOTH : BLV_CLEAN_MLP;
            if (both)
                blv_answers_mix(c, &net, linear, 0.5, &net);
            const double loss = difference(c, &net, NULL, &error);
            const double behind = difference(c, &net, linear, &error);
            const double most = errors_behind[c->sets.val != NULL];
            r->model_loss[kind] = fmin(r->model_loss[kind], loss); /* NaN at first */
            promising = promising || behind <= 0.0;
            if (loss >= best || (asked ? both : behind > most * error))
                continue;
            best = loss;
            r->model = kind;
            r->decay = decays[d];
            blv_answers_copy(c, &net, &kept);
        }
    }
    if (failed == BLV_OK && r->model != BLV_CLEAN_LINEAR)
        exchange(linear, &kept);
    blv_answers_close(&net);
    blv_answers_close(&kept);
    describe_model(c, c->options.model == BLV_CLEAN_MLP ? ", as asked" : "");
    return failed;
}

blv_error blv_clean_model_answers(blv_cleaning *c, const blv_deal *deal, blv_answers *linear) {
    blv_answers net = {0};
    if (c->result.model == BLV_CLEAN_LINEAR)
        return BLV_OK;
    blv_error error = blv_answers_open(&net, c) ? networks(c, deal, c->result.decay, &net)
                                                : blv_explain_memory(c->why);
    if (error == BLV_OK && c->result.model == BLV_CLEAN_BOTH)
        blv_answers_mix(c, &net, linear, 0.5, &net);
    if (error == BLV_OK)
        exchange(linear, &net);
    blv_answers_close(&net);
    return error;
}
