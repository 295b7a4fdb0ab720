#include "cli_report_page.h"
#include "bilevel/registry.h"
#include "cli_gnuplot.h"
#include "cli_json.h"
#include "cli_page.h"
#include "cli_report_learned.h"
#include "cli_runs.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER = 48 };

static const char *or_dash(const char *text) {
    return text && *text ? text : "-";
}

/* ---- The order: least certified Phi first, problem by problem ---- */

static double phi_of(const cli_stored_run *run) {
    const json_t *phi = json_object_get(run->run, "phi");
    return json_is_number(phi) ? json_number_value(phi) : INFINITY;
}

static const char *problem_of(const cli_stored_run *run) {
    return or_dash(cli_run_text(run->run, "problem"));
}

static int compare_runs(const void *a, const void *b) {
    const cli_stored_run *p = *(const cli_stored_run *const *)a;
    const cli_stored_run *q = *(const cli_stored_run *const *)b;
    if (p->problem != q->problem)
        return p->problem < q->problem ? -1 : 1;
    double phi = phi_of(p), other = phi_of(q);
    if (phi != other)
        return phi < other ? -1 : 1;
    return (p->id > q->id) - (p->id < q->id);
}

static const cli_stored_run **sorted_runs(const cli_stored *stored) {
    const cli_stored_run **runs = cli_alloc(stored->count, sizeof *runs);
    for (size_t i = 0; i < stored->count; i++)
        runs[i] = &stored->runs[i];
    qsort(runs, stored->count, sizeof *runs, compare_runs);
    return runs;
}

static bool is_first_of_problem(const cli_stored_run *const *runs, size_t i) {
    return i == 0 || runs[i]->problem != runs[i - 1]->problem;
}

/* ---- The question ---- */

static void put_family(FILE *out, const char *name) {
    const blv_problem_family *family;
    for (size_t i = 0; (family = blv_family_at(NULL, i)); i++) {
        if (strcmp(family->name, name) != 0)
            continue;
        cli_html_element(out, "p", family->summary);
        if (family->formula)
            cli_html_element(out, "pre", family->formula);
    }
}

static void put_question(FILE *out, const cli_stored_run *run) {
    char dim_x[NUMBER], dim_y[NUMBER], text[2 * NUMBER + 64];
    cli_report_learned_question(out, run->run);
    cli_html_heading(out, 3, problem_of(run));
    put_family(out, problem_of(run));
    snprintf(text, sizeof text, "%s in x and %s in y, %.10s",
             or_dash(cli_run_number(run->run, "dim_x", "%g", dim_x, sizeof dim_x)),
             or_dash(cli_run_number(run->run, "dim_y", "%g", dim_y, sizeof dim_y)),
             or_dash(cli_run_text(run->run, "precision")));
    cli_html_table_begin(out, "ll", NULL);
    cli_html_table_row(out, "ll", (const char *[]){"Dimension", text});
    if (cli_run_text(run->run, "fingerprint"))
        cli_html_table_row(
            out, "ll",
            (const char *[]){"Fingerprint of the data", cli_run_text(run->run, "fingerprint")});
    cli_html_table_end(out);
    cli_html_values(out, "Parameters of the problem",
                    json_object_get(run->run, "problem_parameters"));
}

/* ---- The answer ---- */

static void put_vector(FILE *out, const char *name, const json_t *vector) {
    enum { LONGEST = 12 };
    size_t count = json_array_size(vector), i;
    json_t *value;
    if (count == 0 || count > LONGEST)
        return;
    fprintf(out, "<p><code>%s = (", name);
    json_array_foreach(vector, i, value) {
        fprintf(out, "%s%.6g", i ? ", " : "", json_number_value(value));
    }
    fputs(")</code></p>\n", out);
}

static bool is_tight(const cli_stored_run *run) {
    const json_t *certificate = json_object_get(json_object_get(run->run, "result"), "certificate");
    return json_is_true(json_object_get(certificate, "tight"));
}

