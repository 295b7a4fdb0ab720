/* Reading a checkpoint. Everything is looked at before anything is changed: identity, progress, and
 * every array with its checksum; so a file that is rejected leaves the run as it was. */
#include "base/precision.h"
#include "bilevel/checkpoint.h"
#include "bilevel/npz.h"
#include "core/checkpoint_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct loading {
    blv_run *run;
    blv_npz *file;
    const char *name; /* for messages */
    char *text;       /* the lines */
    double **values;  /* of the members; of those that are apart, the elements that are here */
    size_t count;     /* of members */
    const char *base; /* of the parts; NULL: not known */
    blv_parts parts;
    blv_apart *apart; /* the members in the parts */
    size_t apart_count;
} loading;

enum { SHOWN = 160 };

static blv_error reject(const loading *l, blv_error error, const char *format, ...)
    BLV_PRINTF(3, 4);

static blv_error reject(const loading *l, blv_error error, const char *format, ...) {
    blv_message what;
    va_list args;
    va_start(args, format);
    vsnprintf(what.text, sizeof what.text, format, args);
    va_end(args);
    return blv_run_fail(l->run, error, "checkpoint %.*s: %.340s", SHOWN, l->name, what.text);
}

static blv_error reject_line(const loading *l, const char *key) {
    return reject(l, BLV_E_FORMAT, "the line '%s' is missing or malformed", key);
}

/* ---- Identity ---- */

static blv_error check_format(const loading *l) {
    char value[BLV_LINE_VALUE];
    if (!blv_key_values_find(l->text, "format", value) || strcmp(value, BLV_CHECKPOINT_FORMAT) != 0)
        return reject(l, BLV_E_FORMAT, "not a checkpoint of a run");
    if (!blv_key_values_find(l->text, "version", value))
        return reject_line(l, "version");
    char ours[16];
    snprintf(ours, sizeof ours, "%d", BLV_CHECKPOINT_VERSION);
    if (strcmp(value, ours) == 0)
        return BLV_OK;
    char library[BLV_LINE_VALUE] = "";
    blv_key_values_find(l->text, "library", library);
    return reject(
        l, BLV_E_FORMAT,
        "it is of version %.20s, written by library %.20s; this library, %s, reads version %s",
        value, library[0] ? library : "unknown", blv_version(), ours);
}

static blv_error reject_difference(const loading *l, const char *key, const char *here,
                                   const char *there) {
    return reject(l, BLV_E_VALUE, "%s is %.60s here and %.60s in the checkpoint",
                  key + strlen(BLV_CHECKPOINT_SAME), here ? here : "not known", there);
}

/* Every line of identity that is here must be there, and the other way round. */
static blv_error compare_identity(const loading *l, const char *here) {
    char key[BLV_LINE_KEY], value[BLV_LINE_VALUE], other[BLV_LINE_VALUE];
    for (size_t at = 0; here && blv_key_values_next(here, &at, key, value);)
        if (!blv_key_values_find(l->text, key, other))
            return reject_difference(l, key, value, "not known");
        else if (strcmp(value, other) != 0)
            return reject_difference(l, key, value, other);
    for (size_t at = 0; blv_key_values_next(l->text, &at, key, value);)
        if (strncmp(key, BLV_CHECKPOINT_SAME, strlen(BLV_CHECKPOINT_SAME)) == 0 &&
            !blv_key_values_find(here, key, other))
            return reject_difference(l, key, NULL, value);
    return BLV_OK;
}

static blv_error check_identity(const loading *l) {
    blv_key_values here = {0};
    blv_checkpoint_identity(l->run, &here);
    blv_error error =
        here.incomplete ? reject(l, BLV_E_MEMORY, "out of memory") : compare_identity(l, here.text);
    blv_key_values_free(&here);
    return error;
}

/* ---- Progress ---- */

static bool find_whole(const char *text, const char *key, uint64_t *whole) {
    char value[BLV_LINE_VALUE];
    if (!blv_key_values_find(text, key, value) || value[0] == '\0' || strlen(value) > 20 ||
        value[strspn(value, "0123456789")] != '\0')
        return false;
    *whole = strtoull(value, NULL, 10);
    return true;
}

