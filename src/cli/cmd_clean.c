/* bilevel clean TRAIN: finds wrong labels. Parse, load, learn, judge, compare, write, report. */
#include "cli_clean.h"
#include "cli_commands.h"
#include "cli_describe.h"

#include <math.h>
#include <stdlib.h>

/* ---- Options ---- */

enum {
    KEY_OUT = 'o',
    KEY_CLEAN = CLI_KEY_FIRST,
    KEY_RELABEL,
    KEY_THRESHOLD,
    KEY_FLAG_SHARE,
    KEY_FALSE_ALARMS,
    KEY_TRUTH,
    KEY_FOLDS,
    KEY_RIDGE
};

enum { FEWEST_FOLDS = 2, MOST_FOLDS = 100 };
static const double default_val_share = 0.3, most_val_share = 0.5;

static const struct argp_option options[] = {
    {"out", KEY_OUT, "OUT.csv", 0,
     "write row, label, weight, verdict, probability and believed label of every row of TRAIN, the "
     "most suspicious first",
     0},
    {"write-clean", KEY_CLEAN, "FILE", 0,
     "write TRAIN without the suspect rows, in its format unless the name says otherwise", 0},
    {"relabel", KEY_RELABEL, NULL, 0,
     "keep the suspect rows in that file, with the label that is believed", 0},
    {"threshold", KEY_THRESHOLD, "P", 0,
     "call rows suspect whose label has a probability below P (default: found from the data)", 0},
    {"flag-share", KEY_FLAG_SHARE, "P", 0, "call this share of the rows suspect", 0},
    {"false-alarms", KEY_FALSE_ALARMS, "P", 0,
     "with --val: share of the suspects that may be false alarms (default: 0.04; 0.1 or 0.2 where "
     "that leaves no suspect)",
     0},
    {"truth", KEY_TRUTH, "COLUMN|FILE", 0,
     "the labels as they should be, to see how many were found: a column of TRAIN, or what "
     "'bilevel data corrupt --truth' wrote",
     0},
    {"folds", KEY_FOLDS, "N", 0, "parts that are held out in turn (default 5)", 0},
    {"ridge", KEY_RIDGE, "C", 0,
     "weight of |y|^2 in training (default: 0.001, less where that fits much better)", 0},
    {0}};

static uint64_t parse_folds(const char *text, const struct argp_state *state) {
    uint64_t folds = 0;
    if (!cli_parse_whole(text, MOST_FOLDS, &folds) || folds < FEWEST_FOLDS)
        argp_error(state, "--folds '%s': expected a whole number from %d to %d", text, FEWEST_FOLDS,
                   MOST_FOLDS);
    return folds;
}

