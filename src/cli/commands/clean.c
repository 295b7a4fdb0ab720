/* bilevel clean TRAIN: finds wrong labels. */
#include "bilevel/clean.h"
#include "cli/data_files.h"
#include "cli/outputs.h"
#include "cli/printing.h"
#include "cli/rank_start.h"
#include "cli/suspect_images.h"
#include "cli/training_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_FOLDS = 5, FEWEST_FOLDS = 2, MOST_FOLDS = 100, INDENT = 2, ROWS_SHOWN = 5 };

typedef struct request {
    cli_training training;
    const char *out, *clean, *truth, *probabilities;
    bool relabel;
    double threshold, flag_share, false_alarms, ridge; /* 0: not given */
    uint64_t folds;
    blv_clean_model_kind model;
    cli_image image;
} request;

/* ---- The command line ---- */

static const cli_argument table[] = {
    CLI_OPTION(
        "out", WRITES, request, out, "OUT.csv",
        "write row, label, verdict, probability that the label is right, believed label, rank of "
        "suspicion from 1 and text of every row of TRAIN",
        .letter = 'o'),
    CLI_OPTION(
        "write-clean", WRITES, request, clean, "FILE",
        "write TRAIN without the suspect rows, in its format unless the name says otherwise"),
    CLI_OPTION("relabel", FLAG, request, relabel, NULL,
               "keep the suspect rows in that file, with the label that is believed"),
    CLI_OPTION(
        "threshold", SHARE, request, threshold, "P",
        "call rows suspect whose label is right with a probability below P (default: as many "
        "rows as are expected to be wrong, and those that are hardly likelier right)"),
    CLI_OPTION("flag-share", SHARE, request, flag_share, "P",
               "call this share of the rows suspect"),
    CLI_OPTION("false-alarms", SHARE, request, false_alarms, "P",
               "call as many rows suspect as have this share of right labels among them"),
    CLI_OPTION("truth", READS, request, truth, "COLUMN|FILE",
               "the labels as they should be, to see how many were found: a column of TRAIN, or "
               "what 'bilevel data corrupt --truth' wrote"),
    CLI_OPTION(
        "probabilities", READS, request, probabilities, "FILE",
        "the probabilities of the classes for each row of TRAIN by a model of yours that has not "
        "seen the row, one column a class: then no model is trained"),
    CLI_OPTION(
        "model", CHOICE, request, model, "auto|linear|mlp|forest",
        "what tells the classes apart: a linear model, a network, trees, or what does best on "
        "held-out rows (auto, the default)"),
    CLI_OPTION("folds", WHOLE, request, folds, "N", "parts that are held out in turn (default 5)",
               .from = FEWEST_FOLDS, .to = MOST_FOLDS),
    CLI_OPTION("ridge", POSITIVE, request, ridge, "C",
               "weight of |W|^2 in training (default: learned)"),
    CLI_OPTION("image", CUSTOM, request, image, "auto|none|WIDTHxHEIGHT[x3]",
               "what picture a row is, for the page of 'bilevel report' (default auto)",
               .take = cli_image_parse),
    CLI_INCLUDE(cli_training_table, request, training),
    CLI_END};

static blv_error check(void *of, blv_message *why) {
    request *asked = of;
    int rules = (asked->threshold > 0.0) + (asked->flag_share > 0.0) + (asked->false_alarms > 0.0);
    if (rules > 1)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "--threshold, --flag-share or --false-alarms, one of them");
    if (asked->training.val_share > 0.0)
        return blv_explain(why, BLV_E_ARGUMENT,
                           "--val-share: all rows of TRAIN are learned from, in folds; no share of "
                           "them is needed");
    if (asked->relabel && !asked->clean)
        return blv_explain(why, BLV_E_ARGUMENT, "--relabel needs --write-clean FILE");
    return cli_training_check(&asked->training, why);
}

/* ---- The record of the request ---- */

static const char *const model_words[] = {"auto", "linear", "mlp", "forest", NULL};

