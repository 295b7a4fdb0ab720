/* Parts of reports from numbers that are known: curves of figures, labels of groups of runs, tables
 * and drawings. */
#include "report/figure.h"
#include "report/table.h"

#include "bilevel/store.h"
#include "store/run_groups.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Figures ---- */

enum { COLUMNS = 6, MOST_RUNS = 3 };
static char *names[COLUMNS] = {(char[]){"iteration"}, (char[]){"fold"},   (char[]){"ridge"},
                               (char[]){"f"},         (char[]){"d_norm"}, (char[]){"x[0]"}};

static char label[] = "curve";

typedef struct runs {
    blv_run_groups groups;
    blv_stored_run run[MOST_RUNS];
    blv_run_info info[MOST_RUNS];
    blv_run_group group[MOST_RUNS];
} runs;

/* One more run, in a group of its own; values: rows * COLUMNS of them, borrowed. */
static void add_run(runs *r, double *values, size_t rows, double best, const char *result) {
    const size_t i = r->groups.count++;
    r->groups.groups = r->groups.count;
    r->groups.problems = 1;
    r->groups.runs = r->run;
    r->groups.group = r->group;
    r->info[i] = (blv_run_info){.result = (char *)(uintptr_t)result};
    r->group[i] = (blv_run_group){.first = i, .label = label};
    r->run[i] = (blv_stored_run){
        .info = &r->info[i], .trace = {rows, COLUMNS, names, values}, .best = best, .group = i};
}

static void make_figure(report_figure *figure, const runs *r, const char *what) {
    blv_message why = {""};
    if (report_figure_make(figure, &r->groups, REPORT_OVER_ITERATIONS, what, &why) != BLV_OK)
        fail_msg("%s", why.text);
}

/* Of the rows of a run over folds those with the ridge that was chosen are drawn, a series for each
 * fold: the curve is their median, and lies between them. */
static void folds_are_drawn(void **state) {
    (void)state;
    double values[] = {0, 1, 0.5, 8, NAN, 1, 1, 1, 0.5, 4, NAN, 1, /* fold 1 */
                       0, 1, 2.0, 9, NAN, 1,                       /* a ridge that was not chosen */
                       0, 2, 0.5, 6, NAN, 1, 1, 2, 0.5, 2, NAN, 1, /* fold 2 */
                       0, 2, NAN, 7, NAN, 1};                      /* back in time: left out */
    runs r = {0};
    report_figure figure;
    add_run(&r, values, 6, 1.0, "{\"ridge\": 0.5}");
    make_figure(&figure, &r, "f");
    assert_int_equal(figure.count, 1);
    const report_curve *c = &figure.curves[0];
    assert_string_equal(c->label, "curve, 2 folds");
    assert_int_equal(c->count, 2);
    assert_true(c->x[0] == 0.0 && c->x[1] == 1.0);
    assert_true(fabs(c->median[0] - 7.0) < 1e-12 && fabs(c->median[1] - 3.0) < 1e-12);
    assert_true(fabs(c->low[1] - 2.4) < 1e-12 && fabs(c->high[1] - 3.6) < 1e-12);
    report_figure_free(&figure);
    /* every fold has a Phi of its own, so that there is no least one to measure from */
    make_figure(&figure, &r, "phi");
    assert_string_equal(figure.column, "f");
    assert_string_equal(figure.y_label, "f(x, y)");
    report_figure_free(&figure);
    /* without a ridge that was chosen all of them are drawn */
    runs all = {0};
    add_run(&all, values, 6, 1.0, NULL);
    make_figure(&figure, &all, "f");
    assert_true(fabs(figure.curves[0].median[0] - 7.0) < 1e-12);
    report_figure_free(&figure);
}

/* What is drawn, by what the runs have. */
static void measures_are_chosen(void **state) {
    (void)state;
    double one[] = {0, NAN, NAN, 5, 2, 1, 1, NAN, NAN, 3, 1, 1};
    double two[] = {0, NAN, NAN, 0, 0, 1, 1, NAN, NAN, -4, INFINITY, 1};
    runs r = {0};
    report_figure figure;
    add_run(&r, one, 2, 1.0, NULL);
    add_run(&r, two, 2, -4.0, NULL);
    make_figure(&figure, &r, "phi");
    assert_string_equal(figure.y_label, "|f(x, y) - best known Phi|");
    assert_true(figure.log_y);
    assert_true(figure.curves[0].median[0] == 4.0 && figure.curves[0].median[1] == 2.0);
    /* 4 above the best, and none: drawn at the least number there is, as the axis has no 0 */
    assert_true(figure.curves[1].median[0] == 4.0 && figure.curves[1].median[1] == 2.0);
    report_figure_free(&figure);
    make_figure(&figure, &r, "grad");
    assert_string_equal(figure.y_label, "|d|, the solver's own grad Phi");
    assert_int_equal(figure.curves[1].count, 1); /* infinity is not drawn */
    report_figure_free(&figure);
    make_figure(&figure, &r, "f");
    assert_false(figure.log_y); /* one of them is below 0 */
    assert_true(figure.curves[1].median[1] == -4.0);
    report_figure_free(&figure);
}

