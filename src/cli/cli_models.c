#include "cli_models.h"
#include "bilevel/certificate.h"
#include "cli_watch.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

const cli_quality cli_quality_unknown = {(double)NAN, (double)NAN};

double *cli_weights(const blv_dataset *dataset, const double *y, size_t scores) {
    const blv_dataset_view *view = blv_dataset_view_of(dataset);
    double *weights = cli_alloc(scores * view->columns, sizeof *weights);
    for (size_t k = 0; k < scores; k++)
        for (size_t j = 0; j < view->columns; j++)
            weights[k * view->columns + j] =
                view->dense ? y[k * view->columns + j] : y[j * scores + k];
    return weights;
}

int cli_answer(const blv_dataset *dataset, const double *weights, size_t scores,
               double *probability) {
    blv_linear_model model = {.size = sizeof model,
                              .scores = scores,
                              .columns = blv_dataset_view_of(dataset)->columns,
                              .weights = weights};
    blv_message why = {0};
    blv_error error = blv_linear_answer(&model, dataset, probability, &why);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

size_t cli_believed(const double *probability, size_t classes) {
    size_t best = 0;
    for (size_t k = 1; k < classes; k++)
        if (probability[k] > probability[best])
            best = k;
    return best;
}

cli_quality cli_judge_answers(const blv_dataset *dataset, const double *probability) {
    const blv_dataset_view *view = blv_dataset_view_of(dataset);
    double loss = 0.0, right = 0.0, rows = (double)view->rows;
    for (size_t i = 0; i < view->rows; i++) {
        const double *p = probability + i * view->classes;
        size_t label = (size_t)view->label[i];
        loss -= log(fmax(p[label], DBL_MIN));
        right += cli_believed(p, view->classes) == label;
    }
    return (cli_quality){loss / rows, right / rows};
}

int cli_judge_weights(const blv_dataset *dataset, const double *weights, size_t scores,
                      cli_quality *quality) {
    *quality = cli_quality_unknown;
    if (!dataset)
        return CLI_DONE;
    const blv_dataset_view *view = blv_dataset_view_of(dataset);
    double *probability = cli_alloc(view->rows * view->classes, sizeof *probability);
    int code = cli_answer(dataset, weights, scores, probability);
    if (code == CLI_DONE)
        *quality = cli_judge_answers(dataset, probability);
    free(probability);
    return code;
}

static int stop_on_signal(void *context) {
    (void)context;
    return cli_watch_signalled();
}

int cli_train(const blv_problem *problem, const double *x, double tolerance, double *y) {
    const blv_problem_def *def = blv_problem_definition(problem);
    blv_vec *at = NULL, *model = NULL;
    blv_message why = {0};
    double reached;
    blv_error error = blv_vec_create(&at, def->space_x);
    if (error == BLV_OK)
        error = blv_vec_create(&model, def->space_y);
    if (error == BLV_OK) {
        blv_vec_write(at, x);
        blv_vec_write(model, y);
        error =
            blv_solve_lower(problem, at, model, tolerance, stop_on_signal, NULL, &reached, &why);
    }
    if (error == BLV_OK)
        blv_vec_read(model, y);
    blv_vec_destroy(at);
    blv_vec_destroy(model);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}
