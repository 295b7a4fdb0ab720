#include "store/task_session.h"
#include "bilevel/arithmetic.h"
#include "bilevel/checkpoint.h"

#include "store/store_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void warn(const blv_task_session *s, const char *text) {
    if (s->recorder.warn)
        s->recorder.warn(s->recorder.context, text);
}

/* ---- How a run ended, as bytes: this, then x, y and what is carried ---- */

typedef struct ending {
    uint64_t carried_count;
    blv_run_end end; /* without x and y */
} ending;

static void ending_name(size_t number, char name[32]) {
    snprintf(name, 32, "end-%zu", number);
}

static size_t size_of(const ending *e) {
    return sizeof *e + (e->end.dim_x + e->end.dim_y + (size_t)e->carried_count) * sizeof(double);
}

static unsigned char *append(unsigned char *at, const double *numbers, size_t count) {
    if (count > 0)
        memcpy(at, numbers, count * sizeof *numbers);
    return at + count * sizeof *numbers;
}

/* To be freed; NULL: memory is short. */
static unsigned char *pack(const blv_task_run *which, const blv_run_end *end, size_t *size) {
    ending e;
    memset(&e, 0, sizeof e); /* the gaps too */
    e.carried_count = which->carried_count;
    e.end.dim_x = end->dim_x;
    e.end.dim_y = end->dim_y;
    e.end.outcome = end->outcome;
    e.end.iterations = end->iterations;
    e.end.seconds = end->seconds;
    e.end.certified = end->certified;
    e.end.certificate = end->certificate;
    e.end.counts = end->counts;
    e.end.setup_counts = end->setup_counts;
    *size = size_of(&e);
    unsigned char *bytes = malloc(*size);
    if (!bytes)
        return NULL;
    memcpy(bytes, &e, sizeof e);
    unsigned char *at = append(bytes + sizeof e, end->x, end->dim_x);
    at = append(at, end->y, end->dim_y);
    append(at, which->carried, which->carried_count);
    return bytes;
}

static bool read_ending(const void *bytes, size_t size, ending *e) {
    if (!bytes || size < sizeof *e)
        return false;
    memcpy(e, bytes, sizeof *e);
    return size == size_of(e);
}

static const unsigned char *take(const unsigned char *from, double **numbers, size_t count) {
    *numbers = malloc((count + 1) * sizeof **numbers);
    if (*numbers)
        memcpy(*numbers, from, count * sizeof **numbers);
    return from + count * sizeof **numbers;
}

static bool unpack(const unsigned char *bytes, size_t size, const blv_task_run *which,
                   blv_run_end *end) {
    ending e;
    if (!read_ending(bytes, size, &e) || e.carried_count != which->carried_count)
        return false;
    *end = e.end;
    const unsigned char *at = take(bytes + sizeof e, &end->x, end->dim_x);
    at = take(at, &end->y, end->dim_y);
    if (!end->x || !end->y) {
        free(end->x);
        free(end->y);
        return false;
    }
    if (which->carried_count > 0)
        memcpy(which->carried, at, which->carried_count * sizeof(double));
    return true;
}

/* NULL where there is none. To be freed. */
static void *read_bytes(const blv_task_session *s, const char *name, size_t *size) {
    void *bytes = NULL;
    if (blv_store_read(s->recorder.store, s->resumed->id, name, &bytes, size) != BLV_OK)
        warn(s, blv_store_message(s->recorder.store));
    return bytes;
}

static void *read_end_of(const blv_task_session *s, size_t number, size_t *size) {
    char name[32];
    ending_name(number, name);
    return read_bytes(s, name, size);
}

/* ---- The start ---- */

/* Counts what has ended. Returns where the trace continues. What another version kept may mean
 * something else to this one. */
static uint64_t find_place(blv_task_session *s) {
    const char *version = s->resumed->version ? s->resumed->version : "";
    uint64_t place = 0;
    blv_message text = {""};
    if (strcmp(version, blv_arithmetic_version()) != 0) {
        blv_explain(&text, BLV_OK, "the run was made by version %s, this is %s: it starts again",
                    version, blv_arithmetic_version());
        warn(s, text.text);
        return 0;
    }
    for (bool found = true; found;) {
        size_t size = 0;
        ending e;
        void *bytes = read_end_of(s, s->remembered, &size);
        found = read_ending(bytes, size, &e);
        free(bytes);
        place += found ? e.end.iterations + 1 : 0;
        s->remembered += found;
    }
    s->has_checkpoint = s->resumed->has_checkpoint;
    if (s->has_checkpoint)
        place += s->resumed->checkpoint_iteration;
    blv_explain(&text, BLV_OK, "run %" PRId64 " has no checkpoint: it starts again",
                s->resumed->id);
    if (s->remembered == 0 && !s->has_checkpoint)
        warn(s, text.text);
    return place;
}

