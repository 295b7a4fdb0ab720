#include "cli_work.h"
#include "bilevel/certificate.h"
#include "bilevel/checkpoint.h"
#include "cli_task.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Opening ---- */

void cli_work_take_over(const cli_again *again, cli_learning *learning) {
    if (!again)
        return;
    learning->json = again->json;
    learning->quiet = again->quiet;
    cli_progress_choose(NULL, again->json || again->quiet, &learning->progress);
    if (again->checkpoint_seconds > 0.0)
        learning->checkpoint_seconds = again->checkpoint_seconds;
}

int cli_work_open(cli_work *work, cli_learning *learning) {
    learning->work = work;
    work->record.checkpoint_seconds = learning->checkpoint_seconds;
    if (work->again) {
        work->record.store = work->again->store;
        work->record.store_is_named = work->again->store_is_named;
        return CLI_DONE;
    }
    work->record.store_is_named = cli_store_is_named(&learning->store);
    return cli_store_open_for_checkpoints(&work->record.store, &learning->store,
                                          learning->checkpoint_seconds);
}

void cli_work_close(cli_work *work) {
    if (!work->again)
        blv_store_close(work->record.store);
    json_decref(work->command);
    json_decref(work->problem_parameters);
}

/* ---- How a run ended, as bytes: this, then x, y and what is carried ---- */

typedef struct ending {
    uint64_t dim_x, dim_y, carried_count, iterations;
    double seconds;
    int64_t outcome, certified;
    blv_certificate certificate;
    blv_counts counts, setup_counts;
} ending;

static void ending_name(size_t number, char name[32]) {
    snprintf(name, 32, "end-%zu", number);
}

static size_t size_of(const ending *e) {
    return sizeof *e + (size_t)(e->dim_x + e->dim_y + e->carried_count) * sizeof(double);
}

static unsigned char *pack(const cli_drive_plan *plan, const cli_driven *end, size_t *size) {
    ending e;
    memset(&e, 0, sizeof e); /* the gaps too */
    e.dim_x = end->dim_x;
    e.dim_y = end->dim_y;
    e.carried_count = plan->carried_count;
    e.iterations = end->iterations;
    e.seconds = end->seconds;
    e.outcome = end->outcome;
    e.certified = end->certified;
    e.certificate = end->certificate;
    e.counts = end->counts;
    e.setup_counts = end->setup_counts;
    *size = size_of(&e);
    unsigned char *bytes = cli_alloc(*size, 1), *at = bytes + sizeof e;
    memcpy(bytes, &e, sizeof e);
    memcpy(at, end->x, end->dim_x * sizeof(double));
    at += end->dim_x * sizeof(double);
    memcpy(at, end->y, end->dim_y * sizeof(double));
    if (plan->carried_count > 0)
        memcpy(at + end->dim_y * sizeof(double), plan->carried,
               plan->carried_count * sizeof(double));
    return bytes;
}

static bool read_ending(const void *bytes, size_t size, ending *e) {
    if (!bytes || size < sizeof *e)
        return false;
    memcpy(e, bytes, sizeof *e);
    return size == size_of(e);
}

static double *copy_numbers(const unsigned char *from, size_t count) {
    double *numbers = cli_alloc(count, sizeof *numbers);
    memcpy(numbers, from, count * sizeof *numbers);
    return numbers;
}

static bool unpack(const unsigned char *bytes, size_t size, const cli_drive_plan *plan,
                   cli_driven *end) {
    ending e;
    if (!read_ending(bytes, size, &e) || e.carried_count != plan->carried_count)
        return false;
    *end = (cli_driven){.dim_x = (size_t)e.dim_x,
                        .dim_y = (size_t)e.dim_y,
                        .outcome = (blv_outcome)e.outcome,
                        .iterations = e.iterations,
                        .seconds = e.seconds,
                        .certified = e.certified != 0,
                        .certificate = e.certificate,
                        .counts = e.counts,
                        .setup_counts = e.setup_counts};
    const unsigned char *at = bytes + sizeof e;
    end->x = copy_numbers(at, end->dim_x);
    at += end->dim_x * sizeof(double);
    end->y = copy_numbers(at, end->dim_y);
    if (plan->carried_count > 0)
        memcpy(plan->carried, at + end->dim_y * sizeof(double),
               plan->carried_count * sizeof(double));
    return true;
}

