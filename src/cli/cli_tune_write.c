#include "cli_csv.h"
#include "cli_model_file.h"
#include "cli_tune.h"

#include <stdio.h>
#include <stdlib.h>

double cli_tune_penalty(const cli_tune_result *r, size_t number) {
    return r->tuning->kept ? r->tuning->penalty[number] : r->tuning->single;
}

static bool print_penalties(FILE *file, const void *context) {
    const cli_tune_result *r = context;
    fputs("of,penalty\n", file);
    for (size_t k = 0; k < r->names->count; k++) {
        cli_csv_text(file, r->names->names[k]);
        fputc(',', file);
        cli_csv_number(file, cli_tune_penalty(r, k));
        fputc('\n', file);
    }
    return true;
}

/* The last column of the weights is the intercept. */
static void take_weights(const cli_tuning *t, cli_model *m) {
    const double *weights = cli_tuning_result(t)->weights;
    size_t columns = m->features + 1;
    m->weights = cli_alloc(m->scores * m->features, sizeof *m->weights);
    m->intercept = cli_alloc(m->scores, sizeof *m->intercept);
    for (size_t k = 0; k < m->scores; k++) {
        for (size_t j = 0; j < m->features; j++)
            m->weights[k * m->features + j] = weights[k * columns + j];
        m->intercept[k] = weights[k * columns + m->features];
    }
}

static int write_model(const cli_tune_result *r, const char *place) {
    const cli_tuning *t = r->tuning;
    const blv_dataset_view *train = blv_dataset_view_of(t->sets->train);
    cli_model m = {.scores = t->scores,
                   .features = t->sets->features,
                   .classes = train->classes,
                   .shift = t->sets->shift,
                   .divisor = t->sets->divisor,
                   .unit_rows = t->sets->unit_rows,
                   .penalties = r->names->count,
                   .penalty = cli_alloc(r->names->count, sizeof *m.penalty),
                   .penalty_names = r->names->names,
                   .class_names = (char **)train->class_names,
                   .feature_names = (char **)train->feature_names};
    take_weights(t, &m);
    for (size_t k = 0; k < m.penalties; k++)
        m.penalty[k] = cli_tune_penalty(r, k);
    int code = cli_model_write(&m, place, r->request->out);
    free(m.weights);
    free(m.intercept);
    free(m.penalty);
    return code;
}

int cli_tune_write(const cli_tune_result *r) {
    cli_outputs outputs = {0};
    int code = CLI_DONE;
    if (r->request->out) {
        const char *place = cli_outputs_add(&outputs, r->request->out);
        code = place ? write_model(r, place) : CLI_REFUSED;
    }
    if (code == CLI_DONE && r->request->penalties)
        code = cli_outputs_print(&outputs, r->request->penalties, print_penalties, r);
    if (code == CLI_DONE)
        code = cli_outputs_commit(&outputs);
    cli_outputs_free(&outputs);
    return code;
}

int cli_tune_expect_writable(const cli_tune_request *request) {
    cli_outputs outputs = {0};
    bool ok = (!request->out || cli_outputs_add(&outputs, request->out)) &&
              (!request->penalties || cli_outputs_add(&outputs, request->penalties));
    cli_outputs_free(&outputs);
    return ok ? CLI_DONE : CLI_REFUSED;
}