static const blv_field request_fields[] = {
    BLV_FIELD_RECORD("training", request, training, cli_training_fields),
    BLV_FIELD_AS("out", request, out, PATH, BLV_OUTPUT),
    BLV_FIELD_AS("write_clean", request, clean, PATH, BLV_OUTPUT),
    BLV_FIELD_AS("truth", request, truth, PATH, BLV_IF_FILE),
    BLV_FIELD(request, probabilities, PATH),
    BLV_FIELD(request, relabel, BOOL),
    BLV_FIELD(request, threshold, REAL),
    BLV_FIELD(request, flag_share, REAL),
    BLV_FIELD(request, false_alarms, REAL),
    BLV_FIELD(request, ridge, REAL),
    BLV_FIELD(request, folds, WHOLE),
    BLV_FIELD_WORD("model", request, model, model_words),
    BLV_FIELD_RECORD("image", request, image, cli_image_fields),
    {0}};

static void describe(const request *asked, blv_values *facts) {
    cli_facts_training(facts, &asked->training, NAN);
    cli_expect(blv_values_add_int(facts, "folds", (int64_t)asked->folds));
    cli_expect(blv_values_add_text(facts, "model", model_words[asked->model]));
    cli_facts_number(facts, "ridge", asked->ridge, "auto");
    cli_facts_number(facts, "threshold", asked->threshold, "auto");
    cli_facts_number(facts, "flag_share", asked->flag_share, "none");
    cli_facts_number(facts, "false_alarms", asked->false_alarms, "auto");
}

/* ---- What was found ---- */

typedef struct finding {
    const request *asked;
    const blv_task_sets *sets;
    const blv_clean_result *result;
    int64_t run; /* in the store; 0: none */
} finding;

static const char *class_of(const finding *f, int32_t class) {
    return blv_dataset_view_of(f->sets->train)->class_names[class];
}

static const char *label_of(const finding *f, size_t row) {
    return class_of(f, blv_dataset_view_of(f->sets->train)->label[row]);
}

/* ---- Files ---- */

static void print_rows(FILE *file, const void *context) {
    const finding *f = context;
    const blv_clean_result *r = f->result;
    blv_row_texts *texts = cli_row_texts_open(f->sets->train);
    size_t *rank = cli_alloc(r->rows, sizeof *rank);
    for (size_t i = 0; i < r->rows; i++)
        rank[r->order[i]] = i + 1;
    fprintf(file, "row,label,verdict,probability,believed,rank%s\n", cli_row_texts_head(texts));
    for (size_t row = 0; row < r->rows; row++) {
        fprintf(file, "%zu", row);
        report_csv_text(file, ",", label_of(f, row));
        fputs(r->suspect[row] ? ",suspect" : ",keep", file);
        report_csv_number(file, ",", r->label_probability[row]);
        report_csv_text(file, ",", class_of(f, r->believed[row]));
        fprintf(file, ",%zu", rank[row]);
        cli_row_texts_print(texts, row, file);
    }
    free(rank);
    blv_row_texts_close(texts);
}

/* TRAIN as it is in the file, all digits and no scaling. */
static blv_error read_again(const request *asked, blv_dataset **train, blv_message *why) {
    blv_read_options reading = asked->training.reading;
    reading.precision = BLV_F64;
    reading.ranks = NULL; /* what is written has all rows */
    reading.truth = asked->truth && access(asked->truth, F_OK) != 0 ? asked->truth : NULL;
    return blv_dataset_read(train, asked->training.train, &reading, why);
}

static void write_cleaned(const finding *f, cli_outputs *outputs) {
    const char *path = f->asked->clean;
    const char *format = cli_part_format(path, NULL, blv_dataset_view_of(f->sets->train));
    blv_dataset *train = NULL, *cleaned = NULL;
    blv_message why = {0};
    blv_error error = BLV_OK;
    if (!cli_rank_writes())
        return;
    if (strcmp(format, "source") == 0)
        train = blv_dataset_retain(f->sets->train);
    else
        error = read_again(f->asked, &train, &why);
    if (error == BLV_OK)
        error = blv_clean_apply(f->result, train, f->asked->relabel, &cleaned, &why);
    if (error == BLV_OK)
        cli_outputs_write(outputs, path, cleaned, format);
    else
        outputs->code = cli_reject(error, why.text);
    blv_dataset_release(train);
    blv_dataset_release(cleaned);
}

static int write_files(const finding *f) {
    cli_outputs outputs = {0};
    cli_outputs_print(&outputs, f->asked->out, print_rows, f);
    if (f->asked->clean)
        write_cleaned(f, &outputs);
    return cli_outputs_finish(&outputs);
}

/* ---- Text ---- */

