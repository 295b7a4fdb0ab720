#include "cli_learning.h"
#include "bilevel/registry.h"
#include "cli_json.h"
#include "cli_run_options.h"
#include "cli_task.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    KEY_VAL = CLI_KEY_INSTANCE,
    KEY_VAL_SHARE,
    KEY_TEST,
    KEY_LABEL,
    KEY_HEADER,
    KEY_LABELS,
    KEY_SCALING,
    KEY_DENSE,
    KEY_SPARSE,
    KEY_PRECISION,
    KEY_THREADS,
    KEY_SOLVER,
    KEY_SET,
    KEY_JSON,
    KEY_QUIET,
    KEY_PROGRESS,
    KEY_CHECKPOINT,
    KEY_NO_CERTIFICATE,
    MOST_THREADS = 4096
};

enum { GROUP_FILES = 1, GROUP_SOLVER, GROUP_STOP, GROUP_SAMPLES, GROUP_OUTPUT, GROUP_STORE };

static const char *const scaling_words[] = {[CLI_SCALING_AUTO] = "auto",
                                            [CLI_SCALING_UNIT] = "unit",
                                            [CLI_SCALING_STANDARD] = "standard",
                                            [CLI_SCALING_ROWS] = "rows",
                                            [CLI_SCALING_NONE] = "none"};
enum { SCALINGS = sizeof scaling_words / sizeof scaling_words[0] };

static const struct argp_option own_options[] = {
    {NULL, 0, NULL, 0, "The data:", GROUP_FILES},
    {"val", KEY_VAL, "FILE", 0, "validation rows, whose labels are known to be right", GROUP_FILES},
    {"val-share", KEY_VAL_SHARE, "P", 0, "without --val: share of TRAIN that is validated on",
     GROUP_FILES},
    {"test", KEY_TEST, "FILE", 0, "test rows: looked at once, at the end", GROUP_FILES},
    {"label", KEY_LABEL, "COLUMN", 0,
     "CSV: name or number (from 0) of the label column (default: the last)", GROUP_FILES},
    {"header", KEY_HEADER, "yes|no", 0, "CSV: whether the first line holds names", GROUP_FILES},
    {"labels", KEY_LABELS, "FILE", 0, "NPY, NPZ, IDX: file that holds the labels of TRAIN",
     GROUP_FILES},
    {"scaling", KEY_SCALING, "auto|unit|standard|rows|none", 0,
     "of the features by TRAIN: to [0, 1] (auto where rows are dense), to mean 0 and variance 1, "
     "rows to length 1 (auto where they are sparse)",
     GROUP_FILES},
    {"dense", KEY_DENSE, NULL, 0, "keep all values, zeros as well", GROUP_FILES},
    {"sparse", KEY_SPARSE, NULL, 0, "keep only values that are not zero", GROUP_FILES},
    {"precision", KEY_PRECISION, "f32|f64", 0, "precision of data and vectors (default f32)",
     GROUP_FILES},
    {"threads", KEY_THREADS, "N", 0, "threads to use (default 0: all processors)", GROUP_FILES},
    {NULL, 0, NULL, 0, "The solver:", GROUP_SOLVER},
    {"solver", KEY_SOLVER, "NAME", 0, "solver to use (default exact; 'bilevel solvers' lists them)",
     GROUP_SOLVER},
    {"set", KEY_SET, "KEY=VALUE", 0,
     "set a parameter of the solver ('bilevel solvers NAME' lists them) or an option of the run",
     GROUP_SOLVER},
    {NULL, 0, NULL, 0, "When to stop:", GROUP_STOP},
    {NULL, 0, NULL, 0, "Randomness:", GROUP_SAMPLES},
    {NULL, 0, NULL, 0, "What is shown and written:", GROUP_OUTPUT},
    {"json", KEY_JSON, NULL, 0, "print one JSON object on standard output", GROUP_OUTPUT},
    {"quiet", KEY_QUIET, NULL, 0, "no progress and no summary", GROUP_OUTPUT},
    {"progress", KEY_PROGRESS, "bar|lines|none", 0,
     "how progress is shown on standard error (default: a bar on a terminal)", GROUP_OUTPUT},
    {"no-certificate", KEY_NO_CERTIFICATE, NULL, 0,
     "leave the certificate out, which can take as long as the run where penalties are tiny",
     GROUP_OUTPUT},
    {"checkpoint", KEY_CHECKPOINT, "SECONDS", 0,
     "keep a checkpoint in the run store this often, so that 'bilevel resume' can go on",
     GROUP_STORE},
};
enum { OWN_OPTIONS = sizeof own_options / sizeof own_options[0] };

