/* bilevel coreset DATA: chooses rows that stand for all. Parse, load, choose, judge, write, report.
 */
#include "cli_commands.h"
#include "cli_coreset.h"
#include "cli_describe.h"
#include "cli_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_OUT = 'o', KEY_SIZE = CLI_KEY_FIRST, KEY_METHOD, KEY_SUBSET, KEY_COMPARE };

static const struct argp_option options[] = {
    {"size", KEY_SIZE, "K", 0, "rows to choose: a number, or a share below 1", 0},
    {"method", KEY_METHOD, "NAME", 0, "how they are chosen (default d-tfbo); see below", 0},
    {"out", KEY_OUT, "OUT.csv", 0,
     "write the number, from 0, and the weight of every chosen row, the heaviest first", 0},
    {"write-subset", KEY_SUBSET, "FILE", 0,
     "write the chosen rows, in the format of DATA unless the name says otherwise", 0},
    {"compare", KEY_COMPARE, NULL, 0,
     "train a network on the chosen rows, on as many at random and on all, and judge it on FILE of "
     "--test, else on all rows",
     0},
    {0}};

static double parse_size(const char *text, const struct argp_state *state) {
    double size = 0.0;
    if (!cli_parse_real(text, &size) || !(size > 0.0) || (size >= 1.0 && size != floor(size)))
        argp_error(state, "--size '%s': expected a whole number from 1 on, or a share below 1",
                   text);
    return size;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
    cli_coreset *asked = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &asked->choosing;
        return 0;
    case KEY_SIZE:
        asked->size_asked = parse_size(arg, state);
        return 0;
    case KEY_METHOD:
        asked->method = cli_parse_method(arg, state);
        return 0;
    case KEY_OUT:
        asked->out = arg;
        return 0;
    case KEY_SUBSET:
        asked->subset = arg;
        return 0;
    case KEY_COMPARE:
        asked->compare = true;
        return 0;
    case ARGP_KEY_END:
        if (!(asked->size_asked > 0.0))
            argp_error(state, "--size K is needed: how many rows to choose");
        if (asked->choosing.test && !asked->compare)
            argp_error(state, "--test needs --compare");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- Choosing ---- */

static int settle_size(cli_coreset *r, const blv_dataset *rows) {
    r->rows = blv_dataset_view_of(rows)->rows;
    const double wanted =
        r->size_asked < 1.0 ? fmax(1.0, round(r->size_asked * (double)r->rows)) : r->size_asked;
    if (wanted <= (double)r->rows) {
        r->size = (size_t)wanted;
        return CLI_DONE;
    }
    cli_complain("%s: %zu rows; expected at least the %.0f that are to be chosen", r->choosing.data,
                 r->rows, wanted);
    return CLI_REFUSED;
}

typedef struct chosen {
    size_t row;
    double weight;
} chosen;

static int heaviest_first(const void *a, const void *b) {
    const chosen *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static void sort_chosen(cli_coreset *r) {
    chosen *all = cli_alloc(r->size, sizeof *all);
    for (size_t k = 0; k < r->size; k++)
        all[k] = (chosen){r->index[k], r->weight[k]};
    qsort(all, r->size, sizeof *all, heaviest_first);
    for (size_t k = 0; k < r->size; k++) {
        r->index[k] = all[k].row;
        r->weight[k] = all[k].weight;
    }
    free(all);
}

static int choose(cli_coreset *r, const blv_dataset *rows) {
    const blv_dataset_view *view = blv_dataset_view_of(rows);
    const blv_selection how =
        cli_choosing_selection(&r->choosing, r->method, r->size, r->choosing.seed);
    blv_message why = {0};
    r->index = cli_alloc(r->size, sizeof *r->index);
    r->weight = cli_alloc(r->size, sizeof *r->weight);
    r->classes = view->classes;
    r->class_names = view->class_names;
    r->of_class = cli_alloc(r->classes, sizeof *r->of_class);
    r->chosen_of_class = cli_alloc(r->classes, sizeof *r->chosen_of_class);
    const double begin = cli_seconds();
    blv_error error = blv_select(rows, &how, r->index, r->weight, &why);
    r->seconds = cli_seconds() - begin;
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    sort_chosen(r);
    for (size_t i = 0; i < r->rows; i++)
        r->of_class[view->label[i]]++;
    for (size_t k = 0; k < r->size; k++)
        r->chosen_of_class[view->label[r->index[k]]]++;
    return CLI_DONE;
}

/* ---- Judging ---- */

static int judge_rows(const cli_coreset *r, const blv_dataset *rows, const size_t *index,
                      const double *weight, const blv_dataset *test, double *accuracy) {
    blv_dataset *subset = NULL;
    int code = cli_select_rows(rows, index, r->size, &subset);
    if (code == CLI_DONE)
        code = cli_choosing_judge(&r->choosing, subset, weight, test, r->choosing.seed, accuracy);
    blv_dataset_release(subset);
    return code;
}

static int judge_uniform(cli_coreset *r, const blv_dataset *rows, const blv_dataset *test) {
    blv_message why = {0};
    const blv_selection how = cli_choosing_selection(
        &r->choosing, blv_selection_method_find("uniform", &why), r->size, r->choosing.seed);
    size_t *index = cli_alloc(r->size, sizeof *index);
    blv_error error = blv_select(rows, &how, index, NULL, &why);
    int code = error == BLV_OK ? judge_rows(r, rows, index, NULL, test, &r->uniform_accuracy)
                               : cli_refuse(error, why.text);
    free(index);
    return code;
}

static int judge(cli_coreset *r, const blv_dataset *rows, const blv_dataset *test) {
    int code = judge_rows(r, rows, r->index, r->weight, test, &r->chosen_accuracy);
    if (code == CLI_DONE)
        code = judge_uniform(r, rows, test);
    if (code == CLI_DONE)
        code =
            cli_choosing_judge(&r->choosing, rows, NULL, test, r->choosing.seed, &r->all_accuracy);
    return code;
}

/* ---- The command ---- */

static int coreset(cli_coreset *r) {
    blv_dataset *rows = NULL, *test = NULL;
    int code = cli_choosing_load(&r->choosing, &rows, &test);
    if (code == CLI_DONE)
        code = settle_size(r, rows);
    if (code == CLI_DONE)
        code = cli_coreset_expect_writable(r, rows);
    if (code == CLI_DONE)
        code = choose(r, rows);
    if (code == CLI_DONE && r->compare)
        code = judge(r, rows, test ? test : rows);
    if (code == CLI_DONE)
        code = cli_coreset_write(r, rows);
    if (code == CLI_DONE && r->choosing.json)
        cli_json_print(cli_coreset_object(r));
    else if (code == CLI_DONE && !r->choosing.quiet)
        cli_coreset_text(r);
    blv_dataset_release(rows);
    blv_dataset_release(test);
    free(r->index);
    free(r->weight);
    free(r->of_class);
    free(r->chosen_of_class);
    return code;
}

/* Allocated once; the help is shown and the command ends. */
static char *with_methods(int key, const char *text, void *input) {
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC || !text)
        return (char *)text;
    cli_text whole;
    FILE *out = cli_text_begin(&whole);
    fprintf(out, "%s\n\nMethods:\n", text);
    const blv_selection_method *m;
    for (size_t i = 0; (m = blv_selection_method_at(i)); i++)
        fprintf(out, "  %-18s %s\n", m->name, m->summary);
    return cli_text_end(&whole);
}

int cmd_coreset(int argc, char **argv) {
    const struct argp_child children[] = {{&cli_choosing_argp, 0, NULL, 1}, {0}};
    const struct argp argp = {
        .options = options,
        .parser = parse,
        .args_doc = "DATA",
        .doc = "Choose few rows of DATA that stand for all of them, with weights.\v"
               "Exit status: 0 done, 1 a run failed, 2 bad usage or input.",
        .children = children,
        .help_filter = with_methods};
    blv_message why = {0};
    cli_coreset asked = {.choosing = cli_choosing_begin(),
                         .method = blv_selection_method_find("d-tfbo", &why),
                         .chosen_accuracy = (double)NAN,
                         .uniform_accuracy = (double)NAN,
                         .all_accuracy = (double)NAN};
    return cli_parse(&argp, argc, argv, &asked) ? coreset(&asked) : CLI_DONE;
}
