#include "report/run_page.h"

#include "base/arena.h"
#include "base/message.h"
#include "bilevel/registry.h"
#include "report/figure.h"
#include "report/html.h"
#include "report/table.h"
#include "store/record.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* What a run left as its result, as far as it is shown. */
typedef struct result {
    blv_values certificate, measures, parameters, options, counts, setup_counts;
    size_t x_count, y_count, note_count;
    double *x, *y;
    char **notes;
} result;
static const blv_field result_fields[] = {BLV_FIELD(result, certificate, VALUES),
                                          BLV_FIELD(result, measures, VALUES),
                                          BLV_FIELD(result, parameters, VALUES),
                                          BLV_FIELD(result, options, VALUES),
                                          BLV_FIELD(result, counts, VALUES),
                                          BLV_FIELD(result, setup_counts, VALUES),
                                          BLV_FIELD_ARRAY(result, x, x_count, REALS),
                                          BLV_FIELD_ARRAY(result, y, y_count, REALS),
                                          BLV_FIELD_ARRAY(result, notes, note_count, TEXTS),
                                          {0}};

/* The page while it is written. */
typedef struct page {
    const report_run_page *asked;
    const blv_stored_run **runs; /* least certified Phi first, problem by problem */
    result *results;             /* in that order */
    size_t count;
    FILE *out;
    blv_message *why;
    blv_arena arena; /* of numbers as text */
} page;

static const char *or_dash(const char *text) {
    return text && *text ? text : "-";
}

static const char *iterations_of(page *p, const blv_run_info *run) {
    return report_number(&p->arena, "%.0f",
                         run->has_iterations ? (double)run->iterations : (double)NAN);
}

/* ---- The order ---- */

static double phi_of(const blv_stored_run *run) {
    return isnan(run->info->phi) ? INFINITY : run->info->phi;
}

static int compare_runs(const void *a, const void *b) {
    const blv_stored_run *p = *(const blv_stored_run *const *)a;
    const blv_stored_run *q = *(const blv_stored_run *const *)b;
    if (p->problem != q->problem)
        return p->problem < q->problem ? -1 : 1;
    if (phi_of(p) != phi_of(q))
        return phi_of(p) < phi_of(q) ? -1 : 1;
    return (p->info->id > q->info->id) - (p->info->id < q->info->id);
}

static bool is_first_of_problem(const page *p, size_t i) {
    return i == 0 || p->runs[i]->problem != p->runs[i - 1]->problem;
}

/* A table of two columns, without those that have no text; the last is followed by NULL. */
static void put_pairs(FILE *out, const char *const (*pairs)[2]) {
    report_html_table_begin(out, "ll", NULL);
    for (; (*pairs)[0]; pairs++)
        if ((*pairs)[1])
            report_html_table_row(out, "ll", *pairs);
    report_html_table_end(out);
}

/* ---- The answer ---- */

static void put_vector(FILE *out, const char *name, const double *values, size_t count) {
    enum { LONGEST = 12 };
    if (count == 0 || count > LONGEST)
        return;
    fprintf(out, "<p><code>%s = (", name);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s%.6g", i ? ", " : "", values[i]);
    fputs(")</code></p>\n", out);
}

static void put_solution(page *p, size_t i) {
    const blv_run_info *run = p->runs[i]->info;
    const result *r = &p->results[i];
    const blv_value *tight = blv_values_find(&r->certificate, "tight");
    if (isnan(run->phi)) {
        report_html_print(p->out, "p", "%.80s: no run has a certified Phi.", or_dash(run->problem));
        return;
    }
    report_html_print(
        p->out, "p",
        "%.80s: the least certified Phi is %s, with |grad Phi| = %s. %.100s reached it "
        "(run %" PRId64 ") in %s iterations and %s seconds.%s",
        or_dash(run->problem), report_number(&p->arena, "%.10g", run->phi),
        or_dash(report_number(&p->arena, "%.3e", run->grad_norm)),
        p->asked->groups->group[p->runs[i]->group].label, run->id, or_dash(iterations_of(p, run)),
        or_dash(report_number(&p->arena, "%.4g", run->seconds)),
        tight && tight->whole ? "" : " Its certificate is not tight.");
    put_vector(p->out, "x", r->x, r->x_count);
    put_vector(p->out, "y", r->y, r->y_count);
    report_html_values(p->out, "On the data", &r->measures);
}