static void columns_are_named(void **state) {
    (void)state;
    double values[] = {0, NAN, NAN, 5, 2, 1};
    runs r = {0}, empty = {0};
    report_figure figure;
    blv_message why = {""};
    add_run(&r, values, 1, NAN, NULL);
    add_run(&r, values, 1, NAN, NULL);
    add_run(&empty, values, 0, NAN, NULL);
    assert_int_equal(report_figure_make(&figure, &r.groups, REPORT_OVER_TIME, "d_nrom", &why),
                     BLV_E_NAME);
    assert_string_equal(why.text, "no run has numbers in a column 'd_nrom'; did you mean 'd_norm'? "
                                  "There are: iteration, f, d_norm");
    assert_int_equal(report_figure_make(&figure, &r.groups, REPORT_OVER_TIME, "something", &why),
                     BLV_E_NAME);
    assert_string_equal(why.text, "no run has numbers in a column 'something'; there are: "
                                  "iteration, f, d_norm");
    assert_int_equal(report_figure_make(&figure, &empty.groups, REPORT_OVER_TIME, "f", &why),
                     BLV_E_NAME);
    assert_string_equal(why.text, "no run has numbers in a column 'f'; there are: no rows at all");
}

/* Of very many points some are drawn, the first and the last among them. */
static void points_are_thinned(void **state) {
    (void)state;
    enum { ROWS = 2500 };
    static double values[ROWS * COLUMNS];
    for (size_t i = 0; i < ROWS; i++) {
        values[i * COLUMNS] = (double)i;
        values[i * COLUMNS + 1] = values[i * COLUMNS + 2] = NAN;
        values[i * COLUMNS + 3] = 1.0 + (double)i;
    }
    runs r = {0};
    report_figure figure;
    add_run(&r, values, ROWS, NAN, NULL);
    make_figure(&figure, &r, "f");
    const report_curve *c = &figure.curves[0];
    assert_true(c->count <= 1001 && c->count > 500);
    assert_true(c->x[0] == 0.0 && c->x[c->count - 1] == ROWS - 1);
    for (size_t i = 0; i < c->count; i++)
        assert_true(fabs(c->median[i] - c->x[i] - 1.0) < 1e-9);
    report_figure_thin(&figure, 7);
    assert_int_equal(c->count, 7);
    assert_true(c->x[0] == 0.0 && c->x[6] == ROWS - 1 && c->median[6] == ROWS);
    report_figure_free(&figure);
}

/* ---- Groups ---- */

/* Runs that differ in nothing that a label shows are named by their numbers. */
static void alike_groups_name_their_runs(void **state) {
    (void)state;
    char folder[] = "/tmp/test-report-XXXXXX", path[64], name[80];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/runs.db", folder);
    blv_store *store = NULL;
    blv_message why = {""};
    assert_int_equal(blv_store_open(&store, path, BLV_STORE_CREATE, &why), BLV_OK);
    static const struct {
        const char *problem, *solver, *kind, *request;
        uint64_t fingerprint;
    } made[] = {{"p", "soba", "solve", "{\"start\": \"zero\"}", 1},
                {"p", "soba", "solve", "{\"start\": \"random\"}", 1},
                {"p", "soba", "solve", "{\"start\": \"zero\"}", 1},
                {"p", "saba", "solve", NULL, 1},
                {NULL, NULL, "clean", NULL, 2}};
    enum { MADE = sizeof made / sizeof *made };
    int64_t ids[MADE];
    for (size_t i = 0; i < MADE; i++) {
        const blv_run_info info = {.size = sizeof info,
                                   .kind = (char *)(uintptr_t)made[i].kind,
                                   .problem = (char *)(uintptr_t)made[i].problem,
                                   .solver = (char *)(uintptr_t)made[i].solver,
                                   .request = (char *)(uintptr_t)made[i].request,
                                   .fingerprint = made[i].fingerprint};
        assert_int_equal(blv_store_begin(store, &info, &ids[i]), BLV_OK);
    }
    blv_run_groups groups;
    assert_int_equal(blv_run_groups_load(&groups, store, ids, MADE, &why), BLV_OK);
    assert_int_equal(groups.groups, 4);
    assert_int_equal(groups.problems, 2);
    assert_string_equal(groups.group[0].label, "soba, p (run 1, 3)");
    assert_string_equal(groups.group[1].label, "soba, p (run 2)");
    assert_string_equal(groups.group[2].label, "saba, p");
    assert_string_equal(groups.group[3].label, "clean, -");
    blv_run_groups_free(&groups);
    blv_store_close(store);
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
    rmdir(folder);
}