static void print_rule(const finding *f) {
    const blv_clean_result *r = f->result;
    printf("%s: %zu of %zu rows suspect (%.1f%%)\n", f->asked->training.train, r->suspects, r->rows,
           100.0 * (double)r->suspects / (double)r->rows);
    printf("  estimated share of wrong labels   %.1f%%%s\n", 100.0 * r->estimated_wrong,
           r->all_may_be_right && r->estimated_wrong >= 0.0005 ? ", and none is about as likely"
                                                               : "");
    if (!isnan(r->false_alarms))
        printf("  right labels among the suspects   %.0f%% expected\n", 100.0 * r->false_alarms);
    for (size_t i = 0; i < r->caution_count; i++)
        printf("  %s\n", cli_shown(r->cautions[i]));
    if (!r->truth_known)
        return;
    printf("\nAgainst the true labels\n");
    printf("  wrong labels           %zu, %zu of them suspect\n", r->wrong, r->found);
    printf("  recall, precision      %.4f, %.4f\n", r->recall, r->precision);
    printf("  AUROC by probability   %.4f\n", r->auroc_probability);
}

static void print_models(const blv_clean_result *r) {
    report_table shown = {.align = "lrr"};
    if (r->model_count == 0)
        return;
    report_table_add(&shown, "TRAINED ON\tVALIDATION\tTEST");
    for (size_t i = 0; i < r->model_count; i++) {
        const blv_clean_model *m = &r->models[i];
        report_table_row(
            &shown, (const char *[]){m->name, report_number(&shown.arena, "%.4f", m->val.accuracy),
                                     report_number(&shown.arena, "%.4f", m->test.accuracy)});
    }
    printf("\nAccuracy\n");
    cli_table_print(&shown, INDENT, stdout);
}

static void print_suspects(const finding *f) {
    const blv_clean_result *r = f->result;
    const bool tell = r->model_text && !cli_rows_are_images(&f->asked->image, f->sets);
    report_table shown = {.align = tell ? "rllll" : "rlll"};
    if (r->suspects == 0)
        return;
    report_table_row(
        &shown, (const char *const[]){"ROW", "LABEL", "RIGHT", "BELIEVED", "SPEAKS AGAINST IT"});
    cli_suspect_rows(&shown, f->sets, r, r->suspects < ROWS_SHOWN ? r->suspects : ROWS_SHOWN);
    printf("\nThe most suspicious rows\n");
    cli_table_print(&shown, INDENT, stdout);
}

static void print_text(const finding *f) {
    const request *asked = f->asked;
    const blv_clean_result *r = f->result;
    print_rule(f);
    print_models(r);
    print_suspects(f);
    if (asked->probabilities)
        printf("\nBy the probabilities of %s, %.4g s\n", asked->probabilities, r->seconds);
    else
        printf("\nModel: %s\n%zu folds, ridge %g, solver %s, %" PRIu64 " iterations, %.4g s\n",
               r->model_text, r->folds, r->ridge, r->solver, r->iterations, r->seconds);
    if (asked->out)
        printf("%s: every row; rank 1 is the most suspicious\n", asked->out);
    if (asked->clean && asked->relabel)
        printf("%s: %zu rows, %zu of them relabelled\n", asked->clean, r->rows, r->suspects);
    else if (asked->clean)
        printf("%s: the %zu rows that are kept\n", asked->clean, r->rows - r->suspects);
    cli_print_stored(f->run);
}

/* ---- JSON ---- */

static const blv_field model_fields[] = {
    BLV_FIELD(blv_clean_model, name, TEXT),
    BLV_FIELD_AS("val_accuracy", blv_clean_model, val.accuracy, REAL, 0),
    BLV_FIELD_AS("val_loss", blv_clean_model, val.loss, REAL, 0),
    BLV_FIELD_AS("test_accuracy", blv_clean_model, test.accuracy, REAL, 0),
    BLV_FIELD_AS("test_loss", blv_clean_model, test.loss, REAL, 0),
    {0}};

static const blv_field truth_fields[] = {BLV_FIELD(blv_clean_result, wrong, SIZE),
                                         BLV_FIELD(blv_clean_result, found, SIZE),
                                         BLV_FIELD(blv_clean_result, precision, REAL),
                                         BLV_FIELD(blv_clean_result, recall, REAL),
                                         BLV_FIELD(blv_clean_result, auroc_probability, REAL),
                                         {0}};