static bool find_outcome(const char *text, blv_outcome *outcome) {
    char value[BLV_LINE_VALUE];
    if (!blv_key_values_find(text, "run/outcome", value))
        return false;
#define X(name, number, word, sentence)                                                            \
    if (atoi(value) == (number)) {                                                                 \
        *outcome = name;                                                                           \
        return true;                                                                               \
    }
    BLV_OUTCOME_LIST(X)
#undef X
    return false;
}

/* A run that was stopped at a limit between two steps goes on; whether a limit is reached here is
 * for the next step to see. */
static bool find_phase(const char *text, blv_run_phase *phase) {
    static const struct {
        const char *word;
        blv_run_phase phase;
    } known[] = {{"open", PHASE_OPEN},
                 {"stepping", PHASE_STEPPING},
                 {"paused", PHASE_STEPPING},
                 {"ended", PHASE_ENDED}};
    char value[BLV_LINE_VALUE];
    if (!blv_key_values_find(text, "run/phase", value))
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(value, known[i].word) == 0) {
            *phase = known[i].phase;
            return true;
        }
    return false;
}

static blv_error check_progress(const loading *l) {
    uint64_t whole;
    blv_outcome outcome;
    blv_run_phase phase;
    char key[BLV_LINE_KEY];
    if (!find_phase(l->text, &phase))
        return reject_line(l, "run/phase");
    if (!find_outcome(l->text, &outcome))
        return reject_line(l, "run/outcome");
    for (const blv_checkpoint_counter *c = blv_checkpoint_counters; c->key; c++)
        if (!find_whole(l->text, c->key, &whole))
            return reject_line(l, c->key);
    for (size_t i = 0; i < l->run->entry_count; i++) {
        blv_checkpoint_key(key, "moved/%s", l->run->entries[i].name);
        if (l->run->entries[i].previous && !find_whole(l->text, key, &whole))
            return reject_line(l, key);
    }
    return BLV_OK;
}

static void take_notes(const loading *l) {
    blv_run *run = l->run;
    char key[BLV_LINE_KEY], format[BLV_LINE_VALUE], text[BLV_LINE_VALUE];
    for (run->note_count = 0; run->note_count < NOTES_MAX; run->note_count++) {
        blv_note *note = &run->notes[run->note_count];
        blv_checkpoint_key(key, "note/%zu/format", run->note_count);
        if (!blv_key_values_find(l->text, key, format))
            return;
        blv_checkpoint_key(key, "note/%zu/text", run->note_count);
        if (!blv_key_values_find(l->text, key, text))
            return;
        snprintf(note->format, sizeof note->format, "%.*s", NOTE_SIZE - 1, format);
        snprintf(note->text, sizeof note->text, "%.*s", NOTE_SIZE - 1, text);
    }
}

static void take_progress(const loading *l) {
    blv_run *run = l->run;
    char key[BLV_LINE_KEY], message[BLV_LINE_VALUE] = "";
    find_phase(l->text, &run->phase);
    for (const blv_checkpoint_counter *c = blv_checkpoint_counters; c->key; c++)
        find_whole(l->text, c->key, blv_checkpoint_counter_of(run, c));
    for (size_t i = 0; i < run->entry_count; i++) {
        blv_checkpoint_key(key, "moved/%s", run->entries[i].name);
        if (run->entries[i].previous)
            find_whole(l->text, key, &run->entries[i].moved);
    }
    take_notes(l);
    run->just_loaded = run->phase == PHASE_STEPPING;
    run->result.outcome = BLV_RUNNING;
    blv_run_fail(run, BLV_OK, "loaded after %" PRIu64 " iterations", run->result.iterations);
    if (run->phase == PHASE_ENDED) {
        find_outcome(l->text, &run->result.outcome);
        blv_key_values_find(l->text, "run/message", message);
        snprintf(run->ending.text, sizeof run->ending.text, "%.500s", message);
        run->message = run->ending;
    }
}

/* ---- Arrays ---- */