static blv_error put_answer(page *p, size_t i) {
    const blv_run_info *run = p->runs[i]->info;
    fputs("<div class=\"answer\">\n", p->out);
    if (report_is_task(run))
        BLV_CHECK(report_task_answer(p->out, run));
    else
        put_solution(p, i);
    fputs("</div>\n", p->out);
    return BLV_OK;
}

/* ---- Curves ---- */

static blv_error put_figures(const page *p) {
    static const struct {
        const char *what;
        report_axis over;
    } figures[] = {{"phi", REPORT_OVER_TIME},
                   {"phi", REPORT_OVER_CALLS},
                   {"grad", REPORT_OVER_TIME},
                   {"accuracy", REPORT_OVER_TIME}};
    report_html_element(p->out, "h2", "Curves");
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        report_figure figure;
        blv_error error =
            report_figure_make(&figure, p->asked->groups, figures[i].over, figures[i].what, NULL);
        if (error == BLV_E_NAME)
            continue; /* the runs do not have it */
        BLV_CHECK(error);
        error = report_figure_embed(&figure, p->out, p->why);
        report_figure_free(&figure);
        BLV_CHECK(error);
    }
    report_html_element(p->out, "p",
                        "Runs that differ in the seed only, and the folds of a run, are one curve: "
                        "their median, with a band from 20 to 80 percent of them.");
    return BLV_OK;
}

/* ---- The table of solvers ---- */

static double calls_of(const result *r) {
    int64_t sum = 0;
    for (size_t i = 0; i < r->counts.count; i++)
        sum += r->counts.items[i].whole;
    for (size_t i = 0; i < r->setup_counts.count; i++)
        sum += r->setup_counts.items[i].whole;
    return r->counts.count > 0 ? (double)sum : (double)NAN;
}

static void put_solvers(page *p) {
    static const char columns[] = "llrrrrrr";
    static const char *const titles[] = {"Solver",     "Outcome", "Phi",   "|grad Phi|",
                                         "Iterations", "Seconds", "Calls", "Run"};
    report_html_element(p->out, "h2", "Solvers");
    report_html_table_begin(p->out, columns, titles);
    for (size_t i = 0; i < p->count; i++) {
        const blv_run_info *run = p->runs[i]->info;
        const char *cells[] = {p->asked->groups->group[p->runs[i]->group].label,
                               run->outcome ? run->outcome : blv_run_status_word(run->status),
                               report_number(&p->arena, "%.10g", run->phi),
                               report_number(&p->arena, "%.3e", run->grad_norm),
                               iterations_of(p, run),
                               report_number(&p->arena, "%.4g", run->seconds),
                               report_number(&p->arena, "%.0f", calls_of(&p->results[i])),
                               report_number(&p->arena, "%.0f", (double)run->id)};
        report_html_table_row(p->out, columns, cells);
    }
    report_html_table_end(p->out);
    report_html_element(p->out, "p",
                        "Phi and |grad Phi| are certified: recomputed from the problem. Calls are "
                        "counted for each sample, all oracles and the setup together.");
}

/* ---- The problem ---- */

static void put_family(FILE *out, const char *name) {
    const blv_problem_family *family;
    for (size_t i = 0; (family = blv_family_at(NULL, i)); i++) {
        if (strcmp(family->name, name) != 0)
            continue;
        report_html_element(out, "p", family->summary);
        if (family->formula)
            report_html_element(out, "pre", family->formula);
    }
}