static void check_whole(const cli_clean_request *asked, const struct argp_state *state) {
    int rules = !isnan(asked->threshold) + !isnan(asked->flag_share) + !isnan(asked->false_alarms);
    if (rules > 1)
        argp_error(state, "--threshold, --flag-share or --false-alarms, one of them");
    if (asked->relabel && !asked->clean)
        argp_error(state, "--relabel needs --write-clean FILE");
    if (asked->learning.val_share > most_val_share)
        argp_error(state, "--val-share: at most %g", most_val_share);
    if (!isnan(asked->false_alarms) && !asked->learning.val)
        argp_error(state, "--false-alarms needs --val: rows whose labels are right");
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    cli_clean_request *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->learning;
        return 0;
    case KEY_OUT:
        asked->out = arg;
        return 0;
    case KEY_CLEAN:
        asked->clean = arg;
        return 0;
    case KEY_RELABEL:
        asked->relabel = true;
        return 0;
    case KEY_THRESHOLD:
        asked->threshold = cli_parse_share("threshold", arg, state);
        return 0;
    case KEY_FLAG_SHARE:
        asked->flag_share = cli_parse_share("flag-share", arg, state);
        return 0;
    case KEY_FALSE_ALARMS:
        asked->false_alarms = cli_parse_share("false-alarms", arg, state);
        return 0;
    case KEY_TRUTH:
        asked->truth = arg;
        return 0;
    case KEY_FOLDS:
        asked->folds = parse_folds(arg, state);
        return 0;
    case KEY_RIDGE:
        asked->ridge = cli_parse_positive("ridge", arg, state);
        return 0;
    case ARGP_KEY_END:
        check_whole(asked, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- The command ---- */

static int expect_enough_rows(const cli_clean_request *asked, const cli_sets *sets) {
    const blv_dataset *set[] = {sets->train, sets->val};
    const char *path[] = {asked->learning.train, asked->learning.val};
    for (size_t i = 0; i < 2 && set[i]; i++) {
        size_t rows = blv_dataset_view_of(set[i])->rows;
        if (rows >= 2 * asked->folds)
            continue;
        cli_complain("%s: %zu rows are too few for %d folds; expected at least %d", path[i], rows,
                     (int)asked->folds, (int)(2 * asked->folds));
        return CLI_REFUSED;
    }
    return CLI_DONE;
}

static int report(const cli_clean_result *result) {
    int code = cli_clean_write(result);
    if (code != CLI_DONE)
        return code;
    if (result->request->learning.json)
        cli_json_print(cli_clean_object(result));
    else if (!result->request->learning.quiet)
        cli_clean_text(result);
    return CLI_DONE;
}

static int learn(const cli_clean_request *asked, const cli_sets *sets, const bool *wrong) {
    const cli_learning *learning = &asked->learning;
    double share = isnan(learning->val_share) ? default_val_share : learning->val_share;
    cli_cleaning cleaning = {.learning = learning,
                             .sets = sets,
                             .folds = (size_t)asked->folds,
                             .ridge = asked->ridge,
                             .val_share = share};
    cli_clean_result result = {0};
    cli_watch_begin(learning->progress);
    int code = cli_cleaning_learn(&cleaning);
    if (code == CLI_DONE) {
        cli_watch_say("comparing");
        result = cli_clean_judge(asked, &cleaning, wrong);
        code = cli_clean_compare(&result);
    }
    cli_watch_end();
    if (code == CLI_DONE)
        code = report(&result);
    cli_clean_result_free(&result);
    cli_cleaning_free(&cleaning);
    return code;
}

static int clean(cli_clean_request *asked) {
    const char *column = cli_clean_truth_is_file(asked) ? NULL : asked->truth;
    cli_sets sets = {0};
    bool *wrong = NULL;
    int code = cli_learning_check(&asked->learning);
    if (code == CLI_DONE)
        code = cli_sets_load(&asked->learning, column, &sets);
    if (code == CLI_DONE)
        code = expect_enough_rows(asked, &sets);
    if (code == CLI_DONE)
        code = cli_clean_expect_writable(asked, &sets);
    if (code == CLI_DONE && asked->truth) {
        wrong = cli_alloc(blv_dataset_view_of(sets.train)->rows, sizeof *wrong);
        code = cli_clean_find_truth(asked, &sets, wrong);
    }
    if (code == CLI_DONE)
        code = learn(asked, &sets, wrong);
    free(wrong);
    cli_sets_free(&sets);
    return code;
}

int cmd_clean(int argc, char **argv) {
    const struct argp_child children[] = {{cli_learning_argp(), 0, NULL, 1}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "TRAIN",
        .doc = "Find wrong labels in TRAIN, with the help of rows whose labels are right.\v"
               "Without --val a share of TRAIN stands in for them, wrong labels and all. Exit "
               "status: 0 done, 1 a run failed or was stopped, 2 bad usage or input.",
        .children = children};
    cli_clean_request asked = {.learning = cli_learning_begin(),
                               .threshold = NAN,
                               .flag_share = NAN,
                               .false_alarms = NAN,
                               .ridge = NAN,
                               .folds = 5};
    bool wanted = cli_parse(&argp, argc, argv, &asked);
    int code = wanted ? clean(&asked) : CLI_DONE;
    cli_learning_end(&asked.learning);
    return code;
}
