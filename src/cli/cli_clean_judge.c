#include "cli_clean.h"
#include "cli_dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- True labels, where they are known ---- */

bool cli_clean_truth_is_file(const cli_clean_request *asked) {
    return asked->truth && access(asked->truth, F_OK) == 0;
}

static int refuse_truth(const cli_clean_request *asked, size_t row) {
    cli_complain("%s: row %zu is not row %zu of %s with its label", asked->truth, row, row,
                 asked->learning.train);
    return CLI_REFUSED;
}

/* The file has the columns row, given and true, and a line for each row of TRAIN. */
static int read_truth(const cli_clean_request *asked, const blv_dataset_view *train, bool *wrong) {
    blv_read_options options = {
        .size = sizeof(blv_read_options), .label = "given", .truth = "true", .header = "yes"};
    blv_dataset *set = NULL;
    int code = cli_dataset_read(&set, asked->truth, &options);
    if (code != CLI_DONE)
        return code;
    const blv_dataset_view *v = blv_dataset_view_of(set);
    if (v->rows != train->rows) {
        cli_complain("%s: %zu rows; expected %zu as in %s", asked->truth, v->rows, train->rows,
                     asked->learning.train);
        code = CLI_REFUSED;
    }
    for (size_t i = 0; code == CLI_DONE && i < v->rows; i++) {
        const char *given = train->class_names[train->label[i]];
        bool same = cli_dataset_value(v, i * v->stride) == (double)i &&
                    strcmp(given, v->class_names[v->label[i]]) == 0;
        if (!same)
            code = refuse_truth(asked, i);
        wrong[i] = v->label[i] != v->true_label[i];
    }
    blv_dataset_release(set);
    return code;
}

int cli_clean_find_truth(const cli_clean_request *asked, const cli_sets *sets, bool *wrong) {
    const blv_dataset_view *train = blv_dataset_view_of(sets->train);
    if (cli_clean_truth_is_file(asked))
        return read_truth(asked, train, wrong);
    for (size_t i = 0; train->true_label && i < train->rows; i++)
        wrong[i] = train->label[i] != train->true_label[i];
    return CLI_DONE;
}

/* ---- The verdict ---- */

static double *stated(const blv_dataset *dataset, const double *probability) {
    const blv_dataset_view *v = blv_dataset_view_of(dataset);
    double *p = cli_alloc(v->rows, sizeof *p);
    for (size_t i = 0; i < v->rows; i++)
        p[i] = probability[i * v->classes + (size_t)v->label[i]];
    return p;
}

static cli_verdict decide(const cli_clean_request *asked, const cli_cleaning *c, const double *p) {
    const cli_sets *sets = c->sets;
    if (!isnan(asked->threshold))
        return (cli_verdict){.threshold = asked->threshold, .wrong = NAN, .false_alarms = NAN};
    if (!isnan(asked->flag_share))
        return cli_verdict_by_count(c->rows, p,
                                    (size_t)lround(asked->flag_share * (double)c->rows));
    if (!sets->val)
        return cli_verdict_alone(c->rows, c->classes, c->probability,
                                 blv_dataset_view_of(sets->train)->label);
    double *clean = stated(sets->val, c->val_probability);
    cli_verdict verdict =
        cli_verdict_from_clean(c->rows, p, blv_dataset_view_of(sets->val)->rows, clean,
                               isnan(asked->false_alarms) ? 0.0 : asked->false_alarms);
    free(clean);
    return verdict;
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

static void rank_rows(const cli_cleaning *c, cli_clean_result *result) {
    ranked *order = cli_alloc(c->rows, sizeof *order);
    for (size_t i = 0; i < c->rows; i++)
        order[i] = (ranked){result->stated[i], i};
    qsort(order, c->rows, sizeof *order, by_suspicion);
    for (size_t i = 0; i < c->rows; i++) {
        result->order[i] = order[i].row;
        result->suspect[i] = result->stated[i] < result->verdict.threshold;
        result->suspects += result->suspect[i];
        result->believed[i] = (int32_t)cli_believed(c->probability + i * c->classes, c->classes);
    }
    free(order);
}

static void score_against_truth(const cli_cleaning *c, const bool *wrong,
                                cli_clean_result *result) {
    double *suspicion = cli_alloc(c->rows, sizeof *suspicion);
    for (size_t i = 0; i < c->rows; i++) {
        result->wrong += wrong[i];
        result->found += wrong[i] && result->suspect[i];
        suspicion[i] = 1.0 - result->stated[i];
    }
    blv_auroc(c->rows, suspicion, wrong, &result->auroc_probability);
    for (size_t i = 0; i < c->rows; i++)
        suspicion[i] = isnan(c->weight[i]) ? 0.5 : 1.0 - c->weight[i];
    blv_auroc(c->rows, suspicion, wrong, &result->auroc_weight);
    free(suspicion);
    result->truth_known = true;
}

cli_clean_result cli_clean_judge(const cli_clean_request *request, const cli_cleaning *cleaning,
                                 const bool *wrong) {
    cli_clean_result result = {.request = request,
                               .cleaning = cleaning,
                               .order = cli_alloc(cleaning->rows, sizeof(size_t)),
                               .suspect = cli_alloc(cleaning->rows, sizeof(bool)),
                               .believed = cli_alloc(cleaning->rows, sizeof(int32_t)),
                               .stated = stated(cleaning->sets->train, cleaning->probability)};
    result.verdict = decide(request, cleaning, result.stated);
    rank_rows(cleaning, &result);
    if (wrong)
        score_against_truth(cleaning, wrong, &result);
    return result;
}

void cli_clean_result_free(cli_clean_result *r) {
    free(r->order);
    free(r->suspect);
    free(r->believed);
    free(r->stated);
}