static void put_answer(FILE *out, const cli_stored *stored, const cli_stored_run *best) {
    char phi[NUMBER], grad[NUMBER], iterations[NUMBER], seconds[NUMBER], text[512];
    const json_t *result = json_object_get(best->run, "result");
    fputs("<div class=\"answer\">\n", out);
    if (cli_report_learned(out, best->run)) {
        /* said */
    } else if (!isfinite(phi_of(best))) {
        snprintf(text, sizeof text, "%.80s: no run has a certified Phi.", problem_of(best));
        cli_html_element(out, "p", text);
    } else {
        snprintf(
            text, sizeof text,
            "%.80s: the least certified Phi is %s, with |grad Phi| = %s. %.100s reached it "
            "(run %" PRId64 ") in %s iterations and %s seconds.%s",
            problem_of(best), or_dash(cli_run_number(best->run, "phi", "%.10g", phi, sizeof phi)),
            or_dash(cli_run_number(best->run, "grad_norm", "%.3e", grad, sizeof grad)),
            stored->group[best->group].label, best->id,
            or_dash(cli_run_number(best->run, "iterations", "%g", iterations, sizeof iterations)),
            or_dash(cli_run_number(best->run, "seconds", "%.4g", seconds, sizeof seconds)),
            is_tight(best) ? "" : " Its certificate is not tight.");
        cli_html_element(out, "p", text);
        put_vector(out, "x", json_object_get(result, "x"));
        put_vector(out, "y", json_object_get(result, "y"));
        cli_html_values(out, "On the data", json_object_get(result, "measures"));
    }
    fputs("</div>\n", out);
}

/* ---- Curves ---- */

static int put_figure(FILE *out, const cli_stored *stored, const char *what, cli_axis over) {
    cli_figure figure = {0};
    if (cli_figure_make(&figure, stored, over, what, true) != CLI_DONE)
        return CLI_DONE; /* the runs do not have it */
    cli_bytes svg = {0};
    char caption[256];
    snprintf(caption, sizeof caption, "%s over %s", figure.y_label, figure.x_label);
    int code = cli_gnuplot_draw(&svg, &figure, CLI_SVG, 0, 0);
    if (code == CLI_DONE)
        cli_html_drawing(out, svg.data, caption);
    free(svg.data);
    cli_figure_free(&figure);
    return code;
}

static int put_figures(FILE *out, const cli_stored *stored) {
    static const struct {
        const char *what;
        cli_axis over;
    } figures[] = {{"phi", CLI_OVER_TIME},
                   {"phi", CLI_OVER_CALLS},
                   {"grad", CLI_OVER_TIME},
                   {"accuracy", CLI_OVER_TIME}};
    cli_html_heading(out, 2, "Curves");
    int code = CLI_DONE;
    for (size_t i = 0; i < sizeof figures / sizeof figures[0] && code == CLI_DONE; i++)
        code = put_figure(out, stored, figures[i].what, figures[i].over);
    cli_html_element(out, "p",
                     "Runs that differ in the seed only, and the folds of a run, are one curve: "
                     "their median, with a band from 20 to 80 percent of them.");
    return code;
}

/* ---- The table of solvers ---- */

static const char *calls_text(const json_t *run, char *text, size_t size) {
    static const char *const parts[] = {"counts", "setup_counts"};
    const json_t *result = json_object_get(run, "result");
    json_int_t sum = 0;
    if (!json_is_object(json_object_get(result, "counts")))
        return NULL;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const char *name;
        json_t *count;
        json_object_foreach(json_object_get(result, parts[i]), name, count) {
            sum += json_integer_value(count);
        }
    }
    snprintf(text, size, "%" JSON_INTEGER_FORMAT, sum);
    return text;
}