/* ---- Values ---- */

double cli_parse_share(const char *option, const char *text, const struct argp_state *state) {
    double share = 0.0;
    if (!cli_parse_real(text, &share) || !(share > 0.0 && share < 1.0))
        argp_error(state, "--%s '%s': expected a share above 0 and below 1", option, text);
    return share;
}

double cli_parse_positive(const char *option, const char *text, const struct argp_state *state) {
    double value = 0.0;
    if (!cli_parse_real(text, &value) || !(value > 0.0))
        argp_error(state, "--%s '%s': expected a number above 0", option, text);
    return value;
}

static cli_scaling parse_scaling(const char *word, const struct argp_state *state) {
    for (int i = 0; i < SCALINGS; i++)
        if (strcmp(word, scaling_words[i]) == 0)
            return (cli_scaling)i;
    argp_error(state, "--scaling '%s': expected auto, unit, standard, rows or none", word);
    return CLI_SCALING_AUTO;
}

static blv_precision parse_precision(const char *text, const struct argp_state *state) {
    if (strcmp(text, "f32") != 0 && strcmp(text, "f64") != 0)
        argp_error(state, "--precision '%s': expected f32 or f64", text);
    return strcmp(text, "f32") == 0 ? BLV_F32 : BLV_F64;
}

static const char *parse_header(const char *text, const struct argp_state *state) {
    if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        argp_error(state, "--header '%s': expected yes or no", text);
    return text;
}

static int parse_threads(const char *text, const struct argp_state *state) {
    uint64_t threads = 0;
    if (!cli_parse_whole(text, MOST_THREADS, &threads))
        argp_error(state, "--threads '%s': expected a whole number from 0 to %d", text,
                   MOST_THREADS);
    return (int)threads;
}

static void take_layout(cli_learning *asked, blv_layout layout, const struct argp_state *state) {
    if (asked->reading.layout != BLV_LAYOUT_AUTO)
        argp_error(state, "--dense or --sparse, one of the two and once");
    asked->reading.layout = layout;
}

/* ---- Parsing ---- */

