#include "cli/training_options.h"
#include "bilevel/registry.h"
#include "cli/data_files.h"
#include "cli/rank_start.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- The command line ---- */

enum { MOST_THREADS = 4096 };

const cli_argument cli_training_table[] = {
    CLI_POSITION(READS, cli_training, train, "TRAIN", "no file is named"),
    CLI_HEADING(DATA),
    CLI_OPTION("val", READS, cli_training, val, "FILE",
               "validation rows, whose labels are known to be right"),
    CLI_OPTION("val-share", SHARE, cli_training, val_share, "P",
               "without --val: share of TRAIN that is validated on"),
    CLI_OPTION("test", READS, cli_training, test, "FILE", "test rows: looked at once, at the end"),
    CLI_INCLUDE(cli_reading_table, cli_training, reading),
    CLI_OPTION("scaling", CHOICE, cli_training, scaling, "auto|unit|standard|rows|none",
               "of the features by TRAIN: to [0, 1] (clean: auto where rows are dense), to mean 0 "
               "and variance 1 (tune: auto where they are), rows to length 1 (auto where they are "
               "sparse, but for tables of numbers and categories)"),
    CLI_OPTION("threads", WHOLE, cli_training, threads, "N",
               "threads to use (default 0: all processors)", .to = MOST_THREADS),
    CLI_OPTION("device", CHOICE, cli_training, device, CLI_DEVICE_WORDS, CLI_DEVICE_HELP),
    CLI_HEADING(SOLVER),
    CLI_OPTION("solver", TEXT, cli_training, solver_name, "NAME",
               "solver to use (default exact; 'bilevel solvers' lists them)"),
    CLI_OPTION("set", SETTING, cli_training, settings, "KEY=VALUE",
               "set a parameter of the solver ('bilevel solvers NAME' lists them) or an option of "
               "the run"),
    CLI_INCLUDE(cli_run_option_table, cli_training, settings),
    CLI_HEADING(OUTPUT),
    CLI_OPTION("no-certificate", FLAG, cli_training, no_certificate, NULL,
               "leave the certificate out, which can take as long as the run where penalties are "
               "tiny"),
    CLI_INCLUDE(cli_task_table, cli_training, task),
    CLI_END};

static blv_error check_settings(cli_training *t, blv_message *why) {
    for (size_t i = 0; i < t->settings.count; i++) {
        const blv_setting *s = &t->settings.items[i];
        if (strcmp(s->key, "seed") == 0 && !cli_parse_whole(s->value, INT64_MAX, &t->seed))
            return blv_explain(why, BLV_E_VALUE, "seed '%s': expected a whole number >= 0",
                               s->value);
    }
    return BLV_OK;
}

blv_error cli_training_check(cli_training *t, blv_message *why) {
    if (t->val && t->val_share > 0.0)
        return blv_explain(why, BLV_E_ARGUMENT, "--val or --val-share, one of the two");
    if (t->reading.real_targets && !t->may_be_real)
        return blv_explain(why, BLV_E_ARGUMENT, "--real: labels name classes here");
    t->reading.ranks = cli_ranks();
    if (t->threads == 0)
        t->threads = cli_rank_threads();
    BLV_CHECK(cli_task_check(&t->task, &t->settings, why));
    t->solver = blv_solver_find(NULL, t->solver_name ? t->solver_name : "exact", why);
    return t->solver ? check_settings(t, why) : BLV_E_NAME;
}

/* ---- The record ---- */

static const char *const layout_words[] = {"auto", "dense", "sparse", NULL};
static const char *const missing_words[] = {"impute", "error", "drop", NULL};
static const char *const targets_words[] = {"auto", "classes", "real", NULL};
static const char *const scaling_words[] = {"auto", "unit", "standard", "rows", "none", NULL};