/* count: how many there are. */
static blv_error check_values(const loading *l, const blv_member *m, const double *values,
                              size_t count) {
    bool fits = true, is_iterate = m->vec && strncmp(m->name, "vector/", strlen("vector/")) == 0 &&
                                   blv_state_find(l->run, m->name + strlen("vector/"))->previous;
    if (m->numbers && m->numbers->kept.fits)
        fits = m->numbers->kept.fits(m->numbers->kept.object, values);
    if (is_iterate || (m->numbers && m->vectors > 0))
        fits = blv_all_finite(values, count);
    if (fits)
        return BLV_OK;
    return reject(l, BLV_E_FORMAT, "array '%s' holds a number that cannot be there", m->name);
}

static blv_error explain_why(const loading *l, blv_error error, const blv_message *why) {
    blv_run_fail(l->run, error, "checkpoint %.490s", why->text);
    return error == BLV_E_NAME ? BLV_E_FORMAT : error;
}

static blv_error read_member(const loading *l, const blv_member *m, double **values) {
    blv_array about;
    blv_message why = {""};
    blv_error error = blv_npz_read_f64(l->file, m->name, values, &about, &why);
    if (error != BLV_OK)
        return explain_why(l, error, &why);
    if (about.count != m->count)
        return reject(l, BLV_E_FORMAT, "array '%s' has %zu numbers, expected %zu", m->name,
                      about.count, m->count);
    return check_values(l, m, *values, m->count);
}

static void take_values(const blv_member *m, const double *values) {
    assert(values);
    for (size_t j = 0; j < m->vectors; j++)
        blv_vec_write(blv_member_vector(m, j), values + j * (m->count / m->vectors));
    if (m->vectors > 0)
        return;
    if (m->numbers->values)
        memcpy(m->numbers->values, values, m->count * sizeof *values);
    else
        m->numbers->kept.put(m->numbers->kept.object, values);
}

/* ---- Arrays in parts ---- */

static bool is_apart(const loading *l, const blv_member *m) {
    blv_array about;
    return l->parts.count > 0 && m->vectors > 0 &&
           blv_npz_info(l->file, m->name, &about, NULL) == BLV_E_NAME;
}

/* Takes note of it; its values are read with those of the others. */
static blv_error expect_apart(loading *l, const blv_member *m, double **values) {
    blv_apart *more = realloc(l->apart, (l->apart_count + 1) * sizeof *more);
    l->apart = more ? more : l->apart;
    *values = calloc(blv_apart_count(m) + 1, sizeof **values);
    if (!more || !*values)
        return reject(l, BLV_E_MEMORY, "out of memory");
    l->apart[l->apart_count++] = (blv_apart){*m, *values};
    return BLV_OK;
}

static blv_error read_apart(const loading *l) {
    blv_message why = {""};
    if (l->parts.count == 0)
        return BLV_OK;
    blv_error error = blv_parts_read(l->run, &l->parts, l->apart, l->apart_count, &why);
    if (error != BLV_OK)
        return explain_why(l, error, &why);
    for (size_t a = 0; error == BLV_OK && a < l->apart_count; a++) {
        const blv_member *m = &l->apart[a].member;
        error = check_values(l, m, l->apart[a].values, blv_apart_count(m));
    }
    return error;
}

static size_t count_members(const blv_run *run) {
    size_t count = 0;
    blv_member m;
    for (size_t i = 0; blv_checkpoint_next(run, &i, &m);)
        count++;
    return count;
}

/* All arrays are read before the first is taken over: what fails, fails before that. */
static blv_error read_members(loading *l) {
    l->count = count_members(l->run);
    if (blv_npz_count(l->file) > l->count + 1) /* the lines are one more */
        return reject(l, BLV_E_FORMAT,
                      "it has arrays that this solver does not know: another version wrote it");
    l->values = calloc(l->count + 1, sizeof *l->values); /* never of nothing */
    if (!l->values)
        return reject(l, BLV_E_MEMORY, "out of memory");
    blv_error error = BLV_OK;
    blv_member m;
    for (size_t i = 0, n = 0; error == BLV_OK && blv_checkpoint_next(l->run, &i, &m); n++)
        error = is_apart(l, &m) ? expect_apart(l, &m, &l->values[n])
                                : read_member(l, &m, &l->values[n]);
    return error == BLV_OK ? read_apart(l) : error;
}

