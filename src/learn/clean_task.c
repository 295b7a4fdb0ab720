/* Finding wrong labels: checks, the folds, which rows are suspect, the comparison. */
#include "base/caller_struct.h"
#include "learn/clean_work.h"
#include "learn/label_threshold.h"
#include "learn/row_sets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_FOLDS = 5, FEWEST_FOLDS = 2, MOST_FOLDS = 100 };
static const double usual_val_share = 0.3, most_val_share = 0.5;

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
    o->val_share = o->val_share == 0.0 ? usual_val_share : o->val_share; /* keeps NaN */
    if (o->folds < FEWEST_FOLDS || o->folds > MOST_FOLDS)
        return reject(c, "expected from 2 to 100 folds");
    if (!is_share(o->threshold) || !is_share(o->flag_share) || !is_share(o->false_alarms))
        return reject(c, "expected shares below 1");
    if (!(o->val_share > 0.0 && o->val_share <= most_val_share))
        return reject(c, "expected at most half of the rows in place of validation rows");
    if (!(o->ridge >= 0.0 && isfinite(o->ridge)))
        return reject(c, "expected a ridge above 0");
    if ((o->threshold > 0.0) + (o->flag_share > 0.0) + (o->false_alarms > 0.0) > 1)
        return reject(c, "a threshold, a share to flag or a share of false alarms, one of them");
    if (o->false_alarms > 0.0 && !c->sets->val)
        return reject(c, "a share of false alarms needs rows whose labels are right");
    return BLV_OK;
}

static blv_error expect_enough_rows(const blv_cleaning *c) {
    const blv_task_sets *s = c->sets;
    const blv_dataset *set[] = {s->train, s->val};
    const char *name[] = {s->train_name, s->val_name};
    size_t folds = c->options.folds;
    for (size_t i = 0; i < 2 && set[i]; i++)
        if (blv_rows_in(set[i]) < 2 * folds)
            return blv_explain(c->why, BLV_E_VALUE,
                               "%s: %zu rows are too few for %zu folds; expected at least %zu",
                               name[i], blv_rows_in(set[i]), folds, 2 * folds);
    return BLV_OK;
}

/* ---- Which rows are suspect ---- */

static void find_label_probability(const blv_dataset *dataset, const double *probability,
                                   double *of_label) {
    const blv_dataset_view *v = blv_dataset_view_of(dataset);
    for (size_t i = 0; i < v->rows; i++)
        of_label[i] = probability[i * v->classes + (size_t)v->label[i]];
}

static blv_error find_threshold(const blv_cleaning *c, blv_label_threshold *found) {
    const blv_clean_options *o = &c->options;
    size_t rows = c->result.rows, val_rows = blv_rows_in(c->sets->val);
    *found = (blv_label_threshold){o->threshold, NAN, NAN};
    if (o->threshold > 0.0)
        return BLV_OK;
    if (o->flag_share > 0.0)
        return blv_threshold_by_count(rows, c->result.label_probability,
                                      (size_t)lround(o->flag_share * (double)rows), found);
    if (!c->sets->val)
        return blv_threshold_alone(rows, c->result.classes, c->result.probability,
                                   blv_dataset_view_of(c->sets->train)->label, found);
    double *clean = calloc(val_rows + 1, sizeof *clean);
    if (!clean)
        return BLV_E_MEMORY;
    find_label_probability(c->sets->val, c->result.val_probability, clean);
    blv_error error = blv_threshold_from_clean(rows, c->result.label_probability, val_rows, clean,
                                               o->false_alarms, found);
    free(clean);
    return error;
}

typedef struct ranked {
    double probability;
    size_t row;
} ranked;

