#include "cli/selection_options.h"
#include "cli/data_files.h"

enum { MOST_THREADS = 256, MOST_COUNT = 1000000000 };

typedef cli_selection_options options;

const cli_argument cli_selection_table[] = {
    CLI_POSITION(READS, options, data, "DATA", "no file is named"),
    CLI_OPTION("test", READS, options, test, "FILE", "rows to test on (default: see below)"),
    CLI_OPTION("net", TEXT, options, select.net, "NET",
               "network that is trained on the chosen rows, as in docs/networks.md (default "
               "mlp:in-128-out)"),
    CLI_OPTION("steps", WHOLE, options, select.steps, "N",
               "steps of its training, 64 rows each (default 1500)", .from = 1, .to = MOST_COUNT),
    CLI_OPTION("scaling", CHOICE, options, unscaled, "unit|none",
               "unit (default): features to [0, 1] by DATA; none"),
    CLI_HEADING(METHOD),
    CLI_OPTION("iters", WHOLE, options, select.selection.iterations, "N",
               "bilevel methods: iterations of a run (default 300; s-tfbo 900)", .from = 1,
               .to = MOST_COUNT),
    CLI_OPTION("initial", POSITIVE, options, select.selection.first, "V",
               "bilevel methods: step_x times the candidates of bcsr (default 5); alpha0, beta0 "
               "and gamma0 of s-tfbo and d-tfbo (default 1)"),
    CLI_OPTION("ridge", POSITIVE, options, select.selection.ridge, "C",
               "bilevel methods: weight of |y|^2 in training (default 0.001; continual: 0.03)"),
    CLI_OPTION("reward", POSITIVE, options, select.selection.C, "C",
               "bilevel methods: what weight on the chosen rows is worth (default 0.3)"),
    CLI_OPTION("candidates", WHOLE, options, select.selection.candidates, "N",
               "bilevel methods and facility-location: rows that are looked at (default: 10 times "
               "the size, at least 2000)",
               .from = 1, .to = MOST_COUNT),
    CLI_HEADING(RANDOMNESS),
    CLI_OPTION("seed", WHOLE, options, select.selection.seed, "N",
               "seed of everything that is drawn (default 0)"),
    CLI_HEADING(OUTPUT),
    CLI_OPTION("threads", WHOLE, options, select.selection.threads, "N",
               "threads, 0: all processors (default)", .to = MOST_THREADS),
    CLI_OPTION("json", FLAG, options, json, NULL, "print the result as one JSON object"),
    CLI_OPTION("quiet", FLAG, options, quiet, NULL, "print nothing"),
    CLI_HEADING(READING),
    CLI_INCLUDE(cli_reading_table, options, reading),
    CLI_END};

blv_error cli_selection_check(cli_selection_options *asked, blv_message *why) {
    if (asked->reading.layout == BLV_LAYOUT_SPARSE)
        return blv_explain(why, BLV_E_ARGUMENT, "--sparse: a network needs dense rows");
    if (asked->reading.real_targets)
        return blv_explain(why, BLV_E_ARGUMENT, "--real: rows are chosen by their classes");
    if (asked->reading.weight)
        return blv_explain(why, BLV_E_ARGUMENT, "--weight: the weights of rows are what is found");
    asked->reading.layout = BLV_LAYOUT_DENSE;
    return BLV_OK;
}

/* The kinds of the columns and warnings, for the eyes or for the JSON. */
static blv_error tell(cli_selection_options *asked, const blv_dataset *const *sets,
                      const char *const *names, size_t count, blv_message *why) {
    char kinds[300];
    json_t *warnings = asked->json ? json_array() : NULL;
    if (asked->quiet && !asked->json)
        return BLV_OK;
    BLV_CHECK(blv_dataset_kinds(sets[0], kinds, sizeof kinds, why));
    if (asked->json)
        asked->about = cli_json_put(json_object(), "kinds", blv_json_string(kinds), "warnings",
                                    warnings, NULL);
    else
        cli_print_kinds(asked->data, kinds);
    return cli_warn(sets, names, count, warnings, why);
}

/* Nothing is learned from the rows to test on. */
static blv_error hold_out(const cli_selection_options *asked, double share, blv_dataset **rows,
                          blv_dataset **test, blv_message *why) {
    const double sizes[] = {1.0 - share, share};
    blv_dataset *part[2];
    BLV_CHECK(blv_dataset_split(*rows, sizes, 2, true, asked->select.selection.seed, part, why));
    blv_dataset_release(*rows);
    *rows = part[0];
    *test = part[1];
    return blv_dataset_relearn(part, 2, why);
}

blv_error cli_selection_load(cli_selection_options *asked, double test_share, blv_dataset **rows,
                             blv_dataset **test, blv_message *why) {
    const char *const names[] = {asked->data, asked->test ? asked->test : "the part to test on"};
    blv_read_options reading = asked->reading;
    BLV_CHECK(blv_dataset_read(rows, asked->data, &reading, why));
    BLV_CHECK(blv_dataset_expect_classes(*rows, asked->data, why));
    if (asked->test)
        BLV_CHECK(blv_dataset_learn_fills(*rows, why));
    reading.labels = NULL;
    reading.recipe = blv_dataset_recipe(*rows);
    reading.targets = BLV_TARGETS_CLASSES;
    if (asked->test)
        BLV_CHECK(blv_dataset_read(test, asked->test, &reading, why));
    else if (test_share > 0.0)
        BLV_CHECK(hold_out(asked, test_share, rows, test, why));
    blv_dataset *const both[] = {*rows, *test};
    const size_t count = *test ? 2 : 1;
    BLV_CHECK(blv_dataset_align(both, names, count, why));
    BLV_CHECK(tell(asked, (const blv_dataset *const *)both, names, count, why));
    return asked->unscaled ? BLV_OK : blv_dataset_scale(both, count, BLV_SCALE_UNIT, why);
}
