/* The improvement by cleaning: the same model trained on other rows, tested on the same ones. */
#include "learn/clean_work.h"
#include "learn/row_sets.h"

#include <math.h>
#include <stdlib.h>

/* sigmoid of it is 1: a weight of 1 in the problem. */
static const double full_weight = 40.0;

/* Weights of rows are those of the problem: x has their logits, and the set none. Returns by what
 * the ridge is multiplied then: losses are divided by the largest weight, not by the mean. */
static double take_weights(const blv_dataset_view *v, double *x) {
    double most = 0.0, sum = 0.0;
    for (size_t i = 0; i < v->rows; i++) {
        x[i] = full_weight;
        most = v->weight ? fmax(most, v->weight[i]) : 1.0;
        sum += v->weight ? v->weight[i] : 1.0;
    }
    for (size_t i = 0; v->weight && i < v->rows; i++) {
        const double share = most > 0.0 ? v->weight[i] / most : 0.0;
        x[i] = fmax(fmin(log(share) - log1p(-share), full_weight), -full_weight);
    }
    return most > 0.0 ? sum / (double)v->rows / most : 1.0;
}

/* A problem on these rows; what it would be validated on does not matter. */
static blv_error make_problem(const blv_cleaning *c, blv_dataset *rows, double ridge,
                              blv_problem **problem) {
    static const size_t first = 0;
    blv_sets sets = {.size = sizeof sets, .train = rows};
    blv_problem_options options = {.size = sizeof options,
                                   .precision = blv_dataset_view_of(rows)->precision,
                                   .threads = c->options.threads,
                                   .memory = c->options.memory};
    blv_error error = blv_dataset_select(rows, &first, 1, &sets.val, c->why);
    if (error == BLV_OK)
        error = blv_hyperclean_create(&sets, ridge, &options, problem, c->why);
    blv_dataset_release(sets.val);
    return error;
}

/* The weights of a model trained on these rows, to be freed. */
static blv_error train_on(blv_cleaning *c, blv_dataset *rows, double ridge, double **weights) {
    blv_problem *problem = NULL;
    blv_dataset *plain = NULL;
    blv_arena arena = {0};
    blv_dataset_view view = *blv_dataset_view_of(rows);
    const size_t dim_y = view.columns * view.classes;
    double *x = blv_arena_alloc(&arena, view.rows, sizeof *x);
    double *y = blv_arena_alloc(&arena, dim_y, sizeof *y);
    *weights = malloc(dim_y * sizeof **weights);
    blv_error error = x && y && *weights ? BLV_OK : blv_explain_memory(c->why);
    if (error == BLV_OK)
        ridge *= take_weights(&view, x);
    if (error == BLV_OK && view.weight) {
        view.weight = NULL;
        error = blv_dataset_create(&plain, &view, NULL, c->why);
    }
    if (error == BLV_OK)
        error = make_problem(c, plain ? plain : rows, ridge, &problem);
    if (error == BLV_OK)
        error = blv_fit(&c->task, problem, x, BLV_FIT_TOLERANCE, y);
    if (error == BLV_OK)
        blv_fit_weights(rows, y, c->result.classes, *weights);
    blv_arena_free(&arena);
    blv_problem_destroy(problem);
    blv_dataset_release(plain);
    return error;
}

static blv_clean_model *next_model(blv_cleaning *c, const char *name, const char *key) {
    blv_clean_model *m = &c->result.models[c->result.model_count++];
    *m = (blv_clean_model){name, key, blv_quality_unknown, blv_quality_unknown};
    return m;
}

static blv_error quality_on(const blv_cleaning *c, const blv_dataset *set, const double *weights,
                            blv_quality *quality) {
    return blv_fit_quality(set, weights, c->result.classes, quality, c->why);
}

/* own_val: the rows were among those trained on, so that they tell nothing. */
static blv_error add_trained(blv_cleaning *c, const char *name, const char *key, blv_dataset *rows,
                             bool own_val) {
    blv_clean_model *m = next_model(c, name, key);
    double *weights = NULL;
    blv_error error = train_on(c, rows, c->result.ridge, &weights);
    if (error == BLV_OK && !own_val)
        error = quality_on(c, c->sets.val, weights, &m->val);
    if (error == BLV_OK)
        error = quality_on(c, c->sets.test, weights, &m->test);
    free(weights);
    return error;
}

/* The labels as given want more ridge than clean ones: of three the best on the validation rows, to
 * be fair. */
static blv_error add_given(blv_cleaning *c) {
    static const double factor[] = {1.0, 10.0, 100.0};
    blv_clean_model *m = next_model(c, "TRAIN as given", "given");
    size_t tries = c->sets.val ? sizeof factor / sizeof factor[0] : 1;
    blv_error error = BLV_OK;
    for (size_t t = 0; error == BLV_OK && t < tries; t++) {
        blv_quality val = blv_quality_unknown;
        double *weights = NULL;
        error = train_on(c, c->sets.train, factor[t] * c->result.ridge, &weights);
        if (error == BLV_OK)
            error = quality_on(c, c->sets.val, weights, &val);
        if (error == BLV_OK && (t == 0 || val.loss < m->val.loss)) {
            m->val = val;
            error = quality_on(c, c->sets.test, weights, &m->test);
        }
        free(weights);
    }
    return error;
}

static blv_quality answered(const blv_dataset *set, const double *probability) {
    const blv_dataset_view *v = blv_dataset_view_of(set);
    return blv_quality_of(v->rows, v->classes, v->label, v->weight, probability);
}

static void add_noise_model(blv_cleaning *c) {
    blv_clean_model *m = next_model(c, "TRAIN with the noise model", "noise");
    if (c->sets.val)
        m->val = answered(c->sets.val, c->result.val_probability);
    if (c->sets.test)
        m->test = answered(c->sets.test, c->result.test_probability);
}

static blv_error add_cleaned(blv_cleaning *c) {
    bool relabel = c->options.relabel;
    const blv_dataset *val = c->sets.val;
    blv_dataset *cleaned = NULL, *both = NULL;
    blv_error error = blv_clean_apply(&c->result, c->sets.train, relabel, &cleaned, c->why);
    if (error == BLV_OK)
        error = add_trained(c, relabel ? "TRAIN relabelled" : "TRAIN without the suspects",
                            "cleaned", cleaned, false);
    if (error == BLV_OK && val)
        error = blv_dataset_join(cleaned, val, &both, c->why);
    if (error == BLV_OK && val)
        error = add_trained(
            c, relabel ? "TRAIN relabelled, and VAL" : "TRAIN without the suspects, and VAL",
            "cleaned_and_val", both, true);
    blv_dataset_release(cleaned);
    blv_dataset_release(both);
    return error;
}

blv_error blv_clean_compare(blv_cleaning *c) {
    const blv_task_sets *sets = &c->sets;
    if ((!sets->val && !sets->test) || c->result.suspects == c->result.rows)
        return BLV_OK;
    BLV_CHECK(add_given(c));
    if (sets->val)
        BLV_CHECK(add_trained(c, "VAL alone", "val_alone", sets->val, true));
    add_noise_model(c);
    return add_cleaned(c);
}
