/* bilevel tune TRAIN: learns penalties and a linear model. */
#include "bilevel/tune.h"
#include "cli/outputs.h"
#include "cli/printing.h"
#include "cli/training_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 2 };

typedef struct request {
    cli_training training;
    const char *out, *penalties, *trace;
    blv_penalty_kind kind;
    const char *groups; /* file; NULL: none */
    bool refit;
} request;

/* ---- The command line ---- */

static const char *const kind_words[] = {"per-feature", "per-class", "one", "groups", NULL};
static const char *const kind_names[] = {"per feature", "per class", "one", "groups"};

static blv_error take_penalty(void *of, const char *word, blv_message *why) {
    static const char prefix[] = "groups:";
    request *asked = of;
    asked->groups = NULL;
    for (int k = BLV_PENALTY_PER_FEATURE; k <= BLV_PENALTY_ONE; k++)
        if (strcmp(word, kind_words[k]) == 0) {
            asked->kind = (blv_penalty_kind)k;
            return BLV_OK;
        }
    if (strncmp(word, prefix, sizeof prefix - 1) != 0 || !word[sizeof prefix - 1])
        return blv_explain(why, BLV_E_VALUE, "expected per-feature, per-class, groups:FILE or one");
    asked->kind = BLV_PENALTY_GROUPS;
    asked->groups = word + sizeof prefix - 1;
    cli_file_reads(asked->groups);
    return BLV_OK;
}

static const cli_argument table[] = {
    CLI_OPTION("out", WRITES, request, out, "MODEL.npz", "write the model, for 'bilevel predict'",
               .letter = 'o'),
    CLI_OPTION("penalties", WRITES, request, penalties, "FILE.csv", "write the penalties"),
    {.name = "penalty",
     .kind = CLI_ARG_CUSTOM,
     .value = "per-feature|per-class|groups:FILE|one",
     .help = "what each penalty is of (default per-feature); FILE has the group of each feature on "
             "a line",
     .take = take_penalty},
    CLI_OPTION("refit", FLAG, request, refit, NULL,
               "with --val or --val-share: in the end, train on those rows too"),
    CLI_OPTION("trace", WRITES, request, trace, "FILE",
               "write the trace while it runs, JSON lines"),
    CLI_INCLUDE(cli_training_table, request, training),
    CLI_END};

static blv_error check(void *of, blv_message *why) {
    request *asked = of;
    asked->training.task.all_rows = asked->trace != NULL;
    return cli_training_check(&asked->training, why);
}

/* ---- The record of the request ---- */

static const blv_field request_fields[] = {
    BLV_FIELD_RECORD("training", request, training, cli_training_fields),
    BLV_FIELD_AS("out", request, out, PATH, BLV_OUTPUT),
    BLV_FIELD_AS("penalties", request, penalties, PATH, BLV_OUTPUT),
    BLV_FIELD_AS("trace", request, trace, PATH, BLV_OUTPUT),
    BLV_FIELD_WORD("penalty", request, kind, kind_words),
    BLV_FIELD(request, groups, PATH),
    BLV_FIELD(request, refit, BOOL),
    {0}};

static void describe(const request *asked, blv_values *facts) {
    cli_facts_training(facts, &asked->training, 0.0);
    cli_expect(blv_values_add_text(facts, "penalty", kind_words[asked->kind]));
    if (asked->groups)
        cli_expect(blv_values_add_text(facts, "groups", asked->groups));
    cli_expect(blv_values_add_text(facts, "refit", asked->refit ? "on" : "off"));
}

/* ---- What was found ---- */

typedef struct finding {
    const request *asked;
    const blv_task_sets *sets;
    const blv_tune_result *result;
    int64_t run; /* in the store; 0: none */
} finding;

static void print_penalties(FILE *file, const void *context) {
    const blv_model *m = context;
    fputs("of,penalty\n", file);
    for (size_t k = 0; k < m->penalties; k++) {
        report_csv_text(file, "", m->penalty_names[k]);
        report_csv_number(file, ",", m->penalty[k]);
        fputc('\n', file);
    }
}

static void write_model(const blv_model *model, const char *path, cli_outputs *outputs) {
    blv_message why = {0};
    const char *place = cli_outputs_add(outputs, path);
    if (!place || blv_model_write(model, place, &why) == BLV_OK)
        return;
    cli_complain("%s: cannot be written: %s", path, why.text);
    outputs->code = CLI_REJECTED;
}

static int write_files(const finding *f) {
    const blv_model *model = f->result->model;
    cli_outputs outputs = {0};
    write_model(model, f->asked->out, &outputs);
    cli_outputs_print(&outputs, f->asked->penalties, print_penalties, model);
    return cli_outputs_finish(&outputs);
}

/* ---- Text ---- */

/* Real targets: the root of the mean squared error, and R2. */
static void add_model(report_table *shown, const char *name, const char *penalty, bool real,
                      const blv_tuned *m) {
    const blv_quality *const sets[] = {&m->held_out, &m->test};
    const char *cells[6] = {name, penalty};
    for (size_t i = 0; i < 2; i++) {
        const double loss = real ? sqrt(sets[i]->loss) : sets[i]->loss;
        cells[2 + 2 * i] = report_number(&shown->arena, real ? "%.5g" : "%.4f", loss);
        cells[3 + 2 * i] = report_number(&shown->arena, "%.4f", sets[i]->accuracy);
    }
    if (m->weights)
        report_table_row(shown, cells);
}