static void put_problem(page *p, const blv_run_info *run) {
    const char *fingerprint = blv_arena_print(&p->arena, "%016" PRIx64, run->fingerprint);
    const char *dimension =
        blv_arena_print(&p->arena, "%s in x and %s in y, %.10s",
                        run->dim_x ? report_number(&p->arena, "%.0f", (double)run->dim_x) : "-",
                        run->dim_y ? report_number(&p->arena, "%.0f", (double)run->dim_y) : "-",
                        or_dash(run->precision));
    report_html_element(p->out, "h3", or_dash(run->problem));
    put_family(p->out, or_dash(run->problem));
    put_pairs(p->out, (const char *const[][2]){
                          {"Dimension", dimension},
                          {"Fingerprint of the data", run->fingerprint ? fingerprint : NULL},
                          {NULL, NULL}});
    report_html_values(p->out, "Parameters of the problem", &run->problem_parameters);
}

/* ---- What is attached ---- */

static bool ends_in(const char *name, const char *end) {
    size_t length = strlen(name), tail = strlen(end);
    return length > tail && strcasecmp(name + length - tail, end) == 0;
}

/* The type of an image; NULL: it is none. */
static const char *image_type(const char *name) {
    static const char *const types[][2] = {{".png", "image/png"},
                                           {".jpg", "image/jpeg"},
                                           {".jpeg", "image/jpeg"},
                                           {".svg", "image/svg+xml"}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (ends_in(name, types[i][0]))
            return types[i][1];
    return NULL;
}

static blv_error explain_store(const page *p, blv_error error) {
    return blv_explain(p->why, error, "%s", blv_store_message(p->asked->store));
}

static blv_error put_attachment(const page *p, int64_t id, const char *name) {
    const char *type = image_type(name);
    void *bytes = NULL;
    size_t size = 0;
    if (!type && !ends_in(name, ".html"))
        return BLV_OK; /* a checkpoint, or other bytes that cannot be shown */
    blv_error error = blv_store_read(p->asked->store, id, name, &bytes, &size);
    if (error != BLV_OK)
        return explain_store(p, error);
    if (bytes && type) {
        report_html_image(p->out, type, bytes, size, name);
    } else if (bytes) {
        fputs("<div class=\"attached\">\n", p->out);
        fwrite(bytes, 1, size, p->out);
        fputs("</div>\n", p->out);
    }
    free(bytes);
    return BLV_OK;
}

static blv_error put_attachments(const page *p, int64_t id) {
    blv_attachment *list = NULL;
    size_t count = 0;
    blv_error error = blv_store_attachments(p->asked->store, id, &list, &count);
    if (error != BLV_OK)
        return explain_store(p, error);
    for (size_t i = 0; i < count && error == BLV_OK; i++)
        error = put_attachment(p, id, list[i].name);
    blv_attachments_free(list, count);
    return error;
}

/* ---- One run ---- */

static void put_facts(FILE *out, const blv_run_info *run) {
    fputs(run->command_count > 0 ? "<pre>" : "", out);
    for (size_t i = 0; i < run->command_count; i++) {
        fputs(i ? " " : "", out);
        report_html_text(out, or_dash(run->command[i]));
    }
    fputs(run->command_count > 0 ? "</pre>\n" : "", out);
    put_pairs(out, (const char *const[][2]){{"Status", blv_run_status_word(run->status)},
                                            {"Outcome", run->message},
                                            {"Started (UTC)", run->started},
                                            {"Ended (UTC)", run->ended},
                                            {"Version", run->version},
                                            {"Machine", run->host},
                                            {NULL, NULL}});
}

/* "auto" is replaced at the end of a run by what was chosen, so the end is shown where it is known.
 */
static const blv_values *at_the_end(const blv_values *end, const blv_values *start) {
    return end->count > 0 ? end : start;
}

static void put_run(const page *p, size_t i) {
    const blv_run_info *run = p->runs[i]->info;
    const result *r = &p->results[i];
    fputs("<details>", p->out);
    report_html_print(p->out, "summary", "Run %" PRId64 ": %.200s", run->id,
                      p->asked->groups->group[p->runs[i]->group].label);
    put_facts(p->out, run);
    report_html_values(p->out, "Certificate", &r->certificate);
    report_html_values(p->out, "On the data", &r->measures);
    report_html_values(p->out, "Parameters of the solver",
                       at_the_end(&r->parameters, &run->parameters));
    report_html_values(p->out, "Options of the run", at_the_end(&r->options, &run->options));
    report_html_values(p->out, "Oracle calls of the steps", &r->counts);
    if (r->note_count > 0) {
        report_html_element(p->out, "h3", "Notes");
        fputs("<ul>\n", p->out);
        for (size_t k = 0; k < r->note_count; k++)
            report_html_element(p->out, "li", or_dash(r->notes[k]));
        fputs("</ul>\n", p->out);
    }
    fputs("</details>\n", p->out);
}

/* ---- The page ---- */

static blv_error put_body(page *p) {
    report_html_element(p->out, "h2", "Answer");
    for (size_t i = 0; i < p->count; i++)
        if (is_first_of_problem(p, i))
            BLV_CHECK(put_answer(p, i));
    for (size_t i = 0; i < p->count; i++) /* tasks show what they have attached with the answer */
        if (report_is_task(p->runs[i]->info))
            BLV_CHECK(put_attachments(p, p->runs[i]->info->id));
    if (!p->asked->no_figures)
        BLV_CHECK(put_figures(p));
    put_solvers(p);
    report_html_element(p->out, "h2", "Problem");
    for (size_t i = 0; i < p->count; i++)
        if (is_first_of_problem(p, i))
            put_problem(p, p->runs[i]->info);
    report_html_element(p->out, "h2", "Runs");
    for (size_t i = 0; i < p->count; i++) {
        put_run(p, i);
        if (!report_is_task(p->runs[i]->info))
            BLV_CHECK(put_attachments(p, p->runs[i]->info->id));
    }
    return BLV_OK;
}

static blv_error put_page(page *p) {
    const blv_run_groups *groups = p->asked->groups;
    const blv_run_info *first = p->runs[0]->info;
    char title[160];
    snprintf(title, sizeof title, "%.80s: %zu run%s", or_dash(first->problem), p->count,
             p->count == 1 ? "" : "s");
    if (p->count == 1)
        report_task_title(first, title, sizeof title);
    if (groups->problems > 1)
        snprintf(title, sizeof title, "%zu problems: %zu runs", groups->problems, p->count);
    report_page_begin(p->out, p->asked->title ? p->asked->title : title);
    report_html_element(p->out, "h1", p->asked->title ? p->asked->title : title);
    BLV_CHECK(put_body(p));
    report_html_print(p->out, "footer", "Written by bilevel %.40s.", blv_version());
    report_page_end(p->out);
    return BLV_OK;
}

blv_error report_run_page_put(const report_run_page *asked, FILE *out, blv_message *why) {
    page p = {.asked = asked, .count = asked->groups->count, .out = out, .why = why};
    p.runs = blv_arena_alloc(&p.arena, p.count, sizeof *p.runs);
    p.results = blv_arena_alloc(&p.arena, p.count, sizeof *p.results);
    blv_error error = p.arena.failed ? BLV_E_MEMORY : BLV_OK;
    for (size_t i = 0; i < p.count && error == BLV_OK; i++)
        p.runs[i] = &asked->groups->runs[i];
    if (error == BLV_OK)
        qsort(p.runs, p.count, sizeof *p.runs, compare_runs);
    for (size_t i = 0; i < p.count && error == BLV_OK; i++) {
        const char *text = p.runs[i]->info->result;
        if (text && blv_record_parse(result_fields, &p.results[i], text, NULL) == BLV_E_MEMORY)
            error = BLV_E_MEMORY;
    }
    if (error == BLV_OK)
        error = put_page(&p);
    if (error == BLV_OK && p.arena.failed)
        error = BLV_E_MEMORY;
    for (size_t i = 0; i < p.count && p.results; i++)
        blv_record_free(result_fields, &p.results[i]);
    blv_arena_free(&p.arena);
    return error;
}
