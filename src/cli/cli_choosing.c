#include "cli_choosing.h"
#include "cli_dataset.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    KEY_TEST = CLI_KEY_FILES + 100,
    KEY_NET,
    KEY_STEPS,
    KEY_SCALING,
    KEY_SEED,
    KEY_THREADS,
    KEY_ITERS,
    KEY_FIRST,
    KEY_RIDGE,
    KEY_REWARD,
    KEY_CANDIDATES,
    KEY_JSON,
    KEY_QUIET
};
enum { MOST_THREADS = 256, MOST_COUNT = 1000000000, TRAINING_STEPS = 1500, TRAINING_BATCH = 64 };
static const double training_step = 0.05, training_momentum = 0.9, training_decay = 1e-4;

static const struct argp_option options[] = {
    {"test", KEY_TEST, "FILE", 0, "rows to test on (default: see below)", 0},
    {"net", KEY_NET, "NET", 0,
     "network that is trained on the chosen rows, as in docs/networks.md (default mlp:in-128-out)",
     0},
    {"steps", KEY_STEPS, "N", 0, "steps of its training, 64 rows each (default 1500)", 0},
    {"scaling", KEY_SCALING, "WORD", 0, "unit (default): features to [0, 1] by DATA; none", 0},
    {"iters", KEY_ITERS, "N", 0, "bilevel methods: iterations of a run (default 300; s-tfbo 900)",
     1},
    {"initial", KEY_FIRST, "V", 0,
     "bilevel methods: step_x times the candidates of bcsr (default 5); alpha0, beta0 and gamma0 "
     "of "
     "s-tfbo and d-tfbo (default 1)",
     1},
    {"ridge", KEY_RIDGE, "C", 0,
     "bilevel methods: weight of |y|^2 in training (default 0.001; continual: 0.03)", 1},
    {"reward", KEY_REWARD, "C", 0,
     "bilevel methods: what weight on the chosen rows is worth (default 0.3)", 1},
    {"candidates", KEY_CANDIDATES, "N", 0,
     "bilevel methods and facility-location: rows that are looked at (default: 10 times the size, "
     "at least 2000)",
     1},
    {"seed", KEY_SEED, "N", 0, "seed of everything that is drawn (default 0)", 2},
    {"threads", KEY_THREADS, "N", 0, "threads, 0: all processors (default)", 2},
    {"json", KEY_JSON, NULL, 0, "print the result as one JSON object", 2},
    {"quiet", KEY_QUIET, NULL, 0, "print nothing", 2},
    {0}};

uint64_t cli_parse_count(const char *option, const char *text, uint64_t least, uint64_t most,
                         const struct argp_state *state) {
    uint64_t count = 0;
    if (!cli_parse_whole(text, most, &count) || count < least)
        argp_error(state, "--%s '%s': expected a whole number from %" PRIu64 " to %" PRIu64, option,
                   text, least, most);
    return count;
}

static double cli_parse_positive(const char *option, const char *text,
                                 const struct argp_state *state) {
    double value = 0.0;
    if (!cli_parse_real(text, &value) || !(value > 0.0))
        argp_error(state, "--%s '%s': expected a number above 0", option, text);
    return value;
}