static void print_models(const finding *f) {
    const blv_tune_result *r = f->result;
    report_table shown = {.align = "llrrrr"};
    double low = INFINITY, high = 0.0;
    for (size_t k = 0; k < r->learned_count; k++) {
        low = fmin(low, r->learned[k]);
        high = fmax(high, r->learned[k]);
    }
    report_table_add(&shown, r->real ? "PENALTIES\t\tHELD-OUT RMSE\tR2\tTEST RMSE\tR2"
                                     : "PENALTIES\t\tHELD-OUT LOSS\tACCURACY\tTEST LOSS\tACCURACY");
    add_model(&shown, "hardly any", cli_print("%.0e", r->none), r->real, &r->with_none);
    add_model(&shown, "one for all", cli_print("%.4g", r->single), r->real, &r->with_single);
    add_model(&shown, kind_names[f->asked->kind], cli_print("%.1e .. %.1e", low, high), r->real,
              &r->with_many);
    cli_table_print(&shown, INDENT, stdout);
}

static void print_choice(const blv_tune_result *r) {
    if (*r->failure.text)
        printf("\nMany penalties could not be learned: %s.\n", cli_shown(r->failure.text));
    if (isnan(r->gain_error)) {
        printf("\nThe model has one penalty for all, %.4g.\n", r->single);
        return;
    }
    printf("\nGain over one penalty on held-out rows: %.4g, standard error %.2g. ", r->gain,
           r->gain_error);
    if (r->kept)
        printf("The %zu learned penalties are kept.\n", r->learned_count);
    else
        printf("That is no clear gain: the model has one penalty for all, %.4g.\n", r->single);
}

static void print_text(const finding *f) {
    const request *asked = f->asked;
    const blv_tune_result *r = f->result;
    printf("%s: %zu rows for training, ", asked->training.train, r->train_rows);
    if (r->val_rows > 0)
        printf("%zu for learning penalties\n\n", r->val_rows);
    else
        printf("%zu folds for learning penalties\n\n", r->folds);
    print_models(f);
    print_choice(r);
    if (r->with_many.weights)
        printf("Solver %s, %" PRIu64 " iterations, %.4g s.\n", r->solver, r->iterations,
               r->seconds);
    if (asked->refit && r->val_rows > 0)
        printf("All models were trained once more, on the validation rows too.\n");
    if (r->continued_in_f64)
        printf("f32 was not enough: all of it was computed in f64.\n");
    if (asked->out)
        printf("%s: the model\n", asked->out);
    if (asked->penalties)
        printf("%s: %zu penalties\n", asked->penalties, r->model->penalties);
    cli_print_stored(f->run);
}

/* ---- JSON ---- */

static const blv_field row_fields[] = {BLV_FIELD(blv_tune_result, train_rows, SIZE),
                                       BLV_FIELD(blv_tune_result, val_rows, SIZE),
                                       BLV_FIELD(blv_tune_result, folds, SIZE),
                                       BLV_FIELD(blv_tune_result, held_out_rows, SIZE),
                                       BLV_FIELD(blv_tune_result, real, BOOL),
                                       BLV_FIELD(blv_tune_result, continued_in_f64, BOOL),
                                       {0}};

static const blv_field gain_fields[] = {
    BLV_FIELD_AS("single_penalty", blv_tune_result, single, REAL, 0),
    BLV_FIELD(blv_tune_result, shrinkage, REAL),
    BLV_FIELD(blv_tune_result, gain, REAL),
    BLV_FIELD(blv_tune_result, gain_error, REAL),
    BLV_FIELD(blv_tune_result, kept, BOOL),
    {0}};

static const blv_field run_fields[] = {CLI_LEARNED_FIELDS(blv_tune_result), {0}};

static void set_quality(json_t *object, bool real, const char *set, const blv_quality *q) {
    cli_json_set(object, cli_print("%s_%s", set, real ? "rmse" : "loss"),
                 blv_json_real(real ? sqrt(q->loss) : q->loss));
    cli_json_set(object, cli_print("%s_%s", set, real ? "r2" : "accuracy"),
                 blv_json_real(q->accuracy));
}

static void set_model(json_t *models, const char *key, const char *name, bool real,
                      const blv_tuned *m) {
    json_t *object = m->weights ? json_object() : json_null();
    if (m->weights) {
        cli_json_set(object, "name", blv_json_string(name));
        set_quality(object, real, "held_out", &m->held_out);
        set_quality(object, real, "test", &m->test);
    }
    cli_json_set(models, key, object);
}

/* The penalties of the result, for the picture on the page: as many as can be told apart there. */
static json_t *penalty_list(const blv_model *m) {
    enum { MOST_SHOWN = 400 };
    json_t *list = json_object();
    for (size_t k = 0; k < m->penalties && m->penalties <= MOST_SHOWN; k++)
        json_object_set_new(list, m->penalty_names[k], json_real(m->penalty[k]));
    return list;
}