static int by_suspicion(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    if (a->probability != b->probability)
        return a->probability < b->probability ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

static blv_error flag_rows(blv_cleaning *c) {
    blv_clean_result *r = &c->result;
    blv_label_threshold found;
    find_label_probability(c->sets->train, c->result.probability, c->result.label_probability);
    ranked *order = calloc(r->rows + 1, sizeof *order);
    blv_error error = order ? find_threshold(c, &found) : BLV_E_MEMORY;
    if (error != BLV_OK) {
        free(order);
        return blv_explain(c->why, error, "out of memory");
    }
    r->threshold = found.threshold;
    r->estimated_wrong = found.wrong;
    r->false_alarms = found.false_alarms;
    for (size_t i = 0; i < r->rows; i++)
        order[i] = (ranked){c->result.label_probability[i], i};
    qsort(order, r->rows, sizeof *order, by_suspicion);
    for (size_t i = 0; i < r->rows; i++) {
        c->result.order[i] = order[i].row;
        c->result.suspect[i] = c->result.label_probability[i] < r->threshold;
        r->suspects += c->result.suspect[i];
        c->result.believed[i] =
            (int32_t)blv_likeliest(c->result.probability + i * r->classes, r->classes);
    }
    free(order);
    return BLV_OK;
}

/* ---- Against the true labels ---- */

static double ratio(size_t part, size_t whole) {
    return whole > 0 ? (double)part / (double)whole : (double)NAN;
}

static blv_error score_against_truth(blv_cleaning *c) {
    blv_clean_result *r = &c->result;
    const bool *wrong = c->sets->wrong;
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
    for (size_t i = 0; i < r->rows; i++)
        suspicion[i] = isnan(c->result.weight[i]) ? 0.5 : 1.0 - c->result.weight[i];
    if (error == BLV_OK)
        error = blv_auroc(r->rows, suspicion, wrong, &r->auroc_weight);
    free(suspicion);
    return error == BLV_OK ? BLV_OK : blv_explain(c->why, error, "%s", blv_error_text(error));
}

/* ---- Certificates ---- */

static void take_largest(blv_certificate *all, const blv_certificate *one) {
    all->grad_norm = fmax(all->grad_norm, one->grad_norm);
    all->inner_residual = fmax(all->inner_residual, one->inner_residual);
    all->solve_residual = fmax(all->solve_residual, one->solve_residual);
    all->linear_residual = fmax(all->linear_residual, one->linear_residual);
    all->estimate_error = fmax(all->estimate_error, one->estimate_error);
    all->projected = all->projected || one->projected;
    all->singular = all->singular || one->singular;
    all->tight = all->tight && one->tight;
    all->minimum = one->minimum == BLV_YES || all->minimum == BLV_NO ? all->minimum : one->minimum;
}

static void sum_certificates(blv_clean_result *r) {
    blv_certificate all = r->certificates[0];
    for (size_t k = 1; k < r->folds; k++) {
        all.phi += r->certificates[k].phi;
        take_largest(&all, &r->certificates[k]);
    }
    all.phi /= (double)r->folds;
    r->certificate = all;
    r->certified = !isnan(all.phi);
}

/* ---- All of it ---- */

static void make_space(blv_cleaning *c) {
    blv_clean_result *r = &c->result;
    blv_arena *a = &c->arena;
    size_t val_rows = blv_rows_in(c->sets->val), test_rows = blv_rows_in(c->sets->test);
    r->weight = blv_arena_alloc(a, r->rows, sizeof *r->weight);
    r->probability = blv_arena_alloc(a, r->rows * r->classes, sizeof *r->probability);
    r->label_probability = blv_arena_alloc(a, r->rows, sizeof *r->label_probability);
    r->val_probability = blv_arena_alloc(a, val_rows * r->classes, sizeof *r->val_probability);
    r->test_probability = blv_arena_alloc(a, test_rows * r->classes, sizeof *r->test_probability);
    r->believed = blv_arena_alloc(a, r->rows, sizeof *r->believed);
    r->suspect = blv_arena_alloc(a, r->rows, sizeof *r->suspect);
    r->order = blv_arena_alloc(a, r->rows, sizeof *r->order);
    r->certificates = blv_arena_alloc(a, r->folds, sizeof *r->certificates);
}

static blv_error open_work(blv_cleaning *c, const blv_task_hooks *hooks) {
    const blv_clean_options *o = &c->options;
    const blv_dataset_view *train = blv_dataset_view_of(c->sets->train);
    c->task = (blv_task){.solver = o->solver,
                         .settings = o->settings,
                         .setting_count = o->setting_count,
                         .seed = o->seed,
                         .no_certificate = o->no_certificate};
    BLV_CHECK(blv_task_open(&c->task, hooks, c->why));
    BLV_CHECK(check_options(c));
    BLV_CHECK(expect_enough_rows(c));
    c->result = (blv_clean_result){.rows = train->rows,
                                   .classes = train->classes,
                                   .folds = o->folds,
                                   .ridge = o->ridge,
                                   .solver = c->task.solver->name,
                                   .seed = o->seed,
                                   .auroc_probability = (double)NAN,
                                   .auroc_weight = (double)NAN,
                                   .precision = (double)NAN,
                                   .recall = (double)NAN};
    make_space(c);
    return c->arena.failed ? blv_explain_memory(c->why) : BLV_OK;
}

static blv_error clean(blv_cleaning *c, const blv_task_hooks *hooks) {
    BLV_CHECK(open_work(c, hooks));
    BLV_CHECK(blv_clean_learn(c));
    sum_certificates(&c->result);
    blv_task_say(&c->task, "comparing");
    BLV_CHECK(flag_rows(c));
    BLV_CHECK(score_against_truth(c));
    BLV_CHECK(blv_clean_compare(c));
    return c->task.stopped ? blv_explain(c->why, BLV_E_STOPPED, "stopped on request") : BLV_OK;
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
    c->sets = sets;
    c->why = why;
    blv_error error =
        blv_caller_struct(&c->options, sizeof c->options, options, "blv_clean_options", why);
    if (error == BLV_OK)
        error = clean(c, hooks);
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