double cli_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static error_t parse_judge(cli_choosing *asked, int key, char *arg,
                           const struct argp_state *state) {
    switch (key) {
    case KEY_TEST:
        asked->test = arg;
        return 0;
    case KEY_NET:
        asked->net = arg;
        return 0;
    case KEY_STEPS:
        asked->steps = cli_parse_count("steps", arg, 1, MOST_COUNT, state);
        return 0;
    case KEY_SCALING:
        asked->unscaled = strcmp(arg, "none") == 0;
        if (!asked->unscaled && strcmp(arg, "unit") != 0)
            argp_error(state, "--scaling '%s': expected unit or none", arg);
        return 0;
    case KEY_THREADS:
        asked->threads = (int)cli_parse_count("threads", arg, 0, MOST_THREADS, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void check_whole(cli_choosing *asked, const struct argp_state *state) {
    if (!asked->data)
        argp_error(state, "no file is named. Usage: %s DATA [OPTION...]", state->name);
    if (asked->reading.layout == BLV_LAYOUT_SPARSE)
        argp_error(state, "--sparse: a network needs dense rows");
    if (asked->reading.real_targets)
        argp_error(state, "--real: rows are chosen by their classes");
    asked->reading.layout = BLV_LAYOUT_DENSE;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    cli_choosing *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->reading;
        return 0;
    case ARGP_KEY_ARG:
        if (asked->data)
            argp_error(state, "'%s' is one argument too many", arg);
        asked->data = arg;
        return 0;
    case KEY_ITERS:
        asked->iterations = cli_parse_count("iters", arg, 1, MOST_COUNT, state);
        return 0;
    case KEY_FIRST:
        asked->first = cli_parse_positive("initial", arg, state);
        return 0;
    case KEY_RIDGE:
        asked->ridge = cli_parse_positive("ridge", arg, state);
        return 0;
    case KEY_REWARD:
        asked->reward = cli_parse_positive("reward", arg, state);
        return 0;
    case KEY_CANDIDATES:
        asked->candidates = cli_parse_count("candidates", arg, 1, MOST_COUNT, state);
        return 0;
    case KEY_SEED:
        asked->seed = cli_parse_seed(arg, state);
        return 0;
    case KEY_JSON:
        asked->json = true;
        return 0;
    case KEY_QUIET:
        asked->quiet = true;
        return 0;
    case ARGP_KEY_END:
        check_whole(asked, state);
        return 0;
    default:
        return parse_judge(asked, key, arg, state);
    }
}

static const struct argp_child children[] = {{&cli_reading_argp, 0, NULL, 3}, {0}};
const struct argp cli_choosing_argp = {.options = options, .parser = parse, .children = children};

cli_choosing cli_choosing_begin(void) {
    return (cli_choosing){.reading.precision = BLV_F32};
}

const blv_selection_method *cli_parse_method(const char *name, const struct argp_state *state) {
    blv_message why = {0};
    const blv_selection_method *method = blv_selection_method_find(name, &why);
    if (!method)
        argp_error(state, "%s", why.text);
    return method;
}

/* ---- Rows ---- */

static int read_test(const cli_choosing *asked, blv_dataset **test) {
    blv_read_options reading = asked->reading;
    reading.labels = NULL;
    return asked->test ? cli_dataset_read(test, asked->test, &reading) : CLI_DONE;
}

int cli_choosing_load(const cli_choosing *asked, blv_dataset **rows, blv_dataset **test) {
    blv_message why = {0};
    int code = cli_dataset_read(rows, asked->data, &asked->reading);
    blv_error error =
        code == CLI_DONE ? blv_dataset_expect_classes(*rows, asked->data, &why) : BLV_OK;
    if (code == CLI_DONE && error == BLV_OK)
        code = read_test(asked, test);
    if (code != CLI_DONE)
        return code;
    blv_dataset *const all[] = {*rows, *test};
    const char *const names[] = {asked->data, asked->test};
    if (error == BLV_OK)
        error = blv_dataset_align(all, names, 2, &why);
    if (error == BLV_OK && !asked->unscaled)
        error = blv_dataset_scale(all, *test ? 2 : 1, BLV_SCALE_UNIT, &why);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

int cli_select_rows(const blv_dataset *rows, const size_t *index, size_t count,
                    blv_dataset **selected) {
    blv_message why = {0};
    blv_error error = blv_dataset_select(rows, index, count, selected, &why);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

blv_selection cli_choosing_selection(const cli_choosing *asked, const blv_selection_method *method,
                                     size_t size, uint64_t seed) {
    return (blv_selection){.size = sizeof(blv_selection),
                           .method = method,
                           .count = size,
                           .seed = seed,
                           .threads = asked->threads,
                           .iterations = asked->iterations,
                           .first = asked->first,
                           .ridge = asked->ridge,
                           .C = asked->reward,
                           .candidates = (size_t)asked->candidates};
}

/* ---- Networks ---- */

int cli_choosing_network(const cli_choosing *asked, const blv_dataset *rows, uint64_t seed,
                         blv_classifier **network) {
    const blv_dataset_view *view = blv_dataset_view_of(rows);
    const blv_classifier_options how = {.size = sizeof(blv_classifier_options),
                                        .net = asked->net,
                                        .precision = view->precision,
                                        .threads = asked->threads,
                                        .seed = seed};
    blv_message why = {0};
    blv_error error = blv_classifier_create(network, view->columns, view->classes, &how, &why);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}

blv_training cli_choosing_training(const cli_choosing *asked, uint64_t seed) {
    return (blv_training){.size = sizeof(blv_training),
                          .steps = asked->steps > 0 ? (size_t)asked->steps : TRAINING_STEPS,
                          .batch = TRAINING_BATCH,
                          .step = training_step,
                          .momentum = training_momentum,
                          .decay = training_decay,
                          .cosine = true,
                          .seed = seed};
}

int cli_choosing_judge(const cli_choosing *asked, const blv_dataset *rows, const double *weight,
                       const blv_dataset *test, uint64_t seed, double *accuracy) {
    blv_classifier *network = NULL;
    blv_message why = {0};
    blv_training training = cli_choosing_training(asked, seed);
    training.weight = weight;
    int code = cli_choosing_network(asked, rows, seed, &network);
    if (code != CLI_DONE)
        return code;
    blv_error error = blv_classifier_train(network, rows, &training, &why);
    if (error == BLV_OK)
        error = blv_classifier_accuracy(network, test, accuracy, &why);
    blv_classifier_destroy(network);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, why.text);
}