static error_t parse_files(cli_learning *asked, int key, char *arg,
                           const struct argp_state *state) {
    switch (key) {
    case KEY_VAL:
        asked->val = arg;
        return 0;
    case KEY_VAL_SHARE:
        asked->val_share = cli_parse_share("val-share", arg, state);
        return 0;
    case KEY_TEST:
        asked->test = arg;
        return 0;
    case KEY_LABEL:
        asked->reading.label = arg;
        return 0;
    case KEY_HEADER:
        asked->reading.header = parse_header(arg, state);
        return 0;
    case KEY_LABELS:
        asked->reading.labels = arg;
        return 0;
    case KEY_SCALING:
        asked->scaling = parse_scaling(arg, state);
        return 0;
    case KEY_DENSE:
    case KEY_SPARSE:
        take_layout(asked, key == KEY_DENSE ? BLV_LAYOUT_DENSE : BLV_LAYOUT_SPARSE, state);
        return 0;
    case KEY_PRECISION:
        asked->reading.precision = parse_precision(arg, state);
        return 0;
    case KEY_THREADS:
        asked->threads = parse_threads(arg, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_run(cli_learning *asked, int key, char *arg, const struct argp_state *state) {
    switch (key) {
    case KEY_SOLVER:
        asked->solver_name = arg;
        return 0;
    case KEY_SET:
        cli_settings_split(&asked->settings, "set", arg, state);
        return 0;
    case KEY_JSON:
        asked->json = true;
        return 0;
    case KEY_QUIET:
        asked->quiet = true;
        return 0;
    case KEY_PROGRESS:
        asked->progress_word = arg;
        return 0;
    case KEY_NO_CERTIFICATE:
        asked->no_certificate = true;
        return 0;
    case KEY_CHECKPOINT:
        asked->checkpoint_seconds = cli_task_parse_checkpoint(arg, state);
        return 0;
    default:
        if (!cli_run_option_name(key))
            return ARGP_ERR_UNKNOWN;
        if (strcmp(cli_run_option_name(key), "every") == 0)
            asked->all_rows = true;
        cli_settings_add(&asked->settings, cli_run_option_name(key), arg);
        return 0;
    }
}

static void check_whole(cli_learning *asked, const struct argp_state *state) {
    if (!asked->train)
        argp_error(state, "no file is named. Usage: %s TRAIN [OPTION...]", state->name);
    if (asked->val && !isnan(asked->val_share))
        argp_error(state, "--val or --val-share, one of the two");
    if (asked->checkpoint_seconds > 0.0 && asked->store.off)
        argp_error(state, "--checkpoint needs the store that --no-store leaves out");
    if (!cli_progress_choose(asked->progress_word, asked->json || asked->quiet, &asked->progress))
        argp_error(state, "--progress '%s': expected bar, lines or none", asked->progress_word);
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    cli_learning *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->store;
        return 0;
    case ARGP_KEY_ARG:
        if (asked->train)
            argp_error(state, "'%s' is one argument too many", arg);
        asked->train = arg;
        return 0;
    case ARGP_KEY_END:
        check_whole(asked, state);
        return 0;
    default:
        if (parse_files(asked, key, arg, state) == 0)
            return 0;
        return parse_run(asked, key, arg, state);
    }
}

const struct argp *cli_learning_argp(void) {
    static struct argp_option options[OWN_OPTIONS + CLI_RUN_OPTIONS + 1];
    static const struct argp_child children[] = {
        {&cli_store_argp, 0, "The run store:", GROUP_STORE}, {0}};
    static const struct argp argp = {.options = options,
                                     .parser = parse,
                                     .children = children,
                                     .help_filter = cli_run_options_help};
    memcpy(options, own_options, sizeof own_options);
    cli_run_options_fill(options + OWN_OPTIONS,
                         (cli_run_groups){GROUP_STOP, GROUP_SAMPLES, GROUP_OUTPUT});
    return &argp;
}

/* ---- Life ---- */

cli_learning cli_learning_begin(void) {
    return (cli_learning){.val_share = NAN, .reading.precision = BLV_F32, .solver_name = "exact"};
}

int cli_learning_check(cli_learning *learning) {
    blv_message why = {0};
    learning->solver = blv_solver_find(NULL, learning->solver_name, &why);
    if (!learning->solver)
        return cli_refuse(BLV_E_NAME, why.text);
    for (size_t i = 0; i < learning->settings.count; i++) {
        const cli_setting *s = &learning->settings.items[i];
        if (strcmp(s->key, "seed") == 0 && !cli_parse_whole(s->value, INT64_MAX, &learning->seed)) {
            cli_complain("seed '%s': expected a whole number >= 0", s->value);
            return CLI_REFUSED;
        }
    }
    return CLI_DONE;
}

void cli_learning_end(cli_learning *learning) {
    cli_settings_free(&learning->settings);
}

json_t *cli_learning_files(const cli_learning *learning) {
    json_t *object = cli_json_object();
    cli_json_set(object, "train", cli_json_text(learning->train));
    cli_json_set(object, "val", cli_json_text(learning->val ? learning->val : "none"));
    cli_json_set(object, "test", cli_json_text(learning->test ? learning->test : "none"));
    cli_json_set(object, "scaling", cli_json_text(scaling_words[learning->scaling]));
    return object;
}