static const blv_field rule_fields[] = {
    BLV_FIELD(blv_clean_result, rows, SIZE),
    BLV_FIELD(blv_clean_result, suspects, SIZE),
    BLV_FIELD(blv_clean_result, threshold, REAL),
    BLV_FIELD(blv_clean_result, estimated_wrong, REAL),
    BLV_FIELD(blv_clean_result, all_may_be_right, BOOL),
    BLV_FIELD(blv_clean_result, false_alarms, REAL),
    BLV_FIELD(blv_clean_result, spared, SIZE),
    BLV_FIELD_PART("truth", blv_clean_result, truth_fields, truth_known),
    {0}};

static const blv_field run_fields[] = {BLV_FIELD(blv_clean_result, folds, SIZE),
                                       BLV_FIELD(blv_clean_result, ridge, REAL),
                                       BLV_FIELD(blv_clean_result, trusted_weight, REAL),
                                       BLV_FIELD_AS("model", blv_clean_result, model_text, TEXT, 0),
                                       CLI_LEARNED_FIELDS(blv_clean_result),
                                       {0}};

/* null where nothing is learned of it */
static json_t *describe_noise(const finding *f) {
    const size_t classes = f->result->classes;
    json_t *noise = f->asked->probabilities ? json_null() : json_object();
    for (size_t k = 0; json_is_object(noise) && k < classes; k++) {
        json_t *row = json_object();
        for (size_t l = 0; l < classes; l++)
            cli_json_set(row, class_of(f, (int32_t)l),
                         json_real(f->result->noise[k * classes + l]));
        cli_json_set(noise, class_of(f, (int32_t)k), row);
    }
    return noise;
}

static json_t *describe_finding(const finding *f) {
    json_t *object = json_object(), *models = json_object(), *cautions = json_array();
    for (size_t i = 0; i < f->result->caution_count; i++)
        cli_json_append(cautions, blv_json_string(f->result->cautions[i]));
    for (size_t i = 0; i < f->result->model_count; i++)
        cli_json_set(models, f->result->models[i].key,
                     blv_record_json(model_fields, &f->result->models[i]));
    cli_training_describe(object, &f->asked->training, f->sets);
    cli_json_add(object, rule_fields, f->result);
    cli_json_set(object, "cautions", cautions);
    cli_json_set(object, "models", models);
    cli_json_set(object, "noise", describe_noise(f));
    cli_json_add(object, run_fields, f->result);
    cli_json_set(object, "run", f->run ? cli_json_whole((uint64_t)f->run) : json_null());
    cli_json_set(object, "out", blv_json_string(f->asked->out));
    cli_json_set(object, "write_clean", blv_json_string(f->asked->clean));
    return object;
}

/* ---- The command ---- */

static const char *message_of(const blv_clean_result *r) {
    if (!r->truth_known)
        return cli_print("%zu of %zu rows suspect", r->suspects, r->rows);
    return cli_print("%zu of %zu rows suspect; of %zu wrong labels %zu found", r->suspects, r->rows,
                     r->wrong, r->found);
}

/* Files first: what the store calls finished has its files. */
static int report(cli_task_hooks *task, finding *f) {
    const blv_clean_result *r = f->result;
    const cli_training *training = &f->asked->training;
    int code = write_files(f);
    if (code != CLI_DONE)
        return cli_task_fail(task, code, NULL);
    f->run = task->session.recorder.id;
    char *sheet = f->run ? cli_suspect_sheet(&f->asked->image, f->sets, r) : NULL;
    if (sheet)
        blv_recorder_attach(&task->session.recorder, "suspects.html", sheet, strlen(sheet),
                            "the suspects were not stored");
    free(sheet);
    code = cli_task_report(task, describe_finding(f),
                           (blv_run_info){.message = message_of(r),
                                          .has_iterations = true,
                                          .iterations = r->iterations,
                                          .seconds = r->seconds,
                                          .phi = r->certificate.phi,
                                          .grad_norm = r->certificate.grad_norm});
    if (!training->task.json && !training->task.quiet)
        print_text(f);
    return code;
}

/* The column of the class with this name; SIZE_MAX: none has it. */
static size_t column_named(const blv_dataset_view *given, const char *class) {
    for (size_t j = 0; given->feature_names && j < given->columns; j++)
        if (strcmp(given->feature_names[j], class) == 0)
            return j;
    return SIZE_MAX;
}