/* NULL where there is none. To be freed. */
static void *read_bytes(const cli_work *work, const char *name, size_t *size) {
    void *bytes = NULL;
    if (BLV_OK != blv_store_read(work->record.store, work->again->id, name, &bytes, size))
        cli_complain("%s", blv_store_message(work->record.store));
    return bytes;
}

static void *read_end_of(const cli_work *work, size_t number, size_t *size) {
    char name[32];
    ending_name(number, name);
    return read_bytes(work, name, size);
}

/* ---- Beginning ---- */

/* Set up and not opened: for the values in effect. */
static int rehearse(const cli_learning *learning, const blv_problem *problem, blv_run **run) {
    blv_message why = {0};
    blv_error error = blv_run_create(run, problem, learning->solver, &why);
    if (error != BLV_OK)
        return cli_refuse(error, why.text);
    error = cli_drive_set(learning, *run);
    return error == BLV_OK ? CLI_DONE : cli_refuse(error, blv_run_message(*run));
}

static json_t *describe(const cli_work *work) {
    json_t *task = cli_json_object();
    cli_task_describe_place(task);
    cli_json_set(task, "arguments", json_incref(work->command));
    return task;
}

static int begin_new(cli_work *work, const blv_run *run, size_t dim_x) {
    const blv_problem_def *def = blv_problem_definition(blv_run_problem(run));
    const blv_solver *solver = blv_run_solver(run);
    json_t *task = describe(work);
    json_t *parameters = cli_json_values(solver->params, blv_run_solver_fields(run));
    json_t *options = cli_json_values(blv_run_options(), blv_run_option_fields(run));
    cli_run_facts facts = {.kind = work->kind,
                           .command = work->command,
                           .task = task,
                           .problem = work->problem,
                           .problem_parameters = work->problem_parameters,
                           .precision = cli_precision_word(def->precision),
                           .dim_x = dim_x,
                           .dim_y = def->dim_y,
                           .fingerprint = work->fingerprint,
                           .solver = solver->name,
                           .parameters = parameters,
                           .options = options};
    int code = cli_record_begin(&work->record, &facts, 0, 0);
    json_decref(task);
    json_decref(parameters);
    json_decref(options);
    return code;
}

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static int expect_same_data(const cli_work *work) {
    char now[24];
    const char *then = text_of(work->again->run, "fingerprint");
    snprintf(now, sizeof now, "%016" PRIx64, work->fingerprint);
    if (strcmp(now, then) == 0)
        return CLI_DONE;
    cli_complain("the data are not those of the run: their fingerprint is %s, it was %s", now,
                 then);
    return CLI_REFUSED;
}

/* What another version kept may mean something else to this one. */
static bool is_of_this_version(const cli_work *work) {
    if (strcmp(text_of(work->again->run, "version"), blv_version()) == 0)
        return true;
    cli_complain("the run was made by version %s, this is %s: it starts again",
                 text_of(work->again->run, "version"), blv_version());
    return false;
}

/* Counts what has ended. *place: where the trace goes on. */
static void find_place(cli_work *work, uint64_t *place) {
    *place = 0;
    if (!is_of_this_version(work))
        return;
    for (bool found = true; found;) {
        size_t size = 0;
        ending e;
        void *bytes = read_end_of(work, work->remembered, &size);
        found = read_ending(bytes, size, &e);
        free(bytes);
        if (!found)
            break;
        *place += e.iterations + 1;
        work->remembered++;
    }
    const json_t *at = json_object_get(work->again->run, "checkpoint_iteration");
    work->has_checkpoint = json_is_integer(at);
    if (work->has_checkpoint)
        *place += (uint64_t)json_integer_value(at);
    if (work->remembered == 0 && !work->has_checkpoint)
        cli_complain("run %" PRId64 " has no checkpoint: it starts again", work->again->id);
}

static int begin_again(cli_work *work) {
    uint64_t place = 0;
    int code = expect_same_data(work);
    if (code != CLI_DONE)
        return code;
    find_place(work, &place);
    return cli_record_begin(&work->record, NULL, work->again->id, place);
}

