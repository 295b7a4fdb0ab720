/* bilevel predict MODEL DATA: the answers of a model that `bilevel tune` has written. */
#include "cli_commands.h"
#include "cli_csv.h"
#include "cli_dataset.h"
#include "cli_describe.h"
#include "cli_model_file.h"
#include "cli_models.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
    blv_read_options reading;
    const char *model, *data, *out;
    bool all, json, quiet;
} request;

enum { KEY_OUT = 'o', KEY_ALL = CLI_KEY_FIRST, KEY_JSON, KEY_QUIET };

static const struct argp_option options[] = {
    {"out", KEY_OUT, "OUT.csv", 0, "write row, predicted class and its probability", 0},
    {"all", KEY_ALL, NULL, 0, "with --out: the probabilities of all classes", 0},
    {"json", KEY_JSON, NULL, 0, "print one JSON object on standard output", 0},
    {"quiet", KEY_QUIET, NULL, 0, "no summary", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state) {
    request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->reading;
        return 0;
    case KEY_OUT:
        asked->out = arg;
        return 0;
    case KEY_ALL:
        asked->all = true;
        return 0;
    case KEY_JSON:
        asked->json = true;
        return 0;
    case KEY_QUIET:
        asked->quiet = true;
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num >= 2)
            argp_error(state, "'%s' is one argument too many", arg);
        *(state->arg_num == 0 ? &asked->model : &asked->data) = arg;
        return 0;
    case ARGP_KEY_END:
        if (!asked->data)
            argp_error(state, "expected MODEL and DATA");
        if (asked->reading.real_targets)
            argp_error(state, "--real: a model has classes");
        if (asked->all && !asked->out)
            argp_error(state, "--all needs --out OUT.csv");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Data that fit the model ---- */

/* A CSV file as wide as the model has features has no labels, unless a column is named. */
static int read_data(const request *asked, const cli_model *model, blv_dataset **set) {
    blv_read_options reading = asked->reading;
    reading.columns = model->features;
    int code = cli_dataset_read(set, asked->data, &reading);
    if (code != CLI_DONE)
        return code;
    const blv_dataset_view *view = blv_dataset_view_of(*set);
    bool too_narrow = strcmp(view->format, "csv") == 0 && view->columns + 1 == model->features;
    if (!too_narrow || reading.label)
        return CLI_DONE;
    blv_dataset_release(*set);
    *set = NULL;
    reading.label = "none";
    return cli_dataset_read(set, asked->data, &reading);
}

static int expect_features(const request *asked, const cli_model *model,
                           const blv_dataset_view *view) {
    if (view->columns != model->features) {
        cli_complain("%s: %zu features; expected %zu as %s has them", asked->data, view->columns,
                     model->features, asked->model);
        return CLI_REFUSED;
    }
    for (size_t j = 0; view->feature_names && model->feature_names && j < model->features; j++) {
        if (strcmp(view->feature_names[j], model->feature_names[j]) == 0)
            continue;
        cli_complain("%s: feature %zu is '%s'; expected '%s' as %s has it", asked->data, j,
                     view->feature_names[j], model->feature_names[j], asked->model);
        return CLI_REFUSED;
    }
    return CLI_DONE;
}

/* The class of that name, or of the same number ("+1" and "1"); classes when there is none. */
static size_t find_class(const cli_model *model, const char *name) {
    double number, other;
    for (size_t k = 0; k < model->classes; k++)
        if (strcmp(model->class_names[k], name) == 0)
            return k;
    for (size_t k = 0; cli_parse_real(name, &number) && k < model->classes; k++)
        if (cli_parse_real(model->class_names[k], &other) && other == number)
            return k;
    return model->classes;
}

/* label[i]: the model's number of the class of row i. */
static int match_labels(const request *asked, const cli_model *model, const blv_dataset_view *view,
                        int32_t *label) {
    for (size_t i = 0; i < view->rows; i++) {
        const char *name = view->class_names[view->label[i]];
        size_t k = find_class(model, name);
        if (k == model->classes) {
            cli_complain("%s: row %zu has class '%s', which %s does not know", asked->data, i, name,
                         asked->model);
            return CLI_REFUSED;
        }
        label[i] = (int32_t)k;
    }
    return CLI_DONE;
}

/* ---- Answers ---- */

typedef struct answers {
    const request *asked;
    const cli_model *model;
    size_t rows;
    double *probability;
    int32_t *label; /* NULL: not known */
    double accuracy, loss;
} answers;

static void judge(answers *a) {
    size_t classes = a->model->classes;
    double right = 0.0, loss = 0.0;
    for (size_t i = 0; a->label && i < a->rows; i++) {
        const double *p = a->probability + i * classes;
        right += cli_believed(p, classes) == (size_t)a->label[i];
        loss -= log(fmax(p[a->label[i]], DBL_MIN));
    }
    a->accuracy = a->label ? right / (double)a->rows : (double)NAN;
    a->loss = a->label ? loss / (double)a->rows : (double)NAN;
}

static void print_head(FILE *file, const answers *a) {
    fputs("row,predicted,probability", file);
    if (a->label)
        fputs(",label", file);
    for (size_t k = 0; a->asked->all && k < a->model->classes; k++) {
        fputc(',', file);
        cli_csv_text(file, a->model->class_names[k]);
    }
    fputc('\n', file);
}

static bool print_answers(FILE *file, const void *context) {
    const answers *a = context;
    size_t classes = a->model->classes;
    print_head(file, a);
    for (size_t i = 0; i < a->rows; i++) {
        const double *p = a->probability + i * classes;
        size_t best = cli_believed(p, classes);
        fprintf(file, "%zu,", i);
        cli_csv_text(file, a->model->class_names[best]);
        fputc(',', file);
        cli_csv_number(file, p[best]);
        if (a->label) {
            fputc(',', file);
            cli_csv_text(file, a->model->class_names[a->label[i]]);
        }
        for (size_t k = 0; a->asked->all && k < classes; k++) {
            fputc(',', file);
            cli_csv_number(file, p[k]);
        }
        fputc('\n', file);
    }
    return true;
}

static int write_answers(const answers *a) {
    cli_outputs outputs = {0};
    int code = cli_outputs_print(&outputs, a->asked->out, print_answers, a);
    if (code == CLI_DONE)
        code = cli_outputs_commit(&outputs);
    cli_outputs_free(&outputs);
    return code;
}

/* ---- Report ---- */

static size_t *count_answers(const answers *a) {
    size_t classes = a->model->classes, *count = cli_alloc(classes, sizeof *count);
    for (size_t i = 0; i < a->rows; i++)
        count[cli_believed(a->probability + i * classes, classes)]++;
    return count;
}

static void report_text(const answers *a) {
    size_t *count = count_answers(a);
    printf("%s: %zu rows\n", a->asked->data, a->rows);
    if (a->label)
        printf("  accuracy  %.4f\n  loss      %.4f\n", a->accuracy, a->loss);
    for (size_t k = 0; k < a->model->classes; k++)
        printf("  predicted %s: %zu\n", a->model->class_names[k], count[k]);
    if (a->asked->out)
        printf("%s: row, predicted class, probability\n", a->asked->out);
    free(count);
}

static void report_json(const answers *a) {
    size_t *count = count_answers(a);
    json_t *object = cli_json_object(), *predicted = cli_json_object();
    cli_json_set(object, "model", cli_json_text(a->asked->model));
    cli_json_set(object, "data", cli_json_text(a->asked->data));
    cli_json_set(object, "rows", cli_json_whole(a->rows));
    cli_json_set(object, "accuracy", cli_json_real(a->accuracy));
    cli_json_set(object, "loss", cli_json_real(a->loss));
    for (size_t k = 0; k < a->model->classes; k++)
        cli_json_set(predicted, a->model->class_names[k], cli_json_whole(count[k]));
    cli_json_set(object, "predicted", predicted);
    cli_json_set(object, "out", cli_json_text(a->asked->out));
    cli_json_print(object);
    free(count);
}

/* ---- The command ---- */

static int answer(const request *asked, const cli_model *model, blv_dataset *set) {
    const blv_dataset_view *view = blv_dataset_view_of(set);
    answers a = {.asked = asked,
                 .model = model,
                 .rows = view->rows,
                 .probability = cli_alloc(view->rows * model->classes, sizeof(double)),
                 .label = view->label ? cli_alloc(view->rows, sizeof(int32_t)) : NULL};
    int code = a.label ? match_labels(asked, model, view, a.label) : CLI_DONE;
    if (code == CLI_DONE)
        code = cli_model_answer(model, set, a.probability);
    if (code == CLI_DONE)
        judge(&a);
    if (code == CLI_DONE && asked->out)
        code = write_answers(&a);
    if (code == CLI_DONE && asked->json)
        report_json(&a);
    else if (code == CLI_DONE && !asked->quiet)
        report_text(&a);
    free(a.probability);
    free(a.label);
    return code;
}

int cmd_predict(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_reading_argp, 0, "Reading:", 1}, {0}};
    const struct argp argp = {.options = options,
                              .parser = parse,
                              .args_doc = "MODEL DATA",
                              .doc = "Predict the classes of DATA with a model of 'bilevel tune'.\v"
                                     "Where DATA has labels, accuracy and loss are told.",
                              .children = children};
    request asked = {0};
    if (!cli_parse(&argp, argc, argv, &asked))
        return CLI_DONE;
    cli_model model = {0};
    blv_dataset *set = NULL;
    int code = cli_model_read(&model, asked.model);
    if (code == CLI_DONE)
        code = read_data(&asked, &model, &set);
    if (code == CLI_DONE)
        code = expect_features(&asked, &model, blv_dataset_view_of(set));
    if (code == CLI_DONE)
        code = answer(&asked, &model, set);
    blv_dataset_release(set);
    cli_model_free(&model);
    return code;
}
