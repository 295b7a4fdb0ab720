/* bilevel tune TRAIN: learns penalties and a linear model. Parse, load, learn, write, report. */
#include "cli_commands.h"
#include "cli_describe.h"
#include "cli_tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Options ---- */

enum {
    KEY_OUT = 'o',
    KEY_PENALTY = CLI_KEY_FIRST,
    KEY_PENALTIES,
    KEY_STOP_SHARE,
    KEY_PATIENCE,
    KEY_RANGE,
    KEY_REFIT,
    KEY_TRACE
};

enum { MOST_PATIENCE = 1000000, FEWEST_ROWS = 8 };
static const double default_val_share = 0.2;

static const struct argp_option options[] = {
    {"out", KEY_OUT, "MODEL.npz", 0, "write the model, for 'bilevel predict'", 0},
    {"penalties", KEY_PENALTIES, "FILE.csv", 0, "write the penalties", 0},
    {"penalty", KEY_PENALTY, "per-feature|per-class|groups:FILE|one", 0,
     "what each penalty is of (default per-feature); FILE has the group of each feature on a line",
     0},
    {"stop-share", KEY_STOP_SHARE, "P", 0,
     "share of the validation rows that decide when to stop (default 0.25)", 0},
    {"patience", KEY_PATIENCE, "N", 0,
     "looks without progress on them that end the run (default 2)", 0},
    {"range", KEY_RANGE, "R", 0,
     "penalties from the first one divided by exp(R) to that times exp(R) (default 7)", 0},
    {"refit", KEY_REFIT, NULL, 0, "in the end, train on the validation rows too", 0},
    {"trace", KEY_TRACE, "FILE", 0, "write the trace while it runs, JSON lines", 0},
    {0}};

static void take_penalty(cli_tune_request *asked, const char *word,
                         const struct argp_state *state) {
    static const char prefix[] = "groups:";
    asked->groups = NULL;
    if (strcmp(word, "per-feature") == 0) {
        asked->kind = BLV_PENALTY_PER_FEATURE;
    } else if (strcmp(word, "per-class") == 0) {
        asked->kind = BLV_PENALTY_PER_CLASS;
    } else if (strcmp(word, "one") == 0) {
        asked->kind = BLV_PENALTY_ONE;
    } else if (strncmp(word, prefix, sizeof prefix - 1) == 0 && word[sizeof prefix - 1]) {
        asked->kind = BLV_PENALTY_GROUPS;
        asked->groups = word + sizeof prefix - 1;
    } else {
        argp_error(state, "--penalty '%s': expected per-feature, per-class, groups:FILE or one",
                   word);
    }
}