static void put_solvers(FILE *out, const cli_stored *stored, const cli_stored_run *const *runs) {
    static const char columns[] = "llrrrrrr";
    static const char *const titles[] = {"Solver",     "Outcome", "Phi",   "|grad Phi|",
                                         "Iterations", "Seconds", "Calls", "Run"};
    cli_html_heading(out, 2, "Solvers");
    cli_html_table_begin(out, columns, titles);
    for (size_t i = 0; i < stored->count; i++) {
        char phi[NUMBER], grad[NUMBER], iterations[NUMBER], seconds[NUMBER], calls[NUMBER];
        char id[NUMBER];
        const json_t *run = runs[i]->run;
        const char *outcome = cli_run_text(run, "outcome"), *status = cli_run_text(run, "status");
        const char *cells[] = {
            stored->group[runs[i]->group].label,
            outcome ? outcome : status,
            cli_run_number(run, "phi", "%.10g", phi, sizeof phi),
            cli_run_number(run, "grad_norm", "%.3e", grad, sizeof grad),
            cli_run_number(run, "iterations", "%g", iterations, sizeof iterations),
            cli_run_number(run, "seconds", "%.4g", seconds, sizeof seconds),
            calls_text(run, calls, sizeof calls),
            cli_run_number(run, "id", "%g", id, sizeof id)};
        cli_html_table_row(out, columns, cells);
    }
    cli_html_table_end(out);
    cli_html_element(out, "p",
                     "Phi and |grad Phi| are certified, computed anew from the problem. Calls are "
                     "counted for each sample, all oracles and the setup together.");
}

/* ---- What is attached ---- */

static bool ends_in(const char *name, const char *end) {
    size_t length = strlen(name), tail = strlen(end);
    return length > tail && strcasecmp(name + length - tail, end) == 0;
}