/* The columns of the classes: by their names where one has the name of a class, else in order. */
static size_t *columns_of(const blv_dataset_view *given, const blv_dataset_view *train,
                          const char *path) {
    size_t *column = cli_alloc(train->classes, sizeof *column), named = 0, missing = 0;
    for (size_t k = 0; k < train->classes; k++) {
        column[k] = column_named(given, train->class_names[k]);
        named += column[k] != SIZE_MAX;
        missing = column[k] == SIZE_MAX ? k : missing;
    }
    if (named > 0 && named < train->classes)
        cli_die("%s: no column of class '%s', and other columns have the names of classes", path,
                train->class_names[missing]);
    for (size_t k = 0; named == 0 && k < train->classes; k++)
        column[k] = k;
    return column;
}

/* rows x classes numbers, to be freed; NULL: none are asked for. */
static double *read_probabilities(const request *asked, const blv_task_sets *sets) {
    const blv_dataset_view *train = blv_dataset_view_of(sets->train), *given;
    blv_read_options reading = {.size = sizeof reading,
                                .label = "none",
                                .layout = BLV_LAYOUT_DENSE,
                                .precision = BLV_F64,
                                .missing = BLV_MISSING_ERROR};
    blv_dataset *file = NULL;
    if (!asked->probabilities)
        return NULL;
    cli_expect(blv_dataset_read(&file, asked->probabilities, &reading, &cli_why));
    if (blv_dataset_view_of(file)->rows == train->rows + 1) { /* classes named by numbers */
        blv_dataset_release(file);
        reading.header = "yes";
        cli_expect(blv_dataset_read(&file, asked->probabilities, &reading, &cli_why));
    }
    given = blv_dataset_view_of(file);
    if (given->rows != train->rows || given->columns != train->classes)
        cli_die("%s: %zu rows of %zu numbers; expected %zu rows of %zu, one for each class",
                asked->probabilities, given->rows, given->columns, train->rows, train->classes);
    size_t *column = columns_of(given, train, asked->probabilities);
    double *p = cli_alloc(train->rows * train->classes, sizeof *p);
    for (size_t i = 0; i < train->rows; i++)
        for (size_t k = 0; k < train->classes; k++)
            p[i * train->classes + k] =
                ((const double *)given->dense)[i * given->stride + column[k]];
    blv_dataset_release(file);
    free(column);
    return p;
}

static int find(const request *asked, const blv_task_sets *sets, cli_task_hooks *task) {
    double *probabilities = read_probabilities(asked, sets);
    const blv_clean_options options = {.size = sizeof options,
                                       CLI_TRAINING_OPTIONS(&asked->training),
                                       .folds = (size_t)asked->folds,
                                       .ridge = asked->ridge,
                                       .model = asked->model,
                                       .threshold = asked->threshold,
                                       .flag_share = asked->flag_share,
                                       .false_alarms = asked->false_alarms,
                                       .probabilities = probabilities,
                                       .relabel = asked->relabel};
    blv_clean_result *result = NULL;
    blv_message why = {0};
    blv_error error = blv_clean(sets, &options, &result, &task->hooks, &why);
    cli_progress_end();
    int code = error == BLV_OK ? report(task, &(finding){asked, sets, result, 0})
                               : cli_task_fail(task, cli_reject(error, why.text), why.text);
    blv_clean_result_destroy(result);
    free(probabilities);
    return code;
}

static int clean(void *of) {
    request *asked = of;
    cli_task_hooks task = {0};
    blv_task_sets *sets = cli_training_read(&asked->training, asked->truth);
    cli_image_check(&asked->image, sets);
    cli_part_try(asked->out, asked->clean, sets->train);
    describe(asked, &task.facts);
    cli_task_begin(&task, "clean", request_fields, asked, &asked->training.task);
    int code = find(asked, sets, &task);
    cli_task_close(&task);
    blv_task_sets_destroy(sets);
    return code;
}

int cli_clean_resume(const cli_resume *resume) {
    static request asked;
    cli_training_restore(request_fields, &asked, &asked.training, resume);
    return clean(&asked);
}

static const request defaults = {.training = CLI_TRAINING_DEFAULTS, .folds = USUAL_FOLDS};

const cli_command cmd_clean =
    CLI_COMMAND("clean", "TRAIN", "find wrong labels in a data file", request, table, clean,
                "Find wrong labels in TRAIN, with the help of rows whose labels are right.\v"
                "Such rows (--val) help most where many labels are wrong. Exit status: 0 "
                "done, 1 a run failed or was stopped, 2 bad usage or input.",
                .defaults = &defaults, .check = check, .spreads = true);