static uint64_t parse_patience(const char *text, const struct argp_state *state) {
    uint64_t patience = 0;
    if (!cli_parse_whole(text, MOST_PATIENCE, &patience) || patience == 0)
        argp_error(state, "--patience '%s': expected a whole number from 1 to %d", text,
                   MOST_PATIENCE);
    return patience;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    cli_tune_request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->learning;
        return 0;
    case KEY_OUT:
        asked->out = arg;
        return 0;
    case KEY_PENALTIES:
        asked->penalties = arg;
        return 0;
    case KEY_PENALTY:
        take_penalty(asked, arg, state);
        return 0;
    case KEY_STOP_SHARE:
        asked->stop_share = cli_parse_share("stop-share", arg, state);
        return 0;
    case KEY_PATIENCE:
        asked->patience = parse_patience(arg, state);
        return 0;
    case KEY_RANGE:
        asked->range = cli_parse_positive("range", arg, state);
        return 0;
    case KEY_REFIT:
        asked->refit = true;
        return 0;
    case KEY_TRACE:
        asked->trace = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- The command ---- */

/* Without a file the validation rows are a share of TRAIN, each class alike. */
static int take_val(const cli_learning *learning, cli_sets *sets) {
    if (sets->val)
        return CLI_DONE;
    double share = isnan(learning->val_share) ? default_val_share : learning->val_share;
    double sizes[] = {1.0 - share, share};
    blv_dataset *parts[2] = {NULL, NULL};
    blv_message why = {0};
    blv_error error = blv_dataset_split(sets->train, sizes, 2, true, learning->seed, parts, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    blv_dataset_release(sets->train);
    sets->train = parts[0];
    sets->val = parts[1];
    return CLI_DONE;
}

static int expect_enough_rows(const cli_learning *learning, const cli_sets *sets) {
    size_t rows = blv_dataset_view_of(sets->val)->rows;
    if (rows >= FEWEST_ROWS)
        return CLI_DONE;
    cli_complain("%s: %zu validation rows are too few; expected at least %d",
                 learning->val ? learning->val : learning->train, rows, FEWEST_ROWS);
    return CLI_REFUSED;
}

static int store(cli_work *work, const cli_tune_result *result) {
    const cli_tuning *t = result->tuning;
    char *message = cli_tune_message(result);
    json_t *object = cli_tune_object(result);
    int code =
        cli_work_end(work, CLI_DONE,
                     &(cli_work_summary){.message = message,
                                         .partial = cli_watch_signalled(),
                                         .iterations = t->iterations,
                                         .seconds = t->seconds,
                                         .certificate = t->certified ? &t->certificate : NULL,
                                         .result = object});
    json_decref(object);
    free(message);
    return code;
}

static int report(cli_work *work, const cli_tune_result *result) {
    int code = cli_tune_write(result);
    if (code != CLI_DONE)
        return code;
    code = store(work, result); /* what the store calls finished has its files */
    if (result->request->learning.json)
        cli_json_print(cli_tune_object(result));
    else if (!result->request->learning.quiet)
        cli_tune_text(result);
    return code;
}

static int learn(const cli_tune_request *asked, cli_sets *sets, const cli_penalty_names *names) {
    cli_work *work = asked->learning.work;
    cli_tuning tuning = {.learning = &asked->learning,
                         .sets = sets,
                         .kind = asked->kind,
                         .group = names->group,
                         .penalties_asked = names->count,
                         .stop_share = asked->stop_share,
                         .range = asked->range,
                         .patience = asked->patience,
                         .refit = asked->refit,
                         .trace = asked->trace};
    cli_watch_begin(asked->learning.progress);
    int code = cli_tuning_learn(&tuning);
    cli_watch_end();
    cli_tune_result result = {asked, &tuning, names};
    if (code == CLI_DONE)
        code = report(work, &result);
    if (code != CLI_DONE)
        cli_work_end(
            work, code,
            &(cli_work_summary){.iterations = tuning.iterations, .seconds = tuning.seconds});
    cli_tuning_free(&tuning);
    return code;
}

/* What the stored run is known by, beside solver and options. */
static json_t *describe(const cli_tune_request *asked) {
    static const char *const kinds[] = {[BLV_PENALTY_PER_FEATURE] = "per-feature",
                                        [BLV_PENALTY_PER_CLASS] = "per-class",
                                        [BLV_PENALTY_ONE] = "one",
                                        [BLV_PENALTY_GROUPS] = "groups"};
    json_t *object = cli_learning_files(&asked->learning);
    if (!asked->learning.val)
        cli_json_set(object, "val_share",
                     cli_json_real(isnan(asked->learning.val_share) ? default_val_share
                                                                    : asked->learning.val_share));
    cli_json_set(object, "penalty", cli_json_text(kinds[asked->kind]));
    if (asked->groups)
        cli_json_set(object, "groups", cli_json_text(asked->groups));
    cli_json_set(object, "stop_share", cli_json_real(asked->stop_share));
    cli_json_set(object, "patience", cli_json_whole(asked->patience));
    cli_json_set(object, "range", cli_json_real(asked->range));
    cli_json_set(object, "refit", cli_json_text(asked->refit ? "on" : "off"));
    return object;
}

static int tune(cli_tune_request *asked, cli_work *work) {
    cli_sets sets = {0};
    cli_penalty_names names = {0};
    int code = cli_learning_check(&asked->learning);
    if (code == CLI_DONE)
        code = cli_sets_load(&asked->learning, NULL, &sets);
    if (code == CLI_DONE)
        code = take_val(&asked->learning, &sets);
    if (code == CLI_DONE)
        code = expect_enough_rows(&asked->learning, &sets);
    if (code == CLI_DONE)
        code = cli_penalty_names_find(asked, &sets, &names);
    if (code == CLI_DONE)
        code = cli_tune_expect_writable(asked);
    if (code == CLI_DONE)
        code = cli_work_open(work, &asked->learning);
    if (code == CLI_DONE) {
        work->fingerprint = cli_sets_fingerprint(&sets);
        work->problem_parameters = describe(asked);
        code = learn(asked, &sets, &names);
    }
    cli_penalty_names_free(&names);
    cli_sets_free(&sets);
    return code;
}

static int tune_as(int argc, char **argv, const cli_again *again) {
    const struct argp_child children[] = {{cli_learning_argp(), 0, NULL, 1}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "TRAIN",
        .doc = "Learn a linear classifier and its penalties, by how it does on validation rows.\v"
               "Ctrl-C ends the run with the best penalties so far. Exit status: 0 done, 1 a run "
               "failed, 2 bad usage or input.",
        .children = children};
    cli_tune_request asked = {.learning = cli_learning_begin(),
                              .kind = BLV_PENALTY_PER_FEATURE,
                              .stop_share = 0.25,
                              .range = 7.0,
                              .patience = 2};
    cli_work work = {.kind = "tune",
                     .problem = "l2reg",
                     .command = cli_record_command(argc, argv),
                     .again = again};
    bool wanted = cli_parse(&argp, argc, argv, &asked);
    cli_work_take_over(again, &asked.learning);
    asked.learning.all_rows = asked.learning.all_rows || asked.trace;
    int code = wanted ? tune(&asked, &work) : CLI_DONE;
    cli_work_close(&work);
    cli_learning_end(&asked.learning);
    return code;
}

int cmd_tune(int argc, char **argv) {
    return tune_as(argc, argv, NULL);
}

int cli_tune_again(int argc, char **argv, const cli_again *again) {
    return tune_as(argc, argv, again);
}
