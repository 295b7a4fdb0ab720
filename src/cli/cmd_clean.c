/* bilevel clean TRAIN: finds wrong labels. Parse, load, learn, judge, compare, write, report. */
#include "bilevel/certificate.h"
#include "cli_clean.h"
#include "cli_commands.h"
#include "cli_describe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    KEY_RIDGE,
    KEY_IMAGE
};

enum { FEWEST_FOLDS = 2, MOST_FOLDS = 100, MOST_PIXELS = 4096 };
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
    {"image", KEY_IMAGE, "auto|none|WIDTHxHEIGHT[x3]", 0,
     "what picture a row is, for the page of 'bilevel report' (default auto)", 0},
    {0}};

static uint64_t parse_folds(const char *text, const struct argp_state *state) {
    uint64_t folds = 0;
    if (!cli_parse_whole(text, MOST_FOLDS, &folds) || folds < FEWEST_FOLDS)
        argp_error(state, "--folds '%s': expected a whole number from %d to %d", text, FEWEST_FOLDS,
                   MOST_FOLDS);
    return folds;
}

/* Pixel by pixel, line after line. */
static cli_image parse_image(const char *text, const struct argp_state *state) {
    cli_image image = {.is_given = true, .channels = 1};
    int end = 0;
    if (strcmp(text, "auto") == 0)
        return (cli_image){0};
    if (strcmp(text, "none") == 0)
        return image;
    bool well = sscanf(text, "%4zux%4zu%n", &image.width, &image.height, &end) == 2 &&
                image.width - 1 < MOST_PIXELS && image.height - 1 < MOST_PIXELS;
    if (well && strcmp(text + end, "x3") == 0)
        image.channels = 3;
    else if (!well || text[end])
        argp_error(state, "--image '%s': expected auto, none, or a size such as 28x28 or 32x32x3",
                   text);
    return image;
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
    case KEY_IMAGE:
        asked->image = parse_image(arg, state);
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

static int expect_image_fits(const cli_clean_request *asked, const cli_sets *sets) {
    const cli_image *image = &asked->image;
    size_t values = image->width * image->height * image->channels;
    if (values == 0 || values == sets->features)
        return CLI_DONE;
    cli_complain("%s: rows of %zu features are no images of %zux%zu; expected %zu",
                 asked->learning.train, sets->features, image->width, image->height, values);
    return CLI_REFUSED;
}

static void attach_sheet(cli_work *work, const cli_clean_result *result) {
    char *sheet = work->record.id ? cli_clean_sheet(result) : NULL;
    if (sheet)
        cli_record_expect(&work->record,
                          BLV_OK == blv_store_attach(work->record.store, work->record.id,
                                                     "suspects.html", sheet, strlen(sheet)),
                          "the images were not stored");
    free(sheet);
}

static int store(cli_work *work, const cli_clean_result *result) {
    blv_certificate certificate = cli_clean_certificate(result);
    char *message = cli_clean_message(result);
    json_t *object = cli_clean_object(result);
    attach_sheet(work, result);
    int code = cli_work_end(work, CLI_DONE,
                            &(cli_work_summary){.message = message,
                                                .iterations = result->cleaning->iterations,
                                                .seconds = result->cleaning->seconds,
                                                .certificate = &certificate,
                                                .result = object});
    json_decref(object);
    free(message);
    return code;
}

static int report(cli_work *work, const cli_clean_result *result) {
    int code = cli_clean_write(result);
    if (code != CLI_DONE)
        return code;
    code = store(work, result); /* what the store calls finished has its files */
    if (result->request->learning.json)
        cli_json_print(cli_clean_object(result));
    else if (!result->request->learning.quiet)
        cli_clean_text(result);
    return code;
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
        code = report(learning->work, &result);
    if (code != CLI_DONE)
        cli_work_end(
            learning->work, code,
            &(cli_work_summary){.iterations = cleaning.iterations, .seconds = cleaning.seconds});
    cli_clean_result_free(&result);
    cli_cleaning_free(&cleaning);
    return code;
}

static json_t *number_or(double number, const char *word) {
    return isnan(number) ? cli_json_text(word) : cli_json_real(number);
}

/* What the stored run is known by, beside solver and options. */
static json_t *describe(const cli_clean_request *asked) {
    json_t *object = cli_learning_files(&asked->learning);
    if (!asked->learning.val)
        cli_json_set(object, "val_share",
                     cli_json_real(isnan(asked->learning.val_share) ? default_val_share
                                                                    : asked->learning.val_share));
    cli_json_set(object, "folds", cli_json_whole(asked->folds));
    cli_json_set(object, "ridge", number_or(asked->ridge, "auto"));
    cli_json_set(object, "threshold", number_or(asked->threshold, "auto"));
    cli_json_set(object, "flag_share", number_or(asked->flag_share, "none"));
    cli_json_set(object, "false_alarms", number_or(asked->false_alarms, "auto"));
    return object;
}

static int clean(cli_clean_request *asked, cli_work *work) {
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
        code = expect_image_fits(asked, &sets);
    if (code == CLI_DONE)
        code = cli_work_open(work, &asked->learning);
    if (code == CLI_DONE) {
        work->fingerprint = cli_sets_fingerprint(&sets);
        work->problem_parameters = describe(asked);
        code = learn(asked, &sets, wrong);
    }
    free(wrong);
    cli_sets_free(&sets);
    return code;
}

static int clean_as(int argc, char **argv, const cli_again *again) {
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
    cli_work work = {.kind = "clean",
                     .problem = "hyperclean",
                     .command = cli_record_command(argc, argv),
                     .again = again};
    bool wanted = cli_parse(&argp, argc, argv, &asked);
    cli_work_take_over(again, &asked.learning);
    int code = wanted ? clean(&asked, &work) : CLI_DONE;
    cli_work_close(&work);
    cli_learning_end(&asked.learning);
    return code;
}

int cmd_clean(int argc, char **argv) {
    return clean_as(argc, argv, NULL);
}

int cli_clean_again(int argc, char **argv, const cli_again *again) {
    return clean_as(argc, argv, again);
}
