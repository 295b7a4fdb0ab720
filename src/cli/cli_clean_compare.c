/* What cleaning brought: the same model trained on other rows, tested on the same ones. */
#include "cli_clean.h"

#include <math.h>
#include <stdlib.h>

/* sigmoid of it is 1: a weight of 1 in the problem. */
static const double full_weight = 40.0;

/* A problem on these rows; what it would be validated on does not matter. */
static int make_problem(const cli_cleaning *c, blv_dataset *rows, double ridge,
                        blv_problem **problem) {
    const size_t first = 0;
    blv_sets sets = {.size = sizeof sets, .train = rows};
    blv_message why = {0};
    blv_error error = blv_dataset_select(rows, &first, 1, &sets.val, &why);
    blv_problem_options options = {.size = sizeof(blv_problem_options),
                                   .precision = c->learning->reading.precision,
                                   .threads = c->learning->threads};
    if (error == BLV_OK)
        error = blv_hyperclean_create(&sets, ridge, &options, problem, &why);
    blv_dataset_release(sets.val);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

static int train_on(const cli_cleaning *c, blv_dataset *rows, double ridge, double **weights) {
    blv_problem *problem = NULL;
    int code = make_problem(c, rows, ridge, &problem);
    if (code != CLI_DONE)
        return code;
    const blv_problem_def *def = blv_problem_definition(problem);
    double *x = cli_alloc(def->dim_x, sizeof *x), *y = cli_alloc(def->dim_y, sizeof *y);
    for (size_t i = 0; i < def->dim_x; i++)
        x[i] = full_weight;
    code = cli_train(problem, x, CLI_TRAINED, y);
    if (code == CLI_DONE)
        *weights = cli_weights(rows, y, c->classes);
    free(x);
    free(y);
    blv_problem_destroy(problem);
    return code;
}

static cli_clean_model *next_model(cli_clean_result *r, const char *name, const char *key) {
    cli_clean_model *m = &r->model[r->model_count++];
    *m = (cli_clean_model){name, key, cli_quality_unknown, cli_quality_unknown};
    return m;
}

/* own_val: the rows were among those trained on, so that they tell nothing. */
static int add_trained(cli_clean_result *r, const char *name, const char *key, blv_dataset *rows,
                       bool own_val) {
    const cli_sets *sets = r->cleaning->sets;
    cli_clean_model *m = next_model(r, name, key);
    double *weights = NULL;
    int code = train_on(r->cleaning, rows, r->cleaning->ridge, &weights);
    if (code == CLI_DONE && !own_val)
        code = cli_judge_weights(sets->val, weights, r->cleaning->classes, &m->val);
    if (code == CLI_DONE)
        code = cli_judge_weights(sets->test, weights, r->cleaning->classes, &m->test);
    free(weights);
    return code;
}

/* The labels as given want more ridge than clean ones: of three the best on VAL, to be fair. */
static int add_given(cli_clean_result *r) {
    static const double factor[] = {1.0, 10.0, 100.0};
    const cli_cleaning *c = r->cleaning;
    cli_clean_model *m = next_model(r, "TRAIN as given", "given");
    size_t tries = c->sets->val ? sizeof factor / sizeof factor[0] : 1;
    int code = CLI_DONE;
    for (size_t t = 0; code == CLI_DONE && t < tries; t++) {
        cli_quality val = cli_quality_unknown;
        double *weights = NULL;
        code = train_on(c, c->sets->train, factor[t] * c->ridge, &weights);
        if (code == CLI_DONE)
            code = cli_judge_weights(c->sets->val, weights, c->classes, &val);
        bool best = code == CLI_DONE && (t == 0 || val.loss < m->val.loss);
        if (best) {
            m->val = val;
            code = cli_judge_weights(c->sets->test, weights, c->classes, &m->test);
        }
        free(weights);
    }
    return code;
}

static void add_weighted(cli_clean_result *r) {
    const cli_cleaning *c = r->cleaning;
    cli_clean_model *m = next_model(r, "TRAIN with the weights", "weighted");
    if (c->sets->val)
        m->val = cli_judge_answers(c->sets->val, c->val_probability);
    if (c->sets->test)
        m->test = cli_judge_answers(c->sets->test, c->test_probability);
}

static int add_cleaned(cli_clean_result *r) {
    const cli_sets *sets = r->cleaning->sets;
    bool relabel = r->request->relabel;
    blv_dataset *cleaned = NULL, *both = NULL;
    int code = cli_cleaned_rows(r, sets->train, &cleaned);
    if (code == CLI_DONE)
        code = add_trained(r, relabel ? "TRAIN relabelled" : "TRAIN without the suspects",
                           "cleaned", cleaned, false);
    if (code == CLI_DONE && sets->val)
        code = cli_join_rows(cleaned, sets->val, &both);
    if (code == CLI_DONE && sets->val)
        code = add_trained(
            r, relabel ? "TRAIN relabelled, and VAL" : "TRAIN without the suspects, and VAL",
            "cleaned_and_val", both, true);
    blv_dataset_release(cleaned);
    blv_dataset_release(both);
    return code;
}

int cli_clean_compare(cli_clean_result *r) {
    const cli_sets *sets = r->cleaning->sets;
    if ((!sets->val && !sets->test) || r->suspects == r->cleaning->rows)
        return CLI_DONE;
    int code = add_given(r);
    if (code == CLI_DONE && sets->val)
        code = add_trained(r, "VAL alone", "val_alone", sets->val, true);
    if (code != CLI_DONE)
        return code;
    add_weighted(r);
    return add_cleaned(r);
}