static void take_members(const loading *l) {
    blv_member m;
    size_t a = 0;
    for (size_t i = 0, n = 0; blv_checkpoint_next(l->run, &i, &m); n++)
        if (a < l->apart_count && l->apart[a].values == l->values[n])
            blv_apart_take(&l->apart[a++]);
        else
            take_values(&m, l->values[n]);
}

static void free_loading(loading *l) {
    for (size_t n = 0; l->values && n < l->count; n++)
        free(l->values[n]);
    free(l->values);
    free(l->apart);
    free(l->text);
    blv_parts_free(&l->parts);
    blv_npz_close(l->file);
}

/* ---- Loading ---- */

static blv_error find_parts(loading *l) {
    blv_error error = blv_parts_find(l->text, &l->parts);
    if (error == BLV_E_FORMAT)
        return reject_line(l, "parts");
    if (error == BLV_OK && l->parts.count == 0)
        return BLV_OK;
    if (error == BLV_OK && !l->base)
        return reject(l, BLV_E_FORMAT, "it has parts, and nothing says where they are");
    l->parts.base = error == BLV_OK ? strdup(l->base) : NULL;
    return l->parts.base ? BLV_OK : reject(l, BLV_E_MEMORY, "out of memory");
}

static blv_error load_opened(loading *l) {
    blv_message why = {""};
    blv_error error = blv_npz_read_text(l->file, BLV_CHECKPOINT_HEADER, &l->text, &why);
    if (error == BLV_E_NAME)
        return reject(l, BLV_E_FORMAT, "not a checkpoint of a run");
    if (error != BLV_OK)
        return blv_run_fail(l->run, error, "checkpoint %.490s", why.text);
    BLV_CHECK(check_format(l));
    BLV_CHECK(check_identity(l));
    BLV_CHECK(check_progress(l));
    BLV_CHECK(find_parts(l));
    return read_members(l);
}

/* error and why: what opening the file ended with. */
static blv_error load(blv_run *run, blv_npz *file, const char *name, const char *base,
                      blv_error error, const blv_message *why) {
    loading l = {.run = run, .file = file, .name = name, .base = base};
    blv_checkpoint_fingerprint(run);
    error = error == BLV_OK ? load_opened(&l)
                            : blv_run_fail(run, error, "checkpoint %.490s", why->text);
    error = blv_run_agree_error(run, error, &run->message);
    if (error == BLV_OK) {
        take_members(&l);
        take_progress(&l);
    }
    free_loading(&l);
    return error;
}

static blv_error ready_to_load(blv_run *run) {
    if (!run)
        return BLV_E_ARGUMENT;
    if (run->busy)
        return blv_run_fail(run, BLV_E_ORDER, "a run may not be changed from within");
    if (run->phase == PHASE_STEPPING || (run->phase == PHASE_ENDED && run->open_error == BLV_OK))
        return blv_run_fail(run, BLV_E_ORDER, "a run is loaded before its first step");
    return blv_run_open(run);
}

blv_error blv_run_load(blv_run *run, const char *path) {
    BLV_CHECK(ready_to_load(run));
    blv_message why = {""};
    blv_npz *file = NULL;
    blv_error error = blv_npz_open(&file, path, &why);
    return load(run, file, path, path, error, &why);
}

blv_error blv_run_load_parts(blv_run *run, const char *base, const void *bytes, size_t size) {
    BLV_CHECK(ready_to_load(run));
    blv_message why = {""};
    blv_npz *file = NULL;
    blv_error error = blv_npz_open_memory(&file, bytes, size, "in memory", &why);
    return load(run, file, base ? base : "in memory", base, error, &why);
}

blv_error blv_run_load_from(blv_run *run, const void *bytes, size_t size) {
    return blv_run_load_parts(run, NULL, bytes, size);
}
