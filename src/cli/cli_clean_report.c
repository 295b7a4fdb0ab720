#include "bilevel/certificate.h"
#include "cli_clean.h"
#include "cli_table.h"
#include "cli_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 2, ROWS_SHOWN = 5 };

static double precision_of(const cli_clean_result *r) {
    return r->suspects > 0 ? (double)r->found / (double)r->suspects : (double)NAN;
}

static double recall_of(const cli_clean_result *r) {
    return r->wrong > 0 ? (double)r->found / (double)r->wrong : (double)NAN;
}

static double share_of(size_t part, size_t whole) {
    return (double)part / (double)whole;
}

/* ---- In short ---- */

static void take_largest(blv_certificate *all, const blv_certificate *one) {
    all->grad_norm = fmax(all->grad_norm, one->grad_norm);
    all->inner_residual = fmax(all->inner_residual, one->inner_residual);
    all->solve_residual = fmax(all->solve_residual, one->solve_residual);
    all->linear_residual = fmax(all->linear_residual, one->linear_residual);
    all->estimate_error = fmax(all->estimate_error, one->estimate_error);
    all->projected = all->projected || one->projected;
    all->singular = all->singular || one->singular;
    all->tight = all->tight && one->tight;
}

blv_certificate cli_clean_certificate(const cli_clean_result *r) {
    const cli_cleaning *c = r->cleaning;
    blv_certificate all = c->certificate[0];
    for (size_t k = 1; k < c->folds; k++) {
        all.phi += c->certificate[k].phi;
        take_largest(&all, &c->certificate[k]);
    }
    all.phi /= (double)c->folds;
    return all;
}

char *cli_clean_message(const cli_clean_result *r) {
    char truth[96] = "";
    if (r->truth_known)
        snprintf(truth, sizeof truth, "; of %zu wrong labels %zu found", r->wrong, r->found);
    return cli_print("%zu of %zu rows suspect%s", r->suspects, r->cleaning->rows, truth);
}

/* ---- Text ---- */

static void print_verdict(const cli_clean_result *r) {
    const cli_cleaning *c = r->cleaning;
    printf("%s: %zu of %zu rows suspect (%.1f%%), label of probability below %.4g\n",
           c->learning->train, r->suspects, c->rows, 100.0 * share_of(r->suspects, c->rows),
           r->verdict.threshold);
    if (!isnan(r->verdict.wrong))
        printf("  estimated share of wrong labels   %.1f%%\n", 100.0 * r->verdict.wrong);
    if (!isnan(r->verdict.false_alarms))
        printf("  false alarms among the suspects   %.0f%% aimed at\n",
               100.0 * r->verdict.false_alarms);
    if (!c->sets->val)
        printf("  no rows with right labels (--val): a share of TRAIN stood in\n");
}

static void print_truth(const cli_clean_result *r) {
    if (!r->truth_known)
        return;
    printf("\nAgainst the true labels\n");
    printf("  wrong labels           %zu, %zu of them suspect\n", r->wrong, r->found);
    printf("  recall, precision      %.4f, %.4f\n", recall_of(r), precision_of(r));
    printf("  AUROC by probability   %.4f\n", r->auroc_probability);
    printf("  AUROC by weight        %.4f\n", r->auroc_weight);
}

static void format_share(double value, char text[16]) {
    snprintf(text, 16, "%.4f", value);
    if (isnan(value))
        snprintf(text, 16, "-");
}

static void print_models(const cli_clean_result *r) {
    if (r->model_count == 0)
        return;
    cli_table table = {.align = "lrr"};
    const char *head[] = {"TRAINED ON", "VALIDATION", "TEST"};
    cli_table_row(&table, head);
    for (size_t i = 0; i < r->model_count; i++) {
        char val[16], test[16];
        format_share(r->model[i].val.accuracy, val);
        format_share(r->model[i].test.accuracy, test);
        const char *cells[] = {r->model[i].name, val, test};
        cli_table_row(&table, cells);
    }
    printf("\nAccuracy\n");
    cli_table_print(&table, INDENT, stdout);
}

static void print_suspects(const cli_clean_result *r) {
    const blv_dataset_view *train = blv_dataset_view_of(r->cleaning->sets->train);
    cli_table table = {.align = "rllll"};
    const char *head[] = {"ROW", "LABEL", "PROBABILITY", "WEIGHT", "BELIEVED"};
    size_t shown = r->suspects < ROWS_SHOWN ? r->suspects : ROWS_SHOWN;
    if (shown == 0)
        return;
    cli_table_row(&table, head);
    for (size_t i = 0; i < shown; i++) {
        size_t row = r->order[i];
        char number[24], probability[24], weight[24];
        snprintf(number, sizeof number, "%zu", row);
        snprintf(probability, sizeof probability, "%.2e", r->stated[row]);
        snprintf(weight, sizeof weight, "%.3f", r->cleaning->weight[row]);
        const char *cells[] = {number, train->class_names[train->label[row]], probability, weight,
                               train->class_names[r->believed[row]]};
        cli_table_row(&table, cells);
    }
    printf("\nThe most suspicious rows\n");
    cli_table_print(&table, INDENT, stdout);
}