static json_t *describe_finding(const finding *f) {
    const blv_tune_result *r = f->result;
    const char *kind = kind_names[f->asked->kind], *one = "one for all";
    json_t *object = json_object(), *models = json_object();
    set_model(models, "none", "hardly any", r->real, &r->with_none);
    set_model(models, "one", one, r->real, &r->with_single);
    set_model(models, "many", kind, r->real, &r->with_many);
    set_model(models, "result", r->kept ? kind : one, r->real, r->chosen);
    cli_training_describe(object, &f->asked->training, f->sets);
    cli_json_add(object, row_fields, r);
    cli_json_set(object, "penalty", blv_json_string(kind));
    cli_json_set(object, "penalties", cli_json_whole(r->model->penalties));
    cli_json_add(object, gain_fields, r);
    cli_json_set(object, "failure", blv_json_string(*r->failure.text ? r->failure.text : NULL));
    cli_json_set(object, "penalty_of", penalty_list(r->model));
    cli_json_set(object, "models", models);
    cli_json_add(object, run_fields, r);
    cli_json_set(object, "run", f->run ? cli_json_whole((uint64_t)f->run) : json_null());
    cli_json_set(object, "out", blv_json_string(f->asked->out));
    cli_json_set(object, "penalties_file", blv_json_string(f->asked->penalties));
    return object;
}

/* ---- The command ---- */

static const char *message_of(const blv_tune_result *r) {
    if (*r->failure.text)
        return cli_print("one penalty for all, %.4g; many could not be learned: %s", r->single,
                         r->failure.text);
    return r->kept ? cli_print("%zu learned penalties are kept: gain in loss %.4g +- %.2g",
                               r->learned_count, r->gain, r->gain_error)
                   : cli_print("one penalty for all, %.4g", r->single);
}

/* Files first: what the store calls finished has its files. */
static int report(cli_task_hooks *task, finding *f, bool stopped) {
    const blv_tune_result *r = f->result;
    const cli_training *training = &f->asked->training;
    int code = write_files(f);
    if (code != CLI_DONE)
        return cli_task_fail(task, code, NULL);
    f->run = task->session.recorder.id;
    code = cli_task_report(
        task, describe_finding(f),
        (blv_run_info){.message = message_of(r),
                       .status = stopped ? BLV_STATUS_INTERRUPTED : BLV_STATUS_RUNNING,
                       .has_iterations = true,
                       .iterations = r->iterations,
                       .seconds = r->seconds,
                       .phi = r->certified ? r->certificate.phi : NAN,
                       .grad_norm = r->certified ? r->certificate.grad_norm : NAN});
    if (!training->task.json && !training->task.quiet)
        print_text(f);
    return code;
}

static int learn(const request *asked, const blv_task_sets *sets, const blv_feature_groups *groups,
                 cli_task_hooks *task) {
    const blv_tune_options options = {.size = sizeof options,
                                      CLI_TRAINING_OPTIONS(&asked->training),
                                      .penalty = asked->kind,
                                      .groups = groups,
                                      .refit = asked->refit};
    blv_tune_result *result = NULL;
    blv_message why = {0};
    blv_error error = blv_tune(sets, &options, &result, &task->hooks, &why);
    cli_progress_end();
    int code = result ? report(task, &(finding){asked, sets, result, 0}, error == BLV_E_STOPPED)
                      : cli_task_fail(task, cli_reject(error, why.text), why.text);
    blv_tune_result_destroy(result);
    return code;
}

static int tune(void *of) {
    request *asked = of;
    blv_feature_groups *groups = NULL;
    cli_task_hooks task = {.trace = asked->trace};
    blv_task_sets *sets = cli_training_read(&asked->training, NULL);
    if (asked->groups)
        cli_expect(blv_feature_groups_read(&groups, asked->groups, sets->features, &cli_why));
    cli_outputs_try(asked->out, asked->penalties);
    describe(asked, &task.facts);
    cli_task_begin(&task, "tune", request_fields, asked, &asked->training.task);
    int code = learn(asked, sets, groups, &task);
    cli_task_close(&task);
    blv_feature_groups_destroy(groups);
    blv_task_sets_destroy(sets);
    return code;
}

int cli_tune_resume(const cli_resume *resume) {
    static request asked = {.training.may_be_real = true};
    cli_training_restore(request_fields, &asked, &asked.training, resume);
    asked.training.task.all_rows = asked.training.task.all_rows || asked.trace;
    return tune(&asked);
}

static const request defaults = {.training = CLI_TRAINING_DEFAULTS, .training.may_be_real = true};

const cli_command cmd_tune =
    CLI_COMMAND("tune", "TRAIN", "learn a linear model and its penalties", request, table, tune,
                "Learn a linear model and its penalties, by how it does on rows that it has not "
                "seen: logistic regression for classes, ridge regression for numbers.\v"
                "Ctrl-C ends the run with the best penalties so far. Exit status: 0 done, 1 a run "
                "failed, 2 bad usage or input.",
                .defaults = &defaults, .check = check, .spreads = true);