blv_error blv_task_session_start(void *session, const blv_task_start *start, blv_message *why) {
    blv_task_session *s = session;
    if (!s->recorder.store)
        return BLV_OK;
    if (!s->resumed) {
        blv_run_info facts = s->facts;
        facts.problem = start->problem;
        facts.dim_x = start->dim_x; /* the task may show fewer variables than its problem has */
        facts.dim_y = start->dim_y;
        facts.fingerprint = start->fingerprint;
        return blv_recorder_begin(&s->recorder, &facts, start->run, why);
    }
    if (start->fingerprint != s->resumed->fingerprint)
        return blv_explain(why, BLV_E_VALUE,
                           "the data are not those of the run: their fingerprint is %016" PRIx64
                           ", it was %016" PRIx64,
                           start->fingerprint, s->resumed->fingerprint);
    return blv_recorder_resume(&s->recorder, s->resumed->id, find_place(s), why);
}

/* ---- Runs ---- */

static void count_end(blv_task_session *s, const blv_run_end *end) {
    s->recorder.rows_before += end->iterations + 1;
    s->ended++;
}

bool blv_task_session_recall(void *session, const blv_task_run *which, blv_run_end *end) {
    blv_task_session *s = session;
    if (s->ended >= s->remembered)
        return false;
    size_t size = 0;
    void *bytes = read_end_of(s, s->ended, &size);
    bool known = bytes && unpack(bytes, size, which, end);
    free(bytes);
    if (known)
        count_end(s, end);
    return known;
}

static blv_error load(blv_task_session *s, const blv_task_run *which, blv_run *run,
                      blv_message *why) {
    size_t size = 0, carried_size = 0, expected = which->carried_count * sizeof(double);
    void *bytes = read_bytes(s, "checkpoint", &size);
    void *carried = read_bytes(s, "carried", &carried_size);
    blv_error error = BLV_OK;
    if (!bytes || carried_size != expected)
        error = blv_explain(why, BLV_E_FORMAT, "run %" PRId64 ": its checkpoint is not complete",
                            s->resumed->id);
    if (error == BLV_OK) {
        char *base = blv_store_parts_base(s->recorder.store, s->resumed->id);
        error = blv_run_load_parts(run, base, bytes, size);
        free(base);
        if (error != BLV_OK)
            blv_explain(why, error, "%s", blv_run_message(run));
    }
    if (error == BLV_OK && expected > 0)
        memcpy(which->carried, carried, expected);
    free(bytes);
    free(carried);
    s->has_checkpoint = false;
    return error;
}

blv_error blv_task_session_begin(blv_task_session *s, const blv_task_run *which, blv_run *run,
                                 blv_message *why) {
    s->recorder.part = which;
    bool is_exact = strcmp(blv_run_solver(run)->name, "exact") == 0;
    blv_recorder_follow(&s->recorder, run, s->all_rows || is_exact);
    return s->has_checkpoint && s->ended == s->remembered ? load(s, which, run, why) : BLV_OK;
}

/* A run that was stopped has not ended: it is resumed from its checkpoint. */
void blv_task_session_end(blv_task_session *s, const blv_task_run *which, const blv_run_end *end) {
    blv_recorder *r = &s->recorder;
    r->part = NULL;
    if (!end || !r->id)
        return;
    char name[32];
    size_t size = 0;
    unsigned char *bytes = pack(which, end, &size);
    ending_name(s->ended, name);
    if (bytes)
        blv_recorder_expect(r, blv_store_attach_end(r->store, r->id, name, bytes, size),
                            "the end of a part was not stored");
    else
        r->failed = true;
    free(bytes);
    count_end(s, end);
}

/* ---- The end ---- */

static void forget_runs(blv_task_session *s) {
    blv_recorder *r = &s->recorder;
    blv_error error = blv_store_detach(r->store, r->id, "checkpoint");
    for (size_t i = 0; i < s->ended && error == BLV_OK; i++) {
        char name[32];
        ending_name(i, name);
        error = blv_store_detach(r->store, r->id, name);
    }
    blv_recorder_expect(r, error, "what was kept for resuming it was not removed");
}

void blv_task_session_finish(blv_task_session *s, const blv_run_info *end) {
    if (!s->recorder.store || !s->recorder.id)
        return;
    if (end->status != BLV_STATUS_INTERRUPTED)
        forget_runs(s);
    blv_recorder_finish(&s->recorder, end);
}