int cli_work_begin(cli_work *work, const cli_learning *learning, const blv_problem *problem,
                   size_t dim_x) {
    if (!work->record.store || work->record.id || work->record.failed)
        return CLI_DONE;
    if (work->again)
        return begin_again(work);
    blv_run *run = NULL;
    int code = rehearse(learning, problem, &run);
    if (code == CLI_DONE)
        code = begin_new(work, run, dim_x);
    blv_run_destroy(run);
    return code;
}

/* ---- Runs ---- */

bool cli_work_recall(cli_work *work, const cli_drive_plan *plan, cli_driven *end) {
    if (work->runs >= work->remembered)
        return false;
    size_t size = 0;
    void *bytes = read_end_of(work, work->runs, &size);
    bool known = bytes && unpack(bytes, size, plan, end);
    free(bytes);
    if (known) {
        work->record.rows_before += end->iterations + 1;
        work->runs++;
    }
    return known;
}

void cli_work_listen(cli_work *work, const cli_learning *learning, const cli_drive_plan *plan,
                     blv_run *run) {
    work->record.row_head = plan->row_head;
    work->record.carried = plan->carried;
    work->record.carried_count = plan->carried_count;
    cli_record_listen(&work->record, run, learning->all_rows || cli_drive_is_exact(learning));
}

int cli_work_go_on(cli_work *work, const cli_drive_plan *plan, blv_run *run) {
    if (!work->has_checkpoint || work->runs != work->remembered)
        return CLI_DONE;
    size_t size = 0, carried_size = 0, expected = plan->carried_count * sizeof(double);
    void *bytes = read_bytes(work, "checkpoint", &size);
    void *carried = read_bytes(work, "carried", &carried_size);
    bool well = bytes && carried_size == expected;
    if (!well)
        cli_complain("run %" PRId64 ": its checkpoint is not whole", work->again->id);
    blv_error error = well ? blv_run_load_from(run, bytes, size) : BLV_OK;
    if (well && error == BLV_OK && expected > 0)
        memcpy(plan->carried, carried, expected);
    free(bytes);
    free(carried);
    work->has_checkpoint = false;
    if (error != BLV_OK)
        return cli_refuse(error, blv_run_message(run));
    return well ? CLI_DONE : CLI_REFUSED;
}

/* A run that a signal has stopped has not ended: it goes on from its checkpoint. */
void cli_work_keep(cli_work *work, const cli_drive_plan *plan, const cli_driven *end) {
    if (!work->record.id || cli_watch_signalled())
        return;
    char name[32];
    size_t size = 0;
    unsigned char *bytes = pack(plan, end, &size);
    ending_name(work->runs, name);
    cli_record_expect(
        &work->record,
        blv_store_attach_end(work->record.store, work->record.id, name, bytes, size) == BLV_OK,
        "the end of a part was not stored");
    free(bytes);
    work->record.rows_before += end->iterations + 1;
    work->runs++;
}

/* ---- The end ---- */

static void forget_runs(cli_work *work) {
    bool well = blv_store_detach(work->record.store, work->record.id, "checkpoint") == BLV_OK;
    for (size_t i = 0; i < work->runs && well; i++) {
        char name[32];
        ending_name(i, name);
        well = blv_store_detach(work->record.store, work->record.id, name) == BLV_OK;
    }
    cli_record_expect(&work->record, well, "what was kept to go on from was not removed");
}

static const char *status_of(int code, bool partial) {
    if (code == CLI_DONE)
        return partial ? "interrupted" : "finished";
    return cli_watch_signalled() ? "interrupted" : "failed";
}

int cli_work_end(cli_work *work, int code, const cli_work_summary *summary) {
    const blv_certificate *certificate = summary->certificate;
    if (!work->record.store || !work->record.id || work->ended)
        return code != CLI_DONE ? code : cli_record_code(&work->record);
    work->ended = true;
    const char *status = status_of(code, summary->partial);
    if (strcmp(status, "interrupted") != 0)
        forget_runs(work);
    const char *otherwise = *work->message ? work->message : status;
    cli_run_end end = {.status = status,
                       .message = summary->message ? summary->message : otherwise,
                       .iterations = summary->iterations,
                       .seconds = summary->seconds,
                       .phi = certificate ? certificate->phi : (double)NAN,
                       .grad_norm = certificate ? certificate->grad_norm : (double)NAN,
                       .result = summary->result};
    cli_record_finish(&work->record, &end);
    return code != CLI_DONE ? code : cli_record_code(&work->record);
}
