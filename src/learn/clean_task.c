/* Finding wrong labels: checks, the model, which rows are suspect, the comparison. */
#include "base/message.h"
#include "learn/clean_work.h"
#include "learn/row_sets.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { USUAL_FOLDS = 5, FEWEST_FOLDS = 2, MOST_FOLDS = 100 };

/* ---- The request ---- */

static blv_error reject(const blv_cleaning *c, const char *text) {
    return blv_explain(c->why, BLV_E_VALUE, "clean: %s", text);
}

static bool is_share(double value) {
    return value >= 0.0 && value < 1.0;
}

static blv_error check_options(blv_cleaning *c) {
    blv_clean_options *o = &c->options;
    o->folds = o->folds > 0 ? o->folds : USUAL_FOLDS;
    if (o->folds < FEWEST_FOLDS || o->folds > MOST_FOLDS)
        return reject(c, "expected from 2 to 100 folds");
    if (!is_share(o->threshold) || !is_share(o->flag_share) || !is_share(o->false_alarms))
        return reject(c, "expected shares below 1");
    if (o->model > BLV_CLEAN_FOREST)
        return reject(c, "expected the model auto, linear, mlp or forest");
    if (o->model > BLV_CLEAN_LINEAR && !blv_dataset_view_of(c->given->train)->dense)
        return reject(c, "networks and trees need dense rows; expected the model auto or linear");
    if (o->model > BLV_CLEAN_LINEAR && blv_dataset_view_of(c->given->train)->ranks)
        return reject(c, "networks and trees need all rows in one process; expected the model auto "
                         "or linear on several ranks");
    if (!(o->ridge >= 0.0 && isfinite(o->ridge)))
        return reject(c, "expected a ridge above 0");
    if ((o->threshold > 0.0) + (o->flag_share > 0.0) + (o->false_alarms > 0.0) > 1)
        return reject(c, "a threshold, a share to flag or a share of false alarms, one of them");
    return BLV_OK;
}

static blv_error expect_enough_rows(const blv_cleaning *c) {
    const blv_task_sets *s = c->given;
    size_t folds = c->options.folds;
    if (blv_rows_in(s->train) >= 2 * folds)
        return BLV_OK;
    return blv_explain(c->why, BLV_E_VALUE,
                       "%s: %zu rows are too few for %zu folds; expected at least %zu",
                       s->train_name, blv_rows_in(s->train), folds, 2 * folds);
}

blv_error blv_clean_stopped(const blv_cleaning *c) {
    return c->task.stopped
               ? blv_explain(c->why, BLV_E_STOPPED, "stopped on request: nothing is written")
               : BLV_OK;
}

void blv_clean_caution(blv_cleaning *c, const char *format, ...) {
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    const char *kept = blv_arena_copy(&c->arena, line);
    if (kept && c->result.caution_count < BLV_CLEAN_CAUTIONS)
        c->result.cautions[c->result.caution_count++] = kept;
}

/* ---- Against the true labels ---- */

static double ratio(size_t part, size_t whole) {
    return whole > 0 ? (double)part / (double)whole : (double)NAN;
}

static blv_error score_against_truth(blv_cleaning *c) {
    blv_clean_result *r = &c->result;
    const bool *wrong = c->given->wrong;
    if (!wrong)
        return BLV_OK;
    double *suspicion = calloc(r->rows + 1, sizeof *suspicion);
    if (!suspicion)
        return blv_explain_memory(c->why);
    r->truth_known = true;
    for (size_t i = 0; i < r->rows; i++) {
        r->wrong += wrong[i];
        r->found += wrong[i] && c->result.suspect[i];
        suspicion[i] = 1.0 - c->result.label_probability[i];
    }
    r->precision = ratio(r->found, r->suspects);
    r->recall = ratio(r->found, r->wrong);
    blv_error error = blv_auroc(r->rows, suspicion, wrong, &r->auroc_probability);
    free(suspicion);
    return error == BLV_OK ? BLV_OK : blv_explain(c->why, error, "%s", blv_error_text(error));
}