/* ---- Text ---- */

static char *text;
static size_t size;

static FILE *begin(void) {
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    return out;
}

static void expect(FILE *out, const char *expected) {
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void tables_are_printed(void **state) {
    (void)state;
    static const char *const cells[] = {"a|b", NULL, "\x1b[2J"};
    for (int form = REPORT_AS_TEXT; form <= REPORT_AS_MARKDOWN; form++) {
        report_table table = {.align = "lrl"};
        assert_null(report_number(&table.arena, "%g", NAN));
        report_table_add(&table, "%s\t%s\t%s", "name", report_number(&table.arena, "%.2f", 0.125),
                         "x");
        report_table_row(&table, cells);
        if (form == REPORT_AS_TEXT)
            report_table_heading(&table, "all of it");
        FILE *out = begin();
        assert_int_equal(report_table_print(&table, (report_form)form, 1, out), BLV_OK);
        expect(out, form == REPORT_AS_TEXT ? " name  0.12  x\n a|b      -  \\u001b[2J\n all of it\n"
                                           : "| name | 0.12 | x |\n| --- | ---: | --- |\n"
                                             "| a\\|b | - | \\\\u001b[2J |\n");
    }
}

static void texts_are_escaped(void **state) {
    (void)state;
    FILE *out = begin();
    report_markdown_text(out, "a < b, <i>, </i>, 2*3, `<i> * \\ |`, <1>, \\");
    expect(out, "a < b, \\<i>, \\</i>, 2\\*3, `<i> * \\ \\|`, <1>, \\\\");
    out = begin();
    report_csv_text(out, "", "plain");
    report_csv_text(out, ",", "");
    report_csv_text(out, ",", "a \"b\", c");
    report_csv_number(out, ",", NAN);
    report_csv_number(out, ",", 0.1);
    expect(out, "plain,\"\",\"a \"\"b\"\", c\",,0.1");
}

/* What gnuplot has written becomes a part of a page; what it cannot have written does not. */
static void drawings_are_embedded(void **state) {
    (void)state;
    static const char *const none[] = {"", "<svg>", "<svg viewBox=\"0 0 1 1\">",
                                       "<g id=\"gnuplot_canvas\">"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        FILE *out = begin();
        report_html_drawing(out, none[i], "c");
        expect(out, "");
    }
#define HEAD "<figure><svg viewBox=\"0 0 9 9\" role=\"img\" aria-label=\""
    FILE *out = begin();
    report_html_drawing(out,
                        "<svg viewBox=\"0 0 9 9\"><g id=\"gnuplot_canvas\">1<defs>m</defs>2"
                        "<g id=\"gnuplot_plot_1\" ><title>t</title>3</svg>",
                        "a <b>");
    expect(out, HEAD "a &lt;b&gt;\">\n<g>12<g class=\"curve\">3</svg>"
                     "<figcaption>a &lt;b&gt;</figcaption>\n</figure>\n");
    out = begin();
    report_html_drawing(out,
                        "<svg viewBox=\"0 0 9 9\"><g id=\"gnuplot_canvas\">1"
                        "<g id=\"gnuplot_plot_1\" ><title>cut",
                        NULL);
    expect(out, HEAD "\">\n<g>1<g id=\"gnuplot_plot_1\" ><title>cut</figure>\n");
    out = begin();
    report_html_image(out, "image/png", "abcd", 4, "");
    expect(out, "<figure><img alt=\"\" src=\"data:image/png;base64,YWJjZA==\"></figure>\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_are_drawn),
        cmocka_unit_test(measures_are_chosen),
        cmocka_unit_test(columns_are_named),
        cmocka_unit_test(points_are_thinned),
        cmocka_unit_test(alike_groups_name_their_runs),
        cmocka_unit_test(tables_are_printed),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(drawings_are_embedded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