/* The type of an image; NULL: it is none. */
static const char *image_type(const char *name) {
    static const struct {
        const char *end, *type;
    } types[] = {{".png", "image/png"},
                 {".jpg", "image/jpeg"},
                 {".jpeg", "image/jpeg"},
                 {".svg", "image/svg+xml"}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (ends_in(name, types[i].end))
            return types[i].type;
    return NULL;
}

static int put_attachment(FILE *out, blv_store *store, int64_t id, const char *name) {
    const char *type = image_type(name);
    void *bytes = NULL;
    size_t size = 0;
    if (!type && !ends_in(name, ".html"))
        return CLI_DONE; /* a checkpoint, or other bytes that cannot be shown */
    if (BLV_OK != blv_store_read(store, id, name, &bytes, &size)) {
        cli_complain("%s", blv_store_message(store));
        return CLI_REFUSED;
    }
    if (bytes && type) {
        cli_html_image(out, type, bytes, size, name);
    } else if (bytes) {
        fputs("<div class=\"attached\">\n", out);
        fwrite(bytes, 1, size, out);
        fputs("</div>\n", out);
    }
    free(bytes);
    return CLI_DONE;
}

static int put_attachments(FILE *out, blv_store *store, int64_t id) {
    blv_attachment *list = NULL;
    size_t count = 0;
    blv_error error = blv_store_attachments(store, id, &list, &count);
    if (error != BLV_OK)
        return cli_store_refuse(store, error);
    int code = CLI_DONE;
    for (size_t i = 0; i < count && code == CLI_DONE; i++)
        code = put_attachment(out, store, id, list[i].name);
    blv_attachments_free(list, count);
    return code;
}

/* ---- One run ---- */

static void put_notes(FILE *out, const json_t *notes) {
    size_t i;
    json_t *note;
    if (json_array_size(notes) == 0)
        return;
    cli_html_heading(out, 3, "Notes");
    fputs("<ul>\n", out);
    json_array_foreach(notes, i, note) {
        cli_html_element(out, "li", or_dash(json_string_value(note)));
    }
    fputs("</ul>\n", out);
}

static void put_facts(FILE *out, const json_t *run) {
    static const struct {
        const char *label, *key;
    } facts[] = {{"Status", "status"},     {"Outcome", "message"}, {"Started (UTC)", "started"},
                 {"Ended (UTC)", "ended"}, {"Version", "version"}, {"Machine", "host"}};
    char *command = cli_run_command(json_object_get(run, "command"));
    if (command)
        cli_html_element(out, "pre", command);
    free(command);
    cli_html_table_begin(out, "ll", NULL);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (cli_run_text(run, facts[i].key))
            cli_html_table_row(out, "ll",
                               (const char *[]){facts[i].label, cli_run_text(run, facts[i].key)});
    cli_html_table_end(out);
}

/* "auto" is replaced at the end of a run by what was chosen, so the end is shown where it is known.
 */
static json_t *at_the_end(const json_t *run, const char *key) {
    json_t *value = json_object_get(json_object_get(run, "result"), key);
    return json_object_size(value) > 0 ? value : json_object_get(run, key);
}

/* Runs on data show what they have attached with the answer. */
static bool is_learned(const cli_stored_run *run) {
    char title[NUMBER];
    return cli_report_learned_title(run->run, title, sizeof title);
}

static int put_run(FILE *out, const cli_report_page *page, const cli_stored_run *run) {
    char title[256];
    json_t *result = json_object_get(run->run, "result");
    snprintf(title, sizeof title, "Run %" PRId64 ": %.200s", run->id,
             page->stored->group[run->group].label);
    fputs("<details>", out);
    cli_html_element(out, "summary", title);
    put_facts(out, run->run);
    cli_html_values(out, "Certificate", json_object_get(result, "certificate"));
    cli_html_values(out, "On the data", json_object_get(result, "measures"));
    cli_html_values(out, "Parameters of the solver", at_the_end(run->run, "parameters"));
    cli_html_values(out, "Options of the run", at_the_end(run->run, "options"));
    cli_html_values(out, "Oracle calls of the steps", json_object_get(result, "counts"));
    put_notes(out, json_object_get(result, "notes"));
    fputs("</details>\n", out);
    return is_learned(run) ? CLI_DONE : put_attachments(out, page->store, run->id);
}

/* ---- The page ---- */

static int put_body(FILE *out, const cli_report_page *page, const cli_stored_run *const *runs) {
    const cli_stored *stored = page->stored;
    cli_html_heading(out, 2, "Question");
    for (size_t i = 0; i < stored->count; i++)
        if (is_first_of_problem(runs, i))
            put_question(out, runs[i]);
    cli_html_heading(out, 2, "Answer");
    for (size_t i = 0; i < stored->count; i++)
        if (is_first_of_problem(runs, i))
            put_answer(out, stored, runs[i]);
    int code = CLI_DONE;
    for (size_t i = 0; i < stored->count && code == CLI_DONE; i++)
        if (is_learned(runs[i]))
            code = put_attachments(out, page->store, runs[i]->id);
    if (code == CLI_DONE && !page->no_figures)
        code = put_figures(out, stored);
    put_solvers(out, stored, runs);
    cli_html_heading(out, 2, "Runs");
    for (size_t i = 0; i < stored->count && code == CLI_DONE; i++)
        code = put_run(out, page, runs[i]);
    return code;
}

int cli_report_page_put(const cli_report_page *page, FILE *out) {
    const cli_stored_run **runs = sorted_runs(page->stored);
    char title[160], footer[80];
    snprintf(title, sizeof title, "%.80s: %zu run%s", problem_of(runs[0]), page->stored->count,
             page->stored->count == 1 ? "" : "s");
    if (page->stored->count == 1)
        cli_report_learned_title(runs[0]->run, title, sizeof title);
    if (page->stored->problems > 1)
        snprintf(title, sizeof title, "%zu problems: %zu runs", page->stored->problems,
                 page->stored->count);
    cli_page_begin(out, page->title ? page->title : title);
    cli_html_heading(out, 1, page->title ? page->title : title);
    int code = put_body(out, page, runs);
    snprintf(footer, sizeof footer, "Written by bilevel %.40s.", blv_version());
    cli_html_element(out, "footer", footer);
    cli_page_end(out);
    free(runs);
    return code;
}