/* ---- All of it ---- */

static void make_space(blv_cleaning *c) {
    blv_clean_result *r = &c->result;
    blv_arena *a = &c->arena;
    size_t val_rows = blv_rows_in(c->given->val), test_rows = blv_rows_in(c->given->test);
    r->probability = blv_arena_alloc(a, r->rows * r->classes, sizeof *r->probability);
    r->label_probability = blv_arena_alloc(a, r->rows, sizeof *r->label_probability);
    r->val_probability = blv_arena_alloc(a, val_rows * r->classes, sizeof *r->val_probability);
    r->test_probability = blv_arena_alloc(a, test_rows * r->classes, sizeof *r->test_probability);
    r->believed = blv_arena_alloc(a, r->rows, sizeof *r->believed);
    r->suspect = blv_arena_alloc(a, r->rows, sizeof *r->suspect);
    r->order = blv_arena_alloc(a, r->rows, sizeof *r->order);
    r->against = blv_arena_alloc(a, r->rows * BLV_CLEAN_AGAINST, sizeof *r->against);
    c->weights = blv_arena_alloc(a, r->classes * blv_dataset_view_of(c->given->train)->columns,
                                 sizeof *c->weights);
    r->noise = blv_arena_alloc(a, r->classes * r->classes, sizeof *r->noise);
}