static void print_run(const cli_clean_result *r) {
    const cli_cleaning *c = r->cleaning;
    printf("\n%zu folds, ridge %g, solver %s, %" PRIu64 " iterations, %.4g s\n", c->folds, c->ridge,
           c->learning->solver->name, c->iterations, c->seconds);
    if (r->request->out)
        printf("%s: every row, the most suspicious first\n", r->request->out);
    if (r->request->clean && r->request->relabel)
        printf("%s: %zu rows, %zu of them relabelled\n", r->request->clean, c->rows, r->suspects);
    else if (r->request->clean)
        printf("%s: the %zu rows that are kept\n", r->request->clean, c->rows - r->suspects);
    int64_t id = c->learning->work->record.id;
    if (id)
        printf("Stored as run %" PRId64 "; 'bilevel report %" PRId64 "' writes a page about it\n",
               id, id);
}

void cli_clean_text(const cli_clean_result *r) {
    print_verdict(r);
    print_truth(r);
    print_models(r);
    print_suspects(r);
    print_run(r);
}

/* ---- JSON ---- */

static json_t *models_object(const cli_clean_result *r) {
    json_t *models = cli_json_object();
    for (size_t i = 0; i < r->model_count; i++) {
        const cli_clean_model *m = &r->model[i];
        json_t *object = cli_json_object();
        cli_json_set(object, "name", cli_json_text(m->name));
        cli_json_set(object, "val_accuracy", cli_json_real(m->val.accuracy));
        cli_json_set(object, "val_loss", cli_json_real(m->val.loss));
        cli_json_set(object, "test_accuracy", cli_json_real(m->test.accuracy));
        cli_json_set(object, "test_loss", cli_json_real(m->test.loss));
        cli_json_set(models, m->key, object);
    }
    return models;
}

static json_t *truth_object(const cli_clean_result *r) {
    if (!r->truth_known)
        return json_null();
    json_t *object = cli_json_object();
    cli_json_set(object, "wrong", cli_json_whole(r->wrong));
    cli_json_set(object, "found", cli_json_whole(r->found));
    cli_json_set(object, "precision", cli_json_real(precision_of(r)));
    cli_json_set(object, "recall", cli_json_real(recall_of(r)));
    cli_json_set(object, "auroc_probability", cli_json_real(r->auroc_probability));
    cli_json_set(object, "auroc_weight", cli_json_real(r->auroc_weight));
    return object;
}

json_t *cli_clean_object(const cli_clean_result *r) {
    const cli_cleaning *c = r->cleaning;
    int64_t id = c->learning->work->record.id;
    blv_certificate all = cli_clean_certificate(r);
    json_t *object = cli_json_object(), *certificates = cli_json_array();
    for (size_t k = 0; k < c->folds; k++)
        cli_json_append(certificates, cli_certificate_object(&c->certificate[k]));
    cli_json_set(object, "train", cli_json_text(c->learning->train));
    cli_json_set(object, "val", cli_json_text(c->learning->val));
    cli_json_set(object, "test", cli_json_text(c->learning->test));
    cli_json_set(object, "rows", cli_json_whole(c->rows));
    cli_json_set(object, "suspects", cli_json_whole(r->suspects));
    cli_json_set(object, "threshold", cli_json_real(r->verdict.threshold));
    cli_json_set(object, "estimated_wrong", cli_json_real(r->verdict.wrong));
    cli_json_set(object, "false_alarms", cli_json_real(r->verdict.false_alarms));
    cli_json_set(object, "truth", truth_object(r));
    cli_json_set(object, "models", models_object(r));
    cli_json_set(object, "folds", cli_json_whole(c->folds));
    cli_json_set(object, "ridge", cli_json_real(c->ridge));
    cli_json_set(object, "solver", cli_json_text(c->learning->solver->name));
    cli_json_set(object, "seed", cli_json_whole(c->learning->seed));
    cli_json_set(object, "iterations", cli_json_whole(c->iterations));
    cli_json_set(object, "seconds", cli_json_real(c->seconds));
    cli_json_set(object, "counts", cli_json_counts(&c->counts));
    cli_json_set(object, "setup_counts", cli_json_counts(&c->setup_counts));
    cli_json_set(object, "certificate",
                 isnan(all.phi) ? json_null() : cli_certificate_object(&all));
    cli_json_set(object, "certificates", certificates);
    cli_json_set(object, "run", id ? cli_json_whole((uint64_t)id) : json_null());
    cli_json_set(object, "out", cli_json_text(r->request->out));
    cli_json_set(object, "write_clean", cli_json_text(r->request->clean));
    return object;
}
