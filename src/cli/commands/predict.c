/* bilevel predict MODEL DATA: the answers of a model that `bilevel tune` has written. */
#include "bilevel/model.h"
#include "cli/data_files.h"
#include "cli/outputs.h"
#include "cli/printing.h"

#include <stdio.h>

typedef struct request {
    blv_read_options reading;
    const char *model, *data, *out;
    bool all, json, quiet;
} request;

static const cli_argument table[] = {
    CLI_POSITION(READS, request, model, "MODEL", "expected MODEL and DATA"),
    CLI_POSITION(READS, request, data, "DATA", "expected MODEL and DATA"),
    CLI_OPTION("out", WRITES, request, out, "OUT.csv",
               "write row, predicted class and its probability", .letter = 'o'),
    CLI_OPTION("all", FLAG, request, all, NULL, "with --out: the probabilities of all classes"),
    CLI_OPTION("json", FLAG, request, json, NULL, "print one JSON object on standard output"),
    CLI_OPTION("quiet", FLAG, request, quiet, NULL, "no summary"),
    CLI_HEADING(READING),
    CLI_INCLUDE(cli_reading_table, request, reading),
    CLI_END};

static blv_error check(void *of, blv_message *why) {
    const request *asked = of;
    if (asked->reading.real_targets)
        return blv_explain(why, BLV_E_ARGUMENT, "--real: the model tells what its answers are");
    if (asked->all && !asked->out)
        return blv_explain(why, BLV_E_ARGUMENT, "--all needs --out OUT.csv");
    return BLV_OK;
}

typedef struct answers {
    const request *asked;
    const blv_model *model;
    const blv_prediction *prediction;
    const blv_dataset *rows;
} answers;

static void print_answers(FILE *file, const void *context) {
    const answers *a = context;
    const blv_prediction *p = a->prediction;
    const char *const *names = a->model->class_names;
    const size_t shown = a->asked->all ? p->classes : 0;
    fprintf(file, "row,predicted%s%s%s", p->value ? "" : ",probability", p->label ? ",label" : "",
            p->target ? ",target" : "");
    for (size_t k = 0; k < shown; k++)
        report_csv_text(file, ",", names[k]);
    blv_row_texts *texts = cli_row_texts_open(a->rows);
    fprintf(file, "%s\n", cli_row_texts_head(texts));
    for (size_t i = 0; i < p->rows; i++) {
        const double *probability = p->value ? NULL : p->probability + i * p->classes;
        fprintf(file, "%zu", i);
        if (p->value) {
            report_csv_number(file, ",", p->value[i]);
        } else {
            report_csv_text(file, ",", names[p->predicted[i]]);
            report_csv_number(file, ",", probability[p->predicted[i]]);
        }
        if (p->label)
            report_csv_text(file, ",", names[p->label[i]]);
        else if (p->target)
            report_csv_number(file, ",", p->target[i]);
        for (size_t k = 0; k < shown; k++)
            report_csv_number(file, ",", probability[k]);
        cli_row_texts_print(texts, i, file);
    }
    blv_row_texts_close(texts);
}

static void print_text(const answers *a) {
    const blv_prediction *p = a->prediction;
    printf("%s: %zu rows\n", a->asked->data, p->rows);
    if (p->target)
        printf("  RMSE  %.6g\n  R2    %.4f\n", p->rmse, p->r2);
    if (p->value && a->asked->out)
        printf("%s: row, predicted number\n", a->asked->out);
    if (p->value)
        return;
    if (p->label)
        printf("  accuracy  %.4f\n  loss      %.4f\n", p->accuracy, p->loss);
    for (size_t k = 0; k < p->classes; k++)
        printf("  predicted %s: %zu\n", cli_shown(a->model->class_names[k]), p->count[k]);
    if (a->asked->out)
        printf("%s: row, predicted class, probability\n", a->asked->out);
}

static void print_json(const answers *a, json_t *warnings) {
    static const blv_field of_numbers[] = {
        BLV_FIELD(blv_prediction, rmse, REAL), BLV_FIELD(blv_prediction, r2, REAL), {0}};
    static const blv_field of_classes[] = {
        BLV_FIELD(blv_prediction, accuracy, REAL), BLV_FIELD(blv_prediction, loss, REAL), {0}};
    const blv_prediction *p = a->prediction;
    json_t *predicted = p->value ? NULL : json_object();
    json_t *object =
        cli_json_put(json_object(), "model", blv_json_string(a->asked->model), "data",
                     blv_json_string(a->asked->data), "rows", cli_json_whole(p->rows), NULL);
    cli_json_add(object, p->value ? of_numbers : of_classes, p);
    for (size_t k = 0; k < p->classes; k++)
        cli_json_set(predicted, a->model->class_names[k], cli_json_whole(p->count[k]));
    if (predicted)
        cli_json_set(object, "predicted", predicted);
    cli_json_print(
        cli_json_put(object, "out", blv_json_string(a->asked->out), "warnings", warnings, NULL));
}

static int predict(void *of) {
    const request *asked = of;
    blv_model *model = NULL;
    blv_dataset *rows = NULL;
    blv_prediction *prediction = NULL;
    cli_outputs outputs = {0};
    cli_expect(blv_model_read(&model, asked->model, &cli_why));
    cli_expect(blv_model_read_rows(model, &rows, asked->data, &asked->reading, &cli_why));
    json_t *warnings = asked->json ? json_array() : NULL;
    if (asked->json || !asked->quiet) /* columns and levels that the training did not have */
        cli_expect(cli_warn((const blv_dataset *const[]){NULL, rows},
                            (const char *const[]){"", asked->data}, 2, warnings, &cli_why));
    cli_complain_about(asked->data);
    cli_expect(blv_model_predict(model, rows, &prediction, &cli_why));
    cli_complain_about(NULL);
    const answers a = {asked, model, prediction, rows};
    cli_outputs_print(&outputs, asked->out, print_answers, &a);
    int code = cli_outputs_finish(&outputs);
    if (code == CLI_DONE && asked->json)
        print_json(&a, json_incref(warnings));
    else if (code == CLI_DONE && !asked->quiet)
        print_text(&a);
    json_decref(warnings);
    blv_prediction_destroy(prediction);
    blv_dataset_release(rows);
    blv_model_destroy(model);
    return code;
}

static const request defaults = {.reading.size = sizeof(blv_read_options)};

const cli_command cmd_predict =
    CLI_COMMAND("predict", "MODEL", "predict with a model of tune", request, table, predict,
                "Predict the classes or numbers of DATA with a model of 'bilevel tune'.\v"
                "Where DATA has labels, accuracy and loss are shown; of numbers RMSE and R2.",
                .defaults = &defaults, .check = check);