static blv_error open_work(blv_cleaning *c, const blv_task_hooks *hooks) {
    const blv_clean_options *o = &c->options;
    const blv_dataset_view *train = blv_dataset_view_of(c->given->train);
    c->task = (blv_task){.runs = c->task.runs,
                         .solver = o->solver,
                         .settings = o->settings,
                         .setting_count = o->setting_count,
                         .seed = o->seed,
                         .no_certificate = o->no_certificate};
    BLV_CHECK(blv_task_open(&c->task, hooks, c->why));
    BLV_CHECK(check_options(c));
    BLV_CHECK(expect_enough_rows(c));
    c->result = (blv_clean_result){
        .rows = train->rows,
        .classes = train->classes,
        .folds = o->folds,
        .ridge = o->ridge,
        .solver = c->task.solver->name,
        .seed = o->seed,
        .model_loss = {(double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN},
        .auroc_probability = (double)NAN,
        .precision = (double)NAN,
        .recall = (double)NAN};
    make_space(c);
    return c->arena.failed ? blv_explain_memory(c->why) : BLV_OK;
}

/* The probabilities of the caller in place of those of our models; nothing is known of the noise.
 */
static blv_error take_probabilities(blv_cleaning *c) {
    static const double ROUNDING = 1e-6; /* of numbers in f32 */
    static const double FROM_ONE = 0.1;  /* of the sum of some that were rounded */
    blv_clean_result *r = &c->result;
    const double *from = c->options.probabilities;
    for (size_t i = 0; i < r->rows; i++) {
        double sum = 0.0;
        for (size_t k = 0; k < r->classes; k++) {
            const double p = from[i * r->classes + k];
            if (!(p >= 0.0 && p <= 1.0 + ROUNDING))
                return blv_explain(c->why, BLV_E_VALUE,
                                   "probabilities: row %zu: expected numbers from 0 to 1", i);
            sum += p;
        }
        if (fabs(sum - 1.0) > FROM_ONE)
            return blv_explain(c->why, BLV_E_VALUE,
                               "probabilities: row %zu: the numbers add up to %.4g, not to 1", i,
                               sum);
        for (size_t k = 0; k < r->classes; k++)
            r->probability[i * r->classes + k] = from[i * r->classes + k] / sum;
    }
    for (size_t i = 0; i < r->classes * r->classes; i++)
        r->noise[i] = (double)NAN;
    r->trusted_weight = (double)NAN;
    c->weights = NULL;
    return BLV_OK;
}

static blv_error clean(blv_cleaning *c, const blv_task_hooks *hooks) {
    const double begin = blv_wall_clock();
    BLV_CHECK(open_work(c, hooks));
    if (c->wide)
        blv_clean_caution(c, "f32 does not do for these rows: continued in f64");
    BLV_CHECK(blv_clean_take_rows(c));
    const bool given = c->options.probabilities != NULL;
    BLV_CHECK(given ? take_probabilities(c) : blv_clean_learn(c));
    blv_task_say(&c->task, "comparing");
    BLV_CHECK(blv_clean_flag(c));
    BLV_CHECK(score_against_truth(c));
    if (!given)
        BLV_CHECK(blv_clean_compare(c));
    c->result.seconds = c->given->seconds + blv_wall_clock() - begin;
    return blv_clean_stopped(c);
}

/* f32 has failed: once more in f64, with what hooks know of the runs so far. */
static blv_error clean_in_f64(blv_cleaning **c, const blv_task_hooks *hooks) {
    blv_cleaning *wide = calloc(1, sizeof *wide);
    if (!wide)
        return blv_explain_memory((*c)->why);
    wide->given = (*c)->given;
    wide->why = (*c)->why;
    wide->options = (*c)->options;
    wide->task.runs = (*c)->task.runs;
    wide->wide = true;
    blv_clean_release_rows(*c);
    blv_clean_result_destroy(&(*c)->result);
    *c = wide;
    return clean(wide, hooks);
}

blv_error blv_clean(const blv_task_sets *sets, const blv_clean_options *options,
                    blv_clean_result **result, const blv_task_hooks *hooks, blv_message *why) {
    if (!sets || !sets->train || !result)
        return blv_explain(why, BLV_E_ARGUMENT, "clean: a NULL argument");
    *result = NULL;
    BLV_CHECK(blv_dataset_expect_classes(sets->train, sets->train_name, why));
    blv_cleaning *c = calloc(1, sizeof *c);
    if (!c)
        return blv_explain_memory(why);
    c->given = sets;
    c->why = why;
    blv_error error =
        blv_caller_struct(&c->options, sizeof c->options, options, "blv_clean_options", why);
    if (error == BLV_OK)
        error = clean(c, hooks);
    if ((error == BLV_E_FAILED || error == BLV_E_ORACLE) &&
        blv_dataset_view_of(sets->train)->precision == BLV_F32)
        error = clean_in_f64(&c, hooks);
    blv_clean_release_rows(c);
    if (error == BLV_OK)
        *result = &c->result;
    else
        blv_clean_result_destroy(&c->result);
    return error;
}

void blv_clean_result_destroy(blv_clean_result *result) {
    if (!result)
        return;
    blv_cleaning *c = (blv_cleaning *)(void *)result; /* its first member */
    blv_arena_free(&c->arena);
    free(c);
}

blv_error blv_clean_apply(const blv_clean_result *result, const blv_dataset *rows, bool relabel,
                          blv_dataset **cleaned, blv_message *why) {
    if (!result || !rows || !cleaned)
        return blv_explain(why, BLV_E_ARGUMENT, "clean: a NULL argument");
    const blv_dataset_view *view = blv_dataset_view_of(rows);
    if (!view->label || view->rows != result->rows || view->classes != result->classes)
        return blv_explain(why, BLV_E_VALUE, "clean: these are not the rows of the result");
    bool *keep = malloc(view->rows + 1);
    int32_t *label = malloc((view->rows + 1) * sizeof *label);
    blv_error error = keep && label ? BLV_OK : blv_explain_memory(why);
    for (size_t i = 0; error == BLV_OK && i < view->rows; i++) {
        label[i] = result->suspect[i] ? result->believed[i] : view->label[i];
        keep[i] = !result->suspect[i];
    }
    if (error == BLV_OK)
        error = relabel ? blv_dataset_relabel(rows, label, cleaned, why)
                        : blv_keep_rows(rows, keep, cleaned, why);
    free(keep);
    free(label);
    return error;
}