const blv_field cli_training_fields[] = {
    BLV_FIELD(cli_training, train, PATH),
    BLV_FIELD(cli_training, val, PATH),
    BLV_FIELD(cli_training, test, PATH),
    BLV_FIELD(cli_training, val_share, REAL),
    BLV_FIELD_AS("label", cli_training, reading.label, TEXT, BLV_ANY_BYTES),
    BLV_FIELD_AS("header", cli_training, reading.header, TEXT, 0),
    BLV_FIELD_AS("columns", cli_training, reading.kinds, TEXT, BLV_ANY_BYTES),
    BLV_FIELD_AS("weight", cli_training, reading.weight, TEXT, 0),
    BLV_FIELD_WORD("missing", cli_training, reading.missing, missing_words),
    BLV_FIELD_WORD("targets", cli_training, reading.targets, targets_words),
    BLV_FIELD_AS("labels", cli_training, reading.labels, PATH, BLV_IF_FILE),
    BLV_FIELD_WORD("layout", cli_training, reading.layout, layout_words),
    BLV_FIELD_WORD("precision", cli_training, reading.precision, blv_precision_words),
    BLV_FIELD_AS("max_memory", cli_training, reading.max_memory, WHOLE, 0),
    BLV_FIELD_AS("real", cli_training, reading.real_targets, BOOL, 0),
    BLV_FIELD_WORD("scaling", cli_training, scaling, scaling_words),
    BLV_FIELD(cli_training, threads, INT),
    BLV_FIELD_WORD("device", cli_training, device, cli_device_words),
    BLV_FIELD_AS("solver", cli_training, solver_name, TEXT, 0),
    BLV_FIELD_RECORDS("settings", cli_training, settings.items, settings.count, cli_setting_fields),
    BLV_FIELD(cli_training, no_certificate, BOOL),
    BLV_FIELD_AS("checkpoint", cli_training, task.checkpoint_seconds, REAL, 0),
    {0}};

void cli_training_restore(const blv_field *table, void *request, cli_training *t,
                          const cli_resume *resume) {
    const char *text = resume->task.resumed->request ? resume->task.resumed->request : "{}";
    cli_expect(blv_record_parse(table, request, text, &cli_why));
    if (!t->train)
        cli_die("an earlier version of the program stored run %" PRId64
                " and kept its command line alone: run that command again",
                resume->task.resumed->id);
    t->reading.size = sizeof t->reading;
    cli_resume_files(table, request, resume);
    cli_task_resume(&t->task, resume);
    cli_expect(cli_training_check(t, &cli_why));
}

/* ---- The data ---- */

static void print_sets(const blv_task_sets *sets) {
    cli_print_kinds(sets->train_name, sets->kinds);
    for (size_t i = 0; sets->warnings[i]; i++)
        cli_print_warning(NULL, sets->warnings[i]);
}

blv_task_sets *cli_training_read(const cli_training *t, const char *truth) {
    const blv_task_files files = {.size = sizeof files,
                                  .train = t->train,
                                  .val = t->val,
                                  .test = t->test,
                                  .reading = &t->reading,
                                  .truth = truth,
                                  .scaling = t->scaling,
                                  .val_share = t->val_share,
                                  .seed = t->seed,
                                  .for_tune = t->may_be_real};
    blv_task_sets *sets = NULL;
    cli_expect(blv_task_sets_read(&sets, &files, &cli_why));
    if (!t->task.json && !t->task.quiet)
        print_sets(sets);
    return sets;
}

/* ---- What is recorded and printed ---- */

void cli_facts_training(blv_values *facts, const cli_training *t, double usual_val_share) {
    cli_expect(blv_values_add_text(facts, "train", t->train));
    cli_expect(blv_values_add_text(facts, "val", t->val ? t->val : "none"));
    cli_expect(blv_values_add_text(facts, "test", t->test ? t->test : "none"));
    cli_expect(blv_values_add_text(facts, "scaling", scaling_words[t->scaling]));
    const double share = t->val_share > 0.0 ? t->val_share : usual_val_share;
    if (!t->val && share > 0.0)
        cli_facts_number(facts, "val_share", share, NULL);
}

static const blv_field files[] = {BLV_FIELD(cli_training, train, TEXT),
                                  BLV_FIELD(cli_training, val, TEXT),
                                  BLV_FIELD(cli_training, test, TEXT),
                                  {0}};

void cli_training_describe(json_t *object, const cli_training *t, const blv_task_sets *sets) {
    json_t *warnings = json_array();
    for (size_t i = 0; sets->warnings[i]; i++)
        cli_json_append(warnings, blv_json_string(sets->warnings[i]));
    cli_json_add(object, files, t);
    cli_json_put(object, "kinds", blv_json_string(sets->kinds), "warnings", warnings, NULL);
}

void cli_print_stored(int64_t run) {
    if (run)
        printf("Stored as run %" PRId64 "; 'bilevel report %" PRId64 "' writes a page about it\n",
               run, run);
}
